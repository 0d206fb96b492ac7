//! How well a claim answers: what the searches say of it, and what it is worth.

use std::collections::BTreeSet;

use jiff::Timestamp;
use trefoil_core::Score;
use trefoil_text::normalize;

use super::shared_alpha;
use crate::{Claim, RerankPolicy, ScoreBreakdown, ScoredClaim, recency_decay};

/// What scores less is not shown.
pub const MIN_SCORE: f64 = 0.15;

/// A claim that a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Relevance of its words, 0–1; 0 where they were not found.
    pub text: f64,
    /// Relevance of its meaning, 0–1; 0 where it was not found.
    pub vector: f64,
    /// How well its tokens match those of the question, 0–1; absent where they are not kept.
    pub tokens: Option<f64>,
    /// Whether the question stands in it as it is ([`is_exact_match`]).
    pub exact: bool,
}

/// Mean and standard deviation of the utilities in a scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utilities {
    mean: f64,
    deviation: f64,
}

impl Utilities {
    /// Of these utilities; all the same (or none) have deviation 1.
    pub fn of(utilities: impl IntoIterator<Item = f64>) -> Self {
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        // Welford's method: one pass, and no great numbers that cancel.
        for utility in utilities.into_iter().filter(|utility| utility.is_finite()) {
            count += 1.0;
            let before = utility - mean;
            mean += before / count;
            squares += before * (utility - mean);
        }
        Self::new(mean, if count > 0.0 { (squares / count).sqrt() } else { 0.0 })
    }

    /// From the two of them, as a store sums them up.
    pub fn new(mean: f64, deviation: f64) -> Self {
        // What is left of equal numbers by rounding is no deviation.
        let spread = deviation.is_finite() && deviation > 1e-9 * (1.0 + mean.abs());
        Self { mean, deviation: if spread { deviation } else { 1.0 } }
    }

    /// How many deviations above the mean.
    pub fn z(&self, utility: f64) -> f64 {
        (utility - self.mean) / self.deviation
    }
}

/// What the score of a claim depends on besides the claim.
#[derive(Clone, Copy, Debug)]
pub struct Scoring<'a> {
    /// Weight of meaning against words, 0–1.
    pub alpha: f64,
    /// What besides the question counts.
    pub rerank: &'a RerankPolicy,
    /// The utilities of all claims in scope.
    pub utilities: Utilities,
    /// When it is asked.
    pub now: Timestamp,
}

impl Scoring<'_> {
    /// The best `top_k` claims, best first, each content once; none below [`MIN_SCORE`].
    ///
    /// A side that found nothing at all gives its weight to the other. An exact match that
    /// would be shown if it were new is shown however old it is. Of equals, the one with the
    /// smaller id is first.
    pub fn rank(&self, candidates: &[Candidate<'_>], top_k: usize) -> Vec<ScoredClaim> {
        let alpha = self.shared_alpha(candidates);
        let scored = candidates.iter().map(|candidate| {
            let Candidate { vector, text, tokens, .. } = *candidate;
            self.scored(candidate, combined(alpha, vector, text, tokens))
        });
        best(scored, top_k)
    }

    /// All claims by what they are worth, for a question that is empty.
    pub fn rank_by_worth(&self, claims: &[&Claim], top_k: usize) -> Vec<ScoredClaim> {
        let scored = claims.iter().map(|&claim| {
            self.scored(
                &Candidate { claim, text: 0.0, vector: 0.0, tokens: None, exact: false },
                1.0,
            )
        });
        best(scored, top_k)
    }

    fn shared_alpha(&self, candidates: &[Candidate<'_>]) -> f64 {
        let found = |side: fn(&Candidate<'_>) -> f64| candidates.iter().any(|one| side(one) > 0.0);
        shared_alpha(self.alpha, found(|one| one.vector), found(|one| one.text))
    }

    fn scored(&self, candidate: &Candidate<'_>, combined: f64) -> (f64, ScoredClaim) {
        let claim = candidate.claim;
        let breakdown = self.breakdown(candidate, combined);
        let mut score = combined * breakdown.g;
        let when_new = combined * self.worth(claim, breakdown.utility, 1.0);
        if candidate.exact && when_new >= MIN_SCORE {
            score = score.max(MIN_SCORE);
        }
        #[expect(clippy::cast_possible_truncation, reason = "a score is kept in single precision")]
        let shown = Score::clamped(score as f32);
        let claim = claim.clone();
        (score, ScoredClaim { claim, score: shown, breakdown: Some(breakdown) })
    }

    fn breakdown(&self, candidate: &Candidate<'_>, combined: f64) -> ScoreBreakdown {
        let claim = candidate.claim;
        let utility = self.utilities.z(claim.utility);
        let half_life = self.rerank.half_life_days(claim.kind);
        let recency = recency_decay(claim.recency_anchor, self.now, half_life);
        ScoreBreakdown {
            text: candidate.text,
            vector: candidate.vector,
            tokens: candidate.tokens,
            combined,
            utility,
            confidence: f64::from(claim.confidence.get()),
            quality: f64::from(claim.quality.get()),
            recency,
            g: self.worth(claim, utility, recency),
        }
    }

    /// g = (.6 + .4·σ(z)) · (.5 + .5·confidence) · (.3 + .7·recency), and with quality
    /// · (.5 + .5·quality): above 0, at most 1.
    fn worth(&self, claim: &Claim, z: f64, recency: f64) -> f64 {
        let (confidence, quality) =
            (f64::from(claim.confidence.get()), f64::from(claim.quality.get()));
        let sigmoid = 1.0 / (1.0 + (-z).exp());
        let put = if self.rerank.use_quality { 0.5 + 0.5 * quality } else { 1.0 };
        (0.6 + 0.4 * sigmoid) * (0.5 + 0.5 * confidence) * (0.3 + 0.7 * recency) * put
    }
}

/// S = α·vector + (1 − α)·text.
pub fn hybrid_fusion(alpha: f64, vector: f64, text: f64) -> f64 {
    alpha * vector + (1.0 - alpha) * text
}

/// What the match of tokens counts against words and meaning together.
const TOKENS: f64 = 0.7;

/// S with the match of tokens, where it is known.
pub(crate) fn combined(alpha: f64, vector: f64, text: f64, tokens: Option<f64>) -> f64 {
    let fused = hybrid_fusion(alpha, vector, text);
    tokens.map_or(fused, |tokens| TOKENS * tokens + (1.0 - TOKENS) * fused)
}

/// What the occurrences of a question's words are worth: the unboosted BM25 of the text over
/// the sum of the words' idf, at most 1.
pub fn normalize_text(bm25: f64, sum_of_idf: f64) -> f64 {
    if sum_of_idf > 0.0 { (bm25 / sum_of_idf).clamp(0.0, 1.0) } else { 0.0 }
}

/// A cosine on the model's range, where the first of `range` is unrelated and the second a
/// perfect match: 0–1. Negative cosines count as 0.
pub fn normalize_vector(cosine: f64, range: (f64, f64)) -> f64 {
    let (unrelated, perfect) = range;
    let mapped = (cosine.max(0.0) - unrelated) / (perfect - unrelated);
    if mapped.is_finite() { mapped.clamp(0.0, 1.0) } else { 0.0 }
}

/// True if the question stands in the text as it is, whatever its case and width.
pub fn is_exact_match(question: &str, text: &str) -> bool {
    let question = normalize(question).to_lowercase();
    let question = question.trim();
    !question.is_empty() && normalize(text).to_lowercase().contains(question)
}

fn best(scored: impl Iterator<Item = (f64, ScoredClaim)>, top_k: usize) -> Vec<ScoredClaim> {
    let mut kept: Vec<(f64, ScoredClaim)> =
        scored.filter(|(score, _)| *score >= MIN_SCORE).collect();
    kept.sort_by(|(a, first), (b, second)| {
        b.total_cmp(a).then_with(|| first.claim.id.cmp(&second.claim.id))
    });
    let mut seen = BTreeSet::new();
    kept.retain(|(_, one)| seen.insert(one.claim.content_hash.clone()));
    kept.into_iter().map(|(_, one)| one).take(top_k).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trefoil_core::{ClaimId, ObservationId};

    use super::*;
    use crate::{ClaimDraft, ClaimKind};

    const DAYS: i64 = 86_400;

    fn now() -> Timestamp {
        Timestamp::from_second(1_000 * DAYS).unwrap()
    }

    fn claim(id: &str, age_days: i64, utility: f64, confidence: f32) -> Claim {
        let made = Timestamp::from_second((1_000 - age_days) * DAYS).unwrap();
        let draft = ClaimDraft {
            utility,
            confidence: Score::new(confidence).unwrap(),
            ..ClaimDraft::observed(format!("claim {id}"), ObservationId::new("obs_1").unwrap())
        };
        draft.into_claim(ClaimId::new(id).unwrap(), made).unwrap().0
    }

    fn scoring(rerank: &RerankPolicy) -> Scoring<'_> {
        Scoring { alpha: 0.65, rerank, utilities: Utilities::of([0.0]), now: now() }
    }

    fn found(claim: &Claim, text: f64, vector: f64) -> Candidate<'_> {
        Candidate { claim, text, vector, tokens: None, exact: false }
    }

    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
    }

    #[test]
    fn the_formulas_with_numbers() {
        near(hybrid_fusion(0.65, 0.8, 0.4), 0.66);
        near(normalize_text(3.0, 6.0), 0.5);
        near(normalize_text(9.0, 6.0), 1.0);
        near(normalize_text(1.0, 0.0), 0.0);
        near(normalize_vector(0.85, (0.7, 1.0)), 0.5);
        near(normalize_vector(-0.5, (0.0, 1.0)), 0.0);
        near(normalize_vector(0.5, (0.7, 1.0)), 0.0);
        near(normalize_vector(0.5, (1.0, 1.0)), 0.0);
        near(recency_decay(claim("clm_1", 30, 0.0, 0.5).created_at, now(), 30.0), 0.5);
        near(recency_decay(claim("clm_1", 60, 0.0, 0.5).created_at, now(), 30.0), 0.25);
        near(recency_decay(claim("clm_1", -60, 0.0, 0.5).created_at, now(), 30.0), 1.0);
    }

    #[test]
    fn standard_scores_of_utility() {
        let utilities = Utilities::of([1.0, 3.0]);
        near(utilities.z(3.0), 1.0);
        near(utilities.z(2.0), 0.0);
        // Deviation 0 counts as 1.
        near(Utilities::of([0.3; 7]).z(1.3), 1.0);
        near(Utilities::of([]).z(2.0), 2.0);
        near(Utilities::of([f64::NAN, 1.0]).z(1.0), 0.0);
    }

    #[test]
    fn a_score_is_what_its_breakdown_says() {
        let rerank = RerankPolicy::default();
        let claim = claim("clm_1", 120, 0.0, 0.5);
        let ranked = scoring(&rerank).rank(&[found(&claim, 0.9, 1.0)], 9);
        let parts = ranked[0].breakdown.unwrap();
        near(parts.combined, 0.965);
        near(parts.recency, 0.5);
        near(parts.g, (0.6 + 0.4 * 0.5) * 0.75 * (0.3 + 0.7 * 0.5) * 0.75);
        near(f64::from(ranked[0].score.get()), parts.combined * parts.g);
        let plain = RerankPolicy { use_quality: false, ..rerank };
        let without = scoring(&plain).rank(&[found(&claim, 0.9, 1.0)], 9);
        near(without[0].breakdown.unwrap().g, parts.g / 0.75);
    }

    #[test]
    fn the_match_of_tokens_counts_seven_tenths() {
        let rerank = RerankPolicy::default();
        let claims = [claim("clm_1", 0, 0.0, 1.0), claim("clm_2", 0, 0.0, 1.0)];
        let matched = Candidate { tokens: Some(1.0), ..found(&claims[1], 0.5, 0.5) };
        let ranked = scoring(&rerank).rank(&[found(&claims[0], 0.6, 0.6), matched], 9);
        assert_eq!(ranked[0].claim.id.as_str(), "clm_2");
        let combined = |at: usize| ranked[at].breakdown.unwrap().combined;
        near(combined(0), 0.7 + 0.3 * 0.5);
        near(combined(1), 0.6);
    }

    #[test]
    fn each_kind_has_its_half_life() {
        let rerank = RerankPolicy::default();
        let recency = |kind| {
            let claim = Claim { kind, ..claim("clm_1", 14, 0.0, 1.0) };
            scoring(&rerank).rank(&[found(&claim, 1.0, 1.0)], 1)[0].breakdown.unwrap().recency
        };
        near(recency(ClaimKind::Task), 0.5);
        near(recency(ClaimKind::Fact), (-14.0_f64 / 120.0).exp2());
    }

    #[test]
    fn a_side_that_found_nothing_gives_its_weight_away() {
        let rerank = RerankPolicy::default();
        let claims = [claim("clm_1", 0, 0.0, 1.0), claim("clm_2", 0, 0.0, 1.0)];
        let combined = |sides: [(f64, f64); 2]| {
            let candidates: Vec<_> = claims
                .iter()
                .zip(sides)
                .map(|(claim, (text, vector))| found(claim, text, vector))
                .collect();
            scoring(&rerank).rank(&candidates, 9)[0].breakdown.unwrap().combined
        };
        near(combined([(0.0, 0.8), (0.0, 0.1)]), 0.8);
        near(combined([(0.8, 0.0), (0.1, 0.0)]), 0.8);
        near(combined([(0.8, 0.0), (0.0, 0.1)]), 0.8 * 0.35);
    }

    #[test]
    fn what_scores_below_the_threshold_is_not_shown_unless_only_age_hides_it() {
        let rerank = RerankPolicy::default();
        let old = claim("clm_1", 9_000, 0.0, 0.5);
        let rank = |candidate| scoring(&rerank).rank(&[candidate], 9);
        assert!(rank(found(&old, 0.9, 0.9)).is_empty());
        let exact = rank(Candidate { exact: true, ..found(&old, 0.9, 0.9) });
        near(f64::from(exact[0].score.get()), MIN_SCORE);
        // One that would not be shown if it were new is not shown either.
        assert!(rank(Candidate { exact: true, ..found(&old, 0.3, 0.2) }).is_empty());
    }

    #[test]
    fn one_result_for_each_content_and_ties_by_id() {
        let rerank = RerankPolicy::default();
        let claims = ["clm_3", "clm_1", "clm_2"].map(|id| claim(id, 0, 0.0, 1.0));
        let copy = Claim { id: ClaimId::new("clm_0").unwrap(), ..claims[0].clone() };
        let mut candidates: Vec<_> = claims.iter().map(|claim| found(claim, 0.8, 0.8)).collect();
        candidates.push(found(&copy, 0.7, 0.7));
        let ids: Vec<_> = scoring(&rerank)
            .rank(&candidates, 9)
            .iter()
            .map(|one| one.claim.id.to_string())
            .collect();
        assert_eq!(ids, ["clm_1", "clm_2", "clm_3"]);
        assert_eq!(scoring(&rerank).rank(&candidates, 2).len(), 2);
    }

    #[test]
    fn an_empty_question_ranks_by_worth() {
        let rerank = RerankPolicy::default();
        let claims = [claim("clm_1", 300, 0.0, 0.5), claim("clm_2", 0, 0.0, 0.9)];
        let ranked = scoring(&rerank).rank_by_worth(&[&claims[0], &claims[1]], 9);
        assert_eq!(ranked[0].claim.id.as_str(), "clm_2");
        near(f64::from(ranked[0].score.get()), ranked[0].breakdown.unwrap().g);
    }

    #[test]
    fn an_exact_match_ignores_case_and_width() {
        assert!(is_exact_match("ＯＷＬＳ hunt", "All owls hunt at night."));
        assert!(!is_exact_match("owls hunting", "All owls hunt at night."));
        assert!(!is_exact_match("  ", "x"));
    }

    proptest! {
        #[test]
        fn scores_do_not_increase_and_are_at_least_the_threshold(
            rows in proptest::collection::vec(
                (0.0_f64..=1.0, 0.0_f64..=1.0, any::<bool>(), -50_i64..2_000, -9.0_f64..9.0, 0.0_f32..=1.0),
                0..30,
            ),
            alpha in 0.0_f64..=1.0,
        ) {
            let rerank = RerankPolicy::default();
            let claims: Vec<Claim> = rows
                .iter()
                .enumerate()
                .map(|(at, &(.., age, utility, confidence))| claim(&format!("clm_{at:02}"), age, utility, confidence))
                .collect();
            let candidates: Vec<_> = claims
                .iter()
                .zip(&rows)
                .map(|(claim, &(text, vector, exact, ..))| Candidate { claim, text, vector, tokens: None, exact })
                .collect();
            let utilities = Utilities::of(claims.iter().map(|claim| claim.utility));
            let scoring = Scoring { alpha, utilities, ..scoring(&rerank) };
            let ranked = scoring.rank(&candidates, 12);
            prop_assert!(ranked.len() <= 12);
            prop_assert!(ranked.windows(2).all(|pair| pair[0].score >= pair[1].score));
            prop_assert!(ranked.iter().all(|one| f64::from(one.score.get()) > MIN_SCORE - 1e-6));
            prop_assert!(ranked.iter().all(|one| one.breakdown.is_some_and(|parts| parts.g > 0.0 && parts.g <= 1.0)));
            let mut reversed = candidates.clone();
            reversed.reverse();
            prop_assert_eq!(ranked, scoring.rank(&reversed, 12));
        }
    }
}
