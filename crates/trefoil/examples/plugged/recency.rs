//! A retriever without an index: the newest documents first, whatever is asked.

use std::sync::{Arc, OnceLock};

use trefoil::{
    Engine, Result, Retriever, RetrieverId, Score,
    index::{Allowed, RowId},
    search::{Hit, Question, RankedList},
};

/// Ranks passages by the date of their document.
#[derive(Clone, Debug)]
pub(crate) struct Recency {
    id: RetrieverId,
    /// Dated rows, the newest first.
    rows: Arc<OnceLock<Vec<RowId>>>,
}

impl Recency {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { id: RetrieverId::new("recency")?, rows: Arc::default() })
    }

    /// Learns the dates of what an engine holds. A remote service would know them by itself.
    pub(crate) fn learn(&self, engine: &Engine) -> Result<()> {
        let mut dated = Vec::new();
        for path in engine.paths()? {
            let chunks = engine.document_chunks(&path)?;
            dated.extend(chunks.iter().filter_map(|one| Some((one.file.date?, one.row))));
        }
        dated.sort_by(|a, b| b.cmp(a));
        self.rows.set(dated.into_iter().map(|(_, row)| row).collect()).ok();
        Ok(())
    }
}

impl Retriever for Recency {
    fn id(&self) -> RetrieverId {
        self.id
    }

    fn retrieve(&self, _: &Question, depth: usize, allowed: &Allowed) -> Result<RankedList> {
        let rows = self.rows.get().map_or(&[][..], Vec::as_slice);
        let rows = rows.iter().filter(|row| allowed.contains(**row)).take(depth);
        let hits = rows.enumerate().map(|(place, &row)| Hit {
            row,
            raw_score: 1.0 / (1.0 + place as f32),
            // New is no answer: it only breaks ties among those.
            relevance: Score::ZERO,
        });
        Ok(RankedList::new(self.id, hits.collect()).with_floor(0.0))
    }
}
