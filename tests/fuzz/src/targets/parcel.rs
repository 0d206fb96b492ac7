//! What comes from elsewhere as a file: a snapshot of an index, and the card of a model.

use std::{fmt::Write as _, fs};

use sha2::{Digest as _, Sha256};
use trefoil::{Engine, admin::Snapshot, model::Card};

/// The length of a manifest, the manifest in JSON, and what follows it. Hashes would stop the
/// fuzzer at the door: each part gets the right one, as from a writer with a fault.
pub(crate) fn snapshot(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (json, parts) = rest.split_at(length);
    let json = with_hashes(json, parts).unwrap_or_else(|| json.to_vec());
    let mut file = b"TREFSNAP".to_vec();
    file.extend(1_u32.to_le_bytes());
    file.extend(u32::try_from(json.len()).unwrap().to_le_bytes());
    file.extend(Sha256::digest(&json));
    file.extend(&json);
    file.extend(parts);
    let path = super::folder().join("a.snapshot");
    fs::write(&path, file).unwrap();
    if Snapshot::read(&path).is_err() {
        return;
    }
    let dir = super::folder().join("imported");
    if Engine::import(&path, &dir).is_ok() {
        fs::remove_dir_all(&dir).unwrap();
    }
}

/// The manifest with the hash of each of its parts; none if it is not one.
fn with_hashes(json: &[u8], parts: &[u8]) -> Option<Vec<u8>> {
    let mut manifest: serde_json::Value = serde_json::from_slice(json).ok()?;
    let mut rest = parts;
    for part in manifest.get_mut("parts")?.as_array_mut()? {
        let length = usize::try_from(part.get("bytes")?.as_u64()?).ok()?.min(rest.len());
        let (content, after) = rest.split_at(length);
        rest = after;
        let mut hash = String::new();
        for byte in Sha256::digest(content) {
            write!(hash, "{byte:02x}").unwrap();
        }
        *part.get_mut("sha256")? = hash.into();
    }
    Some(manifest.to_string().into_bytes())
}

/// The card of a model, in TOML.
pub(crate) fn card(bytes: &[u8]) {
    let path = super::folder().join("card.toml");
    fs::write(&path, bytes).unwrap();
    if let Ok(card) = Card::read(&path) {
        let text = toml::to_string(&card).unwrap();
        toml::from_str::<Card>(&text).unwrap();
    }
}
