//! Claims: what is held to be so, what shows it, and how it changes.

mod content_hash;
mod critic;
mod draft;
mod evidence;
mod feedback;
pub mod integrate;
mod lifecycle;
mod probe;
mod source_tag;

pub use self::{
    content_hash::*, critic::*, draft::*, evidence::*, feedback::*, lifecycle::*, probe::*,
    source_tag::*,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil_core::{
    BoundaryClass, ClaimId, ClaimKind, EpistemicStatus, Error, Importance, ObservationId, Result,
    Scope, Score, SessionId, UnitKind, UnitState,
};
use trefoil_policy::{ClaimFacts, Ttl};

use crate::{Provenance, Tags, Unit, UnitId};

/// What a claim comes from.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Something that happened.
    Observed(ObservationId),
    /// Other claims, at least one, in order, each once.
    Derived(#[cfg_attr(feature = "schema", schemars(length(min = 1)))] Vec<ClaimId>),
}

/// Something that is held to be so.
///
/// Three values are kept apart: `confidence` that it is true, which feedback changes;
/// `epistemic_status`, what shows it; and `state`, how far it has come in its life.
///
/// Made from a [`ClaimDraft`], which checks all limits; the JSON of a claim is read in the
/// same way.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "ClaimDraft")]
pub struct Claim {
    /// Its id.
    pub id: ClaimId,
    /// What it says, 1–65,536 bytes.
    pub text: String,
    /// What it says, in kind.
    pub kind: ClaimKind,
    /// How far it holds.
    pub scope: Scope,
    /// Who may see it.
    pub boundary_class: BoundaryClass,
    /// What it comes from.
    pub origin: Origin,
    /// How well it is put.
    pub quality: Score,
    /// Confidence that it is true.
    pub confidence: Score,
    /// How much it has helped: any finite number, 0 at first.
    pub utility: f64,
    /// How recent it was at `decayed_at`.
    pub recency: Score,
    /// Hash of `text`.
    pub content_hash: ContentHash,
    /// What can be looked at to verify it, sorted, each once.
    pub sources: Vec<SourceTag>,
    /// What is known of whether it is so; verified only with a source.
    pub epistemic_status: EpistemicStatus,
    /// When it was last checked.
    pub last_verified_at: Timestamp,
    /// How long it stays fresh after that.
    pub ttl: Ttl,
    /// How much is lost with it.
    pub importance: Importance,
    /// What it is about, at most 2,048 bytes; so `predicate` and `object`.
    pub subject: Option<String>,
    /// What it says of it, in small letters; a claim with one is a fact of the graph.
    pub predicate: Option<String>,
    /// What stands in that relation to it.
    pub object: Option<String>,
    /// From when it holds.
    pub valid_from: Option<Timestamp>,
    /// Until when it holds, this moment left out.
    pub valid_to: Option<Timestamp>,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When what it tells happened.
    pub occurred_at: Option<Timestamp>,
    /// From when its age is counted for recency: its making, or the last feedback that it
    /// helped, merge or check.
    pub recency_anchor: Timestamp,
    /// Up to when decay has been applied.
    pub decayed_at: Timestamp,
    /// The session that a claim of scope session is found in.
    pub session: Option<SessionId>,
    /// How far it has come in its life.
    pub state: UnitState,
    /// How much it stands out.
    pub salience: Score,
    /// True if a person wants it kept in sight.
    pub pin: bool,
    /// Its labels.
    #[serde(skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Who or what made it.
    pub provenance: Option<Provenance>,
}

impl Claim {
    /// Most bytes of a claim's text.
    pub const MAX_TEXT: usize = 65_536;
    /// Most bytes of a subject, a predicate or an object.
    pub const MAX_TERM: usize = 2_048;

    /// What kind of unit it is: a fact if it has a predicate.
    pub const fn unit_kind(&self) -> UnitKind {
        if self.predicate.is_some() { UnitKind::Fact } else { UnitKind::Claim }
    }

    /// What it has in common with other units.
    pub fn unit(&self) -> Unit {
        Unit {
            occurred_at: self.occurred_at,
            updated_at: self.updated_at,
            state: self.state,
            confidence: self.confidence,
            salience: self.salience,
            boundary: self.boundary_class,
            pin: self.pin,
            tags: self.tags.clone(),
            ..Unit::new(UnitId::Claim(self.id.clone()), self.unit_kind(), self.created_at)
        }
    }

    /// What rules of a policy see of it.
    pub fn facts(&self) -> ClaimFacts<'_> {
        ClaimFacts {
            kind: self.kind,
            scope: self.scope,
            boundary_class: self.boundary_class,
            text: &self.text,
            confidence: f64::from(self.confidence.get()),
            quality: f64::from(self.quality.get()),
            utility: self.utility,
            created_at: self.created_at,
            sources: self.sources.iter().map(ToString::to_string).collect(),
            tags: self.tags.iter().collect(),
        }
    }

    /// True from `valid_from` on and before `valid_to`.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.valid_from.is_none_or(|from| from <= now) && self.valid_to.is_none_or(|to| now < to)
    }
}

impl TryFrom<ClaimDraft> for Claim {
    type Error = Error;

    /// Reads a whole claim; malformed source tags are left out.
    ///
    /// # Errors
    /// [`Error::InvalidField`] without an id or a time, or as [`ClaimDraft::into_claim`].
    fn try_from(draft: ClaimDraft) -> Result<Self> {
        let id = draft.id.clone();
        let id = id.ok_or_else(|| Error::invalid_field("id of a claim", "absent", "an id"))?;
        let at = draft.created_at.ok_or_else(|| {
            Error::invalid_field("created_at of a claim", "absent", "a time as RFC 3339")
        })?;
        Ok(draft.into_claim(id, at)?.0)
    }
}
