//! A process that writes, and what it says of it: on its standard output, outside of the
//! index, it tells each write before it begins and once it is acknowledged.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use trefoil::{Engine, Error, RetrieverId, SearchOptions, SearchQuery, SearchStrategy};

use crate::{
    campaign::{Expected, any_relevance, document, held, list, path, rows, word},
    trigrams::with_trigrams,
};

/// Set for the child only: what it is to do.
const CHILD: &str = "TREFOIL_CHILD";
/// Documents that are written, replaced and removed.
const DOCUMENTS: u32 = 40;
/// Writes of a child that nobody stops.
const WRITES: u32 = 25;

/// What a child is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'t> {
    pub(crate) index: &'t Path,
    /// Decides what is written.
    pub(crate) round: u32,
    /// Where the process ends, and how often that place is passed before.
    pub(crate) failpoint: (&'t str, u32),
}

impl Task<'_> {
    /// Lets `program` with its first `arguments` run the child.
    pub(crate) fn by(&self, program: &str, arguments: &[&str]) -> Command {
        let Self { index, round, failpoint: (failpoint, passes) } = self;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .arg(std::env::current_exe().unwrap())
            .args(["ledger::child", "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, format!("{round}:{failpoint}:{passes}:{}", index.display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    }

    /// Lets the child run by itself.
    pub(crate) fn alone(&self) -> Command {
        self.by("env", &[])
    }
}

/// What children say that they have done.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// What is in the index for sure.
    done: Expected,
    /// What was being written when the process died.
    begun: Option<Write>,
    /// The last document that was written, with its version.
    last: Option<(u32, u32)>,
    /// Writes that were acknowledged.
    pub(crate) acknowledged: u32,
    /// The errors that operations returned.
    pub(crate) errors: Vec<String>,
}

#[derive(Clone, Debug)]
enum Write {
    /// Documents with their versions, in one transaction.
    Put(Vec<(u32, u32)>),
    Remove(u32),
}

impl Ledger {
    /// Takes down a line of a child.
    pub(crate) fn note(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match *words.as_slice() {
            ["put", ref put @ ..] => {
                let number = |word: &str| word.parse::<u32>().unwrap();
                let put = put.iter().map(|one| one.split_once(':').unwrap());
                let put = put.map(|(document, version)| (number(document), number(version)));
                self.begun = Some(Write::Put(put.collect()));
            }
            ["remove", document] => self.begun = Some(Write::Remove(document.parse().unwrap())),
            ["done"] => {
                self.acknowledged += 1;
                self.done = self.with_begun();
                self.begun = None;
            }
            ["failed" | "panicked", ..] => self.errors.push(line.to_owned()),
            // The test harness has its own lines.
            _ => {}
        }
    }

    /// What is in the index if the write that was begun is.
    fn with_begun(&mut self) -> Expected {
        let mut with = self.done.clone();
        match &self.begun {
            Some(Write::Put(put)) => {
                with.extend(put.iter().copied());
                self.last = put.last().copied();
            }
            Some(Write::Remove(document)) => {
                with.remove(document);
            }
            None => {}
        }
        with
    }

    /// Opens the index: what was acknowledged is there, what was not is there as a whole or
    /// not at all, and the indexes agree with the store.
    pub(crate) fn check(&mut self, index: &Path, round: u32) {
        let engine = Engine::open_with(index, with_trigrams()).unwrap();
        let found = held(&engine);
        if found != self.done {
            // All of it or nothing.
            assert_eq!(found, self.with_begun(), "round {round}, {:?}", self.begun);
        }
        (self.done, self.begun) = (found, None);
        let left = engine.wait_until_indexed().unwrap();
        assert_eq!((left.queued, left.running, left.failed), (0, 0, 0), "round {round}");
        Self::check_indexes(&engine, index, round);
        if let Some((document, version)) =
            self.last.filter(|(number, version)| self.done.get(number) == Some(version))
        {
            Self::check_last(&engine, document, version, round);
        }
    }

    /// A word that stands only in the last document that was written finds it: by keyword
    /// before all others, by all retrievers among the others that they believe to be meant.
    fn check_last(engine: &Engine, document: u32, version: u32, round: u32) {
        let by_all = any_relevance(&word(document, version, 39));
        let strategies = vec![SearchStrategy::KEYWORD];
        let options = SearchOptions { strategies, ..SearchOptions::default() };
        let paths = |query: &SearchQuery| -> Vec<String> {
            let found = engine.search(query).unwrap();
            assert_eq!(found.degraded, [], "round {round}");
            found.results.into_iter().map(|one| one.metadata.unwrap().path).collect()
        };
        let wanted = path(document);
        assert_eq!(
            paths(&by_all.clone().replace_options(options)).first(),
            Some(&wanted),
            "round {round}"
        );
        let found = paths(&by_all);
        assert!(found.contains(&wanted), "round {round}: {wanted} is not in {found:?}");
    }

    /// Compares each index with one that is rebuilt from the same store.
    fn check_indexes(engine: &Engine, index: &Path, round: u32) {
        let verification = Engine::verify(index).unwrap();
        assert!(verification.is_sound(), "round {round}: {verification:?}");
        assert_eq!(verification.lagging, [], "round {round}");
        let chunks = engine.stats().unwrap().store.chunks as u64;
        for retriever in [RetrieverId::KEYWORD, RetrieverId::SEMANTIC, RetrieverId::GRAPH] {
            assert_eq!(rows(engine, retriever), chunks, "round {round}, {retriever}");
        }
        let dir = tempfile::tempdir().unwrap();
        // The store alone: the files of the indexes come and go while they are merged.
        for suffix in ["", "-wal", "-shm"] {
            let name = format!("store.db{suffix}");
            std::fs::copy(index.join(&name), dir.path().join(&name)).unwrap();
        }
        let fresh = Engine::open_with(dir.path(), with_trigrams()).unwrap();
        fresh.wait_until_indexed().unwrap();
        for question in ["Captain Ellis3", "Station Tern5, walrus", "Line 17"] {
            for retriever in [RetrieverId::KEYWORD, RetrieverId::SEMANTIC, RetrieverId::GRAPH] {
                let [ours, theirs] =
                    [engine, &fresh].map(|engine| ranks(engine, question, retriever));
                assert_eq!(ours, theirs, "round {round}, {retriever}");
            }
        }
    }
}

/// What a retriever finds, with its scores; BM25 counts what was removed until segments are
/// merged, so there the rows alone.
fn ranks(engine: &Engine, question: &str, retriever: RetrieverId) -> Vec<(u64, u32)> {
    let list = list(engine, question, retriever).unwrap();
    let score =
        |raw_score: f32| if retriever == RetrieverId::KEYWORD { 0 } else { raw_score.to_bits() };
    let mut ranks: Vec<_> =
        list.hits().iter().map(|hit| (hit.row.get(), score(hit.raw_score))).collect();
    ranks.sort_unstable();
    ranks
}

#[test]
fn child() {
    #[expect(clippy::disallowed_methods, reason = "how the parent tells the child what to do")]
    let Ok(task) = std::env::var(CHILD) else { return };
    let [round, failpoint, hit, index] =
        task.splitn(4, ':').collect::<Vec<_>>().try_into().unwrap();
    let (round, hit): (u32, u32) = (round.parse().unwrap(), hit.parse().unwrap());
    let passed = AtomicU32::new(0);
    fail::cfg_callback(failpoint, move || {
        if passed.fetch_add(1, Ordering::Relaxed) == hit {
            std::process::abort();
        }
    })
    .unwrap();
    std::panic::set_hook(Box::new(|panic| {
        let _ = say(&format!("panicked {panic}").replace('\n', " "));
    }));
    // The test harness has begun a line.
    let _ = say("");
    if let Err(error) = write(Path::new(index), round) {
        let _ = say(&format!("failed {}: {}", kind(&error), error.chain()));
    }
}

/// Tells the parent. A fault may hit this too: what cannot be told is not gone on with.
fn say(line: &str) -> Result<(), Error> {
    let said = std::io::stdout().write_all(format!("{line}\n").as_bytes());
    said.map_err(|source| Error::io("write to", "the standard output", source))
}

fn write(index: &Path, round: u32) -> Result<(), Error> {
    let mut random = fastrand::Rng::with_seed(!u64::from(round));
    let engine = Engine::open_with(index, with_trigrams())?;
    for write in 0..WRITES {
        let version = round * WRITES + write;
        if random.u32(0..4) == 0 {
            let number = random.u32(0..DOCUMENTS);
            say(&format!("remove {number}"))?;
            engine.remove(&path(number))?;
        } else {
            let some = 0..random.usize(1..4);
            let mut put: Vec<u32> = some.map(|_| random.u32(0..DOCUMENTS)).collect();
            put.sort_unstable();
            put.dedup();
            let said: Vec<_> = put.iter().map(|number| format!("{number}:{version}")).collect();
            say(&format!("put {}", said.join(" ")))?;
            let documents: Vec<_> = put.iter().map(|&number| document(number, version)).collect();
            engine.ingest(&documents)?;
        }
        say("done")?;
    }
    engine.wait_until_indexed().map(drop)
}

/// The variant of an error.
fn kind(error: &Error) -> String {
    let text = format!("{error:?}");
    text.split([' ', '(']).next().unwrap().to_owned()
}
