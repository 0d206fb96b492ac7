//! Rows on their way into the store of a node that is given units of memory up to a class only.
//!
//! What all units together say of an entity is given to no such node: it adds that up from the
//! units that it has.

use std::{collections::BTreeSet, path::Path};

use trefoil_core::{Result, RowId};

use super::{Place, RowSink, Sequences, Start, Value, apply::Applier};
use crate::{WriteTx, fault::fault, memory::mentions::GraphWriter};

/// Tables whose first column is a unit that counts in a sum.
const COUNTED: [&str; 4] = ["units", "payload_claim", "unit_entities", "unit_edges"];

/// Applies what a pull brings, and adds up again what it bears on.
#[derive(Debug)]
pub(super) struct Summing<'c> {
    rows: Applier<'c>,
    graph: GraphWriter<'c>,
    path: &'c Path,
    /// Units of which something has changed.
    units: BTreeSet<RowId>,
}

impl<'c> Summing<'c> {
    pub(super) fn new(rows: Applier<'c>, tx: &'c WriteTx<'c>, path: &'c Path, now: i64) -> Self {
        Self { rows, graph: GraphWriter::new(tx, now), path, units: BTreeSet::new() }
    }

    /// As [`Applier::reached`].
    pub(super) const fn reached(&self) -> Option<(Place, usize)> {
        self.rows.reached()
    }

    /// Notes what a row that is about to change counts for; `first` is its first value.
    fn before(&mut self, table: &str, first: Option<&Value>) -> Result<()> {
        let Some(Value::Integer(first)) = first else { return Ok(()) };
        if table == "entities" {
            self.graph.touch_entity(*first);
        } else if COUNTED.contains(&table) {
            let unit = RowId::new(first.cast_unsigned());
            if self.units.insert(unit) {
                return self.touch(unit);
            }
        }
        Ok(())
    }

    fn touch(&mut self, unit: RowId) -> Result<()> {
        self.graph.touch(unit).map_err(|error| fault(self.path, "add up what units say", error))
    }
}

impl RowSink for Summing<'_> {
    fn begin(&mut self, start: &Start) -> Result<()> {
        self.rows.begin(start)
    }

    fn gone(&mut self, table: &str, key: &[Value]) -> Result<()> {
        self.before(table, key.first())?;
        self.rows.gone(table, key)
    }

    fn row(&mut self, table: &str, values: &[Value]) -> Result<()> {
        self.before(table, values.first())?;
        self.rows.row(table, values)
    }

    fn end(&mut self, head: Place, sequences: &Sequences) -> Result<()> {
        for unit in std::mem::take(&mut self.units) {
            self.touch(unit)?;
        }
        self.graph.finish().map_err(|error| fault(self.path, "add up what units say", error))?;
        self.rows.end(head, sequences)
    }
}
