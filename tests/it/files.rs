//! Files of an index that may be in use: a merge in the background removes some at any time.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// What was read, or none if it is gone by now.
fn unless_gone<T>(read: std::io::Result<T>) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("{error}"),
    }
}

/// A file, or a folder with all that is below it, and what the file system says of each; by path.
pub(crate) fn entries(path: &Path) -> Vec<(PathBuf, fs::Metadata)> {
    let Some(metadata) = unless_gone(fs::symlink_metadata(path)) else { return Vec::new() };
    let listed = metadata.is_dir().then(|| unless_gone(fs::read_dir(path))).flatten();
    let below = listed.into_iter().flatten().flat_map(|entry| entries(&entry.unwrap().path()));
    let mut found: Vec<_> = below.collect();
    found.push((path.to_owned(), metadata));
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// A file, or every file below a folder, by path.
pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    let entries = entries(path).into_iter();
    entries.filter(|(_, metadata)| !metadata.is_dir()).map(|(path, _)| path).collect()
}

/// The bytes of a file, or of every file below a folder.
pub(crate) fn contents(path: &Path) -> impl Iterator<Item = (PathBuf, Vec<u8>)> {
    files(path).into_iter().filter_map(|path| unless_gone(fs::read(&path)).map(|read| (path, read)))
}

/// Copies a folder with what is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            unless_gone(fs::copy(entry.path(), target));
        }
    }
}
