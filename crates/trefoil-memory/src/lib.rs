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
//! [`Memory`] puts the domain on an engine. The domain itself is values and pure functions: it
//! reads no clock, names no search strategy, and only a [`SourceProbe`] looks at files.
//!
//! ```
//! use jiff::Timestamp;
//! use trefoil_memory::{IdGenerator, ObservationDraft, Policy, admit};
//!
//! let (ids, now) = (IdGenerator::seeded(1), Timestamp::UNIX_EPOCH);
//! let told = ObservationDraft::message("My mail is mika@example.com.");
//! let observation = admit(told, &Policy::built_in()?)?.into_observation(ids.generate(now)?, now)?;
//! assert_eq!(observation.content, "My mail is [email].");
//! # Ok::<(), trefoil_core::Error>(())
//! ```

mod claim;
pub mod extract;
mod id;
mod memory;
mod observation;
mod provenance;
pub mod recall;
mod redact;
mod rows;
mod summary;
mod tags;
mod unit;

pub use claim::{
    Action, Claim, ClaimDraft, ClaimEvidence, ClaimScores, ContentHash, ContentProbe, Corrected,
    Critic, Feedback, Fingerprints, GitProbe, NoProbe, Origin, QUALITY_HALF_LIFE_DAYS, Rating,
    SourceProbe, SourceTag, SummaryGroup, UTILITY_HALF_LIFE_DAYS, action, by_topic, integrate,
    is_stale, status, summary_groups, verify,
};
pub use id::{IdGenerator, MemoryId};
pub use memory::{
    ContextRequest, FeedbackInput, FeedbackOutcome, FindOptions, FoundUnits, LinkedClaim,
    MaintainOptions, MaintenanceAction, MaintenanceReport, MaintenanceStep, Memory, MemoryRelation,
    MemoryView, Overview, PackedContext, RecalledClaims, RecalledEpisode, RecalledEpisodes,
    RecordedEvent, RelatedUnit, ScoringParams, UnitRecord, WorkReport,
};
pub use observation::{
    Compressor, ContextNote, Observation, ObservationDraft, OpenLoop, Reflection, ReflectionReason,
    Session, open_loops, reflect,
};
pub use provenance::{GitProvenance, Provenance};
pub use recall::{
    ActiveContext, ContextItem, FoundUnit, Layer, ScoreBreakdown, ScoredClaim, View, pack, views,
};
pub use redact::{admit, admit_claim};
pub use summary::{KeyEvent, RollingKey, SharedLoop, SharedState, SummaryBody, rolling_input};
pub use tags::Tags;
pub use trefoil_core::{
    AffectLabel, ClaimKind, EpistemicStatus, EvidenceMethod, FeedbackSignal, Importance,
    ObservationKind, Scope, SourceType,
};
pub use trefoil_policy::{
    AllowTag, Boundary, ClaimFacts, ClassPolicy, HybridPolicy, Invariant, InvariantDefinition,
    Payload, Policy, PolicyRule, PolicyValidator, PolicyVersion, RecencyPolicy, Requester,
    RerankPolicy, RetrievalPolicy, RuleEvaluator, RuleFacts, ScopePolicy, Ttl, Validation,
};
pub use unit::{Affect, Unit, UnitId};
