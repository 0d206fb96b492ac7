use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil_core::{FeedbackSignal, Score};

use crate::{Claim, unit::whole_seconds};
use trefoil_policy::RerankPolicy;

/// Days after which utility is half as far from 0.
pub const UTILITY_HALF_LIFE_DAYS: f64 = 30.0;
/// Days after which quality is half as far from 0.
pub const QUALITY_HALF_LIFE_DAYS: f64 = 120.0;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Corrects claims by what is said of them, and lets what nobody speaks of fade.
#[derive(Clone, Copy, Debug)]
pub struct Critic<'a> {
    /// The half-lives of recency.
    pub rerank: &'a RerankPolicy,
    /// When it is done.
    pub now: Timestamp,
}

/// The values of a claim that are corrected.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimScores {
    /// How much it has helped.
    pub utility: f64,
    /// Confidence that it is true.
    pub confidence: Score,
    /// How well it is put.
    pub quality: Score,
    /// How recent it is.
    pub recency: Score,
}

/// A claim after a correction, and its values before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Corrected {
    /// The claim.
    pub claim: Claim,
    /// Its values before, decay applied.
    pub previous: ClaimScores,
    /// Its values after.
    pub updated: ClaimScores,
}

impl Critic<'_> {
    /// The claim after what was said of it.
    ///
    /// | signal | utility | confidence | |
    /// |---|---|---|---|
    /// | helpful | +.10 | +.05 | its age starts again |
    /// | harmful | −.20 | −.10 | |
    /// | outdated | | −.20 | |
    /// | duplicate | −.05 | | its evidence goes to the claim that says the same (`Memory::feedback`) |
    pub fn correct(&self, claim: Claim, signal: FeedbackSignal) -> Corrected {
        let mut claim = self.decay(claim);
        let previous = standing(&claim);
        let (utility, confidence) = match signal {
            FeedbackSignal::Helpful => (0.10, 0.05),
            FeedbackSignal::Harmful => (-0.20, -0.10),
            FeedbackSignal::Outdated => (0.0, -0.20),
            FeedbackSignal::Duplicate => (-0.05, 0.0),
        };
        claim.utility += utility;
        claim.confidence = Score::clamped(claim.confidence.get() + confidence);
        if signal == FeedbackSignal::Helpful {
            self.renew(&mut claim);
        }
        claim.updated_at = claim.updated_at.max(whole_seconds(self.now));
        let updated = standing(&claim);
        Corrected { claim, previous, updated }
    }

    /// The claim with utility and quality faded, and recency told, up to now. Done again at
    /// the same time, or an earlier one, it changes nothing.
    #[must_use]
    pub fn decay(&self, mut claim: Claim) -> Claim {
        let now = whole_seconds(self.now);
        let days = now.duration_since(claim.decayed_at).as_secs_f64() / DAY;
        if days > 0.0 {
            claim.utility *= (-days / UTILITY_HALF_LIFE_DAYS).exp2();
            let quality = f64::from(claim.quality.get()) * (-days / QUALITY_HALF_LIFE_DAYS).exp2();
            claim.quality = score(quality);
            claim.recency = self.recency(&claim);
            claim.decayed_at = now;
        }
        claim
    }

    /// Restarts the age of a claim from now.
    pub fn renew(&self, claim: &mut Claim) {
        claim.recency_anchor = claim.recency_anchor.max(whole_seconds(self.now));
        claim.recency = self.recency(claim);
    }

    fn recency(&self, claim: &Claim) -> Score {
        let half_life = self.rerank.half_life_days(claim.kind);
        score(recency_decay(claim.recency_anchor, self.now, half_life))
    }
}

/// 2^(−age / half-life): 1 when new or in the future, ½ after the half-life, which is in
/// days.
pub fn recency_decay(anchor: Timestamp, now: Timestamp, half_life_days: f64) -> f64 {
    let age = now.duration_since(anchor).as_secs_f64().max(0.0) / DAY;
    (-age / half_life_days).exp2()
}

fn standing(claim: &Claim) -> ClaimScores {
    let Claim { utility, confidence, quality, recency, .. } = *claim;
    ClaimScores { utility, confidence, quality, recency }
}

#[expect(clippy::cast_possible_truncation, reason = "a score is kept in single precision")]
fn score(value: f64) -> Score {
    Score::clamped(value as f32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trefoil_core::{ClaimId, ObservationId};

    use super::*;
    use crate::ClaimDraft;

    fn day(day: i64) -> Timestamp {
        Timestamp::from_second(day * 86_400).unwrap()
    }

    fn claim(utility: f64, confidence: f32) -> Claim {
        let draft = ClaimDraft {
            utility,
            confidence: Score::new(confidence).unwrap(),
            ..ClaimDraft::observed("x", ObservationId::new("obs_1").unwrap())
        };
        draft.into_claim(ClaimId::new("clm_1").unwrap(), day(0)).unwrap().0
    }

    fn correct(claim: Claim, signal: FeedbackSignal, now: Timestamp) -> Corrected {
        Critic { rerank: &RerankPolicy::default(), now }.correct(claim, signal)
    }

    #[track_caller]
    fn check(signal: FeedbackSignal, utility: f64, confidence: f32) {
        let corrected = correct(claim(1.0, 0.5), signal, day(0));
        assert!((corrected.updated.utility - utility).abs() < 1e-9, "{corrected:?}");
        assert!((corrected.updated.confidence.get() - confidence).abs() < 1e-6, "{corrected:?}");
        assert_eq!((corrected.previous.utility, corrected.previous.confidence.get()), (1.0, 0.5));
    }

    #[test]
    fn each_signal_has_its_deltas() {
        check(FeedbackSignal::Helpful, 1.1, 0.55);
        check(FeedbackSignal::Harmful, 0.8, 0.4);
        check(FeedbackSignal::Outdated, 1.0, 0.3);
        check(FeedbackSignal::Duplicate, 0.95, 0.5);
    }

    #[test]
    fn decay_halves_and_comes_first() {
        let corrected = correct(claim(1.0, 0.5), FeedbackSignal::Helpful, day(30));
        assert!((corrected.previous.utility - 0.5).abs() < 1e-9);
        assert!((corrected.updated.utility - 0.6).abs() < 1e-9);
        let quality =
            |days| correct(claim(0.0, 0.5), FeedbackSignal::Outdated, day(days)).updated.quality;
        assert!((quality(120).get() - 0.25).abs() < 1e-6);
        // Towards 0 from below, too.
        let negative = correct(claim(-1.0, 0.5), FeedbackSignal::Outdated, day(30));
        assert!((negative.updated.utility + 0.5).abs() < 1e-9);
    }

    #[test]
    fn only_helpful_feedback_makes_a_claim_recent() {
        let recency = |signal| correct(claim(0.0, 0.5), signal, day(120)).updated.recency.get();
        assert_eq!(recency(FeedbackSignal::Helpful), 1.0);
        for signal in [FeedbackSignal::Harmful, FeedbackSignal::Outdated, FeedbackSignal::Duplicate]
        {
            assert!((recency(signal) - 0.5).abs() < 1e-6, "{signal}");
        }
    }

    proptest! {
        #[test]
        fn helpful_never_lowers_and_harmful_lowers(
            utility in -9.0_f64..9.0, confidence in 0.0_f32..=1.0, days in 0_i64..900,
        ) {
            let corrected = |signal| correct(claim(utility, confidence), signal, day(days));
            let helpful = corrected(FeedbackSignal::Helpful);
            prop_assert!(helpful.updated.utility >= helpful.previous.utility);
            prop_assert!(helpful.updated.confidence >= helpful.previous.confidence);
            let harmful = corrected(FeedbackSignal::Harmful);
            prop_assert!(harmful.updated.utility < harmful.previous.utility);
            let (before, after) = (harmful.previous.confidence, harmful.updated.confidence);
            prop_assert!(after < before || before == Score::ZERO);
        }

        #[test]
        fn decay_twice_is_decay_once(utility in -9.0_f64..9.0, days in 0_i64..900, earlier in 0_i64..900) {
            let rerank = RerankPolicy::default();
            let at = |claim, day_| Critic { rerank: &rerank, now: day(day_) }.decay(claim);
            let once = at(claim(utility, 0.5), days);
            prop_assert_eq!(&at(once.clone(), days), &once);
            prop_assert_eq!(&at(once.clone(), earlier.min(days)), &once);
            prop_assert!(once.utility.abs() <= utility.abs());
            // In two steps it fades as far as in one.
            let steps = at(at(claim(utility, 0.5), earlier.min(days)), days);
            prop_assert!((steps.utility - once.utility).abs() < 1e-9);
        }
    }
}
