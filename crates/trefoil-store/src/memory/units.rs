//! Units as they are read and stored, with what follows from a change: the log that the indexes
//! replay, versions, embeddings and jobs.

use trefoil_core::{Allowed, Change, Collection, MemoryText, Result, RowId, UnitKind, UnitState};

use super::{
    MemoryRead, MemoryUnit, MemoryWrite, PatchReason, Payload, UnitRow,
    mentions::GraphWriter,
    unit::{by_id, by_row, row_of, upsert, write_payload},
    version,
};
use crate::{
    Store, WriteTx,
    change::log,
    codec::{coded, limit_of, row_ids},
    job,
};

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
                let mut graph = GraphWriter::new(tx, self.now);
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
        let is_reclassified =
            before.is_some_and(|before| before.unit.boundary != after.unit.boundary);
        let before = before.filter(|before| is_shown(before));
        if !is_shown(after) {
            if before.is_some() {
                log(tx, Change::Removed(after.row))?;
            }
        } else if before.is_none_or(|before| shown(before) != shown(after)) {
            log(tx, Change::Text(after.row))?;
        }
        self.embedding(tx).follow(after)?;
        if is_reclassified && is_shown(after) {
            self.embedding(tx).tell_again(after)?;
        }
        let proactive = after.unit.source.as_deref() == Some("proactive");
        if before.is_none() && matches!(after.payload, Payload::Episode(_)) && !proactive {
            let payload = serde_json::json!({ "row": after.row.get() }).to_string();
            for kind in ["reflect", "extract_entities", "extract_facts", "extract_loops"] {
                job::enqueue(tx, self.now, Collection::Memory, kind, &payload)?;
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
                    id: found.unit.id,
                }));
            }
            found.retain(|unit| !unit.text.is_empty());
            Ok(found)
        })
    }

    /// At most `limit` rows of memory above `after`, ascending, of whatever state and class.
    pub fn memory_rows(&self, after: RowId, limit: usize) -> Result<Vec<RowId>> {
        self.read("list units", |tx| {
            let sql = "SELECT id FROM units WHERE id > ?1 AND kind <> 8 ORDER BY id LIMIT ?2";
            row_ids(tx, sql, [after.get().cast_signed(), limit_of(limit)])
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
