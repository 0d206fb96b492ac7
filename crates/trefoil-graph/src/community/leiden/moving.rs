use std::collections::VecDeque;

use super::level::Level;
use crate::{Node, column::Column};

/// A gain of modularity below this is rounding.
pub(super) const LEAST_GAIN: f64 = 1e-10;

/// Moves nodes between communities while that gains modularity.
#[derive(Debug)]
pub(super) struct Mover<'a> {
    level: &'a Level<'a>,
    community: &'a mut Column<u32>,
    strength: Column<f64>,
    size: Column<u32>,
    /// Numbers of communities without nodes.
    empty: Vec<u32>,
    /// For the node in hand: its weight to each community, 0 but for those `tied`.
    weight_to: Column<f64>,
    tied: Vec<u32>,
}

impl<'a> Mover<'a> {
    /// Takes the community of each node, a number below that of the nodes.
    pub(super) fn new(level: &'a Level<'a>, community: &'a mut Column<u32>) -> Self {
        let nodes = level.nodes().end;
        let mut strength = Column::filled(nodes, 0.0);
        let mut size = Column::filled(nodes, 0);
        for (node, &community) in level.nodes().zip(community.iter()) {
            strength[community] += level.strength[node];
            size[community] += 1;
        }
        let empty = level.nodes().rev().filter(|&community| size[community] == 0).collect();
        let weight_to = Column::filled(nodes, 0.0);
        Self { level, community, strength, size, empty, weight_to, tied: Vec::new() }
    }

    /// Looks at each node of the queue, which holds none twice, and moves it to the
    /// community that gains most. The neighbours that a node leaves behind are looked at
    /// again. Ends when no node of the queue would gain. Gives the nodes that were looked
    /// at, once for each time.
    pub(super) fn settle(&mut self, queue: impl IntoIterator<Item = Node>) -> Vec<Node> {
        let mut queue: VecDeque<Node> = queue.into_iter().collect();
        let mut waits = Column::filled(self.level.nodes().end, false);
        for &node in &queue {
            waits[node] = true;
        }
        let mut looked_at = Vec::new();
        while let Some(node) = queue.pop_front() {
            waits[node] = false;
            looked_at.push(node);
            let best = self.best(node);
            if best == self.community[node] {
                continue;
            }
            self.put(node, best);
            for &neighbour in self.level.graph.neighbours(node) {
                let may_move = neighbour < self.level.movable;
                if may_move && self.community[neighbour] != best && !waits[neighbour] {
                    waits[neighbour] = true;
                    queue.push_back(neighbour);
                }
            }
        }
        looked_at
    }

    /// The community where a node adds most: its own unless another is better, a
    /// neighbour's, or an empty one.
    fn best(&mut self, node: Node) -> u32 {
        for (neighbour, weight) in self.level.graph.edges(node) {
            let community = self.community[neighbour];
            if self.weight_to[community] == 0.0 {
                self.tied.push(community);
            }
            self.weight_to[community] += f64::from(weight);
        }
        let own = self.community[node];
        let strength = self.level.strength[node];
        let pull = self.level.pull * strength;
        let stay = self.weight_to[own] - pull * (self.strength[own] - strength);
        let least = LEAST_GAIN * self.level.total;
        let (mut best, mut bar) = (own, stay + least);
        for community in self.tied.drain(..) {
            let weight = std::mem::take(&mut self.weight_to[community]);
            let gain = weight - pull * self.strength[community];
            if community != own && gain > bar {
                (best, bar) = (community, gain);
            }
        }
        match self.empty.last() {
            Some(&empty) if bar < 0.0 => empty,
            _ => best,
        }
    }

    fn put(&mut self, node: Node, to: u32) {
        let strength = self.level.strength[node];
        let from = std::mem::replace(&mut self.community[node], to);
        if self.size[to] == 0 {
            self.empty.pop();
        }
        self.size[from] -= 1;
        self.size[to] += 1;
        self.strength[from] -= strength;
        self.strength[to] += strength;
        if self.size[from] == 0 {
            self.strength[from] = 0.0;
            self.empty.push(from);
        }
    }
}
