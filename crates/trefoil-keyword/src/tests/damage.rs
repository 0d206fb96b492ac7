//! What is damaged is never searched.

use std::io::Write;

use super::*;

#[test]
fn damaged_files_are_reported_and_never_searched() {
    let Fixture { dir, indexer, retriever } =
        Fixture::new(&[text(1, "tide turns"), text(2, "low tide")]);
    drop((indexer, retriever));
    let files = || -> Vec<PathBuf> {
        let mut files: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| fs::metadata(file).unwrap().len() > 0);
        files.sort();
        files
    };
    let segment_files = files()
        .into_iter()
        .filter(|file| file.extension().is_some_and(|e| e != "json" && e != "lock"));
    let segment_files: Vec<_> = segment_files.collect();
    assert!(segment_files.len() >= 4);
    for file in &segment_files {
        let whole = fs::read(file).unwrap();
        for at in [0, whole.len() / 2, whole.len() - 1] {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            check_damage(dir.path(), file, Some(&flipped));
        }
        check_damage(dir.path(), file, Some(&whole[..whole.len() / 2]));
        check_damage(dir.path(), file, None);
        fs::write(file, &whole).unwrap();
    }
    fs::write(dir.path().join("meta.json"), "{").unwrap();
    assert!(is_corrupt(&open(dir.path()).unwrap_err()));
}

/// The writer does not open a directory with this content of `file`, and a reader does not, or
/// fails with what it would read of it, or answers as if nothing was.
fn check_damage(dir: &Path, file: &Path, content: Option<&[u8]>) {
    match content {
        Some(bytes) => fs::write(file, bytes).unwrap(),
        None => fs::remove_file(file).unwrap(),
    }
    let what = format!("{} {:?}", file.display(), content.map(<[u8]>::len));
    for (asked, expected) in [("tide", &[2, 1][..]), ("low tide", &[2, 1]), ("turns", &[1])] {
        let question = Question { text: asked.into(), ..Question::default() };
        let answer =
            open_reader(dir).and_then(|reader| reader.retrieve(&question, 100, &only([1, 2])));
        match answer {
            Ok(list) => assert_eq!(rows(&list), expected, "{what} {asked}"),
            Err(error) => assert!(is_corrupt(&error), "{what}: {error:?}"),
        }
    }
    let error = open(dir).expect_err(&what);
    assert!(is_corrupt(&error), "{what}: {error:?}");
}

#[test]
fn damage_that_a_question_finds_fails_it_until_the_index_is_built_again() {
    let entries = [text(1, "tide turns"), text(2, "low tide")];
    let Fixture { dir, mut indexer, retriever } = Fixture::new(&entries);
    assert!(!indexer.damaged());
    let dictionary = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let dictionary = dictionary.filter(|path| path.extension().is_some_and(|e| e == "term"));
    // In place: the file is mapped.
    let mut file = fs::File::options().write(true).open(dictionary.last().unwrap()).unwrap();
    file.write_all(b"?????").unwrap();
    let question = Question { text: "tide".into(), ..Question::default() };
    for _ in 0..2 {
        let error = retriever.retrieve(&question, 9, &Allowed::All).unwrap_err();
        assert!(is_corrupt(&error), "{error:?}");
    }
    assert!(indexer.damaged());
    indexer.clear().unwrap();
    assert!(!indexer.damaged());
    indexer.add(&entries).unwrap();
    indexer.commit(Seq::new(2)).unwrap();
    let retriever = retriever.newest().unwrap().unwrap();
    assert_eq!(rows(&ask(&retriever, "tide", &Allowed::All)), [1, 2]);
    assert!(!indexer.damaged());
}
