//! What is embedded of a row, and how many at a time.

use std::borrow::Cow;

use trefoil_core::{Embedder, Error, Language, Result, TokenCodes, TokenSpace};
use trefoil_store::{EmbedSource, EmbeddedText, EmbeddedTokens, KeptTokens};
use trefoil_text::{contextual_text, language_of};

use crate::{background::catch_panics, config::EngineConfig};

/// Texts embedded between two commits. Large enough that the cores are idle for less
/// than one text in a hundred, small enough that a stop waits a few seconds at most.
pub(crate) const BATCH: usize = 192;

/// A text whose embedding panics is tried so often before it is set aside.
const TRIES: usize = 3;

/// What errors call the embedder where it panics.
pub(crate) const EMBEDDER: &str = "the embedder";

/// What the token vectors of an embedder are of: how those of passages in each language are
/// compared. None if it gives none.
pub(crate) fn token_spaces(embedder: &dyn Embedder) -> Option<String> {
    let mut spaces: Vec<String> = Vec::new();
    for space in Language::ALL.into_iter().filter_map(|one| embedder.token_space(one)) {
        let space = space.fingerprint();
        if !spaces.contains(&space) {
            spaces.push(space);
        }
    }
    (!spaces.is_empty()).then(|| spaces.join(" "))
}

/// Which token vectors of an embedder are kept, as `config` says.
pub(crate) fn kept_tokens(embedder: &dyn Embedder, config: &EngineConfig) -> Option<KeptTokens> {
    let space = token_spaces(embedder)?;
    let mut languages = config.token_vectors.languages()?;
    languages.retain(|&language| embedder.token_space(language).is_some());
    Some(KeptTokens { space, languages })
}

/// A text that is embedded, and its language where the vectors of its tokens are kept.
pub(crate) type Passage<'s> = (Cow<'s, str>, Option<Language>);

/// What is embedded of a row, with its language where token vectors of it are `kept`.
pub(crate) fn passage<'s>(source: &'s EmbedSource, kept: Option<&KeptTokens>) -> Passage<'s> {
    let text = text_of(source);
    let language = kept.and_then(|kept| match source {
        EmbedSource::Chunk(chunk) => {
            Some(chunk.chunk.language).filter(|one| kept.languages.contains(one))
        }
        EmbedSource::Text(_) => Some(language_of(&text)),
    });
    (text, language)
}

/// The vector of a text, and the codes of its tokens.
pub(crate) type Embedded = (Vec<f32>, Option<TokenCodes>);

/// Embeds passages, with the codes of the tokens of those whose language is given: without any
/// token where the embedder gives no vectors in that language.
pub(crate) fn embed_passages(
    embedder: &dyn Embedder,
    texts: &[(&str, Option<Language>)],
) -> Result<Vec<Embedded>> {
    let (vectors, codes) = catch_panics(EMBEDDER, || embedder.embed_passages(texts))?;
    embedder.space().check_shape(texts.len(), &vectors)?;
    let vectors = vectors.rows().into_iter().map(|vector| vector.to_vec());
    let codes = codes.into_iter().chain(std::iter::repeat(None)).zip(texts);
    let codes = codes.map(|(codes, (_, language))| language.map(|_| codes.unwrap_or_default()));
    Ok(vectors.zip(codes).collect())
}

/// Embeds what rows say, with the vectors of its tokens where they are `kept`.
pub(crate) fn embed(
    embedder: &dyn Embedder,
    kept: Option<&KeptTokens>,
    sources: &[&EmbedSource],
) -> Result<Vec<EmbeddedText>> {
    let passages: Vec<_> = sources.iter().map(|source| passage(source, kept)).collect();
    let texts: Vec<_> =
        passages.iter().map(|(text, language)| (text.as_ref(), *language)).collect();
    let embedded = embed_passages(embedder, &texts)?.into_iter().zip(&texts);
    let text = |((vector, codes), (_, language)): (Embedded, &(_, Option<Language>))| {
        let tokens = codes.zip(*language);
        let tokens = tokens.map(|(codes, language)| embedded_tokens(embedder, language, codes));
        EmbeddedText { vector, tokens }
    };
    Ok(embedded.map(text).collect())
}

/// The vectors of the tokens of a text in a language, with what they are of.
pub(crate) fn embedded_tokens(
    embedder: &dyn Embedder,
    language: Language,
    codes: TokenCodes,
) -> EmbeddedTokens {
    let space = embedder.token_space(language).map(TokenSpace::fingerprint);
    EmbeddedTokens { space: space.unwrap_or_default(), codes }
}

/// Embeds texts by `embed` in one go or, where one of them cannot be embedded, each alone: it must
/// not hold up the others. What panics is tried a few times.
///
/// # Errors
/// What no text is to blame for.
pub(crate) fn embed_apart<S: Copy, T>(
    texts: &[S],
    embed: impl Fn(&[S]) -> Result<Vec<T>>,
) -> Result<Vec<Result<T>>> {
    match embed(texts) {
        Ok(embedded) => return Ok(embedded.into_iter().map(Ok).collect()),
        Err(
            Error::EmbeddingFailed { .. } | Error::EmbeddingShape { .. } | Error::Panicked { .. },
        ) => {}
        Err(error) => return Err(error),
    }
    let alone = |text: &S| -> Vec<Result<T>> {
        let embed = || embed(std::slice::from_ref(text));
        let mut embedded = embed();
        for _ in 1..TRIES {
            if matches!(embedded, Err(Error::Panicked { .. })) {
                embedded = embed();
            }
        }
        match embedded {
            Ok(embedded) => embedded.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        }
    };
    Ok(texts.iter().flat_map(alone).collect())
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
