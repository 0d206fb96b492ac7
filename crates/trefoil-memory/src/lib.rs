//! Observations become claims, under policies, corrected by feedback; recall is a search.
//!
//! The domain is values and pure functions. It reads no clock and names no search strategy; what
//! it needs is handed in, and only a [`SourceProbe`] looks at files. [`Memory`] puts it on an engine.
//!
//! ```
//! use jiff::Timestamp;
//! use trefoil_memory::{
//!     Boundary, IdGenerator, ObservationDraft, Policy, admit,
//!     extract::{Extractor, RuleExtractor},
//! };
//!
//! let (ids, now) = (IdGenerator::seeded(1), Timestamp::UNIX_EPOCH);
//! let told = ObservationDraft::message("Mika: I live in Kyoto now. My mail is mika@example.com.");
//! let observation = admit(told, &Policy::built_in()?)?.into_observation(ids.generate(now)?, now)?;
//! assert!(observation.content.ends_with("My mail is [email]."));
//!
//! let mut boundary = Boundary::default();
//! boundary.boundary_classes.insert(observation.boundary_class);
//! let found = RuleExtractor::default().extract(&observation, &boundary)?;
//! assert_eq!(found.claims[0].text, "Mika: I live in Kyoto now.");
//! assert_eq!(found.claims[0].object.as_deref(), Some("Kyoto"));
//! # Ok::<(), trefoil_core::Error>(())
//! ```

mod boundary;
mod choice;
mod claim;
mod compress;
mod context;
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
mod rolling;
mod rows;
mod rule;
mod schedule;
mod session;
mod source_tag;
mod tags;
mod ttl;
mod unit;
mod validate;
mod version;

pub use boundary::{AllowTag, Boundary, InvariantDefinition};
pub use claim::{Claim, ClaimKind, EpistemicStatus, Importance, Origin, Scope};
pub use compress::{Compressor, KindCompressor};
pub use context::{ActiveContext, ContextItem, ScoreBreakdown, ScoredClaim};
pub use critic::{
    Corrected, Critic, DUPLICATE_COSINE, QUALITY_HALF_LIFE_DAYS, Standing, UTILITY_HALF_LIFE_DAYS,
    representative, unheard,
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
    Maintained, Memory, MemoryView, Opinion, Overview, PackedContext, RecalledEpisode,
    RecalledEpisodes, RecordedEvent, RelatedUnit, ScoringParams, Step, UnitRecord, Worked,
};
pub use observation::{Observation, ObservationDraft, ObservationKind, SourceType};
pub use open_loop::{OpenLoop, open_loops};
pub use policy::{
    ClassPolicy, HybridPolicy, Policy, RecencyPolicy, RerankPolicy, RetrievalPolicy, ScopePolicy,
};
pub use probe::{ContentProbe, Fingerprints, GitProbe, SourceProbe};
pub use provenance::{GitProvenance, Provenance};
pub use reflect::{Reflection, reflect};
pub use rolling::{RollingKey, rolling_input};
pub use rule::{Rule, RuleFacts};
pub use schedule::{MemoryJob, Written};
pub use session::Session;
pub use source_tag::SourceTag;
pub use tags::Tags;
pub use ttl::Ttl;
pub use unit::{Affect, AffectLabel, Unit, UnitId};
pub use validate::{BoundaryValidator, Payload, PolicyValidator, Validation, admit, admit_claim};
pub use version::PolicyVersion;
