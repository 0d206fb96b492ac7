//! The rows of one shard in PostgreSQL.

use std::{
    cell::Cell,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio_postgres::Row;
use trefoil_core::{BoundaryClass, Error, Part, Result};
use trefoil_store::truth::{self, Place, RowSink, Sequences, Shard, Touched, Truth};

use crate::{
    PostgresConfig, append,
    connection::{Parameter, Session, Slot, Source},
    fault::{Fault, OLDER_TABLES},
    pull,
    rows::RowTable,
};

/// The lease of who never said one.
const LEASE: Duration = Duration::from_secs(10);

/// A shard in PostgreSQL, as one node is connected to it. A connection is made when one is needed,
/// and again after it was lost, so that a node starts and searches while the database is down.
#[derive(Debug)]
pub struct PostgresTruth {
    pub(crate) source: Source,
    tables: Vec<RowTable>,
    /// Three connections, so that a long pull and a long append hold up nothing else.
    writing: Slot,
    pulling: Slot,
    pub(crate) asking: Slot,
    lease: Mutex<Duration>,
}

impl PostgresTruth {
    /// The shard that `config` names. Nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::UnreadableDocument`] if the file of authorities cannot be used.
    pub fn new(config: PostgresConfig) -> Result<Self> {
        Ok(Self {
            source: Source::new(config)?,
            tables: truth::tables()?.iter().map(RowTable::new).collect(),
            writing: Slot::new(),
            pulling: Slot::new(),
            asking: Slot::new(),
            lease: Mutex::new(LEASE),
        })
    }

    /// The database and the index.
    pub fn config(&self) -> &PostgresConfig {
        &self.source.config
    }

    /// Runs `work` with the number of the shard. If the connection turns out to have been lost
    /// before, it is done again as long as `again` says so.
    pub(crate) fn run<T>(
        &self,
        slot: &Slot,
        again: impl Fn() -> bool,
        mut work: impl AsyncFnMut(&mut Session, i32) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        slot.run(&self.source, again, async |session| {
            let shard = self.number(session).await?;
            work(session, shard).await
        })
    }

    /// Runs `work`, which may be done twice, where short answers come from.
    pub(crate) fn ask<T>(
        &self,
        doing: &'static str,
        work: impl AsyncFnMut(&mut Session, i32) -> Result<T, Fault>,
    ) -> Result<T> {
        self.run(&self.asking, || true, work).map_err(|fault| self.failed(fault, doing))
    }

    fn failed(&self, fault: Fault, doing: &'static str) -> Error {
        if fault.is_missing_schema() {
            self.missing()
        } else {
            fault.into_error(self.config(), doing)
        }
    }

    fn missing(&self) -> Error {
        Error::ShardMissing { shard: self.name() }
    }

    fn fenced(&self) -> Fault {
        Fault::Ours(Error::Fenced { shard: self.name() })
    }

    async fn number(&self, session: &mut Session) -> Result<i32, Fault> {
        if let Some(shard) = session.shard {
            return Ok(shard);
        }
        let select = "SELECT shard FROM trefoil.shard WHERE index_name = $1 AND part = $2";
        let part = i32::try_from(self.config().part()).unwrap_or(i32::MAX);
        let found = session.row(select, &[&self.config().index(), &part]).await?;
        let shard = found.ok_or_else(|| Fault::Ours(self.missing()))?.try_get(0)?;
        session.shard = Some(shard);
        Ok(shard)
    }

    /// Where the shard stands now.
    async fn place(&self, session: &mut Session, shard: i32) -> Result<Place, Fault> {
        let select = "SELECT epoch, by, tx, format FROM trefoil.shard WHERE shard = $1";
        let found = session.row(select, &[&shard]).await?;
        let row = found.ok_or_else(|| Fault::Ours(self.missing()))?;
        supported(format_at(&row, 3)?)?;
        place_at(&row, 0)
    }

    /// Names what keeps this node from leading a shard of an older format that nobody leads.
    async fn check_rows_may_be_migrated(
        &self,
        session: &mut Session,
        shard: i32,
    ) -> Result<(), Fault> {
        let select = "SELECT (SELECT format FROM trefoil.version) < $2,
                 ARRAY(SELECT trefoil.older($1, $2, $3))
             FROM trefoil.shard WHERE shard = $1 AND format < $2 AND until < clock_timestamp()";
        let asked: [Parameter<'_>; 3] = [&shard, &format_number(), &self.config().node()];
        let Some(row) = session.row(select, &asked).await? else { return Ok(()) };
        let (has_older_tables, nodes): (bool, Vec<String>) = (row.try_get(0)?, row.try_get(1)?);
        let reason = match nodes.as_slice() {
            _ if has_older_tables => OLDER_TABLES.to_owned(),
            [] => return Ok(()),
            nodes => format!(
                "nodes of an older version are there: {}; upgrade them, or stop them for 30 s",
                nodes.join(", ")
            ),
        };
        Err(Fault::Ours(Error::backend(Part::Store, "migrate its rows", reason)))
    }

    fn lease(&self) -> Duration {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_lease(&self, lease: Duration) {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner) = lease;
    }

    /// Changes the row of the shard by a statement that takes the shard, the epoch and its writer,
    /// and a number; false if it has another epoch or writer.
    async fn of_epoch(
        &self,
        session: &mut Session,
        (statement, shard, place, number): (&str, i32, Place, f64),
    ) -> Result<bool, Fault> {
        let (epoch, by) = (place.epoch.cast_signed(), place.by.cast_signed());
        Ok(session.execute(statement, &[&shard, &epoch, &by, &number]).await? > 0)
    }
}

impl Truth for PostgresTruth {
    fn name(&self) -> String {
        self.config().shard_name()
    }

    fn head(&self) -> Result<Place> {
        self.ask("look how far the shard is", async |session, shard| {
            self.place(session, shard).await
        })
    }

    fn shard(&self) -> Result<Shard> {
        self.ask("look how far the shard is", async |session, shard| {
            let found = history(session, shard, 0).await?;
            Ok(found.ok_or_else(|| Fault::Ours(self.missing()))?.shard)
        })
    }

    fn lead(&self, from: Place, lease: Duration) -> Result<Option<Place>> {
        self.set_lease(lease);
        // The same in a second try, which tells by it that the first one has succeeded.
        let led = Place { epoch: from.epoch + 1, by: fastrand::u64(1..), tx: from.tx };
        let work = async |session: &mut Session, shard: i32| {
            session.batch("BEGIN; SET LOCAL lock_timeout = '8s'").await?;
            let statement = "WITH led AS (
                     UPDATE trefoil.shard SET epoch = epoch + 1, by = $5, writer = $6, format = $8,
                         until = clock_timestamp() + make_interval(secs => $7)
                     WHERE shard = $1 AND epoch = $2 AND by = $3 AND tx = $4
                         AND (format = $8 OR format < $8 AND (SELECT format FROM trefoil.version) >= $8
                             AND NOT EXISTS (SELECT FROM trefoil.older($1, $8, $6)))
                         AND (until < clock_timestamp() OR writer = $6)
                     RETURNING epoch, tx)
                 INSERT INTO trefoil.epoch (shard, epoch, by, tx) SELECT $1, epoch, $5, tx FROM led";
            let (node, lease, format) =
                (self.config().node(), lease.as_secs_f64(), format_number());
            let numbers = [from.epoch, from.by, from.tx, led.by].map(u64::cast_signed);
            let [epoch, by, tx, led_by] = &numbers;
            let asked: [Parameter<'_>; 8] = [&shard, epoch, by, tx, led_by, &node, &lease, &format];
            let changed = session.execute(statement, &asked).await?;
            session.batch("COMMIT").await?;
            if changed > 0 || self.place(session, shard).await? == led {
                return Ok(Some(led));
            }
            self.check_rows_may_be_migrated(session, shard).await?;
            Ok(None)
        };
        self.run(&self.writing, || true, work).map_err(|fault| self.failed(fault, "lead the shard"))
    }

    fn renew(&self, place: Place, lease: Duration) -> Result<()> {
        self.set_lease(lease);
        let statement = "UPDATE trefoil.shard
             SET until = clock_timestamp() + make_interval(secs => $4)
             WHERE shard = $1 AND epoch = $2 AND by = $3";
        let work = async |session: &mut Session, shard: i32| {
            let change = (statement, shard, place, lease.as_secs_f64());
            if self.of_epoch(session, change).await? { Ok(()) } else { Err(self.fenced()) }
        };
        self.run(&self.writing, || true, work)
            .map_err(|fault| self.failed(fault, "renew the lease"))
    }

    fn resign(&self, place: Place) -> Result<()> {
        let statement = "UPDATE trefoil.shard
             SET until = clock_timestamp() - make_interval(secs => $4), writer = NULL
             WHERE shard = $1 AND epoch = $2 AND by = $3";
        let work = async |session: &mut Session, shard: i32| {
            self.of_epoch(session, (statement, shard, place, 1.0)).await.map(drop)
        };
        let done = self.run(&self.writing, || true, work);
        done.map_err(|fault| self.failed(fault, "give the lease back"))
    }

    fn hand_over(&self, place: Place, to: &str, lease: Duration) -> Result<()> {
        let statement = "UPDATE trefoil.shard SET writer = $4,
                 until = clock_timestamp() + make_interval(secs => $5)
             WHERE shard = $1 AND epoch = $2 AND by = $3";
        let work = async |session: &mut Session, shard: i32| {
            let (epoch, by) = (place.epoch.cast_signed(), place.by.cast_signed());
            let seconds = lease.as_secs_f64();
            session.execute(statement, &[&shard, &epoch, &by, &to, &seconds]).await.map(drop)
        };
        let done = self.run(&self.writing, || true, work);
        done.map_err(|fault| self.failed(fault, "hand the lease over"))
    }

    fn append(&self, place: Place, touched: &Touched) -> Result<Place> {
        let lease = self.lease();
        let is_committing = Cell::new(false);
        let work = async |session: &mut Session, shard: i32| {
            let begun = append::begin(session, shard, place, touched, lease).await?;
            if !begun {
                // It may be for the format that it was refused.
                self.place(session, shard).await?;
                return Err(self.fenced());
            }
            let late = append::write(session, shard, place, touched, &self.tables, lease).await?;
            is_committing.set(true);
            session.batch(&format!("{late}COMMIT")).await
        };
        match self.run(&self.writing, || !is_committing.get(), work) {
            Ok(()) => Ok(place.next()),
            Err(fault) if is_committing.get() && !fault.is_refusal() => {
                let reason = fault.into_error(self.config(), "commit").chain();
                Err(Error::InDoubt { shard: self.name(), reason })
            }
            Err(fault) => Err(self.failed(fault, "write")),
        }
    }

    fn pull(&self, after: Place, into: &mut dyn RowSink) -> Result<Place> {
        let is_begun = Cell::new(false);
        let work = async |session: &mut Session, shard: i32| {
            session.batch(pull::BEGIN).await?;
            let history = history(session, shard, after.epoch).await?;
            let history = history.ok_or_else(|| Fault::Ours(self.missing()))?;
            supported(history.shard.format)?;
            is_begun.set(true);
            pull::rows(session, shard, after, &history, &self.tables, into).await?;
            session.batch("COMMIT").await?;
            into.end(history.shard.head, &history.sequences)?;
            Ok(history.shard.head)
        };
        let pulled = self.run(&self.pulling, || !is_begun.get(), work);
        pulled.map_err(|fault| self.failed(fault, "fetch rows"))
    }

    fn prune(&self, place: Place, upto: u64) -> Result<()> {
        let work = async |session: &mut Session, shard: i32| {
            session.batch("BEGIN; SET LOCAL lock_timeout = '8s'").await?;
            let (epoch, by) = (place.epoch.cast_signed(), place.by.cast_signed());
            let upto = upto.cast_signed();
            let statement = "UPDATE trefoil.shard SET pruned = greatest(pruned, least($4, tx))
                 WHERE shard = $1 AND epoch = $2 AND by = $3 RETURNING pruned";
            let row = session.row(statement, &[&shard, &epoch, &by, &upto]).await?;
            let pruned: i64 = row.ok_or_else(|| self.fenced())?.try_get(0)?;
            for statement in append::pruning(&self.tables) {
                session.execute(&statement, &[&shard, &pruned]).await?;
            }
            session.batch("COMMIT").await
        };
        let done = self.run(&self.writing, || true, work);
        done.map_err(|fault| self.failed(fault, "forget what is gone"))
    }
}

/// A shard with all that a pull needs of it.
pub(crate) struct History {
    pub(crate) shard: Shard,
    pub(crate) sequences: Sequences,
    /// The last transaction that touched each table.
    pub(crate) touched: Sequences,
}

/// The shard as of one moment, with its epochs from the one before `epoch` on.
async fn history(session: &mut Session, shard: i32, epoch: u64) -> Result<Option<History>, Fault> {
    let select = "SELECT epoch, by, tx, format, pruned,
             CASE WHEN until >= clock_timestamp() THEN writer END,
             sequences::text, touched::text,
             ARRAY(SELECT e.epoch FROM trefoil.epoch e, since
                 WHERE e.shard = s.shard AND e.epoch >= since.epoch ORDER BY e.epoch),
             ARRAY(SELECT e.by FROM trefoil.epoch e, since
                 WHERE e.shard = s.shard AND e.epoch >= since.epoch ORDER BY e.epoch),
             ARRAY(SELECT e.tx FROM trefoil.epoch e, since
                 WHERE e.shard = s.shard AND e.epoch >= since.epoch ORDER BY e.epoch),
             (SELECT boundary FROM trefoil.granted g WHERE g.shard = s.shard)
         FROM trefoil.shard s WHERE shard = $1";
    let since = "WITH since AS (SELECT coalesce(max(epoch), 0) AS epoch FROM trefoil.epoch
         WHERE shard = $1 AND epoch <= $2)";
    let found = session.row(&format!("{since} {select}"), &[&shard, &epoch.cast_signed()]).await?;
    let Some(row) = found else { return Ok(None) };
    let (epochs, by, tx): (Vec<i64>, Vec<i64>, Vec<i64>) =
        (row.try_get(8)?, row.try_get(9)?, row.try_get(10)?);
    let epochs = epochs.into_iter().zip(by).zip(tx).map(|((epoch, by), tx)| Place {
        epoch: epoch.cast_unsigned(),
        by: by.cast_unsigned(),
        tx: tx.cast_unsigned(),
    });
    let shard = Shard {
        head: place_at(&row, 0)?,
        format: format_at(&row, 3)?,
        pruned: row.try_get::<_, i64>(4)?.cast_unsigned(),
        epochs: epochs.collect(),
        writer: row.try_get(5)?,
        boundary: boundary_of(row.try_get(11)?),
    };
    let numbers = |at: usize| -> Result<Sequences, Fault> {
        serde_json::from_str(row.try_get(at)?)
            .map_err(|error| Fault::Ours(Error::backend(Part::Store, "read row numbers", error)))
    };
    Ok(Some(History { shard, sequences: numbers(6)?, touched: numbers(7)? }))
}

/// The highest class of units that a role is given; none for all of them, and for the owner.
fn boundary_of(number: Option<i32>) -> Option<BoundaryClass> {
    let class = number.and_then(|number| BoundaryClass::from_code(u8::try_from(number).ok()?));
    class.filter(|class| *class < BoundaryClass::Secret)
}

fn place_at(row: &Row, at: usize) -> Result<Place, Fault> {
    let number = |at: usize| row.try_get::<_, i64>(at).map(i64::cast_unsigned);
    Ok(Place { epoch: number(at)?, by: number(at + 1)?, tx: number(at + 2)? })
}

fn format_at(row: &Row, at: usize) -> Result<u32, Fault> {
    Ok(row.try_get::<_, i32>(at)?.cast_unsigned())
}

/// Refuses rows of a newer format.
fn supported(found: u32) -> Result<(), Fault> {
    let supported = truth::format();
    if found <= supported {
        return Ok(());
    }
    Err(Fault::Ours(Error::UnsupportedFormat { found, supported }))
}

/// The format of the rows that this version reads, as the database has it.
pub(crate) fn format_number() -> i32 {
    truth::format().cast_signed()
}
