mod patch;
mod put;
mod remove;
#[cfg(test)]
mod tests;
mod whole;

use jiff::civil::Date;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use trefoil_core::{Chunk, Extraction, FileId, Metadata, Result};

use crate::{Store, WriteTx, codec::parsed};

pub(crate) use self::{
    patch::patch_metadata,
    put::{identify, put_files},
    remove::{remove_path, remove_paths, remove_under},
    whole::{Digests, digest_at, digests, whole_file},
};

/// What tells whether a file has changed since it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Hash of the path.
    pub id: FileId,
    /// Where it was read from, or the caller's key.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// When it was last modified, in the unit that the caller stored.
    pub mtime: i64,
    /// SHA-256 of the content as the caller stored it.
    pub sha256: String,
}

/// A file or document to store, cut into chunks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewFile {
    /// Where it was read from, or the caller's key.
    pub path: String,
    /// Short name; may be empty.
    pub title: String,
    /// Labels; stored sorted, each once.
    pub tags: Vec<String>,
    /// The day it is about or from.
    pub date: Option<Date>,
    /// Fields of its caller's own.
    pub metadata: Metadata,
    /// Length in bytes.
    pub size: u64,
    /// When it was last modified.
    pub mtime: i64,
    /// SHA-256 of the content, hexadecimal.
    pub sha256: String,
    /// Leaf and parent chunks; ordinals differ within a level.
    pub chunks: Vec<NewChunk>,
}

/// A file that was written without a change of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedFile {
    /// Where it was read from.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// When it was last modified.
    pub mtime: i64,
}

/// A chunk to store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewChunk {
    /// The chunk.
    pub chunk: Chunk,
    /// SHA-256 of the text that is embedded for it, and of its vector if that is the caller's,
    /// hexadecimal; unused for parents.
    pub embedding_hash: String,
    /// Where its vector comes from.
    pub embedding: NewEmbedding,
    /// What it mentions; unused for parents.
    #[serde(with = "crate::graph::as_text")]
    pub extraction: Extraction,
}

/// Where the vector of a chunk comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum NewEmbedding {
    /// The model makes it, unless it is cached. Until then the chunk keeps the one that it has.
    #[default]
    Model,
    /// The caller made it.
    Given(Vec<f32>),
    /// The caller makes vectors, and gives none for this chunk: it loses the one that it has.
    Absent,
}

/// What storing a file did to its leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The file.
    pub file: FileId,
    /// Leaf chunks that are new.
    pub added: usize,
    /// Leaf chunks that kept their row.
    pub kept: usize,
    /// Leaf chunks that are gone.
    pub removed: usize,
}

impl Store {
    /// What is known of the file at `path`.
    pub fn file(&self, path: &str) -> Result<Option<FileState>> {
        self.read("look up a file", |tx| by_path(tx, path))
    }

    /// A digest of the file at `path` with its chunks, but for when it was modified; the same for
    /// what is stored again from the same.
    pub fn file_digest(&self, path: &str) -> Result<Option<String>> {
        self.read("look up a file", |tx| digest_at(tx, path))
    }

    /// Every file, by path.
    pub fn files(&self) -> Result<Vec<FileState>> {
        self.read("list the files", |tx| {
            tx.prepare_cached(
                "SELECT public_id, path, size, mtime, sha256 FROM files ORDER BY path",
            )?
            .query_map([], state)?
            .collect()
        })
    }

    /// Notes in one transaction that files were written without a change of content. Tells how
    /// many of them are stored.
    pub fn touch_files(&self, files: &[TouchedFile]) -> Result<usize> {
        self.write("touch files", |tx, _| touch_files(tx, files))
    }

    /// Stores files in one transaction, each in the place of what was stored under
    /// its path.
    ///
    /// A chunk whose id is the same keeps its row, and is logged only if title,
    /// tags, date, metadata or language changed. A leaf whose embedding is cached is logged
    /// as [`Change::Vector`](trefoil_core::Change::Vector) too; for others an embed job is
    /// queued. One that mentions something else than before is logged as
    /// [`Change::Extraction`](trefoil_core::Change::Extraction). Parents are stored, but
    /// neither logged nor embedded.
    ///
    /// # Errors
    /// Two chunks of a file with one level and ordinal, or a full disk; then
    /// nothing was stored.
    pub fn put_files(&self, files: &[NewFile]) -> Result<Vec<Stored>> {
        let ids = files.iter().map(identify).collect::<Result<Vec<_>>>()?;
        self.write("store files", |tx, now| put_files(tx, now, files, ids))
    }

    /// Removes the file at `path` with its chunks; true if it was there.
    pub fn remove_file(&self, path: &str) -> Result<bool> {
        Ok(self.remove_files([path])? > 0)
    }

    /// Removes the files at `paths` with their chunks in one transaction. Tells how many were
    /// there.
    pub fn remove_files<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Result<usize> {
        self.write("remove files", |tx, _| remove_paths(tx, paths))
    }

    /// Removes the file at `prefix` and all below `prefix/`; tells how many files.
    pub fn remove_under(&self, prefix: &str) -> Result<usize> {
        self.write("remove files", |tx, _| remove_under(tx, prefix))
    }
}

/// [`Store::touch_files`] within a transaction.
pub(crate) fn touch_files(tx: &WriteTx<'_>, files: &[TouchedFile]) -> rusqlite::Result<usize> {
    let mut touch = tx.prepare_cached("UPDATE files SET size = ?2, mtime = ?3 WHERE path = ?1")?;
    let touched = files
        .iter()
        .map(|TouchedFile { path, size, mtime }| touch.execute(params![path, size, mtime]));
    touched.sum()
}

/// What is known of the file at `path`.
pub(crate) fn by_path(tx: &Connection, path: &str) -> rusqlite::Result<Option<FileState>> {
    tx.prepare_cached("SELECT public_id, path, size, mtime, sha256 FROM files WHERE path = ?1")?
        .query_row([path], state)
        .optional()
}

fn state(row: &Row<'_>) -> rusqlite::Result<FileState> {
    Ok(FileState {
        id: parsed(row, 0, FileId::new)?,
        path: row.get(1)?,
        size: row.get(2)?,
        mtime: row.get(3)?,
        sha256: row.get(4)?,
    })
}

/// The start of a day, UTC, in epoch seconds.
pub(crate) fn midnight(date: Date) -> i64 {
    const EPOCH: Date = jiff::civil::date(1970, 1, 1);
    date.duration_since(EPOCH).as_secs()
}
