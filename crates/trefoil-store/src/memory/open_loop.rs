use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use trefoil_core::{Result, RowId};

use super::MemoryRead;
use crate::{
    WriteTx,
    codec::{limit_of, row_ids},
};

/// The body of something that is left to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopPayload {
    /// What is left to do; no two loops say the same.
    pub text: String,
    /// When it is given up.
    pub expires_at: i64,
    /// When it is due.
    pub due_at: Option<i64>,
}

impl MemoryRead<'_> {
    /// Loops that are open at `now`: those with a due time first, the earlier the sooner.
    pub fn open_loops(&self, now: i64, limit: usize) -> Result<Vec<RowId>> {
        let sql = "SELECT l.unit_id FROM payload_loop l JOIN units u ON u.id = l.unit_id
                   WHERE l.expires_at > ?1 AND u.state < 3
                   ORDER BY l.due_at IS NULL, l.due_at, l.expires_at, l.unit_id LIMIT ?2";
        self.rows("list open loops", sql, now, limit)
    }

    /// Loops that were to be given up by `now`.
    pub fn expired_loops(&self, now: i64, limit: usize) -> Result<Vec<RowId>> {
        let sql = "SELECT unit_id FROM payload_loop WHERE expires_at <= ?1
                   ORDER BY expires_at, unit_id LIMIT ?2";
        self.rows("list expired loops", sql, now, limit)
    }

    fn rows(&self, doing: &'static str, sql: &str, now: i64, limit: usize) -> Result<Vec<RowId>> {
        self.sql(doing, |tx| row_ids(tx, sql, [now, limit_of(limit)]))
    }
}

pub(super) fn write(tx: &WriteTx<'_>, row: RowId, open: &LoopPayload) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO payload_loop (unit_id, expires_at, due_at, loop_text) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (unit_id) DO UPDATE SET
             expires_at = excluded.expires_at, due_at = excluded.due_at,
             loop_text = excluded.loop_text",
    )?
    .execute(params![row.get().cast_signed(), open.expires_at, open.due_at, open.text])?;
    Ok(())
}

pub(super) fn read(tx: &Connection, row: RowId) -> rusqlite::Result<LoopPayload> {
    tx.prepare_cached("SELECT loop_text, expires_at, due_at FROM payload_loop WHERE unit_id = ?1")?
        .query_row([row.get().cast_signed()], |columns| {
            Ok(LoopPayload {
                text: columns.get(0)?,
                expires_at: columns.get(1)?,
                due_at: columns.get(2)?,
            })
        })
}
