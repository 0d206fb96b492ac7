//! How far what was found answers the question, and what to do about it: the grading of
//! corrective retrieval (CRAG, Yan et al., 2024) with a reranker in the place of its
//! evaluator. Pure.

use serde::{Deserialize, Serialize};
use trefoil_core::{CragRelevance, CragScore, Error, Result, Score};

/// Where the grades begin, on the scale of one reranker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GradeThresholds {
    /// From here on the evidence is correct; 0.7 by default.
    pub correct: Score,
    /// Down from here it is incorrect; 0.3 by default.
    pub incorrect: Score,
    /// One passage from here on makes the evidence correct whatever else is found;
    /// 0.9 by default.
    pub certain: Score,
    /// Below this a passage of ambiguous evidence is dropped; 0.4 by default.
    pub keep: Score,
}

impl Default for GradeThresholds {
    fn default() -> Self {
        Self {
            correct: Score::clamped(0.7),
            incorrect: Score::clamped(0.3),
            certain: Score::clamped(0.9),
            keep: Score::clamped(0.4),
        }
    }
}

impl GradeThresholds {
    /// Tells thresholds that cannot be from those that can.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] unless incorrect < correct ≤ certain and keep ≤ correct: a
    /// passage that is correct alone is never dropped.
    pub fn check(&self) -> Result<()> {
        let ordered = self.incorrect < self.correct && self.correct <= self.certain;
        let value = [self.incorrect, self.correct, self.certain, self.keep]
            .map(|score| score.to_string())
            .join(", ");
        let allowed = "incorrect < correct ≤ certain and keep ≤ correct";
        Error::check_config(ordered && self.keep <= self.correct, "crag.thresholds", value, allowed)
    }

    fn grade(&self, score: Score) -> CragRelevance {
        if score >= self.correct {
            CragRelevance::Correct
        } else if score <= self.incorrect {
            CragRelevance::Incorrect
        } else {
            CragRelevance::Ambiguous
        }
    }

    /// The grade of one passage.
    pub fn passage(&self, score: Score) -> CragScore {
        scored(self.grade(score), score)
    }

    /// The grade of passages with these scores, best first: of their first
    /// [`JUDGED`], whose score weighs 1/rank. No passages are incorrect with a score of 0.
    pub fn overall(&self, scores: &[Score]) -> CragScore {
        let overall = overall_score(scores);
        let best = scores.iter().take(JUDGED).max().copied().unwrap_or_default();
        if best >= self.certain {
            scored(CragRelevance::Correct, overall.max(best))
        } else {
            scored(self.grade(overall), overall)
        }
    }
}

/// Thresholds on the scale of a reranker, fitted by `trefoil calibrate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradeCalibration {
    /// The reranker, by the name that [`Reranker::model`](trefoil_core::Reranker::model) tells.
    pub reranker: String,
    /// Its thresholds.
    pub thresholds: GradeThresholds,
    /// How well they do on questions that they were not fitted to.
    pub measured: GradeSeparation,
}

/// How well thresholds separate what is answered from what is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradeSeparation {
    /// Questions with an answer.
    pub answered: usize,
    /// Questions without.
    pub unanswered: usize,
    /// Share of the questions with an answer whose evidence is correct, of those that the
    /// thresholds were fitted to.
    pub correct_rate: f64,
    /// Share of the questions without an answer whose evidence is correct, on held-out folds.
    pub false_correct_rate: f64,
    /// Share of the questions with an answer whose evidence is incorrect, on held-out folds.
    pub false_incorrect_rate: f64,
}

/// The mean of the scores of the first [`JUDGED`] passages, each weighing 1/rank; 0 without any.
pub fn overall_score(scores: &[Score]) -> Score {
    let graded = scores.get(..JUDGED).unwrap_or(scores);
    let weights = || (1..=graded.len()).map(|rank| 1.0 / rank as f32);
    let sum: f32 = graded.iter().zip(weights()).map(|(score, weight)| score.get() * weight).sum();
    let mean = if graded.is_empty() { 0.0 } else { sum / weights().sum::<f32>() };
    Score::clamped(mean)
}

/// Passages that the overall grade looks at.
pub const JUDGED: usize = 5;

fn scored(relevance: CragRelevance, confidence: Score) -> CragScore {
    let needs_web_search = relevance != CragRelevance::Correct;
    CragScore { relevance, confidence, needs_web_search, refined_query: None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(scores: &[f32], relevance: CragRelevance, confidence: f32) {
        let scores: Vec<Score> = scores.iter().copied().map(Score::clamped).collect();
        let overall = GradeThresholds::default().overall(&scores);
        assert_eq!(overall.relevance, relevance, "{scores:?}");
        assert!((overall.confidence.get() - confidence).abs() < 1e-6, "{overall:?}");
        assert_eq!(overall.needs_web_search, relevance != CragRelevance::Correct);
    }

    #[test]
    fn the_first_passages_count_most() {
        use CragRelevance::{Ambiguous, Correct, Incorrect};
        check(&[], Incorrect, 0.0);
        check(&[0.7], Correct, 0.7);
        check(&[0.3], Incorrect, 0.3);
        check(&[0.8, 0.2], Ambiguous, (0.8 + 0.1) / 1.5);
        check(&[0.2, 0.8], Ambiguous, (0.2 + 0.4) / 1.5);
        check(&[0.8; 5], Correct, 0.8);
        // The sixth is not looked at.
        check(&[0.1, 0.1, 0.1, 0.1, 0.1, 1.0], Incorrect, 0.1);
    }

    #[test]
    fn one_certain_passage_is_enough() {
        check(&[0.95, 0.0, 0.0, 0.0, 0.0], CragRelevance::Correct, 0.95);
        check(&[0.89, 0.0, 0.0, 0.0, 0.0], CragRelevance::Ambiguous, 0.89 / (137.0 / 60.0));
    }

    #[test]
    fn thresholds_out_of_order_are_refused() {
        let thresholds = |incorrect, correct, certain| GradeThresholds {
            incorrect: Score::clamped(incorrect),
            correct: Score::clamped(correct),
            certain: Score::clamped(certain),
            ..GradeThresholds::default()
        };
        assert!(thresholds(0.3, 0.7, 0.7).check().is_ok());
        assert!(thresholds(0.7, 0.7, 0.9).check().is_err());
        assert!(thresholds(0.3, 0.9, 0.8).check().is_err());
        let keep = |keep| GradeThresholds { keep: Score::clamped(keep), ..Default::default() };
        assert!(keep(0.7).check().is_ok());
        assert!(keep(0.71).check().is_err());
    }

    proptest! {
        #[test]
        fn more_relevant_passages_are_never_graded_worse(
            scores in proptest::collection::vec(0.0_f32..=1.0, 1..8),
            at in 0_usize..8,
            more in 0.0_f32..=1.0,
        ) {
            let thresholds = GradeThresholds::default();
            let scores: Vec<Score> = scores.into_iter().map(Score::clamped).collect();
            let mut better = scores.clone();
            let at = at % better.len();
            better[at] = Score::clamped(better[at].get() + more);
            let (before, after) = (thresholds.overall(&scores), thresholds.overall(&better));
            prop_assert!(after.confidence.get() >= before.confidence.get() - 1e-6);
            prop_assert!(after.relevance as u8 <= before.relevance as u8);
        }
    }
}
