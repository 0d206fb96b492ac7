//! What is embedded of a row, and how many at a time.

use std::borrow::Cow;

use trefoil_core::{Embedder, Language, Result, TokenCodes, ndarray::ArrayView1};
use trefoil_store::{EmbedSource, EmbeddedText, EmbeddedTokens, KeptTokens};
use trefoil_text::{contextual_text, language_of};

use crate::{background::catch_panics, config::EngineConfig};

/// Texts embedded between two commits. Large enough that the cores are idle for less
/// than one text in a hundred, small enough that a stop waits a few seconds at most.
pub(crate) const BATCH: usize = 192;

/// What errors call the embedder where it panics.
pub(crate) const EMBEDDER: &str = "the embedder";

/// Which token vectors of an embedder are kept, as `config` says.
pub(crate) fn kept_tokens(embedder: &dyn Embedder, config: &EngineConfig) -> Option<KeptTokens> {
    let space = embedder.token_space()?.fingerprint();
    Some(KeptTokens { space, languages: config.token_vectors.languages()? })
}

/// Embeds passages, with the vectors of their tokens where they are `kept`.
pub(crate) fn embed(
    embedder: &dyn Embedder,
    kept: Option<&KeptTokens>,
    sources: &[&EmbedSource],
) -> Result<Vec<EmbeddedText>> {
    let texts: Vec<_> = sources.iter().map(|source| (text_of(source), *source)).collect();
    let language = |source: &EmbedSource, text: &str| {
        kept.and_then(|kept| match source {
            EmbedSource::Chunk(chunk) => {
                Some(chunk.chunk.language).filter(|one| kept.languages.contains(one))
            }
            EmbedSource::Text(_) => Some(language_of(text)),
        })
    };
    let texts: Vec<(&str, Option<Language>)> =
        texts.iter().map(|(text, source)| (text.as_ref(), language(source, text))).collect();
    let (vectors, codes) = catch_panics(EMBEDDER, || embedder.embed_passages(&texts))?;
    embedder.space().check_shape(texts.len(), &vectors)?;
    let space = kept.map(|kept| kept.space.clone()).unwrap_or_default();
    let text = |(vector, codes): (ArrayView1<'_, f32>, Option<TokenCodes>)| {
        let tokens = codes.map(|codes| EmbeddedTokens { space: space.clone(), codes });
        EmbeddedText { vector: vector.to_vec(), tokens }
    };
    let codes = codes.into_iter().chain(std::iter::repeat(None));
    Ok(vectors.rows().into_iter().zip(codes).map(text).collect())
}

/// What is embedded.
pub(crate) fn text_of(source: &EmbedSource) -> Cow<'_, str> {
    match source {
        EmbedSource::Chunk(chunk) => {
            let (file, chunk) = (&chunk.file, &chunk.chunk);
            contextual_text(&file.title, &chunk.heading_path, &chunk.text).into()
        }
        EmbedSource::Text(text) => text.into(),
    }
}
