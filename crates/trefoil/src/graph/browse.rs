//! The graph as a person browses it: the most important entities, one of them, and a part
//! of the graph to be drawn.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use trefoil_core::{
    Allowed, EntityType, EntityView, RelatedEntity, RelationView, Result, RowId, Score,
    SearchFilters, StoredChunk, Subgraph, SubgraphEdge, SubgraphNode,
};
use trefoil_graph::{Entity, GraphIndex, HierarchyConfig, Node};
use trefoil_text::normalize_name;

use crate::{
    graph::paths::{PROOFS, named, shown},
    state::State,
};

/// What being mentioned counts for common nouns, against 1 for names and code: all of them say
/// something of a passage, names more often say what it is about.
const COMMON_NOUNS: f32 = 0.75;

impl State {
    pub(crate) fn graph_index_within(
        &self,
        filters: &SearchFilters,
    ) -> Result<Option<Arc<GraphIndex>>> {
        let Allowed::Only(rows) = self.allowed(&self.view(), filters)? else {
            return Ok(self.graph_index());
        };
        if self.graph_index().is_none() {
            return Ok(None);
        }
        let rows: Vec<RowId> = rows.iter().collect();
        let said = self.store.extractions(&rows)?;
        Ok(Some(Arc::new(GraphIndex::build(said, &self.config.graph)?)))
    }

    pub(crate) fn important_entities(
        &self,
        filters: &SearchFilters,
        most: usize,
    ) -> Result<Vec<EntityView>> {
        let Some(index) = self.graph_index_within(filters)? else { return Ok(Vec::new()) };
        let first = ranked(&index).into_iter().take(most);
        let each = first.filter_map(|node| index.entity(node));
        each.map(|entity| view(&index, &entity, Vec::new())).collect()
    }

    pub(crate) fn entity(
        &self,
        name: &str,
        filters: &SearchFilters,
        most: usize,
    ) -> Result<Option<EntityView>> {
        let Some(index) = self.graph_index_within(filters)? else { return Ok(None) };
        let Some(entity) = index.find(&normalize_name(name)) else { return Ok(None) };
        let is_whole = matches!(self.allowed(&self.view(), filters)?, Allowed::All);
        let mut neighbours: Vec<(Node, f32)> = index.all_related().edges(entity.node).collect();
        // The sort is stable: of equals the first in the alphabet.
        neighbours.sort_by(|a, b| b.1.total_cmp(&a.1));
        neighbours.truncate(most);
        let mut related = Vec::with_capacity(neighbours.len());
        for (other, weight) in neighbours {
            related.extend(self.related(&index, entity.node, other, weight, is_whole)?);
        }
        let known = self.known(&index, entity.node, &Allowed::All, |_| true, None)?;
        let description = known.map(|known| known.description).unwrap_or_default();
        Ok(Some(EntityView { description, ..view(&index, &entity, related)? }))
    }

    pub(crate) fn subgraph(
        &self,
        around: Option<&str>,
        filters: &SearchFilters,
        most: usize,
    ) -> Result<Subgraph> {
        let Some(index) = self.graph_index_within(filters)? else { return Ok(Subgraph::default()) };
        let graph = index.all_related();
        let mut nodes: Vec<Node> = match around {
            None => ranked(&index),
            Some(name) => {
                let Some(entity) = index.find(&normalize_name(name)) else {
                    return Ok(Subgraph::default());
                };
                let mut neighbours: Vec<(Node, f32)> = graph.edges(entity.node).collect();
                neighbours.sort_by(|a, b| b.1.total_cmp(&a.1));
                std::iter::once(entity.node)
                    .chain(neighbours.into_iter().map(|(node, _)| node))
                    .collect()
            }
        };
        nodes.truncate(most);
        let places: BTreeMap<Node, usize> = nodes.iter().copied().zip(0..).collect();
        let communities = communities(&index, &places)?;
        let drawn = nodes.iter().filter_map(|&node| index.entity(node)).map(|entity| {
            Ok(SubgraphNode {
                entity: named(&entity)?,
                chunks: entity.chunks as usize,
                importance: Score::clamped(index.importance(entity.node)),
                community: communities.get(&entity.node).copied(),
            })
        });
        let drawn = drawn.collect::<Result<_>>()?;
        let mut edges = Vec::new();
        for (&node, &source) in &places {
            for (other, weight) in graph.edges(node).filter(|&(other, _)| node < other) {
                if let Some(&target) = places.get(&other) {
                    edges.push(SubgraphEdge { source, target, weight: Score::clamped(weight) });
                }
            }
        }
        Ok(Subgraph { nodes: drawn, edges })
    }

    fn related(
        &self,
        index: &GraphIndex,
        entity: Node,
        other: Node,
        weight: f32,
        is_whole: bool,
    ) -> Result<Option<RelatedEntity>> {
        let relations = index.relations_between(entity, other, &Allowed::All);
        let rows: Vec<RowId> =
            relations.iter().flat_map(|one| one.proofs.iter().take(PROOFS).copied()).collect();
        let chunks = self.store.chunks(&rows)?;
        let chunks: BTreeMap<RowId, &StoredChunk> =
            chunks.iter().map(|chunk| (chunk.row, chunk.as_ref())).collect();
        let mut all = Vec::with_capacity(relations.len());
        for relation in &relations {
            let ends = [relation.source, relation.target].map(|node| index.entity(node));
            let seen = match ends {
                [Some(source), Some(target)] if is_whole => {
                    let (source, target) = (source.normalized_name, target.normalized_name);
                    let (kind, rows) = (&relation.relation_type, &relation.proofs);
                    self.store.relation(source, kind, target, rows)?.map(|found| found.seen)
                }
                // Under filters these are not all of the chunks.
                _ => None,
            };
            let shown = shown(index, relation, &chunks)?;
            all.extend(shown.map(|(relation, _)| RelationView { seen, ..relation }));
        }
        let Some(entity) = index.entity(other).filter(|_| !all.is_empty()) else { return Ok(None) };
        let weight = Score::clamped(weight);
        Ok(Some(RelatedEntity { entity: named(&entity)?, weight, relations: all }))
    }
}

/// The entities, the most important first, of equals the first in the alphabet: what one long
/// passage lists among much else is related to more than what the documents are about.
fn ranked(index: &GraphIndex) -> Vec<Node> {
    let entities = (0..index.entity_count()).filter_map(|node| index.entity(node));
    let weighed = entities.map(|entity| {
        let is_name = *entity.entity_type != EntityType::CONCEPT;
        let weight = if is_name { entity.mentioned } else { COMMON_NOUNS * entity.mentioned };
        (entity.node, weight)
    });
    let mut weighed: Vec<(Node, f32)> = weighed.collect();
    // The sort is stable.
    weighed.sort_by(|a, b| b.1.total_cmp(&a.1));
    weighed.into_iter().map(|(node, _)| node).collect()
}

fn view(
    index: &GraphIndex,
    entity: &Entity<'_>,
    related: Vec<RelatedEntity>,
) -> Result<EntityView> {
    let degrees = index.degrees(entity.node, &Allowed::All);
    Ok(EntityView {
        entity: named(entity)?,
        description: String::new(),
        degree: degrees.degree as usize,
        aliases: index.aliases(entity.node).map(str::to_owned).collect(),
        chunks: entity.chunks as usize,
        importance: Score::clamped(degrees.importance()),
        related,
    })
}

/// The communities of some entities, numbered by how many of these they hold.
fn communities(index: &GraphIndex, drawn: &BTreeMap<Node, usize>) -> Result<BTreeMap<Node, usize>> {
    let config = HierarchyConfig { levels: 1, ..HierarchyConfig::default() };
    let hierarchy = index.communities(&config)?;
    let mut groups: Vec<Vec<Node>> = hierarchy
        .communities()
        .iter()
        .map(|one| one.members.iter().copied().filter(|node| drawn.contains_key(node)).collect())
        .filter(|group: &Vec<Node>| !group.is_empty())
        .collect();
    groups.sort_by_key(|group| Reverse(group.len()));
    let numbered = groups.into_iter().zip(0..);
    Ok(numbered
        .flat_map(|(group, number)| group.into_iter().map(move |node| (node, number)))
        .collect())
}
