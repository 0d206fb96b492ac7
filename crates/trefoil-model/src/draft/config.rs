use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::card::DecoderCard;

/// What a `config.json` says that matters here.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Config {
    model_type: Option<String>,
    architectures: Option<Vec<String>>,
    pub(super) hidden_size: Option<usize>,
    num_attention_heads: Option<usize>,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    max_position_embeddings: Option<i64>,
    pad_token_id: Option<i64>,
    num_labels: Option<u64>,
    id2label: Option<BTreeMap<String, Value>>,
}

impl Config {
    pub(super) fn architectures(&self) -> impl Iterator<Item = &str> {
        self.architectures.iter().flatten().map(String::as_str)
    }

    /// Whether it reads from left to right, so that only the last token has seen all of a text.
    pub(super) fn is_decoder(&self) -> bool {
        const DECODERS: [&str; 8] =
            ["gemma", "gemma2", "gpt2", "llama", "mistral", "phi3", "qwen2", "qwen3"];
        self.model_type.as_deref().is_some_and(|kind| DECODERS.contains(&kind))
    }

    /// Most tokens that have a place of their own. `RoBERTa` begins to count after the padding.
    pub(super) fn positions(&self) -> Option<u64> {
        let kind = self.model_type.as_deref().unwrap_or_default();
        let counts_from = match kind {
            "camembert" | "mpnet" | "roberta" | "xlm-roberta" => self.pad_token_id.unwrap_or(1) + 1,
            _ => 0,
        };
        let all = self.max_position_embeddings?.checked_sub(counts_from)?;
        u64::try_from(all).ok().filter(|&positions| positions > 0)
    }

    /// How many classes it tells apart.
    pub(super) fn labels(&self) -> Option<u64> {
        self.num_labels.or_else(|| self.id2label.as_ref().map(|labels| labels.len() as u64))
    }

    /// How wide keys and values are.
    pub(super) fn decoder(&self) -> Option<DecoderCard> {
        let heads = self.num_attention_heads.filter(|&heads| heads > 0);
        let width = || Some(self.hidden_size? / heads?);
        Some(DecoderCard {
            key_value_heads: self.num_key_value_heads.or(heads)?,
            head_dimensions: self.head_dim.or_else(width)?,
        })
    }
}
