//! Recall: which claims a request may see, what of them answers, and in which order.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil::{
    Degraded,
    index::RowId,
    memory::{ActiveContextRow, ContextItemRow, MemoryCollection, UnitFilter},
};
use trefoil_core::{Error, EvidenceId, Result, UnitKind};

use super::{
    Memory,
    operation::{Operation, Writer},
    search::{Filtered, Matches, RecallPlan},
    visibility::Visibility,
};
use crate::{
    ActiveContext, Boundary, Claim, ClaimEvidence, ContextItem, Invariant, Policy, Provenance,
    Requester, RuleEvaluator, ScoredClaim,
    recall::{
        Candidate, RecallProfile, RecallQuery, Scoring, Utilities, adapted_alpha, is_exact_match,
    },
    rows,
};
use trefoil_memory_core::{cut_out, whole_seconds};

/// What a recall brought.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecalledClaims {
    /// What was saved of it.
    pub context: ActiveContext,
    /// The claims, best first.
    pub claims: Vec<ScoredClaim>,
    /// What speaks for them.
    pub evidences: Vec<ClaimEvidence>,
    /// In a sentence, how it came about.
    pub reason: String,
    /// The numbers that the scores were made with.
    pub scoring_params: ScoringParams,
    /// What could not be searched, or is behind.
    pub degraded: Vec<Degraded>,
}

/// The numbers that scores were made with.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScoringParams {
    /// Weight of meaning against words.
    pub alpha: f64,
    /// How many were asked for by words.
    pub k_txt: usize,
    /// How many were asked for by meaning.
    pub k_vec: usize,
    /// How many were to be shown.
    pub k_final: usize,
    /// Days after which a claim counts half as recent, where its kind says nothing else.
    pub recency_half_life_days: f64,
}

impl Memory {
    /// The claims within `boundary` that answer a query, and the context that they make.
    ///
    /// # Errors
    /// [`Error::BoundaryDenied`] if the query may see nothing, [`Error::InvalidQuery`], those of
    /// rules that cannot be read, and [`Error::ReadOnly`] if a context is to be saved where
    /// nothing can be.
    pub fn recall(&self, query: &RecallQuery, boundary: &Boundary) -> Result<RecalledClaims> {
        if query.profile == RecallProfile::Episodes {
            query.admission(boundary, &self.policy()?)?;
            let allowed = "`hybrid` or `keyword_first`; episodes are asked for as such";
            return Err(Error::invalid_query("profile", query.profile, allowed));
        }
        let sight = Visibility::new(self, query, boundary)?;
        let Visibility { policy, admission, now, .. } = &sight;
        let rules = Rules::new(boundary, policy, &query.requester, *now)?;
        let kinds = vec![UnitKind::Claim, UnitKind::Fact];
        let units = UnitFilter { kinds, ..sight.filter() };
        let question = query.q.trim();
        let mut plan = RecallPlan::hybrid(units, question, query, &policy.retrieval.hybrid);
        plan.messages = Some(&sight);
        plan.questions.retain(|question| !question.is_empty());
        let filter = |rows: &[RowId]| {
            let claims = self.claims_of(rows)?.into_iter();
            let (mut kept, broken): (Vec<_>, Vec<_>) =
                claims.partition(|(_, claim)| rules.broken(claim).is_none());
            kept.retain(|(_, claim)| admission.admits(claim));
            Ok(Filtered { kept, broken: broken.into_iter().map(|(row, _)| row).collect() })
        };
        self.find(&plan, filter, |claims, matches| self.present(&sight, &claims, matches))
    }

    /// Scores the claims that were found, selects those to show and saves the context.
    fn present(
        &self,
        sight: &Visibility<'_>,
        claims: &[(RowId, Claim)],
        matches: &Matches,
    ) -> Result<RecalledClaims> {
        let Visibility { query, policy, now, .. } = sight;
        let scoring = Scoring {
            alpha: adapted_alpha(&query.q, policy.retrieval.hybrid.alpha),
            rerank: &policy.retrieval.rerank,
            utilities: Utilities::new(matches.utility.mean, matches.utility.deviation),
            now: *now,
        };
        let mut ranked = rank(self.engine.memory(), &scoring, query, matches, claims);
        if query.diverse {
            ranked = self.diverse(ranked, claims, query.top_k)?;
        }
        for one in &mut ranked {
            if !query.include_meta {
                one.breakdown = None;
            }
            cut_out(&mut one.claim, policy);
        }
        let rows: Vec<RowId> = ranked
            .iter()
            .filter_map(|one| claims.iter().find(|(_, claim)| claim.id == one.claim.id))
            .map(|(row, _)| *row)
            .collect();
        let context = self.made(sight, None, &ranked)?;
        if query.save {
            self.perform(&SaveContext(context.clone()))?;
        }
        Ok(RecalledClaims {
            context,
            evidences: self.evidences_of(&rows, &ranked)?,
            reason: reason(&ranked, claims.len()),
            claims: ranked,
            scoring_params: ScoringParams {
                alpha: scoring.alpha,
                k_txt: matches.depth.text,
                k_vec: matches.depth.vector,
                k_final: query.top_k,
                recency_half_life_days: policy.retrieval.rerank.recency_half_life_days,
            },
            degraded: matches.degraded.clone(),
        })
    }

    pub(super) fn claims_of(&self, rows: &[RowId]) -> Result<Vec<(RowId, Claim)>> {
        let units = self.read("read claims", |read| read.units(rows))?;
        let claims =
            units.iter().map(|unit| Ok(rows::to_claim(unit)?.map(|claim| (unit.row, claim))));
        claims.filter_map(Result::transpose).collect()
    }

    /// The context that ranked claims make.
    pub(super) fn made(
        &self,
        sight: &Visibility<'_>,
        window: Option<u32>,
        ranked: &[ScoredClaim],
    ) -> Result<ActiveContext> {
        let Visibility { query, policy, admission, now, .. } = sight;
        let (scope, now) = (admission.widest_scope(), *now);
        let items = ranked.iter().zip(1..).map(|(one, rank)| ContextItem {
            claim: one.claim.id.clone(),
            rank,
            score: one.score,
        });
        Ok(ActiveContext {
            id: self.id()?,
            window,
            scope,
            provenance: Some(asked_by(&query.requester, now)),
            expires_at: ActiveContext::expiry(policy.ttl(scope), now),
            policy_version: policy.version.clone(),
            items: items.collect(),
        })
    }

    fn evidences_of(&self, rows: &[RowId], ranked: &[ScoredClaim]) -> Result<Vec<ClaimEvidence>> {
        self.read("read evidence", |read| {
            let mut evidences = Vec::new();
            for (&row, one) in rows.iter().zip(ranked) {
                for evidence in read.evidences(row)? {
                    let observation: Vec<RowId> = evidence.observation.into_iter().collect();
                    let observation = read.units(&observation)?.pop();
                    evidences.push(ClaimEvidence {
                        id: EvidenceId::new(&evidence.id)?,
                        claim_id: one.claim.id.clone(),
                        observation_id: observation.map(|unit| unit.unit.id.parse()).transpose()?,
                        method: evidence.method.parse()?,
                        note: evidence.note,
                    });
                }
            }
            Ok(evidences)
        })
    }
}

/// Saves a context, to be looked up as long as it can be used.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SaveContext(pub(super) ActiveContext);

impl Operation for SaveContext {
    type Done = ();
    const NAME: &'static str = "saveContext";

    fn perform(&self, writer: Writer<'_>) -> Result<()> {
        let context = &self.0;
        let provenance_json = context.provenance.as_ref().map(rows::to_json).transpose()?;
        writer.write("save a context", |write| {
            let mut items = Vec::new();
            for item in &context.items {
                // What was forgotten since it was recalled is left out.
                if let Some(row) = write.row_of(item.claim.as_str())? {
                    let score = f64::from(item.score.get());
                    items.push(ContextItemRow { row, rank: item.rank, score });
                }
            }
            write.add_context(&ActiveContextRow {
                id: context.id.to_string(),
                window: context.window,
                scope: context.scope.to_string(),
                provenance_json,
                policy_version: context.policy_version.to_string(),
                created_at: write.now(),
                expires_at: context.expires_at.as_second(),
                items,
            })
        })
    }
}

/// Who asked, and when.
fn asked_by(requester: &Requester, now: Timestamp) -> Provenance {
    let Requester { actor, tool } = requester;
    Provenance {
        at: whole_seconds(now),
        actor: actor.clone(),
        git: None,
        url: None,
        note: tool.as_ref().map(|tool| format!("tool: {tool}")),
        signed: None,
    }
}

/// The rules of policy and boundary, ready to be asked.
pub(super) struct Rules {
    pub(super) invariants: Vec<Invariant>,
    pub(super) evaluator: RuleEvaluator,
}

impl Rules {
    pub(super) fn new(
        boundary: &Boundary,
        policy: &Policy,
        requester: &Requester,
        now: Timestamp,
    ) -> Result<Self> {
        let definitions = policy.invariants.iter().chain(&boundary.invariants);
        let invariants = definitions.map(Invariant::try_from).collect::<Result<_>>()?;
        let evaluator = RuleEvaluator { now, requester: requester.clone() };
        Ok(Self { invariants, evaluator })
    }

    /// The first rule that does not hold for a claim.
    pub(super) fn broken(&self, claim: &Claim) -> Option<&Invariant> {
        self.evaluator.first_broken(&self.invariants, &claim.facts())
    }
}

fn rank(
    memory: MemoryCollection<'_>,
    scoring: &Scoring<'_>,
    query: &RecallQuery,
    found: &Matches,
    claims: &[(RowId, Claim)],
) -> Vec<ScoredClaim> {
    let most = if query.diverse { RecallQuery::MAX_TOP_K } else { query.top_k };
    if query.q.trim().is_empty() {
        let claims: Vec<&Claim> = claims.iter().map(|(_, claim)| claim).collect();
        return scoring.rank_by_worth(&claims, most);
    }
    let candidates: Vec<Candidate<'_>> = claims
        .iter()
        .map(|(row, claim)| Candidate {
            claim,
            text: found.text.get(row).copied().unwrap_or_default(),
            vector: found.meaning(memory, *row),
            tokens: found.tokens.get(row).copied(),
            exact: is_exact_match(&query.q, &claim.text),
        })
        .collect();
    scoring.rank(&candidates, most)
}

fn reason(ranked: &[ScoredClaim], candidates: usize) -> String {
    if candidates == 0 {
        "nothing that is remembered matches this".to_owned()
    } else if ranked.is_empty() {
        format!("none of {candidates} claims that were found is worth showing")
    } else {
        format!(
            "{} of {candidates} claims that were found, by words, meaning and worth",
            ranked.len()
        )
    }
}
