//! Rows of the truth on their way into the store of a node.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use rusqlite::{
    ToSql, params_from_iter,
    types::{ToSqlOutput, ValueRef},
};
use trefoil_core::{Error, Part, Result};

use super::{Column, Place, RowSink, Sequences, Start, Table, Value};
use crate::{WriteTx, fault::fault, meta};

/// What a node does with rows, as the rest of a message.
const DOING: &str = "take over rows";

/// Applies what a pull brings, in a transaction of a connection that does not look at references:
/// a row may come before the one that it refers to.
#[derive(Debug)]
pub(crate) struct Applier<'c> {
    tx: &'c WriteTx<'c>,
    path: &'c Path,
    statements: BTreeMap<&'c str, Statements>,
    /// Where the rows have to start.
    expected: Start,
    /// Where they lead to, once all have come.
    reached: Option<Place>,
    /// How many have come.
    rows: usize,
    /// Something was erased: the files of this node hold bytes of it until they are rewritten.
    is_erased: bool,
}

#[derive(Debug)]
struct Statements {
    delete: String,
    insert: String,
    /// The places of the key in a row.
    key: Vec<usize>,
    columns: usize,
    /// Forgets what triggers made of a row, where they do not so when it is deleted.
    unmake: Option<&'static str>,
}

impl<'c> Applier<'c> {
    /// Takes rows that start at `expected` into the transaction.
    pub(crate) fn new(
        tx: &'c WriteTx<'c>,
        path: &'c Path,
        tables: &'c [Arc<Table>],
        expected: Start,
    ) -> Self {
        let statements =
            tables.iter().map(|table| (table.name.as_str(), Self::statements_of(table)));
        let statements = statements.collect();
        Self { tx, path, statements, expected, reached: None, rows: 0, is_erased: false }
    }

    /// Where the rows lead to, and how many came; none if not all did.
    pub(crate) const fn reached(&self) -> Option<(Place, usize)> {
        match self.reached {
            Some(place) => Some((place, self.rows)),
            None => None,
        }
    }

    fn statements_of(table: &Table) -> Statements {
        let quoted = |name: &str| format!("\"{name}\"");
        let is_key: Vec<String> =
            table.key_columns().map(|column| format!("{} = ?", quoted(&column.name))).collect();
        let columns: Vec<String> =
            table.columns.iter().map(|column| quoted(&column.name)).collect();
        // A row from before a column came has no value in it.
        let place = |column: &Column| match &column.default {
            Some(default) => format!("coalesce(?, {default})"),
            None => "?".to_owned(),
        };
        let places = table.columns.iter().map(place).collect::<Vec<_>>().join(", ");
        let name = &table.name;
        Statements {
            delete: format!("DELETE FROM {name} WHERE {}", is_key.join(" AND ")),
            // A row may have what is unique from one that comes later, or from the state before of
            // one that has come: then that state is void.
            insert: format!(
                "INSERT OR REPLACE INTO {name} ({}) VALUES ({places})",
                columns.join(", ")
            ),
            key: table.key.clone(),
            columns: columns.len(),
            unmake: (name == "files").then_some("DELETE FROM file_tags WHERE file_id = ?"),
        }
    }

    /// How many rows it changed.
    fn run(&self, sql: &str, values: &[Value]) -> Result<usize> {
        let run = || self.tx.prepare_cached(sql)?.execute(params_from_iter(values));
        run().map_err(|error| fault(self.path, DOING, error))
    }

    fn statements(&self, table: &str) -> Result<&Statements> {
        self.statements.get(table).ok_or_else(|| unexpected(&format!("table `{table}`")))
    }

    /// True of a row that an erasure writes: what is still to be looked for, or the key for it,
    /// which may stay for long and tells a file that is new nothing.
    fn tells_of_erasure(&self, table: &str, key: Option<&Value>) -> bool {
        let is_key = matches!(key, Some(Value::Text(key)) if key == meta::ERASURE_KEY);
        let is_old = matches!(self.expected, Start::After(_));
        table == "erased_runs" || (is_old && table == "meta" && is_key)
    }

    fn delete(&self, of: &Statements, key: &[Value]) -> Result<usize> {
        if let Some(unmake) = of.unmake {
            self.run(unmake, key)?;
        }
        self.run(&of.delete, key)
    }
}

impl RowSink for Applier<'_> {
    fn begin(&mut self, start: &Start) -> Result<()> {
        match (self.expected, start) {
            (Start::After(expected), Start::After(at)) if expected == *at => Ok(()),
            (Start::Nothing { .. }, Start::Nothing { .. }) => Ok(()),
            (expected, start) => Err(unexpected(&format!("{start:?} instead of {expected:?}"))),
        }
    }

    fn gone(&mut self, table: &str, key: &[Value]) -> Result<()> {
        self.rows += 1;
        let of = self.statements(table)?;
        if key.len() != of.key.len() {
            return Err(unexpected(&format!("a key of `{table}` with {} values", key.len())));
        }
        let is_new = self.delete(of, key)? == 0;
        // One that was there was seen when it came.
        self.is_erased |= is_new && self.tells_of_erasure(table, key.first());
        Ok(())
    }

    fn row(&mut self, table: &str, values: &[Value]) -> Result<()> {
        self.rows += 1;
        self.is_erased |= self.tells_of_erasure(table, values.first());
        let of = self.statements(table)?;
        if values.len() != of.columns {
            return Err(unexpected(&format!("a row of `{table}` with {} values", values.len())));
        }
        if matches!(self.expected, Start::After(_)) {
            let key: Vec<Value> =
                of.key.iter().filter_map(|&place| values.get(place)).cloned().collect();
            self.delete(of, &key)?;
        }
        self.run(&of.insert, values).map(drop)
    }

    fn end(&mut self, head: Place, sequences: &Sequences) -> Result<()> {
        self.run("DELETE FROM sqlite_sequence", &[])?;
        for (table, seq) in sequences {
            let row = [Value::Text(table.clone()), Value::Integer(*seq)];
            self.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)", &row)?;
        }
        let note = || {
            if self.is_erased {
                meta::set(self.tx, meta::UNCLEANED, "1")?;
            }
            set_place(self.tx, head)
        };
        note().map_err(|error| fault(self.path, DOING, error))?;
        self.reached = Some(head);
        Ok(())
    }
}

/// Notes how far the store of a node is.
pub(crate) fn set_place(tx: &WriteTx<'_>, place: Place) -> rusqlite::Result<()> {
    meta::set(tx, meta::PLACE, &format!("{} {} {}", place.epoch, place.by, place.tx))
}

fn unexpected(what: &str) -> Error {
    let reason = format!("the truth gave {what}; bring all nodes to one version");
    Error::Corrupt { part: Part::Store, reason }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::{
        disk::migration,
        truth::{ColumnKind, tables},
    };

    #[test]
    fn a_row_from_before_a_column_came_has_its_default() {
        let connection = Connection::open_in_memory().unwrap();
        migration::migrate(&connection).unwrap();
        let tables = tables().unwrap();
        let files = tables.iter().find(|table| table.name == "files").unwrap();
        let value = |column: &Column| match (column.name.as_str(), column.kind) {
            ("metadata", _) => Value::Null,
            (_, ColumnKind::Integer) => Value::Integer(1),
            (_, ColumnKind::Real) => Value::Real(1.0),
            (_, ColumnKind::Text) => Value::Text("[]".to_owned()),
            (_, ColumnKind::Blob) => Value::Blob(vec![1]),
        };
        let row: Vec<Value> = files.columns.iter().map(value).collect();
        let start = Start::Nothing { lost: None };
        let tx = WriteTx::begin(&connection).unwrap();
        let mut applier = Applier::new(&tx, Path::new("store"), &tables, start);
        applier.begin(&start).unwrap();
        applier.row("files", &row).unwrap();
        let found: String =
            tx.query_row("SELECT metadata FROM files", [], |row| row.get(0)).unwrap();
        assert_eq!(found, "{}");
    }
}
