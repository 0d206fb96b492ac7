use std::{
    fs,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use trefoil_core::{Error, Result};

use crate::{
    card::{Card, ModelRole},
    file,
    manifest::{Entry, Manifest, RUNTIME},
    model::{Model, ModelSource},
    session::Runtime,
};

/// The folder that models are kept in.
///
/// ```text
/// runtime/onnxruntime-<version>/   the library
/// models/<name>/                   model.onnx, tokenizer.json, and what is made of them
/// dictionaries/<name>/             the parts of a compiled dictionary
/// hub/<owner>--<name>/             model.onnx, tokenizer.json and card.toml, from Hugging Face
/// downloads/                       packages until they are unpacked
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelHome {
    root: PathBuf,
}

/// What is known of a model of the manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelStatus {
    /// What it is and how it was published.
    pub card: Card,
    /// Version of the package that it comes in.
    pub version: String,
    /// Bytes on disk once it is there.
    pub size: u64,
    /// Where it is or would be.
    pub path: PathBuf,
    /// Whether every file is there with the right size.
    pub present: bool,
}

impl ModelHome {
    /// `trefoil` in the cache folder of the platform, such as `~/.cache/trefoil`.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] where the user has no home folder.
    pub fn platform() -> Result<Self> {
        let retriever = etcetera::choose_base_strategy().map_err(|error| Error::ModelMissing {
            name: RUNTIME.to_owned(),
            reason: format!("there is no cache folder ({error}); choose a folder for the models"),
        })?;
        Ok(Self::at(retriever.cache_dir().join("trefoil")))
    }

    /// A folder of the caller's choice, which need not exist.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The models of the manifest that this system can use, in a fixed order.
    pub fn list(&self) -> Result<Vec<ModelStatus>> {
        Ok(Manifest::built_in()?.entries().map(|entry| self.status(entry)).collect())
    }

    /// Where the files of a model are.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if the name is unknown or a file is absent or incomplete.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        self.present(Manifest::built_in()?.entry(name)?)
    }

    /// Reads every byte of a model and compares it with the pinned checksums.
    ///
    /// # Errors
    /// [`Error::ModelMissing`], [`Error::Checksum`], [`Error::Io`].
    pub fn verify(&self, name: &str) -> Result<ModelStatus> {
        let entry = Manifest::built_in()?.entry(name)?;
        self.check_files(entry)?;
        if entry.card.role.is_model() {
            Model::open(self, &ModelSource::Name(name.to_owned()), 1)?.0.check_derived()?;
        }
        Ok(self.status(entry))
    }

    /// The runtime that is there.
    pub(crate) fn runtime(&self) -> Result<Runtime> {
        let entry = Manifest::built_in()?.entry(RUNTIME)?;
        let folder = self.present(entry)?;
        let library = entry.files.first().map_or(folder.clone(), |file| folder.join(&file.name));
        Ok(Runtime { library, version: entry.source.version().to_owned() })
    }

    /// The folder of an entry, if every file is there with the right size.
    pub(crate) fn present(&self, entry: &Entry) -> Result<PathBuf> {
        let folder = self.folder(entry);
        for file in &entry.files {
            let path = folder.join(&file.name);
            let reason = match fs::metadata(&path) {
                Ok(found) if found.len() == file.size => continue,
                Ok(found) => format!(
                    "`{}` has {} bytes, expected {}",
                    path.display(),
                    found.len(),
                    file.size
                ),
                Err(error) => format!("no `{}`: {error}", path.display()),
            };
            return Err(Error::ModelMissing { name: entry.card.name.clone(), reason });
        }
        Ok(folder)
    }

    /// Compares every file of an entry with its checksum.
    pub(crate) fn check_files(&self, entry: &Entry) -> Result<()> {
        let folder = self.present(entry)?;
        for file in &entry.files {
            let path = folder.join(&file.name);
            let found = file::sha256_of_file(&path)?;
            file::check_sha256(&path, file, found)?;
        }
        Ok(())
    }

    pub(crate) fn folder(&self, entry: &Entry) -> PathBuf {
        self.root.join(entry.folder())
    }

    fn status(&self, entry: &Entry) -> ModelStatus {
        ModelStatus {
            card: entry.card.clone(),
            version: entry.source.version().to_owned(),
            size: entry.size(),
            path: self.folder(entry),
            present: self.present(entry).is_ok(),
        }
    }
}

impl ModelStatus {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.card.name
    }

    /// What it is for.
    pub fn role(&self) -> ModelRole {
        self.card.role
    }
}
