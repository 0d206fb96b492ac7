//! A file that never changes once a manifest names it: a header, a payload, and the
//! CRC-32 of every block of the payload. A block is checked before it is first read,
//! so that opening costs the same at any size and damage is never served.
//!
//! Little endian; offsets in bytes:
//!
//! | from | what |
//! |---|---|
//! | 0 | magic, 8 bytes |
//! | 8 | format version, u32 |
//! | 12 | CRC-32 of the block table, u32 |
//! | 16 | length of the payload, u64 |
//! | 24 | four numbers of the payload's own, u64 each; those that it does not have are 0 |
//! | 56 | zeros |
//! | 60 | CRC-32 of bytes 0–59, u32: the seal, which the manifest repeats |
//! | 64 | payload |
//! | end of payload | block table: CRC-32 of each 64 KiB of payload, u32 |

use std::{
    fs::File,
    io::{BufWriter, ErrorKind, Read, Seek, SeekFrom, Write},
    ops::Deref,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use memmap2::Mmap;

use crate::{Error, Part, Result, is_remote, private_file};

/// Where the payload starts, and what sections within it are aligned to.
pub const ALIGN: usize = 64;
const BLOCK: usize = 64 * 1024;

/// What a checksummed file is one of.
#[derive(Clone, Copy, Debug)]
pub struct FileKind {
    /// The first bytes of the file.
    pub magic: [u8; 8],
    /// The version of its format.
    pub version: u32,
    /// The oldest version that is read.
    pub oldest: u32,
    /// The part of the engine that it belongs to.
    pub part: Part,
}

/// A checksummed file, mapped; on a network file system, read.
#[derive(Debug)]
pub struct ChecksummedFile {
    path: PathBuf,
    kind: FileKind,
    map: Bytes,
    len: usize,
    numbers: [u64; 4],
    seal: u32,
    checked: Box<[AtomicBool]>,
}

/// What is in a file.
#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

impl ChecksummedFile {
    /// Maps a file and checks its header, its length and its block table. On a network file
    /// system it is read instead: a mapped file that is cut there ends the process.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is missing or is not what was written,
    /// [`Error::UnsupportedFormat`] if another version wrote it, [`Error::Io`].
    pub fn open(path: &Path, kind: FileKind) -> Result<Self> {
        Self::open_by(path, kind, is_remote(path))
    }

    /// The same of a payload that is in no file.
    pub fn in_memory(kind: FileKind, payload: Vec<u8>, numbers: [u64; 4]) -> Self {
        let len = payload.len();
        let mut bytes = vec![0; ALIGN];
        bytes.extend(payload);
        let path = PathBuf::from("memory");
        let checked = (0..len.div_ceil(BLOCK)).map(|_| AtomicBool::new(true)).collect();
        Self { path, kind, map: Bytes::Read(bytes), len, numbers, seal: 0, checked }
    }

    fn open_by(path: &Path, kind: FileKind, reading: bool) -> Result<Self> {
        let mut file = File::open(path).map_err(|e| {
            if e.kind() == ErrorKind::NotFound {
                Fault::Damaged("it is missing").at(path, kind)
            } else {
                Error::io("open", path, e)
            }
        })?;
        let map = if reading {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(|e| Error::io("read", path, e))?;
            Bytes::Read(bytes)
        } else {
            #[expect(unsafe_code, reason = "a memory map cannot be made without it")]
            // SAFETY: checksummed files are created under a new name, are never written again,
            // and go away by unlinking, which leaves maps intact.
            let map = unsafe { Mmap::map(&file) }.map_err(|e| Error::io("map", path, e))?;
            Bytes::Mapped(map)
        };
        let header = Header::parse(&map, kind).map_err(|fault| fault.at(path, kind))?;
        let damaged = || Fault::Damaged("it is not as long as its header says").at(path, kind);
        let len = usize::try_from(header.len).map_err(|_| damaged())?;
        let table_start = len.checked_add(ALIGN).ok_or_else(damaged)?;
        let table = map.get(table_start..).ok_or_else(damaged)?;
        let blocks = len.div_ceil(BLOCK);
        if table.len() != blocks * 4 {
            return Err(damaged());
        }
        if crc32fast::hash(table) != header.table_crc {
            return Err(Fault::Damaged("its block table has another checksum").at(path, kind));
        }
        let checked = (0..blocks).map(|_| AtomicBool::new(false)).collect();
        Ok(Self {
            path: path.to_owned(),
            kind,
            len,
            numbers: header.numbers,
            seal: header.seal,
            checked,
            map,
        })
    }

    /// What stands for the whole content: the header's checksum, which covers the
    /// checksum of the table, which covers the blocks.
    pub fn seal(&self) -> u32 {
        self.seal
    }

    /// The payload's own numbers.
    pub fn numbers(&self) -> [u64; 4] {
        self.numbers
    }

    /// Length of the payload.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is no payload.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Payload bytes, checked.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if they are not in the payload, or not what was written.
    #[inline]
    pub fn bytes(&self, start: usize, len: usize) -> Result<&[u8]> {
        let end = start.checked_add(len).filter(|&end| end <= self.len);
        let end = end.ok_or_else(|| self.damaged("it refers to a place outside itself"))?;
        let blocks = start / BLOCK..end.div_ceil(BLOCK);
        for (block, checked) in blocks.clone().zip(self.checked.get(blocks).unwrap_or_default()) {
            if !checked.load(Ordering::Relaxed) {
                self.check(block)?;
                checked.store(true, Ordering::Relaxed);
            }
        }
        self.map
            .get(ALIGN + start..ALIGN + end)
            .ok_or_else(|| self.damaged("it refers to a place outside itself"))
    }

    /// Checks every block.
    ///
    /// # Errors
    /// [`Error::Corrupt`] with the first that is damaged.
    pub fn verify(&self) -> Result<()> {
        self.bytes(0, self.len).map(drop)
    }

    /// An error that names this file.
    #[cold]
    pub fn damaged(&self, reason: &'static str) -> Error {
        Fault::Damaged(reason).at(&self.path, self.kind)
    }

    #[cold]
    fn check(&self, block: usize) -> Result<()> {
        let start = ALIGN + block * BLOCK;
        let end = (start + BLOCK).min(ALIGN + self.len);
        let entry = ALIGN + self.len + block * 4;
        let same = self.map.get(start..end).zip(number(&self.map, entry).map(u32::from_le_bytes));
        if same.is_some_and(|(bytes, crc)| crc32fast::hash(bytes) == crc) {
            Ok(())
        } else {
            Err(self.damaged("a block has another checksum"))
        }
    }
}

/// Writes a checksummed file from front to back.
#[derive(Debug)]
pub struct ChecksummedWriter {
    path: PathBuf,
    file: BufWriter<File>,
    kind: FileKind,
    len: usize,
    crc: crc32fast::Hasher,
    filled: usize,
    table: Vec<u8>,
}

impl ChecksummedWriter {
    /// Starts a file under a new name; a leftover of that name is unlinked first, for
    /// somebody may still have it mapped.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path, kind: FileKind) -> Result<Self> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(Error::io("remove", path, e));
            }
            _ => {}
        }
        let file = private_file().write(true).create_new(true).open(path);
        let file = file.map_err(|e| Error::io("create", path, e))?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        file.write_all(&[0; ALIGN]).map_err(|e| Error::io("write", path, e))?;
        let crc = crc32fast::Hasher::new();
        Ok(Self { path: path.to_owned(), file, kind, len: 0, crc, filled: 0, table: Vec::new() })
    }

    /// Appends to the payload.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| Error::io("write", &self.path, e))?;
        self.len += bytes.len();
        while let Some((now, later)) = bytes.split_at_checked(BLOCK - self.filled) {
            self.crc.update(now);
            self.end_block();
            bytes = later;
        }
        self.crc.update(bytes);
        self.filled += bytes.len();
        Ok(())
    }

    /// Appends zeros up to the next aligned place.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn align(&mut self) -> Result<()> {
        let zeros = [0; ALIGN];
        let missing = self.len.next_multiple_of(ALIGN) - self.len;
        self.write(zeros.get(..missing).unwrap_or_default())
    }

    /// Makes the file durable and gives its seal.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self, numbers: [u64; 4]) -> Result<u32> {
        if self.filled > 0 {
            self.end_block();
        }
        let (header, seal) = Header::encode(self.kind, self.len as u64, &self.table, numbers);
        let mut write = || {
            self.file.write_all(&self.table)?;
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(&header)?;
            self.file.flush()?;
            self.file.get_ref().sync_all()
        };
        write().map_err(|e| Error::io("write", &self.path, e))?;
        Ok(seal)
    }

    fn end_block(&mut self) {
        let crc = std::mem::take(&mut self.crc).finalize();
        self.table.extend(crc.to_le_bytes());
        self.filled = 0;
    }
}

struct Header {
    table_crc: u32,
    len: u64,
    numbers: [u64; 4],
    seal: u32,
}

impl Header {
    fn parse(file: &[u8], kind: FileKind) -> Result<Self, Fault> {
        let header = file.get(..60).ok_or(Fault::Damaged("it is shorter than a header"))?;
        let short = Fault::Damaged("it is shorter than a header");
        let u32_at = |at| number(file, at).map(u32::from_le_bytes);
        let u64_at = |at| number(file, at).map(u64::from_le_bytes);
        let fields = (u32_at(8), u32_at(12), u64_at(16), u32_at(60));
        let (Some(version), Some(table_crc), Some(len), Some(seal)) = fields else {
            return Err(short);
        };
        if crc32fast::hash(header) != seal {
            return Err(Fault::Damaged("its header has another checksum"));
        }
        if !header.starts_with(&kind.magic) {
            return Err(Fault::Damaged("it is a file of another kind"));
        }
        if !(kind.oldest..=kind.version).contains(&version) {
            return Err(Fault::Version(version));
        }
        let numbers = [24, 32, 40, 48].map(|at| u64_at(at).unwrap_or_default());
        Ok(Self { table_crc, len, numbers, seal })
    }

    fn encode(kind: FileKind, len: u64, table: &[u8], numbers: [u64; 4]) -> (Vec<u8>, u32) {
        let mut header = Vec::with_capacity(ALIGN);
        header.extend(kind.magic);
        header.extend(kind.version.to_le_bytes());
        header.extend(crc32fast::hash(table).to_le_bytes());
        header.extend(len.to_le_bytes());
        header.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        header.resize(60, 0);
        let seal = crc32fast::hash(&header);
        header.extend(seal.to_le_bytes());
        (header, seal)
    }
}

enum Fault {
    Damaged(&'static str),
    Version(u32),
}

impl Fault {
    fn at(self, path: &Path, kind: FileKind) -> Error {
        let corrupt = |reason: &str| Error::Corrupt {
            part: kind.part,
            reason: format!("`{}`: {reason}", path.display()),
        };
        match self {
            Self::Damaged(reason) => corrupt(reason),
            Self::Version(found) if found < kind.oldest => {
                corrupt("an older version wrote it; it must be rebuilt")
            }
            Self::Version(found) => Error::UnsupportedFormat { found, supported: kind.version },
        }
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::RetrieverId;

    const KIND: FileKind = FileKind {
        magic: *b"TREFTEST",
        version: 1,
        oldest: 1,
        part: Part::Index(RetrieverId::SEMANTIC),
    };

    fn written(dir: &Path, payload: &[u8]) -> PathBuf {
        let path = dir.join("file");
        let mut writer = ChecksummedWriter::create(&path, KIND).unwrap();
        for part in payload.chunks(1000) {
            writer.write(part).unwrap();
        }
        let seal = writer.finish([7, 8, 9, 0]).unwrap();
        assert_eq!(ChecksummedFile::open(&path, KIND).unwrap().seal(), seal);
        path
    }

    #[test]
    fn what_was_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        for len in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17] {
            let payload: Vec<u8> = (0..=250).cycle().take(len).collect();
            let path = written(dir.path(), &payload);
            let file = ChecksummedFile::open(&path, KIND).unwrap();
            let read = ChecksummedFile::open_by(&path, KIND, true).unwrap();
            assert_eq!(read.bytes(0, len).unwrap(), payload);
            assert_eq!(file.bytes(0, len).unwrap(), payload);
            assert_eq!(file.numbers(), [7, 8, 9, 0]);
            assert!(file.bytes(0, len + 1).is_err());
            assert!(file.bytes(usize::MAX, 2).is_err());
        }
    }

    #[test]
    fn an_older_version_is_read_or_rebuilt_and_a_newer_one_refused() {
        let kind = FileKind { version: 3, oldest: 2, ..KIND };
        let dir = tempfile::tempdir().unwrap();
        let path = written(dir.path(), &[5; 700]);
        let mut bytes = std::fs::read(&path).unwrap();
        let mut open = |version| {
            bytes[8] = version;
            let seal = crc32fast::hash(&bytes[..60]);
            bytes[60..64].copy_from_slice(&seal.to_le_bytes());
            std::fs::write(&path, &bytes).unwrap();
            ChecksummedFile::open(&path, kind).map(|file| file.numbers())
        };
        for version in [3, 2] {
            assert_eq!(open(version).unwrap(), [7, 8, 9, 0]);
        }
        let older = open(1).unwrap_err();
        assert!(matches!(older, Error::Corrupt { .. }), "{older}");
        let newer = open(4).unwrap_err();
        assert!(matches!(newer, Error::UnsupportedFormat { found: 4, supported: 3 }), "{newer}");
    }

    #[test]
    fn only_the_damaged_block_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = written(dir.path(), &vec![1; 3 * BLOCK]);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[ALIGN + BLOCK + 5] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let file = ChecksummedFile::open(&path, KIND).unwrap();
        assert!(file.bytes(0, BLOCK).is_ok());
        assert!(file.bytes(2 * BLOCK, BLOCK).is_ok());
        assert!(matches!(file.bytes(BLOCK, 1), Err(Error::Corrupt { .. })));
        assert!(matches!(file.verify(), Err(Error::Corrupt { .. })));
    }

    proptest! {
        #[test]
        fn damage_is_an_error(at in any::<prop::sample::Index>(), bit in 0..8_u8, cut in any::<bool>()) {
            let dir = tempfile::tempdir().unwrap();
            let path = written(dir.path(), &[5; 700]);
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
            std::fs::write(&path, bytes).unwrap();
            let read = ChecksummedFile::open(&path, KIND).and_then(|file| file.verify());
            prop_assert!(read.is_err());
        }
    }
}
