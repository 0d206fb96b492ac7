//! The query cases of `fixtures/queries`, through each leg and the fused list.

use std::{fs, path::Path, sync::OnceLock};

use serde::Deserialize;
use trefoil::{
    Answerability, Engine, Language, SearchFilters, SearchOptions, SearchQuery, SearchStrategy,
};
use trefoil_eval::{Expected, RetrievalCase, assert_retrieval};

use crate::models::with_model;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    question: String,
    answers: Vec<String>,
    top: usize,
}

/// One index over all three corpora, made once.
fn engine() -> &'static Engine {
    static ENGINE: OnceLock<(tempfile::TempDir, Engine)> = OnceLock::new();
    let (_, engine) = ENGINE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open_with(dir.path().join("index"), with_model()).unwrap();
        let report = engine.ingest_path(corpus()).unwrap();
        assert_eq!(report.skipped, []);
        assert!(report.written >= 120, "{report:?}");
        let left = engine.drain().unwrap();
        assert_eq!((left.queued, left.running, left.failed), (0, 0, 0));
        (dir, engine)
    });
    engine
}

fn corpus() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/corpus").canonicalize().unwrap()
}

/// The cases of a file; each is asked of the corpus of its answer's language.
fn cases(file: &str) -> Vec<RetrievalCase> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/queries").join(file);
    let cases: Cases = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let one = |case: Case| {
        let language: Language = case.answers[0][..2].parse().unwrap();
        let answers = case.answers.iter().map(|answer| format!("corpus/{answer}"));
        RetrievalCase {
            top: case.top,
            filters: SearchFilters { languages: vec![language], ..SearchFilters::default() },
            ..RetrievalCase::new(case.id, case.question, answers.map(|path| Expected::from(&*path)))
        }
    };
    cases.case.into_iter().map(one).collect()
}

#[test]
fn english_questions_find_their_documents() {
    assert_retrieval!(
        engine(), cases("en.toml"),
        keyword "found" >= 0.85, semantic "found" >= 0.80, hybrid "found" >= 0.95,
    );
}

#[test]
fn japanese_questions_find_their_documents() {
    assert_retrieval!(
        engine(), cases("ja.toml"),
        keyword "found" >= 0.85, semantic "found" >= 0.80, hybrid "found" >= 0.94,
    );
}

#[test]
fn korean_questions_find_their_documents() {
    assert_retrieval!(
        engine(), cases("ko.toml"),
        keyword "found" >= 0.85, semantic "found" >= 0.80, hybrid "found" >= 0.95,
    );
}

#[test]
fn questions_cross_languages() {
    assert_retrieval!(
        engine(), cases("cross.toml"),
        semantic "found" >= 0.86, hybrid "found" >= 0.86,
    );
}

#[test]
fn a_search_says_whether_its_question_is_answered() {
    let check = |question: &str, strategies: &[SearchStrategy], expected: Answerability| {
        let options = SearchOptions { strategies: strategies.to_vec(), ..SearchOptions::default() };
        let query = SearchQuery::new(question).unwrap().options(options);
        let found = engine().search(&query).unwrap();
        assert_eq!(found.answerability, expected, "{question}");
    };
    let all = [SearchStrategy::Hybrid];
    for question in [
        "why are there two high tides a day?",
        "土鍋でご飯をふっくら炊くには?",
        "온돌은 어떻게 방을 따뜻하게 하나요?",
    ] {
        check(question, &all, Answerability::Supported);
        // Half of the evidence is no evidence.
        check(question, &[SearchStrategy::Keyword], Answerability::Uncalibrated);
    }
    for question in [
        "how do I file a tax return in Portugal?",
        "離婚届の提出に必要な書類は?",
        "해외 송금 수수료는 얼마인가요?",
    ] {
        check(question, &all, Answerability::Unsupported);
    }
}
