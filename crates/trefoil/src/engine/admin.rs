//! Care of an index: checking, repairing, copying, erasing.

use std::{ops::ControlFlow, path::Path};

use trefoil_core::{Error, Result, RowId};

use crate::{
    admin::{
        doctor::{self, DoctorOptions, HealthReport},
        erase::ForgetReceipt,
        export,
        repair::{self, RepairReport},
        snapshot::Snapshot,
        verify::{self, Verification},
    },
    config::{EngineConfig, Model},
    engine::Engine,
    index::forget_queue::Forget,
    memory::MemoryCollection,
    progress::{OnProgress, Progress},
};

impl Engine {
    /// Checks the index in `dir`, or the snapshot file in its place: every checksum of every file, every rule of the store, and
    /// that each index holds what the store says, each row once and nothing else. No model is
    /// needed. Takes time proportional to the index and changes nothing; while another process writes, what
    /// it does meanwhile is no fault.
    ///
    /// # Errors
    /// [`Error::IndexMissing`], [`Error::OlderFormat`], or [`Error::Io`] if a file cannot be
    /// read at all; damage is a finding and no error.
    pub fn verify(dir: impl AsRef<Path>) -> Result<Verification> {
        verify::verify(dir.as_ref(), &EngineConfig::default())
    }

    /// Repairs the index in `dir`. What is damaged moves into a folder `damaged-N` below it.
    /// A damaged index is rebuilt from the store. Of a damaged store every row that can be
    /// read, and that has its checksum, goes into a new one; the files that lost something are
    /// named, and are read again by the next ingest of their folder. A sound index is left
    /// alone. Vectors of an index that is rebuilt without its model wait for the next
    /// engine that has it.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process writes to it, [`Error::Corrupt`] if nothing at all
    /// can be read of the store, [`Error::UnsupportedFormat`] if a newer version wrote it; then
    /// nothing was changed.
    pub fn repair(dir: impl AsRef<Path>, config: &EngineConfig) -> Result<RepairReport> {
        repair::repair(dir.as_ref(), config)
    }

    /// Writes the index in `dir` into the new file `to`: one state of it, also while another process writes,
    /// checked before it is written. The file is there complete, or not at all. It opens with
    /// [`Engine::open_read_only`], and [`Engine::import`] makes an index of it. As long as
    /// nothing is written to an index and no index is behind its store, every export of it is
    /// the same file, with the same id.
    ///
    /// Needs as much room again next to `to` while it runs.
    ///
    /// # Errors
    /// [`Error::IndexMissing`], [`Error::Corrupt`] if the index is not sound,
    /// [`Error::Io`] if `to` is there already or cannot be written.
    pub fn export(dir: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<Snapshot> {
        Self::export_with(dir, to, |_| ControlFlow::Continue(()))
    }

    /// The same; `on_progress` is told how many bytes of the snapshot are written, before each of
    /// its parts, and of nothing, before each file that is copied until then. Where it breaks,
    /// there is no snapshot.
    ///
    /// # Errors
    /// Those of [`Engine::export`], and [`Error::Cancelled`].
    pub fn export_with(
        dir: impl AsRef<Path>,
        to: impl AsRef<Path>,
        mut on_progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Snapshot> {
        let config = EngineConfig::default();
        export::export(dir.as_ref(), to.as_ref(), &config, &mut on_progress)
    }

    /// Makes an index in the new directory `dir` of the snapshot file `from`. Everything is
    /// checked before anything is put in place; a directory that holds something is refused.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the snapshot is damaged or its index is not sound,
    /// [`Error::UnsupportedFormat`] if a newer version wrote it, [`Error::Io`] if `dir` is there.
    pub fn import(from: impl AsRef<Path>, dir: impl AsRef<Path>) -> Result<Snapshot> {
        export::import(from.as_ref(), dir.as_ref(), &EngineConfig::default())
    }

    /// Measures the health of the index in `dir`. The same sample is taken every time
    /// as long as the index is the same. Changes nothing.
    ///
    /// # Errors
    /// [`Error::IndexMissing`], or those of a search.
    pub fn doctor(
        dir: impl AsRef<Path>,
        config: EngineConfig,
        options: &DoctorOptions,
    ) -> Result<HealthReport> {
        let dir = dir.as_ref();
        let (engine, other_model) = match Self::open_read_only(dir, config.clone()) {
            Err(error @ Error::ModelMismatch { .. }) => {
                let without = EngineConfig { model: Model::None, ..config };
                (Self::open_read_only(dir, without)?, Some(error.to_string()))
            }
            opened => (opened?, None),
        };
        doctor::examine(&engine.state, &|query| engine.search(query), options, other_model)
    }

    /// Forgets the document at `path` with everything that came from it, so that no file holds
    /// 16 bytes of it in a row of which no live text has 15. Costs as much as writing all of the
    /// index again. A document that is not there leaves nothing to remove. Where the store is
    /// shared, the node that leads does it, whichever node is asked, and the receipt is that of its
    /// files. It also waits for the other nodes that are there, but not for long
    /// ([`SharedStore::forget_wait`](crate::cluster::SharedStore::forget_wait)), and the receipt
    /// names those that are not rid of it, and the places that no node reaches.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process reads and does not let go: the document is gone by
    /// then, and the files are cleaned by the next call or when the engine is opened again.
    pub fn forget_document(&self, path: &str) -> Result<ForgetReceipt> {
        self.forget_document_with(path, |_| ControlFlow::Continue(()))
    }

    /// The same; once every file is written again here, `on_progress` is told how many bytes of them
    /// are searched, before each file. Where it breaks, nothing is proved: the next call that
    /// forgets something searches for this document too.
    ///
    /// # Errors
    /// Those of [`Engine::forget_document`], and [`Error::Cancelled`]; the document is gone by
    /// then.
    pub fn forget_document_with(
        &self,
        path: &str,
        mut on_progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<ForgetReceipt> {
        self.forget(&Forget::Document(path.to_owned()), &mut on_progress)
    }

    fn forget(&self, what: &Forget, on_progress: &mut OnProgress<'_>) -> Result<ForgetReceipt> {
        let receipt = self.state.forget(what, on_progress)?;
        self.wake();
        Ok(receipt)
    }
}

impl MemoryCollection<'_> {
    /// Forgets units with everything that was made from them, as
    /// [`Engine::forget_document`] does a document.
    ///
    /// # Errors
    /// As [`Engine::forget_document`].
    pub fn forget_units(&self, rows: &[RowId]) -> Result<ForgetReceipt> {
        self.forget(&Forget::Units(rows.to_vec()))
    }

    /// Forgets every unit that speaks of `subject`, the observations that claims about it come
    /// from, and everything that was made from those.
    ///
    /// # Errors
    /// As [`Engine::forget_document`].
    pub fn forget_subject(&self, subject: &str) -> Result<ForgetReceipt> {
        self.forget(&Forget::Subject(subject.to_owned()))
    }

    fn forget(self, what: &Forget) -> Result<ForgetReceipt> {
        self.engine.forget(what, &mut |_| ControlFlow::Continue(()))
    }
}
