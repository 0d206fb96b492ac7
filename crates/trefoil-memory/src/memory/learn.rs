//! A new claim meets those that are there.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil::{
    index::RowId,
    memory::{
        EvidenceRow, LinkRelation, MemoryRead, MemoryUnit, MemoryWrite, PatchReason, UnitRow,
    },
};
use trefoil_core::{ClaimId, Error, EvidenceId, Part, Result, UnitState};

use super::{
    Memory,
    digest::DISCARDED,
    fact::fact,
    operation::{Operation, Writer},
    recall::Rules,
};
use crate::{Boundary, Claim, ClaimDraft, EvidenceMethod, Origin, Policy, admit_claim, rows};
use trefoil_memory_core::integrate::{
    IntegrateOptions, Integrated, compared_with, insert_strictly, integrate,
};

impl Memory {
    /// Stores a claim that is new, with what it comes from as evidence; its class is that of
    /// the highest of them at least.
    ///
    /// # Errors
    /// [`Error::DuplicateClaim`] if another says the same, [`Error::BoundaryDenied`] for what
    /// may not be stored, and those of [`ClaimDraft::into_claim`].
    pub fn insert_claim(&self, draft: ClaimDraft) -> Result<Claim> {
        let none = || Error::backend(Part::Store, "store a claim", "the answer has none");
        self.insert_claims(vec![draft])?.pop().ok_or_else(none)
    }

    /// The same for many, in their order: all of them are stored, or none.
    ///
    /// # Errors
    /// As [`Memory::insert_claim`].
    pub fn insert_claims(&self, drafts: Vec<ClaimDraft>) -> Result<Vec<Claim>> {
        self.perform(&InsertClaims(drafts))
    }

    fn insert(
        &self,
        write: &MemoryWrite<'_>,
        draft: ClaimDraft,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Claim> {
        let draft = of_its_class(write, admit_claim(draft, policy)?)?;
        let (claim, _) = draft.into_claim(self.id()?, now)?;
        let same = write.claim_by_hash(claim.content_hash.as_str())?;
        let same = rows::body(same.as_ref(), rows::to_claim)?;
        let claim = insert_strictly(claim, same.as_ref())?;
        let row = put_claim(write, &claim, PatchReason::ExtractUpdate)?;
        self.witness(write, row, &claim, EvidenceMethod::Rule)?;
        write.add_event("integrated", Some(row), "{}")?;
        Ok(claim)
    }

    /// Links a claim to what it comes from; an observation that tells it again is one witness.
    fn witness(
        &self,
        write: &MemoryWrite<'_>,
        row: RowId,
        told: &Claim,
        method: EvidenceMethod,
    ) -> Result<()> {
        match &told.origin {
            Origin::Observed(observation) => {
                let observation = write.row_of(observation.as_str())?;
                let known = write.evidences(row)?;
                if observation.is_some() && known.iter().any(|one| one.observation == observation) {
                    return Ok(());
                }
                let id: EvidenceId = self.id()?;
                write.add_evidence(&EvidenceRow {
                    id: id.to_string(),
                    claim: row,
                    observation,
                    method: method.to_string(),
                    note: None,
                    created_at: write.now(),
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
        let (options, boundary) = (options.clone(), boundary.clone());
        self.perform(&Integrate { draft, options, boundary })
    }
}

/// [`Memory::insert_claims`].
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct InsertClaims(Vec<ClaimDraft>);

impl Operation for InsertClaims {
    type Done = Vec<Claim>;
    const NAME: &'static str = "insertClaims";

    fn perform(&self, writer: Writer<'_>) -> Result<Vec<Claim>> {
        let memory = writer.memory;
        let (policy, now) = (memory.policy()?, memory.now()?);
        writer.write("store claims", |write| {
            let drafts = self.0.iter().cloned();
            drafts.map(|draft| memory.insert(write, draft, &policy, now)).collect()
        })
    }

    fn redacted(&self, memory: &Memory) -> Result<Self> {
        let policy = memory.policy()?;
        let drafts = self.0.iter().cloned();
        drafts.map(|draft| admit_claim(draft, &policy)).collect::<Result<_>>().map(Self)
    }
}

/// [`Memory::integrate`].
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Integrate {
    draft: ClaimDraft,
    options: IntegrateOptions,
    boundary: Boundary,
}

impl Operation for Integrate {
    type Done = Integrated;
    const NAME: &'static str = "integrate";

    fn perform(&self, writer: Writer<'_>) -> Result<Integrated> {
        let memory = writer.memory;
        let (policy, now) = (&memory.policy()?, memory.now()?);
        let Self { draft, options, boundary } = self;
        writer.write("integrate a claim", |write| {
            let learning = Learning { memory, write, boundary, policy, options, now };
            learning.claim(draft.clone(), EvidenceMethod::Manual)
        })
    }

    fn redacted(&self, memory: &Memory) -> Result<Self> {
        let draft = admit_claim(self.draft.clone(), &memory.policy()?)?;
        Ok(Self { draft, ..self.clone() })
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
        let draft = of_its_class(write, admit_claim(draft, self.policy)?)?;
        let (incoming, _) = draft.into_claim(self.memory.id()?, now)?;
        self.check(&incoming)?;
        let stored = write.claim_by_hash(incoming.content_hash.as_str())?;
        let same = rows::body(stored.as_ref(), rows::to_claim)?;
        // A claim that is told again keeps what it said of its predicate.
        let predicates = [Some(&incoming), same.as_ref()].into_iter().flatten();
        let predicates = predicates.filter_map(|claim| claim.predicate.as_deref());
        let compared: BTreeSet<&str> = predicates.flat_map(compared_with).collect();
        let related = match &incoming.subject {
            Some(subject) => {
                rows::to_claims(&write.claims_about(subject, &Vec::from_iter(compared))?)?
            }
            None => Vec::new(),
        };
        let rules = Rules::new(self.boundary, self.policy, &self.options.requester, now)?;
        let told = incoming.clone();
        let mut integrated = integrate(
            incoming,
            same.as_ref(),
            &related,
            &rules.invariants,
            &rules.evaluator,
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
        self.memory.witness(write, row, &told, method)?;
        if self.options.update_graph {
            write.put_mentions(row, &fact(&integrated.claim))?;
        }
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
        let denied = |what: String| Err(Error::denied(what, "it is not within the boundary"));
        if !self.boundary.scope.contains(&claim.scope) {
            return denied(format!("the scope `{}`", claim.scope));
        }
        if !self.boundary.boundary_classes.contains(&claim.boundary_class) {
            return denied(format!("the class `{}`", claim.boundary_class));
        }
        Ok(())
    }
}

/// The draft with the highest class of what it comes from, if that is higher than its own.
fn of_its_class(read: &MemoryRead<'_>, draft: ClaimDraft) -> Result<ClaimDraft> {
    let sources: Vec<&str> = match &draft.origin {
        Origin::Observed(observation) => vec![observation.as_str()],
        Origin::Derived(claims) => claims.iter().map(ClaimId::as_str).collect(),
    };
    let mut boundary_class = draft.boundary_class;
    for source in sources {
        let source = read.unit(source)?.map(|unit| unit.unit.boundary);
        boundary_class = boundary_class.max(source.unwrap_or(boundary_class));
    }
    Ok(ClaimDraft { boundary_class, ..draft })
}

fn was_discarded(unit: &MemoryUnit) -> bool {
    unit.unit.archived_as.as_deref() == Some(DISCARDED)
}

/// The claim with this id and the unit that it is stored as.
pub(super) fn stored_claim(read: &MemoryRead<'_>, id: &ClaimId) -> Result<(MemoryUnit, Claim)> {
    let unknown = || Error::UnknownClaim { id: id.clone() };
    let unit = read.unit(id.as_str())?.ok_or_else(unknown)?;
    let claim = rows::to_claim(&unit)?.ok_or_else(unknown)?;
    Ok((unit, claim))
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
