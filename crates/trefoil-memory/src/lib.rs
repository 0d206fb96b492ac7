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
//! let found = memory.activate(&RecallQuery::new("매운 음식"), &Boundary::default())?;
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

mod boundary;
mod choice;
mod claim;
mod compress;
mod context;
mod context_note;
mod critic;
mod dice;
mod draft;
mod evidence;
pub mod extract;
mod faces;
mod feedback;
mod hash;
mod id;
pub mod integrate;
mod invariant;
mod layer;
mod lifecycle;
mod memory;
mod observation;
mod open_loop;
pub mod pack;
mod policy;
mod probe;
mod provenance;
pub mod recall;
mod reflect;
mod requester;
mod rolling;
mod rows;
mod rule;
mod same;
mod session;
mod source_tag;
mod summary_body;
mod tags;
mod ttl;
mod unit;
mod validate;
mod version;

pub use boundary::{AllowTag, Boundary, InvariantDefinition};
pub use claim::{Claim, ClaimKind, EpistemicStatus, Importance, Origin, Scope};
pub use compress::{Compressor, KindCompressor};
pub use context::{ActiveContext, ContextItem, ScoreBreakdown, ScoredClaim};
pub use context_note::ContextNote;
pub use critic::{
    Corrected, Critic, QUALITY_HALF_LIFE_DAYS, Standing, UTILITY_HALF_LIFE_DAYS, unheard,
};
pub use draft::ClaimDraft;
pub use evidence::{Evidence, EvidenceMethod};
pub use faces::{MemoryStore, PolicyStore, SearchEngine};
pub use feedback::{Feedback, FeedbackSignal, Rating};
pub use hash::ContentHash;
pub use id::{IdGenerator, MemoryId};
pub use invariant::{Invariant, InvariantEvaluator, RuleEvaluator};
pub use layer::{FoundUnit, Layer, View, views};
pub use lifecycle::{Action, Fold, action, by_topic, folds, is_stale, status, verify};
pub use memory::{
    Activated, ContextRequest, Deed, FindOptions, FoundUnits, Heard, LinkedClaim, MaintainOptions,
    Maintained, Memory, MemoryRelation, MemoryView, Opinion, Overview, PackedContext,
    RecalledEpisode, RecalledEpisodes, RecordedEvent, RelatedUnit, ScoringParams, Step, UnitRecord,
    Worked,
};
pub use observation::{Observation, ObservationDraft, ObservationKind, SourceType};
pub use open_loop::{OpenLoop, open_loops};
pub use policy::{
    ClassPolicy, HybridPolicy, Policy, RecencyPolicy, RerankPolicy, RetrievalPolicy, ScopePolicy,
};
pub use probe::{ContentProbe, Fingerprints, GitProbe, NoProbe, SourceProbe};
pub use provenance::{GitProvenance, Provenance};
pub use reflect::{Reflection, ReflectionReason, reflect};
pub use requester::Requester;
pub use rolling::{RollingKey, rolling_input};
pub use rule::{Rule, RuleFacts};
pub use session::Session;
pub use source_tag::SourceTag;
pub use summary_body::{KeyEvent, SharedLoop, SharedState, SummaryBody};
pub use tags::Tags;
pub use ttl::Ttl;
pub use unit::{Affect, AffectLabel, Unit, UnitId};
pub use validate::{BoundaryValidator, Payload, PolicyValidator, Validation, admit, admit_claim};
pub use version::PolicyVersion;
