//! Names and noun phrases of scripts with spaces: runs of capitalised words, and groups
//! of words between function words and verbs.

use std::collections::BTreeSet;

use trefoil_core::{Language, MentionKind};

use super::{
    english::Class,
    found::Found,
    kind::is_address,
    words::{Gap, Word},
};
use crate::word_list::WordList;

/// Longest name, in words; a longer run of capitals is shouted.
const LONGEST_NAME: usize = 9;

/// Longest noun phrase, in words: the last ones of a longer group hold its head.
const LONGEST_PHRASE: usize = 3;

/// Shortest name that only stands at the start of a sentence, in bytes.
const SHORTEST_WEAK_NAME: usize = 4;

/// Confidence of what has the form of an identifier: `useState`, `snake_case`.
const IDENTIFIER: f32 = 0.7;
/// Of a name of several words.
const LONG_NAME: f32 = 0.85;
/// Of a name of one word.
pub(crate) const SHORT_NAME: f32 = 0.7;
/// Of a capitalised word that a sentence starts with.
const WEAK_NAME: f32 = 0.5;
/// Of a group of nouns.
const PHRASE: f32 = 0.6;

/// Pushes the names and noun phrases among `words`.
pub(crate) fn extract(words: &[Word<'_>], language: Language, found: &mut Found<'_>) {
    let mut reader = Reader { words, language, small: small_words(words), found };
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at = if is_identifier(word.text) {
            reader.found.push(word.text, word.start, MentionKind::Code, IDENTIFIER);
            at + 1
        } else if reader.starts_name(at) {
            reader.name(at)
        } else if language == Language::En {
            reader.phrase(at)
        } else {
            reader.foreign_word(word);
            at + 1
        };
    }
}

/// True for `useState`, `snake_case`, `foo::bar` and `node.js`.
pub(crate) fn is_identifier(word: &str) -> bool {
    let starts_small = word.starts_with(char::is_lowercase);
    let camel = starts_small
        && word.is_ascii()
        && word.contains(|c: char| c.is_ascii_uppercase())
        && !word.contains(['-', '\'']);
    let joined = |mark: &str| {
        word.contains(mark)
            && word.split(mark).all(|part| part.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    camel || joined("_") || joined("::") || starts_small && word.len() > 4 && joined(".")
}

/// The words that the text has in small letters.
fn small_words<'t>(words: &[Word<'t>]) -> BTreeSet<&'t str> {
    let small = words.iter().filter(|word| !word.is_capital() && !word.class.is(Class::STOP));
    small.map(|word| word.text).collect()
}

/// What stands before the name of a place, rarely before that of a human being.
const BEFORE_PLACES: &[&str] = &["across", "at", "in", "into", "near", "outside", "within"];

struct Reader<'r, 't, 'f> {
    words: &'r [Word<'t>],
    language: Language,
    small: BTreeSet<&'t str>,
    found: &'r mut Found<'f>,
}

impl<'t> Reader<'_, 't, '_> {
    fn starts_name(&self, at: usize) -> bool {
        let Some(word) = self.words.get(at) else { return false };
        let next = || self.words.get(at + 1).filter(|next| next.gap == Gap::Space);
        joins_name(word) || word.is_ordinal() && next().is_some_and(joins_name)
    }

    /// Reads the name that starts at word `first`; where to read on.
    fn name(&mut self, first: usize) -> usize {
        let end = self.name_end(first);
        let mut name = self.words.get(first..end).unwrap_or_default();
        // `In Paris`, `According to Mercer`: the capital is the sentence's, not the word's.
        if let [head, rest @ ..] = name
            && head.gap == Gap::Sentence
            && !rest.is_empty()
            && self.is_common(head)
        {
            let lead = rest.iter().take_while(|word| !joins_name(word)).count();
            name = rest.get(lead..).unwrap_or_default();
        }
        let lead = name.iter().take_while(|word| is_address(&word.lower)).count();
        let bare = name.get(lead..).unwrap_or_default();
        let is_person = lead > 0 && bare.iter().any(|word| !word.class.is(Class::STOP));
        let name = if is_person { bare } else { name };
        match name {
            [word] if !is_person => self.single(word, first),
            [] => {}
            _ if name.len() > LONGEST_NAME => {}
            _ => {
                let confidence = if name.len() > 1 { LONG_NAME } else { SHORT_NAME };
                let entry = self.found.push_words(name, MentionKind::ProperNoun, confidence);
                if let Some(entry) = entry {
                    entry.is_person |= is_person;
                }
            }
        }
        end
    }

    /// One past the last word of the name that starts at word `first`.
    fn name_end(&self, first: usize) -> usize {
        let mut end = first + 1;
        for (next, pair) in self.words.windows(2).enumerate().skip(first) {
            let [before, word] = pair else { break };
            let next = next + 1;
            let is_number = end == next && word.is_number() && word.text.len() <= 3;
            if word.gap > Gap::And || before.genitive {
                break;
            } else if joins_name(word) || is_number {
                end = next + 1;
            } else if !(word.class.is(Class::CONNECTOR)
                && word.text == word.lower
                && next - end < 2)
            {
                break;
            }
        }
        end
    }

    /// True for a word that a sentence starts with and that is no name.
    fn is_common(&self, word: &Word<'_>) -> bool {
        let is_known = word.class.is(Class::NOT_NOUN);
        is_known || self.small.contains(&*word.lower) && !word.class.is(Class::MODIFIER)
    }

    fn single(&mut self, word: &Word<'t>, at: usize) {
        let is_sure =
            word.gap != Gap::Sentence || is_shouted(word.text) || self.language != Language::En;
        let is_weak = || {
            word.lower.len() >= SHORTEST_WEAK_NAME
                && !self.is_common(word)
                && !word.class.is(Class::MODIFIER)
                && !word.lower.ends_with("ly")
        };
        let confidence = match () {
            () if is_sure => SHORT_NAME,
            () if is_weak() => WEAK_NAME,
            () => return,
        };
        if !word.class.is(Class::LABEL) {
            let before = at.checked_sub(1).and_then(|before| self.words.get(before));
            let is_located = before.is_some_and(|before| BEFORE_PLACES.contains(&&*before.lower));
            let word = std::slice::from_ref(word);
            if let Some(entry) = self.found.push_words(word, MentionKind::ProperNoun, confidence) {
                entry.is_located |= is_located;
            }
        }
    }

    /// Reads the group of nouns that starts at word `first`; where to read on.
    fn phrase(&mut self, first: usize) -> usize {
        let mut end = first;
        while let Some(word) = self.words.get(end) {
            let goes_on = end == first
                || word.gap == Gap::Space
                    && !self.words.get(end - 1).is_some_and(|before| before.genitive);
            let after_plural =
                end > first && self.words.get(end - 1).is_some_and(|before| is_plural(before));
            if !goes_on || after_plural || self.starts_name(end) || !is_content(word) {
                break;
            }
            end += 1;
        }
        // A modifier that says nothing is not part of the name, nor a form of a verb.
        let group = self.words.get(first..end).unwrap_or_default();
        let lead = group.iter().take_while(|word| is_weak_modifier(word)).count();
        let head = group.iter().rposition(is_head).map_or(0, |at| at + 1);
        let lead = lead.max(head.saturating_sub(LONGEST_PHRASE));
        match group.get(lead..head).unwrap_or_default() {
            // A common noun alone names nothing in particular.
            [] | [_] => {}
            group => {
                self.found.push_words(group, MentionKind::NounPhrase, PHRASE);
            }
        }
        end.max(first + 1)
    }

    /// A word in small letters in a Japanese or Korean text is a term of art.
    fn foreign_word(&mut self, word: &Word<'t>) {
        if is_content(word) {
            self.found.push(word.text, word.start, MentionKind::NounPhrase, PHRASE);
        }
    }
}

/// True for a capitalised word that may stand in a name: `US` and `IT` are names, `Us`,
/// `It`, `I'm` and `May` are not.
fn joins_name(word: &Word<'_>) -> bool {
    let has_capital = word.is_capital()
        || word.text.starts_with(|c: char| c.is_ascii_digit())
            && word.text.contains(char::is_uppercase);
    let is_other =
        word.class.is(Class::DATE) || word.class.is(Class::STOP) && !is_shouted(word.text);
    has_capital && !is_other
}

/// True for capitals alone, as in an acronym.
fn is_shouted(word: &str) -> bool {
    word.chars().nth(1).is_some() && !word.contains(char::is_lowercase)
}

/// True for a word that is neither a function word nor a verb nor a number.
fn is_content(word: &Word<'_>) -> bool {
    word.text.chars().nth(1).is_some()
        && word.text.starts_with(char::is_alphabetic)
        && !word.class.is(Class::NOT_NOUN)
        && !word.lower.ends_with("ly")
}

fn is_weak_modifier(word: &Word<'_>) -> bool {
    word.class.is(Class::MODIFIER) || word.text.ends_with("ed") || word.text.ends_with("ing")
}

/// True for a plural: the noun after one is a verb, `monitors cast`, but for a few.
fn is_plural(word: &Word<'_>) -> bool {
    static BEFORE_NOUNS: WordList =
        WordList::new("arms diabetes gas goods news sales savings series species sports systems");
    let ends = |ending: &&str| word.lower.ends_with(*ending);
    word.lower.len() > 3
        && ends(&"s")
        && !["ss", "us", "is", "ics", "'s"].iter().any(ends)
        && !BEFORE_NOUNS.contains(&word.lower)
}

/// True for a word that may end a noun phrase: a way, a sense or a glance is no thing that a
/// text is about.
fn is_head(word: &Word<'_>) -> bool {
    static NO_THINGS: WordList = WordList::new(
        "breath gaze gazes glance glances grin kind kinds lack manner mind minds moment moments nod
         sake sense sigh smile smiles thing things way ways whisper whispers",
    );
    const ADJECTIVE_ENDINGS: &[&str] = &["able", "ible", "ical", "ous", "ive", "ful", "less"];
    let ends = |ending: &&str| word.text.len() > ending.len() + 2 && word.text.ends_with(*ending);
    let is_form = ends(&"ed") || ends(&"ing") && !word.class.is(Class::GERUND);
    !is_form
        && !word.class.is(Class::MODIFIER)
        && !NO_THINGS.contains(&word.lower)
        && !ADJECTIVE_ENDINGS.iter().any(ends)
}
