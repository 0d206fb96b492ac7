use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use trefoil_core::{Error, Part, Result};

use crate::{
    Clock,
    fault::fault,
    migration::{self, Format},
};

/// How long a write waits for another process, and a read for a checkpoint.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Read connections kept open; more are opened and closed under load.
const IDLE_READERS: usize = 8;

/// Prepared statements kept per connection: more than there are.
const STATEMENTS: usize = 96;

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading and writing; the file is created if it is not there.
    ReadWrite,
    /// Reading only, also beside a writer in another process.
    ReadOnly,
}

/// The open store: one connection that writes, some that read. Share it by reference.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    writer: Option<Mutex<Connection>>,
    readers: Mutex<Vec<Connection>>,
}

impl Store {
    /// Opens the file at `path`, in time that does not depend on its size. The
    /// caller sees to it that only one process opens it for writing.
    ///
    /// # Errors
    /// [`Error::IndexMissing`] if there is nothing to read,
    /// [`Error::UnsupportedFormat`] if a newer version wrote it, [`Error::Corrupt`]
    /// if it is damaged or not ours, [`Error::Io`] if it cannot be opened.
    pub fn open(path: &Path, access: Access, clock: Arc<dyn Clock>) -> Result<Self> {
        let writer = match access {
            Access::ReadWrite => Some(Mutex::new(open_writer(path)?)),
            Access::ReadOnly => None,
        };
        let store =
            Self { path: path.to_path_buf(), clock, writer, readers: Mutex::new(Vec::new()) };
        if access == Access::ReadOnly {
            store.check_readable()?;
        }
        Ok(store)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads every page and checks every index and reference: seconds for a large file.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the first damage found.
    pub fn check(&self) -> Result<()> {
        let first_damage = self.read("check the store", |tx| {
            let report: String = tx.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            if report != "ok" {
                return Ok(Some(report));
            }
            let mut orphans = tx.prepare("PRAGMA foreign_key_check")?;
            let mut rows = orphans.query([])?;
            rows.next()?
                .map(|row| {
                    Ok(format!("a row of `{}` has lost its owner", row.get::<_, String>(0)?))
                })
                .transpose()
        })?;
        match first_damage {
            Some(reason) => Err(Error::Corrupt { part: Part::Store, reason }),
            None => Ok(()),
        }
    }

    /// Runs `work` on one snapshot.
    pub(crate) fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let idle = locked(&self.readers).pop();
        let run = || {
            let connection = idle.map_or_else(|| open_reader(&self.path), Ok)?;
            let tx = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?;
            let value = work(&tx)?;
            tx.commit()?;
            let mut readers = locked(&self.readers);
            if readers.len() < IDLE_READERS {
                readers.push(connection);
            }
            Ok(value)
        };
        run().map_err(|error| fault(&self.path, doing, error))
    }

    /// Runs `work` in a transaction that is durable, or undone, when this returns.
    /// `work` is given the time.
    pub(crate) fn write<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection, i64) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let Some(writer) = &self.writer else {
            return Err(Error::ReadOnly { path: self.path.clone(), doing });
        };
        let now = self.clock.now();
        let connection = locked(writer);
        let run = || {
            let tx = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
            let value = work(&tx, now)?;
            tx.commit()?;
            Ok(value)
        };
        run().map_err(|error| fault(&self.path, doing, error))
    }

    fn check_readable(&self) -> Result<()> {
        if !self.path.try_exists().map_err(|error| Error::io("open", &self.path, error))? {
            return Err(Error::IndexMissing { path: self.path.clone() });
        }
        match self.read("open", migration::format)? {
            Format::Current => Ok(()),
            Format::Empty => Err(Error::IndexMissing { path: self.path.clone() }),
            // Only a writer migrates.
            Format::Old => {
                Err(Error::ReadOnly { path: self.path.clone(), doing: "upgrade the format" })
            }
            Format::Unsupported(found) => Err(migration::unsupported(found)),
            Format::Foreign => Err(foreign(&self.path)),
        }
    }
}

/// A panic elsewhere rolled its transaction back, so the connection is as good as new.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_writer(path: &Path) -> Result<Connection> {
    let failed = |error| fault(path, "open", error);
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(failed)?;
    prepare(&connection).map_err(failed)?;
    match migration::format(&connection).map_err(failed)? {
        Format::Unsupported(found) => return Err(migration::unsupported(found)),
        Format::Foreign => return Err(foreign(path)),
        Format::Empty | Format::Old => {
            set_durability(&connection).map_err(failed)?;
            migration::migrate(&connection).map_err(failed)?;
        }
        Format::Current => set_durability(&connection).map_err(failed)?,
    }
    Ok(connection)
}

fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    prepare(&connection)?;
    Ok(connection)
}

/// What holds for every connection.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // cell_size_check and trusted_schema: a damaged or hostile file is an error, not a crash.
    connection.execute_batch(
        "PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cell_size_check = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA cache_size = -16384;",
    )
}

/// Readers never wait for the writer, and a commit survives a power loss. The log
/// is cut back to 64 MiB after a large transaction.
fn set_durability(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA journal_size_limit = 67108864;",
    )
}

fn foreign(path: &Path) -> Error {
    let reason = format!("`{}` is a database of another program", path.display());
    Error::Corrupt { part: Part::Store, reason }
}
