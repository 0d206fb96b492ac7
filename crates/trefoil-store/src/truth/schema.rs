//! The tables of the store's format, for whoever keeps their rows elsewhere.

use std::sync::Arc;

use rusqlite::Connection;
use trefoil_core::{Error, Part, Result};

use crate::disk::migration;

/// Tables that triggers make from others, on every node for itself.
pub(crate) const DERIVED: [&str; 3] = ["counters", "entity_tallies", "file_tags"];

/// A table whose rows all nodes have. Generated columns are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name, an SQL identifier that needs no quotes.
    pub name: String,
    /// Its columns, in the order of the values of a row.
    pub columns: Vec<Column>,
    /// The places in `columns` of those that identify a row, in the order of a key.
    pub key: Vec<usize>,
    /// The place in `columns` of one that is 1 in rows that only tell that something is gone.
    /// Those are needed as long as keys that are gone, see
    /// [`Truth::prune`](super::Truth::prune).
    pub tombstone: Option<usize>,
}

impl Table {
    /// The columns of its key.
    pub fn key_columns(&self) -> impl Iterator<Item = &Column> {
        self.key.iter().filter_map(|&place| self.columns.get(place))
    }
}

/// A column of a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name. Some are keywords of SQL, so put it into double quotes.
    pub name: String,
    /// What its values are, if they are any.
    pub kind: ColumnKind,
    /// True if it always has a value.
    pub not_null: bool,
}

/// The kind of the values of a column. All tables are strict: there are no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// 64 bits, signed.
    Integer,
    /// 64 bits, floating.
    Real,
    /// UTF-8.
    Text,
    /// Bytes.
    Blob,
}

/// The format of the rows: which tables and columns there are, and what they mean.
pub fn format() -> u32 {
    migration::supported()
}

/// The tables whose rows are the truth, by name: without those that follow from others
/// (`counters`, `entity_tallies`, `file_tags`), and without `sqlite_sequence`.
///
/// # Errors
/// [`Error::Backend`] if SQLite cannot make them.
pub fn tables() -> Result<Vec<Arc<Table>>> {
    describe().map_err(|error| Error::backend(Part::Store, "describe its tables", error))
}

fn describe() -> rusqlite::Result<Vec<Arc<Table>>> {
    let connection = Connection::open_in_memory()?;
    migration::migrate(&connection)?;
    let names: Vec<String> = connection
        .prepare(
            "SELECT name FROM pragma_table_list
             WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let names = names.into_iter().filter(|name| !DERIVED.contains(&name.as_str()));
    names.map(|name| table(&connection, name).map(Arc::new)).collect()
}

fn table(connection: &Connection, name: String) -> rusqlite::Result<Table> {
    let mut select = connection.prepare(
        "SELECT name, type, \"notnull\" OR pk > 0, pk FROM pragma_table_xinfo(?1)
         WHERE hidden = 0 ORDER BY cid",
    )?;
    let mut key = Vec::new();
    let mut columns = Vec::new();
    let mut rows = select.query([&name])?;
    while let Some(row) = rows.next()? {
        let kind = match row.get_ref(1)?.as_str()? {
            "INTEGER" => ColumnKind::Integer,
            "REAL" => ColumnKind::Real,
            "TEXT" => ColumnKind::Text,
            _ => ColumnKind::Blob,
        };
        let place: i64 = row.get(3)?;
        if place > 0 {
            key.push((place, columns.len()));
        }
        columns.push(Column { name: row.get(0)?, kind, not_null: row.get(2)? });
    }
    key.sort_unstable();
    let tombstone = match name.as_str() {
        "change_log" => columns.iter().position(|column| column.name == "removed"),
        _ => None,
    };
    Ok(Table { name, columns, key: key.into_iter().map(|(_, at)| at).collect(), tombstone })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_described_with_their_keys_and_without_what_follows_from_others() {
        let tables = tables().unwrap();
        assert!(tables.is_sorted_by_key(|table| &table.name));
        let find = |name: &str| tables.iter().find(|table| table.name == name);
        for derived in ["counters", "file_tags", "entity_tallies", "sqlite_sequence"] {
            assert!(find(derived).is_none(), "{derived}");
        }
        let units = find("units").unwrap();
        assert!(units.columns.iter().all(|column| column.name != "sensitivity"), "generated");
        assert_eq!(units.key, [0]);
        let cache = find("embedding_cache").unwrap();
        let vector = cache.columns.iter().find(|column| column.name == "vector").unwrap();
        assert_eq!((vector.kind, vector.not_null), (ColumnKind::Blob, true));
        let key: Vec<&str> = cache.key_columns().map(|column| column.name.as_str()).collect();
        assert_eq!(key, ["text_hash", "fingerprint"]);
        let edges = find("edges").unwrap();
        let weight = edges.columns.iter().find(|column| column.name == "weight").unwrap();
        assert_eq!(weight.kind, ColumnKind::Real);
        assert_eq!(edges.key, [0, 1, 2]);
        let log = find("change_log").unwrap();
        assert_eq!(log.tombstone.map(|at| log.columns[at].name.as_str()), Some("removed"));
        assert!(tables.iter().all(|table| !table.key.is_empty()));
        assert_eq!(tables.len(), 32);
        assert_eq!(format(), 9);
    }
}
