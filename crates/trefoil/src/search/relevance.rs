//! The final score of a search, from what fusion and the retrievers say. Pure.

use trefoil_core::{Fused, Score};

/// One score a row, 0–1, non-increasing down the order that fusion decided.
///
/// A row starts from the best calibrated relevance that a retriever gave it, which means the
/// same for every question, so that a question about nothing in the corpus scores low
/// however the retrievers rank. Agreement scales it: `relevance · (½ + ½ · combined)`. Where
/// that would contradict the order, neighbours are pooled to their mean.
pub fn final_scores(fused: &[Fused]) -> Vec<Score> {
    let raw: Vec<f32> = fused
        .iter()
        .map(|hit| {
            let best = hit.hits.iter().map(|one| one.relevance).max().unwrap_or_default();
            best.get() * (0.5 + 0.5 * hit.combined.get())
        })
        .collect();
    non_increasing(&raw).into_iter().map(Score::clamped).collect()
}

/// The non-increasing sequence nearest to `scores` in squares: isotonic regression by
/// pooling adjacent violators (Ayer et al., 1955). The mean is kept.
pub(crate) fn non_increasing(scores: &[f32]) -> Vec<f32> {
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(scores.len());
    for &score in scores {
        let (mut sum, mut count) = (f64::from(score), 1);
        while let Some(&(before, members)) = pools.last() {
            if before / members as f64 >= sum / count as f64 {
                break;
            }
            sum += before;
            count += members;
            pools.pop();
        }
        pools.push((sum, count));
    }
    #[allow(clippy::cast_possible_truncation, reason = "a mean of f32 values fits f32")]
    pools
        .into_iter()
        .flat_map(|(sum, count)| std::iter::repeat_n((sum / count as f64) as f32, count))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use trefoil_core::{RetrieverHit, RetrieverId, RowId};

    use super::*;

    fn scores(rows: &[(f32, f32)]) -> Vec<f32> {
        let fused: Vec<Fused> = rows
            .iter()
            .zip(1_u32..)
            .map(|(&(combined, relevance), rank)| Fused {
                row: RowId::new(u64::from(rank)),
                combined: Score::clamped(combined),
                hits: vec![RetrieverHit {
                    retriever: RetrieverId::KEYWORD,
                    rank,
                    raw_score: relevance,
                    relevance: Score::clamped(relevance),
                }],
            })
            .collect();
        final_scores(&fused).into_iter().map(Score::get).collect()
    }

    #[test]
    fn best_in_every_retriever_scores_its_relevance() {
        assert_eq!(scores(&[(1.0, 0.8)]), [0.8]);
    }

    #[test]
    fn the_best_of_a_bad_list_scores_low() {
        assert_eq!(scores(&[(1.0, 0.1), (0.0, 0.1)]), [0.1, 0.05]);
    }

    #[test]
    fn the_order_of_fusion_stands() {
        assert_eq!(scores(&[(1.0, 0.2), (1.0, 0.4)]), [0.3, 0.3]);
    }

    #[test]
    fn violators_are_pooled() {
        assert_eq!(non_increasing(&[0.9, 0.4, 0.6, 0.1]), [0.9, 0.5, 0.5, 0.1]);
        assert_eq!(non_increasing(&[]), Vec::<f32>::new());
    }

    proptest! {
        #[test]
        fn pooling_gives_a_non_increasing_list_within_range(
            scores in proptest::collection::vec(0.0_f32..=1.0, 0..60)
        ) {
            let pooled = non_increasing(&scores);
            prop_assert_eq!(pooled.len(), scores.len());
            prop_assert!(pooled.windows(2).all(|w| w[0] >= w[1]));
            prop_assert!(pooled.iter().all(|score| (0.0..=1.0).contains(score)));
            prop_assert_eq!(non_increasing(&pooled), pooled);
        }
    }
}
