//! The files of a store in the directory of an index. Nobody outside of this crate knows their
//! names.

use std::{fs, io::ErrorKind, path::Path, sync::Arc};

use trefoil_core::{Error, Result, sync};

use crate::{
    Clock, Salvaged, Store,
    disk::salvage::salvage_file,
    store::{FILE_NAME, file_in},
};

/// What is saved of a damaged store, complete under this name and not yet in its place.
const SAVED: &str = "store.saved";
/// What is being saved.
const SAVING: &str = "store.saving";
/// What SQLite adds to the name of a database for the files that it keeps next to it.
const SIDE_FILES: [&str; 2] = ["-wal", "-shm"];

/// Copies what can be read of the damaged store in `dir` into a new one next to it, which
/// [`replace_with_salvaged`] puts in its place. The damaged one is not changed. `complete` is
/// given the new store before it counts as saved.
///
/// # Errors
/// [`Error::Corrupt`] if nothing at all can be read, and those of `complete`; then nothing
/// counts as saved.
pub fn salvage(
    dir: &Path,
    clock: Arc<dyn Clock>,
    complete: impl FnOnce(&Store, &Salvaged) -> Result<()>,
) -> Result<Salvaged> {
    for suffix in [""].into_iter().chain(SIDE_FILES) {
        remove_if_there(&dir.join(format!("{SAVING}{suffix}")))?;
    }
    let saving = dir.join(SAVING);
    let (store, salvaged) = salvage_file(&file_in(dir), &saving, clock)?;
    complete(&store, &salvaged)?;
    // Its log goes into the file.
    drop(store);
    let saved = dir.join(SAVED);
    fs::rename(&saving, &saved).map_err(|error| Error::io("rename", saved, error))?;
    sync(dir)?;
    Ok(salvaged)
}

/// True if [`salvage`] was finished in `dir`, and [`replace_with_salvaged`] was not.
pub fn is_salvaged(dir: &Path) -> bool {
    dir.join(SAVED).exists()
}

/// Copies the files of the store in `dir`, as they are, into the folder `aside`.
///
/// # Errors
/// Those of the file system.
pub fn set_aside(dir: &Path, aside: &Path) -> Result<()> {
    for suffix in [""].into_iter().chain(SIDE_FILES) {
        let name = format!("{FILE_NAME}{suffix}");
        let (from, to) = (dir.join(&name), aside.join(&name));
        match fs::copy(&from, &to) {
            Ok(_) => sync(&to)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("set aside", from, error)),
        }
    }
    sync(aside)
}

/// Puts what was saved in the place of the store. There is a store at any moment, and as long
/// as it is the damaged one, what was saved stays under its own name.
///
/// # Errors
/// Those of the file system.
pub fn replace_with_salvaged(dir: &Path) -> Result<()> {
    replace(&dir.join(SAVED), &file_in(dir))
}

/// Puts the store in the file `by` in the place of that in the file `path`. There is one at any
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

/// True if a file of this name, in the directory of an index, is what [`salvage`] has left: no
/// part of the index, but it holds its texts.
pub fn is_of_salvage(name: &str) -> bool {
    [SAVED, SAVING].iter().any(|saved| name.starts_with(saved))
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}
