//! Compressed files that expand without bound.

/// More than any document of the largest size that is read expands to.
pub(super) const MAX_EXPANDED_BYTES: u64 = 256 * 1024 * 1024;

fn refuse(limit: u64) -> Result<(), String> {
    Err(format!("it expands to more than {} MiB", limit >> 20))
}

/// Refuses a ZIP archive whose entries expand to more than the limit. Sizes that an
/// archive lies about are caught by the reader of its entries.
#[cfg(feature = "office")]
pub(super) fn archive(bytes: &[u8], limit: u64) -> Result<(), String> {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes))
        .map_err(|error| format!("it is no archive: {error}"))?;
    let mut expanded: u64 = 0;
    for i in 0..archive.len() {
        let entry =
            archive.by_index_raw(i).map_err(|error| format!("its archive is damaged: {error}"))?;
        expanded = expanded.saturating_add(entry.size());
    }
    if expanded > limit { refuse(limit) } else { Ok(()) }
}

/// Refuses a PDF whose deflated streams, also those deflated twice, expand to more
/// than the limit. Streams are found by their keyword, before any parser runs.
#[cfg(feature = "pdf")]
pub(super) fn streams(bytes: &[u8], limit: u64) -> Result<(), String> {
    let keyword = b"stream";
    let mut left = limit;
    let mut rest = bytes;
    while let Some(at) = rest.windows(keyword.len()).position(|window| window == keyword) {
        rest = rest.get(at + keyword.len()..).unwrap_or_default();
        let start = rest.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(rest.len());
        let mut data = inflate(rest.get(start..).unwrap_or_default(), left);
        while !data.is_empty() {
            left = left.saturating_sub(u64::try_from(data.len()).unwrap_or(u64::MAX));
            if left == 0 {
                return refuse(limit);
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

#[cfg(test)]
mod tests {
    #[cfg(feature = "office")]
    #[test]
    fn an_archive_bomb_is_refused() {
        use std::io::Write;

        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        archive.start_file("word/document.xml", zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&vec![b' '; 2 << 20]).unwrap();
        let bytes = archive.finish().unwrap().into_inner();
        assert_eq!(super::archive(&bytes, 2 << 20), Ok(()));
        assert_eq!(
            super::archive(&bytes, 1 << 20),
            Err("it expands to more than 1 MiB".to_owned())
        );
    }

    #[cfg(feature = "pdf")]
    #[test]
    fn a_bomb_in_a_stream_is_refused_also_if_packed_twice() {
        use std::io::Write;

        let deflated = |bytes: &[u8]| {
            let mut encoder =
                flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let once = deflated(&vec![0; 2 << 20]);
        for data in [deflated(&once), once] {
            let pdf = [
                b"%PDF-1.4\n1 0 obj << /Filter /FlateDecode >>\nstream\r\n",
                data.as_slice(),
                b"\nendstream",
            ]
            .concat();
            assert_eq!(super::streams(&pdf, 3 << 20), Ok(()));
            assert_eq!(
                super::streams(&pdf, 1 << 20),
                Err("it expands to more than 1 MiB".to_owned())
            );
        }
    }
}
