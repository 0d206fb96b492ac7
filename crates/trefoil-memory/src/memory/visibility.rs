//! What a request may see of memory, asked of the boundary before and after anything is found.

use jiff::Timestamp;
use trefoil::{
    index::{RowId, RowSet},
    memory::{MemoryUnit, Payload, SessionScope, TellingMessage, UnitFilter},
};
use trefoil_core::{Allowed, BoundaryClass, Result, UnitKind, UnitState};

use super::{Memory, search::Filtered};
use crate::{
    Boundary, Claim, ContextNote, Observation, Policy, PolicyValidator, Validation,
    recall::{Admission, RecallQuery},
    rows,
};

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

    /// The same for a recall: none of them changes what else is found.
    pub(super) fn filtered(&self, rows: &[RowId]) -> Result<Filtered<(MemoryUnit, String)>> {
        let shown = self.units(rows)?.into_iter();
        let kept = shown.map(|(unit, text)| (unit.row, (unit, text))).collect();
        Ok(Filtered { kept, broken: Vec::new() })
    }

    /// Claims with the message that tells each: of the messages of sessions the latest that may be
    /// shown. Its vectors hold the message before it, which has to be one that may be shown too.
    pub(super) fn messages_of(&self, claims: &[RowId]) -> Result<Vec<(RowId, RowId)>> {
        let classes: Vec<_> = self.admission.classes.iter().copied().collect();
        let told = self
            .memory
            .read("read what tells claims", |read| read.messages_of(claims, &classes))?;
        let mut left: Vec<&[TellingMessage]> =
            told.chunk_by(|one, other| one.claim == other.claim).collect();
        let mut found = Vec::new();
        while !left.is_empty() {
            let latest = || left.iter().filter_map(|told| told.last());
            let rows: Vec<RowId> =
                latest().flat_map(|one| [Some(one.message), one.before]).flatten().collect();
            let shown: RowSet = self.units(&rows)?.iter().map(|(unit, _)| unit.row).collect();
            let is_shown = |one: &TellingMessage| {
                shown.contains(one.message)
                    && one.before.is_none_or(|before| shown.contains(before))
            };
            found.extend(latest().filter(|one| is_shown(one)).map(|one| (one.claim, one.message)));
            left = left
                .into_iter()
                .filter_map(|told| told.split_last())
                .filter(|(latest, earlier)| !is_shown(latest) && !earlier.is_empty())
                .map(|(_, earlier)| earlier)
                .collect();
        }
        Ok(found)
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
