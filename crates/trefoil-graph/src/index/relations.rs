//! How entities are related, and which chunks show it.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use trefoil_core::{Allowed, RelationType, Result, RowId};

use super::{Degrees, GraphIndex, snapshot::View};
use crate::{
    Csr, Node, npmi,
    paths::{Rows, shortest_paths, shortest_paths_in},
};

/// How one entity is related to another, and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenRelation {
    /// The one.
    pub source: Node,
    /// The other.
    pub target: Node,
    /// The relation to the other.
    pub relation_type: RelationType,
    /// The chunks that show it, by id; at least one.
    pub proofs: Vec<RowId>,
}

/// How two entities hang together.
#[derive(Clone, Debug, PartialEq)]
pub struct RelationPath {
    /// From the one to the other, both included.
    pub entities: Vec<Node>,
    /// The product of the weights of the steps.
    pub weight: f64,
    /// Of each step between neighbours the relations, in either direction; at least one.
    pub steps: Vec<Vec<ProvenRelation>>,
}

/// What chunks say of an entity and another.
#[derive(Clone, Copy, Debug, Default)]
struct Bond {
    /// How often they stand together.
    together: u64,
    /// Whether the text relates them.
    stated: bool,
    /// Whether an allowed chunk says either.
    is_allowed: bool,
    /// Whether an allowed chunk relates the other to the entity, in this direction.
    points: bool,
}

impl GraphIndex {
    /// The relations between two entities, in either direction, that an allowed chunk shows.
    pub fn relations_between(&self, a: Node, b: Node, allowed: &Allowed) -> Vec<ProvenRelation> {
        self.noted(self.between(a, b, allowed)).unwrap_or_default()
    }

    /// The strongest of the shortest paths between every two of some entities, at most
    /// `max_hops` long, at most `count` of them, each step shown by an allowed chunk: see
    /// [`shortest_paths`].
    pub fn relationships(
        &self,
        ends: &[Node],
        max_hops: u32,
        count: usize,
        allowed: &Allowed,
    ) -> Vec<RelationPath> {
        let related = self.all_related();
        let paths = match allowed {
            Allowed::All => shortest_paths(related, ends, max_hops, count),
            Allowed::Only(_) => {
                let graph =
                    FilteredGraph { index: self, related, allowed, around: RefCell::default() };
                shortest_paths_in(&graph, ends, max_hops, count)
            }
        };
        let proven = paths.into_iter().map(|path| {
            let steps = path.nodes.iter().zip(path.nodes.iter().skip(1));
            let steps = steps.map(|(&a, &b)| self.relations_between(a, b, allowed)).collect();
            RelationPath { entities: path.nodes, weight: path.weight, steps }
        });
        proven.collect()
    }

    /// How well an entity is connected, as far as the allowed chunks show it.
    pub fn degrees(&self, node: Node, allowed: &Allowed) -> Degrees {
        if self.lag() == 0 && matches!(allowed, Allowed::All) {
            return self.frozen_degrees(node);
        }
        self.noted(self.read_degrees(node, allowed)).unwrap_or_default()
    }

    /// What an entity is worth showing, by all chunks: see [`Degrees::importance`].
    pub fn importance(&self, node: Node) -> f32 {
        self.degrees(node, &Allowed::All).importance()
    }

    fn frozen_degrees(&self, node: Node) -> Degrees {
        if node >= self.frozen.names.len() {
            return Degrees::default();
        }
        let degree = u32::try_from(self.all_related().degree(node)).unwrap_or(u32::MAX);
        Degrees { degree, in_degree: self.frozen.in_degrees[node] }
    }

    fn read_degrees(&self, node: Node, allowed: &Allowed) -> Result<Degrees> {
        let df = u64::from(self.df(&self.located_node(node)?)?);
        let mut degrees = Degrees::default();
        for (other, bond) in self.bonds(node, allowed)? {
            if !bond.is_allowed {
                continue;
            }
            let other = || -> Result<u64> { Ok(u64::from(self.df(&self.located(other)?)?)) };
            #[expect(clippy::cast_possible_truncation, reason = "graphs are in f32")]
            let is_related =
                bond.stated || npmi(bond.together, df, other()?, self.live as u64) as f32 > 0.0;
            degrees.degree += u32::from(is_related);
            degrees.in_degree += u32::from(is_related && bond.points);
        }
        Ok(degrees)
    }

    /// What chunks say of an entity and each other one, by normalised name.
    fn bonds(&self, node: Node, allowed: &Allowed) -> Result<BTreeMap<&str, Bond>> {
        let located = self.located_node(node)?;
        let mut bonds: BTreeMap<&str, Bond> = BTreeMap::new();
        for &(place, entity) in &located {
            let Some(view) = self.views().get(place) else { continue };
            let together = view.segment.together();
            let mut here: BTreeMap<u32, Bond> = BTreeMap::new();
            each_relation(view, entity, |row, relation| {
                let is_source = relation.source == entity;
                let other = if is_source { relation.target } else { relation.source };
                let bond = here.entry(other).or_default();
                let is_together = Some(relation.label) == together;
                bond.together += u64::from(is_together);
                bond.stated |= !is_together;
                if allowed.contains(row) {
                    bond.is_allowed = true;
                    bond.points |= !is_together && !is_source;
                }
            })?;
            for (other, bond) in here {
                let sum = bonds.entry(view.segment.key(other)?).or_default();
                sum.together += bond.together;
                sum.stated |= bond.stated;
                sum.is_allowed |= bond.is_allowed;
                sum.points |= bond.points;
            }
        }
        Ok(bonds)
    }

    /// The entities of the frozen form that an allowed chunk relates to one, ascending.
    fn shown_around(&self, node: Node, allowed: &Allowed) -> Result<BTreeSet<Node>> {
        let located = self.located_node(node)?;
        let mut around = BTreeSet::new();
        for (view, entity) in self.views_of(&located) {
            let mut here = BTreeSet::new();
            each_relation(view, entity, |row, relation| {
                if allowed.contains(row) {
                    let is_source = relation.source == entity;
                    here.insert(if is_source { relation.target } else { relation.source });
                }
            })?;
            for other in here {
                around.extend(self.frozen.names.find(view.segment.key(other)?));
            }
        }
        Ok(around)
    }

    fn between(&self, a: Node, b: Node, allowed: &Allowed) -> Result<Vec<ProvenRelation>> {
        let (one, other) = (self.located_node(a)?, self.located_node(b)?);
        // Which of both the text speaks of, by name; the type; what shows it.
        let mut shown: BTreeMap<(bool, &RelationType), Vec<(u64, RowId)>> = BTreeMap::new();
        let a_is_first = self.name_of(a)? < self.name_of(b)?;
        for &(place, first) in &one {
            let second = other.iter().find(|(at, _)| *at == place).map(|&(_, it)| it);
            let (Some(view), Some(second)) = (self.views().get(place), second) else { continue };
            let segment = &view.segment;
            let (few, many) = if segment.posting_count(first)? <= segment.posting_count(second)? {
                (first, second)
            } else {
                (second, first)
            };
            for posting in segment.postings(few)? {
                let chunk = posting.chunk;
                if !view.is_live(chunk) || segment.posting(many, chunk)?.is_none() {
                    continue;
                }
                let row = segment.row(chunk)?;
                if !allowed.contains(row) {
                    continue;
                }
                for relation in segment.said(chunk)?.relations {
                    let ends = (relation.source, relation.target);
                    if ends == (first, second) || ends == (second, first) {
                        let is_first = (relation.source == first) == a_is_first;
                        let key = (!is_first, segment.relation_type(relation.label)?);
                        let proofs = shown.entry(key).or_default();
                        proofs.push((segment.tie(chunk)?, row));
                    }
                }
            }
        }
        let relations = shown.into_iter().map(|((is_second, relation_type), mut proofs)| {
            proofs.sort_unstable();
            proofs.dedup();
            let (source, target) = if is_second == a_is_first { (b, a) } else { (a, b) };
            let proofs = proofs.into_iter().map(|(_, row)| row).collect();
            ProvenRelation { source, target, relation_type: relation_type.clone(), proofs }
        });
        Ok(relations.collect())
    }
}

/// Tells the relations of an entity that live chunks show.
fn each_relation(
    view: &View,
    entity: u32,
    mut tell: impl FnMut(RowId, crate::segment::said::Related),
) -> Result<()> {
    for posting in view.segment.postings(entity)? {
        if !view.is_live(posting.chunk) {
            continue;
        }
        let row = view.segment.row(posting.chunk)?;
        for relation in view.segment.said(posting.chunk)?.relations {
            let is_of = relation.source == entity || relation.target == entity;
            if is_of && relation.source != relation.target {
                tell(row, relation);
            }
        }
    }
    Ok(())
}

/// The graph of paths, as far as allowed chunks show it.
struct FilteredGraph<'i> {
    index: &'i GraphIndex,
    related: &'i Csr,
    allowed: &'i Allowed,
    /// Of each node that was looked at, those that allowed chunks relate to it.
    around: RefCell<BTreeMap<Node, Rc<BTreeSet<Node>>>>,
}

impl Rows for FilteredGraph<'_> {
    fn node_count(&self) -> u32 {
        self.related.node_count()
    }

    fn edges(&self, node: Node) -> impl Iterator<Item = (Node, f32)> {
        let known = self.around.borrow().get(&node).cloned();
        let around = known.unwrap_or_else(|| {
            let around = self.index.shown_around(node, self.allowed);
            let around = Rc::new(self.index.noted(around).unwrap_or_default());
            self.around.borrow_mut().insert(node, Rc::clone(&around));
            around
        });
        self.related.edges(node).filter(move |(other, _)| around.contains(other))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trefoil_core::{Extraction, Relation};

    use super::*;
    use crate::{Degrees, GraphConfig, PruneConfig, fixture::chunk};

    /// Ada–Babbage in chunks 1 and 2, Babbage–Engine in 3 and 4, Ada–Byron in 5, Byron–Engine
    /// in 6; Seoul–Tokyo in 7.
    fn graph() -> GraphIndex {
        let chunks = [
            chunk(1, "Ada Babbage"),
            chunk(2, "Babbage Ada"),
            chunk(3, "Babbage Engine"),
            chunk(4, "Babbage Engine"),
            chunk(5, "Ada Byron"),
            chunk(6, "Byron Engine"),
            chunk(7, "Seoul Tokyo"),
        ];
        let prune = PruneConfig { min_count: 1, percentile: 0.0 };
        GraphIndex::build(chunks, &GraphConfig { prune, ..GraphConfig::default() }).unwrap()
    }

    fn only(rows: &[u64]) -> Allowed {
        Allowed::Only(Arc::new(rows.iter().map(|&row| RowId::new(row)).collect()))
    }

    fn check(ends: &[&str], allowed: &Allowed, expected: &[(&[&str], &[&[u64]])]) {
        let graph = graph();
        let node = |name: &&str| graph.find(name).unwrap().node;
        let ends: Vec<Node> = ends.iter().map(node).collect();
        let found = graph.relationships(&ends, 3, 5, allowed);
        let found: Vec<(Vec<&str>, Vec<Vec<u64>>)> = found
            .iter()
            .map(|path| {
                let names = path.entities.iter().map(|&node| graph.entity(node).unwrap().name);
                let proofs = path.steps.iter().map(|step| {
                    step.iter().flat_map(|one| one.proofs.iter().map(|row| row.get())).collect()
                });
                (names.collect(), proofs.collect())
            })
            .collect();
        let expected: Vec<(Vec<&str>, Vec<Vec<u64>>)> = expected
            .iter()
            .map(|(names, proofs)| {
                (names.to_vec(), proofs.iter().map(|rows| rows.to_vec()).collect())
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_step_of_a_path_is_shown_by_chunks() {
        check(&["ada", "babbage"], &Allowed::All, &[(&["Ada", "Babbage"], &[&[1, 2]])]);
        check(
            &["engine", "ada"],
            &Allowed::All,
            &[
                (&["Engine", "Babbage", "Ada"], &[&[3, 4], &[1, 2]]),
                (&["Engine", "Byron", "Ada"], &[&[6], &[5]]),
            ],
        );
        check(&["ada", "seoul"], &Allowed::All, &[]);
    }

    #[test]
    fn a_path_uses_what_is_allowed_only() {
        check(
            &["ada", "engine"],
            &only(&[1, 4, 5]),
            &[(&["Ada", "Babbage", "Engine"], &[&[1], &[4]])],
        );
        check(&["ada", "engine"], &only(&[1, 5]), &[]);
    }

    #[test]
    fn a_relation_keeps_its_direction() {
        let graph = graph();
        let [ada, babbage] = ["ada", "babbage"].map(|name| graph.find(name).unwrap().node);
        let relations = graph.relations_between(babbage, ada, &Allowed::All);
        let ends: Vec<_> = relations.iter().map(|one| (one.source, one.target)).collect();
        assert_eq!(ends, [(ada, babbage), (babbage, ada)]);
        assert_eq!(relations[1].relation_type, RelationType::CO_OCCURS);
        assert_eq!(graph.relations_between(ada, 99, &Allowed::All), []);
    }

    /// A chunk in which the first name is stated to contain each of the others.
    fn containing(row: u64, names: &str) -> (RowId, Extraction) {
        let (row, extraction) = chunk(row, names);
        let (mentions, relations) = extraction.into_parts();
        let head = relations.first().map(|one| one.source.clone()).unwrap_or_default();
        let stated = relations.into_iter().map(|one| Relation {
            source: head.clone(),
            relation_type: RelationType::CONTAINS,
            ..one
        });
        (row, Extraction::new(mentions).with_relations(stated.collect()))
    }

    #[test]
    fn what_is_pointed_at_is_more_important() {
        let chunks = [
            containing(1, "Ada Babbage Engine"),
            containing(2, "Byron Babbage"),
            containing(3, "Seoul Babbage"),
            chunk(4, "Engine Tokyo"),
        ];
        let graph = GraphIndex::build(chunks, &GraphConfig::default()).unwrap();
        let check = |name: &str, allowed: &Allowed, degree, in_degree, importance: f32| {
            let node = graph.find(name).unwrap().node;
            let found = graph.degrees(node, allowed);
            assert_eq!(found, Degrees { degree, in_degree }, "{name}");
            assert!((found.importance() - importance).abs() < 1e-6, "{name}: {found:?}");
            if matches!(allowed, Allowed::All) {
                let of_graph = graph.importance(node);
                assert!((of_graph - importance).abs() < 1e-6, "{name}: {of_graph}");
            }
        };
        check("ada", &Allowed::All, 2, 0, 0.1);
        // Standing together with Tokyo has no direction.
        check("engine", &Allowed::All, 2, 1, 0.2);
        check("tokyo", &Allowed::All, 1, 0, 0.05);
        // Being pointed at counts a fifth at most.
        check("babbage", &Allowed::All, 3, 3, 0.35);
        check("babbage", &only(&[1, 4]), 1, 1, 0.15);
        check("babbage", &only(&[4]), 0, 0, 0.0);
        check("engine", &only(&[4]), 1, 0, 0.05);
        assert_eq!(graph.degrees(99, &Allowed::All), Degrees::default());
        assert!((Degrees { degree: 30, in_degree: 9 }.importance() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn what_is_about_an_entity_comes_before_what_mentions_it() {
        let chunks =
            [chunk(1, "Ada Engine"), chunk(2, "#Ada Engine"), chunk(3, "Ada"), chunk(4, "Engine")];
        let graph = GraphIndex::build(chunks, &GraphConfig::default()).unwrap();
        let ada = graph.find("ada").unwrap().node;
        let rows = |allowed: &Allowed| -> Vec<u64> {
            graph.mentions_of(ada, allowed).into_iter().map(RowId::get).collect()
        };
        assert_eq!(rows(&Allowed::All), [2, 1, 3]);
        assert_eq!(rows(&only(&[1, 4])), [1]);
        assert_eq!(graph.mentions_of(99, &Allowed::All), []);
    }
}
