//! An index that an older version wrote is opened, searched and brought up to date.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use trefoil::{
    Document, Engine, EngineConfig, Part, RetrieverId, SearchFilters, SearchQuery, model::Rerankers,
};
use trefoil_memory::{Boundary, Memory, recall::RecallQuery};

use crate::{
    files::copy,
    models::{with_model, without_model},
    verify::{finds, letters},
};

/// As it was written by the first version that documents its format.
fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/index-v1")
}

const DOCUMENTS: [&str; 6] = [
    "en/tides.md",
    "en/hedgehogs.md",
    "ja/typhoon.md",
    "ja/hatsumode.md",
    "ko/ondol.md",
    "ko/hallasan.md",
];

const QUESTIONS: [(&str, &str); 6] = [
    ("why are there two high tides a day?", "en/tides.md"),
    ("what do hedgehogs eat", "en/hedgehogs.md"),
    ("台風の目", "ja/typhoon.md"),
    ("初詣", "ja/hatsumode.md"),
    ("온돌의 구들장", "ko/ondol.md"),
    ("한라산 등산", "ko/hallasan.md"),
];

/// A copy, for even reading makes files next to a database.
fn copied() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    copy(&fixture(), &index);
    (folder, index)
}

fn answers(engine: &Engine) {
    for (question, path) in QUESTIONS {
        assert!(finds(engine, question, path), "{question}");
    }
}

#[test]
fn an_index_of_the_first_version_is_read() {
    let (_folder, index) = copied();
    let engine = Engine::open_read_only(&index, letters()).unwrap();
    answers(&engine);
    let found = engine.search(&trefoil::SearchQuery::new("tides").unwrap()).unwrap();
    assert_eq!(found.degraded, []);
}

#[test]
fn an_index_of_the_first_version_is_written() {
    let (_folder, index) = copied();
    let engine = Engine::open_with(&index, letters()).unwrap();
    answers(&engine);
    engine.ingest(&[Document::new("new", "A heron wades at dusk.")]).unwrap();
    assert_eq!(engine.remove("en/tides.md").unwrap(), 1);
    engine.wait_until_indexed().unwrap();
    assert!(finds(&engine, "heron", "new"));
    assert!(!finds(&engine, "tides", "en/tides.md"));
    drop(engine);
    let verification = Engine::verify(&index).unwrap();
    assert!(verification.is_sound() && verification.lagging.is_empty(), "{verification:?}");
    drop(Engine::open_read_only(&index, letters()).unwrap());
}

/// As it was written by the last version whose store has a row for each entity of a document:
/// three documents with labels and dates, one that was removed, and memory. Only the store is
/// packed.
fn last_of_format_6() -> (tempfile::TempDir, PathBuf) {
    let (folder, index) = unpacked("index-v6");
    std::fs::remove_file(index.join("answers.json")).unwrap();
    (folder, index)
}

/// A copy of an index of which only the store is packed.
fn unpacked(name: &str) -> (tempfile::TempDir, PathBuf) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name);
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    copy(&fixture, &index);
    let packed = std::fs::File::open(index.join("store.db.gz")).unwrap();
    let mut store = std::fs::File::create(index.join("store.db")).unwrap();
    std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut store).unwrap();
    std::fs::remove_file(index.join("store.db.gz")).unwrap();
    (folder, index)
}

/// What the program that wrote the index answered.
fn answers_of_format_6() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/index-v6/answers.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// A value with the names of its fields as they are written since.
fn camel(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let mut parts = name.split('_');
                let mut name = parts.next().unwrap_or_default().to_owned();
                name.extend(parts.map(|part| part[..1].to_uppercase() + &part[1..]));
                // What is known of an entity has names of its own.
                let is_free = name == "attrs";
                (name, if is_free { value.clone() } else { camel(value) })
            });
            fields.collect()
        }
        Value::Array(list) => list.iter().map(camel).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The words of a text, sorted: sentences of equal weight were in the order of their rows.
fn words(text: &Value) -> Value {
    let mut words: Vec<&str> = text.as_str().unwrap().split_whitespace().collect();
    words.sort_unstable();
    words.into()
}

/// Asks an index what the program before was asked, and compares lists as sets: that program also
/// counted removed documents in BM25, so its order is another.
fn answers_as_before(engine: &Engine) {
    let expected = answers_of_format_6();
    for one in list(&expected["searches"]) {
        let mut query = match one["question"].as_str() {
            Some(question) => SearchQuery::new(question).unwrap(),
            None => SearchQuery::new("Edinburgh 金沢 경주").unwrap().limit(50),
        };
        query.filters.entity_types.extend(one["type"].as_str().map(str::to_owned));
        let found = engine.search(&query).unwrap();
        let found: Vec<Value> = found.results.iter().map(|one| one.id.as_str().into()).collect();
        let set = |ids: &[Value]| ids.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        assert_eq!(set(&found), set(list(&one["ids"])), "{one}");
    }
    let filters = SearchFilters::default();
    for one in list(&expected["entities"]) {
        let view = engine.entity(one["entity"].as_str().unwrap(), &filters, 5).unwrap().unwrap();
        let [mut view, mut expected] = [serde_json::to_value(&view).unwrap(), one["view"].clone()];
        for view in [&mut view, &mut expected] {
            view["description"] = words(&view["description"]);
        }
        assert_eq!(view, expected);
    }
    let communities = engine.communities().unwrap();
    assert_eq!(communities.len(), list(&expected["communities"]).len());
    for (found, expected) in communities.iter().zip(list(&expected["communities"])) {
        let found = json!({"id": found.id, "members": found.members, "summary": found.summary});
        let [mut found, mut expected] = [found, expected.clone()];
        for one in [&mut found, &mut expected] {
            one["summary"] = words(&one["summary"]);
        }
        assert_eq!(found, expected);
    }
    let tagged = SearchQuery::new("경주").unwrap().tag("ko").path_glob("ko/*.md");
    let found = engine.search(&tagged).unwrap();
    assert!(!found.results.is_empty(), "{found:?}");
    let has_no_model = |one: &trefoil::Degraded| one.stage == RetrieverId::SEMANTIC.into();
    assert!(found.degraded.iter().all(has_no_model), "{:?}", found.degraded);
    let paths = found.results.iter().filter_map(|one| one.metadata.as_ref());
    assert!(
        paths
            .map(|one| one.path.as_str())
            .filter(|path| !path.is_empty())
            .all(|path| path == "ko/gyeongju.md")
    );
    assert!(!finds(engine, "Ada Lovelace", "gone.md"));
}

#[test]
fn an_index_with_a_row_for_each_entity_is_read() {
    let (_folder, index) = last_of_format_6();
    let before = std::fs::read(index.join("store.db")).unwrap();
    let engine = Engine::open_read_only(&index, without_model()).unwrap();
    answers_as_before(&engine);
    drop(engine);
    assert!(std::fs::read(index.join("store.db")).unwrap() == before, "a reader has changed it");
}

#[test]
fn an_index_with_a_row_for_each_entity_is_written() {
    let (_folder, index) = last_of_format_6();
    let engine = Arc::new(Engine::open_with(&index, without_model()).unwrap());
    engine.wait_until_indexed().unwrap();
    answers_as_before(&engine);
    let stats = engine.stats().unwrap().store;
    assert_eq!((stats.files, stats.languages.len()), (3, 3));
    // Vectors of 21 chunks, of the one that was removed, and of six units of memory.
    assert_eq!((stats.chunks, stats.jobs.queued), (21, 28));
    let memory = Memory::new(Arc::clone(&engine));
    let asked = RecallQuery::new("Mika Kyoto");
    let found = memory.recall(&asked, &Boundary::default()).unwrap();
    let expected = answers_of_format_6();
    assert_eq!(found.claims.len(), list(&expected["memory"]).len());
    for (claim, expected) in found.claims.iter().zip(list(&expected["memory"])) {
        let record = memory.record(&claim.claim.id.to_string()).unwrap().unwrap();
        let found = json!({
            "text": record.text, "mentions": record.mentions, "entities": record.entities,
            "relations": record.relations,
        });
        assert_eq!(found, camel(expected));
    }
    engine.ingest(&[Document::new("new", "A heron wades at dusk.")]).unwrap();
    assert_eq!(engine.remove("en/edinburgh.md").unwrap(), 1);
    engine.wait_until_indexed().unwrap();
    assert!(finds(&engine, "heron", "new"));
    assert!(engine.entity("Royal Mile", &SearchFilters::default(), 5).unwrap().is_none());
    drop((memory, engine));
    let verification = Engine::verify(&index).unwrap();
    let needs_model = Part::Index(RetrieverId::SEMANTIC);
    let lags = verification.lagging.iter().all(|(part, _)| *part == needs_model);
    assert!(verification.is_sound() && lags, "{verification:?}");
}

/// The last version whose documents had no metadata wrote it: three documents with labels and
/// dates, and a claim of memory.
#[test]
fn an_index_without_metadata_is_read_and_written() {
    let (_folder, index) = unpacked("index-v7");
    let before = std::fs::read(index.join("store.db")).unwrap();
    let listed = |engine: &Engine, filters: &SearchFilters| -> Vec<String> {
        let documents = engine.documents(filters, None, 9).unwrap();
        documents.into_iter().map(|document| document.path).collect()
    };
    let all = SearchFilters::default();
    let of = |condition: Value| {
        let condition = serde_json::from_value(condition).unwrap();
        SearchFilters { condition: Some(condition), ..SearchFilters::default() }
    };
    let engine = Engine::open_read_only(&index, without_model()).unwrap();
    let paths = listed(&engine, &all);
    assert_eq!(paths.len(), 3);
    let without = of(json!({"field": "source", "op": "exists", "value": false}));
    assert_eq!(listed(&engine, &without), paths);
    let found = engine.search(&SearchQuery::new("兼六園").unwrap().tag("ja")).unwrap();
    let passage = found.results.iter().find(|hit| hit.is_chunk_result()).unwrap();
    assert_eq!(passage.metadata.as_ref().unwrap().date.unwrap().to_string(), "2026-02-06");
    drop(engine);
    assert!(std::fs::read(index.join("store.db")).unwrap() == before, "a reader has changed it");
    let engine = Arc::new(Engine::open_with(&index, without_model()).unwrap());
    let metadata = serde_json::from_value(json!({"source": "press"})).unwrap();
    engine.ingest(&[Document::new("new", "A heron wades at dusk.").metadata(metadata)]).unwrap();
    assert_eq!(listed(&engine, &without), paths);
    let with = of(json!({"field": "source", "op": "==", "value": "press"}));
    assert_eq!(listed(&engine, &with), ["new"]);
    let memory = Memory::new(Arc::clone(&engine));
    let known = memory.recall(&RecallQuery::new("Postgres"), &Boundary::default()).unwrap();
    assert!(!known.claims.is_empty());
    let session = memory.create_session_of("/p", Some("me")).unwrap();
    assert_eq!(memory.session(&session.id).unwrap().unwrap().owner.as_deref(), Some("me"));
    engine.wait_until_indexed().unwrap();
    drop((memory, engine));
    let verification = Engine::verify(&index).unwrap();
    assert!(verification.is_sound(), "{verification:?}");
}

/// The last version whose embeddings came without the vectors of tokens wrote it: three documents
/// with the vectors of the default model, and a claim of memory.
#[test]
fn an_index_without_token_vectors_is_read_and_written() {
    let (_folder, index) = unpacked("index-v8");
    let before = std::fs::read(index.join("store.db")).unwrap();
    let engine = Engine::open_read_only(&index, without_model()).unwrap();
    for (question, path) in [("tides", "docs/tides.md"), ("初詣", "docs/hatsumode.md")] {
        assert!(finds(&engine, question, path), "{question}");
    }
    drop(engine);
    assert!(std::fs::read(index.join("store.db")).unwrap() == before, "a reader has changed it");
    let engine = Arc::new(Engine::open_with(&index, without_model()).unwrap());
    let memory = Memory::new(Arc::clone(&engine));
    let known = memory.recall(&RecallQuery::new("Kanazawa"), &Boundary::default()).unwrap();
    assert!(!known.claims.is_empty());
    engine.ingest(&[Document::new("new", "A heron wades at dusk.")]).unwrap();
    assert!(finds(&engine, "heron", "new"));
    drop((memory, engine));
    let verification = Engine::verify(&index).unwrap();
    assert!(verification.is_sound(), "{verification:?}");
}

/// With its model, Japanese and Korean passages and memory get the vectors of their tokens, and
/// nothing that has a vector is out of reach until then.
#[test]
fn an_index_without_token_vectors_gets_those_that_are_wanted() {
    let (_folder, index) = unpacked("index-v8");
    let config = EngineConfig { rerankers: Rerankers::Custom(Vec::new()), ..with_model() };
    let engine = Engine::open_with(&index, config.clone()).unwrap();
    let waiting = engine.stats().unwrap().store.jobs.queued;
    assert!(waiting > 0 && waiting < 12, "{waiting} texts of 14 are embedded once more");
    engine.wait_until_indexed().unwrap();
    drop(engine);
    let engine = Engine::open_with(&index, config).unwrap();
    assert_eq!(engine.stats().unwrap().store.jobs.queued, 0);
    let asked = SearchQuery::new("how is a floor heated in Korea").unwrap();
    let found = engine.search(&asked.language(trefoil::Language::Ko)).unwrap();
    let passages: Vec<_> = found.results.iter().filter(|one| one.is_chunk_result()).collect();
    assert_eq!(passages[0].path(), "docs/ondol.md");
    assert!(passages.iter().all(|one| one.relevance.rerank.is_some()), "compared by what is kept");
}

/// Run by hand when a version begins; what is committed is never made again.
#[test]
#[ignore = "writes into the source tree"]
fn make_the_fixture() {
    assert!(!fixture().exists(), "there is one");
    let engine = Engine::open_with(fixture(), letters()).unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/corpus");
    let document = |path: &str| {
        let body = std::fs::read_to_string(corpus.join(path)).unwrap();
        Document::new(path, body).format(trefoil::DocumentFormat::Markdown)
    };
    engine.ingest(&DOCUMENTS.map(document)).unwrap();
    engine.wait_until_indexed().unwrap();
}
