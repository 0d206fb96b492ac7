//! The vocabulary of Trefoil: the values that flow between the stages and the
//! traits a stage is made of. No I/O, no third-party engine, no async.
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
mod files;
mod graph;
mod id;
mod index_folder;
mod language;
mod parallel;
mod plan;
mod query;
mod rank;
mod result;
mod retriever_id;
mod score;
mod stage;
mod summary;
mod terms;
mod unit;
mod web;

pub use chunk::{ByteSpan, Chunk, ChunkLevel, FileInfo, LineSpan, StoredChunk};
pub use collection::{Collection, IndexedUnit, MemoryText};
pub use crag::{
    Correction, CorrectionOutcome, CragAction, CragBasis, CragRelevance, CragReport, CragScore,
};
pub use cursor::{Cursor, FirstPage, OrderKey};
pub use document::{Document, DocumentFormat, Metadata};
pub use error::{BoxError, Error, ErrorKind, FieldError, Part, Result, WebFailure};
pub use files::{Contents, Digest, IndexFile, IndexFiles};
pub use graph::{
    EntityFacet, EntityFacts, EntityType, EntityView, Extraction, Mention, MentionKind,
    NamedEntity, PathStep, Proof, RelatedEntity, Relation, RelationType, RelationView,
    RelationshipPath, Seen, Subgraph, SubgraphEdge, SubgraphNode, TitledText,
};
pub use id::{
    ChunkId, ClaimId, CommunityId, ContextId, EntityId, EvidenceId, FeedbackId, FileId, LoopId,
    ObservationId, RelationId, RowId, Seq, SessionId, SummaryId, tie_break,
};
pub use index_folder::{
    ALIGN, ChecksummedFile, ChecksummedWriter, FileKind, FileLock, ManifestFile, ManifestHeader,
    Replacing, Size, Tombstones, create_private_folder, is_remote, make_private, plan_merges,
    private_file, sync,
};
pub use language::Language;
pub use ndarray::{self, Array2};
pub use parallel::{Threads, map_in_parallel};
pub use plan::{
    CragPlan, Fusion, Plan, PlannedRetriever, QueryRewrite, Question, RerankPlan, Selection,
    WeightedTerm,
};
pub use query::{
    All, Allowed, Any, Cancel, Comparison, Condition, DateRange, Deadline, Embedding, Not,
    Operator, QueryText, QueryType, Recent, RerankConfig, RowSet, RrfConfig, SearchFilters,
    SearchOptions, SearchQuery, SearchResultType, SearchStrategy, SearchWeights, Weight,
};
pub use rank::{Fused, Hit, RankedList, RetrieverHit};
#[doc(hidden)]
pub use result::as_map;
pub use result::{
    Answerability, Content, Degraded, Explanation, Highlight, ItemMetadata, Lost, Missed, Offsets,
    Passage, QueryClassification, Ranked, Relevance, RetrieverMetric, RetrieverMetrics,
    RetrieverPlace, RetrieverScores, SearchEvent, SearchResult, SearchResultItem, SourcePassage,
    Sources, Stage, StageMetric, StagePlace, WhyNot,
};
pub use retriever_id::RetrieverId;
pub use score::Score;
pub use stage::{
    After, Analyzer, Change, Chunker, Embedder, EmbeddingSpace, EntityExtractor, Fuser, IndexEntry,
    IndexInput, Indexer, KnownName, LanguageMeans, Loader, Merge, NameLookup, Pooling,
    Quantization, QueryClassifier, QueryVectors, QuestionCodes, Reranker, Retriever, Role,
    SeedContext, Summarizer, Token, TokenCodes, TokenCounter, TokenMeans, TokenSpace, merge_all,
};
pub use summary::{Summary, SummaryPassage, SummaryRequest, SummarySource};
pub use terms::TermCoverage;
#[doc(hidden)]
pub use unit::unknown_name;
pub use unit::{
    AffectLabel, BoundaryClass, ClaimKind, EpistemicStatus, EvidenceMethod, FeedbackSignal,
    Importance, ObservationKind, Scope, Sensitivity, SourceType, UnitKind, UnitState,
};
pub use web::{Trust, WebMetadata, WebPage, WebSearch};
