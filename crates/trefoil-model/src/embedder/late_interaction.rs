use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use ndarray::Array2;
use trefoil_core::{
    Embedder, EmbeddingSpace, Error, Language, LanguageMeans, Result, Role, Score, TokenCodes,
    TokenSpace,
};

use crate::{
    home::ModelHome, model::ModelSource, rerank::late_interaction::LateInteractionReranker,
};

/// So many questions are remembered with their vectors.
const REMEMBERED: usize = 16;

/// An embedder, and next to it a model of late interaction, such as `ColBERT`, which gives the
/// vectors of the tokens of texts in its languages. Those of other languages are the embedder's.
///
/// A text in a language of the model is read twice: by the embedder for its vector, and by the
/// model for those of its tokens.
#[derive(Debug)]
pub struct LateInteractionEmbedder {
    embedder: Arc<dyn Embedder>,
    model: LateInteractionReranker,
    languages: Vec<Language>,
    space: TokenSpace,
    /// The last questions with their vectors.
    asked: Mutex<VecDeque<(String, Array2<f32>)>>,
}

impl LateInteractionEmbedder {
    /// Puts the model in `source` next to an embedder. `threads` texts are read at once.
    ///
    /// # Errors
    /// As [`LateInteractionReranker::open`]; [`Error::ModelUnusable`] if its vectors have another
    /// length than those of the embedder, next to which they are kept, or it has no language.
    pub fn open(
        embedder: Arc<dyn Embedder>,
        home: &ModelHome,
        source: &ModelSource,
        threads: usize,
    ) -> Result<Self> {
        let model = LateInteractionReranker::open(home, source, threads)?;
        let (dimensions, wanted) = (model.dimensions(), embedder.space().dimensions);
        let unusable = |reason| Error::ModelUnusable { name: model.name().to_owned(), reason };
        if dimensions != wanted {
            return Err(unusable(format!(
                "the vectors of its tokens have {dimensions} numbers, those of `{}` {wanted}; take \
                 a model with as many",
                embedder.space().model
            )));
        }
        let known = |one: &Language| model.languages().iter().any(|code| code == one.code());
        let languages: Vec<Language> = Language::ALL.into_iter().filter(known).collect();
        if languages.is_empty() {
            return Err(unusable("its card names none of the languages en, ja and ko".to_owned()));
        }
        let space = model.space()?;
        Ok(Self { embedder, model, languages, space, asked: Mutex::default() })
    }

    fn remembered(&self, question: &str) -> Option<Array2<f32>> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().find(|(text, _)| text == question).map(|(_, vectors)| vectors.clone())
    }
}

impl Embedder for LateInteractionEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        self.embedder.space()
    }

    fn cosine_range(&self) -> (f32, f32) {
        self.embedder.cosine_range()
    }

    fn short_cosine_range(&self) -> (f32, f32) {
        self.embedder.short_cosine_range()
    }

    fn language_means(&self) -> Option<&LanguageMeans> {
        self.embedder.language_means()
    }

    fn relevance(&self, cosine: f32) -> Score {
        self.embedder.relevance(cosine)
    }

    fn short_relevance(&self, cosine: f32) -> Score {
        self.embedder.short_relevance(cosine)
    }

    fn embeds_texts(&self) -> bool {
        self.embedder.embeds_texts()
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        self.embedder.embed(role, texts)
    }

    fn token_space(&self, passages: Language) -> Option<&TokenSpace> {
        if self.languages.contains(&passages) {
            Some(&self.space)
        } else {
            self.embedder.token_space(passages)
        }
    }

    fn embed_passages(
        &self,
        texts: &[(&str, Option<Language>)],
    ) -> Result<(Array2<f32>, Vec<Option<TokenCodes>>)> {
        let is_own = |language: &Language| self.languages.contains(language);
        let of_embedder: Vec<(&str, Option<Language>)> = texts
            .iter()
            .map(|&(text, language)| (text, language.filter(|one| !is_own(one))))
            .collect();
        let (vectors, mut codes) = self.embedder.embed_passages(&of_embedder)?;
        let own = texts.iter().filter(|(_, language)| language.as_ref().is_some_and(is_own));
        let own: Vec<&str> = own.map(|(text, _)| *text).collect();
        let mut read = self.model.passage_vectors(&own)?.into_iter();
        codes.resize(texts.len(), None);
        for ((_, language), codes) in texts.iter().zip(&mut codes) {
            if language.as_ref().is_some_and(is_own) {
                *codes = read.next().map(|vectors| TokenCodes::of(&vectors.view()));
            }
        }
        Ok((vectors, codes))
    }

    fn query_tokens(
        &self,
        question: &str,
        language: Language,
        passages: Language,
    ) -> Result<Array2<f32>> {
        if !self.languages.contains(&passages) {
            return self.embedder.query_tokens(question, language, passages);
        }
        if !self.languages.contains(&language) {
            return Ok(Array2::zeros((0, self.space.dimensions())));
        }
        if let Some(vectors) = self.remembered(question) {
            return Ok(vectors);
        }
        let vectors = self.model.query_vectors(question)?;
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push_back((question.to_owned(), vectors.clone()));
        let old = asked.len().saturating_sub(REMEMBERED);
        asked.drain(..old);
        Ok(vectors)
    }
}
