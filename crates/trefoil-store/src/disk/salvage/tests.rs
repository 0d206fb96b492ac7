use std::path::PathBuf;

use proptest::prelude::*;
use trefoil_core::RowId;

use super::*;
use crate::{
    SystemClock,
    fixture::{Fixture, extraction, file},
};

const PAGE: usize = 4096;

/// A closed store of some hundred pages, in a folder that lasts.
fn filled() -> (Fixture, PathBuf, Vec<u8>) {
    let fixture = Fixture::new();
    fixture.store.set_fingerprint("model").unwrap();
    for n in 0..40 {
        let texts: Vec<String> =
            (0..8).map(|m| format!("walrus {n} {m} {}", "tusk ".repeat(60))).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut doc = file(&format!("docs/{n:02}.md"), &texts);
        doc.chunks[0].extraction = extraction(&[&format!("Name {n}"), "Walrus"]);
        fixture.put(&doc);
    }
    fixture.embed_all();
    let path = fixture.path();
    let fixture = fixture.reopen();
    let bytes = copy_of(&path);
    (fixture, path, bytes)
}

/// The bytes of the file with all that its log holds.
fn copy_of(path: &Path) -> Vec<u8> {
    Connection::open(path)
        .unwrap()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    std::fs::read(path).unwrap()
}

fn save(bytes: &[u8]) -> Result<(tempfile::TempDir, Salvaged, Store)> {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("old.db"), folder.path().join("new.db"));
    std::fs::write(&from, bytes).unwrap();
    let (store, salvaged) = salvage_file(&from, &to, Arc::new(SystemClock))?;
    drop(store);
    assert_eq!(std::fs::read(&from).unwrap(), bytes, "the damaged file was changed");
    let store = Store::open_file(&to, Access::ReadWrite, Arc::new(SystemClock))?;
    Ok((folder, salvaged, store))
}

/// Every chunk of a file that is not named is there; nothing else is. A file whose name is damaged
/// wherever it stood is counted.
fn check(original: &Store, salvaged: &Salvaged, saved: &Store) {
    assert_eq!(saved.verify().unwrap(), []);
    let files = salvaged.tables.iter().find(|table| table.table == FILES).unwrap();
    let mut nameless = 0;
    for path in original.files().unwrap().into_iter().map(|file| file.path) {
        let texts = |store: &Store| -> Vec<(RowId, String)> {
            let chunks = store.chunks_of(&path).unwrap();
            chunks.iter().map(|one| (one.row, one.chunk.text.clone())).collect()
        };
        let (before, after) = (texts(original), texts(saved));
        assert!(after.iter().all(|one| before.contains(one)), "{path}");
        if !salvaged.incomplete.contains(&path) {
            if files.lost != Some(0) && saved.file(&path).unwrap().is_none() {
                nameless += 1;
                continue;
            }
            assert_eq!(after, before, "{path} is not named");
        } else if let Some(state) = saved.file(&path).unwrap() {
            assert_eq!((state.sha256.as_str(), state.mtime), ("", i64::MIN));
        }
    }
    assert!(files.lost.is_none_or(|lost| lost >= nameless), "{nameless} files are not counted");
    assert!(saved.seq().unwrap() >= original.seq().unwrap());
}

#[test]
fn an_intact_store_is_saved_as_a_whole() {
    let (fixture, _, bytes) = filled();
    let (_folder, salvaged, saved) = save(&bytes).unwrap();
    check(&fixture.store, &salvaged, &saved);
    assert_eq!(salvaged.incomplete, [] as [&str; 0]);
    assert!(salvaged.graph && salvaged.tables.iter().all(|table| table.lost == Some(0)));
    assert_eq!(saved.graph().unwrap(), fixture.store.graph().unwrap());
    let (before, after) = (fixture.store.stats().unwrap(), saved.stats().unwrap());
    assert_eq!(
        (after.files, after.chunks, after.cached_embeddings, after.jobs),
        (before.files, before.chunks, before.cached_embeddings, before.jobs)
    );
}

#[test]
fn what_stands_around_a_damaged_page_is_saved() {
    let (fixture, _, mut bytes) = filled();
    let at = bytes.windows(12).position(|window| window == b"walrus 20 3 ").unwrap();
    let page = at / PAGE * PAGE;
    bytes[page..page + PAGE].fill(0xa5);
    let (_folder, salvaged, saved) = save(&bytes).unwrap();
    check(&fixture.store, &salvaged, &saved);
    let chunks = salvaged.tables.iter().find(|table| table.table == "payload_chunk").unwrap();
    assert!(chunks.saved >= 300 && chunks.lost.unwrap() + chunks.saved == 320, "{chunks:?}");
    assert!((1..=4).contains(&salvaged.incomplete.len()), "{salvaged:?}");
    assert!(salvaged.incomplete.contains(&"docs/20.md".to_owned()));
}

#[test]
fn a_changed_letter_costs_its_chunk() {
    let (fixture, _, mut bytes) = filled();
    let at = bytes.windows(12).position(|window| window == b"walrus 20 3 ").unwrap();
    bytes[at] = b'W';
    let (_folder, salvaged, saved) = save(&bytes).unwrap();
    check(&fixture.store, &salvaged, &saved);
    assert_eq!(salvaged.incomplete, ["docs/20.md"]);
}

#[test]
fn of_a_file_on_a_damaged_page_only_the_path_is_trusted() {
    let fixture = Fixture::new();
    let mut doc = file("docs/a.md", &["walrus"]);
    (doc.title, doc.tags) = ("Tusks".to_owned(), vec!["sea".to_owned()]);
    fixture.put(&doc);
    let path = fixture.path();
    let fixture = fixture.reopen();
    let mut bytes = copy_of(&path);
    // In the row of the file, and nowhere else.
    let row = b"Tusks[\"sea\"]";
    let at = bytes.windows(row.len()).position(|window| window == row).unwrap();
    bytes[at + 5] = b'Z';
    let (_folder, salvaged, saved) = save(&bytes).unwrap();
    check(&fixture.store, &salvaged, &saved);
    assert_eq!(salvaged.incomplete, ["docs/a.md"]);
    let chunk = saved.chunks_of("docs/a.md").unwrap().remove(0);
    assert_eq!((chunk.file.title.as_str(), chunk.file.tags.len()), ("", 0));
}

/// Of the first page nothing is known but where the tables are.
#[test]
fn damage_of_the_schema_makes_no_other_page_trusted() {
    let (fixture, _, mut bytes) = filled();
    bytes[80] ^= 1;
    let row = b"docs/20.md";
    let files: Vec<usize> =
        bytes.windows(row.len()).enumerate().filter(|(_, w)| w == row).map(|(at, _)| at).collect();
    for at in files {
        if let Some(tags) = bytes[at..at + 90].windows(4).position(|window| window == b"[][]") {
            bytes[at + tags] = b'?';
        }
    }
    let (_folder, salvaged, saved) = save(&bytes).unwrap();
    check(&fixture.store, &salvaged, &saved);
    assert!(salvaged.incomplete.contains(&"docs/20.md".to_owned()), "{salvaged:?}");
    assert!(saved.chunks_of("docs/20.md").unwrap().len() == 8);
}

#[test]
fn a_chunk_whose_language_is_damaged_is_left_out() {
    let (fixture, _, mut bytes) = filled();
    let text = format!("walrus 20 3 {}", "tusk ".repeat(60));
    let language = format!("en{}", crate::id::hex(&crate::id::sha256(text.as_bytes())));
    let language = language.as_bytes();
    let at = bytes.windows(language.len()).position(|window| window == language).unwrap();
    bytes[at] = b'?';
    let (_folder, salvaged, saved) = save(&bytes).unwrap();
    check(&fixture.store, &salvaged, &saved);
    assert_eq!(salvaged.incomplete, ["docs/20.md"]);
}

#[test]
fn nothing_is_made_of_what_cannot_be_read() {
    for bytes in [b"not a database".to_vec(), vec![0; 9 * PAGE], Vec::new()] {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("old.db"), folder.path().join("new.db"));
        std::fs::write(&from, &bytes).unwrap();
        assert!(matches!(
            salvage_file(&from, &to, Arc::new(SystemClock)),
            Err(Error::Corrupt { .. })
        ));
        assert!(!to.exists());
    }
}

proptest! {
    #[test]
    fn any_damage_leaves_a_sound_store_or_none(
        pages in prop::collection::vec((1_usize..400, 0_usize..PAGE, 1_usize..600), 1..6),
        cut in prop::option::of(30_usize..100),
    ) {
        static FILLED: std::sync::OnceLock<(std::sync::Mutex<Fixture>, Vec<u8>)> = std::sync::OnceLock::new();
        let (fixture, bytes) = FILLED.get_or_init(|| {
            let (fixture, _, bytes) = filled();
            (std::sync::Mutex::new(fixture), bytes)
        });
        let fixture = fixture.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut bytes = bytes.clone();
        let len = bytes.len();
        for (page, from, length) in pages {
            let start = (page * PAGE + from) % len;
            bytes[start..(start + length).min(len)].fill(0x5a);
        }
        if let Some(cut) = cut {
            bytes.truncate(len * cut / 100);
        }
        if let Ok((_folder, salvaged, saved)) = save(&bytes) {
            check(&fixture.store, &salvaged, &saved);
        }
    }
}
