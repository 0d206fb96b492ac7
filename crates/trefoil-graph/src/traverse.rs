use crate::{Csr, Node, column::Column};

/// A node around some seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The node.
    pub node: Node,
    /// How many edges it is away from the nearest seed; 0 for a seed.
    pub depth: u32,
    /// The node before it on the strongest of the shortest ways; itself for a seed.
    pub from: Node,
    /// The product of the weights on that way; 1 for a seed.
    pub weight: f64,
}

/// What lies within `max_depth` edges of the seeds, at most `count` nodes: nearer ones
/// first, then stronger ones, then lower numbers.
pub fn traverse(graph: &Csr, seeds: &[Node], max_depth: u32, count: usize) -> Vec<Reached> {
    let mut is_reached = Column::filled(graph.node_count(), false);
    let mut reached: Vec<Reached> = Vec::new();
    let known = seeds.iter().copied().filter(|&seed| seed < graph.node_count());
    let mut ring: Vec<Reached> =
        known.map(|node| Reached { node, depth: 0, from: node, weight: 1.0 }).collect();
    for depth in 1.. {
        ring.retain(|next| !is_reached[next.node]);
        // Of several ways to a node the strongest, then that from the lower number.
        ring.sort_by(|a, b| {
            a.node.cmp(&b.node).then(b.weight.total_cmp(&a.weight)).then(a.from.cmp(&b.from))
        });
        ring.dedup_by_key(|next| next.node);
        for next in &ring {
            is_reached[next.node] = true;
        }
        ring.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.node.cmp(&b.node)));
        ring.truncate(count - reached.len());
        reached.extend_from_slice(&ring);
        if ring.is_empty() || reached.len() == count || depth > max_depth {
            break;
        }
        let ahead = ring.iter().flat_map(|last| {
            graph.edges(last.node).map(move |(node, weight)| Reached {
                node,
                depth,
                from: last.node,
                weight: last.weight * f64::from(weight),
            })
        });
        ring = ahead.collect();
    }
    reached
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use petgraph::algo::dijkstra;
    use proptest::prelude::*;

    use super::*;

    fn check(seeds: &[Node], max_depth: u32, count: usize, expected: &[(Node, u32, Node)]) {
        let edges = [(0, 1, 0.5), (0, 2, 0.9), (1, 3, 1.0), (2, 3, 0.4), (3, 4, 0.2)];
        let graph = Csr::from_edges(6, edges).unwrap();
        let reached = traverse(&graph, seeds, max_depth, count);
        let found: Vec<_> = reached.iter().map(|next| (next.node, next.depth, next.from)).collect();
        assert_eq!(found, expected, "{seeds:?} within {max_depth}, at most {count}");
    }

    #[test]
    fn near_then_strong_nodes_come_first() {
        check(&[0], 1, 9, &[(0, 0, 0), (2, 1, 0), (1, 1, 0)]);
        check(&[0], 2, 9, &[(0, 0, 0), (2, 1, 0), (1, 1, 0), (3, 2, 1)]);
        check(&[0], 9, 3, &[(0, 0, 0), (2, 1, 0), (1, 1, 0)]);
        check(&[4, 2, 4], 1, 9, &[(2, 0, 2), (4, 0, 4), (0, 1, 2), (3, 1, 2)]);
        check(&[5], 9, 9, &[(5, 0, 5)]);
        check(&[0], 0, 9, &[(0, 0, 0)]);
        check(&[0], 3, 0, &[]);
        check(&[6], 3, 9, &[]);
        check(&[], 3, 9, &[]);
    }

    proptest! {
        #[test]
        fn depths_are_distances(
            edges in prop::collection::vec((0..20_u32, 0..20_u32, 0.1..1.0_f32), 0..50),
            max_depth in 0..5_u32,
        ) {
            let graph = Csr::from_edges(20, edges.into_iter().filter(|(a, b, _)| a != b))?;
            let found: BTreeMap<_, _> = traverse(&graph, &[0], max_depth, 99)
                .into_iter()
                .map(|next| (next.node, next.depth))
                .collect();
            let mut far: BTreeMap<_, _> =
                dijkstra(&graph, 0, None, |_| 1_u32).into_iter().collect();
            far.retain(|_, &mut depth| depth <= max_depth);
            prop_assert_eq!(found, far);
        }
    }
}
