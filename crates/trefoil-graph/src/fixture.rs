//! Graphs for tests.

use proptest::prelude::*;

use crate::{Csr, random::Random};

/// Groups of equal size; each pair of nodes is tied with one chance inside a group and
/// another between groups. `node % groups` is the group.
pub(crate) fn planted(nodes: u32, groups: u32, inside: f64, between: f64, seed: u64) -> Csr {
    let mut random = Random::new(seed);
    let mut edges = Vec::new();
    for a in 0..nodes {
        for b in 0..a {
            let chance = if a % groups == b % groups { inside } else { between };
            if random.unit() < chance {
                edges.push((a, b, 1.0));
            }
        }
    }
    Csr::from_edges(nodes, edges).unwrap()
}

/// Any small graph with weights, some of it in pieces.
pub(crate) fn graphs() -> impl Strategy<Value = Csr> {
    let edge = (0..40_u32, 0..40_u32, 0.05..3.0_f32);
    prop::collection::vec(edge, 0..120).prop_map(|edges| {
        Csr::from_edges(40, edges.into_iter().filter(|(a, b, _)| a != b)).unwrap()
    })
}
