//! The final score of a search, from what fusion and the retrievers say. Pure.

use trefoil_core::{Fused, Score};

use crate::scores::non_increasing;

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

#[cfg(test)]
mod tests {
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
}
