//! Settings that are kept with the data.

use rusqlite::{Connection, OptionalExtension};

use crate::WriteTx;

/// Says that the pages of the file have checksums.
pub(crate) const PAGE_CHECKSUMS: &str = "page_checksums";
/// How far the log of changes of documents is compacted.
pub(crate) const COMPACTED_DOCUMENTS: &str = "log_compacted_documents";
/// How far that of memory is.
pub(crate) const COMPACTED_MEMORY: &str = "log_compacted_memory";
/// How far the store of a node is, as a cache of the truth.
pub(crate) const PLACE: &str = "place";

/// Says that files of this node may hold bytes of what was erased.
pub(crate) const UNCLEANED: &str = "uncleaned_files";

/// The key of the hashes in `erased_runs`. It is written with each erasure, so that nodes that
/// follow notice one that leaves nothing to look for.
pub(crate) const ERASURE_KEY: &str = "erasure_key";

/// The highest class of units of memory that this node is given, by its number; absent if all.
pub(crate) const BOUNDARY: &str = "boundary";

/// Settings that say something of this file only, and not of what is in it: no other node of a
/// shard is told of them.
pub(crate) const LOCAL: [&str; 6] =
    [BOUNDARY, COMPACTED_DOCUMENTS, COMPACTED_MEMORY, PAGE_CHECKSUMS, PLACE, UNCLEANED];

pub(crate) fn get(tx: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    tx.prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()
}

pub(crate) fn set(tx: &WriteTx<'_>, key: &str, value: &str) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value",
    )?
    .execute([key, value])?;
    Ok(())
}

/// Forgets a setting; 1 if it was there.
pub(crate) fn forget(tx: &WriteTx<'_>, key: &str) -> rusqlite::Result<usize> {
    tx.execute("DELETE FROM meta WHERE key = ?1", [key])
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    #[test]
    fn a_setting_is_kept_and_replaced() {
        let fixture = Fixture::new();
        assert_eq!(fixture.store.meta("mode").unwrap(), None);
        fixture.store.set_meta("mode", "one").unwrap();
        fixture.store.set_meta("mode", "두번째").unwrap();
        let fixture = fixture.reopen();
        assert_eq!(fixture.store.meta("mode").unwrap().as_deref(), Some("두번째"));
        fixture.store.forget_meta("mode").unwrap();
        assert_eq!(fixture.store.meta("mode").unwrap(), None);
    }
}
