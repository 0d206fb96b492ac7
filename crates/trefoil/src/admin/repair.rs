//! Repair of an index on disk: what is damaged is set aside, never overwritten, and made anew;
//! of a damaged store, what can be read is saved first.

use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use trefoil_core::{Error, Part, Result, create_private_folder};
use trefoil_store::{Access, Salvaged, Store, SystemClock, salvage};

use crate::{
    EngineConfig, Fault, Finding, Verification,
    admin::{
        erase::entries,
        opening::{lock, open_to_write},
        verify::verify,
    },
    index::{
        active_model::OnMismatch,
        open::{self, IndexOnDisk},
    },
    ingest::extract::forget_extractor,
    layout::{ASIDE, DAMAGED, SAVED, SAVING, STORE},
};

/// Files beside the store that belong to it.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// What a repair did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// What was wrong before.
    pub before: Verification,
    /// The folder that now holds what was damaged, if anything was.
    pub set_aside: Option<PathBuf>,
    /// What was saved of the store, if it was damaged.
    pub saved: Option<Salvaged>,
    /// Indexes that were made anew.
    pub rebuilt: Vec<Part>,
    /// What is wrong now: nothing, unless it cannot be repaired.
    pub after: Verification,
}

/// Repairs the index in `dir` with the retrievers of `config`.
pub(crate) fn repair(dir: &Path, config: &EngineConfig) -> Result<RepairReport> {
    if !dir.join(STORE).exists() {
        return Err(Error::IndexMissing { path: dir.to_owned() });
    }
    let lock = lock(dir)?;
    let finished = finish_earlier(dir, config)?;
    let before = match verify(dir, config) {
        // Of an older format, which only a writer changes.
        Err(Error::OlderFormat { .. }) => {
            Store::open(&dir.join(STORE), Access::ReadWrite, Arc::new(SystemClock))?;
            verify(dir, config)?
        }
        verified => verified?,
    };
    if before.is_sound() {
        let (rebuilt, after) = (Vec::new(), before.clone());
        return Ok(RepairReport { before, set_aside: finished, saved: None, rebuilt, after });
    }
    for Finding { fault, .. } in &before.findings {
        if let Fault::Newer { found, supported } = *fault {
            return Err(Error::UnsupportedFormat { found, supported });
        }
    }
    let damaged = |part| before.findings.iter().any(|finding| finding.part == part);
    let (saved, aside, rebuilt) = if damaged(Part::Store) {
        let rebuilt = every_index(dir, config);
        (Some(save(dir)?), put_in_place(dir, config)?, rebuilt)
    } else {
        let (mut rebuilt, aside) = (every_index(dir, config), folder_for(dir)?);
        rebuilt.retain(|leaf| damaged(leaf.part()));
        set_aside(dir, &rebuilt, &aside)?;
        (None, aside, rebuilt)
    };
    let rebuilt = rebuilt.iter().map(IndexOnDisk::part).collect();
    sync(dir)?;
    drop(open_to_write(dir, config.clone(), lock, OnMismatch::Refuse)?);
    let after = verify(dir, config)?;
    Ok(RepairReport { before, set_aside: Some(aside), saved, rebuilt, after })
}

/// Saves what can be read of the store into a file that is complete when it has its name.
fn save(dir: &Path) -> Result<Salvaged> {
    let saving = dir.join(SAVING);
    for suffix in [""].into_iter().chain(BESIDE) {
        remove_if_there(&dir.join(format!("{SAVING}{suffix}")))?;
    }
    let saved = salvage(&dir.join(STORE), &saving, Arc::new(SystemClock))?;
    if !saved.graph {
        let store = Store::open(&saving, Access::ReadWrite, Arc::new(SystemClock))?;
        forget_extractor(&store)?;
    }
    let path = dir.join(SAVED);
    fs::rename(&saving, &path).map_err(|error| Error::io("rename", path, error))?;
    sync(dir)?;
    Ok(saved)
}

/// A process may have died between saving and putting in place. Tells the folder of what was
/// damaged, if so; the indexes are made anew by the next writer.
fn finish_earlier(dir: &Path, config: &EngineConfig) -> Result<Option<PathBuf>> {
    dir.join(SAVED).exists().then(|| put_in_place(dir, config)).transpose()
}

/// Puts what was saved in the place of the store. There is a store at any moment, and as long
/// as it is the damaged one, what was saved stays under its own name.
fn put_in_place(dir: &Path, config: &EngineConfig) -> Result<PathBuf> {
    let aside = folder_for(dir)?;
    for suffix in [""].into_iter().chain(BESIDE) {
        let name = format!("{STORE}{suffix}");
        let (from, to) = (dir.join(&name), aside.join(&name));
        match fs::copy(&from, &to) {
            Ok(_) => sync(&to)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("set aside", from, error)),
        }
    }
    sync(&aside)?;
    // The indexes of another log are of no use.
    set_aside(dir, &every_index(dir, config), &aside)?;
    // The log of the one is none of the other.
    for suffix in BESIDE {
        remove_if_there(&dir.join(format!("{STORE}{suffix}")))?;
    }
    sync(dir)?;
    let path = dir.join(STORE);
    fs::rename(dir.join(SAVED), &path).map_err(|error| Error::io("replace", path, error))?;
    sync(dir)?;
    Ok(aside)
}

/// The indexes of both collections, whether they are there or not.
fn every_index(dir: &Path, config: &EngineConfig) -> Vec<IndexOnDisk> {
    open::files(dir, open::generation(dir), config)
}

/// Moves indexes into a folder, each under a name of its own.
fn set_aside(dir: &Path, indexes: &[IndexOnDisk], aside: &Path) -> Result<()> {
    for index in indexes {
        let from = dir.join(&index.folder);
        match fs::rename(&from, aside.join(index.folder.replace('/', "-"))) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::io("set aside", from, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// What repairs and openings have set aside, and what they left of a store that they were saving:
/// no part of the index, but it holds its texts.
pub(crate) fn set_aside_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for (path, kind) in entries(dir)? {
        let name = name(&path);
        if name.starts_with(ASIDE) || [SAVED, SAVING].iter().any(|saved| name.starts_with(saved)) {
            found.push(path);
        } else if kind.is_dir() {
            let within = entries(&path)?.into_iter().map(|(path, _)| path);
            found.extend(within.filter(|path| path.extension().is_some_and(|end| end == DAMAGED)));
        }
    }
    Ok(found)
}

/// A new folder for what is damaged.
fn folder_for(dir: &Path) -> Result<PathBuf> {
    let mut number = 1_u64;
    loop {
        let aside = dir.join(format!("{ASIDE}{number}"));
        if !aside.exists() {
            let made = create_private_folder(&aside);
            made.map_err(|error| Error::io("create", &aside, error))?;
            return Ok(aside);
        }
        number += 1;
    }
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}

/// Makes a file, or the names in a directory, durable.
pub(crate) fn sync(path: &Path) -> Result<()> {
    // Only Unix lets a directory be synced; elsewhere renaming is as durable as it gets.
    if cfg!(unix) || path.is_file() {
        let sync = File::open(path).and_then(|file| file.sync_all());
        sync.map_err(|error| Error::io("sync", path, error))?;
    }
    Ok(())
}
