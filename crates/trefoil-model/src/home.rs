use std::{
    fs,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use trefoil_core::{Error, Result};

use crate::{
    card::{Card, ModelRole, is_plain_name},
    file,
    manifest::{Entry, Manifest, RUNTIME},
    model::{Model, ModelSource},
    session::Runtime,
};

/// Name of the file with the card of a model that was added.
pub(crate) const CARD: &str = "card.toml";

/// The folder that models are kept in.
///
/// ```text
/// runtime/onnxruntime-<version>/   the library
/// models/<name>/                   model.onnx, tokenizer.json, and what is made of them; of a
///                                  model that was added, card.toml and what else it needs
/// dictionaries/<name>/             the parts of a compiled dictionary
/// downloads/                       packages until they are unpacked
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelHome {
    root: PathBuf,
}

/// What is known of a model of the manifest, or of one that was added.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelStatus {
    /// What it is and how it was published.
    pub card: Card,
    /// Version of the package that it comes in; the commit, or `local`, of one that was added.
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

    /// The models of the manifest that this system can use, in a fixed order, and those that were
    /// added, by name. One whose card cannot be read is left out.
    pub fn list(&self) -> Result<Vec<ModelStatus>> {
        let manifest = Manifest::built_in()?.entries().map(|entry| self.status(entry));
        let folders = fs::read_dir(self.root.join("models")).into_iter().flatten().flatten();
        let mut added: Vec<ModelStatus> = folders
            .filter_map(|entry| self.added_folder(&entry.file_name().to_string_lossy()))
            .filter_map(|folder| added_status(Card::read(&folder.join(CARD)).ok()?, folder).ok())
            .collect();
        added.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(manifest.chain(added).collect())
    }

    /// Where the files of a model are.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if the name is unknown or a file is absent or incomplete.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        self.find(name).map(|(_, folder, _)| folder)
    }

    /// Reads every byte of a model and compares it with the pinned checksums.
    ///
    /// # Errors
    /// [`Error::ModelMissing`], [`Error::Checksum`], [`Error::Io`].
    pub fn verify(&self, name: &str) -> Result<ModelStatus> {
        let entry = match Manifest::built_in()?.entry(name) {
            Ok(entry) => entry,
            Err(missing) => {
                let folder = self.added_folder(name).ok_or(missing)?;
                let card = Card::read(&folder.join(CARD))?;
                let mut pins = vec![("model.onnx", card.sha256.as_ref())];
                pins.extend(card.files.iter().map(|one| (one.name.as_str(), one.sha256.as_ref())));
                for (file, expected) in pins {
                    let path = folder.join(file);
                    let found = file::sha256_of_file(&path)?;
                    if let Some(expected) = expected.filter(|expected| **expected != found) {
                        let expected = expected.clone();
                        return Err(Error::Checksum { path, expected, found });
                    }
                }
                Model::open(self, &ModelSource::Name(name.to_owned()), 1)?.0.check_derived()?;
                return added_status(card, folder);
            }
        };
        self.check_files(entry)?;
        if entry.card.role.is_model() {
            Model::open(self, &ModelSource::Name(name.to_owned()), 1)?.0.check_derived()?;
        }
        Ok(self.status(entry))
    }

    /// Card, folder and SHA-256 of the tokenizer, where it is known, of a model by its name: one
    /// of the manifest, or one that was added.
    ///
    /// # Errors
    /// [`Error::ModelMissing`], [`Error::Corrupt`] for a bad card.
    pub(crate) fn find(&self, name: &str) -> Result<(Card, PathBuf, Option<String>)> {
        let entry = match Manifest::built_in()?.entry(name) {
            Ok(entry) => entry,
            Err(missing) => {
                let folder = self.added_folder(name).ok_or(missing)?;
                return Ok((Card::read(&folder.join(CARD))?, folder, None));
            }
        };
        let sha256 = |name| entry.file(name).map(|file| file.sha256.clone());
        let card = Card { sha256: sha256("model.onnx"), ..entry.card.clone() };
        Ok((card, self.present(entry)?, sha256("tokenizer.json")))
    }

    /// The folder of a model that was added under this name, if there is one.
    pub(crate) fn added_folder(&self, name: &str) -> Option<PathBuf> {
        let folder = self.root.join("models").join(name);
        (is_plain_name(name) && folder.join(CARD).exists()).then_some(folder)
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
            let name = entry.card.name.clone();
            let reason = format!("{reason}; {}", Manifest::next_step(&name));
            return Err(Error::ModelMissing { name, reason });
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

/// What is known of a model that was added.
fn added_status(card: Card, path: PathBuf) -> Result<ModelStatus> {
    let names = ["model.onnx", "tokenizer.json"].into_iter();
    let names = names.chain(card.files.iter().map(|file| file.name.as_str()));
    let mut size = 0;
    for name in names {
        let file = path.join(name);
        size += fs::metadata(&file).map_err(|error| Error::io("look at", file, error))?.len();
    }
    let version = if card.revision.is_empty() { "local" } else { &card.revision }.to_owned();
    Ok(ModelStatus { card, version, size, path, present: true })
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
