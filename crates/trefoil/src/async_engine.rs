use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use trefoil_core::{
    Cancel, ChunkId, Document, Error, FileId, FileInfo, Lost, Metadata, Missed, Part, Plan,
    RankedList, Result, RowId, SearchEvent, SearchFilters, SearchOptions, SearchQuery,
    SearchResult, StoredChunk, WhyNot,
};
use trefoil_store::{JobCounts, truth::Place};

#[cfg(feature = "graph")]
use crate::graph::{
    CommunityRow, EntityNode, EntityView, GraphIndex, RelationEdge, Subgraph, petgraph::Graph,
};
use crate::{
    admin::{
        doctor::{DoctorOptions, HealthReport},
        erase::ForgetReceipt,
        repair::RepairReport,
        snapshot::Snapshot,
        verify::Verification,
    },
    builder::EngineBuilder,
    config::EngineConfig,
    engine::{Engine, EngineStats, tasks::BackgroundTask},
    ingest::{
        pipeline::{IngestOptions, Ingested},
        restore::Restored,
    },
    memory::MemoryCollection,
    progress::Progress,
    store_at::{NodeStatus, SharedStore},
};

/// An [`Engine`] for tokio: it has the same methods, and runs each on the blocking pool, so that
/// no executor thread waits for a model or a disk. Cheap to clone.
///
/// A call that has begun goes on when its future is dropped; an `ingest` is then still whole. A
/// search that nobody waits for ends at the next place where it looks.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// use trefoil::{AsyncEngine, Document, Engine, Model, SearchQuery};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path().join("notes.trefoil");
/// let engine = AsyncEngine::build(Engine::builder(dir).model(Model::None)).await?;
/// engine.ingest(vec![Document::new("weather.md", "Rain in Tokyo tomorrow.")]).await?;
/// let found = engine.search(SearchQuery::new("will it rain?")?).await?;
/// assert!(found.results.iter().any(|hit| hit.path() == "weather.md"));
/// # Ok::<(), trefoil::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AsyncEngine {
    engine: Arc<Engine>,
}

impl AsyncEngine {
    /// [`EngineBuilder::open`].
    pub async fn build(builder: EngineBuilder) -> Result<Self> {
        blocking(move || builder.open()).await.map(Self::from)
    }

    /// [`Engine::search`]. A search whose future is dropped is [given up](Engine::search_unless).
    pub async fn search(&self, query: SearchQuery) -> Result<SearchResult> {
        let abandoned = CancelOnDrop(Cancel::default());
        let cancel = abandoned.0.clone();
        self.call(move |engine| engine.search_unless(&query, &cancel)).await
    }

    /// [`Engine::search_observed`].
    pub async fn search_observed(
        &self,
        query: SearchQuery,
        on_event: impl FnMut(SearchEvent) + Send + 'static,
    ) -> Result<SearchResult> {
        self.call(move |engine| engine.search_observed(&query, on_event)).await
    }

    /// [`Engine::ingest_path`].
    pub async fn ingest_path(&self, path: impl AsRef<Path>) -> Result<Ingested> {
        let path = path.as_ref().to_owned();
        self.call(move |engine| engine.ingest_path(path)).await
    }

    /// [`Engine::remove`].
    pub async fn remove(&self, path: impl Into<String>) -> Result<usize> {
        let path = path.into();
        self.call(move |engine| engine.remove(&path)).await
    }

    /// [`Engine::run_in_background`], which returns at once.
    pub fn run_in_background(&self, task: &Arc<dyn BackgroundTask>) {
        self.engine.run_in_background(task);
    }

    /// [`Engine::expect`], which returns at once.
    pub fn expect(&self, place: Place) {
        self.engine.expect(place);
    }

    /// [`Engine::mention_strength`], which returns at once.
    pub fn mention_strength(&self, plan: &Plan) -> impl Fn(RowId, RowId) -> f32 + use<> {
        self.engine.mention_strength(plan)
    }

    /// [`Engine::reranker_of`], which returns at once.
    pub fn reranker_of(&self, question: &str) -> Option<&str> {
        self.engine.reranker_of(question)
    }

    /// [`Engine::graph_index`], which returns at once.
    #[cfg(feature = "graph")]
    pub fn graph_index(&self) -> Option<Arc<GraphIndex>> {
        self.engine.graph_index()
    }

    /// Calls what [`Engine::memory`] has.
    pub async fn memory<T: Send + 'static>(
        &self,
        call: impl FnOnce(MemoryCollection<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.call(move |engine| call(engine.memory())).await
    }

    /// Runs several calls of the engine as one, on one thread of the blocking pool.
    pub async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let engine = Arc::clone(&self.engine);
        blocking(move || call(&engine)).await
    }

    /// The engine itself, whose calls block.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

/// Gives up a search when its future is dropped.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl AsyncEngine {
    /// [`Engine::documents`].
    pub async fn documents(
        &self,
        filters: SearchFilters,
        after: Option<String>,
        limit: usize,
    ) -> Result<Vec<FileInfo>> {
        self.call(move |engine| engine.documents(&filters, after.as_deref(), limit)).await
    }
}

/// Methods that hand their arguments to the method of the engine with the same name.
macro_rules! same {
    ($($name:ident($($argument:ident: $type:ty $(as $form:tt)?),*) -> $output:ty;)*) => {
        $(
            #[doc = concat!("[`Engine::", stringify!($name), "`].")]
            pub async fn $name(&self $(, $argument: $type)*) -> Result<$output> {
                self.call(move |engine| engine.$name($(same!(@ $argument $($form)?)),*)).await
            }
        )*
    };
    (@ $argument:ident ref) => { &$argument };
    (@ $argument:ident) => { $argument };
}

/// Functions that hand folders, files and other arguments to that of the engine with the same name.
macro_rules! associated {
    ($($name:ident(
        $($path:ident),* $(; $argument:ident: $type:ty $(as $form:tt)?)*
    ) -> $output:ty;)*) => {
        $(
            #[doc = concat!("[`Engine::", stringify!($name), "`].")]
            pub async fn $name(
                $($path: impl Into<PathBuf>,)* $($argument: $type),*
            ) -> Result<$output> {
                $(let $path: PathBuf = $path.into();)*
                let call = move || Engine::$name($($path,)* $(same!(@ $argument $($form)?)),*);
                blocking(call).await.map(Into::into)
            }
        )*
    };
}

impl AsyncEngine {
    associated! {
        open(dir) -> Self;
        open_with(dir; config: EngineConfig) -> Self;
        open_read_only(dir; config: EngineConfig) -> Self;
        reindex(dir; config: EngineConfig) -> Self;
        verify(dir) -> Verification;
        repair(dir; config: EngineConfig as ref) -> RepairReport;
        export(dir, to) -> Snapshot;
        export_with(
            dir, to; on_progress: impl FnMut(Progress) -> ControlFlow<()> + Send + 'static
        ) -> Snapshot;
        import(from, dir) -> Snapshot;
        share(dir; shared: SharedStore as ref) -> Place;
        doctor(dir; config: EngineConfig; options: DoctorOptions as ref) -> HealthReport;
    }

    same! {
        follow() -> Place;
        lead() -> bool;
        resign() -> ();
        restore_lost(dry_run: bool) -> Restored;
        node() -> Option<NodeStatus>;
        rebuild() -> ();
        search_by_embedding(
            vector: Vec<f32> as ref, filters: SearchFilters, options: SearchOptions
        ) -> SearchResult;
        plan(query: SearchQuery as ref) -> Plan;
        ranked_lists(query: SearchQuery as ref) -> Vec<RankedList>;
        why_not(query: SearchQuery as ref, chunk: ChunkId as ref) -> WhyNot;
        why_missed(missed: Missed as ref) -> Option<Lost>;
        why_not_document(query: SearchQuery as ref, path: String as ref) -> Option<Lost>;
        ingest(documents: Vec<Document> as ref) -> Ingested;
        ingest_with(
            documents: Vec<Document> as ref,
            on_progress: impl FnMut(Progress) -> ControlFlow<()> + Send + 'static
        ) -> Ingested;
        ingest_paths(
            paths: Vec<PathBuf> as ref,
            allowed: IngestOptions,
            on_progress: impl FnMut(Progress) -> ControlFlow<()> + Send + 'static
        ) -> Ingested;
        wait_until_indexed() -> JobCounts;
        wait_until_indexed_with(
            on_progress: impl FnMut(&JobCounts) -> ControlFlow<()> + Send + 'static
        ) -> JobCounts;
        stats() -> EngineStats;
        chunk(id: ChunkId as ref) -> Option<Arc<StoredChunk>>;
        chunks(rows: Vec<RowId> as ref) -> Vec<Arc<StoredChunk>>;
        paths() -> Vec<String>;
        forget_document(path: String as ref) -> ForgetReceipt;
        forget_document_with(
            path: String as ref,
            on_progress: impl FnMut(Progress) -> ControlFlow<()> + Send + 'static
        ) -> ForgetReceipt;
        vectors(paths: Vec<String> as ref) -> Vec<(ChunkId, Vec<f32>)>;
        update_metadata(paths: Vec<String> as ref, patch: Metadata as ref) -> usize;
        remove_documents(paths: Vec<String> as ref) -> usize;
        document(path: String as ref) -> Option<FileInfo>;
        document_by_id(id: FileId as ref) -> Option<FileInfo>;
        document_chunks(path: String as ref) -> Vec<Arc<StoredChunk>>;
        neighbours(row: RowId) -> [Option<Arc<StoredChunk>>; 2];
    }
}

#[cfg(feature = "graph")]
impl AsyncEngine {
    same! {
        graph(filters: SearchFilters as ref) -> Option<Graph<EntityNode, RelationEdge>>;
        graph_index_within(filters: SearchFilters as ref) -> Option<Arc<GraphIndex>>;
        communities() -> Vec<CommunityRow>;
        entities(filters: SearchFilters as ref, most: usize) -> Vec<EntityView>;
        entity(name: String as ref, filters: SearchFilters as ref, most: usize) -> Option<EntityView>;
    }

    /// [`Engine::subgraph`].
    pub async fn subgraph(
        &self,
        around: Option<String>,
        filters: SearchFilters,
        most: usize,
    ) -> Result<Subgraph> {
        self.call(move |engine| engine.subgraph(around.as_deref(), &filters, most)).await
    }
}

impl From<Engine> for AsyncEngine {
    fn from(engine: Engine) -> Self {
        Self { engine: Arc::new(engine) }
    }
}

async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(call).await {
        Ok(outcome) => outcome,
        Err(error) => Err(Error::backend(Part::Store, "run on the blocking pool", error)),
    }
}

#[cfg(all(test, feature = "keyword"))]
mod tests {
    use std::{
        future::{Future, poll_fn},
        sync::{
            Barrier,
            atomic::{AtomicUsize, Ordering},
        },
        task::Poll,
    };

    use trefoil_core::{Reranker, Score};

    use super::*;
    use crate::{Model, config::Rerankers};

    /// Waits at its first passage, twice: until others know, and until it may go on.
    #[derive(Debug)]
    struct Waits {
        barrier: Barrier,
        scored: AtomicUsize,
    }

    impl Reranker for Waits {
        fn model(&self) -> &'static str {
            "waits"
        }

        fn reads(&self, _: &str) -> bool {
            true
        }

        fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<Score>> {
            if self.scored.fetch_add(passages.len(), Ordering::Relaxed) == 0 {
                self.barrier.wait();
                self.barrier.wait();
            }
            Ok(vec![Score::ONE; passages.len()])
        }
    }

    #[test]
    fn a_search_whose_future_is_dropped_reads_no_further() {
        let reranker = Arc::new(Waits { barrier: Barrier::new(2), scored: 0.into() });
        let dir = tempfile::tempdir().unwrap();
        let config = EngineConfig {
            model: Model::None,
            rerank_budget: None,
            rerankers: Rerankers::Custom(vec![Arc::clone(&reranker) as _]),
            ..EngineConfig::default()
        };
        let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
        let walrus = |n: usize| Document::new(format!("{n}"), "A walrus. ".repeat(n + 1));
        engine.ingest(&(0..5).map(walrus).collect::<Vec<_>>()).unwrap();
        let engine = AsyncEngine::from(engine);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut search = Box::pin(engine.search(SearchQuery::new("walrus").unwrap()));
            poll_fn(|context| {
                assert!(search.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            reranker.barrier.wait();
        });
        // The future is gone; the search goes on, and ends.
        reranker.barrier.wait();
        drop(runtime);
        assert_eq!(reranker.scored.load(Ordering::Relaxed), 1);
    }
}
