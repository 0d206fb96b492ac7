use std::{fmt, path::Path, sync::Arc};

use rayon::prelude::*;
use tantivy::{
    IndexWriter,
    index::SegmentId,
    indexer::{IndexWriterOptions, LogMergePolicy},
};
use trefoil_core::{
    Analyzer, IndexEntry, IndexInput, Indexer, Result, Retriever, RowId, Seq, Strategy,
};

use crate::{
    KeywordConfig, KeywordRetriever,
    index::{KeywordIndex, backend, not_locked},
};

/// Bytes of postings held in memory before a segment is written; tantivy's least is 15 MB.
const WRITER_MEMORY: usize = 32 << 20;

/// Share of deleted documents above which a segment is rewritten, so that they bend
/// the statistics of BM25 no further.
const DELETED_SHARE: f32 = 0.2;

/// The write half of the keyword leg: the only writer of its directory.
pub struct KeywordIndexer {
    index: KeywordIndex,
    writer: IndexWriter,
    retriever: KeywordRetriever,
    committed: Seq,
}

impl KeywordIndexer {
    /// Opens the index in `dir`, or makes an empty one there. Every file is read once
    /// and its checksum compared.
    ///
    /// # Errors
    /// [`Error::Corrupt`](trefoil_core::Error::Corrupt) if a file is damaged, or the index was built by another version or
    /// with another analyser: delete the directory and build it again.
    /// [`Error::Locked`](trefoil_core::Error::Locked) if it has a writer,
    /// [`Error::InvalidConfig`](trefoil_core::Error::InvalidConfig) for a setting outside its range.
    pub fn open(dir: &Path, analyzer: Arc<dyn Analyzer>, config: &KeywordConfig) -> Result<Self> {
        config.validate()?;
        let index = KeywordIndex::open_or_create(dir, analyzer)?;
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_MEMORY)
            .build();
        let writer = index.index.writer_with_options(options).map_err(not_locked(dir))?;
        // A commit that a crash cut off would find its own files in the way: their names are
        // given anew from where the last commit stands.
        writer.garbage_collect_files().wait().map_err(backend("remove what a crash left"))?;
        // A new writer would give its first operation the number of the last commit. A merge of
        // segments of which some have deletions of that commit takes it for done on those, and
        // a deletion is lost. No operations take a number too.
        writer.run(Vec::new()).map_err(backend("begin to write"))?;
        let mut merging = LogMergePolicy::default();
        merging.set_del_docs_ratio_before_merge(DELETED_SHARE);
        writer.set_merge_policy(Box::new(merging));
        let committed = index.committed()?;
        let retriever = KeywordRetriever::over(index.clone(), config)?;
        Ok(Self { index, writer, retriever, committed })
    }

    /// A reader of this index. All clones show the same commit.
    pub fn retriever(&self) -> KeywordRetriever {
        self.retriever.clone()
    }
}

impl KeywordIndexer {
    /// The segments of the last commit.
    fn segments(&self) -> Result<Vec<SegmentId>> {
        self.index.index.searchable_segment_ids().map_err(backend("list the segments"))
    }
}

impl Indexer for KeywordIndexer {
    fn strategy(&self) -> Strategy {
        Strategy::Keyword
    }

    fn input(&self) -> IndexInput {
        IndexInput::Text
    }

    fn committed(&self) -> Seq {
        self.committed
    }

    fn add(&mut self, entries: &[IndexEntry]) -> Result<()> {
        let KeywordIndex { fields, analyzer, .. } = &self.index;
        let documents: Vec<_> = entries
            .par_iter()
            .map(|entry| (entry.unit.row(), fields.document(analyzer.as_ref(), &entry.unit)))
            .collect();
        for (row, document) in documents {
            self.writer.delete_term(fields.row_term(row));
            self.writer.add_document(document).map_err(backend("add a passage"))?;
        }
        Ok(())
    }

    fn remove(&mut self, rows: &[RowId]) -> Result<()> {
        for &row in rows {
            self.writer.delete_term(self.index.fields.row_term(row));
        }
        Ok(())
    }

    fn commit(&mut self, seq: Seq) -> Result<()> {
        let mut commit = self.writer.prepare_commit().map_err(backend("prepare a commit"))?;
        commit.set_payload(&self.index.stamp.at(seq).encode());
        #[cfg(feature = "failpoints")]
        fail::fail_point!("keyword-prepared");
        commit.commit().map_err(backend("commit"))?;
        #[cfg(feature = "failpoints")]
        fail::fail_point!("keyword-committed");
        self.committed = seq;
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        self.writer.rollback().map_err(backend("drop what is not committed"))?;
        self.writer.delete_all_documents().map_err(backend("clear the index"))?;
        self.commit(Seq::ZERO)
    }

    fn compact(&mut self) -> Result<()> {
        // A segment without deletions is written anew too: nothing tells whether it was made
        // before its deletions were applied.
        let mut segments = self.segments()?;
        while !segments.is_empty() {
            let Err(error) = self.writer.merge(&segments).wait() else { break };
            // The one thread that merges had something to do before: then the segments are
            // others by now, and are merged as they are.
            let now = self.segments()?;
            if now == segments {
                return Err(backend("rewrite the segments")(error));
            }
            segments = now;
        }
        // The merge has kept the stamp; readers let go of the old files when they look again.
        self.retriever.refresh()?;
        self.writer.garbage_collect_files().wait().map_err(backend("remove old files"))?;
        Ok(())
    }
}

impl fmt::Debug for KeywordIndexer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeywordIndexer")
            .field("index", &self.index)
            .field("committed", &self.committed)
            .finish_non_exhaustive()
    }
}
