use std::{borrow::Cow, fmt::Debug};

use crate::{ByteSpan, Language};

/// A term and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// The term, normalised: what is indexed, looked up and compared.
    pub term: Cow<'t, str>,
    /// Where it stands in the original text.
    pub span: ByteSpan,
    /// Place in the text for phrases; overlapping n-grams may share one.
    pub position: u32,
    /// True for a word that carries no meaning alone.
    pub stop: bool,
}

/// Text to terms. Indexing, querying and highlighting share one analyser.
///
/// ```
/// use trefoil_core::{Analyzer, ByteSpan, Language, Token};
///
/// /// Words between spaces, in lower case.
/// #[derive(Debug)]
/// struct Spaces;
///
/// impl Analyzer for Spaces {
///     fn analyze(&self, text: &str, _: Language, sink: &mut dyn FnMut(Token<'_>)) {
///         let mut end = 0;
///         for (position, word) in text.split_whitespace().enumerate() {
///             let start = end + text[end..].find(word).unwrap_or_default();
///             end = start + word.len();
///             let (term, span) = (word.to_lowercase().into(), ByteSpan { start, end });
///             sink(Token { term, span, position: position as u32, stop: false });
///         }
///     }
/// }
///
/// let mut terms = Vec::new();
/// Spaces.analyze("Rain  in Tokyo", Language::En, &mut |token| terms.push(token.term.to_string()));
/// assert_eq!(terms, ["rain", "in", "tokyo"]);
/// ```
pub trait Analyzer: Debug + Send + Sync {
    /// Pushes every term of `text` into `sink`, by position.
    fn analyze(&self, text: &str, language: Language, sink: &mut dyn FnMut(Token<'_>));
}

/// Counts tokens as a model would, to size chunks and contexts.
///
/// ```
/// use trefoil_core::TokenCounter;
///
/// /// Four letters a token, which is near enough for English.
/// #[derive(Debug)]
/// struct Quarters;
///
/// impl TokenCounter for Quarters {
///     fn count(&self, text: &str) -> usize {
///         text.chars().count().div_ceil(4)
///     }
/// }
///
/// assert_eq!(Quarters.count("embeddings"), 3);
/// ```
pub trait TokenCounter: Debug + Send + Sync {
    /// Number of tokens of `text`, without the model's own marks.
    fn count(&self, text: &str) -> usize;
}
