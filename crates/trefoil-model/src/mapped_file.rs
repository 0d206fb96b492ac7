use std::{
    fs::{self, File},
    ops::Deref,
    path::{Path, PathBuf},
};

use memmap2::Mmap;
use trefoil_core::{Error, Result, is_remote};

/// A file whose bytes are read where they lie; on a network file system, where a mapped file that
/// is cut ends the process, a copy of them.
#[derive(Debug)]
pub(crate) struct MappedFile {
    path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl MappedFile {
    /// Maps a file that was [written whole](crate::file::write_whole) and is never changed.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let bytes = if is_remote(path) {
            Bytes::Read(fs::read(path).map_err(|error| Error::io("read", path, error))?)
        } else {
            let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
            #[expect(unsafe_code, reason = "a memory map cannot be made without it")]
            // SAFETY: the file appeared under its name when it was whole, is not written again,
            // and goes away by unlinking or renaming, which leaves maps intact.
            let map = unsafe { Mmap::map(&file) };
            Bytes::Mapped(map.map_err(|error| Error::io("map", path, error))?)
        };
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Read(bytes) => bytes,
        }
    }
}
