//! The query cases of `fixtures/queries`, through each leg and the fused list.

use std::{fs, path::Path, sync::OnceLock};

use serde::Deserialize;
use trefoil::{Engine, Language, Score, SearchFilters, SearchOptions, SearchQuery, SearchStrategy};

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

/// True if one of the answers is within the first `top`, in the language it is written in.
fn found(case: &Case, strategy: SearchStrategy) -> bool {
    let language: Language = case.answers[0][..2].parse().unwrap();
    let query = SearchQuery::new(&case.question)
        .unwrap()
        .filters(SearchFilters {
            languages: vec![language],
            min_relevance: Score::ZERO,
            ..SearchFilters::default()
        })
        .options(SearchOptions {
            strategies: vec![strategy],
            limit: 4 * case.top,
            rerank_enabled: false,
            ..SearchOptions::default()
        });
    let result = engine().search(&query).unwrap();
    assert_eq!(result.degraded, []);
    // The first `top` documents, each by its best chunk.
    let mut seen = Vec::new();
    for hit in &result.results {
        let path = &hit.metadata.as_ref().unwrap().path;
        if !seen.contains(path) {
            seen.push(path.clone());
        }
    }
    let right = |path: &String| {
        case.answers.iter().any(|answer| path.ends_with(&format!("corpus/{answer}")))
    };
    seen.iter().take(case.top).any(right)
}

/// At least this share of the cases of a file, per mille, in each leg and fused.
#[track_caller]
fn check(file: &str, keyword: usize, semantic: usize, fused: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/queries").join(file);
    let cases: Cases = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let shares = [
        (SearchStrategy::Keyword, keyword),
        (SearchStrategy::Semantic, semantic),
        (SearchStrategy::Hybrid, fused),
    ];
    for (strategy, least) in shares {
        let missed: Vec<&str> = cases
            .case
            .iter()
            .filter(|case| !found(case, strategy))
            .map(|case| case.id.as_str())
            .collect();
        let share = 1000 - 1000 * missed.len() / cases.case.len();
        assert!(share >= least, "{file}, {strategy:?}: {share} ‰ found, missed {missed:?}");
    }
}

#[test]
fn english_questions_find_their_documents() {
    check("en.toml", 850, 800, 950);
}

#[test]
fn japanese_questions_find_their_documents() {
    check("ja.toml", 850, 800, 940);
}

#[test]
fn korean_questions_find_their_documents() {
    check("ko.toml", 850, 800, 950);
}

#[test]
fn questions_cross_languages() {
    check("cross.toml", 0, 860, 860);
}
