//! A whole index in one file.

use std::{fs, path::Path, sync::Arc};

use proptest::prelude::{any, prop_assert, proptest};
use sha2::{Digest, Sha256};
use trefoil::{
    Document, Engine, EngineConfig, Error,
    admin::Snapshot,
    cluster::{Cluster, MemoryTruth, SharedStore, StoreAt},
};

use crate::{
    models::without_model,
    nodes::Cut,
    verify::{files, fill, finds, letters},
};

/// A folder with a closed index, `index`, and its snapshot, `snapshot`.
fn exported() -> (tempfile::TempDir, Snapshot) {
    let folder = tempfile::tempdir().unwrap();
    drop(fill(&folder.path().join("index")));
    let snapshot =
        Engine::export(folder.path().join("index"), folder.path().join("snapshot")).unwrap();
    (folder, snapshot)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn an_index_goes_into_a_file_and_comes_back_the_same() {
    let (folder, snapshot) = exported();
    let at = |name: &str| folder.path().join(name);
    assert_eq!(names(folder.path()), ["index", "snapshot"]);
    assert_eq!(Snapshot::read(at("snapshot")).unwrap(), snapshot);
    assert_eq!(Engine::import(at("snapshot"), at("back")).unwrap(), snapshot);
    assert_eq!(names(folder.path()), ["back", "index", "snapshot"]);
    assert_eq!(Engine::verify(at("back")).unwrap(), Engine::verify(at("index")).unwrap());
    // The same index is the same file.
    assert_eq!(Engine::export(at("index"), at("again")).unwrap().id, snapshot.id);
    assert_eq!(fs::read(at("again")).unwrap(), fs::read(at("snapshot")).unwrap());
    fs::remove_file(at("again")).unwrap();
    let engine = Engine::open_with(at("back"), letters()).unwrap();
    assert!(finds(&engine, "the harbour of Whitby 7", "docs/07.md"));
    engine.ingest(&[Document::new("docs/new.md", "A heron wades.")]).unwrap();
    assert!(finds(&engine, "heron", "docs/new.md"));
    engine.wait_until_indexed().unwrap();
    drop(engine);
    assert!(Engine::verify(at("back")).unwrap().is_sound());
    assert_ne!(Engine::export(at("back"), at("again")).unwrap().id, snapshot.id);
}

#[test]
fn a_snapshot_is_searched_as_it_is_and_never_written() {
    let (folder, _) = exported();
    let snapshot = folder.path().join("snapshot");
    let before = fs::read(&snapshot).unwrap();
    let engine = Engine::open_read_only(&snapshot, letters()).unwrap();
    for (question, path) in [
        ("the harbour of Whitby 7", "docs/07.md"),
        ("横浜港の水位 8", "docs/08.md"),
        ("인천항의 수위 9", "docs/09.md"),
    ] {
        assert!(finds(&engine, question, path), "{question}");
    }
    let found = engine.search(&trefoil::SearchQuery::new("Whitby").unwrap()).unwrap();
    assert_eq!(found.degraded, []);
    let ingested = engine.ingest(&[Document::new("x", "x")]);
    assert!(matches!(ingested, Err(Error::ReadOnly { .. })));
    let written = Engine::open_with(&snapshot, letters());
    assert!(matches!(written, Err(Error::ReadOnly { .. })));
    assert!(Engine::verify(&snapshot).unwrap().is_sound());
    drop(engine);
    assert_eq!(fs::read(&snapshot).unwrap(), before);
}

#[test]
fn one_state_is_exported_beside_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    let engine = fill(&index);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if done.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                let body = format!("Logbook {n}: a walrus, and a heron at Whitby.");
                engine.ingest(&[Document::new(format!("log/{}", n % 7), body)]).unwrap();
                engine.remove(&format!("log/{}", (n + 3) % 7)).unwrap();
            }
        });
        for n in 0..6 {
            let file = folder.path().join(format!("snapshot-{n}"));
            Engine::export(&index, &file).unwrap();
            let verification = Engine::verify(&file).unwrap();
            assert!(verification.is_sound(), "{verification:?}");
            assert!(verification.lagging.is_empty(), "{verification:?}");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn nothing_that_is_there_is_replaced() {
    let (folder, _) = exported();
    let at = |name: &str| folder.path().join(name);
    let taken = |result: trefoil::Result<Snapshot>| {
        assert!(matches!(result, Err(Error::Io { .. })), "{result:?}");
    };
    taken(Engine::export(at("index"), at("snapshot")));
    taken(Engine::export(at("index"), at("index")));
    taken(Engine::import(at("snapshot"), at("index")));
    taken(Engine::import(at("snapshot"), at("snapshot")));
    assert_eq!(names(folder.path()), ["index", "snapshot"]);
    fs::create_dir(at("empty")).unwrap();
    Engine::import(at("snapshot"), at("empty")).unwrap();
    assert_eq!(names(folder.path()), ["empty", "index", "snapshot"]);
}

#[test]
fn an_index_that_is_not_sound_is_not_exported() {
    let (folder, _) = exported();
    let index = folder.path().join("index");
    let manifest = index.join("documents/graph/MANIFEST");
    let mut bytes = fs::read(&manifest).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(manifest, bytes).unwrap();
    let error = Engine::export(&index, folder.path().join("other")).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    assert_eq!(names(folder.path()), ["index", "snapshot"]);
}

#[test]
fn a_file_of_a_newer_version_and_what_is_none_are_told_apart() {
    let (folder, _) = exported();
    let at = |name: &str| folder.path().join(name);
    let mut bytes = fs::read(at("snapshot")).unwrap();
    bytes[8] = 9;
    fs::write(at("newer"), &bytes).unwrap();
    let newer = Engine::open_read_only(at("newer"), without_model()).unwrap_err();
    assert!(matches!(newer, Error::UnsupportedFormat { found: 9, supported: 1 }), "{newer}");
    for text in ["", "TREFSNAP", "not a snapshot, and long enough to be the header of a snapshot"] {
        fs::write(at("none"), text).unwrap();
        let error = Engine::open_read_only(at("none"), without_model()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
}

/// A manifest that is hashed as it should be, with paths that lead elsewhere.
#[test]
fn no_path_leads_out_of_the_index() {
    use std::io::Write;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("snapshot");
    for path in ["../outside", "/tmp/outside", "documents/graph/../../../outside", "LOCK"] {
        let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let part = |path| serde_json::json!({ "path": path, "bytes": 0, "sha256": hash });
        let manifest = serde_json::json!({ "seq": 0, "parts": [part("store.db"), part(path)] });
        let json = serde_json::to_vec(&manifest).unwrap();
        let mut out = fs::File::create(&file).unwrap();
        out.write_all(b"TREFSNAP").unwrap();
        out.write_all(&1_u32.to_le_bytes()).unwrap();
        out.write_all(&u32::try_from(json.len()).unwrap().to_le_bytes()).unwrap();
        out.write_all(&Sha256::digest(&json)).unwrap();
        out.write_all(&json).unwrap();
        let error = Engine::import(&file, folder.path().join("index")).unwrap_err();
        assert!(error.to_string().contains("no file of an index"), "{error}");
    }
    assert_eq!(names(folder.path()), ["snapshot"]);
}

proptest! {
    #[test]
    fn a_changed_or_missing_byte_is_refused(place in any::<u64>(), bit in 0_u8..8, cut in any::<bool>()) {
        static EXPORTED: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let bytes = EXPORTED.get_or_init(|| {
            let (folder, _) = exported();
            fs::read(folder.path().join("snapshot")).unwrap()
        });
        let mut bytes = bytes.clone();
        let at = usize::try_from(place % bytes.len() as u64).unwrap();
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << bit;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("snapshot"), bytes).unwrap();
        let refused = Engine::import(at("snapshot"), at("index"));
        let refused = matches!(refused, Err(Error::Corrupt { .. } | Error::UnsupportedFormat { .. }));
        prop_assert!(refused);
        prop_assert!(Engine::open_read_only(at("snapshot"), without_model()).is_err());
        prop_assert!(files(folder.path()) == [at("snapshot")]);
    }
}

fn node(truth: impl Cluster + 'static) -> EngineConfig {
    let store = StoreAt::Shared(SharedStore::new(Arc::new(truth)));
    EngineConfig { store, ..letters() }
}

#[test]
fn an_index_of_its_own_is_shared_and_a_node_begins_with_the_export_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    drop(fill(&at("index")));
    let truth = MemoryTruth::new("a");
    let shared = SharedStore::new(Arc::new(truth.clone()));
    let missing = Engine::share(at("nothing"), &shared).unwrap_err();
    assert!(matches!(missing, Error::IndexMissing { .. }), "{missing:?}");
    let refused = Engine::open_with(at("index"), node(truth.clone())).unwrap_err();
    assert!(matches!(refused, Error::NotNodeCache { .. }), "{refused:?}");
    Engine::share(at("index"), &shared).unwrap();
    let first = Engine::open_with(at("index"), node(truth.clone())).unwrap();
    first.ingest(&[Document::new("docs/new.md", "A heron wades.")]).unwrap();
    first.wait_until_indexed().unwrap();

    // Beside the node that leads.
    Engine::export(at("index"), at("snapshot")).unwrap();
    Engine::import(at("snapshot"), at("second")).unwrap();
    let cut = Cut::new(truth.node("b"));
    cut.set(true);
    let second = Engine::open_with(at("second"), node(cut.clone())).unwrap();
    let place = |engine: &Engine| engine.node().unwrap().unwrap().place;
    assert!(place(&first).tx > 1);
    assert_eq!(place(&second), place(&first));
    for engine in [&first, &second] {
        assert!(finds(engine, "the harbour of Whitby 7", "docs/07.md"));
        assert!(finds(engine, "heron", "docs/new.md"));
    }
    cut.set(false);
    first.ingest(&[Document::new("docs/newer.md", "An egret wades.")]).unwrap();
    second.follow().unwrap();
    assert!(finds(&second, "egret", "docs/newer.md"));
}
