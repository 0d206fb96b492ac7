//! Threads and processes that write, remove and search at the same time, for seconds in
//! `cargo test` and for an hour by `just soak`: no deadlock, no ghost, and as many results
//! as there are.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use trefoil::{Engine, EngineConfig, SearchQuery, search::SearchResultType};

use crate::{
    campaign::{any_relevance, document, given, path, process_of},
    trigrams::with_trigrams,
};

/// Set for the process that reads: the index.
const READER: &str = "TREFOIL_SOAK_READER";
/// Documents that are never removed: each search finds its limit of them.
const STANDING: u32 = 30;
/// Numbers of the documents that come and go; each number is used once.
const PASSING: u32 = 1_000;
/// How many of them stand at a time.
const AT_A_TIME: u32 = 20;
const LIMIT: usize = 10;
/// More embeddings than are in use, and kept in case a text comes back.
const MOST_EMBEDDINGS: usize = 5_000;

#[test]
fn writers_and_readers_do_not_disturb_each_other() {
    let minutes = given("TREFOIL_COUNT").map(u64::from);
    let duration = minutes.map_or(Duration::from_secs(5), Duration::from_mins);
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path(), with_trigrams()).unwrap();
    let standing: Vec<_> = (0..STANDING).map(|number| document(number, 0)).collect();
    engine.ingest(&standing).unwrap();
    engine.wait_until_indexed().unwrap();

    let shared = Shared::default();
    let mut memory = Vec::new();
    let mut reader = start_reader(dir.path());
    let said = BufReader::new(reader.stdout.take().unwrap());
    let (looks, wrong) = std::thread::scope(|scope| {
        let shared = &shared;
        let engine = &engine;
        scope.spawn(move || shared.write(engine));
        scope.spawn(move || shared.replace(engine));
        let searchers: Vec<_> =
            (0..2).map(|_| scope.spawn(move || shared.search(engine))).collect();
        let listener = scope.spawn(move || listen(said));
        let began = Instant::now();
        while began.elapsed() < duration
            && !searchers.iter().any(std::thread::ScopedJoinHandle::is_finished)
        {
            std::thread::sleep(duration / 100);
            memory.extend(resident());
        }
        shared.stop.store(true, Ordering::Relaxed);
        reader.kill().unwrap();
        reader.wait().unwrap();
        listener.join().unwrap()
    });
    assert_eq!(wrong, [] as [String; 0]);
    assert!(looks > 0, "the process that reads has not read");

    // Nothing is left of what is gone.
    engine.wait_until_indexed().unwrap();
    let paths: BTreeSet<String> = engine.paths().unwrap().into_iter().collect();
    let gone = shared.gone.lock().unwrap();
    assert!(gone.iter().all(|number| !paths.contains(&path(*number))));
    let stats = engine.stats().unwrap();
    let chunks = stats.store.chunks as u64;
    assert!(stats.rows.iter().all(|(_, rows)| *rows == chunks), "{stats:?}");
    assert!(stats.store.cached_embeddings < MOST_EMBEDDINGS, "{stats:?}");
    println!(
        "{} s: {} writes, {} removals, {} searches, {looks} looks of another process",
        duration.as_secs(),
        shared.writes.load(Ordering::Relaxed),
        gone.len(),
        shared.searches.load(Ordering::Relaxed),
    );
    let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len().max(1) as u64;
    let quarters: Vec<u64> = memory.chunks(memory.len().div_ceil(4).max(1)).map(mean).collect();
    println!("resident MiB, a mean each quarter: {quarters:?}");
    // Only in a long run is there a middle to compare the end with.
    if let (Some(_), [_, second, .., last]) = (minutes, quarters.as_slice()) {
        assert!(*last <= second + second / 4, "memory grows: {quarters:?} MiB");
    }
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Documents whose removal was acknowledged.
    gone: Mutex<BTreeSet<u32>>,
    writes: AtomicU64,
    searches: AtomicU64,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Writes documents and removes each after a while.
    fn write(&self, engine: &Engine) {
        for number in PASSING.. {
            if self.is_over() {
                return;
            }
            engine.ingest(&[document(number, 1)]).unwrap();
            self.writes.fetch_add(1, Ordering::Relaxed);
            if let Some(old) = number.checked_sub(AT_A_TIME).filter(|old| *old >= PASSING) {
                assert_eq!(engine.remove(&path(old)).unwrap(), 1);
                self.gone.lock().unwrap().insert(old);
            }
        }
    }

    /// Replaces the standing documents by newer versions.
    fn replace(&self, engine: &Engine) {
        for version in 1.. {
            for number in 0..STANDING {
                if self.is_over() {
                    return;
                }
                engine.ingest(&[document(number, version)]).unwrap();
                self.writes.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn search(&self, engine: &Engine) {
        while !self.is_over() {
            let gone = self.gone.lock().unwrap().clone();
            if let Err(wrong) = look(engine, &gone) {
                panic!("{wrong}");
            }
            self.searches.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Asks for passages: an entity that the question names is of no document.
fn passages(question: &str) -> SearchQuery {
    any_relevance(question).result_type(SearchResultType::Chunk).limit(LIMIT)
}

/// Searches once: the limit is reached, for more than that stand, and nothing is found
/// that was gone before.
fn look(engine: &Engine, gone: &BTreeSet<u32>) -> Result<(), String> {
    let query = passages("Captain Ellis1 met Station Tern3");
    let found = engine.search(&query).map_err(|error| error.chain())?;
    if found.results.len() != LIMIT {
        return Err(format!("{} results, {:?}", found.results.len(), found.degraded));
    }
    for result in &found.results {
        let path = &result.metadata.as_ref().unwrap().path;
        let number = path.strip_prefix("log/").unwrap().parse().unwrap();
        if gone.contains(&number) {
            return Err(format!("{path} is a ghost"));
        }
    }
    Ok(())
}

fn start_reader(index: &Path) -> std::process::Child {
    process_of("soak::reader").env(READER, index).stderr(Stdio::null()).spawn().unwrap()
}

/// How often the other process has looked, and what was wrong.
fn listen(said: impl BufRead) -> (u64, Vec<String>) {
    said.lines().map_while(Result::ok).fold((0, Vec::new()), |(looks, mut wrong), line| {
        if line.starts_with("wrong") {
            wrong.push(line);
            return (looks, wrong);
        }
        (looks + u64::from(line == "looked"), wrong)
    })
}

/// Another process that reads the same index until it is killed.
#[test]
fn reader() {
    #[expect(clippy::disallowed_methods, reason = "how the parent tells the child what to do")]
    let Ok(index) = std::env::var(READER) else { return };
    let config = EngineConfig { context_chars: 0, ..with_trigrams() };
    let engine = Engine::open_read_only(index, config).unwrap();
    loop {
        match look_behind(&engine) {
            Ok(()) => println!("looked"),
            Err(wrong) => println!("wrong: {wrong}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A reader may lag, and says so; what it shows is there all the same.
fn look_behind(engine: &Engine) -> Result<(), String> {
    let query = passages("Captain Ellis1 met Station Tern3");
    let found = engine.search(&query).map_err(|error| error.chain())?;
    if found.results.len() < LIMIT && found.degraded.is_empty() {
        return Err(format!("{} results", found.results.len()));
    }
    Ok(())
}

/// Resident memory of this process in MiB; none where there is no `/proc`.
fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some((pages * 4096) >> 20)
}
