//! Observations become claims, under policies, corrected by feedback; recall is a search.
//!
//! This crate is the domain: values and pure functions. It reads no clock and no file, and
//! names no search strategy; what it needs is handed in.

mod boundary;
mod choice;
mod claim;
mod context;
mod dice;
mod draft;
mod evidence;
mod feedback;
mod hash;
mod id;
mod invariant;
mod observation;
mod policy;
mod provenance;
pub mod recall;
mod rule;
mod session;
mod source_tag;
mod tags;
mod ttl;
mod unit;
mod validate;
mod version;

pub use boundary::{AllowTag, Boundary, InvariantDefinition};
pub use claim::{Claim, ClaimKind, EpistemicStatus, Importance, Origin, Scope};
pub use context::{ActiveContext, ContextItem, ScoreBreakdown, ScoredClaim};
pub use draft::ClaimDraft;
pub use evidence::{Evidence, EvidenceMethod};
pub use feedback::{Feedback, FeedbackSignal, Rating};
pub use hash::ContentHash;
pub use id::{IdGenerator, MemoryId};
pub use invariant::{Invariant, InvariantEvaluator, RuleEvaluator};
pub use observation::{Observation, ObservationDraft, ObservationKind, SourceType};
pub use policy::{
    ClassPolicy, HybridPolicy, Policy, RecencyPolicy, RerankPolicy, RetrievalPolicy, ScopePolicy,
};
pub use provenance::{GitProvenance, Provenance};
pub use rule::{Rule, RuleFacts};
pub use session::Session;
pub use source_tag::SourceTag;
pub use tags::Tags;
pub use ttl::Ttl;
pub use unit::{Affect, AffectLabel, Unit, UnitId};
pub use validate::{BoundaryValidator, Payload, PolicyValidator, Validation, admit};
pub use version::PolicyVersion;
