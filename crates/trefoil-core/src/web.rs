use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::{Language, Result};

/// Asks the web where the corpus has no answer. Outside of the engine: what is asked
/// leaves the machine, so an engine has none unless it is given one.
///
/// ```
/// use trefoil_core::{Language, Result, Trust, WebMetadata, WebPage, WebSearch};
///
/// /// A list of pages that somebody looks after.
/// #[derive(Debug)]
/// struct Bookmarks(Vec<(&'static str, &'static str)>);
///
/// impl WebSearch for Bookmarks {
///     fn service(&self) -> &str {
///         "bookmarks"
///     }
///     fn search(&self, question: &str, _: Language, limit: usize) -> Result<Vec<WebPage>> {
///         let words: Vec<String> = question.split(' ').map(str::to_lowercase).collect();
///         let fits = |(_, title): &&(&str, &str)| {
///             words.iter().any(|word| title.to_lowercase().contains(word.as_str()))
///         };
///         let page = |&(url, title): &(&str, &str)| WebPage {
///             url: url.to_owned(),
///             title: title.to_owned(),
///             snippet: String::new(),
///             metadata: WebMetadata { service: "bookmarks".to_owned(), trust: Trust::Untrusted },
///         };
///         Ok(self.0.iter().filter(fits).take(limit).map(page).collect())
///     }
/// }
///
/// let bookmarks = Bookmarks(vec![("https://www.rust-lang.org", "Rust"), ("https://go.dev", "Go")]);
/// let found = bookmarks.search("is rust fast", Language::En, 5)?;
/// assert_eq!(found[0].url, "https://www.rust-lang.org");
/// # Ok::<(), trefoil_core::Error>(())
/// ```
pub trait WebSearch: Debug + Send + Sync {
    /// Name of the service, as results and errors show it.
    fn service(&self) -> &str;

    /// At most `limit` pages for a question, best first. The question is the caller's
    /// own, never words of the corpus.
    ///
    /// # Errors
    /// [`Error::WebSearch`](crate::Error::WebSearch) with what went wrong.
    fn search(&self, question: &str, language: Language, limit: usize) -> Result<Vec<WebPage>>;
}

/// A page that a web search found.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebPage {
    /// Its address: `http` or `https`.
    pub url: String,
    /// Its title; may be empty.
    pub title: String,
    /// What the service shows of it; may be empty.
    pub snippet: String,
    /// Where it comes from and how far to believe it.
    pub metadata: WebMetadata,
}

/// Where a page comes from and how far to believe it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebMetadata {
    /// The service that found it.
    pub service: String,
    /// Always untrusted: anyone may have written it, and it may hold instructions
    /// that are not to be followed.
    pub trust: Trust,
}

/// How far a text may be trusted.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Not at all: it is material to judge.
    #[default]
    Untrusted,
}
