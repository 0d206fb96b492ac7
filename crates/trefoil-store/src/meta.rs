//! Settings that are kept with the data.

use rusqlite::{Connection, OptionalExtension};

use crate::WriteTx;

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
