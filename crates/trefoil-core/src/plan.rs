use std::{
    fmt::{self, Display, Formatter},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    Correction, Cursor, Embedding, Error, Fuser, Language, QueryClassification, QueryType, Result,
    RetrieverId, RrfConfig, Score,
};

/// One retriever's part in a plan.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedRetriever {
    /// The retriever.
    pub id: RetrieverId,
    /// How many hits its list has at most.
    pub depth: usize,
    /// Its weight in fusion, 0–1; the weights of the retrievers that ran are scaled to sum to 1.
    pub weight: f32,
    /// The planned retrievers whose fused list it goes on from; empty for one that searches by
    /// itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<RetrieverId>,
}

impl PlannedRetriever {
    /// One that searches by itself.
    pub const fn new(id: RetrieverId, depth: usize, weight: f32) -> Self {
        Self { id, depth, weight, after: Vec::new() }
    }
}

/// Every decision of one search, made before any of it runs.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The question, as searched.
    pub question: Question,
    /// The result of the classifier, if it has one.
    pub classification: Option<QueryClassification>,
    /// The query type: the caller's, or else the classifier's.
    pub query_type: QueryType,
    /// Retrievers to run.
    pub retrievers: Vec<PlannedRetriever>,
    /// How their lists become one.
    pub fusion: Fusion,
    /// Settings of reciprocal rank fusion, where `fusion` is RRF.
    pub rrf: RrfConfig,
    /// How many fused candidates are read from the store.
    pub candidates: usize,
    /// How the first candidates are reranked; absent if they are not.
    pub rerank: Option<RerankPlan>,
    /// How weak evidence is corrected; absent if it is not graded.
    pub crag: Option<CragPlan>,
    /// Which of the ranked passages are results.
    pub selection: Selection,
    /// After which result the page begins, instead of `offset`.
    pub cursor: Option<Cursor>,
    /// How many results are left out from the top.
    pub offset: usize,
    /// How many results are returned.
    pub limit: usize,
    /// Hash of the query and the settings: a cursor is valid for one search only.
    pub fingerprint: u64,
}

/// Which of the ranked passages are results. What is left keeps its order.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// Whether passages are wanted at all.
    pub passages: bool,
    /// The least score.
    pub min_relevance: Score,
    /// Whether a passage may adjoin a better one of its section.
    pub adjoining: bool,
    /// Most passages of one file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_file: Option<usize>,
    /// Whether passages that say the same give way to others.
    pub diverse: bool,
}

/// How lists become one. On the wire it is its [name](Self::name).
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Fusion {
    /// Scores, each retriever weighed by how much it says it knows about the question.
    #[default]
    Adaptive,
    /// Reciprocal ranks.
    Rrf,
    /// Scores, scaled from the lowest to the highest of a list.
    RelativeScore,
    /// Scores, scaled by their mean and deviation.
    DistributionBased,
    /// A custom fuser. It has no name on the wire that could be read back.
    Custom(Arc<dyn Fuser>),
}

impl Fusion {
    /// Those that have a name.
    const NAMED: [Self; 4] =
        [Self::Adaptive, Self::Rrf, Self::RelativeScore, Self::DistributionBased];

    /// Its name; `custom` for a custom one.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::Rrf => "rrf",
            Self::RelativeScore => "relativeScore",
            Self::DistributionBased => "distributionBased",
            Self::Custom(_) => "custom",
        }
    }
}

impl PartialEq for Fusion {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Custom(one), Self::Custom(other)) => Arc::ptr_eq(one, other),
            _ => self.name() == other.name(),
        }
    }
}

impl FromStr for Fusion {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let named = Self::NAMED.into_iter().find(|fusion| fusion.name() == name);
        let allowed = "adaptive, rrf, relativeScore or distributionBased";
        named.ok_or_else(|| Error::invalid_config("fusion", format_args!("`{name}`"), allowed))
    }
}

impl Display for Fusion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

crate::string_conversions!(Fusion);

/// The question as a retriever gets it.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The text; empty when only a vector is searched for.
    pub text: String,
    /// Its language.
    pub language: Language,
    /// Whether the corpus has next to no text in that language.
    pub cross_lingual: bool,
    /// The other languages of the corpus: its vector is moved into each, to be compared with the
    /// passages in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_languages: Vec<Language>,
    /// Its embedding, if the caller supplied one.
    pub embedding: Option<Embedding>,
    /// The least relevance of a hit of the semantic retriever, if there is one.
    pub min_similarity: Option<Score>,
    /// How the text is rewritten.
    #[serde(default)]
    pub rewrite: QueryRewrite,
}

/// How the text of a question is rewritten for the retrievers that take
/// [rewrites](crate::Retriever::rewrites).
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QueryRewrite {
    /// Not at all.
    #[default]
    None,
    /// With terms besides its own.
    Expanded(Vec<WeightedTerm>),
    /// With terms of the index that are written nearly like its own.
    Fuzzy,
}

/// A term of the analyser and its weight.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WeightedTerm {
    /// The term.
    pub term: String,
    /// Its weight; that of all terms of the question together is 1.
    pub weight: Score,
}

/// How weak evidence is corrected.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CragPlan {
    /// The corrections, in order; each runs once, and only while the evidence is not correct.
    pub repairs: Vec<Correction>,
    /// How many passages each of them may add.
    pub candidates: usize,
    /// Time for all of them and for scoring sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Duration>,
}

/// How the first passages are reranked.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RerankPlan {
    /// How many are reranked at most, from the top.
    pub passages: usize,
    /// Whether all of them are read, not only the first few.
    pub thorough: bool,
    /// At most so many are scored, whatever `thorough` says: what the first page of the list has
    /// scored. As many as there is time for if absent.
    pub limit: Option<usize>,
    /// Whether token vectors that are kept are compared before: not on a later page if the first
    /// one did not.
    pub compares: bool,
    /// Passages of one batch.
    pub batch: usize,
    /// Time after which no batch is started.
    pub budget: Option<Duration>,
}
