use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use trefoil_core::{BoundaryClass, RowId, UnitKind, UnitState};

use super::{
    ClaimPayload, EpisodePayload, LoopPayload, SummaryPayload, claim, episode, open_loop, summary,
};
use crate::{
    WriteTx,
    codec::{coded, texts, to_json},
};

/// What all units of memory have in common. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitRow {
    /// Public id.
    pub id: String,
    /// When what it tells happened; when it was written, if absent.
    pub occurred_at: Option<i64>,
    /// When it was written.
    pub created_at: i64,
    /// When it was last changed.
    pub updated_at: i64,
    /// What wrote it.
    pub source: Option<String>,
    /// How far its life has come.
    pub state: UnitState,
    /// Why it is archived, if it is.
    pub archived_as: Option<String>,
    /// Confidence that it is true, 0–1.
    pub confidence: f64,
    /// How much it stands out, 0–1.
    pub salience: f64,
    /// Who may see it.
    pub boundary: BoundaryClass,
    /// True if a person wants it kept in sight.
    pub pin: bool,
    /// Its labels, sorted, each once.
    pub tags: Vec<String>,
    /// The feeling it tells of.
    pub affect: Option<AffectRow>,
}

impl UnitRow {
    /// A unit as it is when nothing more is known of it.
    pub fn new(id: impl Into<String>, created_at: i64) -> Self {
        Self {
            id: id.into(),
            occurred_at: None,
            created_at,
            updated_at: created_at,
            source: None,
            state: UnitState::Raw,
            archived_as: None,
            confidence: 0.5,
            salience: 0.0,
            boundary: BoundaryClass::Internal,
            pin: false,
            tags: Vec::new(),
            affect: None,
        }
    }

    /// True if it is out of the indexes: archived, or secret.
    pub fn is_hidden(&self) -> bool {
        self.state == UnitState::Archived || self.boundary == BoundaryClass::Secret
    }

    pub(super) fn occurred_day(&self) -> i64 {
        self.occurred_at.unwrap_or(self.created_at).div_euclid(86_400)
    }
}

/// A feeling and how strong it is, 0–1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AffectRow {
    /// The feeling.
    pub label: String,
    /// How strong it is.
    pub intensity: f64,
}

/// The body of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Payload {
    /// Something that happened.
    Episode(EpisodePayload),
    /// Something that is held to be so; with a predicate, a fact.
    Claim(ClaimPayload),
    /// What several units say, in short.
    Summary(SummaryPayload),
    /// Something that is left to do.
    Loop(LoopPayload),
}

impl Payload {
    /// What kind of unit has this body.
    pub const fn kind(&self) -> UnitKind {
        match self {
            Self::Episode(_) => UnitKind::Episode,
            Self::Claim(claim) if claim.predicate.is_some() => UnitKind::Fact,
            Self::Claim(_) => UnitKind::Claim,
            Self::Summary(_) => UnitKind::Summary,
            Self::Loop(_) => UnitKind::Loop,
        }
    }

    /// What it says; empty if it was scrubbed.
    pub fn text(&self) -> String {
        match self {
            Self::Episode(episode) => episode.text(),
            Self::Claim(claim) => claim.text.clone(),
            Self::Summary(summary) => summary.text.clone(),
            Self::Loop(open) => open.text.clone(),
        }
    }

    /// What is searched of it: what it says, and of a fact also that in few words.
    pub fn searched(&self) -> String {
        match self {
            Self::Claim(claim) => claim.searched(),
            Self::Episode(_) | Self::Summary(_) | Self::Loop(_) => self.text(),
        }
    }

    /// All of its text that a search of the files must not find once it is erased.
    pub fn texts(&self) -> Vec<String> {
        match self {
            Self::Episode(episode) => episode.texts(),
            Self::Claim(claim) => claim.texts(),
            Self::Summary(summary) => [Some(&summary.text), summary.json.as_ref()]
                .into_iter()
                .flatten()
                .cloned()
                .collect(),
            Self::Loop(open) => vec![open.text.clone()],
        }
    }
}

/// A unit of memory as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryUnit {
    /// Its row, which the indexes rank in.
    #[serde(skip)]
    pub row: RowId,
    /// What it has in common with others.
    pub unit: UnitRow,
    /// Its body.
    pub payload: Payload,
}

pub(super) fn upsert(
    tx: &WriteTx<'_>,
    unit: &UnitRow,
    payload: &Payload,
) -> rusqlite::Result<RowId> {
    let mut tags = unit.tags.clone();
    tags.sort();
    tags.dedup();
    let row: u64 = tx
        .prepare_cached(
            "INSERT INTO units (public_id, kind, occurred_at, created_at, updated_at, source, state,
                    confidence, salience, boundary, pin, topic_tags, persona_affect_label,
                    persona_affect_intensity, archived_as)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
             ON CONFLICT (public_id) DO UPDATE SET
                 kind = excluded.kind, occurred_at = excluded.occurred_at,
                 updated_at = excluded.updated_at, source = excluded.source,
                 state = excluded.state, confidence = excluded.confidence,
                 salience = excluded.salience, boundary = excluded.boundary, pin = excluded.pin,
                 topic_tags = excluded.topic_tags,
                 persona_affect_label = excluded.persona_affect_label,
                 persona_affect_intensity = excluded.persona_affect_intensity,
                 archived_as = excluded.archived_as
             WHERE kind <> 8
             RETURNING id",
        )?
        .query_row(
            params![
                unit.id,
                payload.kind().code(),
                unit.occurred_at,
                unit.created_at,
                unit.updated_at,
                unit.source,
                unit.state.code(),
                unit.confidence,
                unit.salience,
                unit.boundary.code(),
                unit.pin,
                to_json(&tags)?,
                unit.affect.as_ref().map(|affect| &affect.label),
                unit.affect.as_ref().map(|affect| affect.intensity),
                unit.archived_as,
            ],
            |row| row.get(0),
        )?;
    Ok(RowId::new(row))
}

pub(super) fn write_payload(
    tx: &WriteTx<'_>,
    row: RowId,
    payload: &Payload,
) -> rusqlite::Result<()> {
    match payload {
        Payload::Episode(payload) => episode::write(tx, row, payload),
        Payload::Claim(payload) => claim::write(tx, row, payload),
        Payload::Summary(payload) => summary::write(tx, row, payload),
        Payload::Loop(payload) => open_loop::write(tx, row, payload),
    }
}

pub(super) fn row_of(tx: &Connection, id: &str) -> rusqlite::Result<Option<RowId>> {
    tx.prepare_cached("SELECT id FROM units WHERE public_id = ?1 AND kind <> 8")?
        .query_row([id], |row| row.get(0).map(RowId::new))
        .optional()
}

pub(super) fn by_id(tx: &Connection, id: &str) -> rusqlite::Result<Option<MemoryUnit>> {
    row_of(tx, id)?.map_or(Ok(None), |row| by_row(tx, row))
}

pub(crate) fn by_row(tx: &Connection, row: RowId) -> rusqlite::Result<Option<MemoryUnit>> {
    let unit = tx
        .prepare_cached(
            "SELECT public_id, kind, occurred_at, created_at, updated_at, source, state, archived_as,
                    confidence, salience, boundary, pin, ifnull(topic_tags, '[]'), persona_affect_label,
                    persona_affect_intensity
             FROM units WHERE id = ?1 AND kind <> 8",
        )?
        .query_row([row.get().cast_signed()], |columns| {
            let kind = coded(columns, 1, UnitKind::from_code)?;
            Ok((kind, unit_row(columns)?))
        })
        .optional()?;
    let Some((kind, unit)) = unit else { return Ok(None) };
    let payload = match kind {
        UnitKind::Episode => Payload::Episode(episode::read(tx, row)?),
        UnitKind::Fact | UnitKind::Claim => Payload::Claim(claim::read(tx, row)?),
        UnitKind::Summary => Payload::Summary(summary::read(tx, row)?),
        UnitKind::Loop => Payload::Loop(open_loop::read(tx, row)?),
        UnitKind::Chunk => return Ok(None),
    };
    Ok(Some(MemoryUnit { row, unit, payload }))
}

/// True if a row holds a unit of memory with the body of its kind.
pub(crate) fn is_readable(tx: &Connection, row: RowId) -> bool {
    by_row(tx, row).is_ok_and(|unit| unit.is_some())
}

fn unit_row(columns: &Row<'_>) -> rusqlite::Result<UnitRow> {
    let label: Option<String> = columns.get(13)?;
    let intensity: Option<f64> = columns.get(14)?;
    Ok(UnitRow {
        id: columns.get(0)?,
        occurred_at: columns.get(2)?,
        created_at: columns.get(3)?,
        updated_at: columns.get(4)?,
        source: columns.get(5)?,
        state: coded(columns, 6, UnitState::from_code)?,
        archived_as: columns.get(7)?,
        confidence: columns.get(8)?,
        salience: columns.get(9)?,
        boundary: coded(columns, 10, BoundaryClass::from_code)?,
        pin: columns.get(11)?,
        tags: texts(columns, 12)?,
        affect: label.map(|label| AffectRow { label, intensity: intensity.unwrap_or_default() }),
    })
}
