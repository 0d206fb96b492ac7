use std::{collections::HashSet, sync::LazyLock};

use unicode_normalization::{
    UnicodeNormalization as _,
    char::{decompose_canonical, is_combining_mark},
};

use crate::{normalize::Normalized, script::Script, word_list::WordList};

/// Longest name, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 255;

/// Katakana words of at least this many characters are one word with and without their
/// final long vowel: サーバー and サーバ, but not コピー and コピ.
const LONG_KATAKANA: usize = 4;

/// The key under which spellings of a name are one: NFKC and lower case, Latin letters
/// without accents, punctuation as single spaces, no leading articles, no genitive `'s`,
/// no dots in `U.S.`, no final long vowel of a longer Katakana word.
///
/// Empty if nothing of the name is a letter or a digit.
pub fn normalize_name(name: &str) -> String {
    let normalized = Normalized::new(name);
    let mut key = String::with_capacity(name.len());
    for piece in normalized.text.split_whitespace() {
        push_piece(piece, &mut key);
    }
    // A small letter may compose with a mark that its capital does not compose with.
    let key: String = if key.is_ascii() { key } else { key.nfc().collect() };
    let mut key = key.trim_end();
    while let Some(bare) = ["the ", "a ", "an "].iter().find_map(|it| key.strip_prefix(it)) {
        key = bare;
    }
    key.to_owned()
}

/// A title without its qualifier, and the qualifier: `Brother (song)`, `東京（都市）`.
pub(crate) fn without_qualifier(title: &str) -> (&str, Option<&str>) {
    let title = title.trim();
    let inside = title.strip_suffix([')', '）']);
    let cut = inside.and_then(|inside| Some((inside, inside.rfind(['(', '（'])?)));
    match cut.map(|(inside, at)| (inside.split_at(at), at)) {
        Some(((name, qualifier), at)) if at > 0 && !name.trim().is_empty() => {
            (name.trim_end(), Some(qualifier.trim_start_matches(['(', '（']).trim()))
        }
        _ => (title, None),
    }
}

/// Headings that stand over parts of documents about anything, as normalised names.
static GENERIC_HEADINGS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("generic_headings.txt").lines().collect());

/// True for a heading that names the part of a document that it stands over, not a thing: it
/// would join what has nothing else in common.
pub(crate) fn is_generic_heading(key: &str) -> bool {
    GENERIC_HEADINGS.contains(key)
}

/// True for a key that only counts: of `Chapter 5`, `Part II`, `第三章`, `제3장`.
pub(crate) fn is_numbered(key: &str) -> bool {
    static PARTS: WordList =
        WordList::new("act appendix book chapter figure page part scene section step table volume");
    let is_roman = |word: &str| {
        (1..=5).contains(&word.len()) && word.chars().all(|c| matches!(c, 'i' | 'v' | 'x'))
    };
    let is_numeral = |c: char| c.is_numeric() || "一二三四五六七八九十百".contains(c);
    let is_number = |word: &str| {
        is_roman(word)
            || word.contains(is_numeral)
                && word
                    .chars()
                    .all(|c| is_numeral(c) || "第章節部編巻回話제장절부편권회화단계".contains(c))
    };
    key.split(' ').any(is_number)
        && key.split(' ').all(|word| is_number(word) || PARTS.contains(word))
}

/// A short name of capital letters.
#[derive(Debug)]
pub(crate) struct Acronym {
    letters: Vec<char>,
}

impl Acronym {
    /// Reads `APA`, `U.S.` and `BoE`: 2–8 letters, most of them capitals.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let letters: Vec<char> = name.chars().filter(|&c| c != '.').take(9).collect();
        let capitals = letters.iter().filter(|c| c.is_uppercase()).count();
        let is_acronym = letters.len() <= 8 && capitals >= 2 && 2 * capitals > letters.len();
        is_acronym
            .then(|| Self { letters: letters.iter().flat_map(|c| c.to_uppercase()).collect() })
    }

    /// True if the letters are the initials of the capitalised words of `long`, or of
    /// all of its words.
    pub(crate) fn stands_for(&self, long: &str) -> bool {
        let initials =
            || long.split(|c: char| !c.is_alphanumeric()).filter_map(|word| word.chars().next());
        let capitals = initials().filter(|c| c.is_uppercase());
        capitals.eq(self.letters.iter().copied())
            || initials().flat_map(char::to_uppercase).eq(self.letters.iter().copied())
    }
}

fn push_piece(piece: &str, key: &mut String) {
    let piece = without_genitive(piece);
    let dotted = is_dotted(piece);
    let start = key.len();
    let mut before = Script::Other;
    for c in piece.chars() {
        let script = Script::of(c);
        if is_combining_mark(c) {
            // Accents of Latin letters are left out, and marks on what is left out itself.
            if before != Script::Other && key.ends_with(|base: char| !base.is_ascii()) {
                key.push(c);
            }
            continue;
        }
        match (script, c) {
            (Script::Other, '_') => key.push(c),
            // C++ and F#.
            (Script::Other, '+' | '#') if before == Script::Spaced => {
                key.push(c);
                continue;
            }
            (Script::Other, '\'' | '’') => {}
            (Script::Other, '.') if dotted => {}
            (Script::Other, _) => end_word(key),
            _ => push_folded(c, key),
        }
        before = script;
    }
    if key.len() > start {
        end_word(key);
    }
}

fn without_genitive(piece: &str) -> &str {
    let end =
        piece.trim_end_matches(|c: char| Script::of(c) == Script::Other && c != '\'' && c != '’');
    let base = ["'s", "’s", "'S", "’S", "'", "’"].iter().find_map(|s| end.strip_suffix(s));
    base.filter(|base| !base.is_empty()).unwrap_or(piece)
}

/// True for `U.S.` and `J.R.R`: letters with a dot after each.
fn is_dotted(piece: &str) -> bool {
    let mut parts = piece.trim_end_matches('.').split('.');
    let mut count = 0;
    let single = parts.all(|part| {
        count += 1;
        let mut chars = part.chars();
        chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
    });
    single && count > 1
}

/// Takes final long vowels off a longer Katakana word, and puts a space after any.
fn end_word(key: &mut String) {
    let is_katakana = |c: &char| *c == 'ー' || Script::of(*c) == Script::Katakana;
    while let Some(stem) = key.strip_suffix('ー')
        && stem.chars().rev().take_while(is_katakana).count() + 1 >= LONG_KATAKANA
    {
        key.truncate(stem.len());
    }
    if !key.is_empty() && !key.ends_with(' ') {
        key.push(' ');
    }
}

fn push_folded(c: char, key: &mut String) {
    if c.is_ascii() {
        return key.push(c.to_ascii_lowercase());
    }
    if let Some(letters) = plain(c) {
        return key.push_str(letters);
    }
    let mut base = None;
    decompose_canonical(c, |part| base = base.or(Some(part)));
    match (base.and_then(plain), base) {
        (Some(letters), _) => key.push_str(letters),
        (None, Some(base)) if base.is_ascii_alphabetic() => key.push(base.to_ascii_lowercase()),
        _ => key.extend(c.to_lowercase()),
    }
}

/// Letters that are written without their stroke or ligature where the keyboard has none.
fn plain(c: char) -> Option<&'static str> {
    Some(match c {
        'ø' | 'Ø' => "o",
        'ł' | 'Ł' => "l",
        'đ' | 'Đ' | 'ð' | 'Ð' => "d",
        'ı' | 'İ' => "i",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ß' | 'ẞ' => "ss",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn generic_headings_are_told_in_three_languages() {
        for generic in ["See also", "Usage", "材料", "はじめに", "재료", "가는 법"] {
            assert!(is_generic_heading(&normalize_name(generic)), "{generic}");
        }
        for name in ["Ownership", "所有権", "경복궁", "usage of hooks"] {
            assert!(!is_generic_heading(&normalize_name(name)), "{name}");
        }
        let listed = include_str!("generic_headings.txt").lines();
        assert!(listed.clone().all(|one| normalize_name(one) == one));
        assert_eq!(listed.count(), GENERIC_HEADINGS.len());
    }

    #[test]
    fn spellings_of_a_name_have_one_key() {
        for (name, key) in [
            ("Alex Mercer", "alex mercer"),
            ("ALEX  MERCER", "alex mercer"),
            ("Alex Mercer's", "alex mercer"),
            ("the Beatles’", "beatles"),
            ("The", "the"),
            ("A Tale of Two Cities", "tale of two cities"),
            ("Tekezé River", "tekeze river"),
            ("Akinosh\u{16b} Kenji", "akinoshu kenji"),
            ("Ọ\u{300}ṣun", "osun"),
            ("Ǿresund", "oresund"),
            ("Υ\u{313}", "ὐ"),
            ("हिन्दी", "हिन्दी"),
            ("か\u{309a}", "か\u{309a}"),
            ("\u{1e023}'\u{1133b}", ""),
            ("Łódź", "lodz"),
            ("Straße", "strasse"),
            ("Glass–Steagall Act", "glass steagall act"),
            ("O'Brien", "obrien"),
            ("U.S.", "us"),
            ("J.R.R. Tolkien", "jrr tolkien"),
            ("J. Strauss II", "j strauss ii"),
            ("C++", "c++"),
            ("F#", "f#"),
            ("# Heading", "heading"),
            ("snake_case", "snake_case"),
            ("this.context", "this context"),
            ("foo::bar()", "foo bar"),
            ("AT&T", "at t"),
            ("Ｒｅａｃｔ", "react"),
            ("サーバー", "サーバ"),
            ("サーバ", "サーバ"),
            ("サーバーー", "サーバ"),
            ("The A-Team", "team"),
            ("The The", "the"),
            ("コピー", "コピー"),
            ("ｶﾞｲﾄﾞ", "ガイド"),
            ("リアクト・ネイティブ", "リアクト ネイティブ"),
            ("「東京」", "東京"),
            ("\u{1112}\u{1161}\u{11ab}국", "한국"),
            ("Йод", "йод"),
            ("…", ""),
            ("", ""),
        ] {
            assert_eq!(normalize_name(name), key, "{name}");
        }
    }

    #[test]
    fn a_part_that_is_counted_has_no_name() {
        for numbered in
            ["chapter 5", "part ii", "1 2", "step 3", "第三章", "第2節", "제3장", "2단계"]
        {
            assert!(is_numbered(numbered), "{numbered}");
        }
        for name in ["civil", "book", "area 51", "단계", "section hiking 3", "章", ""] {
            assert!(!is_numbered(name), "{name}");
        }
    }

    #[test]
    fn a_qualifier_is_split_off() {
        for (title, name, qualifier) in [
            ("Brother (Pearl Jam song)", "Brother", Some("Pearl Jam song")),
            ("東京（都市）", "東京", Some("都市")),
            ("(What's the Story) Morning Glory?", "(What's the Story) Morning Glory?", None),
            ("(untitled)", "(untitled)", None),
            ("Plain", "Plain", None),
            ("a )", "a )", None),
        ] {
            assert_eq!(without_qualifier(title), (name, qualifier), "{title}");
        }
    }

    #[test]
    fn an_acronym_stands_for_initials() {
        for (short, long, expected) in [
            ("APA", "American Psychological Association", true),
            ("QEMF", "Queen Elisabeth Medical Foundation", true),
            ("U.S.", "United States", true),
            ("BoE", "Bank of England", true),
            ("BE", "Bank of England", true),
            ("ATP", "American Psychological Association", false),
            ("A", "Alpha", false),
            ("abc", "alpha beta gamma", false),
        ] {
            let found = Acronym::new(short).is_some_and(|acronym| acronym.stands_for(long));
            assert_eq!(found, expected, "{short} {long}");
        }
    }

    proptest! {
        #[test]
        fn a_key_is_its_own_key(name in "(\\PC|[a-z A-Z'’.ー\u{300}-\u{304}ァ-ヶ]|[ァ-ヶ]{2,4}ー{1,3}|a |the ){0,24}") {
            let key = normalize_name(&name);
            prop_assert_eq!(normalize_name(&key), key);
        }
    }
}
