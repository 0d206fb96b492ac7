use trefoil_core::{Allowed, Result, RowId};

use crate::{
    Csr, Node,
    column::Column,
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
/// Entities come first, by their numbers; then the chunks, by their rows.
#[derive(Clone, Debug)]
pub struct EntityChunks {
    pagerank: PageRank,
    entities: u32,
    /// The row of each chunk, ascending.
    rows: Vec<RowId>,
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
        let count = entities.node_count();
        let chunk = |row| chunk_node(count, &rows, row).unwrap_or(Node::MAX);
        let mentions = mentions.iter().map(|&(entity, row, weight)| {
            // An entity beyond the graph would be taken for a chunk.
            (if entity < count { entity } else { Node::MAX }, chunk(row), weight)
        });
        let nodes = chunk_at(count, rows.len()).unwrap_or(Node::MAX);
        let graph = Csr::from_edges(nodes, entities.all_edges().chain(mentions))?;
        Ok(Self { pagerank: PageRank::new(graph, damping)?, entities: count, rows })
    }

    /// The `count` best of the chunks that are allowed, best first, equals by lower row.
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
        let entities = entities.iter().copied().filter(|&(entity, _)| entity < self.entities);
        let chunks = chunks.iter().filter_map(|&(row, weight)| {
            Some((chunk_node(self.entities, &self.rows, row)?, weight))
        });
        let seeds: Vec<(Node, f32)> = entities.chain(chunks).collect();
        let scores = self.pagerank.scores(&seeds, walk);
        let is_allowed =
            |&(node, _): &(Node, f32)| self.row(node).is_some_and(|row| allowed.contains(row));
        let best = top(scores.iter().filter(is_allowed), count);
        best.into_iter().filter_map(|(node, score)| Some((self.row(node)?, score))).collect()
    }

    /// The chunks that share entities with the one at `row`, by row, and how strongly each
    /// is linked to it: L / (1 + L), where L is Σ over the shared entities of the product
    /// of the weights of both mentions. Empty if the chunk is not in the graph.
    pub fn links(&self, row: RowId) -> Vec<(RowId, f32)> {
        let Some(chunk) = chunk_node(self.entities, &self.rows, row) else { return Vec::new() };
        let graph = self.graph();
        let mut strength = Column::filled(graph.node_count(), 0.0_f32);
        for (entity, weight) in graph.edges(chunk) {
            for (other, other_weight) in graph.edges(entity) {
                strength[other] += weight * other_weight;
            }
        }
        let linked = self.rows.iter().zip(self.entities..).filter_map(|(&other, node)| {
            let strength = strength[node];
            (other != row && strength > 0.0).then_some((other, strength / (1.0 + strength)))
        });
        linked.collect()
    }

    /// The entities that the chunk at `row` mentions, ascending, with the weights of the
    /// mentions.
    pub fn entities_of(&self, row: RowId) -> impl Iterator<Item = (Node, f32)> + '_ {
        let chunk = chunk_node(self.entities, &self.rows, row);
        chunk.into_iter().flat_map(|chunk| self.graph().edges(chunk))
    }

    /// The chunks that mention an entity, by row.
    pub fn chunks_of(&self, entity: Node) -> impl Iterator<Item = RowId> + '_ {
        let is_entity = entity < self.entities;
        let linked = if is_entity { self.graph().neighbours(entity) } else { &[] };
        linked.iter().filter_map(|&node| self.row(node))
    }

    /// The same with how strongly each mentions it.
    pub fn mentions_of(&self, entity: Node) -> impl Iterator<Item = (RowId, f32)> + '_ {
        let is_entity = entity < self.entities;
        let linked = is_entity.then(|| self.graph().edges(entity)).into_iter().flatten();
        linked.filter_map(|(node, weight)| Some((self.row(node)?, weight)))
    }

    /// The row of every chunk, ascending.
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

/// The node of a row's chunk.
fn chunk_node(entities: u32, rows: &[RowId], row: RowId) -> Option<Node> {
    chunk_at(entities, rows.binary_search(&row).ok()?)
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
    fn chunks_are_linked_by_the_entities_they_share() {
        let linked = |row| -> Vec<(u64, f32)> {
            let links = graph().links(RowId::new(row)).into_iter();
            links.map(|(row, strength)| (row.get(), strength)).collect()
        };
        assert_eq!(linked(11), [(12, 0.5)]);
        assert_eq!(linked(12), [(11, 0.5)]);
        assert_eq!(linked(10), []);
        assert_eq!(linked(99), []);
        let entities: Vec<Node> =
            graph().entities_of(RowId::new(12)).map(|(entity, _)| entity).collect();
        assert_eq!(entities, [1, 2]);
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
