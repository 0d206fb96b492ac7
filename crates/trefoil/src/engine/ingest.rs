//! What an engine takes in, and what it removes.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use trefoil_core::{Document, Metadata, Result};

use crate::{
    engine::Engine,
    ingest::pipeline::{IngestOptions, Ingested},
    progress::Progress,
};

impl Engine {
    /// Indexes the file or folder at `path`, and forgets what is gone from below it.
    /// Unchanged files cost nothing. What cannot be read, or not be looked at, is reported in
    /// [`Ingested::skipped`], and what the index has of it stays.
    ///
    /// # Errors
    /// [`Error::Io`](trefoil_core::Error::Io) if `path` cannot be looked at and the index has
    /// nothing of it.
    pub fn ingest_path(&self, path: impl AsRef<Path>) -> Result<Ingested> {
        self.ingest_paths(&[path.as_ref().to_owned()], IngestOptions::default(), |_| {
            ControlFlow::Continue(())
        })
    }

    /// The same for several paths, telling how many files it has looked at, before each group of them. Where
    /// `on_progress` breaks, what was read by then is indexed, and what is left is not: the next
    /// ingest of the paths takes it up.
    ///
    /// # Errors
    /// As [`Engine::ingest_path`].
    pub fn ingest_paths(
        &self,
        paths: &[PathBuf],
        allowed: IngestOptions,
        on_progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Ingested> {
        self.state.ingest_paths(paths, allowed, on_progress, || self.wake())
    }

    /// Indexes documents from memory; one with the path of another replaces it.
    pub fn ingest(&self, documents: &[Document]) -> Result<Ingested> {
        self.ingest_with(documents, |_| ControlFlow::Continue(()))
    }

    /// The same, telling how many documents are stored, before each group of them. Where
    /// `on_progress` breaks, what was stored by then is indexed, and the rest is not.
    pub fn ingest_with(
        &self,
        documents: &[Document],
        on_progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Ingested> {
        self.state.ingest(documents, on_progress, || self.wake())
    }

    /// Puts the fields of `patch` into the metadata of the documents at exactly these paths; null
    /// takes a field out. Nothing is cut or embedded again. How many of the documents there were.
    /// The next ingest of a document brings the metadata that it has itself.
    ///
    /// # Errors
    /// [`Error::InvalidField`](trefoil_core::Error::InvalidField) if one has too much metadata
    /// then; then nothing is changed.
    pub fn update_metadata(&self, paths: &[impl AsRef<str>], patch: &Metadata) -> Result<usize> {
        let patched = self.state.update_metadata(paths, patch)?;
        self.wake();
        Ok(patched)
    }

    /// Forgets the documents at exactly these paths. How many there were.
    pub fn remove_documents(&self, paths: &[impl AsRef<str>]) -> Result<usize> {
        let removed = self.state.remove_documents(paths)?;
        self.wake();
        Ok(removed)
    }

    /// Forgets the document at `path`, and every document below it. How many.
    pub fn remove(&self, path: &str) -> Result<usize> {
        let removed = self.state.remove(path)?;
        self.wake();
        Ok(removed)
    }
}
