//! Nouns of Korean by their parts of speech.

use trefoil_core::Result;

use super::{
    found::Found,
    korean::{self, Noun},
    tagger::{PartOfSpeech, Word, Worker},
};
use crate::script::Run;

/// What a word of `ko-dic` is to a noun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Noun,
    Name,
    /// The name of a human being.
    Person,
    /// 대-, 신-.
    Prefix,
    /// -가, -성.
    Suffix,
    /// 것, 수, 때; 이것; 셋.
    NotNoun,
    /// A verb or an adjective before a noun, a determiner.
    Modifier,
    /// 년, 번.
    Counter,
    /// An adverb, an interjection.
    Adverb,
    /// A verb or an adjective without an ending.
    Stem,
    /// An ending.
    Ending,
    /// Particles, the copula, 하- of 정의하다.
    Function,
    /// What makes an adjective: 하- of 중요하다.
    Adjective,
    Other,
}

impl PartOfSpeech for Part {
    fn read<'t>(mut fields: impl Iterator<Item = &'t str>, is_known: bool) -> Self {
        let tag = fields.next().unwrap_or_default();
        let is_modifier = tag.starts_with('V') && tag.ends_with("+ETM");
        match tag.split('+').next().unwrap_or_default() {
            "NNP" if !is_known => Self::Noun,
            "NNP" if fields.next() == Some("인명") => Self::Person,
            "NNP" => Self::Name,
            "NNG" | "XR" | "SH" => Self::Noun,
            "XPN" => Self::Prefix,
            "XSN" => Self::Suffix,
            "NNB" | "NR" | "NP" | "SN" => Self::NotNoun,
            "NNBC" => Self::Counter,
            "MAG" | "IC" => Self::Adverb,
            "MM" => Self::Modifier,
            "VV" | "VA" if is_modifier => Self::Modifier,
            "VV" | "VA" | "VX" if tag.ends_with("+EC") => Self::Ending,
            "XSA" => Self::Adjective,
            "VV" | "VA" | "VX" if !tag.contains('+') => Self::Stem,
            head if head.starts_with('E') => Self::Ending,
            head if head.starts_with('J') => Self::Function,
            "VCP" | "XSV" => Self::Function,
            _ => Self::Other,
        }
    }
}

/// Nouns that without a dictionary look like a noun of one syllable and a particle.
const HOMOGRAPHS: &[&str] = &["수도", "이란"];

/// Pushes the nouns of `part`, which starts at `offset` of the text.
pub(crate) fn extract(
    part: &str,
    offset: usize,
    worker: &mut Worker,
    found: &mut Found<'_>,
) -> Result<()> {
    let words: Vec<Word<Part>> = worker.tag(part)?;
    korean::extract_by(part, offset, |run| read(run, inside(&words, run)), found);
    Ok(())
}

/// The words that a run consists of.
fn inside<'w>(words: &'w [Word<Part>], run: &Run<'_>) -> &'w [Word<Part>] {
    let end = run.start + run.text.len();
    let first = words.partition_point(|word| word.start < run.start);
    let after = words.partition_point(|word| word.start < end);
    words.get(first..after).unwrap_or_default()
}

/// The noun that a run begins with, without what follows it.
///
/// A run whose beginning is cut into words that no writer puts together, 클-래스, is a
/// noun that the dictionary does not have: what counts is where its particles begin.
fn read<'t>(run: &Run<'t>, words: &[Word<Part>]) -> korean::Word<'t> {
    use korean::Word::{Bare, Last, Other};
    if is_foreign(run, words) {
        return korean::word(run.text);
    }
    let is_part = |word: &Word<Part>| {
        matches!(word.part, Part::Noun | Part::Name | Part::Person | Part::Suffix)
    };
    let Some(last) = words.iter().rposition(is_part) else { return Other };
    let (head, tail) = words.split_at(last + 1);
    let is_noun =
        head.iter().all(|w| is_part(w) || matches!(w.part, Part::Prefix | Part::Modifier));
    let is_followed = tail.iter().all(|word| matches!(word.part, Part::Function | Part::Ending));
    if !is_noun || !is_followed || korean::is_function_word(run.text) {
        return Other;
    }
    let end = head.last().map_or(run.start, |word| word.end);
    let Some(text) = run.text.get(..end.saturating_sub(run.start)) else { return Other };
    // 역사적: an adjective.
    if text.ends_with('적') && head.last().is_some_and(|word| word.part == Part::Suffix) {
        return Other;
    }
    let text = korean::plural(text);
    if korean::is_function_word(text) && !HOMOGRAPHS.contains(&text) {
        return Other;
    }
    let mut noun = Noun::new(text);
    noun.is_name |= match head {
        [Word { part: Part::Name, .. }] => true,
        [Word { part: Part::Person, .. }] => text.chars().nth(2).is_some(),
        _ => false,
    };
    if tail.is_empty() { Bare(noun) } else { Last(noun) }
}

/// True for a word that the dictionary does not have: it is cut into words that are never
/// written together, 번-들러, or into verbs without an ending, 메-서-드, or its `-tion` is
/// taken for an ending, 마이그레-이-션.
fn is_foreign(run: &Run<'_>, words: &[Word<Part>]) -> bool {
    let is_odd = |(at, word): (usize, &Word<Part>)| {
        let next = words.get(at + 1).map(|next| next.part);
        let ends = matches!(
            next,
            None | Some(Part::Function | Part::Ending | Part::Suffix | Part::NotNoun)
        );
        match (word.part, next) {
            (Part::Stem, _) => next != Some(Part::Ending) && ends,
            (Part::Adverb, _) => next != Some(Part::Stem) && !ends,
            (Part::Counter, _) => !ends,
            (Part::Ending, Some(Part::Noun | Part::Name | Part::Person)) => true,
            _ => false,
        }
    };
    run.text.contains("이션") || words.iter().enumerate().any(is_odd)
}
