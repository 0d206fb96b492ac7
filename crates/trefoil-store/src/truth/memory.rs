//! A truth in the memory of one process, which several nodes in it share: for tests, simulations,
//! and nodes that live and die together.

mod exchange;
mod given;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use trefoil_core::{BoundaryClass, Error, Result};

use self::{exchange::Exchange, given::Given};
use super::{Place, RowSink, Sequences, Shard, Start, Touched, Truth, Value, format, tables};

/// What tells the time of a truth, from any beginning.
type Time = Arc<dyn Fn() -> Duration + Send + Sync>;
/// A row of a table, by its key.
type RowKey = (String, Vec<Value>);

/// One node's connection to a shard in memory.
#[derive(Clone)]
pub struct MemoryTruth {
    node: String,
    shard: Arc<Mutex<MemoryShard>>,
    time: Time,
    /// The highest class of units that the node is given; none if all.
    boundary: Option<BoundaryClass>,
}

/// A shard in memory, as of one moment. A truth can be put back to it, as a database is by a
/// standby that takes over and has not got the last transactions.
#[derive(Clone, Debug, Default)]
pub struct MemoryShard {
    head: Place,
    pruned: u64,
    epochs: Vec<Place>,
    /// Who leads, for how long each time, and until when.
    lease: Option<Lease>,
    sequences: Sequences,
    /// The transaction that wrote each row, and its values.
    rows: BTreeMap<RowKey, StoredRow>,
    gone: BTreeMap<RowKey, u64>,
    exchange: Exchange,
}

#[derive(Clone, Debug)]
struct Lease {
    node: String,
    length: Duration,
    until: Duration,
}

#[derive(Clone, Debug)]
struct StoredRow {
    tx: u64,
    values: Vec<Value>,
    /// It only tells that something is gone.
    is_tombstone: bool,
}

impl MemoryTruth {
    /// A new shard without a row, and the connection of a node to it.
    pub fn new(node: &str) -> Self {
        let began = Instant::now();
        Self::with_time(node, Arc::new(move || began.elapsed()))
    }

    /// The same with a time of the caller's own.
    pub fn with_time(node: &str, time: Arc<dyn Fn() -> Duration + Send + Sync>) -> Self {
        Self { node: node.to_owned(), shard: Arc::default(), time, boundary: None }
    }

    /// The connection of another node to the same shard.
    #[must_use]
    pub fn node(&self, node: &str) -> Self {
        Self { node: node.to_owned(), ..self.clone() }
    }

    /// The same connection, which is given units of memory up to a class only.
    #[must_use]
    pub fn within(mut self, boundary: BoundaryClass) -> Self {
        self.boundary = Some(boundary).filter(|class| *class < BoundaryClass::Secret);
        self
    }

    /// The shard as it is now.
    pub fn state(&self) -> MemoryShard {
        self.lock().clone()
    }

    /// Puts the shard back to what it was: transactions since then are lost.
    pub fn put_back(&self, state: MemoryShard) {
        *self.lock() = state;
    }

    fn lock(&self) -> MutexGuard<'_, MemoryShard> {
        self.shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fenced(&self) -> Error {
        Error::Fenced { shard: self.name() }
    }
}

impl MemoryShard {
    fn shard(&self, now: Duration) -> Shard {
        let lease = self.lease.as_ref().filter(|lease| lease.until > now);
        Shard {
            head: self.head,
            format: format(),
            pruned: self.pruned,
            epochs: self.epochs.clone(),
            writer: lease.map(|lease| lease.node.clone()),
            boundary: None,
        }
    }

    fn is_led_at(&self, place: Place) -> bool {
        (self.head.epoch, self.head.by) == (place.epoch, place.by)
    }

    fn renew(&mut self, now: Duration, length: Option<Duration>) {
        if let Some(lease) = &mut self.lease {
            lease.length = length.unwrap_or(lease.length);
            lease.until = now + lease.length;
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// How many keys it remembers that are gone.
    pub fn gone(&self) -> usize {
        self.gone.len()
    }

    /// How many texts are in the queue of those to embed, with a vector or without.
    pub fn texts(&self) -> usize {
        self.exchange.texts()
    }

    /// How far it is.
    pub const fn head(&self) -> Place {
        self.head
    }
}

impl fmt::Debug for MemoryTruth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTruth").field("node", &self.node).finish_non_exhaustive()
    }
}

impl Truth for MemoryTruth {
    fn name(&self) -> String {
        "in memory".to_owned()
    }

    fn head(&self) -> Result<Place> {
        Ok(self.lock().head)
    }

    fn shard(&self) -> Result<Shard> {
        Ok(Shard { boundary: self.boundary, ..self.lock().shard((self.time)()) })
    }

    fn lead(&self, from: Place, lease: Duration) -> Result<Option<Place>> {
        let now = (self.time)();
        let mut shard = self.lock();
        let is_held = |held: &Lease| held.node != self.node && held.until > now;
        if shard.head != from || shard.lease.as_ref().is_some_and(is_held) {
            return Ok(None);
        }
        // Zero is the writer of nothing.
        let place = Place { epoch: from.epoch + 1, by: fastrand::u64(1..1 << 63), tx: from.tx };
        shard.head = place;
        shard.epochs.push(place);
        shard.lease = Some(Lease { node: self.node.clone(), length: lease, until: now + lease });
        Ok(Some(place))
    }

    fn renew(&self, place: Place, lease: Duration) -> Result<()> {
        let now = (self.time)();
        let mut shard = self.lock();
        if !shard.is_led_at(place) || shard.head.tx < place.tx {
            return Err(self.fenced());
        }
        shard.renew(now, Some(lease));
        Ok(())
    }

    fn resign(&self, place: Place) -> Result<()> {
        let now = (self.time)();
        let mut shard = self.lock();
        if shard.is_led_at(place)
            && let Some(lease) = &mut shard.lease
        {
            lease.until = now;
        }
        Ok(())
    }

    fn hand_over(&self, place: Place, to: &str, lease: Duration) -> Result<()> {
        let now = (self.time)();
        let mut shard = self.lock();
        if shard.is_led_at(place) {
            shard.lease = Some(Lease { node: to.to_owned(), length: lease, until: now + lease });
        }
        Ok(())
    }

    fn append(&self, place: Place, touched: &Touched) -> Result<Place> {
        let now = (self.time)();
        let mut shard = self.lock();
        if shard.head != place {
            return Err(self.fenced());
        }
        let place = place.next();
        for table in &touched.tables {
            let (name, shape) = (&table.table.name, &table.table);
            for key in &table.gone {
                let key = (name.clone(), key.clone());
                shard.rows.remove(&key);
                shard.gone.insert(key, place.tx);
            }
            for values in &table.rows {
                let key = shape.key.iter().filter_map(|&at| values.get(at)).cloned().collect();
                let key = (name.clone(), key);
                let told = shape.tombstone.and_then(|at| values.get(at));
                let is_tombstone = told == Some(&Value::Integer(1));
                let row = StoredRow { tx: place.tx, values: values.clone(), is_tombstone };
                shard.rows.insert(key, row);
            }
        }
        shard.exchange.done(place.tx, &touched.done);
        shard.sequences.clone_from(&touched.sequences);
        shard.head = place;
        shard.renew(now, None);
        Ok(place)
    }

    fn pull(&self, after: Place, into: &mut dyn RowSink) -> Result<Place> {
        // As of one moment: the sink takes its time.
        let state = self.state();
        let start = state.shard((self.time)()).start(after);
        let from = match start {
            Start::After(place) => Some(place.tx),
            Start::Nothing { .. } => None,
        };
        let given = match self.boundary {
            Some(class) => {
                let rows = state.rows.iter();
                let rows = rows.map(|((table, _), row)| (table.as_str(), row.values.as_slice()));
                Some(Given::new(&tables()?, class, &rows))
            }
            None => None,
        };
        into.begin(&start)?;
        if let Some(from) = from {
            for ((table, key), tx) in &state.gone {
                if *tx > from && given.as_ref().is_none_or(|given| given.tells_of(table)) {
                    into.gone(table, key)?;
                }
            }
        }
        for ((table, _), row) in &state.rows {
            if from.is_some_and(|from| row.tx <= from) {
                continue;
            }
            match &given {
                None => into.row(table, &row.values)?,
                Some(given) if given.has(table, &row.values) => {
                    into.row(table, &given.values(table, &row.values))?;
                }
                Some(_) => {}
            }
        }
        into.end(state.head, &state.sequences)?;
        Ok(state.head)
    }

    fn prune(&self, place: Place, upto: u64) -> Result<()> {
        let mut shard = self.lock();
        if !shard.is_led_at(place) {
            return Err(self.fenced());
        }
        if upto <= shard.pruned {
            return Ok(());
        }
        shard.pruned = upto;
        shard.gone.retain(|_, tx| *tx > upto);
        shard.rows.retain(|_, row| !row.is_tombstone || row.tx > upto);
        Ok(())
    }
}
