use crate::RowId;

/// Rows of one block: as many as a `u16` tells apart.
const BLOCK: u64 = 1 << 16;
/// Most rows of a block that are listed: in a list they take as much as a block of bits.
const LISTED: usize = 4_096;
/// Words of a block of bits.
const WORDS: usize = 1_024;

/// A set of rows as a compressed bitmap, after Roaring (Lemire et al. 2016): each block of 65,536
/// rows is a sorted list where it holds few of them, and bits where it holds many. So it takes no
/// more than two bytes a row, and no more than a bit a row of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSet {
    /// By number; none is empty.
    blocks: Vec<(u64, Block)>,
    len: usize,
}

/// Which of two forms it has follows from how many rows it holds, so that equal sets are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Block {
    /// At most [`LISTED`], ascending.
    Few(Vec<u16>),
    /// More, with their number.
    Many(Box<[u64]>, usize),
}

impl RowSet {
    /// True if `row` is in the set.
    #[inline]
    pub fn contains(&self, row: RowId) -> bool {
        let (number, low) = locate(row);
        self.find(number)
            .ok()
            .and_then(|place| self.blocks.get(place))
            .is_some_and(|(_, block)| block.contains(low))
    }

    /// Adds `row`; true if it was not there.
    pub fn insert(&mut self, row: RowId) -> bool {
        let (number, low) = locate(row);
        let place = match self.find(number) {
            Ok(place) => place,
            Err(place) => {
                self.blocks.insert(place, (number, Block::Few(Vec::new())));
                place
            }
        };
        let new = self.blocks.get_mut(place).is_some_and(|(_, block)| block.insert(low));
        self.len += usize::from(new);
        new
    }

    /// Takes `row` out; true if it was there.
    pub fn remove(&mut self, row: RowId) -> bool {
        let (number, low) = locate(row);
        let Ok(place) = self.find(number) else { return false };
        let Some((_, block)) = self.blocks.get_mut(place) else { return false };
        let was = block.remove(low);
        if matches!(block, Block::Few(rows) if rows.is_empty()) {
            self.blocks.remove(place);
        }
        self.len -= usize::from(was);
        was
    }

    /// How many rows are in the set.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if no row is in the set.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The rows in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = RowId> + '_ {
        self.blocks.iter().flat_map(|(number, block)| {
            block.iter().map(move |low| RowId::new(number * BLOCK + low))
        })
    }

    /// The rows that are in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (fewer, more) = if self.len <= other.len { (self, other) } else { (other, self) };
        fewer.iter().filter(|&row| more.contains(row)).collect()
    }

    /// Where the block with a number is, or has to be.
    #[inline]
    fn find(&self, number: u64) -> Result<usize, usize> {
        // Sets of all kinds of rows have every block.
        if let Ok(place) = usize::try_from(number)
            && self.blocks.get(place).is_some_and(|block| block.0 == number)
        {
            return Ok(place);
        }
        self.blocks.binary_search_by_key(&number, |block| block.0)
    }
}

impl Block {
    #[inline]
    fn contains(&self, low: u16) -> bool {
        match self {
            Self::Few(rows) => rows.binary_search(&low).is_ok(),
            Self::Many(words, _) => {
                let (word, bit) = bit(low);
                words.get(word).is_some_and(|bits| bits & bit != 0)
            }
        }
    }

    fn insert(&mut self, low: u16) -> bool {
        match self {
            Self::Few(rows) => {
                // Rows mostly come in order.
                let place = if rows.last().is_none_or(|&last| last < low) {
                    rows.len()
                } else {
                    let Err(place) = rows.binary_search(&low) else { return false };
                    place
                };
                rows.insert(place, low);
                if rows.len() > LISTED {
                    let mut words = vec![0; WORDS].into_boxed_slice();
                    for &low in rows.iter() {
                        let (word, bit) = bit(low);
                        if let Some(bits) = words.get_mut(word) {
                            *bits |= bit;
                        }
                    }
                    *self = Self::Many(words, LISTED + 1);
                }
                true
            }
            Self::Many(words, count) => {
                let (word, bit) = bit(low);
                let Some(bits) = words.get_mut(word) else { return false };
                let new = *bits & bit == 0;
                *bits |= bit;
                *count += usize::from(new);
                new
            }
        }
    }

    fn remove(&mut self, low: u16) -> bool {
        match self {
            Self::Few(rows) => {
                let Ok(place) = rows.binary_search(&low) else { return false };
                rows.remove(place);
                true
            }
            Self::Many(words, count) => {
                let (word, bit) = bit(low);
                let Some(bits) = words.get_mut(word) else { return false };
                let was = *bits & bit != 0;
                *bits &= !bit;
                *count -= usize::from(was);
                if *count <= LISTED {
                    #[expect(clippy::cast_possible_truncation, reason = "below 65,536")]
                    let rows = self.iter().map(|low| low as u16).collect();
                    *self = Self::Few(rows);
                }
                was
            }
        }
    }

    /// The low halves of the rows, ascending.
    fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let (rows, words): (&[u16], &[u64]) = match self {
            Self::Few(rows) => (rows, &[]),
            Self::Many(words, _) => (&[], words),
        };
        let bits = words.iter().zip(0_u64..).flat_map(|(&bits, word)| {
            std::iter::successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)))
                .take_while(|&bits| bits != 0)
                .map(move |bits| word * 64 + u64::from(bits.trailing_zeros()))
        });
        rows.iter().map(|&low| u64::from(low)).chain(bits)
    }
}

impl FromIterator<RowId> for RowSet {
    fn from_iter<I: IntoIterator<Item = RowId>>(rows: I) -> Self {
        let mut set = Self::default();
        for row in rows {
            set.insert(row);
        }
        set
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the remainder is below 65,536")]
const fn locate(row: RowId) -> (u64, u16) {
    (row.get() / BLOCK, (row.get() % BLOCK) as u16)
}

const fn bit(low: u16) -> (usize, u64) {
    (low as usize / 64, 1 << (low % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn rows() -> impl Strategy<Value = u64> {
        prop_oneof![0_u64..300, 65_500_u64..65_600, 9_000_000_u64..9_000_100, any::<u64>()]
    }

    proptest! {
        #[test]
        fn a_row_set_is_a_set(ops in prop::collection::vec((rows(), any::<bool>()), 0..200)) {
            let (mut set, mut model) = (RowSet::default(), BTreeSet::new());
            for (row, add) in &ops {
                let row = RowId::new(*row);
                let changed = if *add { set.insert(row) } else { set.remove(row) };
                prop_assert_eq!(changed, if *add { model.insert(row) } else { model.remove(&row) });
            }
            prop_assert_eq!(set.len(), model.len());
            prop_assert!(set.iter().eq(model.iter().copied()));
            let asked = (0..400).chain(ops.iter().map(|(row, _)| *row)).map(RowId::new);
            for row in asked {
                prop_assert_eq!(set.contains(row), model.contains(&row));
            }
            prop_assert_eq!(set, model.into_iter().collect::<RowSet>());
        }

        /// Lists become bits and bits become lists.
        #[test]
        fn so_is_one_with_many_rows(
            step in 1_u64..20,
            from in 0_u64..70_000,
            count in 4_000_u64..6_000,
            gone in prop::collection::vec(0_u64..6_000, 0..60),
            kept in 0_u64..6_000,
        ) {
            let row = |n: u64| RowId::new(from + n * step);
            let mut set: RowSet = (0..count).rev().map(row).collect();
            let mut model: BTreeSet<RowId> = (0..count).map(row).collect();
            prop_assert!(set.iter().eq(model.iter().copied()));
            for n in gone.into_iter().chain(kept..count) {
                prop_assert_eq!(set.remove(row(n)), model.remove(&row(n)));
            }
            prop_assert_eq!(set.len(), model.len());
            prop_assert!(set.iter().eq(model.iter().copied()));
            prop_assert_eq!(&set, &model.iter().copied().collect::<RowSet>());
            let half: RowSet = model.iter().copied().step_by(2).collect();
            prop_assert_eq!(set.intersection(&half), half.clone());
            prop_assert_eq!(half.intersection(&set), half);
        }
    }
}
