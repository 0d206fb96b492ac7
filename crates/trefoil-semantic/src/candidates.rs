//! The best of what was compared so far.

use std::cmp::Ordering;

use trefoil_core::RowId;

/// A vector that may be among the nearest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// Inner product with the query's code, in units that are the same all over a search.
    pub(crate) score: f32,
    /// What orders it among equals, the smaller first.
    pub(crate) tie_break: u64,
    /// The row.
    pub(crate) row: RowId,
    /// Place of the segment.
    pub(crate) segment: usize,
    /// Place in the segment.
    pub(crate) ordinal: usize,
}

impl Candidate {
    /// Better scores first, equals by their numbers.
    pub(crate) fn best_first(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then(self.tie_break.cmp(&other.tie_break)).then(self.row.cmp(&other.row))
    }
}

/// The `keep` best candidates, whatever order they are offered in.
#[derive(Debug)]
pub(crate) struct Candidates {
    keep: usize,
    kept: Vec<Candidate>,
    worst: Option<Candidate>,
}

impl Candidates {
    /// Starts with none.
    pub(crate) fn new(keep: usize) -> Self {
        Self { keep, kept: Vec::new(), worst: None }
    }

    /// A candidate of a lower score need not be offered.
    #[inline]
    pub(crate) fn bar(&self) -> f32 {
        self.worst.map_or(f32::NEG_INFINITY, |worst| worst.score)
    }

    /// Takes a candidate if it may be among the best.
    pub(crate) fn offer(&mut self, candidate: Candidate) {
        if self.keep == 0 || self.worst.is_some_and(|w| w.best_first(&candidate).is_lt()) {
            return;
        }
        self.kept.push(candidate);
        // Dropping the worse half at once costs O(1) a candidate.
        if self.kept.len() >= self.keep.saturating_mul(2) {
            self.shrink();
        }
    }

    /// The best, in no particular order.
    pub(crate) fn into_best(mut self) -> Vec<Candidate> {
        self.shrink();
        self.kept
    }

    fn shrink(&mut self) {
        if self.keep > 0 && self.kept.len() > self.keep {
            self.kept.select_nth_unstable_by(self.keep - 1, Candidate::best_first);
            self.kept.truncate(self.keep);
            self.worst = self.kept.last().copied();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_are_kept(scores in prop::collection::vec(0..9_u8, 0..200), keep in 0..30_usize) {
            let offered: Vec<Candidate> = (0..).zip(&scores).map(|(row, &score)| Candidate {
                score: f32::from(score),
                tie_break: row * 5 % 3,
                row: RowId::new(row * 7 % 211),
                segment: 0,
                ordinal: 0,
            }).collect();
            let mut candidates = Candidates::new(keep);
            for &candidate in &offered {
                if candidate.score >= candidates.bar() {
                    candidates.offer(candidate);
                }
            }
            let mut expected = offered;
            expected.sort_by(Candidate::best_first);
            expected.truncate(keep);
            let mut best = candidates.into_best();
            best.sort_by(Candidate::best_first);
            prop_assert_eq!(best, expected);
        }
    }
}
