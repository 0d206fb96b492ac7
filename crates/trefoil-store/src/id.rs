use std::fmt::Write;

use sha2::{Digest, Sha256};
use trefoil_core::{ChunkId, ChunkLevel, FileId, Result};

/// The id of the file at `path`: the first 16 bytes of the path's SHA-256.
pub fn file_id(path: &str) -> Result<FileId> {
    FileId::new(prefixed(FileId::PREFIX, &sha256(path.as_bytes())))
}

/// The id of a chunk: the first 16 bytes of the SHA-256 over file, level, heading
/// path, text hash and `occurrence` (0 for the first chunk of the file with these,
/// 1 for the next …), every part after its length.
pub fn chunk_id(
    file: &FileId,
    level: ChunkLevel,
    heading_path: &[String],
    text: &str,
    occurrence: u32,
) -> Result<ChunkId> {
    let level: &[u8] = match level {
        ChunkLevel::Leaf => b"leaf",
        ChunkLevel::Parent => b"parent",
    };
    let mut digest = Sha256::new();
    let mut part = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    part(file.as_str().as_bytes());
    part(level);
    for heading in heading_path {
        part(heading.as_bytes());
    }
    part(&sha256(text.as_bytes()));
    part(&occurrence.to_le_bytes());
    ChunkId::new(prefixed(ChunkId::PREFIX, &digest.finalize()))
}

/// The SHA-256 of `bytes`.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn prefixed(prefix: &str, digest: &[u8]) -> String {
    format!("{prefix}{}", hex(digest.get(..16).unwrap_or(digest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids are in other people's links: they may never change.
    #[test]
    fn ids_are_stable() {
        let file = file_id("guide/intro.md").unwrap();
        assert_eq!(file.as_str(), "fil_f5e30844a0a461111eb1ae9a5833d057");
        let id = chunk_id(&file, ChunkLevel::Leaf, &["Intro".into()], "日本語", 0).unwrap();
        assert_eq!(id.as_str(), "chk_257bca6c5f5d6b5c6f007ae8c9caab88");
    }

    #[test]
    fn every_part_of_a_chunk_id_counts() {
        use ChunkLevel::{Leaf, Parent};
        let (a, b) = (file_id("a").unwrap(), file_id("b").unwrap());
        let headings =
            |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let id = |file, level, names: &[&str], text, occurrence| {
            chunk_id(file, level, &headings(names), text, occurrence).unwrap()
        };
        let mut ids = vec![
            id(&a, Leaf, &["x", "y"], "t", 0),
            id(&b, Leaf, &["x", "y"], "t", 0),
            id(&a, Parent, &["x", "y"], "t", 0),
            id(&a, Leaf, &["xy"], "t", 0),
            id(&a, Leaf, &["x"], "t", 0),
            id(&a, Leaf, &["x", "y"], "u", 0),
            id(&a, Leaf, &["x", "y"], "t", 1),
        ];
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 7);
    }
}
