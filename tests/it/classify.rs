//! What the engine makes of the kind of a question.

use std::sync::Arc;

use trefoil::{
    Document, Engine, EngineConfig, Error, Result, RetrieverId, SearchFilters, SearchOptions,
    SearchQuery, SearchWeights,
    search::{NameLookup, QueryClassification, QueryClassifier, QueryType, Question, Stage},
};

use crate::models::without_model;

fn engine(config: EngineConfig) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
    engine.ingest(&[Document::new("a", "the difference between Rc and Arc")]).unwrap();
    (dir, engine)
}

#[test]
fn a_result_says_what_kind_of_question_it_answers() {
    let (_dir, engine) = engine(without_model());
    let check = |text: &str, query_type, entities: &[&str]| {
        let found = engine.search(&SearchQuery::new(text).unwrap()).unwrap();
        let told = found.classification.unwrap();
        assert_eq!((told.query_type, told.original_query.as_str()), (query_type, text));
        assert_eq!(told.extracted_entities, entities, "{text}");
    };
    check("difference between Rc and Arc", QueryType::Relationship, &["Rc", "Arc"]);
    check("RcとArcの違い", QueryType::Relationship, &["Rc", "Arc"]);
    check("Rc와 Arc의 차이", QueryType::Relationship, &["Rc", "Arc"]);
    check("ハンドブックの概要", QueryType::Global, &[]);
    check("E0502", QueryType::Local, &["E0502"]);
}

#[test]
fn a_search_without_a_question_is_of_no_kind() {
    let (_dir, engine) = engine(EngineConfig {
        model: trefoil::Model::Custom(Arc::new(crate::engine::letters::Letters::default())),
        ..without_model()
    });
    engine.wait_until_indexed().unwrap();
    let vector = crate::engine::letters::vector("arc");
    let found = engine
        .search_by_embedding(&vector, SearchFilters::default(), SearchOptions::default())
        .unwrap();
    assert_eq!(found.classification, None);
}

#[test]
fn what_the_caller_says_stands_above_what_is_told() {
    let (_dir, engine) = engine(without_model());
    let mut query = SearchQuery::new("overview of the handbook").unwrap();
    let weight = |query: &SearchQuery| {
        let plan = engine.plan(query).unwrap();
        let keyword =
            plan.retrievers.iter().find(|retriever| retriever.id == RetrieverId::KEYWORD).unwrap();
        (plan.query_type, keyword.weight)
    };
    assert_eq!(weight(&query).0, QueryType::Global);
    query.query_type = Some(QueryType::Local);
    assert_eq!(weight(&query), (QueryType::Local, 0.35));
    query.options.weights = Some(SearchWeights::default_set([0.8, 0.1, 0.1]).unwrap());
    assert_eq!(weight(&query), (QueryType::Local, 0.8));
    let found = engine.search(&query).unwrap();
    assert_eq!(found.classification.unwrap().query_type, QueryType::Global);
}

/// Answers with a fixed kind, or fails.
#[derive(Debug)]
struct Fixed(Option<QueryType>);

impl QueryClassifier for Fixed {
    fn classify(&self, question: &Question, _: &dyn NameLookup) -> Result<QueryClassification> {
        let query_type = self.0.ok_or(Error::SearchFailed {
            query: question.text.clone(),
            reason: "the model is asleep".to_owned(),
        })?;
        Ok(QueryClassification {
            original_query: question.text.clone(),
            query_type,
            confidence: trefoil::Score::ONE,
            extracted_entities: Vec::new(),
            suggested_weights: trefoil::search::suited_to(query_type),
            expanded_queries: Vec::new(),
        })
    }
}

#[test]
fn a_classifier_of_ones_own_decides() {
    let classifier = Arc::new(Fixed(Some(QueryType::Global)));
    let (_dir, engine) = engine(EngineConfig { classifier, ..without_model() });
    let plan = engine.plan(&SearchQuery::new("Rc").unwrap()).unwrap();
    assert_eq!(plan.query_type, QueryType::Global);
}

#[test]
fn a_classifier_that_fails_does_not_stop_the_search() {
    let (_dir, engine) =
        engine(EngineConfig { classifier: Arc::new(Fixed(None)), ..without_model() });
    let found = engine.search(&SearchQuery::new("Rc").unwrap()).unwrap();
    assert_eq!((found.results.len(), found.classification), (1, None));
    let said = found.degraded.iter().find(|degraded| degraded.stage == Stage::Classify).unwrap();
    assert!(said.reason.contains("the model is asleep"), "{}", said.reason);
}
