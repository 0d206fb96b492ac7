//! Documents of two tenants in one index, told apart by a tag: a search for the one tells
//! nothing of the other.

use std::collections::BTreeSet;

use proptest::prelude::*;
use trefoil::{
    Document, DocumentFormat, Engine, Score, SearchFilters, SearchOptions, SearchQuery,
    SearchResult,
    search::{QueryType, SearchResultType},
};

use crate::models::without_model;

fn tagged(document: Document, tag: &str) -> Document {
    Document { tags: vec![tag.to_owned()], ..document }
}

/// What the tenant of this tag writes. Some words are of both, the rest is of one.
fn documents(tag: &str, names: [&str; 3], nouns: [&str; 3]) -> Vec<Document> {
    let [one, two, three] = names;
    let [first, second, third] = nouns;
    let texts = [
        format!(
            "{one} met {two} in Central London. {one} gave {two} the {first}. \
             The {first} of Central London was known to {three}."
        ),
        format!(
            "{two} wrote to {three} on the {second}. {one} and {two} \
             opened the {second} in Central London."
        ),
        format!(
            "{three} came with {one} to the {third}. The {third} of {two} is what {one} saw. \
             CHARLES BABBAGE SOCIETY (CBS) {tag} {first} was there."
        ),
        format!("{one} and {two} and {three} agreed on the {first}, the {second}, the {third}."),
    ];
    let numbered = (0..).zip(texts);
    let each = numbered
        .map(|(nth, text)| tagged(Document::new(format!("{tag}/{nth}"), text).title(first), tag));
    each.collect()
}

fn red() -> Vec<Document> {
    let mut red = documents(
        "red",
        ["Jacques Piccard", "Sylvia Earle", "Mariana Trench"],
        ["bathyscaphe", "diving bell", "research vessel"],
    );
    red.push(tagged(
        Document::new("red/ja", "深海探査艇は琵琶湖で試験された。琵琶湖の深海探査艇。"),
        "red",
    ));
    red.push(tagged(Document::new("red/ko", "해녀 박물관은 제주도에 있다. 제주도 해녀."), "red"));
    red
}

fn blue() -> Vec<Document> {
    let mut blue = documents(
        "blue",
        ["Neil Armstrong", "Valentina Tereshkova", "Tranquility Base"],
        ["moon lander", "space suit", "launch pad"],
    );
    blue.push(tagged(
        Document::new("blue/ja", "宇宙服は種子島で試験された。種子島の宇宙服。"),
        "blue",
    ));
    blue.push(tagged(
        Document::new("blue/ko", "나로호 발사대는 고흥군에 있다. 고흥군 나로호."),
        "blue",
    ));
    blue
}

fn engine() -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path().join("index"), without_model()).unwrap();
    engine.ingest(&red()).unwrap();
    engine.ingest(&blue()).unwrap();
    engine.wait_until_indexed().unwrap();
    (dir, engine)
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 1);
    words.map(str::to_lowercase)
}

fn words_of(documents: &[Document]) -> BTreeSet<String> {
    let all = documents.iter().flat_map(|one| words(&one.body).chain(words(&one.title)));
    all.collect()
}

/// What the answer tells besides the question itself.
fn told(found: &SearchResult, question: &str) -> BTreeSet<String> {
    let mut json = serde_json::to_value(found).unwrap();
    json.as_object_mut().unwrap().remove("query");
    let asked: BTreeSet<String> = words(question).collect();
    words(&json.to_string()).filter(|word| !asked.contains(word)).collect()
}

/// Questions that name things of both tenants.
const QUESTIONS: [&str; 17] = [
    "overview of Central London",
    "What are the main themes?",
    "summary of Jacques Piccard and the bathyscaphe",
    "summary of Neil Armstrong",
    "How is Jacques Piccard related to Central London?",
    "What is the difference between Neil Armstrong and Mariana Trench?",
    "CBS",
    "Charles Babbage Society",
    "who opened it in Central London",
    "試験の概要",
    "제주도 요약",
    "bathyscaphe or moon lander",
    "Central London",
    "Who is Valentina Tereshkova?",
    "Mariana Trench",
    "種子島",
    "제주도",
];

fn kinds() -> impl proptest::strategy::Strategy<Value = Option<QueryType>> {
    prop_oneof![
        Just(None),
        Just(Some(QueryType::Local)),
        Just(Some(QueryType::Global)),
        Just(Some(QueryType::Relationship)),
        Just(Some(QueryType::Hybrid)),
    ]
}

#[test]
fn a_search_for_one_tenant_tells_no_word_of_the_other() {
    let (_dir, engine) = engine();
    let (red, blue) = (words_of(&red()), words_of(&blue()));
    let retriever = (
        (0..QUESTIONS.len(), kinds(), any::<bool>()),
        (any::<bool>(), any::<bool>(), 0_usize..5, 0_usize..3),
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
    let run = runner.run(&retriever, |((which, kind, is_red), (crag, explain, offset, filter))| {
        let (tag, own, other) = if is_red { ("red", &red, &blue) } else { ("blue", &blue, &red) };
        let mut filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
        match filter {
            0 => filters.tags = vec![tag.to_owned()],
            1 => filters.path_glob = Some(format!("{tag}/*")),
            _ => {
                filters.tags = vec![tag.to_owned()];
                filters.entity_types = vec!["CONCEPT".to_owned(), "PERSON".to_owned()];
            }
        }
        let question = QUESTIONS[which];
        let mut query = SearchQuery::new(question).unwrap().replace_filters(filters);
        query.query_type = kind;
        query.options =
            SearchOptions { crag_enabled: crag, explain, offset, ..SearchOptions::default() };
        let found = engine.search(&query).unwrap();
        let told = told(&found, question);
        let foreign: Vec<&String> =
            told.iter().filter(|word| other.contains(*word) && !own.contains(*word)).collect();
        prop_assert!(foreign.is_empty(), "{question} for {tag}: {foreign:?}");
        Ok(())
    });
    run.unwrap();
}

#[test]
fn a_community_of_one_tenant_is_shown_to_that_one() {
    let (_dir, engine) = engine();
    let own = |tag: &str| {
        let filters = SearchFilters { tags: vec![tag.to_owned()], ..SearchFilters::default() };
        let query = SearchQuery::new("What are the main themes?").unwrap().replace_filters(filters);
        let found = engine.search(&query).unwrap();
        found
            .results
            .into_iter()
            .filter(trefoil::SearchResultItem::is_community_result)
            .collect::<Vec<_>>()
    };
    let names = |tag: &str| own(tag).iter().map(|one| one.title().to_owned()).collect::<Vec<_>>();
    assert!(own("green").is_empty());
    let all: Vec<String> = names("red").into_iter().chain(names("blue")).collect();
    assert!(!all.is_empty(), "no community is shown to anybody");
    let distinct: BTreeSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
}

#[test]
fn an_entity_of_both_tenants_is_to_each_what_its_own_documents_say() {
    let (_dir, engine) = engine();
    let shown = |tag: &str, question: &str| {
        let filters = SearchFilters { tags: vec![tag.to_owned()], ..SearchFilters::default() };
        let query = SearchQuery::new(question).unwrap().replace_filters(filters);
        let found = engine.search(&query).unwrap().results.into_iter();
        found.filter(|one| one.item_type == SearchResultType::Entity).collect::<Vec<_>>()
    };
    let [red, blue] = ["red", "blue"].map(|tag| {
        let [one] = &shown(tag, "Central London")[..] else { panic!("{tag}") };
        assert_eq!(one.title(), "Central London");
        assert!(one.sources.passages.iter().all(|passage| passage.path.starts_with(tag)));
        one.clone()
    });
    assert_eq!(red.id, blue.id);
    assert_ne!(red.content, blue.content);
    // Two of its documents name it, and the others of each tenant do not.
    assert_eq!(red.entity.unwrap().chunks, 2);
    // What is of one tenant is unknown to the other.
    assert_eq!(shown("red", "Jacques Piccard").len(), 1);
    assert!(shown("blue", "Jacques Piccard").is_empty());
    assert!(shown("green", "Central London").is_empty());
}

#[test]
fn context_is_shown_only_where_its_own_language_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path().join("index"), without_model()).unwrap();
    let text = "# Tides\n\nThe tide rises twice a day.\n\n# 潮汐\n\n潮汐は月の引力で起こる。\n";
    let document = Document::new("a.md", text).format(DocumentFormat::Markdown);
    engine.ingest(&[document]).unwrap();
    let mut query = SearchQuery::new("潮汐").unwrap();
    query.filters.min_relevance = Score::ZERO;
    let before = |query: &SearchQuery| {
        let found = engine.search(query).unwrap();
        found.results.into_iter().find_map(|hit| hit.content.context_before)
    };
    assert!(before(&query).unwrap().contains("tide"));
    query.filters.languages = vec![trefoil::Language::Ja];
    assert_eq!(before(&query), None);
}

/// Words of a value that stand only with the other tenant.
fn foreign(value: &impl serde::Serialize, asked: &str, tag: &str) -> Vec<String> {
    let (own, other) = match tag {
        "red" => (words_of(&red()), words_of(&blue())),
        _ => (words_of(&blue()), words_of(&red())),
    };
    let asked: BTreeSet<String> = words(asked).collect();
    let json = serde_json::to_string(value).unwrap();
    let is_foreign =
        |word: &String| !asked.contains(word) && other.contains(word) && !own.contains(word);
    words(&json).filter(is_foreign).collect()
}

#[test]
fn the_graph_for_one_tenant_tells_no_word_of_the_other() {
    let (_dir, engine) = engine();
    let all = engine.entities(&SearchFilters::default(), 100).unwrap();
    for tag in ["red", "blue"] {
        let filters = SearchFilters { tags: vec![tag.to_owned()], ..SearchFilters::default() };
        let own = engine.entities(&filters, 100).unwrap();
        assert!(own.len() > 3 && own.len() < all.len(), "{tag}: {}", own.len());
        assert_eq!(foreign(&own, "", tag), [""; 0], "{tag}");
        let mut known = 0;
        for one in &all {
            let name = &one.entity.name;
            let view = engine.entity(name, &filters, 20).unwrap();
            assert_eq!(foreign(&view, name, tag), [""; 0], "{tag}: {name}");
            // Sums over all chunks are told only where all count.
            let seen = |view: &trefoil::graph::EntityView| {
                let relations = view.related.iter().flat_map(|one| &one.relations);
                relations.filter(|one| one.seen.is_some()).count()
            };
            assert_eq!(view.as_ref().map_or(0, seen), 0);
            let whole = engine.entity(name, &SearchFilters::default(), 20).unwrap().unwrap();
            assert_eq!(
                seen(&whole),
                whole.related.iter().map(|one| one.relations.len()).sum::<usize>()
            );
            assert_eq!(view.is_some(), own.iter().any(|own| own.entity.id == one.entity.id));
            known += usize::from(view.is_some());
            let drawn = engine.subgraph(Some(name), &filters, 20).unwrap();
            assert_eq!(foreign(&drawn, name, tag), [""; 0], "{tag}: {name}");
        }
        assert_eq!(known, own.len());
        let drawn = engine.subgraph(None, &filters, 100).unwrap();
        assert_eq!((drawn.nodes.len(), foreign(&drawn, "", tag)), (own.len(), vec![]));
        // Both speak of the place; each is told of its own chunks alone.
        let place = engine.entity("Central London", &filters, 20).unwrap().unwrap();
        assert!(
            place.chunks < all.iter().find(|one| one.entity.id == place.entity.id).unwrap().chunks
        );
    }
}

#[test]
fn why_a_passage_is_missing_is_told_in_no_word_of_the_other() {
    let (_dir, engine) = engine();
    let paths = engine.paths().unwrap();
    for tag in ["red", "blue"] {
        for question in QUESTIONS {
            for path in &paths {
                for chunk in engine.document_chunks(path).unwrap() {
                    let filters =
                        SearchFilters { tags: vec![tag.to_owned()], ..SearchFilters::default() };
                    let query = SearchQuery::new(question).unwrap().replace_filters(filters);
                    let why = engine.why_not(&query, &chunk.id).unwrap();
                    assert_eq!(foreign(&why, question, tag), [""; 0], "{tag}: {question} {path}");
                }
            }
        }
    }
}
