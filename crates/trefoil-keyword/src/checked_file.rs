//! Files that are checked block by block, each before it is first read.
//!
//! Behind what was written stand a CRC-32 of each block and [`TAIL`] bytes: the length of what was
//! written (u64), the CRC-32 of all CRCs and of this length (u32), and [`MARK`].

use std::{
    io::{self, BufWriter, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tantivy::{
    HasLen,
    directory::{AntiCallToken, FileHandle, OwnedBytes, TerminatingWrite, WritePtr},
};

/// Bytes that a CRC-32 stands for.
const BLOCK: usize = 1 << 16;
/// Bytes behind the CRCs.
const TAIL: usize = 16;
const MARK: &[u8; 4] = b"TREF";

/// A file whose blocks are compared with their CRCs.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    path: PathBuf,
    file: Arc<dyn FileHandle>,
    length: usize,
    blocks: Vec<Block>,
    /// Told of the first block that differs.
    damaged: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Block {
    crc: u32,
    is_checked: AtomicBool,
}

impl CheckedFile {
    /// Reads the end of a file.
    ///
    /// # Errors
    /// `InvalidData` if it is not what was written, as far as can be told from the end.
    pub(crate) fn open(
        path: &Path,
        file: Arc<dyn FileHandle>,
        damaged: &Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let this = Self::read_end(path, file, damaged)?;
        this.ok_or_else(|| {
            damaged.store(true, Ordering::Relaxed);
            is_damaged(path, "it is cut off")
        })
    }

    fn read_end(
        path: &Path,
        file: Arc<dyn FileHandle>,
        damaged: &Arc<AtomicBool>,
    ) -> io::Result<Option<Self>> {
        let Some(tail) = file.len().checked_sub(TAIL) else { return Ok(None) };
        let bytes = file.read_bytes(tail..file.len())?;
        let Some((length, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let Some((crc, mark)) = rest.split_first_chunk() else { return Ok(None) };
        let whole = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let table = tail.checked_sub(whole);
        if mark != MARK || table != whole.div_ceil(BLOCK).checked_mul(size_of::<u32>()) {
            return Ok(None);
        }
        let table = file.read_bytes(whole..tail)?;
        if u32::from_le_bytes(*crc) != crc_of(&[&table, length]) {
            return Ok(None);
        }
        let (crcs, _) = table.as_chunks();
        let block = |crc: &[u8; 4]| Block {
            crc: u32::from_le_bytes(*crc),
            is_checked: AtomicBool::new(false),
        };
        Ok(Some(Self {
            path: path.to_owned(),
            file,
            length: whole,
            blocks: crcs.iter().map(block).collect(),
            damaged: Arc::clone(damaged),
        }))
    }

    fn check(&self, range: &Range<usize>) -> io::Result<()> {
        let blocks = self.blocks.iter().enumerate();
        for (number, block) in blocks.take(range.end.div_ceil(BLOCK)).skip(range.start / BLOCK) {
            if block.is_checked.load(Ordering::Relaxed) {
                continue;
            }
            let from = number * BLOCK;
            let bytes = self.file.read_bytes(from..self.length.min(from + BLOCK))?;
            if crc_of(&[&bytes]) != block.crc {
                self.damaged.store(true, Ordering::Relaxed);
                return Err(is_damaged(&self.path, "a block does not have its checksum"));
            }
            block.is_checked.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl HasLen for CheckedFile {
    fn len(&self) -> usize {
        self.length
    }
}

impl FileHandle for CheckedFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if range.start > range.end || range.end > self.length {
            self.damaged.store(true, Ordering::Relaxed);
            return Err(is_damaged(&self.path, "what points into it points beyond its end"));
        }
        self.check(&range)?;
        self.file.read_bytes(range)
    }
}

/// Writes a file with the CRCs of its blocks.
pub(crate) fn checked(file: WritePtr) -> WritePtr {
    BufWriter::new(Box::new(CheckedWriter { file, length: 0, full: Vec::new(), block: hasher() }))
}

struct CheckedWriter {
    file: WritePtr,
    length: usize,
    /// The CRCs of the blocks that are full.
    full: Vec<u8>,
    /// That of the last one.
    block: crc32fast::Hasher,
}

impl Write for CheckedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = BLOCK - self.length % BLOCK;
        let written = self.file.write(bytes.get(..room).unwrap_or(bytes))?;
        self.block.update(bytes.get(..written).unwrap_or_default());
        self.length += written;
        if written > 0 && self.length.is_multiple_of(BLOCK) {
            let crc = std::mem::replace(&mut self.block, hasher()).finalize();
            self.full.extend(crc.to_le_bytes());
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for CheckedWriter {
    fn terminate_ref(&mut self, token: AntiCallToken) -> io::Result<()> {
        if !self.length.is_multiple_of(BLOCK) {
            self.full.extend(self.block.clone().finalize().to_le_bytes());
        }
        let length = (self.length as u64).to_le_bytes();
        self.file.write_all(&self.full)?;
        self.file.write_all(&length)?;
        self.file.write_all(&crc_of(&[&self.full, &length]).to_le_bytes())?;
        self.file.write_all(MARK)?;
        self.file.terminate_ref(token)
    }
}

fn hasher() -> crc32fast::Hasher {
    crc32fast::Hasher::new()
}

fn crc_of(parts: &[&[u8]]) -> u32 {
    let mut crc = hasher();
    for part in parts {
        crc.update(part);
    }
    crc.finalize()
}

fn is_damaged(path: &Path, reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is damaged: {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// What was written, to be looked at when the writer is gone.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Half of it at a time, as a file may.
            let some = &bytes[..bytes.len().div_ceil(2)];
            self.0.lock().unwrap().extend(some);
            Ok(some.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl TerminatingWrite for Written {
        fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
            Ok(())
        }
    }

    fn write(bytes: &[u8]) -> Vec<u8> {
        let written = Written::default();
        let mut file = checked(BufWriter::new(Box::new(written.clone())));
        file.write_all(bytes).unwrap();
        file.terminate().unwrap();
        written.0.lock().unwrap().clone()
    }

    fn open(bytes: Vec<u8>) -> (io::Result<CheckedFile>, Arc<AtomicBool>) {
        let damaged = Arc::default();
        let bytes = Arc::new(OwnedBytes::new(bytes));
        (CheckedFile::open(Path::new("postings"), bytes, &damaged), damaged)
    }

    #[test]
    fn what_is_written_is_read() {
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK] {
            let bytes: Vec<u8> = (0..=250_u8).cycle().take(length).collect();
            let (file, damaged) = open(write(&bytes));
            let file = file.unwrap();
            assert_eq!(file.len(), length);
            assert_eq!(file.read_bytes(0..length).unwrap().as_slice(), bytes, "{length}");
            assert_eq!(file.read_bytes(length / 2..length).unwrap().len(), length - length / 2);
            assert!(file.read_bytes(0..length + 1).is_err());
            assert!(damaged.load(Ordering::Relaxed));
        }
    }

    #[test]
    fn damage_is_told_of_the_block_that_is_read() {
        let whole = write(&vec![7; 2 * BLOCK + 9]);
        let with = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            open(bytes)
        };
        for at in [0, BLOCK, 2 * BLOCK + 8] {
            let (file, damaged) = with(at);
            let file = file.unwrap();
            for (block, range) in
                [0..BLOCK, BLOCK..2 * BLOCK, 2 * BLOCK..2 * BLOCK + 9].into_iter().enumerate()
            {
                if block == at / BLOCK {
                    continue;
                }
                assert!(file.read_bytes(range).is_ok(), "{at} {block}");
            }
            assert!(!damaged.load(Ordering::Relaxed));
            let error = file.read_bytes(at..at + 1).unwrap_err();
            assert!(error.to_string().contains("postings"), "{error}");
            assert!(damaged.load(Ordering::Relaxed));
        }
        for at in 2 * BLOCK + 9..whole.len() {
            assert!(with(at).0.is_err(), "{at}");
        }
        for length in [0, 1, TAIL, BLOCK, whole.len() - 1] {
            assert!(open(whole[..length].to_vec()).0.is_err(), "{length}");
        }
        assert!(open([whole, vec![0]].concat()).0.is_err());
    }
}
