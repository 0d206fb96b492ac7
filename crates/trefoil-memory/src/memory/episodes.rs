//! What happened that bears on what is being said, and what else may be shown of memory
//! besides claims.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use trefoil::{
    Degraded, RowId,
    memory::{MemoryUnit, Payload, RecallDepth, SessionScope, UnitFilter},
};
use trefoil_core::{BoundaryClass, Result, Score, UnitKind, UnitState};

use super::Memory;
use crate::{
    Boundary, ContextNote, Observation, Policy, PolicyValidator, UnitId, Validation,
    recall::{Admission, Episode, EpisodeProfile, RecallQuery, episode_queries},
    rows,
};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Something that happened and bears on what is being said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecalledEpisode {
    /// What happened.
    pub observation: Observation,
    /// How well it answers.
    pub score: Score,
}

/// What a recall of episodes brought.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecalledEpisodes {
    /// The episodes, best first, at most five; none if not even the best is good.
    pub episodes: Vec<RecalledEpisode>,
    /// What could not be searched, or is behind.
    pub degraded: Vec<Degraded>,
}

impl Memory {
    /// What happened within `boundary` that bears on a query and on what was said before it
    /// ([`RecallQuery::recent_turns`]), by [`EpisodeProfile`].
    ///
    /// # Errors
    /// As [`Memory::recall`].
    pub fn episodes(&self, query: &RecallQuery, boundary: &Boundary) -> Result<RecalledEpisodes> {
        let sight = Visibility::new(self, query, boundary)?;
        let (profile, memory) = (EpisodeProfile::default(), self.engine.memory());
        let oldest = sight.now.as_second().saturating_sub(profile.oldest_days * DAY);
        let filter = UnitFilter {
            kinds: vec![UnitKind::Episode],
            classes: sight.classes_up_to(BoundaryClass::Pii),
            since: Some(oldest),
            ..sight.filter()
        };
        let allowed = memory.allowed(&filter)?;
        let depth = RecallDepth { text: profile.hits, vector: profile.hits };
        let (mut lists, mut degraded): (Vec<Vec<RowId>>, Vec<Degraded>) = (Vec::new(), Vec::new());
        let questions = episode_queries(&query.q, &query.recent_turns, profile.turns);
        for question in questions.iter().filter(|question| !question.trim().is_empty()) {
            let found = memory.recall(question, &allowed, depth)?;
            for side in [&found.by_text, &found.by_vector] {
                lists.push(side.iter().map(|one| one.row).collect());
            }
            for one in found.degraded {
                if !degraded.contains(&one) {
                    degraded.push(one);
                }
            }
        }
        let shown = sight.units(&lists.concat())?;
        let ids: BTreeMap<RowId, UnitId> = shown
            .iter()
            .map(|(unit, _)| Ok((unit.row, unit.unit.id.parse()?)))
            .collect::<Result<_>>()?;
        let mut episodes = BTreeMap::new();
        for (unit, text) in &shown {
            let unit = rows::to_unit(unit)?;
            if profile.admits(&unit, sight.now) {
                let happened_at = unit.happened_at();
                episodes.insert(unit.id, Episode { text, happened_at });
            }
        }
        let hits: Vec<Vec<UnitId>> = lists
            .iter()
            .map(|list| list.iter().filter_map(|row| ids.get(row).cloned()).collect())
            .collect();
        let ranked = profile.rank(&query.q, &hits, &episodes, sight.now);
        let mut observations: BTreeMap<String, Observation> = BTreeMap::new();
        for (unit, _) in &shown {
            if let Some(observation) = rows::to_observation(unit)? {
                observations.insert(unit.unit.id.clone(), sight.fit(unit, observation)?);
            }
        }
        let recalled = ranked.into_iter().filter_map(|(id, score)| {
            let observation = observations.remove(id.as_str())?;
            Some(RecalledEpisode { observation, score })
        });
        Ok(RecalledEpisodes { episodes: recalled.collect(), degraded })
    }
}

/// Units of every kind that are admitted, that are not archived and hold now.
pub(super) fn admitted_units(admission: &Admission, now: Timestamp) -> UnitFilter {
    UnitFilter {
        kinds: UnitKind::ALL.iter().copied().filter(|&kind| kind != UnitKind::Chunk).collect(),
        states: vec![UnitState::Raw, UnitState::Validated, UnitState::Consolidated],
        classes: admission.classes.iter().copied().collect(),
        scopes: admission.scopes.iter().map(ToString::to_string).collect(),
        session: match &admission.session {
            Some(session) => SessionScope::From(session.to_string()),
            None => SessionScope::None,
        },
        valid_at: Some(now.as_second()),
        ..UnitFilter::default()
    }
}

/// What a request may see of memory.
pub(super) struct Visibility<'a> {
    pub(super) memory: &'a Memory,
    pub(super) query: &'a RecallQuery,
    pub(super) boundary: &'a Boundary,
    pub(super) policy: Policy,
    pub(super) admission: Admission,
    pub(super) now: Timestamp,
}

impl<'a> Visibility<'a> {
    /// # Errors
    /// [`Error::BoundaryDenied`](trefoil_core::Error::BoundaryDenied) if it may see nothing.
    pub(super) fn new(
        memory: &'a Memory,
        query: &'a RecallQuery,
        boundary: &'a Boundary,
    ) -> Result<Self> {
        let (policy, now) = (memory.policy()?, memory.now()?);
        let admission = query.admission(boundary, &policy)?;
        Ok(Self { memory, query, boundary, policy, admission, now })
    }

    /// Units of every kind that it may see, that are not archived and hold now.
    pub(super) fn filter(&self) -> UnitFilter {
        admitted_units(&self.admission, self.now)
    }

    pub(super) fn classes_up_to(&self, highest: BoundaryClass) -> Vec<BoundaryClass> {
        self.admission.classes.iter().copied().filter(|&class| class <= highest).collect()
    }

    /// The units of rows with what may be shown of them: each is asked of the boundary, and
    /// what its class's policy cuts out is cut out. Where there are rules, everything that a
    /// summary was made from is asked as well; scopes and classes the filter has seen to.
    pub(super) fn units(&self, rows: &[RowId]) -> Result<Vec<(MemoryUnit, String)>> {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let has_rules = !(self.policy.invariants.is_empty() && self.boundary.invariants.is_empty());
        let units = self.memory.engine.memory().read("read units", |read| {
            let with_sources = |unit: MemoryUnit| {
                let asked = has_rules && matches!(unit.payload, Payload::Summary(_));
                let sources =
                    if asked { read.units(&read.sources_of(unit.row)?)? } else { Vec::new() };
                Ok((unit, sources))
            };
            read.units(&rows)?.into_iter().map(with_sources).collect::<Result<Vec<_>>>()
        })?;
        let mut shown = Vec::new();
        for (unit, sources) in units {
            let mut passes = true;
            for source in &sources {
                passes = passes && self.asked(source)?.allowed;
            }
            let text = unit.payload.text();
            let said = self.asked(&unit)?;
            if passes && said.allowed && !text.is_empty() {
                shown.push((unit, said.redacted.unwrap_or(text)));
            }
        }
        Ok(shown)
    }

    /// An observation that may be shown, with what its class's policy cuts out cut out of each
    /// of its texts, and without a note that may not be shown.
    fn fit(&self, unit: &MemoryUnit, observation: Observation) -> Result<Observation> {
        let note = observation.context_note.as_ref();
        let texts = note.into_iter().flat_map(ContextNote::iter).map(|(_, text)| text);
        let may_pass = texts.map(|text| Ok(self.asked_of(unit, text)?.allowed));
        let is_shown = may_pass.collect::<Result<Vec<bool>>>()?.into_iter().all(|passes| passes);
        let context_note = observation.context_note.clone().filter(|_| is_shown);
        Observation { context_note, ..observation }.map_texts(&mut |text| {
            Ok(self.asked_of(unit, text)?.redacted.unwrap_or_else(|| text.to_owned()))
        })
    }

    fn asked(&self, unit: &MemoryUnit) -> Result<Validation> {
        self.asked_of(unit, &unit.payload.text())
    }

    /// Whether `text`, which is of a unit, may be shown.
    fn asked_of(&self, unit: &MemoryUnit, text: &str) -> Result<Validation> {
        let claim = rows::to_claim(unit)?;
        let payload = crate::Payload {
            text,
            class: unit.unit.boundary,
            scope: claim.as_ref().map(|claim| claim.scope),
            allow: &self.query.allow,
            actor: self.query.requester.actor.as_deref(),
            tool: self.query.requester.tool.as_deref(),
            claim: claim.as_ref(),
        };
        Ok(PolicyValidator { now: self.now }.validate(&payload, self.boundary, &self.policy))
    }
}
