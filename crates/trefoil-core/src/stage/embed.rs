mod language_means;
mod token_codes;
mod token_vectors;

use std::fmt::Debug;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

pub use self::{
    language_means::{LanguageMeans, QueryVectors},
    token_codes::{QuestionCodes, TokenCodes},
    token_vectors::{TokenMeans, TokenSpace},
};
use crate::{Error, Language, Result, Score};

/// Which side of the match a text is on; asymmetric models prefix them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A question.
    Query,
    /// A passage.
    Passage,
}

/// How token vectors become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The mean over the tokens.
    Mean,
    /// The vector of the first token.
    Cls,
    /// The vector of the last token, as decoders have it.
    LastToken,
    /// None: the model pools its token vectors itself.
    None,
}

/// Arithmetic of the model's matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantization {
    /// 32-bit floating point.
    F32,
    /// 16-bit floating point.
    F16,
    /// 8-bit integers, activations scaled for each run.
    Int8,
    /// 4-bit weights in blocks.
    Int4,
}

/// Identity of a vector space: vectors compare only within one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddingSpace {
    /// Name of the model.
    pub model: String,
    /// SHA-256 of the model file, hexadecimal.
    pub sha256: String,
    /// Length of a vector.
    pub dimensions: usize,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// What is put before a question.
    pub query_prefix: String,
    /// What is put before a passage.
    pub passage_prefix: String,
    /// Arithmetic of the model.
    pub quantization: Quantization,
    /// Most tokens that a text may have; the rest is cut.
    pub max_tokens: usize,
}

impl EmbeddingSpace {
    /// The space of vectors that code of the caller makes, of which no more is known: `maker` says
    /// what kind of code.
    pub fn of_caller(model: impl Into<String>, maker: &str, dimensions: usize) -> Self {
        Self {
            model: model.into(),
            sha256: maker.to_owned(),
            dimensions,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            quantization: Quantization::F32,
            max_tokens: 0,
        }
    }

    /// Checks that there is one row a text and one column a dimension.
    ///
    /// # Errors
    /// [`Error::EmbeddingShape`].
    pub fn check_shape(&self, texts: usize, vectors: &Array2<f32>) -> Result<()> {
        let (expected, found) = ((texts, self.dimensions), vectors.dim());
        // Without texts there is nothing that could be too short.
        if found == expected || (texts == 0 && found.0 == 0) {
            return Ok(());
        }
        Err(Error::EmbeddingShape { model: self.model.clone(), expected, found })
    }

    /// One line that differs whenever vectors are not comparable: what an index
    /// stores, and what keys the embedding cache.
    pub fn fingerprint(&self) -> String {
        let Self {
            model,
            sha256,
            dimensions,
            pooling,
            query_prefix,
            passage_prefix,
            quantization,
            max_tokens,
        } = self;
        format!(
            "{model} sha256:{sha256} {dimensions}d {pooling:?} {quantization:?} max:{max_tokens} \
             query:{query_prefix:?} passage:{passage_prefix:?}"
        )
    }
}

/// Texts to unit vectors.
///
/// ```
/// use trefoil_core::{
///     Array2, Embedder, EmbeddingSpace, Pooling, Quantization, Result, Role, ndarray::Axis,
/// };
///
/// /// How often each letter stands in a text: texts that are written alike are near.
/// #[derive(Debug)]
/// struct Letters(EmbeddingSpace);
///
/// impl Embedder for Letters {
///     fn space(&self) -> &EmbeddingSpace {
///         &self.0
///     }
///     fn cosine_range(&self) -> (f32, f32) {
///         (0.6, 1.0)
///     }
///     fn embed(&self, _: Role, texts: &[&str]) -> Result<Array2<f32>> {
///         let mut vectors = Array2::from_elem((texts.len(), 26), 1e-3);
///         for (mut row, text) in vectors.axis_iter_mut(Axis(0)).zip(texts) {
///             for letter in text.bytes().filter(u8::is_ascii_lowercase) {
///                 row[usize::from(letter - b'a')] += 1.0;
///             }
///             let length: f32 = row.dot(&row);
///             row /= length.sqrt();
///         }
///         Ok(vectors)
///     }
/// }
///
/// let letters = Letters(EmbeddingSpace {
///     model: "letters".to_owned(),
///     sha256: String::new(),
///     dimensions: 26,
///     pooling: Pooling::Mean,
///     query_prefix: String::new(),
///     passage_prefix: String::new(),
///     quantization: Quantization::F32,
///     max_tokens: 8192,
/// });
/// let vectors = letters.embed_checked(Role::Passage, &["listen", "silent", "zoo"])?;
/// let cosine = |a: usize, b: usize| vectors.row(a).dot(&vectors.row(b));
/// assert!(cosine(0, 1) > 0.99 && cosine(0, 2) < 0.1);
/// # Ok::<(), trefoil_core::Error>(())
/// ```
pub trait Embedder: Debug + Send + Sync {
    /// The space that the vectors are in.
    fn space(&self) -> &EmbeddingSpace;

    /// The cosines that count as unrelated and as a perfect match: `relevance` maps
    /// the first to 0 and the second to 1. Measured, from the model's card.
    fn cosine_range(&self) -> (f32, f32);

    /// The same for sentences and turns of a conversation: that of passages unless the model's
    /// card says otherwise.
    fn short_cosine_range(&self) -> (f32, f32) {
        self.cosine_range()
    }

    /// The mean vector of questions in each language, by which a question is moved into the
    /// language of the texts that it is compared with; none where they were not measured, and
    /// then it is compared as it is.
    fn language_means(&self) -> Option<&LanguageMeans> {
        None
    }

    /// Where a cosine stands on the [range](Self::cosine_range), 0–1.
    fn relevance(&self, cosine: f32) -> Score {
        on_range(self.cosine_range(), cosine)
    }

    /// Where the cosine of a question and a sentence stands on the [range of
    /// those](Self::short_cosine_range).
    fn short_relevance(&self, cosine: f32) -> Score {
        on_range(self.short_cosine_range(), cosine)
    }

    /// Whether it embeds texts. Otherwise the vectors of its space are the caller's: nothing asks
    /// it to embed, but a question that comes without a vector, which is told why that fails.
    fn embeds_texts(&self) -> bool {
        true
    }

    /// One unit vector a text: row `i` is that of `texts[i]`, and a row has as many columns as
    /// the [space](Self::space) has dimensions. A text's vector does not depend on the
    /// other texts of the call.
    ///
    /// # Errors
    /// The model is missing, or a vector is not finite, of another length, or zero.
    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>>;

    /// [`embed`](Self::embed), with the shape of the matrix checked: what the engine calls, for
    /// an embedder of the caller's own may be wrong.
    ///
    /// # Errors
    /// As [`embed`](Self::embed); [`Error::EmbeddingShape`] unless there is one row a text and one
    /// column a dimension.
    fn embed_checked(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        let vectors = self.embed(role, texts)?;
        self.space().check_shape(texts.len(), &vectors)?;
        Ok(vectors)
    }

    /// How the vectors of the tokens of passages in a language are compared; none for an embedder
    /// that gives none, as by default.
    fn token_space(&self, _passages: Language) -> Option<&TokenSpace> {
        None
    }

    /// [`embed`](Self::embed) of passages, with the codes of the tokens of those whose language is
    /// given; none where it has no [token space](Self::token_space).
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    fn embed_passages(
        &self,
        texts: &[(&str, Option<Language>)],
    ) -> Result<(Array2<f32>, Vec<Option<TokenCodes>>)> {
        let each: Vec<&str> = texts.iter().map(|(text, _)| *text).collect();
        Ok((self.embed(Role::Passage, &each)?, vec![None; texts.len()]))
    }

    /// The vectors of the tokens of a question in a language, one a row,
    /// [centred](TokenSpace::centred), for passages in a language; none where that has no [token
    /// space](Self::token_space), or its model does not read the question.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    fn query_tokens(
        &self,
        _question: &str,
        _language: Language,
        _passages: Language,
    ) -> Result<Array2<f32>> {
        Ok(Array2::zeros((0, self.space().dimensions)))
    }
}

fn on_range((unrelated, perfect): (f32, f32), cosine: f32) -> Score {
    Score::clamped((cosine - unrelated) / (perfect - unrelated))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a matrix of zeros of its own shape.
    #[derive(Debug)]
    struct Shaped(EmbeddingSpace, (usize, usize));

    impl Embedder for Shaped {
        fn space(&self) -> &EmbeddingSpace {
            &self.0
        }

        fn cosine_range(&self) -> (f32, f32) {
            (0.0, 1.0)
        }

        fn embed(&self, _: Role, _: &[&str]) -> Result<Array2<f32>> {
            Ok(Array2::zeros(self.1))
        }
    }

    #[test]
    fn a_matrix_of_another_shape_is_an_error_that_names_both() {
        let space = EmbeddingSpace {
            model: "mine".to_owned(),
            sha256: String::new(),
            dimensions: 3,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            quantization: Quantization::F32,
            max_tokens: 512,
        };
        let embed = |shape, texts: &[&str]| {
            Shaped(space.clone(), shape).embed_checked(Role::Passage, texts).map(|one| one.dim())
        };
        assert_eq!(embed((2, 3), &["a", "b"]).unwrap(), (2, 3));
        assert_eq!(embed((0, 3), &[]).unwrap(), (0, 3));
        assert_eq!(embed((0, 0), &[]).unwrap(), (0, 0));
        for (shape, texts) in
            [((1, 3), &["a", "b"][..]), ((2, 3), &["a"]), ((1, 4), &["a"]), ((0, 0), &["a"])]
        {
            let error = embed(shape, texts).unwrap_err();
            assert!(
                matches!(&error, Error::EmbeddingShape { expected, found, .. }
                    if *expected == (texts.len(), 3) && *found == shape),
                "{error}"
            );
        }
        let message = embed((1, 4), &["a", "b"]).unwrap_err().to_string();
        assert!(message.contains("1 vectors of 4 numbers for 2 texts of 3"), "{message}");
    }
}
