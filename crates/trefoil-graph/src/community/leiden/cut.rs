use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use trefoil_core::Result;

use super::level::Level;
use crate::{Csr, Node, column::Column};

/// Some nodes of a level that may move, cut out together with what is around them: all else
/// that a community holds which they are in or next to, its rest, is one node that stays.
#[derive(Debug)]
pub(super) struct Cut<'a> {
    level: &'a Level<'a>,
    /// The number of each movable node in the small level.
    place: Column<Option<Node>>,
    movable: Vec<Node>,
    /// By community: the strength of its rest. In the small level they follow the movable.
    rests: BTreeMap<u32, f64>,
}

impl<'a> Cut<'a> {
    pub(super) fn new(
        level: &'a Level<'a>,
        community: &Column<u32>,
        movable: &BTreeSet<Node>,
    ) -> Self {
        let mut place = Column::filled(level.nodes().end, None);
        let mut is_around = Column::filled(level.nodes().end, false);
        for (small, &node) in (0..).zip(movable) {
            place[node] = Some(small);
            is_around[community[node]] = true;
            for &neighbour in level.graph.neighbours(node) {
                is_around[community[neighbour]] = true;
            }
        }
        let mut rests = BTreeMap::new();
        for node in level.nodes() {
            if is_around[community[node]] && place[node].is_none() {
                *rests.entry(community[node]).or_insert(0.0) += level.strength[node];
            }
        }
        Self { level, place, movable: movable.iter().copied().collect(), rests }
    }

    /// The small level, and the community of each of its nodes.
    pub(super) fn small(&self, community: &Column<u32>) -> Result<(Level<'static>, Column<u32>)> {
        let rest: BTreeMap<u32, Node> = self.numbered_rests().collect();
        let mut edges = Vec::new();
        for (small, &node) in (0..).zip(&self.movable) {
            for (neighbour, weight) in self.level.graph.edges(node) {
                let other = self.place[neighbour].or(rest.get(&community[neighbour]).copied());
                edges.extend(other.filter(|&other| small < other).map(|to| (small, to, weight)));
            }
        }
        let of_movable = self.movable.iter().map(|&node| self.level.strength[node]);
        let strength: Column<f64> = of_movable.chain(self.rests.values().copied()).collect();
        let movable = self.movable.iter().map(|&node| community[node]);
        let own: Column<u32> = movable.chain(self.rests.keys().copied()).collect();
        let movable = self.count();
        let graph = Cow::Owned(Csr::from_edges(own.len(), edges)?);
        let &Level { total, pull, randomness, .. } = self.level;
        let level = Level { graph, strength, total, pull, randomness, movable };
        Ok((level, own.renumbered().0))
    }

    /// Moves the movable nodes to the communities found for the small level. One keeps its
    /// number where its rest is, else where its first node was, if no other has it.
    pub(super) fn put_back(&self, found: &Column<u32>, community: &mut Column<u32>) {
        let mut number: BTreeMap<u32, u32> =
            self.numbered_rests().map(|(own, rest)| (found[rest], own)).collect();
        let mut taken: BTreeSet<u32> = self.rests.keys().copied().collect();
        let mut fresh = self.level.nodes().end..;
        for (small, &node) in (0..).zip(&self.movable) {
            let own = community[node];
            community[node] = *number.entry(found[small]).or_insert_with(|| {
                if taken.insert(own) { own } else { fresh.next().unwrap_or(u32::MAX) }
            });
        }
    }

    fn numbered_rests(&self) -> impl Iterator<Item = (u32, Node)> + '_ {
        self.rests.keys().copied().zip(self.count()..)
    }

    fn count(&self) -> u32 {
        u32::try_from(self.movable.len()).unwrap_or(u32::MAX)
    }
}
