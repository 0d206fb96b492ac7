use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petgraph::unionfind::UnionFind;

use crate::{Csr, Node, column::Column};

/// What a search for cut-off pieces found.
#[derive(Debug)]
pub(super) struct Separated {
    /// Sets of nodes without an edge to the rest of their community.
    pub(super) pieces: Vec<Vec<Node>>,
    /// The nodes whose edges were read.
    pub(super) searched: Vec<Node>,
}

/// Searches one community from several of its nodes, a node of each in turn. Searches that
/// meet go on as one; one that comes to an end while others go on has found a piece.
/// The last to be left is the rest and is not followed further, so that the cost is that
/// of the smaller pieces and of the way to a meeting.
pub(super) fn separate(graph: &Csr, community: &Column<u32>, starts: BTreeSet<Node>) -> Separated {
    let mut found = Separated { pieces: Vec::new(), searched: Vec::new() };
    let mut merged = UnionFind::<u32>::new(starts.len());
    let mut searcher: BTreeMap<Node, u32> = starts.iter().copied().zip(0..).collect();
    let mut searches: Column<Search> = starts.into_iter().map(Search::from).collect();
    let mut turns: VecDeque<u32> = (0..).take(merged.len()).collect();
    let mut left = turns.len();
    while left > 1
        && let Some(turn) = turns.pop_front()
    {
        if merged.find(turn) != turn {
            continue;
        }
        let Some(node) = searches[turn].ahead.pop_front() else {
            found.pieces.push(std::mem::take(&mut searches[turn].reached));
            left -= 1;
            continue;
        };
        found.searched.push(node);
        let mut own = turn;
        for &neighbour in graph.neighbours(node) {
            if community[neighbour] != community[node] {
                continue;
            }
            match searcher.get(&neighbour).map(|&other| merged.find(other)) {
                None => {
                    searcher.insert(neighbour, own);
                    searches[own].reached.push(neighbour);
                    searches[own].ahead.push_back(neighbour);
                }
                Some(other) if other == own => {}
                Some(other) => {
                    merged.union(own, other);
                    let kept = merged.find(own);
                    let ended =
                        std::mem::take(&mut searches[if kept == own { other } else { own }]);
                    searches[kept].reached.extend(ended.reached);
                    searches[kept].ahead.extend(ended.ahead);
                    own = kept;
                    left -= 1;
                }
            }
        }
        // Another that this one goes on as has its turn already.
        if own == turn {
            turns.push_back(turn);
        }
    }
    found
}

/// One search.
#[derive(Clone, Debug, Default)]
struct Search {
    reached: Vec<Node>,
    /// Those of `reached` whose edges are yet to be read.
    ahead: VecDeque<Node>,
}

impl From<Node> for Search {
    fn from(start: Node) -> Self {
        Self { reached: vec![start], ahead: [start].into() }
    }
}
