//! What the node that leads tells those that are given units of memory up to a class only
//! ([`Within`]): that such a node is to be given a row, or to be given it no more, though nobody
//! wrote the row. That is so where a unit has another class, and where another row names it.

use std::sync::Arc;

use super::{Table, Within, touch};
use crate::WriteTx;

/// Makes the triggers of the node that leads.
pub(super) fn install(tx: &WriteTx<'_>, tables: &[Arc<Table>]) -> rusqlite::Result<()> {
    let notes = Notes { tx, tables };
    notes.install_of_class()?;
    for (at, table) in tables.iter().enumerate() {
        if let Within::NamedIn(rows) = table.within {
            for naming in rows {
                notes.install_of_names((at, table), rows, *naming)?;
            }
        }
    }
    Ok(())
}

/// Whether a statement on a row of a table may have hidden it from some nodes, as SQL in a trigger.
/// A row that is deleted may come back as that of another unit.
pub(super) fn hidden_by(event: &str, table: &Table) -> String {
    let changed = |column: &str| format!("OLD.\"{column}\" IS NOT NEW.\"{column}\"");
    let changed: Vec<String> = table.unit_columns().map(changed).collect();
    match event {
        "DELETE" => "1".to_owned(),
        "UPDATE" if !changed.is_empty() => format!("({})", changed.join(" OR ")),
        _ => "0".to_owned(),
    }
}

/// Triggers that note rows of which nobody wrote.
struct Notes<'c> {
    tx: &'c WriteTx<'c>,
    tables: &'c [Arc<Table>],
}

/// A table and its number.
type Numbered<'t> = (usize, &'t Table);

impl Notes<'_> {
    /// Notes the rows `r` of a table for which a condition holds; `hidden` says whether some nodes
    /// are to forget them.
    fn note((at, table): Numbered<'_>, condition: &str, hidden: &str) -> String {
        let (keys, name) = (touch::keys(table, "r"), &table.name);
        format!(
            "INSERT INTO touched SELECT {at}, {keys}, {hidden} FROM {name} r WHERE {condition};\n"
        )
    }

    fn first_of_key(table: &Table) -> &str {
        table.key_columns().next().map_or("", |column| &column.name)
    }

    /// Where a unit has another class.
    fn install_of_class(&self) -> rusqlite::Result<()> {
        let mut notes = String::new();
        for (at, table) in self.tables.iter().enumerate() {
            let mut note = |condition: &str| {
                let hidden = "NEW.boundary > OLD.boundary OR NEW.kind <> OLD.kind";
                notes.push_str(&Self::note((at, table), condition, hidden));
            };
            match &table.within {
                Within::All | Within::Nothing => {}
                Within::Units => note("r.id = NEW.id"),
                Within::OfUnits(_) => {
                    for column in table.unit_columns() {
                        note(&format!("r.\"{column}\" = NEW.id"));
                    }
                }
                Within::NamedIn(rows) => {
                    let name = Self::first_of_key(table);
                    for (naming, column) in *rows {
                        if *naming == "units" {
                            note(&format!("r.\"{name}\" = NEW.\"{column}\""));
                        }
                        for of in self.tables.iter().filter(|one| one.name == *naming) {
                            for unit in of.unit_columns() {
                                note(&format!(
                                    "r.\"{name}\" IN (SELECT \"{column}\" FROM {naming}
                                                      WHERE \"{unit}\" = NEW.id)"
                                ));
                            }
                        }
                    }
                }
            }
        }
        self.tx.execute_batch(&format!(
            "CREATE TEMP TRIGGER IF NOT EXISTS {}class AFTER UPDATE OF boundary, kind ON main.units
             WHEN NEW.boundary <> OLD.boundary OR NEW.kind <> OLD.kind BEGIN {notes} END",
            touch::TRIGGER
        ))
    }

    /// A table of which every node is given all rows.
    fn given_to_all(&self, name: &str) -> Option<&Table> {
        let mut tables = self.tables.iter().map(Arc::as_ref);
        tables.find(|table| table.name == name && table.within == Within::All)
    }

    /// Where a row of the table `naming` names a row of this one, or names it no more.
    ///
    /// A row that nothing names any more stays where it was given, for as long as the node that
    /// leads keeps it.
    fn install_of_names(
        &self,
        table: Numbered<'_>,
        rows: &[(&str, &str)],
        (naming, column): (&str, &str),
    ) -> rusqlite::Result<()> {
        let key = Self::first_of_key(table.1);
        let named = |side: &str| format!("r.\"{key}\" = {side}.\"{column}\"");
        let (mut comes, mut goes) = (named("NEW"), named("OLD"));
        if let Some(of) = self.given_to_all(naming) {
            // Who is given all rows that name it has it already, if another one does.
            let own = Self::first_of_key(of);
            comes = format!(
                "{comes} AND NOT EXISTS (SELECT 1 FROM {naming} other
                 WHERE other.\"{column}\" = NEW.\"{column}\" AND other.\"{own}\" <> NEW.\"{own}\")"
            );
            // Who is not given a unit that still names it is not to keep it.
            let others = rows.iter().filter(|(other, _)| self.given_to_all(other).is_none());
            let is_named = |(other, named): &(&str, &str)| {
                format!("EXISTS (SELECT 1 FROM {other} WHERE \"{named}\" = OLD.\"{column}\")")
            };
            let others: Vec<String> = others.map(is_named).collect();
            goes = format!("{goes} AND ({})", others.join(" OR "));
        }
        let comes = Self::note(table, &comes, "0");
        let goes = Self::note(table, &goes, "1");
        let name = format!("{}{naming}_{column}_names", touch::TRIGGER);
        self.tx.execute_batch(&format!(
            "CREATE TEMP TRIGGER IF NOT EXISTS {name}_insert AFTER INSERT ON main.{naming}
             WHEN NEW.\"{column}\" IS NOT NULL BEGIN {comes} END;
             CREATE TEMP TRIGGER IF NOT EXISTS {name}_update
             AFTER UPDATE OF \"{column}\" ON main.{naming}
             WHEN NEW.\"{column}\" IS NOT OLD.\"{column}\" BEGIN {goes}{comes} END;
             CREATE TEMP TRIGGER IF NOT EXISTS {name}_delete AFTER DELETE ON main.{naming}
             WHEN OLD.\"{column}\" IS NOT NULL BEGIN {goes} END",
        ))
    }
}
