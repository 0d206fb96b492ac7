//! Recall: which claims a request may see, what of them answers, and in which order.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use trefoil::{
    Allowed, Degraded, RowId, RowSet,
    memory::{ActiveContextRow, ContextItemRow, MemoryCollection, UnitFilter},
};
use trefoil_core::{Error, EvidenceId, Result, UnitKind};
use trefoil_text::language_of;

use super::{
    Memory,
    episodes::admitted_units,
    search::{Search, Sides},
};
use crate::{
    ActiveContext, Boundary, Claim, ClaimEvidence, ContextItem, Invariant, Policy, Provenance,
    Requester, RuleEvaluator, ScoredClaim,
    recall::{
        Admission, Candidate, RecallProfile, RecallQuery, Scoring, Utilities, adapted_alpha,
        is_exact_match,
    },
    rows,
    unit::whole_seconds,
};

/// What a recall brought.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// [`Error::BoundaryDenied`] if the query may see nothing, [`Error::InvalidQuery`], those of
    /// rules that cannot be read, and [`Error::ReadOnly`] if a context is to be saved where
    /// nothing can be.
    pub fn recall(&self, query: &RecallQuery, boundary: &Boundary) -> Result<RecalledClaims> {
        let (policy, now) = (self.policy()?, self.now()?);
        let admission = query.admission(boundary, &policy)?;
        if query.profile == RecallProfile::Episodes {
            let allowed = "`hybrid` or `keyword_first`; episodes are asked for as such";
            return Err(Error::invalid_query("profile", query.profile, allowed));
        }
        let admitted = self.engine.memory().admitted(&filter(&admission, now))?;
        let rules = Rules::new(boundary, &policy, &query.requester, now)?;
        let (found, claims) = self.unbroken(query, admitted.allowed, &rules, &policy)?;
        let scoring = Scoring {
            alpha: adapted_alpha(&query.q, policy.retrieval.hybrid.alpha),
            rerank: &policy.retrieval.rerank,
            utilities: Utilities::new(admitted.utility.mean, admitted.utility.deviation),
            now,
        };
        let claims: Vec<(RowId, Claim)> =
            claims.into_iter().filter(|(_, claim)| admission.admits(claim)).collect();
        let mut ranked = rank(self.engine.memory(), &scoring, query, &found, &claims);
        if query.diverse {
            ranked = self.diverse(ranked, &claims, query.top_k)?;
        }
        for one in &mut ranked {
            if !query.include_meta {
                one.breakdown = None;
            }
            policy.cut_out(&mut one.claim);
        }
        let rows: Vec<RowId> = ranked
            .iter()
            .filter_map(|one| claims.iter().find(|(_, claim)| claim.id == one.claim.id))
            .map(|(row, _)| *row)
            .collect();
        let context = self.made(query, &admission, &policy, None, &ranked, now)?;
        if query.save {
            self.save(&context, &rows, now)?;
        }
        Ok(RecalledClaims {
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

    /// What answers of the claims for which every rule holds. The rules are asked of what was
    /// found; a claim for which one does not hold is no longer allowed, and the searches are
    /// made again, so that what they bring is as if it had never been there.
    fn unbroken(
        &self,
        query: &RecallQuery,
        mut allowed: Allowed,
        rules: &Rules,
        policy: &Policy,
    ) -> Result<(Sides, Vec<(RowId, Claim)>)> {
        let (memory, question) = (self.engine.memory(), query.q.trim());
        let search = Search { memory, query, question, hybrid: &policy.retrieval.hybrid };
        let (mut found, mut round) = (Sides::default(), 0);
        loop {
            found = if question.is_empty() {
                Sides::all(&allowed)
            } else {
                search.run(&allowed, found)?
            };
            round += 1;
            // Where many break a rule, all are asked at once.
            let asked = if round < ROUNDS { found.rows.clone() } else { rows_of(&allowed) };
            let claims = self.claims_of(&asked)?.into_iter();
            let (mut kept, broken): (Vec<_>, Vec<_>) =
                claims.partition(|(_, claim)| rules.broken(claim).is_none());
            if broken.is_empty() || question.is_empty() {
                kept.retain(|(row, _)| found.rows.binary_search(row).is_ok());
                return Ok((found, kept));
            }
            let broken: RowSet = broken.into_iter().map(|(row, _)| row).collect();
            let rest = rows_of(&allowed).into_iter().filter(|&row| !broken.contains(row));
            allowed = Allowed::Only(Arc::new(rest.collect()));
        }
    }

    pub(super) fn claims_of(&self, rows: &[RowId]) -> Result<Vec<(RowId, Claim)>> {
        let units = self.engine.memory().read("read claims", |read| read.units(rows))?;
        let claims =
            units.iter().map(|unit| Ok(rows::to_claim(unit)?.map(|claim| (unit.row, claim))));
        claims.filter_map(Result::transpose).collect()
    }

    pub(super) fn made(
        &self,
        query: &RecallQuery,
        admission: &Admission,
        policy: &Policy,
        window: Option<u32>,
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
            window,
            scope,
            provenance: Some(asked_by(&query.requester, now)),
            expires_at: ActiveContext::expiry(policy.ttl(scope), now),
            policy_version: policy.version.clone(),
            items: items.collect(),
        })
    }

    pub(super) fn save(
        &self,
        context: &ActiveContext,
        rows: &[RowId],
        now: Timestamp,
    ) -> Result<()> {
        let items = rows.iter().zip(&context.items).map(|(&row, item)| ContextItemRow {
            row,
            rank: item.rank,
            score: f64::from(item.score.get()),
        });
        let row = ActiveContextRow {
            id: context.id.to_string(),
            window: context.window,
            scope: context.scope.to_string(),
            provenance_json: context.provenance.as_ref().map(rows::to_json).transpose()?,
            policy_version: context.policy_version.to_string(),
            created_at: now.as_second(),
            expires_at: context.expires_at.as_second(),
            items: items.collect(),
        };
        self.write("save a context", |write| write.add_context(&row))
    }

    fn evidences_of(&self, rows: &[RowId], ranked: &[ScoredClaim]) -> Result<Vec<ClaimEvidence>> {
        self.engine.memory().read("read evidence", |read| {
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

/// The claims that a query may find.
fn filter(admission: &Admission, now: Timestamp) -> UnitFilter {
    UnitFilter { kinds: vec![UnitKind::Claim, UnitKind::Fact], ..admitted_units(admission, now) }
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
        self.evaluator.first_broken(&self.invariants, claim)
    }
}

/// How often the searches are made before the rules are asked of every claim.
const ROUNDS: usize = 4;

pub(super) fn rows_of(allowed: &Allowed) -> Vec<RowId> {
    match allowed {
        Allowed::Only(rows) => rows.iter().collect(),
        Allowed::All => Vec::new(),
    }
}

fn rank(
    memory: MemoryCollection<'_>,
    scoring: &Scoring<'_>,
    query: &RecallQuery,
    found: &Sides,
    claims: &[(RowId, Claim)],
) -> Vec<ScoredClaim> {
    let most = if query.diverse { RecallQuery::MAX_TOP_K } else { query.top_k };
    if query.q.trim().is_empty() {
        let claims: Vec<&Claim> = claims.iter().map(|(_, claim)| claim).collect();
        return scoring.rank_by_worth(&claims, most);
    }
    let language = language_of(&query.q);
    let candidates: Vec<Candidate<'_>> = claims
        .iter()
        .map(|(row, claim)| Candidate {
            claim,
            text: found.text.get(row).copied().unwrap_or_default(),
            vector: found.meaning(memory, *row, language_of(&claim.text) != language),
            exact: is_exact_match(&query.q, &claim.text),
        })
        .collect();
    scoring.rank(&candidates, most)
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
