//! Chunks of any sources to the payload of one segment.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use trefoil_core::{Error, Part, Result, RetrieverId, RowId};

use super::{
    said::{Said, Text},
    varint,
};

/// Where chunks of a new segment come from.
pub(crate) trait Source {
    /// How many texts there are.
    fn text_count(&self) -> usize;
    /// A text.
    fn text(&self, text: Text) -> Result<&str>;
    /// The chunks to be taken, with their rows; of all sources each row once.
    fn chunks(&self) -> Result<Vec<(RowId, u32)>>;
    /// What orders a chunk among equals.
    fn tie(&self, chunk: u32) -> Result<u64>;
    /// What a chunk says; all numbers are texts.
    fn said(&self, chunk: u32) -> Result<Cow<'_, Said>>;
}

/// The numbers of a file with this payload: its first two counts.
pub(super) fn numbers(payload: &[u8]) -> [u64; 4] {
    let mut counts = payload.as_chunks().0.iter().map(|&count| u64::from_le_bytes(count));
    [counts.next().unwrap_or_default(), counts.next().unwrap_or_default(), 0, 0]
}

/// The payload of a segment with all chunks of some sources. It depends on what they say only,
/// not on how they are spread over the sources.
pub(crate) fn encode(sources: &[&dyn Source]) -> Result<Vec<u8>> {
    let mut chunks: Vec<(RowId, usize, u32)> = Vec::new();
    for (place, source) in sources.iter().enumerate() {
        chunks.extend(source.chunks()?.into_iter().map(|(row, chunk)| (row, place, chunk)));
    }
    chunks.sort_unstable();
    let Texts { list, new, uses } = Texts::of(sources, &chunks)?;
    let mut entity_of: Vec<u32> = vec![u32::MAX; list.len()];
    for (entity, &key) in (0..).zip(&uses.keys) {
        if let Some(slot) = entity_of.get_mut(key as usize) {
            *slot = entity;
        }
    }
    let entity = |text: Text| entity_of.get(text as usize).copied().unwrap_or(u32::MAX);
    let ordinals = |labels: &BTreeSet<Text>| -> BTreeMap<Text, u32> {
        labels.iter().copied().zip(0..).collect()
    };
    let (entity_labels, relation_labels) =
        (ordinals(&uses.entity_labels), ordinals(&uses.relation_labels));

    let mut parts = Parts::default();
    let mut aliases: BTreeSet<(Text, u32)> = BTreeSet::new();
    let mut postings: Vec<(u32, [u32; 4])> = Vec::new();
    let mut records: Vec<u8> = Vec::new();
    for (&(row, place, chunk), ordinal) in chunks.iter().zip(0_u32..) {
        let (Some(source), Some(new)) = (sources.get(place), new.get(place)) else { continue };
        let text = |text: Text| new.get(text as usize).copied().unwrap_or_default();
        let said = source.said(chunk)?;
        parts.rows.extend(row.get().to_le_bytes());
        parts.ties.extend(source.tie(chunk)?.to_le_bytes());
        put(&mut parts.records_at, number(records.len())?);
        varint::put(&mut records, number(said.mentions.len())?);
        varint::put(&mut records, number(said.relations.len())?);
        let mut mentioned: Vec<Text> = Vec::with_capacity(said.mentions.len());
        for mention in &said.mentions {
            let (entity, name) = (entity(text(mention.key)), text(mention.name));
            let label = entity_labels.get(&text(mention.label)).copied().unwrap_or_default();
            let signs = u32::from(mention.is_title) | u32::from(mention.is_above) << 1;
            mentioned.push(mention.key);
            for one in [entity, name, label] {
                varint::put(&mut records, one);
            }
            records.extend(mention.confidence.to_le_bytes());
            varint::put(&mut records, number(mention.aliases.len())? << 2 | signs);
            for &alias in &mention.aliases {
                varint::put(&mut records, text(alias));
                aliases.insert((text(alias), entity));
            }
            let posting = [ordinal, name, label << 2 | signs, mention.confidence.to_bits()];
            postings.push((entity, posting));
        }
        for relation in &said.relations {
            for end in [relation.source, relation.target] {
                let place = mentioned.iter().position(|&key| key == end);
                varint::put(&mut records, number(place.unwrap_or_default())?);
            }
            let label = relation_labels.get(&text(relation.label)).copied().unwrap_or_default();
            varint::put(&mut records, label);
        }
    }
    put(&mut parts.records_at, number(records.len())?);
    // The sort is stable: the chunks of an entity ascend.
    postings.sort_by_key(|&(entity, _)| entity);
    parts.put_postings(number(uses.keys.len())?, &postings)?;
    let counts = Counts {
        chunks: chunks.len(),
        entities: uses.keys.len(),
        postings: postings.len(),
        records: records.len(),
    };
    drop(postings);
    parts.assemble(&counts, &list, &uses, &aliases, &records)
}

struct Counts {
    chunks: usize,
    entities: usize,
    postings: usize,
    records: usize,
}

/// Sections that grow with each chunk or entity.
#[derive(Default)]
struct Parts {
    rows: Vec<u8>,
    ties: Vec<u8>,
    records_at: Vec<u8>,
    postings_at: Vec<u8>,
    postings: Vec<u8>,
}

impl Parts {
    fn put_postings(&mut self, entities: u32, postings: &[(u32, [u32; 4])]) -> Result<()> {
        let mut place = 0;
        for entity in 0..entities {
            put(&mut self.postings_at, number(place)?);
            let of = postings.get(place..).unwrap_or_default();
            place += of.iter().take_while(|(one, _)| *one == entity).count();
        }
        put(&mut self.postings_at, number(place)?);
        for word in postings.iter().flat_map(|(_, words)| words) {
            put(&mut self.postings, *word);
        }
        Ok(())
    }

    fn assemble(
        self,
        counts: &Counts,
        list: &[&str],
        uses: &Uses,
        aliases: &BTreeSet<(Text, u32)>,
        records: &[u8],
    ) -> Result<Vec<u8>> {
        let mut by_entity: Vec<(u32, Text)> =
            aliases.iter().map(|&(alias, entity)| (entity, alias)).collect();
        by_entity.sort_unstable();
        let mut spellings: Vec<Text> = uses.keys.clone();
        spellings.extend(aliases.iter().map(|&(alias, _)| alias));
        spellings.sort_unstable();
        spellings.dedup();
        let texts: usize = list.iter().map(|text| text.len()).sum();
        let sizes = [
            counts.chunks,
            counts.entities,
            counts.postings,
            aliases.len(),
            spellings.len(),
            uses.entity_labels.len(),
            uses.relation_labels.len(),
            list.len(),
            counts.records,
            texts,
        ];
        let mut payload: Vec<u8> =
            sizes.iter().flat_map(|&size| (size as u64).to_le_bytes()).collect();
        for part in [&self.rows, &self.ties, &self.records_at] {
            payload.extend_from_slice(part);
        }
        for &key in &uses.keys {
            put(&mut payload, key);
        }
        for part in [&self.postings_at, &self.postings] {
            payload.extend_from_slice(part);
        }
        for (a, b) in aliases.iter().copied().chain(by_entity) {
            put(&mut payload, a);
            put(&mut payload, b);
        }
        let labels = uses.entity_labels.iter().chain(&uses.relation_labels);
        for &text in spellings.iter().chain(labels) {
            put(&mut payload, text);
        }
        let mut end = 0;
        put(&mut payload, 0);
        for text in list {
            end += text.len();
            put(&mut payload, number(end)?);
        }
        payload.extend_from_slice(records);
        for text in list {
            payload.extend_from_slice(text.as_bytes());
        }
        Ok(payload)
    }
}

/// The texts that the chunks use.
struct Texts<'s> {
    /// Ascending, each once.
    list: Vec<&'s str>,
    /// Of each source, the new number of each of its texts that is used.
    new: Vec<Vec<Text>>,
    uses: Uses,
}

/// What texts are used for, by their new numbers.
#[derive(Default)]
struct Uses {
    /// Ascending.
    keys: Vec<Text>,
    entity_labels: BTreeSet<Text>,
    relation_labels: BTreeSet<Text>,
}

const USED: u8 = 1;
const KEY: u8 = 2;
const ENTITY_LABEL: u8 = 4;
const RELATION_LABEL: u8 = 8;

impl<'s> Texts<'s> {
    fn of(sources: &[&'s dyn Source], chunks: &[(RowId, usize, u32)]) -> Result<Self> {
        let mut used: Vec<Vec<u8>> =
            sources.iter().map(|source| vec![0; source.text_count()]).collect();
        for &(_, place, chunk) in chunks {
            let (Some(source), Some(used)) = (sources.get(place), used.get_mut(place)) else {
                continue;
            };
            let mut mark = |text: Text, sign: u8| {
                if let Some(signs) = used.get_mut(text as usize) {
                    *signs |= sign;
                }
            };
            let said = source.said(chunk)?;
            said.each_text(&mut |text| mark(text, USED));
            for mention in &said.mentions {
                mark(mention.key, KEY);
                mark(mention.label, ENTITY_LABEL);
            }
            for relation in &said.relations {
                mark(relation.label, RELATION_LABEL);
            }
        }
        let mut all: Vec<(&'s str, usize, Text, u8)> = Vec::new();
        for (place, (source, used)) in sources.iter().zip(&used).enumerate() {
            for (text, &signs) in (0..).zip(used).filter(|(_, signs)| **signs != 0) {
                all.push((source.text(text)?, place, text, signs));
            }
        }
        // The texts of a segment ascend already, which a stable sort makes use of.
        all.sort_by(|a, b| a.0.cmp(b.0));
        let mut texts = Texts {
            list: Vec::new(),
            new: used.iter().map(|used| vec![0; used.len()]).collect(),
            uses: Uses::default(),
        };
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            let number = number(texts.list.len())?;
            let mut signs = 0;
            for &(spelling, place, text, sign) in same {
                signs |= sign;
                if texts.list.len() == number as usize {
                    texts.list.push(spelling);
                }
                let slot = texts.new.get_mut(place).and_then(|new| new.get_mut(text as usize));
                if let Some(slot) = slot {
                    *slot = number;
                }
            }
            if signs & KEY != 0 {
                texts.uses.keys.push(number);
            }
            if signs & ENTITY_LABEL != 0 {
                texts.uses.entity_labels.insert(number);
            }
            if signs & RELATION_LABEL != 0 {
                texts.uses.relation_labels.insert(number);
            }
        }
        Ok(texts)
    }
}

fn put(bytes: &mut Vec<u8>, word: u32) {
    bytes.extend(word.to_le_bytes());
}

fn number(count: usize) -> Result<u32> {
    u32::try_from(count).map_err(|error| {
        Error::backend(Part::Index(RetrieverId::GRAPH), "write a segment of more than 4 GiB", error)
    })
}
