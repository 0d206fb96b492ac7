//! A new claim meets those that are there.

use jiff::Timestamp;
use trefoil::{
    RowId,
    memory::{EvidenceRow, LinkRelation, MemoryUnit, MemoryWrite, PatchReason, UnitRow},
};
use trefoil_core::{Error, EvidenceId, Result, UnitState};

use super::{Memory, activate::Rules, digest::DISCARDED};
use crate::{
    Boundary, Claim, ClaimDraft, EvidenceMethod, Origin, Policy, RuleEvaluator, admit_claim,
    integrate::{IntegrateOptions, Integrated, integrate},
    rows,
};

impl Memory {
    /// Integrates a claim with those that are there: told again, it is the same claim, with
    /// the evidence of both; one that can be so only once ends the older one; contradictions
    /// are linked.
    ///
    /// # Errors
    /// [`Error::BoundaryDenied`] for a scope or a class outside of the boundary, or if a rule
    /// of policy or boundary does not hold for the claim as it is kept, and those of
    /// [`ClaimDraft::into_claim`]; then nothing is changed.
    pub fn integrate(
        &self,
        draft: ClaimDraft,
        options: &IntegrateOptions,
        boundary: &Boundary,
    ) -> Result<Integrated> {
        let (policy, now) = (self.policy()?, self.now()?);
        self.write("integrate a claim", |write| {
            let learning =
                Learning { memory: self, write, boundary, policy: &policy, options, now };
            learning.claim(draft, EvidenceMethod::Manual)
        })
    }
}

/// Claims on their way into memory, in one transaction.
pub(super) struct Learning<'a> {
    pub(super) memory: &'a Memory,
    pub(super) write: &'a MemoryWrite<'a>,
    pub(super) boundary: &'a Boundary,
    pub(super) policy: &'a Policy,
    pub(super) options: &'a IntegrateOptions,
    pub(super) now: Timestamp,
}

impl Learning<'_> {
    /// Integrates one claim.
    pub(super) fn claim(&self, draft: ClaimDraft, method: EvidenceMethod) -> Result<Integrated> {
        let (write, now) = (self.write, self.now);
        let draft = admit_claim(draft, self.policy)?;
        let (incoming, _) = draft.into_claim(self.memory.id()?, now)?;
        self.check(&incoming)?;
        let stored = write.claim_by_hash(incoming.content_hash.as_str())?;
        let same = stored.as_ref().map(rows::to_claim).transpose()?.flatten();
        let related = match &incoming.subject {
            Some(subject) => write.claims_about(subject, None)?,
            None => Vec::new(),
        };
        let related: Vec<Claim> = related
            .iter()
            .filter_map(|unit| rows::to_claim(unit).transpose())
            .collect::<Result<_>>()?;
        let rules = Rules::new(self.boundary, self.policy, now)?;
        let evaluator = RuleEvaluator::new(now);
        let origin = incoming.origin.clone();
        let mut integrated = integrate(
            incoming,
            same.as_ref(),
            &related,
            &rules.invariants,
            &evaluator,
            self.options,
        )?;
        if stored.as_ref().is_some_and(was_discarded) {
            // Who tells it again wants it back.
            integrated.claim.state = UnitState::Validated;
        }
        let row = put_claim(write, &integrated.claim, PatchReason::IntegrateMerge)?;
        if integrated.claim.state != UnitState::Archived {
            write.unbury(row)?;
        }
        self.witness(row, &origin, method)?;
        for ended in &integrated.ended {
            let other = put_claim(write, ended, PatchReason::IntegrateMerge)?;
            write.link_claims(row, other, LinkRelation::Supersedes)?;
            write.add_event("ended", Some(other), "{}")?;
        }
        for other in &integrated.contradicts {
            if let Some(other) = write.row_of(other.as_str())? {
                write.link_claims(row, other, LinkRelation::Contradicts)?;
            }
        }
        write.add_event("integrated", Some(row), "{}")?;
        Ok(integrated)
    }

    fn check(&self, claim: &Claim) -> Result<()> {
        let denied = |what: String| {
            let reason = "it is not within the boundary".to_owned();
            Err(Error::BoundaryDenied { boundary: what, reason })
        };
        if !self.boundary.scope.contains(&claim.scope) {
            return denied(format!("the scope `{}`", claim.scope));
        }
        if !self.boundary.boundary_classes.contains(&claim.boundary_class) {
            return denied(format!("the class `{}`", claim.boundary_class));
        }
        Ok(())
    }

    /// Links a claim to what it comes from; an observation that tells it again is one witness.
    fn witness(&self, row: RowId, origin: &Origin, method: EvidenceMethod) -> Result<()> {
        let write = self.write;
        match origin {
            Origin::Observed(observation) => {
                let observation = write.row_of(observation.as_str())?;
                let known = write.evidences(row)?;
                if observation.is_some() && known.iter().any(|one| one.observation == observation) {
                    return Ok(());
                }
                let id: EvidenceId = self.memory.id()?;
                write.add_evidence(&EvidenceRow {
                    id: id.to_string(),
                    claim: row,
                    observation,
                    method: method.to_string(),
                    note: None,
                    created_at: self.now.as_second(),
                })
            }
            Origin::Derived(sources) => {
                sources.iter().try_for_each(|source| match write.row_of(source.as_str())? {
                    Some(source) if source != row => write.add_source(row, source),
                    _ => Ok(()),
                })
            }
        }
    }
}

fn was_discarded(unit: &MemoryUnit) -> bool {
    unit.unit.archived_as.as_deref() == Some(DISCARDED)
}

/// Stores a claim; one that is archived keeps the reason why.
pub(super) fn put_claim(
    write: &MemoryWrite<'_>,
    claim: &Claim,
    reason: PatchReason,
) -> Result<RowId> {
    let (unit, payload) = rows::of_claim(claim)?;
    let archived_as = match claim.state {
        UnitState::Archived => write.unit(claim.id.as_str())?.and_then(|old| old.unit.archived_as),
        UnitState::Raw | UnitState::Validated | UnitState::Consolidated => None,
    };
    write.put_unit(&UnitRow { archived_as, ..unit }, &payload, reason)
}
