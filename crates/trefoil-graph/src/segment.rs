//! A segment: what chunks that were written together say, ascending by row. Chunks, entities
//! and texts are meant by ordinals, their places in the segment.
//!
//! The payload of a [checksummed file](ChecksummedFile) whose numbers are chunks and entities.
//! It begins with ten counts, u64 each: chunks, entities, postings, aliases, spellings, labels
//! of entities, labels of relations, texts, bytes of the records, bytes of the texts. Then, one
//! after the other:
//!
//! | section | each |
//! |---|---|
//! | rows | of each chunk, ascending, u64 |
//! | ties | of each chunk, what orders it among equals, u64 |
//! | where the record of each chunk begins, and where the last ends | u32 |
//! | keys | of each entity, its normalised name, a text, ascending, u32 |
//! | where the postings of each entity begin, and where the last ones end | u32 |
//! | postings | chunk, name, 4 · label + 1 for a title + 2 for what is only above the text, confidence (f32) |
//! | aliases | alias (a text) and entity, u32, ascending |
//! | aliases by entity | entity and alias, u32, ascending |
//! | spellings | what is a key or an alias, texts, ascending, u32 |
//! | labels of entities, of relations | texts, ascending, u32 |
//! | where each text begins, and where the last ends | u32 |
//! | records | of each chunk, see below |
//! | texts | UTF-8, ascending |
//!
//! A record is a row of [varints](varint): its numbers of mentions and relations; of each
//! mention its entity, name, label, confidence (four bytes, f32), four times the number of its
//! aliases with the signs of the posting, and the aliases; of each relation the places of both
//! ends among the mentions, and its label.

pub(crate) mod encode;
pub(crate) mod said;
mod varint;

use std::path::Path;

use trefoil_core::{
    ChecksummedFile, ChecksummedWriter, EntityType, FileKind, Part, RelationType, Result,
    RetrieverId, RowId,
};

use self::{
    said::{Named, Related, Said, TITLE, Text},
    varint::Reader,
};

const KIND: FileKind =
    FileKind { magic: *b"TREFMEN\0", version: 1, oldest: 1, part: Part::Index(RetrieverId::GRAPH) };
/// Counts at the beginning of a payload.
const COUNTS: usize = 10;
/// Bytes of a posting.
const POSTING: usize = 16;

/// A segment, mapped.
#[derive(Debug)]
pub(crate) struct Segment {
    file: ChecksummedFile,
    layout: Layout,
    entity_types: Vec<EntityType>,
    relation_types: Vec<RelationType>,
}

/// That a chunk mentions an entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Posting {
    pub(crate) chunk: u32,
    pub(crate) name: Text,
    pub(crate) label: u32,
    pub(crate) confidence: f32,
    pub(crate) is_title: bool,
    pub(crate) is_above: bool,
}

impl Posting {
    #[inline]
    fn of(bytes: &[u8; POSTING]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        let [chunk, name, signs, confidence] =
            [0, 1, 2, 3].map(|place| words.get(place).map_or(0, |&bytes| word(bytes)));
        Self {
            chunk,
            name,
            label: signs >> 2,
            confidence: f32::from_bits(confidence),
            is_title: signs & 1 != 0,
            is_above: signs & 2 != 0,
        }
    }

    /// What the mention weighs.
    #[inline]
    pub(crate) const fn strength(&self) -> f32 {
        if self.is_title { TITLE } else { self.confidence }
    }
}

impl Segment {
    /// Maps a segment.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::of(ChecksummedFile::open(path, KIND)?)
    }

    /// The segment with this payload, in no file.
    pub(crate) fn in_memory(payload: Vec<u8>) -> Result<Self> {
        let numbers = encode::numbers(&payload);
        Self::of(ChecksummedFile::in_memory(KIND, payload, numbers))
    }

    /// Writes a segment with this payload, durably, and gives the seal.
    pub(crate) fn write(path: &Path, payload: &[u8]) -> Result<u32> {
        let mut writer = ChecksummedWriter::create(path, KIND)?;
        writer.write(payload)?;
        writer.finish(encode::numbers(payload))
    }

    fn of(file: ChecksummedFile) -> Result<Self> {
        let head = file.bytes(0, COUNTS * 8)?;
        let counts = head.as_chunks().0.iter().map(|&count| u64::from_le_bytes(count));
        let counts: Option<Vec<usize>> = counts.map(|count| usize::try_from(count).ok()).collect();
        let layout = counts.and_then(|counts| Layout::of(&counts));
        let Some(layout) = layout.filter(|layout| layout.end == file.len()) else {
            return Err(file.damaged("it is not as long as its counts say"));
        };
        if file.numbers() != [layout.chunks as u64, layout.entities as u64, 0, 0] {
            return Err(file.damaged("its counts are not those of its header"));
        }
        let mut segment =
            Self { file, layout, entity_types: Vec::new(), relation_types: Vec::new() };
        let labels = |first, count| -> Result<Vec<&str>> {
            segment.words(first, 0, count)?.iter().map(|&label| segment.text(word(label))).collect()
        };
        let entity_types = labels(layout.entity_labels, layout.entity_label_count)?;
        let entity_types: Result<_> = entity_types.into_iter().map(EntityType::new).collect();
        let relation_types = labels(layout.relation_labels, layout.relation_label_count)?;
        let relation_types: Result<_> = relation_types.into_iter().map(RelationType::new).collect();
        match (entity_types, relation_types) {
            (Ok(entities), Ok(relations)) => {
                (segment.entity_types, segment.relation_types) = (entities, relations);
                Ok(segment)
            }
            _ => Err(segment.contradicts()),
        }
    }

    /// What stands for the content.
    pub(crate) fn seal(&self) -> u32 {
        self.file.seal()
    }

    /// Chunks in the file, deleted ones included.
    pub(crate) const fn len(&self) -> usize {
        self.layout.chunks
    }

    /// Entities that they mention.
    pub(crate) fn entity_count(&self) -> u32 {
        u32::try_from(self.layout.entities).unwrap_or(u32::MAX)
    }

    /// Texts in the file.
    pub(crate) const fn text_count(&self) -> usize {
        self.layout.texts
    }

    /// Bytes of the payload.
    pub(crate) fn bytes(&self) -> usize {
        self.file.len()
    }

    /// Checks every byte.
    pub(crate) fn verify(&self) -> Result<()> {
        self.file.verify()
    }

    /// The row of a chunk.
    pub(crate) fn row(&self, chunk: u32) -> Result<RowId> {
        Ok(RowId::new(self.long(self.layout.rows, chunk)?))
    }

    /// What orders a chunk among equals.
    pub(crate) fn tie(&self, chunk: u32) -> Result<u64> {
        self.long(self.layout.ties, chunk)
    }

    /// The rows of all chunks, ascending.
    pub(crate) fn rows(&self) -> Result<impl ExactSizeIterator<Item = RowId> + '_> {
        let rows = self.file.bytes(self.layout.rows, self.layout.chunks * 8)?.as_chunks().0;
        Ok(rows.iter().map(|&row| RowId::new(u64::from_le_bytes(row))))
    }

    /// The chunk of a row.
    pub(crate) fn chunk(&self, row: RowId) -> Result<Option<u32>> {
        let rows = self.file.bytes(self.layout.rows, self.layout.chunks * 8)?.as_chunks().0;
        let place = rows.binary_search_by_key(&row.get(), |&row| u64::from_le_bytes(row));
        Ok(place.ok().and_then(|place| u32::try_from(place).ok()))
    }

    /// The normalised name of an entity.
    pub(crate) fn key(&self, entity: u32) -> Result<&str> {
        self.text(self.word(self.layout.keys, entity)?)
    }

    /// The same as a text.
    pub(crate) fn key_text(&self, entity: u32) -> Result<Text> {
        self.word(self.layout.keys, entity)
    }

    /// The entity with this normalised name.
    pub(crate) fn entity(&self, name: &str) -> Result<Option<u32>> {
        let key = |entity| self.text_bytes(self.word(self.layout.keys, entity)?);
        let place = partition(0..self.entity_count(), |entity| Ok(key(entity)? < name.as_bytes()))?;
        let is_it = place < self.entity_count() && key(place)? == name.as_bytes();
        Ok(is_it.then_some(place))
    }

    /// The chunks that mention an entity, ascending, deleted ones included.
    pub(crate) fn postings(
        &self,
        entity: u32,
    ) -> Result<impl ExactSizeIterator<Item = Posting> + '_> {
        let (start, end) = self.span(self.layout.postings_at, entity)?;
        let bytes =
            self.file.bytes(self.layout.postings + start * POSTING, (end - start) * POSTING)?;
        Ok(bytes.as_chunks().0.iter().map(Posting::of))
    }

    /// Where an entity is mentioned in a chunk.
    pub(crate) fn posting(&self, entity: u32, chunk: u32) -> Result<Option<Posting>> {
        let (start, end) = self.span(self.layout.postings_at, entity)?;
        let bytes =
            self.file.bytes(self.layout.postings + start * POSTING, (end - start) * POSTING)?;
        let (postings, _) = bytes.as_chunks::<POSTING>();
        let of = |posting: &[u8; POSTING]| posting.first_chunk().map_or(0, |&bytes| word(bytes));
        let place = postings.binary_search_by_key(&chunk, of);
        Ok(place.ok().and_then(|place| postings.get(place)).map(Posting::of))
    }

    /// How many there are.
    pub(crate) fn posting_count(&self, entity: u32) -> Result<usize> {
        let (start, end) = self.span(self.layout.postings_at, entity)?;
        Ok(end - start)
    }

    /// What a chunk says, in terms of entities: keys and ends of relations are ordinals of
    /// entities, and labels are those of this segment.
    pub(crate) fn said(&self, chunk: u32) -> Result<Said> {
        let (start, end) = self.span(self.layout.records_at, chunk)?;
        let bytes = self.file.bytes(self.layout.records + start, end - start)?;
        decode(bytes).ok_or_else(|| self.contradicts())
    }

    /// The label of an entity.
    pub(crate) fn entity_type(&self, label: u32) -> Result<&EntityType> {
        self.entity_types.get(label as usize).ok_or_else(|| self.contradicts())
    }

    /// The label of a relation.
    pub(crate) fn relation_type(&self, label: u32) -> Result<&RelationType> {
        self.relation_types.get(label as usize).ok_or_else(|| self.contradicts())
    }

    /// The texts of a label of an entity, and of one of a relation.
    pub(crate) fn entity_label(&self, label: u32) -> Result<Text> {
        self.word(self.layout.entity_labels, label)
    }

    pub(crate) fn relation_label(&self, label: u32) -> Result<Text> {
        self.word(self.layout.relation_labels, label)
    }

    /// The label of relations from occurring together, if any chunk has one.
    pub(crate) fn together(&self) -> Option<u32> {
        let place = self.relation_types.iter().position(|one| *one == RelationType::CO_OCCURS)?;
        u32::try_from(place).ok()
    }

    /// The entities that are called so as well, ascending, deleted mentions included.
    pub(crate) fn aliased(&self, alias: &str) -> Result<Vec<u32>> {
        let count = u32::try_from(self.layout.alias_count).unwrap_or(u32::MAX);
        let pair = |place: u32| -> Result<(Text, u32)> {
            let words = self.words(self.layout.aliases, place as usize * 2, 2)?;
            match words {
                &[alias, entity] => Ok((word(alias), word(entity))),
                _ => Err(self.contradicts()),
            }
        };
        let alias = alias.as_bytes();
        let first = partition(0..count, |place| Ok(self.text_bytes(pair(place)?.0)? < alias))?;
        let mut entities = Vec::new();
        for place in first..count {
            let (text, entity) = pair(place)?;
            if self.text_bytes(text)? != alias {
                break;
            }
            entities.push(entity);
        }
        Ok(entities)
    }

    /// What else an entity is called, texts ascending, deleted mentions included.
    pub(crate) fn aliases(&self, entity: u32) -> Result<Vec<Text>> {
        let words = self.words(self.layout.aliases_of, 0, self.layout.alias_count * 2)?;
        let (pairs, _) = words.as_chunks::<2>();
        let first = pairs.partition_point(|&[of, _]| word(of) < entity);
        let (_, pairs) = pairs.split_at(first);
        Ok(pairs
            .iter()
            .take_while(|&&[of, _]| word(of) == entity)
            .map(|&[_, alias]| word(alias))
            .collect())
    }

    /// The first key or alias, from a place on, that is not before a text. Gallops, so that what
    /// is near is found soon.
    pub(crate) fn spelling_from(&self, place: u32, text: &str) -> Result<u32> {
        let count = u32::try_from(self.layout.spelling_count).unwrap_or(u32::MAX);
        let text = text.as_bytes();
        let is_before = |place| Ok(self.spelling(place)?.is_some_and(|spelling| spelling < text));
        let (mut low, mut step) = (place, 1);
        while low + step < count && is_before(low + step)? {
            low += step;
            step *= 2;
        }
        partition(low..count.min(low + step), is_before)
    }

    /// A key or alias, in UTF-8.
    pub(crate) fn spelling(&self, place: u32) -> Result<Option<&[u8]>> {
        if place as usize >= self.layout.spelling_count {
            return Ok(None);
        }
        self.text_bytes(self.word(self.layout.spellings, place)?).map(Some)
    }

    /// A text.
    #[inline]
    pub(crate) fn text(&self, text: Text) -> Result<&str> {
        std::str::from_utf8(self.text_bytes(text)?).map_err(|_| self.contradicts())
    }

    /// A text in UTF-8, whose bytes are in the order of its characters: what is only compared
    /// need not be valid.
    #[inline]
    fn text_bytes(&self, text: Text) -> Result<&[u8]> {
        let (start, end) = self.span(self.layout.texts_at, text)?;
        self.file.bytes(self.layout.text_bytes + start, end - start)
    }

    /// An error for what no checksum tells.
    #[cold]
    pub(crate) fn contradicts(&self) -> trefoil_core::Error {
        self.file.damaged("it contradicts itself")
    }

    /// Where a thing begins and ends, by the list of beginnings at `at`.
    #[inline]
    fn span(&self, at: usize, place: u32) -> Result<(usize, usize)> {
        match self.words(at, place as usize, 2)? {
            &[start, end] if word(start) <= word(end) => {
                Ok((word(start) as usize, word(end) as usize))
            }
            _ => Err(self.contradicts()),
        }
    }

    #[inline]
    fn word(&self, at: usize, place: u32) -> Result<u32> {
        match self.words(at, place as usize, 1)? {
            &[bytes] => Ok(word(bytes)),
            _ => Err(self.contradicts()),
        }
    }

    #[inline]
    fn words(&self, at: usize, place: usize, count: usize) -> Result<&[[u8; 4]]> {
        Ok(self.file.bytes(at + place * 4, count * 4)?.as_chunks().0)
    }

    #[inline]
    fn long(&self, at: usize, place: u32) -> Result<u64> {
        let bytes = self.file.bytes(at + place as usize * 8, 8)?;
        let bytes = bytes.first_chunk().copied().ok_or_else(|| self.contradicts())?;
        Ok(u64::from_le_bytes(bytes))
    }
}

#[inline]
const fn word(bytes: [u8; 4]) -> u32 {
    u32::from_le_bytes(bytes)
}

/// The first of `range` for which `is_before` does not hold.
fn partition(range: std::ops::Range<u32>, is_before: impl Fn(u32) -> Result<bool>) -> Result<u32> {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

fn decode(bytes: &[u8]) -> Option<Said> {
    let mut reader = Reader::new(bytes);
    let (mentions, relations) = (reader.next()?, reader.next()?);
    let mut said = Said::default();
    for _ in 0..mentions {
        let [key, name, label] = [reader.next()?, reader.next()?, reader.next()?];
        let confidence = f32::from_le_bytes(reader.word()?);
        let confidence = (0.0..=1.0).contains(&confidence).then_some(confidence)?;
        let signs = reader.next()?;
        let aliases = (0..signs >> 2).map(|_| reader.next()).collect::<Option<_>>()?;
        said.mentions.push(Named {
            key,
            name,
            label,
            confidence,
            is_title: signs & 1 != 0,
            is_above: signs & 2 != 0,
            aliases,
        });
    }
    for _ in 0..relations {
        let [source, target, label] = [reader.next()?, reader.next()?, reader.next()?];
        let end = |place: u32| said.mentions.get(place as usize).map(|mention| mention.key);
        said.relations.push(Related { source: end(source)?, target: end(target)?, label });
    }
    reader.is_empty().then_some(said)
}

/// Where the sections begin.
#[derive(Clone, Copy, Debug)]
struct Layout {
    chunks: usize,
    entities: usize,
    alias_count: usize,
    spelling_count: usize,
    entity_label_count: usize,
    relation_label_count: usize,
    texts: usize,
    rows: usize,
    ties: usize,
    records_at: usize,
    keys: usize,
    postings_at: usize,
    postings: usize,
    aliases: usize,
    aliases_of: usize,
    spellings: usize,
    entity_labels: usize,
    relation_labels: usize,
    texts_at: usize,
    records: usize,
    text_bytes: usize,
    end: usize,
}

impl Layout {
    /// None if the counts are not those of a file. Ordinals have 32 bits.
    fn of(counts: &[usize]) -> Option<Self> {
        let &[
            chunks,
            entities,
            postings,
            aliases,
            spellings,
            labels,
            relations,
            texts,
            records,
            bytes,
        ] = counts
        else {
            return None;
        };
        let ordinals = [chunks, entities, postings, aliases, spellings, labels, relations, texts];
        if ordinals.iter().any(|&count| u32::try_from(count).is_err()) {
            return None;
        }
        let mut end = COUNTS * 8;
        let mut section = |count: usize, size: usize| -> Option<usize> {
            let start = end;
            end = end.checked_add(count.checked_mul(size)?)?;
            Some(start)
        };
        Some(Self {
            chunks,
            entities,
            alias_count: aliases,
            spelling_count: spellings,
            entity_label_count: labels,
            relation_label_count: relations,
            texts,
            rows: section(chunks, 8)?,
            ties: section(chunks, 8)?,
            records_at: section(chunks + 1, 4)?,
            keys: section(entities, 4)?,
            postings_at: section(entities + 1, 4)?,
            postings: section(postings, POSTING)?,
            aliases: section(aliases, 8)?,
            aliases_of: section(aliases, 8)?,
            spellings: section(spellings, 4)?,
            entity_labels: section(labels, 4)?,
            relation_labels: section(relations, 4)?,
            texts_at: section(texts + 1, 4)?,
            records: section(records, 1)?,
            text_bytes: section(bytes, 1)?,
            end: section(0, 0)?,
        })
    }
}
