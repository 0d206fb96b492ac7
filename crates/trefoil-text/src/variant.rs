//! A question spelt in other ways: the same words in other forms, never other words.

use std::{borrow::Cow, ops::RangeInclusive};

use trefoil_core::Language;

use crate::{
    normalize::normalize,
    number::{plural, singular},
    particle::split_particle,
    script::{Run, Script, runs},
    stop::is_stop,
    word::WordBounds,
};

/// `text` in the other forms in which its words may be written, most telling first,
/// each different from `text` and from the others:
///
/// - in normal form (NFKC), so that full and half width are one;
/// - identifiers as words (`useState` → `use State`), hyphens as spaces and left out;
/// - Katakana with and without the long vowel sign at the end (`サーバー`, `サーバ`),
///   `ヴァ` as `バ`, and in Hiragana where that is a word of the dictionary (`リンゴ`),
///   Hiragana nouns in Katakana (`ごみ`);
/// - Korean words without their particles;
/// - English nouns in the singular, or a short list of words in the plural.
pub fn variants(text: &str, language: Language) -> Vec<String> {
    let normal = normalize(text);
    let mut found = vec![normal.clone().into_owned()];
    found.push(by_word(&normal, |word| Some(parts_of_identifier(word)?.join(" "))));
    found.push(by_word(&normal, spaced_hyphens));
    found.push(by_word(&normal, joined_hyphens));
    match language {
        Language::Ja => {
            found.extend([long_vowels(&normal), v_sounds(&normal), other_kana(&normal)]);
        }
        Language::Ko => found.push(without_particles(&normal)),
        Language::En | _ => found.push(other_number(&normal)),
    }
    let mut distinct: Vec<String> = Vec::new();
    for variant in found {
        if variant != text && !distinct.contains(&variant) {
            distinct.push(variant);
        }
    }
    distinct
}

/// `text` with each stretch between spaces replaced, where there is a replacement.
fn by_word(text: &str, replace: impl Fn(&str) -> Option<String>) -> String {
    text.split_inclusive(char::is_whitespace)
        .map(|piece| {
            let word = piece.trim_end();
            let space = piece.get(word.len()..).unwrap_or_default();
            replace(word).unwrap_or_else(|| word.to_owned()) + space
        })
        .collect()
}

/// The words that an identifier is made of: `useState`, `max_file_bytes`, `foo::bar`.
fn parts_of_identifier(word: &str) -> Option<Vec<&str>> {
    let letters = |c: char| c.is_ascii_alphanumeric();
    let start = word.find(letters)?;
    let stretch = word.get(start..)?;
    // `useEffectが`: what is written onto it stays as it is.
    let end =
        stretch.find(|c: char| !(letters(c) || matches!(c, '_' | ':'))).unwrap_or(stretch.len());
    let name = stretch.get(..end)?.trim_end_matches([':', '_']);
    let mut parts = Vec::new();
    for piece in name.split([':', '_']).filter(|piece| !piece.is_empty()) {
        parts.extend(humps(piece));
    }
    if parts.len() < 2 {
        return None;
    }
    let (before, after) = (word.get(..start)?, stretch.get(name.len()..)?);
    parts.insert(0, before);
    parts.push(after);
    parts.retain(|part| !part.trim_matches(|c: char| c.is_ascii_punctuation()).is_empty());
    Some(parts)
}

/// `getElementById` cut before each capital that follows a small letter; brand names
/// that begin with a capital (`GitHub`) or have one small letter first (`iPhone`) stay.
fn humps(word: &str) -> Vec<&str> {
    if word.bytes().take_while(u8::is_ascii_lowercase).count() < 2 {
        return vec![word];
    }
    let pairs = word.bytes().zip(word.bytes().skip(1)).zip(1..);
    let cuts = pairs
        .filter(|((a, b), _)| a.is_ascii_lowercase() && b.is_ascii_uppercase())
        .map(|(_, cut)| cut);
    let mut start = 0;
    cuts.chain([word.len()])
        .filter_map(|end| word.get(std::mem::replace(&mut start, end)..end))
        .collect()
}

/// Hyphens between letters as spaces.
fn spaced_hyphens(word: &str) -> Option<String> {
    Some(hyphenated(word)?.join(" "))
}

/// A hyphen between letters left out, as in `e-mail`; of several, none.
fn joined_hyphens(word: &str) -> Option<String> {
    hyphenated(word).filter(|parts| parts.len() == 2).map(|parts| parts.concat())
}

/// The parts of a word that hyphens part letter from letter.
fn hyphenated(word: &str) -> Option<Vec<&str>> {
    let letter = |c: char| c.is_ascii_alphabetic();
    let parts: Vec<&str> = word.split('-').collect();
    let meet = |pair: &[&str]| match pair {
        [before, after] => before.ends_with(letter) && after.starts_with(letter),
        _ => false,
    };
    (parts.len() > 1 && parts.windows(2).all(meet)).then_some(parts)
}

/// `text` with each Katakana word replaced, where there is a replacement.
fn by_katakana(text: &str, replace: impl Fn(&str) -> Option<String>) -> String {
    runs(text)
        .map(|Run { script, text, .. }| {
            let replaced = if script == Script::Katakana { replace(text) } else { None };
            replaced.map_or(Cow::Borrowed(text), Cow::Owned)
        })
        .collect()
}

/// Loanwords in -er, -or, -y and the like are written with the sign or without it. It is
/// left out after two characters or more, and put after the endings that such words have.
fn long_vowels(text: &str) -> String {
    const ENDINGS: &[char] = &['タ', 'ダ', 'バ', 'ザ', 'リ', 'ィ'];
    by_katakana(text, |word| {
        let chars = word.chars().count();
        if let Some(short) = word.strip_suffix('ー') {
            (chars >= 4 || short.contains('ー')).then(|| short.to_owned())
        } else {
            let long = chars >= 4 || word.contains('ー');
            (long && word.ends_with(ENDINGS)).then(|| format!("{word}ー"))
        }
    })
}

/// `ヴァイオリン` and `バイオリン`.
fn v_sounds(text: &str) -> String {
    [("ヴァ", "バ"), ("ヴィ", "ビ"), ("ヴェ", "ベ"), ("ヴォ", "ボ"), ("ヴ", "ブ")]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Names of plants, animals and food are written in either kana.
fn other_kana(text: &str) -> String {
    let bounds = WordBounds::new(text);
    let words: Vec<&str> = bounds.words().collect();
    let mut before = None;
    words
        .iter()
        .enumerate()
        .map(|(at, &word)| {
            let alone = stands_apart(before) && stands_apart(words.get(at + 1).copied());
            before = Some(word);
            in_hiragana(word)
                .or_else(|| in_katakana(word).filter(|_| alone))
                .unwrap_or_else(|| word.to_owned())
        })
        .collect()
}

/// True if a neighbour leaves a Hiragana word apart: none, a particle, or a word in
/// another script than Kanji.
fn stands_apart(neighbour: Option<&str>) -> bool {
    neighbour.is_none_or(|word| match word.chars().next().map(Script::of) {
        Some(Script::Han) => false,
        Some(Script::Hiragana) => PARTICLES.contains(&word),
        _ => true,
    })
}

/// Japanese particles of one character.
const PARTICLES: &[&str] = &["の", "と", "は", "を", "が", "に", "や", "も", "で", "か"];

/// How far Katakana stands behind Hiragana in Unicode.
const KANA_SHIFT: u32 = 'ア' as u32 - 'あ' as u32;

/// A Katakana word in Hiragana, if the dictionary knows it as one word so.
fn in_hiragana(word: &str) -> Option<String> {
    let hiragana: String =
        word.chars().map(|c| shifted(c, 'ァ'..='ヶ', |c| c - KANA_SHIFT)).collect::<Option<_>>()?;
    // In a sentence, as dictionaries of words are made for.
    let sentence = format!("{hiragana}は");
    let known = WordBounds::new(&sentence).words().next() == Some(&hiragana);
    (known && hiragana.chars().nth(1).is_some()).then_some(hiragana)
}

/// A Hiragana word in Katakana, if it may be a noun: short, no function word, without an
/// ending of a verb or an adjective.
fn in_katakana(word: &str) -> Option<String> {
    const ENDINGS: &[char] = &[
        'う', 'く', 'ぐ', 'す', 'つ', 'ぬ', 'ぶ', 'む', 'る', 'い', 'て', 'で', 'た', 'だ', 'に',
        'は',
    ];
    let noun = (2..=4).contains(&word.chars().count())
        && !word.ends_with(ENDINGS)
        && !is_stop(Script::Hiragana, word);
    word.chars()
        .map(|c| shifted(c, 'ぁ'..='ゖ', |c| c + KANA_SHIFT))
        .collect::<Option<String>>()
        .filter(|_| noun)
}

/// The kana that stands elsewhere in Unicode for `c`; none if `c` is not in `range`.
fn shifted(c: char, range: RangeInclusive<char>, by: impl Fn(u32) -> u32) -> Option<char> {
    if range.contains(&c) { char::from_u32(by(u32::from(c))) } else { None }
}

/// Korean words as a dictionary lists them; what is left of one syllable is too little.
fn without_particles(text: &str) -> String {
    by_word(text, |word| {
        let (stem, _) = split_particle(word)?;
        stem.chars().nth(1).map(|_| stem.to_owned())
    })
}

/// Plural nouns in the singular; a bare list of words without one, in the plural.
fn other_number(text: &str) -> String {
    let mut before = "";
    let singulars: String = text
        .split_inclusive(char::is_whitespace)
        .map(|piece| {
            let word = piece.trim_end();
            // `it stays` is a verb.
            let noun = !SUBJECTS.contains(&before);
            before = word;
            match singular(word).filter(|_| noun) {
                Some(singular) => singular + piece.get(word.len()..).unwrap_or_default(),
                None => piece.to_owned(),
            }
        })
        .collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let stop = |word: &&str| is_stop(Script::Spaced, &word.to_lowercase());
    if singulars != text || words.len() > 3 || words.iter().any(stop) {
        return singulars;
    }
    let last = words.last().copied().unwrap_or_default();
    match (plural(last), text.trim_end().strip_suffix(last)) {
        (Some(plural), Some(start)) => format!("{start}{plural}"),
        _ => singulars,
    }
}

/// What stands before a verb in -s.
const SUBJECTS: &[&str] = &["he", "it", "she", "that", "this", "which", "who"];

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::language_of;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(variants(text, language_of(text)), expected, "{text}");
    }

    #[test]
    fn widths_are_normalised() {
        check("ＡＰＩ 키", &["API 키"]);
        check("ｶﾞｲﾄﾞ", &["ガイド"]);
    }

    #[test]
    fn identifiers_become_words() {
        check("useState hook", &["use State hook", "useState hooks"]);
        check("max_file_bytes", &["max file bytes"]);
        check("foo::bar", &["foo bar"]);
        check("useEffectが二回", &["use Effect が二回"]);
        check("GitHub と iPhone", &[]);
    }

    #[test]
    fn hyphens_are_spaces_or_nothing() {
        check("send an e-mail", &["send an e mail", "send an email"]);
        check("two-year-old child", &["two year old child", "two-year-old children"]);
        check("2024-01-02", &[]);
        check("--flag", &[]);
    }

    #[test]
    fn japanese_words_in_their_other_spellings() {
        check("サーバーの設定", &["サーバの設定"]);
        check("サーバの設定", &["サーバーの設定"]);
        check("カメラの設定", &[]);
        check("ブラウザの設定", &["ブラウザーの設定"]);
        check("コピーの方法", &[]);
        check("ヴァイオリン", &["バイオリン"]);
        check("リンゴの皮", &["りんごの皮"]);
        check("ごみの日", &["ゴミの日"]);
        check("テストの書き方", &[]);
        check("食べるとき", &[]);
        check("上旬ごろに入るのはどこか", &[]);
        check("りんごとみかん", &["リンゴとミカン"]);
    }

    #[test]
    fn korean_words_lose_their_particles() {
        check("서울에서 부산까지", &["서울 부산"]);
        check("결과 화면", &[]);
        check("물은 몇 도", &[]);
    }

    #[test]
    fn english_nouns_change_number() {
        check("how do I bleed radiators", &["how do I bleed radiator"]);
        check("barn owl", &["barn owls"]);
        check("how it stays neat", &[]);
        check("how do I poach an egg", &[]);
    }

    proptest! {
        #[test]
        fn variants_are_others_and_apart(
            text in "(\\PC|[a-zA-Z_:-]|[ぁ-ー]|[ｦ-ﾟ]|[가-힣 ]){0,40}",
        ) {
            for language in Language::ALL {
                let found = variants(&text, language);
                for (at, variant) in found.iter().enumerate() {
                    prop_assert!(*variant != text && !found[..at].contains(variant));
                }
                prop_assert_eq!(found, variants(&text, language));
            }
        }
    }
}
