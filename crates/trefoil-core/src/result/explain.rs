use serde::{Deserialize, Serialize};

use crate::{ChunkId, RetrieverHit, Score, SearchQuery, Stage};

/// How a passage came to its place: what each retriever said, and where each stage put it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Explanation {
    /// What the retrievers that found it say.
    pub retrievers: Vec<RetrieverPlace>,
    /// Where each stage put it, in order.
    pub stages: Vec<StagePlace>,
    /// Words of a short question that it lacks. If another passage has more of them, it loses a share
    /// of its fused score. Empty if it lacks none, and where words are not looked for: in a longer
    /// question, in a passage in another language or below the first fifty, and without the default
    /// fusion of the keyword list with others.
    pub missing_words: Vec<String>,
}

/// A passage in the list of one retriever.
pub type RetrieverPlace = RetrieverHit;

/// A passage after one stage.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StagePlace {
    /// The stage.
    pub stage: Stage,
    /// Its rank after that stage, from 1.
    pub rank: usize,
    /// What the stage scored it.
    pub score: Score,
}

/// Why a passage is not among the results of a question, or where it is.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhyNot {
    /// The stage at which it was lost; nothing if it is among the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<Stage>,
    /// What happened there, in a sentence.
    pub reason: String,
    /// How far it had come.
    pub explanation: Explanation,
}

/// A passage that a question did not find: either itself, or its document.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("anyOf" = [
        {"properties": {"chunk": {"type": "string"}, "path": {"type": "null"}}, "required": ["chunk"]},
        {"properties": {"chunk": {"type": "null"}, "path": {"type": "string"}}, "required": ["path"]},
    ]))
)]
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missed {
    /// The question.
    pub query: SearchQuery,
    /// The passage; or `path`.
    pub chunk: Option<ChunkId>,
    /// The document, of which the passage is told that came farthest.
    pub path: Option<String>,
}

/// Where a passage was lost.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lost {
    /// The passage.
    pub chunk: ChunkId,
    /// Where, and why.
    #[serde(flatten)]
    pub answer: WhyNot,
}
