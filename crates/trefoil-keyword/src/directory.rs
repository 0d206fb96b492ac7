use std::{
    collections::HashMap,
    fs::TryLockError,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, WatchCallback,
    WatchHandle, WritePtr,
    error::{DeleteError, LockError, OpenReadError, OpenWriteError},
};
use trefoil_core::{FileLock, is_remote, make_private};

use crate::checked_file::{CheckedFile, checked};

/// Files opened between two looks at which of those before are still mapped.
const FORGOTTEN_AFTER: usize = 64;

/// A mapped directory in which every byte has a checksum that is compared before it is read: those
/// of the segments are [`CheckedFile`]s, and what is replaced as a whole (the list of the segments)
/// ends with a line that holds the CRC-32 of the rest.
#[derive(Clone, Debug)]
pub(crate) struct SealedDirectory {
    files: MmapDirectory,
    folder: PathBuf,
    /// A reader, perhaps on read-only media. It locks the directory while it opens files,
    /// so that a writer does not collect them meanwhile; where the lock file cannot be
    /// written there is no lock to take.
    read_only: bool,
    /// Whether files are read and not mapped: on a network file system, one that is cut while it
    /// is mapped ends the process.
    reading: bool,
    /// How many files were opened so far.
    opened: Arc<AtomicUsize>,
    /// The files that are open: what was checked of them is not checked again.
    open: Arc<Mutex<HashMap<PathBuf, Weak<CheckedFile>>>>,
    /// Whether a file was found to be damaged.
    damaged: Arc<AtomicBool>,
}

impl SealedDirectory {
    /// To write and read.
    pub(crate) fn new(files: MmapDirectory, folder: &Path) -> Self {
        Self {
            files,
            folder: folder.to_owned(),
            read_only: false,
            reading: is_remote(folder),
            opened: Arc::default(),
            open: Arc::default(),
            damaged: Arc::default(),
        }
    }

    /// To read.
    pub(crate) fn read_only(files: MmapDirectory, folder: &Path) -> Self {
        Self { read_only: true, ..Self::new(files, folder) }
    }
}

impl SealedDirectory {
    /// Set once a file was found to be damaged.
    pub(crate) fn damaged(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.damaged)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<PathBuf, Weak<CheckedFile>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match std::fs::read(self.folder.join(path)) {
            Ok(bytes) => Ok(Arc::new(OwnedBytes::new(bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(OpenReadError::FileDoesNotExist(path.to_owned()))
            }
            Err(error) => Err(OpenReadError::wrap_io_error(error, path.to_owned())),
        }
    }
}

impl Directory for SealedDirectory {
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let path = self.folder.join(&lock.filepath);
        let taken = if lock.is_blocking {
            FileLock::take(&path).map_err(TryLockError::Error)
        } else {
            FileLock::try_take(&path)
        };
        match taken {
            Ok(held) => Ok(DirectoryLock::from(Box::new(held))),
            Err(TryLockError::WouldBlock) => Err(LockError::LockBusy),
            Err(TryLockError::Error(error)) if self.read_only && is_read_only(&error) => {
                Ok(DirectoryLock::from(Box::new(())))
            }
            Err(TryLockError::Error(error)) => Err(LockError::IoError(Arc::new(error))),
        }
    }

    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        if self.opened.fetch_add(1, Ordering::Relaxed).is_multiple_of(FORGOTTEN_AFTER) {
            // tantivy remembers every file that was ever mapped, until it is asked which are.
            _ = self.files.get_cache_info();
            self.open().retain(|_, file| file.strong_count() > 0);
        }
        if let Some(file) = self.open().get(path).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let failed = |error| OpenReadError::wrap_io_error(error, path.to_owned());
        let file =
            if self.reading { self.read(path)? } else { self.files.get_file_handle(path)? };
        let file = Arc::new(CheckedFile::open(path, file, &self.damaged).map_err(failed)?);
        if !has_footer(file.as_ref()).map_err(failed)? {
            return Err(damaged(path, "it is cut off"));
        }
        self.open().insert(path.to_owned(), Arc::downgrade(&file));
        Ok(file)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let bytes = self.files.atomic_read(path)?;
        let data = without_checksum(&bytes).map(<[u8]>::to_vec);
        data.ok_or_else(|| damaged(path, "it does not have its checksum"))
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        if self.read_only {
            let io_error = Arc::new(read_only());
            return Err(DeleteError::IoError { io_error, filepath: path.to_owned() });
        }
        self.open().remove(path);
        self.files.delete(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        if self.read_only {
            return Err(OpenWriteError::wrap_io_error(read_only(), path.to_owned()));
        }
        self.open().remove(path);
        let written = self.files.open_write(path)?;
        // Before anything is in it.
        make_private(&self.folder.join(path))
            .map_err(|error| OpenWriteError::wrap_io_error(error, path.to_owned()))?;
        Ok(checked(written))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if self.read_only {
            return Err(read_only());
        }
        self.files.atomic_write(path, &with_checksum(data))
    }

    fn sync_directory(&self) -> io::Result<()> {
        if self.read_only { Err(read_only()) } else { self.files.sync_directory() }
    }
}

/// Whether a file of a segment is as long as its footer says. tantivy panics on one that is
/// not; its last eight bytes are the length of the footer and a mark.
fn has_footer(file: &dyn FileHandle) -> io::Result<bool> {
    let Some(end) = file.len().checked_sub(8) else { return Ok(false) };
    let bytes = file.read_bytes(end..end + 4)?;
    let length = bytes.first_chunk().map(|&bytes| u32::from_le_bytes(bytes));
    Ok(length.is_some_and(|length| length as usize <= end))
}

fn damaged(path: &Path, reason: &str) -> OpenReadError {
    let error = io::Error::new(io::ErrorKind::InvalidData, reason);
    OpenReadError::wrap_io_error(error, path.to_owned())
}

/// Bytes of a line break and a CRC-32 in hexadecimal.
const CHECKSUM_LINE: usize = 9;

fn checksum_line(data: &[u8]) -> [u8; CHECKSUM_LINE] {
    let text = format!("\n{:08x}", crc32fast::hash(data));
    text.as_bytes().first_chunk().copied().unwrap_or_default()
}

/// What is written in one piece, and the checksum after it.
pub(crate) fn with_checksum(data: &[u8]) -> Vec<u8> {
    [data, &checksum_line(data)].concat()
}

fn without_checksum(bytes: &[u8]) -> Option<&[u8]> {
    let (data, found) = bytes.split_last_chunk::<CHECKSUM_LINE>()?;
    (checksum_line(data) == *found).then_some(data)
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn read_only() -> io::Error {
    io::ErrorKind::ReadOnlyFilesystem.into()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tantivy::directory::TerminatingWrite;

    use super::*;

    #[test]
    fn a_file_that_is_cut_off_has_no_footer() {
        let check = |bytes: &'static [u8]| has_footer(&bytes).unwrap();
        assert!(check(b"body{}\x02\0\0\0mark"));
        assert!(!check(b"{}\x03\0\0\0mark"));
        for short in [&b""[..], b"\0\0\0\0", b"\0\0\0\0mar"] {
            assert!(!check(short));
        }
    }

    #[test]
    fn a_file_that_is_read_may_be_cut_while_it_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let name = Path::new("segment");
        let files = MmapDirectory::open(folder.path()).unwrap();
        let directory =
            SealedDirectory { reading: true, ..SealedDirectory::new(files, folder.path()) };
        let mut written = directory.open_write(name).unwrap();
        written.write_all(b"body{}\x02\0\0\0mark").unwrap();
        written.terminate().unwrap();
        let file = directory.get_file_handle(name).unwrap();
        std::fs::write(folder.path().join(name), b"").unwrap();
        assert_eq!(file.read_bytes(0..4).unwrap().as_slice(), b"body");
        drop(file);
        assert!(directory.get_file_handle(name).is_err());
        assert!(directory.damaged().load(Ordering::Relaxed));
        let missing = directory.get_file_handle(Path::new("other")).unwrap_err();
        assert!(matches!(missing, OpenReadError::FileDoesNotExist(_)), "{missing}");
    }

    #[test]
    fn a_seal_breaks_wherever_a_bit_changes() {
        let whole = with_checksum(b"{\"segments\": []}");
        assert_eq!(without_checksum(&whole), Some(&b"{\"segments\": []}"[..]));
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                assert_eq!(without_checksum(&bytes), None, "{at}");
            }
            assert_eq!(without_checksum(&whole[..at]), None, "{at}");
        }
    }
}
