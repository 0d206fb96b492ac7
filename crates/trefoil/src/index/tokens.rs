//! The token vectors that are kept of rows, with those of a question that they are compared with.

use trefoil_core::{Embedder, Language, QuestionCodes, Result, RowId, TokenCodes, TokenSpace};
use trefoil_store::Store;

use crate::{
    background::catch_panics,
    index::embedding::{EMBEDDER, token_spaces},
};

/// Rows whose token vectors are compared in one way.
#[derive(Debug)]
pub(crate) struct AskedTokens<'e> {
    pub(crate) space: &'e TokenSpace,
    /// The vectors of the question.
    asked: QuestionCodes,
    pub(crate) kept: Vec<(RowId, TokenCodes)>,
}

impl AskedTokens<'_> {
    /// Each row with how well it says what the question does.
    pub(crate) fn similarities(&self) -> impl Iterator<Item = (RowId, f32)> {
        let similarity = |codes| self.space.similarity_of_codes(&self.asked, codes);
        self.kept.iter().map(move |(row, codes)| (*row, similarity(codes)))
    }

    /// The same of sentences and turns of a conversation.
    pub(crate) fn short_similarities(&self) -> impl Iterator<Item = (RowId, f32)> {
        let similarity = |codes| self.space.short_similarity_of_codes(&self.asked, codes);
        self.kept.iter().map(move |(row, codes)| (*row, similarity(codes)))
    }
}

/// The token vectors of those of `rows` that have some, and the question as it is asked of them.
/// What the model of their space cannot be asked is left out.
pub(crate) fn asked_tokens<'e>(
    embedder: &'e dyn Embedder,
    store: &Store,
    question: &str,
    language: Language,
    rows: &[RowId],
) -> Result<Vec<AskedTokens<'e>>> {
    let Some(wanted) = token_spaces(embedder) else { return Ok(Vec::new()) };
    let mut kept = store.token_codes(rows, &wanted)?;
    let mut all = Vec::new();
    for passages in Language::ALL {
        let Some(space) = embedder.token_space(passages) else { continue };
        let fingerprint = space.fingerprint();
        let (own, others): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(|(_, tokens)| tokens.space == fingerprint);
        kept = others;
        if own.is_empty() {
            continue;
        }
        let ask = || embedder.query_tokens(question, language, passages);
        let asked = catch_panics(EMBEDDER, ask)?;
        if !asked.is_empty() {
            let kept = own.into_iter().map(|(row, tokens)| (row, tokens.codes)).collect();
            all.push(AskedTokens { space, asked: QuestionCodes::of(&asked.view()), kept });
        }
    }
    Ok(all)
}
