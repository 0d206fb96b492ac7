//! The manifest: which files of the directory count. It is replaced as a whole, by
//! renaming, and that is the moment at which a commit happens.
//!
//! Text: a line with the format, the number of the commit and the CRC-32 of the rest,
//! then JSON.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Part, Result, RetrieverId, Seq, private_file};

/// Name of the manifest's file.
pub(crate) const MANIFEST: &str = "MANIFEST";
const TEMPORARY: &str = "MANIFEST.tmp";
const SEGMENT: &str = "vectors";
const GRAPH: &str = "graph";
const FORMAT: &str = "trefoil-vectors";
const VERSION: u32 = 1;
/// Bytes of `trefoil-vectors 0001 0123456789abcdef 01234567\n`.
const STAMP: usize = FORMAT.len() + 32;

/// The first line of a manifest: another one means another manifest.
pub(crate) type Stamp = [u8; STAMP];

/// What an index consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Manifest {
    /// The space of the vectors.
    pub(crate) fingerprint: String,
    /// Length of a vector.
    pub(crate) dimensions: usize,
    /// The last change of the store that is in here.
    pub(crate) seq: Seq,
    /// Commits so far.
    pub(crate) commits: u64,
    /// The next file is named by this number.
    pub(crate) next_file: u64,
    /// The segments, ascending by file number.
    pub(crate) segments: Vec<SegmentEntry>,
}

/// One segment and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SegmentEntry {
    /// Names the files.
    pub(crate) file: u64,
    /// Seal of the segment's file.
    pub(crate) seal: u32,
    /// Vectors in it, deleted ones included.
    pub(crate) count: usize,
    /// Ordinals that are deleted, as half-open ranges.
    pub(crate) deleted: Vec<[u32; 2]>,
    /// Seal of the graph's file, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) graph: Option<u32>,
}

impl SegmentEntry {
    /// Name of the segment's file.
    pub(crate) fn segment_name(&self) -> String {
        segment_name(self.file)
    }

    /// Name of the graph's file.
    pub(crate) fn graph_name(&self) -> String {
        graph_name(self.file)
    }
}

/// Name of a segment's file.
pub(crate) fn segment_name(file: u64) -> String {
    format!("{file:08x}.{SEGMENT}")
}

/// Name of a graph's file.
pub(crate) fn graph_name(file: u64) -> String {
    format!("{file:08x}.{GRAPH}")
}

impl Manifest {
    /// The manifest of an index that holds nothing.
    pub(crate) fn empty(fingerprint: &str, dimensions: usize) -> Self {
        Self {
            fingerprint: fingerprint.to_owned(),
            dimensions,
            seq: Seq::ZERO,
            commits: 0,
            next_file: 0,
            segments: Vec::new(),
        }
    }

    /// Checks that the vectors are of a space.
    pub(crate) fn check_space(&self, fingerprint: &str, dimensions: usize) -> Result<()> {
        if self.fingerprint != fingerprint {
            let (expected, found) = (fingerprint.to_owned(), self.fingerprint.clone());
            return Err(Error::ModelMismatch { expected, found });
        }
        if self.dimensions != dimensions {
            return Err(Error::DimensionMismatch {
                expected: self.dimensions,
                provided: dimensions,
            });
        }
        Ok(())
    }

    /// Reads the manifest of a directory; `None` if there is none.
    pub(crate) fn read(dir: &Path) -> Result<Option<(Stamp, Self)>> {
        let path = dir.join(MANIFEST);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io("read", path, e)),
        };
        let damaged = |reason: &str| corrupt(&path, reason);
        let (&stamp, json) =
            bytes.split_first_chunk::<STAMP>().ok_or_else(|| damaged("it ends early"))?;
        let line = std::str::from_utf8(&stamp).map_err(|_| damaged("it is not a manifest"))?;
        let mut words = line.trim_end_matches('\n').split(' ');
        let (format, version, crc) = (words.next(), words.next(), words.nth(1));
        let version = version.and_then(|v| v.parse().ok());
        match (format, version) {
            (Some(FORMAT), Some(VERSION)) => {}
            (Some(FORMAT), Some(found)) if found > VERSION => {
                return Err(Error::UnsupportedFormat { found, supported: VERSION });
            }
            _ => return Err(damaged("it is not a manifest")),
        }
        let expected = stamp_line(VERSION, 0, crc32fast::hash(json));
        if crc != expected.trim_end().split(' ').next_back() {
            return Err(damaged("it has another checksum"));
        }
        let manifest: Self = serde_json::from_slice(json).map_err(|e| damaged(&e.to_string()))?;
        if line != stamp_line(VERSION, manifest.commits, crc32fast::hash(json)) {
            return Err(damaged("its first line is not its own"));
        }
        Ok(Some((stamp, manifest)))
    }

    /// Reads the stamp alone; `None` if there is no manifest.
    pub(crate) fn read_stamp(dir: &Path) -> Result<Option<Stamp>> {
        let path = dir.join(MANIFEST);
        let mut stamp = [0; STAMP];
        let read = File::open(&path).and_then(|mut file| file.read_exact(&mut stamp));
        match read {
            Ok(()) => Ok(Some(stamp)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => Err(corrupt(&path, "it ends early")),
            Err(e) => Err(Error::io("read", path, e)),
        }
    }

    /// Replaces the manifest of a directory. When this returns, the manifest and the
    /// files that it names are durable; if it fails, the old one or the new one stands.
    pub(crate) fn publish(&self, dir: &Path) -> Result<()> {
        // The names of the new files must be durable before a manifest that needs them.
        #[cfg(feature = "failpoints")]
        fail::fail_point!("vectors-written");
        sync_directory(dir)?;
        let temporary = dir.join(TEMPORARY);
        let json = self.json()?;
        let stamp = stamp_line(VERSION, self.commits, crc32fast::hash(&json));
        let write = || {
            let mut file =
                private_file().create(true).write(true).truncate(true).open(&temporary)?;
            file.write_all(stamp.as_bytes())?;
            file.write_all(&json)?;
            file.sync_all()
        };
        write().map_err(|e| Error::io("write", &temporary, e))?;
        #[cfg(feature = "failpoints")]
        fail::fail_point!("vectors-manifest-written");
        let path = dir.join(MANIFEST);
        std::fs::rename(&temporary, &path).map_err(|e| Error::io("replace", path, e))?;
        #[cfg(feature = "failpoints")]
        fail::fail_point!("vectors-manifest-renamed");
        sync_directory(dir)
    }

    /// What stands below the first line of its file.
    pub(crate) fn json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| {
            Error::backend(Part::Index(RetrieverId::SEMANTIC), "write its manifest", e)
        })
    }

    /// Removes the files of ours that this manifest does not name, but for those that a merge is
    /// writing under the number `kept`. What cannot be removed now is tried again after the next
    /// commit.
    pub(crate) fn remove_others(&self, dir: &Path, kept: Option<u64>) -> Result<()> {
        let entries = std::fs::read_dir(dir).map_err(|e| Error::io("list", dir, e))?;
        for entry in entries {
            let name = entry.map_err(|e| Error::io("list", dir, e))?.file_name();
            let Some(name) = name.to_str() else { continue };
            let named = self.segments.iter().any(|segment| {
                name == segment.segment_name()
                    || (segment.graph.is_some() && name == segment.graph_name())
            });
            let kind = name.split_once('.').map(|(_, kind)| kind);
            let is_kept =
                kept.is_some_and(|file| name == segment_name(file) || name == graph_name(file));
            let ours = name == TEMPORARY || matches!(kind, Some(SEGMENT | GRAPH));
            if ours && !named && !is_kept {
                let _ = std::fs::remove_file(dir.join(name));
            }
        }
        Ok(())
    }
}

fn stamp_line(version: u32, commits: u64, crc: u32) -> String {
    format!("{FORMAT} {version:04} {commits:016x} {crc:08x}\n")
}

fn corrupt(path: &Path, reason: &str) -> Error {
    let part = Part::Index(RetrieverId::SEMANTIC);
    Error::Corrupt { part, reason: format!("`{}`: {reason}", path.display()) }
}

fn sync_directory(dir: &Path) -> Result<()> {
    // Only Unix lets a directory be synced; elsewhere renaming is as durable as it gets.
    if cfg!(unix) {
        let sync = File::open(dir).and_then(|dir| dir.sync_all());
        sync.map_err(|e| Error::io("sync", dir, e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn example() -> Manifest {
        let segments = vec![SegmentEntry {
            file: 3,
            seal: 0xDEAD_BEEF,
            count: 20,
            deleted: vec![[1, 3], [7, 8]],
            graph: Some(5),
        }];
        Manifest {
            seq: Seq::new(9),
            commits: 4,
            next_file: 5,
            segments,
            ..Manifest::empty("a b", 3)
        }
    }

    #[test]
    fn what_was_published_is_read() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Manifest::read(dir.path()).unwrap().is_none());
        assert!(Manifest::read_stamp(dir.path()).unwrap().is_none());
        example().publish(dir.path()).unwrap();
        let (stamp, read) = Manifest::read(dir.path()).unwrap().unwrap();
        assert_eq!(read, example());
        assert_eq!(Manifest::read_stamp(dir.path()).unwrap(), Some(stamp));
    }

    #[test]
    fn a_newer_format_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let stamp = stamp_line(7, 0, 0);
        std::fs::write(dir.path().join(MANIFEST), stamp).unwrap();
        let error = Manifest::read(dir.path()).unwrap_err();
        assert!(matches!(error, Error::UnsupportedFormat { found: 7, supported: 1 }), "{error}");
    }

    #[test]
    fn only_our_unnamed_files_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let names =
            ["00000003.vectors", "00000003.graph", "00000004.vectors", "MANIFEST.tmp", "notes"];
        for name in names {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        example().remove_others(dir.path(), None).unwrap();
        let left = names.map(|name| dir.path().join(name).exists());
        assert_eq!(left, [true, true, false, false, true]);
    }

    proptest! {
        #[test]
        fn damage_is_an_error(at in any::<prop::sample::Index>(), bit in 0..8_u8, cut in any::<bool>()) {
            let dir = tempfile::tempdir().unwrap();
            example().publish(dir.path()).unwrap();
            let path = dir.path().join(MANIFEST);
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
            std::fs::write(&path, bytes).unwrap();
            prop_assert!(Manifest::read(dir.path()).is_err());
        }
    }
}
