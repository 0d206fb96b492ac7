mod condition;
mod deadline;
mod filter;
mod recent;
mod row_set;
mod strategy;
mod weights;

use serde::{Deserialize, Serialize};
use validator::Validate;

pub use self::{
    condition::{All, Any, Comparison, Condition, Not, Operator},
    deadline::{Cancel, Deadline},
    filter::{Allowed, DateRange, SearchFilters},
    recent::Recent,
    row_set::RowSet,
    strategy::{QueryType, SearchResultType, SearchStrategy},
    weights::{SearchWeights, Weight},
};
use crate::{Cursor, Error, Language, Result, RetrieverId, Score};

/// A question: 1–1,000 characters after trimming. Any Unicode is data, operators
/// and quotes included, so that a question can never fail to parse.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("maxLength" = Self::MAX_CHARS, "pattern" = r"\S")))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QueryText(String);

impl QueryText {
    /// The longest question, in characters.
    pub const MAX_CHARS: usize = 1_000;

    /// Trims and checks a question.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] if it is blank or longer than [`Self::MAX_CHARS`].
    pub fn new(text: &str) -> Result<Self> {
        let text = text.trim();
        let chars = text.chars().count();
        if (1..=Self::MAX_CHARS).contains(&chars) {
            Ok(Self(text.to_owned()))
        } else {
            let value = if chars == 0 { "blank".to_owned() } else { format!("{chars} characters") };
            Err(Error::InvalidQuery {
                field: "text",
                value,
                allowed: "1–1,000 characters after trimming",
            })
        }
    }
}

crate::text_type!(QueryText::new);

/// A vector of a question or a document: finite and not all zero. Its length is checked against
/// the index.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend(
        "minItems" = 1,
        "items" = {"type": "number", "format": "float", "minimum": f32::MIN, "maximum": f32::MAX},
        "contains" = {"anyOf": [
            {"type": "number", "minimum": f32::MIN_POSITIVE},
            {"type": "number", "maximum": -f32::MIN_POSITIVE},
        ]},
    ))
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f32>", into = "Vec<f32>")]
pub struct Embedding(Vec<f32>);

impl Embedding {
    /// Checks a vector.
    ///
    /// # Errors
    /// [`Error::InvalidEmbedding`] if it is empty, all zero, or holds NaN or an infinity.
    pub fn new(vector: Vec<f32>) -> Result<Self> {
        if vector.is_empty() {
            return Err(Error::InvalidEmbedding { reason: "it is empty" });
        }
        if vector.iter().any(|x| !x.is_finite()) {
            return Err(Error::InvalidEmbedding { reason: "it holds NaN or an infinity" });
        }
        if vector.iter().all(|&x| x == 0.0) {
            return Err(Error::InvalidEmbedding { reason: "it is all zero" });
        }
        Ok(Self(vector))
    }

    /// The components.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }
}

crate::checked_conversions!(Embedding(Vec<f32>));

/// No component is NaN.
impl Eq for Embedding {}

/// What a caller asks.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Validate)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[must_use]
pub struct SearchQuery {
    /// The question.
    pub text: QueryText,
    /// What kind of answer is wanted; left out, the classifier decides.
    #[serde(rename = "type")]
    pub query_type: Option<QueryType>,
    /// The question's embedding, to spare the model; of the index's model and dimension.
    pub embedding: Option<Embedding>,
    /// Which results are acceptable.
    #[serde(default)]
    #[validate(nested)]
    pub filters: SearchFilters,
    /// How to search.
    #[serde(default)]
    #[validate(nested)]
    pub options: SearchOptions,
}

impl SearchQuery {
    /// A question with default filters and options.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] if the text is blank or longer than 1,000 characters.
    pub fn new(text: &str) -> Result<Self> {
        Ok(Self {
            text: QueryText::new(text)?,
            query_type: None,
            embedding: None,
            filters: SearchFilters::default(),
            options: SearchOptions::default(),
        })
    }

    crate::setters! {
        /// Sets how many results to return, 1–100.
        limit(limit: usize) options.limit = limit;
        /// Sets how many results to skip, at most 10,000.
        offset(offset: usize) options.offset = offset;
        /// Sets where the page before ended.
        cursor(cursor: Cursor) options.cursor = Some(cursor);
        /// Sets what kind of answer is wanted.
        query_type(query_type: QueryType) query_type = Some(query_type);
        /// Sets whether a cross-encoder reranks the first results.
        rerank(rerank: bool) options.rerank_enabled = rerank;
        /// Sets whether many passages are reranked, not the first few only.
        thorough(thorough: bool) options.thorough = thorough;
        /// Sets whether the evidence is graded and corrected.
        crag(crag: bool) options.crag_enabled = crag;
        /// Sets whether each result says how it came to its place.
        explain(explain: bool) options.explain = explain;
        /// Sets whether results that say the same give way to others.
        diverse(diverse: bool) options.diverse = diverse;
        /// Sets how long the search may take, 1–600,000 ms.
        timeout_ms(timeout: u32) options.timeout_ms = Some(timeout);
        /// Sets the weight of each retriever, taken as it is.
        weights(weights: SearchWeights) options.weights = Some(weights);
        /// Sets the least relevance of a result.
        min_relevance(least: Score) filters.min_relevance = least;
        /// Sets which paths are searched, such as `docs/**/*.md`.
        path_glob(glob: impl Into<String>) filters.path_glob = Some(glob.into());
        /// Sets what the metadata of a document has to be.
        condition(condition: Condition) filters.condition = Some(condition);
        /// Sets all filters at once, in place of those that were set before.
        replace_filters(filters: SearchFilters) filters = filters;
        /// Sets all options at once, in place of those that were set before.
        replace_options(options: SearchOptions) options = options;
    }

    /// Searches documents with this label, or with another one that is added.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.filters.tags.push(tag.into());
        self
    }

    /// Searches passages in this language, or in another one that is added.
    pub fn language(mut self, language: Language) -> Self {
        self.filters.languages.push(language);
        self
    }

    /// Asks this retriever and the others that are added, and no more. A name that cannot be one
    /// is refused when the query is checked.
    pub fn strategy(mut self, strategy: impl Into<SearchStrategy>) -> Self {
        if self.options.strategies == [SearchStrategy::Hybrid] {
            self.options.strategies.clear();
        }
        self.options.strategies.push(strategy.into());
        self
    }

    /// Wants results of this type and of the others that are added, and no more.
    pub fn result_type(mut self, result_type: SearchResultType) -> Self {
        self.options.result_types.push(result_type);
        self
    }

    /// Checks the fields that their types leave open.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for the first that is out of its range,
    /// [`Error::InvalidRetrieverId`] for a strategy that no retriever can have.
    pub fn check(&self) -> Result<()> {
        self.filters.check()?;
        check_options(&self.options)?;
        self.options.strategies.iter().try_for_each(|strategy| match strategy {
            SearchStrategy::Invalid(name) => RetrieverId::new(name).map(drop),
            SearchStrategy::Only(_) | SearchStrategy::Hybrid => Ok(()),
        })
    }
}

fn check_options(options: &SearchOptions) -> Result<()> {
    let Err(errors) = options.validate() else { return Ok(()) };
    Err(if errors.errors().contains_key("limit") {
        Error::invalid_query("options.limit", options.limit, "1–100")
    } else if errors.errors().contains_key("offset") {
        Error::invalid_query("options.offset", options.offset, "0–10,000")
    } else if errors.errors().contains_key("per_file") {
        let count = options.per_file.unwrap_or_default();
        Error::invalid_query("options.perFile", count, "1–100")
    } else if errors.errors().contains_key("result_types") {
        Error::invalid_query("options.resultTypes", options.result_types.len(), "at most 3 types")
    } else if errors.errors().contains_key("timeout_ms") {
        let timeout = options.timeout_ms.unwrap_or_default();
        Error::invalid_query("options.timeoutMs", timeout, "1–600,000")
    } else {
        Error::invalid_query("options.strategies", "[]", "at least one retriever")
    })
}

/// How to search. Parsing `{}` gives exactly the defaults.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Validate)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools, reason = "each is an independent switch of the contract")]
pub struct SearchOptions {
    /// How many results to return, 1–100; 20 by default.
    #[validate(range(min = 1, max = 100))]
    pub limit: usize,
    /// How many results to skip, at most 10,000; 0 by default.
    #[validate(range(max = 10_000))]
    pub offset: usize,
    /// Whether results carry title, path, lines and the like.
    #[serde(alias = "include_metadata")]
    pub include_metadata: bool,
    /// Whether results carry highlighted fragments.
    #[serde(alias = "include_highlights")]
    pub include_highlights: bool,
    /// Whether a cross-encoder reranks the first results.
    #[serde(alias = "rerank_enabled")]
    pub rerank_enabled: bool,
    /// Whether as many passages are read together with the question as the configuration says
    /// and time allows; else only the first few, which is quick.
    pub thorough: bool,
    /// Whether the evidence is graded and repaired.
    #[serde(alias = "crag_enabled")]
    pub crag_enabled: bool,
    /// Whether each result says how it came to its place.
    pub explain: bool,
    /// Where the page before ended, instead of `offset`: its `nextCursor`, with the same
    /// query.
    pub cursor: Option<Cursor>,
    /// Most results of one file, 1–100; any number by default.
    #[serde(alias = "per_file")]
    #[validate(range(min = 1, max = 100))]
    pub per_file: Option<usize>,
    /// Whether a chunk is a result next to a better one that it adjoins within a section:
    /// else the better one, which carries what stands around it, is shown for both.
    pub adjoining: bool,
    /// Whether results that say the same give way to others (maximal marginal relevance).
    pub diverse: bool,
    /// The least relevance, 0–1, of a hit of the semantic retriever: its cosine on the range
    /// that was measured for the model, so that a value means the same with every model.
    /// None by default. A passage below it can still be found by another retriever.
    #[serde(alias = "min_similarity")]
    pub min_similarity: Option<Score>,
    /// Which types of results are wanted; all by default, and if none is named. A caller that
    /// reads passages only asks for [`SearchResultType::Chunk`].
    #[serde(alias = "result_types", skip_serializing_if = "Vec::is_empty")]
    #[validate(length(max = 3))]
    pub result_types: Vec<SearchResultType>,
    /// How long the whole search may take, in milliseconds, 1–600,000; as long as it takes by
    /// default. What is not done by then is left out and named in `degraded`. What has begun is
    /// not broken off: one passage is read, one retriever answers.
    #[serde(alias = "timeout_ms", skip_serializing_if = "Option::is_none")]
    #[validate(range(min = 1, max = 600_000))]
    pub timeout_ms: Option<u32>,
    /// Which retrievers run; at least one.
    #[validate(length(min = 1))]
    pub strategies: Vec<SearchStrategy>,
    /// Weight of each retriever, taken as it is. Absent by default: then the engine weighs them
    /// by the kind of question and by what their lists say.
    pub weights: Option<SearchWeights>,
}

impl SearchOptions {
    /// Whether results of this type are wanted.
    pub fn wants(&self, result_type: SearchResultType) -> bool {
        self.result_types.is_empty() || self.result_types.contains(&result_type)
    }
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            limit: 20,
            offset: 0,
            include_metadata: true,
            include_highlights: true,
            rerank_enabled: true,
            thorough: false,
            crag_enabled: false,
            explain: false,
            cursor: None,
            per_file: None,
            adjoining: false,
            diverse: false,
            min_similarity: None,
            result_types: Vec::new(),
            timeout_ms: None,
            strategies: vec![SearchStrategy::Hybrid],
            weights: None,
        }
    }
}

/// Reciprocal rank fusion.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Validate)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RrfConfig {
    /// The constant added to every rank, 1–1000; 60 by default.
    #[validate(range(min = 1, max = 1000))]
    pub k: u32,
    /// Whether `combined` is scaled so that first in every retriever is 1; else the raw sum.
    #[serde(alias = "normalize_scores")]
    pub normalize_scores: bool,
}

impl Default for RrfConfig {
    fn default() -> Self {
        Self { k: 60, normalize_scores: true }
    }
}

/// Cross-encoder reranking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RerankConfig {
    /// Whether it runs where the query asks for it.
    pub enabled: bool,
    /// Name of the model.
    #[validate(length(min = 1))]
    pub model: String,
    /// How many fused passages are read at most, 1–100; 50 by default. A search that is not
    /// [`thorough`](SearchOptions::thorough) reads as many as are
    /// [enough](crate::Reranker::enough).
    #[serde(alias = "top_k")]
    #[validate(range(min = 1, max = 100))]
    pub top_k: usize,
    /// Passages that a reranker is given at once, 1–32; 16 by default. The clock is looked at before
    /// each of them ([`score_until`](crate::Reranker::score_until)).
    #[serde(alias = "batch_size")]
    #[validate(range(min = 1, max = 32))]
    pub batch_size: usize,
}

impl Default for RerankConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            model: "ms-marco-MiniLM-L-12-v2".to_owned(),
            top_k: 50,
            batch_size: 16,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{
        Just, Strategy as Generator, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
    };
    use serde_json::json;

    use super::*;
    use crate::{DateRange, FileId, FirstPage, OrderKey, Score};

    fn parse(json: &serde_json::Value) -> Result<SearchQuery, serde_json::Error> {
        serde_json::from_value(json.clone())
    }

    #[test]
    fn empty_options_and_filters_are_the_defaults() {
        assert_eq!(serde_json::from_str::<SearchOptions>("{}").unwrap(), SearchOptions::default());
        assert_eq!(serde_json::from_str::<SearchFilters>("{}").unwrap(), SearchFilters::default());
        assert_eq!(serde_json::from_str::<RrfConfig>("{}").unwrap(), RrfConfig::default());
        assert_eq!(serde_json::from_str::<RerankConfig>("{}").unwrap(), RerankConfig::default());
        let options = SearchOptions::default();
        assert_eq!((options.limit, options.offset), (20, 0));
        assert!(options.include_metadata && options.include_highlights && options.rerank_enabled);
        assert!(!options.crag_enabled && !options.adjoining && !options.diverse);
        assert!(!options.thorough);
        assert_eq!((options.per_file, options.cursor), (None, None));
        assert_eq!((options.min_similarity, options.timeout_ms), (None, None));
        assert_eq!(options.strategies, [SearchStrategy::Hybrid]);
        assert_eq!(options.weights, None);
        assert_eq!(SearchFilters::default().min_relevance, Score::ZERO);
        assert_eq!(RrfConfig::default(), RrfConfig { k: 60, normalize_scores: true });
    }

    #[test]
    fn a_similarity_cut_off_is_a_share_of_one() {
        for (json, valid) in [
            (json!({"minSimilarity": 0.5}), true),
            (json!({"min_similarity": 1.0}), true),
            (json!({"minSimilarity": 0.0}), true),
            (json!({"minSimilarity": 1.1}), false),
            (json!({"minSimilarity": -0.1}), false),
        ] {
            let parsed = serde_json::from_value::<SearchOptions>(json.clone());
            assert_eq!(parsed.is_ok(), valid, "{json}");
        }
        let options =
            SearchOptions { min_similarity: Some(Score::clamped(0.5)), ..SearchOptions::default() };
        assert_eq!(serde_json::to_value(options).unwrap()["minSimilarity"], json!(0.5));
    }

    #[test]
    fn results_of_all_types_are_wanted_unless_some_are_named() {
        use SearchResultType::{Chunk, Community, Entity};
        let all = SearchOptions::default();
        assert!([Chunk, Entity, Community].into_iter().all(|one| all.wants(one)));
        let parsed: SearchOptions =
            serde_json::from_value(json!({"resultTypes": ["chunk", "entity"]})).unwrap();
        assert!(parsed.wants(Chunk) && parsed.wants(Entity) && !parsed.wants(Community));
        let many = SearchQuery::new("q").unwrap().replace_options(SearchOptions {
            result_types: vec![Chunk; 4],
            ..SearchOptions::default()
        });
        let error = many.check().unwrap_err();
        assert!(matches!(error, Error::InvalidQuery { field: "options.resultTypes", .. }));
    }

    #[test]
    fn setters_keep_what_others_set() {
        let query = SearchQuery::new("q").unwrap();
        let query = query.limit(5).rerank(false).tag("hr").tag("legal").strategy("mine").crag(true);
        assert_eq!((query.options.limit, query.options.rerank_enabled), (5, false));
        assert_eq!(query.filters.tags, ["hr", "legal"]);
        assert_eq!(query.options.strategies, [SearchStrategy::from("mine")]);
        assert!(query.check().is_ok());
        let error = query.strategy("No name").check().unwrap_err();
        assert!(matches!(error, Error::InvalidRetrieverId { .. }), "{error}");
    }

    #[test]
    fn camel_case_is_written_and_snake_case_is_read_too() {
        let camel = json!({"text": "q", "options": {"includeMetadata": false, "cragEnabled": true},
            "filters": {"minRelevance": 0.5, "fileIds": ["fil_1"], "pathGlob": "*.md"}});
        let snake = json!({"text": "q", "options": {"include_metadata": false, "crag_enabled": true},
            "filters": {"min_relevance": 0.5, "file_ids": ["fil_1"], "path_glob": "*.md"}});
        assert_eq!(parse(&camel).unwrap(), parse(&snake).unwrap());
        let printed = serde_json::to_string(&parse(&snake).unwrap()).unwrap();
        assert!(printed.contains("includeMetadata") && !printed.contains("include_metadata"));
    }

    #[test]
    fn what_is_unknown_or_out_of_range_is_refused() {
        for bad in [
            json!({}),
            json!({"text": ""}),
            json!({"text": " \n\u{3000}"}),
            json!({"text": "q", "limit": 3}),
            json!({"text": "q", "type": "Local"}),
            json!({"text": "q", "options": {"limits": 3}}),
            json!({"text": "q", "options": {"strategies": ["BM 25"]}}),
            json!({"text": "q", "options": {"limit": -1}}),
            json!({"text": "q", "options": {"cursor": "20"}}),
            json!({"text": "q", "options": {"weights": {"keyword": 1.0, "semantic": 0.1, "graph": 0.0}}}),
            json!({"text": "q", "filters": {"minRelevance": 1.1}}),
            json!({"text": "q", "filters": {"fileIds": ["chk_1"]}}),
            json!({"text": "q", "filters": {"dateRange": {"start": "2026-02-30"}}}),
            json!({"text": "q", "embedding": []}),
            json!({"text": "q", "embedding": [0.0, 0.0]}),
        ] {
            assert!(parse(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn each_limit_holds_at_its_edge_and_fails_beyond() {
        let text = |chars: usize| QueryText::new(&"語".repeat(chars)).is_ok();
        assert_eq!([0, 1, 1_000, 1_001].map(text), [false, true, true, false]);
        let limit = |limit| SearchQuery::new("q").unwrap().limit(limit).check().is_ok();
        assert_eq!([0, 1, 100, 101].map(limit), [false, true, true, false]);
        let with = |change: &dyn Fn(&mut SearchQuery)| {
            let mut query = SearchQuery::new("q").unwrap();
            change(&mut query);
            query.check().is_ok()
        };
        assert_eq!([10_000, 10_001].map(|o| with(&|q| q.options.offset = o)), [true, false]);
        assert!(!with(&|query| query.options.strategies.clear()));
        let per_file = |count| with(&|query| query.options.per_file = Some(count));
        assert_eq!([0, 1, 100, 101].map(per_file), [false, true, true, false]);
        let id = FileId::new("fil_1").unwrap();
        let ids = |count| with(&|query| query.filters.file_ids = vec![id.clone(); count]);
        assert_eq!([10_000, 10_001].map(ids), [true, false]);
        let tags = |count| with(&|query| query.filters.tags = vec![String::new(); count]);
        assert_eq!([100, 101].map(tags), [true, false]);
        let glob = |chars| with(&|query| query.filters.path_glob = Some("*".repeat(chars)));
        assert_eq!([1_000, 1_001].map(glob), [true, false]);
    }

    fn any_query() -> impl Generator<Value = SearchQuery> {
        let text = "\\PC{1,60}".prop_filter_map("blank", |text| QueryText::new(&text).ok());
        let query_type = proptest::option::of(prop_oneof![
            Just(QueryType::Local),
            Just(QueryType::Global),
            Just(QueryType::Relationship),
            Just(QueryType::Hybrid),
        ]);
        let embedding = proptest::option::of(
            proptest::collection::vec(-1.0_f32..1.0, 1..8)
                .prop_filter_map("zero", |vector| Embedding::new(vector).ok()),
        );
        (text, query_type, embedding, any_filters(), any_options()).prop_map(
            |(text, query_type, embedding, filters, options)| SearchQuery {
                text,
                query_type,
                embedding,
                filters,
                options,
            },
        )
    }

    fn any_filters() -> impl Generator<Value = SearchFilters> {
        let day = || proptest::option::of((2000_i16..2040, 1_i8..=12, 1_i8..=28));
        let range =
            proptest::option::of((day(), day()).prop_filter_map("order", |(start, end)| {
                let date = |(year, month, day)| jiff::civil::date(year, month, day);
                DateRange::new(start.map(date), end.map(date)).ok()
            }));
        let languages = proptest::sample::subsequence(Language::ALL.to_vec(), 0..=3);
        let words = || proptest::collection::vec("\\PC{0,8}", 0..3);
        let ids = proptest::collection::vec("[a-z0-9]{1,12}", 0..3);
        let least = (0.0_f32..=1.0).prop_map(Score::clamped);
        (ids, words(), range, least, words(), languages, proptest::option::of("\\PC{0,9}"))
            .prop_map(
                |(ids, entity_types, date_range, min_relevance, tags, languages, path_glob)| {
                    SearchFilters {
                        file_ids: ids
                            .iter()
                            .filter_map(|id| FileId::new(format!("fil_{id}")).ok())
                            .collect(),
                        entity_types,
                        date_range,
                        min_relevance,
                        tags,
                        languages,
                        path_glob,
                        condition: None,
                    }
                },
            )
    }

    fn any_options() -> impl Generator<Value = SearchOptions> {
        let strategies = proptest::sample::subsequence(
            vec![SearchStrategy::KEYWORD, SearchStrategy::SEMANTIC, SearchStrategy::GRAPH],
            1..=3,
        );
        let weights = (0.0_f32..=1.0, 0.0_f32..=1.0).prop_filter_map("sum", |(a, b)| {
            let weights = [a, (1.0 - a) * b, (1.0 - a) * (1.0 - b)];
            SearchWeights::new(RetrieverId::DEFAULT_SET.into_iter().zip(weights)).ok()
        });
        let weights = proptest::option::of(weights);
        let cursor = (0.0_f32..=1.0, "chk_[0-9]{1,3}").prop_map(|(combined, id)| Cursor {
            last: OrderKey { combined: Score::clamped(combined), id, ..OrderKey::default() },
            first: FirstPage::default(),
            depth: 60,
            fingerprint: 7,
        });
        let page = (
            1_usize..=100,
            0_usize..=10_000,
            proptest::option::of(cursor),
            proptest::option::of(1_usize..=100),
            proptest::option::of((0.0_f32..=1.0).prop_map(Score::clamped)),
            proptest::sample::subsequence(
                vec![
                    SearchResultType::Chunk,
                    SearchResultType::Entity,
                    SearchResultType::Community,
                ],
                0..=3,
            ),
            proptest::option::of(1_u32..=600_000),
        );
        (page, any::<[bool; 8]>(), strategies, weights).prop_map(
            |(
                (limit, offset, cursor, per_file, min_similarity, result_types, timeout_ms),
                [metadata, highlights, rerank, thorough, crag, explain, adjoining, diverse],
                strategies,
                weights,
            )| {
                SearchOptions {
                    limit,
                    offset,
                    include_metadata: metadata,
                    include_highlights: highlights,
                    rerank_enabled: rerank,
                    thorough,
                    crag_enabled: crag,
                    explain,
                    cursor,
                    per_file,
                    adjoining,
                    diverse,
                    min_similarity,
                    result_types,
                    timeout_ms,
                    strategies,
                    weights,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_back(query in any_query()) {
            prop_assert!(query.check().is_ok());
            let printed = serde_json::to_string(&query)?;
            let parsed: SearchQuery = serde_json::from_str(&printed)?;
            prop_assert_eq!(&parsed, &query);
            prop_assert_eq!(serde_json::to_string(&parsed)?, printed);
        }

        #[test]
        fn any_text_of_allowed_length_is_a_question(text in "\\PC{1,1000}") {
            let chars = text.trim().chars().count();
            prop_assert_eq!(QueryText::new(&text).is_ok(), (1..=1_000).contains(&chars));
        }
    }
}
