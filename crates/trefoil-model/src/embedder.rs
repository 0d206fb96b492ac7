pub(crate) mod late_interaction;
pub(crate) mod pool;

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use ndarray::Array2;
use trefoil_core::{
    Deadline, Embedder, EmbeddingSpace, Error, Language, LanguageMeans, Part, Result, Role,
    TokenCodes, TokenCounter, TokenSpace,
};

use self::pool::{pool, token_matrix, unit, word_vectors};
use crate::{
    card::{Card, EmbeddingCard},
    dense::Projection,
    file,
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
/// there are threads. Opening it reads the card, and the dense layers after it if it has
/// any; the runtime and the model load at the first text. Means of its questions in each language are those of `languages.toml`
/// next to the model, and its token space that of `tokens.toml`; or those built in for models of
/// the manifest.
#[derive(Debug)]
pub struct OnnxEmbedder {
    space: EmbeddingSpace,
    /// Length of a vector of the model, of which the first numbers are taken.
    width: usize,
    /// Dense layers after pooling.
    projection: Projection,
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
    /// not embed, [`Error::ModelUnusable`] if its cosine range was not measured.
    pub fn open(home: &ModelHome, source: &ModelSource, threads: usize) -> Result<Self> {
        let (model, card) = Model::open(home, source, threads)?;
        Self::of(model, card)
    }

    /// The embedder of a model with its card.
    pub(crate) fn of(model: Model, card: Card) -> Result<Self> {
        let Card { name, max_tokens, output, embedding, .. } = card;
        let Some(EmbeddingCard {
            dimensions,
            model_dimensions,
            pooling,
            query_prefix,
            passage_prefix,
            space_sha256,
            quantization,
            cosine_range,
            short_cosine_range,
            dense,
            token_output,
        }) = embedding
        else {
            return Err(Error::InvalidConfig {
                field: "model",
                value: name,
                allowed: "a model whose role is `embedder`",
            });
        };
        let Some(cosine_range) = cosine_range else {
            let folder = model.folder().display();
            let reason = format!(
                "its card has no `cosine-range`; run `trefoil models add {folder}`, which \
                 measures it"
            );
            return Err(Error::ModelUnusable { name, reason });
        };
        let width = model_dimensions.unwrap_or(dimensions);
        let projection = Projection::load(model.folder(), &dense, width)?;
        let language_means = LanguageMeans::of_model(&name, model.folder(), dimensions)?;
        // The built-in one is of the vectors of the default model's output for tokens.
        let with_output = token_output.as_ref().map_or("", |_| name.as_str());
        let mut token_space = TokenSpace::of_model(with_output, model.folder(), dimensions)?;
        if let Some(output) = token_output {
            let made_by = format!("{} {output}", model.sha256()?);
            token_space = token_space.map(|space| space.made_by(made_by));
        }
        let mut sha256 = space_sha256.map_or_else(|| model.sha256(), Ok)?;
        if output.is_some() || !dense.is_empty() {
            // Another output, or another way from it to the vector, is another space.
            let layers = dense.iter().map(|layer| format!("{} {:?}", layer.file, layer.activation));
            let layers = layers.collect::<Vec<_>>().join(", ");
            let output = output.unwrap_or_default();
            sha256 = file::sha256(format!("{sha256} {output:?} {layers}").as_bytes());
        }
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
            width,
            projection,
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

    /// The unit vectors of each passage's words, one a row and at least one, as the model sees them
    /// in the window of `length` tokens that suits the question best; of the first texts, as many
    /// as were begun until `deadline`.
    ///
    /// # Errors
    /// Those of [`embed`](Embedder::embed), and [`Error::EmbeddingFailed`] if the model
    /// pools its token vectors itself.
    pub(crate) fn token_vectors(
        &self,
        question: &str,
        texts: &[&str],
        length: usize,
        deadline: &Deadline,
    ) -> Result<Vec<Array2<f32>>> {
        let prefix = self.prefix(Role::Passage);
        self.model.run_until(
            texts,
            deadline,
            |tokenizer, text| tokenizer.encode_words(prefix, question, text, length),
            |output| self.words(&output),
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
            |output| self.words(&output),
        )
    }

    /// The unit vector of a text and the unit vectors of its words, of one run of the model.
    fn with_words(&self, output: &Output<'_, Words>) -> Result<(Vec<f32>, Array2<f32>)> {
        Ok((self.pooled(output)?, self.words(output)?))
    }

    /// The unit vectors of a text's words.
    fn words(&self, output: &Output<'_, Words>) -> Result<Array2<f32>> {
        let vectors = output.of_tokens.unwrap_or(output.tensor);
        token_matrix(self.space.dimensions, vectors)
            .and_then(|vectors| word_vectors(&vectors, &output.tokens.places))
            .map_err(|reason| self.failed(output.text, format!("vectors of tokens: {reason}")))
    }

    /// The unit vector of a text.
    fn pooled<E>(&self, output: &Output<'_, E>) -> Result<Vec<f32>> {
        let Output { text, tensor, .. } = *output;
        let width = self.projection.takes().unwrap_or(self.width);
        pool(self.space.pooling, width, tensor)
            .and_then(|pooled| {
                let mut vector = self.projection.apply(pooled);
                vector.truncate(self.space.dimensions);
                unit(vector)
            })
            .map_err(|reason| self.failed(text, reason))
    }

    /// The vectors of questions and of their tokens, which are remembered.
    fn embed_questions(&self, texts: &[&str]) -> Result<Vec<(Vec<f32>, Array2<f32>)>> {
        let prefix = &self.space.query_prefix;
        let embedded = self.model.run_until(
            texts,
            &Deadline::NEVER,
            |tokenizer, text| tokenizer.encode_whole(prefix, text),
            |output| self.with_words(&output),
        )?;
        let words = embedded.iter().map(|(_, words)| words.clone());
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.extend(texts.iter().map(|&text| text.to_owned()).zip(words));
        let old = asked.len().saturating_sub(REMEMBERED);
        asked.drain(..old);
        drop(asked);
        Ok(embedded)
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
            (Role::Query, Some(_)) => {
                let embedded = self.embed_questions(texts);
                embedded.map(|each| each.into_iter().map(|(vector, _)| vector).collect())
            }
            (Role::Query, None) => self.model.run_until(texts, &Deadline::NEVER, encode, read),
            (Role::Passage, _) => self.model.run(texts, encode, read),
        }?;
        self.matrix(&vectors)
    }

    fn token_space(&self, _: Language) -> Option<&TokenSpace> {
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

    fn query_tokens(&self, question: &str, language: Language, _: Language) -> Result<Array2<f32>> {
        let Some(space) = &self.token_space else {
            return Ok(Array2::zeros((0, self.space.dimensions)));
        };
        let run = || Ok(self.embed_questions(&[question])?.pop().unwrap_or_default().1);
        let words = self.remembered(question).map_or_else(run, Ok)?;
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
