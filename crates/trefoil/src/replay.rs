//! The crash rule: the store is the truth, and an index is a cache of it that knows
//! how far it has come. Ingest, recovery and rebuild are one thing: replay the rest.

use trefoil_core::{Change, Extraction, IndexEntry, IndexInput, Indexer, Result, RowId, Seq};
use trefoil_store::Store;

/// Changes applied between two looks at the log: bounds memory, about 10 MB of text and vectors.
const BATCH: usize = 2_048;

/// Brings `indexer` to the end of the store's change log, durably. True if anything changed.
pub(crate) fn replay(store: &Store, indexer: &mut dyn Indexer) -> Result<bool> {
    let end = store.seq()?;
    if indexer.committed() > end {
        // Ahead of the log: the store was restored from an older copy.
        indexer.clear()?;
    }
    let mut reached = indexer.committed();
    let mut changed = false;
    loop {
        let changes = store.changes(reached, BATCH)?;
        let Some(&(last, _)) = changes.last() else { break };
        changed |= apply(store, indexer, &changes)?;
        reached = last;
    }
    if changed {
        indexer.commit(reached)?;
    }
    Ok(changed)
}

/// True if the log holds something for an index of this input after `seq`.
pub(crate) fn lags(store: &Store, input: IndexInput, seq: Seq) -> Result<bool> {
    let mut reached = seq;
    loop {
        let changes = store.changes(reached, BATCH)?;
        let Some(&(last, _)) = changes.last() else { return Ok(false) };
        if changes.iter().any(|(_, change)| concerns(input, *change).is_some()) {
            return Ok(true);
        }
        reached = last;
    }
}

enum Step {
    Add(RowId),
    Remove(RowId),
}

fn concerns(input: IndexInput, change: Change) -> Option<Step> {
    match (change, input) {
        (Change::Removed(row), _) => Some(Step::Remove(row)),
        (Change::Text(row), IndexInput::Text)
        | (Change::Vector(row), IndexInput::Vector)
        | (Change::Extraction(row), IndexInput::Extraction) => Some(Step::Add(row)),
        (
            Change::Text(_) | Change::Vector(_) | Change::Extraction(_),
            IndexInput::Text | IndexInput::Vector | IndexInput::Extraction,
        ) => None,
    }
}

fn apply(store: &Store, indexer: &mut dyn Indexer, changes: &[(Seq, Change)]) -> Result<bool> {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for (_, change) in changes {
        match concerns(indexer.input(), *change) {
            Some(Step::Add(row)) => added.push(row),
            Some(Step::Remove(row)) => removed.push(row),
            None => {}
        }
    }
    indexer.remove(&removed)?;
    indexer.add(&entries(store, indexer.input(), &added)?)?;
    Ok(!added.is_empty() || !removed.is_empty())
}

/// What the index needs of each row; a row that is gone by now is left out.
fn entries(store: &Store, input: IndexInput, rows: &[RowId]) -> Result<Vec<IndexEntry>> {
    match input {
        IndexInput::Text => Ok(store
            .chunks(rows)?
            .into_iter()
            .map(|chunk| IndexEntry {
                chunk,
                vector: Vec::new(),
                extraction: Extraction::default(),
            })
            .collect()),
        IndexInput::Vector => {
            let mut vectors = store.cached_embeddings(rows)?;
            let present: Vec<RowId> = vectors.iter().map(|(row, _)| *row).collect();
            let chunks = store.chunks(&present)?;
            let mut entries = Vec::with_capacity(chunks.len());
            let mut vectors = vectors.drain(..);
            for chunk in chunks {
                if let Some((_, vector)) = vectors.find(|(row, _)| *row == chunk.row) {
                    entries.push(IndexEntry { chunk, vector, extraction: Extraction::default() });
                }
            }
            Ok(entries)
        }
        IndexInput::Extraction => {
            let mut extractions = store.extractions(rows)?.into_iter();
            let chunks = store.chunks(rows)?.into_iter();
            let entries = chunks.filter_map(|chunk| {
                let (_, extraction) = extractions.find(|(row, _)| *row == chunk.row)?;
                Some(IndexEntry { chunk, vector: Vec::new(), extraction })
            });
            Ok(entries.collect())
        }
    }
}
