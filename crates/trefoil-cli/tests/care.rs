//! The commands that look after an index: `verify`, `repair`, `doctor`, `export`, `import`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on may panic"
)]

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// A folder with an index of three documents, without a model.
struct Place(TempDir);

struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    fn indexed() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
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

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        for name in ["TREFOIL_INDEX", "TREFOIL_MODEL", "TREFOIL_LOG", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let output = command.env("TREFOIL_HOME", self.path("no-models")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Run { code: output.status.code().unwrap(), stdout, stderr }
    }

    /// Changes one letter of a text in the store.
    fn damage_store(&self) {
        let path = self.path(".trefoil/store.db");
        let mut bytes = fs::read(&path).unwrap();
        let text = b"Spring tides";
        let places: Vec<usize> =
            (0..bytes.len()).filter(|&at| bytes[at..].starts_with(text)).collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at] = b's';
        }
        fs::write(path, bytes).unwrap();
    }
}

impl Run {
    #[track_caller]
    fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stdout.contains(part), "no `{part}` in:\n{}", self.stdout);
        }
        self
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

#[test]
fn a_sound_index_is_said_to_be() {
    let place = Place::indexed();
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
    let place = Place::indexed();
    place.damage_store();
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
        "made anew: keyword index",
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
    let place = Place::indexed();
    let exported = place.run(&["export", "all.snapshot", "--json"]).expect(0).json();
    let again = place.run(&["export", "again.snapshot", "--json"]).expect(0).json();
    assert_eq!(exported["id"], again["id"]);
    let refused = place.run(&["export", "all.snapshot"]).expect(3);
    assert!(refused.stderr.contains("all.snapshot"), "{}", refused.stderr);
    for question in ["spring tides", "台風の目", "구들장"] {
        let args = ["search", question, "--index", "all.snapshot", "--min-relevance", "0"];
        place.run(&args).expect(0);
    }
    place.run(&["verify", "--index", "all.snapshot"]).expect(0).says(&["sound"]);
    let refused = place.run(&["index", "docs", "--index", "all.snapshot"]).expect(3);
    assert!(refused.stderr.contains("trefoil import"), "{}", refused.stderr);
    place.run(&["import", "all.snapshot", "--index", "back"]).expect(0);
    place.run(&["search", "spring tides", "--index", "back", "--min-relevance", "0"]).expect(0);
    place.run(&["import", "all.snapshot", "--index", "back"]).expect(3);
    place.run(&["import", "docs/tides.md", "--index", "other"]).expect(3);
    assert!(!place.path("other").exists());
}

#[test]
fn the_doctor_says_what_to_do() {
    let place = Place::indexed();
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
    let readings = first.json();
    let lost = readings.as_array().unwrap().iter().find(|one| one["symptom"] == "selfRetrieval");
    assert_eq!((lost.unwrap()["found"].as_i64(), lost.unwrap()["of"].as_i64()), (Some(0), Some(4)));
}
