//! Rows on their way between a store and the truth.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use trefoil_core::Result;

use super::{Place, RequestId, Start, Table};

/// A value of a column, one of SQLite's five kinds. Two are equal if they are of one kind and the
/// same to the bit.
#[derive(Clone, Debug)]
pub enum Value {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number; never NaN, which SQLite keeps as no value.
    Real(f64),
    /// A text, which may hold U+0000.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl Value {
    /// The order of the kinds.
    const fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Integer(_) => 1,
            Self::Real(_) => 2,
            Self::Text(_) => 3,
            Self::Blob(_) => 4,
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => one.cmp(other),
            (Self::Real(one), Self::Real(other)) => one.total_cmp(other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::Blob(one), Self::Blob(other)) => one.cmp(other),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Value {}

/// The last row number that was given in each table that never gives one twice: the content of
/// SQLite's `sqlite_sequence`, whole.
pub type Sequences = BTreeMap<String, i64>;

/// What one transaction has touched: the last state of each row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Table by table, by name; none without a row.
    pub tables: Vec<TouchedTable>,
    /// The row numbers after the transaction.
    pub sequences: Sequences,
    /// Requests of the inbox that this transaction has done.
    pub done: Vec<Done>,
}

impl Touched {
    /// True if no row was touched and no request is done; the sequences do not count.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.done.is_empty()
    }
}

/// What a transaction has touched in one table. Keys and rows are in order of the key, each key
/// once in a list. One that is in both is there, but a node that is not given the row
/// ([`Within`](super::Within)) may have it from before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedTable {
    /// The table.
    pub table: Arc<Table>,
    /// Keys of rows that are gone, also of some that were there only within the transaction, or
    /// that some nodes are given no more: the values of the columns of [`Table::key`].
    pub gone: Vec<Vec<Value>>,
    /// Rows that are there: a value for each of [`Table::columns`].
    pub rows: Vec<Vec<Value>>,
}

/// A request of the inbox that a transaction has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which.
    pub id: RequestId,
    /// What its sender is told.
    pub answer: Vec<u8>,
}

/// Where a [`pull`](super::Truth::pull) puts what it finds. `begin` is called first and once, `end`
/// last and once; without `end` nothing counts.
pub trait RowSink {
    /// What the rows are to be added to.
    fn begin(&mut self, start: &Start) -> Result<()>;
    /// A row is gone: its key, as in [`TouchedTable::gone`]. The sink may never have had it, and
    /// the row may come again.
    fn gone(&mut self, table: &str, key: &[Value]) -> Result<()>;
    /// A row is there, in place of one with the same key if there is one: its values, as in
    /// [`TouchedTable::rows`].
    fn row(&mut self, table: &str, values: &[Value]) -> Result<()>;
    /// All was told; the place that it leads to, and the row numbers there.
    fn end(&mut self, head: Place, sequences: &Sequences) -> Result<()>;
}
