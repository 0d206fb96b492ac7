use std::collections::{BTreeMap, BTreeSet};

use trefoil_core::{Allowed, RelationType, RowId};

use crate::{GraphIndex, Node, column::Column, index::evidence::Text, paths::shortest_paths};

/// What the chunks say of any two entities.
#[derive(Debug)]
pub(crate) struct Relations {
    /// Ascending, each once.
    shown: Vec<Shown>,
    types: BTreeMap<Text, RelationType>,
}

/// A relation and one chunk that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shown {
    /// The lower number first.
    ends: [Node; 2],
    source: Node,
    label: Text,
    row: RowId,
}

/// How one entity is related to another, and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenRelation {
    /// The one.
    pub source: Node,
    /// The other.
    pub target: Node,
    /// The relation to the other.
    pub relation_type: RelationType,
    /// The chunks that show it, by row; at least one.
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

impl GraphIndex {
    /// The relations between two entities, in either direction, that an allowed chunk shows.
    pub fn relations_between(&self, a: Node, b: Node, allowed: &Allowed) -> Vec<ProvenRelation> {
        self.relations.between(a, b, allowed)
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
        let paths = match allowed {
            Allowed::All => shortest_paths(self.all_related(), ends, max_hops, count),
            Allowed::Only(_) => {
                let shown =
                    self.all_related().filtered(|a, b| self.relations.is_shown(a, b, allowed));
                shortest_paths(&shown, ends, max_hops, count)
            }
        };
        let proven = paths.into_iter().map(|path| {
            let steps = path.nodes.iter().zip(path.nodes.iter().skip(1));
            let steps = steps.map(|(&a, &b)| self.relations.between(a, b, allowed)).collect();
            RelationPath { entities: path.nodes, weight: path.weight, steps }
        });
        proven.collect()
    }
}

impl Relations {
    /// Takes `(source, target, label, row)`, and the type that each label is.
    pub(crate) fn new(
        shown: impl Iterator<Item = (Node, Node, Text, RowId)>,
        types: BTreeMap<Text, RelationType>,
    ) -> Self {
        let shown: BTreeSet<Shown> = shown
            .map(|(source, target, label, row)| {
                let ends = [source.min(target), source.max(target)];
                Shown { ends, source, label, row }
            })
            .collect();
        Self { shown: shown.into_iter().collect(), types }
    }

    fn between(&self, a: Node, b: Node, allowed: &Allowed) -> Vec<ProvenRelation> {
        let same = |x: &Shown, y: &Shown| (x.source, x.label) == (y.source, y.label);
        let relations = self.of([a.min(b), a.max(b)]).chunk_by(same).filter_map(|same| {
            let &Shown { source, label, .. } = same.first()?;
            let proofs = same.iter().map(|shown| shown.row).filter(|&row| allowed.contains(row));
            let proofs: Vec<RowId> = proofs.collect();
            let relation_type = self.types.get(&label)?.clone();
            let target = if source == a { b } else { a };
            let relation = ProvenRelation { source, target, relation_type, proofs };
            (!relation.proofs.is_empty()).then_some(relation)
        });
        relations.collect()
    }

    pub(crate) fn is_shown(&self, a: Node, b: Node, allowed: &Allowed) -> bool {
        self.of([a.min(b), a.max(b)]).iter().any(|shown| allowed.contains(shown.row))
    }

    /// True if an allowed chunk relates one entity to another, in this direction.
    pub(crate) fn points(&self, source: Node, target: Node, allowed: &Allowed) -> bool {
        let of_both = self.of([source.min(target), source.max(target)]).iter();
        let points = |shown: &Shown| shown.source == source && self.is_directed(shown.label);
        of_both.filter(|shown| points(shown)).any(|shown| allowed.contains(shown.row))
    }

    /// Of each of so many entities, how many others are related to it, in this direction.
    pub(crate) fn in_degrees(&self, entities: u32) -> Column<u32> {
        let directed = self.shown.iter().filter(|shown| self.is_directed(shown.label));
        // They are sorted by their ends and then by their source.
        let mut pointing: Vec<([Node; 2], Node)> =
            directed.map(|shown| (shown.ends, shown.source)).collect();
        pointing.dedup();
        let mut degrees = Column::filled(entities, 0);
        for ([a, b], source) in pointing {
            degrees[if source == a { b } else { a }] += 1;
        }
        degrees
    }

    /// Standing together has no direction.
    fn is_directed(&self, label: Text) -> bool {
        self.types.get(&label).is_some_and(|one| *one != RelationType::CO_OCCURS)
    }

    /// All that is shown of two entities.
    fn of(&self, ends: [Node; 2]) -> &[Shown] {
        let from = self.shown.partition_point(|shown| shown.ends < ends);
        let (_, rest) = self.shown.split_at(from);
        rest.split_at(rest.partition_point(|shown| shown.ends == ends)).0
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
                let of_graph = graph.entity(node).unwrap().importance;
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
