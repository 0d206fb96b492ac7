//! Pages, and which passages are on them.

use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use trefoil::{
    Document, DocumentFormat, Engine, Error, Score, SearchFilters, SearchOptions, SearchQuery,
    SearchResult, search::Stage,
};

use crate::models::without_model;

fn engine(documents: &[Document]) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path().join("index"), without_model()).unwrap();
    engine.ingest(documents).unwrap();
    (dir, engine)
}

fn query(text: &str, options: SearchOptions) -> SearchQuery {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    SearchQuery::new(text).unwrap().replace_filters(filters).replace_options(options)
}

/// The pages of a query, walked by cursor.
fn pages(engine: &Engine, mut query: SearchQuery) -> Vec<SearchResult> {
    let mut pages = vec![engine.search(&query).unwrap()];
    while let Some(cursor) = pages.last().unwrap().next_cursor.clone() {
        // Through the text form, as a program on the other side of a wire would.
        query.options.cursor = Some(cursor.to_string().parse().unwrap());
        pages.push(engine.search(&query).unwrap());
    }
    pages
}

fn ids(results: &[SearchResult]) -> Vec<&str> {
    results.iter().flat_map(|page| &page.results).map(|hit| hit.id.as_str()).collect()
}

/// Thirty documents, most of which score the same.
fn walruses() -> Vec<Document> {
    let text = |n: usize| format!("walrus {}", ["ice", "ice", "snow", "ice ice"][n % 4]);
    (0..30).map(|n| Document::new(format!("{n:02}"), text(n))).collect()
}

#[test]
fn pages_follow_each_other_without_gap_or_repeat() {
    let (_dir, engine) = engine(&walruses());
    let page = |offset, limit| {
        engine
            .search(&query("walrus", SearchOptions { offset, limit, ..SearchOptions::default() }))
            .unwrap()
    };
    let whole = [page(0, 30)];
    assert_eq!(
        (whole[0].results.len(), whole[0].has_more, &whole[0].next_cursor),
        (30, false, &None)
    );
    let by_offset: Vec<SearchResult> = (0..5).map(|nth| page(7 * nth, 7)).collect();
    assert_eq!(ids(&by_offset), ids(&whole));
    let options = SearchOptions { limit: 7, ..SearchOptions::default() };
    let by_cursor = pages(&engine, query("walrus", options));
    assert_eq!(ids(&by_cursor), ids(&whole));
    let offsets: Vec<usize> = by_cursor.iter().map(|page| page.offset).collect();
    assert_eq!(offsets, [0, 7, 14, 21, 28]);
    // A cursor goes on from a page that was reached by offset.
    let mut from_offset =
        query("walrus", SearchOptions { offset: 7, limit: 7, ..SearchOptions::default() });
    from_offset.options.cursor = by_offset[1].next_cursor.clone();
    let next = engine.search(&from_offset).unwrap();
    assert_eq!((next.offset, ids(&[next])), (14, ids(&by_offset[2..3])));
}

#[test]
fn a_cursor_is_refused_by_another_query() {
    let (_dir, engine) = engine(&walruses());
    let options = SearchOptions { limit: 7, ..SearchOptions::default() };
    let cursor = engine.search(&query("walrus", options.clone())).unwrap().next_cursor;
    let other = query("ice", SearchOptions { cursor, ..options });
    let error = engine.search(&other).unwrap_err();
    assert!(matches!(error, Error::InvalidQuery { field: "options.cursor", .. }), "{error}");
}

#[test]
fn what_is_added_above_does_not_repeat_a_result() {
    let (_dir, engine) = engine(&walruses());
    let options = SearchOptions { limit: 7, ..SearchOptions::default() };
    let mut query = query("walrus", options);
    let first = engine.search(&query).unwrap();
    query.options.cursor = first.next_cursor.clone();
    engine.ingest(&[Document::new("new", "walrus walrus")]).unwrap();
    let second = engine.search(&query).unwrap();
    let both = [first, second];
    let mut seen = ids(&both);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 14);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]
    #[test]
    fn pages_put_together_are_the_long_list(
        texts in proptest::collection::vec("(walrus ){1,3}(ice |snow ){0,2}", 1..40),
        limit in 1_usize..12,
    ) {
        let documents: Vec<Document> = texts
            .iter()
            .enumerate()
            .map(|(n, text)| Document::new(format!("{n:02}"), text.as_str()))
            .collect();
        let (_dir, engine) = engine(&documents);
        let whole = [engine.search(&query("walrus ice", SearchOptions { limit: 40, ..SearchOptions::default() }))?];
        let asked = query("walrus ice", SearchOptions { limit, ..SearchOptions::default() });
        let walked = pages(&engine, asked.clone());
        prop_assert_eq!(ids(&walked), ids(&whole));
        let scores = |results: &[SearchResult]| -> Vec<Score> {
            results.iter().flat_map(|page| &page.results).map(|hit| hit.score).collect()
        };
        prop_assert!(scores(&walked).windows(2).all(|pair| pair[0] >= pair[1]));
        // The same bytes again.
        let items = |pages: &[SearchResult]| -> Vec<String> {
            pages.iter().map(|page| serde_json::to_string(&(&page.results, &page.next_cursor)).unwrap()).collect()
        };
        prop_assert_eq!(items(&walked), items(&pages(&engine, asked)));
        for page in &walked {
            prop_assert_eq!(page.total_count, whole[0].total_count);
        }
    }
}

/// A section that is too long for one chunk, and a short one.
fn handbook() -> Document {
    let paragraph =
        |n: usize| format!("Walrus {n}. {}\n\n", "The walrus rests on the ice. ".repeat(40));
    let long: String = (0..6).map(paragraph).collect();
    let body = format!("# Habits\n\n{long}\n# Diet\n\nA walrus eats clams.\n");
    Document::new("handbook.md", body).format(DocumentFormat::Markdown)
}

#[test]
fn pieces_of_a_section_do_not_fill_rank_after_rank() {
    let (_dir, engine) = engine(&[handbook()]);
    let pieces = engine.document_chunks("handbook.md").unwrap();
    assert!(pieces.len() >= 5, "{}", pieces.len());
    let ordinals = |options: SearchOptions| -> Vec<u32> {
        let found = engine.search(&query("walrus", options)).unwrap();
        assert_eq!(found.total_count, pieces.len());
        let place = |id: &str| pieces.iter().find(|piece| piece.id.to_string() == id).unwrap();
        found.results.iter().map(|hit| place(&hit.id).chunk.ordinal).collect()
    };
    let all = ordinals(SearchOptions { adjoining: true, ..SearchOptions::default() });
    assert_eq!(all.len(), pieces.len());
    let apart = ordinals(SearchOptions::default());
    let section = |ordinal: u32| &pieces[ordinal as usize].chunk.heading_path;
    for (at, one) in apart.iter().enumerate() {
        let adjacent =
            |other: &&u32| one.abs_diff(**other) == 1 && section(*one) == section(**other);
        assert_eq!(apart[..at].iter().find(adjacent), None, "{apart:?}");
    }
    // Each that is left out is next to one that is shown, and the order stays.
    assert!(apart.len() < all.len() && apart.len() >= 3, "{apart:?}");
    assert_eq!(
        all.iter().filter(|one| apart.contains(one)).collect::<Vec<_>>(),
        apart.iter().collect::<Vec<_>>()
    );
    let hidden = all.iter().find(|one| !apart.contains(one)).unwrap();
    let lost = engine
        .why_not(&query("walrus", SearchOptions::default()), &pieces[*hidden as usize].id)
        .unwrap();
    assert_eq!(lost.lost_at, Some(Stage::Select));
    assert!(lost.reason.contains("adjoins"), "{}", lost.reason);
}

#[test]
fn a_file_has_no_more_results_than_asked_for() {
    let (_dir, engine) = engine(&[handbook(), Document::new("note", "a walrus")]);
    let paths = |options: SearchOptions| -> Vec<String> {
        let found = engine.search(&query("walrus", options)).unwrap();
        found.results.into_iter().map(|hit| hit.metadata.unwrap().path).collect()
    };
    let one = SearchOptions { per_file: Some(1), ..SearchOptions::default() };
    let mut found = paths(one);
    found.sort();
    assert_eq!(found, ["handbook.md", "note"]);
    let two = SearchOptions { per_file: Some(2), adjoining: true, ..SearchOptions::default() };
    assert_eq!(paths(two).len(), 3);
}
