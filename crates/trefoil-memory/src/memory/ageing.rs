//! Claims fade, age, and are kept, told in a summary, or given up.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use trefoil::{
    index::RowId,
    memory::{MemoryRead, MemoryUnit, MemoryWrite, PatchReason, UnitRow},
};
use trefoil_core::{BoundaryClass, ClaimId, Error, Part, Result, SummaryId, UnitState};

use super::{
    Memory,
    digest::{DISCARDED, NewSummary, PURGE_AFTER, archive},
    learn::{put_claim, stored_claim},
    maintain::{MaintenanceAction, MaintenancePass, MaintenanceReport, MaintenanceStep, PAGE},
};
use crate::{
    Action, Claim, Critic, FeedbackSignal, Fingerprints, RollingKey, SourceProbe, SourceTag,
    SummaryBody, action, is_stale, rows, status, summary_groups, verify,
};
use trefoil_memory_core::sha256_hex;

/// The kind of summary that claims are folded into.
const CLAIMS: &str = "claims";
/// The event that tells what the sources of a claim were like when they were looked at.
const PROBED: &str = "probed";

impl Memory {
    /// Says that a claim was checked against sources, which are added to its own: it is
    /// verified, and its age starts again. What `probe` sees of its sources is what later
    /// changes are told from.
    ///
    /// # Errors
    /// [`Error::InvalidField`] without a source, [`Error::UnknownClaim`], and those of the
    /// probe.
    pub fn verify_claim(
        &self,
        id: &ClaimId,
        sources: &[SourceTag],
        probe: &dyn SourceProbe,
    ) -> Result<Claim> {
        let now = self.now()?;
        let checked = |claim: Claim| verify(claim, sources, now);
        let looked = SourceStates::of(probe.fingerprints(&checked(self.claim(id)?)?.sources)?);
        self.write("note that a claim was checked", |write| {
            let (unit, claim) = stored_claim(write, id)?;
            let claim = checked(claim)?;
            put_claim(write, &claim, PatchReason::AdminUpdateUnitMeta)?;
            looked.note(write, unit.row)?;
            write.add_event("verified", Some(unit.row), "{}")?;
            Ok(claim)
        })
    }
}

impl Memory {
    /// Lets the utility and the quality of every claim fade up to now; how many have. Done
    /// again at the same time, it does nothing.
    pub fn decay(&self) -> Result<usize> {
        let policy = self.policy()?;
        let critic = Critic { rerank: &policy.retrieval.rerank, now: self.now()? };
        let mut faded = 0;
        self.walk(|page| {
            self.write("let claims fade", |write| {
                let rows: Vec<RowId> = page.iter().map(|unit| unit.row).collect();
                for unit in write.units(&rows)? {
                    let Some(claim) = rows::to_claim(&unit)? else { continue };
                    let decayed = critic.decay(claim.clone());
                    if decayed != claim {
                        put_claim(write, &decayed, PatchReason::Decay)?;
                        faded += 1;
                    }
                }
                Ok(())
            })
        })?;
        Ok(faded)
    }

    /// Shows every claim that is not archived, page by page.
    fn walk(&self, mut show: impl FnMut(&[MemoryUnit]) -> Result<()>) -> Result<()> {
        let mut after = None;
        loop {
            let page = self.read("walk over the claims", |read| read.claims_after(after, PAGE))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.row);
            show(&page)?;
        }
    }
}

impl MaintenancePass<'_> {
    /// Brings every claim up to now, page by page. Those that are to be summarised.
    pub(super) fn age_claims(&self, done: &mut MaintenanceReport) -> Result<Vec<MemoryUnit>> {
        let policy = self.memory.policy()?;
        let critic = Critic { rerank: &policy.retrieval.rerank, now: self.now };
        let mut stale = Vec::new();
        self.memory.walk(|page| {
            // Files are looked at outside of any transaction.
            let looked: Vec<(RowId, SourceCheck)> =
                page.iter().map(|unit| Ok((unit.row, self.look(unit)?))).collect::<Result<_>>()?;
            self.write("age claims", |write| {
                for (row, looked) in &looked {
                    let Some(unit) = write.units(&[*row])?.pop() else { continue };
                    let Some(claim) = rows::to_claim(&unit)? else { continue };
                    let ageing = Ageing { pass: self, write, critic: &critic, unit, claim };
                    ageing.run(looked, done, &mut stale)?;
                }
                Ok(())
            })
        })?;
        Ok(stale)
    }

    /// Looks at the sources of a claim: whether one has changed since the claim was last
    /// checked. Where what they were like then was not noted, their own times tell.
    fn look(&self, unit: &MemoryUnit) -> Result<SourceCheck> {
        let Some(claim) = rows::to_claim(unit)? else { return Ok(SourceCheck::default()) };
        let now = SourceStates::of(self.probe.fingerprints(&claim.sources)?);
        let checked = claim.last_verified_at.as_second();
        let before = self.memory.read("read what sources were like", |read| {
            SourceStates::since(read, unit.row, checked)
        })?;
        if let Some(before) = before {
            let changed = before.differs(&now, &claim.sources);
            return Ok(SourceCheck { now, is_new: false, changed, checked });
        }
        let mut changed = false;
        for source in &claim.sources {
            changed |= self.probe.changed_since(source, claim.last_verified_at)?;
        }
        Ok(SourceCheck { is_new: !now.sources.is_empty(), now, changed, checked })
    }

    /// Tells stale claims of one subject or topic in a summary, with those that it told
    /// before, and marks them as consolidated.
    pub(super) fn fold_claims(&self, stale: &[MemoryUnit]) -> Result<Vec<MaintenanceStep>> {
        let claims = rows::to_claims(stale)?;
        let mut steps = Vec::new();
        for fold in summary_groups(&claims) {
            let ids: BTreeSet<&str> = fold.claims.iter().map(|claim| claim.id.as_str()).collect();
            let new = stale.iter().filter(|unit| ids.contains(unit.unit.id.as_str()));
            let sources = self.with_told_before(&fold.key, new)?;
            let text = self.memory.digest().of(fold.name(), &sources)?;
            if text.is_empty() {
                continue;
            }
            let id: SummaryId = self.memory.id()?;
            let summary = NewSummary {
                id: id.clone(),
                label: CLAIMS,
                key: &fold.key,
                body: SummaryBody::of(&text, &sources, self.now)?,
                sources: &sources,
                replaces: true,
            };
            let stored = self.write("fold claims into a summary", |write| {
                if !summary.put(write)? {
                    return Ok(false);
                }
                for unit in sources.iter().filter(|unit| ids.contains(unit.unit.id.as_str())) {
                    let state = UnitState::Consolidated;
                    let folded = UnitRow { state, updated_at: write.now(), ..unit.unit.clone() };
                    let row = write.put_unit(&folded, &unit.payload, PatchReason::Summarize)?;
                    write.add_event("consolidated", Some(row), "{}")?;
                }
                Ok(true)
            })?;
            if stored {
                let reason =
                    format!("{} claims say it, of which {} were stale", sources.len(), ids.len());
                steps.push(MaintenanceStep::new(&id, MaintenanceAction::Summarized, reason));
                let reason = format!("stale; {id} tells it");
                let deed = MaintenanceAction::Consolidated;
                steps.extend(ids.iter().map(|claim| MaintenanceStep::new(claim, deed, &*reason)));
            }
        }
        Ok(steps)
    }

    /// The claims with those that the summary of this key was made from.
    fn with_told_before<'u>(
        &self,
        key: &str,
        new: impl Iterator<Item = &'u MemoryUnit>,
    ) -> Result<Vec<MemoryUnit>> {
        let mut rows: BTreeSet<RowId> = new.map(|unit| unit.row).collect();
        self.memory.read("read what a summary was made from", |read| {
            if let Some(old) = read.summary(CLAIMS, key)? {
                rows.extend(read.sources_of(old.row)?);
            }
            let mut units = read.units(&rows.into_iter().collect::<Vec<_>>())?;
            units.retain(|unit| {
                unit.unit.boundary < BoundaryClass::Secret && unit.unit.state < UnitState::Archived
            });
            Ok(units.split_off(units.len().saturating_sub(RollingKey::MAX_UNITS)))
        })
    }
}

/// One claim on its way through a pass.
struct Ageing<'a> {
    pass: &'a MaintenancePass<'a>,
    write: &'a MemoryWrite<'a>,
    critic: &'a Critic<'a>,
    unit: MemoryUnit,
    claim: Claim,
}

impl Ageing<'_> {
    fn run(
        self,
        looked: &SourceCheck,
        done: &mut MaintenanceReport,
        stale: &mut Vec<MemoryUnit>,
    ) -> Result<()> {
        let Self { write, claim, unit, .. } = &self;
        // One that was checked since its sources were looked at has not been looked at.
        let is_current = looked.checked == claim.last_verified_at.as_second();
        let changed = is_current && looked.changed;
        if is_current && looked.is_new {
            looked.now.note(write, unit.row)?;
        }
        let mut aged = self.critic.decay(claim.clone());
        done.decayed += usize::from(aged != *claim);
        aged.epistemic_status = status(claim, changed, self.pass.now);
        let fell = aged.epistemic_status < claim.epistemic_status;
        if aged != *claim {
            let reason = if fell { PatchReason::Downgrade } else { PatchReason::Decay };
            put_claim(write, &aged, reason)?;
        }
        if fell {
            let why = if changed { "a source has changed" } else { "not checked for its ttl" };
            let reason = format!("{why}: {} now", aged.epistemic_status);
            done.steps.push(MaintenanceStep::new(&claim.id, MaintenanceAction::Downgraded, reason));
            write.add_event("downgraded", Some(unit.row), "{}")?;
        }
        self.act(&aged, done, stale)
    }

    /// What is told in a summary already stays: its summary rests on it.
    fn act(
        &self,
        claim: &Claim,
        done: &mut MaintenanceReport,
        stale: &mut Vec<MemoryUnit>,
    ) -> Result<()> {
        if claim.state >= UnitState::Consolidated || !is_stale(claim, self.pass.now) {
            return Ok(());
        }
        let action = action(claim, claim.pin || self.has_helped()?, self.pass.now);
        let now = || self.write.units(&[self.unit.row]).map(|mut units| units.pop());
        match action {
            Action::Keep => {}
            Action::Summarize => stale.extend(now()?),
            Action::Discard => {
                if let Some(unit) = now()? {
                    archive(self.write, unit, DISCARDED, PURGE_AFTER)?;
                }
                let Claim { id, importance, ttl, .. } = claim;
                let reason = format!("{importance} and not checked for its ttl of {ttl}");
                done.steps.push(MaintenanceStep::new(id, MaintenanceAction::Discarded, reason));
            }
        }
        Ok(())
    }

    /// True if somebody said so since the claim was last checked.
    fn has_helped(&self) -> Result<bool> {
        let checked = self.claim.last_verified_at.as_second();
        let said = self.write.feedbacks(self.unit.row)?;
        let helpful = FeedbackSignal::Helpful.as_str();
        Ok(said.iter().any(|one| one.signal == helpful && one.ts >= checked))
    }
}

/// What was seen of the sources of a claim.
#[derive(Debug, Default)]
struct SourceCheck {
    now: SourceStates,
    /// Whether what is seen now is to be noted: nothing was since the claim was checked.
    is_new: bool,
    /// Whether a source has changed since the claim was checked.
    changed: bool,
    /// When that was.
    checked: i64,
}

/// What the sources of a claim were like, by hashes: an event tells no text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SourceStates {
    sources: BTreeMap<String, String>,
}

impl SourceStates {
    fn of(found: Fingerprints) -> Self {
        let hashed = |(tag, state): (SourceTag, String)| (name(&tag), sha256_hex(state.as_bytes()));
        Self { sources: found.into_iter().map(hashed).collect() }
    }

    /// What was noted when the claim was last looked at, if that was not before a second.
    fn since(read: &MemoryRead<'_>, row: RowId, second: i64) -> Result<Option<Self>> {
        let Some(event) = read.last_event(Some(row), PROBED)?.filter(|event| event.ts >= second)
        else {
            return Ok(None);
        };
        let unreadable = |error: serde_json::Error| Error::Corrupt {
            part: Part::Store,
            reason: format!("event {}: {error}", event.id),
        };
        serde_json::from_str(&event.payload_json).map(Some).map_err(unreadable)
    }

    /// True if one of the sources is not now as it was.
    fn differs(&self, now: &Self, sources: &[SourceTag]) -> bool {
        sources.iter().map(name).any(|source| {
            self.sources.get(&source).is_some_and(|was| now.sources.get(&source) != Some(was))
        })
    }

    fn note(&self, write: &MemoryWrite<'_>, row: RowId) -> Result<()> {
        write.add_event(PROBED, Some(row), &rows::to_json(self)?)
    }
}

fn name(tag: &SourceTag) -> String {
    sha256_hex(tag.to_string().as_bytes())
}
