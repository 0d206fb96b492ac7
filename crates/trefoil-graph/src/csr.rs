mod visit;

use trefoil_core::{Error, Result};

/// A node of a [`Csr`]: a number from 0.
pub type Node = u32;

/// A frozen undirected graph with weights, in compressed sparse rows.
///
/// Row *v* holds the neighbours of *v*, ascending, each once; an edge stands in the rows
/// of both its ends: 16 bytes an edge, read in order, so that a walk over the whole graph costs
/// what its memory costs to read.
///
/// ```
/// use trefoil_graph::Csr;
///
/// let graph = Csr::from_edges(4, [(0, 1, 1.0), (2, 1, 0.5), (1, 0, 1.0)])?;
/// assert_eq!(graph.edges(1).collect::<Vec<(u32, f32)>>(), [(0, 2.0), (2, 0.5)]);
/// assert!(graph.neighbours(3).is_empty());
/// # Ok::<(), trefoil_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    nodes: u32,
    /// Row v is from the v-th to the one after it.
    offsets: Vec<u32>,
    neighbours: Vec<Node>,
    weights: Vec<f32>,
}

impl Csr {
    /// Freezes undirected edges `(a, b, weight)` between nodes `0..nodes`. The weights of
    /// an edge that comes several times, either way round, are added up; neither the
    /// order of the edges nor their direction changes a bit of the graph.
    ///
    /// # Errors
    /// [`Error::InvalidEdge`] if an end is not below `nodes`, both ends are one node, a
    /// weight (or sum) is not finite and above 0, or there are more than 2³¹ - 1 edges.
    pub fn from_edges(
        nodes: u32,
        edges: impl IntoIterator<Item = (Node, Node, f32)>,
    ) -> Result<Self> {
        let edges = merge(nodes, edges)?;
        let mut offsets = vec![0_u32; nodes as usize + 1];
        for end in edges.iter().flat_map(|&(a, b, _)| [a, b]) {
            if let Some(begin) = offsets.get_mut(end as usize + 1) {
                *begin += 1;
            }
        }
        let mut total = 0;
        for offset in &mut offsets {
            total += *offset;
            *offset = total;
        }
        let mut graph = Self {
            nodes,
            neighbours: vec![0; total as usize],
            weights: vec![0.0; total as usize],
            offsets,
        };
        let mut filled = graph.offsets.clone();
        // The edges ascend, so a row gets its lower neighbours first, then its higher ones.
        for &(a, b, weight) in &edges {
            for (from, to) in [(a, b), (b, a)] {
                let Some(place) = filled.get_mut(from as usize) else { continue };
                let at = *place as usize;
                *place += 1;
                if let (Some(neighbour), Some(slot)) =
                    (graph.neighbours.get_mut(at), graph.weights.get_mut(at))
                {
                    (*neighbour, *slot) = (to, weight);
                }
            }
        }
        Ok(graph)
    }

    /// How many nodes there are.
    pub const fn node_count(&self) -> u32 {
        self.nodes
    }

    /// How many undirected edges there are.
    pub fn edge_count(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// The nodes, ascending.
    pub fn nodes(&self) -> std::ops::Range<Node> {
        0..self.nodes
    }

    /// The neighbours of a node, ascending; none if there is no such node.
    #[inline]
    pub fn neighbours(&self, node: Node) -> &[Node] {
        self.neighbours.get(self.row(node)).unwrap_or_default()
    }

    /// The weights of the edges to [`neighbours`](Self::neighbours), in their order.
    #[inline]
    pub fn weights(&self, node: Node) -> &[f32] {
        self.weights.get(self.row(node)).unwrap_or_default()
    }

    /// The edges of a node: neighbour, ascending, and weight.
    #[inline]
    pub fn edges(&self, node: Node) -> impl ExactSizeIterator<Item = (Node, f32)> + '_ {
        self.neighbours(node).iter().copied().zip(self.weights(node).iter().copied())
    }

    /// Every edge once, as `(a, b, weight)` with a < b, ascending.
    pub fn all_edges(&self) -> impl Iterator<Item = (Node, Node, f32)> + '_ {
        self.nodes().flat_map(|a| {
            self.edges(a).filter(move |&(b, _)| a < b).map(move |(b, weight)| (a, b, weight))
        })
    }

    /// The weight of an edge.
    pub fn weight(&self, a: Node, b: Node) -> Option<f32> {
        let place = self.neighbours(a).binary_search(&b).ok()?;
        self.weights(a).get(place).copied()
    }

    /// How many neighbours a node has.
    pub fn degree(&self, node: Node) -> usize {
        self.row(node).len()
    }

    /// The sum of the weights of a node's edges.
    pub fn strength(&self, node: Node) -> f64 {
        self.weights(node).iter().map(|&weight| f64::from(weight)).sum()
    }

    /// The sum of the weights of all edges.
    pub fn total(&self) -> f64 {
        self.weights.iter().map(|&weight| f64::from(weight)).sum::<f64>() / 2.0
    }

    /// The node with the most neighbours; the lower number of equals; none if there is
    /// no edge.
    pub fn hub(&self) -> Option<Node> {
        let most = self.nodes().map(|node| self.degree(node)).max().filter(|&most| most > 0)?;
        self.nodes().find(|&node| self.degree(node) == most)
    }

    /// Where the rows begin and the last one ends, neighbours and weights, as in memory.
    pub(crate) fn parts(&self) -> (&[u32], &[Node], &[f32]) {
        (&self.offsets, &self.neighbours, &self.weights)
    }

    /// The graph of such parts; none if they are those of no graph.
    pub(crate) fn from_parts(
        offsets: Vec<u32>,
        neighbours: Vec<Node>,
        weights: Vec<f32>,
    ) -> Option<Self> {
        let nodes = u32::try_from(offsets.len().checked_sub(1)?).ok()?;
        let entries = u32::try_from(neighbours.len()).ok()?;
        let is_graph = offsets.first() == Some(&0)
            && offsets.last() == Some(&entries)
            && offsets.is_sorted()
            && weights.len() == neighbours.len()
            && neighbours.iter().all(|&neighbour| neighbour < nodes)
            && weights.iter().all(|weight| weight.is_finite() && *weight > 0.0);
        is_graph.then_some(Self { nodes, offsets, neighbours, weights })
    }

    /// The same graph with all edges of `node` left out; the numbers stay.
    #[must_use]
    pub fn without(&self, node: Node) -> Self {
        self.filtered(|a, b| a != node && b != node)
    }

    /// The same graph with the edges for which `keep` holds, whichever end comes first; the
    /// numbers stay.
    pub(crate) fn filtered(&self, keep: impl Fn(Node, Node) -> bool) -> Self {
        let mut rows = RowWriter::new(self.nodes);
        for from in self.nodes() {
            rows.row(self.edges(from).filter(|&(to, _)| keep(from, to)));
        }
        rows.finish()
    }

    /// The edges among some nodes, ascending and each once, which become nodes from 0.
    pub(crate) fn induced(&self, nodes: &[Node]) -> Self {
        let place = |node| nodes.binary_search(&node).ok().and_then(|at| Node::try_from(at).ok());
        let mut rows = RowWriter::new(Node::try_from(nodes.len()).unwrap_or(Node::MAX));
        for &from in nodes {
            rows.row(self.edges(from).filter_map(|(to, weight)| Some((place(to)?, weight))));
        }
        rows.finish()
    }

    #[inline]
    fn row(&self, node: Node) -> std::ops::Range<usize> {
        match self.offsets.get(node as usize..) {
            Some(&[begin, end, ..]) => begin as usize..end as usize,
            _ => 0..0,
        }
    }
}

/// Writes a [`Csr`] row by row. The caller sees to it that rows ascend and mirror each other.
pub(crate) struct RowWriter(Csr);

impl RowWriter {
    pub(crate) fn new(nodes: u32) -> Self {
        Self(Csr { nodes, offsets: vec![0], neighbours: Vec::new(), weights: Vec::new() })
    }

    /// Appends the row of the next node.
    pub(crate) fn row(&mut self, edges: impl Iterator<Item = (Node, f32)>) {
        let Self(graph) = self;
        for (neighbour, weight) in edges {
            graph.neighbours.push(neighbour);
            graph.weights.push(weight);
        }
        // No row is written that is not made from a larger graph, whose offsets fit.
        graph.offsets.push(u32::try_from(graph.neighbours.len()).unwrap_or(u32::MAX));
    }

    pub(crate) fn finish(self) -> Csr {
        self.0
    }
}

/// Checked edges with a < b, ascending, each once.
fn merge(
    nodes: u32,
    edges: impl IntoIterator<Item = (Node, Node, f32)>,
) -> Result<Vec<(Node, Node, f32)>> {
    let mut checked = Vec::new();
    for (a, b, weight) in edges {
        let invalid = |allowed| Err(Error::InvalidEdge { a, b, weight, allowed });
        if a >= nodes || b >= nodes {
            return invalid("ends that are nodes of the graph");
        }
        if a == b {
            return invalid("two different ends");
        }
        if !(weight.is_finite() && weight > 0.0) {
            return invalid("a finite weight above 0");
        }
        checked.push((a.min(b), a.max(b), weight));
    }
    // By weight too, so that a sum does not depend on the order in which it came.
    checked.sort_unstable_by(|x, y| (x.0, x.1).cmp(&(y.0, y.1)).then(x.2.total_cmp(&y.2)));
    checked.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 += next.2;
        }
        same
    });
    if let Some(&(a, b, weight)) = checked.iter().find(|edge| !edge.2.is_finite()) {
        return Err(Error::InvalidEdge { a, b, weight, allowed: "weights with a finite sum" });
    }
    if let Some(&(a, b, weight)) = checked.get(i32::MAX as usize) {
        return Err(Error::InvalidEdge { a, b, weight, allowed: "at most 2,147,483,647 edges" });
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn edges_that_cannot_be_are_refused() {
        for edge in [
            (0, 3, 1.0),
            (3, 0, 1.0),
            (1, 1, 1.0),
            (0, 1, 0.0),
            (0, 1, -1.0),
            (0, 1, f32::NAN),
            (0, 1, f32::INFINITY),
        ] {
            let error = Csr::from_edges(3, [edge]).unwrap_err();
            assert!(matches!(error, Error::InvalidEdge { .. }), "{edge:?}");
        }
        assert!(Csr::from_edges(2, [(0, 1, f32::MAX), (1, 0, f32::MAX)]).is_err());
        let empty = Csr::from_edges(0, []).unwrap();
        assert_eq!((empty.node_count(), empty.edge_count(), empty.hub()), (0, 0, None));
        assert!(empty.neighbours(0).is_empty());
    }

    #[test]
    fn the_hub_is_the_node_with_most_neighbours_and_can_be_left_out() {
        let graph =
            Csr::from_edges(5, [(1, 0, 1.0), (1, 2, 9.0), (3, 0, 1.0), (3, 4, 1.0)]).unwrap();
        assert_eq!(graph.hub(), Some(0));
        let rest = Csr::from_edges(5, [(1, 2, 9.0), (3, 4, 1.0)]).unwrap();
        assert_eq!(graph.without(0), rest);
    }

    proptest! {
        #[test]
        fn the_rows_are_those_of_a_map(
            edges in prop::collection::vec((0..12_u32, 0..12_u32, 0.1..4.0_f32), 0..80),
            seed in any::<u64>(),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|edge| edge.0 != edge.1).collect();
            let graph = Csr::from_edges(12, edges.iter().copied())?;
            let mut map: BTreeMap<(Node, Node), f32> = BTreeMap::new();
            for &(a, b, weight) in &edges {
                *map.entry((a, b)).or_default() += weight;
                *map.entry((b, a)).or_default() += weight;
            }
            let flat: Vec<_> =
                graph.nodes().flat_map(|a| graph.edges(a).map(move |(b, _)| (a, b))).collect();
            prop_assert_eq!(&flat, &map.keys().copied().collect::<Vec<_>>());
            for (&(a, b), &weight) in &map {
                prop_assert!((graph.weight(a, b).unwrap() - weight).abs() < 1e-4);
                prop_assert_eq!(graph.weight(a, b), graph.weight(b, a));
            }
            prop_assert_eq!(graph.all_edges().count(), graph.edge_count());

            let mut other: Vec<_> = edges.iter().map(|&(a, b, weight)| (b, a, weight)).collect();
            crate::random::Random::new(seed).shuffle(&mut other);
            prop_assert_eq!(Csr::from_edges(12, other)?, graph.clone());
            prop_assert_eq!(Csr::from_edges(12, graph.all_edges())?, graph);
        }
    }
}
