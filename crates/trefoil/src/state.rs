//! What an engine is made of: the data that its parts share.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
};

#[cfg(feature = "graph")]
use trefoil_core::EntityExtractor;
use trefoil_core::{
    Analyzer, Chunker, Collection, Embedder, Error, FileLock, Result, TokenCounter,
};
use trefoil_store::{JobCounts, Store};

use crate::{
    background::BackgroundErrors,
    config::EngineConfig,
    index::{active_model::ActiveModel, collection::Indexed, node::NodeState, read_view::ReadView},
    models::FoundRerankers,
    search::turns::Turns,
};

/// What the engine and its worker share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) dir: PathBuf,
    pub(crate) config: EngineConfig,
    pub(crate) store: Store,
    pub(crate) chunker: Arc<dyn Chunker>,
    pub(crate) active_model: RwLock<ActiveModel>,
    /// Texts embedded since it was opened.
    pub(crate) embedded: AtomicUsize,
    /// What went wrong in the background.
    pub(crate) errors: BackgroundErrors,
    /// What reads passages with the question.
    pub(crate) rerankers: FoundRerankers,
    /// What finds the entities of a chunk; none where there is no graph.
    #[cfg(feature = "graph")]
    pub(crate) extractor: Option<Arc<dyn EntityExtractor>>,
    /// The analyser that indexed the text.
    pub(crate) analyzer: Arc<dyn Analyzer>,
    pub(crate) documents: Indexed,
    pub(crate) memory: Indexed,
    /// Counts tokens as the embedder does.
    pub(crate) counter: Arc<dyn TokenCounter>,
    #[cfg(feature = "graph")]
    pub(crate) typed_rows: crate::index::typed_rows::TypedRows,
    #[cfg(feature = "graph")]
    pub(crate) reports: RwLock<crate::graph::reports::ReportView>,
    /// How many searches run at once, up to reranking, which has turns of its own.
    pub(crate) turns: Turns,
    /// What the searches see that start now; nobody holds the lock while doing anything else.
    pub(crate) read_view: Mutex<Arc<ReadView>>,
    /// Held by whoever makes the next view: it is made from the last.
    pub(crate) updating: Mutex<()>,
    /// What it knows as a node of a store that is shared; none in a directory of its own.
    pub(crate) node: Option<NodeState>,
    /// The vectors that the configured model makes; none without a model.
    pub(crate) own_vectors: Option<String>,
    pub(crate) _lock: Option<FileLock>,
}

impl State {
    /// Whether this process may write rows.
    ///
    /// # Errors
    /// [`Error::ReadOnly`] or [`Error::NotLeading`], naming what was to be done.
    pub(crate) fn accepts_writes(&self, doing: &'static str) -> Result<()> {
        self.updates_indexes(doing)?;
        match &self.node {
            Some(node) if self.store.leads().is_none() => {
                Err(Error::NotLeading { shard: node.shared.truth.name(), doing })
            }
            _ => Ok(()),
        }
    }

    /// Whether this process brings the indexes up to date. One that does takes documents too: it
    /// writes them, or asks the node that leads to.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], naming what was to be done.
    pub(crate) fn updates_indexes(&self, doing: &'static str) -> Result<()> {
        if self.documents.is_writable() {
            return Ok(());
        }
        Err(Error::ReadOnly { path: self.dir.clone(), doing })
    }

    /// What the searches see that start now.
    pub(crate) fn view(&self) -> Arc<ReadView> {
        Arc::clone(&self.read_view.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts what is made from the view in its place, if something is, for the searches that start
    /// from then on.
    pub(crate) fn update_view(
        &self,
        make: impl FnOnce(&ReadView) -> Result<Option<ReadView>>,
    ) -> Result<()> {
        let _one_at_a_time = self.updating.lock().unwrap_or_else(PoisonError::into_inner);
        self.replace_view(make)
    }

    /// The same, unless it is being done.
    pub(crate) fn try_update_view(
        &self,
        make: impl FnOnce(&ReadView) -> Result<Option<ReadView>>,
    ) -> Result<()> {
        let _one_at_a_time = match self.updating.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Ok(guard) => guard,
        };
        self.replace_view(make)
    }

    fn replace_view(&self, make: impl FnOnce(&ReadView) -> Result<Option<ReadView>>) -> Result<()> {
        if let Some(next) = make(&self.view())? {
            let next = Arc::new(next);
            let mut shown = self.read_view.lock().unwrap_or_else(PoisonError::into_inner);
            // The last one is dropped when the lock is free again: it may unmap files.
            let _last = std::mem::replace(&mut *shown, next);
            drop(shown);
        }
        Ok(())
    }

    /// The indexes of a collection.
    pub(crate) const fn indexed(&self, collection: Collection) -> &Indexed {
        match collection {
            Collection::Documents => &self.documents,
            Collection::Memory => &self.memory,
        }
    }

    /// What embeds questions and texts for the vectors that are searched; none without a
    /// model, none where the index has another one by now, and none where the vectors are the
    /// caller's.
    pub(crate) fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.active_model().embedder.clone().filter(|one| one.embeds_texts())
    }

    pub(crate) fn active_model(&self) -> RwLockReadGuard<'_, ActiveModel> {
        self.active_model.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts another model in use.
    pub(crate) fn activate(&self, model: ActiveModel) {
        *self.active_model.write().unwrap_or_else(PoisonError::into_inner) = model;
    }

    /// Embeddings that wait, are made, and have failed, those for another model among them.
    pub(crate) fn pending_embeddings(&self) -> Result<JobCounts> {
        let mut counts = self.store.pending_embeddings()?;
        let migration = self.active_model().migration.clone();
        counts.queued += migration.map_or(0, |one| one.left.load(Ordering::Relaxed));
        Ok(counts)
    }

    /// The analyser that indexed the text, for highlights.
    pub(crate) fn analyzer(&self) -> &dyn Analyzer {
        self.analyzer.as_ref()
    }

    /// Seconds since 1970, by the engine's clock.
    pub(crate) fn now(&self) -> i64 {
        self.config.clock.now()
    }
}
