use std::{
    fs, io,
    path::{Path, PathBuf},
};

use hf_hub::{
    Repo, RepoType,
    api::{
        Progress,
        sync::{ApiBuilder, ApiRepo},
    },
};
use trefoil_core::{Error, Part, Result};

use crate::{
    card::{Card, is_plain_name},
    file::{sha256_of_file, write_whole},
    home::ModelHome,
    progress::PullProgress,
    pull::PullOptions,
};

/// A model of a Hugging Face repository, with what has to be known to run it.
#[derive(Clone, Debug, PartialEq)]
pub struct HubModel {
    /// `owner/name`.
    pub repository: String,
    /// A branch, tag or commit; only a commit always means the same files.
    pub revision: String,
    /// Path of the ONNX file in the repository, often `onnx/model.onnx`; its weights
    /// are inside it.
    pub model_file: String,
    /// Its card; the checksum is filled in if it has none.
    pub card: Card,
}

impl ModelHome {
    /// Brings a model of a Hugging Face repository into the folder, unless it is there,
    /// and returns the folder to open it from, as
    /// [`ModelSource::Folder`](crate::ModelSource::Folder). The environment variables
    /// `HF_ENDPOINT` and `HF_HOME` (for its token) are honoured by the `hf-hub` crate.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] for a bad name or card, [`Error::ModelMissing`] if
    /// fetching is off or fails, [`Error::Checksum`], of which nothing is kept.
    pub fn pull_from_hub(
        &self,
        model: &HubModel,
        progress: &dyn PullProgress,
        options: PullOptions,
    ) -> Result<PathBuf> {
        let folder = self.root().join("hub").join(folder_name(model)?);
        // The card is written last: with it, the model is whole.
        let card_path = folder.join("card.toml");
        if Card::read(&card_path).is_ok() {
            return Ok(folder);
        }
        let missing =
            |reason: String| Error::ModelMissing { name: model.repository.clone(), reason };
        if options.offline {
            return Err(missing(format!(
                "it is not in `{}`, and fetching is off",
                folder.display()
            )));
        }
        let _lock = self.lock()?;
        if Card::read(&card_path).is_ok() {
            return Ok(folder);
        }
        fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, error))?;
        let cache = folder.join("partial");
        let fetched = fetch(&cache, model, progress, &missing).and_then(|[weights, tokenizer]| {
            place(&tokenizer, &folder.join("tokenizer.json"))?;
            let path = folder.join("model.onnx");
            let found = sha256_of_file(&weights)?;
            if let Some(expected) = model.card.sha256.clone().filter(|expected| *expected != found)
            {
                return Err(Error::Checksum { path, expected, found });
            }
            place(&weights, &path)?;
            let card = Card { sha256: Some(found), ..model.card.clone() };
            let card = toml::to_string(&card)
                .map_err(|e| Error::backend(Part::Model, "write its card", e))?;
            write_whole(&card_path, card.as_bytes())
        });
        if !matches!(fetched, Err(Error::ModelMissing { .. })) {
            // Kept only when the connection broke: the next pull goes on from there.
            let _ = fs::remove_dir_all(&cache);
        }
        fetched.map(|()| folder)
    }
}

/// The two files, as they are in the cache of `hf-hub`.
fn fetch(
    cache: &Path,
    model: &HubModel,
    progress: &dyn PullProgress,
    missing: &dyn Fn(String) -> Error,
) -> Result<[PathBuf; 2]> {
    let api = ApiBuilder::from_env()
        .with_cache_dir(cache.to_owned())
        .with_progress(false)
        .build()
        .map_err(|error| missing(error.to_string()))?;
    let repo =
        Repo::with_revision(model.repository.clone(), RepoType::Model, model.revision.clone());
    let repo: ApiRepo = api.repo(repo);
    let fetch = |file: &str| {
        let told = Told { progress, done: 0 };
        repo.download_with_progress(file, told)
            .map_err(|error| missing(format!("`{file}`: {error}")))
    };
    Ok([fetch(&model.model_file)?, fetch("tokenizer.json")?])
}

/// Moves a fetched file, which the cache links to, to its place.
fn place(fetched: &Path, path: &Path) -> Result<()> {
    let place = || -> io::Result<()> {
        let file = fs::canonicalize(fetched)?;
        fs::File::open(&file)?.sync_all()?;
        fs::rename(file, path)
    };
    place().map_err(|error| Error::io("write", path, error))
}

/// `owner--name`, once the names are known to be plain.
fn folder_name(model: &HubModel) -> Result<String> {
    let invalid = |field, value: &str, allowed| Error::InvalidConfig {
        field,
        value: value.to_owned(),
        allowed,
    };
    let HubModel { repository, revision, model_file, card } = model;
    card.check().map_err(|reason| invalid("card", &card.name, reason))?;
    if !is_plain_name(revision) {
        return Err(invalid("revision", revision, "a plain branch, tag or commit"));
    }
    if !model_file.split('/').all(is_plain_name) {
        return Err(invalid("model_file", model_file, "a path inside the repository"));
    }
    match repository.split_once('/') {
        Some((owner, name)) if is_plain_name(owner) && is_plain_name(name) => {
            Ok(format!("{owner}--{name}"))
        }
        _ => Err(invalid("repository", repository, "`owner/name`")),
    }
}

/// Passes on the progress of `hf-hub`.
struct Told<'a> {
    progress: &'a dyn PullProgress,
    done: u64,
}

impl Progress for Told<'_> {
    fn init(&mut self, size: usize, filename: &str) {
        self.done = 0;
        self.progress.begin(&format!("fetch {filename}"), size as u64);
    }

    fn update(&mut self, size: usize) {
        self.done += size as u64;
        self.progress.advance(self.done);
    }

    fn finish(&mut self) {}
}
