use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::Language;

/// How a document's body is written, which decides how it is cut into chunks.
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
}

/// What a caller hands to `ingest`: a text under a path of its own choosing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Document {
    /// The caller's key, unique within an index; `/` separates folders.
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
}

impl Document {
    /// A plain-text document without a title.
    pub fn new(path: impl Into<String>, body: impl Into<String>) -> Self {
        Self { path: path.into(), body: body.into(), ..Self::default() }
    }

    /// Sets the title.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets how the body is written.
    #[must_use]
    pub fn format(mut self, format: DocumentFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets the labels to filter by.
    #[must_use]
    pub fn tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the day that the document is about or from.
    #[must_use]
    pub fn date(mut self, date: impl Into<Option<Date>>) -> Self {
        self.date = date.into();
        self
    }

    /// Sets the language, which is told from the script of each chunk otherwise.
    #[must_use]
    pub fn language(mut self, language: impl Into<Option<Language>>) -> Self {
        self.language = language.into();
        self
    }
}
