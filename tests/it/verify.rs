//! What `verify` finds, what `repair` makes of it, and what `doctor` says of the rest.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use proptest::prelude::{any, prop_assert, proptest};
use trefoil::{
    Document, Engine, EngineConfig, Model, Part, RetrieverId, Score, SearchFilters, SearchQuery,
    admin::{Check, DoctorOptions, Fault, RepairReport, Verification},
};

use crate::{
    engine::letters::Letters,
    files::{self, copy},
    models::without_model,
};

/// A model that takes no time.
pub(crate) fn letters() -> EngineConfig {
    EngineConfig { model: Model::Custom(Arc::new(Letters::default())), ..without_model() }
}

/// Documents that stay, were replaced and were removed, in three languages, with a graph.
pub(crate) fn fill(index: &Path) -> Engine {
    let engine = Engine::open_with(index, letters()).unwrap();
    let body = |n: usize| {
        format!(
            "# Tides {n}\n\nThe harbour of Whitby {n} falls dry when the *Spring Tide* turns.\n\n\
             ## 潮 {n}\n\n大潮のとき、『横浜港』の水位は {n} 番目に高い。\n\n\
             ## 조석 {n}\n\n사리 때 '인천항'의 수위는 {n} 미터까지 오른다.\n"
        )
    };
    let document = |n: usize| Document::new(format!("docs/{n:02}.md"), body(n));
    engine.ingest(&(0..12).map(document).collect::<Vec<_>>()).unwrap();
    engine.ingest(&[Document::new("docs/03.md", "A walrus lies on the ice.")]).unwrap();
    engine.remove("docs/05.md").unwrap();
    engine.wait_until_indexed().unwrap();
    engine
}

/// A copy of one closed index, to be damaged.
fn filled() -> (tempfile::TempDir, PathBuf) {
    static FILLED: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();
    let original = FILLED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        drop(fill(&folder.path().join("index")));
        folder
    });
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    copy(&original.path().join("index"), &index);
    (folder, index)
}

/// Every file below a folder but lock files, by path.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let is_kept = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().to_lowercase();
        !name.ends_with("lock") && !name.contains("-shm") && !name.contains("-wal")
    };
    files::files(folder).into_iter().filter(is_kept).collect()
}

pub(crate) fn finds(engine: &Engine, question: &str, path: &str) -> bool {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    let query = SearchQuery::new(question).unwrap().replace_filters(filters);
    let found = engine.search(&query).unwrap();
    found.results.iter().any(|one| one.metadata.as_ref().unwrap().path == path)
}

fn of(verification: &Verification, part: Part) -> Vec<&Fault> {
    verification.findings.iter().filter(|one| one.part == part).map(|one| &one.fault).collect()
}

#[test]
fn an_index_is_sound_in_every_stage_of_its_life() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    let check = |stage: &str, lagging: bool| {
        let verification = Engine::verify(&index).unwrap();
        assert!(verification.is_sound(), "{stage}: {verification:?}");
        assert_eq!(!verification.lagging.is_empty(), lagging, "{stage}: {verification:?}");
        verification
    };
    let engine = fill(&index);
    let filled = check("while its writer runs", false);
    assert!(
        filled.rows.iter().all(|(part, rows)| (*rows > 0) == matches!(part, Part::Index(_))),
        "{filled:?}"
    );
    drop(engine);
    assert_eq!(check("closed", false), filled);
    // Without the model the vectors of what is gone stay behind, and are told.
    let engine = Engine::open_with(&index, without_model()).unwrap();
    engine.remove("docs/07.md").unwrap();
    engine.ingest(&[Document::new("docs/new.md", "A heron wades.")]).unwrap();
    drop(engine);
    check("written without its model", true);
    let engine = Engine::open_with(&index, letters()).unwrap();
    engine.wait_until_indexed().unwrap();
    check("written with it again", false);
    drop(engine);
    drop(Engine::reindex(&index, without_model()).unwrap());
    check("rebuilt without its model", true);
    drop(Engine::open_with(&index, letters()).unwrap());
    check("opened with it", false);
}

#[test]
fn nothing_is_changed_by_looking() {
    let (_folder, index) = filled();
    let state = || -> Vec<(PathBuf, Vec<u8>)> {
        files(&index).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    };
    let before = state();
    Engine::verify(&index).unwrap();
    Engine::doctor(&index, letters(), &DoctorOptions::default()).unwrap();
    assert_eq!(state(), before);
}

#[test]
fn a_missing_index_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let missing = |result: trefoil::Result<()>| {
        assert!(matches!(result, Err(trefoil::Error::IndexMissing { .. })));
    };
    missing(Engine::verify(folder.path()).map(drop));
    missing(Engine::repair(folder.path(), &letters()).map(drop));
    missing(Engine::export(folder.path(), folder.path().join("x")).map(drop));
    missing(Engine::doctor(folder.path(), letters(), &DoctorOptions::default()).map(drop));
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}

/// Damages an index, and checks that `verify` names the part and `repair` makes it sound again
/// with nothing lost that the store still had.
fn damaged(
    damage: impl Fn(&Path),
    part: Part,
    check: impl Fn(&Fault) -> bool,
) -> (tempfile::TempDir, PathBuf, RepairReport) {
    let (folder, index) = filled();
    damage(&index);
    let verification = Engine::verify(&index).unwrap();
    assert!(of(&verification, part).into_iter().any(check), "{verification:?}");
    let repair = Engine::repair(&index, &letters()).unwrap();
    assert_eq!(repair.before, verification);
    assert!(repair.after.is_sound(), "{:?}", repair.after);
    assert!(repair.set_aside.as_ref().unwrap().is_dir());
    (folder, index, repair)
}

#[test]
fn a_damaged_index_is_found_and_made_anew() {
    for retriever in RetrieverId::DEFAULT_SET {
        let flip = |index: &Path| {
            let largest = files(&index.join("documents").join(retriever.name())).into_iter();
            let path = largest.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x10;
            fs::write(path, bytes).unwrap();
        };
        let is_damage = |fault: &Fault| matches!(fault, Fault::Damaged { .. });
        let (_folder, index, repair) = damaged(flip, Part::Index(retriever), is_damage);
        assert_eq!(repair.rebuilt, [Part::Index(retriever)]);
        assert_eq!(repair.saved, None);
        assert!(repair.after.lagging.is_empty(), "{:?}", repair.after);
        let engine = Engine::open_with(&index, letters()).unwrap();
        assert!(finds(&engine, "the harbour of Whitby 7", "docs/07.md"));
    }
}

#[test]
fn an_index_of_another_state_of_the_store_is_found() {
    // The indexes of the whole with a store of less, and the other way round.
    let (_other, fuller) = filled();
    let engine = Engine::open_with(&fuller, letters()).unwrap();
    engine
        .ingest(&[Document::new("docs/03.md", "Another walrus, and a heron at Whitby.")])
        .unwrap();
    engine.wait_until_indexed().unwrap();
    drop(engine);
    for retriever in RetrieverId::DEFAULT_SET {
        let (_folder, index) = filled();
        let place = index.join("documents").join(retriever.name());
        fs::remove_dir_all(&place).unwrap();
        copy(&fuller.join("documents").join(retriever.name()), &place);
        let verification = Engine::verify(&index).unwrap();
        let faults = of(&verification, Part::Index(retriever));
        assert!(faults.iter().any(|fault| matches!(fault, Fault::Ahead { .. })), "{faults:?}");
        assert!(faults.iter().any(|fault| matches!(fault, Fault::Ghosts(_))), "{faults:?}");
        assert_eq!(faults.len(), verification.findings.len(), "{verification:?}");
    }
}

#[test]
fn what_the_store_lost_is_named_and_the_rest_is_found() {
    let change = |index: &Path| {
        let path = index.join("store.db");
        let mut bytes = fs::read(&path).unwrap();
        let word = "harbour of Whitby 9 ".as_bytes();
        let mut found = 0;
        for at in 0..bytes.len() - word.len() {
            if bytes[at..].starts_with(word) {
                bytes[at] = b'H';
                found += 1;
            }
        }
        assert!(found > 0);
        fs::write(path, bytes).unwrap();
    };
    let is_page = |fault: &Fault| matches!(fault, Fault::Contradicts(fault) if fault.check == trefoil::admin::StoreCheck::Pages);
    let (_folder, index, repair) = damaged(change, Part::Store, is_page);
    assert_eq!(repair.saved.unwrap().incomplete, ["docs/09.md"]);
    assert!(repair.set_aside.unwrap().join("store.db").is_file());
    let engine = Engine::open_with(&index, letters()).unwrap();
    assert!(!finds(&engine, "the harbour of Whitby 9", "docs/09.md"));
    assert!(finds(&engine, "the harbour of Whitby 8", "docs/08.md"));
    // What is named can be indexed again.
    let again = Document::new("docs/09.md", "The harbour of Whitby 9 falls dry.");
    assert_eq!(engine.ingest(&[again]).unwrap().written, 1);
    assert!(finds(&engine, "the harbour of Whitby 9", "docs/09.md"));
    engine.wait_until_indexed().unwrap();
    drop(engine);
    assert!(Engine::verify(&index).unwrap().is_sound());
}

#[test]
fn a_sound_index_is_left_alone_and_a_hopeless_one_too() {
    let (_folder, index) = filled();
    let repair = Engine::repair(&index, &letters()).unwrap();
    assert_eq!((repair.set_aside, repair.saved, repair.rebuilt), (None, None, Vec::new()));
    let path = index.join("store.db");
    fs::write(&path, vec![7; 9_000]).unwrap();
    assert!(!Engine::verify(&index).unwrap().is_sound());
    let error = Engine::repair(&index, &letters()).unwrap_err();
    assert!(error.to_string().contains("index the files again"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), vec![7; 9_000]);
}

#[test]
fn a_repair_that_was_interrupted_is_finished() {
    let (_folder, index) = filled();
    let at = |name: &str| index.join(name);
    // What was saved is complete, and not yet in its place.
    fs::copy(at("store.db"), at("store.saved")).unwrap();
    fs::write(at("store.db"), "damaged").unwrap();
    let repair = Engine::repair(&index, &letters()).unwrap();
    assert!(repair.after.is_sound(), "{:?}", repair.after);
    assert_eq!(fs::read(repair.set_aside.unwrap().join("store.db")).unwrap(), b"damaged");
    assert!(!at("store.saved").exists());
    let engine = Engine::open_with(&index, letters()).unwrap();
    assert!(finds(&engine, "the harbour of Whitby 7", "docs/07.md"));
    drop(engine);
    assert!(Engine::verify(&index).unwrap().lagging.is_empty());
}

#[test]
fn a_repair_waits_for_the_writer() {
    let (_folder, index) = filled();
    let _writer = Engine::open_with(&index, letters()).unwrap();
    let error = Engine::repair(&index, &letters()).unwrap_err();
    assert!(matches!(error, trefoil::Error::Locked { .. }), "{error}");
}

proptest! {
    /// Whatever byte changes: it is found, or it means nothing; and a repair makes the index
    /// sound, or says that it cannot.
    #[test]
    fn any_changed_byte_is_found_or_harmless(place in any::<u64>(), bit in 0_u8..8, cut in any::<bool>()) {
        let (_folder, index) = filled();
        let files = files(&index);
        let path = &files[usize::try_from(place % files.len() as u64).unwrap()];
        let mut bytes = fs::read(path).unwrap();
        let at = usize::try_from(place >> 16).unwrap() % bytes.len().max(1);
        if cut {
            bytes.truncate(at);
        } else if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << bit;
        }
        fs::write(path, &bytes).unwrap();
        let verification = Engine::verify(&index).unwrap();
        match Engine::repair(&index, &letters()) {
            Ok(repair) => {
                prop_assert!(repair.after.is_sound(), "{}: {:?}", path.display(), repair.after);
                let engine = Engine::open_with(&index, letters()).unwrap();
                let incomplete = repair.saved.map(|saved| saved.incomplete).unwrap_or_default();
                let lost = incomplete.iter().any(|path| path == "docs/08.md");
                prop_assert!(lost || finds(&engine, "the harbour of Whitby 8", "docs/08.md"));
            }
            Err(error) => prop_assert!(!verification.is_sound(), "{error}"),
        }
    }
}

#[test]
fn a_healthy_index_has_no_symptoms_and_the_same_sample_twice() {
    let (_folder, index) = filled();
    let options = DoctorOptions { sample: 5, k: 10, seed: 3 };
    let diagnosis = Engine::doctor(&index, letters(), &options).unwrap();
    assert_eq!(Engine::doctor(&index, letters(), &options).unwrap(), diagnosis);
    for reading in &diagnosis.results {
        assert!(reading.is_healthy(), "{reading:?}");
    }
    let asked = diagnosis.results.iter().find(|one| one.check == Check::SelfRetrieval);
    assert_eq!(asked.unwrap().of, 5);
}

#[test]
fn each_symptom_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    let engine = Engine::open_with(&index, without_model()).unwrap();
    let copies = (0..9).map(|n| Document::new(format!("copy/{n}"), "The same walrus again."));
    engine.ingest(&copies.collect::<Vec<_>>()).unwrap();
    engine.ingest(&[Document::new("silent", "—— …… !!")]).unwrap();
    drop(engine);
    let symptoms = |config| -> Vec<Check> {
        let diagnosis = Engine::doctor(&index, config, &DoctorOptions::default()).unwrap();
        let ill = diagnosis.results.into_iter().filter(|one| !one.is_healthy());
        ill.map(|one| one.check).collect()
    };
    let found = symptoms(without_model());
    for check_found in [Check::Duplicates, Check::Waiting] {
        assert!(found.contains(&check_found), "{check_found}: {found:?}");
    }
    let engine = Engine::open_with(&index, letters()).unwrap();
    engine.wait_until_indexed().unwrap();
    drop(engine);
    assert_eq!(symptoms(letters()), [Check::Duplicates]);
    assert_eq!(symptoms(other_letters()), [Check::Model, Check::Duplicates]);
}

/// A model of another name.
fn other_letters() -> EngineConfig {
    let other = Letters::named("other letters");
    EngineConfig { model: Model::Custom(Arc::new(other)), ..without_model() }
}
