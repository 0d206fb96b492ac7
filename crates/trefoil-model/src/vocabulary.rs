//! The vocabulary of a tokenizer in a file that is mapped, and what it does to a word.
//!
//! A `tokenizer.json` is 9 MB that become 250,000 strings, two hash maps and a trie of hash maps.
//! Here a trie is read where it lies in the file. What comes before the vocabulary (normaliser,
//! pre-tokenizer, added tokens) and after it (marks) is that of the `tokenizers` crate; of its
//! models, unigram and `WordPiece` are done again, token by token the same.
//!
//! Little endian; offsets in bytes:
//!
//! | from | what |
//! |---|---|
//! | 0 | magic, 8 bytes |
//! | 8 | version, u32 |
//! | 12 | CRC-32 of what follows, u32 |
//! | 16 | bytes of the settings, of the pieces and of the trie, and number of pieces: u32 each |
//! | 32 | the settings |
//! | | scores of the pieces (f64; of a unigram model only) |
//! | | where each piece begins, and the last one ends (u32) |
//! | | the trie ([`double_array`]), the pieces |
//!
//! The settings are the `tokenizer.json` without its vocabulary.

pub(crate) mod double_array;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tokenizers::Token;
use trefoil_core::{Error, Part, Result};

use self::double_array::{DoubleArray, build};
use crate::mapped_file::MappedFile;

const MAGIC: [u8; 8] = *b"TREFTOKN";
const VERSION: u32 = 1;
const HEADER: usize = 32;

/// What a model of the `tokenizers` crate subtracts from the least score for a character that is
/// in no piece.
const UNKNOWN_PENALTY: f64 = 10.0;

/// A vocabulary in a mapped file.
#[derive(Debug)]
pub(crate) struct MappedVocabulary {
    file: MappedFile,
    kind: Kind,
    /// The score of a character that is in no piece.
    unknown_score: f64,
    count: usize,
    scores: Section,
    starts: Section,
    trie: Section,
    settings: Section,
    pieces: Section,
}

/// Where a part of the file begins and ends.
#[derive(Clone, Copy, Debug)]
struct Section(usize, usize);

/// The model that a vocabulary is of.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
enum Kind {
    /// The pieces of a text whose scores add up to most.
    Unigram {
        unk_id: u32,
        #[serde(default)]
        byte_fallback: bool,
    },
    /// The longest piece that a word begins with, then the longest of what is left.
    WordPiece {
        unk_token: String,
        continuing_subword_prefix: String,
        max_input_chars_per_word: usize,
    },
}

/// What a file says of the model.
#[derive(Deserialize)]
struct Settings {
    model: Kind,
}

impl MappedVocabulary {
    /// Reads a file that [`write`] has made.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is not whole or of another version.
    pub(crate) fn read(file: MappedFile) -> Result<Self> {
        let damaged = |reason: &str| Error::Corrupt {
            part: Part::Model,
            reason: format!("`{}`: {reason}", file.path().display()),
        };
        let bytes: &[u8] = &file;
        let number = |at: usize| {
            let number = bytes.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
            number.map(|bytes| u32::from_le_bytes(*bytes)).ok_or_else(|| damaged("it is cut off"))
        };
        if !bytes.starts_with(&MAGIC) || number(8)? != VERSION {
            return Err(damaged("it is of another version"));
        }
        if number(12)? != crc32fast::hash(bytes.get(16..).unwrap_or_default()) {
            return Err(damaged("it has another checksum"));
        }
        let length = |at| number(at).map(|length| length as usize);
        let (settings, pieces, trie, count) = (length(16)?, length(20)?, length(24)?, length(28)?);
        let settings = Section(HEADER, HEADER.saturating_add(settings));
        let settings_text = bytes.get(settings.0..settings.1).unwrap_or_default();
        let Settings { model } = serde_json::from_slice(settings_text)
            .map_err(|error| damaged(&format!("its settings are not readable: {error}")))?;
        let score = match model {
            Kind::Unigram { .. } => size_of::<f64>(),
            Kind::WordPiece { .. } => 0,
        };
        let after = |Section(_, start): Section, length: usize| {
            Section(start, start.saturating_add(length))
        };
        let scores = after(settings, count.saturating_mul(score));
        let starts = after(scores, count.saturating_add(1).saturating_mul(4));
        let trie = after(starts, trie);
        let pieces = after(trie, pieces);
        if pieces.1 != bytes.len() {
            return Err(damaged("it is not as long as it says"));
        }
        let read = Self {
            kind: model,
            unknown_score: 0.0,
            count,
            scores,
            starts,
            trie,
            settings,
            pieces,
            file,
        };
        let least = (0..count).map(|piece| read.score(piece)).fold(f64::INFINITY, f64::min);
        Ok(Self { unknown_score: least - UNKNOWN_PENALTY, ..read })
    }

    /// The `tokenizer.json` without its vocabulary.
    pub(crate) fn settings(&self) -> &[u8] {
        self.section(self.settings)
    }

    /// How many pieces it has.
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    /// The number of a piece.
    pub(crate) fn id(&self, piece: &str) -> Option<u32> {
        let trie = self.trie();
        trie.value(trie.walk(DoubleArray::ROOT, piece.as_bytes())?)
    }

    /// The piece with a number.
    pub(crate) fn piece(&self, id: u32) -> Option<&str> {
        let starts = self.section(self.starts).get(id as usize * 4..)?;
        let (start, rest) = starts.split_first_chunk::<4>()?;
        let end = rest.first_chunk::<4>()?;
        let range = u32::from_le_bytes(*start) as usize..u32::from_le_bytes(*end) as usize;
        str::from_utf8(self.section(self.pieces).get(range)?).ok()
    }

    /// The tokens of a word, or of a text that is not cut into words. Their texts are left out.
    pub(crate) fn tokenize(&self, text: &str) -> tokenizers::Result<Vec<Token>> {
        let tokens = match &self.kind {
            Kind::Unigram { unk_id, .. } => self.best_pieces(text, *unk_id),
            Kind::WordPiece { unk_token, continuing_subword_prefix, max_input_chars_per_word } => {
                let is_short = text.chars().count() <= *max_input_chars_per_word;
                let pieces = self.longest_pieces(text, continuing_subword_prefix);
                if let Some(pieces) = pieces.filter(|_| is_short) {
                    pieces
                } else {
                    let unknown = self.id(unk_token).ok_or("the unknown token is missing")?;
                    vec![(unknown, 0, text.len())]
                }
            }
        };
        let token = |(id, start, end)| Token::new(id, String::new(), (start, end));
        Ok(tokens.into_iter().map(token).collect())
    }

    /// The pieces whose scores add up to most, neighbours that are unknown as one: number, start
    /// and end of each. Of two ways as good, the one found first, from left to right.
    fn best_pieces(&self, text: &str, unknown: u32) -> Vec<(u32, usize, usize)> {
        /// The best way to a place in the text, and the last piece of it.
        #[derive(Clone, Copy)]
        struct Best {
            score: f64,
            piece: u32,
            start: Option<usize>,
        }
        let trie = self.trie();
        let bytes = text.as_bytes();
        let mut best = vec![Best { score: 0.0, piece: 0, start: None }; text.len() + 1];
        let offer = |best: &mut [Best], end: usize, score: f64, piece: u32, start: usize| {
            if let Some(best) = best.get_mut(end)
                && (best.start.is_none() || score > best.score)
            {
                *best = Best { score, piece, start: Some(start) };
            }
        };
        for (start, c) in text.char_indices() {
            let before = best.get(start).map_or(0.0, |best| best.score);
            let mut is_known = false;
            let rest = bytes.get(start..).unwrap_or_default();
            for (length, piece) in trie.prefixes(DoubleArray::ROOT, rest) {
                let score = self.score(piece as usize) + before;
                offer(&mut best, start + length, score, piece, start);
                is_known |= length == c.len_utf8();
            }
            if !is_known {
                let score = self.unknown_score + before;
                offer(&mut best, start + c.len_utf8(), score, unknown, start);
            }
        }
        let mut pieces: Vec<(u32, usize, usize)> = Vec::new();
        let mut end = text.len();
        while end > 0 {
            let Some(Best { piece, start: Some(start), .. }) = best.get(end).copied() else {
                break;
            };
            match pieces.last_mut() {
                Some((last, begin, _)) if *last == unknown && piece == unknown => *begin = start,
                _ => pieces.push((piece, start, end)),
            }
            end = start;
        }
        pieces.reverse();
        for (piece, start, end) in &mut pieces {
            if *piece == unknown {
                // As a whole it may be a piece again.
                *piece = text.get(*start..*end).and_then(|text| self.id(text)).unwrap_or(unknown);
            }
        }
        pieces
    }

    /// The longest piece that the word begins with, then the longest of what is left, with
    /// `prefix` before it; none if something is in no piece.
    fn longest_pieces(&self, word: &str, prefix: &str) -> Option<Vec<(u32, usize, usize)>> {
        let trie = self.trie();
        let within = trie.walk(DoubleArray::ROOT, prefix.as_bytes());
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < word.len() {
            let node = if start == 0 { DoubleArray::ROOT } else { within? };
            let (length, piece) = trie.prefixes(node, word.as_bytes().get(start..)?).last()?;
            pieces.push((piece, start, start + length));
            start += length;
        }
        Some(pieces)
    }

    #[inline]
    fn score(&self, piece: usize) -> f64 {
        let bytes = self.section(self.scores).get(piece * 8..);
        bytes.and_then(|bytes| bytes.first_chunk()).map_or(0.0, |bytes| f64::from_le_bytes(*bytes))
    }

    #[inline]
    fn trie(&self) -> DoubleArray<'_> {
        DoubleArray(self.section(self.trie))
    }

    #[inline]
    fn section(&self, Section(start, end): Section) -> &[u8] {
        self.file.get(start..end).unwrap_or_default()
    }
}

/// The file of a `tokenizer.json`; none if its model is one that is not done here.
pub(crate) fn write(json: &[u8]) -> Option<Vec<u8>> {
    let mut settings: Value = serde_json::from_slice(json).ok()?;
    let model = settings.get_mut("model")?.as_object_mut()?;
    let vocabulary = model.remove("vocab")?;
    let (pieces, scores) = match serde_json::from_value(Value::Object(model.clone())).ok()? {
        // Bytes in place of what is unknown are not done.
        Kind::Unigram { byte_fallback: true, .. } => return None,
        Kind::Unigram { unk_id, .. } => {
            let pieces: Vec<(String, f64)> = serde_json::from_value(vocabulary).ok()?;
            pieces.get(unk_id as usize)?;
            pieces.into_iter().unzip()
        }
        Kind::WordPiece { .. } => {
            let ids: BTreeMap<String, usize> = serde_json::from_value(vocabulary).ok()?;
            let mut pieces: Vec<Option<String>> = vec![None; ids.len()];
            for (piece, id) in ids {
                *pieces.get_mut(id)? = Some(piece);
            }
            // A number twice or not at all is not done.
            (pieces.into_iter().collect::<Option<Vec<String>>>()?, Vec::new())
        }
    };
    let settings = serde_json::to_vec(&settings).ok()?;
    // Of a piece that stands there twice, the later number counts.
    let ids: BTreeMap<&[u8], u32> = pieces.iter().map(String::as_bytes).zip(0..).collect();
    let trie = build(&ids)?;
    let text = pieces.concat();
    let mut end = 0;
    let ends = pieces.iter().map(|piece| {
        end += piece.len();
        end
    });
    let starts: Vec<usize> = std::iter::once(0).chain(ends).collect();

    let mut body = Vec::with_capacity(HEADER + trie.len() + text.len() + pieces.len() * 12);
    let mut push = |number: usize| -> Option<()> {
        body.extend(u32::try_from(number).ok()?.to_le_bytes());
        Some(())
    };
    for length in [settings.len(), text.len(), trie.len(), pieces.len()] {
        push(length)?;
    }
    body.extend(settings);
    let scores: Vec<u8> = scores.iter().flat_map(|score| f64::to_le_bytes(*score)).collect();
    body.extend(scores);
    for start in starts {
        body.extend(u32::try_from(start).ok()?.to_le_bytes());
    }
    body.extend(trie);
    body.extend(text.as_bytes());
    let head = [&MAGIC[..], &VERSION.to_le_bytes(), &crc32fast::hash(&body).to_le_bytes()].concat();
    Some([head, body].concat())
}
