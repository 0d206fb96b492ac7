use ndarray::{Array2, ArrayView2};
use trefoil_core::{
    Deadline, Embedder, EmbeddingSpace, Error, LanguageMeans, Part, Pooling, Result, Role,
    TokenCounter,
};

use crate::{
    card::{Card, EmbeddingCard},
    home::ModelHome,
    languages::language_means,
    model::{Model, ModelSource, Output},
    tokenizer::Tokenizer,
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
/// at the first text. Means of its questions in each language are those of `languages.toml`
/// next to the model, or built in for models of the manifest.
#[derive(Debug)]
pub struct OnnxEmbedder {
    space: EmbeddingSpace,
    cosine_range: (f32, f32),
    short_cosine_range: Option<(f32, f32)>,
    token_cosine_range: Option<(f32, f32)>,
    language_means: Option<LanguageMeans>,
    model: Model,
}

impl OnnxEmbedder {
    /// Finds the files of a model and reads its card. `threads` texts are embedded at
    /// once, and a question is never kept waiting by passages: there is one session more for
    /// it. A session of a small model takes 5 to 30 MB next to the weights, which are mapped;
    /// where they cannot be, 80 MB. 0 threads mean one.
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
        let language_means = language_means(&name, model.folder(), dimensions)?;
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
            language_means,
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

    /// The unit vectors of each text's words, one a row and at least one, as the model sees them
    /// in the window of `length` tokens that suits the question best; of the first texts, as many
    /// as were begun until `deadline`.
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
        deadline: &Deadline,
    ) -> Result<Vec<Array2<f32>>> {
        let prefix = self.prefix(role);
        let dimensions = self.space.dimensions;
        self.model.run_until(
            texts,
            deadline,
            |tokenizer, text| tokenizer.encode_words(prefix, question, text, length),
            |Output { text, tokens, shape, numbers }| {
                let failed = |reason| self.failed(text, reason);
                let vectors = token_matrix(dimensions, shape, numbers).map_err(failed)?;
                let is_word = |at: &usize| *at < vectors.nrows();
                // A text without words is embedded by its marks.
                let rows: Vec<usize> = match tokens.places.as_slice() {
                    [] => (0..vectors.nrows()).collect(),
                    places => places.iter().copied().filter(is_word).collect(),
                };
                let words = rows.iter().map(|&at| unit(vectors.row(at).to_vec()));
                self.matrix(&words.collect::<Result<Vec<_>, _>>().map_err(failed)?)
            },
        )
    }

    /// Vectors of the space as the rows of a matrix.
    fn matrix(&self, vectors: &[Vec<f32>]) -> Result<Array2<f32>> {
        let shape = (vectors.len(), self.space.dimensions);
        Array2::from_shape_vec(shape, vectors.concat())
            .map_err(|error| Error::backend(Part::Model, "arrange its vectors", error))
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

    fn language_means(&self) -> Option<&LanguageMeans> {
        self.language_means.as_ref()
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        let prefix = self.prefix(role);
        let encode =
            |tokenizer: &Tokenizer, text: &str| tokenizer.encode(&format!("{prefix}{text}"));
        let read = |output: Output<'_>| {
            pool(self.space.pooling, self.space.dimensions, output.shape, output.numbers)
                .and_then(unit)
                .map_err(|reason| self.failed(output.text, reason))
        };
        let vectors = match role {
            Role::Query => self.model.run_until(texts, &Deadline::NEVER, encode, read),
            Role::Passage => self.model.run(texts, encode, read),
        }?;
        self.matrix(&vectors)
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
    let (pooled, vectors) = match *shape {
        [1, width] => (true, token_matrix(dimensions, &[1, 1, width], numbers)?),
        _ => (false, token_matrix(dimensions, shape, numbers)?),
    };
    let mut rows = vectors.rows().into_iter();
    let Some(mut vector) = rows.next().map(|first| first.to_owned()) else {
        return Err(format!("its output has the shape {shape:?}, without any token"));
    };
    if !pooled && pooling == Pooling::Mean {
        // The length of the sum does not matter: it is brought to 1 next.
        rows.for_each(|row| vector += &row);
    }
    Ok(vector.to_vec())
}

/// The model's output \[1, tokens, dimensions\] as a matrix, one token a row.
fn token_matrix<'n>(
    dimensions: usize,
    shape: &[i64],
    numbers: &'n [f32],
) -> Result<ArrayView2<'n, f32>, String> {
    let expected = || {
        format!("its output has the shape {shape:?}, expected tokens of {dimensions} dimensions")
    };
    let [1, tokens, width] = *shape else { return Err(expected()) };
    match [tokens, width].map(usize::try_from) {
        [Ok(tokens), Ok(width)] if width == dimensions => {
            ArrayView2::from_shape((tokens, width), numbers).map_err(|_| expected())
        }
        _ => Err(expected()),
    }
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
