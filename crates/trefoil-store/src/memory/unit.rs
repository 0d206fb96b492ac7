use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use trefoil_core::{
    Allowed, BoundaryClass, Change, Collection, MemoryText, Result, RowId, UnitKind, UnitState,
};

use super::{
    ClaimPayload, EpisodePayload, LoopPayload, MemoryRead, MemoryWrite, PatchReason,
    SummaryPayload, claim, episode, open_loop, summary, version,
};
use crate::{
    Store, WriteTx,
    change::{limit_of, log},
    chunk::{texts, to_json},
    extraction::GraphWriter,
    fault::unreadable,
    job,
};

/// What all units of memory have in common. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// How far it is believed, 0–1.
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

    fn occurred_day(&self) -> i64 {
        self.occurred_at.unwrap_or(self.created_at).div_euclid(86_400)
    }
}

/// A feeling and how strong it is, 0–1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AffectRow {
    /// The feeling.
    pub label: String,
    /// How strong it is.
    pub intensity: f64,
}

/// The body of a unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

impl MemoryRead<'_> {
    /// The unit with this public id; chunks are none.
    pub fn unit(&self, id: &str) -> Result<Option<MemoryUnit>> {
        self.sql("read a unit", |tx| by_id(tx, id))
    }

    /// The units of `rows`, in their order; rows that are gone, and chunks, are left out.
    pub fn units(&self, rows: &[RowId]) -> Result<Vec<MemoryUnit>> {
        self.sql("read units", |tx| {
            let found = rows.iter().filter_map(|&row| by_row(tx, row).transpose());
            found.collect()
        })
    }

    /// How many units there are of each kind in each state, by kind and state; chunks are none.
    pub fn counts(&self) -> Result<Vec<(UnitKind, UnitState, usize)>> {
        self.sql("count units", |tx| {
            tx.prepare_cached(
                "SELECT kind, state, count(*) FROM units WHERE kind <> ?1 GROUP BY 1, 2
                 ORDER BY 1, 2",
            )?
            .query_map([UnitKind::Chunk.code()], |columns| {
                let kind = coded(columns, 0, UnitKind::from_code)?;
                Ok((kind, coded(columns, 1, UnitState::from_code)?, columns.get(2)?))
            })?
            .collect()
        })
    }

    /// The row of the unit with this public id.
    pub fn row_of(&self, id: &str) -> Result<Option<RowId>> {
        self.sql("look up a unit", |tx| row_of(tx, id))
    }
}

impl MemoryRead<'_> {
    /// Claims of `allowed` that stand out: those that a person wants kept in sight, and after
    /// them the surest and most salient, the last changed first, until there are `limit`.
    pub fn standing_out(&self, allowed: &Allowed, limit: usize) -> Result<Vec<RowId>> {
        self.sql("list the claims that stand out", |tx| {
            let mut select = tx.prepare_cached(
                "SELECT id, pin FROM units WHERE kind IN (?1, ?2) AND state < ?3
                 ORDER BY pin DESC, 0.45 * confidence + 0.25 * salience DESC, updated_at DESC, id",
            )?;
            let codes = [UnitKind::Claim.code(), UnitKind::Fact.code(), UnitState::Archived.code()];
            let mut rows = select.query(codes)?;
            let mut found = Vec::new();
            while let Some(columns) = rows.next()? {
                let (row, is_pinned): (RowId, bool) =
                    (RowId::new(columns.get(0)?), columns.get(1)?);
                if !is_pinned && found.len() >= limit {
                    break;
                }
                if allowed.contains(row) {
                    found.push(row);
                }
            }
            Ok(found)
        })
    }
}

impl MemoryWrite<'_> {
    /// Stores a unit in the place of the one with its id, if there is one.
    ///
    /// What changed is appended to the log, so that the indexes follow: one that is archived
    /// or secret is taken out of them. A new version is kept if its content is another.
    /// Jobs: a new episode asks for `reflect`, `extract_entities`, `extract_facts` and
    /// `extract_loops` (a proactive message does not); a new or changed text for `embed`.
    ///
    /// # Errors
    /// The id is that of a chunk, a text that must be unique is another unit's, or a session
    /// is unknown.
    pub fn put_unit(
        &self,
        unit: &UnitRow,
        payload: &Payload,
        reason: PatchReason,
    ) -> Result<RowId> {
        self.sql("store a unit", |tx| {
            let before = by_id(tx, &unit.id)?;
            let row = upsert(tx, unit, payload)?;
            write_payload(tx, row, payload)?;
            if before.as_ref().is_some_and(|before| counted(before) != counts(unit, payload)) {
                let mut graph = GraphWriter::new(tx, self.now).of(Collection::Memory);
                graph.touch(row)?;
                graph.finish()?;
            }
            let after = MemoryUnit { row, unit: unit.clone(), payload: payload.clone() };
            self.follow(tx, before.as_ref(), &after)?;
            if before.is_some() || !matches!(payload, Payload::Episode(_)) {
                version::append(tx, &after, reason, self.now)?;
            }
            Ok(row)
        })
    }

    /// Tells the indexes and the worker what became of a unit.
    fn follow(
        &self,
        tx: &WriteTx<'_>,
        before: Option<&MemoryUnit>,
        after: &MemoryUnit,
    ) -> rusqlite::Result<()> {
        let is_shown =
            |unit: &MemoryUnit| !unit.unit.is_hidden() && !unit.payload.searched().is_empty();
        let before = before.filter(|before| is_shown(before));
        if !is_shown(after) {
            if before.is_some() {
                log(tx, Change::Removed(after.row))?;
            }
        } else if before.is_none_or(|before| shown(before) != shown(after)) {
            log(tx, Change::Text(after.row))?;
        }
        self.embedding(tx).follow(after)?;
        let proactive = after.unit.source.as_deref() == Some("proactive");
        if before.is_none() && matches!(after.payload, Payload::Episode(_)) && !proactive {
            let payload = serde_json::json!({ "row": after.row.get() }).to_string();
            for kind in ["reflect", "extract_entities", "extract_facts", "extract_loops"] {
                job::enqueue(tx, self.now, kind, &payload)?;
            }
        }
        Ok(())
    }
}

impl Store {
    /// What the indexes are given of units of memory, in the order of `rows`; archived and
    /// secret ones, and rows that are gone, are left out.
    pub fn memory_texts(&self, rows: &[RowId]) -> Result<Vec<MemoryText>> {
        self.read("read texts of memory", |tx| {
            let mut found = Vec::with_capacity(rows.len());
            for &row in rows {
                let unit = by_row(tx, row)?.filter(|found| !found.unit.is_hidden());
                found.extend(unit.map(|found| MemoryText {
                    row,
                    text: found.payload.searched(),
                    kind: found.payload.kind(),
                    state: found.unit.state,
                    boundary: found.unit.boundary,
                    occurred_day: found.unit.occurred_day(),
                }));
            }
            found.retain(|unit| !unit.text.is_empty());
            Ok(found)
        })
    }

    /// At most `limit` rows of memory above `after`, ascending, of whatever state and class.
    pub fn memory_rows(&self, after: RowId, limit: usize) -> Result<Vec<RowId>> {
        self.read("list units", |tx| {
            tx.prepare_cached(
                "SELECT id FROM units WHERE id > ?1 AND kind <> 8 ORDER BY id LIMIT ?2",
            )?
            .query_map([after.get().cast_signed(), limit_of(limit)], |row| {
                row.get(0).map(RowId::new)
            })?
            .collect()
        })
    }

    /// The texts of the secret units among those that are allowed, by row. No index has them;
    /// archived ones are left out.
    pub fn secret_texts(&self, allowed: &Allowed) -> Result<Vec<(RowId, String)>> {
        self.read("read secrets", |tx| {
            let mut select = tx.prepare_cached(
                "SELECT id FROM units WHERE boundary = 3 AND kind <> 8 AND state < 3 ORDER BY id",
            )?;
            let mut found = Vec::new();
            for row in select.query_map([], |columns| columns.get(0).map(RowId::new))? {
                let row = row?;
                if allowed.contains(row) {
                    found.extend(by_row(tx, row)?.map(|unit| (row, unit.payload.searched())));
                }
            }
            Ok(found)
        })
    }
}

/// What of a unit bears on the sums of the graph, besides what it says of entities.
type Counted = (bool, i64, Option<(Option<i64>, Option<i64>)>);

fn counts(unit: &UnitRow, payload: &Payload) -> Counted {
    let holds = match payload {
        Payload::Claim(claim) => Some((claim.valid_from, claim.valid_to)),
        Payload::Episode(_) | Payload::Summary(_) | Payload::Loop(_) => None,
    };
    let happened_at = unit.occurred_at.unwrap_or(unit.created_at);
    (unit.state < UnitState::Archived, happened_at, holds)
}

fn counted(unit: &MemoryUnit) -> Counted {
    counts(&unit.unit, &unit.payload)
}

/// All that an index shows of a unit.
fn shown(unit: &MemoryUnit) -> (String, UnitKind, UnitState, u8, i64) {
    let MemoryUnit { unit, payload, .. } = unit;
    let sensitivity = unit.boundary.sensitivity().code();
    (payload.searched(), payload.kind(), unit.state, sensitivity, unit.occurred_day())
}

fn upsert(tx: &WriteTx<'_>, unit: &UnitRow, payload: &Payload) -> rusqlite::Result<RowId> {
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

fn write_payload(tx: &WriteTx<'_>, row: RowId, payload: &Payload) -> rusqlite::Result<()> {
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

pub(super) fn by_row(tx: &Connection, row: RowId) -> rusqlite::Result<Option<MemoryUnit>> {
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

/// Reads a column that holds the number of a closed choice.
fn coded<T>(
    columns: &Row<'_>,
    column: usize,
    from: impl Fn(u8) -> Option<T>,
) -> rusqlite::Result<T> {
    let code: u8 = columns.get(column)?;
    from(code).ok_or_else(|| unreadable(column, format!("{code} stands for nothing")))
}
