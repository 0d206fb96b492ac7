//! Episodes that are relevant to the conversation.

use std::collections::BTreeMap;

use serde::Serialize;
use trefoil::{
    Degraded,
    index::RowId,
    memory::{MemoryUnit, RecallDepth, UnitFilter},
};
use trefoil_core::{BoundaryClass, Result, Score, UnitKind};

use super::{
    Memory,
    search::{Matches, RecallPlan},
    visibility::Visibility,
};
use crate::{
    Boundary, Observation, UnitId,
    recall::{Episode, EpisodeProfile, RecallProfile, RecallQuery, episode_queries},
    rows,
};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// An episode that is relevant to the conversation.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecalledEpisode {
    /// What happened.
    pub observation: Observation,
    /// How well it answers.
    pub score: Score,
}

/// What a recall of episodes brought.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecalledEpisodes {
    /// The episodes, best first, at most five; none if not even the best is good.
    pub episodes: Vec<RecalledEpisode>,
    /// What could not be searched, or is behind.
    pub degraded: Vec<Degraded>,
}

impl Memory {
    /// Episodes within `boundary` that are relevant to a query and to what was said before it
    /// ([`RecallQuery::recent_turns`]), by [`EpisodeProfile`].
    ///
    /// # Errors
    /// As [`Memory::recall`].
    pub fn episodes(&self, query: &RecallQuery, boundary: &Boundary) -> Result<RecalledEpisodes> {
        let sight = Visibility::new(self, query, boundary)?;
        let profile = EpisodeProfile::default();
        let oldest = sight.now.as_second().saturating_sub(profile.oldest_days * DAY);
        let units = UnitFilter {
            kinds: vec![UnitKind::Episode],
            classes: sight.classes_up_to(BoundaryClass::Pii),
            since: Some(oldest),
            ..sight.filter()
        };
        let mut questions = episode_queries(&query.q, &query.recent_turns, profile.turns);
        questions.retain(|question| !question.trim().is_empty());
        if questions.is_empty() {
            return Ok(RecalledEpisodes { episodes: Vec::new(), degraded: Vec::new() });
        }
        let plan = RecallPlan {
            units,
            questions,
            depth: RecallDepth { text: profile.hits, vector: profile.hits },
            k_final: None,
            profile: RecallProfile::Episodes,
            messages: None,
        };
        self.find(
            &plan,
            |rows| sight.filtered(rows),
            |shown, matches| ranked(&sight, &profile, &shown, matches),
        )
    }
}

/// The episodes that were found, those that score enough, best first.
fn ranked(
    sight: &Visibility<'_>,
    profile: &EpisodeProfile,
    shown: &[(RowId, (MemoryUnit, String))],
    matches: &Matches,
) -> Result<RecalledEpisodes> {
    let mut ids: BTreeMap<RowId, UnitId> = BTreeMap::new();
    let mut episodes = BTreeMap::new();
    let mut observations: BTreeMap<UnitId, Observation> = BTreeMap::new();
    for (row, (stored, text)) in shown {
        let unit = rows::to_unit(stored)?;
        if let Some(observation) = rows::to_observation(stored)? {
            observations.insert(unit.id.clone(), sight.fit(stored, observation)?);
        }
        ids.insert(*row, unit.id.clone());
        if profile.admits(&unit, sight.now) {
            let happened_at = unit.happened_at();
            episodes.insert(unit.id, Episode { text, happened_at });
        }
    }
    let hits: Vec<Vec<UnitId>> = matches
        .lists
        .iter()
        .map(|list| list.iter().filter_map(|row| ids.get(row).cloned()).collect())
        .collect();
    let ranked = profile.rank(&sight.query.q, &hits, &episodes, sight.now);
    let recalled = ranked.into_iter().filter_map(|(id, score)| {
        let observation = observations.remove(&id)?;
        Some(RecalledEpisode { observation, score })
    });
    Ok(RecalledEpisodes { episodes: recalled.collect(), degraded: matches.degraded.clone() })
}
