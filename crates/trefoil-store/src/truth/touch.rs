//! What a transaction touches, noted by temporary triggers on every table of the truth. They are
//! there only while a node leads.
//!
//! A row may also be touched because other nodes are to be told of it that were not: those that
//! are given units up to a class only ([`boundary`](super::boundary)).

use std::sync::Arc;

use rusqlite::{params, types::ValueRef};

use super::{Sequences, Table, Touched, TouchedTable, Value, boundary};
use crate::{WriteTx, meta};

/// Most columns of a key.
const KEY: usize = 3;
/// What the names of the triggers begin with.
pub(super) const TRIGGER: &str = "touched_";
/// What happens to a row, and the sides of it that have a key.
const EVENTS: [(&str, &[&str]); 3] =
    [("INSERT", &["NEW"]), ("UPDATE", &["OLD", "NEW"]), ("DELETE", &["OLD"])];

/// Makes the triggers of a connection, unless it has them.
pub(crate) fn install(tx: &WriteTx<'_>, tables: &[Arc<Table>]) -> rusqlite::Result<()> {
    // Without a unique key: the conflict clause of the statement that fires a trigger overrules
    // the trigger's own.
    let mut script =
        "CREATE TEMP TABLE IF NOT EXISTS touched (tbl INTEGER, k0, k1, k2, hidden INTEGER);\n"
            .to_owned();
    for (number, table) in tables.iter().enumerate() {
        let name = &table.name;
        for (event, sides) in EVENTS {
            let hidden = boundary::hidden_by(event, table);
            let note = |side: &&str| {
                let (keys, only) = (keys(table, side), of_the_truth(table, side));
                format!("INSERT INTO touched SELECT {number}, {keys}, {hidden}{only};")
            };
            let notes: String = sides.iter().map(note).collect();
            let trigger = format!(
                "CREATE TEMP TRIGGER IF NOT EXISTS {TRIGGER}{name}_{event} AFTER {event} ON main.{name}
                 BEGIN {notes} END;\n"
            );
            script.push_str(&trigger);
        }
    }
    tx.execute_batch(&script)?;
    boundary::install(tx, tables)
}

/// The key of a row of a table, as many values as the longest has. `row` is what the row is called.
pub(super) fn keys(table: &Table, row: &str) -> String {
    let mut keys: Vec<String> =
        table.key_columns().map(|column| format!("{row}.\"{}\"", column.name)).collect();
    keys.resize(KEY, "NULL".to_owned());
    keys.join(", ")
}

/// Removes the triggers: the connection is to apply what others wrote.
pub(crate) fn remove(tx: &WriteTx<'_>) -> rusqlite::Result<()> {
    let names: Vec<String> = tx
        .prepare("SELECT name FROM temp.sqlite_schema WHERE type = 'trigger' AND name GLOB ?1")?
        .query_map([format!("{TRIGGER}*")], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for name in names {
        tx.execute_batch(&format!("DROP TRIGGER temp.{name}"))?;
    }
    tx.execute_batch("DROP TABLE IF EXISTS temp.touched")
}

/// Leaves out the rows of a table that no other node is told of: settings that say something of
/// this file only. A condition in SQL on `rows`, a table or a side of a trigger.
pub(super) fn of_the_truth(table: &Table, rows: &str) -> String {
    if table.name != "meta" {
        return String::new();
    }
    let local = meta::LOCAL.map(|key| format!("'{key}'")).join(", ");
    format!(" WHERE {rows}.key NOT IN ({local})")
}

/// Notes every row that there is.
pub(crate) fn note_all(tx: &WriteTx<'_>, tables: &[Arc<Table>]) -> rusqlite::Result<()> {
    for (number, table) in tables.iter().enumerate() {
        let name = &table.name;
        let (keys, only) = (keys(table, name), of_the_truth(table, name));
        let sql =
            format!("INSERT INTO temp.touched SELECT {number}, {keys}, 0 FROM main.{name}{only}");
        tx.execute(&sql, [])?;
    }
    Ok(())
}

/// Forgets what was noted so far.
pub(crate) fn forget(tx: &WriteTx<'_>) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM temp.touched")?.execute([]).map(drop)
}

/// What the transaction has touched so far.
pub(crate) fn read(tx: &WriteTx<'_>, tables: &[Arc<Table>]) -> rusqlite::Result<Touched> {
    let numbers: Vec<usize> = tx
        .prepare_cached("SELECT DISTINCT tbl FROM temp.touched ORDER BY tbl")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut touched = Touched { sequences: sequences(tx)?, ..Touched::default() };
    for number in numbers {
        if let Some(table) = tables.get(number) {
            touched.tables.push(read_table(tx, number, table)?);
        }
    }
    Ok(touched)
}

fn read_table(
    tx: &WriteTx<'_>,
    number: usize,
    table: &Arc<Table>,
) -> rusqlite::Result<TouchedTable> {
    let columns: Vec<String> =
        table.columns.iter().map(|column| format!("t.\"{}\"", column.name)).collect();
    let is_same: Vec<String> = table
        .key_columns()
        .enumerate()
        .map(|(at, column)| format!("t.\"{}\" = d.k{at}", column.name))
        .collect();
    // A column of the key always has a value: without one there is no row.
    let first = table.key_columns().next().map_or("", |column| &column.name);
    let select = format!(
        "SELECT t.\"{first}\" IS NOT NULL, d.hidden, d.k0, d.k1, d.k2, {}
         FROM (SELECT k0, k1, k2, max(hidden) AS hidden FROM temp.touched
               WHERE tbl = ?1 GROUP BY k0, k1, k2) d
         LEFT JOIN main.{} t ON {} ORDER BY d.k0, d.k1, d.k2",
        columns.join(", "),
        table.name,
        is_same.join(" AND "),
    );
    let mut select = tx.prepare_cached(&select)?;
    let mut found = select.query(params![number])?;
    let mut touched = TouchedTable { table: Arc::clone(table), gone: Vec::new(), rows: Vec::new() };
    while let Some(row) = found.next()? {
        let values = |from: usize, count: usize| -> rusqlite::Result<Vec<Value>> {
            (from..from + count).map(|column| value(row.get_ref(column)?)).collect()
        };
        let (is_there, is_hidden): (bool, bool) = (row.get(0)?, row.get(1)?);
        if is_there {
            touched.rows.push(values(2 + KEY, columns.len())?);
        }
        if !is_there || is_hidden {
            touched.gone.push(values(2, table.key.len())?);
        }
    }
    Ok(touched)
}

/// The last row number given in each table.
pub(crate) fn sequences(tx: &WriteTx<'_>) -> rusqlite::Result<Sequences> {
    tx.prepare_cached("SELECT name, seq FROM sqlite_sequence")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn value(value: ValueRef<'_>) -> rusqlite::Result<Value> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(_) => Value::Text(value.as_str()?.to_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    })
}
