use std::{fmt, path::Path, sync::Arc};

use trefoil_core::{
    Analyzer, IndexEntry, IndexInput, Indexer, Result, RetrieverId, RowId, Seq, map_in_parallel,
};

use crate::{
    KeywordConfig, KeywordRetriever,
    index::{KeywordIndex, backend},
    writer::Writer,
};

/// Bytes of an index that a writer checks as a whole when it opens it: what takes a millisecond.
const CHECKED_AT_OPENING: u64 = 4 << 20;

/// The write half of the keyword retriever: the only writer of its directory.
pub struct KeywordIndexer {
    index: KeywordIndex,
    writer: Writer,
    config: KeywordConfig,
    committed: Seq,
}

impl KeywordIndexer {
    /// Opens the index in `dir`, or makes an empty one there. An index of up to 4 MiB is checked
    /// as a whole; of a larger one each block is checked before it is first read
    /// ([`damaged`](Indexer::damaged)).
    ///
    /// # Errors
    /// [`Error::Corrupt`](trefoil_core::Error::Corrupt) if a file is found to be damaged, or the index was built by another
    /// version or with another analyser: delete the directory and build it again.
    /// [`Error::Locked`](trefoil_core::Error::Locked) if it has a writer,
    /// [`Error::InvalidConfig`](trefoil_core::Error::InvalidConfig) for a setting outside its range.
    pub fn open(dir: &Path, analyzer: Arc<dyn Analyzer>, config: &KeywordConfig) -> Result<Self> {
        config.validate()?;
        let index = KeywordIndex::open_or_create(dir, analyzer)?;
        index.check_files(CHECKED_AT_OPENING)?;
        let writer = Writer::begin(&index.index, dir)?;
        let committed = index.committed()?;
        Ok(Self { index, writer, config: *config, committed })
    }

    /// A reader of the last commit.
    ///
    /// # Errors
    /// The commit cannot be read.
    pub fn retriever(&self) -> Result<KeywordRetriever> {
        KeywordRetriever::over(self.index.clone(), &self.config)
    }
}

impl Indexer for KeywordIndexer {
    fn id(&self) -> RetrieverId {
        RetrieverId::KEYWORD
    }

    fn inputs(&self) -> &[IndexInput] {
        &[IndexInput::Text]
    }

    fn committed(&self) -> Seq {
        self.committed
    }

    fn add(&mut self, entries: &[IndexEntry]) -> Result<()> {
        let KeywordIndex { fields, analyzer, .. } = &self.index;
        let documents: Vec<_> = map_in_parallel(entries, |entry| {
            (entry.unit.row(), fields.document(analyzer.as_ref(), &entry.unit))
        });
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
        commit.set_payload(&self.index.metadata.at(seq).encode());
        #[cfg(feature = "failpoints")]
        fail::fail_point!("keyword-prepared");
        commit.commit().map_err(backend("commit"))?;
        #[cfg(feature = "failpoints")]
        fail::fail_point!("keyword-committed");
        self.committed = seq;
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        self.writer.roll_back()?;
        self.writer.delete_all_documents().map_err(backend("clear the index"))?;
        self.commit(Seq::ZERO)?;
        self.index.call_sound();
        Ok(())
    }

    fn damaged(&self) -> bool {
        self.index.is_damaged()
    }

    fn compact(&mut self) -> Result<()> {
        self.writer.rewrite()?;
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
