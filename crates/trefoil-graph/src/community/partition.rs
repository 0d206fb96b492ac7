use std::{cmp::Reverse, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use crate::{Node, column::Column};

/// Every node in one community.
///
/// Communities are numbered from 0 by falling size, equals by their lowest node, so that
/// equal divisions are equal values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<u32>", into = "Vec<u32>")]
pub struct Partition {
    community: Column<u32>,
    count: u32,
}

impl Partition {
    /// Each node alone.
    pub fn singletons(nodes: u32) -> Self {
        Self { community: (0..nodes).collect(), count: nodes }
    }

    /// From a label for each node, in order; equal labels are one community.
    pub fn from_labels<L: Ord>(labels: impl IntoIterator<Item = L>) -> Self {
        let mut numbers: BTreeMap<L, u32> = BTreeMap::new();
        let numbered = labels.into_iter().map(|label| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(label).or_insert(next)
        });
        Self::from_column(&numbered.collect())
    }

    /// The same from labels that are not much higher than there are nodes.
    pub(crate) fn from_column(labels: &Column<u32>) -> Self {
        let (first_seen, count) = labels.renumbered();
        let mut sizes = Column::filled(count, 0_u32);
        for &community in first_seen.iter() {
            sizes[community] += 1;
        }
        // The numbers are by lowest node, and the sort is stable.
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_by_key(|&community| Reverse(sizes[community]));
        let mut place = Column::filled(count, 0);
        for (new, old) in (0..).zip(order) {
            place[old] = new;
        }
        Self { community: first_seen.iter().map(|&old| place[old]).collect(), count }
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> u32 {
        self.community.len()
    }

    /// How many communities there are, those of one node included.
    pub const fn len(&self) -> u32 {
        self.count
    }

    /// True if there are no nodes.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The community of a node.
    pub fn community(&self, node: Node) -> Option<u32> {
        (node < self.node_count()).then(|| self.community[node])
    }

    /// The community of each node, in order.
    pub fn communities(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.community.iter().copied()
    }

    /// The nodes of each community, ascending; the largest community first.
    pub fn members(&self) -> Vec<Vec<Node>> {
        let mut members = Column::filled(self.count, Vec::new());
        for (node, community) in (0..).zip(self.communities()) {
            members[community].push(node);
        }
        members.into_vec()
    }

    /// The same for so many nodes: those beyond them are gone, new ones are alone.
    #[must_use]
    pub fn resized(&self, nodes: u32) -> Self {
        let kept = self.communities().take(nodes as usize);
        let alone = (self.node_count()..nodes).map(|node| self.count + node);
        Self::from_column(&kept.chain(alone).collect())
    }

    pub(crate) fn column(&self) -> &Column<u32> {
        &self.community
    }
}

impl From<Vec<u32>> for Partition {
    fn from(labels: Vec<u32>) -> Self {
        Self::from_labels(labels)
    }
}

impl From<Partition> for Vec<u32> {
    fn from(partition: Partition) -> Self {
        partition.community.into_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communities_are_numbered_by_size_then_by_lowest_node() {
        for (labels, expected) in [
            ("abbc", vec![1, 0, 0, 2]),
            ("zzaa", vec![0, 0, 1, 1]),
            ("xyyzzz", vec![2, 1, 1, 0, 0, 0]),
            ("", vec![]),
        ] {
            let partition = Partition::from_labels(labels.chars());
            assert_eq!(Vec::from(partition.clone()), expected, "{labels}");
            assert_eq!(Partition::from(Vec::from(partition.clone())), partition);
        }
        let partition = Partition::from_labels("abbc".chars());
        assert_eq!(partition.members(), [vec![1, 2], vec![0], vec![3]]);
        assert_eq!((partition.community(1), partition.community(4)), (Some(0), None));
    }
}
