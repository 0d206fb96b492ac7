//! Rows in memory: what a node pulls, and what its transactions are made of.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use trefoil_core::{Error, Result};
use trefoil_store::truth::{
    ColumnKind, Place, RowSink, Sequences, Start, Table, Touched, TouchedTable, Truth, Value,
    tables,
};

pub(crate) static TABLES: LazyLock<Vec<Arc<Table>>> = LazyLock::new(|| tables().unwrap());

pub(crate) fn table(name: &str) -> Arc<Table> {
    Arc::clone(TABLES.iter().find(|table| table.name == name).unwrap())
}

/// Rows by table and key, each to the bit.
pub(crate) type Rows = BTreeMap<String, BTreeMap<String, String>>;

/// What a node has.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) rows: Rows,
    pub(crate) place: Place,
    pub(crate) sequences: Sequences,
    /// How the last pull began.
    pub(crate) start: Option<Start>,
    /// How many keys and rows the last pull told of.
    pub(crate) told: (usize, usize),
    /// The pull is ended by an error at this row.
    pub(crate) fails_at: Option<usize>,
}

impl Collected {
    /// Follows to the head.
    pub(crate) fn pull(&mut self, truth: &dyn Truth) -> Result<Place> {
        let head = truth.pull(self.place, self)?;
        assert_eq!(head, self.place);
        Ok(head)
    }

    /// All that is there.
    pub(crate) fn of(truth: &dyn Truth) -> Self {
        let mut all = Self::default();
        all.pull(truth).unwrap();
        all
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.values().map(BTreeMap::len).sum()
    }
}

impl RowSink for Collected {
    fn begin(&mut self, start: &Start) -> Result<()> {
        if matches!(start, Start::Nothing { .. }) {
            self.rows.clear();
        }
        (self.start, self.told) = (Some(*start), (0, 0));
        Ok(())
    }

    fn gone(&mut self, name: &str, key: &[Value]) -> Result<()> {
        assert!(matches!(self.start, Some(Start::After(_))), "a key is gone from nothing");
        assert_eq!(self.told.1, 0, "a key is gone after a row");
        self.told.0 += 1;
        if let Some(rows) = self.rows.get_mut(name) {
            rows.remove(&text_of(key));
        }
        self.rows.retain(|_, rows| !rows.is_empty());
        Ok(())
    }

    fn row(&mut self, name: &str, values: &[Value]) -> Result<()> {
        if self.fails_at == Some(self.told.1) {
            return Err(Error::Cancelled);
        }
        self.told.1 += 1;
        insert(&mut self.rows, &table(name), values);
        Ok(())
    }

    fn end(&mut self, head: Place, sequences: &Sequences) -> Result<()> {
        self.place = head;
        self.sequences.clone_from(sequences);
        Ok(())
    }
}

/// Values, each to the bit.
pub(crate) fn text_of(values: &[Value]) -> String {
    let texts = values.iter().map(|value| {
        let bits = if let Value::Real(number) = value { Some(number.to_bits()) } else { None };
        bits.map_or_else(|| format!("{value:?}"), |bits| format!("Real({bits:016x})"))
    });
    texts.collect::<Vec<_>>().join(",")
}

fn insert(rows: &mut Rows, table: &Table, values: &[Value]) {
    let key: Vec<Value> = table.key.iter().map(|&at| values[at].clone()).collect();
    rows.entry(table.name.clone()).or_default().insert(text_of(&key), text_of(values));
}

/// A change of one row: which table and which of few keys, and what it becomes, made from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) table: usize,
    pub(crate) key: u8,
    pub(crate) seed: Option<u64>,
}

/// One transaction of changes; of those of the same row the last counts.
pub(crate) fn transaction(changes: &[Change], sequences: Sequences) -> Touched {
    let mut last: BTreeMap<(usize, u8), Option<u64>> = BTreeMap::new();
    for change in changes {
        let at = change.table % TABLES.len();
        let keys = 6_usize.pow(u32::try_from(TABLES[at].key.len()).unwrap());
        let key = u8::try_from(usize::from(change.key) % keys).unwrap();
        last.insert((at, key), change.seed);
    }
    let mut touched = Touched { sequences, ..Touched::default() };
    for at in last.keys().map(|(at, _)| *at).collect::<BTreeSet<_>>() {
        let table = Arc::clone(&TABLES[at]);
        let (mut gone, mut rows) = (Vec::new(), Vec::new());
        for ((_, key), seed) in last.range((at, 0)..=(at, u8::MAX)) {
            match seed {
                Some(seed) => rows.push(row(&table, *key, *seed)),
                None => gone.push(key_of(&table, *key)),
            }
        }
        touched.tables.push(TouchedTable { table, gone, rows });
    }
    touched
}

/// Does to `rows` what a transaction does.
pub(crate) fn apply(rows: &mut Rows, touched: &Touched) {
    for part in &touched.tables {
        for key in &part.gone {
            if let Some(rows) = rows.get_mut(&part.table.name) {
                rows.remove(&text_of(key));
            }
        }
        for values in &part.rows {
            insert(rows, &part.table, values);
        }
    }
    rows.retain(|_, rows| !rows.is_empty());
}

/// One row of `meta`.
pub(crate) fn setting(key: &str, value: &str) -> Touched {
    let values = [key, value].map(|text| Value::Text(text.to_owned()));
    let part = TouchedTable { table: table("meta"), gone: Vec::new(), rows: vec![values.to_vec()] };
    Touched { tables: vec![part], ..Touched::default() }
}

const NUMBERS: [i64; 6] = [0, 1, -1, 7_000_000_000, i64::MIN, i64::MAX];
const TEXTS: [&str; 6] = ["", "a", "\0", "\u{1}0", "e\u{301}\u{1}\u{1}", "\"}{,\\'"];
const REALS: [f64; 6] = [0.0, -0.0, 0.1, f64::MAX, f64::INFINITY, f64::MIN_POSITIVE];

fn key_of(table: &Table, key: u8) -> Vec<Value> {
    let places = table.key.iter().enumerate();
    let value = |(n, &at): (usize, &usize)| {
        let pick = usize::from(key) / 6_usize.pow(u32::try_from(n).unwrap()) % 6;
        match table.columns[at].kind {
            ColumnKind::Integer => Value::Integer(NUMBERS[pick]),
            ColumnKind::Text => Value::Text(TEXTS[pick].to_owned()),
            kind @ (ColumnKind::Real | ColumnKind::Blob) => {
                panic!("`{}` has a key of {kind:?}", table.name)
            }
        }
    };
    places.map(value).collect()
}

fn row(table: &Table, key: u8, seed: u64) -> Vec<Value> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut values: Vec<Value> = table
        .columns
        .iter()
        .map(|column| {
            if !column.not_null && random.u8(..4) == 0 {
                return Value::Null;
            }
            match column.kind {
                ColumnKind::Integer => Value::Integer(if random.bool() {
                    NUMBERS[random.usize(..6)]
                } else {
                    random.i64(..)
                }),
                ColumnKind::Real => Value::Real(REALS[random.usize(..6)]),
                ColumnKind::Text => {
                    let long = if random.u8(..20) == 0 { 9000 } else { 3 };
                    let texts = (0..random.usize(..long)).map(|_| TEXTS[random.usize(..6)]);
                    Value::Text(texts.collect())
                }
                // Whole numbers of four bytes, so that each can be a vector, of any bits.
                ColumnKind::Blob => {
                    let bytes = random.usize(..40) * 4;
                    Value::Blob((0..bytes).map(|_| random.u8(..)).collect())
                }
            }
        })
        .collect();
    for (&at, value) in table.key.iter().zip(key_of(table, key)) {
        values[at] = value;
    }
    values
}
