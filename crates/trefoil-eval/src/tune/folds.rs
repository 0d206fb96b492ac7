use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// Deals questions to `folds` folds, as even as can be: question → fold, from 0. Decided by
/// hashes of seed and id, so that the order of the questions plays no part.
pub fn folds<'q>(
    queries: impl IntoIterator<Item = &'q str>,
    folds: usize,
    seed: u64,
) -> BTreeMap<&'q str, usize> {
    let hash = |query: &str| Sha256::new().chain_update(seed.to_le_bytes()).chain_update(query);
    let mut order: Vec<_> =
        queries.into_iter().map(|query| (hash(query).finalize(), query)).collect();
    order.sort_unstable();
    order.dedup();
    let dealt = (0..folds.max(1)).cycle();
    order.into_iter().zip(dealt).map(|((_, query), fold)| (query, fold)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::folds;

    #[test]
    fn the_same_seed_deals_the_same() {
        let queries = ["a", "b", "c", "d", "e", "f", "g", "h"];
        assert_eq!(folds(queries, 3, 1), folds(queries.into_iter().rev(), 3, 1));
        assert_ne!(folds(queries, 3, 1), folds(queries, 3, 2));
    }

    proptest! {
        #[test]
        fn each_question_is_dealt_once_and_folds_are_even(
            queries in proptest::collection::btree_set("[a-z]{1,6}", 0..60), count in 1_usize..8,
        ) {
            let dealt = folds(queries.iter().map(String::as_str), count, 7);
            prop_assert_eq!(dealt.len(), queries.len());
            let mut sizes = vec![0; count];
            for fold in dealt.values() {
                sizes[*fold] += 1;
            }
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }
    }
}
