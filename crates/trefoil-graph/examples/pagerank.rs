//! Time of personalised PageRank on 100,000 nodes and 1,000,000 edges, and how many of the
//! best 100 of the converged scores each way to compute them has: `pagerank`.
//!
//! Two graphs: one with all nodes alike, one where few nodes have most edges.

#![expect(clippy::print_stdout, reason = "an example reports to a person")]

use std::{collections::BTreeSet, time::Instant};

use trefoil_graph::{Csr, Node, PageRank, Walk};

const NODES: u32 = 100_000;
const EDGES: usize = 1_000_000;
const QUESTIONS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = Random(1);
    for (name, skew) in [("alike", 1), ("skewed", 3)] {
        let mut edges = Vec::new();
        while edges.len() < EDGES {
            let [a, b] = [random.node(skew), random.node(skew)];
            if a != b {
                edges.push((a, b, 1.0 - random.unit()));
            }
        }
        let graph = Csr::from_edges(NODES, edges)?;
        let most = graph.hub().map_or(0, |hub| graph.degree(hub));
        println!("{name}: {} edges, at most {most} a node", graph.edge_count());
        for damping in [0.85, 0.5] {
            let pagerank = PageRank::new(graph.clone(), damping)?;
            let questions: Vec<Vec<(Node, f32)>> =
                (0..QUESTIONS).map(|_| (0..5).map(|_| (random.node(1), 1.0)).collect()).collect();
            println!("damping {damping}");
            report(&pagerank, &questions);
        }
    }
    Ok(())
}

fn report(pagerank: &PageRank, questions: &[Vec<(Node, f32)>]) {
    let best = |seeds: &[(Node, f32)], walk| -> BTreeSet<Node> {
        pagerank.scores(seeds, walk).top(100).into_iter().map(|(node, _)| node).collect()
    };
    let exact = Walk::Power { iterations: 100 };
    let exact: Vec<_> = questions.iter().map(|seeds| best(seeds, exact)).collect();
    let power = [2, 3, 4, 5, 10, 20].map(|iterations| Walk::Power { iterations });
    let push = [1e-2, 1e-3, 1e-4, 1e-5].map(|threshold| Walk::Push { threshold });
    for walk in power.into_iter().chain(push) {
        let (mut shared, mut scored, mut times) = (0, 0, Vec::new());
        for (seeds, exact) in questions.iter().zip(&exact) {
            shared += best(seeds, walk).intersection(exact).count();
            for _ in 0..5 {
                let start = Instant::now();
                scored += pagerank.scores(seeds, walk).iter().len();
                times.push(start.elapsed());
            }
        }
        times.sort_unstable();
        let least = times.first().copied().unwrap_or_default();
        let (shared, scored) = (shared / QUESTIONS, scored / QUESTIONS / 5);
        println!("  {walk:?}: {shared} of 100, {scored} nodes scored, {least:.0?} at best");
    }
}

/// A linear congruential generator with the constants of Knuth's MMIX.
struct Random(u64);

impl Random {
    /// From 0 to 1, 1 not included.
    fn unit(&mut self) -> f32 {
        let Self(state) = self;
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as f32 / (1 << 24) as f32
    }

    /// A node; those with low products are more frequent if `skew` is above 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below NODES")]
    fn node(&mut self, skew: i32) -> Node {
        let rank = (self.unit().powi(skew) * NODES as f32) as u64;
        // Scattered over the rows: the frequent ones are not neighbours in memory.
        (rank * 48_271 % u64::from(NODES)) as Node
    }
}
