//! Files and folders that only their owner reads. An index holds private things: whoever makes
//! a part of one makes it by these functions.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    path::Path,
};

use crate::{Error, Result};

/// Makes a folder, and those above it that are missing, for its owner alone (0700 on Unix). One
/// that is there keeps its permissions.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Options that make a file for its owner alone (0600 on Unix). One that is there keeps its
/// permissions.
pub fn private_file() -> OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Takes from all but the owner what they may do with a file that other code has made.
pub fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Makes a file, or the names in a directory, durable.
pub fn sync(path: &Path) -> Result<()> {
    // Only Unix lets a directory be synced; elsewhere renaming is as durable as it gets.
    if cfg!(unix) || path.is_file() {
        let sync = File::open(path).and_then(|file| file.sync_all());
        sync.map_err(|error| Error::io("sync", path, error))?;
    }
    Ok(())
}
