//! What is forgotten is in no file any more.

use std::{fs, path::Path, sync::mpsc, thread};

use proptest::prelude::{
    Just, ProptestConfig, Strategy as _, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use trefoil::{
    Document, Engine, Error,
    memory::{PatchReason, Payload, SummaryPayload, UnitRow},
};

use crate::{
    files::contents,
    memory::{open, remember},
    models::without_model,
};

/// Runs of 16 bytes of `text` that are in a file below `dir` and in none of the live texts.
fn left(dir: &Path, text: &str, live: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, bytes) in contents(dir) {
        for run in text.as_bytes().windows(16) {
            // What stands in a file next to a live text may be any byte.
            let has = |live: &&str, part| live.as_bytes().windows(15).any(|one| one == part);
            let alive = live.iter().any(|live| has(live, &run[1..]) || has(live, &run[..15]));
            let plain = run.iter().all(|byte| *byte == run[0]);
            if !alive && !plain && bytes.windows(16).any(|one| one == run) {
                found.push(format!("{}: {}", path.display(), String::from_utf8_lossy(run)));
            }
        }
    }
    found
}

#[test]
fn a_search_of_the_files_finds_what_is_there() {
    let (dir, engine) = open(without_model());
    let text = "the walrus hid the key below the third stone";
    let row = remember(&engine, &UnitRow::new("obs_1", 1), text);
    assert_ne!(left(dir.path(), text, &[]), [""; 0], "the search sees nothing");
    let receipt = engine.memory().forget_units(&[row]).unwrap();
    assert_eq!(left(dir.path(), text, &[]), [""; 0]);
    assert_eq!(receipt.hits, 0);
    assert_eq!(receipt.removed.get("episode"), Some(&1));
    assert!(receipt.files.iter().any(|file| file.path == Path::new("store.db")));
    assert_eq!(receipt.bytes_scanned, receipt.files.iter().map(|file| file.bytes).sum::<u64>());
}

#[test]
fn a_subject_goes_with_what_was_made_from_it() {
    let (dir, engine) = open(without_model());
    let said = "Ms Tanaka prefers the window seat on every train";
    let other = "Mr Okada prefers the aisle seat on every train";
    let observation = remember(&engine, &UnitRow::new("obs_1", 1), said);
    remember(&engine, &UnitRow::new("obs_2", 1), other);
    let summary = "somebody of the office would rather look outside";
    let body = Payload::Summary(SummaryPayload { text: summary.into(), ..Default::default() });
    engine
        .memory()
        .write("summarise", |memory| {
            let unit = UnitRow::new("sum_1", 2);
            let row = memory.put_unit(&unit, &body, PatchReason::Summarize)?;
            memory.add_source(row, observation)
        })
        .unwrap();
    let receipt = engine.memory().forget_subject("tanaka").unwrap();
    assert_eq!((receipt.hits, receipt.removed.len()), (0, 2), "{receipt:?}");
    for text in [said, summary] {
        assert_eq!(left(dir.path(), text, &[other]), [""; 0]);
    }
    let about = engine.memory().read("look", |memory| memory.units_about("okada")).unwrap();
    assert_eq!(about.len(), 1);
}

#[test]
fn a_document_is_forgotten_with_its_names_and_a_damaged_copy() {
    let (dir, engine) = open(without_model());
    let text = "# The Walrus Protocol\n\nDoctor Emmeline Featherstonehaugh signed it in Reykjavik.";
    let kept = "# Herons\n\nThey wade in the shallow water of the estuary.";
    engine.ingest(&[Document::new("a.md", text), Document::new("b.md", kept)]).unwrap();
    engine.wait_until_indexed().unwrap();
    let aside = dir.path().join("index/documents/keyword.damaged");
    fs::create_dir_all(&aside).unwrap();
    fs::write(aside.join("old"), text).unwrap();
    assert_ne!(left(dir.path(), text, &[kept]), [""; 0]);
    let receipt = engine.forget_document("a.md").unwrap();
    assert_eq!((receipt.hits, receipt.removed.get("chunk")), (0, Some(&1)), "{receipt:?}");
    assert_eq!(left(dir.path(), text, &[kept]), [""; 0]);
    assert_eq!(engine.paths().unwrap(), ["b.md"]);
    let nothing = engine.forget_document("a.md").unwrap();
    assert_eq!((nothing.hits, nothing.removed.len()), (0, 0));
}

#[test]
fn what_a_repair_set_aside_is_forgotten_too() {
    let (dir, engine) = open(without_model());
    let text = "The walrus hid the key below the third stone of the old lighthouse.";
    engine.ingest(&[Document::new("a.md", text), Document::new("b.md", "A heron wades.")]).unwrap();
    drop(engine);
    let index = dir.path().join("index");
    let store = index.join("store.db");
    for number in 1..=2 {
        // The last page of the store is damaged, twice over.
        let mut bytes = fs::read(&store).unwrap();
        let end = bytes.len() - 64;
        bytes[end..end + 16].fill(0xA5);
        fs::write(&store, bytes).unwrap();
        let repair = Engine::repair(&index, &without_model()).unwrap();
        assert_eq!(repair.set_aside, Some(index.join(format!("damaged-{number}"))));
    }
    let engine = Engine::open_with(&index, without_model()).unwrap();
    engine.ingest(&[Document::new("a.md", text)]).unwrap();
    assert_ne!(left(&index.join("damaged-1"), text, &[]), [""; 0]);
    let receipt = engine.forget_document("a.md").unwrap();
    assert_eq!((receipt.hits, receipt.searched), (0, true), "{receipt:?}");
    assert_eq!(left(dir.path(), text, &[]), [""; 0]);
}

#[test]
fn what_is_left_is_told_until_it_is_gone() {
    let (dir, engine) = open(without_model());
    let text = "The walrus hid the key below the third stone of the old lighthouse.";
    engine.ingest(&[Document::new("a.md", text), Document::new("b.md", "A heron wades.")]).unwrap();
    let index = dir.path().join("index");
    let copy = index.join("by-hand/copy.txt");
    fs::create_dir(copy.parent().unwrap()).unwrap();
    fs::write(&copy, text).unwrap();
    let first = engine.forget_document("a.md").unwrap();
    let of_copy = |receipt: &trefoil::admin::ForgetReceipt| {
        let is_copy =
            |file: &&trefoil::admin::ScannedFile| file.path == Path::new("by-hand/copy.txt");
        receipt.files.iter().find(is_copy).map(|file| file.hits)
    };
    assert!(first.hits > 0 && of_copy(&first) == Some(first.hits), "{first:?}");
    // Another process knows what to look for, though the text is nowhere in the store.
    drop(engine);
    assert_eq!(left(&index.join("store.db"), text, &[]), [""; 0]);
    let engine = Engine::open_with(&index, without_model()).unwrap();
    let again = engine.forget_document("a.md").unwrap();
    assert_eq!((again.hits, again.removed.len()), (first.hits, 0));
    fs::remove_file(copy).unwrap();
    let gone = engine.forget_document("a.md").unwrap();
    assert_eq!((gone.hits, gone.searched), (0, true));
    let nothing = engine.forget_document("a.md").unwrap();
    assert_eq!((nothing.hits, nothing.searched), (0, false));
}

#[test]
fn what_a_reader_kept_from_being_erased_is_still_looked_for() {
    let (dir, engine) = open(without_model());
    let index = dir.path().join("index");
    let text = "the walrus hid the key below the third stone";
    let row = remember(&engine, &UnitRow::new("obs_1", 1), text);
    let reader = Engine::open_read_only(&index, without_model()).unwrap();
    let (reads, is_reading) = mpsc::channel();
    let (let_go, wait) = mpsc::channel::<()>();
    let forgotten = thread::scope(|scope| {
        // A reader that does not let go of what it sees.
        let reader = &reader;
        scope.spawn(move || {
            let look = |memory: &trefoil::memory::MemoryRead<'_>| {
                memory.unit("obs_1")?;
                reads.send(()).unwrap();
                wait.recv().unwrap();
                Ok(())
            };
            reader.memory().read("hold", look).unwrap();
        });
        is_reading.recv().unwrap();
        let forgotten = engine.memory().forget_units(&[row]);
        let_go.send(()).unwrap();
        forgotten
    });
    let locked = forgotten.unwrap_err();
    assert!(matches!(locked, Error::Locked { .. }), "{locked}");
    let found = engine.memory().read("look", |memory| memory.unit("obs_1"));
    assert_eq!(found.unwrap(), None, "it is gone for everybody who asks");
    drop((engine, reader));
    // A copy that nobody knows of, made meanwhile.
    let copy = index.join("copied");
    fs::write(&copy, text).unwrap();
    let engine = Engine::open_with(&index, without_model()).unwrap();
    let again = || engine.memory().forget_units(&[]).unwrap();
    let receipt = again();
    assert!(receipt.searched && receipt.hits > 0, "{receipt:?}");
    fs::remove_file(copy).unwrap();
    let receipt = again();
    assert_eq!((receipt.searched, receipt.hits), (true, 0), "{receipt:?}");
    assert_eq!(left(dir.path(), text, &[]), [""; 0]);
    assert!(!again().searched, "nothing is left to be looked for");
}

fn text() -> impl proptest::strategy::Strategy<Value = String> {
    let word = prop_oneof![
        Just("walrus"),
        Just("estuary"),
        Just("potassium"),
        Just("連絡先"),
        Just("はゆうびんで"),
        Just("회의는목요일"),
        Just("signed"),
        Just("lighthouse"),
        Just("\n"),
        Just("\"quoted\""),
    ];
    proptest::collection::vec(word, 2..14).prop_map(|words| format!("note {}", words.join(" ")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]
    /// Whatever else is remembered, in whatever order, before and after the index was closed.
    #[test]
    fn no_file_holds_what_was_forgotten(
        texts in proptest::collection::vec(text(), 2..7),
        forgotten in 0_usize..7,
        replaced in 0_usize..7,
        reopen in proptest::bool::ANY,
    ) {
        let (dir, mut engine) = open(without_model());
        engine.ingest(&[Document::new("a.md", &*texts[0])]).unwrap();
        let rows: Vec<_> = texts.iter().enumerate().map(|(n, text)| {
            remember(&engine, &UnitRow::new(format!("obs_{n}"), 1), text)
        }).collect();
        // A unit that said something else before: that is in no file either.
        let (forgotten, replaced) = (forgotten % texts.len(), replaced % texts.len());
        let before = format!("before that it said {}", texts[replaced]);
        for text in [&before, &texts[replaced]] {
            remember(&engine, &UnitRow::new(format!("obs_{replaced}"), 1), text);
        }
        if reopen {
            drop(engine);
            engine = Engine::open_with(dir.path().join("index"), without_model()).unwrap();
        }
        let receipt = engine.memory().forget_units(&[rows[forgotten]]).unwrap();
        prop_assert_eq!(receipt.hits, 0);
        let mut live: Vec<&str> = vec![&texts[0]];
        live.extend(texts.iter().enumerate().filter(|(n, _)| *n != forgotten).map(|(_, text)| &**text));
        prop_assert_eq!(left(dir.path(), &texts[forgotten], &live), Vec::<String>::new());
        for (n, row) in rows.iter().enumerate() {
            let known = engine.memory().read("look", |memory| memory.units(&[*row])).unwrap();
            prop_assert_eq!(known.len(), usize::from(n != forgotten));
        }
        prop_assert!(engine.document_chunks("a.md").unwrap().len() == 1);
    }
}
