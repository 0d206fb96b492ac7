use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use trefoil_core::{
    Analyzer, Embedder, Fusion, Loader, QueryClassifier, Reranker, Result, Retriever, Weight,
};

use crate::{
    admin::{
        doctor::{DoctorOptions, HealthReport},
        repair::RepairReport,
        snapshot::Snapshot,
        verify::Verification,
    },
    config::{Chunking, CustomRetriever, EngineConfig, Model, Rerankers},
    engine::Engine,
    profile::Profile,
};

/// Configures an engine part by part and opens it.
///
/// What plugs in here takes part in everything: indexing, searching, explaining, checking,
/// repairing, copying. Open the same index with the same parts each time; the parts that are asked
/// for at indexing have a fingerprint, so that a change makes the index new where it must.
///
/// ```
/// # #[cfg(feature = "keyword")] {
/// use trefoil::{Document, Engine, Model, SearchQuery, Weight};
/// # use trefoil::{Result, Retriever, RetrieverId, Score, index::{Allowed, RowId}, search::{Hit, Question, RankedList}};
/// # #[derive(Debug)]
/// # struct Newest(RetrieverId);
/// # impl Retriever for Newest {
/// #     fn id(&self) -> RetrieverId { self.0 }
/// #     fn retrieve(&self, _: &Question, _: usize, allowed: &Allowed) -> Result<RankedList> {
/// #         let row = RowId::new(1);
/// #         let hit = Hit { row, raw_score: 1.0, relevance: Score::HALF };
/// #         let hits = allowed.contains(row).then_some(hit);
/// #         Ok(RankedList::new(self.0, hits.into_iter().collect()))
/// #     }
/// # }
/// # let newest = Newest(RetrieverId::new("newest")?);
/// # let dir = tempfile::tempdir()?;
/// # let dir = dir.path().join("notes.trefoil");
///
/// let engine = Engine::builder(dir)
///     .model(Model::None)
///     .retriever(newest, Weight::new(0.2)?) // any `Retriever`
///     .open()?;
/// engine.ingest(&[Document::new("tides.md", "The tide turns at noon.")])?;
/// let found = engine.search(&SearchQuery::new("when does the tide turn?")?.explain(true))?;
/// let explanation = found.results[0].explanation.as_ref();
/// assert!(explanation.is_some_and(|one| one.retrievers.len() >= 2));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct EngineBuilder {
    dir: PathBuf,
    config: EngineConfig,
}

impl EngineBuilder {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), config: EngineConfig::default() }
    }

    /// Takes every setting of `config`, retrievers and loaders included.
    pub fn config(mut self, config: EngineConfig) -> Self {
        self.config = config;
        self
    }

    /// Adds a retriever to the default set. Where a query names no weights, it has this share
    /// in fusion, and the default set the rest.
    pub fn retriever(mut self, retriever: impl Retriever + 'static, weight: Weight) -> Self {
        self.config.retrievers.push(CustomRetriever { retriever: Arc::new(retriever), weight });
        self
    }

    /// Sets the fuser of the retrievers' lists.
    pub fn fusion(mut self, fusion: Fusion) -> Self {
        self.config.fusion = fusion;
        self
    }

    /// Sets the analyser, which splits texts into terms for indexing, for questions and for highlights. The
    /// keyword index is rebuilt when an analyser finds other terms.
    pub fn analyzer(mut self, analyzer: Arc<dyn Analyzer>) -> Self {
        self.config.analyzer = analyzer;
        self
    }

    /// Sets the chunker: [`ChunkSizes`](trefoil_text::ChunkSizes), or an
    /// custom `Arc<dyn Chunker>`. Documents that were cut otherwise are cut again when they
    /// are next ingested.
    pub fn chunker(mut self, chunker: impl Into<Chunking>) -> Self {
        self.config.chunker = chunker.into();
        self
    }

    /// Sets the weights of the fields in BM25.
    #[cfg(feature = "keyword")]
    pub fn keyword(mut self, keyword: trefoil_keyword::KeywordConfig) -> Self {
        self.config.keyword = keyword;
        self
    }

    /// Sets how vectors are kept and searched.
    #[cfg(feature = "semantic")]
    pub fn vectors(mut self, vectors: trefoil_semantic::VectorConfig) -> Self {
        self.config.vectors = vectors;
        self
    }

    /// Reads files with this extension, such as `eml`, by a custom loader; also in place of
    /// a built-in one. Files that another loader read are read again when they are next ingested.
    pub fn loader(mut self, extension: &str, loader: Arc<dyn Loader>) -> Self {
        self.config.loaders.insert(extension.to_ascii_lowercase(), loader);
        self
    }

    /// Sets the embedding model.
    pub fn model(mut self, model: Model) -> Self {
        self.config.model = model;
        self
    }

    /// Sets a custom embedder.
    pub fn embedder(self, embedder: Arc<dyn Embedder>) -> Self {
        self.model(Model::Custom(embedder))
    }

    /// Sets custom rerankers: the first that reads the question and all of the passages.
    pub fn rerankers(mut self, rerankers: Vec<Arc<dyn Reranker>>) -> Self {
        self.config.rerankers = Rerankers::Custom(rerankers);
        self
    }

    /// Sets the query classifier.
    pub fn classifier(mut self, classifier: Arc<dyn QueryClassifier>) -> Self {
        self.config.classifier = classifier;
        self
    }

    /// Sets settings that were chosen by evidence.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.config.profile = Some(profile);
        self
    }

    /// Opens the index to read and write, as [`Engine::open_with`] does.
    ///
    /// # Errors
    /// Those of [`Engine::open_with`].
    pub fn open(self) -> Result<Engine> {
        Engine::open_with(self.dir, self.config)
    }

    /// Opens the index to read, as [`Engine::open_read_only`] does.
    ///
    /// # Errors
    /// Those of [`Engine::open_read_only`].
    pub fn open_read_only(self) -> Result<Engine> {
        Engine::open_read_only(self.dir, self.config)
    }

    /// Rebuilds the indexes, as [`Engine::reindex`] does.
    ///
    /// # Errors
    /// Those of [`Engine::reindex`].
    pub fn reindex(self) -> Result<Engine> {
        Engine::reindex(self.dir, self.config)
    }

    /// Checks the index, those of the plugged retrievers included, as [`Engine::verify`] does.
    ///
    /// # Errors
    /// Those of [`Engine::verify`].
    pub fn verify(&self) -> Result<Verification> {
        crate::admin::verify::verify(&self.dir, &self.config)
    }

    /// Repairs the index, as [`Engine::repair`] does.
    ///
    /// # Errors
    /// Those of [`Engine::repair`].
    pub fn repair(&self) -> Result<RepairReport> {
        Engine::repair(&self.dir, &self.config)
    }

    /// Writes the index into the new file `to`, as [`Engine::export`] does.
    ///
    /// # Errors
    /// Those of [`Engine::export`].
    pub fn export(&self, to: impl AsRef<Path>) -> Result<Snapshot> {
        crate::admin::export::export(&self.dir, to.as_ref(), &self.config)
    }

    /// Makes the index of the snapshot file `from`, as [`Engine::import`] does.
    ///
    /// # Errors
    /// Those of [`Engine::import`].
    pub fn import(&self, from: impl AsRef<Path>) -> Result<Snapshot> {
        crate::admin::export::import(from.as_ref(), &self.dir, &self.config)
    }

    /// Measures the health of the index, as [`Engine::doctor`] does.
    ///
    /// # Errors
    /// Those of [`Engine::doctor`].
    pub fn doctor(&self, options: &DoctorOptions) -> Result<HealthReport> {
        Engine::doctor(&self.dir, self.config.clone(), options)
    }
}
