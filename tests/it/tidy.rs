//! Rules of the source tree that the compiler does not check.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::source_files::{code, reached, uses};

/// Which crates of the workspace a crate may depend on.
const LAYERS: [(&str, &[&str]); 16] = [
    ("trefoil-core", &[]),
    ("trefoil-text", &["trefoil-core"]),
    ("trefoil-store", &["trefoil-core"]),
    ("trefoil-postgres", &["trefoil-core", "trefoil-store"]),
    ("trefoil-keyword", &["trefoil-core", "trefoil-text"]),
    ("trefoil-semantic", &["trefoil-core"]),
    ("trefoil-model", &["trefoil-core"]),
    ("trefoil-graph", &["trefoil-core"]),
    (
        "trefoil",
        &[
            "trefoil-core",
            "trefoil-graph",
            "trefoil-keyword",
            "trefoil-model",
            "trefoil-semantic",
            "trefoil-store",
            "trefoil-text",
        ],
    ),
    ("trefoil-policy", &["trefoil-core", "trefoil-text"]),
    ("trefoil-memory-core", &["trefoil-core", "trefoil-policy", "trefoil-text"]),
    (
        "trefoil-memory",
        &["trefoil", "trefoil-core", "trefoil-memory-core", "trefoil-policy", "trefoil-text"],
    ),
    ("trefoil-eval", &["trefoil"]),
    ("trefoil-server", &["trefoil", "trefoil-eval", "trefoil-memory"]),
    (
        "trefoil-cli",
        &["trefoil", "trefoil-eval", "trefoil-memory", "trefoil-postgres", "trefoil-server"],
    ),
    ("trefoil-python", &["trefoil", "trefoil-cli", "trefoil-memory"]),
];

/// Which crates of the workspace may name a third-party crate.
const FOREIGN: [(&[&str], &[&str]); 12] = [
    (&["trefoil-text"], &["icu_segmenter", "lindera", "text-splitter", "unicode-normalization"]),
    (&["trefoil-store"], &["rusqlite"]),
    (&["trefoil-postgres"], &["rustls", "tokio-postgres", "tokio-postgres-rustls"]),
    (&["trefoil-keyword"], &["tantivy"]),
    (&["trefoil-semantic"], &["hnsw_rs"]),
    (&["trefoil-graph"], &["petgraph"]),
    (&["trefoil-model"], &["lindera-dictionary", "ort", "tokenizers"]),
    (&["trefoil-core", "trefoil-model"], &["ndarray"]),
    (&["trefoil"], &["ureq"]),
    (&["trefoil-cli"], &["clap", "anyhow"]),
    (&["trefoil-python"], &["pyo3", "numpy"]),
    (&["trefoil-server"], &["axum", "hyper", "hyper-util", "prometheus-client", "rmcp"]),
];

#[test]
fn dependencies_point_one_way() {
    let layers: BTreeMap<_, _> = LAYERS.into_iter().collect();
    for (name, dependencies) in manifests() {
        let allowed = layers.get(name.as_str()).unwrap_or_else(|| panic!("`{name}` has no layer"));
        for dependency in dependencies.iter().filter(|one| one.starts_with("trefoil")) {
            assert!(allowed.contains(&dependency.as_str()), "{name} depends on {dependency}");
        }
    }
}

#[test]
fn a_foreign_engine_is_named_by_its_owners_only() {
    for (name, dependencies) in manifests() {
        for (owners, crates) in FOREIGN {
            for dependency in dependencies.iter().filter(|one| crates.contains(&one.as_str())) {
                assert!(owners.contains(&name.as_str()), "{name} names {dependency}");
            }
        }
    }
}

#[test]
fn sources_are_shallow_and_modules_say_what_they_are() {
    for name in manifests().keys() {
        let source = root().join("crates").join(name).join("src");
        for file in files(&source) {
            let below = file.strip_prefix(&source).unwrap();
            assert!(below.components().count() <= 3, "{} is too deep", file.display());
            let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
            let vague = ["util", "utils", "common", "helper", "helpers", "misc"];
            assert!(!vague.contains(&stem.as_str()), "{} says nothing", file.display());
        }
    }
}

#[test]
fn the_architecture_page_is_short_and_names_every_crate() {
    let page = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    assert!(page.lines().count() < 200);
    for name in manifests().keys() {
        assert!(page.contains(&format!("`{name}`")), "ARCHITECTURE.md does not name {name}");
    }
}

#[test]
fn the_readme_has_two_commands() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for command in ["cargo run --release -- demo", "cargo test"] {
        assert!(readme.lines().any(|line| line.trim() == command), "README has no `{command}`");
    }
}

/// Most files right in one folder.
const FILES: usize = 24;
/// Most lines of a file, its tests left out.
const LINES: usize = 600;
/// Most files that use each other in a circle.
const CIRCLE: usize = 3;

#[test]
fn folders_fit_on_a_screen_and_files_are_one_idea() {
    for name in manifests().keys() {
        let source = root().join("crates").join(name).join("src");
        let mut folders: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for file in files(&source) {
            *folders.entry(file.parent().unwrap().to_owned()).or_default() += 1;
            let lines = code(&file).lines().count();
            assert!(lines <= LINES, "{} has {lines} lines", file.display());
        }
        for (folder, count) in folders {
            assert!(count <= FILES, "{} has {count} files", folder.display());
        }
    }
}

#[test]
fn files_do_not_go_round_in_circles() {
    for name in manifests().keys() {
        let uses = uses(&root().join("crates").join(name).join("src"));
        for start in uses.keys() {
            let there = reached(&uses, start);
            let circle: Vec<&String> =
                there.iter().filter(|other| reached(&uses, other).contains(start)).collect();
            assert!(circle.len() <= CIRCLE, "{name}: {circle:?} use each other");
        }
    }
}

/// The rooms of the engine, each after those that it may use.
const ROOMS: [&str; 6] = ["index", "graph", "search", "crag", "ingest", "admin"];

#[test]
fn rooms_of_the_engine_use_those_before_them_and_never_the_engine() {
    let source = root().join("crates/trefoil/src");
    for (place, room) in ROOMS.iter().enumerate() {
        for file in files(&source.join(room)) {
            let code = code(&file);
            for later in &ROOMS[place + 1..] {
                let path = format!("{later}::");
                let named = code.lines().any(|line| {
                    !line.trim_start().starts_with("//")
                        && line
                            .split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
                            .any(|word| word.trim_start_matches("crate::").starts_with(&path))
                });
                assert!(!named, "{} uses {later}", file.display());
            }
            let engine = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            let words = |line: &str| {
                line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "Engine")
            };
            assert!(!engine.into_iter().any(words), "{} names the engine", file.display());
        }
    }
}

#[test]
fn the_async_engine_has_what_the_engine_has() {
    let source = root().join("crates/trefoil/src");
    let there = fs::read_to_string(source.join("async_engine.rs")).unwrap();
    let mut engine = files(&source.join("engine"));
    engine.push(source.join("engine.rs"));
    for file in engine {
        let code = code(&file);
        let code = code.split("impl MemoryCollection").next().unwrap();
        for rest in code.split("    pub fn ").skip(1) {
            let name = rest.split(['(', '<']).next().unwrap();
            // Dropping the future of a search gives it up.
            let is_not_for_it = ["builder", "search_unless"].contains(&name);
            let has = is_not_for_it || there.contains(&format!(" {name}("));
            let generic = there.contains(&format!(" {name}<"));
            assert!(has || generic, "AsyncEngine has no {name}");
        }
    }
}

/// Files outside of their crates that may name a retriever: what assembles the default set, what
/// names folders, and what is about the graph only.
const ASSEMBLING: [&str; 3] = ["default_set.rs", "layout.rs", "index/open.rs"];

#[test]
fn only_what_assembles_them_names_the_retrievers() {
    let source = root().join("crates/trefoil/src");
    for file in files(&source) {
        let path = file.strip_prefix(&source).unwrap().to_string_lossy().replace('\\', "/");
        if ASSEMBLING.contains(&path.as_str()) || path.starts_with("graph/") {
            continue;
        }
        let code = code(&file);
        for id in ["RetrieverId::KEYWORD", "RetrieverId::SEMANTIC", "RetrieverId::GRAPH"] {
            assert!(!code.contains(id), "{path} names {id}");
        }
    }
}

/// Words with a private meaning that a search engineer would have to learn, with the standard
/// ones.
const PRIVATE_WORDS: [(&str, &str); 13] = [
    ("anew", "again, or `rebuild`"),
    ("belief", "confidence"),
    ("believed", "trusted, or a confidence"),
    ("beside", "next to, besides, or in parallel with"),
    ("checkup", "doctor options"),
    ("heldterms", "term coverage"),
    ("leaffiles", "index on disk"),
    ("leg", "retriever"),
    ("legs", "retrievers"),
    ("lest", "so that … not"),
    ("reread", "rerank"),
    ("succession", "model migration"),
    ("unheard", "ignored"),
];
/// Sources in which words of a language are data.
const WORD_LISTS: [&str; 1] = ["crates/trefoil-text/src/entity/english.rs"];

#[test]
fn prose_has_the_words_of_the_field() {
    let mut texts = vec![root().join("README.md")];
    texts.extend(files_of_type(&root().join("docs"), "md"));
    for name in manifests().keys() {
        texts.extend(files(&root().join("crates").join(name).join("src")));
    }
    for path in texts {
        if WORD_LISTS.iter().any(|list| path.ends_with(list)) {
            continue;
        }
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let line = line.to_lowercase();
            let words: BTreeSet<&str> = line.split(|c: char| !c.is_alphanumeric()).collect();
            for (private, instead) in PRIVATE_WORDS {
                let place = format!("{}:{}", path.display(), number + 1);
                assert!(!words.contains(private), "{place}: `{private}`: say {instead}");
            }
        }
    }
}

/// The crates and what each depends on, development dependencies left out.
fn manifests() -> BTreeMap<String, Vec<String>> {
    let mut manifests = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        let names = dependencies.map(|table| table.keys().cloned().collect()).unwrap_or_default();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(manifest["package"]["name"].as_str(), Some(name.as_str()));
        manifests.insert(name, names);
    }
    manifests
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    files_of_type(folder, "rs")
}

fn files_of_type(folder: &Path, wanted: &str) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { files_of_type(&path, wanted) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == wanted))
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}
