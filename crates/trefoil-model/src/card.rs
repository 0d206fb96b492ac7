use std::{fs, path::Path};

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Part, Pooling, Quantization, Result};

/// What a file of the cache is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ModelRole {
    /// The library that runs the models.
    Runtime,
    /// Texts to vectors.
    Embedder,
    /// A question and a passage to a score.
    Reranker,
    /// Words of a language with their parts of speech.
    Dictionary,
}

impl ModelRole {
    /// Its name, as cards have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runtime => "runtime",
            Self::Embedder => "embedder",
            Self::Reranker => "reranker",
            Self::Dictionary => "dictionary",
        }
    }

    /// Whether it has weights and a tokenizer.
    pub(crate) const fn is_model(self) -> bool {
        matches!(self, Self::Embedder | Self::Reranker)
    }
}

/// What has to be known of a model besides its weights: the `card.toml` of a local
/// folder, or the `card` of an entry of the manifest.
///
/// ```
/// let card: trefoil_model::Card = toml::from_str(r#"
///     name = "my-model"
///     role = "embedder"
///     license = "MIT"
///     languages = ["en"]
///     max-tokens = 256
///     [embedding]
///     dimensions = 384
///     pooling = "mean"
///     quantization = "f32"
///     cosine-range = [0.1, 0.8]
/// "#)?;
/// assert_eq!(card.embedding.unwrap().query_prefix, "");
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// Name, unique within the manifest.
    pub name: String,
    /// What it is for.
    pub role: ModelRole,
    /// Licence of the weights, an SPDX expression.
    pub license: String,
    /// Where it was published.
    #[serde(default)]
    pub origin: String,
    /// ISO 639-1 codes of the languages it was checked in; it may know more.
    #[serde(default)]
    pub languages: Vec<String>,
    /// Most tokens of a text, the model's own marks included; the rest is cut.
    #[serde(default = "most_tokens_of_bert")]
    pub max_tokens: usize,
    /// SHA-256 of `model.onnx`, hexadecimal. The manifest pins it elsewhere. In a
    /// local folder: when absent, the file is hashed each time it is opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// How it embeds; for embedders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<EmbeddingCard>,
}

/// How a model embeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EmbeddingCard {
    /// Length of a vector.
    pub dimensions: usize,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// What is put before a question.
    #[serde(default)]
    pub query_prefix: String,
    /// What is put before a passage.
    #[serde(default)]
    pub passage_prefix: String,
    /// Arithmetic of the matrix products.
    pub quantization: Quantization,
    /// The cosines that count as unrelated and as a perfect match: the mean of questions
    /// with passages of other questions, and the 90th percentile with their own.
    pub cosine_range: [f32; 2],
    /// The same for sentences and turns of a conversation, which have no title and little
    /// around what is asked for: the 1st percentile with what answers other questions, and the
    /// 99th with what answers them; that of passages if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_cosine_range: Option<[f32; 2]>,
}

impl Card {
    /// Reads and checks the card of a local folder.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] without a file, [`Error::Corrupt`] if it is not a card.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| Error::ModelMissing {
            name: path.parent().unwrap_or(path).display().to_string(),
            reason: format!("no card at `{}`: {error}", path.display()),
        })?;
        let card: Self = toml::from_str(&text).map_err(|error| damaged(path, error.message()))?;
        card.check().map_err(|reason| damaged(path, reason))?;
        Ok(card)
    }

    /// Says what is wrong with the values, if anything.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if !is_plain_name(&self.name) {
            return Err("`name` may hold letters, digits, `-`, `_` and `.` only");
        }
        if !(8..=131_072).contains(&self.max_tokens) {
            return Err("`max-tokens` must be 8–131072");
        }
        let Some(embedding) = &self.embedding else {
            return match self.role {
                ModelRole::Embedder => Err("an embedder needs a table `[embedding]`"),
                ModelRole::Runtime | ModelRole::Reranker | ModelRole::Dictionary => Ok(()),
            };
        };
        if !(1..=65_536).contains(&embedding.dimensions) {
            return Err("`dimensions` must be 1–65536");
        }
        let rising = |[low, high]: [f32; 2]| -1.0 <= low && low < high && high <= 1.0;
        if !rising(embedding.cosine_range) || !embedding.short_cosine_range.is_none_or(rising) {
            return Err("`cosine-range` must be two rising numbers within -1–1, and so \
                        `short-cosine-range`");
        }
        Ok(())
    }
}

/// A name that can be a folder: no separators, not hidden, not empty.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(allowed)
}

const fn most_tokens_of_bert() -> usize {
    512
}

fn damaged(path: &Path, reason: &str) -> Error {
    Error::Corrupt { part: Part::Model, reason: format!("card `{}`: {reason}", path.display()) }
}
