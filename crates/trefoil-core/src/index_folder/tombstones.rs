//! Which ordinals of a segment are deleted.

/// A bitmap of ordinals, as long as its last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tombstones {
    words: Vec<u64>,
    len: usize,
}

impl Tombstones {
    /// Of half-open ranges that lie below `limit`; `None` if one does not.
    pub fn of(ranges: &[[u32; 2]], limit: usize) -> Option<Self> {
        let mut tombstones = Self::default();
        for &[start, end] in ranges {
            if end as usize > limit {
                return None;
            }
            for ordinal in start..end {
                tombstones.insert(ordinal as usize);
            }
        }
        Some(tombstones)
    }

    /// The same as maximal half-open ranges, ascending.
    pub fn ranges(&self) -> Vec<[u32; 2]> {
        let mut ranges: Vec<[u32; 2]> = Vec::new();
        for ordinal in self.iter() {
            match ranges.last_mut() {
                Some([_, end]) if *end == ordinal => *end += 1,
                _ => ranges.push([ordinal, ordinal + 1]),
            }
        }
        ranges
    }

    /// True if the vector is deleted.
    #[inline]
    pub fn contains(&self, ordinal: usize) -> bool {
        self.words.get(ordinal / 64).is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }

    /// Deletes a vector.
    pub fn insert(&mut self, ordinal: usize) {
        let (word, bit) = (ordinal / 64, 1 << (ordinal % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        if let Some(word) = self.words.get_mut(word) {
            self.len += usize::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// True if none is deleted.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many are deleted.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The ordinals that were deleted since `earlier`.
    pub fn since(&self, earlier: &Self) -> impl Iterator<Item = usize> {
        self.iter().map(|ordinal| ordinal as usize).filter(|&place| !earlier.contains(place))
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).step_by(64).zip(&self.words).flat_map(|(first, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| first + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_beyond_the_segment_are_refused() {
        assert!(Tombstones::of(&[[3, 10]], 10).is_some());
        assert!(Tombstones::of(&[[3, 11]], 10).is_none());
        assert!(Tombstones::of(&[[0, u32::MAX]], 10).is_none());
    }

    proptest! {
        #[test]
        fn tombstones_are_a_set_that_survives_being_written(
            ordinals in prop::collection::btree_set(0..300_usize, 0..100)
        ) {
            let mut tombstones = Tombstones::default();
            for &ordinal in ordinals.iter().chain(&ordinals) {
                tombstones.insert(ordinal);
            }
            prop_assert_eq!(tombstones.len(), ordinals.len());
            let found: BTreeSet<usize> = (0..400).filter(|&o| tombstones.contains(o)).collect();
            prop_assert_eq!(&found, &ordinals);
            let ranges = tombstones.ranges();
            prop_assert!(ranges.windows(2).all(|pair| pair[0][1] < pair[1][0]));
            prop_assert_eq!(Tombstones::of(&ranges, 300), Some(tombstones));
        }
    }
}
