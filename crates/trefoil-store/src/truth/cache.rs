//! The store of a node: a cache that leads or follows.

use std::{
    fs,
    io::ErrorKind,
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use rusqlite::Connection;
use trefoil_core::{BoundaryClass, Error, Result, sync};

use super::{
    Lost, NodeTimes, Place, Start, Table, Truth,
    apply::{Applier, set_place},
    replica::Replica,
    sums::Summing,
    tables, touch,
};
use crate::{
    Access, Clock, Store, WriteTx,
    fault::fault,
    meta,
    store::{file_in, open_writer},
};

/// All rows of the truth on their way into a file of their own, until it is whole.
const PULLED: &str = "store.pulled";
/// What a message says that a node does.
const FOLLOW: &str = "follow the truth";
const LEAD: &str = "lead the shard";

/// What following did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// Nothing: the cache was at the head.
    Same(Place),
    /// Rows that were touched since were taken over.
    Advanced {
        /// Where the cache is now.
        to: Place,
        /// How many rows and keys came.
        rows: usize,
    },
    /// The cache was made again from all rows.
    Remade {
        /// Where the cache is now.
        to: Place,
        /// What it had that the shard has lost, if that is why.
        lost: Option<Lost>,
    },
}

impl Followed {
    /// Where the cache is now.
    pub const fn place(&self) -> Place {
        match self {
            Self::Same(place)
            | Self::Advanced { to: place, .. }
            | Self::Remade { to: place, .. } => *place,
        }
    }
}

impl Store {
    /// Opens the store of a node in the directory `dir`: a cache of `truth`, which is created
    /// empty if it is not there. The node follows until it is told to [`lead`](Self::lead).
    ///
    /// # Errors
    /// Those of [`Store::open`], and [`Error::NotNodeCache`] if there is an index of its own.
    pub fn open_node(
        dir: &Path,
        truth: Arc<dyn Truth>,
        times: NodeTimes,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let mut store = Self::open_file(&file_in(dir), Access::Follow, clock)?;
        remove(&store.path().with_file_name(PULLED))?;
        let tables = tables()?;
        if store.place()? == Place::NOTHING && store.has_rows(&tables)? {
            return Err(Error::NotNodeCache { path: dir.to_owned() });
        }
        store.replica = Some(Replica::new(truth, tables, times));
        Ok(store)
    }

    /// How far the store is as a cache of the truth; [`Place::NOTHING`] if it is none.
    pub fn place(&self) -> Result<Place> {
        self.read("read how far the cache is", place)
    }

    /// Where this node leads; none if it follows.
    pub fn leads(&self) -> Option<Place> {
        self.replica.as_ref().and_then(Replica::leading)
    }

    /// The truth that the store is a cache of.
    pub fn truth(&self) -> Option<&Arc<dyn Truth>> {
        self.replica.as_ref().map(|replica| &replica.truth)
    }

    /// Takes over what was written since the place of the cache. Where that is all, into a new
    /// file, which takes the place of the old one when it is whole: `before_replacing` is called
    /// then, and nothing is replaced where it fails. What the old one has of lost transactions is
    /// kept ([`lost_rows`](Self::lost_rows)). A node that leads has everything. Whoever calls
    /// this sees to it that nobody else does, or calls [`lead`](Self::lead), at the same time.
    ///
    /// # Errors
    /// [`Error::Unavailable`], and those of the file system: the cache is as it was.
    pub fn follow(
        &self,
        before_replacing: &mut dyn FnMut(Option<Lost>) -> Result<()>,
    ) -> Result<Followed> {
        let replica = self.replica(FOLLOW)?;
        let failed = |error| fault(self.path(), FOLLOW, error);
        let file = self.path().with_file_name(PULLED);
        let pulled = self.write_alone_with(FOLLOW, |connection| {
            if let Some(place) = replica.leading() {
                return Ok(Followed::Same(place));
            }
            let at = place(connection).map_err(failed)?;
            if replica.has_looked.load(Ordering::Relaxed) && replica.truth.head()? == at {
                return Ok(Followed::Same(at));
            }
            let shard = replica.truth.shard()?;
            let start = if boundary(connection).map_err(failed)? == shard.boundary {
                shard.start(at)
            } else {
                // It is given more units now, or less, also of long ago.
                Start::Nothing { lost: shard.lost(at) }
            };
            let given = Given { boundary: shard.boundary, now: self.clock.now() };
            let followed = match start {
                Start::After(_) if shard.head == at => Followed::Same(at),
                Start::After(_) => {
                    set_references(connection, false).map_err(failed)?;
                    let (to, rows) = pull(connection, self.path(), replica, (at, start), given)?;
                    Followed::Advanced { to, rows }
                }
                Start::Nothing { lost } => {
                    Followed::Remade { to: pull_all(&file, replica, start, given)?, lost }
                }
            };
            replica.has_looked.store(true, Ordering::Relaxed);
            Ok(followed)
        })?;
        if let Followed::Remade { lost, .. } = pulled {
            // Not under the lock: whoever follows has locks of its own.
            let kept = match lost.filter(|lost| lost.at.tx > lost.after) {
                Some(lost) => self.keep_lost(&file, replica.truth.as_ref(), lost),
                None => Ok(()),
            };
            if let Err(error) = kept.and_then(|()| before_replacing(lost)) {
                remove(&file)?;
                return Err(error);
            }
            self.write_alone_with(FOLLOW, |connection| {
                replica.set_leading(None);
                self.replace(connection, &file)
            })?;
        }
        Ok(pulled)
    }

    /// Asks to lead from the place of the cache: from then on the store accepts writes. False if
    /// the truth is elsewhere, another node leads, or this one is given units up to a class only.
    ///
    /// # Errors
    /// [`Error::Unavailable`], and those of the file system.
    pub fn lead(&self) -> Result<bool> {
        let replica = self.replica(LEAD)?;
        self.write_alone_with(LEAD, |connection| {
            let failed = |error| fault(self.path(), LEAD, error);
            if replica.leading().is_some() {
                return Ok(true);
            }
            let at = place(connection).map_err(failed)?;
            if boundary(connection).map_err(failed)?.is_some() {
                // It has not everything.
                return Ok(false);
            }
            let Some(led) = replica.truth.lead(at, replica.times.lease)? else { return Ok(false) };
            let prepare = || {
                set_references(connection, true)?;
                let tx = WriteTx::begin(connection)?;
                touch::install(&tx, &replica.tables)?;
                set_place(&tx, led)?;
                touch::forget(&tx)?;
                tx.commit()
            };
            if let Err(error) = prepare() {
                // Another node may go on at once; that this one is told of the first fault counts.
                drop(replica.truth.resign(led));
                return Err(failed(error));
            }
            replica.set_leading(Some(led));
            Ok(true)
        })
    }

    /// Renews the lease of a node that leads. False if it does not lead, or does no more.
    ///
    /// # Errors
    /// [`Error::Unavailable`]: then it goes on leading until it is told otherwise.
    pub fn renew(&self) -> Result<bool> {
        let replica = self.replica(LEAD)?;
        let Some(place) = replica.leading() else { return Ok(false) };
        match replica.truth.renew(place, replica.times.lease) {
            Ok(()) => Ok(true),
            Err(Error::Fenced { .. }) => {
                replica.depose(place);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Gives the lease back: another node may lead at once.
    ///
    /// # Errors
    /// [`Error::Unavailable`]; it leads no more in any case.
    pub fn resign(&self) -> Result<()> {
        let replica = self.replica("resign")?;
        // No transaction is on its way while the lock is held.
        let place = self.write_alone_with("resign", |_| {
            let place = replica.leading();
            replica.set_leading(None);
            Ok(place)
        })?;
        place.map_or(Ok(()), |place| replica.truth.resign(place))
    }

    /// Gives the lease to another node: until it runs out, no third one may lead.
    ///
    /// # Errors
    /// [`Error::Unavailable`]; it leads no more in any case.
    pub fn hand_over(&self, to: &str) -> Result<()> {
        let replica = self.replica("hand the lease over")?;
        let place = self.write_alone_with("hand the lease over", |_| {
            let place = replica.leading();
            replica.set_leading(None);
            Ok(place)
        })?;
        place.map_or(Ok(()), |place| replica.truth.hand_over(place, to, replica.times.lease))
    }

    fn replica(&self, doing: &'static str) -> Result<&Replica> {
        self.replica
            .as_ref()
            .ok_or_else(|| Error::NotLeading { shard: "no shard".to_owned(), doing })
    }

    /// True if there is any row that would be part of the truth.
    fn has_rows(&self, tables: &[Arc<Table>]) -> Result<bool> {
        self.read("look for rows", |tx| {
            for table in tables {
                let only = touch::of_the_truth(table, &table.name);
                let sql = format!("SELECT EXISTS (SELECT 1 FROM {}{only})", table.name);
                if tx.query_row(&sql, [], |row| row.get(0))? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }
}

/// What a node is given, and when it takes it over.
#[derive(Clone, Copy)]
struct Given {
    boundary: Option<BoundaryClass>,
    now: i64,
}

/// Takes what a pull after `at` brings into a store, in one transaction.
fn pull(
    connection: &Connection,
    path: &Path,
    replica: &Replica,
    (at, start): (Place, Start),
    given: Given,
) -> Result<(Place, usize)> {
    let failed = |error| fault(path, FOLLOW, error);
    let tx = WriteTx::begin(connection).map_err(failed)?;
    touch::remove(&tx).map_err(failed)?;
    match given.boundary {
        Some(class) => meta::set(&tx, meta::BOUNDARY, &class.code().to_string()),
        None => meta::forget(&tx, meta::BOUNDARY).map(drop),
    }
    .map_err(failed)?;
    let mut applier = Applier::new(&tx, path, &replica.tables, start);
    let reached = if given.boundary.is_some() {
        let mut summing = Summing::new(applier, &tx, path, given.now);
        replica.truth.pull(at, &mut summing)?;
        summing.reached()
    } else {
        replica.truth.pull(at, &mut applier)?;
        applier.reached()
    };
    let Some(reached) = reached else {
        let (truth, doing) = (replica.truth.name(), FOLLOW);
        return Err(Error::Unavailable { truth, doing, source: "not all rows came".into() });
    };
    #[cfg(feature = "failpoints")]
    fail::fail_point!("truth-pulled");
    tx.commit().map_err(failed)?;
    Ok(reached)
}

/// Removes a store on its way, if there is one: it may hold what is erased since.
fn remove(file: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(Path::new(&name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::io("remove", Path::new(&name), error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Takes all rows into a new store at `file`.
fn pull_all(file: &Path, replica: &Replica, start: Start, given: Given) -> Result<Place> {
    remove(file)?;
    let connection = open_writer(file)?;
    let failed = |error| fault(file, FOLLOW, error);
    set_references(&connection, false).map_err(failed)?;
    let (to, _) = pull(&connection, file, replica, (Place::NOTHING, start), given)?;
    // Its log goes into the file.
    connection.close().map_err(|(_, error)| failed(error))?;
    sync(file)?;
    Ok(to)
}

/// Whether references between rows are looked at: not while rows of others are taken over, which
/// come in no order. Triggers are told of rows that a conflict replaces.
pub(super) fn set_references(connection: &Connection, are_checked: bool) -> rusqlite::Result<()> {
    connection.pragma_update(None, "foreign_keys", are_checked)?;
    connection.pragma_update(None, "recursive_triggers", true)
}

/// The highest class of units of memory that the rows of a store are of; none if of all.
fn boundary(tx: &Connection) -> rusqlite::Result<Option<BoundaryClass>> {
    let Some(stored) = meta::get(tx, meta::BOUNDARY)? else { return Ok(None) };
    let class = stored.parse().ok().and_then(BoundaryClass::from_code);
    let unknown = || crate::fault::unreadable(0, format!("the boundary `{stored}` is none"));
    class.map(Some).ok_or_else(unknown)
}

fn place(tx: &Connection) -> rusqlite::Result<Place> {
    let Some(stored) = meta::get(tx, meta::PLACE)? else { return Ok(Place::NOTHING) };
    let mut numbers = stored.split(' ').map(str::parse);
    let mut next = || match numbers.next() {
        Some(Ok(number)) => Ok(number),
        _ => Err(crate::fault::unreadable(0, format!("the place `{stored}` is none"))),
    };
    Ok(Place { epoch: next()?, by: next()?, tx: next()? })
}
