//! Files on their way out of the store.

use rusqlite::{CachedStatement, Params};
use trefoil_core::{Change, RowId};

use crate::{WriteTx, change::log};

/// [`Store::remove_files`] within a transaction.
pub(crate) fn remove_paths<'p>(
    tx: &WriteTx<'_>,
    paths: impl IntoIterator<Item = &'p str>,
) -> rusqlite::Result<usize> {
    paths.into_iter().map(|path| remove_path(tx, path).map(usize::from)).sum()
}

/// [`Store::remove_under`] within a transaction.
pub(crate) fn remove_under(tx: &WriteTx<'_>, prefix: &str) -> rusqlite::Result<usize> {
    let folder = prefix.trim_end_matches('/');
    // '0' is the character after '/': the range is what starts with `folder/`.
    let select = tx.prepare_cached(
        "SELECT id FROM files
         WHERE path = ?1 OR path = ?2 OR (path >= ?1 || '/' AND path < ?1 || '0') ORDER BY path",
    )?;
    remove(tx, select, [folder, prefix])
}

/// Removes the file at `path` with its chunks; true if it was there.
pub(crate) fn remove_path(tx: &WriteTx<'_>, path: &str) -> rusqlite::Result<bool> {
    let select = tx.prepare_cached("SELECT id FROM files WHERE path = ?1")?;
    Ok(remove(tx, select, [path])? > 0)
}

fn remove(
    tx: &WriteTx<'_>,
    mut files: CachedStatement<'_>,
    paths: impl Params,
) -> rusqlite::Result<usize> {
    let files =
        files.query_map(paths, |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    for file in &files {
        let chunks = tx
            .prepare_cached(
                "SELECT unit_id, ordinal FROM payload_chunk WHERE file_id = ?1 ORDER BY unit_id",
            )?
            .query_map([file], |row| Ok((RowId::new(row.get(0)?), row.get(1)?)))?
            .collect::<rusqlite::Result<Vec<(RowId, i64)>>>()?;
        for (row, ordinal) in chunks {
            remove_chunk(tx, row, ordinal)?;
        }
        tx.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([file])?;
    }
    Ok(files.len())
}

/// Removes a chunk with all that hangs on it; 1 for a leaf, 0 for a parent.
pub(super) fn remove_chunk(tx: &WriteTx<'_>, row: RowId, ordinal: i64) -> rusqlite::Result<usize> {
    tx.prepare_cached("DELETE FROM units WHERE id = ?1")?.execute([row.get().cast_signed()])?;
    if ordinal < 0 {
        return Ok(0);
    }
    log(tx, Change::Removed(row))?;
    Ok(1)
}
