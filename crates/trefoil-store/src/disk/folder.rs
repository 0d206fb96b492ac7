//! The files of a store in the directory of an index. Nobody outside of this crate knows their
//! names.

use std::{fs, io::ErrorKind, path::Path, sync::Arc};

use trefoil_core::{Error, Result, sync};

use crate::{
    Clock, Salvaged, Store,
    disk::{
        database_file::{SIDE_FILES, remove_if_there, replace},
        salvage::salvage_file,
    },
    store::{FILE_NAME, file_in},
};

/// What is saved of a damaged store, complete under this name and not yet in its place.
const SAVED: &str = "store.saved";
/// What is being saved.
const SAVING: &str = "store.saving";

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

/// True if a file of this name, in the directory of an index, is what [`salvage`] has left: no
/// part of the index, but it holds its texts.
pub fn is_of_salvage(name: &str) -> bool {
    [SAVED, SAVING].iter().any(|saved| name.starts_with(saved))
}
