use std::{
    ops::ControlFlow,
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde::Serialize;
use tempfile::TempDir;
use trefoil_core::{
    Cancel, ChunkId, Deadline, Degraded, Embedding, Error, FileId, FileInfo, Plan, QueryText,
    RankedList, Result, RetrieverId, RowId, SearchEvent, SearchFilters, SearchOptions, SearchQuery,
    SearchResult, Stage, StoredChunk, as_map, create_private_folder,
};
use trefoil_store::{JobCounts, Store, StoreStats};

use crate::{
    admin::{
        export,
        opening::{lock, open_to_read, open_to_write},
        snapshot::Snapshot,
    },
    builder::EngineBuilder,
    config::EngineConfig,
    default_set::BY_VECTOR,
    index::{active_model::OnMismatch, node::NodeState, read_view::ReadView},
    ingest::{node_threads::NodeThreads, workers::Workers},
    search::{
        diagnostics::Diagnostics,
        observer::Observer,
        searcher::{Request, Searcher},
    },
    state::State,
};

mod admin;
#[cfg(feature = "graph")]
mod graph;
mod ingest;
mod node;
pub(crate) mod tasks;
mod why_not;

use tasks::{BackgroundTask, Tasks};

/// How long a search waits for its turn at most. After that it goes on without.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A search engine over one directory.
///
/// One process writes, any number of threads and processes read. What `ingest` has
/// returned from is durable and found by keyword; vectors follow in the background
/// ([`Engine::wait_until_indexed`] waits for them).
#[derive(Debug)]
pub struct Engine {
    /// None in an engine that reads.
    workers: Option<Workers>,
    /// None in a directory of its own. Ends after the workers: then it gives the lease back.
    _node: Option<NodeThreads>,
    state: Arc<State>,
    /// What the worker does for others.
    tasks: Arc<Tasks>,
    /// Removed when the engine is gone.
    _unpacked: Option<TempDir>,
}

/// Sizes and counts of an engine.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineStats {
    /// The store.
    #[serde(flatten)]
    pub store: StoreStats,
    /// Bytes of the directory, indexes included.
    pub bytes: u64,
    /// The model's fingerprint; absent when there is none.
    #[serde(rename = "model")]
    pub embedding: Option<String>,
    /// Rows that each retriever can find.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, u64>"))]
    pub rows: Vec<(RetrieverId, u64)>,
    /// Chunks that came or went since the graph was frozen for walks, paths and communities: at
    /// most one in twenty once nothing is left to do in the background.
    pub graph_lag: u64,
    /// Texts that were embedded since the engine was opened, reports included.
    pub embedded: usize,
    /// Retrievers that cannot run, and why.
    pub absent: Vec<Degraded>,
    /// What fails in the background, by the stage whose results suffer; empty if all goes well.
    pub background: Vec<Degraded>,
}

impl Engine {
    /// Configures an engine over `dir` part by part.
    pub fn builder(dir: impl AsRef<Path>) -> EngineBuilder {
        EngineBuilder::new(dir.as_ref())
    }

    /// Opens the index in `dir` to read and write; creates it if absent.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process writes to it, [`Error::ModelMismatch`] if its
    /// vectors are of another model, [`Error::Corrupt`] if the store is damaged.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(dir, EngineConfig::default())
    }

    /// The same with a custom configuration.
    pub fn open_with(dir: impl AsRef<Path>, config: EngineConfig) -> Result<Self> {
        Self::open_writer(dir.as_ref(), config, OnMismatch::Refuse)
    }

    /// Opens the index in `dir` and rebuilds its indexes from the stored text, with the
    /// configured model. Cached vectors of that model are used again.
    ///
    /// With another model than the index has, its vectors are made in the background
    /// ([`Engine::wait_until_indexed`] waits for them) next to those in use, which go on answering: in other
    /// engines, and in this one by [`EngineConfig::model_before`]. When all are made they take
    /// their place at once. A reindex that was interrupted goes on where it was, as soon as the
    /// index is opened to write with its model; opened with the model before, the index is what
    /// it was.
    ///
    /// # Errors
    /// Those of [`Engine::open_with`], and [`Error::IndexMissing`].
    pub fn reindex(dir: impl AsRef<Path>, config: EngineConfig) -> Result<Self> {
        let dir = dir.as_ref();
        if !Store::exists(dir) {
            return Err(Error::IndexMissing { path: dir.to_owned() });
        }
        let engine = Self::open_writer(dir, config, OnMismatch::Migrate)?;
        if engine.state.active_model().migration.is_none() {
            engine.state.rebuild()?;
        }
        engine.wake();
        Ok(engine)
    }

    /// Rebuilds the indexes from the stored text, with the model that they have. Cached vectors
    /// are used again; the others are made in the background. While it runs, searches find what
    /// has been rebuilt by then.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], and those of the store and the indexes.
    pub fn rebuild(&self) -> Result<()> {
        self.state.rebuild()?;
        self.wake();
        Ok(())
    }

    /// Opens the index in `dir` to read, while another process writes or alone. A snapshot
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
        if !Store::exists(dir) {
            return Err(Error::IndexMissing { path: dir.to_owned() });
        }
        let state = Arc::new(open_to_read(dir, config)?);
        let tasks = Arc::default();
        Ok(Self { workers: None, _node: None, state, tasks, _unpacked: unpacked })
    }

    fn open_writer(dir: &Path, config: EngineConfig, on_mismatch: OnMismatch) -> Result<Self> {
        config.check()?;
        if dir.is_file() && Snapshot::read(dir).is_ok() {
            let doing = "write to a snapshot (`trefoil import` makes an index of it)";
            return Err(Error::ReadOnly { path: dir.to_owned(), doing });
        }
        create_private_folder(dir)
            .map_err(|source| Error::io("create the index directory", dir, source))?;
        let state = Arc::new(open_to_write(dir, config, lock(dir)?, on_mismatch)?);
        let tasks = Arc::new(Tasks::default());
        let workers = Workers::start(&state, Arc::clone(&tasks) as _)?;
        let start = |node: &NodeState| {
            node.tasks.get_or_init(|| Arc::clone(&tasks) as _);
            NodeThreads::start(&state, workers.waker())
        };
        let node = state.node.as_ref().map(start).transpose()?;
        Ok(Self { workers: Some(workers), _node: node, state, tasks, _unpacked: None })
    }

    /// Answers `query`. Each line is a stage, and each stage has its own type.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for a query out of range, [`Error::UnknownRetriever`] for the name
    /// of a retriever that the engine does not have, [`Error::DimensionMismatch`] for an embedding
    /// of another model, [`Error::SearchFailed`] if every retriever failed. One that fails is no
    /// error: the result names it in `degraded`.
    pub fn search(&self, query: &SearchQuery) -> Result<SearchResult> {
        self.answer(query, None, None)
    }

    /// The same for a search that may be given up: it ends at the next place where it looks, at
    /// the latest after the passage that is being read, and its results are lost.
    ///
    /// # Errors
    /// Those of [`Engine::search`], and [`Error::Cancelled`].
    pub fn search_unless(&self, query: &SearchQuery, cancel: &Cancel) -> Result<SearchResult> {
        self.answer(query, Some(cancel), None)
    }

    /// The same; `on_event` is told of each stage as it ends, and, before passages are read
    /// together with the question, what the results would be without that.
    pub fn search_observed(
        &self,
        query: &SearchQuery,
        mut on_event: impl FnMut(SearchEvent),
    ) -> Result<SearchResult> {
        self.answer(query, None, Some(&mut on_event))
    }

    fn answer(
        &self,
        query: &SearchQuery,
        cancel: Option<&Cancel>,
        on_event: Option<&mut dyn FnMut(SearchEvent)>,
    ) -> Result<SearchResult> {
        query.check()?;
        let deadline = &deadline(query, cancel);
        let mut diagnostics = Diagnostics::start();
        // Many at once would only push each other out of the caches. What hangs holds up others
        // for so long and no longer.
        self.state.wait_until_fresh(deadline)?;
        let turn = self.state.turns.take(&deadline.within(Some(LONGEST_WAIT)));
        let view = self.state.current_view()?;
        diagnostics.degraded.extend(self.state.node_troubles(&view));
        let searcher = self.searcher(&view, deadline);
        let mut observer = Observer::new(on_event, deadline);
        let allowed = &searcher.allowed(&query.filters)?;
        diagnostics.lap(Stage::Filter, 1, 1);
        observer.stages(&diagnostics)?;
        let plan = &searcher.plan(query, allowed, &mut diagnostics)?;
        observer.stages(&diagnostics)?;
        let request = Request { query, plan, allowed };
        let retrieved = searcher.retrieve(request, &mut diagnostics)?;
        let fused = retrieved.fused(plan)?;
        diagnostics.lap(Stage::Fuse, retrieved.lists.len(), fused.len());
        observer.stages(&diagnostics)?;
        let read = searcher.read(plan, &query.filters, fused, None)?;
        diagnostics.lap(Stage::Read, read.total, read.passages.len());
        observer.stages(&diagnostics)?;
        observer.provisional(searcher, request, &retrieved, &read)?;
        drop(turn);
        let total = read.total;
        let ranked = searcher.rerank(plan, read, &mut diagnostics);
        let count = ranked.len();
        diagnostics.lap(Stage::Rerank, count, count);
        observer.stages(&diagnostics)?;
        let lists = &retrieved.lists;
        let mut graded = searcher.correct(request, ranked, total, lists, &mut diagnostics);
        let passages = std::mem::take(&mut graded.passages);
        diagnostics.lap(Stage::Grade, count, passages.len());
        let selected = searcher.select(plan, passages)?;
        let of = selected.kept.len() + selected.excluded.len();
        diagnostics.lap(Stage::Select, of, selected.kept.len());
        observer.stages(&diagnostics)?;
        searcher.present(request, retrieved, graded, &selected, diagnostics)
    }

    /// How `query` is searched: every decision, as data.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for a query out of range, or a cursor of another query;
    /// [`Error::UnknownRetriever`].
    pub fn plan(&self, query: &SearchQuery) -> Result<Plan> {
        query.check()?;
        let view = self.state.current_view()?;
        let searcher = self.searcher(&view, &Deadline::NEVER);
        let allowed = searcher.allowed(&query.filters)?;
        searcher.plan(query, &allowed, &mut Diagnostics::start())
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

    /// Waits until every chunk has its vector, or none more can be had, every community
    /// its report, and no index is left to be merged. Says which vectors are left: without a model, all of them.
    ///
    /// # Errors
    /// What stopped the work in the background, if something did.
    pub fn wait_until_indexed(&self) -> Result<JobCounts> {
        self.wait_until_indexed_with(|_| ControlFlow::Continue(()))
    }

    /// The same; `on_progress` is told about every tenth of a second what is left. Where it breaks,
    /// the work goes on, and the caller waits no longer.
    pub fn wait_until_indexed_with(
        &self,
        on_progress: impl FnMut(&JobCounts) -> ControlFlow<()>,
    ) -> Result<JobCounts> {
        match &self.workers {
            Some(workers) => workers.wait(&self.state, on_progress),
            None => self.state.pending_embeddings(),
        }
    }

    /// Sizes and counts of the engine.
    pub fn stats(&self) -> Result<EngineStats> {
        let documents = &self.state.view().documents;
        Ok(EngineStats {
            store: self.state.store.stats()?,
            bytes: directory_bytes(&self.state.dir),
            embedding: self.state.store.fingerprint()?,
            graph_lag: self.state.graph_lag(),
            embedded: self.state.embedded.load(Ordering::Relaxed),
            rows: documents.retrievers.iter().map(|one| (one.id(), one.rows())).collect(),
            absent: documents.absent.clone(),
            background: self.state.errors.list(),
        })
    }

    /// A chunk by its public id.
    pub fn chunk(&self, id: &ChunkId) -> Result<Option<Arc<StoredChunk>>> {
        self.state.store.chunk_by_id(id)
    }

    /// Chunks by row, in the order given; rows that are gone are left out.
    pub fn chunks(&self, rows: &[RowId]) -> Result<Vec<Arc<StoredChunk>>> {
        self.state.store.chunks(rows)
    }

    /// The ranked chunks of the document at `path`, in order; none if it is not indexed.
    pub fn document_chunks(&self, path: &str) -> Result<Vec<Arc<StoredChunk>>> {
        self.state.store.chunks_of(path)
    }

    /// The stored vectors of the chunks of the documents at exactly these paths, in the order of
    /// the paths and of the chunks. A chunk whose vector is not made yet is left out.
    pub fn vectors(&self, paths: &[impl AsRef<str>]) -> Result<Vec<(ChunkId, Vec<f32>)>> {
        let mut vectors = Vec::new();
        for path in paths {
            let chunks = self.state.store.chunks_of(path.as_ref())?;
            let rows: Vec<RowId> = chunks.iter().map(|chunk| chunk.row).collect();
            let mut chunks = chunks.into_iter();
            for (row, vector) in self.state.store.cached_embeddings(&rows)? {
                let chunk = chunks.find(|chunk| chunk.row == row);
                vectors.extend(chunk.map(|chunk| (chunk.id.clone(), vector)));
            }
        }
        Ok(vectors)
    }

    /// What is known of the document at exactly `path`; nothing if it is not indexed.
    pub fn document(&self, path: &str) -> Result<Option<FileInfo>> {
        self.state.store.file_info(path)
    }

    /// The same of the document with this id.
    pub fn document_by_id(&self, id: &FileId) -> Result<Option<FileInfo>> {
        self.state.store.file_info_by_id(id)
    }

    /// The first `limit` documents by path behind `after`, of those that have a chunk which
    /// `filters` let through; without filters, of all. Goes on from page to page by the last path.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for a filter out of range.
    pub fn documents(
        &self,
        filters: &SearchFilters,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<FileInfo>> {
        let allowed = self.state.allowed(&self.state.view(), filters)?;
        self.state.store.file_infos(&allowed, after, limit)
    }

    /// The chunks before and after one in its document, where there are any.
    pub fn neighbours(&self, row: RowId) -> Result<[Option<Arc<StoredChunk>>; 2]> {
        self.state.store.neighbours(row).map(Into::into)
    }

    /// The retrievers' own lists for `query`, before fusion: to explain and to tune.
    pub fn ranked_lists(&self, query: &SearchQuery) -> Result<Vec<RankedList>> {
        query.check()?;
        let view = self.state.current_view()?;
        let searcher = self.searcher(&view, &Deadline::NEVER);
        let diagnostics = &mut Diagnostics::start();
        let allowed = searcher.allowed(&query.filters)?;
        let plan = searcher.plan(query, &allowed, diagnostics)?;
        let request = Request { query, plan: &plan, allowed: &allowed };
        Ok(searcher.retrieve(request, diagnostics)?.lists)
    }

    /// Paths of the indexed files and documents, in order.
    pub fn paths(&self) -> Result<Vec<String>> {
        Ok(self.state.store.files()?.into_iter().map(|file| file.path).collect())
    }

    /// Lets the worker of this engine run a task, for as long as the caller keeps it. An engine
    /// that was opened to read has no worker, and runs nothing.
    pub fn run_in_background(&self, task: &Arc<dyn BackgroundTask>) {
        if self.workers.is_some() {
            self.tasks.add(task);
            self.wake();
        }
    }

    /// How strongly one passage mentions the subject of another, 0–1, for a planned search: 0
    /// without the graph, and where question and documents are in two languages.
    pub fn mention_strength(&self, plan: &Plan) -> impl Fn(RowId, RowId) -> f32 + use<> {
        self.searcher(&self.state.view(), &Deadline::NEVER).mention_strength(plan)
    }

    /// The name of the reranker that reads a question of this text, and so passages in its
    /// language; none if none does.
    pub fn reranker_of(&self, question: &str) -> Option<&str> {
        let mut readers = self.state.rerankers.all();
        readers.find(|one| one.reads(question)).map(|one| one.model())
    }

    pub(crate) const fn state(&self) -> &Arc<State> {
        &self.state
    }

    fn searcher<'s>(&'s self, view: &'s Arc<ReadView>, deadline: &'s Deadline) -> Searcher<'s> {
        Searcher { state: &self.state, view, deadline }
    }

    /// The engine as a task of its worker has it: without the worker, which ends before its
    /// engine does.
    fn of_worker(state: Arc<State>) -> Self {
        Self { workers: None, _node: None, state, tasks: Arc::default(), _unpacked: None }
    }

    /// Tells the threads in the background that something was written.
    pub(crate) fn wake(&self) {
        if let Some(workers) = &self.workers {
            workers.wake();
        }
    }
}

/// When a search has to end.
fn deadline(query: &SearchQuery, cancel: Option<&Cancel>) -> Deadline {
    let timeout = query.options.timeout_ms.map(|millis| Duration::from_millis(millis.into()));
    let deadline = Deadline::NEVER.within(timeout);
    match cancel {
        Some(cancel) => deadline.with_cancel(cancel.clone()),
        None => deadline,
    }
}

/// Stands for the text of a search by vector.
const BY_EMBEDDING: &str = "(embedding)";

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
