//! A fuser: each passage counts as much as the retriever that likes it most says.

use trefoil::{
    Result,
    search::{Fused, Fuser, PlannedRetriever, RankedList},
};

/// Ranks by the best relevance of any retriever, ties by how many agree.
#[derive(Debug)]
pub(crate) struct Loudest;

impl Fuser for Loudest {
    fn fuse(&self, _: &[PlannedRetriever], lists: &[RankedList]) -> Result<Vec<Fused>> {
        Ok(Fused::by(lists, |hits| {
            let best = hits.iter().map(|hit| hit.relevance.get()).fold(0.0, f32::max);
            best * 0.99 + 0.001 * hits.len() as f32
        }))
    }
}
