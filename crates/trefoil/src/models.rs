//! Finding of the models. The only place that knows where they come from.

use std::sync::Arc;

use trefoil_core::{Embedder, Error, Reranker, Result, TokenCounter};
use trefoil_text::ApproximateTokens;

use crate::{EngineConfig, Model, Rerankers};

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
        Model::Default | Model::Named(_) | Model::Folder(_) => match onnx::embedder(config) {
            Ok(embedder) => Ok(Models {
                embedder: Some(Arc::clone(&embedder) as Arc<dyn Embedder>),
                counter: embedder,
            }),
            Err(Error::ModelMissing { .. }) if matches!(config.model, Model::Default) => Ok(none()),
            Err(error) => Err(error),
        },
        #[cfg(not(feature = "onnx"))]
        Model::Default => Ok(none()),
        #[cfg(not(feature = "onnx"))]
        Model::Named(name) => Err(without_onnx(name.clone())),
        #[cfg(not(feature = "onnx"))]
        Model::Folder(folder) => Err(without_onnx(folder.display().to_string())),
    }
}

/// Finds what reads passages together with the question, or why there is nothing.
pub(crate) fn rerankers(
    config: &EngineConfig,
) -> Result<std::result::Result<Vec<Arc<dyn Reranker>>, String>> {
    match &config.rerankers {
        Rerankers::Custom(rerankers) => Ok(Ok(rerankers.clone())),
        #[cfg(feature = "onnx")]
        Rerankers::Default => match onnx::reranker(config) {
            Ok(reranker) => Ok(Ok(vec![reranker])),
            Err(Error::ModelMissing { name, .. }) => {
                Ok(Err(format!("no model; run `trefoil models pull {name}`")))
            }
            Err(error) => Err(error),
        },
        #[cfg(not(feature = "onnx"))]
        Rerankers::Default => Ok(Err("this build has no feature `onnx`".to_owned())),
    }
}

#[cfg(not(feature = "onnx"))]
fn without_onnx(name: String) -> Error {
    Error::ModelMissing { name, reason: "this build has no feature `onnx`".to_owned() }
}

#[cfg(feature = "onnx")]
mod onnx {
    use trefoil_model::{ModelHome, ModelSource, OnnxEmbedder, OnnxReranker};

    use super::{Arc, EngineConfig, Model, Reranker, Result};

    pub(super) fn embedder(config: &EngineConfig) -> Result<Arc<OnnxEmbedder>> {
        let source = match &config.model {
            Model::Named(name) => ModelSource::Name(name.clone()),
            Model::Folder(folder) => ModelSource::Folder(folder.clone()),
            Model::None | Model::Default | Model::Custom(_) => ModelSource::default(),
        };
        Ok(Arc::new(OnnxEmbedder::open(&home(config)?, &source, threads(config))?))
    }

    pub(super) fn reranker(config: &EngineConfig) -> Result<Arc<dyn Reranker>> {
        let source = ModelSource::Name(config.rerank.model.clone());
        Ok(Arc::new(OnnxReranker::open(&home(config)?, &source, threads(config))?))
    }

    fn home(config: &EngineConfig) -> Result<ModelHome> {
        match &config.model_home {
            Some(path) => Ok(ModelHome::at(path)),
            None => ModelHome::platform(),
        }
    }

    fn threads(config: &EngineConfig) -> usize {
        config
            .threads
            .or_else(|| std::thread::available_parallelism().ok().map(std::num::NonZero::get))
            .unwrap_or(1)
    }
}
