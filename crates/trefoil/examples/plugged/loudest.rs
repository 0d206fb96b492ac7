//! A fuser: each passage counts as much as the retriever that likes it most says.

use std::collections::BTreeMap;

use trefoil::{
    Result, Score,
    index::RowId,
    search::{Fused, Fuser, PlannedRetriever, RankedList, RetrieverHit},
};

/// Ranks by the best relevance of any retriever, ties by how many agree.
#[derive(Debug)]
pub(crate) struct Loudest;

impl Fuser for Loudest {
    fn fuse(&self, _: &[PlannedRetriever], lists: &[RankedList]) -> Result<Vec<Fused>> {
        let mut rows: BTreeMap<RowId, Vec<RetrieverHit>> = BTreeMap::new();
        for list in lists {
            for (hit, rank) in list.hits().iter().zip(1..) {
                rows.entry(hit.row).or_default().push(RetrieverHit {
                    retriever: list.retriever(),
                    rank,
                    raw_score: hit.raw_score,
                    relevance: hit.relevance,
                });
            }
        }
        let fused = rows.into_iter().map(|(row, hits)| {
            let best = hits.iter().map(|hit| hit.relevance.get()).fold(0.0, f32::max);
            let agreed = 0.001 * hits.len() as f32;
            Fused { row, combined: Score::clamped(best * 0.99 + agreed), hits }
        });
        let mut fused: Vec<Fused> = fused.collect();
        Fused::sort(&mut fused);
        Ok(fused)
    }
}
