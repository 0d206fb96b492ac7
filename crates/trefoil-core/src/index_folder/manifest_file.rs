//! The file that says which files of an index count. It is replaced as a whole, by renaming,
//! and that is the moment at which a commit happens.
//!
//! Text: a line with the format, its version, the number of the commit and the CRC-32 of the
//! rest, then what the index says of itself.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    path::Path,
};

use crate::{Error, Part, Result, private_file, sync};

/// Bytes of a first line after the name of the format: ` 0001 0123456789abcdef 01234567\n`.
const HEADER: usize = 32;
/// The longest name of a format.
const LONGEST: usize = 32;

/// A manifest of an index.
#[derive(Clone, Copy, Debug)]
pub struct ManifestFile {
    /// Names the format in the first line, at most 32 bytes.
    pub format: &'static str,
    /// The version of the format, up to 9999.
    pub version: u32,
    /// The part of the engine that it belongs to.
    pub part: Part,
}

/// The first line of a manifest: another one means another manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestHeader {
    line: String,
}

impl ManifestHeader {
    /// The number of the commit. What follows the line has no part in it, and is to repeat it.
    pub fn commits(&self) -> Option<u64> {
        u64::from_str_radix(self.line.split(' ').nth(2)?, 16).ok()
    }
}

/// How far a replacement has come, for tests that end the process there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacing {
    /// The files that it names are written.
    Begun,
    /// It is written, next to the one that counts.
    Written,
    /// It is the one that counts.
    Renamed,
}

impl ManifestFile {
    /// The name of the file.
    pub const NAME: &str = "MANIFEST";
    /// The name of one that is not in its place yet.
    pub const TEMPORARY: &str = "MANIFEST.tmp";

    /// The header and what follows it; none if there is no manifest in `dir`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is not what was written, [`Error::UnsupportedFormat`] if a newer
    /// version wrote it, [`Error::Io`].
    pub fn read(&self, dir: &Path) -> Result<Option<(ManifestHeader, Vec<u8>)>> {
        let path = dir.join(Self::NAME);
        let mut bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", path, error)),
        };
        if bytes.len() < self.length() {
            return Err(self.damaged(dir, "it ends early"));
        }
        let content = bytes.split_off(self.length());
        let line = String::from_utf8(bytes);
        let line = line.map_err(|_| self.damaged(dir, "it is not a manifest"))?;
        let mut words = line.trim_end_matches('\n').split(' ');
        let (format, version) = (words.next(), words.next());
        let version: Option<u32> = version.and_then(|version| version.parse().ok());
        match (format == Some(self.format), version) {
            (true, Some(version)) if version == self.version => {}
            (true, Some(found)) if found > self.version => {
                return Err(Error::UnsupportedFormat { found, supported: self.version });
            }
            _ => return Err(self.damaged(dir, "it is not a manifest")),
        }
        let header = ManifestHeader { line };
        let expected = header.commits().map(|commits| self.line(commits, &content));
        if expected.as_ref() != Some(&header.line) {
            return Err(self.damaged(dir, "it has another checksum"));
        }
        Ok(Some((header, content)))
    }

    /// The header alone; none if there is no manifest.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if there is not even that, [`Error::Io`].
    pub fn read_header(&self, dir: &Path) -> Result<Option<ManifestHeader>> {
        let path = dir.join(Self::NAME);
        let mut bytes = [0; HEADER + LONGEST];
        let line = bytes.get_mut(..self.length()).unwrap_or_default();
        let read = File::open(&path).and_then(|mut file| file.read_exact(line));
        match read {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Err(self.damaged(dir, "it ends early"));
            }
            Err(error) => return Err(Error::io("read", path, error)),
        }
        let line = std::str::from_utf8(line);
        let line = line.map_err(|_| self.damaged(dir, "it is not a manifest"))?;
        Ok(Some(ManifestHeader { line: line.to_owned() }))
    }

    /// Replaces the manifest of `dir` by that of the commit with this number. When this returns,
    /// it and the files of `dir` are durable; if it fails, the old one or the new one stands.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn replace(
        &self,
        dir: &Path,
        commits: u64,
        content: &[u8],
        at: impl Fn(Replacing),
    ) -> Result<()> {
        at(Replacing::Begun);
        // The names of the new files must be durable before a manifest that needs them.
        sync(dir)?;
        let temporary = dir.join(Self::TEMPORARY);
        let write = || {
            let mut file =
                private_file().create(true).write(true).truncate(true).open(&temporary)?;
            file.write_all(self.line(commits, content).as_bytes())?;
            file.write_all(content)?;
            file.sync_all()
        };
        write().map_err(|error| Error::io("write", &temporary, error))?;
        at(Replacing::Written);
        let path = dir.join(Self::NAME);
        std::fs::rename(&temporary, &path).map_err(|error| Error::io("replace", path, error))?;
        at(Replacing::Renamed);
        sync(dir)
    }

    /// An error that names the file.
    #[cold]
    pub fn damaged(&self, dir: &Path, reason: &str) -> Error {
        let path = dir.join(Self::NAME);
        Error::Corrupt { part: self.part, reason: format!("`{}`: {reason}", path.display()) }
    }

    fn line(&self, commits: u64, content: &[u8]) -> String {
        let crc = crc32fast::hash(content);
        format!("{} {:04} {commits:016x} {crc:08x}\n", self.format, self.version)
    }

    const fn length(&self) -> usize {
        self.format.len() + HEADER
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::RetrieverId;

    const MANIFEST: ManifestFile = ManifestFile {
        format: "trefoil-test",
        version: 3,
        part: Part::Index(RetrieverId::SEMANTIC),
    };

    fn written(commits: u64, content: &[u8]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        MANIFEST.replace(dir.path(), commits, content, |_| ()).unwrap();
        dir
    }

    #[test]
    fn what_was_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        assert!(MANIFEST.read(dir.path()).unwrap().is_none());
        assert!(MANIFEST.read_header(dir.path()).unwrap().is_none());
        let dir = written(4, b"{}");
        let (header, content) = MANIFEST.read(dir.path()).unwrap().unwrap();
        assert_eq!(content, b"{}");
        assert_eq!(MANIFEST.read_header(dir.path()).unwrap(), Some(header.clone()));
        for (commits, content) in [(5, b"{}"), (4, b"[]")] {
            MANIFEST.replace(dir.path(), commits, content, |_| ()).unwrap();
            assert_ne!(MANIFEST.read_header(dir.path()).unwrap(), Some(header.clone()));
        }
    }

    #[test]
    fn a_newer_format_says_so() {
        let dir = written(4, b"{}");
        let older = ManifestFile { version: 2, ..MANIFEST };
        let error = older.read(dir.path()).unwrap_err();
        assert!(matches!(error, Error::UnsupportedFormat { found: 3, supported: 2 }), "{error}");
    }

    proptest! {
        #[test]
        fn damage_is_an_error(at in any::<prop::sample::Index>(), bit in 0..8_u8, cut in any::<bool>()) {
            let dir = written(7, br#"{"seq":9}"#);
            let path = dir.path().join(ManifestFile::NAME);
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
            std::fs::write(&path, bytes).unwrap();
            let read = MANIFEST.read(dir.path());
            prop_assert!(!matches!(read, Ok(Some((header, _))) if header.commits() == Some(7)));
        }
    }
}
