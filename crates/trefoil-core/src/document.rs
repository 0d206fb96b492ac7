mod metadata;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

pub use self::metadata::Metadata;
use crate::{Embedding, Language};

/// How a document's body is written, which decides how it is cut into chunks.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DocumentFormat {
    /// Paragraphs separated by blank lines.
    #[default]
    Text,
    /// Markdown, with headings that become heading paths.
    Markdown,
    /// Source code; the language is told from the path's extension.
    Code,
    /// Records, each of which is a chunk of its own, separated by U+001E.
    Records,
    /// One chunk, whatever its length, kept to the byte; a blank body has none.
    Whole,
}

/// What a caller hands to `ingest`: a text under a path of its own choosing.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[must_use]
pub struct Document {
    /// The caller's key, unique within an index; `/` separates folders.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 4_096), extend("pattern" = r"\S")))]
    pub path: String,
    /// A short name, searched with its own weight; may be empty.
    #[serde(default)]
    pub title: String,
    /// The text, UTF-8.
    pub body: String,
    /// How the body is written.
    #[serde(default)]
    pub format: DocumentFormat,
    /// Known language; told from the script of each chunk when absent.
    #[serde(default)]
    pub language: Option<Language>,
    /// Labels to filter by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The day the document is about or from, to filter by.
    #[serde(default)]
    pub date: Option<Date>,
    /// Fields of the caller's own, to filter by and to get back with results.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// Its vector, for an engine whose vectors are the caller's, of a document that is one chunk
    /// ([`DocumentFormat::Whole`]); kept as it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Embedding>,
}

impl Document {
    /// A plain-text document without a title.
    pub fn new(path: impl Into<String>, body: impl Into<String>) -> Self {
        Self { path: path.into(), body: body.into(), ..Self::default() }
    }

    crate::setters! {
        /// Sets the title.
        title(title: impl Into<String>) title = title.into();
        /// Sets how the body is written.
        format(format: DocumentFormat) format = format;
        /// Sets the labels to filter by.
        tags(tags: impl IntoIterator<Item = impl Into<String>>) tags = tags.into_iter().map(Into::into).collect();
        /// Sets the day that the document is about or from.
        date(date: impl Into<Option<Date>>) date = date.into();
        /// Sets fields of the caller's own.
        metadata(metadata: Metadata) metadata = metadata;
        /// Sets the language, which is told from the script of each chunk otherwise.
        language(language: impl Into<Option<Language>>) language = language.into();
        /// Sets the vector of a document that is one chunk.
        embedding(embedding: Embedding) embedding = Some(embedding);
    }
}
