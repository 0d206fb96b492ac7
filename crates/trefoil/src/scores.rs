//! Scored lists as plain data: normalise, deduplicate, merge, sort, cut.

use std::{cmp::Ordering, collections::BTreeMap};

use trefoil_core::{Error, Result, Score};

/// Min–max to 0–1, order kept: `[]` stays, one becomes `[1.0]`, all equal stay as they are.
pub fn normalize_scores(scores: &[f32]) -> Vec<f32> {
    if let [_] = scores {
        return vec![1.0];
    }
    let low = scores.iter().copied().fold(f32::INFINITY, f32::min);
    let high = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if high > low {
        scores.iter().map(|score| (score - low) / (high - low)).collect()
    } else {
        scores.to_vec()
    }
}

/// Which score a repeated item keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Duplicates {
    /// The largest.
    Max,
    /// All of them added up.
    Sum,
    /// That of the first occurrence.
    First,
    /// That of the last occurrence.
    Last,
}

/// Each item once, at the place of its first occurrence.
pub fn deduplicate<T: Ord + Clone>(items: &[(T, f32)], keep: Duplicates) -> Vec<(T, f32)> {
    let mut places: BTreeMap<&T, usize> = BTreeMap::new();
    let mut unique: Vec<(T, f32)> = Vec::with_capacity(items.len());
    for (item, score) in items {
        let place = *places.entry(item).or_insert(unique.len());
        match unique.get_mut(place) {
            None => unique.push((item.clone(), *score)),
            Some((_, kept)) => {
                *kept = match keep {
                    Duplicates::Max => kept.max(*score),
                    Duplicates::Sum => *kept + *score,
                    Duplicates::First => *kept,
                    Duplicates::Last => *score,
                };
            }
        }
    }
    unique
}

/// Several lists one after the other, repeated items united, best first.
pub fn merge<T: Ord + Clone>(lists: &[Vec<(T, f32)>], keep: Duplicates) -> Vec<(T, f32)> {
    let mut merged = deduplicate(&lists.concat(), keep);
    sort(&mut merged, Ord::cmp);
    merged
}

/// Best first; equal scores by `tie_breaker`. Pure: the same items in any order come
/// out the same if the tie-breaker is total.
pub fn sort<T>(items: &mut [(T, f32)], tie_breaker: impl Fn(&T, &T) -> Ordering) {
    items.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| tie_breaker(&a.0, &b.0)));
}

/// Keeps what scores at least `threshold`.
///
/// # Errors
/// [`Error::InvalidThreshold`] unless `threshold` is a number from 0 to 1.
pub fn filter_by_threshold<T: Clone>(items: &[(T, f32)], threshold: f32) -> Result<Vec<(T, f32)>> {
    let threshold =
        Score::new(threshold).map_err(|_| Error::InvalidThreshold { value: threshold })?.get();
    Ok(items.iter().filter(|(_, score)| *score >= threshold).cloned().collect())
}

/// The non-increasing sequence nearest to `scores` in squares: isotonic regression by
/// pooling adjacent violators (Ayer et al., 1955). The mean is kept.
pub fn non_increasing(scores: &[f32]) -> Vec<f32> {
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn normalising() {
        let check =
            |scores: &[f32], expected: &[f32]| assert_eq!(normalize_scores(scores), expected);
        check(&[], &[]);
        check(&[0.2], &[1.0]);
        check(&[3.0, 3.0], &[3.0, 3.0]);
        check(&[1.0, 3.0, 2.0], &[0.0, 1.0, 0.5]);
    }

    #[test]
    fn deduplicating() {
        let items = [("a", 1.0), ("b", 2.0), ("a", 3.0)];
        let check = |keep, expected: f32| {
            assert_eq!(deduplicate(&items, keep), [("a", expected), ("b", 2.0)], "{keep:?}");
        };
        check(Duplicates::Max, 3.0);
        check(Duplicates::Sum, 4.0);
        check(Duplicates::First, 1.0);
        check(Duplicates::Last, 3.0);
    }

    #[test]
    fn merging_and_sorting_break_ties_by_item() {
        let lists = [vec![("b", 1.0), ("a", 1.0)], vec![("c", 2.0), ("b", 0.5)]];
        assert_eq!(merge(&lists, Duplicates::Max), [("c", 2.0), ("a", 1.0), ("b", 1.0)]);
    }

    #[test]
    fn the_threshold_is_inclusive_and_checked() {
        let items = [("a", 0.5), ("b", 0.49)];
        assert_eq!(filter_by_threshold(&items, 0.5).unwrap(), [("a", 0.5)]);
        for value in [-0.1, 1.1, f32::NAN] {
            assert!(matches!(
                filter_by_threshold(&items, value),
                Err(Error::InvalidThreshold { .. })
            ));
        }
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

        #[test]
        fn normalised_scores_keep_their_order(scores in proptest::collection::vec(-1e3_f32..1e3, 2..40)) {
            let normal = normalize_scores(&scores);
            for (a, x) in scores.iter().zip(&normal) {
                for (b, y) in scores.iter().zip(&normal) {
                    prop_assert!(a > b || x <= y);
                }
            }
        }
    }
}
