//! What is said of claims corrects them.

use std::collections::BTreeMap;

use serde::Serialize;
use trefoil::{
    RowId,
    memory::{FeedbackRow, LinkRelation, MemoryUnit, MemoryWrite, PatchReason, UnitFilter},
};
use trefoil_core::{BoundaryClass, ClaimId, Error, FeedbackId, Result};

use super::{Memory, learn::put_claim};
use crate::{
    Claim, Critic, Feedback, FeedbackSignal, Rating, Standing, critic::representative, rows,
};

/// How many neighbours of a duplicate are looked at.
const NEIGHBOURS: usize = 8;

/// What somebody says of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion {
    /// The claim.
    pub claim: ClaimId,
    /// What is said.
    pub signal: FeedbackSignal,
    /// How much, in the words of who says it.
    pub score: Option<Rating>,
    /// Which claim says the same; the nearest, if nobody says.
    pub duplicate_of: Option<ClaimId>,
}

impl Opinion {
    /// Says this of a claim, and nothing more.
    pub const fn new(claim: ClaimId, signal: FeedbackSignal) -> Self {
        Self { claim, signal, score: None, duplicate_of: None }
    }
}

/// What an opinion did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Heard {
    /// What was kept of it; absent if the same was said within the minute, which changes
    /// nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// The claim's values before, decay applied.
    pub previous: Standing,
    /// Its values after.
    pub updated: Standing,
    /// The claim that a duplicate was merged into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub representative: Option<ClaimId>,
}

impl Memory {
    /// Corrects a claim by what is said of it.
    ///
    /// # Errors
    /// [`Error::UnknownClaim`] for a claim that is not there.
    pub fn feedback(&self, opinion: &Opinion) -> Result<Heard> {
        let heard = self.feedback_batch(std::slice::from_ref(opinion))?.pop();
        heard.ok_or_else(|| Error::UnknownClaim { id: opinion.claim.clone() })
    }

    /// The same for many, in their order: all of it is done, or nothing.
    ///
    /// # Errors
    /// As [`Memory::feedback`].
    pub fn feedback_batch(&self, opinions: &[Opinion]) -> Result<Vec<Heard>> {
        let (policy, now) = (self.policy()?, self.now()?);
        let near: Vec<Option<ClaimId>> =
            opinions.iter().map(|opinion| self.same_as(opinion)).collect::<Result<_>>()?;
        let ids: Vec<FeedbackId> = opinions.iter().map(|_| self.id()).collect::<Result<_>>()?;
        self.write("correct claims", |write| {
            let critic = Critic { rerank: &policy.retrieval.rerank, now };
            let asked = opinions.iter().zip(ids).zip(near);
            asked.map(|((opinion, id), near)| hear(write, &critic, opinion, id, near)).collect()
        })
    }

    /// The claim that a duplicate is merged into, if there is one in its scope.
    fn same_as(&self, opinion: &Opinion) -> Result<Option<ClaimId>> {
        if opinion.signal != FeedbackSignal::Duplicate {
            return Ok(None);
        }
        let claim = self.claim(&opinion.claim)?;
        let near = self.neighbours(&claim)?;
        Ok(representative(&claim.id, opinion.duplicate_of.as_ref(), &near).cloned())
    }

    /// The claims of the same scope that are nearest in meaning, with their cosines.
    fn neighbours(&self, claim: &Claim) -> Result<Vec<(ClaimId, f32)>> {
        let memory = self.engine.memory();
        let row = memory.read("look up a claim", |read| read.row_of(claim.id.as_str()))?;
        let vectors = memory.vectors(row.as_slice())?;
        let Some(vector) = vectors.into_values().next() else { return Ok(Vec::new()) };
        let classes: Vec<BoundaryClass> = BoundaryClass::ALL.to_vec();
        let mut filter = UnitFilter::of(&classes, &[claim.scope.as_str()]);
        if let Some(session) = &claim.session {
            filter.session = trefoil::memory::SessionScope::From(session.to_string());
        }
        let found = memory.near(&vector, &memory.allowed(&filter)?, NEIGHBOURS)?;
        let cosines: BTreeMap<RowId, f32> = found.iter().map(|one| (one.row, one.native)).collect();
        let rows: Vec<RowId> = found.iter().map(|one| one.row).collect();
        let claims = self.claims_of(&rows)?.into_iter();
        let cosine = |row| cosines.get(&row).copied().unwrap_or_default();
        Ok(claims.map(|(row, claim)| (claim.id, cosine(row))).collect())
    }
}

fn hear(
    write: &MemoryWrite<'_>,
    critic: &Critic<'_>,
    opinion: &Opinion,
    id: FeedbackId,
    near: Option<ClaimId>,
) -> Result<Heard> {
    let (stored, claim) = known(write, &opinion.claim)?;
    let feedback = Feedback {
        id,
        claim_id: opinion.claim.clone(),
        ts: critic.now,
        signal: opinion.signal,
        score: opinion.score,
    };
    let is_new = write.add_feedback(&FeedbackRow {
        id: feedback.id.to_string(),
        claim: stored.row,
        ts: feedback.ts.as_second(),
        signal: feedback.signal.to_string(),
        score: feedback.score.map(|score| f64::from(score.get())),
    })?;
    let corrected = critic.correct(claim, opinion.signal);
    if !is_new {
        let previous = corrected.previous;
        return Ok(Heard { feedback: None, previous, updated: previous, representative: None });
    }
    put_claim(write, &corrected.claim, PatchReason::Feedback)?;
    if let Some(near) = &near {
        let (other, claim) = known(write, near)?;
        write.move_evidences(stored.row, other.row)?;
        write.link_claims(stored.row, other.row, LinkRelation::Duplicates)?;
        let merged = merged(claim, &corrected.claim, critic);
        put_claim(write, &merged, PatchReason::Feedback)?;
    }
    let told = serde_json::json!({ "signal": opinion.signal, "updated": corrected.updated });
    write.add_event("feedback", Some(stored.row), &told.to_string())?;
    Ok(Heard {
        feedback: Some(feedback),
        previous: corrected.previous,
        updated: corrected.updated,
        representative: near,
    })
}

/// The representative of a duplicate: as sure as the surer of both, with the sources of both,
/// the higher class, and its age counted anew.
fn merged(mut claim: Claim, duplicate: &Claim, critic: &Critic<'_>) -> Claim {
    claim.confidence = claim.confidence.max(duplicate.confidence);
    claim.boundary_class = claim.boundary_class.max(duplicate.boundary_class);
    claim.sources.extend(duplicate.sources.iter().cloned());
    claim.sources.sort();
    claim.sources.dedup();
    critic.renew(&mut claim);
    claim
}

fn known(write: &MemoryWrite<'_>, id: &ClaimId) -> Result<(MemoryUnit, Claim)> {
    let unknown = || Error::UnknownClaim { id: id.clone() };
    let unit = write.unit(id.as_str())?.ok_or_else(unknown)?;
    let claim = rows::to_claim(&unit)?.ok_or_else(unknown)?;
    Ok((unit, claim))
}
