use rusqlite::params;
use trefoil_core::{Result, RowId};

use super::{MemoryRead, MemoryWrite};

/// What somebody said of a claim's worth.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedbackRow {
    /// Public id.
    pub id: String,
    /// The claim.
    pub claim: RowId,
    /// When it was said.
    pub ts: i64,
    /// `helpful`, `harmful`, `outdated` or `duplicate`.
    pub signal: String,
    /// How much, −1 to 1.
    pub score: Option<f64>,
}

impl MemoryRead<'_> {
    /// What was said of a claim, in order.
    pub fn feedbacks(&self, claim: RowId) -> Result<Vec<FeedbackRow>> {
        self.sql("read feedback", |tx| {
            tx.prepare_cached(
                "SELECT public_id, claim_unit_id, ts, signal, score FROM feedbacks
                 WHERE claim_unit_id = ?1 ORDER BY ts, id",
            )?
            .query_map([claim.get().cast_signed()], |columns| {
                Ok(FeedbackRow {
                    id: columns.get(0)?,
                    claim: RowId::new(columns.get(1)?),
                    ts: columns.get(2)?,
                    signal: columns.get(3)?,
                    score: columns.get(4)?,
                })
            })?
            .collect()
        })
    }
}

impl MemoryWrite<'_> {
    /// Keeps what was said of a claim; false if the same was said of it within the minute.
    pub fn add_feedback(&self, feedback: &FeedbackRow) -> Result<bool> {
        self.sql("store feedback", |tx| {
            let added = tx
                .prepare_cached(
                    "INSERT INTO feedbacks (public_id, claim_unit_id, ts, signal, score)
                     VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (claim_unit_id, signal, ts / 60) DO NOTHING",
                )?
                .execute(params![
                    feedback.id,
                    feedback.claim.get().cast_signed(),
                    feedback.ts,
                    feedback.signal,
                    feedback.score
                ])?;
            Ok(added > 0)
        })
    }
}
