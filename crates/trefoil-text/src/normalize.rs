use std::borrow::Cow;

use trefoil_core::ByteSpan;
use unicode_normalization::{
    IsNormalized, UnicodeNormalization as _,
    char::{canonical_combining_class, decompose_compatible},
    is_nfkc_quick,
};

/// A text in the form in which texts are compared: NFKC, without what is not seen.
pub fn normalize(text: &str) -> Cow<'_, str> {
    Normalized::new(text).text
}

/// A text in the form in which it is hashed: NFC, every run of white space (line ends too)
/// one space, and none at the ends.
pub fn canonical_text(text: &str) -> String {
    text.nfc().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text in NFKC that knows where each of its bytes comes from. Characters that
/// are not seen and carry no meaning (soft hyphens, joiners, variation selectors)
/// are left out, as in Unicode's `NFKC_Casefold`.
#[derive(Debug)]
pub(crate) struct Normalized<'t> {
    /// The text after normalisation.
    pub(crate) text: Cow<'t, str>,
    /// By offset in `text`; empty where nothing changed.
    pieces: Vec<Piece>,
    /// Length of the original.
    original_len: usize,
}

/// A stretch of the result and where it comes from.
#[derive(Debug)]
struct Piece {
    normalized: usize,
    original: usize,
    /// True if the bytes are the original's; else the stretch maps as a whole.
    verbatim: bool,
}

impl<'t> Normalized<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let original_len = text.len();
        if text.is_ascii()
            || (is_nfkc_quick(text.chars()) == IsNormalized::Yes && !text.contains(is_ignorable))
        {
            return Self { text: Cow::Borrowed(text), pieces: Vec::new(), original_len };
        }
        let mut normalized = String::with_capacity(original_len);
        let mut pieces: Vec<Piece> = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let original = original_len - rest.len();
            let end = rest
                .char_indices()
                .skip(1)
                .find(|&(_, c)| starts_unit(c))
                .map_or(rest.len(), |(at, _)| at);
            let (unit, after) = rest.split_at(end);
            let verbatim = end == first.len_utf8() && is_stable(first);
            if !(verbatim && pieces.last().is_some_and(|piece| piece.verbatim)) {
                pieces.push(Piece { normalized: normalized.len(), original, verbatim });
            }
            if verbatim {
                normalized.push(first);
            } else {
                normalized.extend(unit.chars().filter(|&c| !is_ignorable(c)).nfkc());
            }
            rest = after;
        }
        Self { text: Cow::Owned(normalized), pieces, original_len }
    }

    /// The bytes of the original that `start..end` of the result comes from: whole
    /// characters, never empty for a range that is not.
    pub(crate) fn original(&self, start: usize, end: usize) -> ByteSpan {
        if self.pieces.is_empty() {
            return ByteSpan { start, end };
        }
        let start = match self.pieces.get(self.piece_at(start)) {
            Some(piece) if piece.verbatim => piece.original + (start - piece.normalized),
            Some(piece) => piece.original,
            None => self.original_len,
        };
        let last = self.piece_at(end.saturating_sub(1));
        let end = match self.pieces.get(last) {
            Some(piece) if piece.verbatim => piece.original + (end - piece.normalized),
            _ => self.pieces.get(last + 1).map_or(self.original_len, |next| next.original),
        };
        ByteSpan { start, end }
    }

    /// Index of the piece that holds byte `at` of the result.
    fn piece_at(&self, at: usize) -> usize {
        self.pieces.partition_point(|piece| piece.normalized <= at).saturating_sub(1)
    }
}

/// True if no character before `c` can change what `c` normalises to, so that the
/// text may be cut before it (a normalisation boundary of UAX #15).
fn starts_unit(c: char) -> bool {
    match c {
        '\u{ad}' => false,
        // Latin, kana, ideographs and syllables, for speed: the rule below agrees.
        '\0'..='\u{2ff}'
        | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fe}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' => true,
        _ if is_ignorable(c) => false,
        _ => {
            let mut first = None;
            decompose_compatible(c, |part| first = first.or(Some(part)));
            let first = first.unwrap_or(c);
            canonical_combining_class(first) == 0
                && is_nfkc_quick(std::iter::once(first)) == IsNormalized::Yes
        }
    }
}

/// True if `c` alone is its own normal form.
fn is_stable(c: char) -> bool {
    c.is_ascii() || (!is_ignorable(c) && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes)
}

/// Joiners, selectors and hints that have no glyph. U+200B is not among them: it
/// separates words.
const fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200c}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, part: &str, expected: &str) {
        let normalized = Normalized::new(text);
        let start = normalized.text.find(part).unwrap();
        let span = normalized.original(start, start + part.len());
        assert_eq!(&text[span.start..span.end], expected, "{part} in {text}");
    }

    #[test]
    fn a_part_maps_to_the_characters_it_comes_from() {
        check("Ｒｅａｃｔ と", "React", "Ｒｅａｃｔ");
        check("ａ ｶﾞｲﾄﾞ b", "ガイド", "ｶﾞｲﾄﾞ");
        check("ａ ｶﾞｲﾄﾞ b", "b", "b");
        check("the ﬁrst", "first", "ﬁrst");
        check("the ﬁrst", "irs", "ﬁrs");
        check("㍿山田", "株式", "㍿");
        check("㍿山田", "山", "山");
        check("cafe\u{301}s", "caf\u{e9}s", "cafe\u{301}s");
        check("cafe\u{301}s", "s", "s");
        check("\u{1112}\u{1161}\u{11ab}국", "한", "\u{1112}\u{1161}\u{11ab}");
        check("ana\u{ad}lysis", "analysis", "ana\u{ad}lysis");
        check("葛\u{e0100}城", "葛", "葛\u{e0100}");
        check("葛\u{e0100}城", "城", "城");
    }

    #[test]
    fn a_canonical_text_has_single_spaces_and_composed_letters() {
        assert_eq!(canonical_text(" a\r\n\tb\u{3000}cafe\u{301} "), "a b caf\u{e9}");
        // Not NFKC: what is written in full width stays so.
        assert_eq!(canonical_text("Ａ"), "Ａ");
    }

    #[test]
    fn a_text_in_normal_form_is_borrowed() {
        for text in ["", "plain", "naïve 東京 서울"] {
            assert!(matches!(Normalized::new(text).text, Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn a_boundary_taken_for_speed_is_one() {
        for c in ('\0'..='\u{2ff}').chain('\u{3041}'..='\u{30fe}').chain('\u{ac00}'..='\u{d7a3}') {
            if starts_unit(c) {
                let first = c.nfkd().next().unwrap();
                assert_eq!(canonical_combining_class(first), 0, "{c:?}");
                assert_eq!(is_nfkc_quick(std::iter::once(first)), IsNormalized::Yes, "{c:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_result_is_nfkc_and_maps_back(text in "(\\PC|[\u{300}-\u{310}\u{ff66}-\u{ff9f}\u{1100}-\u{11ff}\u{3099}\u{309a}かは]){0,24}") {
            let normalized = Normalized::new(&text);
            let expected: String = text.chars().filter(|&c| !is_ignorable(c)).nfkc().collect();
            prop_assert_eq!(&normalized.text, &expected);
            let mut before = 0;
            for (at, c) in normalized.text.char_indices() {
                let span = normalized.original(at, at + c.len_utf8());
                prop_assert!(span.start < span.end && before <= span.start);
                prop_assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
                before = span.start;
            }
        }
    }
}
