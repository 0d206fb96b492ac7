//! Changes of the metadata of files that are stored.

use rusqlite::{Connection, OptionalExtension, params};
use trefoil_core::{Change, Error, Metadata, Result};

use crate::{
    Store, WriteTx,
    change::log,
    codec::{metadata, row_ids},
};

impl Store {
    /// Puts the fields of `patch` into the metadata of the files at `paths`, in one transaction; null
    /// takes a field out. Their chunks are logged as [`Change::Text`], and keep their rows and
    /// vectors. Tells how many of the files there were. What was stored of their content does not
    /// count as known any more, so that the next ingest of it brings its own metadata back.
    ///
    /// # Errors
    /// [`InvalidField`](trefoil_core::Error::InvalidField) if one has too much metadata then; then
    /// nothing was stored.
    pub fn patch_metadata<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p str>,
        patch: &Metadata,
    ) -> Result<usize> {
        let mut refused = None;
        let patched = self.write("change metadata", |tx, now| {
            patch_metadata(tx, now, paths, patch, &mut refused)
        });
        refused.map_or(patched, Err)
    }
}

/// [`Store::patch_metadata`] within a transaction. What is wrong with the patch is `refused`, and
/// the error that ends the transaction stands for it.
pub(crate) fn patch_metadata<'p>(
    tx: &WriteTx<'_>,
    now: i64,
    paths: impl IntoIterator<Item = &'p str>,
    patch: &Metadata,
    refused: &mut Option<Error>,
) -> rusqlite::Result<usize> {
    let mut patched = 0;
    for path in paths {
        let Some((file, metadata)) = metadata_at(tx, path)? else { continue };
        let metadata = metadata.patched(patch).map_err(|error| {
            *refused = Some(error);
            rusqlite::Error::QueryReturnedNoRows
        })?;
        set_metadata(tx, now, file, &metadata)?;
        patched += 1;
    }
    Ok(patched)
}

fn metadata_at(tx: &Connection, path: &str) -> rusqlite::Result<Option<(i64, Metadata)>> {
    tx.prepare_cached("SELECT id, metadata FROM files WHERE path = ?1")?
        .query_row([path], |row| Ok((row.get(0)?, metadata(row, 1)?)))
        .optional()
}

/// What stands before the digest of a content that is stored with other metadata.
const PATCHED: &str = "patched:";

fn set_metadata(
    tx: &WriteTx<'_>,
    now: i64,
    file: i64,
    metadata: &Metadata,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE files SET metadata = ?2, sha256 = iif(instr(sha256, ?3) = 1, '', ?3) || sha256
         WHERE id = ?1",
    )?
    .execute(params![file, metadata.to_json(), PATCHED])?;
    tx.prepare_cached(
        "UPDATE units SET updated_at = ?2
         WHERE id IN (SELECT unit_id FROM payload_chunk WHERE file_id = ?1)",
    )?
    .execute(params![file, now])?;
    let select =
        "SELECT unit_id FROM payload_chunk WHERE file_id = ?1 AND ordinal >= 0 ORDER BY unit_id";
    row_ids(tx, select, [file])?.into_iter().try_for_each(|row| log(tx, Change::Text(row)))
}
