//! What a chunk says as a text, where it is part of a request: its bytes, hexadecimal.

use serde::{Deserialize, Deserializer, Serializer, de::Error};
use trefoil_core::Extraction;

use super::coding::{bytes_of, decode};
use crate::id::hex;

pub(crate) fn serialize<S: Serializer>(said: &Extraction, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&hex(&bytes_of(said).unwrap_or_default()))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Extraction, D::Error> {
    let text = String::deserialize(from)?;
    if text.is_empty() {
        return Ok(Extraction::default());
    }
    let byte = |at: usize| text.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(byte).collect();
    let bytes = bytes.ok_or_else(|| D::Error::custom("mentions that are not hexadecimal"))?;
    decode(&bytes).map_err(D::Error::custom)
}
