use crate::{Csr, Node, Partition, column::Column};

/// How much more of the weight lies inside communities than chance would put there.
///
/// `Q = Σ ( in / m − γ · (K / 2m)² )` over the communities, where `in` is the weight inside
/// one, `K` the sum of the strengths of its nodes, `m` the weight of all edges and `γ` the
/// resolution (Newman, Girvan 2004; Reichardt, Bornholdt 2006). From −γ to 1; 0 for a graph
/// without edges.
///
/// A node that the partition does not hold counts as alone.
pub fn modularity(graph: &Csr, partition: &Partition, resolution: f64) -> f64 {
    let partition = partition.resized(graph.node_count());
    let community = partition.column();
    let mut strength = Column::filled(partition.len(), 0.0);
    let (mut inside, mut total) = (0.0, 0.0);
    for node in graph.nodes() {
        let own = community[node];
        for (neighbour, weight) in graph.edges(node) {
            let weight = f64::from(weight);
            total += weight;
            strength[own] += weight;
            if community[neighbour] == own {
                inside += weight;
            }
        }
    }
    if total == 0.0 {
        return 0.0;
    }
    let by_chance: f64 = strength.iter().map(|strength| (strength / total).powi(2)).sum();
    inside / total - resolution * by_chance
}

/// The weights that decide what one community adds to the modularity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CommunityEdges {
    /// Weight of the edges inside.
    pub internal: f64,
    /// Weight of the edges that leave.
    pub external: f64,
    /// Number of edges inside.
    pub internal_edges: usize,
    /// Number of edges that leave.
    pub external_edges: usize,
    /// Weight of all edges of the graph.
    pub total: f64,
}

impl CommunityEdges {
    /// The edges of a set of nodes, in a graph of so much weight.
    pub(crate) fn around(
        graph: &Csr,
        members: &[Node],
        is_member: impl Fn(Node) -> bool,
        total: f64,
    ) -> Self {
        let mut edges = Self { total, ..Self::default() };
        for &node in members {
            for (neighbour, weight) in graph.edges(node) {
                if !is_member(neighbour) {
                    edges.external += f64::from(weight);
                    edges.external_edges += 1;
                } else if node < neighbour {
                    edges.internal += f64::from(weight);
                    edges.internal_edges += 1;
                }
            }
        }
        edges
    }

    /// The community's term of [`modularity`].
    pub fn modularity(&self, resolution: f64) -> f64 {
        if self.total == 0.0 {
            return 0.0;
        }
        let strength = 2.0 * self.internal + self.external;
        self.internal / self.total - resolution * (strength / (2.0 * self.total)).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[(u32, u32, f32)], labels: &[u32], resolution: f64, expected: f64) {
        let nodes = u32::try_from(labels.len()).unwrap();
        let graph = Csr::from_edges(nodes, edges.iter().copied()).unwrap();
        let partition = Partition::from_labels(labels);
        let found = modularity(&graph, &partition, resolution);
        assert!((found - expected).abs() < 1e-12, "{labels:?}: {found}");
    }

    #[test]
    fn modularity_is_that_of_the_formula() {
        let triangles = [
            (0, 1, 1.0),
            (1, 2, 1.0),
            (0, 2, 1.0),
            (3, 4, 1.0),
            (4, 5, 1.0),
            (3, 5, 1.0),
            (2, 3, 1.0),
        ];
        check(&triangles, &[0, 0, 0, 1, 1, 1], 1.0, 6.0 / 7.0 - 0.5);
        check(&triangles, &[0, 0, 0, 1, 1, 1], 2.0, 6.0 / 7.0 - 1.0);
        check(&triangles, &[0; 6], 1.0, 0.0);
        check(&triangles, &[0, 1, 2, 3, 4, 5], 1.0, -(4.0 * 4.0 + 2.0 * 9.0) / 196.0);
        check(&[(0, 1, 3.0), (1, 2, 1.0)], &[0, 0, 1], 1.0, 3.0 / 4.0 - (49.0 + 1.0) / 64.0);
        check(&[], &[0, 1], 1.0, 0.0);
    }
}
