//! The names in a text, without a model: what is marked as one, what is written like
//! one, and nouns.

mod citation;
mod definition;
mod document;
mod english;
mod found;
mod japanese;
#[cfg(feature = "lindera")]
mod japanese_nouns;
mod kind;
mod korean;
#[cfg(feature = "lindera")]
mod korean_nouns;
mod markup;
#[cfg(feature = "lindera")]
mod morphological;
mod name;
mod nouns;
mod relation;
mod spaced;
#[cfg(feature = "lindera")]
mod tagger;
mod words;

use trefoil_core::{
    ByteSpan, EntityExtractor, EntityType, Extraction, Language, MentionKind, Result, TitledText,
};

#[cfg(feature = "lindera")]
pub use self::morphological::MorphologicalExtractor;
pub use self::{definition::defines, document::resolve_names, name::normalize_name};
use self::{
    english::Class,
    found::{Entry, Found},
    markup::{Mark, Marked, Markup},
    name::{Acronym, is_generic_heading, without_qualifier},
    nouns::{Nouns, ScriptNouns},
    words::is_before_code_name,
};
use crate::{script::Script, word_list::WordList};

/// A title, label or quotation of more words, or with more Kanji, Kana or Hangul than
/// this, is a sentence, not a name.
const LONGEST_NAME: (usize, usize) = (8, 20);
/// The same for a bracket that leads nowhere: most are notes.
const LONGEST_BRACKET: (usize, usize) = (3, 12);

const TITLE: f32 = 1.0;
/// The heading right above the text, and the ones above that.
const HEADING: (f32, f32) = (0.9, 0.7);
/// A link that leads somewhere, and a bracket that may be one.
const LINK: (f32, f32) = (0.9, 0.7);
/// Code in a line, and in a block.
const CODE: f32 = 0.85;
const BLOCK_CODE: f32 = 0.5;
const CITATION: f32 = 0.7;
/// A quoted name, and a quotation in small letters.
const QUOTED: (f32, f32) = (0.85, 0.55);

/// The extractor that needs no model: each script of a text in its own way.
///
/// | sign | mentions |
/// |---|---|
/// | title, headings, links, code, quotation marks | what they name, if it is short enough to be a name |
/// | scripts with spaces | runs of capitalised words with their `of` and `de`; in English groups of nouns |
/// | Kanji and Katakana | runs, without counters, suffixes and verbs |
/// | Hangul | words without particles, and groups of them |
///
/// A surname goes with the full name, an acronym with what it stands for, where both
/// are in one text.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptExtractor;

impl EntityExtractor for ScriptExtractor {
    fn fingerprint(&self) -> String {
        "script 1".to_owned()
    }

    fn extract(&self, texts: &[TitledText<'_>]) -> Result<Vec<Extraction>> {
        texts.iter().map(|text| extraction(text, &mut ScriptNouns)).collect()
    }
}

fn extraction(titled: &TitledText<'_>, nouns: &mut dyn Nouns) -> Result<Extraction> {
    let text = titled.text;
    let mut found = Found::new(text);
    let markup = Markup::new(text);
    for marked in &markup.marked {
        push_marked(text, marked, &mut found);
    }
    for span in markup.prose() {
        push_prose(text, span, titled.language, nouns, &mut found)?;
    }
    for &span in &markup.code_blocks {
        push_code_block(text, span, &mut found);
    }
    push_above(titled, nouns, &mut found)?;
    unite_aliases(&mut found);
    let extraction = Extraction::new(found.into_mentions());
    let relations = relation::relations(titled, &markup, extraction.mentions());
    Ok(extraction.with_relations(relations))
}

fn push_prose(
    text: &str,
    span: ByteSpan,
    language: Language,
    nouns: &mut dyn Nouns,
    found: &mut Found<'_>,
) -> Result<()> {
    let Some(part) = text.get(span.start..span.end) else { return Ok(()) };
    spaced::extract(&words::words(part, span.start), language, found);
    if part.is_ascii() { Ok(()) } else { nouns.push(part, span.start, language, found) }
}

/// Identifiers are all that is read of a block of code.
fn push_code_block(text: &str, span: ByteSpan, found: &mut Found<'_>) {
    let Some(part) = text.get(span.start..span.end) else { return };
    let words = words::words(part, span.start);
    for word in words.iter().filter(|word| spaced::is_identifier(word.text)) {
        found.push(word.text, word.start, MentionKind::Code, BLOCK_CODE);
    }
}

fn push_marked(text: &str, marked: &Marked, found: &mut Found<'_>) {
    let ByteSpan { start, end } = marked.span;
    let Some(inside) = text.get(start..end) else { return };
    match marked.mark {
        Mark::Heading(_) if is_heading_name(inside) => {
            found.push(inside, start, MentionKind::Heading, HEADING.0);
        }
        Mark::Link => {
            let target = marked.target.and_then(|span| text.get(span.start..span.end));
            let (longest, confidence) =
                if target.is_some() { (LONGEST_NAME, LINK.0) } else { (LONGEST_BRACKET, LINK.1) };
            // `[Illustration]`, `[Figure]`: what stands there, not what it is called.
            let is_label = target.is_none() && Class::of(&inside.to_lowercase()).is(Class::LABEL);
            if !is_label && is_at_most(inside, longest) {
                found.push_link(marked.span, target, confidence);
            }
        }
        Mark::Code => {
            if let Some(identifier) = identifier(inside) {
                let at = start + (inside.len() - inside.trim_start_matches(is_code_mark).len());
                found.push(identifier, at, MentionKind::Code, CODE);
            }
        }
        Mark::Quote if is_short(inside) && !is_sentence(inside) && !is_common(inside) => {
            let is_name = inside.contains(|c: char| c.is_uppercase() || Script::of(c).is_cjk());
            let confidence = if is_name { QUOTED.0 } else { QUOTED.1 };
            found.push(inside, start, MentionKind::Quoted, confidence);
        }
        Mark::Citation => found.push_link(marked.span, None, CITATION),
        Mark::Heading(_) | Mark::Quote => {}
    }
}

fn is_heading_name(heading: &str) -> bool {
    is_short(heading) && !is_generic_heading(&normalize_name(without_qualifier(heading).0))
}

/// Pushes the title and headings, and the names in a title.
fn push_above(titled: &TitledText<'_>, nouns: &mut dyn Nouns, found: &mut Found<'_>) -> Result<()> {
    let (name, qualifier) = without_qualifier(titled.title);
    if is_short(name)
        && let Some(entry) = found.push_above(name, MentionKind::Title, TITLE)
    {
        if qualifier.is_some() {
            entry.aliases.push(normalize_name(titled.title));
        }
        // `Midway, Arkansas`: its own text says `Midway`.
        if let Some((head, tail)) = name.split_once(", ")
            && tail.split(", ").all(|part| part.starts_with(char::is_uppercase))
        {
            entry.aliases.push(normalize_name(head));
        }
    }
    for part in [Some(name), qualifier].into_iter().flatten() {
        let mut above = Found::new(part);
        let span = ByteSpan { start: 0, end: part.len() };
        push_prose(part, span, titled.language, nouns, &mut above)?;
        found.take_above(above);
    }
    for (depth, heading) in titled.heading_path.iter().rev().enumerate() {
        let (name, _) = without_qualifier(heading);
        if is_heading_name(name) {
            let confidence = if depth == 0 { HEADING.0 } else { HEADING.1 };
            found.push_above(name, MentionKind::Heading, confidence);
        }
    }
    Ok(())
}

/// Unites the names that one text has in a short and a long form, where it has only one
/// long form.
fn unite_aliases(found: &mut Found<'_>) {
    let mut pairs = Vec::new();
    for (short, entry) in found.names().filter(|(short, _)| !short.contains(' ')) {
        let acronym = Acronym::new(&entry.name);
        // `React DOM` is not a person, `DOM` not a surname.
        let may_be_person = entry.name.contains(char::is_lowercase);
        let mut longer = found.names().filter(|(long, other)| {
            may_be_person
                && (is_surname(short, long)
                    || !entry.is_located && is_first_name(short, long, other, found))
                || acronym.as_ref().is_some_and(|acronym| acronym.stands_for(&other.name))
        });
        if let (Some((long, _)), None) = (longer.next(), longer.next()) {
            pairs.push((short.clone(), long.clone()));
        }
    }
    for (short, long) in pairs {
        found.unite(&short, &long);
    }
}

/// True if `short` is the last word of `long`, the name of a person by its form.
fn is_surname(short: &str, long: &str) -> bool {
    static NOT_PEOPLE: WordList = WordList::new(
        "city east fort great lake mount new north of port river saint san south st the university
         upper west",
    );
    let before = long.strip_suffix(short).and_then(|before| before.strip_suffix(' '));
    let Some(before) = before.filter(|_| short.len() > 2 && short.is_ascii()) else { return false };
    let mut words = before.split(' ');
    let names_people = |word: &str| !NOT_PEOPLE.contains(word) && !is_before_code_name(word);
    words.clone().nth(3).is_none() && words.all(names_people)
}

/// True if `short` is the first word of `long`, the name of a human being by a form of
/// address before it, or by the surname that the text uses too.
fn is_first_name(short: &str, long: &str, other: &Entry, found: &Found<'_>) -> bool {
    let surname = long.strip_prefix(short).and_then(|after| after.strip_prefix(' '));
    let Some(surname) = surname.filter(|_| short.len() > 2 && short.is_ascii()) else {
        return false;
    };
    !surname.contains(' ')
        && is_surname(surname, long)
        && (other.is_person || found.names().any(|(name, _)| name == surname))
        && kind::entity_type(&other.name, long, MentionKind::ProperNoun) == EntityType::NAME
}

/// True if a title, heading or quotation is short enough to be a name.
fn is_short(name: &str) -> bool {
    is_at_most(name, LONGEST_NAME)
}

/// True for a name of at most so many words, and so many characters of the scripts
/// without spaces and of Korean.
fn is_at_most(name: &str, (words, characters): (usize, usize)) -> bool {
    !name.trim().is_empty()
        && !name.contains('`')
        && name.split_whitespace().nth(words).is_none()
        && name.chars().filter(|&c| Script::of(c).is_cjk()).nth(characters).is_none()
}

/// True for a noun that says nothing without a context.
fn is_common(name: &str) -> bool {
    japanese::is_common(name) || korean::is_common(name)
}

/// True for a quotation that is speech.
fn is_sentence(quoted: &str) -> bool {
    let is_word = || !quoted.contains(' ') && Class::of(&quoted.to_lowercase()).is(Class::NOT_NOUN);
    is_word()
        || quoted.ends_with(['.', '!', '?', '。', '！', '？', ',', '、', '…', '—'])
        || quoted.contains(['。', '?', '!'])
        || ["다", "요", "た", "る", "だ", "ます", "です"].iter().any(|end| quoted.ends_with(end))
            && quoted.contains([' ', 'を', 'は', 'が'])
}

fn is_code_mark(c: char) -> bool {
    matches!(c, '<' | '/' | '.' | '-' | '@' | '#' | '&' | '*' | '(' | '{' | '[' | '"' | '\'')
}

/// What a stretch of code names: `<Suspense fallback>` → `Suspense`; nothing of a
/// statement.
fn identifier(code: &str) -> Option<&str> {
    let is_tag = code.starts_with('<');
    let rest = code.trim_start_matches(is_code_mark);
    let end = rest
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '$')))
        .unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let name = name.trim_end_matches(['.', ':', '-']);
    let is_call = after.is_empty() || after.starts_with(['(', '<', '[', '>', '/', '!', '"', '\'']);
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'));
    let is_literal = ["false", "null", "none", "self", "this", "true", "undefined"]
        .contains(&&*name.to_ascii_lowercase());
    (is_name && !is_literal && (is_tag || is_call)).then_some(name)
}

#[cfg(test)]
mod tests;
