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
    /// Which of its rows a node is given that is given units of memory up to a class only.
    pub within: Within,
}

/// Which rows of a table a node within a boundary is given: one that is given units of memory up
/// to a class, and all that is of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Within {
    /// All: they say nothing of a unit of memory.
    All,
    /// It is the table of units: chunks, and units up to the class.
    Units,
    /// Those of which every unit that is named in the columns at these places is given.
    OfUnits(Vec<usize>),
    /// Those whose first column of the key is in one of these columns of a row that is given:
    /// names of tables and of columns.
    NamedIn(&'static [(&'static str, &'static str)]),
    /// None. What they tell adds up from all units, or nobody can say of which it is.
    Nothing,
}

/// Tables of which a row is given for what other rows say of it. A text may be that of several
/// units, and a name too.
const NAMED: [(&str, &[(&str, &str)]); 3] = [
    ("sessions", &[("payload_episode", "session_id"), ("payload_claim", "session_id")]),
    ("embedding_cache", &[("units", "embedding_hash"), ("payload_chunk", "embedding_hash")]),
    (
        "entities",
        &[
            ("unit_entities", "entity_id"),
            ("payload_fact", "subject_entity_id"),
            ("payload_fact", "object_entity_id"),
        ],
    ),
];

/// Tables of which nothing is given. The first two a node adds up for itself; the last one holds
/// hashes of what was erased, which the others tell of too.
const WITHHELD: [&str; 6] =
    ["edges", "entity_aliases", "active_contexts", "active_context_items", "events", "erased_runs"];

/// Tables of documents.
const OF_CHUNKS: [&str; 2] = ["payload_chunk", "unit_said"];

impl Table {
    fn given(connection: &Connection, name: &str, columns: &[Column]) -> rusqlite::Result<Within> {
        if name == "units" {
            return Ok(Within::Units);
        }
        if WITHHELD.contains(&name) {
            return Ok(Within::Nothing);
        }
        if let Some((_, rows)) = NAMED.iter().find(|(named, _)| *named == name) {
            return Ok(Within::NamedIn(rows));
        }
        if OF_CHUNKS.contains(&name) {
            return Ok(Within::All);
        }
        let mut select = connection.prepare(
            "SELECT \"from\" FROM pragma_foreign_key_list(?1) WHERE \"table\" = 'units'",
        )?;
        let named: Vec<String> =
            select.query_map([name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let places = columns.iter().enumerate().filter(|(_, column)| named.contains(&column.name));
        let places: Vec<usize> = places.map(|(at, _)| at).collect();
        Ok(if places.is_empty() { Within::All } else { Within::OfUnits(places) })
    }

    /// The names of the columns that name units of memory, where rows are given by these.
    pub fn unit_columns(&self) -> impl Iterator<Item = &str> {
        let places = match &self.within {
            Within::OfUnits(places) => places.as_slice(),
            Within::All | Within::Units | Within::NamedIn(_) | Within::Nothing => &[],
        };
        places.iter().filter_map(|&at| self.columns.get(at)).map(|column| column.name.as_str())
    }

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
    /// What a node within a boundary is given in place of its value; none if it is given that.
    pub instead: Option<Instead>,
    /// Its value in rows that were written before the column came, as an expression of SQL; none
    /// if they have no value in it.
    pub default: Option<String>,
}

/// What a node within a boundary is given in place of what all units together say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// No value.
    Null,
    /// A text.
    Text(&'static str),
    /// The value of another column of the row; an empty text if that has none.
    Column(&'static str),
}

/// Columns of `entities` that are added up from all units.
const ADDED_UP: [(&str, Instead); 6] = [
    ("name", Instead::Column("normalized")),
    ("type_label", Instead::Null),
    ("roles_json", Instead::Text("[]")),
    ("canonical_key", Instead::Null),
    ("attrs_json", Instead::Null),
    ("updated_at", Instead::Column("created_at")),
];

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
        "SELECT name, type, \"notnull\" OR pk > 0, pk,
             iif(\"notnull\", dflt_value, NULL) FROM pragma_table_xinfo(?1)
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
        let column: String = row.get(0)?;
        let added_up = ADDED_UP.iter().find(|(one, _)| name == "entities" && *one == column);
        let instead = added_up.map(|(_, instead)| *instead);
        let (not_null, default) = (row.get(2)?, row.get(4)?);
        columns.push(Column { name: column, kind, not_null, instead, default });
    }
    key.sort_unstable();
    let tombstone = match name.as_str() {
        "change_log" => columns.iter().position(|column| column.name == "removed"),
        _ => None,
    };
    let within = Table::given(connection, &name, &columns)?;
    let key = key.into_iter().map(|(_, at)| at).collect();
    Ok(Table { name, columns, key, tombstone, within })
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
        assert_eq!(format(), 10);
    }

    #[test]
    fn every_table_says_what_a_node_within_a_boundary_is_given() {
        let tables = tables().unwrap();
        let within = |name: &str| {
            let table = tables.iter().find(|table| table.name == name).unwrap();
            match &table.within {
                Within::OfUnits(places) => {
                    places.iter().map(|&at| table.columns[at].name.as_str()).collect()
                }
                Within::NamedIn(rows) => rows.iter().map(|(_, column)| *column).collect(),
                Within::All => vec!["all"],
                Within::Units => vec!["units"],
                Within::Nothing => vec!["nothing"],
            }
        };
        for table in ["meta", "files", "payload_chunk", "unit_said", "policies", "change_log"] {
            assert_eq!(within(table), ["all"], "{table}");
        }
        for table in ["payload_claim", "payload_episode", "unit_versions", "tombstones"] {
            assert_eq!(within(table), ["unit_id"], "{table}");
        }
        assert_eq!(within("evidences"), ["claim_unit_id", "observation_unit_id"]);
        assert_eq!(within("claim_links"), ["claim_unit_id", "other_unit_id"]);
        assert_eq!(within("edges"), ["nothing"]);
        assert_eq!(within("units"), ["units"]);
        // What is named is named by the first column of its key.
        for (name, rows) in NAMED {
            let named = tables.iter().find(|table| table.name == name).unwrap();
            let first = named.key_columns().next().unwrap();
            for (table, column) in rows {
                let naming = tables.iter().find(|one| one.name == *table).unwrap();
                let column = naming.columns.iter().find(|one| one.name == *column).unwrap();
                assert_eq!(column.kind, first.kind, "{name}");
            }
        }
        let all = tables.iter().filter(|table| table.within == Within::All);
        let mut all: Vec<&str> = all.map(|table| table.name.as_str()).collect();
        all.sort_unstable();
        let expected = "change_log communities community_members files jobs meta payload_chunk \
                        policies unit_said";
        assert_eq!(all.join(" "), expected, "a new table is looked at before it is given to all");
    }
}
