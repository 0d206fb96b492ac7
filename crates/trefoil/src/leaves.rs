//! Opening of the indexes. The only place that knows which legs there are.

use std::{path::Path, sync::Arc};

use trefoil_core::{
    Analyzer, Degraded, Embedder, Error, Indexer, Result, Retriever, Stage, TokenCounter,
};
use trefoil_text::ApproximateTokens;

use crate::{EngineConfig, Model};

/// The legs of an engine.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    /// Write halves; none when read-only.
    pub(crate) indexers: Vec<Box<dyn Indexer>>,
    /// Read halves.
    pub(crate) retrievers: Vec<Box<dyn Retriever>>,
    /// Legs that cannot run, and why.
    pub(crate) absent: Vec<Degraded>,
}

/// Opens every leg below `dir` that can be opened. A damaged index is set aside and
/// begun anew when `write`; read-only, its leg is absent.
pub(crate) fn open(
    dir: &Path,
    analyzer: &Arc<dyn Analyzer>,
    embedder: Option<&Arc<dyn Embedder>>,
    write: bool,
) -> Result<Leaves> {
    let mut leaves = Leaves::default();
    #[cfg(feature = "keyword")]
    leaves.keyword(&dir.join("keyword"), analyzer, write)?;
    #[cfg(feature = "semantic")]
    match embedder {
        Some(embedder) => leaves.semantic(&dir.join("semantic"), embedder, write)?,
        None => leaves.absent.push(Degraded {
            stage: Stage::Semantic,
            reason: "no model; run `trefoil models pull`".to_owned(),
        }),
    }
    Ok(leaves)
}

impl Leaves {
    #[cfg(feature = "keyword")]
    fn keyword(&mut self, dir: &Path, analyzer: &Arc<dyn Analyzer>, write: bool) -> Result<()> {
        use trefoil_keyword::{KeywordConfig, KeywordIndexer, KeywordRetriever};
        let config = KeywordConfig::default();
        if write {
            let open = || KeywordIndexer::open(dir, Arc::clone(analyzer), &config);
            let indexer = or_anew(dir, open)?;
            self.retrievers.push(Box::new(indexer.retriever()));
            self.indexers.push(Box::new(indexer));
        } else {
            self.read(Stage::Keyword, KeywordRetriever::open(dir, Arc::clone(analyzer), &config))?;
        }
        Ok(())
    }

    #[cfg(feature = "semantic")]
    fn semantic(&mut self, dir: &Path, embedder: &Arc<dyn Embedder>, write: bool) -> Result<()> {
        use trefoil_semantic::{SemanticRetriever, VectorConfig, VectorIndexer};
        let config = VectorConfig::default();
        if write {
            let space = embedder.space();
            let fingerprint = space.fingerprint();
            let open = || VectorIndexer::open(dir, &fingerprint, space.dimensions, &config);
            self.indexers.push(Box::new(or_anew(dir, open)?));
        }
        self.read(Stage::Semantic, SemanticRetriever::open(dir, Arc::clone(embedder), &config))
    }

    fn read(&mut self, stage: Stage, opened: Result<impl Retriever + 'static>) -> Result<()> {
        match opened {
            Ok(retriever) => self.retrievers.push(Box::new(retriever)),
            Err(error @ Error::ModelMismatch { .. }) => return Err(error),
            Err(error) => self.absent.push(Degraded { stage, reason: error.chain() }),
        }
        Ok(())
    }
}

/// Opens an index; one that is damaged or of another model is set aside first, since
/// the store holds all that is needed to build it again.
fn or_anew<T>(dir: &Path, open: impl Fn() -> Result<T>) -> Result<T> {
    match open() {
        Err(
            error @ (Error::Corrupt { .. } | Error::ModelMismatch { .. } | Error::Checksum { .. }),
        ) => {
            let aside = dir.with_extension("damaged");
            tracing::warn!(index = %dir.display(), reason = error.chain(), "index set aside, rebuilding");
            if aside.exists() {
                std::fs::remove_dir_all(&aside)
                    .map_err(|source| Error::io("remove the damaged index", &aside, source))?;
            }
            std::fs::rename(dir, &aside)
                .map_err(|source| Error::io("set aside the damaged index", dir, source))?;
            open()
        }
        opened => opened,
    }
}

/// What embeds texts and what counts their tokens.
#[derive(Debug)]
pub(crate) struct Models {
    /// Absent when there is no model.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// The embedder's own tokenizer, or an approximation.
    pub(crate) counter: Arc<dyn TokenCounter>,
}

/// Finds the model that `config` asks for; a default that has not been pulled is no error.
pub(crate) fn models(config: &EngineConfig) -> Result<Models> {
    let none = || Models { embedder: None, counter: Arc::new(ApproximateTokens) };
    match &config.model {
        Model::None => Ok(none()),
        Model::Custom(embedder) => Ok(Models { embedder: Some(Arc::clone(embedder)), ..none() }),
        #[cfg(feature = "onnx")]
        Model::Default | Model::Named(_) | Model::Folder(_) => match onnx(config) {
            Ok(models) => Ok(models),
            Err(Error::ModelMissing { .. }) if matches!(config.model, Model::Default) => Ok(none()),
            Err(error) => Err(error),
        },
        #[cfg(not(feature = "onnx"))]
        Model::Default => Ok(none()),
        #[cfg(not(feature = "onnx"))]
        Model::Named(name) => Err(Error::ModelMissing {
            name: name.clone(),
            reason: "this build has no feature `onnx`".to_owned(),
        }),
        #[cfg(not(feature = "onnx"))]
        Model::Folder(folder) => Err(Error::ModelMissing {
            name: folder.display().to_string(),
            reason: "this build has no feature `onnx`".to_owned(),
        }),
    }
}

#[cfg(feature = "onnx")]
fn onnx(config: &EngineConfig) -> Result<Models> {
    use trefoil_model::{ModelHome, ModelSource, OnnxEmbedder};
    let home = match &config.model_home {
        Some(path) => ModelHome::at(path),
        None => ModelHome::platform()?,
    };
    let source = match &config.model {
        Model::Named(name) => ModelSource::Name(name.clone()),
        Model::Folder(folder) => ModelSource::Folder(folder.clone()),
        Model::None | Model::Default | Model::Custom(_) => ModelSource::default(),
    };
    let threads = config
        .threads
        .or_else(|| std::thread::available_parallelism().ok().map(std::num::NonZero::get))
        .unwrap_or(1);
    let embedder = Arc::new(OnnxEmbedder::open(&home, &source, threads)?);
    Ok(Models { embedder: Some(Arc::clone(&embedder) as Arc<dyn Embedder>), counter: embedder })
}
