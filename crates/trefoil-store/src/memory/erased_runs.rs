//! What is to be looked for in files after texts were erased: hashes of their runs of bytes,
//! for the texts themselves are kept nowhere.

use std::collections::{HashMap, HashSet};

/// Bytes that an erased text and a file must have in common, in a row, to be a find.
const RUN: usize = 16;
const PART: usize = RUN - 1;
/// Bits of the filter that most bytes of a file do not pass: 128 KiB.
const FILTER_BITS: u32 = 20;

/// Every run of 16 bytes of some erased texts, as a keyed hash. Runs of one byte repeated tell
/// nothing and are left out. So are those that a live text has as well, if only up to a byte at
/// an end: what stands in a file next to a live text may be any byte.
///
/// ```
/// use trefoil_store::memory::ErasedRuns;
///
/// let mut erased = ErasedRuns::new([1, 2]);
/// erased.add("the walrus and the carpenter");
/// erased.spare("he said: the walrus and the others");
/// let has = |bytes: &[u8; 16]| erased.contains(u128::from_le_bytes(*bytes));
/// assert!(has(b"nd the carpenter"));
/// assert!(!has(b"the walrus and t"), "a live text has 15 bytes of it");
/// ```
#[derive(Clone, Debug, Default)]
pub struct ErasedRuns {
    key: [u64; 2],
    runs: HashMap<u64, Ends>,
    /// One bit for some of the bits of each hash; empty as long as there is no run.
    filter: Vec<u64>,
    /// Hashes of runs without a byte at an end.
    parts: HashSet<u64>,
    /// Those of them that a live text has.
    alive: HashSet<u64>,
}

/// Hashes of a run without its last and without its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) head: u64,
    pub(crate) tail: u64,
}

impl ErasedRuns {
    /// No run yet; hashes are made with `key`.
    pub fn new(key: [u64; 2]) -> Self {
        Self { key, ..Self::default() }
    }

    /// Adds the runs of an erased text, in UTF-8. A text of fewer than 16 bytes has none.
    pub fn add(&mut self, text: &str) {
        for run in runs::<RUN>(text.as_bytes()) {
            if run.to_le_bytes().iter().any(|&byte| u128::from(byte) != run & 0xFF) {
                let [head, tail] = without_an_end(run).map(|part| self.hash(part));
                self.insert(self.hash(run), Ends { head, tail });
            }
        }
    }

    /// Leaves out what a live text has as well.
    pub fn spare(&mut self, live: &str) {
        if self.runs.is_empty() {
            return;
        }
        for part in runs::<PART>(live.as_bytes()) {
            let part = self.hash(part);
            if self.parts.contains(&part) {
                self.alive.insert(part);
            }
        }
    }

    /// Whether 16 bytes, the first one lowest, are a run of an erased text and of no live one.
    pub fn contains(&self, run: u128) -> bool {
        let hash = self.hash(run);
        let (word, bit) = place(hash);
        if self.filter.get(word).is_none_or(|word| word & bit == 0) {
            return false;
        }
        let ends = self.runs.get(&hash);
        ends.is_some_and(|ends| {
            !self.alive.contains(&ends.head) && !self.alive.contains(&ends.tail)
        })
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(crate) fn insert(&mut self, run: u64, ends: Ends) {
        self.runs.insert(run, ends);
        if self.filter.is_empty() {
            self.filter = vec![0; 1 << (FILTER_BITS - 6)];
        }
        let (word, bit) = place(run);
        if let Some(word) = self.filter.get_mut(word) {
            *word |= bit;
        }
        self.parts.extend([ends.head, ends.tail]);
    }

    /// Every run in order of its hash.
    pub(crate) fn stored(&self) -> Vec<(u64, Ends)> {
        let mut stored: Vec<(u64, Ends)> =
            self.runs.iter().map(|(&run, &ends)| (run, ends)).collect();
        stored.sort_unstable_by_key(|(run, _)| *run);
        stored
    }

    /// Folded multiplication of both halves with the key (wyhash, Wang Yi): two keyed rounds.
    #[expect(clippy::cast_possible_truncation, reason = "the halves of the run")]
    fn hash(&self, run: u128) -> u64 {
        let [first, second] = self.key;
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let low = run as u64 ^ first ^ 0xA076_1D64_78BD_642F;
        let high = (run >> 64) as u64 ^ second ^ 0xE703_7ED1_A0B4_28DB;
        fold(fold(low, high) ^ second, high.rotate_left(32) ^ low ^ 0x8EBC_6AF0_9C88_C6E3)
    }
}

/// Which bit of the filter stands for a hash.
fn place(hash: u64) -> (usize, u64) {
    let high = hash >> (64 - FILTER_BITS);
    (usize::try_from(high >> 6).unwrap_or(usize::MAX), 1 << (high & 63))
}

/// Every run of `N` bytes, at most 16, the first byte lowest.
fn runs<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = u128> {
    bytes.windows(N).map(|run| run.iter().rev().fold(0, |run, &byte| run << 8 | u128::from(byte)))
}

/// A run without its last byte, and without its first.
fn without_an_end(run: u128) -> [u128; 2] {
    [run & (u128::MAX >> 8), run >> 8]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hits(erased: &ErasedRuns, file: &[u8]) -> usize {
        runs::<RUN>(file).filter(|&run| erased.contains(run)).count()
    }

    #[test]
    fn what_is_alive_and_what_tells_nothing_is_no_find() {
        let mut erased = ErasedRuns::new([7, 8]);
        erased.add("the walrus and the carpenter");
        erased.add("----------------------");
        assert_eq!(hits(&erased, b"the walrus and "), 0);
        assert_eq!(hits(&erased, b"the walrus and the "), 4);
        erased.spare("he said: the walrus and the others");
        assert_eq!(hits(&erased, b"the walrus and the "), 0);
        assert_eq!(hits(&erased, b"walrus and the carpenter"), 8, "not the first of nine");
        assert_eq!(hits(&erased, b"----------------------"), 0);
    }

    proptest! {
        #[test]
        fn finds_are_those_of_a_plain_search(text in "[ab]{0,40}", live in "[ab]{0,40}", file in "[ab]{0,80}", key in any::<[u64; 2]>()) {
            let mut erased = ErasedRuns::new(key);
            erased.add(&text);
            erased.spare(&live);
            let expected = file.as_bytes().windows(RUN).filter(|run| {
                let run = std::str::from_utf8(run).unwrap();
                let is_alive = live.contains(&run[1..]) || live.contains(&run[..PART]);
                text.contains(run) && !is_alive && run.contains('a') && run.contains('b')
            });
            prop_assert_eq!(hits(&erased, file.as_bytes()), expected.count());
        }
    }
}
