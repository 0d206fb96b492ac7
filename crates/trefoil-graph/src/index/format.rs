//! The file of an index: the evidence of the graph, written as a whole and renamed into
//! place, which is the moment at which a commit happens.
//!
//! Little endian; offsets in bytes:
//!
//! | from | what |
//! |---|---|
//! | 0 | `TREFGRPH` |
//! | 8 | format version, u32 |
//! | 12 | CRC-32 of all that follows, u32 |
//! | 16 | the last change of the store that is in here, u64 |
//! | 24 | number of u32 words before the texts, u64 |
//! | 32 | payload: words, then the texts in UTF-8, one after the other |
//!
//! Words: number of texts; length of each; number of chunks; of each chunk its row (low
//! half, high half), its numbers of mentions and relations, the mentions (key, name, label,
//! bits of the confidence, 1 for a title + 2 for what only stands above the text, number of
//! aliases, the aliases), and the relations (source, target, label). Texts are meant by their
//! places; they ascend.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    path::Path,
    sync::Arc,
};

use trefoil_core::{Error, Part, Result, RetrieverId, RowId, Seq, private_file};

use crate::index::evidence::{Named, Packed, Related, Said, Text};

pub(crate) const NAME: &str = "EVIDENCE";
const TEMPORARY: &str = "EVIDENCE.tmp";
const MAGIC: [u8; 8] = *b"TREFGRPH";
const VERSION: u32 = 2;
const HEADER: usize = 32;

/// The first bytes of a file: others mean other content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header([u8; HEADER]);

impl Header {
    /// The header of the file in `dir`; none if there is no file.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(NAME);
        let mut header = [0; HEADER];
        let read = File::open(&path).and_then(|mut file| file.read_exact(&mut header));
        match read {
            Ok(()) => Ok(Some(Self(header))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(damaged(dir, "it ends early"))
            }
            Err(error) => Err(Error::io("read", path, error)),
        }
    }

    /// The last change of the store that is in the file.
    pub(crate) fn seq(self) -> Seq {
        Seq::new(u64::from_le_bytes(self.field(16)))
    }

    fn new(seq: Seq, words: usize, payload: &[u8]) -> Self {
        let mut header = Vec::with_capacity(HEADER);
        header.extend(MAGIC);
        header.extend(VERSION.to_le_bytes());
        let counts = [seq.get().to_le_bytes(), (words as u64).to_le_bytes()].concat();
        header.extend(checksum(&counts, payload).to_le_bytes());
        header.extend(counts);
        Self(header.first_chunk().copied().unwrap_or([0; HEADER]))
    }

    fn field<const N: usize>(self, from: usize) -> [u8; N] {
        self.0.get(from..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }
}

/// Reads the file in `dir`; none if there is no file.
///
/// # Errors
/// [`Error::Corrupt`] if it is not what was written, [`Error::UnsupportedFormat`] if a newer
/// version wrote it, [`Error::Io`].
pub(crate) fn read(dir: &Path) -> Result<Option<(Header, Packed)>> {
    let path = dir.join(NAME);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path, error)),
    };
    let (header, payload) =
        bytes.split_first_chunk().ok_or_else(|| damaged(dir, "it ends early"))?;
    let header = Header(*header);
    let version = u32::from_le_bytes(header.field(8));
    if header.field(0) != MAGIC {
        return Err(damaged(dir, "it is not a file of this index"));
    }
    if version > VERSION {
        return Err(Error::UnsupportedFormat { found: version, supported: VERSION });
    }
    if version < VERSION {
        return Err(damaged(dir, "an older version wrote it"));
    }
    if u32::from_le_bytes(header.field(12)) != checksum(&header.field::<16>(16), payload) {
        return Err(damaged(dir, "it has another checksum"));
    }
    let words = usize::try_from(u64::from_le_bytes(header.field(24))).ok();
    let parts = words.and_then(|words| payload.split_at_checked(words.checked_mul(4)?));
    let packed = parts.and_then(|(words, texts)| unpack(words, texts));
    let packed = packed.ok_or_else(|| damaged(dir, "it contradicts itself"))?;
    Ok(Some((header, packed)))
}

/// Writes the file in `dir`, durably, in the place of the one that is there.
pub(crate) fn write(dir: &Path, seq: Seq, packed: &Packed) -> Result<()> {
    let words = words(packed);
    let mut payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for text in &packed.texts {
        payload.extend(text.as_bytes());
    }
    let Header(header) = Header::new(seq, words.len(), &payload);
    let (path, temporary) = (dir.join(NAME), dir.join(TEMPORARY));
    let write = || {
        let mut file = private_file().create(true).write(true).truncate(true).open(&temporary)?;
        file.write_all(&header)?;
        file.write_all(&payload)?;
        file.sync_all()?;
        #[cfg(feature = "failpoints")]
        fail::fail_point!("graph-written");
        std::fs::rename(&temporary, &path)?;
        #[cfg(feature = "failpoints")]
        fail::fail_point!("graph-renamed");
        File::open(dir)?.sync_all()
    };
    write().map_err(|error| Error::io("write", path.clone(), error))
}

fn checksum(counts: &[u8], payload: &[u8]) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(counts);
    hash.update(payload);
    hash.finalize()
}

fn words(packed: &Packed) -> Vec<u32> {
    // No more than a Text counts up to.
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let mut words = vec![number(packed.texts.len())];
    words.extend(packed.texts.iter().map(|text| number(text.len())));
    words.push(number(packed.chunks.len()));
    for (row, Said { mentions, relations }) in &packed.chunks {
        let row = row.get();
        #[expect(clippy::cast_possible_truncation, reason = "the halves of a row")]
        words.extend([row as u32, (row >> 32) as u32]);
        words.extend([number(mentions.len()), number(relations.len())]);
        for mention in mentions {
            let Named { key, name, label, confidence, is_title, is_above, aliases } = mention;
            let signs = u32::from(*is_title) | u32::from(*is_above) << 1;
            words.extend([*key, *name, *label, confidence.to_bits(), signs]);
            words.push(number(aliases.len()));
            words.extend(aliases);
        }
        for relation in relations {
            words.extend([relation.source, relation.target, relation.label]);
        }
    }
    words
}

fn unpack(words: &[u8], texts: &[u8]) -> Option<Packed> {
    let (words, _) = words.as_chunks();
    let mut words = Words { words: words.iter(), texts: 0 };
    let mut rest = std::str::from_utf8(texts).ok()?;
    let mut texts: Vec<Arc<str>> = Vec::new();
    for _ in 0..words.next()? {
        let (text, later) = rest.split_at_checked(words.next()? as usize)?;
        texts.push(Arc::from(text));
        rest = later;
    }
    words.texts = Text::try_from(texts.len()).ok()?;
    let mut chunks = Vec::new();
    for _ in 0..words.next()? {
        let row = u64::from(words.next()?) | (u64::from(words.next()?) << 32);
        chunks.push((RowId::new(row), words.said()?));
    }
    let in_order = texts.is_sorted_by(|a, b| a < b) && chunks.is_sorted_by(|a, b| a.0 < b.0);
    (in_order && rest.is_empty() && words.next().is_none()).then_some(Packed { texts, chunks })
}

/// The words that are left.
struct Words<'a> {
    words: std::slice::Iter<'a, [u8; 4]>,
    /// How many texts there are.
    texts: Text,
}

impl Words<'_> {
    fn next(&mut self) -> Option<u32> {
        self.words.next().map(|&word| u32::from_le_bytes(word))
    }

    fn text(&mut self) -> Option<Text> {
        self.next().filter(|&text| text < self.texts)
    }

    fn said(&mut self) -> Option<Said> {
        let (mentions, relations) = (self.next()?, self.next()?);
        let mentions = (0..mentions).map(|_| self.named()).collect::<Option<_>>()?;
        let relations = (0..relations).map(|_| {
            Some(Related { source: self.text()?, target: self.text()?, label: self.text()? })
        });
        Some(Said { mentions, relations: relations.collect::<Option<_>>()? })
    }

    fn named(&mut self) -> Option<Named> {
        let [key, name, label] = [self.text()?, self.text()?, self.text()?];
        let confidence = f32::from_bits(self.next()?);
        let signs = self.next()?;
        let aliases = self.next()?;
        let aliases = (0..aliases).map(|_| self.text()).collect::<Option<_>>()?;
        (0.0..=1.0).contains(&confidence).then_some(Named {
            key,
            name,
            label,
            confidence,
            is_title: signs & 1 != 0,
            is_above: signs & 2 != 0,
            aliases,
        })
    }
}

pub(crate) fn damaged(dir: &Path, reason: &str) -> Error {
    Error::Corrupt {
        part: Part::Index(RetrieverId::GRAPH),
        reason: format!("`{}`: {reason}", dir.join(NAME).display()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        fixture::{chunk, names},
        index::evidence::Evidence,
    };

    #[test]
    fn damage_is_an_error_wherever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap(), None);
        let evidence: Evidence =
            [chunk(3, "Ada Babbage"), chunk(1 << 40, "서울")].into_iter().collect();
        write(dir.path(), Seq::new(7), &evidence.pack()).unwrap();
        let whole = std::fs::read(dir.path().join(NAME)).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(dir.path().join(NAME), bytes).unwrap();
            let found = read(dir.path());
            assert!(found.is_err(), "{at}: {found:?}");
        }
        for end in 0..whole.len() {
            std::fs::write(dir.path().join(NAME), &whole[..end]).unwrap();
            assert!(read(dir.path()).is_err(), "{end}");
        }
    }

    proptest! {
        #[test]
        fn evidence_comes_back_as_it_was(
            chunks in prop::collection::vec((any::<u64>(), names()), 0..12), seq in any::<u64>()
        ) {
            let evidence: Evidence =
                chunks.into_iter().map(|(row, names)| chunk(row, &names)).collect();
            let dir = tempfile::tempdir()?;
            write(dir.path(), Seq::new(seq), &evidence.pack())?;
            let (header, packed) = read(dir.path())?.unwrap();
            prop_assert_eq!(packed, evidence.pack());
            prop_assert_eq!(header.seq(), Seq::new(seq));
            prop_assert_eq!(Header::read(dir.path())?, Some(header));
        }

        #[test]
        fn no_words_are_too_strange(
            words in prop::collection::vec(0..9_u32, 0..60), texts in "[a-c]{0,9}"
        ) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            unpack(&bytes, texts.as_bytes());
        }
    }
}
