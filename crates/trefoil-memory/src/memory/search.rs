//! A question asked of both sides of recall: words and meaning.

use std::collections::BTreeMap;

use trefoil::{
    Allowed, Degraded, Embedding, RowId,
    memory::{MemoryCollection, RecallDepth, Recalled},
};
use trefoil_core::Result;

use super::recall::rows_of;
use crate::{
    HybridPolicy,
    recall::{RecallProfile, RecallQuery, widened},
};

/// What both sides say of rows: relevance of words, 0–1, and the cosine of meanings.
#[derive(Clone, Debug, Default)]
pub(super) struct Sides {
    pub(super) rows: Vec<RowId>,
    pub(super) text: BTreeMap<RowId, f64>,
    pub(super) cosine: BTreeMap<RowId, f32>,
    pub(super) depth: RecallDepth,
    asked: Option<Embedding>,
    pub(super) degraded: Vec<Degraded>,
}

impl Sides {
    /// Everything, for a question that is empty.
    pub(super) fn all(allowed: &Allowed) -> Self {
        Self { rows: rows_of(allowed), ..Self::default() }
    }

    /// What the cosine of a row says of its relevance, 0–1; a text in another language is
    /// farther from the question than one that says the same in its own.
    pub(super) fn meaning(
        &self,
        memory: MemoryCollection<'_>,
        row: RowId,
        cross_lingual: bool,
    ) -> f64 {
        let cosine = self.cosine.get(&row);
        cosine.map_or(0.0, |&cosine| f64::from(memory.relevance_of(cosine, cross_lingual).get()))
    }
}

/// A question that is asked of both sides.
pub(super) struct Search<'a> {
    pub(super) memory: MemoryCollection<'a>,
    pub(super) query: &'a RecallQuery,
    pub(super) question: &'a str,
    pub(super) hybrid: &'a HybridPolicy,
}

impl Search<'_> {
    /// Asks both sides, one that found too little once more and deeper. What only words found
    /// is compared in meaning too. The vector of a question that was asked `before` is used
    /// again.
    pub(super) fn run(&self, allowed: &Allowed, before: Sides) -> Result<Sides> {
        let Self { memory, question, .. } = *self;
        let k_final = self.query.top_k;
        let mut depth = RecallDepth { text: self.hybrid.k_txt, vector: self.hybrid.k_vec };
        let Recalled { mut by_text, mut by_vector, asked, degraded } =
            self.first(allowed, depth, before)?;
        if let Some(deeper) = widened(depth.text, by_text.len(), k_final) {
            depth.text = deeper;
            by_text = memory.by_text(question, allowed, deeper)?;
        }
        if let (Some(asked), Some(deeper)) =
            (&asked, widened(depth.vector, by_vector.len(), k_final))
        {
            depth.vector = deeper;
            by_vector = memory.near(asked.as_slice(), allowed, deeper)?;
        }
        let text: BTreeMap<RowId, f64> =
            by_text.iter().map(|one| (one.row, f64::from(one.relevance.get()))).collect();
        let mut cosine: BTreeMap<RowId, f32> =
            by_vector.iter().map(|one| (one.row, one.raw_score)).collect();
        if let Some(asked) = &asked {
            let words_only: Vec<RowId> =
                text.keys().copied().filter(|row| !cosine.contains_key(row)).collect();
            for (row, own) in memory.vectors(&words_only)? {
                cosine.insert(row, asked.as_slice().iter().zip(&own).map(|(a, b)| a * b).sum());
            }
        }
        let mut rows: Vec<RowId> = text.keys().chain(cosine.keys()).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        Ok(Sides { rows, text, cosine, depth, asked, degraded })
    }

    fn first(&self, allowed: &Allowed, depth: RecallDepth, before: Sides) -> Result<Recalled> {
        let Self { memory, question, .. } = *self;
        if let Some(asked) = before.asked {
            let by_text = memory.by_text(question, allowed, depth.text)?;
            let by_vector = memory.near(asked.as_slice(), allowed, depth.vector)?;
            let degraded = before.degraded;
            return Ok(Recalled { by_text, by_vector, asked: Some(asked), degraded });
        }
        if self.query.profile == RecallProfile::KeywordFirst
            && let Ok(by_text) = memory.by_text(question, allowed, depth.text)
        {
            let relevances: Vec<f64> =
                by_text.iter().map(|one| f64::from(one.relevance.get())).collect();
            if !self.query.profile.needs_meaning(&relevances, self.query.top_k) {
                return Ok(Recalled { by_text, ..Recalled::default() });
            }
        }
        memory.recall(question, allowed, depth)
    }
}
