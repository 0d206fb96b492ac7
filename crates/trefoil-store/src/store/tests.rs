use std::{collections::BTreeMap, fs};

use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::tempdir;
use trefoil_core::{Change, RowId, Seq};

use super::*;
use crate::{
    SystemClock,
    fixture::{Fixture, file},
};

fn open(path: &Path, access: Access) -> Result<Store> {
    Store::open_file(path, access, Arc::new(SystemClock))
}

#[test]
fn the_pragmas_and_the_format_are_set() {
    let fixture = Fixture::new();
    let writer = locked(fixture.store.writer.as_ref().unwrap());
    let pragma = |name| writer.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(
        ["synchronous", "foreign_keys", "temp_store", "user_version"].map(pragma),
        [2, 1, 2, 10]
    );
    let mode: String = writer.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn the_format_has_every_table_and_column() {
    let expected = "\
active_context_items: context_id rank claim_unit_id score
active_contexts: id public_id window scope provenance_json policy_version created_at expires_at
change_log: seq unit_id kind removed collection
claim_links: claim_unit_id other_unit_id relation created_at
communities: id public_id level parent_id name size internal_edges external_edges modularity summary keywords_json content_hash updated_at sources_json
community_members: community_id entity_id ties chunks
counters: what part collection state count
edges: src_entity_id relation_label dst_entity_id weight count first_seen_at last_seen_at evidence_unit_id props_json
embedding_cache: text_hash fingerprint vector token_space tokens
entities: id public_id type_label name normalized roles_json canonical_key attrs_json created_at updated_at collection
entity_aliases: entity_id alias
entity_tallies: entity_id what text weight count
erased_runs: run head tail
events: id ts kind unit_id payload_json
evidences: id public_id claim_unit_id observation_unit_id method note created_at
feedbacks: id public_id claim_unit_id ts signal score
file_tags: tag file_id
files: id public_id path size mtime sha256 title tags dates metadata
jobs: id kind payload_json status run_after tries last_error lease_until created_at updated_at collection
meta: key value
payload_chunk: unit_id file_id ordinal byte_start byte_end line_start line_end language hash embedding_hash heading_path text
payload_claim: unit_id text kind scope session_id origin_json quality utility recency recency_anchor decayed_at content_hash sources_json epistemic_status last_verified_at ttl importance subject predicate object valid_from valid_to provenance_json
payload_episode: unit_id input_text reply_text image_summary context_note reflection_json content_compressed observation_kind source_type source_id session_id actor expires_at token_count digest scrubbed_at
payload_fact: unit_id subject_entity_id predicate object_text object_entity_id valid_from valid_to evidence_unit_ids_json
payload_loop: unit_id expires_at due_at loop_text
payload_summary: unit_id scope_label scope_key range_start range_end summary_text summary_json
policies: version yaml applied_at
sessions: id project_path started_at ended_at summary token_count owner
tombstones: unit_id reason buried_at purge_after
unit_edges: unit_id ordinal src_entity_id relation_label dst_entity_id count spans
unit_entities: unit_id entity_id role weight name type_label kind aliases spans target
unit_said: unit_id said
unit_sources: unit_id source_unit_id
unit_versions: unit_id version parent_version patch_reason payload_hash created_at
units: id public_id kind occurred_at created_at updated_at source state confidence salience boundary sensitivity pin topic_tags persona_affect_label persona_affect_intensity embedding_hash archived_as";
    let tables = Fixture::new().store.read("list tables", |tx| {
        tx.prepare(
            "SELECT t.name || ': ' || (SELECT group_concat(name, ' ' ORDER BY cid) FROM pragma_table_xinfo(t.name))
             FROM sqlite_schema t WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<String>>>()
    });
    assert_eq!(tables.unwrap().join("\n"), expected);
}

#[test]
fn sensitivity_follows_the_boundary() {
    let fixture = Fixture::new();
    let sensitivity = |boundary: i64| {
        fixture.store.write("insert a unit", |tx, _| {
            tx.query_row(
                "INSERT INTO units (public_id, kind, created_at, updated_at, boundary)
                 VALUES (?1, 1, 0, 0, ?1) RETURNING sensitivity",
                [boundary],
                |row| row.get::<_, i64>(0),
            )
        })
    };
    assert_eq!([0, 1, 2, 3].map(|boundary| sensitivity(boundary).unwrap()), [0, 0, 1, 2]);
    assert!(sensitivity(4).is_err());
}

#[test]
fn reopening_keeps_everything_and_migrates_once() {
    let mut fixture = Fixture::new();
    let rows = fixture.put(&file("a", &["one", "two"]));
    let before = fixture.store.changes(Seq::ZERO, 10).unwrap();
    for _ in 0..3 {
        fixture = fixture.reopen();
        assert_eq!(fixture.rows("a"), rows);
        assert_eq!(fixture.store.changes(Seq::ZERO, 10).unwrap(), before);
    }
    fixture.store.check().unwrap();
}

#[test]
fn a_closed_store_is_one_file() {
    let fixture = Fixture::new();
    let rows = fixture.put(&file("a", &["one"]));
    assert_eq!(fixture.store.chunks(&rows).unwrap().len(), 1);
    let path = fixture.path();
    let log = path.with_file_name("store.db-wal");
    assert!(log.exists());
    drop(fixture.store);
    assert!(!log.exists());
    assert!(fs::read(&path).unwrap().windows(3).any(|window| window == b"one"));
}

#[test]
fn a_reader_next_to_the_writer_sees_commits_and_cannot_write() {
    let fixture = Fixture::new();
    let reader = fixture.open(Access::ReadOnly);
    assert_eq!(reader.seq().unwrap(), Seq::ZERO);
    let rows = fixture.put(&file("a", &["one"]));
    assert_eq!(reader.chunks(&rows).unwrap()[0].chunk.text, "one");
    assert_eq!(reader.seq().unwrap(), fixture.store.seq().unwrap());
    let error = reader.put_files(&[file("b", &["two"])]).unwrap_err();
    assert!(matches!(&error, Error::ReadOnly { doing: "store files", .. }), "{error}");
    assert!(matches!(reader.set_meta("a", "b"), Err(Error::ReadOnly { .. })));
    drop(fixture.reopen());
    assert_eq!(reader.files().unwrap().len(), 1);
}

#[test]
fn a_reader_sees_one_snapshot_while_the_writer_goes_on() {
    let fixture = Fixture::new();
    fixture.put(&file("a", &["one"]));
    let count = |tx: &Connection| {
        tx.query_row("SELECT count(*) FROM files", [], |row| row.get::<_, i64>(0))
    };
    let counts = fixture.store.read("count", |tx| {
        let before = count(tx)?;
        fixture.put(&file("b", &["two"]));
        Ok((before, count(tx)?))
    });
    assert_eq!(counts.unwrap(), (1, 1));
    assert_eq!(fixture.store.read("count", count).unwrap(), 2);
}

#[test]
fn threads_share_a_store() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for n in 0..10 {
                    store.put_files(&[file(&format!("{thread}/{n}"), &["text"])]).unwrap();
                    assert!(store.files().unwrap().len() > n);
                }
            });
        }
    });
    assert_eq!(store.files().unwrap().len(), 40);
    store.check().unwrap();
}

#[test]
fn a_write_that_fails_leaves_nothing() {
    let fixture = Fixture::new();
    fixture.put(&file("a", &["one"]));
    let before = fixture.store.stats().unwrap();
    let mut clash = file("c", &["x", "y"]);
    clash.chunks[1].chunk.ordinal = 0;
    let error = fixture.store.put_files(&[file("b", &["two"]), clash]).unwrap_err();
    assert!(matches!(&error, Error::Backend { part: Part::Store, .. }), "{}", error.chain());
    assert_eq!(fixture.store.stats().unwrap(), before);
}

#[test]
fn a_full_disk_is_an_io_error_and_leaves_nothing() {
    let fixture = Fixture::new();
    fixture.put(&file("a", &["one"]));
    let pages: i64 = locked(fixture.store.writer.as_ref().unwrap())
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap();
    let limit = |pages: i64| {
        let writer = locked(fixture.store.writer.as_ref().unwrap());
        writer.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
    };
    limit(pages);
    let error = fixture.store.put_files(&[file("b", &[&"long ".repeat(10_000)])]).unwrap_err();
    assert!(
        matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull),
        "{}",
        error.chain()
    );
    assert_eq!(fixture.store.files().unwrap().len(), 1);
    limit(1 << 30);
    fixture.put(&file("b", &["long"]));
    fixture.store.check().unwrap();
}

#[test]
fn a_directory_in_place_of_the_file_is_an_io_error() {
    let folder = tempdir().unwrap();
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let error = open(folder.path(), access).unwrap_err();
        assert!(matches!(error, Error::Io { doing: "open", .. }), "{error}");
    }
}

#[test]
fn nothing_to_read_is_a_missing_index() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("store.db");
    assert!(matches!(open(&path, Access::ReadOnly), Err(Error::IndexMissing { .. })));
    assert!(!path.exists());
    fs::write(&path, "").unwrap();
    assert!(matches!(open(&path, Access::ReadOnly), Err(Error::IndexMissing { .. })));
    let nowhere = folder.path().join("no/such/folder/store.db");
    assert!(matches!(open(&nowhere, Access::ReadWrite), Err(Error::Io { .. })));
}

#[test]
fn a_newer_format_is_refused_untouched() {
    let fixture = Fixture::new();
    let path = fixture.path();
    locked(fixture.store.writer.as_ref().unwrap()).pragma_update(None, "user_version", 11).unwrap();
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let error = open(&path, access).unwrap_err();
        assert!(matches!(error, Error::UnsupportedFormat { found: 11, supported: 10 }), "{error}");
    }
}

#[test]
fn the_database_of_another_program_is_refused_untouched() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("store.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE bookmarks (url)").unwrap();
    let before = fs::read(&path).unwrap();
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let error = open(&path, access).unwrap_err();
        assert!(matches!(error, Error::Corrupt { part: Part::Store, .. }), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_is_no_database_is_corrupt() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::write(&path, "not a database ".repeat(500)).unwrap();
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let error = open(&path, access).unwrap_err();
        assert!(matches!(error, Error::Corrupt { part: Part::Store, .. }), "{error}");
    }
}

/// Whatever byte is changed: a typed error or an answer, never a panic.
#[test]
fn a_damaged_file_gives_typed_errors() {
    let fixture = Fixture::new();
    let texts: Vec<String> = (0..40).map(|n| format!("text number {n} ").repeat(20)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let rows = fixture.put(&file("a", &texts));
    let path = fixture.path();
    let whole = {
        locked(fixture.store.writer.as_ref().unwrap())
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
        fs::read(&path).unwrap()
    };
    let folder = tempdir().unwrap();
    let mut corrupt = 0;
    for (n, page) in (0..whole.len()).step_by(4096).enumerate() {
        let mut damaged = whole.clone();
        damaged[page..(page + 4096).min(whole.len())].fill(0xA5);
        let copy = folder.path().join(format!("{n}.db"));
        fs::write(&copy, damaged).unwrap();
        let answer = open(&copy, Access::ReadWrite)
            .and_then(|store| store.chunks(&rows).and_then(|_| store.check()));
        match answer {
            Err(Error::Corrupt { part: Part::Store, .. }) => corrupt += 1,
            other => panic!("page {n}: {other:?}"),
        }
    }
    assert!(corrupt > 10);
    fs::write(folder.path().join("cut.db"), &whole[..whole.len() / 2]).unwrap();
    let answer =
        open(&folder.path().join("cut.db"), Access::ReadWrite).and_then(|store| store.check());
    assert!(matches!(answer, Err(Error::Corrupt { .. })), "{answer:?}");
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, Vec<u8>),
    Remove(u8),
    RemoveUnder(bool),
    Replay,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6_u8, proptest::collection::vec(0..8_u8, 0..6)).prop_map(|(path, texts)| Step::Put(path, texts)),
        1 => (0..6_u8).prop_map(Step::Remove),
        1 => any::<bool>().prop_map(Step::RemoveUnder),
        2 => Just(Step::Replay),
    ]
}

fn path_of(n: u8) -> String {
    format!("{}/{n}", if n < 3 { "x" } else { "y" })
}

/// An index fed by the change log: the text of each row.
#[derive(Default)]
struct Index {
    rows: BTreeMap<RowId, (String, String)>,
    committed: Seq,
}

impl Index {
    fn replay(&mut self, store: &Store) {
        loop {
            let changes = store.changes(self.committed, 3).unwrap();
            let Some(&(last, _)) = changes.last() else { break };
            for (_, change) in changes {
                match change {
                    Change::Text(row) => {
                        let chunk = store.chunks(&[row]).unwrap().pop().unwrap();
                        self.rows.insert(row, (chunk.file.path.clone(), chunk.chunk.text.clone()));
                    }
                    Change::Removed(row) => drop(self.rows.remove(&row)),
                    Change::Vector(_) | Change::Extraction(_) => {}
                }
            }
            self.committed = last;
        }
        assert_eq!(self.committed, store.seq().unwrap());
    }
}

proptest! {
    #[test]
    fn the_store_and_a_replayed_index_equal_a_map(steps in proptest::collection::vec(step(), 1..25)) {
        let fixture = Fixture::new();
        let store = &fixture.store;
        let mut model: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let (mut lagging, mut ids) = (Index::default(), BTreeMap::new());
        for step in steps {
            match step {
                Step::Put(path, texts) => {
                    let path = path_of(path);
                    let texts: Vec<String> = texts.iter().map(|n| format!("text {n}")).collect();
                    let all: Vec<&str> = texts.iter().map(String::as_str).collect();
                    let before = model.insert(path.clone(), texts.clone()).unwrap_or_default();
                    let stored = store.put_files(&[file(&path, &all)]).unwrap().pop().unwrap();
                    prop_assert_eq!(stored.added + stored.kept, texts.len());
                    prop_assert_eq!(stored.removed + stored.kept, before.len());
                }
                Step::Remove(path) => {
                    let path = path_of(path);
                    prop_assert_eq!(store.remove_file(&path).unwrap(), model.remove(&path).is_some());
                }
                Step::RemoveUnder(x) => {
                    let prefix = if x { "x" } else { "y" };
                    let before = model.len();
                    model.retain(|path, _| !path.starts_with(prefix));
                    prop_assert_eq!(store.remove_under(prefix).unwrap(), before - model.len());
                }
                Step::Replay => lagging.replay(store),
            }
            let paths: Vec<String> = store.files().unwrap().into_iter().map(|file| file.path).collect();
            prop_assert!(paths.iter().eq(model.keys()));
            for (path, texts) in &model {
                let chunks = store.chunks(&fixture.rows(path)).unwrap();
                prop_assert!(chunks.iter().map(|chunk| &chunk.chunk.text).eq(texts));
                for chunk in chunks {
                    // A row is one chunk for ever.
                    let id = ids.entry(chunk.row).or_insert_with(|| chunk.id.clone());
                    prop_assert_eq!(&*id, &chunk.id);
                }
            }
        }
        let mut fresh = Index::default();
        fresh.replay(store);
        lagging.replay(store);
        prop_assert_eq!(&fresh.rows, &lagging.rows);
        let mut indexed: Vec<_> = fresh.rows.into_values().collect();
        indexed.sort();
        let mut expected: Vec<_> =
            model.into_iter().flat_map(|(path, texts)| texts.into_iter().map(move |text| (path.clone(), text))).collect();
        expected.sort();
        prop_assert_eq!(indexed, expected);
        store.check().unwrap();
    }
}
