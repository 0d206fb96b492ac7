mod tables;

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Part, Result};

pub use self::tables::{
    DecoderCard, DenseCard, EmbeddingCard, FileCard, LateInteractionCard, RerankerScores,
    RerankingCard,
};

/// What a file of the cache is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModelRole {
    /// The library that runs the models.
    Runtime,
    /// Texts to vectors.
    Embedder,
    /// A question and a passage to a score.
    Reranker,
    /// Texts to a vector for each token, which are compared one by one.
    LateInteraction,
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
            Self::LateInteraction => "late-interaction",
            Self::Dictionary => "dictionary",
        }
    }

    /// Whether it has weights and a tokenizer.
    pub(crate) const fn is_model(self) -> bool {
        matches!(self, Self::Embedder | Self::Reranker | Self::LateInteraction)
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
    /// The commit of the repository that it was fetched from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
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
    /// The output of the model that is read; the usual one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Files next to `model.onnx` that it needs: weights outside of it, dense layers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileCard>,
    /// How wide its cache is, for decoders whose ONNX file leaves it open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoder: Option<DecoderCard>,
    /// How it embeds; for embedders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<EmbeddingCard>,
    /// How its scores are read; for rerankers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reranking: Option<RerankingCard>,
    /// How it reads; for late interaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_interaction: Option<LateInteractionCard>,
}

impl Card {
    /// Reads and checks the card of a local folder.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] without a file, [`Error::Corrupt`] if it is not a card.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| Error::ModelMissing {
            name: path.parent().unwrap_or(path).display().to_string(),
            reason: format!(
                "no card at `{}`: {error}; `trefoil models add` writes one",
                path.display()
            ),
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
        let is_plain = |name: &String| is_plain_name(name);
        let dense = self.dense().map(|layer| &layer.file);
        if !self.files.iter().map(|file| &file.name).chain(dense).all(is_plain) {
            return Err("names of files may hold letters, digits, `-`, `_` and `.` only");
        }
        match (self.role, &self.embedding, &self.late_interaction) {
            (ModelRole::Embedder, None, _) => Err("an embedder needs a table `[embedding]`"),
            (ModelRole::LateInteraction, _, None) => {
                Err("a model of late interaction needs a table `[late-interaction]`")
            }
            _ => self.check_tables(),
        }
    }

    fn check_tables(&self) -> Result<(), &'static str> {
        let rises = |range: &Option<[f32; 2]>, least: f32, most: f32| {
            range.is_none_or(|[low, high]| least <= low && low < high && high <= most)
        };
        let dimensions = 1..=65_536;
        if let Some(embedding) = &self.embedding {
            let whole = embedding.model_dimensions.unwrap_or(embedding.dimensions);
            if !dimensions.contains(&embedding.dimensions) || !dimensions.contains(&whole) {
                return Err("`dimensions` must be 1–65536");
            }
            if whole < embedding.dimensions {
                return Err("`dimensions` must be at most `model-dimensions`");
            }
            if embedding.token_output.as_ref().is_some_and(String::is_empty) {
                return Err("`token-output` must be the name of an output");
            }
            let is_sha256 = |text: &String| {
                text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
            };
            if !embedding.space_sha256.as_ref().is_none_or(is_sha256) {
                return Err("`space-sha256` must be 64 hexadecimal digits");
            }
            if !rises(&embedding.cosine_range, -1.0, 1.0)
                || !rises(&embedding.short_cosine_range, -1.0, 1.0)
            {
                return Err("`cosine-range` must be two rising numbers within -1–1, and so \
                            `short-cosine-range`");
            }
        }
        if let Some(late) = &self.late_interaction {
            if !dimensions.contains(&late.dimensions) {
                return Err("`dimensions` must be 1–65536");
            }
            if !rises(&late.similarity_range, -1.0, 1.0)
                || !rises(&late.short_similarity_range, -1.0, 1.0)
            {
                return Err("`similarity-range` must be two rising numbers within -1–1, and so \
                            `short-similarity-range`");
            }
            if late.query_tokens.is_some_and(|tokens| tokens > self.max_tokens) {
                return Err("`query-tokens` must be at most `max-tokens`");
            }
        }
        let logits = self.reranking.as_ref().and_then(|reranking| reranking.logit_range);
        if !rises(&logits, f32::MIN, f32::MAX) {
            return Err("`logit-range` must be two rising numbers");
        }
        let decoder = self.decoder;
        let wide = |one: DecoderCard| {
            (1..=1024).contains(&one.key_value_heads) && (1..=65_536).contains(&one.head_dimensions)
        };
        if !decoder.is_none_or(wide) {
            return Err("`key-value-heads` must be 1–1024 and `head-dimensions` 1–65536");
        }
        Ok(())
    }

    /// Its dense layers.
    pub(crate) fn dense(&self) -> impl Iterator<Item = &DenseCard> {
        let embedding = self.embedding.iter().flat_map(|card| &card.dense);
        embedding.chain(self.late_interaction.iter().flat_map(|card| &card.dense))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Card> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("card.toml");
        fs::write(&path, text).unwrap();
        Card::read(&path)
    }

    /// A card of every table, which is the same after it was written.
    const CARD: &str = r#"
        name = "m"
        role = "embedder"
        license = "MIT"
        max-tokens = 64
        output = "hidden"
        files = [{ name = "model.onnx_data", sha256 = "ab" }, { name = "2_Dense.safetensors" }]
        decoder = { key-value-heads = 8, head-dimensions = 128 }
        reranking = { scores = "probability", logit-range = [-3.0, 4.5] }
        [embedding]
        dimensions = 256
        model-dimensions = 768
        pooling = "last-token"
        quantization = "f16"
        dense = [{ file = "2_Dense.safetensors", activation = "tanh" }]
        [late-interaction]
        dimensions = 128
        query-marker = "[QueryMarker]"
        query-tokens = 32
    "#;

    #[test]
    fn a_card_is_read_as_it_was_written() {
        let card = read(CARD).unwrap();
        assert_eq!(read(&toml::to_string(&card).unwrap()).unwrap(), card);
        assert_eq!(card.dense().count(), 1);
    }

    #[test]
    fn what_cannot_be_is_told_with_its_key() {
        let check = |from: &str, to: &str, key: &str| {
            assert!(CARD.contains(from), "{from}");
            let error = read(&CARD.replace(from, to)).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{error}");
            assert!(error.to_string().contains(key), "{error}");
        };
        check("model-dimensions = 768", "model-dimensions = 255", "model-dimensions");
        check("dimensions = 128\n", "dimensions = 0\n", "dimensions");
        check("[-3.0, 4.5]", "[4.5, -3.0]", "logit-range");
        check("head-dimensions = 128", "head-dimensions = 0", "head-dimensions");
        check("query-tokens = 32", "query-tokens = 65", "query-tokens");
        check("model.onnx_data", "../model.onnx_data", "names of files");
        check("file = \"2_Dense", "file = \"a/2_Dense", "names of files");
        check("\"last-token\"", "\"max\"", "unknown variant");
        check("query-marker", "marker", "unknown field");
        for role in ["embedder", "late-interaction"] {
            let bare = format!("name = 'm'\nrole = '{role}'\nlicense = 'MIT'");
            assert!(read(&bare).unwrap_err().to_string().contains("needs a table"));
        }
        assert!(read("name = 'm'\nrole = 'reranker'\nlicense = 'MIT'").is_ok());
    }
}
