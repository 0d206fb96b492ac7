//! The manifest: which segments of the directory count.

use std::path::Path;

use serde::{Deserialize, Serialize};
use trefoil_core::{
    Error, ManifestFile, ManifestHeader, Part, Replacing, Result, RetrieverId, Seq,
};

const SEGMENT: &str = "mentions";
const FILE: ManifestFile =
    ManifestFile { format: "trefoil-graph", version: 3, part: Part::Index(RetrieverId::GRAPH) };

/// What an index consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Manifest {
    /// The last change of the store that is in here.
    pub(crate) seq: Seq,
    /// Commits so far.
    pub(crate) commits: u64,
    /// What came and went so far.
    pub(crate) changes: Changes,
    /// The next file is named by this number.
    pub(crate) next_file: u64,
    /// The segments, ascending by file number.
    pub(crate) segments: Vec<SegmentEntry>,
}

/// How many chunks came and how many went since an index began. One that is replaced does both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Changes {
    /// Those that came.
    pub added: u64,
    /// Those that went.
    pub removed: u64,
}

impl Changes {
    /// How many changes there are between two states.
    pub const fn between(self, other: Self) -> u64 {
        self.added.abs_diff(other.added).saturating_add(self.removed.abs_diff(other.removed))
    }
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SegmentEntry {
    /// Names the file.
    pub(crate) file: u64,
    /// The seal of the file.
    pub(crate) seal: u32,
    /// Chunks in it, deleted ones included.
    pub(crate) chunks: usize,
    /// Chunks that are deleted, as half-open ranges.
    pub(crate) deleted: Vec<[u32; 2]>,
}

impl SegmentEntry {
    /// Name of the file.
    pub(crate) fn name(&self) -> String {
        segment_name(self.file)
    }
}

/// Name of a segment's file.
pub(crate) fn segment_name(file: u64) -> String {
    format!("{file:08x}.{SEGMENT}")
}

impl Manifest {
    /// Reads the manifest of a directory; none if there is none.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is damaged, or an older version wrote what is there;
    /// [`Error::UnsupportedFormat`] if a newer one did; [`Error::Io`].
    pub(crate) fn read(dir: &Path) -> Result<Option<(ManifestHeader, Self)>> {
        let Some((header, json)) = FILE.read(dir)? else {
            if dir.join("EVIDENCE").exists() {
                return Err(FILE.damaged(dir, "an older version wrote the index"));
            }
            return Ok(None);
        };
        let manifest: Result<Self, _> = serde_json::from_slice(&json);
        let manifest = manifest.map_err(|error| FILE.damaged(dir, &error.to_string()))?;
        if header.commits() != Some(manifest.commits) {
            return Err(FILE.damaged(dir, "its first line is not its own"));
        }
        Ok(Some((header, manifest)))
    }

    /// Reads the header alone; none if there is no manifest.
    pub(crate) fn read_header(dir: &Path) -> Result<Option<ManifestHeader>> {
        FILE.read_header(dir)
    }

    /// Replaces the manifest of a directory. When this returns, the manifest and the files that
    /// it names are durable; if it fails, the old one or the new one stands.
    pub(crate) fn publish(&self, dir: &Path) -> Result<()> {
        FILE.replace(dir, self.commits, &self.json()?, reached)
    }

    /// What stands below the first line of its file.
    pub(crate) fn json(&self) -> Result<Vec<u8>> {
        let json = serde_json::to_vec(self);
        json.map_err(|e| Error::backend(Part::Index(RetrieverId::GRAPH), "write its manifest", e))
    }

    /// Removes the files of ours that this manifest does not name, but for the one that a merge is
    /// writing under the number `kept`. What cannot be removed now is tried again after the next
    /// commit.
    pub(crate) fn remove_others(&self, dir: &Path, kept: Option<u64>) -> Result<()> {
        let kept = kept.map(segment_name);
        let entries = std::fs::read_dir(dir).map_err(|e| Error::io("list", dir, e))?;
        for entry in entries {
            let name = entry.map_err(|e| Error::io("list", dir, e))?.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_named = kept.as_deref() == Some(name)
                || self.segments.iter().any(|segment| name == segment.name());
            let is_ours = name == ManifestFile::TEMPORARY
                || name.split_once('.').is_some_and(|(_, kind)| kind == SEGMENT);
            if is_ours && !is_named {
                let _ = std::fs::remove_file(dir.join(name));
            }
        }
        Ok(())
    }
}

/// An error that names the manifest of a directory.
pub(crate) fn damaged(dir: &Path, reason: &str) -> Error {
    FILE.damaged(dir, reason)
}

#[cfg(feature = "failpoints")]
fn reached(step: Replacing) {
    match step {
        Replacing::Begun => fail::fail_point!("graph-written"),
        Replacing::Written => fail::fail_point!("graph-manifest-written"),
        Replacing::Renamed => fail::fail_point!("graph-renamed"),
    }
}

#[cfg(not(feature = "failpoints"))]
const fn reached(_step: Replacing) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Manifest {
        let entry = SegmentEntry { file: 3, seal: 0xDEAD_BEEF, chunks: 20, deleted: vec![[1, 3]] };
        let segments = vec![entry];
        Manifest {
            seq: Seq::new(9),
            commits: 4,
            changes: Changes { added: 22, removed: 4 },
            next_file: 5,
            segments,
        }
    }

    #[test]
    fn what_was_published_is_read() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Manifest::read(dir.path()).unwrap().is_none());
        example().publish(dir.path()).unwrap();
        let (header, read) = Manifest::read(dir.path()).unwrap().unwrap();
        assert_eq!(read, example());
        assert_eq!(Manifest::read_header(dir.path()).unwrap(), Some(header));
    }

    #[test]
    fn what_an_older_version_wrote_is_no_index() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("EVIDENCE"), "TREFGRPH").unwrap();
        assert!(matches!(Manifest::read(dir.path()), Err(Error::Corrupt { .. })));
    }

    #[test]
    fn only_our_unnamed_files_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["00000003.mentions", "00000004.mentions", "MANIFEST.tmp", "FROZEN", "notes"];
        for name in names {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        example().remove_others(dir.path(), None).unwrap();
        let left = names.map(|name| dir.path().join(name).exists());
        assert_eq!(left, [true, false, false, true, true]);
    }
}
