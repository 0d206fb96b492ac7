//! A whole index into one file and back.

use std::{
    fs::{self, File},
    io::{self, BufWriter, ErrorKind, Write},
    ops::ControlFlow,
    path::Path,
    sync::Arc,
};

use tempfile::{Builder, TempDir};
use trefoil_core::{Error, Part, Result, Seq, create_private_folder, private_file, sync};
use trefoil_store::{Access, Store, SystemClock};

use crate::{
    admin::{
        opening::{lock, open_to_write},
        snapshot::{Manifest, Snapshot, SnapshotPart, copy},
        verify::verify,
    },
    config::EngineConfig,
    index::{
        active_model::OnMismatch,
        open::{self, IndexOnDisk},
        replay::{changed_rows, replay},
    },
    progress::{OnProgress, tell},
};

/// Writes the index in `dir` into the new file `to`, with the retrievers of `config`.
pub(crate) fn export(
    dir: &Path,
    to: &Path,
    config: &EngineConfig,
    on_progress: &mut OnProgress<'_>,
) -> Result<Snapshot> {
    if !Store::exists(dir) {
        return Err(Error::IndexMissing { path: dir.to_owned() });
    }
    if to.exists() {
        return Err(Error::io("export to", to, ErrorKind::AlreadyExists.into()));
    }
    let folder = folder_of(to);
    fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
    let (staging, copied) = loop {
        let (staging, generation) = (staging_in(folder)?, open::generation(dir));
        let copied = copy_state(dir, staging.path(), config, on_progress);
        // Vectors of another model may have taken the place of those that were copied.
        if open::generation(dir) == generation {
            break (staging, copied?);
        }
    };
    write(&copied, staging.path(), folder, to, on_progress)
}

/// Makes an index in the new directory `dir` of the snapshot file `from`.
pub(crate) fn import(from: &Path, dir: &Path, config: &EngineConfig) -> Result<Snapshot> {
    let taken = || Error::io("import into", dir, ErrorKind::AlreadyExists.into());
    let is_empty = match fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(_) => false,
    };
    if !is_empty {
        return Err(taken());
    }
    let folder = folder_of(dir);
    fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
    let staging = staging_in(folder)?;
    let snapshot = Snapshot::unpack(from, staging.path())?;
    check(staging.path(), config, "make the snapshot again from an index that is")?;
    match fs::remove_dir(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(taken()),
        _ => {}
    }
    // The folder is its owner's alone, as an index is that an engine makes.
    let unpacked = staging.keep();
    fs::rename(&unpacked, dir).map_err(|error| Error::io("import into", dir, error))?;
    sync(folder)?;
    Ok(snapshot)
}

/// Unpacks a snapshot into a private folder that is removed when it is dropped.
pub(crate) fn unpack(from: &Path) -> Result<TempDir> {
    let folder = private(from)?;
    Snapshot::unpack(from, folder.path())?;
    Ok(folder)
}

/// What is to be read of `path`, if it is not read where it is: a snapshot is unpacked, and an
/// index of an older version copied and brought up to date, for a reader changes nothing.
pub(crate) fn readable(path: &Path, config: &EngineConfig) -> Result<Option<TempDir>> {
    let unpacked = path.is_file().then(|| unpack(path)).transpose()?;
    let dir = unpacked.as_ref().map_or(path, TempDir::path);
    if !Store::exists(dir) || !trefoil_store::is_older(dir)? {
        return Ok(unpacked);
    }
    let folder = private(path)?;
    // What is left out is rebuilt from the store.
    copy_files(dir, folder.path(), config, &mut |_| ControlFlow::Continue(()))?;
    let writer = lock(folder.path())?;
    drop(open_to_write(folder.path(), config.clone(), writer, OnMismatch::Refuse)?);
    Ok(Some(folder))
}

fn private(path: &Path) -> Result<TempDir> {
    let folder = owners_alone("trefoil-").tempdir();
    folder.map_err(|error| Error::io("make a private copy of", path, error))
}

/// Makes temporary folders that only their owner reads.
fn owners_alone(prefix: &str) -> Builder<'_, '_> {
    let mut builder = Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder
}

/// Copies one state of the index in `dir`: its indexes, its store as of later, and what the
/// store has more into the copies of the indexes.
fn copy_state(
    dir: &Path,
    into: &Path,
    config: &EngineConfig,
    on_progress: &mut OnProgress<'_>,
) -> Result<Manifest> {
    if let Some(error) = copy_files(dir, into, config, on_progress)?.into_iter().next() {
        return Err(error);
    }
    let generation = open::generation(into);
    let store = Store::open(into, Access::ReadOnly, Arc::new(SystemClock))?;
    let own = Store::files_in(into).map(|(name, path)| part(name.to_owned(), &path));
    let mut parts = own.into_iter().collect::<Result<Vec<_>>>()?;
    for on_disk in open::files(into, generation, config) {
        let IndexOnDisk { collection, index, folder } = &on_disk;
        if let Some(contents) = index.contents()?
            && !changed_rows(&store, *collection, index.inputs(), contents.seq)?.is_empty()
        {
            replay(&store, *collection, index.indexer()?.as_mut(), Seq::ZERO)?;
        }
        for file in index.files()? {
            let path = format!("{folder}/{}", file.name);
            parts.push(part(path.clone(), &into.join(path))?);
        }
    }
    check(into, config, "run `trefoil repair`")?;
    Ok(Manifest { seq: store.seq()?, model: store.fingerprint()?, parts })
}

/// Copies the files of the last commits, and then the store. Tells which indexes are left out
/// because they cannot be read.
fn copy_files(
    dir: &Path,
    into: &Path,
    config: &EngineConfig,
    on_progress: &mut OnProgress<'_>,
) -> Result<Vec<Error>> {
    let mut left_out = Vec::new();
    let generation = open::generation(dir);
    for on_disk in open::files(dir, generation, config) {
        let files = match on_disk.index.files() {
            Err(error @ (Error::Corrupt { .. } | Error::UnsupportedFormat { .. })) => {
                left_out.push(error);
                continue;
            }
            files => files?,
        };
        let folder = into.join(&on_disk.folder);
        for mut file in files {
            tell(on_progress, 0, 0)?;
            let made = create_private_folder(&folder);
            made.map_err(|error| Error::io("create", &folder, error))?;
            let path = folder.join(&file.name);
            (private_file().write(true).create_new(true).open(&path))
                .and_then(|mut to| io::copy(&mut file.content, &mut to))
                .map_err(|error| Error::io("copy", path, error))?;
        }
    }
    trefoil_store::copy(dir, into)?;
    Ok(left_out)
}

fn part(path: String, file: &Path) -> Result<SnapshotPart> {
    let hashed = File::open(file).and_then(|mut file| copy(&mut file, io::sink(), |_| Ok(())));
    let (bytes, sha256) = hashed.map_err(|error| Error::io("read", file, error))?;
    Ok(SnapshotPart { path, bytes, sha256 })
}

/// Writes the snapshot of the copied files next to `to`, and gives it its name when it is durable.
fn write(
    manifest: &Manifest,
    copied: &Path,
    folder: &Path,
    to: &Path,
    on_progress: &mut OnProgress<'_>,
) -> Result<Snapshot> {
    let (mut written, total) = (0, manifest.parts.iter().map(|part| part.bytes).sum());
    let failed = |error| Error::io("write", to, error);
    let json = manifest.json()?;
    let (header, _) = Manifest::header(&json);
    let mut file = Builder::new().prefix(".trefoil-").tempfile_in(folder).map_err(failed)?;
    let mut out = BufWriter::with_capacity(1 << 20, file.as_file_mut());
    out.write_all(&header).and_then(|()| out.write_all(&json)).map_err(failed)?;
    for part in &manifest.parts {
        tell(on_progress, written, total)?;
        let path = copied.join(&part.path);
        let copied = File::open(&path).and_then(|mut file| copy(&mut file, &mut out, |_| Ok(())));
        let (bytes, sha256) = copied.map_err(|error| Error::io("read", &path, error))?;
        if (bytes, &sha256) != (part.bytes, &part.sha256) {
            let (expected, found) = (part.sha256.clone(), sha256);
            return Err(Error::Checksum { path, expected, found });
        }
        written += bytes;
    }
    tell(on_progress, written, total)?;
    out.flush().map_err(failed)?;
    drop(out);
    file.as_file().sync_all().map_err(failed)?;
    file.persist_noclobber(to).map_err(|error| failed(error.error))?;
    sync(folder)?;
    Snapshot::read(to)
}

/// Refuses an index that is not sound.
fn check(dir: &Path, config: &EngineConfig, next: &str) -> Result<()> {
    let verification = verify(dir, config)?;
    match verification.findings.first() {
        None => Ok(()),
        Some(finding) => Err(Error::Corrupt {
            part: Part::Snapshot,
            reason: format!("the {}: {}; {next}", finding.part, finding.fault),
        }),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A private folder next to what is to be made, so that it can be moved there.
fn staging_in(folder: &Path) -> Result<TempDir> {
    owners_alone(".trefoil-")
        .tempdir_in(folder)
        .map_err(|error| Error::io("write below", folder, error))
}
