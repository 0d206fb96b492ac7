//! Bad files and bad questions: reported, never a panic.

use std::fs;

use trefoil::{
    Document, Engine, EngineConfig, Error, Model, RetrieverId, SearchQuery, search::Stage,
};

use crate::models::without_model;

#[test]
fn bad_files_are_reported_and_the_rest_is_indexed() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("good.md", b"# Walrus\n\nIt has tusks.\n");
    write("empty.md", b"");
    write("blank.txt", b" \n\n\t\n");
    write("binary.txt", b"\0\x01\x02walrus\0");
    write("invalid.md", b"walrus \xff\xfe\xfa");
    write("large.txt", "walrus ".repeat(200_000).as_bytes());
    write("picture.png", b"\x89PNG\r\n\x1a\n");
    write("broken.jsonl", b"{\"text\": \"walrus\"}\n{\"text\": \n");
    write("password.txt", b"walrus");
    fs::create_dir(folder.path().join("nothing")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let config = EngineConfig { max_file_bytes: 1 << 20, ..without_model() };
    let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
    let report = engine.ingest_path(folder.path()).unwrap();
    let skipped: Vec<&str> =
        report.skipped.iter().map(|skip| skip.path.rsplit('/').next().unwrap()).collect();
    assert_eq!(
        skipped,
        ["large.txt", "password.txt", "picture.png", "binary.txt", "broken.jsonl", "invalid.md"],
        "{report:?}"
    );
    let found = engine.search(&SearchQuery::new("walrus").unwrap()).unwrap();
    let passages = found.results.iter().filter(|hit| hit.is_chunk_result());
    assert_eq!(passages.count(), 1);
    assert_eq!(engine.ingest_path(folder.path().join("nothing")).unwrap().written, 0);
    assert!(matches!(
        engine.ingest_path(folder.path().join("absent")).unwrap_err(),
        Error::Io { .. }
    ));
}

#[test]
fn any_question_of_a_thousand_characters_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path().join("index"), without_model()).unwrap();
    engine.ingest(&[Document::new("a", "walrus AND tusk")]).unwrap();
    let noise = "👩‍👩‍👧‍👦🏴‍☠️ AND OR NOT (\"'[{~^*?:\\/+-!&&||]})\u{200d}\u{202e}\u{0301}ｶﾞ";
    let long: String = noise.chars().cycle().take(1_000).collect();
    for question in ["\"", "((((", "*", "a AND", "title:x", "-walrus", "walrus~2", noise, &long] {
        engine.search(&SearchQuery::new(question).unwrap()).unwrap();
    }
}

#[test]
fn a_model_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let config = |model| EngineConfig {
        model,
        model_home: Some(dir.path().join("models")),
        ..EngineConfig::default()
    };
    let open = |model| Engine::open_with(dir.path().join("index"), config(model));
    for model in [
        Model::Named("multilingual-e5-small".to_owned()),
        Model::Folder(dir.path().join("nowhere")),
    ] {
        let error = open(model).unwrap_err();
        assert!(matches!(error, Error::ModelMissing { .. }), "{error:?}");
    }
    // The default is used when it is there, and missed politely when it is not.
    let engine = open(Model::Default).unwrap();
    engine.ingest(&[Document::new("a", "walrus")]).unwrap();
    let found = engine.search(&SearchQuery::new("walrus").unwrap()).unwrap();
    let missed: Vec<Stage> = found.degraded.iter().map(|degraded| degraded.stage).collect();
    assert_eq!(
        (found.results.len(), missed),
        (1, vec![Stage::Retriever(RetrieverId::SEMANTIC), Stage::Rerank])
    );
}

#[test]
fn a_damaged_keyword_index_is_built_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    let engine = Engine::open_with(&path, without_model()).unwrap();
    engine.ingest(&[Document::new("a", "walrus")]).unwrap();
    drop(engine);
    fs::write(path.join("documents/keyword/meta.json"), b"{").unwrap();
    let engine = Engine::open_with(&path, without_model()).unwrap();
    assert_eq!(engine.search(&SearchQuery::new("walrus").unwrap()).unwrap().results.len(), 1);
}

/// A store that has lost its last commits looks sound by itself.
#[test]
fn a_store_that_ends_too_early_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    let open = || Engine::open_with(&path, without_model()).unwrap();
    open().ingest(&[Document::new("a", "walrus")]).unwrap();
    let earlier = fs::read(path.join("store.db")).unwrap();
    open().ingest(&[Document::new("b", "walrus")]).unwrap();
    fs::write(path.join("store.db"), earlier).unwrap();
    let ask = |engine: Engine| engine.search(&SearchQuery::new("walrus").unwrap()).unwrap();
    let is_told = |engine: Engine| {
        let found = ask(engine);
        assert_eq!(found.results.len(), 1);
        found.degraded.iter().any(|one| one.reason.contains("lost"))
    };
    assert!(is_told(Engine::open_read_only(&path, without_model()).unwrap()));
    assert!(is_told(open()));
    // The index has been rebuilt.
    assert!(!is_told(open()));
}

#[test]
fn a_damaged_store_is_an_error_that_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("store.db"), "not a database, by any means, of any version".repeat(99))
        .unwrap();
    let error = Engine::open_with(&path, without_model()).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
}

#[test]
fn a_file_in_place_of_the_directory_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, b"").unwrap();
    assert!(matches!(Engine::open_with(&path, without_model()).unwrap_err(), Error::Io { .. }));
}
