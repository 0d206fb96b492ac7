use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use trefoil_core::RowId;

use crate::WriteTx;

/// The body of a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryPayload {
    /// What kind of summary it is: `rolling`, `person`, `topic`, `claims`…
    pub scope_label: String,
    /// Which of its kind: `7d`, an entity's id, a name.
    pub scope_key: String,
    /// The time of the first unit in it.
    pub range_start: Option<i64>,
    /// The time of the last unit in it.
    pub range_end: Option<i64>,
    /// What it says.
    pub text: String,
    /// The same in parts, JSON.
    pub json: Option<String>,
}

pub(super) fn write(
    tx: &WriteTx<'_>,
    row: RowId,
    summary: &SummaryPayload,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO payload_summary (unit_id, scope_label, scope_key, range_start,
                range_end, summary_text, summary_json)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        row.get().cast_signed(),
        summary.scope_label,
        summary.scope_key,
        summary.range_start,
        summary.range_end,
        summary.text,
        summary.json,
    ])?;
    Ok(())
}

pub(super) fn read(tx: &Connection, row: RowId) -> rusqlite::Result<SummaryPayload> {
    tx.prepare_cached(
        "SELECT scope_label, scope_key, range_start, range_end, summary_text, summary_json
         FROM payload_summary WHERE unit_id = ?1",
    )?
    .query_row([row.get().cast_signed()], |columns| {
        Ok(SummaryPayload {
            scope_label: columns.get(0)?,
            scope_key: columns.get(1)?,
            range_start: columns.get(2)?,
            range_end: columns.get(3)?,
            text: columns.get(4)?,
            json: columns.get(5)?,
        })
    })
}
