use std::sync::Arc;

use jiff::civil::Date;
use serde::{Deserialize, Serialize, Serializer};

use crate::{ChunkId, FileId, Language, Metadata, RowId};

/// A half-open range of bytes, `start..end`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ByteSpan {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Lines from 1, both included.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LineSpan {
    /// First line.
    pub start: u32,
    /// Last line.
    pub end: u32,
}

/// The role of a chunk.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChunkLevel {
    /// Indexed and ranked.
    #[default]
    Leaf,
    /// A larger span around leaves of a long document: kept for context, not ranked.
    Parent,
}

/// A span of one document, as the chunker makes it: the unit that is indexed and ranked.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Chunk {
    /// Its role.
    pub level: ChunkLevel,
    /// Place among the document's chunks of this level, from 0.
    pub ordinal: u32,
    /// Headings above the span, outermost first.
    pub heading_path: Vec<String>,
    /// The text of the span.
    pub text: String,
    /// Position of the text in the document's body.
    pub bytes: ByteSpan,
    /// The same in lines.
    pub lines: LineSpan,
    /// Language of the text.
    pub language: Language,
}

/// What is known of a file or document that chunks come from.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileInfo {
    /// Hash of the path.
    pub id: FileId,
    /// Where it was read from, or the caller's key.
    pub path: String,
    /// Short name; may be empty.
    pub title: String,
    /// Labels, sorted, each once.
    pub tags: Vec<String>,
    /// The day it is about or from.
    pub date: Option<Date>,
    /// Fields of the caller's own.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// A chunk as the store keeps it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredChunk {
    /// Its row, which retrievers rank in.
    #[serde(skip)]
    pub row: RowId,
    /// Its public id.
    pub id: ChunkId,
    /// The file it comes from.
    #[serde(serialize_with = "whole")]
    #[cfg_attr(feature = "schema", schemars(with = "FileInfo"))]
    pub file: Arc<FileInfo>,
    /// The chunk itself.
    #[serde(flatten)]
    pub chunk: Chunk,
}

fn whole<S: Serializer>(file: &Arc<FileInfo>, serializer: S) -> Result<S::Ok, S::Error> {
    FileInfo::serialize(file, serializer)
}
