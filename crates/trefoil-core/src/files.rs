//! An index as files and rows: what checking, copying and repairing it need. No question is
//! asked of it, and no model is needed.

use std::{fmt, io::Read};

use crate::{IndexEntry, IndexInput, Indexer, Result, RetrieverId, RowId, Seq};

/// An index on disk, whatever made its vectors. Safe beside its writer.
pub trait IndexFiles: fmt::Debug {
    /// The retriever that reads it.
    fn id(&self) -> RetrieverId;

    /// What it feeds on, as [`Retriever::inputs`](crate::Retriever::inputs) says.
    fn inputs(&self) -> &[IndexInput];

    /// The space of the vectors that it holds; none if it holds none.
    fn space(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Reads all of the last commit and compares every checksum; none if nothing was ever
    /// committed.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) for the first damage that is found.
    fn contents(&self) -> Result<Option<Contents>>;

    /// What [`Contents`] tell of a row that was indexed from `entry`; none if the index keeps
    /// nothing of it.
    ///
    /// # Errors
    /// The entry cannot be indexed.
    fn digest(&self, entry: &IndexEntry) -> Result<Option<u64>>;

    /// The files of the last commit, by name. They stay readable when the writer removes them.
    fn files(&self) -> Result<Vec<IndexFile>>;

    /// Its write half. One at a time: the caller holds the lock.
    fn indexer(&self) -> Result<Box<dyn Indexer>>;
}

/// What an index holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The change that the commit reaches.
    pub seq: Seq,
    /// Ascending by row, each with a digest of what was indexed. A row that is there twice
    /// stands here twice.
    pub rows: Vec<(RowId, u64)>,
}

/// A file of an index.
pub struct IndexFile {
    /// Its name in the directory of the index.
    pub name: String,
    /// Its bytes.
    pub content: Box<dyn Read + Send>,
}

impl fmt::Debug for IndexFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexFile").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A 64-bit digest of some parts (FNV-1a, every part after its length): tells whether two
/// things are the same where nobody means harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Of nothing.
    #[expect(clippy::new_without_default, reason = "a digest of nothing is a beginning, no value")]
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// The same with one part more.
    #[must_use]
    pub fn with(self, part: &[u8]) -> Self {
        self.bytes(&(part.len() as u64).to_le_bytes()).bytes(part)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(self.0, hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_tells_parts_and_their_borders_apart() {
        let of = |parts: &[&str]| {
            parts.iter().fold(Digest::new(), |digest, part| digest.with(part.as_bytes())).get()
        };
        let all = [of(&[]), of(&[""]), of(&["a"]), of(&["a", "b"]), of(&["ab"]), of(&["b", "a"])];
        for (n, one) in all.iter().enumerate() {
            assert!(!all[n + 1..].contains(one), "{n}");
        }
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
    }
}
