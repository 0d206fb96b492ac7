//! Texts that the node that leads has embedded by others: what it gets back is what it would have
//! made itself, whoever dies on the way.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use tempfile::TempDir;
use trefoil::{
    Document, Engine, EngineConfig, Error, Language, Model, Result,
    admin::Clock,
    cluster::{
        Cluster, EmbedAt, MadeVectors, MemoryTruth, NodeRole, NodeTimes, Place, QueueEmbedder,
        RowSink, Sequences, SharedStore, Start, StoreAt, Truth, Value, tables,
    },
    index::Role,
    memory::UnitRow,
    model::{Array2, Embedder, EmbeddingSpace, TokenCodes, TokenMeans, TokenSpace, ndarray::Axis},
};

use crate::{campaign::any_relevance, memory::remember, models::without_model};

/// How often each letter of a few stands in a text, and in each of its words.
#[derive(Debug)]
struct Letters {
    space: EmbeddingSpace,
    tokens: TokenSpace,
    /// Passages that it was given.
    passages: AtomicUsize,
    /// It cannot embed anything.
    is_broken: AtomicBool,
}

const LETTERS: [char; 8] = ['a', 'e', 'i', 'n', 's', 'の', 'る', '다'];

fn letters(text: &str) -> impl Fn(usize) -> f32 {
    let counts = LETTERS.map(|letter| 0.1 + text.chars().filter(|c| *c == letter).count() as f32);
    let length = counts.iter().map(|count| count * count).sum::<f32>().sqrt();
    move |column| counts[column] / length
}

impl Letters {
    fn new() -> Arc<Self> {
        let means = || TokenMeans::from([(Language::En, vec![0.0; LETTERS.len()])]);
        Arc::new(Self {
            space: EmbeddingSpace::of_caller("letters", "test", LETTERS.len()),
            tokens: TokenSpace::new(means(), means(), [0.0, 1.0], None).unwrap(),
            passages: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
        })
    }

    fn passages(&self) -> usize {
        self.passages.load(Ordering::Relaxed)
    }
}

impl Embedder for Letters {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn cosine_range(&self) -> (f32, f32) {
        (0.0, 1.0)
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        if role == Role::Passage {
            self.passages.fetch_add(texts.len(), Ordering::Relaxed);
        }
        if self.is_broken.load(Ordering::Relaxed) {
            let (name, reason) = ("letters".to_owned(), "they are lost".to_owned());
            return Err(Error::ModelMissing { name, reason });
        }
        if let Some(cursed) = texts.iter().find(|text| text.contains("cursed")) {
            let (model, bytes) = ("letters".to_owned(), cursed.len());
            let reason = "it is cursed".to_owned();
            return Err(Error::EmbeddingFailed { model, bytes, reason });
        }
        let mut vectors = Array2::zeros((texts.len(), LETTERS.len()));
        for (mut row, text) in vectors.axis_iter_mut(Axis(0)).zip(texts) {
            let of = letters(text);
            row.iter_mut().enumerate().for_each(|(column, number)| *number = of(column));
        }
        Ok(vectors)
    }

    fn token_space(&self, _: Language) -> Option<&TokenSpace> {
        Some(&self.tokens)
    }

    fn embed_passages(
        &self,
        texts: &[(&str, Option<Language>)],
    ) -> Result<(Array2<f32>, Vec<Option<TokenCodes>>)> {
        let codes = |text: &str| {
            let tokens: Vec<&str> = text.split_whitespace().collect();
            let vectors = Array2::from_shape_fn((tokens.len(), LETTERS.len()), |(row, column)| {
                letters(tokens[row])(column)
            });
            TokenCodes::of(&vectors.view())
        };
        let each: Vec<&str> = texts.iter().map(|(text, _)| *text).collect();
        let codes = texts.iter().map(|(text, language)| language.map(|_| codes(text)));
        Ok((self.embed(Role::Passage, &each)?, codes.collect()))
    }
}

/// A clock that stands where it is put.
#[derive(Debug, Default)]
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

fn config(model: &Arc<Letters>, truth: MemoryTruth, embed: EmbedAt) -> EngineConfig {
    let hour = Duration::from_hours(1);
    // A node looks for what others embedded as often as for rows.
    let poll = Duration::from_millis(2);
    let times = NodeTimes { poll, retry: poll, lease: hour, renew: hour / 3, doubt: hour };
    // The engine itself leaves the work to others, unless a test says otherwise.
    let shared = SharedStore { embed, embeds: false, times, ..SharedStore::new(Arc::new(truth)) };
    let model = Model::Custom(Arc::clone(model) as _);
    EngineConfig { model, store: StoreAt::Shared(shared), ..without_model() }
}

fn shared(config: &mut EngineConfig) -> &mut SharedStore {
    let StoreAt::Shared(shared) = &mut config.store else { panic!("not shared") };
    shared
}

fn open(config: EngineConfig) -> (TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path(), config).unwrap();
    (dir, engine)
}

/// A node that leads and has others embed.
fn leader(truth: &MemoryTruth) -> (TempDir, Engine) {
    open(config(&Letters::new(), truth.clone(), EmbedAt::Queue))
}

fn embedder(truth: &MemoryTruth, node: &str, model: &Arc<Letters>) -> QueueEmbedder {
    QueueEmbedder::open(&config(model, truth.node(node), EmbedAt::Queue)).unwrap()
}

/// Looks until something is so.
fn eventually(what: &str, is_so: impl FnMut() -> bool) {
    let mut looked = std::iter::repeat_with(is_so).take(20_000);
    let found = looked.any(|is_so| {
        if !is_so {
            thread::sleep(Duration::from_millis(5));
        }
        is_so
    });
    assert!(found, "{what}");
}

/// The rows of a table, column by column.
struct Rows {
    table: &'static str,
    rows: Vec<BTreeMap<String, Value>>,
}

fn rows(truth: &MemoryTruth, table: &'static str) -> Vec<BTreeMap<String, Value>> {
    let mut rows = Rows { table, rows: Vec::new() };
    truth.pull(Place::NOTHING, &mut rows).unwrap();
    rows.rows
}

impl RowSink for Rows {
    fn begin(&mut self, _: &Start) -> Result<()> {
        Ok(())
    }
    fn gone(&mut self, _: &str, _: &[Value]) -> Result<()> {
        Ok(())
    }
    fn row(&mut self, table: &str, values: &[Value]) -> Result<()> {
        if table == self.table {
            let described = tables()?.into_iter().find(|one| one.name == table).unwrap();
            let names = described.columns.iter().map(|column| column.name.clone());
            self.rows.push(names.zip(values.iter().cloned()).collect());
        }
        Ok(())
    }
    fn end(&mut self, _: Place, _: &Sequences) -> Result<()> {
        Ok(())
    }
}

fn documents() -> Vec<Document> {
    let texts = ["a fox runs in the rain", "猫の庭 眠る 山の雪", "고양이가 정원에서 잔다 다시"];
    let text = |n: usize| Document::new(format!("{n}.md"), format!("{} {n}", texts[n % 3]));
    (0..240).map(text).collect()
}

/// Told also where a test fails: else its embedders went on for good.
struct Done<'d>(&'d AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Embeds until told that all is done.
fn embed_while<T>(embedders: &[QueueEmbedder], work: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for embedder in embedders {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    if embedder.step().unwrap().is_none() {
                        thread::sleep(embedder.poll());
                    }
                }
            });
        }
        let _done = Done(&is_done);
        work()
    })
}

#[test]
fn vectors_of_the_queue_are_to_the_bit_those_of_embedding_here() {
    let fill = |engine: &Engine| {
        engine.ingest(&documents()).unwrap();
        remember(engine, &UnitRow::new("obs_1", 1_700_000_000), "the fox の 눈 sleeps");
        engine.wait_until_indexed().unwrap()
    };
    let here = MemoryTruth::new("here");
    let (_dir, own) = open(config(&Letters::new(), here.clone(), EmbedAt::Here));
    assert_eq!(fill(&own).queued, 0);

    let truth = MemoryTruth::new("leads");
    let [asks, embeds] = [Letters::new(), Letters::new()];
    let (_dir, leads) = open(config(&asks, truth.clone(), EmbedAt::Queue));
    let mut follows = config(&Letters::new(), truth.node("follows"), EmbedAt::Queue);
    shared(&mut follows).may_lead = false;
    shared(&mut follows).times.poll = Duration::from_hours(1);
    let (_dir, follows) = open(follows);
    let embedders = [embedder(&truth, "one", &embeds), embedder(&truth, "two", &embeds)];
    let left = embed_while(&embedders, || fill(&leads));
    assert_eq!((left.queued, left.running, left.failed), (0, 0, 0));
    assert_eq!(asks.passages(), 0, "the node that leads embeds no passage");
    assert_eq!(leads.stats().unwrap().embedded, 0);
    assert!(embeds.passages() > 240);
    assert_eq!(truth.state().texts(), 0, "nothing stays in the queue");

    let [expected, found] = [&here, &truth].map(|truth| rows(truth, "embedding_cache"));
    let with_tokens = found.iter().filter(|row| row["tokens"] != Value::Null).count();
    assert_eq!((found.len(), with_tokens), (241, 161), "Japanese, Korean and memory");
    let sorted = |mut rows: Vec<BTreeMap<String, Value>>| {
        rows.sort_by_key(|row| row["text_hash"].clone());
        rows
    };
    assert_eq!(sorted(found), sorted(expected));
    follows.follow().unwrap();
    follows.wait_until_indexed().unwrap();
    for question in ["rain fox", "雪の山", "정원"] {
        let hits = [&own, &leads, &follows].map(|engine| {
            let found = engine.search(&any_relevance(question)).unwrap();
            let hits = found.results.iter().map(|hit| (hit.id.clone(), hit.score.get().to_bits()));
            hits.collect::<Vec<_>>()
        });
        assert!(!hits[0].is_empty() && hits[0] == hits[1] && hits[1] == hits[2], "{question}");
    }
    let roles = truth.nodes(Duration::from_hours(1)).unwrap();
    let embedders = roles.iter().filter(|node| node.report.role == NodeRole::Embedder);
    let names: Vec<&str> = embedders.map(|node| node.node.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
}

#[test]
fn a_node_alone_embeds_what_it_has_queued() {
    let (truth, model) = (MemoryTruth::new("a"), Letters::new());
    let mut config = config(&model, truth.clone(), EmbedAt::Queue);
    shared(&mut config).embeds = true;
    let (_dir, engine) = open(config);
    engine.ingest(&documents()).unwrap();
    let left = engine.wait_until_indexed().unwrap();
    assert_eq!((left.queued, left.running, left.failed), (0, 0, 0));
    assert_eq!((engine.stats().unwrap().embedded, truth.state().texts()), (240, 0));
}

#[test]
fn what_a_dead_embedder_has_taken_another_one_embeds_after_a_while() {
    let seconds = Arc::new(AtomicU64::new(0));
    let time = Arc::clone(&seconds);
    let time = move || Duration::from_secs(time.load(Ordering::SeqCst));
    let truth = MemoryTruth::with_time("a", Arc::new(time));
    let (_dir, leads) = leader(&truth);
    leads.ingest(&documents()[..10]).unwrap();
    eventually("queued", || truth.state().texts() == 10);
    let model = leads.stats().unwrap().embedding.unwrap();
    let tokens = format!("{model} tokens:{}", Letters::new().tokens.fingerprint());
    let [dead, alive] = ["dead", "alive"].map(|node| truth.node(node));
    // It takes all there is, and is not heard of again.
    for fingerprint in [&model, &tokens] {
        let taken = dead.claim_texts(fingerprint, 64, Duration::from_mins(2)).unwrap();
        assert!(!taken.is_empty(), "{fingerprint}");
    }
    let alive = embedder(&alive, "alive", &Letters::new());
    assert_eq!(alive.step().unwrap(), None);
    let counts = leads.stats().unwrap().store.jobs;
    assert_eq!((counts.queued, counts.running), (0, 10), "they count as being made");
    seconds.store(119, Ordering::SeqCst);
    assert_eq!(alive.step().unwrap(), None);
    seconds.store(121, Ordering::SeqCst);
    let left = embed_while(&[alive], || leads.wait_until_indexed().unwrap());
    assert_eq!((left.queued, left.running, left.failed), (0, 0, 0));
    assert_eq!(rows(&truth, "embedding_cache").len(), 10);
}

#[test]
fn a_text_that_cannot_be_embedded_holds_up_no_other_and_says_why() {
    let (truth, clock) = (MemoryTruth::new("a"), Arc::new(Hands::default()));
    let model = Letters::new();
    let config = EngineConfig {
        clock: Arc::clone(&clock) as _,
        ..config(&Letters::new(), truth.clone(), EmbedAt::Queue)
    };
    let (_dir, leads) = open(config);
    let cursed = Document::new("cursed.md", "this one is cursed");
    let embedder = [embedder(&truth, "e", &model)];
    leads.ingest(&[documents()[..20].to_vec(), vec![cursed]].concat()).unwrap();
    let left = embed_while(&embedder, || leads.wait_until_indexed().unwrap());
    assert_eq!((left.queued, left.running, left.failed), (1, 0, 0), "it is tried again later");
    assert_eq!(rows(&truth, "embedding_cache").len(), 20);
    let reasons = || -> Vec<Value> {
        rows(&truth, "jobs").iter().map(|job| job["last_error"].clone()).collect()
    };
    let is_told =
        |value: &Value| matches!(value, Value::Text(text) if text.contains("it is cursed"));
    assert!(reasons().iter().any(is_told), "{:?}", reasons());
    embed_while(&embedder, || {
        eventually("it is given up", || {
            let jobs = leads.stats().unwrap().store.jobs;
            // An hour later, but not while it is being tried: its lease would run out.
            if jobs.running == 0 && truth.state().texts() == 0 {
                clock.0.fetch_add(3_600, Ordering::SeqCst);
                leads.wait_until_indexed().unwrap();
            }
            jobs.failed == 1
        });
        leads.wait_until_indexed().unwrap()
    });
    assert!(reasons().iter().any(is_told), "{:?}", reasons());
    assert_eq!(truth.state().texts(), 0);
    // Three times in the queue, each of the five times that it was queued.
    assert!(model.passages() >= 20 + 15, "{}", model.passages());
}

#[test]
fn vectors_that_cannot_be_are_refused_by_the_node_that_leads() {
    let truth = MemoryTruth::new("a");
    let (_dir, leads) = leader(&truth);
    leads.ingest(&documents()[..4]).unwrap();
    eventually("queued", || truth.state().texts() == 4);
    let model = leads.stats().unwrap().embedding.unwrap();
    let tokens = format!("{model} tokens:{}", Letters::new().tokens.fingerprint());
    let claimed = |fingerprint: &str| -> Vec<String> {
        let texts = truth.claim_texts(fingerprint, 64, Duration::from_mins(2)).unwrap();
        texts.into_iter().map(|text| text.text_hash).collect()
    };
    let (plain, with_tokens) = (claimed(&model), claimed(&tokens));
    assert_eq!((plain.len(), with_tokens.len()), (2, 2));
    let whole = vec![0.5; LETTERS.len()];
    let nan = [vec![f32::NAN], whole[1..].to_vec()].concat();
    let made =
        |vector: &[f32], tokens: Option<Vec<u8>>| MadeVectors { vector: vector.to_vec(), tokens };
    let wrong = [made(&whole[1..], None), made(&nan, None)];
    truth.put_vectors(&model, &plain.into_iter().zip(wrong).collect::<Vec<_>>()).unwrap();
    // Four bytes are one token.
    let wrong = [made(&whole, None), made(&whole, Some(vec![1; 5]))];
    truth.put_vectors(&tokens, &with_tokens.into_iter().zip(wrong).collect::<Vec<_>>()).unwrap();
    let left = leads.wait_until_indexed().unwrap();
    assert_eq!((left.queued, left.running, left.failed), (4, 0, 0), "all are tried again");
    assert_eq!(rows(&truth, "embedding_cache"), []);
    let reasons: Vec<String> =
        rows(&truth, "jobs").iter().map(|job| format!("{:?}", job["last_error"])).collect();
    for reason in ["7 numbers instead of 8", "not finite", "no whole vectors of the tokens"] {
        assert!(reasons.iter().any(|one| one.contains(reason)), "{reason}: {reasons:?}");
    }
    assert_eq!(truth.state().texts(), 0);
}

#[test]
fn what_nobody_needs_any_more_leaves_the_queue() {
    let truth = MemoryTruth::new("a");
    let (_dir, leads) = leader(&truth);
    leads.ingest(&documents()[..10]).unwrap();
    eventually("queued", || truth.state().texts() == 10);
    leads.remove("0.md").unwrap();
    leads.ingest(&[Document::new("1.md", "another text")]).unwrap();
    leads.forget_document("2.md").unwrap();
    // Two are gone, and one says something else.
    eventually("forgotten", || truth.state().texts() == 8);
    let claim =
        |fingerprint: &str| truth.node("e").claim_texts(fingerprint, 64, Duration::ZERO).unwrap();
    let model = leads.stats().unwrap().embedding.unwrap();
    let texts = claim(&model);
    let is_of = |number: &str| texts.iter().any(|text| text.text.ends_with(number));
    assert!(texts.iter().any(|text| text.text.contains("another text")) && is_of(" 3"));
    assert!(!is_of(" 0"), "{texts:?}");
}

#[test]
fn the_next_node_that_leads_goes_on_with_the_queue() {
    let truth = MemoryTruth::new("a");
    let (_dir, first) = leader(&truth);
    first.ingest(&documents()[..10]).unwrap();
    eventually("queued", || truth.state().texts() == 10);
    drop(first);
    // One vector is there by now, and the row of another text goes before anybody asks again.
    let model = Letters::new();
    let heir = config(&model, truth.node("b"), EmbedAt::Here);
    let (dir, heir) = open(EngineConfig { model: Model::None, ..heir });
    assert!(heir.node().unwrap().unwrap().leads);
    heir.remove("0.md").unwrap();
    drop(heir);
    let helper = Letters::new();
    assert!(embedder(&truth, "e", &helper).step().unwrap().is_some_and(|some| some > 0));
    let before = helper.passages();
    let heir = config(&model, truth.node("b"), EmbedAt::Queue);
    let heir = Engine::open_with(dir.path(), heir).unwrap();
    let embedders = [embedder(&truth, "e", &helper)];
    let left = embed_while(&embedders, || heir.wait_until_indexed().unwrap());
    assert_eq!((left.queued, left.running, left.failed), (0, 0, 0));
    assert_eq!(rows(&truth, "embedding_cache").len(), 9);
    assert_eq!((truth.state().texts(), model.passages()), (0, 0));
    assert!(before > 0 && helper.passages() <= 10, "no text is embedded twice");
}

#[test]
fn a_broken_embedder_costs_no_text_a_try() {
    let truth = MemoryTruth::new("a");
    let (_dir, leads) = leader(&truth);
    leads.ingest(&documents()[..10]).unwrap();
    eventually("queued", || truth.state().texts() == 10);
    let broken = Letters::new();
    broken.is_broken.store(true, Ordering::Relaxed);
    let broken_embedder = embedder(&truth, "broken", &broken);
    for _ in 0..9 {
        let error = broken_embedder.step().unwrap_err();
        assert!(matches!(error, Error::ModelMissing { .. }), "{error}");
    }
    let embedders = [embedder(&truth, "whole", &Letters::new())];
    let left = embed_while(&embedders, || leads.wait_until_indexed().unwrap());
    assert_eq!((left.queued, left.running, left.failed), (0, 0, 0));
}

#[test]
fn an_embedder_needs_a_shared_store_and_a_model() {
    let model = Model::Custom(Letters::new() as _);
    let here = QueueEmbedder::open(&EngineConfig { model, ..without_model() }).unwrap_err();
    assert!(matches!(here, Error::InvalidConfig { field: "store", .. }), "{here}");
    let truth = MemoryTruth::new("a");
    let config = config(&Letters::new(), truth, EmbedAt::Queue);
    let none = QueueEmbedder::open(&EngineConfig { model: Model::None, ..config }).unwrap_err();
    assert!(matches!(none, Error::ModelMissing { .. }), "{none}");
}
