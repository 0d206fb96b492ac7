//! Files of an index are damaged, in 64 ways in `cargo test` and in 10,000 by
//! `just corrupt`. Whatever is damaged and how: no panic, no exit, no hang, and no answer
//! that is wrong without saying so. An index next to the store repairs itself: those of the
//! documents as well as those of memory.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::mpsc,
    time::Duration,
};

use trefoil::{
    Degraded, Document, Engine, Error, Language, RetrieverId, SearchFilters,
    memory::{BoundaryClass, RecallDepth, UnitFilter, UnitRow, UnitState},
};

use crate::{
    campaign::{any_relevance, document, list, path, progress, rounds},
    files::{copy, files},
    memory::remember,
    trigrams::with_trigrams,
};

/// A trial takes a tenth of a second, but a campaign may be given next to nothing of the machine.
const TIMEOUT: Duration = Duration::from_hours(1);
/// What each retriever is asked alone.
const ALONE: &str = "Captain Ellis1, Line 3";
/// The folders of the indexes, which the store has all of.
const INDEXES: [&str; 2] = ["documents", "memory"];
/// What is remembered.
const REMEMBERED: [&str; 6] = [
    "The walrus sleeps on the ice.",
    "Captain Ellis1 asked for the ferry to Sado.",
    "東京の天気は晴れです。",
    "佐渡行きの船は日曜日に出ます。",
    "서울의 날씨는 맑습니다.",
    "케이크는 오븐에서 사십 분 굽습니다.",
];
/// What memory is asked.
const RECALLED: [&str; 4] =
    ["When does the ferry sail?", "佐渡へ渡る船", "오븐에서 굽는 케이크", "walrus on the ice"];

#[test]
fn damage_is_repaired_or_told() {
    let whole = Whole::new();
    let mut outcomes: BTreeMap<String, u32> = BTreeMap::new();
    let trials = rounds(64);
    for trial in trials.clone() {
        let mut random = fastrand::Rng::with_seed(u64::from(trial));
        let (file, damage, dir) = whole.damaged(&mut random);
        let is_index = INDEXES.iter().any(|folder| file.starts_with(folder));
        let (sender, receiver) = mpsc::channel();
        let opened = dir.path().to_owned();
        let work = std::thread::spawn(move || drop(sender.send(answers(&opened))));
        let case = format!("trial {trial}: {damage:?} in {}", file.display());
        let outcome = match receiver.recv_timeout(TIMEOUT) {
            Ok(outcome) => outcome,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{case} hangs"),
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{case} panics"),
        };
        work.join().unwrap();
        let folder = file.parent().unwrap().display();
        let kind = file.extension().unwrap_or(file.file_name().unwrap()).to_string_lossy();
        let outcome = match outcome {
            // Those who read only cannot repair.
            (reader, Ok(writer)) if writer.said == whole.answers => {
                assert!(reader.is_told_or(&whole.answers), "{case}: a reader was told {reader:?}");
                "unharmed or repaired"
            }
            (_, Ok(writer)) => {
                assert!(!is_index, "{case} was not repaired");
                assert!(!writer.degraded.is_empty(), "{case} is silent: {:?}", writer.said);
                "degraded"
            }
            (_, Err(error)) => {
                assert!(!is_index, "{case} was not repaired: {}", error.chain());
                "refused"
            }
        };
        *outcomes.entry(format!("{folder} {kind}: {outcome}")).or_default() += 1;
        progress("corrupt", trial, &trials);
    }
    println!("{outcomes:#?}");
}

/// A sound index and what it answers.
struct Whole {
    /// Exclusion by a process that ended, and by one that was killed.
    ended: tempfile::TempDir,
    killed: tempfile::TempDir,
    answers: Vec<String>,
}

impl Whole {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open_with(dir.path(), with_trigrams()).unwrap();
        let mut documents: Vec<Document> = (0..12).map(|number| document(number, 1)).collect();
        let mut tagged = Document::new("ja/天気", "# 東京\n\n東京の天気は晴れです。");
        tagged.tags = vec!["空".to_owned()];
        documents.push(tagged);
        documents.push(Document::new("ko/날씨", "서울의 날씨는 맑습니다. 내일은 비가 옵니다."));
        engine.ingest(&documents).unwrap();
        engine.ingest(&[document(3, 2), document(4, 2)]).unwrap();
        engine.remove(&path(5)).unwrap();
        for (number, text) in REMEMBERED.iter().enumerate() {
            remember(&engine, &unit(number), text);
        }
        remember(&engine, &unit(0), "The walrus left the ice.");
        remember(&engine, &UnitRow { state: UnitState::Archived, ..unit(1) }, REMEMBERED[1]);
        remember(&engine, &UnitRow { boundary: BoundaryClass::Secret, ..unit(2) }, REMEMBERED[2]);
        engine.wait_until_indexed().unwrap();
        drop(engine);
        // Indexes that are rebuilt count no removed rows: those that are not shall not either.
        for folder in INDEXES {
            fs::remove_dir_all(dir.path().join(folder)).unwrap();
        }
        let engine = Engine::open_with(dir.path(), with_trigrams()).unwrap();
        engine.ingest(&[document(13, 1)]).unwrap();
        remember(&engine, &unit(6), "Captain Ellis2 sails to Sado on Sunday.");
        engine.wait_until_indexed().unwrap();
        let killed = tempfile::tempdir().unwrap();
        copy(dir.path(), killed.path());
        let answers = Told::of(&engine).unwrap();
        assert_eq!(answers.degraded, []);
        drop(engine);
        Self { ended: dir, killed, answers: answers.said }
    }

    /// A copy with one damaged file, its name and what was done to it.
    fn damaged(&self, random: &mut fastrand::Rng) -> (PathBuf, Damage, tempfile::TempDir) {
        let from = if random.bool() { &self.ended } else { &self.killed };
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let dir = dir.unwrap();
        copy(from.path(), dir.path());
        let files = files(dir.path());
        let file = files[random.usize(0..files.len())].clone();
        let mut bytes = fs::read(&file).unwrap();
        let damage = Damage::any(random, bytes.len());
        match damage {
            Damage::Flip(at, bit) => bytes[at] ^= 1 << bit,
            Damage::Cut(at) => bytes.truncate(at),
            Damage::Fill(at, len, byte) => {
                let end = (at + len).min(bytes.len());
                bytes[at..end].fill(byte);
            }
            Damage::Append(len) => bytes.resize(bytes.len() + len, 0xA5),
            Damage::Gone => {}
        }
        if matches!(damage, Damage::Gone) {
            fs::remove_file(&file).unwrap();
        } else {
            fs::write(&file, bytes).unwrap();
        }
        (file.strip_prefix(dir.path()).unwrap().to_owned(), damage, dir)
    }
}

fn unit(number: usize) -> UnitRow {
    UnitRow::new(format!("obs_{number}"), 1_700_000_000)
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    /// A bit of a byte.
    Flip(usize, u32),
    /// What follows a place.
    Cut(usize),
    /// Some bytes from a place on.
    Fill(usize, usize, u8),
    /// Some bytes at the end.
    Append(usize),
    Gone,
}

impl Damage {
    fn any(random: &mut fastrand::Rng, length: usize) -> Self {
        let at = random.usize(0..length.max(1));
        match random.u32(0..20) {
            _ if length == 0 => Self::Append(7),
            0..=9 => Self::Flip(at, random.u32(0..8)),
            10..=13 => Self::Cut(at),
            14 | 15 => Self::Fill(at, random.usize(1..200), random.u8(..)),
            16 | 17 => Self::Fill(at / 4096 * 4096, 4096, 0),
            18 => Self::Append(random.usize(1..5000)),
            _ => Self::Gone,
        }
    }
}

/// What an engine told: answers, and what it said of them.
#[derive(Debug, Default)]
struct Told {
    said: Vec<String>,
    degraded: Vec<Degraded>,
    error: Option<Error>,
}

impl Told {
    /// Asks everything that can be asked.
    fn of(engine: &Engine) -> Result<Self, Error> {
        let mut told = Self::default();
        for path in engine.paths()? {
            let chunks = engine.document_chunks(&path)?;
            let texts = chunks.iter().map(|one| {
                let (file, chunk) = (&one.file, &one.chunk);
                format!("{} {:?} {:?} {chunk:?}", one.id, file.title, file.tags)
            });
            told.said.push(format!("{path}: {:?}", texts.collect::<Vec<_>>()));
        }
        let only = |filters: SearchFilters| {
            any_relevance("Line 7").replace_filters(SearchFilters {
                min_relevance: any_relevance("a").filters.min_relevance,
                ..filters
            })
        };
        let queries = [
            any_relevance("Captain Ellis3 met Station Tern2"),
            any_relevance("walrus3v2x17"),
            any_relevance("東京の天気"),
            any_relevance("내일 서울에 비가"),
            only(SearchFilters { languages: vec![Language::Ko], ..SearchFilters::default() }),
            only(SearchFilters { tags: vec!["空".to_owned()], ..SearchFilters::default() }),
            only(SearchFilters {
                path_glob: Some("log/000*".to_owned()),
                ..SearchFilters::default()
            }),
        ];
        for query in queries {
            let found = engine.search(&query)?;
            let results = found.results.iter().map(|one| (&one.id, &one.content));
            told.said.push(format!("{results:?}", results = results.collect::<Vec<_>>()));
            told.degraded.extend(found.degraded);
        }
        for retriever in [RetrieverId::KEYWORD, RetrieverId::SEMANTIC, RetrieverId::GRAPH] {
            let available = engine.stats()?.rows.iter().any(|(one, _)| *one == retriever);
            let list = if available { Some(list(engine, ALONE, retriever)?) } else { None };
            let rows = list.iter().flat_map(trefoil::search::RankedList::hits).map(|hit| hit.row);
            told.said.push(format!("{retriever}: {:?}", rows.collect::<Vec<_>>()));
        }
        told.ask_memory(engine)?;
        Ok(told)
    }

    /// Asks for every unit, and recalls by words and by meaning.
    fn ask_memory(&mut self, engine: &Engine) -> Result<(), Error> {
        let memory = engine.memory();
        for number in 0..=REMEMBERED.len() {
            let unit = memory.read("look", |memory| memory.unit(&unit(number).id))?;
            self.said.push(format!("{unit:?}"));
        }
        let allowed = memory.allowed(&UnitFilter::of(BoundaryClass::ALL, &["project"]))?;
        for question in RECALLED {
            let found = memory.recall(question, &allowed, RecallDepth { text: 9, vector: 9 })?;
            self.said.push(format!("{:?} {:?}", found.by_text, found.by_vector));
            self.degraded.extend(found.degraded);
        }
        Ok(())
    }

    fn is_told_or(&self, right: &[String]) -> bool {
        self.said == right || !self.degraded.is_empty() || self.error.is_some()
    }
}

/// What a reader tells of the index, and after it a writer.
fn answers(dir: &Path) -> (Told, Result<Told, Error>) {
    let reader = Engine::open_read_only(dir, with_trigrams());
    let reader = reader.and_then(|engine| Told::of(&engine));
    let reader = reader.unwrap_or_else(|error| Told { error: Some(error), ..Told::default() });
    let writer = Engine::open_with(dir, with_trigrams()).and_then(|engine| {
        engine.wait_until_indexed()?;
        Told::of(&engine)
    });
    (reader, writer)
}
