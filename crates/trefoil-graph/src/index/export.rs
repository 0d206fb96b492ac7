use petgraph::Graph;
use trefoil_core::{EntityId, EntityType, RelationType, Result, Score};

use super::{GraphIndex, frozen::all_relations};

/// A node of the graph that [`GraphIndex::to_petgraph`] makes: an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityNode {
    /// Its id, as in results.
    pub id: EntityId,
    /// How most of the chunks write it.
    pub name: String,
    /// What most of the chunks take it for.
    pub entity_type: EntityType,
    /// How many chunks mention it.
    pub chunks: u32,
    /// How well it is connected, 0–1: see [`Degrees::importance`](crate::Degrees::importance).
    pub importance: Score,
}

/// An edge of that graph: one relation between two entities.
#[derive(Clone, Debug, PartialEq)]
pub struct RelationEdge {
    /// The relation from the first to the second.
    pub relation_type: RelationType,
    /// How strongly the two are related, above 0: the same for all relations between them.
    pub weight: f32,
    /// How many chunks show it; at least one.
    pub proofs: usize,
}

impl GraphIndex {
    /// The graph as one of petgraph, for the algorithms and exports that are written for it.
    /// Node `i` is entity `i`; `id_of` makes the id of an entity from its normalised name.
    ///
    /// Two entities have an edge for each type of relation between them, from the entity that
    /// the text speaks of to the one that it relates it to. That two occur together
    /// ([`RelationType::CO_OCCURS`]) has no direction: `Graph::into_edge_type` forgets that of
    /// the others too.
    ///
    /// # Errors
    /// As `id_of`.
    pub fn to_petgraph(
        &self,
        id_of: impl Fn(&str) -> Result<EntityId>,
    ) -> Result<Graph<EntityNode, RelationEdge>> {
        let related = self.all_related();
        let mut graph = Graph::with_capacity(related.nodes().len(), related.edge_count());
        let entities = related.nodes().filter_map(|node| self.entity(node));
        let nodes = entities.map(|entity| {
            Ok(graph.add_node(EntityNode {
                id: id_of(entity.normalized_name)?,
                name: entity.name.to_owned(),
                entity_type: entity.entity_type.clone(),
                chunks: entity.chunks,
                importance: Score::clamped(self.importance(entity.node)),
            }))
        });
        let nodes: Vec<_> = nodes.collect::<Result<_>>()?;
        let relations = all_relations(&self.snapshot().views, &self.frozen().names)?;
        for ((ends, source, relation_type), proofs) in relations {
            let [a, b] = ends;
            let target = if source == a { b } else { a };
            let nodes = [source, target].map(|end| nodes.get(end as usize));
            let (Some(weight), [Some(&source), Some(&target)]) = (related.weight(a, b), nodes)
            else {
                continue;
            };
            let relation_type = relation_type.clone();
            graph.add_edge(source, target, RelationEdge { relation_type, weight, proofs });
        }
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use petgraph::{algo::dijkstra, graph::NodeIndex, visit::EdgeRef};
    use proptest::prelude::*;
    use trefoil_core::{Allowed, ByteSpan, Extraction, Relation, RowId};

    use super::*;
    use crate::{
        GraphConfig,
        fixture::{chunk, names},
    };

    fn id_of(name: &str) -> Result<EntityId> {
        EntityId::new(format!("ent_{}", name.len()))
    }

    fn exported(chunks: Vec<(RowId, Extraction)>) -> (GraphIndex, Graph<EntityNode, RelationEdge>) {
        let index = GraphIndex::build(chunks, &GraphConfig::default()).unwrap();
        let graph = index.to_petgraph(id_of).unwrap();
        (index, graph)
    }

    #[test]
    fn each_type_of_relation_is_an_edge_with_its_direction_and_proofs() {
        let (row, extraction) = chunk(3, "Babbage Engine");
        let designed = Relation {
            source: "babbage".into(),
            target: "engine".into(),
            relation_type: RelationType::new("designed").unwrap(),
            evidence: vec![ByteSpan { start: 0, end: 9 }],
        };
        let mut relations = extraction.relations().to_vec();
        relations.push(designed);
        let stated = Extraction::new(extraction.mentions().to_vec()).with_relations(relations);
        // What stands together in all chunks is told by none of them: others are needed.
        let others = (4..9).map(|row| chunk(row, "Seoul"));
        let chunks = [chunk(1, "Ada Babbage"), chunk(2, "Babbage Ada"), (row, stated)];
        let (index, graph) = exported(chunks.into_iter().chain(others).collect());

        let nodes: Vec<(&str, &str, u32)> = graph
            .node_weights()
            .map(|node| (node.id.as_str(), node.name.as_str(), node.chunks))
            .collect();
        assert_eq!(
            nodes,
            [
                ("ent_3", "Ada", 2),
                ("ent_7", "Babbage", 3),
                ("ent_6", "Engine", 1),
                ("ent_5", "Seoul", 5)
            ]
        );
        let mut edges: Vec<(usize, usize, &str, usize)> = graph
            .edge_references()
            .map(|edge| {
                let RelationEdge { relation_type, proofs, .. } = edge.weight();
                (edge.source().index(), edge.target().index(), relation_type.as_str(), *proofs)
            })
            .collect();
        edges.sort_unstable();
        let together = RelationType::CO_OCCURS;
        let together = together.as_str();
        assert_eq!(
            edges,
            [(0, 1, together, 1), (1, 0, together, 1), (1, 2, together, 1), (1, 2, "designed", 1)]
        );
        for edge in graph.edge_references() {
            let ends =
                [edge.source(), edge.target()].map(|end| u32::try_from(end.index()).unwrap());
            assert_eq!(index.all_related().weight(ends[0], ends[1]), Some(edge.weight().weight));
        }
        // What is written for petgraph works on it.
        let far = dijkstra(&graph, NodeIndex::new(0), None, |_| 1);
        assert_eq!(far[&NodeIndex::new(2)], 2);
    }

    proptest! {
        #[test]
        fn the_export_relates_what_the_index_relates(
            given in prop::collection::vec(names(), 0..9),
        ) {
            let chunks = (1..).zip(&given).map(|(row, names)| chunk(row, names)).collect();
            let (index, graph) = exported(chunks);
            prop_assert_eq!(graph.node_count(), index.entity_count() as usize);
            let proofs: usize = graph.edge_weights().map(|edge| edge.proofs).sum();
            let shown = index.all_related().all_edges().flat_map(|(a, b, _)| {
                index.relations_between(a, b, &Allowed::All)
            });
            prop_assert_eq!(proofs, shown.map(|one| one.proofs.len()).sum::<usize>());
            let tied: std::collections::BTreeSet<_> = graph
                .edge_references()
                .map(|edge| (edge.source().min(edge.target()), edge.source().max(edge.target())))
                .collect();
            prop_assert_eq!(tied.len(), index.all_related().edge_count());
        }
    }
}
