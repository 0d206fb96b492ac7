//! What an engine is made of: the data that its parts share.

use std::{
    fs::File,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Instant, SystemTime},
};

#[cfg(feature = "graph")]
use trefoil_core::EntityExtractor;
use trefoil_core::{
    Analyzer, Chunker, Collection, Degraded, Embedder, Error, Language, NameLookup, Result,
    RetrieverId, Seq, TokenCounter,
};
use trefoil_store::{JobCounts, Store};

use crate::{
    background::BackgroundErrors,
    config::EngineConfig,
    index::{
        active_model::ActiveModel,
        collection::{Indexed, Indexers},
    },
    models::FoundRerankers,
};

/// What the engine and its worker share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) dir: PathBuf,
    pub(crate) config: EngineConfig,
    pub(crate) store: Store,
    pub(crate) chunker: Arc<dyn Chunker>,
    pub(crate) active_model: RwLock<ActiveModel>,
    /// The number of the vectors that are searched.
    pub(crate) generation: AtomicU64,
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
    pub(crate) graph: Option<Arc<trefoil_graph::GraphRetriever>>,
    #[cfg(feature = "graph")]
    pub(crate) reports: RwLock<crate::graph::reports::ReportView>,
    /// Names that the corpus is known to speak of.
    pub(crate) names: Arc<dyn NameLookup>,
    /// Held while retrievers run, so that all of them see the same commits.
    pub(crate) read_view: RwLock<ReadView>,
    pub(crate) _lock: Option<File>,
}

/// What the searches that start now see: one commit of all indexes, and what those lag behind.
#[derive(Debug, Default)]
pub(crate) struct ReadView {
    /// The store's last change when the retrievers were last refreshed.
    pub(crate) seq: Seq,
    /// Retrievers that are behind the store.
    pub(crate) lagging: Vec<Degraded>,
    /// The same of memory.
    pub(crate) memory_lagging: Vec<Degraded>,
    /// Chunks in each language.
    pub(crate) languages: Vec<(Language, usize)>,
    /// When each index was last committed, as of before they were refreshed.
    pub(crate) commits: Vec<Option<SystemTime>>,
    /// When they were refreshed.
    pub(crate) at: Option<Instant>,
}

impl State {
    /// The write halves.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], naming what was to be done.
    pub(crate) fn writable(&self, doing: &'static str) -> Result<&Mutex<Indexers>> {
        let indexers = self.documents.indexers.as_ref();
        indexers.ok_or_else(|| Error::ReadOnly { path: self.dir.clone(), doing })
    }

    /// The indexes of a collection.
    pub(crate) const fn indexed(&self, collection: Collection) -> &Indexed {
        match collection {
            Collection::Documents => &self.documents,
            Collection::Memory => &self.memory,
        }
    }

    /// What embeds questions and texts for the vectors that are searched; none without a
    /// model, and none where the index has another one by now.
    pub(crate) fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.active_model().embedder.clone()
    }

    pub(crate) fn active_model(&self) -> RwLockReadGuard<'_, ActiveModel> {
        self.active_model.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts another model in use, of the vectors with this number.
    pub(crate) fn activate(&self, model: ActiveModel, generation: u64) {
        *self.active_model.write().unwrap_or_else(PoisonError::into_inner) = model;
        self.generation.store(generation, Ordering::Relaxed);
    }

    /// Embeddings that wait, are made, and have failed, those for another model among them.
    pub(crate) fn pending_embeddings(&self) -> Result<JobCounts> {
        let mut counts = self.store.pending_embeddings()?;
        let migration = self.active_model().migration.clone();
        counts.queued += migration.map_or(0, |one| one.left.load(Ordering::Relaxed));
        Ok(counts)
    }

    /// Whether there is such a retriever.
    pub(crate) fn has(&self, retriever: RetrieverId) -> bool {
        self.documents.retriever(retriever).is_some()
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
