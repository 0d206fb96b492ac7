use trefoil_core::{Allowed, Result, RowId};

use crate::{
    Csr, Node,
    pagerank::{PageRank, Walk},
    ranking::top,
};

/// Entities and the chunks that mention them in one graph: relations between entities,
/// and mentions between an entity and a chunk.
///
/// A walk from the entities of a question ranks the chunks that it is met at, also those
/// that it comes to by way of other entities and chunks (Gutiérrez et al. 2024,
/// "HippoRAG", arXiv 2405.14831; with chunks as seeds next to the entities, 2025, "From RAG to
/// memory", arXiv 2502.14802).
///
/// Entities come first, by their numbers; then the chunks, by their rows or another order.
#[derive(Clone, Debug)]
pub struct EntityChunks {
    pagerank: PageRank,
    entities: u32,
    /// The row of each chunk, in the order of the nodes.
    rows: Vec<RowId>,
    /// The rows, ascending, with the places of their chunks in that order.
    places: Vec<(RowId, u32)>,
}

impl EntityChunks {
    /// Takes the graph of entities, the mentions `(entity, row, weight)`, and the damping of
    /// the walk, 0–0.99. Weights of mentions and relations are on one scale.
    ///
    /// # Errors
    /// [`trefoil_core::Error::InvalidEdge`] if a mention is of an entity that is not in the
    /// graph, or has a weight that is not finite and above 0;
    /// [`trefoil_core::Error::InvalidConfig`] if the damping is out of its range.
    pub fn new(entities: &Csr, mentions: &[(Node, RowId, f32)], damping: f32) -> Result<Self> {
        let mut rows: Vec<RowId> = mentions.iter().map(|&(_, row, _)| row).collect();
        rows.sort_unstable();
        rows.dedup();
        Self::in_order(entities, mentions, rows, damping)
    }

    /// The same with the chunks in the order of `rows`: that of equals.
    pub(crate) fn in_order(
        entities: &Csr,
        mentions: &[(Node, RowId, f32)],
        rows: Vec<RowId>,
        damping: f32,
    ) -> Result<Self> {
        let places = places(&rows);
        let count = entities.node_count();
        let chunk = |row| chunk_node(count, &places, row).unwrap_or(Node::MAX);
        let mentions = mentions.iter().map(|&(entity, row, weight)| {
            // An entity beyond the graph would be taken for a chunk.
            (if entity < count { entity } else { Node::MAX }, chunk(row), weight)
        });
        let nodes = chunk_at(count, rows.len()).unwrap_or(Node::MAX);
        let graph = Csr::from_edges(nodes, entities.all_edges().chain(mentions))?;
        Self::restored(graph, count, rows, damping)
    }

    /// What was taken apart: the graph that is walked, how many of its nodes are entities, and
    /// the rows of the others.
    pub(crate) fn restored(
        graph: Csr,
        entities: u32,
        rows: Vec<RowId>,
        damping: f32,
    ) -> Result<Self> {
        let places = places(&rows);
        Ok(Self { pagerank: PageRank::new(graph, damping)?, entities, rows, places })
    }

    /// The `count` best of the chunks that are allowed, best first, equals in the order of the
    /// chunks.
    ///
    /// Seeds are entities and chunks with weights above 0; those that are not in the graph
    /// are left out. Scores are comparable for one question only.
    pub fn rank(
        &self,
        entities: &[(Node, f32)],
        chunks: &[(RowId, f32)],
        walk: Walk,
        allowed: &Allowed,
        count: usize,
    ) -> Vec<(RowId, f32)> {
        self.rank_where(entities, chunks, walk, |row| allowed.contains(row), count)
    }

    /// The same of the chunks for which `admits` holds.
    pub(crate) fn rank_where(
        &self,
        entities: &[(Node, f32)],
        chunks: &[(RowId, f32)],
        walk: Walk,
        admits: impl Fn(RowId) -> bool,
        count: usize,
    ) -> Vec<(RowId, f32)> {
        let entities = entities.iter().copied().filter(|&(entity, _)| entity < self.entities);
        let chunks = chunks.iter().filter_map(|&(row, weight)| {
            Some((chunk_node(self.entities, &self.places, row)?, weight))
        });
        let seeds: Vec<(Node, f32)> = entities.chain(chunks).collect();
        let scores = self.pagerank.scores(&seeds, walk);
        let is_allowed = |&(node, _): &(Node, f32)| self.row(node).is_some_and(&admits);
        let best = top(scores.iter().filter(is_allowed), count);
        best.into_iter().filter_map(|(node, score)| Some((self.row(node)?, score))).collect()
    }

    /// The chunks that mention an entity, in their order.
    pub fn chunks_of(&self, entity: Node) -> impl ExactSizeIterator<Item = RowId> + '_ {
        let is_entity = entity < self.entities;
        let linked = if is_entity { self.graph().neighbours(entity) } else { &[] };
        // The entities that it is related to come first.
        let (_, chunks) = linked.split_at(linked.partition_point(|&node| node < self.entities));
        chunks.iter().map(|&node| self.row(node).unwrap_or(RowId::new(u64::MAX)))
    }

    /// The row of every chunk, in their order.
    pub fn rows(&self) -> &[RowId] {
        &self.rows
    }

    /// The graph that is walked.
    pub const fn graph(&self) -> &Csr {
        self.pagerank.graph()
    }

    fn row(&self, node: Node) -> Option<RowId> {
        self.rows.get(node.checked_sub(self.entities)? as usize).copied()
    }
}

/// The rows, ascending, with their places.
fn places(rows: &[RowId]) -> Vec<(RowId, u32)> {
    let mut places: Vec<(RowId, u32)> = rows.iter().copied().zip(0..).collect();
    places.sort_unstable();
    places
}

/// The node of a row's chunk.
fn chunk_node(entities: u32, places: &[(RowId, u32)], row: RowId) -> Option<Node> {
    let found = places.binary_search_by_key(&row, |&(row, _)| row).ok()?;
    chunk_at(entities, places.get(found)?.1 as usize)
}

/// The node of the chunk at a place.
fn chunk_at(entities: u32, place: usize) -> Option<Node> {
    entities.checked_add(u32::try_from(place).ok()?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trefoil_core::{Error, RowSet};

    use super::*;

    /// Entities 0–1–2 in a chain, 3 apart; chunk 10 mentions 0, 11 mentions 1, 12 mentions 2
    /// and 1, 13 mentions 3.
    fn graph() -> EntityChunks {
        let entities = Csr::from_edges(4, [(0, 1, 1.0), (1, 2, 1.0)]).unwrap();
        let mentions = [(3, 13, 1.0), (0, 10, 1.0), (1, 11, 1.0), (2, 12, 1.0), (1, 12, 1.0)];
        let mentions = mentions.map(|(entity, row, weight)| (entity, RowId::new(row), weight));
        EntityChunks::new(&entities, &mentions, 0.5).unwrap()
    }

    fn check(entities: &[Node], chunks: &[u64], allowed: &[u64], count: usize, expected: &[u64]) {
        let entities: Vec<_> = entities.iter().map(|&entity| (entity, 1.0)).collect();
        let chunks: Vec<_> = chunks.iter().map(|&row| (RowId::new(row), 1.0)).collect();
        let rows: RowSet = allowed.iter().map(|&row| RowId::new(row)).collect();
        let allowed = if allowed.is_empty() { Allowed::All } else { Allowed::Only(Arc::new(rows)) };
        for walk in [Walk::Power { iterations: 50 }, Walk::Push { threshold: 1e-7 }] {
            let found = graph().rank(&entities, &chunks, walk, &allowed, count);
            let rows: Vec<u64> = found.iter().map(|(row, _)| row.get()).collect();
            assert_eq!(rows, expected, "{entities:?} {chunks:?} {walk:?}");
        }
    }

    #[test]
    fn chunks_rank_by_how_near_the_seeds_are() {
        check(&[0], &[], &[], 9, &[10, 12, 11]);
        check(&[2], &[], &[], 9, &[12, 11, 10]);
        check(&[], &[13], &[], 9, &[13]);
        check(&[0, 3], &[], &[], 2, &[13, 10]);
        check(&[0], &[], &[11, 13], 9, &[11]);
        check(&[0], &[], &[], 1, &[10]);
        check(&[99], &[99], &[], 9, &[]);
        // The node of the first chunk is no entity.
        check(&[4], &[], &[], 9, &[]);
    }

    #[test]
    fn a_mention_is_of_an_entity_of_the_graph() {
        let entities = Csr::from_edges(2, [(0, 1, 1.0)]).unwrap();
        for (entity, weight) in [(2, 1.0), (0, 0.0)] {
            let error = EntityChunks::new(&entities, &[(entity, RowId::new(1), weight)], 0.5);
            assert!(matches!(error, Err(Error::InvalidEdge { .. })), "{entity} {weight}");
        }
    }
}
