//! A repository of Hugging Face.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use hf_hub::{
    Repo, RepoType,
    api::{
        Progress,
        sync::{Api, ApiBuilder, ApiRepo},
    },
};
use trefoil_core::{Error, Result};

use crate::{
    card::is_plain_name, draft::Contents, home::ModelHome, progress::PullProgress,
    pull::PullOptions,
};

/// One commit of a repository, whose files are fetched when they are asked for.
pub(crate) struct HubRepository<'a> {
    name: String,
    commit: String,
    names: Vec<String>,
    files: ApiRepo,
    cache: PathBuf,
    progress: &'a dyn PullProgress,
}

impl<'a> HubRepository<'a> {
    /// Asks for the names of its files.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if fetching is off, or the repository is not there.
    pub(crate) fn open(
        home: &ModelHome,
        repository: &str,
        revision: &str,
        progress: &'a dyn PullProgress,
        options: PullOptions,
    ) -> Result<Self> {
        let missing =
            |reason: String| Error::ModelMissing { name: format!("hf:{repository}"), reason };
        if options.offline {
            return Err(missing("fetching is off; allow it, or give a folder".to_owned()));
        }
        let cache = home.root().join("downloads").join("hub").join(repository.replace('/', "--"));
        let api: Api = ApiBuilder::from_env()
            .with_cache_dir(cache.clone())
            .with_progress(false)
            .build()
            .map_err(|error| missing(error.to_string()))?;
        let at = |revision: &str| {
            let name = repository.to_owned();
            api.repo(Repo::with_revision(name, RepoType::Model, revision.to_owned()))
        };
        let info = at(revision).info().map_err(|error| {
            missing(format!("`{revision}`: {error}; check its name and the network"))
        })?;
        // A branch may move while its files are fetched.
        let commit = if is_plain_name(&info.sha) { info.sha } else { revision.to_owned() };
        Ok(Self {
            name: repository.to_owned(),
            files: at(&commit),
            commit,
            names: info.siblings.into_iter().map(|file| file.rfilename).collect(),
            cache,
            progress,
        })
    }

    /// The names of its files.
    pub(crate) fn contents(&self) -> Contents {
        let Self { name, commit, names, .. } = self;
        let short = name.rsplit('/').next().unwrap_or(name);
        let origin = format!("https://huggingface.co/{name}");
        Contents::new(short, origin, commit, names.iter().cloned())
    }

    /// A file of it, in the cache of `hf-hub`.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if it cannot be fetched.
    pub(crate) fn fetch(&self, name: &str) -> Result<PathBuf> {
        let missing = |reason: String| Error::ModelMissing {
            name: format!("hf:{}", self.name),
            reason: format!("`{name}`: {reason}"),
        };
        // The cache puts it under its name.
        if !name.split('/').all(is_plain_name) {
            return Err(missing("this name is not fetched".to_owned()));
        }
        let cached = self.cached(name);
        if cached.exists() {
            return Ok(cached);
        }
        let told = Told { progress: self.progress };
        let fetched = self.files.download_with_progress(name, told);
        fetched.map_err(|error| missing(format!("{error}; try again")))
    }

    /// Puts a file of it at `to`, without a second copy where the file system can.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch), and [`Error::Io`].
    pub(crate) fn place(&self, name: &str, to: &Path) -> Result<()> {
        let fetched = self.fetch(name)?;
        let place = || -> io::Result<()> {
            // The cache links to it.
            let file = fs::canonicalize(&fetched)?;
            fs::File::open(&file)?.sync_all()?;
            fs::hard_link(&file, to).or_else(|_| fs::copy(&file, to).map(drop))
        };
        place().map_err(|error| Error::io("write", to, error))
    }

    /// Removes what was fetched.
    pub(crate) fn clean_up(&self) {
        // It is in nobody's way.
        let _ = fs::remove_dir_all(&self.cache);
    }

    fn cached(&self, name: &str) -> PathBuf {
        let folder = format!("models--{}", self.name.replace('/', "--"));
        self.cache.join(folder).join("snapshots").join(&self.commit).join(name)
    }
}

/// Passes on the progress of `hf-hub`.
struct Told<'a> {
    progress: &'a dyn PullProgress,
}

impl Progress for Told<'_> {
    fn init(&mut self, size: usize, filename: &str) {
        self.progress.begin(&format!("fetch {filename}"), size as u64);
    }

    fn update(&mut self, size: usize) {
        self.progress.advance(size as u64);
    }

    fn finish(&mut self) {}
}
