use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use trefoil::{Engine, EngineConfig, Error, Model, Result, SearchQuery, SearchResult};

use crate::{Collection, Ingest};

/// A collection's index, made on first use and kept.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) engine: Engine,
    /// What indexing cost, where it was done in one go, now or earlier.
    pub(crate) ingest: Option<Ingest>,
    degraded: Mutex<BTreeSet<String>>,
}

impl Index {
    /// Opens the index of this content and model below `indexes`, or makes it.
    pub(crate) fn open(
        indexes: &Path,
        config: &EngineConfig,
        collection: &Collection,
    ) -> Result<Self> {
        let content = collection.content_hash();
        let name =
            format!("{}-{}", content.get(..16).unwrap_or(&content), model_name(&config.model));
        let folder = indexes.join(name);
        // Nobody reads the context of a result here.
        let config = EngineConfig { context_chars: 0, ..config.clone() };
        let record = folder.join("ingest.json");
        let engine = match Engine::open_with(folder.join("index"), config.clone()) {
            Err(locked @ Error::Locked { .. }) => {
                // Another process measures the same collection: the finished index serves both.
                let engine = Engine::open_read_only(folder.join("index"), config)?;
                let stats = engine.stats()?;
                let pending = stats.store.jobs;
                let whole = engine.paths()?.len() == collection.documents.len();
                if !whole || pending.queued + pending.running > 0 {
                    return Err(locked);
                }
                let ingest = recorded(&record);
                return Ok(Self { engine, ingest, degraded: Mutex::default() });
            }
            opened => opened?,
        };
        let start = Instant::now();
        let report = engine.ingest(&collection.documents)?;
        let left = engine.wait_until_indexed()?;
        if report.written == collection.documents.len() && report.written > 0 {
            let seconds = start.elapsed().as_secs_f64();
            let documents_per_second = report.written as f64 / seconds.max(1e-9);
            let ingest = Ingest { seconds, documents_per_second };
            let json = serde_json::to_vec(&ingest).unwrap_or_default();
            fs::write(&record, json).map_err(|source| Error::io("write", &record, source))?;
        } else if report.written > 0 {
            // Taken up where it was broken off: no time that could be compared.
            let _ = fs::remove_file(&record);
        }
        let ingest = recorded(&record);
        let mut degraded = BTreeSet::new();
        for skipped in report.skipped {
            degraded.insert(format!("{} was not indexed: {}", skipped.path, skipped.reason));
        }
        if left.failed > 0 {
            degraded.insert(format!("{} chunks could not be embedded", left.failed));
        }
        Ok(Self { engine, ingest, degraded: Mutex::new(degraded) })
    }

    /// Searches, and remembers what did not run as asked.
    pub(crate) fn search(&self, query: &SearchQuery) -> Result<SearchResult> {
        let found = self.engine.search(query)?;
        if !found.degraded.is_empty() {
            let mut degraded = self.degraded.lock().unwrap_or_else(PoisonError::into_inner);
            let reasons = found.degraded.iter();
            degraded.extend(reasons.map(|one| format!("{}: {}", one.stage, one.reason)));
        }
        Ok(found)
    }

    /// What did not run as asked so far.
    pub(crate) fn degraded(&self) -> Vec<String> {
        self.degraded.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// What indexing cost, if it was written down.
fn recorded(record: &Path) -> Option<Ingest> {
    fs::read(record).ok().and_then(|json| serde_json::from_slice(&json).ok())
}

/// Names a folder: vectors of two models do not go into one index.
fn model_name(model: &Model) -> String {
    let name = match model {
        Model::None => "no-model".to_owned(),
        Model::Default => "default".to_owned(),
        Model::Named(name) | Model::External { name, .. } => name.clone(),
        Model::Folder(folder) => {
            folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
        }
        Model::Custom(embedder) => embedder.space().model.clone(),
    };
    name.replace(|one: char| !one.is_ascii_alphanumeric() && one != '-' && one != '.', "_")
}
