//! Locks on files that end with their holder, whoever else has a copy of the file.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    process,
};

use super::private_file;

/// A file that is locked for one holder, in this process or another, until it is dropped or the
/// process ends.
///
/// A child process that is being started has copies of all open files for a moment, and a forked
/// one for as long as it lives. The lock belongs to all copies together, so that closing the file
/// does not free it; unlocking it does.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    /// The process that took it: a forked one that drops its copy leaves the lock alone.
    process: u32,
}

impl FileLock {
    /// Takes the lock at once, or tells that another has it ([`TryLockError::WouldBlock`]). Makes
    /// the file for its owner alone if it is not there.
    pub fn try_take(path: &Path) -> Result<Self, TryLockError> {
        let file = open(path).map_err(TryLockError::Error)?;
        file.try_lock()?;
        Ok(Self::of(file))
    }

    /// Waits for the lock. Makes the file for its owner alone if it is not there.
    pub fn take(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        file.lock()?;
        Ok(Self::of(file))
    }

    fn of(file: File) -> Self {
        Self { file, process: process::id() }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if self.process == process::id() {
            // If it fails, the lock ends with the last copy of the file.
            _ = self.file.unlock();
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    private_file().create(true).truncate(false).write(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_until_it_is_dropped_whoever_has_a_copy_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let lock = FileLock::try_take(&path).unwrap();
        let refused = FileLock::try_take(&path);
        assert!(matches!(refused, Err(TryLockError::WouldBlock)), "{refused:?}");
        // What a child process has while it is started.
        let copy = lock.file.try_clone().unwrap();
        drop(lock);
        let next = FileLock::try_take(&path).unwrap();
        drop(copy);
        assert!(FileLock::try_take(&path).is_err());
        drop(next);
        drop(FileLock::take(&path).unwrap());
    }

    #[test]
    fn a_copy_in_a_forked_process_does_not_free_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let lock = FileLock::try_take(&path).unwrap();
        drop(FileLock { file: lock.file.try_clone().unwrap(), process: lock.process + 1 });
        assert!(FileLock::try_take(&path).is_err());
    }
}
