//! The file of a database, and those that SQLite keeps next to it.

use std::{fs, io::ErrorKind, path::Path};

use trefoil_core::{Error, Result, sync};

/// What SQLite adds to the name of a database for the files that it keeps next to it.
pub(super) const SIDE_FILES: [&str; 2] = ["-wal", "-shm"];

/// Puts the database in the file `by` in the place of that in the file `path`. There is one at any
/// moment.
///
/// # Errors
/// Those of the file system.
pub(crate) fn replace(by: &Path, path: &Path) -> Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    // The log of the one is none of the other.
    for suffix in SIDE_FILES {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        remove_if_there(Path::new(&name))?;
    }
    sync(dir)?;
    fs::rename(by, path).map_err(|error| Error::io("replace", path, error))?;
    sync(dir)
}

pub(super) fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}
