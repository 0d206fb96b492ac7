use serde::{Deserialize, Serialize};

use crate::{ByteSpan, Language, RowId};

/// What a summary is to be made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryRequest<'t> {
    /// What the passages have in common, by name.
    pub name: &'t str,
    /// Names of the things that it consists of, the most important first.
    pub members: Vec<&'t str>,
    /// The language to summarise in.
    pub language: Language,
    /// What is said of it, the most telling first.
    pub passages: Vec<SummaryPassage<'t>>,
    /// Most characters that the summary may have.
    pub max_chars: usize,
}

/// A chunk that a summary may be made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryPassage<'t> {
    /// The chunk.
    pub row: RowId,
    /// Its text.
    pub text: &'t str,
    /// Language of the text.
    pub language: Language,
}

/// What passages say, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The summary; empty if the passages say nothing.
    pub text: String,
    /// What it was made from, in the order of the text.
    pub sources: Vec<SummarySource>,
}

/// A part of a chunk that a summary was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SummarySource {
    /// The chunk.
    pub row: RowId,
    /// The part of its text.
    pub span: ByteSpan,
}
