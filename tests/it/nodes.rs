//! Nodes that share a store: the one that leads, those that follow, and an index of its own answer
//! alike, also after another node leads.

mod boundary;
mod cut;
mod lost;
mod memory;

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use tempfile::TempDir;
use trefoil::{
    Document, Engine, EngineConfig, Error, IngestOptions, Metadata, Result, RetrieverId,
    SearchOptions,
    cluster::{Cluster, Freshness, MemoryTruth, NodeTimes, SharedStore, StoreAt, Truth, hand_over},
};

pub(crate) use self::cut::Cut;
use crate::{
    campaign::{any_relevance, list},
    models::without_model,
    rebuilt::{documents, questions},
    trigrams::with_trigrams,
};

/// Nodes that do nothing by themselves, but for the first.
fn by_hand() -> NodeTimes {
    let hour = Duration::from_hours(1);
    NodeTimes { poll: hour, retry: hour, lease: hour, renew: hour / 3, doubt: Duration::ZERO }
}

/// What a node is made of.
struct Parts {
    config: EngineConfig,
    shared: SharedStore,
}

fn parts(truth: impl Cluster + 'static, config: EngineConfig) -> Parts {
    let times = by_hand();
    Parts { config, shared: SharedStore { times, ..SharedStore::new(Arc::new(truth)) } }
}

impl Parts {
    fn following(mut self) -> Self {
        self.shared.may_lead = false;
        self
    }

    fn open_in(self, dir: &Path) -> Result<Engine> {
        let store = StoreAt::Shared(self.shared);
        Engine::open_with(dir, EngineConfig { store, ..self.config })
    }

    fn open(self) -> Node {
        let dir = tempfile::tempdir().unwrap();
        let engine = self.open_in(dir.path()).unwrap();
        Node { engine, dir }
    }
}

struct Node {
    engine: Engine,
    dir: TempDir,
}

impl Node {
    /// Takes over what there is, and brings the indexes to the end.
    fn settle(&self) {
        self.engine.follow().unwrap();
        self.engine.wait_until_indexed().unwrap();
    }

    fn texts(&self) -> BTreeMap<String, Vec<String>> {
        let of = |path: String| {
            let chunks = self.engine.document_chunks(&path).unwrap();
            (path, chunks.iter().map(|one| one.chunk.text.clone()).collect())
        };
        self.engine.paths().unwrap().into_iter().map(of).collect()
    }

    fn finds(&self, text: &str) -> Vec<String> {
        let found = self.engine.search(&any_relevance(text)).unwrap();
        found.results.iter().map(|hit| hit.path().to_owned()).collect()
    }

    /// What becomes of a write that is done here or not at all.
    fn write_here(&self) -> Result<()> {
        self.engine.memory().write("note", |write| write.add_event("noted", None, "{}"))
    }

    /// What is said of how it follows.
    fn troubles(&self) -> Vec<String> {
        let found = self.engine.search(&any_relevance("walrus")).unwrap();
        let own = found.degraded.into_iter().filter(|one| one.stage.name() == "follow");
        own.map(|one| one.reason).collect()
    }
}

/// All that an engine answers, to the bit.
fn answers(engine: &Engine) -> Vec<String> {
    let mut ids = BTreeMap::new();
    for path in engine.paths().unwrap() {
        let chunks = engine.document_chunks(&path).unwrap();
        ids.extend(chunks.iter().map(|one| (one.row.get(), one.id.to_string())));
    }
    let mut answers = Vec::new();
    for question in questions() {
        for retriever in [RetrieverId::KEYWORD, RetrieverId::SEMANTIC] {
            let list = list(engine, &question, retriever).unwrap();
            let hits = list.hits().iter();
            let hits: Vec<(&String, u32)> =
                hits.map(|hit| (&ids[&hit.row.get()], hit.raw_score.to_bits())).collect();
            let (floor, confidence) = (list.floor().to_bits(), list.confidence().to_bits());
            answers.push(format!("{retriever} {question}: {hits:?} {floor} {confidence}"));
        }
        let options = SearchOptions { limit: 50, ..SearchOptions::default() };
        let query = any_relevance(&question).replace_options(options);
        let found = engine.search(&query).unwrap();
        assert!(found.degraded.is_empty(), "{:?}", found.degraded);
        let results = found.results.iter().map(|one| (one.id.clone(), one.score.get().to_bits()));
        answers.push(format!("{question}: {:?}", results.collect::<Vec<_>>()));
    }
    answers
}

fn assert_alike(one: &[String], other: &[String]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(other) {
        assert_eq!(one, other);
    }
}

#[test]
fn an_index_of_its_own_a_node_that_leads_and_those_that_follow_answer_alike() {
    let truth = MemoryTruth::new("a");
    let own_dir = tempfile::tempdir().unwrap();
    let own = Engine::open_with(own_dir.path(), with_trigrams()).unwrap();
    let first = parts(truth.clone(), with_trigrams()).open();
    let second = parts(truth.node("b"), with_trigrams()).open();
    assert!(first.engine.node().unwrap().unwrap().leads);
    assert!(!second.engine.node().unwrap().unwrap().leads);
    let documents = documents();
    let (early, late) = documents.split_at(documents.len() * 2 / 3);
    for some in early.chunks(30) {
        own.ingest(some).unwrap();
        first.engine.ingest(some).unwrap();
        second.engine.follow().unwrap();
    }
    for gone in early.iter().step_by(9) {
        assert_eq!(own.remove(&gone.path).unwrap(), first.engine.remove(&gone.path).unwrap());
    }
    for engine in [&own, &first.engine] {
        engine.wait_until_indexed().unwrap();
    }
    second.settle();
    let expected = answers(&own);
    assert_alike(&answers(&first.engine), &expected);
    assert_alike(&answers(&second.engine), &expected);
    assert_eq!(first.texts(), second.texts());

    // The node that led is gone, and another goes on.
    let refused = second.engine.rebuild().unwrap_err();
    let doing = "rebuild the indexes";
    assert!(matches!(refused, Error::NotLeading { doing: d, .. } if d == doing), "{refused:?}");
    let Node { engine, dir } = first;
    drop(engine);
    second.engine.follow().unwrap();
    assert!(second.engine.lead().unwrap());
    own.ingest(late).unwrap();
    let ingested = second.engine.ingest(late).unwrap();
    assert_eq!(ingested.place, Some(truth.head().unwrap()));
    for engine in [&own, &second.engine] {
        engine.wait_until_indexed().unwrap();
    }
    let expected = answers(&own);
    assert_alike(&answers(&second.engine), &expected);
    // One that starts from nothing, and the one that led before.
    let third = parts(truth.node("c"), with_trigrams()).open();
    let engine = parts(truth.node("a"), with_trigrams()).open_in(dir.path()).unwrap();
    for node in [third, Node { engine, dir }] {
        node.settle();
        assert_alike(&answers(&node.engine), &expected);
        assert_eq!(node.texts(), second.texts());
        let Node { engine, dir } = node;
        drop(engine);
        let verified = Engine::verify(dir.path()).unwrap();
        assert!(verified.is_sound(), "{verified:?}");
    }
}

fn walrus(name: &str) -> Document {
    Document::new(name, format!("The walrus of {name} sleeps on the ice."))
}

#[test]
fn while_the_store_does_not_answer_searches_go_on_and_say_so() {
    let truth = MemoryTruth::new("a");
    let [leads, follows] = [truth.clone(), truth.node("b")].map(Cut::new);
    let first = parts(leads.clone(), without_model()).open();
    let second = parts(follows.clone(), without_model()).following().open();
    first.engine.ingest(&[walrus("one")]).unwrap();
    second.settle();
    for cut in [&leads, &follows] {
        cut.set(true);
    }
    let refused = first.engine.ingest(&[walrus("two")]).unwrap_err();
    assert!(matches!(refused, Error::Unavailable { .. }), "{refused:?}");
    assert!(matches!(second.engine.follow(), Err(Error::Unavailable { .. })));
    for node in [&first, &second] {
        assert_eq!(node.finds("walrus"), ["one"]);
    }
    let troubles = second.troubles();
    assert!(troubles[0].starts_with("as of transaction ") && troubles[0].contains("it is cut"));
    assert_eq!(first.troubles(), [""; 0], "a node that leads has everything");
    // A node with a cache opens without the store, and one without does not.
    let Node { engine, dir } = second;
    drop(engine);
    let second = parts(follows.clone(), without_model()).following().open_in(dir.path()).unwrap();
    let second = Node { engine: second, dir };
    assert_eq!(second.finds("walrus"), ["one"]);
    assert!(second.troubles()[0].contains("it is cut"));
    let empty = tempfile::tempdir().unwrap();
    let refused = parts(follows.clone(), without_model()).open_in(empty.path()).unwrap_err();
    assert!(matches!(refused, Error::Unavailable { .. }), "{refused:?}");
    for cut in [&leads, &follows] {
        cut.set(false);
    }
    first.engine.ingest(&[walrus("two")]).unwrap();
    second.settle();
    assert_eq!(second.troubles(), [""; 0]);
    assert_eq!(second.finds("walrus of two").len(), 2);
}

#[test]
fn a_search_waits_for_what_it_is_to_see_and_says_what_it_does_not() {
    let truth = MemoryTruth::new("a");
    let first = parts(truth.clone(), without_model()).open();
    let mut lagging = parts(truth.node("b"), without_model()).following();
    lagging.shared.freshness_wait = Duration::ZERO;
    let lagging = lagging.open();
    let mut strict = parts(truth.node("c"), without_model()).following();
    strict.shared.freshness_wait = Duration::ZERO;
    strict.shared.freshness = Freshness::Required;
    let strict = strict.open();
    let place = first.engine.ingest(&[walrus("one")]).unwrap().place.unwrap();
    let behind = place.tx - lagging.engine.node().unwrap().unwrap().place.tx;
    assert!(behind > 0);
    for node in [&lagging, &strict] {
        node.engine.expect(place);
    }
    assert_eq!(lagging.troubles(), [format!("behind by {behind} transactions")]);
    let refused = strict.engine.search(&any_relevance("walrus")).unwrap_err();
    assert!(matches!(refused, Error::Behind { transactions } if transactions == behind));
    for node in [&lagging, &strict] {
        node.engine.follow().unwrap();
        assert_eq!(node.finds("walrus"), ["one"]);
        assert_eq!(node.troubles(), [""; 0]);
    }
    // One that looks by itself is there in time.
    let mut eager = parts(truth.node("d"), without_model()).following();
    eager.shared.times.poll = Duration::from_millis(5);
    eager.shared.freshness_wait = Duration::from_mins(5);
    let eager = eager.open();
    let place = first.engine.ingest(&[walrus("two")]).unwrap().place.unwrap();
    eager.engine.expect(place);
    assert_eq!(eager.finds("walrus of two").len(), 2);
}

#[test]
fn a_node_leads_by_itself_when_no_other_does() {
    let truth = MemoryTruth::new("a");
    let first = parts(truth.clone(), without_model()).open();
    let mut heir = parts(truth.node("b"), without_model());
    heir.shared.times = NodeTimes {
        poll: Duration::from_millis(5),
        retry: Duration::from_millis(20),
        ..NodeTimes::default()
    };
    let heir = heir.open();
    first.engine.ingest(&[walrus("one")]).unwrap();
    drop(first);
    let written = (0..3_000).any(|_| {
        let written = heir.engine.ingest(&[walrus("two")]);
        std::thread::sleep(Duration::from_millis(20));
        written.is_ok()
    });
    assert!(written, "nobody leads");
    assert_eq!(heir.finds("walrus of two").len(), 2);
}

#[test]
fn any_node_takes_documents_and_the_one_that_leads_stores_them_once() {
    let truth = MemoryTruth::new("a");
    let mut first = parts(truth.clone(), without_model());
    first.shared.times.poll = Duration::from_millis(5);
    let first = first.open();
    let second = parts(truth.node("b"), without_model()).following().open();
    let written = second.engine.ingest(&[walrus("one"), walrus("two")]).unwrap();
    assert_eq!((written.written, written.chunks_added), (2, 2));
    assert_eq!(written.place, Some(truth.head().unwrap()));
    // It sees what it wrote at once, and the node that leads has it.
    assert_eq!(second.finds("walrus").len(), 2);
    assert_eq!(first.texts(), second.texts());
    let again = second.engine.ingest(&[walrus("one")]).unwrap();
    assert_eq!((again.written, again.unchanged), (0, 1));

    let patch = |field: &str, value: &str| {
        serde_json::from_value::<Metadata>(serde_json::json!({ field: value })).unwrap()
    };
    assert_eq!(second.engine.update_metadata(&["one"], &patch("shelf", "left")).unwrap(), 1);
    let long = "x".repeat(10_000);
    assert_eq!(second.engine.update_metadata(&["one"], &patch("note", &long)).unwrap(), 1);
    // What a request is wrong with is told to whoever sent it, and holds up nobody else.
    let refused = second.engine.update_metadata(&["one"], &patch("more", &long)).unwrap_err();
    assert!(refused.chain().contains("16,384"), "{}", refused.chain());
    assert!(matches!(refused, Error::Refused { .. }), "{refused:?}");
    assert_eq!(refused.field().unwrap().field, "metadata");
    let metadata =
        |node: &Node| node.engine.document_chunks("one").unwrap()[0].file.metadata.to_json();
    assert!(metadata(&first).contains("left") && !metadata(&first).contains("more"));
    assert_eq!(metadata(&first), metadata(&second));

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("note.md"), "# Walrus\n\nThe third walrus reads.\n").unwrap();
    let paths = [folder.path().to_owned()];
    let go_on = |_| std::ops::ControlFlow::Continue(());
    let filled = second.engine.ingest_paths(&paths, IngestOptions::default(), go_on).unwrap();
    assert_eq!(filled.written, 1);
    first.engine.expect(filled.place.unwrap());
    assert!(first.finds("third walrus").iter().any(|path| path.ends_with("note.md")));
    assert_eq!(second.engine.remove("two").unwrap(), 1);
    assert!(!second.finds("walrus of two").contains(&"two".to_owned()));
    assert_eq!(first.texts(), second.texts());
}

#[test]
fn a_write_that_nobody_does_is_told_as_in_doubt() {
    let truth = MemoryTruth::new("a");
    let mut alone = parts(truth.clone(), without_model()).following();
    alone.shared.write_wait = Duration::from_millis(20);
    let alone = alone.open();
    let refused = alone.engine.ingest(&[walrus("one")]).unwrap_err();
    assert!(matches!(refused, Error::InDoubt { .. }), "{refused:?}");
    assert_eq!(truth.requests(10).unwrap(), [], "nobody does it later");
}

#[test]
fn the_node_that_leads_hands_over_to_the_one_that_is_named() {
    let truth = MemoryTruth::new("a");
    let quick = |truth: MemoryTruth| {
        let mut node = parts(truth, without_model());
        let times = NodeTimes::default();
        node.shared.times =
            NodeTimes { poll: Duration::from_millis(5), retry: Duration::from_millis(20), ..times };
        node.open()
    };
    let nodes = [truth.clone(), truth.node("b"), truth.node("c")].map(quick);
    nodes[0].engine.ingest(&[walrus("one")]).unwrap();
    for to in ["c", "b"] {
        hand_over(&truth, to, Duration::from_mins(1)).unwrap();
        // Whoever writes next writes as the node that was named.
        nodes[0].engine.ingest(&[walrus(to)]).unwrap();
        assert_eq!(truth.shard().unwrap().writer.as_deref(), Some(to));
    }
    let texts = nodes.each_ref().map(|node| {
        node.settle();
        node.texts()
    });
    assert!(texts[0].len() == 3 && texts[0] == texts[1] && texts[1] == texts[2]);
}
