//! The manifest: which files of the directory count.

use std::path::Path;

use serde::{Deserialize, Serialize};
use trefoil_core::{
    Error, ManifestFile, ManifestHeader, Part, Replacing, Result, RetrieverId, Seq,
};

const SEGMENT: &str = "vectors";
const GRAPH: &str = "graph";
const FILE: ManifestFile = ManifestFile {
    format: "trefoil-vectors",
    version: 1,
    part: Part::Index(RetrieverId::SEMANTIC),
};

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
    pub(crate) fn read(dir: &Path) -> Result<Option<(ManifestHeader, Self)>> {
        let Some((header, json)) = FILE.read(dir)? else { return Ok(None) };
        let manifest: Result<Self, _> = serde_json::from_slice(&json);
        let manifest = manifest.map_err(|error| FILE.damaged(dir, &error.to_string()))?;
        if header.commits() != Some(manifest.commits) {
            return Err(FILE.damaged(dir, "its first line is not its own"));
        }
        Ok(Some((header, manifest)))
    }

    /// Reads the header alone; `None` if there is no manifest.
    pub(crate) fn read_header(dir: &Path) -> Result<Option<ManifestHeader>> {
        FILE.read_header(dir)
    }

    /// Replaces the manifest of a directory. When this returns, the manifest and the
    /// files that it names are durable; if it fails, the old one or the new one stands.
    pub(crate) fn publish(&self, dir: &Path) -> Result<()> {
        FILE.replace(dir, self.commits, &self.json()?, reached)
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
            let ours = name == ManifestFile::TEMPORARY || matches!(kind, Some(SEGMENT | GRAPH));
            if ours && !named && !is_kept {
                let _ = std::fs::remove_file(dir.join(name));
            }
        }
        Ok(())
    }
}

#[cfg(feature = "failpoints")]
fn reached(step: Replacing) {
    match step {
        Replacing::Begun => fail::fail_point!("vectors-written"),
        Replacing::Written => fail::fail_point!("vectors-manifest-written"),
        Replacing::Renamed => fail::fail_point!("vectors-manifest-renamed"),
    }
}

#[cfg(not(feature = "failpoints"))]
const fn reached(_step: Replacing) {}

#[cfg(test)]
mod tests {
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
        assert!(Manifest::read_header(dir.path()).unwrap().is_none());
        example().publish(dir.path()).unwrap();
        let (header, read) = Manifest::read(dir.path()).unwrap().unwrap();
        assert_eq!(read, example());
        assert_eq!(Manifest::read_header(dir.path()).unwrap(), Some(header));
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
}
