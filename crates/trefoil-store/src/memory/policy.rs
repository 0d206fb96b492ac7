use rusqlite::{OptionalExtension, Row, params};
use trefoil_core::Result;

use super::{MemoryRead, MemoryWrite};

/// A policy as it was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRow {
    /// Its version.
    pub version: String,
    /// What it says.
    pub yaml: String,
    /// When it was last applied.
    pub applied_at: i64,
}

impl MemoryRead<'_> {
    /// The policy that was applied last.
    pub fn current_policy(&self) -> Result<Option<PolicyRow>> {
        self.sql("read the policy", |tx| {
            tx.prepare_cached(
                "SELECT version, yaml, applied_at FROM policies ORDER BY rowid DESC LIMIT 1",
            )?
            .query_row([], policy)
            .optional()
        })
    }

    /// The policy of a version.
    pub fn policy(&self, version: &str) -> Result<Option<PolicyRow>> {
        self.sql("read a policy", |tx| {
            tx.prepare_cached("SELECT version, yaml, applied_at FROM policies WHERE version = ?1")?
                .query_row([version], policy)
                .optional()
        })
    }

    /// Every policy, the one that was applied last at the end.
    pub fn policies(&self) -> Result<Vec<PolicyRow>> {
        self.sql("list the policies", |tx| {
            tx.prepare_cached("SELECT version, yaml, applied_at FROM policies ORDER BY rowid")?
                .query_map([], policy)?
                .collect()
        })
    }
}

impl MemoryWrite<'_> {
    /// Makes a policy the current one; its version is kept, also when another follows.
    pub fn apply_policy(&self, version: &str, yaml: &str) -> Result<()> {
        self.sql("apply a policy", |tx| {
            // Replacing gives the row the highest number: that of the current policy.
            tx.prepare_cached("DELETE FROM policies WHERE version = ?1")?.execute([version])?;
            tx.prepare_cached(
                "INSERT INTO policies (rowid, version, yaml, applied_at)
                 VALUES ((SELECT ifnull(max(rowid), 0) + 1 FROM policies), ?1, ?2, ?3)",
            )?
            .execute(params![version, yaml, self.now()])?;
            Ok(())
        })
    }
}

fn policy(columns: &Row<'_>) -> rusqlite::Result<PolicyRow> {
    Ok(PolicyRow { version: columns.get(0)?, yaml: columns.get(1)?, applied_at: columns.get(2)? })
}
