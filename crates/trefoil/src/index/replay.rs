//! The crash rule: the store is the truth, and an index is a cache of it that knows
//! how far it has come. Ingest, recovery and rebuild are one thing: replay the rest.

use std::{collections::BTreeSet, sync::Arc};

use trefoil_core::{
    Change, Collection, Extraction, IndexEntry, IndexInput, IndexedUnit, Indexer, Result, RowId,
    Seq,
};
use trefoil_store::Store;
use trefoil_text::language_of;

/// Changes applied between two looks at the log: bounds memory, about 10 MB of text and vectors.
const BATCH: usize = 2_048;

/// Brings `indexer` to the end of its collection's change log, durably, and says up to which change
/// the log was read. Those up to `read`, which is what this said the last time, are not read again.
/// An index that finds itself damaged is built again.
pub(crate) fn replay(
    store: &Store,
    collection: Collection,
    indexer: &mut dyn Indexer,
    mut read: Seq,
) -> Result<Seq> {
    let (end, compacted) = (store.seq()?, store.log_compacted(collection)?);
    // Ahead of the log if the store was restored from an older copy; or so far behind that the log
    // has forgotten what was removed since.
    let is_foreign = indexer.committed() > end || indexer.committed() < compacted;
    if is_foreign || indexer.damaged() {
        indexer.clear()?;
        read = Seq::ZERO;
    }
    let reached = match replay_after(store, collection, indexer, read, compacted) {
        Err(error) if indexer.damaged() => {
            tracing::warn!(index = %indexer.id(), reason = error.chain(), "index damaged, rebuilding");
            indexer.clear()?;
            replay_after(store, collection, indexer, Seq::ZERO, compacted)
        }
        replayed => replayed,
    }?;
    Ok(reached.max(end))
}

/// The last change that was read.
fn replay_after(
    store: &Store,
    collection: Collection,
    indexer: &mut dyn Indexer,
    read: Seq,
    compacted: Seq,
) -> Result<Seq> {
    let mut reached = indexer.committed().max(read);
    // One that was cleared may find nothing left to read.
    let mut changed = indexer.committed() < compacted;
    loop {
        let changes = store.changes_of(collection, indexer.inputs(), reached, BATCH)?;
        let Some(&(last, _)) = changes.last() else { break };
        changed |= apply(store, collection, indexer, &changes)?;
        reached = last;
    }
    if changed {
        indexer.commit(reached.max(compacted))?;
    }
    Ok(reached)
}

/// True if the log holds something for an index of this input after `seq`.
pub(crate) fn lags(
    store: &Store,
    collection: Collection,
    inputs: &[IndexInput],
    seq: Seq,
) -> Result<bool> {
    store.has_changes(collection, inputs, seq)
}

/// The rows that an index of this input has yet to be given, or to lose, after `seq`.
pub(crate) fn changed_rows(
    store: &Store,
    collection: Collection,
    inputs: &[IndexInput],
    seq: Seq,
) -> Result<BTreeSet<RowId>> {
    let mut changed = BTreeSet::new();
    let mut reached = seq;
    loop {
        let changes = store.changes_of(collection, inputs, reached, BATCH)?;
        let Some(&(last, _)) = changes.last() else { return Ok(changed) };
        changed.extend(changes.iter().filter_map(|(_, change)| match concerns(inputs, *change)? {
            Step::Add(row) | Step::Remove(row) => Some(row),
        }));
        reached = last;
    }
}

enum Step {
    Add(RowId),
    Remove(RowId),
}

fn concerns(inputs: &[IndexInput], change: Change) -> Option<Step> {
    let (row, input) = match change {
        Change::Removed(row) => return Some(Step::Remove(row)),
        Change::Text(row) => (row, IndexInput::Text),
        Change::Vector(row) => (row, IndexInput::Vector),
        Change::Extraction(row) => (row, IndexInput::Extraction),
    };
    inputs.contains(&input).then_some(Step::Add(row))
}

fn apply(
    store: &Store,
    collection: Collection,
    indexer: &mut dyn Indexer,
    changes: &[(Seq, Change)],
) -> Result<bool> {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for (_, change) in changes {
        match concerns(indexer.inputs(), *change) {
            Some(Step::Add(row)) => added.push(row),
            Some(Step::Remove(row)) => removed.push(row),
            None => {}
        }
    }
    let entries = entries(store, collection, indexer.inputs(), &added)?;
    if entries.len() < added.len() {
        // A node that is given units up to a class only is told of a unit that it has no more by
        // its change alone.
        let found: BTreeSet<RowId> =
            units(store, collection, &added)?.iter().map(IndexedUnit::row).collect();
        removed.extend(added.iter().filter(|row| !found.contains(row)));
    }
    indexer.remove(&removed)?;
    indexer.add(&entries)?;
    Ok(!added.is_empty() || !removed.is_empty())
}

/// What the index needs of each row. A row that is gone by now is left out, and one of which
/// something is not there yet that the index feeds on.
pub(crate) fn entries(
    store: &Store,
    collection: Collection,
    inputs: &[IndexInput],
    rows: &[RowId],
) -> Result<Vec<IndexEntry>> {
    let vectors = if inputs.contains(&IndexInput::Vector) {
        Some(store.cached_embeddings(rows)?)
    } else {
        None
    };
    let extractions = if inputs.contains(&IndexInput::Extraction) {
        Some(store.extractions(rows)?)
    } else {
        None
    };
    // Each of these is in the order of `rows`; only the units of rows with a vector are read.
    let present: Vec<RowId> = match &vectors {
        Some(vectors) => vectors.iter().map(|(row, _)| *row).collect(),
        None => rows.to_vec(),
    };
    let (mut vectors, mut extractions) =
        (vectors.map(Vec::into_iter), extractions.map(Vec::into_iter));
    let found = units(store, collection, &present)?.into_iter();
    let entries = found.filter_map(|unit| {
        let row = unit.row();
        let vector = match &mut vectors {
            Some(vectors) => vectors.find(|(of, _)| *of == row)?.1,
            None => Vec::new(),
        };
        let extraction = match &mut extractions {
            Some(extractions) => extractions.find(|(of, _)| *of == row)?.1,
            None => Extraction::default(),
        };
        Some(IndexEntry { unit, vector, extraction })
    });
    Ok(entries.collect())
}

/// The same of rows with their vectors.
pub(crate) fn entries_with(
    store: &Store,
    collection: Collection,
    vectors: Vec<(RowId, Vec<f32>)>,
) -> Result<Vec<IndexEntry>> {
    let present: Vec<RowId> = vectors.iter().map(|(row, _)| *row).collect();
    let mut vectors = vectors.into_iter();
    let found = units(store, collection, &present)?.into_iter();
    let entries = found.filter_map(|unit| {
        let (_, vector) = vectors.find(|(row, _)| *row == unit.row())?;
        Some(IndexEntry { unit, vector, extraction: Extraction::default() })
    });
    Ok(entries.collect())
}

/// What is searched of rows of a collection, in their order.
fn units(store: &Store, collection: Collection, rows: &[RowId]) -> Result<Vec<IndexedUnit>> {
    match collection {
        Collection::Documents => {
            Ok(store.chunks(rows)?.into_iter().map(IndexedUnit::Chunk).collect())
        }
        Collection::Memory => {
            let texts = store.memory_texts(rows)?.into_iter();
            let units = texts.map(|unit| {
                let language = language_of(&unit.text);
                IndexedUnit::Memory(Arc::new(unit), language)
            });
            Ok(units.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use trefoil_core::{Document, Error, RetrieverId};

    use super::*;
    use crate::{
        config::{EngineConfig, Model},
        engine::Engine,
    };

    /// Feeds on vectors, and has never committed anything.
    #[derive(Debug)]
    struct NoVectors;

    impl Indexer for NoVectors {
        fn id(&self) -> RetrieverId {
            RetrieverId::SEMANTIC
        }
        fn inputs(&self) -> &[IndexInput] {
            &[IndexInput::Vector]
        }
        fn committed(&self) -> Seq {
            Seq::ZERO
        }
        fn add(&mut self, entries: &[IndexEntry]) -> Result<()> {
            assert!(entries.is_empty(), "there are no vectors");
            Ok(())
        }
        fn remove(&mut self, _: &[RowId]) -> Result<()> {
            Ok(())
        }
        fn commit(&mut self, seq: Seq) -> Result<()> {
            Err(Error::SearchFailed { query: seq.get().to_string(), reason: String::new() })
        }
        fn clear(&mut self) -> Result<()> {
            Ok(())
        }
        fn compact(&mut self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn changes_that_do_not_concern_an_index_are_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let config = EngineConfig { model: Model::None, ..EngineConfig::default() };
        let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
        engine.ingest(&[Document::new("a", "the walrus sleeps")]).unwrap();
        let store = &engine.state().store;
        let replayed = |read| replay(store, Collection::Documents, &mut NoVectors, read).unwrap();
        let read = replayed(Seq::ZERO);
        assert_eq!(read, store.seq().unwrap());
        assert_eq!(replayed(read), read);
        engine.ingest(&[Document::new("b", "the walrus dives")]).unwrap();
        assert!(replayed(read) > read);
    }
}
