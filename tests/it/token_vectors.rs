//! Lists in another language than the question, ordered by the token vectors that are kept.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use trefoil::{
    Document, Engine, EngineConfig, Error, Language, Model, Result, SearchQuery, SearchResult,
    TokenVectors,
    index::Role,
    model::{
        Array2, Embedder, EmbeddingSpace, Rerankers, TokenCodes, TokenMeans, TokenSpace,
        ndarray::array,
    },
    search::Stage,
};

use crate::models::without_model;

/// Tells by its tokens whether a text is about foxes, which its vectors do not, and fails on
/// questions when it is told to.
#[derive(Debug)]
struct Foxes {
    space: EmbeddingSpace,
    tokens: TokenSpace,
    fails: AtomicBool,
}

impl Foxes {
    /// As a model of late interaction tells it.
    fn late() -> Self {
        let tokens = TokenSpace::of_late_interaction("foxes", 2, [0.0, 1.0], None).unwrap();
        Self { tokens, ..Self::new() }
    }

    fn new() -> Self {
        let means = || TokenMeans::from([(Language::En, vec![0.0, 0.0])]);
        Self {
            space: EmbeddingSpace::of_caller("foxes", "test", 2),
            tokens: TokenSpace::new(means(), means(), [0.0, 1.0], None).unwrap(),
            fails: AtomicBool::new(false),
        }
    }
}

impl Embedder for Foxes {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn cosine_range(&self) -> (f32, f32) {
        (0.0, 1.0)
    }

    fn embed(&self, _: Role, texts: &[&str]) -> Result<Array2<f32>> {
        Ok(Array2::from_shape_fn((texts.len(), 2), |(_, column)| [0.8, 0.6][column]))
    }

    fn token_space(&self, _: Language) -> Option<&TokenSpace> {
        Some(&self.tokens)
    }

    fn embed_passages(
        &self,
        texts: &[(&str, Option<Language>)],
    ) -> Result<(Array2<f32>, Vec<Option<TokenCodes>>)> {
        let codes = |text: &str| {
            let is_fox = text.contains('狐') || text.contains("fox");
            let token = if is_fox { array![[1.0, 0.0]] } else { array![[0.0, 1.0]] };
            TokenCodes::of(&token.view())
        };
        let each: Vec<&str> = texts.iter().map(|(text, _)| *text).collect();
        let codes = texts.iter().map(|(text, language)| language.map(|_| codes(text)));
        Ok((self.embed(Role::Passage, &each)?, codes.collect()))
    }

    fn query_tokens(&self, _: &str, _: Language, _: Language) -> Result<Array2<f32>> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(Error::EmbeddingFailed {
                model: "foxes".to_owned(),
                bytes: 5,
                reason: "the fox is out".to_owned(),
            });
        }
        Ok(array![[1.0, 0.0]])
    }
}

/// Japanese documents, one of them about a fox, neither the first nor the last.
fn engine(kept: TokenVectors) -> (tempfile::TempDir, Arc<Foxes>, Engine) {
    let texts = ["山に雪が降る。", "猫が庭で眠る。", "狐が森を走る。", "犬が川で泳ぐ。"];
    engine_of(Foxes::new(), texts, kept)
}

fn engine_of(
    foxes: Foxes,
    texts: [&str; 4],
    kept: TokenVectors,
) -> (tempfile::TempDir, Arc<Foxes>, Engine) {
    let (folder, foxes) = (tempfile::tempdir().unwrap(), Arc::new(foxes));
    let mut config = EngineConfig {
        model: Model::Custom(Arc::clone(&foxes) as _),
        rerankers: Rerankers::Custom(Vec::new()),
        token_vectors: kept,
        ..without_model()
    };
    config.rerank.enabled = true;
    let engine = Engine::open_with(folder.path(), config).unwrap();
    let numbered = (0..).zip(texts).map(|(n, text)| Document::new(format!("{n}.md"), text));
    engine.ingest(&numbered.collect::<Vec<_>>()).unwrap();
    engine.wait_until_indexed().unwrap();
    (folder, foxes, engine)
}

fn ask(engine: &Engine) -> SearchResult {
    engine.search(&SearchQuery::new("an animal with a red tail").unwrap()).unwrap()
}

#[test]
fn a_list_in_another_language_is_ordered_by_them() {
    let (_folder, _foxes, engine) = engine(TokenVectors::Auto);
    let found = ask(&engine);
    assert_eq!(found.degraded, []);
    assert_eq!((found.results.len(), found.results[0].path()), (4, "2.md"));
    assert!(found.results.iter().all(|one| one.relevance.rerank.is_some()));
}

#[test]
fn without_them_the_list_is_as_fused() {
    let (_folder, _foxes, engine) = engine(TokenVectors::Off);
    let found = ask(&engine);
    assert!(found.results.iter().all(|one| one.relevance.rerank.is_none()), "{found:?}");
}

#[test]
fn what_cannot_be_compared_is_told_to_that_search_alone() {
    let (_folder, foxes, engine) = engine(TokenVectors::Auto);
    let good = ask(&engine);
    foxes.fails.store(true, Ordering::Relaxed);
    let found = ask(&engine);
    let told = found.degraded.iter().find(|one| one.stage == Stage::Rerank).expect("told");
    assert!(told.reason.contains("the fox is out"), "{told:?}");
    assert_eq!(found.results.len(), 4);
    assert!(found.results.iter().all(|one| one.relevance.rerank.is_none()));
    foxes.fails.store(false, Ordering::Relaxed);
    let after = ask(&engine);
    assert_eq!((after.degraded, after.results), (good.degraded, good.results));
}

#[test]
fn within_a_language_those_of_a_model_of_late_interaction_order_the_list() {
    let texts = ["Snow falls up there.", "A cat is asleep.", "The fox runs.", "A dog swims."];
    let first = |foxes, kept| {
        let (_folder, _foxes, engine) = engine_of(foxes, texts, kept);
        let found = ask(&engine);
        let read = found.results.iter().filter(|one| one.relevance.rerank.is_some()).count();
        (found.results[0].path().to_owned(), read)
    };
    let (path, read) = first(Foxes::late(), TokenVectors::All);
    assert_eq!((path.as_str(), read), ("2.md", 4));
    // Those of an embedder do so only where it reads, which a custom one does not, and of English
    // none are kept unless it is asked for.
    let (fused, _) = first(Foxes::new(), TokenVectors::Off);
    for (foxes, kept) in [
        (Foxes::new(), TokenVectors::All),
        (Foxes::late(), TokenVectors::Auto),
        (Foxes::late(), TokenVectors::Off),
    ] {
        assert_eq!(first(foxes, kept), (fused.clone(), 0), "{kept:?}");
    }
}
