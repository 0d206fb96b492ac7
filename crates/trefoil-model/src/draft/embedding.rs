//! How a model embeds, as `modules.json` and what it names say.

use std::collections::BTreeMap;

use serde::Deserialize;
use trefoil_core::{Pooling, Result};

use super::Drafting;
use crate::{
    card::{DenseCard, EmbeddingCard},
    dense::Activation,
    session::{
        output::{POOLED, TOKENS},
        signature::Slot,
    },
};

/// An entry of `modules.json`.
#[derive(Debug, Deserialize)]
pub(super) struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

/// `config.json` of a pooling module.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PoolingConfig {
    word_embedding_dimension: Option<usize>,
    include_prompt: Option<bool>,
    #[serde(flatten)]
    modes: BTreeMap<String, serde_json::Value>,
}

/// `config.json` of a dense module.
#[derive(Debug, Deserialize)]
struct DenseConfig {
    out_features: usize,
    activation_function: Option<String>,
}

/// `config_sentence_transformers.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Prompts {
    prompts: Option<BTreeMap<String, Option<String>>>,
    truncate_dim: Option<usize>,
}

/// Names that prompts of questions and of passages have.
const QUERY: [&str; 5] =
    ["query", "search_query", "s2p_query", "retrieval.query", "web_search_query"];
const PASSAGE: [&str; 5] =
    ["document", "passage", "search_document", "retrieval.passage", "corpus"];

impl Drafting<'_> {
    pub(super) fn embedding(&mut self) -> Result<EmbeddingCard> {
        let modules: Vec<Module> = self.contents.json("modules.json")?.unwrap_or_default();
        let asked = self.options.output.as_deref();
        let outputs = &self.header.signature.outputs;
        let find = |names: &[&str]| {
            let named = names.iter().find_map(|name| outputs.iter().find(|s| s.name == *name));
            named.cloned()
        };
        let output = match asked {
            Some(name) => {
                outputs.iter().find(|slot| slot.name == name).cloned().ok_or_else(|| {
                    let reason = format!("it has no output `{name}` but {}", self.outputs());
                    self.unusable(reason)
                })?
            }
            // What the publisher pools is pooled as the publisher means it.
            None if self.options.pooling.is_none_or(|pooling| pooling == Pooling::None) => {
                find(POOLED)
                    .or_else(|| find(TOKENS))
                    .or_else(|| outputs.first().cloned())
                    .ok_or_else(|| self.unusable("its ONNX file has no output".to_owned()))?
            }
            None => find(TOKENS)
                .or_else(|| outputs.first().cloned())
                .ok_or_else(|| self.unusable("its ONNX file has no output".to_owned()))?,
        };
        let is_pooled = output.shape.len() == 2 || POOLED.contains(&output.name.as_str());
        let (pooling, width, dense) = if is_pooled {
            (Pooling::None, None, (Vec::new(), None))
        } else {
            let (pooling, width) = self.pooling(&modules)?;
            (pooling, width, self.dense(&modules)?)
        };
        let (dense, dense_width) = dense;
        let dimensions = self.dimensions(&output, dense_width, width)?;
        let Prompts { prompts, truncate_dim } =
            self.contents.json("config_sentence_transformers.json")?.unwrap_or_default();
        let kept = truncate_dim.filter(|kept| (1..dimensions).contains(kept));
        let [query_prefix, passage_prefix] = self.prefixes(&prompts.unwrap_or_default());
        Ok(EmbeddingCard {
            dimensions: kept.unwrap_or(dimensions),
            model_dimensions: kept.map(|_| dimensions),
            pooling,
            query_prefix,
            passage_prefix,
            token_output: None,
            space_sha256: None,
            quantization: self.header.quantization(),
            cosine_range: None,
            short_cosine_range: None,
            dense,
        })
    }

    /// How token vectors become one, and how long they are.
    fn pooling(&mut self, modules: &[Module]) -> Result<(Pooling, Option<usize>)> {
        if let Some(pooling) = self.options.pooling {
            return Ok((pooling, None));
        }
        let module = modules.iter().find(|module| module.kind.ends_with(".Pooling"));
        let named = module.map(|module| module.path.clone());
        let usual = || Some("1_Pooling".to_owned()).filter(|_| modules.is_empty());
        let path = named.or_else(usual).map(|folder| format!("{folder}/config.json"));
        let config: Option<PoolingConfig> = match &path {
            Some(path) => self.contents.json(path)?,
            None => None,
        };
        let Some(config) = config else {
            let (pooling, told) = if self.config.is_decoder() {
                (Pooling::LastToken, "the last token, as decoders do,")
            } else {
                (Pooling::Mean, "their mean")
            };
            self.unknown.push(format!(
                "No file says how token vectors become one: {told} was taken. Set `--pooling` to \
                 `mean`, `cls` or `last-token`."
            ));
            return Ok((pooling, None));
        };
        if config.include_prompt == Some(false) {
            self.unknown.push(
                "Its pooling leaves the tokens of the prompt out; here they are pooled too. Compare \
                 the outcome of the check."
                    .to_owned(),
            );
        }
        let is_on = |(_, value): &(&String, &serde_json::Value)| value.as_bool() == Some(true);
        let on: Vec<&str> = config
            .modes
            .iter()
            .filter(|(name, _)| name.starts_with("pooling_mode_"))
            .filter(is_on)
            .map(|(name, _)| name.trim_start_matches("pooling_mode_"))
            .collect();
        // Later versions name it.
        let mode = config.modes.get("pooling_mode").and_then(serde_json::Value::as_str);
        let on = if on.is_empty() { mode.into_iter().collect() } else { on };
        let pooling = match on.as_slice() {
            // The length of a sum does not matter.
            ["mean_tokens" | "mean_sqrt_len_tokens" | "mean"] => Pooling::Mean,
            ["cls_token" | "cls"] => Pooling::Cls,
            ["lasttoken"] => Pooling::LastToken,
            others => {
                return Err(self.unusable(format!(
                    "it pools by {}; mean, cls and lasttoken are done, each alone",
                    if others.is_empty() { "nothing".to_owned() } else { others.join(" and ") }
                )));
            }
        };
        Ok((pooling, config.word_embedding_dimension))
    }

    /// The dense layers after pooling, and how many numbers the last gives.
    pub(super) fn dense(&self, modules: &[Module]) -> Result<(Vec<DenseCard>, Option<usize>)> {
        let mut layers = Vec::new();
        let mut width = None;
        for Module { path, kind } in modules {
            let kind = kind.rsplit('.').next().unwrap_or_default();
            match kind {
                "Transformer" | "Pooling" | "Normalize" => continue,
                "Dense" => {}
                other => {
                    return Err(self.unusable(format!(
                        "its module `{path}` is of the kind `{other}`; Transformer, Pooling, Dense \
                         and Normalize are done"
                    )));
                }
            }
            let config = format!("{path}/config.json");
            let DenseConfig { out_features, activation_function } =
                self.contents.json(&config)?.ok_or_else(|| {
                    self.contents.missing(&config, "which says what the dense layer does")
                })?;
            let activation = activation_function.as_deref().unwrap_or("Identity");
            let activation = match activation.rsplit('.').next().unwrap_or_default() {
                "Identity" => Activation::Identity,
                "Tanh" => Activation::Tanh,
                "ReLU" => Activation::Relu,
                "Sigmoid" => Activation::Sigmoid,
                other => {
                    return Err(self.unusable(format!(
                        "its module `{path}` has the activation `{other}`; Identity, Tanh, ReLU \
                         and Sigmoid are done"
                    )));
                }
            };
            let weights = format!("{path}/model.safetensors");
            if !self.contents.has(&weights) {
                return Err(self.contents.missing(
                    &weights,
                    "the weights of a dense layer; save it as safetensors, or take an export that \
                     gives `sentence_embedding`",
                ));
            }
            layers.push(DenseCard { file: format!("{path}.safetensors"), activation });
            width = Some(out_features);
        }
        Ok((layers, width))
    }

    /// How many numbers a vector has.
    fn dimensions(
        &self,
        output: &Slot,
        dense: Option<usize>,
        pooling: Option<usize>,
    ) -> Result<usize> {
        let fixed = output.shape.last().and_then(|&size| usize::try_from(size).ok());
        let told = dense.or(fixed.filter(|&size| size > 0)).or(pooling).or(self.config.hidden_size);
        told.ok_or_else(|| {
            self.unusable(
                "no file says how many numbers a vector has: neither the ONNX file nor \
                 `config.json`; write a `card.toml` with `dimensions`"
                    .to_owned(),
            )
        })
    }

    /// What is put before questions and passages.
    fn prefixes(&mut self, prompts: &BTreeMap<String, Option<String>>) -> [String; 2] {
        let find = |names: [&str; 5]| {
            names.iter().find_map(|name| prompts.get(*name)?.clone()).unwrap_or_default()
        };
        let found = [find(QUERY), find(PASSAGE)];
        let options = self.options;
        if options.query_prefix.is_some() && options.passage_prefix.is_some() {
            return found;
        }
        if found.iter().any(|prefix| !prefix.is_empty()) {
            return found;
        }
        if let Some([query, passage]) = self.readme.prefixes {
            self.unknown.push(format!(
                "Its prompts are in no file; `README.md` names the prefixes `{query}` for questions \
                 and `{passage}` for passages, which were taken. Set `--query-prefix` and \
                 `--passage-prefix` if they are others."
            ));
            return [query.to_owned(), passage.to_owned()];
        }
        self.unknown.push(
            "No file names a prefix or an instruction for questions or passages: there is none. If \
             its page names some, set `--query-prefix` and `--passage-prefix`."
                .to_owned(),
        );
        found
    }
}
