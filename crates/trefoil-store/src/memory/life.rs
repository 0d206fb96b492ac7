//! The end of units: buried with a tombstone and purged later, or removed at once.

use rusqlite::params;
use trefoil_core::{Change, Result, RowId};

use super::{MemoryRead, MemoryWrite, embedded, mentions::GraphWriter, unit};
use crate::{WriteTx, change::log, codec::limit_of, embedding};

/// What stands where a unit was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The unit, which is archived.
    pub row: RowId,
    /// Why it was given up.
    pub reason: String,
    /// When.
    pub buried_at: i64,
    /// From when on it may be removed for good.
    pub purge_after: i64,
}

impl MemoryRead<'_> {
    /// At most `limit` tombstones of archived units that may be removed for good by `now`.
    pub fn purgeable(&self, now: i64, limit: usize) -> Result<Vec<Tombstone>> {
        self.sql("list tombstones", |tx| {
            tx.prepare_cached(
                "SELECT t.unit_id, t.reason, t.buried_at, t.purge_after
                 FROM tombstones t JOIN units u ON u.id = t.unit_id
                 WHERE t.purge_after <= ?1 AND u.state = 3
                 ORDER BY t.purge_after, t.unit_id LIMIT ?2",
            )?
            .query_map(params![now, limit_of(limit)], |columns| {
                Ok(Tombstone {
                    row: RowId::new(columns.get(0)?),
                    reason: columns.get(1)?,
                    buried_at: columns.get(2)?,
                    purge_after: columns.get(3)?,
                })
            })?
            .collect()
        })
    }
}

impl MemoryWrite<'_> {
    /// Puts a tombstone on a unit that was archived.
    pub fn bury(&self, row: RowId, reason: &str, purge_after: i64) -> Result<()> {
        self.sql("bury a unit", |tx| {
            tx.prepare_cached("INSERT OR REPLACE INTO tombstones VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![row.get().cast_signed(), reason, self.now(), purge_after])?;
            Ok(())
        })
    }

    /// Takes the tombstone from a unit that is alive again.
    pub fn unbury(&self, row: RowId) -> Result<()> {
        self.sql("take a tombstone away", |tx| {
            tx.prepare_cached("DELETE FROM tombstones WHERE unit_id = ?1")?
                .execute([row.get().cast_signed()])?;
            Ok(())
        })
    }

    /// Removes units for good, with everything that hangs on them: payload, versions,
    /// evidence, feedback, links, mentions, jobs, and the cached embedding of a text that no
    /// other unit has. How many there were.
    pub fn remove_units(&self, rows: &[RowId]) -> Result<usize> {
        self.sql("remove units", |tx| {
            let mut graph = GraphWriter::new(tx, self.now());
            let mut removed = 0;
            for &row in rows {
                removed += usize::from(self.remove(tx, &mut graph, row)?);
            }
            graph.finish()?;
            Ok(removed)
        })
    }

    fn remove(
        &self,
        tx: &WriteTx<'_>,
        graph: &mut GraphWriter<'_>,
        row: RowId,
    ) -> rusqlite::Result<bool> {
        let Some(unit) = unit::by_row(tx, row)? else { return Ok(false) };
        let next = embedded::next(tx, &unit)?;
        let hash = embedded::known(tx, row)?;
        let row_number = row.get().cast_signed();
        graph.touch(row)?;
        log(tx, Change::Removed(row))?;
        tx.prepare_cached("DELETE FROM units WHERE id = ?1")?.execute([row_number])?;
        tx.prepare_cached(
            "DELETE FROM jobs WHERE collection = 1
               AND iif(json_valid(payload_json), payload_json ->> 'row', NULL) = ?1",
        )?
        .execute([row_number])?;
        if let Some(hash) = hash {
            embedding::drop_unused(tx, &hash)?;
        }
        if let Some(next) = next {
            self.embedding(tx).refresh(&next)?;
        }
        Ok(true)
    }
}
