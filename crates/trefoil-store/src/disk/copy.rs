use std::path::Path;

use trefoil_core::{Error, Result, make_private};

use crate::{
    disk::{
        fork::Use,
        migration::{self, Format},
        pages,
    },
    fault::fault,
    store::{file_in, open_reader},
};

/// Writes what the store in the directory `from` holds now, whatever version wrote it, into a new
/// one in the directory `to`: page by page in order and without what was deleted, so that the same content is the
/// same bytes.
///
/// # Errors
/// [`Error::Corrupt`](trefoil_core::Error::Corrupt) if it is damaged, a full disk, or there is
/// a store in `to`.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let (from, to) = (&file_in(from), &file_in(to));
    let copy = || {
        let _use = Use::begin();
        let reader = open_reader(from)?;
        pages::reserve(&reader)?;
        reader.execute("VACUUM INTO ?1", [to.to_string_lossy()])
    };
    copy().map_err(|error| fault(to, "copy the store", error))?;
    make_private(to).map_err(|error| Error::io("make private", to, error))
}

/// True if an older version wrote the store in `dir`, so that it has to be brought up to date
/// before it is read.
///
/// # Errors
/// The file cannot be read.
pub fn is_older(dir: &Path) -> Result<bool> {
    let path = &file_in(dir);
    let _use = Use::begin();
    let format = || migration::format(&open_reader(path)?);
    let format = format().map_err(|error| fault(path, "open", error))?;
    Ok(matches!(format, Format::Old(_)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trefoil_core::Seq;

    use super::*;
    use crate::{
        Access, Store, SystemClock,
        fixture::{Fixture, file},
    };

    #[test]
    fn a_copy_is_the_same_for_the_same_content_and_holds_nothing_that_was_removed() {
        let fixture = Fixture::new();
        fixture.put(&file("a", &["walrus"]));
        fixture.put(&file("b", &["heron"]));
        fixture.store.remove_file("b").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let copies = ["one", "two"].map(|name| {
            let to = folder.path().join(name);
            std::fs::create_dir(&to).unwrap();
            copy(fixture.dir(), &to).unwrap();
            to
        });
        let bytes = copies.clone().map(|dir| std::fs::read(file_in(&dir)).unwrap());
        assert_eq!(bytes[0], bytes[1]);
        let holds = |word: &[u8]| bytes[0].windows(word.len()).any(|window| window == word);
        assert!(holds(b"walrus") && !holds(b"heron"));
        assert!(copy(fixture.dir(), &copies[0]).is_err());
        assert!(!is_older(&copies[0]).unwrap());
        let copied = Store::open(&copies[0], Access::ReadOnly, Arc::new(SystemClock)).unwrap();
        assert_eq!(copied.verify().unwrap(), []);
        let changes = |store: &Store| store.changes(Seq::ZERO, 99).unwrap();
        assert_eq!(changes(&copied), changes(&fixture.store));
    }
}
