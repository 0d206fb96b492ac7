//! The paths between the entities of a question, and the chunks that show them.

use std::collections::BTreeMap;

use trefoil_core::{
    Fused, Hit, Plan, RankedList, RelationId, RelationshipPath, RetrieverId, RowId, Score,
};

/// Whether the graph takes part in a search.
pub(crate) fn plans_graph(plan: &Plan) -> bool {
    plan.retrievers.iter().any(|one| one.id == RetrieverId::GRAPH)
}

/// The paths between the entities of a question, and the chunks that show them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relationships {
    pub(crate) paths: Vec<RelationshipPath>,
    /// Of each chunk that shows a step: steps of the shortest path that it is of, and the
    /// relations that it shows.
    pub(crate) shown: BTreeMap<RowId, (usize, Vec<RelationId>)>,
}

/// How sure the graph is of a path that chunks show, as a multiple of what is usual. Set to keep
/// the share of .6 that such questions had at the usual ground; not measured (decision 023).
const PROVEN: f32 = 4.0;

impl Relationships {
    /// The retriever whose list the chunks that show the paths are part of.
    pub(crate) const RETRIEVER: RetrieverId = RetrieverId::GRAPH;

    /// The relations of the paths that a chunk shows.
    pub(crate) fn shown_by(&self, row: RowId) -> Vec<RelationId> {
        self.shown.get(&row).map(|(_, relations)| relations.clone()).unwrap_or_default()
    }

    /// The chunks that show the paths: ½ ÷ (1 + .2 · steps of the path), and half of what
    /// the chunk scores in the other retrievers' list. A path that is
    /// shown is as sure as the surest steps.
    pub(crate) fn list(&self, found: &[Fused]) -> RankedList {
        let scores: BTreeMap<RowId, f32> =
            found.iter().map(|one| (one.row, one.combined.get())).collect();
        let hits = self.shown.iter().map(|(&row, &(steps, _))| {
            let chunk = scores.get(&row).copied().unwrap_or_default();
            let raw_score = 0.5 / (1.0 + 0.2 * steps as f32) + 0.5 * chunk;
            Hit { row, raw_score, relevance: Score::clamped(raw_score) }
        });
        let sure = if self.shown.is_empty() { 0.0 } else { PROVEN };
        let list = RankedList::new(RetrieverId::GRAPH, hits.collect());
        list.with_floor(0.0).with_confidence(sure)
    }
}
