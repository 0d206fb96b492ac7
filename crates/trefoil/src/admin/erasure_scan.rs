//! Search of files for what is left of erased texts.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
};

use trefoil_core::{Error, Result};
use trefoil_store::memory::ErasedRuns;

const RUN: u64 = 16;
const BLOCK: usize = 1 << 20;

/// Looks for runs of erased texts in every byte of files. They are seen where a file holds text
/// as it is; not inside of what is compressed or derived.
#[derive(Debug)]
pub(crate) struct Scanner {
    erased: ErasedRuns,
}

impl Scanner {
    pub(crate) fn new(erased: ErasedRuns) -> Self {
        Self { erased }
    }

    /// Bytes of a file, and at how many of them a run ends; none if it is gone by now.
    pub(crate) fn scan(&self, path: &Path) -> Result<Option<(u64, u64)>> {
        let failed = |source| Error::io("search for erased text in", path, source);
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut block = vec![0; BLOCK];
        let (mut run, mut seen, mut hits) = (0_u128, 0_u64, 0_u64);
        loop {
            let read = file.read(&mut block).map_err(failed)?;
            let Some(bytes) = block.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
            for &byte in bytes {
                run = run >> 8 | u128::from(byte) << 120;
                seen += 1;
                hits += u64::from(seen >= RUN && self.erased.contains(run));
            }
        }
        Ok(Some((seen, hits)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_wherever_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut erased = ErasedRuns::new([3, 4]);
        erased.add("the walrus and the carpenter");
        let scanner = Scanner::new(erased);
        let check = |bytes: &[u8], expected| {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(scanner.scan(&path).unwrap(), Some((bytes.len() as u64, expected)));
        };
        check(b"", 0);
        check(b"the walrus and ", 0);
        check(b"the walrus and t", 1);
        check(b"\0\xFFthe walrus and the carpenter!", 13);
        let mut across = vec![b'.'; BLOCK - 8];
        across.extend_from_slice(b"the walrus and the");
        check(&across, 3);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(scanner.scan(&path).unwrap(), None);
    }
}
