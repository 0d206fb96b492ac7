//! The change log. A row keeps its last change of text, of embedding and of
//! extraction only, and what is gone is forgotten once every index has passed it, so that the log
//! grows with the rows that there are, not with those that ever were.

use rusqlite::{Connection, OptionalExtension, Row, params};
use trefoil_core::{Change, Collection, IndexInput, Result, RowId, Seq};

use crate::{Store, WriteTx, codec::limit_of, fault::unreadable, meta};

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

    /// The same of the rows of one collection, for an index that feeds on `inputs`: changes of
    /// these, and removals, which concern every index. Costs follow what is told, not what the log
    /// holds of other inputs.
    pub fn changes_of(
        &self,
        collection: Collection,
        inputs: &[IndexInput],
        after: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Change)>> {
        // One range of an index of the log each, which SQLite merges.
        let mut ranges: Vec<String> =
            inputs.iter().map(|&input| format!("kind = {}", kind_of(input))).collect();
        if !inputs.contains(&IndexInput::Text) {
            // Else they are among the changes of texts.
            ranges.push("removed = 1".to_owned());
        }
        let range = |range: &String| {
            format!(
                "SELECT seq, unit_id, kind, removed FROM change_log
                 WHERE collection = ?1 AND {range} AND seq > ?2"
            )
        };
        let ranges: Vec<String> = ranges.iter().map(range).collect();
        let select = format!("{} ORDER BY seq LIMIT ?3", ranges.join(" UNION ALL "));
        self.read("read the change log", |tx| {
            let mut select = tx.prepare_cached(&select)?;
            let asked = params![collection.code(), after.get().cast_signed(), limit_of(limit)];
            select.query_map(asked, change)?.collect()
        })
    }
}

impl Store {
    /// True if the log holds something after `after` for an index of a collection that feeds on
    /// this, or holds it no more: removals concern every index. One look at an index of the log,
    /// however many changes there are.
    pub fn has_changes(
        &self,
        collection: Collection,
        inputs: &[IndexInput],
        after: Seq,
    ) -> Result<bool> {
        self.read("read the change log", |tx| {
            let mut last = compacted(tx, collection)?.max(last_removal(tx, collection)?);
            for &input in inputs {
                last = last.max(last_of_kind(tx, collection, kind_of(input))?);
            }
            Ok(last > after)
        })
    }

    /// The change up to which removals are forgotten. An index of this collection that has not
    /// reached it has missed some of them, and has to be rebuilt.
    pub fn log_compacted(&self, collection: Collection) -> Result<Seq> {
        self.read("read the change log", |tx| compacted(tx, collection))
    }

    /// Forgets the removals up to `upto`, which every index has passed, once they are `at_least`
    /// so many, and tells how many. An index that starts empty needs none of them. A node does so
    /// for itself: another one may have indexes that are not so far.
    pub fn compact_log(&self, upto: Seq, at_least: usize) -> Result<usize> {
        let upto = upto.get().cast_signed();
        let known = self.read("read the change log", |tx| {
            let known = "SELECT count(*) FROM change_log WHERE removed = 1 AND collection = ?1
                         AND seq <= ?2";
            let mut known = tx.prepare_cached(known)?;
            let of = |one: Collection| {
                known.query_row(params![one.code(), upto], |row| row.get::<_, usize>(0))
            };
            Collection::ALL.into_iter().map(of).sum::<rusqlite::Result<usize>>()
        })?;
        if known == 0 || known < at_least {
            return Ok(0);
        }
        self.write_here("compact the change log", |tx| {
            let mut forgotten = 0;
            for collection in Collection::ALL {
                let given = params![collection.code(), upto];
                let last: Option<i64> = tx
                    .prepare_cached(
                        "SELECT max(seq) FROM change_log
                         WHERE removed = 1 AND collection = ?1 AND seq <= ?2",
                    )?
                    .query_row(given, |row| row.get(0))?;
                let Some(last) = last else { continue };
                forgotten += tx
                    .prepare_cached(
                        "DELETE FROM change_log
                         WHERE removed = 1 AND collection = ?1 AND seq <= ?2",
                    )?
                    .execute(given)?;
                meta::set(tx, compacted_key(collection), &last.to_string())?;
            }
            Ok(forgotten)
        })
    }
}

/// The setting that holds what [`Store::log_compacted`] tells.
const fn compacted_key(collection: Collection) -> &'static str {
    match collection {
        Collection::Documents => meta::COMPACTED_DOCUMENTS,
        Collection::Memory => meta::COMPACTED_MEMORY,
    }
}

fn compacted(tx: &Connection, collection: Collection) -> rusqlite::Result<Seq> {
    let stored = meta::get(tx, compacted_key(collection))?;
    let seq = stored.map_or(Ok(0), |seq| seq.parse()).map_err(|error| unreadable(0, error))?;
    Ok(Seq::new(seq))
}

/// The last change of the texts of documents, or of what filters ask of them.
pub(crate) fn last_text(tx: &Connection) -> rusqlite::Result<Seq> {
    let documents = Collection::Documents;
    Ok(compacted(tx, documents)?.max(last_of_kind(tx, documents, TEXT)?))
}

fn last_of_kind(tx: &Connection, collection: Collection, kind: i64) -> rusqlite::Result<Seq> {
    let sql = "SELECT seq FROM change_log WHERE collection = ?1 AND kind = ?2
               ORDER BY seq DESC LIMIT 1";
    let mut select = tx.prepare_cached(sql)?;
    let seq = select.query_row(params![collection.code(), kind], |row| row.get(0)).optional()?;
    Ok(Seq::new(seq.unwrap_or(0)))
}

fn last_removal(tx: &Connection, collection: Collection) -> rusqlite::Result<Seq> {
    let sql = "SELECT seq FROM change_log WHERE removed = 1 AND collection = ?1
               ORDER BY seq DESC LIMIT 1";
    let mut select = tx.prepare_cached(sql)?;
    let seq = select.query_row([collection.code()], |row| row.get(0)).optional()?;
    Ok(Seq::new(seq.unwrap_or(0)))
}

const fn kind_of(input: IndexInput) -> i64 {
    match input {
        IndexInput::Text => TEXT,
        IndexInput::Vector => VECTOR,
        IndexInput::Extraction => EXTRACTION,
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
    use trefoil_core::{Change, Collection, IndexInput, Seq};

    use crate::fixture::{Fixture, extraction, file};

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
    fn an_index_is_told_what_it_feeds_on_and_what_is_gone() {
        use IndexInput::{Extraction, Text, Vector};
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model").unwrap();
        let gone = fixture.put(&file("a", &["one"]))[0];
        let row = fixture.put(&file("b", &["two"]))[0];
        fixture.embed_all();
        fixture.store.remove_file("a").unwrap();
        let told = |inputs: &[IndexInput], limit| -> Vec<Change> {
            let documents = Collection::Documents;
            let changes = fixture.store.changes_of(documents, inputs, Seq::ZERO, limit).unwrap();
            assert!(changes.is_sorted_by_key(|(seq, _)| *seq));
            changes.into_iter().map(|(_, change)| change).collect()
        };
        let (text, vector) = (Change::Text(row), Change::Vector(row));
        assert_eq!(told(&[Text], 9), [text, Change::Removed(gone)]);
        assert_eq!(told(&[Vector], 9), [vector, Change::Removed(gone)]);
        assert_eq!(told(&[Vector], 1), [vector]);
        assert_eq!(told(&[Text, Vector, Extraction], 9), [text, vector, Change::Removed(gone)]);
        assert_eq!(told(&[], 9), [Change::Removed(gone)]);
    }

    #[test]
    fn removals_that_every_index_has_passed_are_forgotten() {
        let documents = Collection::Documents;
        let fixture = Fixture::new();
        let rows = fixture.put(&file("a", &["one", "two", "three"]));
        fixture.put(&file("a", &["one"]));
        let passed = fixture.store.seq().unwrap();
        fixture.store.remove_file("a").unwrap();
        let lags =
            |after| fixture.store.has_changes(documents, &[IndexInput::Vector], after).unwrap();
        assert_eq!(fixture.store.compact_log(passed, 3).unwrap(), 0, "too few");
        assert_eq!(fixture.store.log_compacted(documents).unwrap(), Seq::ZERO);
        assert_eq!(fixture.store.compact_log(passed, 2).unwrap(), 2);
        assert_eq!(fixture.changes(Seq::ZERO), [Change::Removed(rows[0])]);
        let compacted = fixture.store.log_compacted(documents).unwrap();
        assert_eq!(compacted, passed);
        assert_eq!(fixture.store.log_compacted(Collection::Memory).unwrap(), Seq::ZERO);
        let end = fixture.store.seq().unwrap();
        assert_eq!(fixture.store.compact_log(end, 1).unwrap(), 1);
        assert_eq!(fixture.changes(Seq::ZERO), []);
        assert_eq!(fixture.store.seq().unwrap(), end);
        assert!(lags(passed) && !lags(end));
        assert_eq!(fixture.store.compact_log(end, 0).unwrap(), 0);
        assert_eq!(fixture.store.verify().unwrap(), []);
    }

    #[test]
    fn an_index_lags_by_what_it_feeds_on_and_by_removals() {
        use IndexInput::{Extraction, Text, Vector};
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model").unwrap();
        let lags = |after| {
            [Text, Vector, Extraction].map(|input| {
                fixture.store.has_changes(Collection::Documents, &[input], after).unwrap()
            })
        };
        assert_eq!(lags(Seq::ZERO), [false; 3]);
        let mut doc = file("a", &["one"]);
        doc.chunks[0].extraction = extraction(&["Ada"]);
        fixture.put(&doc);
        let stored = fixture.store.seq().unwrap();
        assert_eq!(lags(Seq::ZERO), [true, false, true]);
        fixture.embed_all();
        assert_eq!(lags(stored), [false, true, false]);
        let embedded = fixture.store.seq().unwrap();
        fixture.store.remove_file("a").unwrap();
        assert_eq!(lags(embedded), [true; 3]);
        assert_eq!(lags(fixture.store.seq().unwrap()), [false; 3]);
        let memory = fixture.store.has_changes(Collection::Memory, &[Text], Seq::ZERO).unwrap();
        assert!(!memory);
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
