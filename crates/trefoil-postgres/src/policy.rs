//! Row-level security: what a login sees of the rows of an index.

use std::{fmt::Write as _, sync::Arc};

use trefoil_core::UnitKind;
use trefoil_store::truth::{ColumnKind, Instead, Table, Within};

/// The view of the rows of a table as they are given to whoever is given units of memory up to a
/// class only; none if that is the table itself.
pub(crate) fn given_view(table: &Table) -> Option<String> {
    let is_other = table.columns.iter().any(|column| column.instead.is_some());
    is_other.then(|| format!("trefoil.\"{}_given\"", table.name))
}

/// The shards of whoever may read rows, and may read all of them.
const READS: &str =
    "shard IN (SELECT shard FROM trefoil.granted WHERE kind IN ('writer', 'searcher'))";
const READS_ALL: &str = "shard IN
    (SELECT shard FROM trefoil.granted WHERE kind IN ('writer', 'searcher') AND boundary = 3)";

/// Writers write the rows of their indexes, searchers read those that `reads` says.
fn policies(table: &str, reads: &str) -> String {
    format!(
        "ALTER TABLE trefoil.\"{table}\" ENABLE ROW LEVEL SECURITY;
         DROP POLICY IF EXISTS reads ON trefoil.\"{table}\";
         CREATE POLICY reads ON trefoil.\"{table}\" FOR SELECT USING ({reads});
         DROP POLICY IF EXISTS writes ON trefoil.\"{table}\";
         CREATE POLICY writes ON trefoil.\"{table}\" USING (shard IN
             (SELECT shard FROM trefoil.granted WHERE kind = 'writer'));\n"
    )
}

/// The policies of all tables of rows, once they are there.
pub(crate) fn script(tables: &[Arc<Table>]) -> String {
    let withheld = tables.iter().filter(|table| table.within == Within::Nothing);
    let withheld: Vec<String> = withheld.map(|table| format!("'{}'", table.name)).collect();
    let gone = format!("{READS_ALL} OR {READS} AND tbl NOT IN ({})", withheld.join(", "));
    let mut script = policies("epoch", READS) + &policies("gone", &gone);
    for table in tables {
        script.push_str(&policies(&table.name, &reads(table)));
        script.push_str(&names(tables, table));
    }
    script
}

/// Which rows of a table whoever asks is given.
fn reads(table: &Table) -> String {
    let name = &table.name;
    let given = match &table.within {
        Within::All => return READS.to_owned(),
        Within::Nothing => return READS_ALL.to_owned(),
        // They are given by a view instead.
        _ if given_view(table).is_some() => return READS_ALL.to_owned(),
        Within::Units => format!(
            "(kind = {} OR (shard, boundary) IN (SELECT shard, class FROM trefoil.granted_class))",
            UnitKind::Chunk.code()
        ),
        Within::OfUnits(_) => {
            let has = table.unit_columns().map(|column| {
                let column = format!("\"{name}\".\"{column}\"");
                format!(
                    "({column} IS NULL OR EXISTS (SELECT FROM trefoil.units u
                         WHERE u.shard = \"{name}\".shard AND u.id = {column}))"
                )
            });
            has.collect::<Vec<_>>().join(" AND ")
        }
        Within::NamedIn(rows) => {
            let key = table.key_columns().next().map_or("", |column| &column.name);
            let named = rows.iter().map(|(naming, column)| {
                format!(
                    "EXISTS (SELECT FROM trefoil.\"{naming}\" n
                         WHERE n.shard = \"{name}\".shard AND n.\"{column}\" = \"{name}\".\"{key}\")"
                )
            });
            format!("({})", named.collect::<Vec<_>>().join(" OR "))
        }
    };
    format!("{READS_ALL} OR {READS} AND {given}")
}

/// Indexes by which rows of a table are found that name it, and the view that gives its rows where
/// columns of them are given otherwise: it reads as the owner, so it says itself to whom.
fn names(tables: &[Arc<Table>], table: &Table) -> String {
    let Within::NamedIn(rows) = table.within else { return String::new() };
    let index = |(naming, column): &(&str, &str)| {
        format!(
            "CREATE INDEX IF NOT EXISTS \"{naming}_{column}\" ON trefoil.\"{naming}\"
                 USING hash (\"{column}\") WHERE \"{column}\" IS NOT NULL;\n"
        )
    };
    let mut script: String = rows.iter().map(index).collect();
    let Some(view) = given_view(table) else { return script };
    let columns = table.columns.iter().map(|column| {
        let name = &column.name;
        match column.instead {
            None => format!("r.\"{name}\""),
            Some(Instead::Null) => format!("NULL::text AS \"{name}\""),
            Some(Instead::Text(text)) => format!("'{text}'::text AS \"{name}\""),
            Some(Instead::Column(other)) if column.kind == ColumnKind::Text => {
                format!("coalesce(r.\"{other}\", '') AS \"{name}\"")
            }
            Some(Instead::Column(other)) => format!("r.\"{other}\" AS \"{name}\""),
        }
    });
    let columns: Vec<String> = columns.collect();
    let key = table.key_columns().next().map_or("", |column| &column.name);
    let named = rows.iter().map(|(naming, column)| {
        // The units of the rows that name it.
        let of = tables.iter().find(|one| one.name == *naming);
        let unit = of.map_or("", |of| of.key_columns().next().map_or("", |column| &column.name));
        format!(
            "EXISTS (SELECT FROM trefoil.\"{naming}\" n
                 JOIN trefoil.units u ON u.shard = n.shard AND u.id = n.\"{unit}\"
                 WHERE n.shard = r.shard AND n.\"{column}\" = r.\"{key}\"
                     AND (u.kind = {} OR u.boundary <= g.boundary))",
            UnitKind::Chunk.code()
        )
    });
    let named: Vec<String> = named.collect();
    let _ = writeln!(
        script,
        "DROP VIEW IF EXISTS {view};
         CREATE VIEW {view} WITH (security_barrier) AS SELECT r.shard, r.tx, {} FROM trefoil.\"{}\" r
             JOIN trefoil.granted g ON g.shard = r.shard AND g.kind = 'searcher'
             WHERE {};",
        columns.join(", "),
        table.name,
        named.join(" OR ")
    );
    script
}
