use std::collections::BTreeMap;

use trefoil_core::{Allowed, Result, RowId, RowSet, TermCoverage};

use super::{GraphIndex, links::Link};

/// A weaker link leads nowhere.
const LEAST_LINK: f32 = 0.05;
/// What a passage counts that adds nothing to the question; also what the passages count
/// that the step is taken from, so that what they vouch for does not pass them easily.
const BASE: f32 = 0.3;

/// A chunk that a step leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepped {
    /// The chunk.
    pub row: RowId,
    /// The passage that leads to it; itself for a passage that nothing leads to as well.
    pub from: RowId,
    /// How well it adds to that passage, 0–1.3.
    pub fit: f32,
    /// The score of that passage, times the fit: what it is ranked by.
    pub score: f32,
}

impl GraphIndex {
    /// One step, chunk to entity to chunk, from the best passages of other retrievers: what it
    /// reaches counts by how specific the shared entities are, and by how much of the question
    /// it adds. The `count` best of the allowed chunks, best first, equals by id.
    ///
    /// `passages` are rows with the scores F that they have so far, 0–1; `terms` tells which
    /// of the question's terms some rows hold. With l of [`links`](Self::links) and
    /// [`gain`](TermCoverage::gain), the fit of c after p is l(p, c) · (.3 + √gain(p, c)), and the
    /// score of c is the greatest F(p) · fit over the passages; that of p is at least .3 · F(p).
    /// Nothing is reached from passages that lead nowhere, not even they.
    ///
    /// # Errors
    /// Those of `terms`, and [`Corrupt`](trefoil_core::Error::Corrupt) if what had to be read is
    /// damaged.
    pub fn step(
        &self,
        passages: &[(RowId, f32)],
        terms: impl FnOnce(&RowSet) -> Result<TermCoverage>,
        allowed: &Allowed,
        count: usize,
    ) -> Result<Vec<Stepped>> {
        let mut links: Vec<(RowId, f32, Vec<Link>)> = Vec::with_capacity(passages.len());
        for &(passage, score) in passages {
            let mut linked = self.linked(passage, LEAST_LINK)?;
            linked.retain(|one| allowed.contains(one.row));
            links.push((passage, score, linked));
        }
        if links.iter().all(|(.., links)| links.is_empty()) {
            return Ok(Vec::new());
        }
        let mut rows: RowSet =
            links.iter().flat_map(|(.., links)| links).map(|one| one.row).collect();
        for &(passage, _) in passages {
            rows.insert(passage);
        }
        let terms = terms(&rows)?;
        let mut reached: BTreeMap<RowId, (Stepped, u64)> = BTreeMap::new();
        let mut reach = |row, tie, from, fit, score| {
            let stepped = Stepped { row, from, fit, score: score * fit };
            let (best, _) = reached.entry(row).or_insert((stepped, tie));
            if stepped.score > best.score {
                *best = stepped;
            }
        };
        for (passage, score, links) in links {
            if allowed.contains(passage) {
                reach(passage, self.tie(passage), passage, BASE, score);
            }
            for Link { row, tie, strength } in links {
                let fit = strength * (BASE + terms.gain(passage, row).sqrt());
                reach(row, tie, passage, fit, score);
            }
        }
        let mut best: Vec<(Stepped, u64)> =
            reached.into_values().filter(|(one, _)| one.score > 0.0).collect();
        best.sort_by(|(a, tie), (b, other)| {
            b.score.total_cmp(&a.score).then((tie, a.row).cmp(&(other, b.row)))
        });
        let mut best: Vec<Stepped> = best.into_iter().map(|(one, _)| one).collect();
        best.truncate(count);
        Ok(best)
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
        let terms = |_: &RowSet| {
            let mut terms = TermCoverage::new([1.0]);
            terms.insert(RowId::new(3), 0);
            Ok(terms)
        };
        let allowed = allowed.iter().map(|&row| RowId::new(row)).collect();
        let found = graph.step(&passages, terms, &Allowed::Only(Arc::new(allowed)), count).unwrap();
        let rows: Vec<u64> = found.iter().map(|one| one.row.get()).collect();
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
