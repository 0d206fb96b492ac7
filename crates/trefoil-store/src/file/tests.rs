use trefoil_core::{ByteSpan, Change, Language, Seq};

use super::*;
use crate::{
    fixture::{Fixture, extraction, file, leaf, parent},
    id::file_id,
};

fn put(fixture: &Fixture, file: &NewFile) -> (usize, usize, usize) {
    let stored = fixture.store.put_files(std::slice::from_ref(file)).unwrap().remove(0);
    assert_eq!(stored.file, file_id(&file.path).unwrap());
    (stored.added, stored.kept, stored.removed)
}

#[test]
fn a_file_is_told_back() {
    let fixture = Fixture::new();
    assert_eq!(fixture.store.file("a").unwrap(), None);
    let doc = file("a", &["one"]);
    fixture.put(&doc);
    let mut expected = FileState {
        id: file_id("a").unwrap(),
        path: "a".into(),
        size: 7,
        mtime: 70,
        sha256: doc.sha256.clone(),
    };
    assert_eq!(fixture.store.file("a").unwrap().as_ref(), Some(&expected));
    let touched = ["a", "b"].map(|path| TouchedFile { path: path.into(), size: 7, mtime: 71 });
    assert_eq!(fixture.store.touch_files(&touched).unwrap(), 1);
    expected.mtime = 71;
    assert_eq!(fixture.store.files().unwrap(), [expected]);
}

#[test]
fn storing_the_same_again_changes_nothing() {
    let fixture = Fixture::new();
    let doc = file("a", &["one", "two"]);
    assert_eq!(put(&fixture, &doc), (2, 0, 0));
    let (rows, seq) = (fixture.rows("a"), fixture.store.seq().unwrap());
    assert_eq!(put(&fixture, &doc), (0, 2, 0));
    assert_eq!((fixture.rows("a"), fixture.store.seq().unwrap()), (rows, seq));
}

#[test]
fn an_edit_touches_only_what_it_changed() {
    let fixture = Fixture::new();
    let rows = fixture.put(&file("a", &["one", "two", "three"]));
    let before = fixture.store.seq().unwrap();
    assert_eq!(put(&fixture, &file("a", &["zero", "one", "three"])), (1, 2, 1));
    let after = fixture.rows("a");
    assert_eq!(after[1..], [rows[0], rows[2]]);
    assert!(!rows.contains(&after[0]), "row numbers are not reused");
    assert_eq!(fixture.changes(before), [Change::Removed(rows[1]), Change::Text(after[0])]);
    let moved = fixture.store.chunks(&[rows[0]]).unwrap().remove(0);
    assert_eq!((moved.chunk.ordinal, moved.chunk.bytes), (1, ByteSpan { start: 100, end: 103 }));
}

#[test]
fn chunks_that_trade_places_keep_their_rows() {
    let fixture = Fixture::new();
    let rows = fixture.put(&file("a", &["one", "two", "same", "same"]));
    let seq = fixture.store.seq().unwrap();
    assert_eq!(put(&fixture, &file("a", &["same", "two", "one", "same"])), (0, 4, 0));
    assert_eq!(fixture.rows("a"), [rows[2], rows[1], rows[0], rows[3]]);
    assert_eq!(fixture.store.seq().unwrap(), seq);
}

#[test]
fn what_is_indexed_with_the_text_is_logged() {
    let check = |change: fn(&mut NewFile), logged: bool| {
        let fixture = Fixture::new();
        let mut doc = file("a", &["one"]);
        doc.title = "Title".into();
        doc.tags = vec!["b".into(), "a".into()];
        doc.date = Some(jiff::civil::date(2026, 1, 2));
        let row = fixture.put(&doc)[0];
        let before = fixture.store.seq().unwrap();
        change(&mut doc);
        assert_eq!(put(&fixture, &doc), (0, 1, 0));
        let expected = if logged { vec![Change::Text(row)] } else { vec![] };
        assert_eq!(fixture.changes(before), expected, "{doc:?}");
    };
    check(|doc| doc.title = "Another".into(), true);
    check(|doc| doc.tags = vec!["a".into()], true);
    check(|doc| doc.date = None, true);
    check(|doc| doc.chunks[0].chunk.language = Language::Ko, true);
    check(|doc| doc.tags = vec!["a".into(), "b".into(), "a".into()], false);
    check(|doc| doc.chunks[0].chunk.bytes.start += 10, false);
    check(|doc| doc.mtime += 1, false);
}

#[test]
fn a_vector_follows_the_language_of_its_text() {
    let fixture = Fixture::new();
    fixture.store.set_fingerprint("model").unwrap();
    let mut doc = file("a", &["one"]);
    let row = fixture.put(&doc)[0];
    assert_eq!(fixture.embed_all(), 1);
    let before = fixture.store.seq().unwrap();
    doc.chunks[0].chunk.language = Language::Ko;
    assert_eq!(put(&fixture, &doc), (0, 1, 0));
    assert_eq!(fixture.changes(before), [Change::Text(row), Change::Vector(row)]);
}

#[test]
fn parents_are_stored_silently() {
    let fixture = Fixture::new();
    let mut doc = file("a", &["one", "two"]);
    doc.chunks.push(parent(0, "one two", 0, 200));
    assert_eq!(put(&fixture, &doc), (2, 0, 0));
    assert_eq!(fixture.changes(Seq::ZERO).len(), 2);
    assert_eq!(fixture.store.pending_jobs().unwrap().queued, 2);
    let before = fixture.store.seq().unwrap();
    doc.chunks.pop();
    assert_eq!(put(&fixture, &doc), (0, 2, 0));
    assert_eq!(fixture.store.stats().unwrap().parents, 0);
    assert_eq!(fixture.store.seq().unwrap(), before);
}

#[test]
fn removal_takes_everything_with_it() {
    let fixture = Fixture::new();
    let mut doc = file("a", &["one", "two"]);
    doc.chunks.push(parent(0, "one two", 0, 200));
    doc.chunks[0].extraction = extraction(&["Ada", "Babbage"]);
    let rows = fixture.put(&doc);
    assert!(fixture.store.remove_file("a").unwrap());
    assert!(!fixture.store.remove_file("a").unwrap());
    for table in
        ["units", "payload_chunk", "files", "unit_entities", "unit_edges", "entities", "edges"]
    {
        let count = fixture.store.read("count", |tx| {
            tx.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0))
        });
        assert_eq!(count.unwrap(), 0, "{table}");
    }
    assert_eq!(fixture.changes(Seq::ZERO), [Change::Removed(rows[0]), Change::Removed(rows[1])]);
    assert!(fixture.put(&doc).iter().all(|row| !rows.contains(row)));
}

#[test]
fn removal_under_a_folder_stops_at_its_edge() {
    let check = |prefix: &str, left: &[&str]| {
        let fixture = Fixture::new();
        for path in ["a", "a/b", "a/b/c", "a-b", "a0", "A/b", "/r/x", "日本/東京", "日本語"]
        {
            fixture.put(&file(path, &["text"]));
        }
        let removed = fixture.store.remove_under(prefix).unwrap();
        let paths: Vec<String> =
            fixture.store.files().unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(paths, left);
        assert_eq!(removed, 9 - left.len());
    };
    check("a", &["/r/x", "A/b", "a-b", "a0", "日本/東京", "日本語"]);
    check("a/", &["/r/x", "A/b", "a-b", "a0", "日本/東京", "日本語"]);
    check("a/b", &["/r/x", "A/b", "a", "a-b", "a0", "日本/東京", "日本語"]);
    check("日本", &["/r/x", "A/b", "a", "a-b", "a/b", "a/b/c", "a0", "日本語"]);
    check("/", &["A/b", "a", "a-b", "a/b", "a/b/c", "a0", "日本/東京", "日本語"]);
    check("%", &["/r/x", "A/b", "a", "a-b", "a/b", "a/b/c", "a0", "日本/東京", "日本語"]);
}

#[test]
fn the_same_path_twice_in_one_call_leaves_the_last() {
    let fixture = Fixture::new();
    fixture.store.put_files(&[file("a", &["one"]), file("a", &["two"])]).unwrap();
    let rows = fixture.rows("a");
    assert_eq!(fixture.store.chunks(&rows).unwrap()[0].chunk.text, "two");
    assert_eq!(fixture.store.files().unwrap().len(), 1);
    fixture.store.put_files(&[]).unwrap();
}

#[test]
fn odd_texts_are_kept_as_they_are() {
    let fixture = Fixture::new();
    let texts = ["", "nul \0 inside", "e\u{301}\u{200d}👩‍👩‍👧", "'; DROP TABLE units; --"];
    let mut doc = file("päth '\" \\ 日本", &texts);
    doc.chunks[0].chunk.heading_path = vec!["\"".into(), String::new(), "見出し".into()];
    let rows = fixture.put(&doc);
    let chunks = fixture.store.chunks(&rows).unwrap();
    assert!(chunks.iter().map(|chunk| &chunk.chunk).eq(doc.chunks.iter().map(|new| &new.chunk)));
    assert_eq!(chunks[0].file.path, doc.path);
}

#[test]
fn many_files_at_once() {
    let fixture = Fixture::new();
    let files: Vec<NewFile> = (0..64)
        .map(|n| {
            let mut doc = file(&format!("{n}"), &[]);
            doc.chunks = (0..20).map(|ordinal| leaf(ordinal, &format!("{n} {ordinal}"))).collect();
            doc
        })
        .collect();
    assert_eq!(
        fixture.store.put_files(&files).unwrap().iter().map(|stored| stored.added).sum::<usize>(),
        1280
    );
}

#[test]
fn midnight_is_in_epoch_seconds() {
    use jiff::civil::date;
    assert_eq!(midnight(date(1970, 1, 1)), 0);
    assert_eq!(midnight(date(1969, 12, 31)), -86_400);
    assert_eq!(midnight(date(2026, 1, 1)), 1_767_225_600);
    assert!(midnight(Date::MIN) < midnight(Date::MAX));
}
