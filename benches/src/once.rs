use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use trefoil::{
    Language, Result, Score,
    index::Role,
    model::{Array2, Embedder, EmbeddingSpace, LanguageMeans, TokenCodes, TokenSpace},
};

/// An embedder that embeds each text once, however many indexes ask for it.
#[derive(Debug)]
pub struct EmbeddedOnce<E> {
    embedder: E,
    known: Mutex<HashMap<Key, Known>>,
}

/// The text, its role, and the language whose token vectors are asked for.
type Key = (Role, String, Option<Language>);
type Known = (Vec<f32>, Option<TokenCodes>);

impl<E: Embedder> EmbeddedOnce<E> {
    /// Nothing is embedded yet.
    pub fn new(embedder: E) -> Self {
        Self { embedder, known: Mutex::default() }
    }

    /// What is known of texts of a role; `embed` is asked for the others.
    fn of(
        &self,
        role: Role,
        texts: &[(&str, Option<Language>)],
        embed: impl FnOnce(&[(&str, Option<Language>)]) -> Result<Vec<Known>>,
    ) -> Result<Vec<Known>> {
        let key =
            |(text, language): &(&str, Option<Language>)| (role, (*text).to_owned(), *language);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<_> = {
            let known = known();
            texts.iter().filter(|text| !known.contains_key(&key(text))).copied().collect()
        };
        if !missing.is_empty() {
            let embedded = embed(&missing)?;
            known().extend(missing.iter().map(key).zip(embedded));
        }
        let known = known();
        Ok(texts.iter().filter_map(|text| known.get(&key(text)).cloned()).collect())
    }

    fn matrix(&self, rows: &[Known]) -> Result<Array2<f32>> {
        let numbers = rows.iter().flat_map(|(vector, _)| vector).copied().collect();
        let shape = (rows.len(), self.space().dimensions);
        Array2::from_shape_vec(shape, numbers).map_err(|error| {
            trefoil::Error::backend(trefoil::Part::Model, "put vectors together", error)
        })
    }
}

impl<E: Embedder> Embedder for EmbeddedOnce<E> {
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

    fn token_space(&self, passages: Language) -> Option<&TokenSpace> {
        self.embedder.token_space(passages)
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        let texts: Vec<_> = texts.iter().map(|text| (*text, None)).collect();
        let embed = |missing: &[(&str, Option<Language>)]| {
            let missing: Vec<&str> = missing.iter().map(|(text, _)| *text).collect();
            let vectors = self.embedder.embed(role, &missing)?;
            Ok(vectors.rows().into_iter().map(|row| (row.to_vec(), None)).collect())
        };
        self.matrix(&self.of(role, &texts, embed)?)
    }

    fn embed_passages(
        &self,
        texts: &[(&str, Option<Language>)],
    ) -> Result<(Array2<f32>, Vec<Option<TokenCodes>>)> {
        let rows = self.of(Role::Passage, texts, |missing| {
            let (vectors, tokens) = self.embedder.embed_passages(missing)?;
            let vectors = vectors.rows().into_iter().map(|row| row.to_vec());
            Ok(vectors.zip(tokens).collect())
        })?;
        Ok((self.matrix(&rows)?, rows.into_iter().map(|(_, tokens)| tokens).collect()))
    }

    fn query_tokens(
        &self,
        question: &str,
        language: Language,
        passages: Language,
    ) -> Result<Array2<f32>> {
        self.embedder.query_tokens(question, language, passages)
    }
}
