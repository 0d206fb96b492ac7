//! Compressed files that expand without bound.

/// More than any document of the largest size that is read expands to.
const MAX_EXPANDED_BYTES: u64 = 256 * 1024 * 1024;

fn refuse() -> Result<(), String> {
    Err(format!("it expands to more than {} MiB", MAX_EXPANDED_BYTES >> 20))
}

/// Refuses a ZIP archive whose entries expand to more than the limit. Sizes that an
/// archive lies about are caught by the reader of its entries.
#[cfg(feature = "office")]
pub(super) fn archive(bytes: &[u8]) -> Result<(), String> {
    let mut archive =
        zip::ZipArchive::new(std::io::Cursor::new(bytes)).map_err(|error| format!("it is no archive: {error}"))?;
    let mut expanded: u64 = 0;
    for i in 0..archive.len() {
        let entry = archive.by_index_raw(i).map_err(|error| format!("its archive is damaged: {error}"))?;
        expanded = expanded.saturating_add(entry.size());
    }
    if expanded > MAX_EXPANDED_BYTES { refuse() } else { Ok(()) }
}

/// Refuses a PDF whose deflated streams, also those deflated twice, expand to more
/// than the limit. Streams are found by their keyword, before any parser runs.
#[cfg(feature = "pdf")]
pub(super) fn streams(bytes: &[u8]) -> Result<(), String> {
    let keyword = b"stream";
    let mut left = MAX_EXPANDED_BYTES;
    let mut rest = bytes;
    while let Some(at) = rest.windows(keyword.len()).position(|window| window == keyword) {
        rest = rest.get(at + keyword.len()..).unwrap_or_default();
        let start = rest.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(rest.len());
        let mut data = inflate(rest.get(start..).unwrap_or_default(), left);
        while !data.is_empty() {
            left = left.saturating_sub(u64::try_from(data.len()).unwrap_or(u64::MAX));
            if left == 0 {
                return refuse();
            }
            data = inflate(&data, left);
        }
    }
    Ok(())
}

/// What a zlib stream holds, up to a limit; nothing if it is none.
#[cfg(feature = "pdf")]
fn inflate(bytes: &[u8], limit: u64) -> Vec<u8> {
    use std::io::Read;

    // The compression method, deflate, is in the low half of the first byte (RFC 1950).
    if bytes.first().is_none_or(|byte| byte & 0x0F != 8) {
        return Vec::new();
    }
    let mut data = Vec::new();
    // A stream that breaks off is read up to there, as PDF readers do.
    let _ = flate2::read::ZlibDecoder::new(bytes).take(limit).read_to_end(&mut data);
    data
}
