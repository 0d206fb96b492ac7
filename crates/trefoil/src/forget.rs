//! Forgetting, down to the bytes of every file.
//!
//! The store erases rows in one transaction; the indexes replay that. Then every file is
//! written anew from what is alive: the store by `VACUUM` with an emptied write-ahead log,
//! the segments of the indexes by merging. Rewriting is what erases; the search of the files
//! that follows is the proof, as far as a search can see. It sees text as it is: all of the
//! store, names in the graph's file. The keyword index holds terms in a compressed dictionary
//! and vectors are numbers: there nothing can be seen, and only what was written anew counts.
//!
//! A note in the store says that this has to be done, so that a crash on the way is made good
//! when the engine is opened again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::PoisonError,
};

use serde::Serialize;
use trefoil_core::{Error, Result, RowId};
use trefoil_store::memory::Erased;

use crate::{Engine, engine::Inner, memory::MemoryCollection, remains::Remains};

/// What was forgotten, and the proof.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForgetReceipt {
    /// How many of each kind: `episode`, `claim`, `summary`, `file`, `chunk`…
    pub removed: BTreeMap<String, usize>,
    /// The files that were searched, by path from the engine's directory.
    pub files: Vec<ScannedFile>,
    /// Bytes of them.
    pub bytes_scanned: u64,
    /// Places at which 16 bytes in a row are of an erased text, of which none that is alive
    /// has 15; 0.
    pub hits: u64,
}

/// A file that was searched for erased text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScannedFile {
    /// Its path.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Places at which erased text was found.
    pub hits: u64,
}

impl Engine {
    /// Forgets the document at `path` with everything that came from it, so that no file holds
    /// 16 bytes of it in a row of which no live text has 15. Costs as much as writing all of the
    /// index anew. A document that is not there leaves nothing to remove.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process reads and does not let go: the document is gone by
    /// then, and the files are cleaned by the next call or when the engine is opened again.
    pub fn forget_document(&self, path: &str) -> Result<ForgetReceipt> {
        self.inner().writable("forget a document")?;
        let erased = self.inner().store.erase_file(path)?;
        self.forgotten(erased.unwrap_or_default())
    }

    fn forgotten(&self, erased: Erased) -> Result<ForgetReceipt> {
        let receipt = self.inner().clean(erased)?;
        self.wake();
        Ok(receipt)
    }
}

impl MemoryCollection<'_> {
    /// Forgets units with everything that was made from them, as
    /// [`Engine::forget_document`] does a document.
    ///
    /// # Errors
    /// As [`Engine::forget_document`].
    pub fn forget_units(&self, rows: &[RowId]) -> Result<ForgetReceipt> {
        self.forget(|_| Ok(rows.to_vec()))
    }

    /// Forgets every unit that speaks of `subject`, the observations that claims about it come
    /// from, and everything that was made from those.
    ///
    /// # Errors
    /// As [`Engine::forget_document`].
    pub fn forget_subject(&self, subject: &str) -> Result<ForgetReceipt> {
        self.forget(|memory| memory.units_about(subject))
    }

    fn forget(
        self,
        choose: impl FnOnce(&trefoil_store::memory::MemoryWrite<'_>) -> Result<Vec<RowId>>,
    ) -> Result<ForgetReceipt> {
        let erased = self.engine.inner().store.memory_write("forget", |memory| {
            let rows = choose(memory)?;
            let units = memory.with_derived(&rows)?;
            memory.erase_units(&units)
        })?;
        self.engine.forgotten(erased)
    }
}

impl Inner {
    /// Makes good a cleaning that a crash kept from its end.
    pub(crate) fn clean_up(&self) -> Result<()> {
        if self.store.is_unclean()? {
            self.rewrite()?;
        }
        Ok(())
    }

    /// Writes every file anew and searches them for what was erased.
    fn clean(&self, erased: Erased) -> Result<ForgetReceipt> {
        self.rewrite()?;
        let mut remains = Remains::of(erased.texts.iter().map(String::as_str));
        self.store.each_live_text(|text| remains.spare(text))?;
        let mut receipt = ForgetReceipt { removed: erased.removed, ..ForgetReceipt::default() };
        let scanner = remains.scanner();
        for path in files_below(&self.dir)? {
            let (bytes, hits) = scanner.scan(&path)?;
            let path = path.strip_prefix(&self.dir).map(Path::to_owned).unwrap_or(path);
            receipt.bytes_scanned += bytes;
            receipt.hits += hits;
            receipt.files.push(ScannedFile { path, bytes, hits });
        }
        Ok(receipt)
    }

    fn rewrite(&self) -> Result<()> {
        self.replay_all()?;
        {
            // No search holds a file that is to go.
            let _shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
            self.documents.compact()?;
            self.memory.compact()?;
        }
        self.publish()?;
        remove_set_aside(&self.dir)?;
        self.store.clean()?;
        self.store.set_clean()
    }
}

/// Removes the damaged indexes that were set aside.
fn remove_set_aside(dir: &Path) -> Result<()> {
    for collection in trefoil_core::Collection::ALL {
        let dir = dir.join(collection.name());
        for entry in entries(&dir)? {
            if entry.extension().is_some_and(|extension| extension == "damaged") {
                let removed = if entry.is_dir() {
                    std::fs::remove_dir_all(&entry)
                } else {
                    std::fs::remove_file(&entry)
                };
                removed.map_err(|source| Error::io("remove the damaged index", &entry, source))?;
            }
        }
    }
    Ok(())
}

/// Every file below a folder, by path.
fn files_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in entries(dir)? {
        if entry.is_dir() {
            files.extend(files_below(&entry)?);
        } else {
            files.push(entry);
        }
    }
    Ok(files)
}

/// What is in a folder, by name; nothing if it is not there.
fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let failed = |source| Error::io("list", dir, source);
    let listed = std::fs::read_dir(dir).map_err(failed)?;
    let mut entries: Vec<PathBuf> = listed
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()
        .map_err(failed)?;
    entries.sort();
    Ok(entries)
}
