//! An index that an older version wrote is opened, searched and brought up to date.

use std::path::{Path, PathBuf};

use trefoil::{Document, Engine, RetrieverId};

use crate::verify::{copy, finds, letters};

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
fn a_reader_of_the_first_version_says_which_indexes_have_to_be_built_again() {
    let (_folder, index) = copied();
    let engine = Engine::open_read_only(&index, letters()).unwrap();
    assert_eq!(engine.paths().unwrap().len(), DOCUMENTS.len());
    let found = engine.search(&trefoil::SearchQuery::new("tides").unwrap()).unwrap();
    for retriever in [RetrieverId::KEYWORD, RetrieverId::SEMANTIC] {
        let told = found.degraded.iter().find(|one| one.stage == retriever.into());
        let reason = &told.unwrap().reason;
        assert!(reason.contains("must be rebuilt"), "{reason}");
    }
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
