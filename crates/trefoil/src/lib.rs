//! Hybrid search, embedded: keyword and semantic rankings of the same chunks, fused.
//!
//! One directory, one process, and the same care for English, Japanese and Korean.
//! The example runs without a model; with one (`trefoil models pull`), results that
//! share no word with the question are found as well.
//!
//! ```
//! # #[cfg(feature = "keyword")] {
//! use trefoil::{Document, Engine, SearchQuery};
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path().join("notes.trefoil");
//! # let config = trefoil::EngineConfig { model: trefoil::Model::None, ..Default::default() };
//! # let open = |dir| Engine::open_with(dir, config);
//! # /*
//! let engine = Engine::open("notes.trefoil")?; // one directory; created if absent
//! # */ let engine = open(&dir)?;
//! engine.ingest(&[
//!     Document::new("release.md", "A release is cut on Friday by tagging main."),
//!     Document::new("天気.md", "明日の東京は晴れ、最高気温は二十度です。"),
//!     Document::new("날씨.md", "내일 서울은 맑고 낮 최고 기온은 이십 도입니다."),
//! ])?;
//! for (question, path) in [
//!     ("how do I cut a release?", "release.md"),
//!     ("東京の天気", "天気.md"),
//!     ("서울의 기온", "날씨.md"),
//! ] {
//!     let found = engine.search(&SearchQuery::new(question)?)?;
//!     assert_eq!(found.results[0].metadata.as_ref().unwrap().path, path);
//! }
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Engine::search`] and [`Engine::ingest`] are one short function each, one line a stage. What
//! nearly every program needs is here; what fewer need is in the module that it is about.

#[cfg(feature = "tokio")]
mod async_engine;
mod background;
mod builder;
mod classify;
mod config;
mod default_set;
mod digest;
mod engine;
mod layout;
pub mod memory;
mod models;
#[cfg(feature = "openai")]
pub mod openai;
mod profile;
mod progress;
#[cfg(feature = "web")]
mod searxng;
mod state;
mod store_at;
mod task_runner;

/// An index whose rows several machines share: each is a node with a cache of its own.
pub mod cluster {
    pub use crate::{
        ingest::{
            inbox::hand_over,
            queue_embedder::QueueEmbedder,
            restore::{NotRestored, NotRestoredReason, Restored, UnitNotRestored},
        },
        store_at::{EmbedAt, Freshness, NodeStatus, SharedStore, StoreAt},
    };
    pub use trefoil_store::truth::{
        Cluster, Column, ColumnKind, Done, EMBED_TRIES, EmbedOutcome, EmbedText, Lost,
        LostDocument, LostEvidence, LostFeedback, LostUnit, MadeVectors, MemoryShard, MemoryTruth,
        NodeReport, NodeRole, NodeSeen, NodeTimes, OutOfReach, Place, Request, RequestId, RowSink,
        Sequences, Shard, Start, Table, Touched, TouchedTable, Truth, Value, WriteRequest, Written,
        format, tables,
    };
}

/// Parts of an index: traits for custom ones, settings of the built-in ones.
pub mod index {
    pub use crate::config::CustomRetriever;
    pub use trefoil_core::{
        Allowed, Change, Collection, Contents, Digest, FileInfo, IndexEntry, IndexFile, IndexFiles,
        IndexInput, IndexedUnit, Indexer, MemoryText, Merge, Role, RowId, RowSet, Seq, StoredChunk,
        create_private_folder, is_remote, make_private, map_in_parallel, merge_all, private_file,
        sync,
    };
    #[cfg(feature = "keyword")]
    pub use trefoil_keyword::KeywordConfig;
    #[cfg(feature = "semantic")]
    pub use trefoil_semantic::VectorConfig;

    pub(crate) mod active_model;
    pub(crate) mod admission;
    pub(crate) mod collection;
    pub(crate) mod embedding;
    pub(crate) mod external;
    pub(crate) mod forget_queue;
    pub(crate) mod model_migration;
    pub(crate) mod node;
    pub(crate) mod open;
    pub(crate) mod read_view;
    pub(crate) mod refresh;
    pub(crate) mod replay;
    pub(crate) mod tokens;
    #[cfg(feature = "graph")]
    pub(crate) mod typed_rows;
}

/// Entities, relations, communities, and the paths between entities.
pub mod graph {
    #[cfg(feature = "graph")]
    pub use crate::config::EntityExtraction;
    #[cfg(feature = "graph")]
    pub use community_view::CommunityView;
    #[cfg(feature = "graph")]
    pub use summarize::CentralSentences;
    pub use trefoil_core::{
        CommunityId, EntityExtractor, EntityFacet, EntityFacts, EntityId, EntityType, EntityView,
        Extraction, Mention, MentionKind, NamedEntity, PathStep, Proof, RelatedEntity, Relation,
        RelationId, RelationType, RelationView, RelationshipPath, Seen, Subgraph, SubgraphEdge,
        SubgraphNode, Summarizer, Summary, SummaryPassage, SummaryRequest, SummarySource,
        TitledText,
    };
    #[cfg(feature = "graph")]
    pub use trefoil_graph::*;
    #[cfg(feature = "graph")]
    pub use trefoil_store::{CommunityRow, ReportSource};
    #[cfg(feature = "lindera")]
    pub use trefoil_text::MorphologicalExtractor;
    pub use trefoil_text::ScriptExtractor;

    pub(crate) mod answers;
    #[cfg(feature = "graph")]
    pub(crate) mod browse;
    #[cfg(feature = "graph")]
    pub(crate) mod communities;
    #[cfg(feature = "graph")]
    pub(crate) mod community_view;
    #[cfg(feature = "graph")]
    pub(crate) mod describe;
    #[cfg(feature = "graph")]
    pub(crate) mod entities;
    #[cfg(feature = "graph")]
    pub(crate) mod overview;
    #[cfg(feature = "graph")]
    pub(crate) mod paths;
    pub(crate) mod relationships;
    #[cfg(feature = "graph")]
    pub(crate) mod reports;
    #[cfg(feature = "graph")]
    pub(crate) mod summarize;
    #[cfg(feature = "graph")]
    pub(crate) mod within;
    #[cfg(not(feature = "graph"))]
    pub(crate) mod without_graph;
}

/// Queries, results, and the stages between them: plan, retrieval, fusion, reranking, selection.
pub mod search {
    pub use crate::{
        classify::{NameTable, RuleClassifier, expand},
        default_set::{Available, suited_to, suited_weights},
        profile::{FusionSettings, ProfileRule},
    };
    pub use answerability::{AnswerEvidence, Calibration, Feature, Separation};
    pub use blend::{Blended, blend, lift_named};
    pub use evidence::EvidenceWeights;
    pub use fusion::{Adaptive, DistributionBased, RelativeScore, Rrf, fuser};
    pub use isotonic::Isotonic;
    pub use page::Page;
    pub use plan::{plan, question};
    pub use relevance::final_scores;
    pub use select::{Exclusion, MMR_LAMBDA, Selected, cosine, diverse, mmr, select};
    pub use trefoil_core::{
        After, All, Answerability, Any, Comparison, Condition, Content, Cursor, DateRange,
        Embedding, Explanation, FirstPage, Fused, Fuser, Hit, ItemMetadata, KnownName, Lost,
        Missed, NameLookup, Not, Offsets, Operator, OrderKey, Passage, Plan, PlannedRetriever,
        QueryClassification, QueryClassifier, QueryRewrite, QueryText, QueryType, Question, Ranked,
        RankedList, Relevance, RerankConfig, RerankPlan, RetrieverHit, RetrieverMetric,
        RetrieverMetrics, RetrieverPlace, RetrieverScores, RrfConfig, SearchEvent,
        SearchResultType, SeedContext, Selection, SourcePassage, Sources, Stage, StageMetric,
        StagePlace, TermCoverage, WeightedTerm, WhyNot,
    };

    pub(crate) mod answerability;
    pub(crate) mod blend;
    pub(crate) mod diagnostics;
    mod evidence;
    pub(crate) mod explain;
    pub(crate) mod fusion;
    pub(crate) mod graded;
    pub(crate) mod isotonic;
    pub(crate) mod observer;
    pub(crate) mod page;
    pub(crate) mod plan;
    pub(crate) mod pool;
    pub(crate) mod present;
    pub(crate) mod relevance;
    pub(crate) mod rerank;
    pub(crate) mod retrieve;
    pub(crate) mod searcher;
    pub(crate) mod select;
    pub(crate) mod turns;
    mod words;
}

/// Corrective retrieval: grading of passages, and corrections of weak evidence.
pub mod crag {
    #[cfg(feature = "web")]
    pub use crate::searxng::Searxng;
    pub use config::{CragConfig, IncorrectPolicy};
    pub use grade::{GradeCalibration, GradeSeparation, GradeThresholds, JUDGED, overall_score};
    pub use trefoil_core::{
        Correction, CorrectionOutcome, CragAction, CragBasis, CragPlan, CragRelevance, CragReport,
        CragScore, Trust, WebFailure, WebMetadata, WebPage, WebSearch,
    };

    pub(crate) mod config;
    pub(crate) mod correct;
    pub(crate) mod expand;
    pub(crate) mod feedback;
    pub(crate) mod grade;
    pub(crate) mod refine;
    pub(crate) mod rescale;
    pub(crate) mod strips;
}

/// Files and documents to chunks, and chunks to indexes.
pub mod ingest {
    pub use crate::config::Chunking;
    pub use pipeline::Kept;
    pub use trefoil_core::{
        ByteSpan, Chunk, ChunkId, ChunkLevel, Chunker, FileId, LineSpan, Loader,
    };
    pub use trefoil_text::{ChunkSizes, Skipped, StructuralChunker};

    pub(crate) mod background_thread;
    pub(crate) mod embed_queue;
    pub(crate) mod embed_worker;
    pub(crate) mod extract;
    pub(crate) mod inbox;
    pub(crate) mod lead;
    pub(crate) mod merger;
    pub(crate) mod node_threads;
    pub(crate) mod pipeline;
    pub(crate) mod queue_embedder;
    pub(crate) mod redact;
    pub(crate) mod restore;
    pub(crate) mod workers;
}

/// Maintenance of an index: checking, repairing, copying, erasing, counting.
pub mod admin {
    pub use crate::{
        background::catch_panics,
        engine::{EngineStats, tasks::BackgroundTask},
    };
    pub use doctor::{Check, CheckResult, DoctorOptions, HealthReport};
    pub use erase::{ForgetReceipt, ScannedFile};
    pub use repair::RepairReport;
    pub use shared_erasure::{SharedErasure, UncleanNode};
    pub use snapshot::{Manifest, Snapshot, SnapshotPart};
    pub use trefoil_store::{
        Clock, JobCounts, Salvaged, StoreCheck, StoreFault, StoreStats, SystemClock, TableSaved,
        after_fork, before_fork,
    };
    pub use verify::{Fault, Finding, Rows, Verification};

    pub(crate) mod doctor;
    pub(crate) mod erase;
    pub(crate) mod erasure_scan;
    pub(crate) mod export;
    pub(crate) mod forget;
    pub(crate) mod opening;
    pub(crate) mod repair;
    #[cfg(feature = "schema")]
    mod schema;
    pub(crate) mod shared_erasure;
    pub(crate) mod snapshot;
    pub(crate) mod verify;
}

/// Terms of a text: analysis, tokens, languages.
pub mod text {
    pub use trefoil_core::{Analyzer, Token, TokenCounter};
    pub use trefoil_text::{ScriptAnalyzer, language_of};
}

/// Embedders and rerankers; fetching, listing and checking of ONNX models.
pub mod model {
    pub use crate::config::Rerankers;
    pub use trefoil_core::{
        Array2, Deadline, Embedder, EmbeddingSpace, LanguageMeans, Pooling, Quantization,
        QueryVectors, QuestionCodes, Reranker, TokenCodes, TokenMeans, TokenSpace, ndarray,
    };
    #[cfg(feature = "onnx")]
    pub use trefoil_model::*;
}

#[cfg(feature = "tokio")]
pub use async_engine::AsyncEngine;
pub use builder::EngineBuilder;
pub use config::{EngineConfig, Model, TokenModel, TokenVectors};
pub use engine::Engine;
pub use ingest::pipeline::{IngestOptions, Ingested};
/// A calendar day, as documents and filters use it.
pub use jiff::civil::Date;
pub use profile::Profile;
pub use progress::Progress;
#[doc(hidden)]
pub use trefoil_core::string_conversions;
pub use trefoil_core::{
    BoxError, Cancel, Degraded, Document, DocumentFormat, Error, ErrorKind, FieldError, Fusion,
    Highlight, Language, Metadata, Part, Result, Retriever, RetrieverId, Score, SearchFilters,
    SearchOptions, SearchQuery, SearchResult, SearchResultItem, SearchStrategy, SearchWeights,
    Weight,
};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
