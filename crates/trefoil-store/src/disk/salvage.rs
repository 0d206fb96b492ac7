//! What can be saved of a damaged store, row by row, into a new one.
//!
//! SQLite's own recovery is no part of the library that is built in. So each table is read
//! from both ends up to where it cannot be read, and what lies between is halved and tried
//! again: what is on an intact page that an intact page leads to is found. What was read is
//! trusted only if its hash fits. Everything that follows from it (the change log, the
//! jobs, the counters, and the graph if any of it is lost) is rebuilt.

mod sound;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::Path,
    sync::Arc,
};

use rusqlite::{Connection, OpenFlags, types::Value};
use serde::Serialize;
use trefoil_core::{Error, Part, Result};

use self::sound::{UNREAD, drop_orphans, drop_unsound, ids, sum_graph};
use crate::{
    Access, Clock, Store, WriteTx,
    disk::{fork::Use, migration::leave_tables_to_memory, pages},
    fault::fault,
    meta,
    store::connect,
};

/// What is rebuilt and not copied.
const REBUILT: [&str; 5] = ["change_log", "jobs", "counters", "file_tags", "entity_tallies"];
/// The graph of memory, which follows from its units as a whole, and the communities of that of
/// documents: kept only if all of it is there.
const GRAPH: [&str; 7] = [
    "entities",
    "entity_aliases",
    "unit_entities",
    "unit_edges",
    "edges",
    "communities",
    "community_members",
];
/// What chunks say, each row for itself: what is lost is made again from the text.
const SAID: &str = "unit_said";
/// The table whose rows have hashes of their own: they are trusted one by one, also on a page
/// without its checksum.
const HASHED: &str = "payload_chunk";
/// The table of files, of which a hash covers the path alone.
const FILES: &str = "files";
/// Ranges of rows that are tried in one table before the rest of it is given up: under a second.
const MOST_TRIES: usize = 20_000;
/// Row numbers that are tried where nobody can say which were given.
const ROWS: i64 = 1 << 20;

/// What was saved.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Salvaged {
    /// Table by table, by name.
    pub tables: Vec<TableSaved>,
    /// Paths of the files and documents that have lost chunks, or themselves, in order. A file
    /// whose path is damaged wherever it stood is only counted, in the table `files`.
    pub incomplete: Vec<String>,
    /// False if the graph was lost and has to be made from the texts.
    pub graph: bool,
}

/// What was saved of one table.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableSaved {
    /// Its name.
    pub table: String,
    /// Rows that were saved.
    pub saved: usize,
    /// Rows that were not; none if nobody can say how many there were.
    pub lost: Option<usize>,
}

/// Copies what can be read of the store at `from`, which is not changed, into a new one at
/// `to`, where there is none yet, and returns the new one.
///
/// # Errors
/// [`Error::Corrupt`] if nothing at all can be read; then there is nothing at `to`.
pub(crate) fn salvage_file(
    from: &Path,
    to: &Path,
    clock: Arc<dyn Clock>,
) -> Result<(Store, Salvaged)> {
    let nothing = |reason: String| Error::Corrupt {
        part: Part::Store,
        reason: format!(
            "nothing can be saved from `{}` ({reason}); index the files again in another directory",
            from.display()
        ),
    };
    let _use = Use::begin();
    let old = Connection::open_with_flags(
        from,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(|error| nothing(error.to_string()))?;
    let careful = old.execute_batch("PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;");
    careful.map_err(|error| nothing(error.to_string()))?;
    if columns(&old, "units").map_err(|error| nothing(error.to_string()))?.is_empty() {
        return Err(nothing("it has no tables".to_owned()));
    }
    // An older version wrote none.
    let checked = pages::had_checksums(from, &old).then(|| pages::open_damaged(from)).transpose();
    let checked = checked.map_err(|error| nothing(error.to_string()))?;
    let checked = checked.as_ref().unwrap_or(&old);

    let store = Store::open_file(to, Access::ReadWrite, clock)?;
    let run = || {
        let new = connect(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        new.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL;")?;
        let new = WriteTx::begin(&new)?;
        let given = given(&old, checked);
        let salvaged = Salvage { old: &old, checked, new: &new, given }.run()?;
        new.commit()?;
        Ok(salvaged)
    };
    let salvaged = run().map_err(|error| fault(to, "save what can be read", error))?;
    store.requeue_embeddings()?;
    Ok((store, salvaged))
}

/// A table, as far as copying cares.
struct Table {
    name: String,
    /// The columns that both stores have.
    columns: Vec<String>,
    /// The columns of its key, if it has no row numbers.
    key: Option<Vec<String>>,
    /// Whether a row is read whatever the checksum of its page.
    hashed: bool,
    /// Columns that are not copied, and what they are given.
    given: &'static [(&'static str, &'static str)],
}

struct Salvage<'c> {
    /// Reads what a page says, whatever its checksum.
    old: &'c Connection,
    /// Reads only pages that have their checksum, and those of the schema; the same as `old` if an
    /// older version wrote the file without checksums.
    checked: &'c Connection,
    new: &'c WriteTx<'c>,
    /// The last number that was given in each table that never gives one twice.
    given: BTreeMap<String, i64>,
}

impl Salvage<'_> {
    fn run(&self) -> rusqlite::Result<Salvaged> {
        let tables = self.tables()?;
        let mut saved = Vec::with_capacity(tables.len());
        for table in &tables {
            saved.push(TableSaved { table: table.name.clone(), saved: 0, lost: self.copy(table)? });
        }
        // What is lost makes it another cache than that of the place.
        meta::forget(self.new, meta::PLACE)?;
        // An older version kept there what chunks say.
        leave_tables_to_memory(self.new)?;
        let said = || {
            let tables = ["unit_entities", "unit_edges", SAID];
            tables.iter().map(|table| count(self.new, table)).sum::<rusqlite::Result<usize>>()
        };
        let before = said()?;
        drop_unsound(self.new)?;
        drop_orphans(self.new)?;
        let is_whole =
            |name: &str| saved.iter().any(|table| table.table == name && table.lost == Some(0));
        let graph = said()? == before
            && is_whole(SAID)
            && GRAPH.iter().all(|name| is_whole(name))
            && sum_graph(self.new)?;
        if !graph {
            for table in GRAPH {
                self.new.execute_batch(&format!("DELETE FROM {table};"))?;
            }
            drop_orphans(self.new)?;
        }
        self.new.execute_batch(
            "DELETE FROM counters;
             INSERT INTO counters SELECT what, part, collection, state, count FROM recounted;",
        )?;
        for table in &mut saved {
            table.saved = count(self.new, &table.table)?;
            let before = count(self.old, &table.table).ok();
            table.lost = match (table.lost, before) {
                (_, Some(before)) => Some(before.saturating_sub(table.saved)),
                (Some(0), None) => Some(0),
                (_, None) => None,
            };
        }
        let incomplete = self.incomplete()?;
        self.log()?;
        Ok(Salvaged { tables: saved, incomplete, graph })
    }

    /// The tables of the new store that are to be filled.
    fn tables(&self) -> rusqlite::Result<Vec<Table>> {
        let names: Vec<(String, bool)> = self
            .new
            .prepare(
                "SELECT name, wr FROM pragma_table_list
                 WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
            )?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let names = names.into_iter().filter(|(name, _)| !REBUILT.contains(&name.as_str()));
        let table = |(name, keyed): (String, bool)| {
            let before: BTreeSet<String> = columns(self.old, &name)?.into_iter().collect();
            let mut both = columns(self.new, &name)?;
            both.retain(|column| before.contains(column));
            let key = if keyed { Some(key(self.new, &name)?) } else { None };
            let hashed = name == HASHED;
            Ok(Table { name, columns: both, key, hashed, given: &[] })
        };
        names.map(table).collect()
    }

    /// Copies the rows that can be read; `Some(0)` if no row was met that cannot.
    fn copy(&self, table: &Table) -> rusqlite::Result<Option<usize>> {
        if table.columns.is_empty() {
            return Ok(Some(0));
        }
        let whole = match &table.key {
            Some(key) => self.copy_by_key(table, key)?,
            None => self.copy_by_row(table)?,
        };
        if table.name == FILES && !whole {
            let columns = ["id", "public_id", "path"].map(str::to_owned).into();
            let name = table.name.clone();
            let paths = Table { name, columns, key: None, hashed: true, given: &UNREAD };
            self.copy_by_row(&paths)?;
        }
        Ok(whole.then_some(0))
    }

    /// From both ends, and then every gap from its middle. True if there is none.
    fn copy_by_row(&self, table: &Table) -> rusqlite::Result<bool> {
        // Tables that do not count have about as many rows as those that do.
        let highest = self.given.values().map(|given| given.saturating_mul(4)).max();
        let mut ranges = VecDeque::from([(0, highest.unwrap_or(ROWS).max(1_000))]);
        let mut whole = true;
        for _ in 0..MOST_TRIES {
            let Some((low, high)) = ranges.pop_front() else { return Ok(whole) };
            let Some(low) = self.copy_range(table, low, high, false)? else { continue };
            whole = false;
            let Some(high) = self.copy_range(table, low, high, true)? else { continue };
            // One that is alone between two that were tried is lost.
            if low < high {
                let middle = low + (high - low) / 2;
                ranges.extend([(low, middle), (middle + 1, high)]);
            }
        }
        Ok(false)
    }

    /// Copies rows from one end of a range on. Where it came to if it could not go on: the
    /// end of what is left that is nearer.
    fn copy_range(
        &self,
        table: &Table,
        low: i64,
        high: i64,
        down: bool,
    ) -> rusqlite::Result<Option<i64>> {
        let order = if down { "DESC" } else { "ASC" };
        let select = format!(
            "SELECT {}, rowid FROM {} WHERE rowid BETWEEN {low} AND {high} ORDER BY rowid {order}",
            table.columns.join(", "),
            table.name,
        );
        let mut end = if down { high } else { low };
        let whole = self.copy_rows(table, &select, |row| {
            end = if down { row.saturating_sub(1) } else { row.saturating_add(1) };
        })?;
        Ok((!whole && low <= end && end <= high).then_some(end))
    }

    /// From both ends. True if all could be read.
    fn copy_by_key(&self, table: &Table, key: &[String]) -> rusqlite::Result<bool> {
        for order in ["ASC", "DESC"] {
            let by: Vec<String> = key.iter().map(|column| format!("{column} {order}")).collect();
            let (columns, name) = (table.columns.join(", "), &table.name);
            let select = format!("SELECT {columns}, 0 FROM {name} ORDER BY {}", by.join(", "));
            if self.copy_rows(table, &select, |_| ())? {
                return Ok(order == "ASC");
            }
        }
        Ok(false)
    }

    /// Copies what a query gives until it fails; true if it does not. What the new store does
    /// not take is left out.
    fn copy_rows(
        &self,
        table: &Table,
        select: &str,
        mut on_row: impl FnMut(i64),
    ) -> rusqlite::Result<bool> {
        let copied = table.columns.iter().map(|column| (column.as_str(), "?"));
        let (columns, places): (Vec<&str>, Vec<&str>) =
            copied.chain(table.given.iter().copied()).unzip();
        let mut insert = self.new.prepare_cached(&format!(
            "INSERT OR IGNORE INTO {} ({}) VALUES ({})",
            table.name,
            columns.join(", "),
            places.join(", "),
        ))?;
        let from = if table.hashed { self.old } else { self.checked };
        let Ok(mut select) = from.prepare(select) else { return Ok(false) };
        let Ok(mut rows) = select.query([]) else { return Ok(false) };
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(true),
                Err(_) => return Ok(false),
            };
            let values: rusqlite::Result<Vec<Value>> =
                (0..table.columns.len()).map(|column| row.get(column)).collect();
            on_row(row.get(table.columns.len())?);
            if let Ok(values) = values {
                // Of another type than its column: damage that is left out.
                let _ = insert.execute(rusqlite::params_from_iter(values));
            }
        }
    }

    /// Paths of the files that lost something, told from indexes that are not the tables that
    /// were lost; of all files if those cannot be read either. Their stamps are forgotten, so
    /// that they are read again.
    fn incomplete(&self) -> rusqlite::Result<Vec<String>> {
        let mut incomplete = BTreeSet::new();
        let kept: BTreeSet<i64> = ids(self.new, "SELECT unit_id FROM payload_chunk")?;
        let chunks = pairs(
            self.checked,
            "SELECT file_id, unit_id FROM payload_chunk INDEXED BY sqlite_autoindex_payload_chunk_1",
        )
        .or_else(|_| pairs(self.checked, "SELECT file_id, unit_id FROM payload_chunk NOT INDEXED"));
        let files: BTreeSet<i64> = match chunks {
            Ok(chunks) => chunks
                .into_iter()
                .filter_map(|(file, unit)| (!kept.contains(&unit)).then_some(file))
                .collect(),
            Err(_) => ids(self.new, "SELECT id FROM files")?,
        };
        let mut path = self.new.prepare("SELECT path FROM files WHERE id = ?1")?;
        let mut forget =
            self.new.prepare("UPDATE files SET sha256 = '', mtime = ?2 WHERE id = ?1")?;
        for file in files {
            for path in path.query_map([file], |row| row.get::<_, String>(0))? {
                incomplete.insert(path?);
            }
            forget.execute([file, i64::MIN])?;
        }
        let unread = "SELECT path FROM files WHERE sha256 = '' AND mtime = ?1";
        for path in self.new.prepare(unread)?.query_map([i64::MIN], |row| row.get(0))? {
            incomplete.insert(path?);
        }
        let mut known = self.new.prepare("SELECT 1 FROM files WHERE path = ?1")?;
        // From both ends, as far as it can be read.
        for order in ["ASC", "DESC"] {
            let index = "files INDEXED BY sqlite_autoindex_files_2";
            let Ok(mut select) =
                self.old.prepare(&format!("SELECT path FROM {index} ORDER BY path {order}"))
            else {
                continue;
            };
            let Ok(mut rows) = select.query([]) else { continue };
            while let Ok(Some(row)) = rows.next() {
                let Ok(path) = row.get::<_, String>(0) else { continue };
                if !known.exists([&path])? {
                    incomplete.insert(path);
                }
            }
        }
        Ok(incomplete.into_iter().collect())
    }

    /// Restarts the log, above every number that was given.
    fn log(&self) -> rusqlite::Result<()> {
        for (name, last) in &self.given {
            let exists = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
            if self.new.prepare(exists)?.exists([name])? {
                let highest = "SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = ?1), 0)";
                let here: i64 = self.new.query_row(highest, [name], |row| row.get(0))?;
                self.new.execute("DELETE FROM sqlite_sequence WHERE name = ?1", [name])?;
                self.new.execute(
                    "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
                    rusqlite::params![name, here.max(*last)],
                )?;
            }
        }
        self.new.execute_batch(
            "INSERT INTO change_log (unit_id, kind, collection)
                 SELECT id, 0, kind <> 8 FROM units
                 WHERE id NOT IN (SELECT unit_id FROM payload_chunk WHERE ordinal < 0) ORDER BY id;
             INSERT INTO change_log (unit_id, kind, collection)
                 SELECT unit_id, 2, 0 FROM unit_said
                 UNION SELECT unit_id, 2, 1 FROM unit_entities
                 UNION SELECT unit_id, 2, 1 FROM unit_edges ORDER BY 1;
             DELETE FROM meta WHERE key IN ('log_compacted_documents', 'log_compacted_memory');",
        )
    }
}

/// The table of what changed, whose numbers readers remember.
const LOG: &str = "change_log";
/// Nobody has written so many changes.
const FAR: i64 = 1 << 32;

/// The last number of each table that never gives one twice, as far as that is known.
///
/// Where the note of it was damaged, the log begins far above what can be read of it: a reader
/// that has seen the damaged store must not take a new change for one that it knows. Rows are
/// numbered after those that were saved, for every index is rebuilt.
fn given(old: &Connection, checked: &Connection) -> BTreeMap<String, i64> {
    noted(checked).unwrap_or_else(|_| {
        let log = noted(old).unwrap_or_default().remove(LOG).unwrap_or_default();
        BTreeMap::from([(LOG.to_owned(), log + FAR)])
    })
}

/// What SQLite notes of the last number that it gave in each table.
fn noted(connection: &Connection) -> rusqlite::Result<BTreeMap<String, i64>> {
    connection
        .prepare("SELECT name, seq FROM sqlite_sequence WHERE seq BETWEEN 0 AND 1 << 40")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn count(connection: &Connection, table: &str) -> rusqlite::Result<usize> {
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
}

fn pairs(connection: &Connection, select: &str) -> rusqlite::Result<Vec<(i64, i64)>> {
    connection.prepare(select)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The columns of a table that hold something.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT '\"' || name || '\"' FROM pragma_table_xinfo(?1) WHERE hidden = 0")?
        .query_map([table], |row| row.get(0))?
        .collect()
}

fn key(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT '\"' || name || '\"' FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk")?
        .query_map([table], |row| row.get(0))?
        .collect()
}

#[cfg(test)]
mod tests;
