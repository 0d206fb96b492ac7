//! Searches wait for nothing that is slow: one part stops in the middle of its work, and the others
//! go on.

use std::{
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use trefoil::{
    Document, Engine, EngineConfig, Model, Result, Retriever, RetrieverId, SearchStrategy, Weight,
    index::{
        Allowed, Contents, CustomRetriever, IndexEntry, IndexFile, IndexFiles, IndexInput, Indexer,
        Merge, Role, RowId, Seq,
    },
    model::{Array2, Embedder, EmbeddingSpace},
    search::{Question, RankedList},
};

use crate::{
    campaign::any_relevance, models::without_model, plugged::names::NameRetriever,
    trigrams::with_trigrams,
};

/// The question that a retriever, or an embedder, stops at.
const HELD: &str = "hold still";

/// Where a thread stops until it is let go.
#[derive(Clone, Debug, Default)]
struct Gate(Arc<(Mutex<Passing>, Condvar)>);

#[derive(Debug, Default, PartialEq)]
enum Passing {
    #[default]
    Open,
    Closed,
    /// A thread waits.
    Waiting,
}

impl Gate {
    fn passing(&self) -> MutexGuard<'_, Passing> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, passing: Passing) {
        *self.passing() = passing;
        self.0.1.notify_all();
    }

    /// Waits until the gate is open; false if it is stopped before.
    fn pass(&self, is_stopped: impl Fn() -> bool) -> bool {
        let mut passing = self.passing();
        while *passing != Passing::Open {
            *passing = Passing::Waiting;
            self.0.1.notify_all();
            passing = self.0.1.wait_timeout(passing, Duration::from_millis(20)).unwrap().0;
            if is_stopped() {
                return false;
            }
        }
        true
    }

    /// Waits until a thread waits.
    fn wait(&self) {
        let mut passing = self.passing();
        while *passing != Passing::Waiting {
            passing = self.0.1.wait(passing).unwrap();
        }
    }
}

/// The gates of a plugged retriever.
#[derive(Clone, Debug, Default)]
struct Gates {
    retrieve: Gate,
    compact: Gate,
    merge: Gate,
}

/// The index of names, which stops where it is told to.
#[derive(Debug)]
struct Gated(Arc<dyn Retriever>, Gates);

impl Gated {
    fn of(&self, inner: Option<Arc<dyn Retriever>>) -> Option<Arc<dyn Retriever>> {
        inner.map(|inner| Arc::new(Self(inner, self.1.clone())) as _)
    }
}

impl Retriever for Gated {
    fn id(&self) -> RetrieverId {
        self.0.id()
    }
    fn retrieve(&self, question: &Question, depth: usize, allowed: &Allowed) -> Result<RankedList> {
        if question.text == HELD {
            self.1.retrieve.pass(|| false);
        }
        self.0.retrieve(question, depth, allowed)
    }
    fn inputs(&self) -> &[IndexInput] {
        self.0.inputs()
    }
    fn index(&self, dir: &Path) -> Option<Box<dyn IndexFiles>> {
        Some(Box::new(GatedFiles(self.0.index(dir)?, self.1.clone())))
    }
    fn open(&self, dir: &Path) -> Result<Option<Arc<dyn Retriever>>> {
        Ok(self.of(self.0.open(dir)?))
    }
    fn newest(&self) -> Result<Option<Arc<dyn Retriever>>> {
        Ok(self.of(self.0.newest()?))
    }
    fn seq(&self) -> Seq {
        self.0.seq()
    }
}

#[derive(Debug)]
struct GatedFiles(Box<dyn IndexFiles>, Gates);

impl IndexFiles for GatedFiles {
    fn id(&self) -> RetrieverId {
        self.0.id()
    }
    fn inputs(&self) -> &[IndexInput] {
        self.0.inputs()
    }
    fn contents(&self) -> Result<Option<Contents>> {
        self.0.contents()
    }
    fn digest(&self, entry: &IndexEntry) -> Result<Option<u64>> {
        self.0.digest(entry)
    }
    fn files(&self) -> Result<Vec<IndexFile>> {
        self.0.files()
    }
    fn indexer(&self) -> Result<Box<dyn Indexer>> {
        Ok(Box::new(GatedIndexer {
            inner: self.0.indexer()?,
            gates: self.1.clone(),
            merged: false,
        }))
    }
}

#[derive(Debug)]
struct GatedIndexer {
    inner: Box<dyn Indexer>,
    gates: Gates,
    merged: bool,
}

impl Indexer for GatedIndexer {
    fn id(&self) -> RetrieverId {
        self.inner.id()
    }
    fn inputs(&self) -> &[IndexInput] {
        self.inner.inputs()
    }
    fn committed(&self) -> Seq {
        self.inner.committed()
    }
    fn add(&mut self, entries: &[IndexEntry]) -> Result<()> {
        self.inner.add(entries)
    }
    fn remove(&mut self, rows: &[RowId]) -> Result<()> {
        self.inner.remove(rows)
    }
    fn commit(&mut self, seq: Seq) -> Result<()> {
        self.inner.commit(seq)
    }
    fn clear(&mut self) -> Result<()> {
        self.inner.clear()
    }
    fn compact(&mut self) -> Result<()> {
        self.gates.compact.pass(|| false);
        self.inner.compact()
    }
    fn plan_merge(&mut self) -> Result<Option<Box<dyn Merge>>> {
        let merge = || Box::new(GatedMerge(self.gates.merge.clone())) as _;
        Ok((!self.merged).then(merge))
    }
    fn apply_merge(&mut self, _: Box<dyn Merge>) -> Result<()> {
        self.merged = true;
        Ok(())
    }
}

#[derive(Debug)]
struct GatedMerge(Gate);

impl Merge for GatedMerge {
    fn prepare(&mut self, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        Ok(self.0.pass(is_stopped))
    }
}

/// An embedder that stops at one question.
#[derive(Debug)]
struct GatedEmbedder(Arc<dyn Embedder>, Gate);

impl Embedder for GatedEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        self.0.space()
    }
    fn cosine_range(&self) -> (f32, f32) {
        self.0.cosine_range()
    }
    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        if role == Role::Query && texts.contains(&HELD) {
            self.1.pass(|| false);
        }
        self.0.embed(role, texts)
    }
}

fn gated(gates: &Gates) -> EngineConfig {
    let names = Gated(Arc::new(NameRetriever::new().unwrap()), gates.clone());
    let (retriever, weight) = (Arc::new(names) as _, Weight::new(0.2).unwrap());
    EngineConfig { retrievers: vec![CustomRetriever { retriever, weight }], ..without_model() }
}

fn open(dir: &Path, config: EngineConfig) -> Arc<Engine> {
    let engine = Engine::open_with(dir.join("index"), config).unwrap();
    engine.ingest(&[Document::new("a", "the walrus sleeps")]).unwrap();
    Arc::new(engine)
}

/// What a thread returns; a failure if it is stuck.
fn in_time<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || drop(sender.send(work())));
    let done = receiver.recv_timeout(Duration::from_mins(2));
    done.unwrap_or_else(|_| panic!("{what} waits for what has stopped"))
}

/// A document that is ingested is found, while something else has stopped.
fn goes_on(engine: &Arc<Engine>, name: &'static str) {
    let writer = Arc::clone(engine);
    in_time("an ingest", move || {
        writer.ingest(&[Document::new(name, "the walrus dives")]).unwrap();
    });
    finds(engine, name);
}

fn finds(engine: &Arc<Engine>, name: &'static str) {
    // More than there are threads for retrievers.
    let searches: Vec<_> = (0..8).map(|_| Arc::clone(engine)).collect();
    for engine in searches {
        let query = any_relevance("walrus").strategy(SearchStrategy::KEYWORD);
        let found = in_time("a search", move || engine.search(&query).unwrap());
        assert!(found.results.iter().any(|one| one.path() == name), "{found:?}");
    }
}

fn held(engine: &Arc<Engine>) -> JoinHandle<usize> {
    let engine = Arc::clone(engine);
    thread::spawn(move || engine.search(&any_relevance(HELD)).unwrap().stages.len())
}

#[test]
fn a_retriever_that_stops_holds_up_its_own_search_only() {
    let (dir, gates) = (tempfile::tempdir().unwrap(), Gates::default());
    let engine = open(dir.path(), gated(&gates));
    gates.retrieve.set(Passing::Closed);
    let searches: Vec<_> = (0..8).map(|_| held(&engine)).collect();
    gates.retrieve.wait();
    goes_on(&engine, "b");
    let everywhere = Arc::clone(&engine);
    in_time("a search with all retrievers", move || {
        everywhere.search(&any_relevance("walrus")).unwrap()
    });
    gates.retrieve.set(Passing::Open);
    for search in searches {
        assert!(search.join().unwrap() > 0);
    }
}

#[test]
fn an_embedder_that_stops_holds_up_its_own_search_only() {
    let (dir, gate) = (tempfile::tempdir().unwrap(), Gate::default());
    let config = with_trigrams();
    let Model::Custom(trigrams) = config.model.clone() else { panic!("no trigrams") };
    let model = Model::Custom(Arc::new(GatedEmbedder(trigrams, gate.clone())));
    let engine = open(dir.path(), EngineConfig { model, ..config });
    engine.wait_until_indexed().unwrap();
    gate.set(Passing::Closed);
    let search = held(&engine);
    gate.wait();
    goes_on(&engine, "b");
    let waiting = Arc::clone(&engine);
    let left = in_time("the worker", move || waiting.wait_until_indexed().unwrap());
    assert_eq!((left.queued, left.failed), (0, 0));
    gate.set(Passing::Open);
    assert!(search.join().unwrap() > 0);
}

#[test]
fn forgetting_that_stops_holds_up_no_search() {
    let (dir, gates) = (tempfile::tempdir().unwrap(), Gates::default());
    let engine = open(dir.path(), gated(&gates));
    engine.ingest(&[Document::new("b", "the walrus keeps a secret")]).unwrap();
    gates.compact.set(Passing::Closed);
    let forget = thread::spawn({
        let engine = Arc::clone(&engine);
        move || engine.forget_document("b").unwrap()
    });
    gates.compact.wait();
    finds(&engine, "a");
    gates.compact.set(Passing::Open);
    let receipt = forget.join().unwrap();
    assert_eq!((receipt.searched, receipt.hits), (true, 0));
}

#[test]
fn a_merge_that_stops_holds_up_nobody_and_ends_with_the_engine() {
    let (dir, gates) = (tempfile::tempdir().unwrap(), Gates::default());
    gates.merge.set(Passing::Closed);
    let engine = open(dir.path(), gated(&gates));
    gates.merge.wait();
    goes_on(&engine, "b");
    // It is given up for what rewrites the index.
    let forgetting = Arc::clone(&engine);
    in_time("forgetting", move || forgetting.forget_document("b").unwrap());
    gates.merge.wait();
    in_time("closing", move || drop(Arc::try_unwrap(engine).unwrap()));
}
