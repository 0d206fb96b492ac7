//! The graph retriever as its user sees it: what it adds, shows and forgets.

use std::sync::Arc;

use trefoil::{
    Document, Engine, EngineConfig, Result, RetrieverId, Score, SearchFilters, SearchOptions,
    SearchQuery, SearchResult, SearchStrategy,
    graph::{
        EntityExtraction, EntityExtractor, Extraction, ScriptExtractor, TitledText,
        petgraph::{Undirected, algo::dijkstra},
    },
    search::{QueryType, Stage},
};

use crate::models::without_model;

/// Ada Lovelace is in two documents, the engine in two others; nothing joins Tokyo to them.
const DOCUMENTS: [(&str, &str); 5] = [
    (
        "countess",
        "Ada Lovelace wrote the first program. It was meant for a machine of Charles Babbage.",
    ),
    ("father", "Lord Byron left England a month after his daughter Ada Lovelace was born."),
    ("machine", "Charles Babbage never finished the Analytical Engine, for want of money."),
    ("mill", "The mill of the Analytical Engine was what a processor is today."),
    ("far", "Tokyo and Osaka are joined by the Shinkansen."),
];

fn engine_with(config: EngineConfig) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
    (dir, engine)
}

fn documents() -> Vec<Document> {
    DOCUMENTS.map(|(path, text)| Document::new(path, text)).into()
}

fn engine() -> (tempfile::TempDir, Engine) {
    let (dir, engine) = engine_with(without_model());
    engine.ingest(&documents()).unwrap();
    (dir, engine)
}

fn query(text: &str) -> SearchQuery {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    SearchQuery::new(text).unwrap().replace_filters(filters)
}

/// Of the passages.
fn paths(result: &SearchResult) -> Vec<&str> {
    let passages = result.results.iter().filter(|hit| hit.is_chunk_result());
    passages.map(|hit| hit.metadata.as_ref().unwrap().path.as_str()).collect()
}

/// Whether it is said of this stage that it did not run as asked.
fn says(found: &SearchResult, stage: Stage) -> bool {
    found.degraded.iter().any(|one| one.stage == stage)
}

fn names(engine: &Engine) -> Vec<String> {
    let graph = engine.graph_index().unwrap();
    (0..graph.entity_count()).map(|node| graph.entity(node).unwrap().name.to_owned()).collect()
}

#[test]
fn a_passage_is_found_that_shares_no_word_with_the_question() {
    let (_dir, engine) = engine();
    let found = engine.search(&query("who wrote the first program?")).unwrap();
    assert_eq!(paths(&found)[0], "countess");
    let father = found.results.iter().find(|hit| hit.id == id(&engine, "father")).unwrap();
    assert!(
        father.relevance.retrievers.get(RetrieverId::GRAPH) > Score::ZERO
            && father.relevance.retrievers.get(RetrieverId::KEYWORD) == Score::ZERO
    );
    assert!(!paths(&found).contains(&"far"));
    assert!(
        found.strategies.get(RetrieverId::GRAPH).enabled
            && found.strategies.get(RetrieverId::GRAPH).result_count >= 2
    );

    let mut keyword = query("who wrote the first program?");
    keyword.options.strategies = vec![SearchStrategy::KEYWORD];
    assert!(!paths(&engine.search(&keyword).unwrap()).contains(&"father"));
}

#[test]
fn the_graph_of_petgraph_is_what_the_filters_allow() {
    let (_dir, engine) = engine();
    let whole = engine.graph(&SearchFilters::default()).unwrap().unwrap();
    let index = engine.graph_index().unwrap();
    assert_eq!(whole.node_count(), index.entity_count() as usize);
    assert!(whole.edge_count() >= index.all_related().edge_count());
    let place_of = |name: &str| {
        let found = whole.node_indices().find(|&place| whole[place].name == name);
        found.unwrap_or_else(|| panic!("`{name}` is no node"))
    };
    let ada = &whole[place_of("Ada Lovelace")];
    let told = engine.entity("Ada Lovelace", &SearchFilters::default(), 1).unwrap().unwrap();
    assert_eq!((&ada.id, &ada.entity_type), (&told.entity.id, &told.entity.entity_type));
    assert_eq!((ada.chunks as usize, ada.importance), (told.chunks, told.importance));
    // Lovelace to Babbage to the engine; Tokyo is in another part.
    let whole = whole.clone().into_edge_type::<Undirected>();
    let far = dijkstra(&whole, place_of("Ada Lovelace"), None, |_| 1);
    assert_eq!(far[&place_of("Analytical Engine")], 2);
    assert!(!far.contains_key(&place_of("Tokyo")));

    let only =
        |path: &str| SearchFilters { path_glob: Some(path.to_owned()), ..Default::default() };
    let father = engine.graph(&only("father")).unwrap().unwrap();
    let names: Vec<&str> = father.node_weights().map(|node| node.name.as_str()).collect();
    assert!(names.contains(&"Lord Byron") && !names.contains(&"Charles Babbage"), "{names:?}");
    assert!(father.edge_weights().all(|edge| edge.proofs == 1 && edge.weight > 0.0));
    assert_eq!(engine.graph(&only("nowhere")).unwrap().unwrap().node_count(), 0);

    let (_dir, without) =
        engine_with(EngineConfig { extractor: EntityExtraction::None, ..without_model() });
    assert!(without.graph(&SearchFilters::default()).unwrap().is_none());
}

fn id(engine: &Engine, path: &str) -> String {
    engine.document_chunks(path).unwrap()[0].id.to_string()
}

#[test]
fn the_graph_alone_answers_by_what_the_question_names() {
    let (_dir, engine) = engine();
    let mut alone = query("Analytical Engine");
    alone.options.strategies = vec![SearchStrategy::GRAPH];
    let found = engine.search(&alone).unwrap();
    let first: Vec<&str> = paths(&found).into_iter().take(2).collect();
    assert!(first.contains(&"machine") && first.contains(&"mill"), "{first:?}");
    assert_eq!(found.degraded, []);
    let mut nothing = query("lighthouse");
    nothing.options.strategies = vec![SearchStrategy::GRAPH];
    assert_eq!(engine.search(&nothing).unwrap().results, []);
}

#[test]
fn a_relationship_is_shown_with_its_proofs() {
    let (_dir, engine) = engine();
    let mut asked = query("How is Ada Lovelace related to the Analytical Engine?");
    let found = engine.search(&asked).unwrap();
    assert_eq!(found.classification.as_ref().unwrap().query_type, QueryType::Relationship);
    let path = &found.paths[0];
    let entities: Vec<&str> = path.entities.iter().map(|entity| entity.name.as_str()).collect();
    assert_eq!(entities, ["Ada Lovelace", "Charles Babbage", "Analytical Engine"]);
    assert_eq!(path.steps.len(), 2);
    for step in &path.steps {
        for relation in &step.relations {
            for proof in &relation.proofs {
                // A proof is a passage that is found, and says which relation it shows.
                let hit = found.results.iter().find(|hit| hit.id == proof.chunk_id.as_str());
                let hit = hit.unwrap();
                assert!(hit.sources.relation_ids.contains(&relation.id));
                assert!(hit.content.text.contains(&proof.excerpt));
            }
        }
    }
    let ends = [&path.entities[0].id, &path.entities[1].id];
    assert!(path.steps[0].relations.iter().all(|one| ends.contains(&&one.source)));

    // A path goes by what the filters let through only.
    asked.filters.path_glob = Some("c*".to_owned());
    assert_eq!(engine.search(&asked).unwrap().paths, []);
}

#[test]
fn what_most_passages_mention_comes_first() {
    let (_dir, engine) = engine_with(without_model());
    let guests = "Guests: Tove Jansson, Karel Capek, Bohumil Hrabal, Jaroslav Hasek, Mika Waltari.";
    engine
        .ingest(&[
            Document::new("party", guests).title("Summer Party"),
            Document::new("a", "Ada Lovelace met Tove Jansson.").title("Notes"),
            Document::new("b", "A letter of Ada Lovelace.").title("Notes"),
            Document::new("c", "All of it was read by Ada Lovelace.").title("Notes"),
        ])
        .unwrap();
    let first: Vec<String> = engine
        .entities(&SearchFilters::default(), 2)
        .unwrap()
        .into_iter()
        .map(|view| view.entity.name)
        .collect();
    // More others are named with each guest, and more passages below the title.
    assert_eq!(first, ["Ada Lovelace", "Tove Jansson"]);
}

#[test]
fn names_come_before_common_nouns() {
    let (_dir, engine) = engine_with(without_model());
    engine
        .ingest(&[
            Document::new("a", "Ada Lovelace saw the control room."),
            Document::new("b", "Then Ada Lovelace left the control room."),
            Document::new("c", "The control room. Silence fell."),
            Document::new("d", "Nobody was in a control room. Silence fell; the silence grew."),
        ])
        .unwrap();
    let first = |most| {
        engine
            .entities(&SearchFilters::default(), most)
            .unwrap()
            .into_iter()
            .map(|view| view.entity.name)
    };
    assert_eq!(first(2).collect::<Vec<_>>(), ["control room", "Ada Lovelace"]);
    engine.ingest(&[Document::new("e", "It was read by Ada Lovelace.")]).unwrap();
    assert_eq!(first(2).collect::<Vec<_>>(), ["Ada Lovelace", "control room"]);
}

#[test]
fn a_document_takes_with_it_what_only_it_supported() {
    let (_dir, engine) = engine();
    assert!(names(&engine).contains(&"Lord Byron".to_owned()));
    engine.remove("father").unwrap();
    let left = names(&engine);
    assert!(!left.contains(&"Lord Byron".to_owned()) && !left.contains(&"England".to_owned()));
    assert!(left.contains(&"Ada Lovelace".to_owned()));
    // What is left is what it would be without the document.
    let (_other_dir, other) = engine_with(without_model());
    let rest: Vec<Document> = documents().into_iter().filter(|one| one.path != "father").collect();
    other.ingest(&rest).unwrap();
    assert_eq!(left, names(&other));
    let found = engine.search(&query("who wrote the first program?")).unwrap();
    assert!(!paths(&found).contains(&"father"));
}

#[test]
fn an_entity_type_is_a_filter_of_every_retriever() {
    let (_dir, engine) = engine_with(without_model());
    let code = Document::new("code", "Call `Vec::with_capacity` to make a vector.");
    let prose = Document::new("prose", "A vector is made by calling the vector maker.");
    engine.ingest(&[code, prose]).unwrap();
    let mut asked = query("make a vector");
    assert_eq!(engine.search(&asked).unwrap().results.len(), 2);
    asked.filters.entity_types = vec!["CODE".to_owned()];
    assert_eq!(paths(&engine.search(&asked).unwrap()), ["code"]);
    asked.filters.entity_types = vec!["EVENT".to_owned()];
    assert_eq!(engine.search(&asked).unwrap().results, []);
}

#[test]
fn results_name_their_entities_and_count_them() {
    let (_dir, engine) = engine();
    let found = engine.search(&query("Ada Lovelace")).unwrap();
    let lovelace = found.facets.iter().find(|facet| facet.entity.name == "Ada Lovelace").unwrap();
    assert_eq!(lovelace.results, 2);
    for hit in &found.results {
        let names_her = hit.content.text.contains("Ada Lovelace");
        assert_eq!(hit.sources.entity_ids.contains(&lovelace.entity.id), names_her);
    }
}

#[test]
fn an_engine_without_a_graph_says_so_only_where_it_is_asked_for() {
    let config = EngineConfig { extractor: EntityExtraction::None, ..without_model() };
    let (_dir, engine) = engine_with(config);
    engine.ingest(&documents()).unwrap();
    let found = engine.search(&query("Ada Lovelace")).unwrap();
    assert!(!found.strategies.get(RetrieverId::GRAPH).enabled);
    assert!(!says(&found, Stage::Retriever(RetrieverId::GRAPH)));
    let mut asked = query("Ada Lovelace");
    asked.options.strategies = vec![SearchStrategy::KEYWORD, SearchStrategy::GRAPH];
    let found = engine.search(&asked).unwrap();
    assert!(says(&found, Stage::Retriever(RetrieverId::GRAPH)));
}

/// Finds what the other finds, under another name.
#[derive(Debug)]
struct Renamed;

impl EntityExtractor for Renamed {
    fn fingerprint(&self) -> String {
        "renamed".to_owned()
    }

    fn extract(&self, texts: &[TitledText<'_>]) -> Result<Vec<Extraction>> {
        ScriptExtractor.extract(texts)
    }
}

#[test]
fn an_index_gets_a_graph_when_it_is_opened_with_an_extractor() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let without = EngineConfig { extractor: EntityExtraction::None, ..without_model() };
    Engine::open_with(&index, without).unwrap().ingest(&documents()).unwrap();
    let engine = Engine::open_with(&index, without_model()).unwrap();
    assert!(names(&engine).contains(&"Ada Lovelace".to_owned()));
    drop(engine);

    // Another extractor's graph stays until a reindex, and every search says so.
    let renamed =
        EngineConfig { extractor: EntityExtraction::Custom(Arc::new(Renamed)), ..without_model() };
    let engine = Engine::open_with(&index, renamed.clone()).unwrap();
    let degraded = engine.search(&query("Ada Lovelace")).unwrap().degraded;
    assert!(
        degraded.iter().any(|one| one.stage == Stage::Retriever(RetrieverId::GRAPH)
            && one.reason.contains("reindex"))
    );
    drop(engine);
    let engine = Engine::reindex(&index, renamed).unwrap();
    assert!(!says(
        &engine.search(&query("Ada Lovelace")).unwrap(),
        Stage::Retriever(RetrieverId::GRAPH)
    ));
    assert!(names(&engine).contains(&"Ada Lovelace".to_owned()));
}

#[test]
fn a_damaged_graph_is_made_anew_from_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    Engine::open_with(&index, without_model()).unwrap().ingest(&documents()).unwrap();
    for file in std::fs::read_dir(index.join("documents/graph")).unwrap() {
        std::fs::write(file.unwrap().path(), b"not a graph").unwrap();
    }
    let reader = Engine::open_read_only(&index, without_model()).unwrap();
    let found = reader.search(&query("Ada Lovelace")).unwrap();
    assert!(says(&found, Stage::Retriever(RetrieverId::GRAPH)));
    assert_eq!(found.results.len(), 2);
    let engine = Engine::open_with(&index, without_model()).unwrap();
    assert!(names(&engine).contains(&"Ada Lovelace".to_owned()));
    let found = engine.search(&query("Ada Lovelace")).unwrap();
    assert!(
        found.strategies.get(RetrieverId::GRAPH).enabled
            && !says(&found, Stage::Retriever(RetrieverId::GRAPH))
    );
}

#[test]
fn documents_in_any_order_give_one_graph() {
    let (_dir, engine) = engine();
    let (_other_dir, other) = engine_with(without_model());
    for document in documents().into_iter().rev() {
        other.ingest(&[document]).unwrap();
    }
    assert_eq!(names(&engine), names(&other));
    let rows = |engine: &Engine| -> Vec<(RetrieverId, u64)> { engine.stats().unwrap().rows };
    assert_eq!(rows(&engine), rows(&other));
    for question in ["who wrote the first program?", "Charles Babbage", "Lord Byron and the mill"] {
        let found = |engine: &Engine| -> Vec<(String, Score)> {
            let found = engine.search(&query(question)).unwrap();
            found.results.into_iter().map(|hit| (hit.id, hit.score)).collect()
        };
        assert_eq!(found(&engine), found(&other), "{question}");
    }
}

#[test]
fn names_are_found_in_three_languages() {
    let (_dir, engine) = engine_with(without_model());
    engine
        .ingest(&[
            Document::new("ja1", "兼六園は金沢市にある日本庭園です。"),
            Document::new("ja2", "金沢市は石川県の県庁所在地です。"),
            Document::new("ko1", "해인사는 가야산에 있는 사찰이다."),
            Document::new("ko2", "가야산 국립공원은 합천군에 걸쳐 있다."),
        ])
        .unwrap();
    for (question, first, second) in [("兼六園", "ja1", "ja2"), ("해인사", "ko1", "ko2")] {
        let options = SearchOptions { adjoining: true, ..SearchOptions::default() };
        let mut asked = query(question);
        asked.options = options;
        let found = engine.search(&asked).unwrap();
        assert_eq!(paths(&found), [first, second], "{question}");
    }
}

/// Two groups of documents, each about three things that stand together throughout.
fn two_groups() -> Vec<Document> {
    let mut documents = Vec::new();
    for (nth, verb) in ["studied", "described", "visited", "measured"].into_iter().enumerate() {
        let sea = format!(
            "Jacques Piccard {verb} the Mariana Trench aboard the Trieste. The Trieste of Jacques \
             Piccard was a deep-sea vessel, and the Mariana Trench is the deepest place of all."
        );
        let sky = format!(
            "Neil Armstrong {verb} the Sea of Tranquility from the Eagle. The Eagle of Neil \
             Armstrong was a lander, and the Sea of Tranquility is a plain of basalt."
        );
        documents.push(Document::new(format!("sea/{nth}"), sea));
        documents.push(Document::new(format!("sky/{nth}"), sky));
    }
    documents
}

#[test]
fn a_question_about_the_whole_is_answered_by_communities_first() {
    let (_dir, engine) = engine_with(without_model());
    engine.ingest(&two_groups()).unwrap();
    engine.wait_until_indexed().unwrap();
    let communities = engine.communities().unwrap();
    assert!(communities.iter().any(|one| one.name.contains("Piccard")), "{communities:?}");

    let mut asked = query("overview of the Mariana Trench and Jacques Piccard");
    let found = engine.search(&asked).unwrap();
    assert_eq!(found.classification.as_ref().unwrap().query_type, QueryType::Global);
    let first = &found.results[0];
    assert!(first.is_community_result() && !first.is_chunk_result(), "{first:?}");
    assert!(first.title().contains("Trieste") || first.title().contains("Piccard"), "{first:?}");
    assert!(first.content.text.contains("Mariana Trench") && !first.sources.entity_ids.is_empty());
    assert!(found.results.iter().all(|hit| !hit.content.text.is_empty()));
    assert!(found.results.windows(2).all(|pair| pair[0].score >= pair[1].score));

    // Pages are cut from one list, communities included.
    let ids = |found: &SearchResult| -> Vec<String> {
        found.results.iter().map(|hit| hit.id.clone()).collect()
    };
    asked.options.limit = 3;
    let mut pages = Vec::new();
    loop {
        let page = engine.search(&asked).unwrap();
        pages.extend(ids(&page));
        asked.options.offset += 3;
        if !page.has_more {
            break;
        }
    }
    assert_eq!(pages, ids(&found));

    // A community that rests on what the filters exclude is not shown.
    asked.options.offset = 0;
    asked.filters.path_glob = Some("sky/*".to_owned());
    let found = engine.search(&asked).unwrap();
    assert!(found.results.iter().all(|hit| !hit.content.text.contains("Mariana")));
    // And a question about one thing brings up none.
    let found = engine.search(&query("Trieste")).unwrap();
    assert!(!found.results.iter().any(trefoil::SearchResultItem::is_community_result));
}

#[test]
fn a_community_has_its_own_relevance_and_the_least_holds_for_it() {
    let (_dir, engine) = engine_with(without_model());
    engine.ingest(&two_groups()).unwrap();
    engine.wait_until_indexed().unwrap();
    let mut asked = query("overview of the Mariana Trench and Jacques Piccard");
    let communities = |found: &SearchResult| -> Vec<(Score, Score)> {
        let communities = found.results.iter().filter(|hit| hit.is_community_result());
        communities.map(|hit| (hit.score, hit.relevance.combined)).collect()
    };
    let found = engine.search(&asked).unwrap();
    let own = communities(&found);
    assert!(!own.is_empty() && own.iter().all(|(score, own)| score == own), "{own:?}");
    assert!(found.results.is_sorted_by(|a, b| a.score >= b.score));

    let best = own[0].0;
    asked.filters.min_relevance = best;
    let found = engine.search(&asked).unwrap();
    assert!(!communities(&found).is_empty());
    assert!(found.results.iter().all(|hit| hit.score >= best));
    // One that names nothing brings the largest, which are half as relevant as can be.
    let mut asked = query("What are the main themes?");
    assert!(!communities(&engine.search(&asked).unwrap()).is_empty());
    asked.filters.min_relevance = Score::new(0.51).unwrap();
    assert_eq!(communities(&engine.search(&asked).unwrap()), []);
}

#[test]
fn communities_follow_the_documents() {
    let (_dir, engine) = engine_with(without_model());
    engine.ingest(&two_groups()).unwrap();
    engine.wait_until_indexed().unwrap();
    let sea = |engine: &Engine| {
        let communities = engine.communities().unwrap();
        communities.into_iter().filter(|one| one.summary.contains("Mariana")).count()
    };
    assert!(sea(&engine) > 0);
    engine.remove("sea").unwrap();
    engine.wait_until_indexed().unwrap();
    assert_eq!(sea(&engine), 0);
    assert!(!engine.communities().unwrap().is_empty());
}
