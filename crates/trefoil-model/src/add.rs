//! Models of one's own: from a Hugging Face repository or a folder into the folder of models.

mod probe;
mod repository;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::Serialize;
use trefoil_core::{Error, Result};

pub use self::probe::{LanguageCheck, ModelCheck, TranslationCheck};
use self::{probe::checked, repository::Repository};
use crate::{
    card::{Card, is_plain_name},
    draft::{AddOptions, Draft, draft, onnx_file, onnx_header::OnnxHeader},
    file::{self, partial, sha256_of_file, write_whole},
    home::{CARD, ModelHome},
    manifest::Manifest,
    progress::PullProgress,
    pull::PullOptions,
};

/// Where a model that is added is: `hf:owner/name`, `hf:owner/name@revision`, or a folder.
///
/// ```
/// use trefoil_model::AddSource;
///
/// let source: AddSource = "hf:intfloat/e5-base-v2".parse()?;
/// assert!(matches!(source, AddSource::Hub { revision, .. } if revision == "main"));
/// assert!(matches!("models/e5".parse()?, AddSource::Folder(_)));
/// assert!("hf:e5".parse::<AddSource>().is_err());
/// # Ok::<(), trefoil_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddSource {
    /// A folder with the files of a repository, such as what an export wrote.
    Folder(PathBuf),
    /// A repository of Hugging Face.
    Hub {
        /// `owner/name`.
        repository: String,
        /// A branch, tag or commit.
        revision: String,
    },
}

/// A model that was added.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AddedModel {
    /// Its card, with what was measured.
    pub card: Card,
    /// Where it is.
    pub path: PathBuf,
    /// What its files do not say, or was assumed, a sentence each, with the option to set it by;
    /// and what the check found wanting.
    pub remarks: Vec<String>,
    /// What was measured.
    pub check: ModelCheck,
}

impl FromStr for AddSource {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some(rest) = text.strip_prefix("hf:") else {
            return Ok(Self::Folder(PathBuf::from(text)));
        };
        let (repository, revision) = rest.split_once('@').unwrap_or((rest, "main"));
        let is_repository = repository
            .split_once('/')
            .is_some_and(|(owner, name)| is_plain_name(owner) && is_plain_name(name));
        if !is_repository || !is_plain_name(revision) {
            let allowed = "hf:owner/name, hf:owner/name@revision, or a folder";
            return Err(Error::invalid_config("model", text, allowed));
        }
        Ok(Self::Hub { repository: repository.to_owned(), revision: revision.to_owned() })
    }
}

impl ModelHome {
    /// Adds a model of one's own: drafts its card from its files, checks it by texts in three
    /// languages, measures the ranges that the card has not, and keeps it under the name of the
    /// card. From then on it is used by that name. Whatever fails, no model is kept; what was
    /// fetched is, in `downloads`, where another try may use it.
    ///
    /// The environment variables `HF_ENDPOINT` and `HF_HOME` (for its token) are honoured by the
    /// `hf-hub` crate.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if the runtime, the repository or a file is not there,
    /// [`Error::ModelUnusable`] for a model of a kind that is not run or that does not tell texts
    /// apart, [`Error::Corrupt`] for a damaged file, [`Error::InvalidConfig`] for an option or a
    /// name that does not fit, [`Error::EmbeddingFailed`] and [`Error::RerankFailed`] for numbers
    /// that are not finite.
    pub fn add(
        &self,
        source: &AddSource,
        options: &AddOptions,
        progress: &dyn PullProgress,
        pull: PullOptions,
    ) -> Result<AddedModel> {
        self.runtime()?;
        let _lock = self.lock()?;
        let repository = Repository::open(self, source, progress, pull)?;
        let added = self.add_from(&repository, options, progress);
        // What was fetched stays for the next time where a connection broke, or where another
        // option may help.
        let is_of_no_use = |error: &Error| {
            matches!(error, Error::Checksum { .. } | Error::Corrupt { .. } | Error::Io { .. })
        };
        if added.as_ref().err().is_none_or(is_of_no_use) {
            repository.clean_up();
        }
        added
    }

    /// Drafts the card of a model and says what its files do not, without keeping anything.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn draft(
        &self,
        source: &AddSource,
        options: &AddOptions,
        progress: &dyn PullProgress,
        pull: PullOptions,
    ) -> Result<Draft> {
        let _lock = self.lock()?;
        drafted(&Repository::open(self, source, progress, pull)?, options)
    }

    fn add_from(
        &self,
        repository: &Repository<'_>,
        options: &AddOptions,
        progress: &dyn PullProgress,
    ) -> Result<AddedModel> {
        let Draft { mut card, files, unknown: mut remarks } = drafted(repository, options)?;
        let folder = self.free_folder(&card.name)?;
        for file in &files {
            repository.fetch(&file.from)?;
        }
        let staging = partial(&folder);
        file::empty_folder(&staging)?;
        let outcome = (|| {
            for file in &files {
                let to = staging.join(&file.name);
                repository.place(&file.from, &to)?;
                let sha256 = sha256_of_file(&to)?;
                if file.name == "model.onnx" {
                    check_pin(&to, card.sha256.as_ref(), &sha256)?;
                    card.sha256 = Some(sha256);
                } else if let Some(noted) =
                    card.files.iter_mut().find(|noted| noted.name == file.name)
                {
                    noted.sha256 = Some(sha256);
                }
            }
            let check = checked(self, &mut card, &staging, progress, &mut remarks)?;
            let text = toml::to_string(&card).map_err(|error| {
                Error::backend(trefoil_core::Part::Model, "write its card", error)
            })?;
            write_whole(&staging.join(CARD), text.as_bytes())?;
            fs::rename(&staging, &folder).map_err(|error| Error::io("move", &folder, error))?;
            Ok(check)
        })();
        // After the rename there is nothing to remove.
        let _ = fs::remove_dir_all(&staging);
        Ok(AddedModel { card, path: folder, remarks, check: outcome? })
    }

    /// The folder of a new model of this name.
    fn free_folder(&self, name: &str) -> Result<PathBuf> {
        let taken = Manifest::built_in()?.entries().any(|entry| entry.card.name == name);
        let folder = self.root().join("models").join(name);
        let allowed = "a name that no model has; set `--name`, or remove the other with `trefoil \
                       models remove`";
        Error::check_config(!taken && !folder.exists(), "name", name, allowed)?;
        Ok(folder)
    }

    /// Removes a model that is here: one that was added is gone, one of the manifest can be
    /// pulled again.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if there is none of this name, [`Error::Io`].
    pub fn remove(&self, name: &str) -> Result<PathBuf> {
        let folder = match Manifest::built_in()?.entry(name) {
            Ok(entry) => self.present(entry)?,
            Err(missing) => self.added_folder(name).ok_or(missing)?,
        };
        let _lock = self.lock()?;
        // Without its card a model that was added is none.
        let card = folder.join(CARD);
        let removed = if card.exists() { fs::remove_file(&card) } else { Ok(()) };
        removed
            .and_then(|()| fs::remove_dir_all(&folder))
            .map_err(|error| Error::io("remove", &folder, error))?;
        Ok(folder)
    }
}

fn drafted(repository: &Repository<'_>, options: &AddOptions) -> Result<Draft> {
    let mut contents = repository.contents()?;
    for name in contents.wanted() {
        let path = repository.fetch(&name)?;
        let bytes = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
        contents.insert(name, String::from_utf8_lossy(&bytes));
    }
    let onnx = onnx_file::choose(&contents, options.file.as_deref())?;
    let path = repository.fetch(&onnx)?;
    let file = File::open(&path).map_err(|error| Error::io("open", &path, error))?;
    let header = OnnxHeader::read(file).map_err(|reason| contents.damaged(&onnx, reason))?;
    draft(&contents, &onnx, &header, options)
}

/// Compares the checksum of a file with the one that a card has, if it has one.
fn check_pin(path: &Path, expected: Option<&String>, found: &str) -> Result<()> {
    match expected {
        Some(expected) if expected != found => Err(Error::Checksum {
            path: path.to_owned(),
            expected: expected.clone(),
            found: found.to_owned(),
        }),
        _ => Ok(()),
    }
}
