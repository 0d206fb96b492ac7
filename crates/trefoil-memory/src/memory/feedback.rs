//! What is said of claims corrects them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil::{
    index::RowId,
    memory::{FeedbackRow, LinkRelation, MemoryWrite, PatchReason, SessionScope, UnitFilter},
};
use trefoil_core::{BoundaryClass, ClaimId, Error, FeedbackId, Result, Role, UnitKind};
use trefoil_text::paraphrase::{ABOUT_THE_SAME, background, difference, nearness};

use super::{
    Memory,
    learn::{put_claim, stored_claim},
    operation::{Operation, Writer},
};
use crate::{Claim, ClaimScores, Critic, Feedback, FeedbackSignal, Rating};
use trefoil_memory_core::integrate::contradict;

/// How many neighbours of a duplicate are looked at: what says another thing of the same is
/// often nearer than what says the same.
const NEIGHBOURS: usize = 32;

/// What somebody says of a claim.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FeedbackInput {
    /// The claim.
    pub claim: ClaimId,
    /// What is said.
    pub signal: FeedbackSignal,
    /// How much, in the words of who says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Rating>,
    /// Which claim says the same; the nearest that is sure to, if nobody says.
    #[serde(alias = "duplicate_of", default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<ClaimId>,
}

impl FeedbackInput {
    /// Says this of a claim, and nothing more.
    pub const fn new(claim: ClaimId, signal: FeedbackSignal) -> Self {
        Self { claim, signal, score: None, duplicate_of: None }
    }
}

/// What an input did.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeedbackOutcome {
    /// What was kept of it; absent if the same was said within the minute, which changes
    /// nothing.
    pub feedback: Option<Feedback>,
    /// The claim's values before, decay applied.
    pub previous: ClaimScores,
    /// Its values after.
    pub updated: ClaimScores,
    /// The claim that a duplicate was merged into.
    pub representative: Option<ClaimId>,
}

impl Memory {
    /// Corrects a claim by what is said of it.
    ///
    /// # Errors
    /// [`Error::UnknownClaim`] for a claim that is not there.
    pub fn feedback(&self, input: &FeedbackInput) -> Result<FeedbackOutcome> {
        let outcome = self.feedback_batch(std::slice::from_ref(input))?.pop();
        outcome.ok_or_else(|| Error::UnknownClaim { id: input.claim.clone() })
    }

    /// The same for many, in their order: all of it is done, or nothing.
    ///
    /// # Errors
    /// As [`Memory::feedback`].
    pub fn feedback_batch(&self, inputs: &[FeedbackInput]) -> Result<Vec<FeedbackOutcome>> {
        self.perform(&GiveFeedback(inputs.to_vec()))
    }

    /// The claim that a duplicate is merged into: the one that the caller names, else the
    /// nearest in its scope that says the same.
    fn same_as(&self, input: &FeedbackInput) -> Result<Option<ClaimId>> {
        if input.signal != FeedbackSignal::Duplicate {
            return Ok(None);
        }
        match input.duplicate_of.as_ref().filter(|id| **id != input.claim) {
            Some(named) => Ok(Some(named.clone())),
            None => self.nearest_same(&self.claim(&input.claim)?),
        }
    }

    /// The nearest claim of the same scope that says the same: it is about the same thing by
    /// its vector, nothing in its words differs, and nobody has linked the two as a
    /// contradiction. None where that is not sure, as without a model.
    fn nearest_same(&self, claim: &Claim) -> Result<Option<ClaimId>> {
        let memory = self.engine.memory();
        let Some(row) = memory.read("look up a claim", |read| read.row_of(claim.id.as_str()))?
        else {
            return Ok(None);
        };
        let Some(vector) = memory.vectors(&[row])?.remove(&row) else { return Ok(None) };
        let mut filter = UnitFilter::of(BoundaryClass::ALL, &[claim.scope.as_str()]);
        filter.kinds = vec![UnitKind::Claim, UnitKind::Fact];
        if let Some(session) = &claim.session {
            filter.session = SessionScope::From(session.to_string());
        }
        let found = memory.near(&vector, &memory.allowed(&filter)?, NEIGHBOURS)?;
        let rows: Vec<RowId> = found.iter().map(|one| one.row).filter(|&one| one != row).collect();
        let mut claims: BTreeMap<RowId, Claim> = self.claims_of(&rows)?.into_iter().collect();
        let now = self.now()?;
        claims.retain(|_, other| say_the_same(claim, other, now));
        if claims.is_empty() {
            return Ok(None);
        }
        let contradicted = memory.read("read the links of a claim", |read| {
            let links = read.claim_links(row)?.into_iter();
            let links = links.filter(|link| link.relation == LinkRelation::Contradicts);
            Ok(links.flat_map(|link| [link.claim, link.other]).collect::<BTreeSet<RowId>>())
        })?;
        let vectors = memory.vectors(&rows)?;
        let background = self.background(&claim.text);
        let same = rows.iter().find(|row| {
            let near = |other: &Vec<f32>| nearness(&vector, other, &background) >= ABOUT_THE_SAME;
            !contradicted.contains(row)
                && claims.contains_key(row)
                && vectors.get(row).is_some_and(near)
        });
        Ok(same.and_then(|row| claims.remove(row)).map(|claim| claim.id))
    }

    /// The vectors of the background of a text; those that cannot be had are left out, and
    /// without any the cosines are as they are.
    fn background(&self, text: &str) -> Vec<Vec<f32>> {
        let memory = self.engine.memory();
        let vector = |one: &String| memory.embed(Role::Passage, one).ok().flatten();
        background(text).iter().filter_map(vector).collect()
    }
}

/// [`Memory::feedback_batch`].
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct GiveFeedback(Vec<FeedbackInput>);

impl Operation for GiveFeedback {
    type Done = Vec<FeedbackOutcome>;
    const NAME: &'static str = "feedback";

    fn perform(&self, writer: Writer<'_>) -> Result<Vec<FeedbackOutcome>> {
        let (memory, inputs) = (writer.memory, &self.0);
        let (policy, now) = (memory.policy()?, memory.now()?);
        let near: Vec<Option<ClaimId>> =
            inputs.iter().map(|input| memory.same_as(input)).collect::<Result<_>>()?;
        let ids: Vec<FeedbackId> = inputs.iter().map(|_| memory.id()).collect::<Result<_>>()?;
        writer.write("correct claims", |write| {
            let critic = Critic { rerank: &policy.retrieval.rerank, now };
            let asked = inputs.iter().zip(ids).zip(near);
            let apply = |((input, id), near)| apply_feedback(write, &critic, input, id, near);
            asked.map(apply).collect()
        })
    }
}

/// Whether two claims hold at the same time and nothing in what they say differs.
fn say_the_same(a: &Claim, b: &Claim, now: Timestamp) -> bool {
    let has_ended = |claim: &Claim| claim.valid_to.is_some_and(|end| end <= now);
    has_ended(a) == has_ended(b) && !contradict(a, b) && difference(&a.text, &b.text).is_none()
}

fn apply_feedback(
    write: &MemoryWrite<'_>,
    critic: &Critic<'_>,
    input: &FeedbackInput,
    id: FeedbackId,
    near: Option<ClaimId>,
) -> Result<FeedbackOutcome> {
    let (stored, claim) = stored_claim(write, &input.claim)?;
    let feedback = Feedback {
        id,
        claim_id: input.claim.clone(),
        ts: critic.now,
        signal: input.signal,
        score: input.score,
    };
    let is_new = write.add_feedback(&FeedbackRow {
        id: feedback.id.to_string(),
        claim: stored.row,
        ts: feedback.ts.as_second(),
        signal: feedback.signal.to_string(),
        score: feedback.score.map(|score| f64::from(score.get())),
    })?;
    let corrected = critic.correct(claim, input.signal);
    if !is_new {
        let previous = corrected.previous;
        let (feedback, representative) = (None, None);
        return Ok(FeedbackOutcome { feedback, previous, updated: previous, representative });
    }
    put_claim(write, &corrected.claim, PatchReason::Feedback)?;
    if let Some(near) = &near {
        let (other, claim) = stored_claim(write, near)?;
        write.move_evidences(stored.row, other.row)?;
        write.link_claims(stored.row, other.row, LinkRelation::Duplicates)?;
        let merged = merged(claim, &corrected.claim, critic);
        put_claim(write, &merged, PatchReason::Feedback)?;
    }
    let told = serde_json::json!({ "signal": input.signal, "updated": corrected.updated });
    write.add_event("feedback", Some(stored.row), &told.to_string())?;
    Ok(FeedbackOutcome {
        feedback: Some(feedback),
        previous: corrected.previous,
        updated: corrected.updated,
        representative: near,
    })
}

/// The representative of a duplicate: as sure as the surer of both, with the sources of both,
/// the higher class, and its age restarted.
fn merged(mut claim: Claim, duplicate: &Claim, critic: &Critic<'_>) -> Claim {
    claim.confidence = claim.confidence.max(duplicate.confidence);
    claim.boundary_class = claim.boundary_class.max(duplicate.boundary_class);
    claim.sources.extend(duplicate.sources.iter().cloned());
    claim.sources.sort();
    claim.sources.dedup();
    critic.renew(&mut claim);
    claim
}
