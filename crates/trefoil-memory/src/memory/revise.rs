//! Claims that are made of others, reach further, or are taken back.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use trefoil::{
    index::RowId,
    memory::{PatchReason, Payload, UnitFilter, UnitRow},
};
use trefoil_core::{BoundaryClass, ClaimId, ContextId, Error, Result, Score, UnitKind, UnitState};

use super::{
    Memory,
    digest::{PURGE_AFTER, archive},
    learn::{put_claim, stored_claim},
    operation::{Operation, Writer},
    visibility::Visibility,
};
use crate::{
    Boundary, Claim, ClaimDraft, ContentHash, PolicyValidator, Scope, SourceTag, SummaryGroup,
    Tags, by_topic, recall::RecallQuery, rows,
};
use trefoil_memory_core::whole_seconds;

/// Why a claim that was taken back is out of search.
const ROLLED_BACK: &str = "rolled_back";

impl Memory {
    /// Proposes claims that say in one what claims of a saved context say of the same subject
    /// or topic, as far as `request` may see them within `boundary`. Nothing is stored:
    /// [`Memory::integrate`] stores what is wanted.
    ///
    /// A proposal has the highest class of its sources, their narrow scope, the confidence of
    /// the least sure, and all their source tags. Secrets are left out.
    ///
    /// # Errors
    /// [`Error::ContextExpired`], and as [`Memory::recall`].
    pub fn distill(
        &self,
        context: &ContextId,
        request: &RecallQuery,
        boundary: &Boundary,
    ) -> Result<Vec<ClaimDraft>> {
        let (_, rows) = self.stored_context(context)?;
        let sight = Visibility::new(self, request, boundary)?;
        let classes = sight.classes_up_to(BoundaryClass::Pii);
        let kinds = vec![UnitKind::Claim, UnitKind::Fact];
        let filter = UnitFilter { classes, kinds, ..sight.filter() };
        let mut units = Vec::new();
        let mut claims = Vec::new();
        for (mut unit, text) in sight.visible(&rows, &self.engine.memory().allowed(&filter)?)? {
            if let Payload::Claim(claim) = &mut unit.payload {
                claim.text = text;
            }
            claims.extend(rows::to_claim(&unit)?);
            units.push(unit);
        }
        let mut proposals = Vec::new();
        for fold in by_topic(&claims).iter().filter(|fold| fold.claims.len() > 1) {
            let ids: BTreeSet<&str> = fold.claims.iter().map(|claim| claim.id.as_str()).collect();
            let sources: Vec<_> =
                units.iter().filter(|unit| ids.contains(unit.unit.id.as_str())).cloned().collect();
            let text = self.digest().of(fold.name(), &sources)?;
            let hash = ContentHash::of(&text);
            if !text.is_empty() && fold.claims.iter().all(|claim| claim.content_hash != hash) {
                proposals.extend(proposal(fold, text));
            }
        }
        Ok(proposals)
    }

    /// Lets a claim hold further: in the project instead of one session, or everywhere. It
    /// must be within `boundary` before and after, for `request`: its tags and who asks.
    ///
    /// # Errors
    /// [`Error::BoundaryDenied`] if it is not, or the claim is secret; [`Error::InvalidScope`]
    /// for a scope that is not wider; [`Error::InvalidState`] for a claim that is archived.
    pub fn promote(
        &self,
        id: &ClaimId,
        scope: Scope,
        request: &RecallQuery,
        boundary: &Boundary,
    ) -> Result<Claim> {
        let (request, boundary) = (request.clone(), boundary.clone());
        self.perform(&Promote { id: id.clone(), scope, request, boundary })
    }

    /// Takes a claim back: it is archived and out of search, and summaries that told it too.
    ///
    /// # Errors
    /// [`Error::UnknownClaim`], and [`Error::InvalidState`] for one that is archived.
    pub fn rollback(&self, id: &ClaimId) -> Result<Claim> {
        self.perform(&Rollback(id.clone()))
    }
}

/// [`Memory::promote`].
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Promote {
    id: ClaimId,
    scope: Scope,
    request: RecallQuery,
    boundary: Boundary,
}

impl Operation for Promote {
    type Done = Claim;
    const NAME: &'static str = "promote";

    fn perform(&self, writer: Writer<'_>) -> Result<Claim> {
        let Self { id, scope, request, boundary } = self;
        let scope = *scope;
        let (policy, now) = (writer.memory.policy()?, writer.memory.now()?);
        let validator = PolicyValidator { now };
        writer.write("widen the scope of a claim", |write| {
            let (_, claim) = stored_claim(write, id)?;
            is_alive(&claim, "widen its scope")?;
            if claim.boundary_class == BoundaryClass::Secret {
                return Err(Error::denied("the class `secret`", "a secret is not told further"));
            }
            if scope <= claim.scope {
                let allowed = "a scope that is wider than the claim's";
                return Err(Error::InvalidScope { provided: scope.to_string(), allowed });
            }
            let as_its_scope = claim.ttl == policy.ttl(claim.scope);
            let wider = Claim {
                scope,
                session: None,
                ttl: if as_its_scope { policy.ttl(scope) } else { claim.ttl },
                updated_at: claim.updated_at.max(whole_seconds(now)),
                ..claim.clone()
            };
            for one in [&claim, &wider] {
                let facts = one.facts();
                let payload = request.payload(&one.text, one.boundary_class, Some(&facts));
                let said = validator.validate(&payload, boundary, &policy);
                if let Some(reason) = said.reason {
                    return Err(Error::denied("the boundary", reason));
                }
            }
            let row = put_claim(write, &wider, PatchReason::AdminUpdateUnitMeta)?;
            let told = serde_json::json!({ "from": claim.scope, "to": scope });
            write.add_event("promoted", Some(row), &told.to_string())?;
            Ok(wider)
        })
    }
}

/// [`Memory::rollback`].
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Rollback(ClaimId);

impl Operation for Rollback {
    type Done = Claim;
    const NAME: &'static str = "rollback";

    fn perform(&self, writer: Writer<'_>) -> Result<Claim> {
        writer.write("take a claim back", |write| {
            let (unit, claim) = stored_claim(write, &self.0)?;
            is_alive(&claim, "take it back")?;
            let archived = UnitRow {
                state: UnitState::Archived,
                archived_as: Some(ROLLED_BACK.to_owned()),
                updated_at: write.now(),
                ..unit.unit
            };
            let row = write.put_unit(&archived, &unit.payload, PatchReason::AdminUpdateUnitMeta)?;
            let made: Vec<RowId> = write.made_from(row)?;
            for summary in write.units(&made)? {
                let is_summary = matches!(summary.payload, Payload::Summary(_));
                if is_summary && summary.unit.state != UnitState::Archived {
                    archive(write, summary, "superseded", PURGE_AFTER)?;
                }
            }
            let told = serde_json::json!({ "as": ROLLED_BACK });
            write.add_event("superseded", Some(row), &told.to_string())?;
            Ok(Claim { state: UnitState::Archived, updated_at: rows::time(write.now())?, ..claim })
        })
    }
}

fn is_alive(claim: &Claim, call: &'static str) -> Result<()> {
    if claim.state == UnitState::Archived {
        let state = format!("claim {} that is archived", claim.id);
        return Err(Error::InvalidState { state, call });
    }
    Ok(())
}

fn proposal(fold: &SummaryGroup<'_>, text: String) -> Option<ClaimDraft> {
    let first = fold.claims.first()?;
    let sources: BTreeSet<&SourceTag> =
        fold.claims.iter().flat_map(|claim| &claim.sources).collect();
    Some(ClaimDraft {
        scope: first.scope,
        session: first.session.clone().filter(|_| first.scope == Scope::Session),
        boundary_class: fold.class,
        confidence: fold.claims.iter().map(|claim| claim.confidence).min().unwrap_or(Score::HALF),
        sources: sources.into_iter().map(ToString::to_string).collect(),
        epistemic_status: fold.claims.iter().map(|claim| claim.epistemic_status).min(),
        importance: fold.claims.iter().map(|claim| claim.importance).min(),
        subject: first.subject.clone(),
        tags: fold.claims.iter().fold(Tags::default(), |all, claim| all.united(&claim.tags)),
        ..ClaimDraft::derived(text, fold.claims.iter().map(|claim| claim.id.clone()))
    })
}
