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
//! `Engine::search` and `Engine::ingest` are one short function each; the stages
//! between are pure: [`plan`] decides, a [`Fuser`] fuses, [`final_scores`] scores.

mod blend;
#[cfg(feature = "graph")]
mod browse;
mod calibration;
pub mod classify;
mod config;
mod crag;
mod default_set;
mod fuse;
mod grade;
mod isotonic;
pub mod page;
mod plan;
mod profile;
mod relevance;
pub mod scores;
pub mod select;

#[cfg(feature = "tokio")]
mod async_engine;
#[cfg(feature = "engine")]
mod background;
#[cfg(feature = "engine")]
mod collection;
#[cfg(feature = "graph")]
mod communities;
#[cfg(feature = "engine")]
mod correct;
#[cfg(feature = "graph")]
mod describe;
#[cfg(feature = "engine")]
mod digest;
#[cfg(feature = "engine")]
mod doctor;
#[cfg(feature = "engine")]
mod embed;
#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "graph")]
mod entities;
#[cfg(feature = "engine")]
mod erasure_scan;
#[cfg(feature = "engine")]
mod explain;
#[cfg(feature = "engine")]
mod export;
#[cfg(feature = "engine")]
mod extract;
#[cfg(feature = "engine")]
mod feedback;
#[cfg(feature = "engine")]
mod forget;
#[cfg(feature = "engine")]
mod index_repair;
#[cfg(feature = "engine")]
mod ingest;
#[cfg(feature = "engine")]
mod leaves;
#[cfg(feature = "engine")]
pub mod memory;
#[cfg(feature = "engine")]
mod model_migration;
#[cfg(feature = "engine")]
mod models;
#[cfg(feature = "openai")]
mod openai;
#[cfg(feature = "graph")]
mod overview;
#[cfg(feature = "engine")]
mod pool;
#[cfg(feature = "engine")]
mod present;
#[cfg(feature = "engine")]
mod read_view;
#[cfg(feature = "engine")]
mod redact;
#[cfg(feature = "engine")]
mod refine;
#[cfg(feature = "graph")]
mod relate;
#[cfg(feature = "engine")]
mod relationships;
#[cfg(feature = "engine")]
mod repair;
#[cfg(feature = "engine")]
mod replay;
#[cfg(feature = "graph")]
mod reports;
#[cfg(feature = "engine")]
mod rerank;
#[cfg(feature = "engine")]
mod rescale;
#[cfg(feature = "engine")]
mod retrieve;
#[cfg(feature = "web")]
mod searxng;
#[cfg(feature = "engine")]
mod snapshot;
#[cfg(feature = "engine")]
mod strips;
#[cfg(feature = "graph")]
mod summarize;
#[cfg(feature = "engine")]
mod trace;
#[cfg(feature = "engine")]
mod verify;
#[cfg(feature = "graph")]
mod within;
#[cfg(all(feature = "engine", not(feature = "graph")))]
mod without_graph;

#[cfg(feature = "tokio")]
pub use async_engine::AsyncEngine;
#[cfg(feature = "engine")]
pub use background::{BackgroundTask, catch_panics};
pub use blend::{Blended, blend, lift_named};
pub use calibration::{AnswerEvidence, Calibration, Feature, Separation};
pub use classify::{NameTable, RuleClassifier};
#[cfg(feature = "graph")]
pub use config::Extractor;
#[cfg(feature = "engine")]
pub use config::MemoryUpkeep;
pub use config::{EngineConfig, Model, Rerankers};
pub use crag::{CragConfig, IncorrectPolicy};
pub use default_set::{Available, suited_to, suited_weights};
#[cfg(feature = "engine")]
pub use doctor::{Check, CheckResult, DoctorOptions, HealthReport};
#[cfg(feature = "engine")]
pub use engine::{Engine, EngineStats};
#[cfg(feature = "engine")]
pub use forget::{ForgetReceipt, ScannedFile};
pub use fuse::{Adaptive, DistributionBased, RelativeScore, Rrf, fuser};
pub use grade::{GradeCalibration, GradeSeparation, GradeThresholds, JUDGED, overall_score};
#[cfg(feature = "engine")]
pub use index_repair::RepairReport;
#[cfg(feature = "engine")]
pub use ingest::{IngestOptions, IngestProgress, Ingested, Kept, Skipped};
pub use isotonic::Isotonic;
/// A calendar day, as documents and filters use it.
#[cfg(feature = "engine")]
pub use jiff::civil::Date;
#[cfg(feature = "openai")]
pub use openai::{AnswerFormat, OpenAi, OpenAiConfig};
pub use plan::{plan, question};
pub use profile::{Profile, Rule, Settings};
pub use relevance::final_scores;
#[cfg(feature = "web")]
pub use searxng::Searxng;
#[cfg(feature = "engine")]
pub use snapshot::{Manifest, Snapshot, SnapshotPart};
#[cfg(feature = "graph")]
pub use summarize::CentralSentences;
pub use trefoil_core::*;
/// Making and walking of the graph.
#[cfg(feature = "graph")]
pub use trefoil_graph as graph;
#[cfg(feature = "keyword")]
pub use trefoil_keyword::KeywordConfig;
/// Fetching, listing and checking of models.
#[cfg(feature = "onnx")]
pub use trefoil_model as model;
#[cfg(feature = "engine")]
pub use trefoil_store::{Clock, JobCounts, StoreStats, SystemClock};
#[cfg(feature = "graph")]
pub use trefoil_store::{CommunityRow, ReportSource};
#[cfg(feature = "engine")]
pub use trefoil_store::{Salvaged, StoreCheck, StoreFault, TableSaved};
#[cfg(feature = "lindera")]
pub use trefoil_text::MorphologicalExtractor;
#[cfg(feature = "engine")]
pub use trefoil_text::{ScriptExtractor, language_of};
#[cfg(feature = "engine")]
pub use verify::{Fault, Finding, Rows, Verification};
