use std::path::{Path, PathBuf};

use trefoil_core::{Error, IndexEntry, IndexInput, Indexer, Result, RetrieverId, RowId, Seq};

use crate::index::{evidence::Evidence, format};

/// The write half of the graph retriever. One at a time: the caller holds the lock.
///
/// It keeps what each chunk says, and writes all of it at each commit; the graph is made
/// from that when it is read, so that no order of changes can be seen in it.
#[derive(Debug)]
pub struct GraphIndexer {
    dir: PathBuf,
    evidence: Evidence,
    committed: Seq,
}

impl GraphIndexer {
    /// Opens the index in `dir`, or makes an empty one.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is damaged, [`Error::UnsupportedFormat`] if a newer version
    /// wrote it, [`Error::Io`].
    pub fn open(dir: &Path) -> Result<Self> {
        trefoil_core::create_private_folder(dir)
            .map_err(|error| Error::io("create", dir, error))?;
        let (committed, evidence) = match format::read(dir)? {
            Some((header, packed)) => (header.seq(), packed.into()),
            None => (Seq::ZERO, Evidence::default()),
        };
        Ok(Self { dir: dir.to_owned(), evidence, committed })
    }
}

impl Indexer for GraphIndexer {
    fn id(&self) -> RetrieverId {
        RetrieverId::GRAPH
    }

    fn inputs(&self) -> &[IndexInput] {
        &[IndexInput::Extraction]
    }

    fn committed(&self) -> Seq {
        self.committed
    }

    fn add(&mut self, entries: &[IndexEntry]) -> Result<()> {
        for entry in entries {
            self.evidence.put(entry.unit.row(), &entry.extraction);
        }
        Ok(())
    }

    fn remove(&mut self, rows: &[RowId]) -> Result<()> {
        for &row in rows {
            self.evidence.remove(row);
        }
        Ok(())
    }

    fn commit(&mut self, seq: Seq) -> Result<()> {
        let packed = self.evidence.pack();
        format::write(&self.dir, seq, &packed)?;
        self.evidence.thin_out(packed);
        self.committed = seq;
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        self.evidence = Evidence::default();
        self.commit(Seq::ZERO)
    }

    /// Every commit writes all of it.
    fn compact(&mut self) -> Result<()> {
        self.commit(self.committed)
    }
}
