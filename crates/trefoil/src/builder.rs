use std::{
    ops::ControlFlow,
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

    trefoil_core::setters! {
        /// Takes every setting of `config`, retrievers and loaders included.
        config(config: EngineConfig) config = config;
        /// Sets the fuser of the retrievers' lists.
        fusion(fusion: Fusion) config.fusion = fusion;
        /// Sets the analyser, which splits texts into terms for indexing, for questions and
        /// for highlights. The keyword index is rebuilt when an analyser finds other terms.
        analyzer(analyzer: Arc<dyn Analyzer>) config.analyzer = analyzer;
        /// Sets the chunker: [`ChunkSizes`](trefoil_text::ChunkSizes), or a custom
        /// `Arc<dyn Chunker>`. Documents that were cut otherwise are cut again when they are
        /// next ingested.
        chunker(chunker: impl Into<Chunking>) config.chunker = chunker.into();
        /// Sets the weights of the fields in BM25.
        #[cfg(feature = "keyword")]
        keyword(keyword: trefoil_keyword::KeywordConfig) config.keyword = keyword;
        /// Sets how vectors are kept and searched.
        #[cfg(feature = "semantic")]
        vectors(vectors: trefoil_semantic::VectorConfig) config.vectors = vectors;
        /// Sets the embedding model.
        model(model: Model) config.model = model;
        /// Sets custom rerankers: the first that reads the question and all of the passages.
        rerankers(rerankers: Vec<Arc<dyn Reranker>>) config.rerankers = Rerankers::Custom(rerankers);
        /// Sets the query classifier.
        classifier(classifier: Arc<dyn QueryClassifier>) config.classifier = classifier;
        /// Sets settings that were chosen by evidence.
        profile(profile: Profile) config.profile = Some(profile);
        /// Sets a custom embedder.
        embedder(embedder: Arc<dyn Embedder>) config.model = Model::Custom(embedder);
    }

    /// Adds a retriever to the default set. Where a query names no weights, it has this share
    /// in fusion, and the default set the rest.
    pub fn retriever(mut self, retriever: impl Retriever + 'static, weight: Weight) -> Self {
        self.config.retrievers.push(CustomRetriever { retriever: Arc::new(retriever), weight });
        self
    }

    /// Reads files with this extension, such as `eml`, by a custom loader; also in place of
    /// a built-in one. Files that another loader read are read again when they are next ingested.
    pub fn loader(mut self, extension: &str, loader: Arc<dyn Loader>) -> Self {
        self.config.loaders.insert(extension.to_ascii_lowercase(), loader);
        self
    }

    /// Opens the index to read and write, as [`Engine::open_with`] does.
    pub fn open(self) -> Result<Engine> {
        Engine::open_with(self.dir, self.config)
    }

    /// Opens the index to read, as [`Engine::open_read_only`] does.
    pub fn open_read_only(self) -> Result<Engine> {
        Engine::open_read_only(self.dir, self.config)
    }

    /// Rebuilds the indexes, as [`Engine::reindex`] does.
    pub fn reindex(self) -> Result<Engine> {
        Engine::reindex(self.dir, self.config)
    }

    /// Checks the index, those of the plugged retrievers included, as [`Engine::verify`] does.
    pub fn verify(&self) -> Result<Verification> {
        crate::admin::verify::verify(&self.dir, &self.config)
    }

    /// Repairs the index, as [`Engine::repair`] does.
    pub fn repair(&self) -> Result<RepairReport> {
        Engine::repair(&self.dir, &self.config)
    }

    /// Writes the index into the new file `to`, as [`Engine::export`] does.
    pub fn export(&self, to: impl AsRef<Path>) -> Result<Snapshot> {
        let whole = &mut |_| ControlFlow::Continue(());
        crate::admin::export::export(&self.dir, to.as_ref(), &self.config, whole)
    }

    /// Makes the index of the snapshot file `from`, as [`Engine::import`] does.
    pub fn import(&self, from: impl AsRef<Path>) -> Result<Snapshot> {
        crate::admin::export::import(from.as_ref(), &self.dir, &self.config)
    }

    /// Measures the health of the index, as [`Engine::doctor`] does.
    pub fn doctor(&self, options: &DoctorOptions) -> Result<HealthReport> {
        Engine::doctor(&self.dir, self.config.clone(), options)
    }
}
