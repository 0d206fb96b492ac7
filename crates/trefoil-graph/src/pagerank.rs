//! Personalised PageRank: how likely a walk that keeps returning to its seeds is met at
//! a node.
//!
//! p = (1 − α) · s + α · Wᵀ · p, where s are the weights of the seeds with a sum of 1, W the
//! weights of the edges divided by the strength of the node that they leave, and α the
//! damping (Page, Brin, Motwani, Winograd 1999, "The PageRank citation ranking"; Haveliwala
//! 2002, "Topic-sensitive PageRank", for the seeds). A node without edges keeps what it has.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result};

use crate::{Csr, Node, column::Column, ranking::top};

/// How scores are computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Walk {
    /// Power iteration. Each iteration reads the whole graph; after n of them the errors of
    /// all scores sum to 2αⁿ at most.
    Power {
        /// n.
        iterations: u32,
    },
    /// Forward push, which reads the surroundings of the seeds only (Andersen, Chung, Lang
    /// 2006, "Local graph partitioning using PageRank vectors").
    ///
    /// Each node has an estimate and a residual. While a residual is above the threshold ·
    /// the node's strength ÷ the mean strength, 1 − α of it becomes estimate and α goes to
    /// the residuals of the neighbours. A score is the estimate and 1 − α of what residual
    /// is left, which is sure to become estimate: without it hubs, which let much residual
    /// be, rank too low. It is too low by that bound at most, and no more is read than the
    /// edges of 1 ÷ (threshold · (1 − α)) nodes of mean strength.
    Push {
        /// The residual that is let be; taken to be at least 10⁻⁹.
        threshold: f32,
    },
}

/// A graph made ready for walks.
#[derive(Clone, Debug)]
pub struct PageRank {
    graph: Csr,
    damping: f32,
    /// 1 ÷ strength; 0 for a node without edges.
    inverse_strength: Column<f32>,
    /// The mean strength of a node; 1 for a graph without edges.
    mean_strength: f32,
}

impl PageRank {
    /// Takes a graph and the damping: with what chance a walk goes on instead of back to its
    /// seeds, 0–0.99.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] if the damping is out of its range.
    #[expect(clippy::cast_possible_truncation, reason = "walks are in f32")]
    pub fn new(graph: Csr, damping: f32) -> Result<Self> {
        check_damping(damping)?;
        let strength: Vec<f64> = graph.nodes().map(|node| graph.strength(node)).collect();
        let total: f64 = strength.iter().sum();
        let mean = if total > 0.0 { total / strength.len() as f64 } else { 1.0 };
        let inverse = strength.iter().map(|&s| if s > 0.0 { (1.0 / s) as f32 } else { 0.0 });
        let inverse_strength = inverse.collect();
        Ok(Self { graph, damping, inverse_strength, mean_strength: mean as f32 })
    }

    /// The graph.
    pub const fn graph(&self) -> &Csr {
        &self.graph
    }

    /// Scores every node that a walk from the seeds can be met at.
    ///
    /// Seeds that are not nodes, or whose weight is not finite and above 0, are left out;
    /// without seeds no node has a score.
    pub fn scores(&self, seeds: &[(Node, f32)], walk: Walk) -> Scores {
        let seeds = self.normalise(seeds);
        match walk {
            Walk::Power { iterations } => self.power(&seeds, iterations),
            Walk::Push { threshold } => self.push(&seeds, threshold),
        }
    }

    fn power(&self, seeds: &[(Node, f32)], iterations: u32) -> Scores {
        let nodes = self.graph.node_count();
        let mut score = Column::filled(nodes, 0.0_f32);
        for &(seed, weight) in seeds {
            score[seed] = weight;
        }
        // What a node gives along an edge of weight 1.
        let mut flow = Column::filled(nodes, 0.0_f32);
        for _ in 0..iterations {
            for node in self.graph.nodes() {
                flow[node] = self.damping * score[node] * self.inverse_strength[node];
            }
            for node in self.graph.nodes() {
                let edges = self.graph.edges(node);
                score[node] = if edges.len() == 0 {
                    self.damping * score[node]
                } else {
                    edges.map(|(neighbour, weight)| weight * flow[neighbour]).sum()
                };
            }
            for &(seed, weight) in seeds {
                score[seed] += (1.0 - self.damping) * weight;
            }
        }
        Scores(self.graph.nodes().zip(score.into_vec()).filter(|&(_, score)| score > 0.0).collect())
    }

    fn push(&self, seeds: &[(Node, f32)], threshold: f32) -> Scores {
        let threshold = threshold.max(1e-9) / self.mean_strength;
        let nodes = self.graph.node_count();
        let mut estimate = Column::filled(nodes, 0.0_f32);
        let mut residual = Column::filled(nodes, 0.0_f32);
        let mut reached: Vec<Node> = seeds.iter().map(|&(seed, _)| seed).collect();
        let mut queue: VecDeque<Node> = reached.iter().copied().collect();
        for &(seed, weight) in seeds {
            residual[seed] = weight;
        }
        while let Some(node) = queue.pop_front() {
            let amount = std::mem::take(&mut residual[node]);
            let inverse = self.inverse_strength[node];
            if inverse == 0.0 {
                estimate[node] += amount;
                continue;
            }
            estimate[node] += (1.0 - self.damping) * amount;
            let flow = self.damping * amount * inverse;
            for (neighbour, weight) in self.graph.edges(node) {
                let bar = threshold / self.inverse_strength[neighbour];
                let before = residual[neighbour];
                let after = before + flow * weight;
                residual[neighbour] = after;
                if before == 0.0 {
                    reached.push(neighbour);
                }
                if before <= bar && after > bar {
                    queue.push_back(neighbour);
                }
            }
        }
        reached.sort_unstable();
        reached.dedup();
        let score = |node| estimate[node] + (1.0 - self.damping) * residual[node];
        Scores(reached.into_iter().map(|node| (node, score(node))).collect())
    }

    /// The seeds that can be used, each once, with a sum of 1.
    fn normalise(&self, seeds: &[(Node, f32)]) -> Vec<(Node, f32)> {
        let is_usable = |&(node, weight): &(Node, f32)| {
            node < self.graph.node_count() && weight.is_finite() && weight > 0.0
        };
        let mut usable: Vec<(Node, f32)> = seeds.iter().copied().filter(is_usable).collect();
        usable.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let total: f64 = usable.iter().map(|&(_, weight)| f64::from(weight)).sum();
        #[expect(clippy::cast_possible_truncation, reason = "walks are in f32")]
        let share = |same: &[(Node, f32)]| {
            let node = same.first()?.0;
            let weight: f64 = same.iter().map(|&(_, weight)| f64::from(weight)).sum();
            Some((node, (weight / total) as f32))
        };
        usable.chunk_by(|a, b| a.0 == b.0).filter_map(share).collect()
    }
}

/// Refuses a damping that is not from 0 to 0.99.
pub(crate) fn check_damping(damping: f32) -> Result<()> {
    if (0.0..=0.99).contains(&damping) {
        return Ok(());
    }
    let value = damping.to_string();
    Err(Error::InvalidConfig { field: "damping", value, allowed: "0–0.99" })
}

/// The nodes that a walk is met at, ascending, with scores above 0 and a sum of at most 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores(Vec<(Node, f32)>);

impl Scores {
    /// The nodes with their scores, ascending by node.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Node, f32)> + '_ {
        self.0.iter().copied()
    }

    /// The `count` nodes with the highest scores, best first, equals by lower number.
    pub fn top(&self, count: usize) -> Vec<(Node, f32)> {
        top(self.iter(), count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EXACT: Walk = Walk::Power { iterations: 200 };

    fn rank(edges: &[(Node, Node, f32)], damping: f32) -> PageRank {
        PageRank::new(Csr::from_edges(6, edges.iter().copied()).unwrap(), damping).unwrap()
    }

    #[test]
    fn scores_solve_the_equation() {
        // p₀ = (1 − α) + α · p₁ · 1/4, p₁ = α · (p₀ + p₂), p₂ = α · p₁ · 3/4.
        let pagerank = rank(&[(0, 1, 1.0), (1, 2, 3.0)], 0.5);
        let scores = pagerank.scores(&[(0, 7.0)], EXACT);
        let p1 = 0.25 / (1.0 - 0.25);
        for ((node, score), expected) in scores.iter().zip([0.5 + p1 / 8.0, p1, p1 * 3.0 / 8.0]) {
            assert!((score - expected).abs() < 1e-6, "{node}: {score}");
        }
        assert_eq!(scores.iter().len(), 3);
        let top: Vec<_> = scores.top(2).into_iter().map(|hit| hit.0).collect();
        assert_eq!(top, [0, 1]);
    }

    #[test]
    fn seeds_that_cannot_be_used_are_left_out() {
        let pagerank = rank(&[(0, 1, 1.0)], 0.85);
        for walk in [EXACT, Walk::Push { threshold: 1e-6 }] {
            let none = pagerank.scores(&[(9, 1.0), (0, 0.0), (1, -1.0), (0, f32::NAN)], walk);
            assert_eq!(none.top(9), []);
            // A seed without edges keeps its share.
            assert_eq!(pagerank.scores(&[(5, f32::MAX), (5, f32::MAX)], walk).top(9), [(5, 1.0)]);
            let split = pagerank.scores(&[(0, 1.0), (0, 2.0)], walk);
            assert_eq!(split, pagerank.scores(&[(0, 5.0)], walk));
        }
        for damping in [-0.1, 1.0, f32::NAN] {
            assert!(PageRank::new(pagerank.graph().clone(), damping).is_err());
        }
    }

    proptest! {
        #[test]
        fn pushing_is_within_its_bound_of_the_exact_scores(
            edges in prop::collection::vec((0..30_u32, 0..30_u32, 0.1..2.0_f32), 1..90),
            threshold in 1e-5..1e-2_f32,
            seeds in prop::collection::vec((0..30_u32, 0.1..1.0_f32), 1..4),
        ) {
            let edges = edges.into_iter().filter(|(a, b, _)| a != b);
            let pagerank = PageRank::new(Csr::from_edges(30, edges)?, 0.85)?;
            let exact = pagerank.scores(&seeds, EXACT);
            let sum: f32 = exact.iter().map(|(_, score)| score).sum();
            prop_assert!((sum - 1.0).abs() < 1e-4, "{}", sum);

            let mut pushed = Column::filled(30, 0.0);
            for (node, score) in pagerank.scores(&seeds, Walk::Push { threshold }).iter() {
                pushed[node] = score;
            }
            for (node, score) in exact.iter() {
                #[expect(clippy::cast_possible_truncation, reason = "a strength in a test")]
                let strength = pagerank.graph().strength(node) as f32;
                let bound = threshold * strength / pagerank.mean_strength;
                let low = score - pushed[node];
                prop_assert!(low > -1e-5 && low <= bound + 1e-5, "{}: {} of {}", node, low, bound);
            }
        }
    }
}
