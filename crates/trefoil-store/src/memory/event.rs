use rusqlite::{OptionalExtension, Row, params};
use trefoil_core::{Collection, Result, RowId};

use super::{MemoryRead, MemoryWrite};
use crate::{codec::limit_of, job};

/// Something that was done to memory. Events outlive the units that they tell of, so they
/// hold ids, hashes and numbers, never a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its number; later events have higher ones.
    pub id: i64,
    /// When it was done.
    pub ts: i64,
    /// What was done, as a word: `integrated`, `feedback`, `archived`…
    pub kind: String,
    /// The unit that it was done to.
    pub row: Option<RowId>,
    /// What there is to say of it, JSON.
    pub payload_json: String,
}

impl MemoryRead<'_> {
    /// At most `limit` events after the one with the number `after`, in their order; of one
    /// unit if `row` is given.
    pub fn events(&self, row: Option<RowId>, after: i64, limit: usize) -> Result<Vec<EventRow>> {
        self.sql("read events", |tx| {
            tx.prepare_cached(
                "SELECT id, ts, kind, unit_id, payload_json FROM events
                 WHERE id > ?1 AND (?2 IS NULL OR unit_id = ?2) ORDER BY id LIMIT ?3",
            )?
            .query_map(
                params![after, row.map(|row| row.get().cast_signed()), limit_of(limit)],
                event,
            )?
            .collect()
        })
    }

    /// The last event of a kind that was done to a unit.
    pub fn last_event(&self, row: Option<RowId>, kind: &str) -> Result<Option<EventRow>> {
        self.sql("read the last event of a kind", |tx| {
            tx.prepare_cached(
                "SELECT id, ts, kind, unit_id, payload_json FROM events
                 WHERE unit_id IS ?1 AND kind = ?2 ORDER BY id DESC LIMIT 1",
            )?
            .query_row(params![row.map(|row| row.get().cast_signed()), kind], event)
            .optional()
        })
    }
}

impl MemoryWrite<'_> {
    /// Asks for a job that is not to be done before a second; one that waits or runs stays as
    /// it is. `payload_json` holds no text of a unit.
    pub fn enqueue(&self, kind: &str, payload_json: &str, run_after: i64) -> Result<()> {
        self.sql("queue a job", |tx| {
            let (now, of) = (self.now(), Collection::Memory);
            job::enqueue_at(tx, now, run_after, of, kind, payload_json).map(drop)
        })
    }

    /// Notes that something was done. `payload_json` holds no text of a unit.
    pub fn add_event(&self, kind: &str, row: Option<RowId>, payload_json: &str) -> Result<()> {
        self.sql("note an event", |tx| {
            tx.prepare_cached(
                "INSERT INTO events (ts, kind, unit_id, payload_json) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                self.now(),
                kind,
                row.map(|row| row.get().cast_signed()),
                payload_json
            ])?;
            Ok(())
        })
    }
}

fn event(columns: &Row<'_>) -> rusqlite::Result<EventRow> {
    Ok(EventRow {
        id: columns.get(0)?,
        ts: columns.get(1)?,
        kind: columns.get(2)?,
        row: columns.get::<_, Option<u64>>(3)?.map(RowId::new),
        payload_json: columns.get(4)?,
    })
}
