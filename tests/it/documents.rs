//! Documents as their callers list, filter and remove them, and long calls that are given up.

use std::ops::ControlFlow;

use serde_json::{Value, json};
use trefoil::{
    Document, DocumentFormat, Engine, Error, IngestOptions, Metadata, SearchFilters, SearchQuery,
    search::Condition,
};
use trefoil_memory::Memory;

use crate::models::without_model;

fn open() -> (tempfile::TempDir, Engine) {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(folder.path().join("index"), without_model()).unwrap();
    (folder, engine)
}

fn metadata(value: Value) -> Metadata {
    serde_json::from_value(value).unwrap()
}

fn condition(value: Value) -> Condition {
    serde_json::from_value(value).unwrap()
}

fn paths(
    engine: &Engine,
    filters: &SearchFilters,
    after: Option<&str>,
    limit: usize,
) -> Vec<String> {
    let documents = engine.documents(filters, after, limit).unwrap();
    documents.into_iter().map(|document| document.path).collect()
}

#[test]
fn metadata_comes_back_and_filters() {
    let (_folder, engine) = open();
    let year = |year| metadata(json!({"year": year, "by": {"name": "Ada"}}));
    let documents = [
        Document::new("a", "A walrus.").metadata(year(2025)),
        Document::new("b", "A walrus.").metadata(year(2026)),
        Document::new("c", "A walrus."),
    ];
    engine.ingest(&documents).unwrap();
    let found = |condition: Value| {
        let query = SearchQuery::new("walrus").unwrap().condition(self::condition(condition));
        let found = engine.search(&query).unwrap();
        let passages = found.results.iter().filter(|hit| hit.is_chunk_result());
        let mut paths: Vec<String> = passages.map(|hit| hit.path().to_owned()).collect();
        paths.sort();
        paths
    };
    let recent = || json!({"field": "year", "op": ">=", "value": 2026});
    assert_eq!(found(recent()), ["b"]);
    assert_eq!(found(json!({"field": "by.name", "op": "==", "value": "Ada"})), ["a", "b"]);
    assert_eq!(found(json!({"field": "year", "op": "exists", "value": false})), ["c"]);
    let query = SearchQuery::new("walrus").unwrap().condition(condition(recent()));
    let found_now = engine.search(&query).unwrap();
    let of_b = found_now.results[0].metadata.as_ref().unwrap();
    assert_eq!(of_b.metadata, year(2026));
    assert_eq!(engine.document("b").unwrap().unwrap().metadata, year(2026));
    // A change of nothing else is a change.
    let report = engine.ingest(&[Document::new("a", "A walrus.").metadata(year(2027))]).unwrap();
    assert_eq!((report.written, report.chunks_added), (1, 0));
    assert_eq!(found(recent()), ["a", "b"]);
    let again = engine.ingest(&[Document::new("a", "A walrus.").metadata(year(2027))]).unwrap();
    assert_eq!(again.unchanged, 1);
    let deep = (0..9).fold(recent(), |inner, _| json!({"not": inner}));
    let error = engine.search(&query.condition(condition(deep))).unwrap_err();
    assert!(matches!(error, Error::InvalidQuery { field: "filters.where", .. }), "{error}");
}

#[test]
fn numbers_of_metadata_come_back_as_they_were_given() {
    let (_folder, engine) = open();
    // Read without care, each is off by its last bit.
    let numbers = [0.038_556_999_999_999_994, 0.1 + 0.2, 5e-324, f64::MAX, 1.0 / 3.0];
    let given: Vec<Document> = numbers
        .iter()
        .map(|number| Document::new(number.to_string(), "A walrus."))
        .zip(numbers)
        .map(|(document, number)| document.metadata(metadata(json!({"number": number}))))
        .collect();
    engine.ingest(&given).unwrap();
    for (document, number) in given.iter().zip(numbers) {
        let stored = engine.document(&document.path).unwrap().unwrap();
        assert_eq!(stored.metadata, metadata(json!({"number": number})));
        let written = serde_json::to_string(&stored).unwrap();
        let read: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(read["metadata"]["number"].as_f64(), Some(number));
    }
}

#[test]
fn documents_are_listed_page_by_page() {
    let (_folder, engine) = open();
    let documents = ["1", "1/a", "1/b", "10", "2"]
        .map(|path| Document::new(path, if path == "2" { "" } else { "A walrus." }).tags([path]));
    engine.ingest(&documents).unwrap();
    let all = SearchFilters::default();
    assert_eq!(paths(&engine, &all, None, 2), ["1", "1/a"]);
    assert_eq!(paths(&engine, &all, Some("1/a"), 9), ["1/b", "10", "2"]);
    assert_eq!(paths(&engine, &all, Some("2"), 9), [] as [&str; 0]);
    let below = SearchFilters { path_glob: Some("1/*".to_owned()), ..all.clone() };
    assert_eq!(paths(&engine, &below, None, 1), ["1/a"]);
    assert_eq!(paths(&engine, &below, Some("1/a"), 9), ["1/b"]);
    let document = engine.document("1/a").unwrap().unwrap();
    assert_eq!(
        (document.path.as_str(), document.tags.as_slice()),
        ("1/a", &["1/a".to_owned()][..])
    );
    assert_eq!(engine.document_by_id(&document.id).unwrap(), Some(document));
    assert_eq!(engine.document("1/").unwrap(), None);
    // Exactly these, whatever is below.
    assert_eq!(engine.remove_documents(&["1", "2", "3"]).unwrap(), 2);
    assert_eq!(paths(&engine, &all, None, 9), ["1/a", "1/b", "10"]);
    assert_eq!(engine.remove("1").unwrap(), 2);
    assert_eq!(paths(&engine, &all, None, 9), ["10"]);
}

#[test]
fn a_document_that_stays_whole_is_one_passage() {
    let (_folder, engine) = open();
    let body = format!("\n# A\n\n{}\n\n# B\n\nwalrus\n\n", "word ".repeat(2_000));
    engine.ingest(&[Document::new("a", &body).format(DocumentFormat::Whole)]).unwrap();
    let chunks = engine.document_chunks("a").unwrap();
    assert_eq!(chunks.len(), 1);
    assert!(chunks[0].chunk.text == body);
    assert_eq!(engine.search(&SearchQuery::new("walrus").unwrap()).unwrap().results[0].path(), "a");
}

#[test]
fn an_ingest_that_is_given_up_leaves_a_sound_index() {
    let (folder, engine) = open();
    let files = folder.path().join("files");
    std::fs::create_dir(&files).unwrap();
    for n in 0..150 {
        std::fs::write(files.join(format!("{n}.txt")), format!("Walrus number {n}.")).unwrap();
    }
    let ingest = |groups: usize| {
        let mut left = groups;
        engine
            .ingest_paths(std::slice::from_ref(&files), IngestOptions::default(), |progress| {
                assert!(progress.done <= progress.total && progress.total == 150);
                let goes_on = left > 0;
                left = left.saturating_sub(1);
                if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
            .unwrap()
    };
    assert_eq!(ingest(0).written, 0);
    let some = ingest(1).written;
    assert!(0 < some && some < 150, "{some}");
    let found = engine.search(&SearchQuery::new("walrus").unwrap().limit(100)).unwrap();
    assert_eq!(found.results.iter().filter(|hit| hit.is_chunk_result()).count(), some.min(100));
    let rest = ingest(9);
    assert_eq!((rest.written, rest.unchanged), (150 - some, some));
    let left = engine.wait_until_indexed_with(|_| ControlFlow::Break(())).unwrap();
    assert!(left.queued <= 150);
    drop(engine);
    let verification = Engine::verify(folder.path().join("index")).unwrap();
    assert!(verification.is_sound(), "{verification:?}");
}

#[test]
fn an_export_and_a_forgetting_can_be_given_up() {
    let (folder, engine) = open();
    let secret = "The code of the vault is the birthday of the walrus.";
    engine.ingest(&[Document::new("a", secret), Document::new("b", "A heron.")]).unwrap();
    let to = folder.path().join("snapshot");
    let index = folder.path().join("index");
    let stop_at = |wanted: u64| {
        let mut asked = 0;
        move |_| {
            asked += 1;
            if asked == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    };
    let mut asked = 0;
    Engine::export_with(&index, folder.path().join("whole"), |progress| {
        asked += 1;
        assert!(progress.done <= progress.total);
        ControlFlow::Continue(())
    })
    .unwrap();
    for at in [1, asked / 2, asked] {
        let error = Engine::export_with(&index, &to, stop_at(at)).unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
        assert!(!to.exists());
    }
    let error = engine.forget_document_with("a", stop_at(1)).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert_eq!(engine.document("a").unwrap(), None);
    // The next call searches for what the one before did not.
    let receipt = engine.forget_document("not there").unwrap();
    assert!(receipt.searched && receipt.hits == 0, "{receipt:?}");
    drop(engine);
    assert!(Engine::verify(&index).unwrap().is_sound());
}

#[test]
fn a_session_keeps_its_owner() {
    let (_folder, engine) = open();
    let memory = Memory::new(engine.into());
    let of = |owner| memory.create_session_of("/p", owner).unwrap();
    let session = of(Some("tok_1"));
    let stored = memory.session(&session.id).unwrap().unwrap();
    assert_eq!(stored.owner.as_deref(), Some("tok_1"));
    let ended = memory.end_session(&session.id, "done").unwrap();
    assert_eq!(ended.owner.as_deref(), Some("tok_1"));
    assert_eq!(memory.session(&session.id).unwrap(), Some(ended));
    assert_eq!(memory.session(&of(None).id).unwrap().unwrap().owner, None);
    assert!(memory.create_session_of("/p", Some("")).is_err());
}
