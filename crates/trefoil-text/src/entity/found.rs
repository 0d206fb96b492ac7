use std::collections::BTreeMap;

use trefoil_core::{ByteSpan, EntityType, Mention, MentionKind, Score};

use super::{
    kind::entity_type,
    name::{MAX_NAME_CHARS, is_numbered, normalize_name},
    words::Word,
};
use crate::{script::Script, stop::is_stop};

/// What a mention gains for each time it is repeated, and at most.
const REPEATED: (f32, f32) = (0.02, 0.1);

/// The names found in one text so far, each under its key.
#[derive(Debug)]
pub(crate) struct Found<'t> {
    text: &'t str,
    by_key: BTreeMap<String, Entry>,
}

/// A name, as sure as its surest sign.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: MentionKind,
    pub(crate) confidence: f32,
    pub(crate) spans: Vec<ByteSpan>,
    pub(crate) aliases: Vec<String>,
    /// Of a human being, by a form of address before it.
    pub(crate) is_person: bool,
    /// Has stood after a word such as `in`, as places do and people do not.
    pub(crate) is_located: bool,
    target: Option<String>,
}

impl<'t> Found<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, by_key: BTreeMap::new() }
    }

    /// Adds `name`, which stands at `start` of the text.
    pub(crate) fn push(
        &mut self,
        name: &str,
        start: usize,
        kind: MentionKind,
        confidence: f32,
    ) -> Option<&mut Entry> {
        let span = ByteSpan { start, end: start + name.len() };
        self.add(name, Some(span), kind, confidence)
    }

    /// Adds the name that consecutive words are.
    pub(crate) fn push_words(
        &mut self,
        words: &[Word<'_>],
        kind: MentionKind,
        confidence: f32,
    ) -> Option<&mut Entry> {
        let (first, last) = (words.first()?, words.last()?);
        let span = ByteSpan { start: first.start, end: last.end() };
        let name = self.text.get(span.start..span.end).unwrap_or_default();
        self.add(&one_line(name), Some(span), kind, confidence)
    }

    /// Adds what a link says and where it leads to.
    pub(crate) fn push_link(&mut self, span: ByteSpan, target: Option<&str>, confidence: f32) {
        let name = self.text.get(span.start..span.end).unwrap_or_default();
        if let Some(entry) = self.add(&one_line(name), Some(span), MentionKind::Link, confidence) {
            entry.target = entry.target.take().or(target.map(str::to_owned));
        }
    }

    /// Adds a name that stands above the text.
    pub(crate) fn push_above(
        &mut self,
        name: &str,
        kind: MentionKind,
        confidence: f32,
    ) -> Option<&mut Entry> {
        self.add(&one_line(name), None, kind, confidence)
    }

    /// Takes over names that were found in a text above this one.
    pub(crate) fn take_above(&mut self, above: Found<'_>) {
        for entry in above.by_key.into_values() {
            self.add(&entry.name, None, entry.kind, entry.confidence);
        }
    }

    /// The proper names among them, by key.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&String, &Entry)> {
        self.by_key.iter().filter(|(_, entry)| {
            use MentionKind::{Link, ProperNoun, Quoted, Title};
            matches!(entry.kind, Title | Link | Quoted | ProperNoun)
        })
    }

    /// Makes the name with the key `short` another form of the one with the key `long`.
    pub(crate) fn unite(&mut self, short: &str, long: &str) {
        let Some(other) = self.by_key.remove(short) else { return };
        match self.by_key.get_mut(long) {
            Some(entry) => {
                entry.spans.extend(other.spans);
                entry.aliases.push(short.to_owned());
                entry.aliases.extend(other.aliases);
                entry.confidence = entry.confidence.max(other.confidence);
                entry.target = entry.target.take().or(other.target);
                entry.is_person |= other.is_person;
            }
            None => {
                self.by_key.insert(short.to_owned(), other);
            }
        }
    }

    /// All of them, by key.
    pub(crate) fn into_mentions(self) -> Vec<Mention> {
        let each = self.by_key.into_iter();
        each.map(|(normalized_name, entry)| entry.into_mention(normalized_name)).collect()
    }

    fn add(
        &mut self,
        name: &str,
        span: Option<ByteSpan>,
        kind: MentionKind,
        confidence: f32,
    ) -> Option<&mut Entry> {
        let mut key = normalize_name(name);
        if kind == MentionKind::NounPhrase {
            make_singular(&mut key);
        }
        let is_name = key.chars().nth(1).is_some()
            && name.chars().nth(MAX_NAME_CHARS).is_none()
            && key.contains(char::is_alphabetic)
            && !is_stop(Script::Spaced, &key)
            && !is_numbered(&key);
        if !is_name {
            return None;
        }
        let entry = self.by_key.entry(key).or_insert_with(|| Entry {
            name: name.to_owned(),
            kind,
            confidence,
            spans: Vec::new(),
            aliases: Vec::new(),
            is_person: false,
            is_located: false,
            target: None,
        });
        if confidence > entry.confidence || confidence == entry.confidence && kind < entry.kind {
            name.clone_into(&mut entry.name);
            (entry.kind, entry.confidence) = (kind, confidence);
        }
        entry.spans.extend(span);
        Some(entry)
    }
}

impl Entry {
    fn into_mention(mut self, normalized_name: String) -> Mention {
        self.spans.sort_by_key(|span| (span.start, span.end));
        // A quoted name is found as a quotation and as a name.
        self.spans.dedup_by(|next, last| {
            let overlaps = next.start < last.end;
            if overlaps {
                last.end = last.end.max(next.end);
            }
            overlaps
        });
        let (step, most) = REPEATED;
        let repeated = self.spans.len().saturating_sub(1) as f32 * step;
        Mention {
            entity_type: if self.is_person {
                EntityType::PERSON
            } else {
                entity_type(&self.name, &normalized_name, self.kind)
            },
            name: self.name,
            normalized_name,
            aliases: self.aliases,
            kind: self.kind,
            confidence: Score::clamped(self.confidence + repeated.min(most)),
            spans: self.spans,
            target: self.target,
        }
    }
}

/// A name without line breaks and marks of emphasis.
fn one_line(name: &str) -> String {
    let words = name.split(|c: char| c.is_whitespace() || c == '*').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Takes the ending of the English plural off the last word.
fn make_singular(key: &mut String) {
    let last = key.rsplit(' ').next().unwrap_or_default();
    if last.len() < 4
        || !last.is_ascii()
        || ["ss", "us", "is", "ics"].iter().any(|e| last.ends_with(e))
    {
        return;
    }
    if let Some(stem) = key.strip_suffix("ies").map(str::len) {
        key.truncate(stem);
        key.push('y');
    } else if ["ches", "shes", "xes", "sses"].iter().any(|ending| last.ends_with(ending)) {
        key.truncate(key.len() - 2);
    } else if last.ends_with('s') {
        key.truncate(key.len() - 1);
    }
}
