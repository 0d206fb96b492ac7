use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
};

use trefoil::{
    Engine, EngineConfig, Error, Model, Result, SearchQuery,
    model::{Reranker, Rerankers},
    search::SearchResultType,
};

use crate::{Fixtures, Outcome, Question, StoredVectors, folder, label};

/// The directory of an engine with stored vectors.
#[derive(Debug)]
pub struct EngineIndex {
    dir: PathBuf,
    config: EngineConfig,
}

impl EngineIndex {
    /// An index of [so many chunks](Fixtures::grown), made if it is not there.
    pub fn of(fixtures: &Fixtures, vectors: &Arc<StoredVectors>, chunks: usize) -> Outcome<Self> {
        let mut hasher = DefaultHasher::new();
        vectors.hash().hash(&mut hasher);
        for document in fixtures.grown(1_000) {
            (document.path, document.title, document.body).hash(&mut hasher);
        }
        let name = format!("engine-{}-{:016x}", label(chunks), hasher.finish());
        let index = Self { dir: folder()?.join(name), config: with_vectors(vectors) };
        let engine = match index.open() {
            // An earlier version made it.
            Err(Error::ModelMismatch { .. }) => Engine::reindex(&index.dir, index.config.clone())?,
            opened => opened?,
        };
        if engine.stats()?.store.chunks != chunks {
            engine.ingest(&fixtures.grown(chunks))?;
        }
        let waiting = engine.wait_until_indexed()?;
        let made = engine.stats()?.store.chunks;
        if made != chunks || waiting.queued + waiting.running + waiting.failed > 0 {
            return Err(format!("{made} chunks instead of {chunks}, or {waiting:?}").into());
        }
        Ok(index)
    }

    /// Its directory, and what it is opened with.
    pub fn opened_by(&self) -> (&Path, &EngineConfig) {
        (&self.dir, &self.config)
    }

    /// Opens it to read and write.
    pub fn open(&self) -> Result<Engine> {
        Engine::open_with(&self.dir, self.config.clone())
    }

    /// Opens it to read, with rerankers that have all the time they take.
    pub fn reranked_by(&self, rerankers: Vec<Arc<dyn Reranker>>) -> Result<Engine> {
        let config = EngineConfig {
            rerankers: Rerankers::Custom(rerankers),
            rerank_budget: None,
            ..self.config.clone()
        };
        Engine::open_read_only(&self.dir, config)
    }

    /// Opens it to read.
    pub fn open_read_only(&self) -> Result<Engine> {
        Engine::open_read_only(&self.dir, self.config.clone())
    }
}

/// The share of questions that are answered by the first ten passages.
pub fn answered(engine: &Engine, questions: &[(&Question, SearchQuery)]) -> Outcome<f64> {
    let mut answered = 0;
    for (question, query) in questions {
        let mut query = query.clone();
        query.options.result_types = vec![SearchResultType::Chunk];
        answered += usize::from(question.is_answered(&engine.search(&query)?));
    }
    Ok(answered as f64 / questions.len() as f64)
}

/// A configuration whose model looks vectors up.
pub fn with_vectors(vectors: &Arc<StoredVectors>) -> EngineConfig {
    let model = Model::Custom(Arc::<StoredVectors>::clone(vectors));
    EngineConfig { model, ..EngineConfig::default() }
}
