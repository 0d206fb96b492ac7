//! An index as files and rows: what checking, copying and repairing it need. No question is
//! asked of it, and no model is needed.

use std::{fmt, io::Read};

use crate::{IndexEntry, IndexInput, Indexer, Result, RetrieverId, RowId, Seq};

/// An index on disk, whatever made its vectors. Safe while its writer runs.
///
/// One whole index of a retriever's own, in a file that is replaced at each commit:
///
/// ```
/// use std::{collections::BTreeMap, fs, path::PathBuf};
/// use trefoil_core::{
///     Contents, Digest, Error, IndexEntry, IndexFile, IndexFiles, IndexInput, IndexedUnit, Indexer,
///     Part, Result, RetrieverId, RowId, Seq,
/// };
///
/// type Rows = BTreeMap<RowId, usize>;
///
/// /// How long the text of each row is, as JSON.
/// #[derive(Clone, Debug)]
/// struct Lengths(RetrieverId, PathBuf);
///
/// fn length(entry: &IndexEntry) -> usize {
///     match &entry.unit {
///         IndexedUnit::Chunk(stored) => stored.chunk.text.len(),
///         IndexedUnit::Memory(unit, _) => unit.text.len(),
///     }
/// }
///
/// impl Lengths {
///     fn file(&self) -> PathBuf {
///         self.1.join("lengths.json")
///     }
///     fn read(&self) -> Result<Option<(Seq, Rows)>> {
///         let Ok(text) = fs::read_to_string(self.file()) else { return Ok(None) };
///         serde_json::from_str(&text).map(Some).map_err(|error| Error::Corrupt {
///             part: Part::Index(self.0),
///             reason: error.to_string(),
///         })
///     }
/// }
///
/// impl IndexFiles for Lengths {
///     fn id(&self) -> RetrieverId {
///         self.0
///     }
///     fn inputs(&self) -> &[IndexInput] {
///         &[IndexInput::Text]
///     }
///     fn contents(&self) -> Result<Option<Contents>> {
///         let digest = |(row, length)| (row, Digest::new().with(&usize::to_le_bytes(length)).get());
///         Ok(self.read()?.map(|(seq, rows)| {
///             Contents { seq, rows: rows.into_iter().map(digest).collect() }
///         }))
///     }
///     fn digest(&self, entry: &IndexEntry) -> Result<Option<u64>> {
///         Ok(Some(Digest::new().with(&length(entry).to_le_bytes()).get()))
///     }
///     fn files(&self) -> Result<Vec<IndexFile>> {
///         let Ok(file) = fs::File::open(self.file()) else { return Ok(Vec::new()) };
///         Ok(vec![IndexFile { name: "lengths.json".to_owned(), content: Box::new(file) }])
///     }
///     fn indexer(&self) -> Result<Box<dyn Indexer>> {
///         let (seq, rows) = self.read()?.unwrap_or_default();
///         Ok(Box::new(Writer { files: self.clone(), seq, rows }))
///     }
/// }
///
/// #[derive(Debug)]
/// struct Writer {
///     files: Lengths,
///     seq: Seq,
///     rows: Rows,
/// }
///
/// impl Indexer for Writer {
///     fn id(&self) -> RetrieverId {
///         self.files.0
///     }
///     fn inputs(&self) -> &[IndexInput] {
///         &[IndexInput::Text]
///     }
///     fn committed(&self) -> Seq {
///         self.seq
///     }
///     fn add(&mut self, entries: &[IndexEntry]) -> Result<()> {
///         self.rows.extend(entries.iter().map(|one| (one.unit.row(), length(one))));
///         Ok(())
///     }
///     fn remove(&mut self, rows: &[RowId]) -> Result<()> {
///         self.rows.retain(|row, _| !rows.contains(row));
///         Ok(())
///     }
///     fn commit(&mut self, seq: Seq) -> Result<()> {
///         let (file, new) = (self.files.file(), self.files.1.join("lengths.new"));
///         fs::write(&new, serde_json::json!((seq, &self.rows)).to_string())
///             .and_then(|()| fs::File::open(&new)?.sync_all())
///             .and_then(|()| fs::rename(&new, &file))
///             .map_err(|error| Error::io("write", &file, error))?;
///         self.seq = seq;
///         Ok(())
///     }
///     fn clear(&mut self) -> Result<()> {
///         self.rows.clear();
///         self.commit(Seq::ZERO)
///     }
///     fn compact(&mut self) -> Result<()> {
///         Ok(()) // Each commit rewrites the file.
///     }
/// }
///
/// # let folder = std::env::temp_dir().join(format!("trefoil-lengths-{}", std::process::id()));
/// # fs::create_dir_all(&folder).unwrap();
/// let lengths = Lengths(RetrieverId::new("lengths")?, folder.clone());
/// assert_eq!(lengths.contents()?, None);
/// lengths.indexer()?.commit(Seq::new(4))?;
/// assert_eq!(lengths.contents()?.unwrap().seq, Seq::new(4));
/// # fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), Error>(())
/// ```
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
