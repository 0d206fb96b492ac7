//! How a result came to its place, and at which stage another passage was lost.

use trefoil::{
    Document, Engine, Error, Language, RetrieverId, Score, SearchFilters, SearchOptions,
    SearchQuery,
    search::{Stage, WhyNot},
};

use crate::models::without_model;

/// 70 documents about walruses, the later the fewer, and one about something else.
fn engine() -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path().join("index"), without_model()).unwrap();
    let walruses = (0..70).map(|n| {
        let text = format!("walrus {}", "and much else besides ".repeat(n));
        Document::new(format!("w{n:02}"), text)
    });
    let mut documents: Vec<Document> = walruses.collect();
    documents.push(Document::new("other", "a library opens at nine"));
    engine.ingest(&documents).unwrap();
    (dir, engine)
}

fn why_not(engine: &Engine, query: &SearchQuery, path: &str) -> WhyNot {
    let chunk = engine.document_chunks(path).unwrap()[0].id.clone();
    engine.why_not(query, &chunk).unwrap()
}

#[test]
fn the_stage_at_which_a_passage_was_lost_is_named() {
    let (_dir, engine) = engine();
    let check = |path: &str, filters: SearchFilters, lost_at: Option<Stage>, reason: &str| {
        let options = SearchOptions { limit: 5, ..SearchOptions::default() };
        let query =
            SearchQuery::new("walrus").unwrap().replace_filters(filters).replace_options(options);
        let answer = why_not(&engine, &query, path);
        assert_eq!(answer.lost_at, lost_at, "{path}: {answer:?}");
        assert!(answer.reason.contains(reason), "{path}: {}", answer.reason);
        answer
    };
    let least = |min_relevance| SearchFilters {
        min_relevance: Score::clamped(min_relevance),
        ..SearchFilters::default()
    };
    let found = check("w00", least(0.0), None, "result 1");
    assert_eq!(found.explanation.retrievers[0].retriever, RetrieverId::KEYWORD);
    assert_eq!(found.explanation.retrievers[0].rank, 1);
    check(
        "other",
        least(0.0),
        Some(Stage::Fuse),
        "not among the first 50 of the keyword retriever",
    );
    let library = why_not(&engine, &SearchQuery::new("library").unwrap(), "w00");
    assert_eq!(
        library.reason,
        "the keyword retriever finds 1 and not it; the graph retriever finds 0 and not it"
    );
    check("w69", least(0.0), Some(Stage::Fuse), "not among the first 50 of the keyword retriever");
    check("w08", least(0.0), Some(Stage::Present), "the page shows 1 to 5");
    check("w30", least(0.9), Some(Stage::Select), "below the least relevance");
    let japanese = SearchFilters { languages: vec![Language::Ja], ..SearchFilters::default() };
    check("w00", japanese, Some(Stage::Filter), "a filter leaves it out");
}

#[test]
fn an_unknown_chunk_is_an_error() {
    let (_dir, engine) = engine();
    let unknown = "chk_00000000000000000000000000000000".parse().unwrap();
    let error = engine.why_not(&SearchQuery::new("walrus").unwrap(), &unknown).unwrap_err();
    assert!(matches!(error, Error::ChunkMissing { .. }), "{error:?}");
}

#[test]
fn results_say_how_they_came_to_their_place_if_asked() {
    let (_dir, engine) = engine();
    let search = |explain| {
        let options = SearchOptions { explain, offset: 2, limit: 3, ..SearchOptions::default() };
        engine.search(&SearchQuery::new("walrus").unwrap().replace_options(options)).unwrap()
    };
    assert!(search(false).results.iter().all(|hit| hit.explanation.is_none()));
    for (rank, hit) in (3..).zip(search(true).results) {
        let explanation = hit.explanation.unwrap();
        let stages: Vec<_> = explanation.stages.iter().map(|at| (at.stage, at.rank)).collect();
        assert_eq!(stages, [(Stage::Fuse, rank), (Stage::Present, rank)]);
        assert_eq!(explanation.stages[1].score, hit.score);
        assert_eq!(explanation.stages[0].score, hit.relevance.combined);
        assert_eq!(
            explanation.retrievers[0].relevance,
            hit.relevance.retrievers.get(RetrieverId::KEYWORD)
        );
    }
}

#[test]
fn what_lacks_a_word_of_a_short_question_says_so() {
    let (_dir, engine) = engine();
    let options = SearchOptions { explain: true, ..SearchOptions::default() };
    let query = SearchQuery::new("walrus heron").unwrap().replace_options(options);
    let found = engine.search(&query).unwrap();
    let best = &found.results[0];
    let missing = &best.explanation.as_ref().unwrap().missing_words;
    assert_eq!(missing, &["heron"]);
    let id = best.id.parse().unwrap();
    assert_eq!(&engine.why_not(&query, &id).unwrap().explanation.missing_words, missing);
    let sentence =
        SearchQuery { text: "where is a walrus without a heron?".parse().unwrap(), ..query };
    let found = engine.search(&sentence).unwrap();
    assert_eq!(found.results[0].explanation.as_ref().unwrap().missing_words, [""; 0]);
}
