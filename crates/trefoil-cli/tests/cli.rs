//! The binary as people and scripts meet it.
//!
//! These tests stand next to the binary and not with the other integration tests: only
//! here does cargo promise to have built it. Unless they say so they run without a
//! model, by pointing `TREFOIL_HOME` at an empty folder.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;
use trefoil::{
    RetrieverId, SearchResult,
    crag::{Correction, CragAction},
    search::Stage,
};

/// An empty folder to run the binary in.
struct Place {
    folder: TempDir,
}

/// What a run printed, and its exit code.
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// One document in each language, from the fixtures, already indexed.
    fn indexed() -> Self {
        let place = Self::new();
        for name in ["en/tides.md", "ja/typhoon.md", "ko/ondol.md"] {
            let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/corpus");
            place.write(&format!("docs/{name}"), fs::read(fixtures.join(name)).unwrap());
        }
        place.run(&["index", "docs"]).expect(0);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), contents).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        for name in [
            "TREFOIL_INDEX",
            "TREFOIL_MODEL",
            "TREFOIL_RERANK_MODEL",
            "TREFOIL_LOG",
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
        ] {
            command.env_remove(name);
        }
        command.env("TREFOIL_HOME", self.path("no-models"));
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        Self::finish(&mut self.command(args))
    }

    fn finish(command: &mut Command) -> Run {
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Run { code: output.status.code().unwrap(), stdout, stderr }
    }
}

impl Run {
    #[track_caller]
    fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Checks what is on stdout.
    #[track_caller]
    fn says(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.stdout.contains(part), "no `{part}` in:\n{}", self.stdout);
        }
    }

    /// Both streams, for a snapshot.
    fn shown(&self) -> String {
        format!("exit {}\n── stdout\n{}── stderr\n{}", self.code, self.stdout, self.stderr)
    }

    fn paths(&self) -> Vec<String> {
        let found: SearchResult = serde_json::from_str(&self.stdout).unwrap();
        let passages = found.results.into_iter().filter(trefoil::SearchResultItem::is_chunk_result);
        passages.map(|item| item.metadata.unwrap().path).collect()
    }
}

/// Compares with a snapshot in which times, scores and temporary folders are blanked.
macro_rules! assert_shown {
    ($name:expr, $shown:expr) => {
        insta::with_settings!({
            filters => [
                (r"\d+(\.\d+)? ms", "# ms"),
                (r"\d+\.\d s", "# s"),
                (r"( |  )(\.\d\d|1\.0)\b", "$1.##"),
                (r"\d+\.?\d* [kM]B", "# kB"),
                (r"/\S*/\.tmp\w+", "[FOLDER]"),
            ],
            prepend_module_to_snapshot => false,
        }, { insta::assert_snapshot!($name, $shown) })
    };
}

#[test]
fn a_question_is_answered_in_each_language() {
    let place = Place::indexed();
    for (name, question) in [
        ("search-en", "why are there two high tides a day?"),
        ("search-ja", "台風の目"),
        ("search-ko", "온돌의 구들장"),
    ] {
        let run = place.run(&["search", question, "--limit", "2", "--min-relevance", "0"]);
        assert_shown!(name, run.expect(0).shown());
    }
}

#[test]
fn a_whole_passage_comes_with_what_stands_around_it() {
    let run = Place::indexed().run(&["search", "neap tides", "--limit", "1", "--full"]).expect(0);
    assert_shown!("search-full", run.shown());
}

#[test]
fn indexing_says_what_it_did_and_what_it_skipped() {
    let place = Place::indexed();
    place.write("trefoil.toml", "max_file_bytes = 2000");
    place.write("docs/empty.md", "");
    place.write("docs/binary.md", [0, 159, 146, 150, 0, 1, 2, 3]);
    place.write("docs/large.md", "x".repeat(2001));
    place.write("docs/picture.png", [137, 80, 78, 71]);
    place.write("docs/api.key", "hunter2");
    place.write("docs/new.md", "A new document.");
    fs::remove_file(place.path("docs/ko/ondol.md")).unwrap();
    assert_shown!("index-skipped", place.run(&["index", "docs"]).expect(0).shown());
    assert_shown!("index-unchanged", place.run(&["index", "docs", "--quiet"]).expect(0).shown());
    assert_shown!("stats", place.run(&["stats"]).expect(0).shown());
}

#[test]
fn a_long_list_of_skipped_files_is_cut_unless_all_are_wanted() {
    let place = Place::new();
    for number in 0..13 {
        place.write(&format!("docs/{number}.png"), "");
    }
    let short = place.run(&["index", "docs"]).expect(0).stderr;
    assert!(short.contains("and 3 more") && !short.contains("docs/9.png"), "{short}");
    let long = place.run(&["index", "docs", "--verbose"]).expect(0).stderr;
    assert!(!long.contains("more") && long.contains("docs/9.png"), "{long}");
}

#[test]
fn bytes_that_are_no_unicode_are_read_or_skipped_but_never_fatal() {
    let place = Place::new();
    place.write("docs/latin1.txt", b"caf\xe9 cr\xe8me br\xfbl\xe9e");
    place.write("docs/broken.md", b"broken \xff\xfe\xfd sentence about walruses");
    place.run(&["index", "docs"]).expect(0);
    assert!(place.run(&["search", "walruses", "--json"]).code <= 1);
}

#[test]
fn wrong_usage_is_told_from_failure() {
    let place = Place::indexed();
    place.write("taken", "a file");
    let check = |args: &[&str], code: i32, message: &str| {
        let run = place.run(args).expect(code);
        assert!(run.stderr.contains(message), "{args:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{args:?}");
    };
    check(&["search"], 2, "required arguments");
    check(&["serach"], 2, "search");
    check(&["search", "tides", "--limit", "0"], 2, "error: invalid query: `options.limit`");
    check(&["search", "tides", "--limit", "101"], 2, "1–100");
    check(&["search", "tides", "--min-relevance", "1.5"], 2, "0 to 1");
    check(&["search", "tides", "--lang", "fr"], 2, "possible values: en, ja, ko");
    check(&["search", "tides", "--file-id", "chk_1"], 2, "not a valid FileId");
    check(&["search", "tides", "--path-glob", "["], 2, "glob");
    check(&["search", "tides", "--since", "2026-02-30"], 2, "--since");
    check(
        &["search", "tides", "--since", "2026-02-02", "--until", "2026-02-01"],
        2,
        "start on or before end",
    );
    check(&["search", "   "], 2, "1–1,000 characters");
    check(&["search", &"🦀".repeat(1_001)], 2, "1001 characters");
    check(&["search", "tides", "--index", "nowhere"], 3, "make one with `trefoil index PATH`");
    check(&["stats", "--index", "nowhere"], 3, "there is no index at `nowhere`");
    check(&["remove", "docs", "--index", "nowhere"], 3, "there is no index at `nowhere`");
    check(&["reindex", "--index", "nowhere"], 3, "there is no index at `nowhere`");
    check(&["index", "absent.md"], 3, "error: cannot read `absent.md`: ");
    check(
        &["index", "docs", "--index", "taken/index"],
        3,
        "error: cannot create the index directory",
    );
    check(&["index", "docs", "--model", "nonsense"], 3, "nonsense");
    let pull = "run `trefoil models pull multilingual-e5-small`";
    check(&["models", "path", "multilingual-e5-small"], 3, pull);
    check(&["models", "verify", "multilingual-e5-small"], 3, pull);
    // What a profile names is not what a plain pull brings.
    let pull = "run `trefoil models pull bge-small-en-v1.5`";
    check(&["index", "docs", "--profile", "english"], 3, pull);
    assert!(!place.path("nowhere").exists(), "a question makes no index");
}

#[cfg(unix)]
#[test]
fn an_index_that_cannot_be_written_is_an_error_that_names_it() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::indexed();
    let index = place.path(".trefoil");
    let allow = |mode| fs::set_permissions(&index, fs::Permissions::from_mode(mode)).unwrap();
    allow(0o555);
    // The superuser may write anyway.
    let refused = fs::write(index.join("probe"), "").is_err();
    place.write("docs/new.md", "A new document.");
    let run = place.run(&["index", "docs"]);
    allow(0o755);
    assert!(!refused || run.code == 3 && run.stderr.contains(".trefoil"), "{}", run.shown());
}

/// A limit on the size of files stands in for a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_and_the_next_run_goes_on() {
    let place = Place::new();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/corpus");
    let corpus = corpus.to_str().unwrap();
    let mut full = Command::new("sh");
    full.args(["-c", "trap '' XFSZ; ulimit -f 600; exec \"$0\" index \"$1\""])
        .args([env!("CARGO_BIN_EXE_trefoil"), corpus])
        .current_dir(place.folder.path())
        .env("TREFOIL_HOME", place.path("no-models"))
        .stdin(Stdio::null());
    let run = Place::finish(&mut full);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("error: cannot"), "{}", run.stderr);
    place.run(&["index", corpus]).expect(0);
    place.run(&["search", "walrus ivory"]).expect(0);
}

#[test]
fn finding_nothing_has_its_own_code() {
    let place = Place::new();
    fs::create_dir(place.path("empty")).unwrap();
    assert_shown!("index-empty", place.run(&["index", "empty"]).expect(0).shown());
    assert_shown!("search-nothing", place.run(&["search", "anything"]).expect(1).shown());
    place.run(&["stats"]).expect(1);
    place.run(&["remove", "docs"]).expect(1);
    let place = Place::indexed();
    place.run(&["search", &"🦀".repeat(1_000)]).expect(1);
    place.run(&["search", "\"tides AND (", "--min-relevance", "0"]).expect(0);
}

#[test]
fn json_is_the_wire_form() {
    let place = Place::indexed();
    let run = place.run(&["search", "tides", "--json"]).expect(0);
    let found: SearchResult = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(found.query.text.as_str(), "tides");
    assert!(!found.results.is_empty());
    for args in [
        &["index", "docs", "--json"][..],
        &["stats", "--json"],
        &["reindex", "--json"],
        &["models", "list", "--json"],
        &["models", "path", "--json"],
        &["remove", "docs/en", "--json"],
    ] {
        let run = place.run(args).expect(0);
        serde_json::from_str::<serde_json::Value>(&run.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}"));
    }
}

#[test]
fn filters_narrow_what_is_found() {
    let place = Place::indexed();
    let check = |filters: &[&str], expected: &[&str]| {
        let args =
            ["search", "tides 台風 온돌", "--json", "--min-relevance", "0", "--limit", "100"];
        let run = place.run(&[&args, filters].concat());
        let mut paths = run.paths();
        paths.sort();
        paths.dedup();
        assert_eq!(paths, expected, "{filters:?}");
    };
    let (en, ja, ko) = ("docs/en/tides.md", "docs/ja/typhoon.md", "docs/ko/ondol.md");
    check(&[], &[en, ja, ko]);
    check(&["--lang", "ja"], &[ja]);
    check(&["--lang", "ja", "--lang", "ko"], &[ja, ko]);
    check(&["--path-glob", "docs/k*/**"], &[ko]);
    check(&["--tag", "sea"], &[en]);
    check(&["--since", "2024-10-01"], &[en]);
    check(&["--until", "2023-12-31"], &[ko]);
    check(&["--since", "2030-01-01"], &[]);
}

#[test]
fn pages_follow_one_another() {
    let place = Place::indexed();
    let ids = |args: &[&str]| -> Vec<String> {
        let run =
            place.run(&[&["search", "tides", "--json", "--min-relevance", "0"], args].concat());
        let found: SearchResult = serde_json::from_str(&run.stdout).unwrap();
        found.results.into_iter().map(|item| item.id).collect()
    };
    let all = ids(&[]);
    assert!(all.len() >= 2, "{all:?}");
    assert_eq!(
        [ids(&["--limit", "1"]), ids(&["--limit", "1", "--offset", "1"])].concat(),
        all[..2]
    );
    let first = place.run(&["search", "tides", "--json", "--min-relevance", "0", "--limit", "1"]);
    let first: SearchResult = serde_json::from_str(&first.stdout).unwrap();
    let cursor = first.next_cursor.unwrap().to_string();
    assert_eq!(ids(&["--limit", "1", "--cursor", &cursor]), all[1..2]);
    place.run(&["search", "tides", "--cursor", "7"]).expect(2);
    assert!(ids(&["--per-file", "1"]).len() < all.len());
}

#[test]
fn the_kind_of_a_question_is_told_and_can_be_given() {
    let place = Place::indexed();
    let told = |args: &[&str]| place.run(&[&["search"], args].concat()).stdout;
    let text = told(&["overview of the tides", "--min-relevance", "0"]);
    assert!(text.contains("reads as a global (.80) question"), "{text}");
    let text = told(&["overview of the tides", "--min-relevance", "0", "--type", "local"]);
    assert!(text.contains("local question, as asked; it reads as global (.80)"), "{text}");
    let text = told(&["difference between tides and waves", "--explain", "--min-relevance", "0"]);
    assert!(text.contains("entities  tides · waves"), "{text}");
    assert!(text.contains("weights   keyword .20 · semantic .20 · graph .60"), "{text}");
}

#[test]
fn what_a_question_names_is_shown_with_what_is_said_of_it() {
    let place = Place::new();
    place.write(
        "docs/en.md",
        "Ada Lovelace was a mathematician who wrote the first program of all.",
    );
    place.write("docs/letter.md", "A long letter of Ada Lovelace is about the Analytical Engine.");
    place.write("docs/ja.md", "兼六園は金沢市にある日本三名園の一つとして知られる庭園である。");
    place.write("docs/ko.md", "창덕궁은 서울에 있는 조선의 궁궐로 후원이 아름답다.");
    place.run(&["index", "docs"]).expect(0);
    let only = |question: &str| place.run(&["search", question, "--results", "entity"]).expect(0);
    only("who was Ada Lovelace?").says(&[
        "1  Ada Lovelace\n",
        "2 passages · related to",
        "Ada Lovelace was a mathematician who wrote the first program of all.",
        "docs/en.md:1\n",
        "docs/letter.md:1\n",
    ]);
    only("兼六園").says(&["1  兼六園\n", "1 passage ·", "日本三名園の一つ", "docs/ja.md:1"]);
    only("창덕궁은 어디에 있나요?").says(&["1  창덕궁\n", "조선의 궁궐로", "docs/ko.md:1"]);

    let json = |args: &[&str]| place.run(&[&["search", "Ada Lovelace", "--json"], args].concat());
    let types = |args: &[&str]| -> Vec<String> {
        let found: SearchResult = serde_json::from_str(&json(args).expect(0).stdout).unwrap();
        let types = found.results.iter().map(|item| serde_json::to_value(item.item_type).unwrap());
        types.map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(types(&[])[0], "entity");
    assert!(types(&["--results", "chunk"]).iter().all(|one| one == "chunk"));
    assert_eq!(types(&["--results", "entity,community"]), ["entity"]);
    place.run(&["search", "Ada Lovelace", "--results", "page"]).expect(2);

    place.run(&["graph", "ada lovelace"]).expect(0).says(&[
        "Ada Lovelace",
        "2 chunks, related to",
        "Ada Lovelace was a mathematician who wrote the first program of all.",
    ]);
}

#[test]
fn what_is_removed_is_not_found() {
    let place = Place::indexed();
    let run = place.run(&["remove", "./docs/en", "docs/nothing"]).expect(0);
    assert_shown!("remove", run.shown());
    place.run(&["search", "high tides"]).expect(1);
    place.run(&["search", "台風"]).expect(0);
    place.run(&["remove", "."]).expect(0);
    place.run(&["search", "台風"]).expect(1);
}

#[test]
fn a_rebuilt_index_answers_the_same() {
    let place = Place::indexed();
    let before = place.run(&["search", "台風の目", "--json"]).paths();
    assert_shown!("reindex", place.run(&["reindex"]).expect(0).shown());
    assert_eq!(place.run(&["search", "台風の目", "--json"]).paths(), before);
}

#[test]
fn flags_stand_above_the_environment_and_that_above_the_file() {
    let place = Place::new();
    place.write("sub/notes.md", "A walrus.");
    place.write("trefoil.toml", "index = 'from-file'");
    let run = |args: &[&str], environment: bool| {
        let mut command = place.command(args);
        command.current_dir(place.path("sub"));
        if environment {
            command.env("TREFOIL_INDEX", "from-environment");
        }
        Place::finish(&mut command).expect(0);
    };
    let made = |name: &str| place.path(name).join("store.db").exists();
    run(&["index", "."], false);
    assert!(made("from-file"), "relative to the file");
    run(&["index", "."], true);
    assert!(made("sub/from-environment"));
    run(&["index", ".", "--index", "from-flag"], true);
    assert!(made("sub/from-flag"));
}

#[test]
fn a_mistake_in_the_settings_is_located() {
    let place = Place::new();
    let check = |text: &str, message: &str| {
        place.write("trefoil.toml", text);
        let run = place.run(&["search", "x"]).expect(2);
        assert!(
            run.stderr.contains("trefoil.toml") && run.stderr.contains(message),
            "{}",
            run.stderr
        );
    };
    check("index = 'a'\nindicies = 'b'\n", "line 2: unknown field `indicies`");
    check("threads = 'many'", "line 1: invalid type");
    place.write("trefoil.toml", "threads = 0");
    place.run(&["index", "."]).expect(2);
}

#[test]
fn colours_are_for_terminals_and_yield_to_no_color() {
    let place = Place::indexed();
    let run = |variables: &[&str]| {
        let mut command = place.command(&["search", "tides"]);
        command.envs(variables.iter().map(|name| (name, "1")));
        Place::finish(&mut command).expect(0)
    };
    let coloured = |run: &Run| run.stdout.contains('\u{1b}') || run.stderr.contains('\u{1b}');
    assert!(!coloured(&run(&[])));
    assert!(coloured(&run(&["CLICOLOR_FORCE"])));
    assert!(!coloured(&run(&["CLICOLOR_FORCE", "NO_COLOR"])));
}

#[test]
fn a_lost_passage_is_traced_to_the_stage_that_lost_it() {
    let place = Place::indexed();
    let found = place.run(&["search", "when does the tide turn", "--explain"]).expect(0);
    assert_shown!("search_explain", found.shown());
    let short = place.run(&["search", "tide walrus", "--explain"]).expect(0).stdout;
    assert!(short.contains("lacks     walrus"), "{short}");
    let why = |passage: &str, code| place.run(&["why-not", "tide", passage]).expect(code).stdout;
    assert!(why("docs/en/tides.md", 0).starts_with("found: it is result 1"));
    assert!(why("docs/ko/ondol.md", 1).starts_with("lost at fuse: the keyword retriever finds"));
    let missing = place.run(&["why-not", "tide", "nowhere.md"]).expect(3);
    assert!(missing.stderr.contains("`nowhere.md` is not indexed"), "{}", missing.stderr);
}

#[test]
fn weak_evidence_is_graded_and_repaired_if_asked() {
    let place = Place::indexed();
    let ask = |more: &[&str]| {
        let args = [&["search", "mooon", "--min-relevance", "0"], more].concat();
        place.run(&args)
    };
    ask(&[]).expect(1);
    let shown = ask(&["--crag"]).expect(0).stdout;
    for part in ["docs/en/tides.md", "evidence ", "(as the retrievers score it)", "expand", "fuzzy"]
    {
        assert!(shown.contains(part), "no {part} in:\n{shown}");
    }
    let found: SearchResult =
        serde_json::from_str(&ask(&["--crag", "--json"]).expect(0).stdout).unwrap();
    let report = found.crag.unwrap();
    assert_eq!(report.actions.first(), Some(&CragAction::Expand));
    assert!(report.repairs.iter().any(|one| one.repair == Correction::Fuzzy && one.kept));
    assert!(found.results.iter().all(|hit| hit.relevance.crag.is_some()));
}

/// A collection of three documents and as many questions in `birds`.
fn with_birds() -> Place {
    let place = Place::new();
    let birds = ["owl", "wren", "heron"];
    let lines = |line: &dyn Fn(&str) -> String| birds.map(line).join("\n");
    place.write(
        "birds/corpus.jsonl",
        lines(&|bird| {
            format!(r#"{{"_id": "{bird}", "title": "", "text": "The {bird} has a nest."}}"#)
        }),
    );
    place.write(
        "birds/queries.jsonl",
        lines(&|bird| format!(r#"{{"_id": "q-{bird}", "text": "where does the {bird} nest"}}"#)),
    );
    let judged = lines(&|bird| format!("q-{bird}\t{bird}\t1"));
    place.write("birds/qrels/test.tsv", format!("query-id\tcorpus-id\tscore\n{judged}\n"));
    place
}

#[test]
fn collections_are_measured_and_runs_compared() {
    let place = with_birds();
    let table = place.run(&["eval", "birds", "--run", "birds.trec"]).expect(0);
    assert!(table.stdout.contains("birds") && table.stdout.contains("1.0"), "{}", table.stdout);
    let report = place.run(&["--json", "eval", "birds", "--queries", "2"]).expect(0);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report[0]["dataset"], "birds");
    assert_eq!((&report[0]["documents"], &report[0]["queries"]), (&3.into(), &2.into()));
    assert_eq!(report[0]["metrics"]["ndcg@10"], 1.0);

    let worse =
        fs::read_to_string(place.path("birds.trec")).unwrap().replace("Q0\towl", "Q0\tgull");
    place.write("worse.trec", worse);
    let compared = place.run(&["eval", "birds", "--compare", "worse.trec", "birds.trec"]).expect(0);
    assert!(compared.stdout.contains("q-owl"), "{}", compared.stdout);
    place.run(&["eval", "nowhere"]).expect(3);
    place.run(&["eval", "birds", "--fuser", "best"]).expect(2);
}

#[test]
fn settings_are_tuned_and_kept_as_a_profile() {
    let place = with_birds();
    let retrievers = place.run(&["eval", "birds", "--retrievers", "--index", "kept"]).expect(0);
    assert!(retrievers.stdout.contains("| birds | 3 | 1.0000"), "{}", retrievers.stdout);
    assert!(place.path("kept").exists());

    let tuned = place.run(&["tune", "birds", "--folds", "2", "--lists", "lists.jsonl"]).expect(0);
    // Nothing is better than what finds everything.
    assert!(tuned.stdout.contains("not adopted"), "{}", tuned.stdout);
    let again = place.run(&["tune", "nowhere", "--folds", "2", "--lists", "lists.jsonl"]);
    assert_eq!(again.expect(0).stdout, tuned.stdout);
    place.run(&["eval", "birds", "--profile", "profile.toml"]).expect(0);
    let profile = fs::read_to_string(place.path("profile.toml")).unwrap();
    place.write("broken.toml", profile.replace("k = 60", "k = 0"));
    let refused = place.run(&["eval", "birds", "--profile", "broken.toml"]).expect(2);
    assert!(refused.stderr.contains("1–1000"), "{}", refused.stderr);

    let refused = place.run(&["calibrate", "birds", "--output", "none.toml"]).expect(1);
    assert!(refused.stderr.contains("not calibrated: 3 questions"), "{}", refused.stderr);
    assert!(!place.path("none.toml").exists());
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = Place::new().run(&["completions", shell]).expect(0);
        assert!(run.stdout.contains("min-relevance"), "{shell}");
    }
}

#[test]
fn the_manual_is_one_page_or_one_for_each_command() {
    let place = Place::new();
    let page = place.run(&["man"]).expect(0).stdout;
    assert!(page.contains(".TH trefoil 1") && page.contains("Exit codes: 0 found"), "{page}");
    place.run(&["man", "share/man1"]).expect(0);
    let page = |name: &str| fs::read_to_string(place.path("share/man1").join(name)).unwrap();
    assert!(page("trefoil.1").contains("why\\-not"));
    assert!(page("trefoil-search.1").contains("min\\-similarity"));
    assert!(page("trefoil-memory-observe.1").contains(".TH"));
    place.write("a-file", "");
    let failed = place.run(&["man", "a-file"]).expect(3);
    assert!(failed.stderr.contains("a-file"), "{}", failed.stderr);
}

#[test]
fn boosts_of_fields_change_the_order_and_flags_go_before_environment_and_file() {
    let place = Place::new();
    let long = "walls and winter storms, harbour, walls and winter storms again and again";
    place.write(
        "docs/title.md",
        format!("# 항구 harbour 港\n\n{}\n", "walls and storms ".repeat(30)),
    );
    place.write("docs/text.md", format!("# Other\n\nharbour harbour harbour {long}\n"));
    place.run(&["index", "docs"]).expect(0);
    let ask = |flags: &[&str], environment: Option<&str>| {
        let search = ["search", "harbour", "--json", "--min-relevance", "0", "--no-rerank"];
        let keyword = ["--strategies", "keyword"];
        let mut command = place.command(&[&search[..], &keyword[..], flags].concat());
        if let Some(boosts) = environment {
            command.env("TREFOIL_KEYWORD_BOOSTS", boosts);
        }
        let paths = Place::finish(&mut command).expect(0).paths();
        paths.first().unwrap().rsplit('/').next().unwrap().to_owned()
    };
    let (text, title) = ("title=0,heading=0", "title=9,heading=9");
    assert_eq!(ask(&["--keyword-boosts", text], None), "text.md");
    assert_eq!(ask(&["--keyword-boosts", title], None), "title.md");
    assert_eq!(ask(&["--keyword-boosts", "body=0"], None), "title.md");

    place.write("trefoil.toml", "[keyword]\ntitle_boost = 9\nheading_boost = 9\n");
    assert_eq!(ask(&[], None), "title.md");
    assert_eq!(ask(&[], Some(text)), "text.md");
    assert_eq!(ask(&["--keyword-boosts", title], Some(text)), "title.md");

    let search = |boosts| place.run(&["search", "harbour", "--keyword-boosts", boosts]);
    assert!(search("title=11").expect(2).stderr.contains("keyword.titleBoost"));
    assert!(search("tag=1").expect(2).stderr.contains("tag=1"));
}

#[test]
fn documents_are_redacted_where_a_setting_asks_for_it() {
    let place = Place::new();
    place.write("docs/a.md", "# 港\n\nThe harbour master is mika@example.com.\n");
    let shown = |index: &[&str], environment: Option<&str>| {
        let mut command = place.command(&[&["index", "docs"][..], index].concat());
        if let Some(redact) = environment {
            command.env("TREFOIL_REDACT_DOCUMENTS", redact);
        }
        Place::finish(&mut command).expect(0);
        let search = ["search", "harbour master", "--json", "--min-relevance", "0"];
        place.run(&search).expect(0).stdout
    };
    assert!(shown(&[], None).contains("mika@example.com"));
    place.write("trefoil.toml", "redact_documents = true\n");
    let redacted = shown(&[], None);
    assert!(redacted.contains("[email]") && !redacted.contains("mika@example.com"), "{redacted}");
    assert!(shown(&[], Some("false")).contains("mika@example.com"));
    assert!(shown(&["--redact-documents"], Some("false")).contains("[email]"));
    assert!(shown(&["--redact-documents=false"], None).contains("mika@example.com"));
}

#[test]
fn the_help_is_short_and_has_examples() {
    assert_shown!("help", Place::new().run(&["-h"]).expect(0).shown());
    assert_shown!("help-search", Place::new().run(&["search", "-h"]).expect(0).shown());
    let restore = Place::new().run(&["cluster", "restore", "--help"]);
    assert_shown!("help-cluster-restore", restore.expect(0).shown());
}

#[test]
fn models_are_listed_without_a_network() {
    let run = Place::new().run(&["models", "list"]).expect(0);
    for name in [
        "onnxruntime",
        "multilingual-e5-small",
        "bge-small-en-v1.5",
        "ms-marco-MiniLM-L-12-v2",
        "answerai-colbert-small-v1",
    ] {
        assert!(
            run.stdout.lines().any(|line| line.starts_with(name) && line.contains("absent")),
            "{}",
            run.stdout
        );
    }
    let run = Place::new().run(&["models", "pull", "--offline"]).expect(3);
    assert!(run.stderr.contains("fetching is off"), "{}", run.stderr);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::indexed();
    for args in [
        &["search", "tides"][..],
        &["search", "tides", "--json"],
        &["completions", "bash"],
        &["-h"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = place.command(args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).matches("error").count(), 0, "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn watching_follows_changes_until_ctrl_c() {
    let place = Place::indexed();
    let log = place.path("log");
    let stderr = fs::File::create(&log).unwrap();
    let mut child = place
        .command(&["index", "docs", "--watch"])
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn()
        .unwrap();
    eventually("watching", || fs::read_to_string(&log).unwrap().contains("watching"));
    let found = |word: &str| place.run(&["search", word]).code == 0;
    place.write("docs/.gitignore", "secretive.md");
    place.write("docs/secretive.md", "A pangolin.");
    place.write("docs/new.md", "A walrus.");
    eventually("a new file is found", || found("walrus"));
    assert!(!found("pangolin"), "ignore rules hold");
    fs::remove_file(place.path("docs/new.md")).unwrap();
    eventually("a removed file is not", || !found("walrus"));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let said = fs::read_to_string(&log).unwrap();
    assert!(said.contains("the index is consistent"), "{said}");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_looked_at_is_kept_and_reported() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    place.write("docs/a/one.md", "A walrus.");
    place.write("docs/b/two.md", "A heron.");
    place.run(&["index", "docs"]).expect(0);
    let folder = place.path("docs/b");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
    let run = Place::finish(&mut as_ordinary_user(&place.command(&["index", "docs"])));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let run = run.expect(0);
    assert!(!run.stdout.contains("removed"), "{}", run.stdout);
    assert!(run.stderr.contains("docs/b — ") && run.stderr.contains("ermission"), "{}", run.stderr);
    place.run(&["search", "heron"]).expect(0);
}

/// The same command for a user whom permissions hold back; root is held back without the
/// capabilities that override them.
#[cfg(unix)]
fn as_ordinary_user(command: &Command) -> Command {
    use std::os::unix::fs::MetadataExt;

    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let mut ordinary = if is_root {
        let mut setpriv = Command::new("setpriv");
        setpriv.arg("--bounding-set=-dac_override,-dac_read_search").arg(command.get_program());
        setpriv
    } else {
        Command::new(command.get_program())
    };
    ordinary.args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => ordinary.env(name, value),
            None => ordinary.env_remove(name),
        };
    }
    ordinary.current_dir(command.get_current_dir().unwrap());
    ordinary
}

#[test]
fn most_of_a_folder_goes_only_with_prune() {
    let place = Place::new();
    for number in 0..24 {
        place.write(&format!("docs/{number}.md"), format!("The walrus of day {number}."));
    }
    let files = || {
        let stats = place.run(&["stats", "--json"]).stdout;
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        stats["files"].as_u64().unwrap()
    };
    place.run(&["index", "docs"]).expect(0);
    // Nine of 24 are an ordinary day.
    (0..9).for_each(|number| fs::remove_file(place.path(&format!("docs/{number}.md"))).unwrap());
    place.run(&["index", "docs"]).expect(0);
    assert_eq!(files(), 15);
    // Ten of 15 are not.
    (9..19).for_each(|number| fs::remove_file(place.path(&format!("docs/{number}.md"))).unwrap());
    let run = place.run(&["index", "docs"]).expect(0);
    assert!(run.stderr.contains("10 of the 15 indexed files of `docs`"), "{}", run.stderr);
    assert!(run.stderr.contains("--prune"), "{}", run.stderr);
    assert_eq!(files(), 15);
    place.run(&["index", "docs", "--prune"]).expect(0);
    assert_eq!(files(), 5);
    // An empty root may be a file system that is not mounted, a missing one too.
    fs::rename(place.path("docs"), place.path("elsewhere")).unwrap();
    fs::create_dir(place.path("docs")).unwrap();
    let run = place.run(&["index", "docs"]).expect(0);
    assert!(run.stderr.contains("5 of the 5 indexed files"), "{}", run.stderr);
    fs::remove_dir(place.path("docs")).unwrap();
    let run = place.run(&["index", "docs", "--json"]).expect(0);
    let kept: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let expected = serde_json::json!([{"path": "docs", "missing": 5, "indexed": 5}]);
    assert_eq!(kept["kept"], expected);
    assert_eq!(files(), 5);
    place.run(&["index", "docs", "--prune"]).expect(0);
    assert_eq!(files(), 0);
}

/// Waits for something that another process does.
#[track_caller]
fn eventually(what: &str, happens: impl Fn() -> bool) {
    let start = Instant::now();
    while !happens() {
        assert!(start.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Uses the models of whoever runs the tests, and fetches them if they are absent.
#[test]
fn with_a_model_a_question_finds_an_answer_in_another_language() {
    let place = Place::indexed();
    let with_model = |args: &[&str]| {
        let mut command = place.command(args);
        match std::env::var_os("TREFOIL_HOME") {
            Some(home) => command.env("TREFOIL_HOME", home),
            None => command.env_remove("TREFOIL_HOME"),
        };
        Place::finish(&mut command).expect(0)
    };
    let indexed = with_model(&["index", "docs", "--pull"]);
    assert!(!indexed.stderr.contains("keywords only"), "{}", indexed.stderr);
    let again = with_model(&["index", "docs"]);
    assert!(again.stdout.contains("0 embedded"), "{}", again.stdout);
    for (question, path) in [
        ("heating the floor with smoke from the kitchen fire", "docs/ko/ondol.md"),
        ("태풍의 눈에 들어가면 바람이 멈추나요?", "docs/ja/typhoon.md"),
    ] {
        let semantic = ["--strategies", "semantic", "--min-relevance", "0", "--limit", "1"];
        let run = with_model(&[&["search", question, "--json"], &semantic[..]].concat());
        assert_eq!(run.paths(), [path], "{question}");
        let found: SearchResult = serde_json::from_str(&run.stdout).unwrap();
        let said = found
            .degraded
            .iter()
            .find(|degraded| degraded.stage == Stage::Retriever(RetrieverId::SEMANTIC));
        assert_eq!(said, None, "{question}");
    }
}

/// What two tenants write; some words are of both.
const TENANTS: [(&str, &str); 2] = [
    (
        "red",
        "# Bathyscaphe\n\nJacques Piccard met Sylvia Earle in Central London. Jacques Piccard gave \
         Sylvia Earle the bathyscaphe.\n\n# 潜水\n\n深海探査艇は琵琶湖で試験された。\n\n\
         # 잠수\n\n해녀 박물관은 제주도에 있다.\n",
    ),
    (
        "blue",
        "# Spacesuit\n\nNeil Armstrong met Valentina Tereshkova in Central London. Neil Armstrong \
         gave Valentina Tereshkova the spacesuit.\n\n# 宇宙\n\n宇宙服は種子島で試験された。\n\n\
         # 우주\n\n나로호 발사대는 고흥군에 있다.\n",
    ),
];

#[test]
fn every_command_with_a_filter_tells_nothing_of_what_it_leaves_out() {
    let place = Place::new();
    for (tenant, text) in TENANTS {
        place.write(&format!("docs/{tenant}/notes.md"), text);
        place.write(&format!("docs/{tenant}/more.md"), text.replace("met", "wrote to"));
    }
    place.run(&["index", "docs"]).expect(0);
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| word.chars().count() > 2).map(str::to_lowercase).collect()
    };
    for (at, (tenant, own)) in TENANTS.into_iter().enumerate() {
        let (own, other) = (words(own), words(TENANTS[1 - at].1));
        let only = format!("docs/{tenant}/*");
        let question = "overview of who met in Central London";
        let questions = [question, "Jacques Piccard and Neil Armstrong", "試験", "제주도 고흥군"];
        let mut commands: Vec<Vec<&str>> = Vec::new();
        for question in questions {
            for flags in [&["--json"][..], &["--full", "--explain"], &["--crag", "--json"], &[]] {
                commands.push([&["search", question, "--min-relevance", "0"], flags].concat());
            }
            commands.push(vec!["why-not", question, "docs/red/notes.md"]);
            commands.push(vec!["why-not", question, "docs/blue/notes.md", "--json"]);
        }
        for name in ["Jacques Piccard", "Neil Armstrong", "Central London"] {
            commands.push(vec!["graph", name]);
            commands.push(vec!["graph", name, "--json"]);
        }
        for flag in ["--json", "--dot", "--svg"] {
            commands.push(vec!["graph", flag]);
        }
        let mut told = 0;
        for command in commands {
            let run = place.run(&[&command[..], &["--path-glob", &only]].concat());
            assert!(run.code <= 1, "{command:?}: {}", run.stderr);
            let asked = words(&command.join(" "));
            let output = words(&format!("{}\n{}", run.stdout, run.stderr));
            let foreign: Vec<&String> = output
                .iter()
                .filter(|word| other.contains(word) && !own.contains(word) && !asked.contains(word))
                .collect();
            assert!(foreign.is_empty(), "{tenant}: {command:?}: {foreign:?}\n{}", run.stdout);
            told += output.iter().filter(|word| own.contains(word)).count();
        }
        assert!(told > 100, "{tenant}: {told}");
    }
}

#[test]
fn a_reranker_is_taken_from_a_folder_and_what_is_wrong_with_it_is_named() {
    let place = Place::indexed();
    let search = |place: &Place| place.run(&["search", "tides", "--json"]);
    let missing = place.run(&["search", "tides", "--rerank-model", "./reranker"]);
    assert_eq!(missing.code, 3, "{}", missing.stderr);
    assert!(missing.stderr.contains("reranker"), "{}", missing.stderr);
    // A settings file names it relative to itself; the model of another role is refused.
    place.write("trefoil.toml", "rerank_model = './reranker'\n");
    let named = search(&place);
    assert_eq!(named.code, 3, "{}", named.stderr);
    assert!(named.stderr.contains("card.toml"), "{}", named.stderr);
    for file in ["model.onnx", "tokenizer.json"] {
        place.write(&format!("reranker/{file}"), "");
    }
    let card = "name = 'mine'\nrole = 'ROLE'\nlicense = 'MIT'\nlanguages = ['en', 'ja', 'ko']\n\
                max-tokens = 512\n";
    place.write("reranker/card.toml", card.replace("ROLE", "embedder"));
    let other = search(&place);
    assert_eq!(other.code, 3, "{}", other.stderr);
    place.write("reranker/card.toml", card.replace("ROLE", "reranker"));
    let found = search(&place);
    // It is taken; here there is nothing to run it with.
    assert_eq!(found.code, 3, "{}", found.stderr);
    assert!(found.stderr.contains("onnxruntime"), "{}", found.stderr);
    let none = place.run(&["search", "tides", "--rerank-model", "none", "--json"]);
    assert_eq!(none.code, 0, "{}", none.stderr);
    let none: SearchResult = serde_json::from_str(&none.stdout).unwrap();
    assert!(none.degraded.iter().all(|one| one.stage != Stage::Rerank), "{:?}", none.degraded);
}
