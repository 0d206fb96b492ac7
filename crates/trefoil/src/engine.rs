use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use tempfile::TempDir;
use trefoil_core::{
    Allowed, Analyzer, ChunkId, Collection, Degraded, Embedder, Embedding, EmbeddingSpace, Error,
    Fused, IndexInput, NameLookup, Passage, Plan, QueryClassification, QueryText, Question, Ranked,
    RankedList, Result, Retriever, RetrieverId, RetrieverMetric, RowId, SearchFilters,
    SearchOptions, SearchQuery, SearchResult, SearchStrategy, Stage, StoredChunk, TokenCounter,
    create_private_folder, private_file,
};
#[cfg(feature = "graph")]
use trefoil_core::{EntityExtractor, RowSet, TermCoverage};
use trefoil_store::{Access, JobCounts, Store, StoreStats};
use trefoil_text::{CONTEXT_FORM, ChunkSizes, Chunker, ScriptAnalyzer};

use crate::{
    Available, EngineConfig,
    background::{BackgroundErrors, BackgroundTask, Tasks, catch_panics},
    collection::{Indexed, Indexers},
    correct::GradedPassage,
    default_set::BY_VECTOR,
    embed::Worker,
    export, leaves,
    model_migration::{ActiveModel, OnMismatch},
    models::{self, FoundRerankers},
    plan::{plan, question},
    present,
    read_view::ReadView,
    relationships::Relationships,
    rerank::rerank,
    retrieve::{Retrieved, run_all, run_independent},
    select::{Exclusion, cosine, select},
    snapshot::Snapshot,
    trace::{Trace, millis},
};

/// A search engine over one directory.
///
/// One process writes, any number of threads and processes read. What `ingest` has
/// returned from is durable and found by keyword; vectors follow in the background
/// ([`Engine::wait_until_indexed`] waits for them).
#[derive(Debug)]
pub struct Engine {
    worker: Option<Worker>,
    inner: Arc<Inner>,
    /// Removed when the engine is gone.
    _unpacked: Option<TempDir>,
}

/// What the engine and its worker share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) dir: PathBuf,
    pub(crate) config: EngineConfig,
    pub(crate) store: Store,
    pub(crate) chunker: Chunker,
    active_model: RwLock<ActiveModel>,
    /// The number of the vectors that are searched.
    pub(crate) generation: AtomicU64,
    /// Texts embedded since it was opened.
    pub(crate) embedded: AtomicUsize,
    /// What went wrong in the background.
    pub(crate) troubles: BackgroundErrors,
    /// What the worker does for others.
    pub(crate) tasks: Tasks,
    rerankers: FoundRerankers,
    /// What finds the entities of a chunk; none where there is no graph.
    #[cfg(feature = "graph")]
    pub(crate) extractor: Option<Arc<dyn EntityExtractor>>,
    analyzer: Arc<dyn Analyzer>,
    pub(crate) documents: Indexed,
    pub(crate) memory: Indexed,
    /// Counts tokens as the embedder does.
    pub(crate) counter: Arc<dyn TokenCounter>,
    #[cfg(feature = "graph")]
    pub(crate) graph: Option<Arc<trefoil_graph::GraphRetriever>>,
    #[cfg(feature = "graph")]
    pub(crate) reports: RwLock<crate::overview::ReportView>,
    /// Names that the corpus is known to speak of.
    names: Arc<dyn NameLookup>,
    /// Held while retrievers run, so that all of them see the same commits.
    pub(crate) read_view: RwLock<ReadView>,
    _lock: Option<File>,
}

/// What an engine holds.
#[derive(Clone, Debug)]
pub struct EngineStats {
    /// The store.
    pub store: StoreStats,
    /// Bytes of the directory, indexes included.
    pub bytes: u64,
    /// The model's fingerprint; absent when there is none.
    pub embedding: Option<String>,
    /// Rows that each retriever can find.
    pub rows: Vec<(RetrieverId, u64)>,
    /// Texts that were embedded since the engine was opened, reports included.
    pub embedded: usize,
    /// Retrievers that cannot run, and why.
    pub absent: Vec<Degraded>,
    /// What fails in the background, by the stage whose results suffer; empty if all goes well.
    pub background: Vec<Degraded>,
}

impl Engine {
    /// Opens the index in `dir` to read and write; creates it if absent.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process writes to it, [`Error::ModelMismatch`] if its
    /// vectors are of another model, [`Error::Corrupt`] if the store is damaged.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(dir, EngineConfig::default())
    }

    /// The same with a configuration of one's own.
    pub fn open_with(dir: impl AsRef<Path>, config: EngineConfig) -> Result<Self> {
        Self::open_writer(dir.as_ref(), config, OnMismatch::Refuse)
    }

    /// Opens the index in `dir` and makes its indexes anew from the stored text, with the
    /// configured model. Cached vectors of that model are used again.
    ///
    /// With another model than the index has, its vectors are made in the background
    /// ([`Engine::wait_until_indexed`] waits for them) beside those in use, which go on answering: in other
    /// engines, and in this one by [`EngineConfig::model_before`]. When all are made they take
    /// their place at once. A reindex that was interrupted goes on where it was, as soon as the
    /// index is opened to write with its model; opened with the model before, the index is what
    /// it was.
    ///
    /// # Errors
    /// Those of [`Engine::open_with`], and [`Error::IndexMissing`].
    pub fn reindex(dir: impl AsRef<Path>, config: EngineConfig) -> Result<Self> {
        let dir = dir.as_ref();
        if !dir.join(STORE).exists() {
            return Err(Error::IndexMissing { path: dir.to_owned() });
        }
        let engine = Self::open_writer(dir, config, OnMismatch::Migrate)?;
        if engine.inner.active_model().migration.is_none() {
            engine.inner.rebuild()?;
        }
        engine.wake();
        Ok(engine)
    }

    /// Opens the index in `dir` to read, beside a process that writes or alone. A snapshot
    /// file in its place is unpacked into a private folder for as long as the engine lives, and
    /// an index that an older version wrote is copied there and brought up to date.
    ///
    /// # Errors
    /// [`Error::IndexMissing`] if there is none, [`Error::Corrupt`] if a snapshot is damaged.
    pub fn open_read_only(dir: impl AsRef<Path>, config: EngineConfig) -> Result<Self> {
        let dir = dir.as_ref();
        config.check()?;
        let unpacked = export::readable(dir, &config)?;
        let dir = unpacked.as_ref().map_or(dir, TempDir::path);
        if !dir.join(STORE).exists() {
            return Err(Error::IndexMissing { path: dir.to_owned() });
        }
        let inner = Inner::open(dir, config, None, OnMismatch::Refuse)?;
        inner.refresh_read_view()?;
        Ok(Self { worker: None, inner: Arc::new(inner), _unpacked: unpacked })
    }

    fn open_writer(dir: &Path, config: EngineConfig, other: OnMismatch) -> Result<Self> {
        config.check()?;
        if dir.is_file() && Snapshot::read(dir).is_ok() {
            let doing = "write to a snapshot (`trefoil import` makes an index of it)";
            return Err(Error::ReadOnly { path: dir.to_owned(), doing });
        }
        create_private_folder(dir)
            .map_err(|source| Error::io("create the index directory", dir, source))?;
        Self::open_held(dir, config, lock(dir)?, other)
    }

    /// Opens the index in `dir` to read and write, whose lock the caller has taken.
    pub(crate) fn open_locked(dir: &Path, config: EngineConfig, lock: File) -> Result<Self> {
        Self::open_held(dir, config, lock, OnMismatch::Refuse)
    }

    fn open_held(dir: &Path, config: EngineConfig, lock: File, other: OnMismatch) -> Result<Self> {
        let inner = Arc::new(Inner::open(dir, config, Some(lock), other)?);
        inner.extract_first()?;
        inner.replay_all()?;
        inner.clean_up()?;
        inner.remove_other_vectors()?;
        let worker = Some(Worker::start(&inner)?);
        Ok(Self { worker, inner, _unpacked: None })
    }

    /// Answers `query`: kind → plan → retrievers → fusion → passages → grade → selection → results.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for a query out of range, [`Error::DimensionMismatch`] for
    /// an embedding of another model, [`Error::SearchFailed`] if every retriever failed. One
    /// failing retriever is no error: the result names it in `degraded`.
    pub fn search(&self, query: &SearchQuery) -> Result<SearchResult> {
        query.check()?;
        let mut trace = Trace::start();
        let allowed = self.inner.store.allowed(&query.filters)?;
        trace.lap(Stage::Filter, 1, 1);
        let (question, classification, failed) = self.classify(query, &allowed);
        trace.lap(Stage::Classify, 1, 1);
        let plan = self.decide(query, question, classification)?;
        trace.lap(Stage::Plan, 1, plan.retrievers.len());
        let mut retrievers = self.retrieve(query, &plan, &allowed, &mut trace)?;
        retrievers.degraded.extend(failed);
        let fused = retrievers.fused(&plan)?;
        trace.lap(Stage::Fuse, retrievers.lists.len(), fused.len());
        let found = self.read(&plan, &query.filters, fused)?;
        trace.lap(Stage::Read, found.total, found.passages.len());
        let ranked = self.rerank(&plan, found.passages, &mut retrievers.degraded);
        trace.lap(Stage::Rerank, ranked.len(), ranked.len());
        let read = ranked.len();
        retrievers.reranked = ranked.iter().filter(|one| one.rerank.is_some()).count();
        let graded = self.correct(query, &plan, &allowed, ranked, found.total, &mut retrievers);
        trace.lap(Stage::Grade, read, graded.passages.len());
        let left = self.select(&plan, &graded.passages)?;
        trace.lap(Stage::Select, left.len(), left.iter().filter(|left| left.is_none()).count());
        present::result(&self.inner, query, &plan, graded, &left, retrievers, trace)
    }

    /// How `query` is searched: every decision, as data.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for a query out of range, or a cursor of another query.
    pub fn plan(&self, query: &SearchQuery) -> Result<Plan> {
        query.check()?;
        let allowed = self.inner.store.allowed(&query.filters)?;
        let (question, classification, _) = self.classify(query, &allowed);
        self.decide(query, question, classification)
    }

    /// Finds the chunks nearest to `vector`, which is of the index's model: the semantic
    /// retriever alone, no text needed. `options.strategies` and `weights` are not looked at; what
    /// needs a text (highlights, reranking, grading) does not run.
    pub fn search_by_embedding(
        &self,
        vector: &[f32],
        filters: SearchFilters,
        mut options: SearchOptions,
    ) -> Result<SearchResult> {
        options.strategies = vec![BY_VECTOR];
        options.include_highlights = false;
        options.rerank_enabled = false;
        options.crag_enabled = false;
        let found = self.search(&SearchQuery {
            text: QueryText::new(BY_EMBEDDING)?,
            query_type: None,
            embedding: Some(Embedding::new(vector.to_vec())?),
            filters,
            options,
        })?;
        // There was no question.
        Ok(SearchResult { classification: None, ..found })
    }

    /// Waits until every chunk has its vector, or none more can be had, and every community
    /// its report. Says which vectors are left: without a model, all of them.
    ///
    /// # Errors
    /// What stopped the work in the background, if something did.
    pub fn wait_until_indexed(&self) -> Result<JobCounts> {
        self.wait_until_indexed_with(|_| ())
    }

    /// The same; `on_progress` is told about every tenth of a second what is left.
    pub fn wait_until_indexed_with(
        &self,
        on_progress: impl FnMut(&JobCounts),
    ) -> Result<JobCounts> {
        match &self.worker {
            Some(worker) => worker.drain(&self.inner, on_progress),
            None => self.inner.pending_embeddings(),
        }
    }

    /// What the engine holds.
    pub fn stats(&self) -> Result<EngineStats> {
        let documents = &self.inner.documents;
        Ok(EngineStats {
            store: self.inner.store.stats()?,
            bytes: directory_bytes(&self.inner.dir),
            embedding: self.inner.store.fingerprint()?,
            embedded: self.inner.embedded.load(Ordering::Relaxed),
            rows: documents.retrievers().iter().map(|one| (one.id(), one.rows())).collect(),
            absent: documents.absent(),
            background: self.inner.troubles.list(),
        })
    }

    /// A chunk by its public id.
    pub fn chunk(&self, id: &ChunkId) -> Result<Option<Arc<StoredChunk>>> {
        self.inner.store.chunk_by_id(id)
    }

    /// Chunks by row, in the order given; rows that are gone are left out.
    pub fn chunks(&self, rows: &[RowId]) -> Result<Vec<Arc<StoredChunk>>> {
        self.inner.store.chunks(rows)
    }

    /// The ranked chunks of the document at `path`, in order; none if it is not indexed.
    pub fn document_chunks(&self, path: &str) -> Result<Vec<Arc<StoredChunk>>> {
        self.inner.store.chunks_of(path)
    }

    /// The retrievers' own lists for `query`, before fusion: to explain and to tune.
    pub fn ranked_lists(&self, query: &SearchQuery) -> Result<Vec<RankedList>> {
        let plan = self.plan(query)?;
        let allowed = self.inner.store.allowed(&query.filters)?;
        Ok(self.retrieve(query, &plan, &allowed, &mut Trace::start())?.lists)
    }

    /// Paths of the indexed files and documents, in order.
    pub fn paths(&self) -> Result<Vec<String>> {
        Ok(self.inner.store.files()?.into_iter().map(|file| file.path).collect())
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Lets the worker of this engine run a task, for as long as the caller keeps it. An engine
    /// that was opened to read has no worker, and runs nothing.
    pub fn run_in_background(&self, task: &Arc<dyn BackgroundTask>) {
        if self.worker.is_some() {
            self.inner.tasks.add(task);
            self.wake();
        }
    }

    /// The engine as a task of its worker has it: without the worker, which ends before its
    /// engine does.
    pub(crate) const fn of_worker(inner: Arc<Inner>) -> Self {
        Self { worker: None, inner, _unpacked: None }
    }

    /// Tells the worker that there are new jobs.
    pub(crate) fn wake(&self) {
        if let Some(worker) = &self.worker {
            worker.wake();
        }
    }

    /// What is asked, and of what kind it is, by the names that the filters let through. A
    /// failing classifier is reported, and the kind stays open.
    fn classify(
        &self,
        query: &SearchQuery,
        allowed: &Allowed,
    ) -> (Question, Option<QueryClassification>, Option<Degraded>) {
        let shown = self.inner.read_view.read().unwrap_or_else(PoisonError::into_inner);
        let question = question(query, &shown.languages);
        let names = self.inner.names_within(allowed);
        let names = names.as_deref().unwrap_or(self.inner.names.as_ref());
        let classifier = &self.inner.config.classifier;
        match catch_panics("the classifier", || classifier.classify(&question, names)) {
            Ok(classification) => (question, Some(classification), None),
            Err(error) => {
                let failed = Degraded { stage: Stage::Classify, reason: error.chain() };
                (question, None, Some(failed))
            }
        }
    }

    fn decide(
        &self,
        query: &SearchQuery,
        question: Question,
        classification: Option<QueryClassification>,
    ) -> Result<Plan> {
        let retrievers = self.inner.documents.retrievers();
        let available =
            |one: &Arc<dyn Retriever>| Available { id: one.id(), after: one.after(), weight: None };
        let available: Vec<Available> = retrievers.iter().map(available).collect();
        let shown = self.inner.read_view.read().unwrap_or_else(PoisonError::into_inner);
        let config = &self.inner.config;
        plan(query, question, classification, &available, &shown.languages, config)
    }

    /// Runs the retrievers beside each other. A failing one is reported and left out.
    pub(crate) fn retrieve(
        &self,
        query: &SearchQuery,
        plan: &Plan,
        allowed: &Allowed,
        trace: &mut Trace,
    ) -> Result<Retrieved> {
        self.inner.catch_up()?;
        let shown = self.inner.read_view.read().unwrap_or_else(PoisonError::into_inner);
        let documents = &self.inner.documents;
        let known = documents.troubles().into_iter().chain(shown.lagging.iter().cloned());
        let mut degraded: Vec<Degraded> = known.chain(self.inner.troubles.list()).collect();
        // What the graph says beside its list is not worth a search that fails.
        let mut failed = |error: Error| {
            degraded.push(Degraded {
                stage: Stage::Retriever(RetrieverId::GRAPH),
                reason: error.chain(),
            });
        };
        let relationships = catch_panics("the graph", || self.inner.relationships(plan, allowed));
        let relationships = relationships.unwrap_or_else(|error| {
            failed(error);
            Relationships::default()
        });
        let mut words_only = Vec::new();
        let mut others = Vec::new();
        for items in [
            catch_panics("the graph", || {
                self.inner.overview(query, plan, allowed, &mut words_only)
            }),
            catch_panics("the graph", || self.inner.entities(query, plan, allowed)),
        ] {
            items.map_or_else(&mut failed, |items| others.extend(items));
        }
        // The sort is stable: each of them falls in score.
        others.sort_by_key(|item| Reverse(item.score));
        degraded.extend(words_only);
        let outcomes = run_all(&documents.retrievers(), plan, allowed, &relationships);
        let allowed = allowed.clone();
        let mut retrievers =
            Retrieved { relationships, others, degraded, allowed, ..Retrieved::default() };
        let asked = |stage| match stage {
            Stage::Retriever(id) => SearchStrategy::wants(&query.options.strategies, id),
            _ => false,
        };
        retrievers.degraded.retain(|degraded| asked(degraded.stage));
        for (retriever, duration, outcome) in outcomes {
            match outcome {
                Ok(list) => {
                    let top_score = list.hits().iter().map(|hit| hit.relevance).max();
                    let metric = RetrieverMetric {
                        enabled: true,
                        result_count: list.hits().len(),
                        processing_time: millis(duration),
                        top_score: top_score.unwrap_or_default(),
                    };
                    retrievers.metrics.insert(retriever, metric);
                    trace.record(retriever.into(), duration, 1, list.hits().len());
                    retrievers.lists.push(list);
                }
                // A vector of another model is the caller's mistake, not the retriever's.
                Err(error @ Error::DimensionMismatch { .. }) => return Err(error),
                Err(error) => {
                    let failed = Degraded { stage: retriever.into(), reason: error.chain() };
                    if !retrievers.degraded.contains(&failed) {
                        retrievers.degraded.push(failed);
                    }
                }
            }
        }
        trace.skip();
        if retrievers.lists.is_empty() && retrievers.others.is_empty() {
            return Err(search_failed(query, &retrievers.degraded));
        }
        Ok(retrievers)
    }

    /// The lists of the planned retrievers that run beside each other, without a word on how they
    /// ran.
    ///
    /// # Errors
    /// What the last retriever that failed reported, if none gave a list.
    pub(crate) fn lists(&self, plan: &Plan, allowed: &Allowed) -> Result<Vec<RankedList>> {
        let _shown = self.inner.read_view.read().unwrap_or_else(PoisonError::into_inner);
        let mut lists = Vec::new();
        let mut failed = None;
        for (.., outcome) in run_independent(&self.inner.documents.retrievers(), plan, allowed) {
            match outcome {
                Ok(list) => lists.push(list),
                Err(error) => failed = Some(error),
            }
        }
        failed.filter(|_| lists.is_empty()).map_or(Ok(lists), Err)
    }

    /// Loads the fused rows. Filters are checked once more, against what is stored now.
    pub(crate) fn read(
        &self,
        plan: &Plan,
        filters: &SearchFilters,
        mut fused: Vec<Fused>,
    ) -> Result<Found> {
        let mut total = fused.len();
        fused.truncate(plan.candidates);
        let scored = fused.len();
        let rows: Vec<_> = fused.iter().map(|hit| hit.row).collect();
        let chunks = self.inner.store.chunks(&rows)?;
        let admitted = present::Admission::new(filters)?;
        let typed = self.inner.of_types(&filters.entity_types, &rows)?;
        let mut chunks = chunks.into_iter().peekable();
        let mut passages: Vec<Passage> = Vec::with_capacity(scored);
        for fused in fused {
            let chunk = chunks.next_if(|chunk| chunk.row == fused.row);
            if let Some(chunk) = chunk.filter(|chunk| {
                admitted.admits(chunk) && typed.as_ref().is_none_or(|rows| rows.contains(chunk.row))
            }) {
                passages.push(Passage { fused, chunk });
            }
        }
        total -= scored - passages.len();
        // Ties: newer first, then by id, whatever the rows are.
        passages.sort_by(|a, b| {
            let date = |passage: &Passage| passage.chunk.file.date;
            b.fused
                .combined
                .cmp(&a.fused.combined)
                .then_with(|| date(b).cmp(&date(a)))
                .then_with(|| a.chunk.id.cmp(&b.chunk.id))
        });
        Ok(Found { passages, total })
    }

    /// Reads the first passages together with the question and puts all in their final order.
    pub(crate) fn rerank(
        &self,
        plan: &Plan,
        passages: Vec<Passage>,
        degraded: &mut Vec<Degraded>,
    ) -> Vec<Ranked> {
        let question = &plan.question.text;
        let (rerankers, names) = (&self.inner.rerankers, &self.mention_strength(plan));
        let rerank = rerank(rerankers, plan.rerank.as_ref(), question, passages, names);
        degraded.extend(rerank.degraded.map(|reason| Degraded { stage: Stage::Rerank, reason }));
        rerank.ranked
    }

    /// Tells how surely one chunk names what another is about, where the graph takes part and the
    /// documents are in the language of the question: about others the graph is rescaled little.
    pub fn mention_strength(&self, plan: &Plan) -> impl Fn(RowId, RowId) -> f32 + use<> {
        let takes_part = plan.retrievers.iter().any(|one| one.id == RetrieverId::GRAPH);
        let retrievers =
            (takes_part && !plan.question.cross_lingual).then(|| self.inner.documents.retrievers());
        move |from, to| {
            let retrievers = retrievers.iter().flatten();
            retrievers.map(|retriever| retriever.mention_strength(from, to)).fold(0.0, f32::max)
        }
    }

    /// What keeps each of the graded passages from being a result, if anything does.
    pub(crate) fn select(
        &self,
        plan: &Plan,
        graded: &[GradedPassage],
    ) -> Result<Vec<Option<Exclusion>>> {
        let ranked: Vec<&Ranked> = graded.iter().map(|one| &one.ranked).collect();
        let rows: Vec<RowId> = ranked.iter().map(|one| one.passage.chunk.row).collect();
        let vectors: BTreeMap<RowId, Vec<f32>> = if plan.selection.diverse {
            self.inner.store.cached_embeddings(&rows)?.into_iter().collect()
        } else {
            BTreeMap::new()
        };
        let vectors: Vec<&[f32]> =
            rows.iter().map(|row| vectors.get(row).map_or(&[][..], Vec::as_slice)).collect();
        select(&plan.selection, plan.limit, &ranked, cosine(&vectors))
    }
}

/// The passages of a search, in the order of fusion.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) passages: Vec<Passage>,
    /// Fused candidates that pass the filters, read or not.
    pub(crate) total: usize,
}

impl Inner {
    fn open(
        dir: &Path,
        config: EngineConfig,
        lock: Option<File>,
        other: OnMismatch,
    ) -> Result<Self> {
        let write = lock.is_some();
        let access = if write { Access::ReadWrite } else { Access::ReadOnly };
        let store = Store::open(&dir.join(STORE), access, Arc::clone(&config.clock))?;
        let models = models::models(&config)?;
        let active_model = ActiveModel::agreed(&store, models.embedder, &config, write, other)?;
        let generation = store.vectors_generation()?;
        let analyzer: Arc<dyn Analyzer> = Arc::new(ScriptAnalyzer::default());
        let open = |collection| {
            let vectors = match &active_model.embedder {
                Some(embedder) => leaves::vectors(dir, collection, generation, embedder, write)?,
                None => active_model.no_vectors(),
            };
            leaves::open(dir, collection, &analyzer, vectors, &config, write)
        };
        let leaves = open(Collection::Documents)?;
        let memory = Indexed::new(Collection::Memory, open(Collection::Memory)?, &store, write)?;
        let names = leaves.names();
        #[cfg(feature = "graph")]
        let graph = leaves.graph.clone();
        let documents = Indexed::new(Collection::Documents, leaves, &store, write)?;
        Ok(Self {
            dir: dir.to_owned(),
            config,
            store,
            chunker: Chunker::new(Arc::clone(&models.counter), ChunkSizes::default()),
            active_model: RwLock::new(active_model),
            generation: generation.into(),
            embedded: AtomicUsize::new(0),
            troubles: BackgroundErrors::default(),
            tasks: Tasks::default(),
            rerankers: models.rerankers,
            #[cfg(feature = "graph")]
            extractor: models.extractor,
            analyzer,
            documents,
            memory,
            counter: models.counter,
            #[cfg(feature = "graph")]
            graph,
            #[cfg(feature = "graph")]
            reports: RwLock::default(),
            names,
            read_view: RwLock::default(),
            _lock: lock,
        })
    }

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

    /// Lets another model serve, of the vectors with this number.
    pub(crate) fn serve(&self, active_model: ActiveModel, generation: u64) {
        *self.active_model.write().unwrap_or_else(PoisonError::into_inner) = active_model;
        self.generation.store(generation, Ordering::Relaxed);
    }

    /// Embeddings that wait, are made, and have failed, those for a migration among them.
    pub(crate) fn pending_embeddings(&self) -> Result<JobCounts> {
        let mut counts = self.store.pending_embeddings()?;
        counts.queued += self.left_to_migrate();
        Ok(counts)
    }

    /// Whether there is such a retriever.
    pub(crate) fn has(&self, retriever: RetrieverId) -> bool {
        self.documents.retriever(retriever).is_some()
    }

    /// Which of the question's terms some rows hold.
    #[cfg(feature = "graph")]
    pub(crate) fn term_coverage(&self, question: &Question, rows: &RowSet) -> Result<TermCoverage> {
        crate::retrieve::term_coverage(&self.documents.retrievers(), question, rows)
    }

    /// The analyser that indexed the text, for highlights.
    pub(crate) fn analyzer(&self) -> &dyn Analyzer {
        self.analyzer.as_ref()
    }

    /// What reads passages with the question.
    pub(crate) const fn rerankers(&self) -> &FoundRerankers {
        &self.rerankers
    }

    /// Brings every index to the end of the change log and shows the result to new searches.
    pub(crate) fn replay_all(&self) -> Result<()> {
        self.replay_where(|_| true)
    }

    /// The same for the indexes that feed on vectors only.
    pub(crate) fn replay_vectors(&self) -> Result<()> {
        self.replay_where(|inputs| inputs.contains(&IndexInput::Vector))
    }

    fn replay_where(&self, wanted: impl Fn(&[IndexInput]) -> bool) -> Result<()> {
        self.writable("update the indexes")?;
        self.documents.replay(&self.store, &wanted)?;
        self.memory.replay(&self.store, &wanted)?;
        self.refresh_read_view()
    }

    /// Forgets the indexes and makes them anew from the store.
    fn rebuild(&self) -> Result<()> {
        self.writable("rebuild the indexes")?;
        self.documents.clear()?;
        self.memory.clear()?;
        self.store.requeue_embeddings()?;
        self.extract_anew()?;
        self.replay_all()
    }
}

pub(crate) const STORE: &str = "store.db";
const LOCK: &str = "LOCK";
/// Stands for the text of a search by vector.
const BY_EMBEDDING: &str = "(embedding)";

/// Takes the writer's lock, which the operating system frees with the process.
pub(crate) fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(LOCK);
    let file = private_file()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|source| Error::io("open the lock file", &path, source))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path: dir.to_owned() }),
        Err(TryLockError::Error(source)) => Err(Error::io("lock", &path, source)),
    }
}

/// What the vectors of the store are of: the model, and the form of the embedded texts.
pub(crate) fn vectors_are_of(space: &EmbeddingSpace) -> String {
    format!("{} text:{CONTEXT_FORM}", space.fingerprint())
}

fn search_failed(query: &SearchQuery, degraded: &[Degraded]) -> Error {
    let reasons: Vec<String> = degraded
        .iter()
        .map(|degraded| format!("{} — {}", degraded.stage, degraded.reason))
        .collect();
    let reason = if reasons.is_empty() {
        "none of the strategies asked for is part of this engine".to_owned()
    } else {
        reasons.join("; ")
    };
    Error::SearchFailed { query: query.text.as_str().to_owned(), reason }
}

fn directory_bytes(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => directory_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
