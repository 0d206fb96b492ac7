//! Finding of the models. The only place that knows where they come from.

use std::sync::Arc;

#[cfg(feature = "graph")]
use trefoil_core::EntityExtractor;
use trefoil_core::{Embedder, Error, Reranker, Result, TokenCounter};
use trefoil_text::ApproximateTokens;

#[cfg(feature = "graph")]
use crate::config::EntityExtraction;

use crate::{
    config::{EngineConfig, Model, Rerankers},
    index::external::ExternalVectors,
    search::turns::Turns,
};

/// What embeds texts and what counts their tokens.
#[derive(Debug)]
pub(crate) struct Models {
    /// Absent when there is no model.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// The embedder's own tokenizer, or an approximation.
    pub(crate) counter: Arc<dyn TokenCounter>,
    /// What reads passages together with the question.
    pub(crate) rerankers: FoundRerankers,
    /// What finds the entities of a chunk; absent when there is to be no graph.
    #[cfg(feature = "graph")]
    pub(crate) extractor: Option<Arc<dyn EntityExtractor>>,
}

/// The rerankers that are there, and why one is not.
#[derive(Debug, Default)]
pub(crate) struct FoundRerankers {
    /// The first that reads all of a list scores it.
    pub(crate) rerankers: Vec<Arc<dyn Reranker>>,
    /// What reads by the tokens of the embedder, which may be kept: a list that none of the others
    /// reads.
    pub(crate) by_tokens: Option<Arc<dyn Reranker>>,
    /// What is not there that should be.
    pub(crate) missing: Option<String>,
    /// How many searches read at once.
    pub(crate) turns: Turns,
}

impl FoundRerankers {
    /// All, in the order in which they are asked.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<dyn Reranker>> {
        self.rerankers.iter().chain(&self.by_tokens)
    }
}

/// Finds the models that `config` asks for; a default that has not been pulled is no error.
pub(crate) fn models(config: &EngineConfig) -> Result<Models> {
    let mut models = embedder(config)?;
    if let Rerankers::Custom(rerankers) = &config.rerankers {
        let rerankers = rerankers.clone();
        models.rerankers = FoundRerankers { rerankers, ..FoundRerankers::default() };
    }
    Ok(models)
}

/// The embedder, and the default rerankers.
#[cfg(feature = "onnx")]
fn embedder(config: &EngineConfig) -> Result<Models> {
    let onnx = match &config.model {
        Model::None | Model::Custom(_) | Model::External { .. } => None,
        Model::Default | Model::Named(_) | Model::Folder(_) => match onnx::embedder(config) {
            Ok(embedder) => Some(embedder),
            Err(Error::ModelMissing { .. }) if matches!(config.model, Model::Default) => None,
            Err(error) => return Err(error),
        },
    };
    let embedder = match (&config.model, &onnx) {
        (Model::Custom(embedder), _) => Some(Arc::clone(embedder)),
        (Model::External { name, dimensions }, _) => Some(external(name, *dimensions)),
        (_, onnx) => onnx.clone().map(|embedder| embedder as Arc<dyn Embedder>),
    };
    let counter = onnx.clone().map(|embedder| embedder as Arc<dyn TokenCounter>);
    let embedder = embedder.map(|embedder| onnx::with_token_model(config, embedder)).transpose()?;
    Ok(Models {
        embedder,
        counter: counter.unwrap_or_else(|| Arc::new(ApproximateTokens)),
        rerankers: onnx::rerankers(config, onnx)?,
        #[cfg(feature = "graph")]
        extractor: extractor(config)?,
    })
}

#[cfg(not(feature = "onnx"))]
fn embedder(config: &EngineConfig) -> Result<Models> {
    let reason = "this build has no feature `onnx`; take one that has it".to_owned();
    let embedder = match &config.model {
        Model::None | Model::Default => None,
        Model::Custom(embedder) => Some(Arc::clone(embedder)),
        Model::External { name, dimensions } => Some(external(name, *dimensions)),
        Model::Named(name) => return Err(Error::ModelMissing { name: name.clone(), reason }),
        Model::Folder(folder) => {
            return Err(Error::ModelMissing { name: folder.display().to_string(), reason });
        }
    };
    if let Rerankers::Folder(folder) = &config.rerankers {
        return Err(Error::ModelMissing { name: folder.display().to_string(), reason });
    }
    let rerankers = FoundRerankers { missing: Some(reason), ..FoundRerankers::default() };
    Ok(Models {
        embedder,
        counter: Arc::new(ApproximateTokens),
        rerankers,
        #[cfg(feature = "graph")]
        extractor: extractor(config)?,
    })
}

fn external(name: &str, dimensions: usize) -> Arc<dyn Embedder> {
    Arc::new(ExternalVectors::new(name, dimensions))
}

#[cfg(feature = "graph")]
#[cfg_attr(
    not(all(feature = "lindera", feature = "onnx")),
    expect(clippy::unnecessary_wraps, reason = "only dictionaries can be missing")
)]
fn extractor(config: &EngineConfig) -> Result<Option<Arc<dyn EntityExtractor>>> {
    Ok(match &config.extractor {
        EntityExtraction::None => None,
        #[cfg(all(feature = "lindera", feature = "onnx"))]
        EntityExtraction::Default => Some(onnx::extractor(config)?),
        #[cfg(not(all(feature = "lindera", feature = "onnx")))]
        EntityExtraction::Default => Some(Arc::new(trefoil_text::ScriptExtractor)),
        EntityExtraction::Custom(extractor) => Some(Arc::clone(extractor)),
    })
}

#[cfg(feature = "onnx")]
mod onnx {
    use trefoil_model::{
        LateInteractionEmbedder, ModelHome, ModelSource, OnnxEmbedder, TokenReranker, open_reranker,
    };

    use trefoil_text::language_of;

    use crate::config::{TokenModel, TokenVectors};

    use super::{Arc, Embedder, EngineConfig, Error, FoundRerankers, Model, Rerankers, Result};

    pub(super) fn embedder(config: &EngineConfig) -> Result<Arc<OnnxEmbedder>> {
        let source = match &config.model {
            Model::Named(name) => ModelSource::Name(name.clone()),
            Model::Folder(folder) => ModelSource::Folder(folder.clone()),
            Model::None | Model::Default | Model::Custom(_) | Model::External { .. } => {
                ModelSource::default()
            }
        };
        Ok(Arc::new(OnnxEmbedder::open(&home(config)?, &source, threads(config))?))
    }

    /// The embedder with the model of late interaction that is configured, if token vectors are
    /// kept; a default that has not been pulled, or whose vectors have another length, is no error.
    pub(super) fn with_token_model(
        config: &EngineConfig,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Arc<dyn Embedder>> {
        let source = match &config.token_model {
            _ if config.token_vectors == TokenVectors::Off || !embedder.embeds_texts() => {
                return Ok(embedder);
            }
            TokenModel::None => return Ok(embedder),
            TokenModel::Default => ModelSource::Name(TokenModel::NAME.to_owned()),
            TokenModel::Named(name) => ModelSource::Name(name.clone()),
            TokenModel::Folder(folder) => ModelSource::Folder(folder.clone()),
        };
        let (home, plain) = (home(config)?, Arc::clone(&embedder));
        match LateInteractionEmbedder::open(embedder, &home, &source, threads(config)) {
            Ok(both) => Ok(Arc::new(both)),
            Err(Error::ModelMissing { .. } | Error::ModelUnusable { .. })
                if config.token_model == TokenModel::Default =>
            {
                Ok(plain)
            }
            Err(error) => Err(error),
        }
    }

    /// The reranker that is configured and, for what it does not read, the tokens of
    /// the embedder.
    pub(super) fn rerankers(
        config: &EngineConfig,
        embedder: Option<Arc<OnnxEmbedder>>,
    ) -> Result<FoundRerankers> {
        let mut found = FoundRerankers::default();
        let source = match &config.rerankers {
            Rerankers::Folder(folder) => ModelSource::Folder(folder.clone()),
            Rerankers::Default | Rerankers::Custom(_) => {
                ModelSource::Name(config.rerank.model.clone())
            }
        };
        let is_named = matches!(source, ModelSource::Name(_));
        match open_reranker(&home(config)?, &source, threads(config)) {
            Ok(reranker) => found.rerankers.push(reranker),
            Err(Error::ModelMissing { name, .. }) if is_named => {
                found.missing = Some(format!("no model; run `trefoil models pull {name}`"));
            }
            Err(error) => return Err(error),
        }
        let by_tokens = embedder.and_then(|one| TokenReranker::new(one, language_of));
        found.by_tokens = by_tokens.map(|reranker| Arc::new(reranker) as _);
        Ok(found)
    }

    /// By the dictionaries that are there.
    #[cfg(all(feature = "graph", feature = "lindera"))]
    pub(super) fn extractor(config: &EngineConfig) -> Result<Arc<dyn super::EntityExtractor>> {
        let home = home(config)?;
        let folder = |name| match home.path(name) {
            Err(Error::ModelMissing { .. }) => Ok(None),
            folder => folder.map(Some),
        };
        let (ipadic, ko_dic) = (folder("ipadic")?, folder("ko-dic")?);
        if ipadic.is_none() && ko_dic.is_none() {
            return Ok(Arc::new(trefoil_text::ScriptExtractor));
        }
        let (ipadic, ko_dic) = (ipadic.as_deref(), ko_dic.as_deref());
        Ok(Arc::new(trefoil_text::MorphologicalExtractor::open(ipadic, ko_dic)?))
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
