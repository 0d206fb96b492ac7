//! Options of an engine and of a question that change what is stored, found and first.

use std::{fs, path::Path, sync::Arc};

use trefoil::{
    Document, Engine, EngineConfig, Model, RetrieverId, Score, SearchFilters, SearchOptions,
    SearchQuery, SearchResult, SearchStrategy,
};

use crate::{engine::letters::Letters, models::without_model};

fn ask(engine: &Engine, text: &str, options: SearchOptions) -> SearchResult {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    engine
        .search(&SearchQuery::new(text).unwrap().replace_filters(filters).replace_options(options))
        .unwrap()
}

/// Of the passages.
fn paths(result: &SearchResult) -> Vec<&str> {
    let passages = result.results.iter().filter(|hit| hit.is_chunk_result());
    passages.map(|hit| hit.metadata.as_ref().unwrap().path.as_str()).collect()
}

#[test]
fn a_similarity_cut_off_leaves_out_what_is_less_alike() {
    let dir = tempfile::tempdir().unwrap();
    let model = Model::Custom(Arc::new(Letters::default()));
    let engine = Engine::open_with(dir.path(), EngineConfig { model, ..without_model() }).unwrap();
    let documents = [("same", "walrus"), ("near", "walrus heron"), ("far", "bick")];
    engine.ingest(&documents.map(|(path, text)| Document::new(path, text))).unwrap();
    engine.wait_until_indexed().unwrap();
    let semantic = |min_similarity| SearchOptions {
        min_similarity,
        strategies: vec![SearchStrategy::SEMANTIC],
        ..SearchOptions::default()
    };
    let all = ask(&engine, "walrus", semantic(None));
    assert_eq!(paths(&all), ["same", "near", "far"]);
    let similarity =
        |place: usize| all.results[place].relevance.retrievers.get(RetrieverId::SEMANTIC);
    let half = Score::clamped(0.5);
    assert!(similarity(1) > half && similarity(2) < half, "{all:?}");
    let cut = ask(&engine, "walrus", semantic(Some(half)));
    assert_eq!(paths(&cut), ["same", "near"]);
    assert_eq!(cut.total_count, 2);
    let at = ask(&engine, "walrus", semantic(Some(similarity(1))));
    assert_eq!(paths(&at), ["same", "near"], "the cut-off itself is kept");
    // Another retriever still finds what is below it.
    let options = SearchOptions { min_similarity: Some(half), ..SearchOptions::default() };
    assert_eq!(paths(&ask(&engine, "bick", options)), ["far"]);
}

#[test]
fn boosts_change_the_order_of_an_index_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let filler = "storms and walls ".repeat(30);
    for (question, path) in [("harbour", "en"), ("台風", "ja"), ("항구", "ko")] {
        let index = dir.path().join(path);
        let open = |title: f32| {
            let mut config = without_model();
            (config.keyword.title_boost, config.keyword.heading_boost) = (title, title);
            Engine::open_with(&index, config).unwrap()
        };
        let engine = open(0.0);
        let documents = [
            Document::new("title", filler.clone()).title(question),
            Document::new("text", format!("{question} {question} {question} storms")),
        ];
        engine.ingest(&documents).unwrap();
        assert_eq!(paths(&ask(&engine, question, SearchOptions::default())), ["text", "title"]);
        drop(engine);
        let found = ask(&open(10.0), question, SearchOptions::default());
        assert_eq!(paths(&found), ["title", "text"], "{question}");
    }
}

/// Every file below `dir`, one after the other.
fn bytes_below(dir: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        bytes.extend(if path.is_dir() { bytes_below(&path) } else { fs::read(&path).unwrap() });
    }
    bytes
}

#[test]
fn what_is_redacted_is_in_no_file_and_lines_stay() {
    let open = |dir: &Path, redact_documents| {
        let model = Model::Custom(Arc::new(Letters::default()));
        let config = EngineConfig { model, redact_documents, ..without_model() };
        Engine::open_with(dir, config).unwrap()
    };
    let documents = [
        Document::new("en", "Ask mika@example.com about the harbour.")
            .title("Harbour of mika@example.com"),
        Document::new("ja", "港の電話は０９０−１２３４−５６７８です。"),
        Document::new("ko", "항구 담당자 전화는 010-9876-5432 입니다."),
        Document::new("lines", "first\n<private>of the\nquayside</private>\nlighthouse"),
    ];
    let lines = |engine: &Engine| {
        let found = ask(engine, "lighthouse", SearchOptions::default());
        assert_eq!(paths(&found)[0], "lines");
        found.results[0].metadata.as_ref().unwrap().lines
    };
    let held = |dir: &Path| {
        let bytes = bytes_below(dir);
        let secrets = ["mika@example.com", "１２３４−５６７８", "010-9876-5432", "quayside"];
        secrets.map(|secret| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()))
    };
    let (plain, redacted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [as_written, without] = [(&plain, false), (&redacted, true)].map(|(dir, redact)| {
        let engine = open(dir.path(), redact);
        engine.ingest(&documents).unwrap();
        engine.wait_until_indexed().unwrap();
        if redact {
            for (question, mark) in
                [("harbour", "[email]"), ("港の電話", "[phone]"), ("항구 담당자", "[phone]")]
            {
                let found = ask(&engine, question, SearchOptions::default());
                assert!(found.results[0].content.text.contains(mark), "{question}");
            }
        }
        lines(&engine)
    });
    assert_eq!(as_written, without);
    assert_eq!(held(plain.path()), [true; 4], "the search of files finds what is there");
    assert_eq!(held(redacted.path()), [false; 4]);
}

#[test]
fn a_document_is_read_again_once_redaction_is_switched() {
    let dir = tempfile::tempdir().unwrap();
    let (docs, index) = (dir.path().join("docs"), dir.path().join("index"));
    fs::create_dir(&docs).unwrap();
    fs::write(docs.join("a.md"), "the harbour master is mika@example.com").unwrap();
    let memory = [Document::new("memory", "the pilot is mika@example.com")];
    for (redact_documents, written) in [(false, 2), (false, 0), (true, 2), (true, 0), (false, 2)] {
        let config = EngineConfig { redact_documents, ..without_model() };
        let engine = Engine::open_with(&index, config).unwrap();
        let report = (engine.ingest_path(&docs).unwrap(), engine.ingest(&memory).unwrap());
        assert_eq!(report.0.written + report.1.written, written, "{report:?}");
        for question in ["harbour master", "pilot"] {
            let found = ask(&engine, question, SearchOptions::default());
            let text = &found.results[0].content.text;
            assert_eq!(text.contains("[email]"), redact_documents, "{text}");
            assert_ne!(text.contains("mika@example.com"), redact_documents, "{text}");
        }
    }
}
