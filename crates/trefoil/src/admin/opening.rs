//! Opening of a directory: its state, brought up to date by whoever may write.

use std::{
    fs::TryLockError,
    path::Path,
    sync::{Arc, Mutex, RwLock, atomic::AtomicUsize},
};

use trefoil_core::{Collection, Error, FileLock, Result};
use trefoil_store::{Access, Store};

#[cfg(feature = "graph")]
use crate::index::typed_rows::TypedRows;
use crate::{
    background::BackgroundErrors,
    config::EngineConfig,
    index::{
        active_model::{ActiveModel, OnMismatch},
        collection::{Indexed, losses},
        open,
        read_view::{CollectionView, ReadView},
    },
    layout::LOCK,
    models,
    search::turns::Turns,
    state::State,
};

/// Searches that run at once for each core: enough that one that waits for a file, a model or a
/// thread leaves no core idle.
const SEARCHES: usize = 4;

/// Opens the index in `dir` to write, whose lock the caller has taken, and brings it up to date.
pub(crate) fn open_to_write(
    dir: &Path,
    config: EngineConfig,
    lock: FileLock,
    on_mismatch: OnMismatch,
) -> Result<State> {
    let state = open_state(dir, config, Some(lock), on_mismatch)?;
    state.extract_first()?;
    state.replay_all()?;
    state.clean_up()?;
    state.remove_other_vectors()?;
    Ok(state)
}

/// Opens the index in `dir` to read.
pub(crate) fn open_to_read(dir: &Path, config: EngineConfig) -> Result<State> {
    let state = open_state(dir, config, None, OnMismatch::Refuse)?;
    state.refresh_read_view()?;
    Ok(state)
}

fn open_state(
    dir: &Path,
    config: EngineConfig,
    lock: Option<FileLock>,
    on_mismatch: OnMismatch,
) -> Result<State> {
    let write = lock.is_some();
    let access = if write { Access::ReadWrite } else { Access::ReadOnly };
    let store = Store::open(dir, access, Arc::clone(&config.clock))?;
    let models = models::models(&config)?;
    let active_model = ActiveModel::agreed(&store, models.embedder, &config, write, on_mismatch)?;
    let generation = store.vectors_generation()?;
    let open = |collection| {
        let vectors = match &active_model.embedder {
            Some(embedder) => open::vectors(dir, collection, generation, embedder, &config, write)?,
            None => active_model.no_vectors(),
        };
        open::open(dir, collection, vectors, &config, write)
    };
    let halves = |collection| -> Result<(Indexed, CollectionView)> {
        let open::OpenIndexes { indexers, retrievers, absent } = open(collection)?;
        let lost = losses(&store, &indexers)?;
        let view = CollectionView { retrievers, absent, lost, ..CollectionView::default() };
        Ok((Indexed::new(collection, indexers, write), view))
    };
    let (memory, memory_view) = halves(Collection::Memory)?;
    let (documents, documents_view) = halves(Collection::Documents)?;
    let view = ReadView {
        documents: documents_view,
        memory: memory_view,
        embedder: active_model.embedder.clone(),
        generation,
        ..ReadView::default()
    };
    Ok(State {
        dir: dir.to_owned(),
        store,
        chunker: config.chunker.chunker(&models.counter),
        active_model: RwLock::new(active_model),
        embedded: AtomicUsize::new(0),
        errors: BackgroundErrors::default(),
        rerankers: models.rerankers,
        #[cfg(feature = "graph")]
        extractor: models.extractor,
        analyzer: Arc::clone(&config.analyzer),
        documents,
        memory,
        counter: models.counter,
        #[cfg(feature = "graph")]
        typed_rows: TypedRows::default(),
        #[cfg(feature = "graph")]
        reports: RwLock::default(),
        turns: Turns::per_core(SEARCHES),
        read_view: Mutex::new(Arc::new(view)),
        updating: Mutex::default(),
        config,
        _lock: lock,
    })
}

/// Takes the writer's lock, which the operating system frees with the process.
pub(crate) fn lock(dir: &Path) -> Result<FileLock> {
    let path = dir.join(LOCK);
    FileLock::try_take(&path).map_err(|error| match error {
        TryLockError::WouldBlock => Error::Locked { path: dir.to_owned() },
        TryLockError::Error(source) => Error::io("lock", &path, source),
    })
}
