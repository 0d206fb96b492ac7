//! The commands that look after an index: `verify`, `repair`, `doctor`, `export`, `import`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on may panic"
)]

mod place;

use std::fs;

use crate::place::Place;

/// A folder with an index of three documents.
fn indexed() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("docs")).unwrap();
    for (name, text) in [
        ("tides.md", "# Tides\n\nSpring tides come with a full moon.\n"),
        ("台風.md", "# 台風\n\n台風の目の中では風が弱い。\n"),
        ("온돌.md", "# 온돌\n\n온돌은 구들장을 데워 방을 따뜻하게 한다.\n"),
    ] {
        fs::write(place.path("docs").join(name), text).unwrap();
    }
    place.run(&["index", "docs"]).expect(0);
    place
}

/// Changes one letter of a text in the store.
fn damage_store(place: &Place) {
    let path = place.path(".trefoil/store.db");
    let mut bytes = fs::read(&path).unwrap();
    let text = b"Spring tides";
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(text)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] = b's';
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_sound_index_is_said_to_be() {
    let place = indexed();
    place
        .run(&["verify"])
        .expect(0)
        .says(&["keyword index            3 rows", "sound, up to change"]);
    let json = place.run(&["verify", "--json"]).expect(0).json();
    assert_eq!(json["sound"], true);
    assert_eq!(json["rows"]["keyword index"], 3);
    place.run(&["repair"]).expect(0).says(&["sound"]);
    assert!(!place.path(".trefoil/damaged-1").exists());
}

#[test]
fn what_is_damaged_is_named_repaired_and_indexed_again() {
    let place = indexed();
    damage_store(&place);
    let verified = place.run(&["verify"]).expect(1);
    verified.says(&[
        "the store: pages: 1 pages that cannot be read",
        "run `trefoil repair`",
        "2 faults",
    ]);
    assert_eq!(place.run(&["verify", "--json"]).expect(1).json()["sound"], false);
    place.run(&["repair"]).expect(0).says(&[
        "payload_chunk        2 rows saved, 1 lost",
        "1 file lost something; `trefoil index` them again:",
        "docs/tides.md",
        "rebuilt: keyword index",
        "what was damaged is in .trefoil/damaged-1",
        "sound",
    ]);
    place.run(&["search", "spring tides", "--min-relevance", "0"]).expect(1);
    place.run(&["index", "docs"]).expect(0).says(&["1 file indexed, 2 unchanged"]);
    place.run(&["search", "spring tides", "--min-relevance", "0"]).expect(0);
    place.run(&["verify"]).expect(0);
}

#[test]
fn a_snapshot_is_exported_searched_and_imported() {
    let place = indexed();
    let exported = place.run(&["export", "all.snapshot", "--json"]).expect(0).json();
    let again = place.run(&["export", "again.snapshot", "--json"]).expect(0).json();
    assert_eq!(exported["id"], again["id"]);
    let refused = place.run(&["export", "all.snapshot"]).expect(3);
    refused.complains(&["all.snapshot"]);
    for question in ["spring tides", "台風の目", "구들장"] {
        let args = ["search", question, "--index", "all.snapshot", "--min-relevance", "0"];
        place.run(&args).expect(0);
    }
    place.run(&["verify", "--index", "all.snapshot"]).expect(0).says(&["sound"]);
    let refused = place.run(&["index", "docs", "--index", "all.snapshot"]).expect(3);
    refused.complains(&["trefoil import"]);
    place.run(&["import", "all.snapshot", "--index", "back"]).expect(0);
    place.run(&["search", "spring tides", "--index", "back", "--min-relevance", "0"]).expect(0);
    place.run(&["import", "all.snapshot", "--index", "back"]).expect(3);
    place.run(&["import", "docs/tides.md", "--index", "other"]).expect(3);
    assert!(!place.path("other").exists());
}

#[test]
fn the_doctor_says_what_to_do() {
    let place = indexed();
    fs::write(place.path("docs/copy.md"), "# Tides\n\nSpring tides come with a full moon.\n")
        .unwrap();
    place.run(&["index", "docs"]).expect(0);
    // Without a model every chunk waits for its vector.
    place.run(&["doctor"]).expect(1).says(&[
        "✓ not found by own sentence",
        "! equal to another chunk",
        "! waiting for a vector",
        "run `trefoil index` and let it finish",
    ]);
    let first = place.run(&["doctor", "--json", "--seed", "4"]).expect(1);
    assert_eq!(first.stdout, place.run(&["doctor", "--json", "--seed", "4"]).stdout);
    let results = first.json();
    let lost = results.as_array().unwrap().iter().find(|one| one["check"] == "selfRetrieval");
    assert_eq!((lost.unwrap()["found"].as_i64(), lost.unwrap()["of"].as_i64()), (Some(0), Some(4)));
}
