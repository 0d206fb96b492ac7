use std::{cmp::Ordering, collections::BTreeSet};

use crate::{Csr, Node, column::Column};

/// A way from one node to another along edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// From the first to the last, both included; each once.
    pub nodes: Vec<Node>,
    /// The product of the weights of its edges.
    pub weight: f64,
}

impl Path {
    /// How many edges it has.
    pub fn hops(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    /// Stronger before weaker; equals by their nodes.
    fn by_weight(&self, other: &Self) -> Ordering {
        other.weight.total_cmp(&self.weight).then_with(|| self.nodes.cmp(&other.nodes))
    }

    fn extended(&self, node: Node, weight: f32) -> Self {
        let nodes = self.nodes.iter().copied().chain([node]).collect();
        Self { nodes, weight: self.weight * f64::from(weight) }
    }
}

/// The strongest of the shortest paths between every two of some nodes, at most
/// `max_hops` long (10 at most), and at most `count` of them.
///
/// A path goes from the node that is named earlier to the one that is named later. The best
/// path of every pair comes before the second of any; within that, shorter ones come first,
/// then those with the greater product of weights, then those through lower numbers.
pub fn shortest_paths(graph: &Csr, ends: &[Node], max_hops: u32, count: usize) -> Vec<Path> {
    shortest_paths_in(graph, ends, max_hops, count)
}

/// A graph as far as a search for paths sees it.
pub(crate) trait Rows {
    /// How many nodes there are.
    fn node_count(&self) -> u32;
    /// The edges of a node: neighbour, ascending, and weight.
    fn edges(&self, node: Node) -> impl Iterator<Item = (Node, f32)>;
}

impl Rows for Csr {
    fn node_count(&self) -> u32 {
        self.node_count()
    }

    fn edges(&self, node: Node) -> impl Iterator<Item = (Node, f32)> {
        self.edges(node)
    }
}

/// As [`shortest_paths`].
pub(crate) fn shortest_paths_in(
    graph: &impl Rows,
    ends: &[Node],
    max_hops: u32,
    count: usize,
) -> Vec<Path> {
    let mut seen = BTreeSet::new();
    let ends: Vec<Node> = ends.iter().copied().filter(|&end| seen.insert(end)).collect();
    let mut found = Vec::new();
    for (place, &from) in (1..).zip(&ends) {
        for &to in ends.iter().skip(place) {
            found.extend(between(graph, from, to, max_hops, count).into_iter().enumerate());
        }
    }
    found.sort_by(|(rank, path), (other_rank, other)| {
        (rank, path.hops()).cmp(&(other_rank, other.hops())).then_with(|| path.by_weight(other))
    });
    found.truncate(count);
    found.into_iter().map(|(_, path)| path).collect()
}

/// Shortest paths between two nodes, strongest first: a breadth-first search from both
/// ends, a step at a time on the side with fewer edges to follow, until they meet.
fn between(graph: &impl Rows, from: Node, to: Node, max_hops: u32, count: usize) -> Vec<Path> {
    if from.max(to) >= graph.node_count() {
        return Vec::new();
    }
    let (mut near, mut far) = (Side::new(graph, from), Side::new(graph, to));
    for _ in 0..max_hops.min(10) {
        let (side, other) =
            if near.effort() <= far.effort() { (&mut near, &far) } else { (&mut far, &near) };
        side.step();
        let mut meetings = side.frontier.clone();
        // Only the other's frontier can be met: what lies behind it was met before.
        meetings.retain(|&node| other.distance[node] != UNKNOWN);
        if !meetings.is_empty() {
            let mut paths: Vec<Path> =
                meetings.into_iter().flat_map(|node| joined(&near, &far, node, count)).collect();
            paths.sort_by(Path::by_weight);
            paths.truncate(count);
            return paths;
        }
    }
    Vec::new()
}

/// The paths through a node where the sides meet.
fn joined<G: Rows>(near: &Side<'_, G>, far: &Side<'_, G>, node: Node, count: usize) -> Vec<Path> {
    let (firsts, seconds) = (near.paths_to(node, count), far.paths_to(node, count));
    let pairs = firsts.iter().flat_map(|first| seconds.iter().map(move |second| (first, second)));
    let mut paths: Vec<Path> = pairs
        .map(|(first, second)| {
            let rest = second.nodes.iter().rev().skip(1);
            let nodes = first.nodes.iter().chain(rest).copied().collect();
            Path { nodes, weight: first.weight * second.weight }
        })
        .collect();
    paths.sort_by(Path::by_weight);
    paths.truncate(count);
    paths
}

/// Memory of zeros costs nothing until it is written to, however many nodes there are.
const UNKNOWN: u8 = 0;

/// What one side of the search has reached.
struct Side<'a, G> {
    graph: &'a G,
    /// Steps from the root, and one.
    distance: Column<u8>,
    frontier: Vec<Node>,
    depth: u8,
}

impl<'a, G: Rows> Side<'a, G> {
    fn new(graph: &'a G, root: Node) -> Self {
        let mut distance = Column::filled(graph.node_count(), UNKNOWN);
        distance[root] = 1;
        Self { graph, distance, frontier: vec![root], depth: 1 }
    }

    /// Edges to follow in the next step.
    fn effort(&self) -> usize {
        self.frontier.iter().map(|&node| self.graph.edges(node).count()).sum()
    }

    fn step(&mut self) {
        self.depth += 1;
        let mut next = Vec::new();
        for &node in &self.frontier {
            for (neighbour, _) in self.graph.edges(node) {
                if self.distance[neighbour] == UNKNOWN {
                    self.distance[neighbour] = self.depth;
                    next.push(neighbour);
                }
            }
        }
        self.frontier = next;
    }

    /// The strongest shortest paths from the root to a node that was reached.
    fn paths_to(&self, node: Node, count: usize) -> Vec<Path> {
        let distance = self.distance[node];
        if distance == 1 {
            return vec![Path { nodes: vec![node], weight: 1.0 }];
        }
        let mut paths = Vec::new();
        for (before, weight) in self.graph.edges(node) {
            if self.distance[before] == distance - 1 {
                let ways = self.paths_to(before, count);
                paths.extend(ways.iter().map(|way| way.extended(node, weight)));
            }
        }
        paths.sort_by(Path::by_weight);
        paths.truncate(count);
        paths
    }
}

#[cfg(test)]
mod tests {
    use petgraph::algo::{all_simple_paths, dijkstra};
    use proptest::prelude::*;

    use super::*;

    /// a–b–d and a–c–d, the latter weaker; d–e–f; g apart.
    fn diamond() -> Csr {
        let edges = [(0, 1, 0.5), (1, 3, 0.8), (0, 2, 0.9), (2, 3, 0.4), (3, 4, 1.0), (4, 5, 1.0)];
        Csr::from_edges(7, edges).unwrap()
    }

    fn check(ends: &[Node], max_hops: u32, count: usize, expected: &[&[Node]]) {
        let paths = shortest_paths(&diamond(), ends, max_hops, count);
        let nodes: Vec<_> = paths.iter().map(|path| path.nodes.as_slice()).collect();
        assert_eq!(nodes, expected, "{ends:?} within {max_hops}, at most {count}");
    }

    #[test]
    fn shorter_then_stronger_paths_come_first() {
        check(&[0, 3], 3, 5, &[&[0, 1, 3], &[0, 2, 3]]);
        check(&[3, 0], 3, 5, &[&[3, 1, 0], &[3, 2, 0]]);
        check(&[0, 3], 3, 1, &[&[0, 1, 3]]);
        check(&[0, 3], 1, 5, &[]);
        check(&[0, 4], 3, 5, &[&[0, 1, 3, 4], &[0, 2, 3, 4]]);
        check(&[0, 5], 3, 5, &[]);
        check(&[0, 5], 4, 1, &[&[0, 1, 3, 4, 5]]);
        check(&[0, 3, 4], 3, 3, &[&[3, 4], &[0, 1, 3], &[0, 1, 3, 4]]);
        check(&[0, 3, 0, 3], 3, 9, &[&[0, 1, 3], &[0, 2, 3]]);
    }

    #[test]
    fn what_is_apart_the_same_or_not_there_has_no_path() {
        check(&[0, 6], 10, 5, &[]);
        check(&[0, 0], 3, 5, &[]);
        check(&[0, 99], 3, 5, &[]);
        check(&[0], 3, 5, &[]);
        check(&[], 3, 5, &[]);
        check(&[0, 3], 3, 0, &[]);
        check(&[0, 3], 0, 5, &[]);
    }

    proptest! {
        #[test]
        fn they_are_the_strongest_of_all_shortest_paths(
            edges in prop::collection::vec((0..14_u32, 0..14_u32, 0.1..1.0_f32), 0..40),
            count in 1..5_usize,
        ) {
            let edges = edges.into_iter().filter(|(a, b, _)| a != b);
            let graph = Csr::from_edges(14, edges)?;
            let found = shortest_paths(&graph, &[0, 1], 3, count);
            let far = dijkstra(&graph, 0, Some(1), |_| 1_usize);
            match far.get(&1).filter(|&&far| far <= 3) {
                None => prop_assert_eq!(found, []),
                Some(&far) => {
                    let all = all_simple_paths::<Vec<_>, _, std::hash::RandomState>(&graph, 0, 1, far - 1, Some(far - 1));
                    let mut weights: Vec<f64> = all.map(|path| weight(&graph, &path)).collect();
                    weights.sort_by(|a, b| b.total_cmp(a));
                    weights.truncate(count);
                    prop_assert_eq!(found.len(), weights.len());
                    for (path, expected) in found.iter().zip(weights) {
                        prop_assert_eq!(path.hops(), far);
                        prop_assert!((path.weight - expected).abs() < 1e-9);
                        prop_assert!((path.weight - weight(&graph, &path.nodes)).abs() < 1e-9);
                    }
                }
            }
        }
    }

    fn weight(graph: &Csr, path: &[Node]) -> f64 {
        path.windows(2).map(|ends| f64::from(graph.weight(ends[0], ends[1]).unwrap())).product()
    }
}
