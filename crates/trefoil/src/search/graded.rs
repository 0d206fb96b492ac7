//! Passages after grading.

use std::borrow::Borrow;

use trefoil_core::{CragReport, CragScore, Ranked, RowSet, Score};

/// The passages of a search after grading, in their order.
#[derive(Debug)]
pub(crate) struct Graded {
    pub(crate) passages: Vec<GradedPassage>,
    /// Candidates that pass the filters, read or not.
    pub(crate) total: usize,
    /// What was found and dropped.
    pub(crate) dropped: RowSet,
    /// The best score that a reranker gave, also to what was dropped.
    pub(crate) best_read: Option<Score>,
    /// What grading found and did, where it was asked for.
    pub(crate) report: Option<CragReport>,
}

/// A passage and what grading says of it.
#[derive(Debug)]
pub(crate) struct GradedPassage {
    pub(crate) ranked: Ranked,
    pub(crate) grade: Option<CragScore>,
    /// The sentences that matter, where they were picked out.
    pub(crate) summary: Option<String>,
}

impl Borrow<Ranked> for GradedPassage {
    fn borrow(&self) -> &Ranked {
        &self.ranked
    }
}

impl Graded {
    /// Passages that nobody grades.
    pub(crate) fn ungraded(ranked: Vec<Ranked>, total: usize) -> Self {
        let best_read = best_read(&ranked);
        let passages = ranked.into_iter().map(GradedPassage::from).collect();
        Self { passages, total, dropped: RowSet::default(), best_read, report: None }
    }
}

impl From<Ranked> for GradedPassage {
    fn from(ranked: Ranked) -> Self {
        Self { ranked, grade: None, summary: None }
    }
}

/// The best score that a reranker gave.
pub(crate) fn best_read(ranked: &[Ranked]) -> Option<Score> {
    ranked.iter().filter_map(|one| one.rerank).max()
}
