use std::collections::BTreeSet;

use proptest::prelude::*;

use trefoil_core::Error;

use super::*;
use crate::{
    Node, components, disconnected,
    fixture::{graphs, planted},
};

/// The karate club of Zachary 1977: who is tied to which higher number.
const KARATE: [(Node, &[Node]); 26] = [
    (0, &[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31]),
    (1, &[2, 3, 7, 13, 17, 19, 21, 30]),
    (2, &[3, 7, 8, 9, 13, 27, 28, 32]),
    (3, &[7, 12, 13]),
    (4, &[6, 10]),
    (5, &[6, 10, 16]),
    (6, &[16]),
    (8, &[30, 32, 33]),
    (9, &[33]),
    (13, &[33]),
    (14, &[32, 33]),
    (15, &[32, 33]),
    (18, &[32, 33]),
    (19, &[33]),
    (20, &[32, 33]),
    (22, &[32, 33]),
    (23, &[25, 27, 29, 32, 33]),
    (24, &[25, 27, 31]),
    (25, &[31]),
    (26, &[29, 33]),
    (27, &[33]),
    (28, &[31, 33]),
    (29, &[32, 33]),
    (30, &[32, 33]),
    (31, &[32, 33]),
    (32, &[33]),
];

fn karate() -> Csr {
    let edges = KARATE.iter().flat_map(|&(a, others)| others.iter().map(move |&b| (a, b, 1.0)));
    Csr::from_edges(34, edges).unwrap()
}

fn seeded(seed: u64) -> LeidenConfig {
    LeidenConfig { seed, ..LeidenConfig::default() }
}

fn quality(graph: &Csr, partition: &Partition) -> f64 {
    modularity(graph, partition, 1.0)
}

#[test]
fn karate_reaches_its_known_best() {
    let graph = karate();
    assert_eq!(graph.edge_count(), 78);
    for seed in 0..20 {
        let partition = leiden(&graph, &seeded(seed)).unwrap();
        assert!(quality(&graph, &partition) >= 0.4197, "seed {seed}");
        assert_eq!(partition.len(), 4, "seed {seed}");
    }
}

#[test]
fn planted_groups_are_found() {
    for seed in 0..4 {
        let graph = planted(400, 8, 0.3, 0.01, seed);
        let partition = leiden(&graph, &seeded(seed)).unwrap();
        assert!(partition == Partition::from_labels((0..400).map(|node| node % 8)), "seed {seed}");
    }
}

#[test]
fn resolution_decides_how_many_communities_there_are() {
    let graph = planted(300, 10, 0.3, 0.02, 1);
    let count = |resolution| {
        let config = LeidenConfig { resolution, ..LeidenConfig::default() };
        leiden(&graph, &config).unwrap().len()
    };
    assert!(count(0.01) < count(1.0) && count(1.0) < count(5.0));
}

#[test]
fn graphs_without_edges_are_left_alone() {
    for nodes in [0, 1, 5] {
        let graph = Csr::from_edges(nodes, []).unwrap();
        let partition = leiden(&graph, &LeidenConfig::default()).unwrap();
        assert_eq!(partition, Partition::singletons(nodes));
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let graph = karate();
    for config in [
        LeidenConfig { resolution: 0.0, ..LeidenConfig::default() },
        LeidenConfig { resolution: f64::NAN, ..LeidenConfig::default() },
        LeidenConfig { randomness: -1.0, ..LeidenConfig::default() },
        LeidenConfig { iterations: 0, ..LeidenConfig::default() },
        LeidenConfig { iterations: 101, ..LeidenConfig::default() },
    ] {
        assert!(matches!(leiden(&graph, &config), Err(Error::InvalidConfig { .. })), "{config:?}");
    }
}

proptest! {
    #[test]
    fn communities_are_connected_and_beat_singletons_and_moving_alone(
        graph in graphs(), seed in any::<u64>(), randomness in 0.0..0.5
    ) {
        let config = LeidenConfig { randomness, ..seeded(seed) };
        let partition = leiden(&graph, &config)?;
        prop_assert_eq!(partition.node_count(), graph.node_count());
        prop_assert_eq!(disconnected(&graph, &partition), 0);
        prop_assert!(partition.len() >= components(&graph).len());
        let found = quality(&graph, &partition);
        prop_assert!(found + 1e-9 >= quality(&graph, &Partition::singletons(40)));

        let level = Level::of(&graph, &config);
        let mut community: Column<u32> = graph.nodes().collect();
        Mover::new(&level, &mut community).settle(graph.nodes());
        // Other ways may end elsewhere; from here on it can only get better.
        let moved = Partition::from_column(&community);
        let improved = improve(&graph, &moved, &config)?;
        prop_assert!(quality(&graph, &improved) + 1e-9 >= quality(&graph, &moved));
        prop_assert_eq!(disconnected(&graph, &improved), 0);
    }

    #[test]
    fn a_seed_fixes_the_communities(graph in graphs(), seed in any::<u64>()) {
        prop_assert_eq!(leiden(&graph, &seeded(seed))?, leiden(&graph, &seeded(seed))?);
    }

    #[test]
    fn scaling_all_weights_changes_nothing(graph in graphs(), seed in any::<u64>()) {
        let edges = graph.all_edges().map(|(a, b, weight)| (a, b, weight * 8.0));
        let scaled = Csr::from_edges(40, edges)?;
        prop_assert_eq!(leiden(&scaled, &seeded(seed))?, leiden(&graph, &seeded(seed))?);
    }

    #[test]
    fn the_numbers_of_the_nodes_do_not_matter(graph_seed in 0..1_000_u64, seed in any::<u64>()) {
        let graph = planted(200, 5, 0.2, 0.02, graph_seed);
        let mut number: Vec<Node> = graph.nodes().collect();
        Random::new(seed).shuffle(&mut number);
        let renumbered = graph
            .all_edges()
            .map(|(a, b, weight)| (number[a as usize], number[b as usize], weight));
        let other = Csr::from_edges(200, renumbered)?;
        let [here, there] = [&graph, &other]
            .map(|graph| quality(graph, &leiden(graph, &seeded(seed)).unwrap()));
        prop_assert!((here - there).abs() < 0.01, "{} {}", here, there);
    }

    #[test]
    fn refined_parts_lie_within_communities_and_are_connected(
        graph in graphs(), labels in prop::collection::vec(0..6_u32, 40), seed in any::<u64>()
    ) {
        let level = Level::of(&graph, &LeidenConfig::default());
        let community: Column<u32> = labels.into_iter().collect();
        let parts = refine(&level, &community, &mut Random::new(seed));
        let pairs: BTreeSet<_> = parts.of.iter().zip(community.iter()).collect();
        prop_assert_eq!(pairs.len(), parts.count as usize);
        prop_assert_eq!(disconnected(&graph, &Partition::from_column(&parts.of)), 0);
    }

    #[test]
    fn aggregating_keeps_the_modularity(
        graph in graphs(), labels in prop::collection::vec(0..6_u32, 40), seed in any::<u64>()
    ) {
        let level = Level::of(&graph, &LeidenConfig::default());
        let community: Column<u32> = labels.into_iter().collect();
        let parts = refine(&level, &community, &mut Random::new(seed));
        let small = level.aggregate(&parts);
        // Twice the weight that stays between nodes of the level, and by chance.
        let terms = |level: &Level<'_>, community: &Column<u32>| {
            let mut strength = Column::filled(40, 0.0);
            let mut apart = 0.0;
            for node in level.nodes() {
                strength[community[node]] += level.strength[node];
                let across = level.graph.edges(node).filter(|edge| community[edge.0] != community[node]);
                apart += across.map(|edge| f64::from(edge.1)).sum::<f64>();
            }
            (apart, strength.iter().map(|strength| strength * strength).sum::<f64>())
        };
        let (apart, chance) = terms(&level, &community);
        let (small_apart, small_chance) = terms(&small, &parts.communities(&community));
        prop_assert!((apart - small_apart).abs() < 1e-3, "{} {}", apart, small_apart);
        prop_assert!((chance - small_chance).abs() < 1e-3 * chance.max(1.0));
    }
}
