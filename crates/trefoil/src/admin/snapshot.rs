//! One file that holds a whole index, named by its content.
//!
//! Little endian; offsets in bytes:
//!
//! | from | what |
//! |---|---|
//! | 0 | `TREFSNAP` |
//! | 8 | format version, u32 |
//! | 12 | length of the manifest, u32 |
//! | 16 | SHA-256 of the manifest, 32 bytes: the id of the snapshot |
//! | 48 | manifest, JSON: each part with its path, length and SHA-256 |
//! | | the parts, one after the other, in the manifest's order |
//!
//! So the id stands for every byte. Nothing is compressed: what is unpacked is never larger
//! than the file.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufReader, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use trefoil_core::{
    Collection, Error, Part, Result, Seq, create_private_folder, private_file, sync,
};
use trefoil_store::Store;

use crate::{
    digest::hex,
    layout::{generation_of, is_own_folder},
};

pub(crate) const MAGIC: [u8; 8] = *b"TREFSNAP";
pub(crate) const VERSION: u32 = 1;
const HEADER: usize = 48;
/// A manifest is about 150 bytes a part.
const LONGEST_MANIFEST: usize = 16 << 20;

/// What a snapshot says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// The last change of the store that is in it.
    pub seq: Seq,
    /// The model of its vectors; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its files.
    pub parts: Vec<SnapshotPart>,
}

/// A file in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SnapshotPart {
    /// Path in the index directory, with `/`.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

/// A snapshot file whose manifest was read and checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "SnapshotView")]
pub struct Snapshot {
    /// SHA-256 of the manifest, hexadecimal: equal ids, equal content.
    pub id: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// What is in it.
    pub manifest: Manifest,
    path: PathBuf,
}

/// A snapshot on the wire.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Snapshot"))]
#[derive(Serialize)]
pub(super) struct SnapshotView {
    /// SHA-256 of the manifest, hexadecimal: equal ids, equal content.
    id: String,
    /// Length of the file in bytes.
    bytes: u64,
    /// The last change of the store that is in it.
    change: Seq,
    /// The model of its vectors, if it has any.
    model: Option<String>,
}

impl From<Snapshot> for SnapshotView {
    fn from(Snapshot { id, bytes, manifest, .. }: Snapshot) -> Self {
        Self { id, bytes, change: manifest.seq, model: manifest.model }
    }
}

impl Snapshot {
    /// Reads the manifest of a snapshot file and checks it: its hash, that the paths are those
    /// of an index, and that the lengths add up to the file's. The parts are checked when they
    /// are unpacked.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is damaged or no snapshot, [`Error::UnsupportedFormat`] if a
    /// newer version wrote it, [`Error::Io`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::open(path).map(|(snapshot, _)| snapshot)
    }

    /// The same, and the file at the first part.
    fn open(path: &Path) -> Result<(Self, BufReader<File>)> {
        let failed = |error: io::Error| {
            if error.kind() == ErrorKind::UnexpectedEof {
                damaged(path, "it ends early")
            } else {
                Error::io("read", path, error)
            }
        };
        let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
        let bytes = file.metadata().map_err(failed)?.len();
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut header = [0; HEADER];
        file.read_exact(&mut header).map_err(failed)?;
        let field = |from: usize| header.get(from..).and_then(|rest| rest.first_chunk::<4>());
        let number = |from| field(from).map_or(0, |&bytes| u32::from_le_bytes(bytes));
        if !header.starts_with(&MAGIC) {
            return Err(damaged(path, "it is no snapshot"));
        }
        let found = number(8);
        if found != VERSION {
            return Err(if found > VERSION {
                Error::UnsupportedFormat { found, supported: VERSION }
            } else {
                damaged(path, "it is no snapshot")
            });
        }
        let length = usize::try_from(number(12)).unwrap_or(usize::MAX);
        if length > LONGEST_MANIFEST || (length + HEADER) as u64 > bytes {
            return Err(damaged(path, "its manifest is longer than it can be"));
        }
        let mut json = vec![0; length];
        file.read_exact(&mut json).map_err(failed)?;
        let hash: [u8; 32] = Sha256::digest(&json).into();
        if !header.ends_with(&hash) {
            return Err(damaged(path, "its manifest has another hash"));
        }
        let manifest: Manifest =
            serde_json::from_slice(&json).map_err(|error| damaged(path, &error.to_string()))?;
        let parts = bytes - (HEADER + length) as u64;
        manifest.check(parts).map_err(|reason| damaged(path, &reason))?;
        let path = path.to_owned();
        Ok((Self { id: hex(&hash), bytes, manifest, path }, file))
    }

    /// Writes the parts into the directory `into`, durably, comparing every hash.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a part that has another hash; what was written is of no use then.
    pub(crate) fn unpack(path: &Path, into: &Path) -> Result<Self> {
        let (snapshot, mut file) = Self::open(path)?;
        for part in &snapshot.manifest.parts {
            let to = into.join(&part.path);
            let folder = to.parent().unwrap_or(into);
            let made = create_private_folder(folder);
            made.map_err(|error| Error::io("create", folder, error))?;
            let written = (private_file().write(true).create_new(true).open(&to))
                .and_then(|to| copy(&mut (&mut file).take(part.bytes), to, |file| file.sync_all()))
                .map_err(|error| Error::io("write", &to, error))?;
            if written != (part.bytes, part.sha256.clone()) {
                return Err(damaged(path, &format!("`{}` has another hash", part.path)));
            }
            sync(folder)?;
        }
        sync(into)?;
        Ok(snapshot)
    }

    /// Where it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Manifest {
    /// The manifest's bytes, the same for the same content.
    pub(crate) fn json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self)
            .map_err(|error| Error::backend(Part::Snapshot, "write its manifest", error))
    }

    /// What stands before the manifest.
    pub(crate) fn header(json: &[u8]) -> (Vec<u8>, String) {
        let hash: [u8; 32] = Sha256::digest(json).into();
        let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
        let header = [&MAGIC[..], &VERSION.to_le_bytes(), &length.to_le_bytes(), &hash].concat();
        (header, hex(&hash))
    }

    /// Checks that the parts are files of an index, each once, and as long as what follows.
    fn check(&self, bytes: u64) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        let mut total = 0_u64;
        for SnapshotPart { path, bytes, sha256 } in &self.parts {
            if !is_of_an_index(path) {
                return Err(format!("`{path}` is no file of an index"));
            }
            if !seen.insert(path) {
                return Err(format!("`{path}` is there twice"));
            }
            if sha256.len() != 64 {
                return Err(format!("`{path}` has no hash"));
            }
            total = total.checked_add(*bytes).ok_or("its lengths are out of range")?;
        }
        if total != bytes {
            return Err(format!("its parts have {total} bytes, the file has {bytes}"));
        }
        let is_whole = Store::FILES.iter().all(|name| seen.contains(&(*name).to_owned()));
        if is_whole { Ok(()) } else { Err("it has no store".to_owned()) }
    }
}

/// Copies `from` into `to`; how much, and its SHA-256.
pub(crate) fn copy<W: Write>(
    from: &mut impl Read,
    mut to: W,
    finish: impl FnOnce(&mut W) -> io::Result<()>,
) -> io::Result<(u64, String)> {
    let (mut hasher, mut total) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let bytes = buffer.get(..read).unwrap_or_default();
        hasher.update(bytes);
        to.write_all(bytes)?;
        total += bytes.len() as u64;
    }
    finish(&mut to)?;
    Ok((total, hex(&hasher.finalize())))
}

/// The store, or a file right below the directory of an index. So nothing leads out of the
/// directory that a snapshot is unpacked into.
fn is_of_an_index(path: &str) -> bool {
    let is_plain = |name: &str| {
        !name.is_empty()
            && name.len() <= 100
            && !name.bytes().all(|byte| byte == b'.')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    let mut names = path.split('/');
    match [names.next(), names.next(), names.next(), names.next()] {
        [Some(name), None, None, None] => Store::FILES.contains(&name),
        [Some(collection), Some(retriever), Some(name), None] => {
            Collection::ALL.into_iter().any(|one| one.name() == collection)
                && (generation_of(retriever).is_some() || is_own_folder(retriever))
                && is_plain(name)
        }
        _ => false,
    }
}

fn damaged(path: &Path, reason: &str) -> Error {
    Error::Corrupt { part: Part::Snapshot, reason: format!("`{}`: {reason}", path.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_an_index_are_taken() {
        for path in [
            "store.db",
            "documents/graph/EVIDENCE",
            "documents/keyword/.managed.json",
            "memory/semantic-12/MANIFEST",
            "documents/trigrams/x",
        ] {
            assert!(is_of_an_index(path), "{path}");
        }
        for path in [
            "",
            "/store.db",
            "../store.db",
            "store.db-wal",
            "LOCK",
            "documents",
            "documents/graph",
            "documents/graph/",
            "documents/graph/..",
            "documents/../../x",
            "documents/graph/../../../x",
            "documents/graph/a/b",
            "documents/semantic-/x",
            "documents/semantic-01/x",
            "documents/semantic-../x",
            "documents\\graph\\x",
            "documents/graph/a\\b",
            "documents/graph/a b",
            "documents/graph/\u{202e}x",
            "C:/documents/graph",
        ] {
            assert!(!is_of_an_index(path), "{path}");
        }
    }

    #[test]
    fn lengths_have_to_add_up() {
        let part = |path: &str, bytes| SnapshotPart {
            path: path.to_owned(),
            bytes,
            sha256: "0".repeat(64),
        };
        let check = |parts: Vec<SnapshotPart>, bytes, sound| {
            let manifest = Manifest { seq: Seq::ZERO, model: None, parts };
            assert_eq!(manifest.check(bytes).is_ok(), sound, "{manifest:?}");
        };
        let other = "documents/graph/EVIDENCE";
        check(vec![part("store.db", 5)], 5, true);
        check(vec![part("store.db", 5), part(other, 0)], 5, true);
        check(vec![part("store.db", 5)], 4, false);
        check(vec![part("store.db", u64::MAX), part(other, 6)], 5, false);
        check(vec![part("store.db", 2), part("store.db", 3)], 5, false);
        check(vec![part(other, 5)], 5, false);
        check(Vec::new(), 0, false);
    }
}
