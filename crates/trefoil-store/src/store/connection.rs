//! How the file of a store is opened, and what holds for every connection to it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};
use trefoil_core::{Error, Part, Result, private_file};

use crate::{
    disk::{
        migration::{self, Format},
        pages,
    },
    fault::fault,
};

/// How long a write waits for another process, and a read for a checkpoint.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Prepared statements kept per connection: more than there are.
const STATEMENTS: usize = 256;

/// The connection that writes: makes the file, or one of an older format a current one.
pub(crate) fn open_writer(path: &Path) -> Result<Connection> {
    let failed = |error| fault(path, "open", error);
    // The files next to it get the permissions of the file itself.
    let made = private_file().write(true).create(true).truncate(false).open(path);
    made.map_err(|error| Error::io("open", path, error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = connect(path, flags).map_err(failed)?;
    pages::reserve(&connection).map_err(failed)?;
    match migration::format(&connection).map_err(failed)? {
        Format::Unsupported(found) => return Err(migration::unsupported(found)),
        Format::Foreign => return Err(foreign(path)),
        Format::Empty => {
            set_durability(&connection).map_err(failed)?;
            migration::migrate(&connection).map_err(failed)?;
        }
        Format::Old(_) => {
            pages::upgrade(path, &connection).map_err(failed)?;
            set_durability(&connection).map_err(failed)?;
            migration::migrate(&connection).map_err(failed)?;
        }
        Format::Current => {
            pages::upgrade(path, &connection).map_err(failed)?;
            set_durability(&connection).map_err(failed)?;
        }
    }
    pages::promise(&connection).map_err(failed)?;
    Ok(connection)
}

/// A connection that reads, also from media on which nothing can be written.
pub(crate) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let opened = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(readable);
    match opened {
        // Where nothing can be written there is no place for the index of the log, and where
        // there is no log there is nothing to put into it.
        Err(error)
            if error.sqlite_error_code() == Some(ErrorCode::CannotOpen)
                && path.exists()
                && !side_file(path, "-wal").exists() =>
        {
            let Some(name) = path.to_str() else { return Err(error) };
            let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            connect(Path::new(&format!("file:{name}?immutable=1")), flags).and_then(readable)
        }
        other => other,
    }
}

/// The connection, once something was read by it.
fn readable(connection: Connection) -> rusqlite::Result<Connection> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// A file that SQLite keeps next to that of the database.
fn side_file(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A connection that checks the pages that it reads.
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    pages::register()?;
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags_and_vfs(path, flags, pages::CHECKED)?;
    prepare(&connection)?;
    Ok(connection)
}

/// What holds for every connection.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Plans do not depend on what is bound: else SQLite plans a statement again for each value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
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

pub(super) fn foreign(path: &Path) -> Error {
    let reason = format!("`{}` is a database of another program", path.display());
    Error::Corrupt { part: Part::Store, reason }
}
