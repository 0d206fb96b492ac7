//! Repair of an index on disk: what is damaged is set aside, never overwritten, and rebuilt;
//! of a damaged store, what can be read is saved first.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;
use trefoil_core::{Error, Part, Result, create_private_folder, sync};
use trefoil_store::{Access, Salvaged, Store, SystemClock};

use crate::{
    admin::{
        erase::entries,
        opening::{lock, open_to_write},
        verify::{Fault, Finding, Verification, verify},
    },
    config::EngineConfig,
    index::{
        active_model::OnMismatch,
        open::{self, IndexOnDisk},
    },
    ingest::extract::forget_extractor,
    layout::{ASIDE, DAMAGED},
};

/// What a repair did.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepairReport {
    /// What was wrong before.
    pub before: Verification,
    /// The folder that now holds what was damaged, if anything was.
    pub set_aside: Option<PathBuf>,
    /// What was saved of the store, if it was damaged.
    pub saved: Option<Salvaged>,
    /// Indexes that were rebuilt.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub rebuilt: Vec<Part>,
    /// What is wrong now: nothing, unless it cannot be repaired.
    pub after: Verification,
}

/// Repairs the index in `dir` with the retrievers of `config`.
pub(crate) fn repair(dir: &Path, config: &EngineConfig) -> Result<RepairReport> {
    if !Store::exists(dir) {
        return Err(Error::IndexMissing { path: dir.to_owned() });
    }
    let lock = lock(dir)?;
    let finished = finish_earlier(dir, config)?;
    let before = match verify(dir, config) {
        // Of an older format, which only a writer changes.
        Err(Error::OlderFormat { .. }) => {
            Store::open(dir, Access::ReadWrite, Arc::new(SystemClock))?;
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
        rebuilt.retain(|on_disk| damaged(on_disk.part()));
        set_aside(dir, &rebuilt, &aside)?;
        (None, aside, rebuilt)
    };
    let rebuilt = rebuilt.iter().map(IndexOnDisk::part).collect();
    sync(dir)?;
    let state = open_to_write(dir, config.clone(), lock, OnMismatch::Refuse)?;
    // Where it was lost which model the vectors are of, it is known only now.
    if state.leads() {
        state.store.requeue_embeddings()?;
        state.replay_all()?;
    }
    drop(state);
    let after = verify(dir, config)?;
    Ok(RepairReport { before, set_aside: Some(aside), saved, rebuilt, after })
}

/// Saves what can be read of the store.
fn save(dir: &Path) -> Result<Salvaged> {
    trefoil_store::salvage(dir, Arc::new(SystemClock), |store, saved| {
        if saved.graph { Ok(()) } else { forget_extractor(store) }
    })
}

/// A process may have died between saving and putting in place. Tells the folder of what was
/// damaged, if so; the indexes are rebuilt by the next writer.
fn finish_earlier(dir: &Path, config: &EngineConfig) -> Result<Option<PathBuf>> {
    trefoil_store::is_salvaged(dir).then(|| put_in_place(dir, config)).transpose()
}

/// Puts what was saved in the place of the store, which is set aside with the indexes.
fn put_in_place(dir: &Path, config: &EngineConfig) -> Result<PathBuf> {
    let aside = folder_for(dir)?;
    trefoil_store::set_aside(dir, &aside)?;
    // The indexes of another log are of no use.
    set_aside(dir, &every_index(dir, config), &aside)?;
    trefoil_store::replace_with_salvaged(dir)?;
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

/// What repairs and openings have set aside, what they left of a store that they were saving, and
/// what a node keeps that the shared store has lost: no part of the index, but it holds its texts.
pub(crate) fn set_aside_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for (path, kind) in entries(dir)? {
        let name = name(&path);
        let is_of_store = [trefoil_store::is_of_salvage, trefoil_store::truth::is_of_lost_rows];
        if name.starts_with(ASIDE) || is_of_store.iter().any(|is_of| is_of(&name)) {
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
