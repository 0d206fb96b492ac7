//! Rules of the source tree that the compiler does not check.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Which crates of the workspace a crate may depend on.
const LAYERS: [(&str, &[&str]); 11] = [
    ("trefoil-core", &[]),
    ("trefoil-text", &["trefoil-core"]),
    ("trefoil-store", &["trefoil-core"]),
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
    ("trefoil-memory", &["trefoil", "trefoil-core", "trefoil-text"]),
    ("trefoil-eval", &["trefoil"]),
    ("trefoil-cli", &["trefoil", "trefoil-eval", "trefoil-memory"]),
];

/// Which crates of the workspace may name a foreign crate.
const FOREIGN: [(&[&str], &[&str]); 9] = [
    (&["trefoil-text"], &["icu_segmenter", "lindera", "text-splitter", "unicode-normalization"]),
    (&["trefoil-store"], &["rusqlite"]),
    (&["trefoil-keyword"], &["tantivy"]),
    (&["trefoil-semantic"], &["hnsw_rs"]),
    (&["trefoil-graph"], &["petgraph"]),
    (&["trefoil-model"], &["lindera-dictionary", "ort", "tokenizers"]),
    (&["trefoil-core", "trefoil-model"], &["ndarray"]),
    (&["trefoil"], &["ureq"]),
    (&["trefoil-cli"], &["clap", "anyhow", "axum", "rmcp"]),
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

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
