//! Custom parts, as the example has them, take part in everything that the engine's own do.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use trefoil::{
    Document, Engine, EngineBuilder, EngineConfig, Error, Fusion, Model, Part, RetrieverId,
    SearchQuery, Weight,
    search::{SearchResultType, Stage},
};
use trefoil_eval::{Gate, RetrievalCase};

use self::{eml::MailLoader, loudest::Loudest, names::NameRetriever, recency::Recency};

#[path = "../../crates/trefoil/examples/plugged/eml.rs"]
mod eml;
#[path = "../../crates/trefoil/examples/plugged/loudest.rs"]
mod loudest;
#[path = "../../crates/trefoil/examples/plugged/names.rs"]
pub(crate) mod names;
#[path = "../../crates/trefoil/examples/plugged/recency.rs"]
mod recency;

fn builder(dir: &Path, recency: &Recency) -> EngineBuilder {
    let weight = |weight| Weight::new(weight).unwrap();
    Engine::builder(dir)
        .model(Model::None)
        .retriever(NameRetriever::new().unwrap(), weight(0.2))
        .retriever(recency.clone(), weight(0.1))
        .fusion(Fusion::Custom(Arc::new(Loudest)))
        .loader("eml", Arc::new(MailLoader))
}

fn names() -> RetrieverId {
    RetrieverId::new("names").unwrap()
}

const MAIL: &str = "From: ada@example.org\r\nSubject: Tide tables\r\n\
                    Date: Mon, 02 Mar 2026 10:00:00 +0000\r\n\r\n\
                    The tables are in tide_table-2026.csv, one line a day.\r\n";

/// A folder with a note, a message and a page of code, indexed.
fn indexed(folder: &Path) -> (EngineBuilder, Engine) {
    let notes = folder.join("notes");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("moon.md"), "# Moon\n\nThe moon pulls at the sea.\n").unwrap();
    fs::write(notes.join("tables.eml"), MAIL).unwrap();
    fs::write(notes.join("spring.md"), "# Spring tide\n\nSee readTideTable() for it.\n").unwrap();
    let recency = Recency::new().unwrap();
    let builder = builder(&folder.join("index"), &recency);
    let engine = builder.clone().open().unwrap();
    let report = engine.ingest_path(&notes).unwrap();
    assert_eq!((report.written, report.skipped), (3, Vec::new()));
    recency.learn(&engine).unwrap();
    (builder, engine)
}

fn ask(engine: &Engine, text: &str) -> trefoil::SearchResult {
    let query = SearchQuery::new(text).unwrap().result_type(SearchResultType::Chunk);
    engine.search(&query.rerank(false).explain(true)).unwrap()
}

#[test]
fn parts_of_ones_own_search_and_explain() {
    let dir = tempfile::tempdir().unwrap();
    let (_, engine) = indexed(dir.path());
    // The loader made a document of the message, and the index of names knows the file.
    let found = ask(&engine, "where is tide_table-2026.csv?");
    let first = &found.results[0];
    assert!(first.path().ends_with("tables.eml"), "{found:?}");
    assert_eq!((first.title(), first.metadata.as_ref().unwrap().tags.len()), ("Tide tables", 1));
    assert_eq!(first.relevance.retrievers.get(names()).get(), 1.0);
    let explanation = first.explanation.as_ref().unwrap();
    let ranks: Vec<RetrieverId> = explanation.retrievers.iter().map(|one| one.retriever).collect();
    assert!(ranks.contains(&names()) && ranks.len() == 3, "{ranks:?}");
    assert!(found.strategies.get(names()).enabled);
    // On the wire, too.
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["results"][0]["relevance"]["names"], 1.0);
    assert_eq!(json["strategies"]["recency"]["resultCount"], 1);
    assert_eq!(serde_json::from_value::<trefoil::SearchResult>(json).unwrap(), found);
    // Asked alone.
    let names_alone = |text| SearchQuery::new(text).unwrap().strategy("names").rerank(false);
    let query = names_alone("readTideTable");
    let alone = engine.search(&query).unwrap();
    assert!(alone.results.len() == 1 && alone.results[0].path().ends_with("spring.md"));
    let chunk = alone.results[0].sources.chunk_id.clone().unwrap();
    let query = names_alone("tide_table-2026.csv");
    let why = engine.why_not(&query, &chunk).unwrap();
    assert_eq!(why.lost_at, Some(Stage::Fuse));
    assert!(why.reason.contains("the names retriever finds 1"), "{}", why.reason);
    // A name that nobody has.
    let error = engine.search(&query.strategy("trigrams")).unwrap_err();
    assert!(matches!(error, Error::UnknownRetriever { .. }), "{error}");
    assert!(error.to_string().contains("keyword, semantic, graph, names, recency"), "{error}");
}

#[test]
fn parts_of_ones_own_are_checked_repaired_and_copied() {
    let dir = tempfile::tempdir().unwrap();
    let (builder, engine) = indexed(dir.path());
    let part = Part::Index(names());
    let sound = builder.verify().unwrap();
    assert!(sound.is_sound() && sound.rows.contains(&(part, 3)), "{sound:?}");
    assert!(engine.stats().unwrap().rows.contains(&(names(), 3)));
    engine.remove(&format!("{}/notes/moon.md", dir.path().display())).unwrap();
    assert!(engine.stats().unwrap().rows.contains(&(names(), 2)));
    drop(engine);
    let snapshot = dir.path().join("snapshot");
    builder.export(&snapshot).unwrap();
    // Damage is found, named, and mended from the store.
    let file = dir.path().join("index/documents/names/NAMES");
    fs::write(&file, "7 1\n1\tghost\n").unwrap();
    let verification = builder.verify().unwrap();
    assert_eq!(verification.findings.iter().map(|one| one.part).collect::<Vec<_>>(), [part]);
    let reader = builder.clone().open_read_only().unwrap();
    let degraded = ask(&reader, "readTideTable").degraded;
    assert!(degraded.iter().any(|one| one.stage == names().into()), "{degraded:?}");
    drop(reader);
    let repair = builder.repair().unwrap();
    assert_eq!((repair.rebuilt, repair.after.is_sound()), (vec![part], true));
    assert_eq!(ask(&builder.open().unwrap(), "readTideTable").degraded.len(), 1);
    // The copy is as good.
    let copy = self::builder(&dir.path().join("copy"), &Recency::new().unwrap());
    copy.import(&snapshot).unwrap();
    assert!(copy.verify().unwrap().rows.contains(&(part, 2)));
    let gate = Gate::new([RetrievalCase::new("code", "readTideTable", ["spring.md"])]);
    let gate = gate.floor("names".parse().unwrap(), "found", 0.0).unwrap();
    let report = gate.run(&copy.open().unwrap()).unwrap();
    assert!(report.to_string().contains("names"), "{report}");
}

#[test]
fn another_loader_or_chunker_reads_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (builder, engine) = indexed(dir.path());
    let notes = dir.path().join("notes");
    assert_eq!(engine.ingest_path(&notes).unwrap().unchanged, 3);
    drop(engine);
    let sizes = trefoil::ingest::ChunkSizes::new(8..=16, 32).unwrap();
    let engine = builder.clone().chunker(sizes).open().unwrap();
    assert_eq!(engine.ingest_path(&notes).unwrap().written, 3);
    assert_eq!(engine.ingest_path(&notes).unwrap().unchanged, 3);
    drop(engine);
    // A name twice is refused, and shares above 1.
    let weight = Weight::new(0.9).unwrap();
    let twice = builder.clone().retriever(NameRetriever::new().unwrap(), weight).open();
    assert!(matches!(twice, Err(Error::InvalidConfig { field: "retrievers", .. })));
    let config = EngineConfig { model: Model::None, ..EngineConfig::default() };
    assert!(builder.config(config).open().is_ok());
}

const CHILD: &str = "TREFOIL_PLUGGED_CHILD";

#[test]
fn an_index_of_ones_own_survives_20_kills() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let mut acknowledged = BTreeSet::new();
    for round in 0..20_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["plugged::child", "--exact", "--nocapture"])
            .env(CHILD, format!("{round}:{}", index.display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut noted = 0;
        while noted < round % 5
            && let Some(Ok(line)) = lines.next()
        {
            noted += u64::from(line.starts_with("wrote "));
            acknowledged.extend(line.strip_prefix("wrote ").map(str::to_owned));
        }
        std::thread::sleep(Duration::from_millis(round * 7 % 40));
        child.kill().unwrap();
        for line in lines.map_while(Result::ok) {
            acknowledged.extend(line.strip_prefix("wrote ").map(str::to_owned));
        }
        child.wait().unwrap();
        let builder = builder(&index, &Recency::new().unwrap());
        let engine = builder.clone().open().unwrap();
        let rows = engine.stats().unwrap().rows.iter().find(|one| one.0 == names()).unwrap().1;
        assert!(rows >= acknowledged.len() as u64, "{rows} of {}", acknowledged.len());
        for name in acknowledged.iter().rev().take(3) {
            let found = ask(&engine, name);
            assert_eq!(found.results[0].path(), name, "{round}");
        }
        drop(engine);
        assert!(builder.verify().unwrap().is_sound(), "{round}");
    }
    assert!(acknowledged.len() > 20, "{}", acknowledged.len());
}

#[test]
fn child() {
    #[expect(clippy::disallowed_methods, reason = "how the parent tells the child what to do")]
    let Ok(task) = std::env::var(CHILD) else { return };
    let (round, index) = task.split_once(':').unwrap();
    let engine = builder(Path::new(index), &Recency::new().unwrap()).open().unwrap();
    for number in 0..50 {
        let name = format!("report_{round}-{number}.txt");
        engine.ingest(&[Document::new(&*name, "Nothing to see.")]).unwrap();
        writeln!(std::io::stdout(), "wrote {name}").unwrap();
    }
}
