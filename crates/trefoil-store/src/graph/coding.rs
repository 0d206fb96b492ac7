//! What a chunk says of entities, as bytes, and back.
//!
//! ```text
//! version 1 ‖ mentions ‖ relations
//! mention:  name, flags, [normalised name], type, aliases, confidence, spans, [target]
//! relation: places of source and target among the mentions, type, spans
//! ```
//!
//! Counts and lengths are LEB128; a text is its length and its UTF-8; a confidence is the bits of
//! an `f32`; a span is the distance of its start from that of the span before and its length,
//! each zigzag. The same extraction gives the same bytes, so that bytes are compared instead of
//! what they mean.

use trefoil_core::{
    ByteSpan, EntityType, Extraction, Mention, MentionKind, Relation, RelationType, Score,
};

/// The first byte.
const VERSION: u8 = 1;

/// Of the flags of a mention: its sign, of which there are fewer than eight.
const KIND: u8 = 0b0000_0111;
/// The normalised name is the name in small ASCII letters and does not follow.
const LOWERCASE: u8 = 0b0000_1000;
/// A target follows.
const TARGET: u8 = 0b0001_0000;

/// Types that are one byte, from 1; 0 stands before any other. A number is never given again.
const ENTITY_TYPES: [EntityType; 11] = [
    EntityType::PERSON,
    EntityType::ORGANIZATION,
    EntityType::PLACE,
    EntityType::EVENT,
    EntityType::CODE,
    EntityType::TOPIC,
    EntityType::NAME,
    EntityType::CONCEPT,
    EntityType::ACTOR,
    EntityType::ARTIFACT,
    EntityType::POLICY,
];
/// The same for relations.
const RELATION_TYPES: [RelationType; 7] = [
    RelationType::CO_OCCURS,
    RelationType::LINKS_TO,
    RelationType::CONTAINS,
    RelationType::IS_A,
    RelationType::DEFINES,
    RelationType::REFERS_TO,
    RelationType::CITES,
];

/// How a chunk mentions one entity.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityMention {
    /// Its mention.
    pub mention: Mention,
    /// The places of the chunk that say what the entity is.
    pub definitions: Vec<ByteSpan>,
}

/// What a row holds; a chunk that says nothing has none.
pub(crate) fn bytes_of(extraction: &Extraction) -> Option<Vec<u8>> {
    (*extraction != Extraction::default()).then(|| encode(extraction))
}

/// An extraction as bytes.
fn encode(extraction: &Extraction) -> Vec<u8> {
    let mut out = vec![VERSION];
    let mentions = extraction.mentions();
    length(&mut out, mentions.len());
    for mention in mentions {
        let is_lowercase = mention.name.to_ascii_lowercase() == mention.normalized_name;
        let mut flags = number_of(mention.kind);
        flags |= if is_lowercase { LOWERCASE } else { 0 };
        flags |= if mention.target.is_some() { TARGET } else { 0 };
        text(&mut out, &mention.name);
        out.push(flags);
        if !is_lowercase {
            text(&mut out, &mention.normalized_name);
        }
        label(&mut out, &ENTITY_TYPES, &mention.entity_type, mention.entity_type.as_str());
        length(&mut out, mention.aliases.len());
        mention.aliases.iter().for_each(|alias| text(&mut out, alias));
        out.extend(mention.confidence.get().to_le_bytes());
        spans(&mut out, &mention.spans);
        if let Some(target) = &mention.target {
            text(&mut out, target);
        }
    }
    let place = |name: &str| mentions.iter().position(|one| one.normalized_name == name);
    // Both ends are among the mentions: an extraction keeps no other relation.
    let relations = extraction.relations().iter();
    let relations: Vec<(&Relation, usize, usize)> =
        relations.filter_map(|one| Some((one, place(&one.source)?, place(&one.target)?))).collect();
    length(&mut out, relations.len());
    for (relation, source, target) in relations {
        length(&mut out, source);
        length(&mut out, target);
        let kind = &relation.relation_type;
        label(&mut out, &RELATION_TYPES, kind, kind.as_str());
        spans(&mut out, &relation.evidence);
    }
    out
}

fn length(out: &mut Vec<u8>, value: usize) {
    varint(out, value as u64);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        if value < 0x80 {
            return out.push(low);
        }
        out.push(low | 0x80);
        value >>= 7;
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    length(out, text.len());
    out.extend(text.as_bytes());
}

fn label<T: PartialEq>(out: &mut Vec<u8>, known: &[T], label: &T, name: &str) {
    if let Some((_, number)) = known.iter().zip(1_u8..).find(|(one, _)| *one == label) {
        out.push(number);
    } else {
        out.push(0);
        text(out, name);
    }
}

fn spans(out: &mut Vec<u8>, spans: &[ByteSpan]) {
    length(out, spans.len());
    let mut before = 0;
    for span in spans {
        varint(out, zigzag(distance(before, span.start)));
        varint(out, zigzag(distance(span.start, span.end)));
        before = span.start;
    }
}

/// From one place to another, modulo 2⁶⁴: whatever a span says comes back.
const fn distance(from: usize, to: usize) -> i64 {
    (to as u64).wrapping_sub(from as u64).cast_signed()
}

const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// Reads bytes that [`encode`] made.
///
/// # Errors
/// What is wrong with them, whatever they are.
pub(crate) fn decode(bytes: &[u8]) -> Result<Extraction, &'static str> {
    let mut bytes = Bytes::of_version(bytes)?;
    let count = bytes.count(Extraction::MAX_MENTIONS)?;
    let mut mentions = Vec::with_capacity(count);
    for _ in 0..count {
        mentions.push(bytes.mention()?);
    }
    let count = bytes.count(Extraction::MAX_RELATIONS)?;
    let mut relations = Vec::with_capacity(count);
    for _ in 0..count {
        relations.push(bytes.relation(&mentions)?);
    }
    if !bytes.0.is_empty() {
        return Err("more bytes than what a chunk says");
    }
    Ok(Extraction::new(mentions).with_relations(relations))
}

/// Reads bytes that [`encode`] made, but only the mention with this normalised name and where it is
/// defined; nothing if there is none. The rest is skipped and not decoded.
///
/// # Errors
/// What is wrong with the bytes as far as they are read.
pub(crate) fn decode_mention(
    bytes: &[u8],
    name: &str,
) -> Result<Option<EntityMention>, &'static str> {
    let mut bytes = Bytes::of_version(bytes)?;
    let mut found = None;
    for place in 0..bytes.count(Extraction::MAX_MENTIONS)? {
        let mut here = bytes;
        if bytes.skip_mention(name)? && found.is_none() {
            found = Some((place, here.mention()?));
        }
    }
    let Some((place, mention)) = found else { return Ok(None) };
    let mut definitions = Vec::new();
    for _ in 0..bytes.count(Extraction::MAX_RELATIONS)? {
        let source = bytes.length()?;
        bytes.length()?;
        let relation_type = bytes.label(&RELATION_TYPES, RelationType::new)?;
        if source == place && relation_type == RelationType::IS_A {
            definitions.extend(bytes.spans()?);
        } else {
            bytes.skip_spans()?;
        }
    }
    Ok(Some(EntityMention { mention, definitions }))
}

/// True if bytes are those of an extraction, to the last one.
pub(crate) fn is_sound(bytes: &[u8]) -> bool {
    decode(bytes).is_ok_and(|extraction| encode(&extraction) == bytes)
}

/// What is yet to be read.
#[derive(Clone, Copy)]
struct Bytes<'b>(&'b [u8]);

const CUT_OFF: &str = "what a chunk says is cut off";

impl<'b> Bytes<'b> {
    /// What follows the version.
    fn of_version(bytes: &'b [u8]) -> Result<Self, &'static str> {
        let mut bytes = Self(bytes);
        match bytes.byte()? {
            VERSION => Ok(bytes),
            _ => Err("what a chunk says is of an unknown version"),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'b [u8], &'static str> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(CUT_OFF)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, &'static str> {
        let (&byte, rest) = self.0.split_first().ok_or(CUT_OFF)?;
        self.0 = rest;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, &'static str> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number that is too large")
    }

    fn length(&mut self) -> Result<usize, &'static str> {
        usize::try_from(self.varint()?).map_err(|_| "a length that is too large")
    }

    fn count(&mut self, most: usize) -> Result<usize, &'static str> {
        let count = self.length()?;
        if count <= most { Ok(count) } else { Err("more than a chunk may say") }
    }

    fn bytes_of_text(&mut self) -> Result<&'b [u8], &'static str> {
        let length = self.length()?;
        self.take(length)
    }

    fn text(&mut self) -> Result<String, &'static str> {
        let text = std::str::from_utf8(self.bytes_of_text()?);
        text.map(str::to_owned).map_err(|_| "a name that is no text")
    }

    fn label<T: Clone>(
        &mut self,
        known: &[T],
        new: impl Fn(&str) -> trefoil_core::Result<T>,
    ) -> Result<T, &'static str> {
        match self.byte()? {
            0 => new(&self.text()?).map_err(|_| "a type that is none"),
            number => {
                known.get(usize::from(number) - 1).cloned().ok_or("a type of an unknown number")
            }
        }
    }

    fn spans(&mut self) -> Result<Vec<ByteSpan>, &'static str> {
        let count = self.length()?;
        // A span takes two bytes or more: what is left bounds the memory.
        let mut spans = Vec::with_capacity(count.min(self.0.len() / 2));
        let mut before = 0;
        for _ in 0..count {
            let start = self.place(before)?;
            spans.push(ByteSpan { start, end: self.place(start)? });
            before = start;
        }
        Ok(spans)
    }

    fn place(&mut self, from: usize) -> Result<usize, &'static str> {
        let place = (from as u64).wrapping_add_signed(unzigzag(self.varint()?));
        usize::try_from(place).map_err(|_| "a place that is too far")
    }

    fn mention(&mut self) -> Result<Mention, &'static str> {
        let name = self.text()?;
        let flags = self.byte()?;
        if flags & !(KIND | LOWERCASE | TARGET) != 0 {
            return Err("flags that stand for nothing");
        }
        let normalized_name =
            if flags & LOWERCASE == 0 { self.text()? } else { name.to_ascii_lowercase() };
        let entity_type = self.label(&ENTITY_TYPES, EntityType::new)?;
        let count = self.length()?;
        let mut aliases = Vec::with_capacity(count.min(self.0.len()));
        for _ in 0..count {
            aliases.push(self.text()?);
        }
        let bits = self.take(4)?.first_chunk().copied().unwrap_or_default();
        let confidence =
            Score::new(f32::from_le_bytes(bits)).map_err(|_| "a confidence that is none")?;
        let spans = self.spans()?;
        let target = if flags & TARGET == 0 { None } else { Some(self.text()?) };
        let kind = kind_of(flags & KIND).ok_or("a sign that is none")?;
        Ok(Mention { name, normalized_name, aliases, entity_type, kind, confidence, spans, target })
    }

    /// Skips a mention; true if it has this normalised name.
    fn skip_mention(&mut self, name: &str) -> Result<bool, &'static str> {
        let written = self.bytes_of_text()?;
        let flags = self.byte()?;
        let is_it = if flags & LOWERCASE == 0 {
            self.bytes_of_text()? == name.as_bytes()
        } else {
            written.iter().map(u8::to_ascii_lowercase).eq(name.bytes())
        };
        if self.byte()? == 0 {
            self.bytes_of_text()?;
        }
        for _ in 0..self.length()? {
            self.bytes_of_text()?;
        }
        self.take(4)?;
        self.skip_spans()?;
        if flags & TARGET != 0 {
            self.bytes_of_text()?;
        }
        Ok(is_it)
    }

    fn skip_spans(&mut self) -> Result<(), &'static str> {
        for _ in 0..self.length()? {
            self.varint()?;
            self.varint()?;
        }
        Ok(())
    }

    fn relation(&mut self, mentions: &[Mention]) -> Result<Relation, &'static str> {
        let mut end = || {
            let mention = mentions.get(self.length()?).ok_or("a relation of what is not there")?;
            Ok::<_, &'static str>(mention.normalized_name.clone())
        };
        let (source, target) = (end()?, end()?);
        let relation_type = self.label(&RELATION_TYPES, RelationType::new)?;
        Ok(Relation { source, target, relation_type, evidence: self.spans()? })
    }
}

/// A sign as a number, which is never given to another sign.
pub(crate) const fn number_of(kind: MentionKind) -> u8 {
    match kind {
        MentionKind::Title => 0,
        MentionKind::Heading => 1,
        MentionKind::Link => 2,
        MentionKind::Code => 3,
        MentionKind::Quoted => 4,
        MentionKind::ProperNoun => 5,
        MentionKind::NounPhrase => 6,
    }
}

pub(crate) const fn kind_of(number: u8) -> Option<MentionKind> {
    Some(match number {
        0 => MentionKind::Title,
        1 => MentionKind::Heading,
        2 => MentionKind::Link,
        3 => MentionKind::Code,
        4 => MentionKind::Quoted,
        5 => MentionKind::ProperNoun,
        6 => MentionKind::NounPhrase,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span() -> impl Strategy<Value = ByteSpan> {
        let place = || prop_oneof![9 => 0_usize..2_000, 1 => any::<usize>()];
        (place(), place()).prop_map(|(start, end)| ByteSpan { start, end })
    }

    fn mention() -> impl Strategy<Value = Mention> {
        let names = ("[A-Za-zÅé가東 ]{2,12}", prop::option::of("[a-zé가東]{2,12}"));
        let kinds = (0_u8..7).prop_map(|number| kind_of(number).unwrap());
        let types = prop_oneof![
            (0_usize..11).prop_map(|place| ENTITY_TYPES[place].clone()),
            "[A-Z]{1,9}".prop_map(|label| EntityType::new(&label).unwrap()),
        ];
        let rest = (
            prop::collection::vec("[a-z가]{0,6}", 0..3),
            0.5_f32..=1.0,
            prop::collection::vec(span(), 0..4),
            prop::option::of(".{0,9}"),
        );
        (names, kinds, types, rest).prop_map(
            |((name, normalized), kind, entity_type, (aliases, confidence, spans, target))| {
                let normalized_name = normalized.unwrap_or_else(|| name.to_lowercase());
                let confidence = Score::clamped(confidence);
                Mention {
                    name,
                    normalized_name,
                    aliases,
                    entity_type,
                    kind,
                    confidence,
                    spans,
                    target,
                }
            },
        )
    }

    prop_compose! {
        fn extraction()(
            mentions in prop::collection::vec(mention(), 0..25),
            ends in prop::collection::vec(
                (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_usize..8,
                 prop::collection::vec(span(), 0..4)),
                0..40,
            ),
        ) -> Extraction {
            let extraction = Extraction::new(mentions);
            if extraction.mentions().is_empty() {
                return extraction;
            }
            let name = |place: prop::sample::Index| {
                place.get(extraction.mentions()).normalized_name.clone()
            };
            let relations = ends.into_iter().map(|(source, target, kind, evidence)| Relation {
                source: name(source),
                target: name(target),
                relation_type: RELATION_TYPES.get(kind).cloned().unwrap_or_else(|| {
                    RelationType::new("met in").unwrap()
                }),
                evidence,
            });
            let relations = relations.collect();
            extraction.with_relations(relations)
        }
    }

    proptest! {
        #[test]
        fn an_extraction_comes_back_as_it_was(extraction in extraction()) {
            let bytes = encode(&extraction);
            prop_assert!(is_sound(&bytes));
            prop_assert_eq!(decode(&bytes), Ok(extraction));
        }

        #[test]
        fn one_mention_is_what_the_whole_extraction_says_of_it(
            extraction in extraction(),
            other in "[a-zé가東]{2,12}",
        ) {
            let bytes = encode(&extraction);
            let names = extraction.mentions().iter().map(|one| &one.normalized_name);
            for name in names.chain([&other]) {
                let mention = extraction.mentions().iter().find(|one| one.normalized_name == *name);
                let definitions = extraction.relations().iter().filter(|one| {
                    one.source == *name && one.relation_type == RelationType::IS_A
                });
                let definitions = definitions.flat_map(|one| one.evidence.clone()).collect();
                let expected =
                    mention.cloned().map(|mention| EntityMention { mention, definitions });
                prop_assert_eq!(decode_mention(&bytes, name), Ok(expected));
            }
        }

        #[test]
        fn damaged_bytes_are_an_error_or_another_extraction(
            extraction in extraction(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let mut bytes = encode(&extraction);
            for (place, byte) in damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
                prop_assert!(bytes.is_empty() == decode(&bytes).is_err() || !bytes.is_empty());
            }
            if is_sound(&bytes) {
                prop_assert_eq!(encode(&decode(&bytes).unwrap()), bytes);
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let _ = decode_mention(&bytes, "ada");
        }
    }

    #[test]
    fn what_is_cut_off_or_too_long_is_told() {
        let extraction = crate::fixture::extraction(&["Ada", "Babbage", "서울"]);
        let bytes = encode(&extraction);
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "{length}");
            assert!(decode_mention(&bytes[..length], "ada").is_err(), "{length}");
        }
        assert!(decode(&[&bytes[..], &[0]].concat()).is_err());
        let other_version = [&[VERSION + 1], &bytes[1..]].concat();
        assert!(decode(&other_version).unwrap_err().contains("version"));
        assert_eq!(decode(&[VERSION, 0, 0]), Ok(Extraction::default()));
    }
}
