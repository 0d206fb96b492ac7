//! Vectors that documents and questions bring, and metadata that changes without embedding.

use serde_json::{Value, json};
use trefoil::{
    Document, DocumentFormat, Engine, EngineConfig, Error, Metadata, Model, SearchFilters,
    SearchOptions, SearchQuery, search::Embedding,
};

use crate::models::without_model;

fn config(name: &str, dimensions: usize) -> EngineConfig {
    EngineConfig { model: Model::External { name: name.to_owned(), dimensions }, ..without_model() }
}

fn vector(values: &[f32]) -> Embedding {
    Embedding::new(values.to_vec()).unwrap()
}

fn whole(path: &str, body: &str) -> Document {
    Document::new(path, body).format(DocumentFormat::Whole)
}

fn given(path: &str, body: &str, values: &[f32]) -> Document {
    whole(path, body).embedding(vector(values))
}

fn nearest(engine: &Engine, values: &[f32]) -> Vec<String> {
    let options = SearchOptions::default();
    let found = engine.search_by_embedding(values, SearchFilters::default(), options).unwrap();
    found.results.iter().map(|hit| hit.path().to_owned()).collect()
}

fn metadata(value: Value) -> Metadata {
    serde_json::from_value(value).unwrap()
}

#[test]
fn given_vectors_are_found_told_back_and_kept_through_a_rebuild() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let engine = Engine::open_with(&dir, config("mine", 3)).unwrap();
    let documents = [
        given("a", "same words", &[3.0, 0.0, 0.0]),
        given("b", "same words", &[0.0, 0.5, 0.0]),
        given("c", "other words", &[0.0, 0.0, 0.1]),
        whole("d", "no vector"),
    ];
    engine.ingest(&documents).unwrap();
    assert_eq!(engine.wait_until_indexed().unwrap().queued, 1);
    assert_eq!(nearest(&engine, &[0.1, 0.0, 1.0]), ["c", "a", "b"]);
    let told = engine.vectors(&["b", "d", "nothing", "a"]).unwrap();
    let told: Vec<_> = told.into_iter().map(|(_, vector)| vector).collect();
    assert_eq!(told, [[0.0, 0.5, 0.0], [3.0, 0.0, 0.0]]);
    // Words find all of them; a question without a vector says why it is not compared.
    let found = engine.search(&SearchQuery::new("words vector").unwrap()).unwrap();
    assert!(found.results.iter().any(|hit| hit.path() == "d"));
    let reason = found.degraded.iter().map(|one| one.reason.as_str()).collect::<String>();
    assert!(reason.contains("give the question an `embedding`"), "{reason}");
    let with = SearchQuery { embedding: Some(vector(&[0.0, 1.0, 0.0])), ..found.query };
    let found = engine.search(&with).unwrap();
    assert_eq!((found.results[0].path(), found.degraded.len()), ("b", 0), "{:?}", found.degraded);
    // The same again changes nothing; another vector, and none, do.
    let ingest = |document| engine.ingest(&[document]).unwrap().written;
    assert_eq!(ingest(given("b", "same words", &[0.0, 0.5, 0.0])), 0);
    assert_eq!(ingest(given("b", "same words", &[0.9, 0.5, 0.0])), 1);
    assert_eq!(nearest(&engine, &[0.1, 0.05, 0.0]), ["b", "a", "c"]);
    assert_eq!(ingest(whole("b", "same words")), 1);
    assert_eq!(nearest(&engine, &[0.1, 0.05, 0.0]), ["a", "c"]);
    drop(engine);
    assert!(Engine::verify(&dir).unwrap().is_sound());
    let engine = Engine::reindex(&dir, config("mine", 3)).unwrap();
    engine.wait_until_indexed().unwrap();
    assert_eq!(nearest(&engine, &[0.1, 0.05, 0.0]), ["a", "c"]);
}

#[test]
fn vectors_that_do_not_fit_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let engine = Engine::open_with(&dir, config("mine", 2)).unwrap();
    let refused = |document| engine.ingest(&[document]).unwrap_err();
    let error = refused(given("a", "text", &[1.0, 0.0, 0.0]));
    assert!(matches!(error, Error::DimensionMismatch { expected: 2, provided: 3 }), "{error}");
    let error = refused(Document::new("notes", "text").embedding(vector(&[1.0, 0.0])));
    assert!(error.to_string().contains("`notes`"), "{error}");
    engine.ingest(&[given("a", "text", &[1.0, 0.0])]).unwrap();
    drop(engine);
    for other in [config("other", 2), config("mine", 3)] {
        let error = Engine::open_with(&dir, other).unwrap_err();
        assert!(matches!(error, Error::ModelMismatch { .. }), "{error}");
    }
    let no_model = Engine::open_with(folder.path().join("words"), without_model()).unwrap();
    let error = no_model.ingest(&[given("a", "text", &[1.0, 0.0])]).unwrap_err();
    assert!(error.to_string().contains("external model"), "{error}");
    let error = Engine::open_with(&dir, config("mine", 0)).unwrap_err();
    assert_eq!(error.code(), "invalid_config");
}

#[test]
fn metadata_changes_without_embedding_until_the_document_comes_again() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let engine = Engine::open_with(&dir, config("mine", 2)).unwrap();
    let year = |year| metadata(json!({"year": year, "by": "Ada"}));
    let document = given("a", "A walrus.", &[1.0, 0.0]).metadata(year(2025));
    engine.ingest(&[document.clone(), given("b", "A seal.", &[0.0, 1.0])]).unwrap();
    let patch = metadata(json!({"year": 2026, "by": null}));
    assert_eq!(engine.update_metadata(&["a", "nothing"], &patch).unwrap(), 1);
    let told = || engine.document("a").unwrap().unwrap().metadata;
    assert_eq!(told(), metadata(json!({"year": 2026})));
    let recent = json!({"field": "year", "op": "==", "value": 2026});
    let query = SearchQuery::new("walrus").unwrap();
    let query = query.condition(serde_json::from_value(recent).unwrap());
    assert_eq!(engine.search(&query).unwrap().results[0].path(), "a");
    assert_eq!(nearest(&engine, &[1.0, 0.1]), ["a", "b"]);
    let large = metadata(json!({"text": "x".repeat(16_000)}));
    let error = engine.update_metadata(&["b"], &large).and(Ok(())).and_then(|()| {
        engine.update_metadata(&["a", "b"], &metadata(json!({"more": "x".repeat(16_000)})))
    });
    assert_eq!(error.unwrap_err().code(), "invalid_field");
    assert_eq!(told(), metadata(json!({"year": 2026})), "all of it, or nothing");
    assert_eq!(engine.ingest(std::slice::from_ref(&document)).unwrap().written, 1);
    assert_eq!(told(), year(2025));
    assert_eq!(engine.ingest(&[document]).unwrap().unchanged, 1);
    drop(engine);
    assert!(Engine::verify(&dir).unwrap().is_sound());
}

#[test]
fn a_vector_of_another_length_is_refused_where_there_is_nothing_to_compare_it_with() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(folder.path(), config("mine", 3)).unwrap();
    for documents in [&[][..], &[whole("a", "words alone")]] {
        engine.ingest(documents).unwrap();
        let options = SearchOptions::default();
        let error = engine.search_by_embedding(&[1.0, 2.0], SearchFilters::default(), options);
        let error = error.unwrap_err();
        assert!(matches!(error, Error::DimensionMismatch { expected: 3, provided: 2 }), "{error}");
    }
}
