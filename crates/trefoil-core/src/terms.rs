use std::collections::BTreeMap;

use crate::RowId;

/// Which terms of a question some rows hold, and what each term is worth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermCoverage {
    /// Share of the question's information, the terms together 1.
    worth: Vec<f32>,
    /// One bit a term.
    held: BTreeMap<RowId, u64>,
}

impl TermCoverage {
    /// Most terms that are told apart.
    pub const MOST: usize = 64;

    /// Terms by their information, such as the idf of each; held by no row yet. Those after
    /// the first [`TermCoverage::MOST`] are left out.
    pub fn new(information: impl IntoIterator<Item = f32>) -> Self {
        let mut worth: Vec<f32> = information.into_iter().take(Self::MOST).collect();
        let total: f32 = worth.iter().sum();
        for one in &mut worth {
            *one = if total > 0.0 { *one / total } else { 0.0 };
        }
        Self { worth, held: BTreeMap::new() }
    }

    /// Says that `row` holds the term at place `term`.
    pub fn insert(&mut self, row: RowId, term: usize) {
        if term < self.worth.len() {
            *self.held.entry(row).or_default() |= 1 << term;
        }
    }

    /// True if no term is known.
    pub fn is_empty(&self) -> bool {
        self.worth.is_empty()
    }

    /// The share of the question's information that `to` holds and `from` does not, 0–1.
    pub fn gain(&self, from: RowId, to: RowId) -> f32 {
        let of = |row| self.held.get(&row).copied().unwrap_or_default();
        let new = of(to) & !of(from);
        let gained = self.worth.iter().enumerate().filter(|(term, _)| new >> term & 1 == 1);
        gained.map(|(_, worth)| worth).sum::<f32>().clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_what_the_other_row_does_not_hold() {
        let mut terms = TermCoverage::new([2.0, 1.0, 1.0]);
        for (row, term) in [(1, 0), (1, 1), (2, 1), (2, 2), (3, 9)] {
            terms.insert(RowId::new(row), term);
        }
        let gain = |from, to| terms.gain(RowId::new(from), RowId::new(to));
        assert_eq!([gain(1, 2), gain(2, 1), gain(1, 1), gain(9, 1)], [0.25, 0.5, 0.0, 0.75]);
        // A term that is not of the question is none.
        assert_eq!([gain(1, 3), gain(3, 9)], [0.0, 0.0]);
        assert_eq!(TermCoverage::default().gain(RowId::new(1), RowId::new(2)), 0.0);
    }

    #[test]
    fn only_the_first_terms_are_told_apart() {
        let mut terms = TermCoverage::new([1.0; 200]);
        for term in 0..200 {
            terms.insert(RowId::new(1), term);
        }
        assert!((terms.gain(RowId::new(2), RowId::new(1)) - 1.0).abs() < 1e-5);
    }
}
