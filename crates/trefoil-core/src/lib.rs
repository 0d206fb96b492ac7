//! The vocabulary of Trefoil: the values that flow between the stages and the
//! traits a stage is made of. No I/O, no foreign engine, no async.
//!
//! Data flows one way, and each stage has its own type:
//!
//! ```text
//! Document → Chunk → indexes
//! SearchQuery → Plan → RankedList → Fused → Passage → Ranked → SearchResult
//! ```
//!
//! ```
//! use trefoil_core::{SearchOptions, SearchQuery};
//!
//! let query: SearchQuery = serde_json::from_str(r#"{"text": "東京の天気"}"#)?;
//! assert_eq!(query.options, SearchOptions::default());
//! # Ok::<(), serde_json::Error>(())
//! ```

mod chunk;
mod collection;
mod crag;
mod cursor;
mod document;
mod error;
mod explain;
mod extraction;
mod files;
mod filter;
mod id;
mod label;
mod language;
mod mount;
mod parallel;
mod plan;
mod private;
mod query;
mod rank;
mod relationship;
mod result;
mod retriever_id;
mod score;
mod stage;
mod strategy;
mod summary;
mod terms;
mod unit;
mod web;
mod weights;

pub use chunk::{ByteSpan, Chunk, ChunkLevel, FileInfo, LineSpan, StoredChunk};
pub use collection::{Collection, IndexedUnit, MemoryText};
pub use crag::{
    Correction, CorrectionOutcome, CragAction, CragBasis, CragRelevance, CragReport, CragScore,
};
pub use cursor::{Cursor, OrderKey};
pub use document::{Document, DocumentFormat};
pub use error::{BoxError, Error, Part, Result};
pub use explain::{Explanation, RetrieverPlace, StagePlace, WhyNot};
pub use extraction::{Extraction, Mention, MentionKind, Relation, TitledText};
pub use files::{Contents, Digest, IndexFile, IndexFiles};
pub use filter::{Allowed, DateRange, RowSet, SearchFilters};
pub use id::{
    ChunkId, ClaimId, CommunityId, ContextId, EntityId, EvidenceId, FeedbackId, FileId, LoopId,
    ObservationId, RelationId, RowId, Seq, SessionId, SummaryId,
};
pub use label::{EntityType, RelationType};
pub use language::Language;
pub use mount::is_remote;
pub use ndarray::{self, Array2};
pub use parallel::map_in_parallel;
pub use plan::{
    CragPlan, Fusion, Plan, PlannedRetriever, QueryRewrite, Question, RerankPlan, Selection,
    WeightedTerm,
};
pub use private::{create_private_folder, make_private, private_file};
pub use query::{Embedding, QueryText, RerankConfig, RrfConfig, SearchOptions, SearchQuery};
pub use rank::{Fused, Hit, RankedList, RetrieverHit};
pub use relationship::{
    EntityFacet, EntityFacts, EntityView, NamedEntity, PathStep, Proof, RelatedEntity,
    RelationView, RelationshipPath, Seen, Subgraph, SubgraphEdge, SubgraphNode,
};
pub use result::{
    Answerability, Content, Degraded, Highlight, ItemMetadata, Offsets, Passage,
    QueryClassification, Ranked, Relevance, RetrieverMetric, RetrieverMetrics, RetrieverScores,
    SearchResult, SearchResultItem, SourcePassage, Sources, Stage, StageMetric,
};
pub use retriever_id::RetrieverId;
pub use score::Score;
pub use stage::{
    After, Analyzer, Change, Embedder, EmbeddingSpace, EntityExtractor, Fuser, IndexEntry,
    IndexInput, Indexer, KnownName, NameLookup, Pooling, Quantization, QueryClassifier, Reranker,
    Retriever, Role, SeedContext, Summarizer, Token, TokenCounter,
};
pub use strategy::{QueryType, SearchResultType, SearchStrategy};
pub use summary::{Summary, SummaryPassage, SummaryRequest, SummarySource};
pub use terms::TermCoverage;
pub use unit::{BoundaryClass, Sensitivity, UnitKind, UnitState};
pub use web::{Trust, WebFailure, WebMetadata, WebPage, WebSearch};
pub use weights::{SearchWeights, Weight};
