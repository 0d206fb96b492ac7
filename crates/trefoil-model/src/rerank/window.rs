//! Which part of a passage a model reads that cannot read all of it.

use std::collections::BTreeMap;

/// Where the `length` tokens of `passage` start that hold most of the question: each
/// of the question's tokens counts once, by its [`rarity`]. Of equals, the first.
///
/// Tokens are numbers of a vocabulary; 0 if the passage is not longer than `length`.
pub(crate) fn best_start(question: &[u32], passage: &[u32], length: usize) -> usize {
    let mut wanted: BTreeMap<u32, (f32, usize)> =
        question.iter().map(|&token| (token, (rarity(token), 0))).collect();
    let (mut start, mut best, mut held) = (0, f32::NEG_INFINITY, 0.0_f32);
    for (end, token) in (1_usize..).zip(passage) {
        if let Some((worth, seen)) = wanted.get_mut(token) {
            if *seen == 0 {
                held += *worth;
            }
            *seen += 1;
        }
        let Some(first) = end.checked_sub(length) else { continue };
        // A sum of differences drifts in its last digits: what is less than a
        // hundredth better is not better.
        if held > best + 0.01 {
            (start, best) = (first, held);
        }
        // The token that the next window leaves behind.
        if let Some((worth, seen)) = passage.get(first).and_then(|token| wanted.get_mut(token)) {
            *seen = seen.saturating_sub(1);
            if *seen == 0 {
                held -= *worth;
            }
        }
    }
    start
}

/// How much a token of BERT's vocabulary tells, from 0: ln of its number over that of
/// "the". The vocabulary begins with marks and characters and is then ordered by
/// frequency from "the" on, so that this is, by Zipf's law, the token's information
/// beyond that of "the".
fn rarity(token: u32) -> f32 {
    const THE: f32 = 1996.0;
    (token as f32 / THE).ln().max(0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[track_caller]
    fn check(question: &[u32], passage: &[u32], length: usize, expected: usize) {
        assert_eq!(best_start(question, passage, length), expected, "{passage:?}");
    }

    #[test]
    fn the_window_holds_most_of_the_question() {
        const RARE: u32 = 9000;
        const OTHER: u32 = 8000;
        check(&[RARE], &[], 3, 0);
        check(&[RARE], &[1, 2, RARE], 3, 0);
        check(&[RARE], &[1, 2, 3, 4], 2, 0);
        check(&[RARE], &[1, 2, RARE, 4], 2, 1);
        check(&[RARE, OTHER], &[RARE, 1, 1, OTHER, RARE, 1], 2, 3);
        // Repeats count once.
        check(&[RARE, OTHER], &[RARE, RARE, RARE, OTHER], 3, 1);
        // Frequent words and marks are worth less than one rare word.
        check(&[1996, 1997, 102, RARE], &[1996, 1997, 102, 1, 1, RARE], 3, 3);
    }

    proptest! {
        #[test]
        fn no_window_holds_clearly_more(
            question in proptest::collection::vec(1990_u32..2030, 0..12),
            passage in proptest::collection::vec(1990_u32..2060, 0..80),
            length in 1_usize..40,
        ) {
            let start = best_start(&question, &passage, length);
            let worth = |start: usize| {
                let window = &passage[start..(start + length).min(passage.len())];
                let mut held: Vec<u32> = question.clone();
                held.sort_unstable();
                held.dedup();
                held.retain(|token| window.contains(token));
                held.into_iter().map(rarity).sum::<f32>()
            };
            if passage.len() <= length {
                prop_assert_eq!(start, 0);
            } else {
                for other in 0..=passage.len() - length {
                    prop_assert!(worth(other) <= worth(start) + 0.02);
                }
            }
        }
    }
}
