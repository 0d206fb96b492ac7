//! Fused score and reranker's score as one. Pure.

use trefoil_core::Score;

/// Log-odds that a fused score of 1 has over one of 0. A cross-encoder's logits reach
/// from −11 to 10, so that it decides where it is sure, and fusion where it is not.
const FUSED_LOG_ODDS: f32 = 10.0;
/// The fused score that speaks neither for a passage nor against it.
pub(crate) const NEUTRAL: Score = Score::HALF;
/// What the summed log-odds are divided by, because a cross-encoder is surer than it is
/// right: of the passages with a logit between 4 and 10, half are relevant.
const TEMPERATURE: f32 = 4.0;

/// Where a passage of the head goes, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blended {
    /// Its place in the fused order, from 0.
    pub index: usize,
    /// Both scores as one, 0–1.
    pub score: Score,
}

/// The head of a list in its new order, best first; ties stay in the fused order.
///
/// `combined` are the fused scores, `rerank` those of the passages that were read: the
/// head is as long as the shorter. A passage's blended score is
/// σ((logit(rerank) + 10 · (combined − ½)) / 4): it rises with either score, and does
/// not depend on the other passages, so that a reranking that was stopped half-way
/// has ordered what it read just as the whole would have.
pub fn blend(combined: &[Score], rerank: &[Score]) -> Vec<Blended> {
    let mut head: Vec<(f32, usize)> = combined
        .iter()
        .zip(rerank)
        .map(|(combined, &rerank)| {
            logit(rerank) + FUSED_LOG_ODDS * (combined.get() - NEUTRAL.get())
        })
        .zip(0..)
        .collect();
    // By log-odds: as scores, the largest could be rounded to the same.
    head.sort_by(|(a, i), (b, j)| b.total_cmp(a).then(i.cmp(j)));
    head.into_iter()
        .map(|(log_odds, index)| Blended {
            index,
            score: Score::clamped(sigmoid(log_odds / TEMPERATURE)),
        })
        .collect()
}

/// ln(p / (1 − p)), within ±14 also for 0 and 1.
pub(crate) fn logit(score: Score) -> f32 {
    const NEAREST: f32 = 1e-6;
    let p = score.get().clamp(NEAREST, 1.0 - NEAREST);
    (p / (1.0 - p)).ln()
}

fn sigmoid(log_odds: f32) -> f32 {
    1.0 / (1.0 + (-log_odds).exp())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn scores(values: &[f32]) -> Vec<Score> {
        values.iter().copied().map(Score::clamped).collect()
    }

    #[track_caller]
    fn check(combined: &[f32], rerank: &[f32], expected: &[usize]) {
        let blended = blend(&scores(combined), &scores(rerank));
        let order: Vec<usize> = blended.iter().map(|one| one.index).collect();
        assert_eq!(order, expected, "{blended:?}");
    }

    #[test]
    fn a_sure_reranker_decides_and_an_unsure_one_does_not() {
        check(&[], &[], &[]);
        check(&[0.9, 0.7], &[0.001, 0.99], &[1, 0]);
        check(&[0.9, 0.3], &[0.5, 0.6], &[0, 1]);
        // What no scorer told apart stays in the fused order.
        check(&[0.5, 0.5, 0.5], &[0.2, 0.2, 0.2], &[0, 1, 2]);
        // Only what was read is reordered.
        check(&[0.9, 0.8, 0.7], &[0.1, 0.9], &[1, 0]);
    }

    #[test]
    fn the_blended_score_is_the_known_value() {
        let blended = blend(&scores(&[0.9]), &scores(&[0.5]));
        // σ((0 + 10 · 0.4) / 4)
        assert!((blended[0].score.get() - 0.731_058_6).abs() < 1e-5, "{blended:?}");
    }

    proptest! {
        #[test]
        fn the_head_is_permuted_by_falling_scores(
            pairs in proptest::collection::vec((0.0_f32..=1.0, 0.0_f32..=1.0), 0..60)
        ) {
            let (combined, rerank): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let blended = blend(&scores(&combined), &scores(&rerank));
            let mut places: Vec<usize> = blended.iter().map(|one| one.index).collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..combined.len()).collect::<Vec<_>>());
            prop_assert!(blended.windows(2).all(|pair| pair[0].score >= pair[1].score));
        }

        #[test]
        fn a_passage_rises_with_either_score(
            combined in 0.0_f32..=1.0,
            rerank in 0.0_f32..=1.0,
            more in 0.0_f32..=1.0,
        ) {
            let score = |combined, rerank| blend(&scores(&[combined]), &scores(&[rerank]))[0].score;
            prop_assert!(score(combined.max(more), rerank) >= score(combined, rerank));
            prop_assert!(score(combined, rerank.max(more)) >= score(combined, rerank));
        }
    }
}
