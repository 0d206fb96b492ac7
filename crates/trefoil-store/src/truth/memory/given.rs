//! What a node within a boundary is given of the rows of a shard in memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use trefoil_core::{BoundaryClass, UnitKind};

use super::super::{Instead, Table, Value, Within};

/// Rows as of one moment, and which of them are given.
pub(super) struct Given {
    tables: BTreeMap<String, Arc<Table>>,
    /// Units that are given.
    units: BTreeSet<i64>,
    /// For each table whose rows others name, the names.
    named: BTreeMap<String, BTreeSet<Value>>,
}

impl Given {
    pub(super) fn new<'r>(
        tables: &[Arc<Table>],
        class: BoundaryClass,
        rows: &(impl Iterator<Item = (&'r str, &'r [Value])> + Clone),
    ) -> Self {
        let tables = tables.iter().map(|table| (table.name.clone(), Arc::clone(table))).collect();
        let mut given = Self { tables, units: BTreeSet::new(), named: BTreeMap::new() };
        for (table, values) in rows.clone().filter(|(table, _)| *table == "units") {
            let number = |column| match given.value(table, column, values) {
                Some(Value::Integer(number)) => *number,
                _ => i64::MAX,
            };
            let is_chunk = number("kind") == i64::from(UnitKind::Chunk.code());
            if is_chunk || number("boundary") <= i64::from(class.code()) {
                given.units.insert(number("id"));
            }
        }
        let mut named: BTreeMap<String, BTreeSet<Value>> = BTreeMap::new();
        for table in given.tables.values() {
            let Within::NamedIn(naming) = table.within else { continue };
            let names = named.entry(table.name.clone()).or_default();
            for (of, column) in naming {
                let rows =
                    rows.clone().filter(|(table, values)| table == of && given.has(table, values));
                names.extend(
                    rows.filter_map(|(of, values)| given.value(of, column, values)).cloned(),
                );
            }
        }
        given.named = named;
        given
    }

    fn value<'v>(&self, table: &str, column: &str, values: &'v [Value]) -> Option<&'v Value> {
        let columns = &self.tables.get(table)?.columns;
        values.get(columns.iter().position(|one| one.name == column)?)
    }

    /// Whether keys that are gone are told of a table.
    pub(super) fn tells_of(&self, table: &str) -> bool {
        self.tables.get(table).is_some_and(|table| table.within != Within::Nothing)
    }

    /// Whether a row is given.
    pub(super) fn has(&self, name: &str, values: &[Value]) -> bool {
        let Some(table) = self.tables.get(name) else { return true };
        let key = table.key.first().and_then(|&at| values.get(at));
        let has_unit = |value: Option<&Value>| match value {
            Some(Value::Integer(unit)) => self.units.contains(unit),
            _ => true,
        };
        match &table.within {
            Within::All => true,
            Within::Nothing => false,
            Within::Units => has_unit(key),
            Within::OfUnits(places) => places.iter().all(|&at| has_unit(values.get(at))),
            Within::NamedIn(_) => {
                key.is_some_and(|key| self.named.get(name).is_some_and(|named| named.contains(key)))
            }
        }
    }

    /// The values of a row, as they are given.
    pub(super) fn values(&self, name: &str, values: &[Value]) -> Vec<Value> {
        let Some(table) = self.tables.get(name) else { return values.to_vec() };
        let given = table.columns.iter().zip(values).map(|(column, value)| match column.instead {
            None => value.clone(),
            Some(Instead::Null) => Value::Null,
            Some(Instead::Text(text)) => Value::Text(text.to_owned()),
            Some(Instead::Column(other)) => match self.value(name, other, values) {
                None | Some(Value::Null) => Value::Text(String::new()),
                Some(other) => other.clone(),
            },
        });
        given.collect()
    }
}
