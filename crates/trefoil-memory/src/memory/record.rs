//! All that is known of one unit, and an overview.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use trefoil::{
    index::RowId,
    memory::{EventRow, MemoryEdge, MemoryEntity, MemoryRead, MemoryUnit, UnitRow},
};
use trefoil_core::{BoundaryClass, ClaimId, Error, RelationId, Result, UnitKind, UnitState};

use super::Memory;
use crate::{Claim, Feedback, Observation, PolicyVersion, Reflection, SummaryBody, rows};

/// The most events that a record tells.
const EVENTS: usize = 100;

/// All that is known of one unit.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitRecord {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: UnitKind,
    /// How far it has come in its life.
    pub state: UnitState,
    /// Why it is archived, if it is.
    pub archived_as: Option<String>,
    /// Who may see it.
    pub boundary_class: BoundaryClass,
    /// What it says; empty if it was scrubbed.
    pub text: String,
    /// The claim, if it is one.
    pub claim: Option<Claim>,
    /// The observation, if it is one and was not scrubbed.
    pub observation: Option<Observation>,
    /// The summary in parts, if it is one.
    pub summary: Option<SummaryBody>,
    /// What reflection made of the observation, once it has.
    pub reflection: Option<Reflection>,
    /// Who and what it names, the surest first.
    pub mentions: Vec<String>,
    /// The same as all units together tell of them: types, keys and roles.
    pub entities: Vec<MemoryEntity>,
    /// The relation of one to the other, as it says, with how often and when any unit says so.
    pub relations: Vec<MemoryRelation>,
    /// What it was made from.
    pub made_from: Vec<RelatedUnit>,
    /// What was made from it.
    pub made: Vec<RelatedUnit>,
    /// How it stands to other claims.
    pub links: Vec<LinkedClaim>,
    /// What was said of it, oldest first.
    pub feedback: Vec<Feedback>,
    /// What was done to it, oldest first; the first hundred.
    pub events: Vec<RecordedEvent>,
}

/// How one named entity is related to another.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryRelation {
    /// Its id.
    pub id: RelationId,
    /// Normalised name of the one.
    pub source: String,
    /// The relation to the other: `lives_in`.
    pub relation: String,
    /// Normalised name of the other.
    pub target: String,
    /// How often units say so.
    pub count: u64,
    /// The same with each time as sure as the less sure of both names.
    pub weight: f64,
    /// When the earliest of these units happened.
    pub first_seen_at: Timestamp,
    /// When the latest of them happened.
    pub last_seen_at: Timestamp,
    /// The first claim that says so.
    pub evidence_claim_id: Option<ClaimId>,
    /// From when it holds, if a claim says so.
    pub valid_from: Option<Timestamp>,
    /// Until when it held; absent while a claim says that it holds without an end.
    pub valid_to: Option<Timestamp>,
}

/// Another unit, in short.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RelatedUnit {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: UnitKind,
    /// What it says; empty if it was scrubbed.
    pub text: String,
}

/// A claim that another is linked with.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkedClaim {
    /// How the one stands to the other: `contradicts`, `supersedes`, `duplicates`.
    pub relation: &'static str,
    /// True if the other stands so to this one.
    pub inverse: bool,
    /// The other.
    #[serde(flatten)]
    pub claim: RelatedUnit,
}

/// Something that was done to a unit.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedEvent {
    /// When.
    pub at: Timestamp,
    /// What, in a word.
    pub kind: String,
    /// What there is to say of it.
    pub details: serde_json::Value,
}

/// What there is in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// The policy that holds.
    pub policy_version: PolicyVersion,
    /// Units by kind, those that are archived left out.
    pub units: BTreeMap<&'static str, usize>,
    /// Units that are archived.
    pub archived: usize,
}

impl Memory {
    /// All that is known of the unit with this id, for who looks after the memory: no boundary
    /// is asked. Absent if there is none.
    pub fn record(&self, id: &str) -> Result<Option<UnitRecord>> {
        self.read("read a unit", |read| {
            let Some(unit) = read.unit(id)? else { return Ok(None) };
            let (row, claim) = (unit.row, rows::to_claim(&unit)?);
            let (mentions, _) = read.mentions(row)?.into_parts();
            let relations = read.edges_of(row)?.into_iter().map(MemoryRelation::try_from);
            Ok(Some(UnitRecord {
                id: unit.unit.id.clone(),
                kind: unit.payload.kind(),
                state: unit.unit.state,
                archived_as: unit.unit.archived_as.clone(),
                boundary_class: unit.unit.boundary,
                text: unit.payload.text(),
                observation: rows::to_observation(&unit)?,
                summary: rows::to_summary(&unit)?,
                reflection: rows::to_reflection(&unit)?,
                mentions: mentions.into_iter().map(|mention| mention.name).collect(),
                entities: read.entities_of(row)?,
                relations: relations.collect::<Result<_>>()?,
                made_from: related(read, &read.sources_of(row)?)?,
                made: related(read, &read.made_from(row)?)?,
                links: links(read, row)?,
                feedback: match &claim {
                    Some(claim) => feedback(read, row, claim)?,
                    None => Vec::new(),
                },
                claim,
                events: events(read, row)?,
            }))
        })
    }

    /// An overview.
    pub fn overview(&self) -> Result<Overview> {
        let policy_version = self.policy()?.version;
        self.read("count the units", |read| {
            let mut overview = Overview { policy_version, units: BTreeMap::new(), archived: 0 };
            for (kind, state, count) in read.counts()? {
                if state == UnitState::Archived {
                    overview.archived += count;
                } else {
                    *overview.units.entry(kind.as_str()).or_default() += count;
                }
            }
            Ok(overview)
        })
    }
}

impl TryFrom<MemoryEdge> for MemoryRelation {
    type Error = Error;

    fn try_from(edge: MemoryEdge) -> Result<Self> {
        Ok(Self {
            id: edge.id,
            source: edge.source,
            relation: edge.relation,
            target: edge.target,
            count: edge.count,
            weight: edge.weight,
            first_seen_at: rows::time(edge.first_seen_at)?,
            last_seen_at: rows::time(edge.last_seen_at)?,
            evidence_claim_id: edge.evidence_claim_id.map(|id| id.parse()).transpose()?,
            valid_from: edge.props.valid_from.map(rows::time).transpose()?,
            valid_to: edge.props.valid_to.map(rows::time).transpose()?,
        })
    }
}

fn related(read: &MemoryRead<'_>, rows: &[RowId]) -> Result<Vec<RelatedUnit>> {
    Ok(read.units(rows)?.into_iter().map(in_short).collect())
}

fn in_short(unit: MemoryUnit) -> RelatedUnit {
    let MemoryUnit { unit: UnitRow { id, .. }, payload, .. } = unit;
    RelatedUnit { id, kind: payload.kind(), text: payload.text() }
}

fn links(read: &MemoryRead<'_>, row: RowId) -> Result<Vec<LinkedClaim>> {
    let mut links = Vec::new();
    for link in read.claim_links(row)? {
        let inverse = link.other == row;
        let other = if inverse { link.claim } else { link.other };
        let relation = link.relation.as_str();
        let others = related(read, &[other])?.into_iter();
        links.extend(others.map(|claim| LinkedClaim { relation, inverse, claim }));
    }
    Ok(links)
}

fn feedback(read: &MemoryRead<'_>, row: RowId, claim: &Claim) -> Result<Vec<Feedback>> {
    let stored = read.feedbacks(row)?.into_iter();
    stored.map(|feedback| rows::to_feedback(&feedback, &claim.id)).collect()
}

fn events(read: &MemoryRead<'_>, row: RowId) -> Result<Vec<RecordedEvent>> {
    let event = |event: EventRow| {
        let (at, details) = (rows::time(event.ts)?, rows::from_json(&event.payload_json)?);
        Ok(RecordedEvent { at, kind: event.kind, details })
    };
    read.events(Some(row), 0, EVENTS)?.into_iter().map(event).collect()
}
