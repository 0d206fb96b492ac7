//! SHA-256 as the store keeps it.

use sha2::{Digest, Sha256};

/// The digest of the parts, one after the other, in hexadecimal.
pub(crate) fn sha256(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    let mut hex = String::with_capacity(64);
    for byte in hasher.finalize() {
        for digit in [byte >> 4, byte & 15] {
            hex.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    hex
}
