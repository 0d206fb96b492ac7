//! Memory as values and pure functions: observations, claims, how new claims are integrated
//! with existing ones, how feedback and time change their scores. No store, no engine and no
//! clock; only a [`SourceProbe`] reads files. `trefoil-memory` puts this on an engine.
//!
//! ```
//! use jiff::Timestamp;
//! use trefoil_memory_core::{
//!     IdGenerator, ObservationDraft, admit,
//!     extract::{ClaimExtractor, RuleExtractor},
//! };
//! use trefoil_policy::{Boundary, Policy};
//!
//! let (ids, now) = (IdGenerator::seeded(1), Timestamp::UNIX_EPOCH);
//! let draft = ObservationDraft::message("Mika: I prefer green tea.");
//! let observation = admit(draft, &Policy::built_in()?)?.into_observation(ids.generate(now)?, now)?;
//! assert_eq!(observation.content, "Mika: I prefer green tea.");
//!
//! let found = RuleExtractor::default().extract(&observation, &Boundary::default())?;
//! let (claim, _warnings) = found.claims[0].clone().into_claim(ids.generate(now)?, now)?;
//! assert_eq!(claim.object.as_deref(), Some("green tea"));
//! # Ok::<(), trefoil_core::Error>(())
//! ```

mod claim;
pub mod extract;
mod id;
mod observation;
mod provenance;
mod redact;
mod tags;
mod unit;

pub use claim::{
    Action, Claim, ClaimDraft, ClaimEvidence, ClaimScores, ContentHash, ContentProbe, Corrected,
    Critic, Feedback, Fingerprints, GitProbe, NoProbe, Origin, QUALITY_HALF_LIFE_DAYS, Rating,
    SourceProbe, SourceTag, SummaryGroup, UTILITY_HALF_LIFE_DAYS, action, by_topic, integrate,
    is_stale, recency_decay, sha256_hex, status, summary_groups, verify,
};
pub use id::{IdGenerator, MemoryId};
pub use observation::{
    Compressor, ContextNote, Observation, ObservationDraft, OpenLoop, Reflection, ReflectionReason,
    Session, open_loops, reflect,
};
pub use provenance::{GitProvenance, Provenance};
pub use redact::{admit, admit_claim, cut_out};
pub use tags::Tags;
pub use unit::{Affect, Unit, UnitId, whole_seconds};
