//! Observations become claims, under policies, corrected by feedback; recall is a search.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! use std::sync::Arc;
//!
//! use trefoil::{Engine, EngineConfig, Model};
//! use trefoil_memory::{Boundary, Memory, ObservationDraft, recall::RecallQuery};
//!
//! let words_only = EngineConfig { model: Model::None, ..EngineConfig::default() };
//! let engine = Arc::new(Engine::open_with(folder.path(), words_only)?);
//! let memory = Memory::new(engine);
//! memory.observe(ObservationDraft::message("Mika: I live in Kyoto. I prefer green tea."))?;
//! memory.observe(ObservationDraft::message("지훈: 저는 매운 음식을 좋아하지 않아요."))?;
//! memory.wait_until_indexed()?; // claims are found in the background; this waits for them
//!
//! let found = memory.recall(&RecallQuery::new("매운 음식"), &Boundary::default())?;
//! assert_eq!(found.claims[0].claim.text, "지훈: 저는 매운 음식을 좋아하지 않아요.");
//! assert_eq!(found.claims[0].claim.object.as_deref(), Some("매운 음식"));
//! # Ok::<(), trefoil::Error>(())
//! ```
//!
//! [`Memory`] puts `trefoil-memory-core` on an engine: its observations, claims and policies
//! are values, and its rules are pure functions.

mod memory;
pub mod recall;
mod rows;
mod summary;

pub use memory::{
    ContextRequest, FeedbackInput, FeedbackOutcome, FindOptions, FoundUnits, LinkedClaim,
    MaintainOptions, MaintenanceAction, MaintenanceReport, MaintenanceStep, Memory, MemoryRelation,
    MemoryView, Overview, PackedContext, RecalledClaims, RecalledEpisode, RecalledEpisodes,
    RecordedEvent, RelatedUnit, ScoringParams, UnitRecord, WorkReport,
};
pub use recall::{
    ActiveContext, ContextItem, FoundUnit, Layer, ScoreBreakdown, ScoredClaim, View, pack, views,
};
pub use summary::{KeyEvent, RollingKey, SharedLoop, SharedState, SummaryBody, rolling_input};
pub use trefoil_core::{
    AffectLabel, ClaimKind, EpistemicStatus, EvidenceMethod, FeedbackSignal, Importance,
    ObservationKind, Scope, SourceType,
};
pub use trefoil_memory_core::{
    Action, Affect, Claim, ClaimDraft, ClaimEvidence, ClaimScores, Compressor, ContentHash,
    ContentProbe, ContextNote, Corrected, Critic, Feedback, Fingerprints, GitProbe, GitProvenance,
    IdGenerator, MemoryId, NoProbe, Observation, ObservationDraft, OpenLoop, Origin, Provenance,
    QUALITY_HALF_LIFE_DAYS, Rating, Reflection, ReflectionReason, Session, SourceProbe, SourceTag,
    SummaryGroup, Tags, UTILITY_HALF_LIFE_DAYS, Unit, UnitId, action, admit, admit_claim, by_topic,
    extract, integrate, is_stale, open_loops, recency_decay, reflect, status, summary_groups,
    verify,
};
pub use trefoil_policy::{
    AllowTag, Boundary, ClaimFacts, ClassPolicy, HybridPolicy, Invariant, InvariantDefinition,
    Payload, Policy, PolicyRule, PolicyValidator, PolicyVersion, RecencyPolicy, Requester,
    RerankPolicy, RetrievalPolicy, RuleEvaluator, RuleFacts, ScopePolicy, Ttl, Validation,
};
