use std::{
    ops::{Deref, DerefMut},
    path::Path,
};

use tantivy::{
    Index, IndexWriter,
    index::SegmentId,
    indexer::{IndexWriterOptions, LogMergePolicy, NoMergePolicy},
};
use trefoil_core::Result;

use crate::index::{backend, not_locked};

/// Bytes of postings held in memory before a segment is written; tantivy's least is 15 MB.
const MEMORY: usize = 32 << 20;

/// Share of deleted documents above which a segment is rewritten, so that no search reads many
/// postings in vain.
const DELETED_SHARE: f32 = 0.2;

/// Segments of fewer documents are merged as if they had so many. At tantivy's 10,000, every
/// eighth commit of one document rewrote up to that many.
const LEAST_LAYER: u32 = 1_000;

/// Tantivy's writer, whose merges are over when it is dropped: the next one has the directory
/// to itself.
pub(crate) struct Writer(Option<IndexWriter>);

impl Writer {
    /// Becomes the only writer of `index`, which is in `dir`.
    pub(crate) fn begin(index: &Index, dir: &Path) -> Result<Self> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(MEMORY)
            .build();
        let writer = Self(Some(index.writer_with_options(options).map_err(not_locked(dir))?));
        // A commit that a crash cut off would find its own files in the way: their names are
        // given again from where the last commit stands.
        writer.garbage_collect_files().wait().map_err(backend("remove what a crash left"))?;
        // A new writer would give its first operation the number of the last commit. A merge of
        // segments of which some have deletions of that commit takes it for done on those, and
        // a deletion is lost. No operations take a number too.
        writer.run(Vec::new()).map_err(backend("begin to write"))?;
        writer.merge_as_needed();
        Ok(writer)
    }

    /// Takes back what is not committed.
    pub(crate) fn roll_back(&mut self) -> Result<()> {
        self.rollback().map_err(backend("drop what is not committed"))?;
        self.merge_as_needed();
        Ok(())
    }

    /// Makes one segment of all that is committed, in which nothing is left of what was deleted.
    ///
    /// A segment without deletions is rewritten too: nothing tells whether it was made before
    /// its deletions were applied.
    pub(crate) fn rewrite(&mut self) -> Result<()> {
        self.set_merge_policy(Box::new(NoMergePolicy));
        let rewritten = self.merge_all();
        self.merge_as_needed();
        rewritten.map_err(backend("rewrite the segments"))
    }

    fn merge_all(&mut self) -> tantivy::Result<()> {
        let mut segments = self.segments()?;
        while !segments.is_empty() {
            let Err(error) = self.merge(&segments).wait() else { break };
            // Merges that were begun before may have taken segments away from this one.
            let now = self.segments()?;
            if now == segments {
                return Err(error);
            }
            segments = now;
        }
        Ok(())
    }

    /// The segments of the last commit.
    fn segments(&self) -> tantivy::Result<Vec<SegmentId>> {
        // They are listed in a file, which is written last when a merge ends. What is asked for
        // here is done after that.
        self.garbage_collect_files().wait()?;
        self.index().searchable_segment_ids()
    }

    fn merge_as_needed(&self) {
        let mut policy = LogMergePolicy::default();
        policy.set_del_docs_ratio_before_merge(DELETED_SHARE);
        policy.set_min_layer_size(LEAST_LAYER);
        self.set_merge_policy(Box::new(policy));
    }
}

impl Deref for Writer {
    type Target = IndexWriter;

    #[expect(clippy::expect_used, reason = "it is taken when this is dropped and never before")]
    fn deref(&self) -> &IndexWriter {
        self.0.as_ref().expect("a writer that is in use")
    }
}

impl DerefMut for Writer {
    #[expect(clippy::expect_used, reason = "it is taken when this is dropped and never before")]
    fn deref_mut(&mut self) -> &mut IndexWriter {
        self.0.as_mut().expect("a writer that is in use")
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(writer) = self.0.take() {
            writer.set_merge_policy(Box::new(NoMergePolicy));
            // What could not be merged is as it was before.
            _ = writer.wait_merging_threads();
        }
    }
}
