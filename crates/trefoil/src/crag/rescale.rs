//! What another rewrite found, on the scale of the list that the question found. Pure.

use trefoil_core::{Hit, RankedList, Score};

/// The hits of `other`, which answers another rewrite of the question, as hits of
/// `asked`: the first of them stands at `discount` (0–1) of the way from the floor of
/// `asked` to its best, and the others below it as they stand below the first. Their
/// relevance, the share of what the other rewrite asks, is multiplied by `discount` too.
pub(crate) fn rescaled(asked: &RankedList, other: &RankedList, discount: f32) -> RankedList {
    let best = |list: &RankedList| list.hits().first().map_or(0.0, |hit| hit.raw_score);
    // Where nothing was found, the other list is the scale.
    let scale = if asked.hits().is_empty() { other } else { asked };
    let (floor, range) = (scale.floor(), best(scale) - scale.floor());
    let other_range = best(other) - other.floor();
    let hits = other.hits().iter().map(|hit| {
        // A list of equals is all best.
        let place =
            if other_range > 0.0 { (hit.raw_score - other.floor()) / other_range } else { 1.0 };
        Hit {
            row: hit.row,
            raw_score: floor + discount * place.clamp(0.0, 1.0) * range,
            relevance: Score::clamped(discount * hit.relevance.get()),
        }
    });
    RankedList::new(asked.retriever(), hits.collect())
        .with_floor(floor)
        .with_confidence(discount * other.confidence())
}

#[cfg(test)]
mod tests {
    use trefoil_core::{RetrieverId, RowId};

    use super::*;

    fn list(hits: &[(u64, f32)], floor: f32) -> RankedList {
        let hit = |&(row, raw_score)| Hit {
            row: RowId::new(row),
            raw_score,
            relevance: Score::clamped(raw_score / 10.0),
        };
        RankedList::new(RetrieverId::KEYWORD, hits.iter().map(hit).collect()).with_floor(floor)
    }

    #[track_caller]
    fn check(asked: &RankedList, other: &RankedList, expected: &[(u64, f32, f32)]) {
        let found: Vec<(u64, f32, f32)> = rescaled(asked, other, 0.5)
            .hits()
            .iter()
            .map(|hit| (hit.row.get(), hit.raw_score, hit.relevance.get()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_rewrite_counts_half() {
        let other = list(&[(7, 8.0), (8, 4.0)], 0.0);
        check(&list(&[(1, 6.0), (2, 4.0)], 2.0), &other, &[(7, 4.0, 0.4), (8, 3.0, 0.2)]);
        check(&list(&[], 0.0), &other, &[(7, 4.0, 0.4), (8, 2.0, 0.2)]);
        check(&list(&[(1, 6.0)], 6.0), &list(&[(7, 8.0)], 8.0), &[(7, 6.0, 0.4)]);
        check(&other, &list(&[], 0.0), &[]);
    }
}
