//! Entities as results: what a question names, with what the documents say of it.

use trefoil::{
    Document, Engine, RetrieverId, Score, SearchFilters, SearchQuery, SearchResult,
    SearchResultItem, SearchStrategy,
    graph::EntityType,
    search::{QueryType, SearchResultType, Stage, WhyNot},
};

use crate::models::without_model;

fn engine(documents: &[(&str, &str)]) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path().join("index"), without_model()).unwrap();
    let documents: Vec<Document> =
        documents.iter().map(|&(path, text)| Document::new(path, text)).collect();
    engine.ingest(&documents).unwrap();
    engine.wait_until_indexed().unwrap();
    (dir, engine)
}

/// Of one person, one garden and one palace each, in three documents, among others.
const DOCUMENTS: [(&str, &str); 10] = [
    (
        "en/countess",
        "Ada Lovelace was a mathematician of the nineteenth century. Ada Lovelace wrote the first \
         program for a machine of Charles Babbage.",
    ),
    ("en/father", "Lord Byron left England a month after his daughter Ada Lovelace was born."),
    ("en/letters", "The letters of Ada Lovelace to Charles Babbage are kept in Oxford today."),
    ("en/far", "The trains between the large cities of the country leave every ten minutes."),
    (
        "ja/garden",
        "兼六園は金沢市にある日本三名園の一つである。兼六園は加賀藩の前田家が代々にわたって造った。",
    ),
    ("ja/winter", "冬になると兼六園の松には雪吊りが施され、夜には明かりが灯される。"),
    ("ja/castle", "金沢市の金沢城公園は橋を渡れば兼六園のすぐ隣にあり、歩いて回ることができる。"),
    (
        "ko/palace",
        "창덕궁은 서울에 있는 조선의 궁궐이다. 창덕궁의 후원은 자연의 지형을 그대로 살려 만들었다.",
    ),
    ("ko/heritage", "서울의 창덕궁은 1997년에 유네스코 세계 유산으로 등재되었다."),
    ("ko/night", "봄과 가을에는 밤에도 창덕궁 후원을 걸을 수 있는 행사가 서울에서 열린다."),
];

fn query(text: &str) -> SearchQuery {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    SearchQuery::new(text).unwrap().replace_filters(filters)
}

fn entities(found: &SearchResult) -> Vec<&SearchResultItem> {
    let is_entity = |item: &&SearchResultItem| item.item_type == SearchResultType::Entity;
    found.results.iter().filter(is_entity).collect()
}

fn ids(found: &SearchResult) -> Vec<&str> {
    found.results.iter().map(|item| item.id.as_str()).collect()
}

#[test]
fn a_question_that_names_an_entity_brings_it_with_what_is_said_of_it() {
    let (_dir, engine) = engine(&DOCUMENTS);
    for (question, name, says, about, neighbour) in [
        (
            "Who was Ada Lovelace?",
            "Ada Lovelace",
            "Ada Lovelace was a mathematician",
            "en/",
            "Charles Babbage",
        ),
        (
            "兼六園とは何ですか",
            "兼六園",
            "兼六園は金沢市にある日本三名園の一つである。",
            "ja/",
            "金沢市",
        ),
        (
            "창덕궁은 어디에 있나요?",
            "창덕궁",
            "창덕궁은 서울에 있는 조선의 궁궐이다.",
            "ko/",
            "서울",
        ),
    ] {
        let found = engine.search(&query(question)).unwrap();
        let [entity] = entities(&found)[..] else { panic!("{question}: {:?}", found.results) };
        assert_eq!(entity.title(), name);
        assert!(entity.is_entity_result() && !entity.is_chunk_result(), "{entity:?}");
        assert!(!entity.is_community_result());
        assert_eq!(entity.sources.entity_ids, [entity.id.parse().unwrap()]);
        let description = &entity.content.text;
        assert!(description.starts_with(says), "{description}");
        assert!(description.chars().count() <= 600);
        let facts = entity.entity.as_ref().unwrap();
        assert_eq!(facts.chunks, 3, "{facts:?}");
        assert!(facts.degree > 0 && facts.importance > Score::ZERO && !facts.kinds.is_empty());
        // Its sources are passages that name it.
        assert_eq!(entity.sources.passages.len(), 3);
        for passage in &entity.sources.passages {
            let chunk = engine.chunk(&passage.chunk_id).unwrap().unwrap();
            assert!(chunk.chunk.text.contains(&passage.excerpt), "{passage:?}");
            assert!(passage.excerpt.contains(name) && passage.path.starts_with(about));
            assert_eq!(chunk.file.path, passage.path);
        }
        // The same is told of it by name.
        let view = engine.entity(name, &SearchFilters::default(), 9).unwrap().unwrap();
        assert_eq!(view.entity.id.as_str(), entity.id);
        assert_eq!((&view.description, view.degree), (description, facts.degree));
        assert_eq!(view.importance, facts.importance);
        assert!(view.related.iter().any(|one| one.entity.name == neighbour), "{view:?}");
        // Passages that mention it are linked to it as well, and are no entities.
        let passage = found.results.iter().find(|item| item.is_chunk_result()).unwrap();
        assert!(passage.is_entity_result() && passage.entity.is_none());
    }
}

#[test]
fn entities_stand_among_the_passages_by_their_score_and_change_nothing_of_them() {
    let (_dir, engine) = engine(&DOCUMENTS);
    for question in ["Ada Lovelace", "Ada Lovelace and Charles Babbage", "兼六園", "창덕궁 서울"]
    {
        let mut asked = query(question);
        let all = engine.search(&asked).unwrap();
        assert!(!entities(&all).is_empty(), "{question}");
        assert!(all.results.is_sorted_by(|a, b| a.score >= b.score), "{question}");
        for entity in entities(&all) {
            assert_eq!(entity.score, entity.relevance.retrievers.get(RetrieverId::GRAPH));
        }
        asked.options.result_types = vec![SearchResultType::Chunk];
        let passages = engine.search(&asked).unwrap();
        assert!(passages.results.iter().all(SearchResultItem::is_chunk_result));
        let rest: Vec<&SearchResultItem> =
            all.results.iter().filter(|item| item.is_chunk_result()).collect();
        assert_eq!(rest, passages.results.iter().collect::<Vec<_>>(), "{question}");
        assert_eq!(all.total_count, passages.total_count + entities(&all).len());
        asked.options.result_types = vec![SearchResultType::Entity];
        let only = engine.search(&asked).unwrap();
        assert_eq!(only.results.iter().collect::<Vec<_>>(), entities(&all), "{question}");
        assert_eq!((only.total_count, only.has_more), (only.results.len(), false));
    }
}

#[test]
fn what_a_question_only_mentions_is_no_result() {
    let (_dir, engine) = engine(&DOCUMENTS);
    for question in [
        // A name among much else, and common nouns.
        "which trains, ferries and mail coaches of that time carried parcels between Oxford and London daily?",
        "when does the next train leave?",
        "冬の夜に明かりが灯される行事の時間と料金と混雑の予想を教えて",
        "밤에 열리는 행사의 예약 방법과 가격과 시간표를 알려 주세요",
    ] {
        let found = engine.search(&query(question)).unwrap();
        assert!(entities(&found).is_empty(), "{question}: {:?}", entities(&found));
    }
}

#[test]
fn the_least_relevance_and_the_strategies_hold_for_entities() {
    let (_dir, engine) = engine(&DOCUMENTS);
    let mut asked = query("Ada Lovelace and her machine");
    let found = engine.search(&asked).unwrap();
    let share = entities(&found)[0].score;
    assert!(share > Score::HALF && share < Score::ONE, "{share:?}");
    asked.filters.min_relevance = share;
    assert_eq!(entities(&engine.search(&asked).unwrap()).len(), 1);
    asked.filters.min_relevance = Score::clamped(share.get() + 0.01);
    assert!(entities(&engine.search(&asked).unwrap()).is_empty());
    // The graph knows them, and a search without it does not.
    asked.filters.min_relevance = Score::ZERO;
    asked.options.strategies = vec![SearchStrategy::KEYWORD];
    assert!(entities(&engine.search(&asked).unwrap()).is_empty());
}

#[test]
fn under_filters_an_entity_is_what_the_allowed_passages_say() {
    let (_dir, engine) = engine(&DOCUMENTS);
    let mut asked = query("Ada Lovelace");
    asked.filters.path_glob = Some("en/father".to_owned());
    let found = engine.search(&asked).unwrap();
    let [entity] = entities(&found)[..] else { panic!("{:?}", found.results) };
    assert_eq!(
        entity.content.text,
        "Lord Byron left England a month after his daughter Ada Lovelace was born."
    );
    let facts = entity.entity.as_ref().unwrap();
    assert_eq!(facts.chunks, 1);
    let all = engine.search(&query("Ada Lovelace")).unwrap();
    assert!(facts.degree < entities(&all)[0].entity.as_ref().unwrap().degree, "{facts:?}");
    let paths: Vec<&str> =
        entity.sources.passages.iter().map(|passage| passage.path.as_str()).collect();
    assert_eq!(paths, ["en/father"]);
    // One that no allowed passage mentions is not known.
    asked.filters.path_glob = Some("ja/*".to_owned());
    assert!(entities(&engine.search(&asked).unwrap()).is_empty());
    // An entity is of the types that are asked for.
    let mut typed = query("Ada Lovelace");
    let kind = facts.kinds[0].clone();
    typed.filters.entity_types = vec![kind.as_str().to_lowercase()];
    assert_eq!(entities(&engine.search(&typed).unwrap()).len(), 1, "{kind:?}");
    typed.filters.entity_types = vec![EntityType::EVENT.as_str().to_owned()];
    assert!(entities(&engine.search(&typed).unwrap()).is_empty());
}

#[test]
fn an_alias_names_the_entity() {
    let text = "The Charles Babbage Society (CBS) met in London. CBS elected a new chair.";
    let more = "Members of the Charles Babbage Society gave papers on old calculating machines.";
    let (_dir, engine) = engine(&[("a", text), ("b", more)]);
    let by = |name: &str| {
        let found = engine.search(&query(name)).unwrap();
        entities(&found).into_iter().map(|one| one.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(by("CBS").len(), 1);
    assert_eq!(by("CBS"), by("what is the charles babbage society?"));
}

#[test]
fn pages_and_explanations_count_entities() {
    let (_dir, engine) = engine(&DOCUMENTS);
    for query_type in [QueryType::Local, QueryType::Global, QueryType::Relationship] {
        let mut asked = query("Ada Lovelace and Charles Babbage");
        asked.query_type = Some(query_type);
        asked.options.explain = true;
        let whole = engine.search(&asked).unwrap();
        assert_eq!(entities(&whole).len(), 2, "{:?}", whole.results);
        for (rank, item) in (1..).zip(&whole.results) {
            let last = item.explanation.as_ref().and_then(|one| one.stages.last()).unwrap();
            assert_eq!((last.stage, last.rank, last.score), (Stage::Present, rank, item.score));
            if let Some(chunk) = &item.sources.chunk_id {
                let WhyNot { lost_at, reason, .. } = engine.why_not(&asked, chunk).unwrap();
                assert_eq!((lost_at, reason), (None, format!("it is result {rank}")));
            }
        }
        for limit in 1..=whole.results.len() {
            let mut page = asked.clone().limit(limit);
            let mut shown = Vec::new();
            loop {
                let found = engine.search(&page).unwrap();
                shown.extend(ids(&found).into_iter().map(str::to_owned));
                let Some(next) = found.next_cursor else { break };
                page.options.cursor = Some(next);
            }
            assert_eq!(shown, ids(&whole), "{query_type:?} {limit}");
        }
        // Where no passages are wanted, that is what keeps one away.
        asked.options.result_types = vec![SearchResultType::Entity];
        let chunk = whole.results.iter().find_map(|item| item.sources.chunk_id.clone()).unwrap();
        let answer = engine.why_not(&asked, &chunk).unwrap();
        assert_eq!(answer.lost_at, Some(Stage::Select));
        assert!(answer.reason.contains("not wanted"), "{}", answer.reason);
    }
}

#[test]
fn what_no_sentence_names_is_quoted() {
    let (_dir, engine) = engine(&[("a", "`compute_tides()`"), ("b", "`compute_tides()` again")]);
    let found = engine.search(&query("compute_tides")).unwrap();
    let [entity] = entities(&found)[..] else { panic!("{:?}", found.results) };
    assert!(entity.content.text.contains("compute_tides"), "{entity:?}");
    assert_eq!(entity.entity.as_ref().unwrap().kinds, [EntityType::CODE]);
}
