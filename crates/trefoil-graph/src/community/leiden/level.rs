use std::{borrow::Cow, ops::Range};

use super::config::LeidenConfig;
use crate::{Csr, Node, column::Column, csr::RowWriter};

/// One graph of the chain: the first is the graph itself, and the nodes of each further
/// one are the parts of the one before.
///
/// The edges inside a part are not kept as a loop. They count only through the strength
/// of the node that the part becomes: a loop goes wherever its node goes.
#[derive(Debug)]
pub(super) struct Level<'a> {
    pub(super) graph: Cow<'a, Csr>,
    /// Sum of the weights at each node, edges inside it twice.
    pub(super) strength: Column<f64>,
    /// Weight of all edges twice: 2m.
    pub(super) total: f64,
    /// γ / 2m: a node of strength k gains w − `pull` · k · K from a community of strength K
    /// that it is tied to with weight w. Half of 2m times the modularity.
    pub(super) pull: f64,
    /// θ in units of weight.
    pub(super) randomness: f64,
    /// Nodes from this number on stay in their communities and are parts of their own.
    pub(super) movable: u32,
}

/// A division of a level's communities.
#[derive(Debug)]
pub(super) struct Parts {
    /// The part of each node, numbered from 0.
    pub(super) of: Column<u32>,
    pub(super) count: u32,
}

impl<'a> Level<'a> {
    /// The first of the chain.
    pub(super) fn of(graph: &'a Csr, config: &LeidenConfig) -> Self {
        let strength: Column<f64> = graph.nodes().map(|node| graph.strength(node)).collect();
        let total: f64 = strength.iter().sum();
        let edges = graph.edge_count().max(1) as f64;
        Self {
            graph: Cow::Borrowed(graph),
            strength,
            total,
            pull: if total > 0.0 { config.resolution / total } else { 0.0 },
            randomness: config.randomness * total / 2.0 / edges,
            movable: graph.node_count(),
        }
    }

    pub(super) fn nodes(&self) -> Range<Node> {
        self.graph.nodes()
    }

    /// The next of the chain: parts become nodes, the edges between two of them one edge.
    pub(super) fn aggregate(&self, parts: &Parts) -> Level<'static> {
        let mut strength = Column::filled(parts.count, 0.0);
        let mut weight_to = Column::filled(parts.count, 0.0_f64);
        let mut tied: Vec<u32> = Vec::new();
        let mut rows = RowWriter::new(parts.count);
        let mut nodes: Vec<Node> = self.nodes().collect();
        nodes.sort_by_key(|&node| parts.of[node]);
        for members in nodes.chunk_by(|&a, &b| parts.of[a] == parts.of[b]) {
            for &node in members {
                let part = parts.of[node];
                strength[part] += self.strength[node];
                for (neighbour, weight) in self.graph.edges(node) {
                    let other = parts.of[neighbour];
                    if other != part {
                        if weight_to[other] == 0.0 {
                            tied.push(other);
                        }
                        weight_to[other] += f64::from(weight);
                    }
                }
            }
            tied.sort_unstable();
            #[expect(clippy::cast_possible_truncation, reason = "a weight is rounded to f32")]
            let mut weight = |other| std::mem::take(&mut weight_to[other]) as f32;
            rows.row(tied.drain(..).map(|other| (other, weight(other))));
        }
        // Parts are numbered by their first node, so those that stay come last here too.
        let movable = parts.count - (self.nodes().end - self.movable);
        let &Self { total, pull, randomness, .. } = self;
        Level { graph: Cow::Owned(rows.finish()), strength, total, pull, randomness, movable }
    }
}

impl Parts {
    /// From parts that are named by one of their nodes.
    pub(super) fn from_founders(founder: &Column<Node>) -> Self {
        let (of, count) = founder.renumbered();
        Self { of, count }
    }

    /// The community of each part, given that of each node, numbered from 0.
    pub(super) fn communities(&self, community: &Column<u32>) -> Column<u32> {
        let mut of_part = Column::filled(self.count, 0);
        for (&part, &community) in self.of.iter().zip(community.iter()) {
            of_part[part] = community;
        }
        of_part.renumbered().0
    }
}
