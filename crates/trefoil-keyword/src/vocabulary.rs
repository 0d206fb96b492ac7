//! Terms of an index that are written nearly like a term of a question.

use std::{collections::BTreeSet, sync::Arc};

use tantivy::{Term, schema::Field};
use trefoil_core::Result;

use crate::{bm25::document_frequency, index::backend, segment::Segment};

/// How many neighbours of a term are looked up, the nearest and then the commonest.
const NEIGHBOURS: usize = 3;
/// Characters that neighbours share at their beginning. It bounds what is read of the
/// vocabulary; a slip of the pen is rarely so early in a word.
const SHARED: usize = 2;
/// Characters of the shortest word that has neighbours: shorter ones have too many.
const SHORTEST: usize = 4;
/// Words from this length on may differ in two places, shorter ones in one.
const LONG: usize = 8;
/// Letters that a word may have more than the one it begins with.
const SUFFIX: usize = 3;

/// Whether the index knows `term`, and terms of the index near it: of a word in letters,
/// those that differ by a letter or an ending; of a word in Kana, the same in the other
/// Kana, or with and without the long vowel at its end. Bigrams have none: they are loose
/// already.
///
/// # Errors
/// The vocabulary cannot be read.
pub(crate) fn near(
    segments: &[Arc<Segment>],
    field: Field,
    term: &str,
) -> Result<(bool, Vec<String>)> {
    let frequency = |term: &str| document_frequency(segments, &Term::from_field_text(field, term));
    let known = frequency(term)? > 0;
    let mut others: Vec<(usize, String)> =
        kana_variants(term).into_iter().map(|variant| (0, variant)).collect();
    if is_word(term) {
        let words = sharing_the_beginning(segments, field, term)?.into_iter();
        others.extend(words.filter_map(|word| Some((distance(term, &word)?, word))));
    }
    let mut found: Vec<(usize, u64, String)> = Vec::new();
    for (distance, other) in others {
        let frequency = frequency(&other)?;
        if frequency > 0 {
            found.push((distance, frequency, other));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)).then_with(|| a.2.cmp(&b.2)));
    found.truncate(NEIGHBOURS);
    Ok((known, found.into_iter().map(|(_, _, term)| term).collect()))
}

/// True for a word in a script whose words are terms: neither Kana, Kanji nor Hangul, and
/// no number.
fn is_word(term: &str) -> bool {
    term.chars().count() >= SHORTEST && term.chars().all(|c| c.is_alphabetic() && c < '\u{2e80}')
}

/// The other terms that begin like `term`, also those of deleted documents alone.
fn sharing_the_beginning(
    segments: &[Arc<Segment>],
    field: Field,
    term: &str,
) -> Result<BTreeSet<String>> {
    let prefix: String = term.chars().take(SHARED).collect();
    let mut found = BTreeSet::new();
    for segment in segments {
        let index = segment.reader.inverted_index(field).map_err(backend("open a field"))?;
        let range = index.terms().range().ge(prefix.as_bytes());
        let mut stream =
            range.into_stream().map_err(|error| backend("read the vocabulary")(error.into()))?;
        while stream.advance() {
            if !stream.key().starts_with(prefix.as_bytes()) {
                break;
            }
            let other = std::str::from_utf8(stream.key()).ok().filter(|other| *other != term);
            found.extend(other.map(ToOwned::to_owned));
        }
    }
    Ok(found)
}

/// How far two words are apart: letters by which the longer goes on, or places in which
/// they differ (Damerau, 1964: a letter more, less, other, or two exchanged). None if that
/// is too far to be the same word.
fn distance(one: &str, other: &str) -> Option<usize> {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (short, long) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
    let longer = long.len() - short.len();
    if longer > SUFFIX {
        return None;
    }
    if short.len() >= SHORTEST && long.starts_with(short) {
        return Some(longer);
    }
    let allowed = if short.len() >= LONG { 2 } else { 1 };
    let edits = edits(short, long);
    (edits <= allowed).then_some(edits)
}

/// Edit distance with exchanges of neighbours (optimal string alignment).
fn edits(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let at = |row: &[usize], place: usize| row.get(place).copied().unwrap_or(usize::MAX);
            let replaced = at(&above, j) + usize::from(a != b);
            let mut least = replaced.min(at(&above, j + 1) + 1).min(at(&row, j) + 1);
            let exchanged =
                i > 0 && j > 0 && one.get(i - 1) == Some(b) && other.get(j - 1) == Some(a);
            if exchanged {
                least = least.min(at(&before, j - 1) + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or_default()
}

/// A word in Kana in the other Kana, and with or without the long vowel at its end.
fn kana_variants(term: &str) -> Vec<String> {
    const LONG_VOWEL: char = 'ー';
    let is_kana = |c: char| matches!(c, '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30f6}');
    if term.chars().count() < 2 || !term.chars().all(|c| is_kana(c) || c == LONG_VOWEL) {
        return Vec::new();
    }
    let length = match term.strip_suffix(LONG_VOWEL) {
        Some(short) => short.to_owned(),
        None => format!("{term}{LONG_VOWEL}"),
    };
    let swapped = term.chars().filter_map(|c| match c {
        // The two blocks hold the same syllables 0x60 apart.
        '\u{3041}'..='\u{3096}' => char::from_u32(u32::from(c) + 0x60),
        '\u{30a1}'..='\u{30f6}' => char::from_u32(u32::from(c) - 0x60),
        _ => Some(c),
    });
    vec![swapped.collect(), length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_near_by_a_letter_or_an_ending() {
        let check = |one: &str, other: &str, expected: Option<usize>| {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        };
        check("tide", "tide", Some(0));
        check("tide", "tied", Some(1));
        check("colour", "color", Some(1));
        check("recieve", "receive", Some(1));
        check("photosythesi", "photosynthesi", Some(1));
        check("archaelogi", "archaeologi", Some(1));
        check("embed", "embedd", Some(1));
        check("electr", "electron", Some(2));
        check("electr", "electronics", None);
        check("tide", "time", Some(1));
        check("tide", "tame", None);
        check("", "tide", None);
    }

    #[test]
    fn kana_have_variants_and_other_scripts_have_none() {
        let check = |term: &str, expected: &[&str]| assert_eq!(kana_variants(term), expected);
        check("ごみ", &["ゴミ", "ごみー"]);
        check("サーバー", &["さーばー", "サーバ"]);
        check("東京", &[]);
        check("한국", &[]);
        check("tide", &[]);
        check("ア", &[]);
    }

    #[test]
    fn only_words_in_letters_have_an_alphabetic_neighbourhood() {
        for (term, expected) in [
            ("tide", true),
            ("tid", false),
            ("e0502", false),
            ("データ", false),
            ("한국어책", false),
        ] {
            assert_eq!(is_word(term), expected, "{term}");
        }
    }
}
