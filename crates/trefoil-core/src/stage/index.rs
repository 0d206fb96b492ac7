use std::{any::Any, fmt::Debug};

use crate::{Extraction, IndexedUnit, Result, RetrieverId, RowId, Seq};

/// Which kind of change an index feeds on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexInput {
    /// The text of a chunk.
    Text,
    /// The embedding of a chunk.
    Vector,
    /// What a chunk mentions.
    Extraction,
}

/// One line of the store's change log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A row's text is new or changed.
    Text(RowId),
    /// A row's embedding is new or changed.
    Vector(RowId),
    /// What a row mentions is new or changed.
    Extraction(RowId),
    /// A row is gone.
    Removed(RowId),
}

/// What an index is given for one row.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    /// The row and what is searched of it.
    pub unit: IndexedUnit,
    /// Its unit vector; empty unless the index feeds on vectors.
    pub vector: Vec<f32>,
    /// What it mentions; empty unless the index feeds on that.
    pub extraction: Extraction,
}

/// The write half of an index. Nothing is visible before `commit`.
///
/// This example keeps its rows in memory; [`IndexFiles`](crate::IndexFiles) has one on disk.
///
/// ```
/// use std::collections::BTreeMap;
/// use trefoil_core::{
///     IndexEntry, IndexInput, IndexedUnit, Indexer, Result, RetrieverId, RowId, Seq,
/// };
///
/// /// How long the text of each row is.
/// #[derive(Debug)]
/// struct Lengths {
///     id: RetrieverId,
///     pending: BTreeMap<RowId, usize>,
///     committed: (Seq, BTreeMap<RowId, usize>),
/// }
///
/// impl Indexer for Lengths {
///     fn id(&self) -> RetrieverId {
///         self.id
///     }
///     fn inputs(&self) -> &[IndexInput] {
///         &[IndexInput::Text]
///     }
///     fn committed(&self) -> Seq {
///         self.committed.0
///     }
///     fn add(&mut self, entries: &[IndexEntry]) -> Result<()> {
///         for entry in entries {
///             let length = match &entry.unit {
///                 IndexedUnit::Chunk(stored) => stored.chunk.text.len(),
///                 IndexedUnit::Memory(unit, _) => unit.text.len(),
///             };
///             self.pending.insert(entry.unit.row(), length);
///         }
///         Ok(())
///     }
///     fn remove(&mut self, rows: &[RowId]) -> Result<()> {
///         self.pending.retain(|row, _| !rows.contains(row));
///         Ok(())
///     }
///     fn commit(&mut self, seq: Seq) -> Result<()> {
///         self.committed = (seq, self.pending.clone());
///         Ok(())
///     }
///     fn clear(&mut self) -> Result<()> {
///         self.pending.clear();
///         self.commit(Seq::ZERO)
///     }
///     fn compact(&mut self) -> Result<()> {
///         Ok(()) // A map keeps nothing of what was removed.
///     }
/// }
///
/// let (id, pending, committed) = (RetrieverId::new("lengths")?, BTreeMap::new(), Default::default());
/// let mut lengths = Lengths { id, pending, committed };
/// lengths.commit(Seq::new(3))?;
/// assert_eq!(lengths.committed(), Seq::new(3));
/// # Ok::<(), trefoil_core::Error>(())
/// ```
pub trait Indexer: Debug + Send {
    /// The retriever that reads the index.
    fn id(&self) -> RetrieverId;
    /// What it is fed with, see [`Retriever::inputs`](crate::Retriever::inputs).
    fn inputs(&self) -> &[IndexInput];
    /// The last change that is durable here.
    fn committed(&self) -> Seq;
    /// Adds or replaces rows.
    fn add(&mut self, entries: &[IndexEntry]) -> Result<()>;
    /// Removes rows; unknown ones are ignored.
    fn remove(&mut self, rows: &[RowId]) -> Result<()>;
    /// Makes the writes durable as of `seq`; [`Retriever::newest`](crate::Retriever::newest) shows
    /// them. It should cost as much as what was written, whatever the size of the index: the rest
    /// is for a [`Merge`].
    fn commit(&mut self, seq: Seq) -> Result<()>;
    /// Forgets everything, durably, as if new: the first step of a rebuild. Nobody prepares a merge
    /// meanwhile.
    fn clear(&mut self) -> Result<()>;
    /// Whether it has found that what is on disk is damaged: then it is cleared and built again
    /// before anything else is done to it.
    fn damaged(&self) -> bool {
        false
    }
    /// Rewrites what holds anything that was removed, so that no file does. Nobody prepares a merge
    /// meanwhile.
    fn compact(&mut self) -> Result<()>;

    /// The next merge that keeps the index small or fast; none if nothing is to be done. There is
    /// one at a time: the one before was applied or dropped, and the files of one that was dropped
    /// may be removed.
    ///
    /// # Errors
    /// The index cannot be read.
    fn plan_merge(&mut self) -> Result<Option<Box<dyn Merge>>> {
        Ok(None)
    }

    /// Puts the files of a merge that was prepared in the place of those that they were made from,
    /// durably, without what was removed meanwhile. One that was planned before the index was last
    /// cleared or compacted changes nothing.
    ///
    /// # Errors
    /// It cannot be put in place; the index is as it was.
    fn apply_merge(&mut self, _merge: Box<dyn Merge>) -> Result<()> {
        Ok(())
    }
}

/// Slow work on the files of an index, such as merging of its segments. It is planned and applied
/// by the [`Indexer`], whose caller holds a lock, and prepared in between without one: rows are
/// added, removed, committed and searched meanwhile.
pub trait Merge: Any + Debug + Send {
    /// Writes the new files from files that never change, and nothing that a reader looks at.
    /// False if it ended early because it was stopped, which it asks often.
    ///
    /// # Errors
    /// A file cannot be read or written.
    fn prepare(&mut self, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<bool>;
}

/// Merges until nothing is left to be merged, for whoever has the index alone. False if it was
/// stopped before.
///
/// # Errors
/// Those of the merges; what was done before is done.
pub fn merge_all(
    indexer: &mut dyn Indexer,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<bool> {
    while let Some(mut merge) = indexer.plan_merge()? {
        if !merge.prepare(is_stopped)? {
            return Ok(false);
        }
        indexer.apply_merge(merge)?;
    }
    Ok(true)
}
