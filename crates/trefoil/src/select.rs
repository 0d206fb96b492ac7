//! Which items of an ordered list are shown. Pure: what is kept stays in order.

use std::collections::BTreeMap;

use trefoil_core::{Error, Result, Score};

/// Weight of relevance against novelty that is usual for [`mmr`].
pub const MMR_LAMBDA: f32 = 0.85;

/// How many items [`diverse`] looks at for each two that it keeps.
const LOOK_AT: usize = 3;

/// Positions of the first `most` items of each group, in order: at most so many chunks
/// of one file. A longer list begins with what a shorter one gives.
pub fn cap<G: Ord>(groups: impl IntoIterator<Item = G>, most: usize) -> Vec<usize> {
    let mut counts: BTreeMap<G, usize> = BTreeMap::new();
    let mut kept = Vec::new();
    for (at, group) in groups.into_iter().enumerate() {
        let count = counts.entry(group).or_default();
        *count += 1;
        if *count <= most {
            kept.push(at);
        }
    }
    kept
}

/// Positions of `count` items that are relevant and unlike each other, in order.
///
/// Maximal marginal relevance: picks one after the other the item with the greatest
/// `λ · relevance − (1 − λ) · similarity` to the most similar item picked before, of
/// equals the first. `relevance` is 0–1; `similarity` of two positions is taken as 0–1
/// and symmetric, and is asked at most `count` times an item. λ 1 gives the most
/// relevant. Source: Carbonell, Goldstein: The Use of MMR, Diversity-Based Reranking for
/// Reordering Documents and Producing Summaries, SIGIR 1998.
///
/// # Errors
/// [`Error::InvalidConfig`] unless λ is a number from 0 to 1.
pub fn mmr(
    relevance: &[Score],
    count: usize,
    lambda: f32,
    similarity: impl Fn(usize, usize) -> f32,
) -> Result<Vec<usize>> {
    let lambda = checked(lambda)?;
    // What is left, with the similarity to what is most like it among the picked.
    let mut left: Vec<(usize, Score, f32)> =
        relevance.iter().enumerate().map(|(at, &score)| (at, score, 0.0)).collect();
    let mut picked = Vec::with_capacity(count.min(left.len()));
    while picked.len() < count {
        let gain = |&(_, score, nearest): &(usize, Score, f32)| {
            lambda * score.get() - (1.0 - lambda) * nearest
        };
        // The first of the greatest: `max_by` would give the last.
        let best = left.iter().map(gain).enumerate().rev().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((best, _)) = best else { break };
        let (chosen, ..) = left.remove(best);
        picked.push(chosen);
        for (at, _, nearest) in &mut left {
            *nearest = nearest.max(Score::clamped(similarity(chosen, *at)).get());
        }
    }
    picked.sort_unstable();
    Ok(picked)
}

/// Positions of the items that remain when a list is thinned for diversity page by page,
/// in order: of each 3/2 · `limit` items that follow one another, the `limit` that
/// [`mmr`] picks.
///
/// What is shown on a page so depends on nothing below its window: the list can be cut
/// into pages of `limit`, and a longer list begins with the pages of a shorter one.
///
/// # Errors
/// [`Error::InvalidConfig`] unless λ is a number from 0 to 1.
pub fn diverse(
    relevance: &[Score],
    limit: usize,
    lambda: f32,
    similarity: impl Fn(usize, usize) -> f32,
) -> Result<Vec<usize>> {
    let window = (limit * LOOK_AT).div_ceil(2).max(1);
    let mut kept = Vec::new();
    for (nth, part) in relevance.chunks(window).enumerate() {
        let first = nth * window;
        let picked = mmr(part, limit, lambda, |a, b| similarity(first + a, first + b))?;
        kept.extend(picked.into_iter().map(|at| first + at));
    }
    Ok(kept)
}

/// Cosine of unit vectors as a similarity for [`mmr`]; 0 where one is missing.
pub fn cosine<V: AsRef<[f32]>>(vectors: &[V]) -> impl Fn(usize, usize) -> f32 {
    |one, other| match (vectors.get(one), vectors.get(other)) {
        (Some(one), Some(other)) => {
            one.as_ref().iter().zip(other.as_ref()).map(|(a, b)| a * b).sum()
        }
        _ => 0.0,
    }
}

fn checked(lambda: f32) -> Result<f32> {
    if (0.0..=1.0).contains(&lambda) {
        Ok(lambda)
    } else {
        Err(Error::InvalidConfig { field: "lambda", value: lambda.to_string(), allowed: "0–1" })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, Strategy, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn scores(values: &[f32]) -> Vec<Score> {
        values.iter().copied().map(Score::clamped).collect()
    }

    #[test]
    fn a_cap_keeps_the_first_of_each_group() {
        let check = |most, expected: &[usize]| {
            assert_eq!(cap(["a", "b", "a", "a", "b", "c"], most), expected, "{most}");
        };
        check(0, &[]);
        check(1, &[0, 1, 5]);
        check(2, &[0, 1, 2, 4, 5]);
        check(9, &[0, 1, 2, 3, 4, 5]);
        assert_eq!(cap(Vec::<u8>::new(), 1), [0; 0]);
    }

    #[test]
    fn a_copy_gives_way_to_what_is_new() {
        // 0 and 1 are the same; 2 and 3 are like nothing.
        let alike = |a: usize, b: usize| if a.max(b) == 1 { 1.0 } else { 0.0 };
        let relevance = scores(&[0.9, 0.88, 0.75, 0.7]);
        let check = |count, lambda, expected: &[usize]| {
            assert_eq!(
                mmr(&relevance, count, lambda, alike).unwrap(),
                expected,
                "{count} {lambda}"
            );
        };
        // .85 · .88 − .15 = .598 is less than .85 · .75 = .6375, but more than .85 · .7 = .595.
        check(2, MMR_LAMBDA, &[0, 2]);
        check(3, MMR_LAMBDA, &[0, 1, 2]);
        check(3, 0.5, &[0, 2, 3]);
        check(2, 1.0, &[0, 1]);
        check(0, MMR_LAMBDA, &[]);
        check(9, MMR_LAMBDA, &[0, 1, 2, 3]);
    }

    #[test]
    fn equals_are_picked_from_the_top() {
        let relevance = scores(&[0.5, 0.5, 0.5]);
        assert_eq!(mmr(&relevance, 2, MMR_LAMBDA, |_, _| 0.0).unwrap(), [0, 1]);
        assert_eq!(mmr(&relevance, 2, 0.0, |_, _| f32::NAN).unwrap(), [0, 1]);
    }

    #[test]
    fn lambda_is_checked() {
        for lambda in [-0.1, 1.1, f32::NAN] {
            let error = mmr(&[], 1, lambda, |_, _| 0.0).unwrap_err();
            assert!(matches!(error, Error::InvalidConfig { field: "lambda", .. }));
        }
    }

    #[test]
    fn each_window_gives_its_page() {
        // Every third item is a copy of the one before.
        let alike =
            |a: usize, b: usize| f32::from(u8::from(a.max(b) % 3 == 2 && a.abs_diff(b) == 1));
        let relevance = scores(&[0.5; 9]);
        assert_eq!(diverse(&relevance, 2, MMR_LAMBDA, alike).unwrap(), [0, 1, 3, 4, 6, 7]);
        assert_eq!(diverse(&relevance, 0, MMR_LAMBDA, alike).unwrap(), [0; 0]);
        assert_eq!(diverse(&[], 2, MMR_LAMBDA, alike).unwrap(), [0; 0]);
    }

    #[test]
    fn similarity_of_vectors_is_their_cosine() {
        let vectors = [vec![1.0, 0.0], vec![0.6, 0.8], vec![-1.0, 0.0]];
        let similarity = cosine(&vectors);
        assert_eq!(similarity(0, 1), 0.6);
        assert_eq!(similarity(0, 2), -1.0);
        assert_eq!(similarity(0, 3), 0.0);
    }

    /// A list in order of relevance and a symmetric table of similarities.
    fn any_list() -> impl Strategy<Value = (Vec<Score>, Vec<f32>)> {
        (0_usize..24).prop_flat_map(|count| {
            let relevance =
                proptest::collection::vec(0.0_f32..=1.0, count).prop_map(|mut values| {
                    values.sort_unstable_by(|a, b| b.total_cmp(a));
                    scores(&values)
                });
            (relevance, proptest::collection::vec(-0.2_f32..=1.2, 24 * 24))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn mmr_selects_and_does_not_reorder(
            (relevance, table) in any_list(), count in 0_usize..30, lambda in 0.0_f32..=1.0,
        ) {
            let similarity = |a: usize, b: usize| table[a.min(b) * 24 + a.max(b)];
            let kept = mmr(&relevance, count, lambda, similarity)?;
            prop_assert_eq!(kept.len(), count.min(relevance.len()));
            prop_assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(kept.iter().all(|&at| at < relevance.len()));
            // The most relevant is always kept, and a larger selection holds a smaller one.
            prop_assert!(kept.is_empty() || kept.first() == Some(&0));
            let more = mmr(&relevance, count + 1, lambda, similarity)?;
            prop_assert!(kept.iter().all(|at| more.contains(at)));
        }

        #[test]
        fn without_novelty_mmr_is_the_top(relevance in any_list().prop_map(|list| list.0), count in 0_usize..30) {
            let top: Vec<usize> = (0..count.min(relevance.len())).collect();
            prop_assert_eq!(mmr(&relevance, count, 1.0, |_, _| 1.0)?, top);
        }

        #[test]
        fn a_longer_list_begins_with_the_pages_of_a_shorter(
            (relevance, table) in any_list(), limit in 1_usize..6,
        ) {
            let similarity = |a: usize, b: usize| table[a.min(b) * 24 + a.max(b)];
            let whole = diverse(&relevance, limit, MMR_LAMBDA, similarity)?;
            prop_assert!(whole.windows(2).all(|pair| pair[0] < pair[1]));
            let window = (limit * 3).div_ceil(2);
            for windows in 0..=relevance.len() / window {
                let part = diverse(&relevance[..windows * window], limit, MMR_LAMBDA, similarity)?;
                prop_assert_eq!(part.len(), windows * limit);
                prop_assert_eq!(&whole[..part.len()], &part[..]);
            }
        }

        #[test]
        fn a_cap_holds_and_keeps_the_order(groups in proptest::collection::vec(0_u8..5, 0..40), most in 0_usize..4) {
            let kept = cap(&groups, most);
            prop_assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
            for group in 0..5 {
                let all = groups.iter().filter(|&&one| one == group).count();
                let shown = kept.iter().filter(|&&at| groups[at] == group).count();
                prop_assert_eq!(shown, all.min(most));
            }
        }
    }
}
