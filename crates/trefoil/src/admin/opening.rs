//! Opening of a directory: its state, brought up to date by whoever may write.

use std::{
    fs::TryLockError,
    path::Path,
    sync::{Arc, Mutex, RwLock, atomic::AtomicUsize},
};

use trefoil_core::{Collection, Error, FileLock, Result};
use trefoil_store::{Access, Store, truth::Place};

#[cfg(feature = "graph")]
use crate::index::typed_rows::TypedRows;
use crate::{
    background::BackgroundErrors,
    config::EngineConfig,
    index::{
        active_model::{ActiveModel, OnMismatch, vectors_are_of},
        collection::{Indexed, losses},
        node::NodeState,
        open,
        read_view::{CollectionView, ReadView},
    },
    layout::LOCK,
    models,
    search::turns::Turns,
    state::State,
    store_at::StoreAt,
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
    if state.leads() {
        state.extract_first()?;
    }
    state.replay_all()?;
    if state.leads() {
        state.clean_up()?;
    } else if state.store.is_unclean()? {
        state.rewrite()?;
    }
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
    let (store, node) = open_store(dir, &config, write)?;
    let models = models::models(&config)?;
    let own_vectors = models.embedder.as_ref().map(|embedder| vectors_are_of(embedder.space()));
    // Rows are written by the node that leads only.
    let writes_rows = write && (node.is_none() || store.leads().is_some());
    let active_model =
        ActiveModel::agreed(&store, models.embedder, &config, writes_rows, on_mismatch)?;
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
        node,
        own_vectors,
        config,
        _lock: lock,
    })
}

/// Opens the store; that of a node comes as far as it can.
fn open_store(
    dir: &Path,
    config: &EngineConfig,
    write: bool,
) -> Result<(Store, Option<NodeState>)> {
    let clock = Arc::clone(&config.clock);
    let shared = match &config.store {
        StoreAt::Shared(shared) if write => shared,
        StoreAt::Shared(_) if !Store::exists(dir) => {
            return Err(Error::IndexMissing { path: dir.to_owned() });
        }
        StoreAt::Shared(_) | StoreAt::Here => {
            let access = if write { Access::ReadWrite } else { Access::ReadOnly };
            return Ok((Store::open(dir, access, clock)?, None));
        }
    };
    let store = Store::open_node(dir, Arc::clone(&shared.truth) as _, shared.times, clock)?;
    let mut lost = None;
    let followed = store.follow(&mut |what| {
        lost = what;
        // They are of rows that are void.
        Collection::ALL.into_iter().try_for_each(|one| remove_folder(&dir.join(one.name())))
    });
    let node = NodeState::new(shared.clone(), &followed, lost);
    match followed {
        // Searches go on without the database.
        Err(Error::Unavailable { .. }) if store.place()? != Place::NOTHING => {}
        Err(error) => return Err(error),
        Ok(_) if shared.may_lead => match store.lead() {
            Ok(_) | Err(Error::Unavailable { .. }) => {}
            Err(error) => return Err(error),
        },
        Ok(_) => {}
    }
    Ok((store, Some(node)))
}

fn remove_folder(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", folder, error))
        }
        _ => Ok(()),
    }
}

/// Takes the writer's lock, which the operating system frees with the process.
pub(crate) fn lock(dir: &Path) -> Result<FileLock> {
    let path = dir.join(LOCK);
    FileLock::try_take(&path).map_err(|error| match error {
        TryLockError::WouldBlock => Error::Locked { path: dir.to_owned() },
        TryLockError::Error(source) => Error::io("lock", &path, source),
    })
}
