use std::{path::Path, sync::Arc};

use trefoil_core::{Document, Error, Part, Result, SearchQuery, SearchResult};
use trefoil_store::JobCounts;

use crate::{Engine, EngineConfig, EngineStats, Ingested};

/// An [`Engine`] for tokio: each call runs on the blocking pool, so that no executor
/// thread waits for a model or a disk. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AsyncEngine {
    engine: Arc<Engine>,
}

impl AsyncEngine {
    /// Opens as [`Engine::open_with`] does.
    pub async fn open(dir: impl AsRef<Path>, config: EngineConfig) -> Result<Self> {
        let dir = dir.as_ref().to_owned();
        let engine = blocking(move || Engine::open_with(dir, config)).await?;
        Ok(Self::from(engine))
    }

    /// [`Engine::search`].
    pub async fn search(&self, query: SearchQuery) -> Result<SearchResult> {
        self.run(move |engine| engine.search(&query)).await
    }

    /// [`Engine::ingest`].
    pub async fn ingest(&self, documents: Vec<Document>) -> Result<Ingested> {
        self.run(move |engine| engine.ingest(&documents)).await
    }

    /// [`Engine::ingest_path`].
    pub async fn ingest_path(&self, path: impl AsRef<Path>) -> Result<Ingested> {
        let path = path.as_ref().to_owned();
        self.run(move |engine| engine.ingest_path(path)).await
    }

    /// [`Engine::remove`].
    pub async fn remove(&self, path: impl Into<String>) -> Result<usize> {
        let path = path.into();
        self.run(move |engine| engine.remove(&path)).await
    }

    /// [`Engine::wait_until_indexed`].
    pub async fn wait_until_indexed(&self) -> Result<JobCounts> {
        self.run(Engine::wait_until_indexed).await
    }

    /// [`Engine::stats`].
    pub async fn stats(&self) -> Result<EngineStats> {
        self.run(Engine::stats).await
    }

    /// The engine itself, for what has no async form.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Engine) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let engine = Arc::clone(&self.engine);
        blocking(move || call(&engine)).await
    }
}

impl From<Engine> for AsyncEngine {
    fn from(engine: Engine) -> Self {
        Self { engine: Arc::new(engine) }
    }
}

async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(call).await {
        Ok(outcome) => outcome,
        Err(error) => Err(Error::backend(Part::Store, "run on the blocking pool", error)),
    }
}
