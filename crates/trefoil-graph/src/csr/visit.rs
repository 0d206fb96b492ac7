//! The traits of petgraph over the frozen rows: its algorithms run on a
//! [`&Csr`](Csr) without a copy, and its own graphs can be frozen.
//!
//! ```
//! use petgraph::{algo::dijkstra, graph::UnGraph};
//! use trefoil_graph::Csr;
//!
//! let graph = UnGraph::<&str, f32>::from_edges([(0, 1, 1.0), (1, 2, 0.5), (0, 2, 4.0)]);
//! let frozen = Csr::freeze(&graph, |&weight| weight)?;
//! let far = dijkstra(&frozen, 0, Some(2), |(_, _, &weight)| weight);
//! assert_eq!(far[&2], 1.5);
//! # Ok::<(), trefoil_core::Error>(())
//! ```

use std::{
    collections::HashSet,
    iter::{Copied, Zip},
    ops::Range,
    slice::Iter,
};

use petgraph::{
    Direction, Undirected,
    visit::{
        Data, EdgeRef, GraphBase, GraphProp, IntoEdgeReferences, IntoEdges, IntoNeighbors,
        IntoNeighborsDirected, IntoNodeIdentifiers, NodeCompactIndexable, NodeCount, NodeIndexable,
        Visitable,
    },
};
use trefoil_core::Result;

use crate::{Csr, Node};

impl Csr {
    /// Freezes a petgraph graph; `weight` makes the weight of an edge from what it carries.
    /// Directions are forgotten.
    ///
    /// # Errors
    /// As [`Csr::from_edges`].
    pub fn freeze<G>(graph: G, weight: impl Fn(&G::EdgeWeight) -> f32) -> Result<Self>
    where
        G: IntoEdgeReferences + NodeCompactIndexable,
    {
        let number = |index: usize| Node::try_from(index).unwrap_or(Node::MAX);
        let edges = graph.edge_references().map(|edge| {
            let [a, b] = [edge.source(), edge.target()].map(|end| number(graph.to_index(end)));
            (a, b, weight(edge.weight()))
        });
        Self::from_edges(number(graph.node_bound()), edges)
    }
}

impl GraphBase for Csr {
    type NodeId = Node;
    type EdgeId = (Node, Node);
}

impl GraphProp for Csr {
    type EdgeType = Undirected;
}

impl Data for Csr {
    type NodeWeight = ();
    type EdgeWeight = f32;
}

impl NodeCount for Csr {
    fn node_count(&self) -> usize {
        self.nodes().len()
    }
}

impl NodeIndexable for Csr {
    fn node_bound(&self) -> usize {
        self.nodes().len()
    }

    fn to_index(&self, node: Node) -> usize {
        node as usize
    }

    fn from_index(&self, index: usize) -> Node {
        Node::try_from(index).unwrap_or(Node::MAX)
    }
}

impl NodeCompactIndexable for Csr {}

impl Visitable for Csr {
    type Map = HashSet<Node>;

    fn visit_map(&self) -> HashSet<Node> {
        HashSet::new()
    }

    fn reset_map(&self, map: &mut HashSet<Node>) {
        map.clear();
    }
}

impl IntoNodeIdentifiers for &Csr {
    type NodeIdentifiers = Range<Node>;

    fn node_identifiers(self) -> Range<Node> {
        self.nodes()
    }
}

impl<'a> IntoNeighbors for &'a Csr {
    type Neighbors = Copied<Iter<'a, Node>>;

    fn neighbors(self, node: Node) -> Self::Neighbors {
        self.neighbours(node).iter().copied()
    }
}

impl<'a> IntoNeighborsDirected for &'a Csr {
    type NeighborsDirected = Copied<Iter<'a, Node>>;

    fn neighbors_directed(self, node: Node, _: Direction) -> Self::NeighborsDirected {
        self.neighbors(node)
    }
}

impl<'a> IntoEdges for &'a Csr {
    type Edges = NodeEdges<'a>;

    fn edges(self, node: Node) -> NodeEdges<'a> {
        NodeEdges { node, row: self.neighbours(node).iter().zip(self.weights(node)) }
    }
}

impl<'a> IntoEdgeReferences for &'a Csr {
    type EdgeRef = (Node, Node, &'a f32);
    type EdgeReferences = Box<dyn Iterator<Item = Self::EdgeRef> + 'a>;

    fn edge_references(self) -> Self::EdgeReferences {
        let edges = self.nodes().flat_map(move |node| IntoEdges::edges(self, node));
        Box::new(edges.filter(|&(a, b, _)| a < b))
    }
}

/// The edges of one node, as petgraph walks them.
#[derive(Clone, Debug)]
pub struct NodeEdges<'a> {
    node: Node,
    row: Zip<Iter<'a, Node>, Iter<'a, f32>>,
}

impl<'a> Iterator for NodeEdges<'a> {
    type Item = (Node, Node, &'a f32);

    fn next(&mut self) -> Option<Self::Item> {
        self.row.next().map(|(&neighbour, weight)| (self.node, neighbour, weight))
    }
}

#[cfg(test)]
mod tests {
    use petgraph::{algo::connected_components, graph::UnGraph, visit::Bfs};

    use super::*;

    #[test]
    fn petgraph_walks_the_rows() {
        let graph = Csr::from_edges(6, [(0, 1, 1.0), (1, 2, 1.0), (4, 5, 1.0)]).unwrap();
        assert_eq!(connected_components(&graph), 3);
        let mut walk = Bfs::new(&graph, 2);
        let order: Vec<_> = std::iter::from_fn(|| walk.next(&graph)).collect();
        assert_eq!(order, [2, 1, 0]);
    }

    #[test]
    fn freezing_keeps_nodes_and_edges() {
        let edges = [(3, 1, 0.5), (0, 1, 2.0)];
        let mut graph = UnGraph::<(), f32>::from_edges(edges);
        graph.add_node(());
        assert_eq!(Csr::freeze(&graph, |&w| w).unwrap(), Csr::from_edges(5, edges).unwrap());
        let frozen = Csr::from_edges(5, edges).unwrap();
        assert_eq!(Csr::freeze(&frozen, |&w| w).unwrap(), frozen);
    }
}
