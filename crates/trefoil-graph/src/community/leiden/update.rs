//! Communities after a change, found from those before it.
//!
//! A dynamic frontier (Sahu 2024, "A starting point for dynamic community detection with
//! Leiden algorithm", arXiv 2405.11658), made to keep communities connected. In rounds,
//! until nothing changes:
//!
//! 1. The changed nodes are looked at, and whoever a moving node leaves behind.
//! 2. All that were looked at go down the chain of graphs together, so that groups of them
//!    move, join and part. What a community holds besides is one node that stays.
//! 3. A community that lost nodes or edges is searched from all sides of the loss at once
//!    until the sides meet. A side that ends before it meets another is split off.

use std::collections::{BTreeMap, BTreeSet};

use trefoil_core::Result;

use super::{
    config::LeidenConfig, cut::Cut, descend, improve, level::Level, moving::Mover,
    regions::separate,
};
use crate::{Csr, Node, Partition, column::Column, random::Random};

/// What an update gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The communities after the change, all of them connected.
    pub partition: Partition,
    /// How many nodes were looked at: whose edges were read to decide something.
    pub visited: u32,
}

/// Where more than one node in this many is to be looked at, all are.
const LARGE: usize = 10;

/// The communities of a changed graph, from those before the change.
///
/// `old` goes by the same numbers; nodes beyond it are new, and a node that is gone is one
/// without edges. `changed` names both ends of every edge that was added, removed or given
/// another weight. A change so large that a tenth of the nodes is looked at ends as
/// [`improve`] does.
///
/// # Errors
/// [`trefoil_core::Error::InvalidConfig`] if a setting is out of its range.
pub fn update(
    graph: &Csr,
    old: &Partition,
    changed: &[Node],
    config: &LeidenConfig,
) -> Result<Update> {
    config.validate()?;
    let nodes = graph.node_count();
    let level = Level::of(graph, config);
    let mut random = Random::new(config.seed);
    let mut community = old.resized(nodes).column().clone();
    let mut queue: BTreeSet<Node> = changed.iter().copied().filter(|&node| node < nodes).collect();
    let mut torn = queue.clone();
    let mut visited: BTreeSet<Node> = BTreeSet::new();
    for _ in 0..config.iterations {
        let before = community.clone();
        let looked_at: BTreeSet<Node> =
            Mover::new(&level, &mut community).settle(queue).into_iter().collect();
        visited.extend(&looked_at);
        if visited.len() > graph.nodes().len() / LARGE {
            let partition = Partition::from_column(&community);
            let partition = improve(graph, &partition, config)?;
            return Ok(Update { partition, visited: nodes });
        }
        let settled = community.clone();
        let cut = Cut::new(&level, &community, &looked_at);
        let (small, own) = cut.small(&community)?;
        cut.put_back(&descend(small, own, &mut random), &mut community);

        torn.extend(looked_at.iter().filter(|&&node| before[node] != community[node]));
        let searched = split(graph, &before, &mut community, &std::mem::take(&mut torn));
        visited.extend(&searched);

        let is_moved = |&&node: &&Node| settled[node] != community[node];
        let moved: BTreeSet<Node> = looked_at.union(&searched).filter(is_moved).copied().collect();
        if moved.is_empty() {
            break;
        }
        queue = moved.iter().flat_map(|&node| graph.neighbours(node)).copied().collect();
        queue.extend(&moved);
        community = community.renumbered().0;
    }
    let partition = Partition::from_column(&community);
    let visited = u32::try_from(visited.len()).unwrap_or(nodes);
    Ok(Update { partition, visited })
}

/// Splits off what a loss has cut off; gives the nodes that were searched.
fn split(
    graph: &Csr,
    before: &Column<u32>,
    community: &mut Column<u32>,
    torn: &BTreeSet<Node>,
) -> BTreeSet<Node> {
    // Where to search from. A piece that holds no end of a lost edge, no node that came and
    // none whose neighbour went is all that the community was before, so that one node which
    // stayed stands for it.
    let mut starts: BTreeMap<u32, BTreeSet<Node>> = BTreeMap::new();
    for &node in torn {
        starts.entry(community[node]).or_default().insert(node);
        if before[node] != community[node] {
            for &left in graph.neighbours(node) {
                if before[left] == before[node] && community[left] != community[node] {
                    starts.entry(community[left]).or_default().insert(left);
                }
            }
        }
    }
    let mut anchored = BTreeSet::new();
    for node in graph.nodes().filter(|&node| before[node] == community[node]) {
        if let Some(starts) = starts.get_mut(&community[node])
            && anchored.insert(community[node])
        {
            starts.insert(node);
        }
    }
    let mut fresh = community.iter().max().map_or(0, |&most| most + 1)..;
    let mut searched = BTreeSet::new();
    for starts in starts.into_values() {
        let separated = separate(graph, community, starts);
        searched.extend(separated.searched);
        for piece in separated.pieces {
            let label = fresh.next().unwrap_or(u32::MAX);
            for node in piece {
                community[node] = label;
            }
        }
    }
    searched
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        disconnected,
        fixture::{graphs, planted},
        leiden, modularity, split_disconnected,
    };

    /// Cliques of 6 in a ring, each tied to the next by one edge.
    fn cliques(count: u32) -> Vec<(Node, Node, f32)> {
        let mut edges = Vec::new();
        for clique in 0..count {
            let first = clique * 6;
            for a in 0..6 {
                edges.extend((0..a).map(|b| (first + a, first + b, 1.0)));
            }
            edges.push((first, (first + 7) % (count * 6), 1.0));
        }
        edges
    }

    fn updated(edges: &[(Node, Node, f32)], old: &Partition, changed: &[Node]) -> (Csr, Update) {
        let nodes = edges.iter().map(|edge| edge.0.max(edge.1) + 1).max().unwrap();
        let graph = Csr::from_edges(nodes, edges.iter().copied()).unwrap();
        // Enough to keep cliques apart: two of them gain 1 − γ · 32² / 2m together.
        let config = LeidenConfig { resolution: 10.0, ..LeidenConfig::default() };
        let update = update(&graph, old, changed, &config).unwrap();
        (graph, update)
    }

    #[test]
    fn only_the_neighbourhood_of_a_change_is_looked_at() {
        let mut edges = cliques(200);
        let groups = Partition::from_labels((0..1_200).map(|node| node / 6));
        let (_, unchanged) = updated(&edges, &groups, &[]);
        assert!(unchanged == Update { partition: groups.clone(), visited: 0 });

        edges.retain(|&(a, b, _)| (a, b) != (65, 60));
        let (_, fewer) = updated(&edges, &groups, &[65, 60]);
        assert!(fewer.partition == groups);
        assert!((1..=12).contains(&fewer.visited), "{}", fewer.visited);
    }

    #[test]
    fn a_node_that_loses_its_group_joins_another() {
        let groups = Partition::from_labels((0..1_200).map(|node| node / 6));
        let mut edges = cliques(200);
        edges.retain(|&(a, b, _)| a != 602 && b != 602);
        edges.extend((606..612).map(|other| (602, other, 1.0)));
        let (_, moved) = updated(&edges, &groups, &(600..612).collect::<Vec<_>>());
        assert_eq!(moved.partition.community(602), moved.partition.community(606));
        assert_ne!(moved.partition.community(602), moved.partition.community(600));
        assert!(moved.visited <= 30, "{}", moved.visited);
    }

    #[test]
    fn a_new_group_becomes_a_community() {
        let old = Partition::from_labels((0..1_200).map(|node| node / 6));
        let (_, grown) =
            updated(&cliques(201), &old, &(1_200..1_206).chain([1_194, 1]).collect::<Vec<_>>());
        assert!(grown.partition == Partition::from_labels((0..1_206).map(|node| node / 6)));
    }

    #[test]
    fn a_community_that_is_cut_in_two_becomes_two() {
        // Two cliques of 6 as one community, whose only tie goes.
        let labels = (0..1_200).map(|node| if node < 12 { 0 } else { node / 6 });
        let old = Partition::from_labels(labels);
        let mut edges = cliques(200);
        edges.retain(|&(a, b, _)| (a, b) != (0, 7));
        let (graph, cut) = updated(&edges, &old, &[0, 7]);
        assert_ne!(cut.partition.community(0), cut.partition.community(7));
        assert_eq!(disconnected(&graph, &cut.partition), 0);
        assert!(cut.visited <= 24, "{}", cut.visited);
    }

    proptest! {
        #[test]
        fn after_many_edits_it_is_as_good_as_a_new_run(
            seed in any::<u64>(), edits in 1..60_u32, steps in 1..6_u32
        ) {
            let mut random = Random::new(seed);
            let config = LeidenConfig { seed, ..LeidenConfig::default() };
            let mut graph = planted(1_000, 20, 0.2, 0.004, seed);
            let mut partition = leiden(&graph, &config)?;
            for _ in 0..steps {
                let mut edges: Vec<_> = graph.all_edges().collect();
                let mut changed = Vec::new();
                for edit in 0..edits {
                    let edge = if edit % 2 == 0 {
                        edges.swap_remove(random.below(edges.len()))
                    } else {
                        let a = u32::try_from(random.below(999))?;
                        // Half of the new edges are within a group.
                        let b = if edit % 4 == 1 { (a + 20) % 1_000 } else { a + 1 };
                        edges.push((a, b, 1.0));
                        (a, b, 1.0)
                    };
                    changed.extend([edge.0, edge.1]);
                }
                graph = Csr::from_edges(1_000, edges)?;
                partition = update(&graph, &partition, &changed, &config)?.partition;
                prop_assert_eq!(partition.node_count(), 1_000);
                prop_assert_eq!(disconnected(&graph, &partition), 0);
            }
            let [kept, new] = [partition, leiden(&graph, &config)?]
                .map(|partition| modularity(&graph, &partition, 1.0));
            prop_assert!(kept > new - 0.01, "{} {}", kept, new);
        }

        #[test]
        fn any_change_of_any_graph_leaves_connected_communities(
            before in graphs(), after in graphs(), large in any::<bool>(), seed in any::<u64>()
        ) {
            // The graph of 40 nodes alone, where all is looked at, or within 1,000.
            let nodes = if large { 1_000 } else { 40 };
            let around = (40..nodes).map(|node| (node, (node + 1 - 40) % (nodes - 40) + 40, 1.0));
            let [before, after] = [before, after].map(|graph| {
                Csr::from_edges(nodes, graph.all_edges().chain(around.clone())).unwrap()
            });
            let config = LeidenConfig { seed, ..LeidenConfig::default() };
            let old = leiden(&before, &config)?;
            let changed: Vec<Node> = (0..40).collect();
            let found = update(&after, &old, &changed, &config)?;
            prop_assert_eq!(disconnected(&after, &found.partition), 0);
            prop_assert!(update(&after, &old, &changed, &config)? == found);
            let kept = modularity(&after, &split_disconnected(&after, &old), 1.0);
            prop_assert!(modularity(&after, &found.partition, 1.0) + 1e-9 >= kept);
        }

        #[test]
        fn splitting_gives_the_pieces_of_each_community(
            graph in graphs(), labels in prop::collection::vec(0..4_u32, 40)
        ) {
            let mut community: Column<u32> = labels.into_iter().collect();
            let whole = split_disconnected(&graph, &Partition::from_column(&community));
            let before = community.clone();
            split(&graph, &before, &mut community, &graph.nodes().collect());
            prop_assert!(Partition::from_column(&community) == whole);
        }
    }
}
