//! What a request may see of memory, asked of the boundary before and after anything is found.

use jiff::Timestamp;
use trefoil::{
    index::{RowId, RowSet},
    memory::{MemoryUnit, Payload, SessionScope, UnitFilter},
};
use trefoil_core::{Allowed, BoundaryClass, Result, UnitKind, UnitState};

use super::{Memory, search::Filtered};
use crate::{
    Boundary, Claim, ContextNote, Observation, Policy, PolicyValidator, Validation,
    recall::{Admission, RecallQuery},
    rows,
};

/// Of how many messages that tell one claim it is asked how well they answer.
const MESSAGES: usize = 3;

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
        UnitFilter {
            kinds: UnitKind::ALL.iter().copied().filter(|&kind| kind != UnitKind::Chunk).collect(),
            states: vec![UnitState::Raw, UnitState::Validated, UnitState::Consolidated],
            classes: self.admission.classes.iter().copied().collect(),
            scopes: self.admission.scopes.iter().map(ToString::to_string).collect(),
            session: match &self.admission.session {
                Some(session) => SessionScope::From(session.to_string()),
                None => SessionScope::None,
            },
            valid_at: Some(self.now.as_second()),
            ..UnitFilter::default()
        }
    }

    pub(super) fn classes_up_to(&self, highest: BoundaryClass) -> Vec<BoundaryClass> {
        self.admission.classes.iter().copied().filter(|&class| class <= highest).collect()
    }

    /// The units of those rows that are allowed, with what may be shown of them.
    pub(super) fn visible(
        &self,
        rows: &[RowId],
        allowed: &Allowed,
    ) -> Result<Vec<(MemoryUnit, String)>> {
        let rows: Vec<RowId> = rows.iter().copied().filter(|&row| allowed.contains(row)).collect();
        self.units(&rows)
    }

    /// The units of rows with what may be shown of them: each is asked of the boundary, and
    /// what its class's policy cuts out is cut out. Where there are rules, everything that a
    /// summary was made from is asked as well; scopes and classes the filter has seen to.
    pub(super) fn units(&self, rows: &[RowId]) -> Result<Vec<(MemoryUnit, String)>> {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let has_rules = !(self.policy.invariants.is_empty() && self.boundary.invariants.is_empty());
        let units = self.memory.read("read units", |read| {
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

    /// The messages of sessions that tell claims and that it may see, each after its claim: of those
    /// that tell one claim the last few.
    pub(super) fn messages_of(&self, claims: &[RowId]) -> Result<Vec<(RowId, RowId)>> {
        let mut told =
            self.memory.read("read what tells claims", |read| read.messages_of(claims))?;
        let messages: Vec<RowId> = told.iter().map(|&(_, message)| message).collect();
        let shown = self.units(&messages)?.into_iter().map(|(unit, _)| unit);
        let shown = shown.filter(|MemoryUnit { unit, .. }| {
            self.admission.classes.contains(&unit.boundary) && !unit.is_hidden()
        });
        let shown: RowSet = shown.map(|unit| unit.row).collect();
        told.retain(|&(_, message)| shown.contains(message));
        let of_one = told.chunk_by(|(one, _), (other, _)| one == other);
        Ok(of_one.flat_map(|told| told.iter().rev().take(MESSAGES)).copied().collect())
    }

    /// The same for a recall: none of them changes what else is found.
    pub(super) fn filtered(&self, rows: &[RowId]) -> Result<Filtered<(MemoryUnit, String)>> {
        let shown = self.units(rows)?.into_iter();
        let kept = shown.map(|(unit, text)| (unit.row, (unit, text))).collect();
        Ok(Filtered { kept, broken: Vec::new() })
    }

    /// An observation that may be shown, with what its class's policy cuts out cut out of each
    /// of its texts, and without a note that may not be shown.
    pub(super) fn fit(&self, unit: &MemoryUnit, observation: Observation) -> Result<Observation> {
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
        let facts = claim.as_ref().map(Claim::facts);
        let payload = self.query.payload(text, unit.unit.boundary, facts.as_ref());
        Ok(PolicyValidator { now: self.now }.validate(&payload, self.boundary, &self.policy))
    }
}
