use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use trefoil_core::{
    Deadline, Embedder, EmbeddingSpace, Error, Language, LanguageMeans, Part, Pooling, Result,
    Role, TokenCodes, TokenCounter, TokenSpace,
};

use crate::{
    card::{Card, EmbeddingCard},
    home::ModelHome,
    measured::Measured,
    model::{Model, ModelSource, Output},
    tokenizer::{Tokenizer, Words},
};

/// So many questions are remembered with the vectors of their tokens: those that are asked at the
/// same time.
const REMEMBERED: usize = 16;

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
/// next to the model, and its token space that of `tokens.toml`; or those built in for models of
/// the manifest.
#[derive(Debug)]
pub struct OnnxEmbedder {
    space: EmbeddingSpace,
    cosine_range: (f32, f32),
    short_cosine_range: Option<(f32, f32)>,
    language_means: Option<LanguageMeans>,
    token_space: Option<TokenSpace>,
    /// The last questions, and the vectors of their tokens: a question is run once for both.
    asked: Mutex<VecDeque<(String, Array2<f32>)>>,
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
        }) = embedding
        else {
            return Err(Error::InvalidConfig {
                field: "model",
                value: name,
                allowed: "a model whose role is `embedder`",
            });
        };
        let language_means = LanguageMeans::of_model(&name, model.folder(), dimensions)?;
        let token_space = TokenSpace::of_model(&name, model.folder(), dimensions)?;
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
            language_means,
            token_space,
            asked: Mutex::default(),
            model,
        })
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
                word_vectors(&vectors, &tokens.places).map_err(failed)
            },
        )
    }

    /// The unit vectors of each text's words, one a row, as the model gives them: what
    /// [`TokenSpace`] is measured by.
    ///
    /// # Errors
    /// Those of [`embed`](Embedder::embed), and [`Error::EmbeddingFailed`] if the model
    /// pools its token vectors itself.
    pub fn word_vectors(&self, role: Role, texts: &[&str]) -> Result<Vec<Array2<f32>>> {
        let prefix = self.prefix(role);
        self.model.run(
            texts,
            |tokenizer, text| tokenizer.encode_whole(prefix, text),
            |output| Ok(self.with_words(&output)?.1),
        )
    }

    /// The unit vector of a text and the unit vectors of its words, of one run of the model.
    fn with_words(&self, output: &Output<'_, Words>) -> Result<(Vec<f32>, Array2<f32>)> {
        let Output { text, tokens, shape, numbers } = output;
        let words = token_matrix(self.space.dimensions, shape, numbers)
            .and_then(|vectors| word_vectors(&vectors, &tokens.places))
            .map_err(|reason| self.failed(text, reason))?;
        Ok((self.pooled(output)?, words))
    }

    /// The unit vector of a text.
    fn pooled<E>(&self, output: &Output<'_, E>) -> Result<Vec<f32>> {
        let Output { text, shape, numbers, .. } = output;
        pool(self.space.pooling, self.space.dimensions, shape, numbers)
            .and_then(unit)
            .map_err(|reason| self.failed(text, reason))
    }

    /// Embeds questions, and remembers the vectors of their tokens.
    fn embed_questions(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let prefix = &self.space.query_prefix;
        let embedded = self.model.run_until(
            texts,
            &Deadline::NEVER,
            |tokenizer, text| tokenizer.encode_whole(prefix, text),
            |output| self.with_words(&output),
        )?;
        let mut vectors = Vec::with_capacity(embedded.len());
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        for (text, (vector, words)) in texts.iter().zip(embedded) {
            vectors.push(vector);
            asked.push_back(((*text).to_owned(), words));
        }
        let old = asked.len().saturating_sub(REMEMBERED);
        asked.drain(..old);
        drop(asked);
        self.matrix(&vectors)
    }

    fn remembered(&self, question: &str) -> Option<Array2<f32>> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().find(|(text, _)| text == question).map(|(_, tokens)| tokens.clone())
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
        let read = |output: Output<'_>| self.pooled(&output);
        let vectors = match (role, &self.token_space) {
            (Role::Query, Some(_)) => return self.embed_questions(texts),
            (Role::Query, None) => self.model.run_until(texts, &Deadline::NEVER, encode, read),
            (Role::Passage, _) => self.model.run(texts, encode, read),
        }?;
        self.matrix(&vectors)
    }

    fn token_space(&self) -> Option<&TokenSpace> {
        self.token_space.as_ref()
    }

    fn embed_passages(
        &self,
        texts: &[(&str, Option<Language>)],
    ) -> Result<(Array2<f32>, Vec<Option<TokenCodes>>)> {
        let each: Vec<&str> = texts.iter().map(|(text, _)| *text).collect();
        let prefix = &self.space.passage_prefix;
        let embedded = self.model.run_each(
            &each,
            |tokenizer, text| tokenizer.encode_whole(prefix, text),
            |index, output| {
                let language = texts.get(index).and_then(|(_, language)| *language);
                let Some((space, language)) = self.token_space.as_ref().zip(language) else {
                    return Ok((self.pooled(&output)?, None));
                };
                let (vector, words) = self.with_words(&output)?;
                let centred = space.centred(Role::Passage, language, &words.view());
                Ok((vector, Some(TokenCodes::of(&centred.view()))))
            },
        )?;
        let (vectors, codes): (Vec<_>, Vec<_>) = embedded.into_iter().unzip();
        Ok((self.matrix(&vectors)?, codes))
    }

    fn query_tokens(&self, question: &str, language: Language) -> Result<Array2<f32>> {
        let Some(space) = &self.token_space else {
            return Ok(Array2::zeros((0, self.space.dimensions)));
        };
        let mut words = self.remembered(question);
        if words.is_none() {
            self.embed_questions(&[question])?;
            words = self.remembered(question);
        }
        let words = words.unwrap_or_default();
        Ok(space.centred(Role::Query, language, &words.view()))
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

/// The unit vectors of the words at `places`, one a row; of a text without words, of all tokens.
fn word_vectors(vectors: &ArrayView2<'_, f32>, places: &[usize]) -> Result<Array2<f32>, String> {
    let all: Vec<usize> = (0..vectors.nrows()).collect();
    let rows = if places.is_empty() { &all } else { places };
    let mut words = vectors.select(Axis(0), rows);
    for mut row in words.rows_mut() {
        let unit = unit(row.to_vec())?;
        row.assign(&ArrayView1::from(&unit));
    }
    Ok(words)
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
