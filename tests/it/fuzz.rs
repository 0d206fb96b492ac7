//! What the fuzzer started from and what it found, run through the same functions.

#[path = "../fuzz/src/targets.rs"]
mod targets;

use std::{fs, path::Path};

#[test]
fn nothing_that_was_found_fails_again() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/fuzz");
    for (name, target) in targets::TARGETS {
        let folder = fs::read_dir(fixtures.join(name)).unwrap();
        let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has nothing to start from");
        for file in files {
            println!("{}", file.display());
            target(&fs::read(file).unwrap());
        }
    }
}
