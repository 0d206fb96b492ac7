use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil_core::{
    AffectLabel, BoundaryClass, ChunkId, ClaimId, Error, LoopId, ObservationId, Result, Score,
    SummaryId, UnitKind, UnitState,
};

use crate::Tags;

/// What all that can be found has in common, whatever its body is.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Unit {
    /// Its id, with the prefix of its kind.
    pub id: UnitId,
    /// What its body is.
    pub kind: UnitKind,
    /// When what it tells happened; see [`Unit::happened_at`].
    #[serde(alias = "occurred_at")]
    pub occurred_at: Option<Timestamp>,
    /// When it was written.
    #[serde(alias = "created_at")]
    pub created_at: Timestamp,
    /// When it was last changed.
    #[serde(alias = "updated_at")]
    pub updated_at: Timestamp,
    /// What wrote it: chat, notification, extraction…
    pub source: Option<String>,
    /// How far it has come in its life.
    #[serde(default)]
    pub state: UnitState,
    /// Confidence that it is true.
    #[serde(default = "half")]
    pub confidence: Score,
    /// How much it stands out.
    #[serde(default)]
    pub salience: Score,
    /// Who may see it.
    #[serde(default)]
    pub boundary: BoundaryClass,
    /// True if a person wants it kept in sight.
    #[serde(default)]
    pub pin: bool,
    /// Its labels.
    #[serde(default)]
    pub tags: Tags,
    /// The feeling it tells of.
    pub affect: Option<Affect>,
}

impl Unit {
    /// A unit as it is when nothing more is known of it.
    pub fn new(id: UnitId, kind: UnitKind, created_at: Timestamp) -> Self {
        let created_at = whole_seconds(created_at);
        Self {
            id,
            kind,
            occurred_at: None,
            created_at,
            updated_at: created_at,
            source: None,
            state: UnitState::Raw,
            confidence: Score::HALF,
            salience: Score::ZERO,
            boundary: BoundaryClass::Internal,
            pin: false,
            tags: Tags::default(),
            affect: None,
        }
    }

    /// When it happened: when it was written, if nobody says otherwise.
    pub fn happened_at(&self) -> Timestamp {
        self.occurred_at.unwrap_or(self.created_at)
    }
}

/// The id of a unit of any kind.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum UnitId {
    /// Of a claim.
    Claim(ClaimId),
    /// Of an observation.
    Observation(ObservationId),
    /// Of a summary.
    Summary(SummaryId),
    /// Of something that is left to do.
    Loop(LoopId),
    /// Of a span of a document.
    Chunk(ChunkId),
}

impl UnitId {
    /// The id as text, prefix included.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Claim(id) => id.as_str(),
            Self::Observation(id) => id.as_str(),
            Self::Summary(id) => id.as_str(),
            Self::Loop(id) => id.as_str(),
            Self::Chunk(id) => id.as_str(),
        }
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for UnitId {
    type Err = Error;

    fn from_str(id: &str) -> Result<Self> {
        let invalid = |_| Error::InvalidId { id_type: "UnitId", provided: id.to_owned() };
        None.or_else(|| id.starts_with(ClaimId::PREFIX).then(|| id.parse().map(Self::Claim)))
            .or_else(|| {
                id.starts_with(ObservationId::PREFIX).then(|| id.parse().map(Self::Observation))
            })
            .or_else(|| id.starts_with(SummaryId::PREFIX).then(|| id.parse().map(Self::Summary)))
            .or_else(|| id.starts_with(LoopId::PREFIX).then(|| id.parse().map(Self::Loop)))
            .unwrap_or_else(|| id.parse().map(Self::Chunk))
            .map_err(invalid)
    }
}

trefoil_core::string_conversions!(UnitId);

/// A feeling and how strong it is.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affect {
    /// The feeling.
    pub label: AffectLabel,
    /// How strong it is.
    pub intensity: Score,
}

/// What the store keeps of a time.
pub fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

pub(crate) const fn half() -> Score {
    Score::HALF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_tells_what_an_id_is_of() {
        for id in ["clm_1", "obs_1", "sum_1", "lop_1", "chk_1"] {
            assert_eq!(id.parse::<UnitId>().unwrap().to_string(), id);
        }
        assert!(matches!("obs_1".parse(), Ok(UnitId::Observation(_))));
        for bad in ["", "clm_", "ent_1", "ses_1", "x"] {
            let error = bad.parse::<UnitId>().unwrap_err();
            assert!(matches!(error, Error::InvalidId { id_type: "UnitId", .. }), "{bad}");
        }
    }

    #[test]
    fn a_unit_has_the_defaults_of_the_domain() {
        let id: UnitId = "obs_1".parse().unwrap();
        let at = Timestamp::new(60, 500).unwrap();
        let unit = Unit::new(id, UnitKind::Episode, at);
        let json = r#"{"id":"obs_1","kind":"episode","created_at":"1970-01-01T00:01:00Z","updated_at":"1970-01-01T00:01:00Z"}"#;
        assert_eq!(unit, serde_json::from_str(json).unwrap());
        assert_eq!((unit.confidence, unit.salience), (Score::HALF, Score::ZERO));
        assert_eq!((unit.state, unit.boundary), (UnitState::Raw, BoundaryClass::Internal));
        assert_eq!(unit.happened_at(), unit.created_at);
        let earlier = Unit { occurred_at: Some(Timestamp::UNIX_EPOCH), ..unit };
        assert_eq!(earlier.happened_at(), Timestamp::UNIX_EPOCH);
    }
}
