use std::collections::BTreeMap;

use trefoil_core::{Allowed, RowId};

use crate::GraphIndex;

/// A weaker link leads nowhere.
const LEAST_LINK: f32 = 0.05;
/// What a passage counts that adds nothing to the question; also what the passages count
/// that the step is taken from, lest what they vouch for pass them easily.
const BASE: f32 = 0.3;

impl GraphIndex {
    /// One step, chunk to entity to chunk, from the best passages of other legs: what it
    /// reaches counts by how specific the shared entities are, and by how much of the question
    /// it adds. The `count` best of the allowed chunks, best first, equals by lower row.
    ///
    /// `passages` are rows with the scores F that they have so far, 0–1. `gain(p, c)`, 0–1,
    /// is the share of the question's information that c has and p has not. With l of
    /// [`links`](Self::links), g(c) = max over p of F(p) · l(p, c) · (.3 + √gain(p, c)), and
    /// g(p) is at least .3 · F(p).
    pub fn step(
        &self,
        passages: &[(RowId, f32)],
        gain: impl Fn(RowId, RowId) -> f32,
        allowed: &Allowed,
        count: usize,
    ) -> Vec<(RowId, f32)> {
        let mut reached: BTreeMap<RowId, f32> = BTreeMap::new();
        let mut reach = |row, score: f32| {
            let best = reached.entry(row).or_insert(0.0);
            *best = best.max(score);
        };
        for &(passage, score) in passages {
            if allowed.contains(passage) {
                reach(passage, BASE * score);
            }
            for (row, link) in self.links(passage, allowed) {
                if link >= LEAST_LINK {
                    let gain = gain(passage, row).clamp(0.0, 1.0);
                    reach(row, score * link * (BASE + gain.sqrt()));
                }
            }
        }
        let mut best: Vec<(RowId, f32)> =
            reached.into_iter().filter(|&(_, score)| score > 0.0).collect();
        // The sort is stable, and the rows ascend.
        best.sort_by(|a, b| b.1.total_cmp(&a.1));
        best.truncate(count);
        best
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{GraphConfig, fixture::chunk};

    fn check(passages: &[(u64, f32)], allowed: &[u64], count: usize, expected: &[u64]) {
        let chunks = [
            chunk(1, "Ada Engine"),
            chunk(2, "Ada Cards"),
            chunk(3, "Engine Mill"),
            chunk(4, "Cards"),
            chunk(5, "Byron"),
            chunk(6, "Byron"),
        ];
        let graph = GraphIndex::build(chunks, &GraphConfig::default()).unwrap();
        let passages: Vec<_> =
            passages.iter().map(|&(row, score)| (RowId::new(row), score)).collect();
        // Only chunk 3 adds to the question.
        let gain = |_, row| if row == RowId::new(3) { 1.0 } else { 0.0 };
        let allowed = allowed.iter().map(|&row| RowId::new(row)).collect();
        let found = graph.step(&passages, gain, &Allowed::Only(Arc::new(allowed)), count);
        let rows: Vec<u64> = found.iter().map(|(row, _)| row.get()).collect();
        assert_eq!(rows, expected, "{passages:?}");
    }

    #[test]
    fn a_step_leads_to_what_is_linked_and_adds_something() {
        let all = &[1, 2, 3, 4, 5, 6];
        check(&[(1, 1.0)], all, 9, &[1, 3, 2]);
        check(&[(1, 1.0)], all, 2, &[1, 3]);
        check(&[(1, 1.0), (5, 0.5)], all, 9, &[1, 3, 5, 2, 6]);
        check(&[(1, 1.0)], &[2, 4], 9, &[2]);
        check(&[(99, 1.0)], &[1, 2], 9, &[]);
        check(&[], all, 9, &[]);
    }
}
