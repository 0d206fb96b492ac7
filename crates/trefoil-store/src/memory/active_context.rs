use rusqlite::{OptionalExtension, params};
use trefoil_core::{Result, RowId};

use super::{MemoryRead, MemoryWrite};

/// What one recall brought, as it was saved.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveContextRow {
    /// Public id.
    pub id: String,
    /// Tokens of the window that it was made for.
    pub window: Option<u32>,
    /// The longest-lived scope that was searched.
    pub scope: String,
    /// Who asked, and when, JSON.
    pub provenance_json: Option<String>,
    /// The policy that it was made under.
    pub policy_version: String,
    /// When it was made.
    pub created_at: i64,
    /// Until when it can be used.
    pub expires_at: i64,
    /// What it brought, best first. Those that are gone by now are left out.
    pub items: Vec<ContextItemRow>,
}

/// One unit of a saved context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextItemRow {
    /// The unit.
    pub row: RowId,
    /// Its place, from 1.
    pub rank: u32,
    /// Its score, 0–1.
    pub score: f64,
}

impl MemoryRead<'_> {
    /// The saved context with this id.
    pub fn context(&self, id: &str) -> Result<Option<ActiveContextRow>> {
        self.sql("read a context", |tx| {
            let found = tx
                .prepare_cached(
                    "SELECT id, public_id, \"window\", scope, provenance_json, policy_version,
                            created_at, expires_at
                     FROM active_contexts WHERE public_id = ?1",
                )?
                .query_row([id], |columns| {
                    let context = ActiveContextRow {
                        id: columns.get(1)?,
                        window: columns.get(2)?,
                        scope: columns.get(3)?,
                        provenance_json: columns.get(4)?,
                        policy_version: columns.get(5)?,
                        created_at: columns.get(6)?,
                        expires_at: columns.get(7)?,
                        items: Vec::new(),
                    };
                    Ok((columns.get::<_, i64>(0)?, context))
                })
                .optional()?;
            let Some((row, context)) = found else { return Ok(None) };
            let items = tx
                .prepare_cached(
                    "SELECT claim_unit_id, rank, score FROM active_context_items
                     WHERE context_id = ?1 ORDER BY rank",
                )?
                .query_map([row], |columns| {
                    Ok(ContextItemRow {
                        row: RowId::new(columns.get(0)?),
                        rank: columns.get(1)?,
                        score: columns.get(2)?,
                    })
                })?
                .collect::<rusqlite::Result<_>>()?;
            Ok(Some(ActiveContextRow { items, ..context }))
        })
    }
}

impl MemoryWrite<'_> {
    /// Saves a context.
    ///
    /// # Errors
    /// There is one with its id, or one of its units is gone.
    pub fn add_context(&self, context: &ActiveContextRow) -> Result<()> {
        self.sql("store a context", |tx| {
            let row = tx
                .prepare_cached(
                    "INSERT INTO active_contexts (public_id, \"window\", scope, provenance_json,
                            policy_version, created_at, expires_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .insert(params![
                    context.id,
                    context.window,
                    context.scope,
                    context.provenance_json,
                    context.policy_version,
                    context.created_at,
                    context.expires_at,
                ])?;
            let mut insert =
                tx.prepare_cached("INSERT INTO active_context_items VALUES (?1, ?2, ?3, ?4)")?;
            for item in &context.items {
                insert.execute(params![
                    row,
                    item.rank,
                    item.row.get().cast_signed(),
                    item.score
                ])?;
            }
            Ok(())
        })
    }

    /// Forgets the contexts that could be used until `now` at most; their ids, in order.
    pub fn remove_expired_contexts(&self, now: i64) -> Result<Vec<String>> {
        self.sql("remove expired contexts", |tx| {
            let mut removed = tx
                .prepare_cached(
                    "DELETE FROM active_contexts WHERE expires_at <= ?1 RETURNING public_id",
                )?
                .query_map([now], |columns| columns.get(0))?
                .collect::<rusqlite::Result<Vec<String>>>()?;
            removed.sort();
            Ok(removed)
        })
    }
}
