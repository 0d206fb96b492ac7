//! The change log. A row keeps its last change of text, of embedding and of
//! extraction only, so the log never outgrows the rows that ever were.

use rusqlite::{Connection, OptionalExtension, Row, params};
use trefoil_core::{Change, Collection, Result, RowId, Seq};

use crate::{Store, WriteTx, codec::limit_of};

const TEXT: i64 = 0;
const VECTOR: i64 = 1;
const EXTRACTION: i64 = 2;

impl Store {
    /// The last change; it only ever grows.
    pub fn seq(&self) -> Result<Seq> {
        self.read("read the change log", last)
    }

    /// At most `limit` changes after `after`, ascending. Changes that a later one
    /// of the same row made void are not told.
    pub fn changes(&self, after: Seq, limit: usize) -> Result<Vec<(Seq, Change)>> {
        self.read("read the change log", |tx| {
            let mut select = tx.prepare_cached(
                "SELECT seq, unit_id, kind, removed FROM change_log WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            )?;
            select.query_map([after.get().cast_signed(), limit_of(limit)], change)?.collect()
        })
    }

    /// The same of the rows of one collection.
    pub fn changes_of(
        &self,
        collection: Collection,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Change)>> {
        self.read("read the change log", |tx| {
            let mut select = tx.prepare_cached(
                "SELECT seq, unit_id, kind, removed FROM change_log
                 WHERE collection = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
            )?;
            let asked = params![collection.code(), after.get().cast_signed(), limit_of(limit)];
            select.query_map(asked, change)?.collect()
        })
    }
}

fn change(row: &Row<'_>) -> rusqlite::Result<(Seq, Change)> {
    let unit = RowId::new(row.get(1)?);
    let change = match (row.get::<_, i64>(2)?, row.get::<_, bool>(3)?) {
        (VECTOR, _) => Change::Vector(unit),
        (EXTRACTION, _) => Change::Extraction(unit),
        (_, false) => Change::Text(unit),
        (_, true) => Change::Removed(unit),
    };
    Ok((Seq::new(row.get(0)?), change))
}

pub(crate) fn last(tx: &Connection) -> rusqlite::Result<Seq> {
    let seq: Option<u64> = tx
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'change_log'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(Seq::new(seq.unwrap_or(0)))
}

/// Appends a change. Its collection is told from the unit: one that is gone was a chunk, for a
/// unit of memory is logged before it goes.
pub(crate) fn log(tx: &WriteTx<'_>, change: Change) -> rusqlite::Result<()> {
    let (row, kind, removed) = match change {
        Change::Text(row) => (row, TEXT, false),
        Change::Vector(row) => (row, VECTOR, false),
        Change::Extraction(row) => (row, EXTRACTION, false),
        Change::Removed(row) => (row, TEXT, true),
    };
    let row = row.get().cast_signed();
    if removed {
        tx.prepare_cached("DELETE FROM change_log WHERE unit_id = ?1")?.execute([row])?;
    }
    tx.prepare_cached(
        "INSERT OR REPLACE INTO change_log (unit_id, kind, removed, collection)
         VALUES (?1, ?2, ?3, ifnull((SELECT kind <> 8 FROM units WHERE id = ?1), 0))",
    )?
    .execute(params![row, kind, removed])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use trefoil_core::{Change, Seq};

    use crate::fixture::{Fixture, file};

    #[test]
    fn changes_come_in_order_and_in_pages() {
        let fixture = Fixture::new();
        let rows = fixture.put(&file("a", &["one", "two", "three"]));
        let all = fixture.store.changes(Seq::ZERO, 10).unwrap();
        assert_eq!(
            all.iter().map(|(_, change)| *change).collect::<Vec<_>>(),
            rows.iter().map(|&row| Change::Text(row)).collect::<Vec<_>>()
        );
        assert!(all.is_sorted_by_key(|(seq, _)| *seq));
        assert_eq!(fixture.store.changes(Seq::ZERO, 2).unwrap(), all[..2]);
        assert_eq!(fixture.store.changes(all[1].0, 2).unwrap(), all[2..]);
        assert_eq!(fixture.store.changes(fixture.store.seq().unwrap(), 2).unwrap(), []);
        assert_eq!(fixture.store.changes(Seq::new(u64::MAX >> 1), 2).unwrap(), []);
    }

    #[test]
    fn only_the_last_change_of_a_kind_is_told() {
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model").unwrap();
        let mut doc = file("a", &["one"]);
        let row = fixture.put(&doc)[0];
        fixture.embed_all();
        assert_eq!(fixture.changes(Seq::ZERO), [Change::Text(row), Change::Vector(row)]);
        doc.title = "Title".into();
        fixture.put(&doc);
        assert_eq!(fixture.changes(Seq::ZERO), [Change::Vector(row), Change::Text(row)]);
        let before = fixture.store.seq().unwrap();
        fixture.store.remove_file("a").unwrap();
        assert_eq!(fixture.changes(Seq::ZERO), [Change::Removed(row)]);
        assert_eq!(fixture.changes(before), [Change::Removed(row)]);
    }

    #[test]
    fn the_sequence_never_falls() {
        let mut fixture = Fixture::new();
        let mut last = fixture.store.seq().unwrap();
        for _ in 0..3 {
            fixture.put(&file("a", &["one"]));
            fixture.store.remove_file("a").unwrap();
            fixture = fixture.reopen();
            let seq = fixture.store.seq().unwrap();
            assert!(seq > last);
            last = seq;
        }
    }
}
