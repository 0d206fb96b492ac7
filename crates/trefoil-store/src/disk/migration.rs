//! The format of the file and the way to it from older ones.

use std::path::Path;

use rusqlite::{Connection, params};
use trefoil_core::Error;

use crate::{WriteTx, codec::row_ids, graph::coding::bytes_of, memory::mention_rows::Reader};

/// One script a format; the number of those that ran is the file's `user_version`.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/001.sql"),
    include_str!("../../migrations/002.sql"),
    include_str!("../../migrations/003.sql"),
    include_str!("../../migrations/004.sql"),
    include_str!("../../migrations/005.sql"),
    include_str!("../../migrations/006.sql"),
    include_str!("../../migrations/007.sql"),
    include_str!("../../migrations/008.sql"),
    include_str!("../../migrations/009.sql"),
    include_str!("../../migrations/010.sql"),
];

/// Marks the file as ours: "TREF" in ASCII, SQLite's `application_id`.
const APPLICATION_ID: i64 = 0x5452_4546;

/// What a file is, told from its header.
pub(crate) enum Format {
    /// No table yet.
    Empty,
    /// Written by this version.
    Current,
    /// Written by an older version.
    Old(u32),
    /// Written by a newer version.
    Unsupported(u32),
    /// A database of another program.
    Foreign,
}

/// Reads the header; changes nothing.
pub(crate) fn format(connection: &Connection) -> rusqlite::Result<Format> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(if tables == 0 && version == 0 {
        Format::Empty
    } else if application != APPLICATION_ID {
        Format::Foreign
    } else {
        let version = u32::try_from(version).unwrap_or(u32::MAX);
        match version.cmp(&supported()) {
            std::cmp::Ordering::Less => Format::Old(version),
            std::cmp::Ordering::Equal => Format::Current,
            std::cmp::Ordering::Greater => Format::Unsupported(version),
        }
    })
}

/// Brings a file to the newest format, in one transaction.
pub(crate) fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    let tx = WriteTx::begin(connection)?;
    let version: usize = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for (script, format) in MIGRATIONS.iter().zip(1..).skip(version) {
        tx.execute_batch(script)?;
        if format == SAID {
            unite_said(&tx)?;
        }
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", supported())?;
    tx.commit()
}

/// The format since which a row holds all that a chunk says.
const SAID: usize = 7;

/// Copies what chunks say of entities into one row each, and leaves the tables before to memory.
fn unite_said(tx: &WriteTx<'_>) -> rusqlite::Result<()> {
    let mut reader = Reader::new(tx)?;
    let chunks = "SELECT unit_id FROM payload_chunk c
         WHERE EXISTS (SELECT 1 FROM unit_entities WHERE unit_id = c.unit_id) ORDER BY unit_id";
    for row in row_ids(tx, chunks, [])? {
        if let Some(said) = bytes_of(&reader.extraction(row)?) {
            tx.prepare_cached("INSERT INTO unit_said (unit_id, said) VALUES (?1, ?2)")?
                .execute(params![row.get().cast_signed(), said])?;
        }
    }
    drop(reader);
    leave_tables_to_memory(tx)?;
    tx.execute_batch(include_str!("../../migrations/007-memory.sql"))
}

/// Deletes what chunks say, and with it what no unit of memory says, from the tables that are
/// memory's since format 7.
pub(crate) fn leave_tables_to_memory(tx: &WriteTx<'_>) -> rusqlite::Result<()> {
    tx.execute_batch(
        "DELETE FROM unit_edges WHERE unit_id IN (SELECT unit_id FROM payload_chunk);
         DELETE FROM unit_entities WHERE unit_id IN (SELECT unit_id FROM payload_chunk);
         DELETE FROM edges WHERE NOT EXISTS (SELECT 1 FROM unit_edges u
             WHERE u.src_entity_id = edges.src_entity_id
                 AND u.relation_label = edges.relation_label
                 AND u.dst_entity_id = edges.dst_entity_id);
         DELETE FROM entities WHERE collection = 0
             AND NOT EXISTS (SELECT 1 FROM unit_entities WHERE entity_id = entities.id)
             AND NOT EXISTS (SELECT 1 FROM edges WHERE src_entity_id = entities.id)
             AND NOT EXISTS (SELECT 1 FROM edges WHERE dst_entity_id = entities.id);",
    )
}

/// The error for a file that is too new.
pub(crate) fn unsupported(found: u32) -> Error {
    Error::UnsupportedFormat { found, supported: supported() }
}

/// The error for a file that is to be read and has to be brought up to date first.
pub(crate) fn older(path: &Path, found: u32) -> Error {
    Error::OlderFormat { path: path.to_path_buf(), found, supported: supported() }
}

pub(crate) fn supported() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trefoil_core::{Change, Collection, IndexInput, RowId, Seq};

    use super::*;
    use crate::{Access, GraphRows, Store, SystemClock, store::file_in};

    /// The format of the first shard, whose rows every later version reads as they are.
    const FIRST_SHARD: usize = 9;

    #[test]
    fn formats_since_there_are_shards_only_add() {
        let adds = ["CREATE ", "ALTER TABLE ", "DROP INDEX ", "DROP TRIGGER ", "DROP VIEW "];
        for (script, format) in MIGRATIONS.iter().zip(1..).skip(FIRST_SHARD) {
            let is_rest = |line: &str| line.is_empty() || line.starts_with([' ', '-', ')', '\n']);
            for line in script.lines().filter(|line| !is_rest(line) && *line != "END;") {
                let is_added = adds.iter().any(|start| line.starts_with(start))
                    && (!line.starts_with("ALTER TABLE ") || line.contains(" ADD COLUMN "));
                assert!(
                    is_added,
                    "format {format}: `{line}`: rows of a shard are not rewritten; let the node \
                     that leads write them when it migrates the shard"
                );
            }
        }
    }

    #[test]
    fn a_file_of_format_1_keeps_its_log_and_its_place_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = file_in(folder.path());
        let old = Connection::open(&path).unwrap();
        old.execute_batch(MIGRATIONS[0]).unwrap();
        old.execute_batch(
            "INSERT INTO change_log (unit_id, kind) VALUES (4, 0), (4, 1), (5, 0);
             DELETE FROM change_log WHERE unit_id = 5;",
        )
        .unwrap();
        old.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        drop(old);
        assert!(crate::is_older(folder.path()).unwrap());
        let read = Store::open(folder.path(), Access::ReadOnly, Arc::new(SystemClock)).unwrap_err();
        assert!(matches!(read, Error::OlderFormat { found: 1, .. }), "{read:?}");
        assert!(read.to_string().contains("`trefoil repair`"), "{read}");
        let store = Store::open(folder.path(), Access::ReadWrite, Arc::new(SystemClock)).unwrap();
        assert!(!crate::is_older(folder.path()).unwrap());
        let row = RowId::new(4);
        let log = [(Seq::new(1), Change::Text(row)), (Seq::new(2), Change::Vector(row))];
        assert_eq!(store.changes(Seq::ZERO, 9).unwrap(), log);
        assert_eq!(store.seq().unwrap(), Seq::new(3));
        store.check().unwrap();
    }

    #[test]
    fn a_file_of_format_2_keeps_its_units_and_its_entities() {
        let folder = tempfile::tempdir().unwrap();
        let path = file_in(folder.path());
        let old = Connection::open(&path).unwrap();
        old.execute_batch(MIGRATIONS[0]).unwrap();
        old.execute_batch(MIGRATIONS[1]).unwrap();
        old.execute_batch(
            "INSERT INTO units (id, public_id, kind, created_at, updated_at) VALUES (4, 'obs_1', 1, 7, 7);
             INSERT INTO payload_episode (unit_id, input_text) VALUES (4, 'seen');
             INSERT INTO entities (public_id, name, normalized, created_at, updated_at)
                 VALUES ('ent_1', 'Ada', 'ada', 7, 7), ('ent_2', 'Engine', 'engine', 7, 7);
             INSERT INTO unit_edges VALUES (4, 0, 1, 'USES', 2, 3, '[]');
             INSERT INTO edges (src_entity_id, relation_label, dst_entity_id, count) VALUES (1, 'USES', 2, 3);
             INSERT INTO unit_entities VALUES (4, 1, 1, 0.5, 'Ada', 'PERSON', 5, '[]', '[]', 'ada.md');
             INSERT INTO change_log (unit_id, kind) VALUES (9, 0);",
        )
        .unwrap();
        old.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        old.pragma_update(None, "user_version", 2).unwrap();
        drop(old);
        let store = Store::open(folder.path(), Access::ReadWrite, Arc::new(SystemClock)).unwrap();
        let unit = store.memory_read("test", |memory| memory.unit("obs_1")).unwrap().unwrap();
        assert_eq!((unit.row, unit.payload.text().as_str()), (RowId::new(4), "seen"));
        assert_eq!(store.graph().unwrap(), GraphRows::default());
        let (edges, entities) = store
            .memory_read("test", |memory| {
                Ok((memory.edges_of(unit.row)?, memory.entities_of(unit.row)?))
            })
            .unwrap();
        let edge = (edges[0].weight, edges[0].first_seen_at, edges[0].last_seen_at);
        assert_eq!(edge, (1.5, 7, 7));
        assert_eq!(entities[0].roles, ["person"]);
        assert_eq!(entities[0].canonical_key.as_deref(), Some("ada.md"));
        assert_eq!(
            store.verify().unwrap().iter().filter(|one| one.what.contains("tall")).count(),
            0
        );
        let log = [(Seq::new(1), Change::Text(RowId::new(9)))];
        assert_eq!(
            store.changes_of(Collection::Documents, &[IndexInput::Text], Seq::ZERO, 9).unwrap(),
            log
        );
        assert_eq!(
            store.changes_of(Collection::Memory, &[IndexInput::Text], Seq::ZERO, 9).unwrap(),
            []
        );
        store.check().unwrap();
    }
}
