use std::ops::{Index, IndexMut};

use crate::Node;

/// One value for each node of a graph, or for each community of a partition.
///
/// The one place that indexes: a graph and a partition check their numbers when they are
/// made, and a column is made as long as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Column<T>(Vec<T>);

impl<T> Column<T> {
    /// The same value for each of `len`.
    pub(crate) fn filled(len: u32, value: T) -> Self
    where
        T: Clone,
    {
        Self(vec![value; len as usize])
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// The values in order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// The values in order.
    pub(crate) fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl Column<u32> {
    /// The same labels as numbers from 0, by first use, and how many there are.
    pub(crate) fn renumbered(&self) -> (Self, u32) {
        let end = self.iter().max().map_or(0, |&most| most + 1);
        let mut number = Column::filled(end, None);
        let mut count = 0;
        let renumbered = self.iter().map(|&label| {
            *number[label].get_or_insert_with(|| {
                count += 1;
                count - 1
            })
        });
        (renumbered.collect(), count)
    }
}

impl<T> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T> Index<Node> for Column<T> {
    type Output = T;

    #[expect(clippy::indexing_slicing, reason = "numbers were checked when the graph was made")]
    #[inline]
    fn index(&self, node: Node) -> &T {
        &self.0[node as usize]
    }
}

impl<T> IndexMut<Node> for Column<T> {
    #[expect(clippy::indexing_slicing, reason = "numbers were checked when the graph was made")]
    #[inline]
    fn index_mut(&mut self, node: Node) -> &mut T {
        &mut self.0[node as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_numbered_by_first_use() {
        for (labels, expected, count) in
            [(vec![7, 3, 7, 0, 3], vec![0, 1, 0, 2, 1], 3), (vec![], vec![], 0)]
        {
            let column: Column<u32> = labels.into_iter().collect();
            assert_eq!(column.renumbered(), (expected.into_iter().collect(), count));
        }
    }
}
