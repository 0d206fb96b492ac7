use std::sync::Arc;

use ndarray::Array2;
use trefoil_core::{Deadline, Embedder, Language, Reranker, Result, Role, Score, TokenSpace};

use super::{cross_encoder::WINDOW, depth::at_least};
use crate::embedder::OnnxEmbedder;

/// Scores texts for a question with the token vectors of an embedder, in every language that it
/// knows, where those of the texts are not kept: it runs the model over each text.
///
/// The scores are those of [`TokenSpace`], which compares kept ones. It reads the same window of
/// 128 tokens as [`OnnxReranker`](crate::OnnxReranker), and runs on the embedder's own copies of
/// the model.
#[derive(Debug)]
pub struct TokenReranker {
    embedder: Arc<OnnxEmbedder>,
    space: TokenSpace,
    language_of: fn(&str) -> Language,
}

impl TokenReranker {
    /// Takes an embedder that has a [token space](Embedder::token_space); none if it has not.
    /// `language_of` tells the language of a text.
    pub fn new(embedder: Arc<OnnxEmbedder>, language_of: fn(&str) -> Language) -> Option<Self> {
        let space = embedder.token_space(Language::En)?.clone();
        Some(Self { embedder, space, language_of })
    }
}

impl Reranker for TokenReranker {
    fn model(&self) -> &str {
        &self.embedder.space().model
    }

    /// Everything: what the embedder does not know, it has not found either.
    fn reads(&self, _: &str) -> bool {
        true
    }

    /// Further down the list is little to gain, and each passage costs an embedding.
    fn top_k(&self) -> usize {
        10
    }

    /// What fits in four windows, and no more: one good match says little about the next.
    fn enough(&self, question: &str, passages: &[&str], read: &[Score]) -> usize {
        at_least(question, passages).max(read.len())
    }

    fn load(&self) -> Result<()> {
        self.embedder.load()
    }

    fn score(&self, question: &str, passages: &[&str]) -> Result<Vec<Score>> {
        self.score_until(question, passages, &Deadline::NEVER)
    }

    /// The clock is looked at before each passage.
    fn score_until(
        &self,
        question: &str,
        passages: &[&str],
        deadline: &Deadline,
    ) -> Result<Vec<Score>> {
        if passages.is_empty() || deadline.has_passed() {
            return Ok(Vec::new());
        }
        // Of the run that embedded the question, if it is among the last.
        let language = (self.language_of)(question);
        let asked = self.embedder.query_tokens(question, language, language)?;
        let read = self.embedder.token_vectors(question, passages, WINDOW, deadline)?;
        let score = |(text, read): (&&str, &Array2<f32>)| {
            let language = (self.language_of)(text);
            let text = self.space.centred(Role::Passage, language, &read.view());
            self.space.score(self.space.similarity(&asked.view(), &text.view()))
        };
        Ok(passages.iter().zip(&read).map(score).collect())
    }
}
