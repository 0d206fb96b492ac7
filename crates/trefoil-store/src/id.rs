use std::fmt::Write;

use sha2::{Digest, Sha256};
use trefoil_core::{
    ChunkId, ChunkLevel, CommunityId, EntityId, FileId, RelationId, RelationType, Result,
};

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
    let (text, occurrence) = (sha256(text.as_bytes()), occurrence.to_le_bytes());
    let mut parts = vec![file.as_str().as_bytes(), level];
    parts.extend(heading_path.iter().map(String::as_bytes));
    parts.extend([text.as_slice(), occurrence.as_slice()]);
    ChunkId::new(prefixed(ChunkId::PREFIX, &digest_of(&parts)))
}

/// The id of an entity: the first 16 bytes of the SHA-256 of its normalised name, so that
/// every index, and `PostgreSQL`, calls it the same.
pub fn entity_id(normalized_name: &str) -> Result<EntityId> {
    EntityId::new(prefixed(EntityId::PREFIX, &sha256(normalized_name.as_bytes())))
}

/// The id of an entity of memory, which is another than that of documents with its name.
pub fn memory_entity_id(normalized_name: &str) -> Result<EntityId> {
    let digest = digest_of(&[b"memory", normalized_name.as_bytes()]);
    EntityId::new(prefixed(EntityId::PREFIX, &digest))
}

/// The id of a relation: the first 16 bytes of the SHA-256 over the normalised name of the
/// one entity, the type, and the normalised name of the other, every part after its length.
pub fn relation_id(source: &str, relation_type: &RelationType, target: &str) -> Result<RelationId> {
    let parts = [source, relation_type.as_str(), target].map(str::as_bytes);
    RelationId::new(prefixed(RelationId::PREFIX, &digest_of(&parts)))
}

/// The id of a community: the first 16 bytes of the SHA-256 over its level and the ids of its
/// members in order, every part after its length.
pub fn community_id(level: u8, members: &[EntityId]) -> Result<CommunityId> {
    let level = [level];
    let mut parts: Vec<&[u8]> = members.iter().map(|id| id.as_str().as_bytes()).collect();
    parts.sort_unstable();
    parts.insert(0, &level);
    CommunityId::new(prefixed(CommunityId::PREFIX, &digest_of(&parts)))
}

/// The SHA-256 over parts, every one after its length.
fn digest_of(parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
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
        let id = entity_id("東京").unwrap();
        assert_eq!(id.as_str(), "ent_130016b2599bf7e5978cae78e528c67f");
        let id = relation_id("東京", &RelationType::CO_OCCURS, "大阪").unwrap();
        assert_eq!(id.as_str(), "rel_8d076c750c9fffb1ed29c7f3bf4f6e06");
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
