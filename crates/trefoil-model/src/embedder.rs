use std::time::Instant;

use trefoil_core::{Embedder, EmbeddingSpace, Error, Pooling, Result, Role, TokenCounter};

use crate::{
    card::{Card, EmbeddingCard},
    home::ModelHome,
    model::{Model, ModelSource, Output},
};

/// Name of the model that is used unless another is asked for.
const DEFAULT_MODEL: &str = "multilingual-e5-small";

impl Default for ModelSource {
    /// The multilingual embedder.
    fn default() -> Self {
        Self::Name(DEFAULT_MODEL.to_owned())
    }
}

/// Texts to unit vectors with an ONNX model, one text a run, as many runs at once as
/// there are threads. Opening it reads the card only; the runtime and the model load
/// at the first text.
#[derive(Debug)]
pub struct OnnxEmbedder {
    space: EmbeddingSpace,
    cosine_range: (f32, f32),
    short_cosine_range: Option<(f32, f32)>,
    token_cosine_range: Option<(f32, f32)>,
    model: Model,
}

/// Unit vectors of the words of one text, at least one, as the model sees them there.
#[derive(Debug)]
pub(crate) struct TokenVectors {
    width: usize,
    /// Row after row.
    numbers: Vec<f32>,
}

impl TokenVectors {
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.numbers.chunks_exact(self.width)
    }
}

impl OnnxEmbedder {
    /// Finds the files of a model and reads its card. `threads` texts are embedded at
    /// once, each with about 80 MB for its copy of a small model; 0 means one.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if a file of the model or the runtime is not there,
    /// [`Error::Corrupt`] for a bad card, [`Error::InvalidConfig`] if the model does
    /// not embed.
    pub fn open(home: &ModelHome, source: &ModelSource, threads: usize) -> Result<Self> {
        let (model, card) = Model::open(home, source, threads)?;
        let Card { name, max_tokens, sha256, embedding, .. } = card;
        let Some(EmbeddingCard {
            dimensions,
            pooling,
            query_prefix,
            passage_prefix,
            quantization,
            cosine_range,
            short_cosine_range,
            token_cosine_range,
        }) = embedding
        else {
            return Err(Error::InvalidConfig {
                field: "model",
                value: name,
                allowed: "a model whose role is `embedder`",
            });
        };
        let sha256 = sha256.map_or_else(|| model.sha256(), Ok)?;
        let space = EmbeddingSpace {
            model: name,
            sha256,
            dimensions,
            pooling,
            query_prefix,
            passage_prefix,
            quantization,
            max_tokens,
        };
        Ok(Self {
            space,
            cosine_range: cosine_range.into(),
            short_cosine_range: short_cosine_range.map(Into::into),
            token_cosine_range: token_cosine_range.map(Into::into),
            model,
        })
    }

    /// The mean best cosines of token vectors that count as unrelated and as a perfect
    /// match, if its card says.
    pub(crate) const fn token_cosine_range(&self) -> Option<(f32, f32)> {
        self.token_cosine_range
    }

    /// Loads the model, unless it is loaded.
    pub(crate) fn load(&self) -> Result<()> {
        self.model.load()
    }

    /// The vectors of each text's words, of the window of `length` tokens that suits the
    /// question best; of the first texts, as many as were begun until `deadline`.
    ///
    /// # Errors
    /// Those of [`embed`](Embedder::embed), and [`Error::EmbeddingFailed`] if the model
    /// pools its token vectors itself.
    pub(crate) fn token_vectors(
        &self,
        role: Role,
        question: &str,
        texts: &[&str],
        length: usize,
        deadline: Option<Instant>,
    ) -> Result<Vec<TokenVectors>> {
        let prefix = self.prefix(role);
        let width = self.space.dimensions;
        self.model.run_until(
            texts,
            deadline,
            |tokenizer, text| tokenizer.encode_words(prefix, question, text, length),
            |Output { text, tokens, shape, numbers }| {
                if !matches!(*shape, [1, _, wide] if usize::try_from(wide) == Ok(width)) {
                    let reason = format!("its output has the shape {shape:?}, not that of tokens");
                    return Err(self.failed(text, reason));
                }
                let mut rows: Vec<&[f32]> = numbers.chunks_exact(width).collect();
                // A text without words is told by its marks.
                if !tokens.places.is_empty() {
                    rows = tokens.places.iter().filter_map(|&at| rows.get(at).copied()).collect();
                }
                let mut numbers = Vec::with_capacity(rows.len() * width);
                for row in rows {
                    let row = unit(row.to_vec()).map_err(|reason| self.failed(text, reason))?;
                    numbers.extend(row);
                }
                Ok(TokenVectors { width, numbers })
            },
        )
    }

    fn failed(&self, text: &str, reason: String) -> Error {
        Error::EmbeddingFailed { model: self.space.model.clone(), bytes: text.len(), reason }
    }

    /// What stands before a text of that side.
    fn prefix(&self, role: Role) -> &str {
        match role {
            Role::Query => &self.space.query_prefix,
            Role::Passage => &self.space.passage_prefix,
        }
    }
}

impl Embedder for OnnxEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn cosine_range(&self) -> (f32, f32) {
        self.cosine_range
    }

    fn short_cosine_range(&self) -> (f32, f32) {
        self.short_cosine_range.unwrap_or(self.cosine_range)
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let prefix = self.prefix(role);
        self.model.run(
            texts,
            |tokenizer, text| tokenizer.encode(&format!("{prefix}{text}")),
            |output| {
                pool(self.space.pooling, self.space.dimensions, output.shape, output.numbers)
                    .and_then(unit)
                    .map_err(|reason| self.failed(output.text, reason))
            },
        )
    }
}

impl TokenCounter for OnnxEmbedder {
    /// Counted by the model's tokenizer. Where that cannot be loaded, a token is taken
    /// for four bytes, which is near the mean of English, Japanese and Korean text.
    fn count(&self, text: &str) -> usize {
        self.model
            .tokenizer()
            .and_then(|tokenizer| tokenizer.count(text))
            .unwrap_or_else(|_| text.len().div_ceil(4))
    }
}

/// One vector of the model's output: token vectors \[1, tokens, dimensions\], or a
/// vector that the model has pooled itself \[1, dimensions\].
fn pool(
    pooling: Pooling,
    dimensions: usize,
    shape: &[i64],
    numbers: &[f32],
) -> Result<Vec<f32>, String> {
    let (pooled, width) = match *shape {
        [1, _, width] => (false, width),
        [1, width] => (true, width),
        _ => return Err(format!("its output has the shape {shape:?}")),
    };
    if usize::try_from(width) != Ok(dimensions) || numbers.len() < dimensions {
        return Err(format!(
            "its output has the shape {shape:?}, expected {dimensions} dimensions"
        ));
    }
    let mut rows = numbers.chunks_exact(dimensions);
    let mut vector = rows.next().map(<[f32]>::to_vec).unwrap_or_default();
    if !pooled && pooling == Pooling::Mean {
        // The length of the sum does not matter: it is brought to 1 next.
        for row in rows {
            vector.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
    }
    Ok(vector)
}

/// The vector with length 1.
#[expect(clippy::cast_possible_truncation, reason = "components of a unit vector")]
fn unit(mut vector: Vec<f32>) -> Result<Vec<f32>, String> {
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return Err("its output is not finite".to_owned());
    }
    if length < f64::from(f32::MIN_POSITIVE) {
        return Err("its output is zero".to_owned());
    }
    for value in &mut vector {
        *value = (f64::from(*value) / length) as f32;
    }
    Ok(vector)
}
