//! The statements that write and read the rows of one table of the store's format.

use std::{fmt::Write as _, sync::Arc};

use tokio_postgres::Row;
use trefoil_core::Result;
use trefoil_store::truth::{Table, Value};

use crate::{
    fault::Fault,
    policy::given_view,
    schema::SqlType,
    value::{ColumnValues, value_at},
};

/// A table with its statements. All take the shard as `$1`.
#[derive(Debug)]
pub(crate) struct RowTable {
    pub(crate) table: Arc<Table>,
    kinds: Vec<SqlType>,
    /// Writes rows of transaction `$2` in place of those with the same key; then come the parameters
    /// of each column.
    pub(crate) upsert: String,
    /// Deletes rows by key; then come the parameters of each column of the key.
    pub(crate) delete: String,
    /// The rows of transactions after `$2`.
    pub(crate) select: String,
    /// The same for whoever is given units of memory up to a class only.
    pub(crate) select_given: String,
}

impl RowTable {
    pub(crate) fn new(table: &Arc<Table>) -> Self {
        let kinds: Vec<SqlType> =
            table.columns.iter().map(|column| SqlType::of(table, column)).collect();
        let columns: Vec<String> =
            table.columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
        let key: Vec<&str> =
            table.key.iter().filter_map(|&at| columns.get(at)).map(String::as_str).collect();
        let name = format!("trefoil.\"{}\"", table.name);
        let all = columns.join(", ");
        let select = |from: &str| format!("SELECT {all} FROM {from} WHERE shard = $1 AND tx > $2");
        Self {
            upsert: upsert(&name, &columns, &kinds, &key),
            delete: delete(&name, table, &key),
            select: select(&name),
            select_given: select(given_view(table).as_ref().unwrap_or(&name)),
            kinds,
            table: Arc::clone(table),
        }
    }

    /// The parameters that write `rows`.
    pub(crate) fn columns_of<'v>(&self, rows: &'v [Vec<Value>]) -> Result<Vec<ColumnValues<'v>>> {
        let kinds = self.kinds.iter().enumerate();
        kinds
            .map(|(at, &kind)| {
                ColumnValues::new(kind, rows.iter().map(|row| row.get(at).unwrap_or(&Value::Null)))
            })
            .collect()
    }

    /// The parameters that delete the rows of `keys`.
    pub(crate) fn columns_of_keys<'v>(
        &self,
        keys: &'v [Vec<Value>],
    ) -> Result<Vec<ColumnValues<'v>>> {
        let kinds = self.table.key.iter().filter_map(|&at| self.kinds.get(at));
        kinds
            .enumerate()
            .map(|(at, &kind)| {
                ColumnValues::new(kind, keys.iter().map(|key| key.get(at).unwrap_or(&Value::Null)))
            })
            .collect()
    }

    /// The values of a row that `select` has found.
    pub(crate) fn values(&self, row: &Row) -> Result<Vec<Value>, Fault> {
        self.kinds.iter().enumerate().map(|(at, &kind)| value_at(row, at, kind)).collect()
    }
}

fn upsert(name: &str, columns: &[String], kinds: &[SqlType], key: &[&str]) -> String {
    let (mut arrays, mut given, mut selected) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = 3;
    for (at, kind) in kinds.iter().enumerate() {
        if *kind == SqlType::Reals {
            // A slice of the one array that has all of them: arrays of arrays have one length.
            arrays.push(format!("${}::int[], ${}::int[]", next + 1, next + 2));
            given.push(format!("from{at}, to{at}"));
            selected.push(format!(
                "CASE WHEN from{at} IS NOT NULL THEN (${next}::real[])[from{at}:to{at}] END"
            ));
            next += 3;
        } else {
            arrays.push(format!("${next}::{}[]", kind.name()));
            given.push(format!("c{at}"));
            selected.push(format!("c{at}"));
            next += 1;
        }
    }
    let mut set = String::from("tx = excluded.tx");
    for column in columns.iter().filter(|column| !key.contains(&column.as_str())) {
        let _ = write!(set, ", {column} = excluded.{column}");
    }
    format!(
        "INSERT INTO {name} (shard, tx, {}) SELECT $1, $2, {} FROM unnest({}) AS given ({})
         ON CONFLICT (shard, {}) DO UPDATE SET {set}",
        columns.join(", "),
        selected.join(", "),
        arrays.join(", "),
        given.join(", "),
        key.join(", "),
    )
}

fn delete(name: &str, table: &Table, key: &[&str]) -> String {
    let kinds = table.key_columns().map(|column| SqlType::of(table, column).name());
    let arrays: Vec<String> = kinds.zip(2..).map(|(kind, n)| format!("${n}::{kind}[]")).collect();
    let names: Vec<String> = (0..key.len()).map(|at| format!("k{at}")).collect();
    let same: Vec<String> =
        key.iter().enumerate().map(|(at, column)| format!("t.{column} = k{at}")).collect();
    format!(
        "DELETE FROM {name} t USING unnest({}) AS given ({}) WHERE t.shard = $1 AND {}",
        arrays.join(", "),
        names.join(", "),
        same.join(" AND "),
    )
}
