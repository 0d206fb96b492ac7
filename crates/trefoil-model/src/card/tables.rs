//! The tables of a card.

use serde::{Deserialize, Serialize};
use trefoil_core::{Pooling, Quantization};

use crate::dense::Activation;

/// How a model embeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EmbeddingCard {
    /// Length of a vector.
    pub dimensions: usize,
    /// Length of a vector of the model, where `dimensions` are the first of it (Matryoshka).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_dimensions: Option<usize>,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// What is put before a question.
    #[serde(default)]
    pub query_prefix: String,
    /// What is put before a passage.
    #[serde(default)]
    pub passage_prefix: String,
    /// The output with the vectors that are compared token by token, where it is another one than
    /// that which is pooled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_output: Option<String>,
    /// The SHA-256 that names its vectors, those of tokens aside; that of the files if absent. A
    /// file that gives the same vectors as an earlier one has that of the earlier one, so that
    /// indexes stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_sha256: Option<String>,
    /// Arithmetic of the matrix products.
    pub quantization: Quantization,
    /// The cosines that count as unrelated and as a perfect match: the mean of questions
    /// with passages of other questions, and the 90th percentile with their own.
    /// `trefoil models add` measures them where they are absent; without them a model cannot
    /// be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cosine_range: Option<[f32; 2]>,
    /// The same for sentences and turns of a conversation, which have no title and little
    /// around what is asked for: the 1st percentile with what answers other questions, and the
    /// 99th with what answers them; that of passages if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_cosine_range: Option<[f32; 2]>,
    /// Dense layers after pooling, in files next to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dense: Vec<DenseCard>,
}

/// How a cross-encoder is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RerankingCard {
    /// What its output is.
    #[serde(default)]
    pub scores: RerankerScores,
    /// The logits that count as unrelated and as a perfect match, measured like a
    /// [`cosine_range`](EmbeddingCard::cosine_range): they are brought to the scale of the
    /// default reranker, with which lists are blended. Logits are taken as they are if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logit_range: Option<[f32; 2]>,
}

/// What a cross-encoder gives for a question and a passage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RerankerScores {
    /// Logits: one, or one for `no` and one for `yes`.
    #[default]
    Logits,
    /// A probability.
    Probability,
}

/// How a model of late interaction reads questions and passages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LateInteractionCard {
    /// Length of the vector of a token.
    pub dimensions: usize,
    /// The token that marks a question, after the first; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_marker: Option<String>,
    /// The token that marks a passage, after the first; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage_marker: Option<String>,
    /// A question is filled with `mask_token` to so many tokens; it is not if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_tokens: Option<usize>,
    /// What it is filled with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask_token: Option<String>,
    /// Whether the tokens of the question see what it is filled with.
    #[serde(default)]
    pub attends_to_fill: bool,
    /// Dense layers over each token, in files next to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dense: Vec<DenseCard>,
    /// The similarities that count as unrelated and as a perfect match, measured like a
    /// [`cosine_range`](EmbeddingCard::cosine_range). `trefoil models add` measures them where
    /// they are absent; without them a model cannot be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity_range: Option<[f32; 2]>,
    /// The same for sentences and turns of a conversation, of which memory is made; that of
    /// passages if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_similarity_range: Option<[f32; 2]>,
}

/// A dense layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DenseCard {
    /// A safetensors file with `linear.weight` and, if there is one, `linear.bias`.
    pub file: String,
    /// What is applied to each number that comes out.
    #[serde(default)]
    pub activation: Activation,
}

/// A file that a model needs besides `model.onnx` and `tokenizer.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileCard {
    /// Its name in the folder of the model.
    pub name: String,
    /// SHA-256, hexadecimal. When absent, the file is hashed each time the model is opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// How wide the keys and values of a decoder are, where its ONNX file leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DecoderCard {
    /// Heads of keys and of values.
    pub key_value_heads: usize,
    /// Numbers of a head.
    pub head_dimensions: usize,
}
