//! The query cases of `fixtures/queries`, through each retriever and the fused list.

use std::{fs, path::Path, sync::OnceLock};

use serde::Deserialize;
use trefoil::{
    Document, Engine, Language, SearchFilters, SearchOptions, SearchQuery, SearchResultItem,
    SearchStrategy, search::Answerability, text::language_of,
};
use trefoil_eval::{Collection, Expected, RetrievalCase, assert_retrieval};

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
        let config = with_model();
        let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
        let report = engine.ingest_path(corpus()).unwrap();
        assert_eq!(report.skipped, []);
        assert!(report.written >= 120, "{report:?}");
        let left = engine.wait_until_indexed().unwrap();
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

/// Documents that say the same in three languages, and a question about each in each language.
#[test]
fn a_question_finds_what_answers_it_in_every_language() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/parallel");
    let collection = Collection::read(&folder, language_of).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path().join("index"), with_model()).unwrap();
    let documents: Vec<Document> = collection.documents.clone();
    engine.ingest(&documents).unwrap();
    engine.wait_until_indexed().unwrap();
    let (mut right, mut own_first) = (0, 0);
    for query in &collection.queries {
        let (language, topic) = query.id.split_once('/').unwrap();
        let mut asked = SearchQuery::new(&query.text).unwrap().limit(10);
        asked.options.strategies = vec![SearchStrategy::SEMANTIC];
        asked.options.rerank_enabled = false;
        let found = engine.search(&asked).unwrap();
        let paths: Vec<&str> = found.results.iter().map(SearchResultItem::path).collect();
        let is_about = |path: &&&str| path.split_once('/').is_some_and(|(_, found)| found == topic);
        right += paths.iter().take(3).filter(is_about).count();
        let first = paths.iter().find(is_about).and_then(|path| path.split_once('/'));
        own_first += usize::from(first.is_some_and(|(found, _)| found == language));
    }
    // Compared as they are asked, .49 of the first three are right.
    let share = |count: usize, of: usize| count as f64 / of as f64;
    let right = share(right, 3 * collection.queries.len());
    assert!(right >= 0.72, "{right} of the first three are right");
    // What says the same comes first in the language of the reader.
    let own_first = share(own_first, collection.queries.len());
    assert!(own_first >= 0.85, "{own_first} of the first right ones are in the reader's language");
}

#[test]
fn a_search_says_whether_its_question_is_answered() {
    let check = |question: &str, strategies: &[SearchStrategy], expected: Answerability| {
        let options = SearchOptions { strategies: strategies.to_vec(), ..SearchOptions::default() };
        let query = SearchQuery::new(question).unwrap().replace_options(options);
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
        check(question, &[SearchStrategy::KEYWORD], Answerability::Uncalibrated);
    }
    for question in [
        "how do I file a tax return in Portugal?",
        "離婚届の提出に必要な書類は?",
        "해외 송금 수수료는 얼마인가요?",
    ] {
        check(question, &all, Answerability::Unsupported);
    }
}

/// One case in so many: reranking takes most of the time.
fn one_in(count: usize, file: &str) -> Vec<RetrievalCase> {
    cases(file).into_iter().step_by(count).collect()
}

#[test]
fn the_graph_finds_the_documents_of_questions_in_each_language() {
    assert_retrieval!(engine(), cases("en.toml"), graph "found" >= 0.90, graph "recall@10" >= 0.90);
    assert_retrieval!(engine(), cases("ja.toml"), graph "found" >= 0.90, graph "recall@10" >= 0.91);
    assert_retrieval!(engine(), cases("ko.toml"), graph "found" >= 0.92, graph "recall@10" >= 0.92);
}

#[test]
fn reranking_puts_the_documents_of_questions_first_in_each_language() {
    // English is read by the cross-encoder, fifty passages a question.
    assert_retrieval!(
        engine(), one_in(9, "en.toml"), reranked "found" >= 0.95, reranked "mrr@10" >= 0.85,
    );
    assert_retrieval!(
        engine(), one_in(5, "ja.toml"), reranked "found" >= 0.90, reranked "mrr@10" >= 0.88,
    );
    assert_retrieval!(
        engine(), one_in(5, "ko.toml"), reranked "found" >= 0.90, reranked "mrr@10" >= 0.85,
    );
}
