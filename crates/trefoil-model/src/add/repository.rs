//! What a model that is added comes in.

use std::{
    fs,
    path::{Path, PathBuf},
};

use trefoil_core::{Error, Result};

use super::AddSource;
#[cfg(feature = "hub")]
use crate::source::hub::HubRepository;
use crate::{draft::Contents, home::ModelHome, progress::PullProgress, pull::PullOptions};

/// Folders within folders that are looked at.
const DEPTH: usize = 2;

/// A folder, or a repository of Hugging Face.
pub(super) enum Repository<'a> {
    Folder {
        folder: PathBuf,
        progress: &'a dyn PullProgress,
    },
    #[cfg(feature = "hub")]
    Hub(Box<HubRepository<'a>>),
}

impl<'a> Repository<'a> {
    /// Looks whether it is there.
    ///
    /// # Errors
    /// [`Error::ModelMissing`].
    pub(super) fn open(
        home: &ModelHome,
        source: &AddSource,
        progress: &'a dyn PullProgress,
        pull: PullOptions,
    ) -> Result<Self> {
        match source {
            AddSource::Folder(folder) if folder.is_dir() => {
                // A name without `..` and links.
                let folder = fs::canonicalize(folder)
                    .map_err(|error| Error::io("look at", folder, error))?;
                Ok(Self::Folder { folder, progress })
            }
            AddSource::Folder(folder) => Err(Error::ModelMissing {
                name: folder.display().to_string(),
                reason: "there is no such folder; give a folder, or hf:owner/name".to_owned(),
            }),
            #[cfg(feature = "hub")]
            AddSource::Hub { repository, revision } => {
                HubRepository::open(home, repository, revision, progress, pull)
                    .map(|hub| Self::Hub(Box::new(hub)))
            }
            #[cfg(not(feature = "hub"))]
            AddSource::Hub { repository, .. } => {
                let _ = (home, pull);
                Err(Error::ModelMissing {
                    name: repository.clone(),
                    reason: "this build has no feature `hub`; fetch the files and add the folder"
                        .to_owned(),
                })
            }
        }
    }

    /// The names of its files.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn contents(&self) -> Result<Contents> {
        match self {
            Self::Folder { folder, .. } => {
                let mut names = Vec::new();
                collect(folder, "", DEPTH, &mut names)?;
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                Ok(Contents::new(name, "", "", names))
            }
            #[cfg(feature = "hub")]
            Self::Hub(hub) => Ok(hub.contents()),
        }
    }

    /// A file of it on this machine.
    ///
    /// # Errors
    /// [`Error::ModelMissing`].
    #[cfg_attr(
        not(feature = "hub"),
        expect(clippy::unnecessary_wraps, reason = "only a repository that is fetched can fail")
    )]
    pub(super) fn fetch(&self, name: &str) -> Result<PathBuf> {
        match self {
            Self::Folder { folder, .. } => Ok(folder.join(name)),
            #[cfg(feature = "hub")]
            Self::Hub(hub) => hub.fetch(name),
        }
    }

    /// Puts a file of it at `to`.
    ///
    /// # Errors
    /// [`Error::ModelMissing`], [`Error::Io`].
    pub(super) fn place(&self, name: &str, to: &Path) -> Result<()> {
        match self {
            Self::Folder { folder, progress } => {
                let from = folder.join(name);
                let size = fs::metadata(&from).map_or(0, |found| found.len());
                progress.begin(&format!("copy {name}"), size);
                let copy = || {
                    fs::copy(&from, to)?;
                    fs::File::open(to)?.sync_all()
                };
                copy().map_err(|error| Error::io("copy", &from, error))?;
                progress.advance(size);
                Ok(())
            }
            #[cfg(feature = "hub")]
            Self::Hub(hub) => hub.place(name, to),
        }
    }

    /// Removes what was only needed on the way.
    pub(super) fn clean_up(&self) {
        match self {
            Self::Folder { .. } => {}
            #[cfg(feature = "hub")]
            Self::Hub(hub) => hub.clean_up(),
        }
    }
}

/// Paths of the files below a folder, with `/` between their parts; hidden ones are left out.
fn collect(folder: &Path, prefix: &str, depth: usize, names: &mut Vec<String>) -> Result<()> {
    let failed = |error| Error::io("look at", folder, error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let path = format!("{prefix}{name}");
        // Links are followed: the cache of Hugging Face has them.
        match fs::metadata(entry.path()) {
            Ok(found) if found.is_file() => names.push(path),
            Ok(found) if found.is_dir() && depth > 0 => {
                collect(&entry.path(), &format!("{path}/"), depth - 1, names)?;
            }
            _ => {}
        }
    }
    Ok(())
}
