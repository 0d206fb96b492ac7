//! Dictionaries of `MeCab`, compiled as the analyser reads them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use lindera_dictionary::{builder::DictionaryBuilder, dictionary::metadata::Metadata};
use trefoil_core::{Error, Part, Result};

/// Compiles the dictionary `name` from its sources, a compressed tar file, in the empty
/// folder `work`; the contents of the files of these names.
///
/// # Errors
/// [`Error::ModelMissing`] if the dictionary is none that is known, [`Error::Backend`] if
/// its sources cannot be compiled, [`Error::Io`].
pub(crate) fn compile<'n>(
    name: &str,
    sources: &[u8],
    files: impl Iterator<Item = &'n str>,
    work: &Path,
) -> Result<Vec<Vec<u8>>> {
    let (from, to) = (work.join("sources"), work.join("compiled"));
    unpack(sources, &from).map_err(|error| Error::io("unpack a dictionary into", &from, error))?;
    DictionaryBuilder::new(metadata(name)?)
        .build_dictionary(&from, &to)
        .map_err(|error| Error::backend(Part::Model, "compile a dictionary", error))?;
    files
        .map(|file| {
            let path = to.join(file);
            fs::read(&path).map_err(|error| Error::io("read", path, error))
        })
        .collect()
}

/// Fields, encoding and costs of a dictionary, as lindera publishes them.
fn metadata(name: &str) -> Result<Metadata> {
    let text = match name {
        "ipadic" => include_str!("../../../../models/ipadic.json"),
        "ko-dic" => include_str!("../../../../models/ko-dic.json"),
        _ => {
            let reason = "its fields are not known".to_owned();
            return Err(Error::ModelMissing { name: name.to_owned(), reason });
        }
    };
    serde_json::from_str(text)
        .map_err(|error| Error::backend(Part::Model, "read the fields of a dictionary", error))
}

/// Writes the tables of the archive's one folder into a new one. Those of folders in it are
/// examples for users' own words.
fn unpack(sources: &[u8], folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut archive = tar::Archive::new(GzDecoder::new(sources));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let is_table = path.extension().is_some_and(|end| end == "csv" || end == "def")
            && path.components().count() == 2;
        if let Some(name) = path.file_name().filter(|_| is_table) {
            let to: PathBuf = folder.join(name);
            io::copy(&mut entry, &mut fs::File::create(to)?)?;
        }
    }
    Ok(())
}
