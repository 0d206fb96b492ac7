//! Search of files for what is left of erased texts.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::Read,
    path::Path,
};

use trefoil_core::{Error, Result};

/// Bytes that a text and a file must have in common, in a row, to be a find.
const WINDOW: usize = 16;
const PART: usize = WINDOW - 1;
/// Bits of the filter that most bytes of a file do not pass: 128 KiB.
const FILTER_BITS: u32 = 20;
const BLOCK: usize = 1 << 20;

/// Every run of 16 bytes of some texts, but for those of one byte, which tell nothing, and
/// those that a live text has as well, if only up to a byte at an end: what stands in a file
/// beside a live text may be any byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remains {
    runs: HashSet<u128>,
    /// The runs without a byte at an end, and whether a live text has them.
    alive: HashMap<u128, bool>,
}

impl Remains {
    /// The runs of erased texts, in UTF-8. A text of fewer bytes has none.
    pub(crate) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut remains = Self::default();
        for text in texts {
            for run in runs::<WINDOW>(text.as_bytes()) {
                if run.to_le_bytes().iter().any(|&byte| u128::from(byte) != run & 0xFF) {
                    remains.runs.insert(run);
                    remains.alive.extend(without_an_end(run).map(|part| (part, false)));
                }
            }
        }
        remains
    }

    /// Takes away what a live text has as well.
    pub(crate) fn spare(&mut self, live: &str) {
        if !self.runs.is_empty() {
            for part in runs::<PART>(live.as_bytes()) {
                self.alive.entry(part).and_modify(|alive| *alive = true);
            }
        }
    }

    /// Looks for the runs in every byte of files. They are seen where a file holds text as it
    /// is; not inside of what is compressed or derived.
    pub(crate) fn scanner(mut self) -> Scanner {
        let is_alive = |part| self.alive.get(&part).is_some_and(|alive| *alive);
        self.runs.retain(|&run| !without_an_end(run).into_iter().any(is_alive));
        let mut filter = vec![0_u64; 1 << (FILTER_BITS - 6)];
        #[expect(clippy::iter_over_hash_type, reason = "setting bits has no order")]
        for &run in &self.runs {
            let (word, bit) = place(run);
            if let Some(word) = filter.get_mut(word) {
                *word |= bit;
            }
        }
        Scanner { runs: self.runs, filter }
    }
}

/// The runs, ready to be looked for.
#[derive(Debug)]
pub(crate) struct Scanner {
    runs: HashSet<u128>,
    filter: Vec<u64>,
}

impl Scanner {
    /// Bytes of a file, and at how many of them a run ends.
    pub(crate) fn scan(&self, path: &Path) -> Result<(u64, u64)> {
        let failed = |source| Error::io("search for erased text in", path, source);
        let mut file = File::open(path).map_err(failed)?;
        let mut block = vec![0; BLOCK];
        let (mut run, mut seen, mut hits) = (0_u128, 0_u64, 0_u64);
        loop {
            let read = file.read(&mut block).map_err(failed)?;
            let Some(bytes) = block.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
            for &byte in bytes {
                run = run >> 8 | u128::from(byte) << 120;
                seen += 1;
                hits += u64::from(seen >= WINDOW as u64 && self.knows(run));
            }
        }
        Ok((seen, hits))
    }

    fn knows(&self, run: u128) -> bool {
        let (word, bit) = place(run);
        self.filter.get(word).is_some_and(|word| word & bit != 0) && self.runs.contains(&run)
    }
}

/// Every run of `N` bytes, at most 16, the first byte lowest.
fn runs<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = u128> {
    bytes.windows(N).map(|run| run.iter().rev().fold(0, |run, &byte| run << 8 | u128::from(byte)))
}

/// A run without its last byte, and without its first.
fn without_an_end(run: u128) -> [u128; 2] {
    [run & (u128::MAX >> 8), run >> 8]
}

/// Which bit of the filter stands for a run: the high bits of its product with a large odd
/// number, over both halves (multiplicative hashing, Knuth, TAOCP 3, 6.4).
#[expect(clippy::cast_possible_truncation, reason = "the halves of the run")]
fn place(run: u128) -> (usize, u64) {
    let folded = (run as u64).rotate_left(32) ^ (run >> 64) as u64;
    let hash = folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - FILTER_BITS);
    ((hash >> 6) as usize, 1 << (hash & 63))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hits(remains: Remains, bytes: &[u8]) -> u64 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        let (seen, hits) = remains.scanner().scan(&path).unwrap();
        assert_eq!(seen, bytes.len() as u64);
        hits
    }

    #[test]
    fn a_run_is_found_wherever_it_stands() {
        let erased = Remains::of(["the walrus and the carpenter"]);
        let check = |bytes: &[u8], expected| assert_eq!(hits(erased.clone(), bytes), expected);
        check(b"", 0);
        check(b"the walrus and ", 0);
        check(b"the walrus and t", 1);
        check(b"\0\xFFthe walrus and the carpenter!", 13);
        let mut across = vec![b'.'; BLOCK - 8];
        across.extend_from_slice(b"the walrus and the");
        check(&across, 3);
    }

    #[test]
    fn what_is_alive_and_what_tells_nothing_is_no_find() {
        let mut erased = Remains::of(["the walrus and the carpenter", "----------------------"]);
        erased.spare("he said: the walrus and the others");
        assert_eq!(hits(erased.clone(), b"the walrus and the "), 0);
        assert_eq!(hits(erased.clone(), b"walrus and the carpenter"), 8, "not the first of nine");
        assert_eq!(hits(erased, b"----------------------"), 0);
    }

    proptest! {
        #[test]
        fn finds_are_those_of_a_plain_search(text in "[ab]{0,40}", live in "[ab]{0,40}", file in "[ab]{0,80}") {
            let mut erased = Remains::of([text.as_str()]);
            erased.spare(&live);
            let expected = file.as_bytes().windows(WINDOW).filter(|run| {
                let run = std::str::from_utf8(run).unwrap();
                let is_alive = live.contains(&run[1..]) || live.contains(&run[..PART]);
                text.contains(run) && !is_alive && run.contains('a') && run.contains('b')
            });
            prop_assert_eq!(hits(erased, file.as_bytes()), expected.count() as u64);
        }
    }
}
