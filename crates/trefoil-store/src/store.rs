mod connection;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use trefoil_core::{Error, Part, Recent, Result, RowSet, SearchFilters, Seq};

use crate::{
    Clock, WriteTx,
    disk::{
        database_file,
        fork::Use,
        migration::{self, Format},
        pages,
    },
    fault::fault,
    meta,
    truth::{Done, replica::Replica},
};

use connection::foreign;
pub(crate) use connection::{connect, open_reader, open_writer};

/// Read connections kept open; more are opened and closed under load.
const IDLE_READERS: usize = 8;

/// Filters whose rows are remembered: a bitmap of each, some kilobytes for a million rows.
const FILTERS: usize = 32;

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading and writing; the store is created if it is not there.
    ReadWrite,
    /// Reading only, also while a writer in another process is at work.
    ReadOnly,
    /// Following a truth: rows come from there, and are written by this store only while its node
    /// leads. [`Store::open_node`] says which truth.
    Follow,
}

/// The open store: one connection that writes, some that read. Share it by reference.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    pub(crate) clock: Arc<dyn Clock>,
    /// Closed before the writer: only a connection that writes moves the log into the file when
    /// it is the last to go.
    readers: Mutex<Readers>,
    writer: Option<Mutex<Connection>>,
    /// What writes have to be told to before they count; none in a store of its own.
    pub(crate) replica: Option<Replica>,
    /// What filters admit, after a change of texts.
    pub(crate) admitted_rows: Recent<(Seq, SearchFilters), Arc<RowSet>>,
}

/// Connections that wait for something to read.
#[derive(Debug, Default)]
struct Readers {
    /// How often the file was replaced: a connection reads the one that it was opened on.
    file: u64,
    idle: Vec<Connection>,
}

impl Store {
    /// Names of the files that hold a store that is closed, below the directory of its index. A
    /// snapshot lists them among its parts.
    pub const FILES: [&str; 1] = [FILE_NAME];

    /// The [`FILES`](Self::FILES) of a store in `dir`, each with its path.
    pub fn files_in(dir: &Path) -> [(&'static str, PathBuf); 1] {
        Self::FILES.map(|name| (name, dir.join(name)))
    }

    /// True if there is a store in `dir`.
    pub fn exists(dir: &Path) -> bool {
        file_in(dir).exists()
    }

    /// Opens the store in the directory `dir`, in time that does not depend on its size. The
    /// caller sees to it that only one process opens it for writing.
    ///
    /// # Errors
    /// [`Error::IndexMissing`] if there is nothing to read,
    /// [`Error::UnsupportedFormat`] if a newer version wrote it, [`Error::Corrupt`]
    /// if it is damaged or not ours, [`Error::Io`] if it cannot be opened.
    pub fn open(dir: &Path, access: Access, clock: Arc<dyn Clock>) -> Result<Self> {
        Self::open_file(&file_in(dir), access, clock)
    }

    /// The same for a file of any name.
    pub(crate) fn open_file(path: &Path, access: Access, clock: Arc<dyn Clock>) -> Result<Self> {
        let _use = Use::begin();
        let writer = match access {
            Access::ReadWrite => {
                let writer = open_writer(path)?;
                let place = meta::get(&writer, meta::PLACE);
                // What it wrote would be lost, or would look as if it were true.
                if place.map_err(|error| fault(path, "open", error))?.is_some() {
                    return Err(Error::NodeCache { path: path.to_path_buf() });
                }
                Some(Mutex::new(writer))
            }
            Access::Follow => Some(Mutex::new(open_writer(path)?)),
            Access::ReadOnly => None,
        };
        let store = Self {
            path: path.to_path_buf(),
            clock,
            readers: Mutex::default(),
            writer,
            replica: None,
            admitted_rows: Recent::new(FILTERS),
        };
        if access == Access::ReadOnly {
            store.check_readable()?;
        }
        Ok(store)
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &Path {
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

    /// A setting that is kept with the data.
    pub fn meta(&self, key: &str) -> Result<Option<String>> {
        self.read("read a setting", |tx| meta::get(tx, key))
    }

    /// Keeps a setting with the data.
    pub fn set_meta(&self, key: &str, value: &str) -> Result<()> {
        self.write("write a setting", |tx, _| meta::set(tx, key, value))
    }

    /// Forgets a setting that is kept with the data.
    pub fn forget_meta(&self, key: &str) -> Result<()> {
        self.write("forget a setting", |tx, _| meta::forget(tx, key).map(drop))
    }

    /// Runs `work` on one snapshot.
    pub(crate) fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let _use = Use::begin();
        let (file, idle) = {
            let mut readers = locked(&self.readers);
            (readers.file, readers.idle.pop())
        };
        let run = || {
            let connection = idle.map_or_else(|| open_reader(&self.path), Ok)?;
            let tx = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?;
            let value = work(&tx)?;
            tx.commit()?;
            let mut readers = locked(&self.readers);
            if readers.file == file && readers.idle.len() < IDLE_READERS {
                readers.idle.push(connection);
            }
            Ok(value)
        };
        run().map_err(|error| fault(&self.path, doing, error))
    }

    /// The one door of every write: runs `work` in a transaction that is durable, or undone, when
    /// this returns. `work` is given the time. In the store of a node it is true in the truth
    /// first, and refused unless the node leads.
    pub(crate) fn write<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&WriteTx<'_>, i64) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.write_answering(doing, work, |_| Ok(None))
    }

    /// The same for a request of another node, which the transaction is noted to have done:
    /// `answer` says of what the work gave what its sender is told.
    pub(crate) fn write_answering<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&WriteTx<'_>, i64) -> rusqlite::Result<T>,
        answer: impl FnOnce(&T) -> Result<Option<Done>>,
    ) -> Result<T> {
        let now = self.clock.now();
        self.write_alone_with(doing, |connection| {
            if let Some(replica) = &self.replica {
                replica.leads_at(doing)?;
            }
            let failed = |error| fault(&self.path, doing, error);
            let tx = WriteTx::begin(connection).map_err(failed)?;
            let value = work(&tx, now).map_err(failed)?;
            #[cfg(feature = "failpoints")]
            fail::fail_point!("store-written");
            match &self.replica {
                None => tx.commit().map_err(failed)?,
                Some(replica) => replica.commit(tx, answer(&value)?, &self.path, doing)?,
            }
            #[cfg(feature = "failpoints")]
            fail::fail_point!("store-committed");
            Ok(value)
        })
    }

    /// The same for what concerns this file alone and not the rows of the truth.
    pub(crate) fn write_here<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&WriteTx<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.write_alone(doing, |connection| {
            let tx = WriteTx::begin(connection)?;
            let value = work(&tx)?;
            if let Some(replica) = &self.replica {
                replica.commit_here(tx)?;
            } else {
                tx.commit()?;
            }
            Ok(value)
        })
    }

    /// Takes the lock of the writer and runs `work` on its connection, outside of any transaction:
    /// for the door, and for what SQLite runs in none, such as the cleaning of the file.
    pub(crate) fn write_alone<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.write_alone_with(doing, |connection| {
            work(connection).map_err(|error| fault(&self.path, doing, error))
        })
    }

    /// The same for what fails in other ways too. `work` may put another connection in its place.
    pub(crate) fn write_alone_with<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&mut Connection) -> Result<T>,
    ) -> Result<T> {
        let Some(writer) = &self.writer else {
            return Err(Error::ReadOnly { path: self.path.clone(), doing });
        };
        let mut writer = locked(writer);
        let _use = Use::begin();
        work(&mut writer)
    }

    /// Puts the store in the file `by`, which nobody has open, in the place of this one. `writer`
    /// is the connection that [`write_alone_with`](Self::write_alone_with) gives.
    pub(crate) fn replace(&self, writer: &mut Connection, by: &Path) -> Result<()> {
        let failed = |error| fault(&self.path, "replace the store", error);
        let mut readers = locked(&self.readers);
        readers.idle.clear();
        // Closed, so that its log is not taken for that of the new file.
        *writer = Connection::open_in_memory().map_err(failed)?;
        let replaced = database_file::replace(by, &self.path);
        *writer = open_writer(&self.path)?;
        readers.file += 1;
        self.admitted_rows.forget();
        replaced
    }

    fn check_readable(&self) -> Result<()> {
        if !self.path.try_exists().map_err(|error| Error::io("open", &self.path, error))? {
            return Err(Error::IndexMissing { path: self.path.clone() });
        }
        let format = |tx: &Connection| {
            let format = migration::format(tx)?;
            if matches!(format, Format::Current) {
                pages::check(&self.path, tx)?;
            }
            Ok(format)
        };
        match self.read("open", format)? {
            Format::Current => Ok(()),
            Format::Empty => Err(Error::IndexMissing { path: self.path.clone() }),
            // Only a writer migrates.
            Format::Old(found) => Err(migration::older(&self.path, found)),
            Format::Unsupported(found) => Err(migration::unsupported(found)),
            Format::Foreign => Err(foreign(&self.path)),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(replica) = &self.replica {
            replica.resign();
        }
        let _use = Use::begin();
        locked(&self.readers).idle.clear();
        self.writer = None;
    }
}

/// The one file of a store that is closed.
pub(crate) const FILE_NAME: &str = "store.db";

/// The file of the store in `dir`.
pub(crate) fn file_in(dir: &Path) -> PathBuf {
    dir.join(FILE_NAME)
}

/// A panic elsewhere rolled its transaction back, so the connection is as good as new.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
