//! Memory that works by itself: the worker of an open engine learns and looks after it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use trefoil::{
    Engine, EngineConfig, Error, Model, Result,
    admin::{BackgroundTask, Clock},
    memory::{MemoryRead, MemoryUpkeep, UnitState},
    search::Stage,
};
use trefoil_memory::{
    Boundary, ClaimDraft, ContentProbe, EpistemicStatus, FindOptions, Memory, Observation,
    ObservationDraft, Ttl,
    extract::{ClaimExtractor, Extracted, RuleExtractor},
    recall::RecallQuery,
};

use crate::trigrams::with_trigrams;

const HOUR: i64 = 3_600;

/// A clock that a test moves.
#[derive(Debug)]
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

fn words_only() -> EngineConfig {
    EngineConfig { model: Model::None, ..EngineConfig::default() }
}

fn opened(dir: &tempfile::TempDir, config: EngineConfig) -> (Arc<Engine>, Memory) {
    let engine = Arc::new(Engine::open_with(dir.path().join("index"), config).unwrap());
    (Arc::clone(&engine), Memory::new(engine))
}

fn recalled(memory: &Memory, question: &str) -> Vec<String> {
    let query = RecallQuery { save: false, ..RecallQuery::new(question) };
    let found = memory.recall(&query, &Boundary::default()).unwrap();
    found.claims.into_iter().map(|one| one.claim.text).collect()
}

fn read<T>(engine: &Engine, look: impl FnOnce(&MemoryRead<'_>) -> Result<T>) -> T {
    engine.memory().read("look", look).unwrap()
}

/// Waits until the worker has done something by the clock.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{what}: not within half a minute");
}

#[test]
fn to_observe_is_enough() {
    for config in [words_only(), with_trigrams()] {
        let dir = tempfile::tempdir().unwrap();
        let (engine, memory) = opened(&dir, config);
        for text in [
            "I live in Kyoto. I need to renew the passport by Friday.",
            "緑茶が好きです。",
            "저는 매운 음식을 좋아하지 않아요.",
        ] {
            memory.observe(ObservationDraft::message(text)).unwrap();
        }
        assert_eq!(memory.wait_until_indexed().unwrap().failed, 0);
        assert_eq!(recalled(&memory, "매운 음식"), ["저는 매운 음식을 좋아하지 않아요."]);
        assert_eq!(recalled(&memory, "緑茶"), ["緑茶が好きです。"]);
        assert_eq!(recalled(&memory, "Kyoto"), ["I live in Kyoto."]);
        let now = engine.memory().now();
        assert_eq!(read(&engine, |rows| rows.open_loops(now, 9)).len(), 1);
        let week = read(&engine, |rows| rows.summary("rolling", "7d")).unwrap();
        assert!(!week.payload.text().is_empty(), "{week:?}");
        assert_eq!(engine.stats().unwrap().background, []);
    }
}

#[test]
fn what_another_process_observed_is_learnt_at_the_next_opening() {
    let dir = tempfile::tempdir().unwrap();
    let config = EngineConfig { memory: MemoryUpkeep::ASKED_FOR, ..words_only() };
    let (_, memory) = opened(&dir, config);
    memory.observe(ObservationDraft::message("I live in Kyoto.")).unwrap();
    memory.wait_until_indexed().unwrap();
    assert_eq!(recalled(&memory, "Kyoto"), [""; 0], "nothing is learnt unless it is asked for");
    drop(memory);
    let (_, memory) = opened(&dir, words_only());
    memory.wait_until_indexed().unwrap();
    assert_eq!(recalled(&memory, "Kyoto"), ["I live in Kyoto."]);
}

#[test]
fn without_a_memory_the_worker_learns_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, memory) = opened(&dir, words_only());
    drop(memory);
    let config = EngineConfig { memory: MemoryUpkeep::ASKED_FOR, ..words_only() };
    drop(engine);
    let (engine, memory) = opened(&dir, config);
    memory.observe(ObservationDraft::message("I live in Kyoto.")).unwrap();
    drop(memory);
    engine.wait_until_indexed().unwrap();
    assert_eq!(read(&engine, |rows| rows.units_about("kyoto")).len(), 1, "the observation alone");
}

#[test]
fn memory_is_looked_after_by_the_clock() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(Hands(AtomicI64::new(1_700_000_000)));
    let config = EngineConfig { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..words_only() };
    let (engine, memory) = opened(&dir, config.clone());
    let memory = memory.with_probe(Arc::new(ContentProbe::new(dir.path())));
    let told = memory.observe(ObservationDraft::message("seen")).unwrap();
    let draft = ClaimDraft {
        ttl: Some(Ttl::days(2).unwrap()),
        epistemic_status: Some(EpistemicStatus::Inferred),
        ..ClaimDraft::observed("The walrus mug is on the shelf.", told.id)
    };
    let claim = memory.insert_claim(draft).unwrap();
    memory.wait_until_indexed().unwrap();
    let passes = || read(&engine, |rows| rows.last_event(None, "maintained")).map(|one| one.id);
    let first = passes();
    assert!(first.is_some(), "an index that never was is looked after at once");
    clock.0.fetch_add(HOUR - 1, Ordering::SeqCst);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(passes(), first);
    clock.0.fetch_add(48 * HOUR, Ordering::SeqCst);
    eventually("the claim is given up", || {
        let unit = read(&engine, |rows| rows.unit(claim.id.as_str()));
        unit.unwrap().unit.state == UnitState::Archived
    });
    assert!(passes() > first);
    // Opened again within the hour, it is not looked after again.
    let last = passes();
    drop((engine, memory));
    let (engine, memory) = opened(&dir, config);
    memory.wait_until_indexed().unwrap();
    assert_eq!(read(&engine, |rows| rows.last_event(None, "maintained")).map(|one| one.id), last);
}

#[test]
fn the_narrative_is_made_again_when_the_last_has_rested() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(Hands(AtomicI64::new(1_700_000_000)));
    let memory = MemoryUpkeep { maintain_every: None, ..MemoryUpkeep::default() };
    let config =
        EngineConfig { clock: Arc::clone(&clock) as Arc<dyn Clock>, memory, ..words_only() };
    let (engine, memory) = opened(&dir, config);
    // Of how many observations it is.
    let narrative = || {
        read(&engine, |rows| {
            let found = rows.summary("rolling", "7d")?;
            found.map_or(Ok(0), |unit| Ok(rows.sources_of(unit.row)?.len()))
        })
    };
    memory.observe(ObservationDraft::message("The ferry to Sado leaves at nine.")).unwrap();
    memory.wait_until_indexed().unwrap();
    assert_eq!(narrative(), 1);
    let view = memory.view(RecallQuery::default(), Boundary::default());
    let found = view.search("the ferry to Sado", &FindOptions::default()).unwrap().views;
    let ids: Vec<&str> = found.iter().map(|one| one.id.as_str()).collect();
    assert!(ids.len() == 1 && ids[0].starts_with("obs_"), "the narrative repeats it: {found:?}");
    clock.0.fetch_add(HOUR, Ordering::SeqCst);
    let proactive = ObservationDraft {
        proactive: true,
        ..ObservationDraft::message("Shall I book the ferry?")
    };
    let proactive = memory.observe(proactive).unwrap();
    assert!(memory.observation(&proactive.id).unwrap().unwrap().proactive);
    memory.observe(ObservationDraft::message("Mika bought a copper kettle.")).unwrap();
    memory.wait_until_indexed().unwrap();
    assert_eq!(narrative(), 1, "within six hours it rests");
    clock.0.fetch_add(5 * HOUR, Ordering::SeqCst);
    eventually("the narrative is made again", || narrative() == 3);
    // What the program said unasked is found, and nothing was learnt from it.
    let view = memory.view(RecallQuery::default(), Boundary::default());
    let found = view.search("book the ferry", &FindOptions::default()).unwrap();
    assert!(found.views.iter().any(|one| one.id.as_str() == proactive.id.as_str()));
    let record = memory.record(proactive.id.as_str()).unwrap().unwrap();
    assert!(record.made.iter().all(|made| made.id.starts_with("sum_")), "{:?}", record.made);
}

/// Finds claims by rules, and panics on what mentions a word.
#[derive(Debug, Default)]
struct Poisoned {
    asked: Arc<AtomicUsize>,
}

impl ClaimExtractor for Poisoned {
    fn extract(&self, told: &Observation, boundary: &Boundary) -> Result<Extracted> {
        if told.content.contains("poison") {
            self.asked.fetch_add(1, Ordering::SeqCst);
            panic!("the extractor on purpose");
        }
        RuleExtractor::default().extract(told, boundary)
    }
}

#[test]
fn a_poison_observation_is_named_and_set_aside_and_the_next_are_learnt() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(Hands(AtomicI64::new(1_700_000_000)));
    let config = EngineConfig { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..words_only() };
    let (engine, memory) = opened(&dir, config);
    let asked = Arc::new(AtomicUsize::new(0));
    let memory = memory.with_extractor(Arc::new(Poisoned { asked: Arc::clone(&asked) }));
    memory.observe(ObservationDraft::message("I live on poison.")).unwrap();
    memory.observe(ObservationDraft::message("I live in Kyoto.")).unwrap();
    let told = memory.wait_until_indexed().unwrap_err();
    assert!(
        matches!(&told, Error::Panicked { reason, .. } if reason.contains("on purpose")),
        "{told}"
    );
    memory.wait_until_indexed().unwrap();
    assert_eq!(recalled(&memory, "Kyoto"), ["I live in Kyoto."]);
    // Each of the three kinds of job that read it is tried three times, and not again.
    assert_eq!(asked.load(Ordering::SeqCst), 9);
    let background = engine.stats().unwrap().background;
    assert!(background.iter().any(|one| one.stage == Stage::Memory), "{background:?}");
    clock.0.fetch_add(24 * HOUR, Ordering::SeqCst);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(asked.load(Ordering::SeqCst), 9);
    // Work that succeeds again is well.
    memory.observe(ObservationDraft::message("I like green tea.")).unwrap();
    _ = memory.wait_until_indexed();
    assert_eq!(recalled(&memory, "green tea"), ["I like green tea."]);
    assert_eq!(engine.stats().unwrap().background, []);
}

#[test]
fn an_engine_is_closed_whatever_the_worker_is_at() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..20 {
        let (engine, memory) = opened(&dir, words_only());
        for n in 0..20 {
            let text = format!("I like green tea number {n}.");
            memory.observe(ObservationDraft::message(text)).unwrap();
        }
        drop((engine, memory));
        // The lock is free at once, and what was not learnt is learnt by the next.
    }
    let (_, memory) = opened(&dir, words_only());
    memory.wait_until_indexed().unwrap();
    assert_eq!(recalled(&memory, "green tea").len(), 12);
}

/// Waits within its step, and holds an engine.
#[derive(Debug)]
struct Holding {
    engine: Arc<Engine>,
    entered: Mutex<mpsc::Sender<()>>,
    leave: Mutex<mpsc::Receiver<()>>,
}

impl BackgroundTask for Holding {
    fn name(&self) -> &'static str {
        "a task that holds an engine"
    }

    fn run(self: Arc<Self>, _: Arc<Engine>) -> Result<bool> {
        assert_eq!(self.engine.stats()?.background, []);
        self.entered.lock().unwrap().send(()).unwrap();
        self.leave.lock().unwrap().recv().unwrap();
        Ok(false)
    }

    fn next_at(&self) -> Option<i64> {
        None
    }
}

#[test]
fn an_engine_whose_last_holder_is_a_task_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, memory) = opened(&dir, words_only());
    drop(memory);
    let (entered, has_entered) = mpsc::channel();
    let (go, leave) = mpsc::channel();
    let (entered, leave) = (Mutex::new(entered), Mutex::new(leave));
    let task = Arc::new(Holding { engine: Arc::clone(&engine), entered, leave });
    engine.run_in_background(&(Arc::clone(&task) as Arc<dyn BackgroundTask>));
    has_entered.recv().unwrap();
    // The worker holds the task now, and the task the engine that the worker is of.
    drop((engine, task));
    go.send(()).unwrap();
    eventually("the lock is free", || {
        Engine::open_with(dir.path().join("index"), words_only()).is_ok()
    });
}
