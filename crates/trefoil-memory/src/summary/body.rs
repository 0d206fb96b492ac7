//! What a summary keeps besides its text: what happened, and what is the case.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil::memory::{MemoryUnit, Payload};
use trefoil_core::{Result, Score, UnitState};
use trefoil_text::{canonical_text, claims::due_date, language_of, sentences};

use crate::{ClaimKind, Observation, OpenLoop, UnitId, rows};
use trefoil_memory_core::{extract::statements, integrate::one_at_a_time};

/// A summary in parts, each taken from the units that it is made of and from nothing else.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SummaryBody {
    /// The summary as a text.
    #[serde(alias = "summary_text")]
    pub summary_text: String,
    /// Sentences that name a day, and those of units that stand out, oldest first.
    #[serde(alias = "key_events")]
    pub key_events: Vec<KeyEvent>,
    /// What was the case when the summary was made.
    #[serde(alias = "shared_state")]
    pub shared_state: SharedState,
}

/// Something that happened, or is to happen.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyEvent {
    /// The day that is named, else when it was told.
    pub at: Timestamp,
    /// The sentence.
    pub text: String,
    /// The unit that tells it.
    pub unit: UnitId,
}

/// What is the case: of each thing what was said last.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SharedState {
    /// Facts and preferences that hold, in the order in which they were told.
    pub facts: Vec<String>,
    /// What is left to do and not yet overdue, what is due first before what has no date.
    #[serde(alias = "open_loops")]
    pub open_loops: Vec<SharedLoop>,
}

/// Something that is left to do.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SharedLoop {
    /// What is to be done.
    pub text: String,
    /// When it is due, if that is said.
    #[serde(alias = "due_at", default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
}

impl SummaryBody {
    /// The most events, facts and loops that are kept, each.
    pub const MAX_ITEMS: usize = 12;
    /// The most characters of one of them.
    pub const MAX_CHARACTERS: usize = 300;
    /// What stands out at least so much is an event.
    const SALIENT: f64 = 0.7;

    /// The parts of a summary of `units`, made at `now`.
    ///
    /// # Errors
    /// A unit is not what its rows say.
    pub(crate) fn of(summary_text: &str, units: &[MemoryUnit], now: Timestamp) -> Result<Self> {
        let mut told = SummaryParts::default();
        for unit in units {
            told.read(unit, now)?;
        }
        Ok(told.into_body(summary_text))
    }
}

/// What units tell, on its way into a summary.
#[derive(Debug, Default)]
struct SummaryParts {
    /// Events with how much they stand out.
    events: Vec<(Score, KeyEvent)>,
    /// What is the case, by what there is one of at a time: when it was told, and as what.
    facts: BTreeMap<(String, String), (Timestamp, String)>,
    loops: BTreeSet<SharedLoop>,
}

impl SummaryParts {
    fn read(&mut self, unit: &MemoryUnit, now: Timestamp) -> Result<()> {
        if unit.unit.state == UnitState::Archived {
            return Ok(());
        }
        if let Some(observation) = rows::to_observation(unit)? {
            self.statements(&observation, now);
        }
        if let Some(claim) = rows::to_claim(unit)? {
            let told_at = claim.occurred_at.unwrap_or(claim.created_at);
            if claim.kind == ClaimKind::Task {
                self.open(&claim.text, None, told_at, now);
            } else if claim.is_valid_at(now) {
                let of = [&claim.subject, &claim.predicate, &claim.object];
                self.fact(of.map(Option::as_deref), &claim.text, told_at);
            }
        }
        if let Some(open) = rows::to_loop(unit)? {
            self.open(&open.text, open.due_at, open.created_at, now);
        }
        self.events(unit)
    }

    fn statements(&mut self, observation: &Observation, now: Timestamp) {
        let told_at = observation.occurred_at.unwrap_or(observation.created_at);
        let (claims, loops) = statements(observation);
        for claim in claims.iter().filter(|claim| claim.kind != ClaimKind::Task) {
            let of = [&claim.subject, &claim.predicate, &claim.object];
            self.fact(of.map(Option::as_deref), &claim.text, told_at);
        }
        for open in loops {
            self.open(&open.text, open.due_at, told_at, now);
        }
    }

    /// Of what there is one at a time, what was told last stays.
    fn fact(&mut self, of: [Option<&str>; 3], text: &str, told_at: Timestamp) {
        let text = shortened(text);
        let key = one_at_a_time(of).unwrap_or_else(|| (String::new(), text.to_lowercase()));
        let known = self.facts.get(&key).is_some_and(|(known, _)| *known > told_at);
        if !known {
            self.facts.insert(key, (told_at, text));
        }
    }

    fn open(&mut self, text: &str, due_at: Option<Timestamp>, told_at: Timestamp, now: Timestamp) {
        if OpenLoop::expiry(due_at, told_at) > now {
            self.loops.insert(SharedLoop { text: shortened(text), due_at });
        }
    }

    /// Sentences that name a day; of a unit that stands out also the first.
    fn events(&mut self, unit: &MemoryUnit) -> Result<()> {
        let Payload::Episode(episode) = &unit.payload else { return Ok(()) };
        let told_at = rows::time(unit.unit.occurred_at.unwrap_or(unit.unit.created_at))?;
        let id: UnitId = unit.unit.id.parse()?;
        let text = episode.content_compressed.clone().unwrap_or_else(|| episode.text());
        let salience = rows::narrow(unit.unit.salience);
        let stands_out = unit.unit.salience >= SummaryBody::SALIENT - 1e-6;
        for (number, span) in sentences(&text, language_of(&text)).into_iter().enumerate() {
            let sentence = text.get(span.start..span.end).unwrap_or_default();
            // A day is recorded at its end.
            let day = due_date(sentence, language_of(sentence), told_at);
            let at = day.or_else(|| (stands_out && number == 0).then_some(told_at));
            let text = shortened(sentence);
            if let (Some(at), false) = (at, text.is_empty()) {
                self.events.push((salience, KeyEvent { at, text, unit: id.clone() }));
            }
        }
        Ok(())
    }

    fn into_body(self, summary_text: &str) -> SummaryBody {
        let most = SummaryBody::MAX_ITEMS;
        let mut events = self.events;
        // Those that stand out most, of equals the latest, are kept.
        events.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| b.1.cmp(&a.1)));
        let mut texts = BTreeSet::new();
        events.retain(|(_, event)| texts.insert(event.text.clone()));
        events.truncate(most);
        let mut key_events: Vec<KeyEvent> = events.into_iter().map(|(_, event)| event).collect();
        key_events.sort();
        let mut facts: Vec<(Timestamp, String)> = self.facts.into_values().collect();
        facts.sort();
        let facts = facts.split_off(facts.len().saturating_sub(most));
        let mut open_loops: Vec<SharedLoop> = self.loops.into_iter().collect();
        open_loops.sort_by_key(|open| (open.due_at.is_none(), open.due_at));
        open_loops.truncate(most);
        SummaryBody {
            summary_text: summary_text.to_owned(),
            key_events,
            shared_state: SharedState {
                facts: facts.into_iter().map(|(_, text)| text).collect(),
                open_loops,
            },
        }
    }
}

/// A text on one line, and the beginning of one that is too long.
fn shortened(text: &str) -> String {
    let text = canonical_text(text);
    match text.char_indices().nth(SummaryBody::MAX_CHARACTERS - 1) {
        Some((end, last)) if end + last.len_utf8() < text.len() => {
            format!("{}…", text.get(..end).unwrap_or_default())
        }
        _ => text,
    }
}
