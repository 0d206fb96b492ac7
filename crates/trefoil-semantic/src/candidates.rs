//! What may be among the nearest of the vectors that were compared so far.

use trefoil_core::RowId;

/// A vector that may be among the nearest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// Its cosine with the query, by their codes.
    pub(crate) score: f32,
    /// How far from that the cosine may be.
    pub(crate) error: f32,
    /// The row.
    pub(crate) row: RowId,
    /// Place of the segment.
    pub(crate) segment: usize,
    /// Place in the segment.
    pub(crate) ordinal: usize,
}

impl Candidate {
    fn least(&self) -> f32 {
        self.score - self.error
    }

    fn most(&self) -> f32 {
        self.score + self.error
    }
}

/// All that may be among the `k` nearest, whatever order they are offered in: those whose
/// cosine may reach what `k` others have at least.
#[derive(Debug)]
pub(crate) struct Candidates {
    k: usize,
    kept: Vec<Candidate>,
    /// What `k` of those kept have at least.
    bar: f32,
    /// As soon as so many are kept, the bar is raised.
    limit: usize,
}

/// Fewer than these are not worth a search for the bar.
const FEW: usize = 64;

impl Candidates {
    /// Starts with none.
    pub(crate) fn new(k: usize) -> Self {
        let bar = if k == 0 { f32::INFINITY } else { f32::NEG_INFINITY };
        Self { k, kept: Vec::new(), bar, limit: limit(k) }
    }

    /// What has a lower cosine for sure need not be offered.
    #[inline]
    pub(crate) fn bar(&self) -> f32 {
        self.bar
    }

    /// Takes a candidate if it may be among the nearest.
    pub(crate) fn offer(&mut self, candidate: Candidate) {
        if candidate.most() < self.bar {
            return;
        }
        self.kept.push(candidate);
        if self.kept.len() >= self.limit {
            self.raise_bar();
            // Twice as many as there were, so that a candidate costs O(1).
            self.limit = limit(self.kept.len());
        }
    }

    /// What is to be compared exactly, in no particular order.
    pub(crate) fn into_kept(mut self) -> Vec<Candidate> {
        self.raise_bar();
        self.kept
    }

    fn raise_bar(&mut self) {
        if self.k == 0 || self.kept.len() < self.k {
            return;
        }
        let descending = |a: &Candidate, b: &Candidate| b.least().total_cmp(&a.least());
        let (_, kth, _) = self.kept.select_nth_unstable_by(self.k - 1, descending);
        self.bar = kth.least();
        let bar = self.bar;
        self.kept.retain(|candidate| candidate.most() >= bar);
    }
}

fn limit(kept: usize) -> usize {
    kept.saturating_mul(2).max(FEW)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_may_be_near_is_kept(
            offered in prop::collection::vec((0..99_u8, 0..9_u8), 0..400), k in 0..30_usize
        ) {
            let offered: Vec<Candidate> = (0..).zip(&offered).map(|(row, &(score, error))| Candidate {
                score: f32::from(score), error: f32::from(error), row: RowId::new(row), segment: 0, ordinal: 0,
            }).collect();
            let mut candidates = Candidates::new(k);
            for &candidate in &offered {
                if candidate.most() >= candidates.bar() {
                    candidates.offer(candidate);
                }
            }
            let mut least: Vec<f32> = offered.iter().map(Candidate::least).collect();
            least.sort_by(|a, b| b.total_cmp(a));
            let bar = if k == 0 { f32::INFINITY } else { least.get(k - 1).copied().unwrap_or(f32::NEG_INFINITY) };
            let expected: Vec<Candidate> = offered.into_iter().filter(|one| one.most() >= bar).collect();
            let mut kept = candidates.into_kept();
            kept.sort_by_key(|candidate| candidate.row);
            prop_assert_eq!(kept, expected);
        }
    }
}
