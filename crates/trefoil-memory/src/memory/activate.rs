//! Recall: which claims a request may see, what of them answers, and in which order.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde::Serialize;
use trefoil::{
    Allowed, Degraded, Role, RowId, RowSet,
    memory::{
        ActiveContextRow, ContextItemRow, MemoryCollection, RecallDepth, Recalled, SessionScope,
        UnitFilter,
    },
};
use trefoil_core::{EvidenceId, Result, UnitKind, UnitState};

use super::Memory;
use crate::{
    ActiveContext, Boundary, Claim, ContextItem, Evidence, HybridPolicy, Invariant, Policy,
    RuleEvaluator, ScoredClaim,
    recall::{
        Admission, Candidate, RecallQuery, Scoring, Utilities, adapted_alpha, is_exact_match,
        widened,
    },
    rows,
};

/// What a recall brought.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Activated {
    /// What was saved of it.
    pub context: ActiveContext,
    /// The claims, best first.
    pub claims: Vec<ScoredClaim>,
    /// What speaks for them.
    pub evidences: Vec<Evidence>,
    /// In a sentence, how it came about.
    pub reason: String,
    /// The numbers that the scores were made with.
    pub scoring_params: ScoringParams,
    /// What could not be searched, or is behind.
    pub degraded: Vec<Degraded>,
}

/// The numbers that scores were made with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    /// [`Error::BoundaryDenied`](trefoil_core::Error::BoundaryDenied) if the query may see
    /// nothing, [`Error::InvalidQuery`](trefoil_core::Error::InvalidQuery), those of rules that
    /// cannot be read, and [`Error::ReadOnly`](trefoil_core::Error::ReadOnly) if a context is
    /// to be saved where nothing can be.
    pub fn activate(&self, query: &RecallQuery, boundary: &Boundary) -> Result<Activated> {
        let (policy, now) = (self.policy()?, self.now()?);
        let admission = query.admission(boundary, &policy)?;
        let filter = filter(&admission, now);
        let memory = self.engine.memory();
        let admitted = memory.admitted(&filter)?;
        let allowed = self.without_broken(admitted.allowed, boundary, &policy, now)?;
        let found = match query.q.trim() {
            "" => Found::all(&allowed),
            question => find(memory, question, &allowed, &policy.retrieval.hybrid, query.top_k)?,
        };
        let scoring = Scoring {
            alpha: adapted_alpha(&query.q, policy.retrieval.hybrid.alpha),
            rerank: &policy.retrieval.rerank,
            utilities: Utilities::new(admitted.utility.mean, admitted.utility.deviation),
            now,
        };
        let claims = self.claims_of(&found.rows)?;
        let claims: Vec<(RowId, Claim)> =
            claims.into_iter().filter(|(_, claim)| admission.admits(claim)).collect();
        let mut ranked = rank(&scoring, query, &found, &claims);
        if !query.include_meta {
            for one in &mut ranked {
                one.breakdown = None;
            }
        }
        let rows: Vec<RowId> = ranked
            .iter()
            .filter_map(|one| claims.iter().find(|(_, claim)| claim.id == one.claim.id))
            .map(|(row, _)| *row)
            .collect();
        let context = self.context(&admission, &policy, &ranked, now)?;
        if query.save {
            self.save(&context, &rows, now)?;
        }
        Ok(Activated {
            context,
            evidences: self.evidences_of(&rows, &ranked)?,
            reason: reason(&ranked, claims.len()),
            claims: ranked,
            scoring_params: ScoringParams {
                alpha: scoring.alpha,
                k_txt: found.depth.text,
                k_vec: found.depth.vector,
                k_final: query.top_k,
                recency_half_life_days: policy.retrieval.rerank.recency_half_life_days,
            },
            degraded: found.degraded,
        })
    }

    /// Takes out the claims for which a rule of policy or boundary does not hold.
    fn without_broken(
        &self,
        allowed: Allowed,
        boundary: &Boundary,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Allowed> {
        let definitions = policy.invariants.iter().chain(&boundary.invariants);
        let invariants: Vec<Invariant> =
            definitions.map(Invariant::try_from).collect::<Result<_>>()?;
        let Allowed::Only(rows) = &allowed else { return Ok(allowed) };
        if invariants.is_empty() {
            return Ok(allowed);
        }
        let evaluator = RuleEvaluator::new(now);
        let rows: Vec<RowId> = rows.iter().collect();
        let kept: RowSet = self
            .claims_of(&rows)?
            .into_iter()
            .filter(|(_, claim)| evaluator.first_broken(&invariants, claim).is_none())
            .map(|(row, _)| row)
            .collect();
        Ok(Allowed::Only(Arc::new(kept)))
    }

    pub(super) fn claims_of(&self, rows: &[RowId]) -> Result<Vec<(RowId, Claim)>> {
        let units = self.engine.memory().read("read claims", |read| read.units(rows))?;
        let claims =
            units.iter().map(|unit| Ok(rows::to_claim(unit)?.map(|claim| (unit.row, claim))));
        claims.filter_map(Result::transpose).collect()
    }

    fn context(
        &self,
        admission: &Admission,
        policy: &Policy,
        ranked: &[ScoredClaim],
        now: Timestamp,
    ) -> Result<ActiveContext> {
        let scope = admission.widest_scope();
        let items = ranked.iter().zip(1..).map(|(one, rank)| ContextItem {
            claim: one.claim.id.clone(),
            rank,
            score: one.score,
        });
        Ok(ActiveContext {
            id: self.id()?,
            window: None,
            scope,
            provenance: None,
            expires_at: ActiveContext::expiry(policy.ttl(scope), now),
            policy_version: policy.version.clone(),
            items: items.collect(),
        })
    }

    fn save(&self, context: &ActiveContext, rows: &[RowId], now: Timestamp) -> Result<()> {
        let items = rows.iter().zip(&context.items).map(|(&row, item)| ContextItemRow {
            row,
            rank: item.rank,
            score: f64::from(item.score.get()),
        });
        let row = ActiveContextRow {
            id: context.id.to_string(),
            window: context.window,
            scope: context.scope.to_string(),
            provenance_json: None,
            policy_version: context.policy_version.to_string(),
            created_at: now.as_second(),
            expires_at: context.expires_at.as_second(),
            items: items.collect(),
        };
        self.write("save a context", |write| write.add_context(&row))
    }

    fn evidences_of(&self, rows: &[RowId], ranked: &[ScoredClaim]) -> Result<Vec<Evidence>> {
        self.engine.memory().read("read evidence", |read| {
            let mut evidences = Vec::new();
            for (&row, one) in rows.iter().zip(ranked) {
                for evidence in read.evidences(row)? {
                    let observation: Vec<RowId> = evidence.observation.into_iter().collect();
                    let observation = read.units(&observation)?.pop();
                    evidences.push(Evidence {
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

fn filter(admission: &Admission, now: Timestamp) -> UnitFilter {
    UnitFilter {
        kinds: vec![UnitKind::Claim, UnitKind::Fact],
        states: vec![UnitState::Raw, UnitState::Validated, UnitState::Consolidated],
        classes: admission.classes.iter().copied().collect(),
        scopes: admission.scopes.iter().map(ToString::to_string).collect(),
        session: match &admission.session {
            Some(session) => SessionScope::From(session.to_string()),
            None => SessionScope::None,
        },
        valid_at: Some(now.as_second()),
        ..UnitFilter::default()
    }
}

/// What the searches say of rows: relevance of words and of meaning, 0–1.
struct Found {
    rows: Vec<RowId>,
    text: BTreeMap<RowId, f64>,
    vector: BTreeMap<RowId, f64>,
    depth: RecallDepth,
    degraded: Vec<Degraded>,
}

impl Found {
    /// Everything, for a question that is empty.
    fn all(allowed: &Allowed) -> Self {
        let rows = match allowed {
            Allowed::Only(rows) => rows.iter().collect(),
            Allowed::All => Vec::new(),
        };
        Self {
            rows,
            text: BTreeMap::new(),
            vector: BTreeMap::new(),
            depth: RecallDepth { text: 0, vector: 0 },
            degraded: Vec::new(),
        }
    }
}

/// Asks both sides, one that found too little once more and deeper. What only words found is
/// compared in meaning too.
fn find(
    memory: MemoryCollection<'_>,
    question: &str,
    allowed: &Allowed,
    hybrid: &HybridPolicy,
    k_final: usize,
) -> Result<Found> {
    let mut depth = RecallDepth { text: hybrid.k_txt, vector: hybrid.k_vec };
    let Recalled { mut by_text, mut by_vector, degraded } =
        memory.recall(question, allowed, depth)?;
    if let Some(deeper) = widened(depth.text, by_text.len(), k_final) {
        depth.text = deeper;
        by_text = memory.by_text(question, allowed, deeper)?;
    }
    if let Some(deeper) = widened(depth.vector, by_vector.len(), k_final) {
        depth.vector = deeper;
        by_vector = memory.by_vector(question, allowed, deeper)?;
    }
    let relevance = |found: &[trefoil::memory::Found]| -> BTreeMap<RowId, f64> {
        found.iter().map(|one| (one.row, f64::from(one.relevance.get()))).collect()
    };
    let (text, mut vector) = (relevance(&by_text), relevance(&by_vector));
    let words_only: Vec<RowId> =
        text.keys().copied().filter(|row| !vector.contains_key(row)).collect();
    let known = memory.vectors(&words_only)?;
    let asked = if known.is_empty() { None } else { memory.embed(Role::Query, question)? };
    if let Some(asked) = asked {
        for (row, own) in known {
            let cosine = asked.iter().zip(&own).map(|(a, b)| a * b).sum();
            vector.insert(row, f64::from(memory.relevance_of(cosine).get()));
        }
    }
    let mut rows: Vec<RowId> = text.keys().chain(vector.keys()).copied().collect();
    rows.sort_unstable();
    rows.dedup();
    Ok(Found { rows, text, vector, depth, degraded })
}

fn rank(
    scoring: &Scoring<'_>,
    query: &RecallQuery,
    found: &Found,
    claims: &[(RowId, Claim)],
) -> Vec<ScoredClaim> {
    if query.q.trim().is_empty() {
        let claims: Vec<&Claim> = claims.iter().map(|(_, claim)| claim).collect();
        return scoring.rank_by_worth(&claims, query.top_k);
    }
    let candidates: Vec<Candidate<'_>> = claims
        .iter()
        .map(|(row, claim)| Candidate {
            claim,
            text: found.text.get(row).copied().unwrap_or_default(),
            vector: found.vector.get(row).copied().unwrap_or_default(),
            exact: is_exact_match(&query.q, &claim.text),
        })
        .collect();
    scoring.rank(&candidates, query.top_k)
}

fn reason(ranked: &[ScoredClaim], candidates: usize) -> String {
    if ranked.is_empty() {
        format!("none of {candidates} claims that were found is worth showing")
    } else {
        format!(
            "{} of {candidates} claims that were found, by words, meaning and worth",
            ranked.len()
        )
    }
}
