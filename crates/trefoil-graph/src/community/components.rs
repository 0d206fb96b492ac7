use petgraph::unionfind::UnionFind;

use crate::{Csr, Node, Partition};

/// The connected components of a graph.
pub fn components(graph: &Csr) -> Partition {
    join(graph, |_, _| true)
}

/// Divides every community into its connected components; a partition whose communities
/// are connected stays as it is. Modularity cannot fall: nodes without a path between
/// them gain nothing by being together. (Traag, Waltman, van Eck 2019, appendix B.)
#[must_use]
pub fn split_disconnected(graph: &Csr, partition: &Partition) -> Partition {
    join(graph, |a, b| partition.community(a) == partition.community(b))
}

/// How many communities are not connected.
pub fn disconnected(graph: &Csr, partition: &Partition) -> usize {
    let pieces = split_disconnected(graph, partition);
    let mut pairs: Vec<_> = partition.communities().zip(pieces.communities()).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs.chunk_by(|x, y| x.0 == y.0).filter(|pieces| pieces.len() > 1).count()
}

/// What hangs together by the edges that `keep` admits.
fn join(graph: &Csr, keep: impl Fn(Node, Node) -> bool) -> Partition {
    let mut sets = UnionFind::<Node>::new(graph.nodes().len());
    for (a, b, _) in graph.all_edges().filter(|&(a, b, _)| keep(a, b)) {
        sets.union(a, b);
    }
    Partition::from_column(&sets.into_labeling().into_iter().collect())
}

#[cfg(test)]
mod tests {
    use petgraph::algo::connected_components;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_community_in_two_pieces_becomes_two() {
        let graph = Csr::from_edges(5, [(0, 1, 1.0), (2, 3, 1.0), (3, 4, 1.0)]).unwrap();
        let partition = Partition::from_labels([0, 0, 0, 0, 1]);
        assert_eq!(disconnected(&graph, &partition), 1);
        let split = split_disconnected(&graph, &partition);
        assert_eq!(split, Partition::from_labels([0, 0, 1, 1, 2]));
        assert_eq!(disconnected(&graph, &split), 0);
    }

    proptest! {
        #[test]
        fn components_are_those_of_petgraph(
            edges in prop::collection::vec((0..30_u32, 0..30_u32), 0..40)
        ) {
            let edges = edges.into_iter().filter(|(a, b)| a != b).map(|(a, b)| (a, b, 1.0));
            let graph = Csr::from_edges(30, edges)?;
            prop_assert_eq!(components(&graph).len() as usize, connected_components(&graph));
        }
    }
}
