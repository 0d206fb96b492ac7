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
//! [`Engine::search`] and [`Engine::ingest`] are one short function each, one line a stage. The
//! rooms below are in the order in which they may use each other.

#[cfg(feature = "tokio")]
mod async_engine;
mod background;
mod builder;
pub mod classify;
mod config;
mod default_set;
mod digest;
mod engine;
mod layout;
pub mod memory;
mod models;
#[cfg(feature = "openai")]
mod openai;
mod profile;
#[cfg(feature = "web")]
mod searxng;
mod state;

/// The indexes, which follow the store.
mod index {
    pub(crate) mod active_model;
    pub(crate) mod admission;
    pub(crate) mod collection;
    pub(crate) mod embedding;
    pub(crate) mod model_migration;
    pub(crate) mod open;
    pub(crate) mod read_view;
    pub(crate) mod replay;
}

/// What is about the graph only: its making and walking, paths, communities, entities.
pub mod graph {
    #[cfg(feature = "graph")]
    pub use trefoil_graph::*;

    pub(crate) mod answers;
    #[cfg(feature = "graph")]
    pub(crate) mod browse;
    #[cfg(feature = "graph")]
    pub(crate) mod communities;
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

/// The stages of a search.
pub mod search {
    pub use page::Page;
    pub use select::{Exclusion, MMR_LAMBDA, Selected, cosine, diverse, mmr, select};

    pub(crate) mod answerability;
    pub(crate) mod blend;
    pub(crate) mod diagnostics;
    pub(crate) mod explain;
    pub(crate) mod fusion;
    pub(crate) mod graded;
    pub(crate) mod isotonic;
    pub(crate) mod page;
    pub(crate) mod plan;
    pub(crate) mod pool;
    pub(crate) mod present;
    pub(crate) mod relevance;
    pub(crate) mod rerank;
    pub(crate) mod retrieve;
    pub(crate) mod searcher;
    pub(crate) mod select;
}

/// Corrective retrieval.
mod crag {
    pub(crate) mod config;
    pub(crate) mod correct;
    pub(crate) mod expand;
    pub(crate) mod feedback;
    pub(crate) mod grade;
    pub(crate) mod refine;
    pub(crate) mod rescale;
    pub(crate) mod strips;
}

/// Documents to indexes.
mod ingest {
    pub(crate) mod embed_worker;
    pub(crate) mod extract;
    pub(crate) mod pipeline;
    pub(crate) mod redact;
}

/// Care of an index: checking, repairing, copying, erasing.
mod admin {
    pub(crate) mod doctor;
    pub(crate) mod erase;
    pub(crate) mod erasure_scan;
    pub(crate) mod export;
    pub(crate) mod opening;
    pub(crate) mod repair;
    pub(crate) mod snapshot;
    pub(crate) mod verify;
}

pub use admin::doctor::{Check, CheckResult, DoctorOptions, HealthReport};
pub use admin::erase::{ForgetReceipt, ScannedFile};
pub use admin::repair::RepairReport;
pub use admin::snapshot::{Manifest, Snapshot, SnapshotPart};
pub use admin::verify::{Fault, Finding, Rows, Verification};
#[cfg(feature = "tokio")]
pub use async_engine::AsyncEngine;
pub use background::catch_panics;
pub use builder::EngineBuilder;
pub use classify::{NameTable, RuleClassifier};
#[cfg(feature = "graph")]
pub use config::Extractor;
pub use config::MemoryUpkeep;
pub use config::{Chunking, EngineConfig, Model, OwnRetriever, Rerankers};
pub use crag::config::{CragConfig, IncorrectPolicy};
pub use crag::grade::{GradeCalibration, GradeSeparation, GradeThresholds, JUDGED, overall_score};
pub use default_set::{Available, suited_to, suited_weights};
pub use engine::tasks::BackgroundTask;
pub use engine::{Engine, EngineStats};
#[cfg(feature = "graph")]
pub use graph::summarize::CentralSentences;
pub use ingest::pipeline::{IngestOptions, IngestProgress, Ingested, Kept, Skipped};
/// A calendar day, as documents and filters use it.
pub use jiff::civil::Date;
#[cfg(feature = "openai")]
pub use openai::{AnswerFormat, OpenAi, OpenAiConfig};
pub use profile::{Profile, Rule, Settings};
pub use search::answerability::{AnswerEvidence, Calibration, Feature, Separation};
pub use search::blend::{Blended, blend, lift_named};
pub use search::fusion::{Adaptive, DistributionBased, RelativeScore, Rrf, fuser};
pub use search::isotonic::Isotonic;
pub use search::plan::{plan, question};
pub use search::relevance::final_scores;
#[cfg(feature = "web")]
pub use searxng::Searxng;
pub use trefoil_core::*;
#[cfg(feature = "keyword")]
pub use trefoil_keyword::KeywordConfig;
/// Fetching, listing and checking of models.
#[cfg(feature = "onnx")]
pub use trefoil_model as model;
pub use trefoil_store::{Clock, JobCounts, StoreStats, SystemClock};
#[cfg(feature = "graph")]
pub use trefoil_store::{CommunityRow, ReportSource};
pub use trefoil_store::{Salvaged, StoreCheck, StoreFault, TableSaved};
#[cfg(feature = "lindera")]
pub use trefoil_text::MorphologicalExtractor;
pub use trefoil_text::{
    ChunkSizes, ScriptAnalyzer, ScriptExtractor, StructuralChunker, language_of,
};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
