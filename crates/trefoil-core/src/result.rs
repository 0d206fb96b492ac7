mod explain;
mod wire;

use std::{collections::BTreeMap, sync::Arc};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

pub use self::explain::{Explanation, Lost, Missed, RetrieverPlace, StagePlace, WhyNot};
#[doc(hidden)]
pub use self::wire::as_map;
use crate::{
    ChunkId, CommunityId, CragReport, CragScore, Cursor, EntityFacet, EntityFacts, EntityId, Error,
    FileId, Fused, Language, LineSpan, Metadata, OrderKey, QueryType, RelationId, RelationshipPath,
    Result, RetrieverId, Score, SearchQuery, SearchResultType, SearchWeights, StoredChunk,
};

/// A fused row with its chunk loaded, ready to be read closely.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// How it was found.
    pub fused: Fused,
    /// What it says.
    pub chunk: Arc<StoredChunk>,
    /// Words of a short question that it lacks; empty if it lacks none, or was not asked for them.
    pub missing_words: Vec<String>,
}

/// A passage at its place in the final order.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The passage.
    pub passage: Passage,
    /// Its rank in the fused list, from 1.
    pub fused_rank: usize,
    /// Its rank in the final order, from 1.
    pub rank: usize,
    /// What its token vectors and the fused score say together; nothing where no token vectors
    /// ordered the list before it was read.
    pub compared: Option<Score>,
    /// What the reranker says; nothing of a passage that it did not read.
    pub rerank: Option<Score>,
    /// The final score, which does not increase down the order.
    pub score: Score,
}

impl Ranked {
    /// How well the passage answers the question: what the reranker says, or the final
    /// score of a passage that it did not read.
    pub fn evidence(&self) -> Score {
        self.rerank.unwrap_or(self.score)
    }

    /// Its place among all results of the question, to cut pages by.
    pub fn key(&self) -> OrderKey {
        let Passage { fused, chunk, .. } = &self.passage;
        OrderKey {
            reranked: self.rerank.map(|_| self.score),
            compared: self.compared,
            combined: fused.combined,
            date: chunk.file.date,
            id: chunk.id.to_string(),
        }
    }
}

/// The answer to a query.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchResult {
    /// What was asked; on the wire without its embedding, which the caller has.
    #[serde(serialize_with = "wire::without_embedding")]
    #[cfg_attr(feature = "schema", schemars(with = "SearchQuery"))]
    pub query: SearchQuery,
    /// Best first, at most `query.options.limit`.
    pub results: Vec<SearchResultItem>,
    /// Fused candidates after filters, before offset and limit.
    pub total_count: usize,
    /// How long the search took, in milliseconds.
    pub processing_time: f64,
    /// What each retriever did.
    pub strategies: RetrieverMetrics,
    /// What kind of question this is, where it was classified.
    pub classification: Option<QueryClassification>,
    /// How good the evidence is and what was done about it, where it was graded.
    pub crag: Option<CragReport>,
    /// Whether the corpus answers the question.
    #[serde(default)]
    pub answerability: Answerability,
    /// How the entities that a question about a relationship names hang together, the
    /// shortest paths first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<RelationshipPath>,
    /// The entities that most of the results of this page mention, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facets: Vec<EntityFacet>,
    /// What did not run as asked, and why; empty when all is well.
    pub degraded: Vec<Degraded>,
    /// How long each stage took, in order.
    pub stages: Vec<StageMetric>,
    /// How many results stand before the first of this page.
    #[serde(default)]
    pub offset: usize,
    /// Whether more results follow.
    pub has_more: bool,
    /// Where they do: `options.cursor` of the next query.
    pub next_cursor: Option<Cursor>,
}

impl SearchResult {
    /// The results, best first.
    pub fn iter(&self) -> std::slice::Iter<'_, SearchResultItem> {
        self.results.iter()
    }

    /// The answer as JSON. It is the form that serde gives it anywhere, written by code that is
    /// compiled here: so it is fast in a program that is itself compiled for size.
    ///
    /// # Errors
    /// None that a value of this type can cause.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

impl<'r> IntoIterator for &'r SearchResult {
    type Item = &'r SearchResultItem;
    type IntoIter = std::slice::Iter<'r, SearchResultItem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Whether the corpus answers a question.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answerability {
    /// It does.
    Supported,
    /// It may.
    Partial,
    /// It does not.
    Unsupported,
    /// Nobody knows: there is no calibration that fits.
    #[default]
    Uncalibrated,
}

/// What each retriever did, by its id; those of the default set are always named.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RetrieverMetrics(BTreeMap<RetrieverId, RetrieverMetric>);

impl RetrieverMetrics {
    /// What one retriever did.
    pub fn get(&self, retriever: RetrieverId) -> RetrieverMetric {
        self.0.get(&retriever).copied().unwrap_or_default()
    }

    /// Notes what one retriever did.
    pub fn insert(&mut self, retriever: RetrieverId, metric: RetrieverMetric) {
        self.0.insert(retriever, metric);
    }

    /// Each retriever with what it did, by id.
    pub fn iter(&self) -> impl Iterator<Item = (RetrieverId, &RetrieverMetric)> {
        self.0.iter().map(|(id, metric)| (*id, metric))
    }
}

impl Default for RetrieverMetrics {
    fn default() -> Self {
        Self(RetrieverId::DEFAULT_SET.map(|id| (id, RetrieverMetric::default())).into())
    }
}

/// What a retriever did; all zero and `enabled` false if it did not run.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetrieverMetric {
    /// Whether it ran.
    pub enabled: bool,
    /// How many hits it gave.
    pub result_count: usize,
    /// How long it took, in milliseconds.
    pub processing_time: f64,
    /// Relevance of its best hit.
    pub top_score: Score,
}

/// Something that did not run as asked.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Degraded {
    /// The stage.
    pub stage: Stage,
    /// Why, and what to do about it.
    pub reason: String,
}

/// A stage of a search. On the wire it is its [name](Self::name).
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Stage {
    /// Question to its kind.
    Classify,
    /// Question to plan.
    Plan,
    /// Filters to rows.
    Filter,
    /// One retriever: question to list.
    Retriever(RetrieverId),
    /// Lists to one list.
    Fuse,
    /// Rows to passages.
    Read,
    /// The cross-encoder.
    Rerank,
    /// Grading of the evidence, and its correction.
    Grade,
    /// Search on the web.
    Web,
    /// Passages to those that are shown.
    Select,
    /// Passages to results.
    Present,
    /// What is learnt of memory in the background.
    Memory,
    /// A node that follows the store that it shares with others.
    Follow,
}

impl Stage {
    /// Every stage that is no retriever, and its name.
    const OTHERS: [(Self, &str); 12] = [
        (Self::Classify, "classify"),
        (Self::Plan, "plan"),
        (Self::Filter, "filter"),
        (Self::Fuse, "fuse"),
        (Self::Read, "read"),
        (Self::Rerank, "rerank"),
        (Self::Grade, "grade"),
        (Self::Web, "web"),
        (Self::Select, "select"),
        (Self::Present, "present"),
        (Self::Memory, "memory"),
        (Self::Follow, "follow"),
    ];

    /// Its name; of a retriever, the name of that.
    pub fn name(&self) -> &str {
        if let Self::Retriever(retriever) = self {
            return retriever.name();
        }
        Self::OTHERS.iter().find(|(stage, _)| stage == self).map_or("", |(_, name)| name)
    }
}

impl From<RetrieverId> for Stage {
    fn from(retriever: RetrieverId) -> Self {
        Self::Retriever(retriever)
    }
}

impl std::str::FromStr for Stage {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let other = Self::OTHERS.into_iter().find(|(_, other)| *other == name);
        other.map_or_else(|| RetrieverId::new(name).map(Self::Retriever), |(stage, _)| Ok(stage))
    }
}

crate::string_conversions!(Stage);

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What one stage did.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StageMetric {
    /// The stage.
    pub stage: Stage,
    /// How long it took, in milliseconds.
    pub duration: f64,
    /// How many items went in.
    #[serde(rename = "in")]
    pub items_in: usize,
    /// How many came out.
    #[serde(rename = "out")]
    pub items_out: usize,
}

/// What happens while a search runs, for who watches it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SearchEvent {
    /// A stage has ended.
    Stage(StageMetric),
    /// The results as they are in the order of fusion, before passages are read together with the
    /// question. What is found in the end may have another order, other scores and, where evidence
    /// is weak, other members.
    Provisional(Vec<SearchResultItem>),
}

/// One result.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchResultItem {
    /// Public id of the chunk, entity or community.
    pub id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub item_type: SearchResultType,
    /// Its relevance, 0–1; never larger than that of the item before.
    pub score: Score,
    /// Where the score comes from.
    pub relevance: Relevance,
    /// What it says.
    pub content: Content,
    /// What the graph knows of it, if it is an entity.
    pub entity: Option<EntityFacts>,
    /// What matched; empty unless asked for.
    pub highlights: Vec<Highlight>,
    /// Where it comes from.
    pub sources: Sources,
    /// Title, path and the like; absent unless asked for.
    pub metadata: Option<ItemMetadata>,
    /// How it came to its place, if the query asks.
    pub explanation: Option<Explanation>,
}

impl SearchResultItem {
    /// True if this is a chunk: exactly then the sources name one.
    pub const fn is_chunk_result(&self) -> bool {
        self.sources.chunk_id.is_some()
    }

    /// True if at least one entity is linked: of an entity itself, and of the passages that
    /// mention one and the communities that are made of some. [`Self::item_type`] tells which it
    /// is.
    pub const fn is_entity_result(&self) -> bool {
        !self.sources.entity_ids.is_empty()
    }

    /// True if this is a community: exactly then the sources name one.
    pub const fn is_community_result(&self) -> bool {
        self.sources.community_id.is_some()
    }

    /// The path of its document; empty for what is no passage, and without metadata.
    pub fn path(&self) -> &str {
        self.metadata.as_ref().map_or("", |metadata| &metadata.path)
    }

    /// The first line of the passage in its document, from 1; 0 without metadata.
    pub fn line(&self) -> u32 {
        self.metadata.as_ref().map_or(0, |metadata| metadata.lines.start)
    }

    /// What it says.
    pub fn text(&self) -> &str {
        &self.content.text
    }

    /// The title, else the path's last part, else the id.
    pub fn title(&self) -> &str {
        match &self.metadata {
            Some(metadata) if !metadata.title.is_empty() => &metadata.title,
            Some(metadata) => metadata.path.rsplit('/').next().unwrap_or(&metadata.path),
            None => &self.id,
        }
    }
}

/// Where a score comes from; each part 0–1.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Relevance {
    /// After fusion; less for a passage that lacks words of a short question.
    pub combined: Score,
    /// What each retriever says; on the wire, each stands next to `combined` under its name.
    #[serde(flatten)]
    pub retrievers: RetrieverScores,
    /// What the reranker says, a cross-encoder or the vectors of tokens, where it read the passage.
    pub rerank: Option<Score>,
    /// What grading says, where it graded the passage.
    pub crag: Option<CragScore>,
}

/// One score a retriever, on the scale that all retrievers share, 0–1; 0 from one that did not
/// find the item. Those of the default set are always named.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RetrieverScores(BTreeMap<RetrieverId, Score>);

impl RetrieverScores {
    /// The score that one retriever gives.
    pub fn get(&self, retriever: RetrieverId) -> Score {
        self.0.get(&retriever).copied().unwrap_or_default()
    }

    /// Each retriever with its score, by id.
    pub fn iter(&self) -> impl Iterator<Item = (RetrieverId, Score)> {
        self.0.iter().map(|(id, score)| (*id, *score))
    }
}

impl Default for RetrieverScores {
    fn default() -> Self {
        Self(RetrieverId::DEFAULT_SET.map(|id| (id, Score::ZERO)).into())
    }
}

impl FromIterator<(RetrieverId, Score)> for RetrieverScores {
    fn from_iter<I: IntoIterator<Item = (RetrieverId, Score)>>(scores: I) -> Self {
        let mut all = Self::default();
        all.0.extend(scores);
        all
    }
}

/// What an item says.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Content {
    /// The text of the chunk, as it stands in the document; the report of a community, the
    /// description of an entity.
    pub text: String,
    /// The sentences that matter, where they were picked out.
    pub summary: Option<String>,
    /// What stands before, to the start of a sentence.
    pub context_before: Option<String>,
    /// What follows, to the end of a sentence.
    pub context_after: Option<String>,
}

/// A part of the text with what matched in it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Highlight {
    /// Which field it is from: `text`, `title` or `heading`.
    pub field: String,
    /// The part, at most 500 characters.
    pub fragment: String,
    /// What matched, in UTF-8 bytes of `fragment`, on character boundaries, in order.
    pub offsets: Vec<Offsets>,
}

/// A half-open range of bytes, `start < end`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Offsets {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Where an item comes from.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sources {
    /// The chunk.
    pub chunk_id: Option<ChunkId>,
    /// The file.
    pub file_id: Option<FileId>,
    /// Linked entities.
    pub entity_ids: Vec<EntityId>,
    /// The community.
    pub community_id: Option<CommunityId>,
    /// Relations that led here.
    pub relation_ids: Vec<RelationId>,
    /// The passages that an entity is described by, the most telling first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<SourcePassage>,
}

/// A passage that a result rests on.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourcePassage {
    /// The chunk.
    pub chunk_id: ChunkId,
    /// Path of its document.
    pub path: String,
    /// Lines of the chunk.
    pub lines: LineSpan,
    /// The sentence that shows it, 1–500 characters.
    pub excerpt: String,
}

/// What a person wants to see with the text.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ItemMetadata {
    /// Title of the document; may be empty.
    pub title: String,
    /// Headings that the text stands under, outermost first.
    pub heading_path: Vec<String>,
    /// Path of the document.
    pub path: String,
    /// Lines of the text.
    pub lines: LineSpan,
    /// Language of the text.
    pub language: Language,
    /// Date of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
    /// Labels of the document.
    pub tags: Vec<String>,
    /// Fields of its caller's own.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// What kind of question was asked.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueryClassification {
    /// The question as given.
    pub original_query: String,
    /// Its kind; `hybrid` where the classifier is not sure enough.
    #[serde(rename = "type")]
    pub query_type: QueryType,
    /// How sure the classifier is.
    pub confidence: Score,
    /// Names in the question, in order, each once: parts of it in NFKC.
    pub extracted_entities: Vec<String>,
    /// Weights that suit its kind.
    pub suggested_weights: SearchWeights,
    /// Other wordings, at most [`Self::MAX_EXPANSIONS`], none of them the question.
    pub expanded_queries: Vec<String>,
}

impl QueryClassification {
    /// Most other wordings of a question.
    pub const MAX_EXPANSIONS: usize = 5;
}
