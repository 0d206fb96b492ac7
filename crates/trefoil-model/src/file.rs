//! Files that are whole or not there: compared with their checksum, and written durably.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use sha2::{Digest, Sha256};
use trefoil_core::{Error, Result};

use crate::manifest::PinnedFile;

/// [`Error::Checksum`] unless `found` is what is pinned.
pub(crate) fn check_sha256(path: &Path, file: &PinnedFile, found: String) -> Result<()> {
    if found == file.sha256 {
        return Ok(());
    }
    Err(Error::Checksum { path: path.to_owned(), expected: file.sha256.clone(), found })
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// SHA-256 of a file in hexadecimal, without holding it in memory.
pub(crate) fn sha256_of_file(path: &Path) -> Result<String> {
    let hash = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 1 << 18];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(hexadecimal(&hasher.finalize())),
                read => hasher.update(buffer.get(..read).unwrap_or_default()),
            }
        }
    };
    hash().map_err(|error| Error::io("read", path, error))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|half| char::from_digit(half.into(), 16))
        .collect()
}

/// A name next to `path` that nobody else writes to: other processes and threads may make the
/// same file at the same time.
pub(crate) fn partial(path: &Path) -> PathBuf {
    static NAMED: AtomicUsize = AtomicUsize::new(0);
    let number = NAMED.fetch_add(1, Ordering::Relaxed);
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".partial-{}-{number}", process::id()));
    partial.into()
}

/// Writes a file that appears under its name only when it is whole and durable.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let partial = partial(path);
    let write = || -> io::Result<()> {
        let mut file = File::create(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&partial, path)?;
        #[cfg(unix)]
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    };
    write().map_err(|error| Error::io("write", path, error))
}

/// Makes an empty folder.
pub(crate) fn empty_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("remove", folder, error));
        }
        _ => {}
    }
    fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))
}
