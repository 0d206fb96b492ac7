//! Lines that fit a terminal, in scripts with and without spaces.

use std::ops::Range;

use unicode_linebreak::{BreakOpportunity, linebreaks};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that `text` takes; Japanese and Korean characters take two each.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Cuts `text` into lines of at most `width` columns, as byte ranges without the space
/// at their ends. Lines break where UAX #14 allows it, except within a Korean word; a
/// word that is wider than a line is cut between characters.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    // The line so far, and its end without trailing space.
    let (mut start, mut end) = (0, 0);
    let mut from = 0;
    for (to, opportunity) in linebreaks(text) {
        if opportunity == BreakOpportunity::Allowed && splits_korean_word(text, to) {
            continue;
        }
        let word_end = from + text.get(from..to).unwrap_or_default().trim_end().len();
        if from > start && columns(text.get(start..word_end).unwrap_or_default()) > width {
            lines.push(start..end);
            start = from;
        }
        for cut in overlong(text, start..word_end, width) {
            lines.push(start..cut);
            start = cut;
        }
        end = word_end.max(start);
        if opportunity == BreakOpportunity::Mandatory && to < text.len() {
            lines.push(start..end);
            (start, end) = (to, to);
        }
        from = to;
    }
    if end > start || lines.is_empty() {
        lines.push(start..end);
    }
    lines
}

/// Where to cut a line without breaks so that no part is wider than `width`.
fn overlong(text: &str, line: Range<usize>, width: usize) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut used = 0;
    for (at, char) in text.get(line.clone()).unwrap_or_default().char_indices() {
        let wide = char.width().unwrap_or(0);
        if used + wide > width && at > 0 {
            cuts.push(line.start + at);
            used = 0;
        }
        used += wide;
    }
    cuts
}

/// Korean separates words by spaces, though UAX #14 allows a break after any syllable.
fn splits_korean_word(text: &str, at: usize) -> bool {
    let hangul = |char: char| matches!(char, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7a3}');
    let before = text.get(..at).and_then(|text| text.chars().next_back());
    let after = text.get(at..).and_then(|text| text.chars().next());
    let word = |char: char| hangul(char) || char.is_ascii_alphanumeric();
    matches!((before, after), (Some(a), Some(b)) if hangul(a) && word(b) || word(a) && hangul(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, width: usize, expected: &[&str]) {
        let lines: Vec<&str> = wrap(text, width).into_iter().map(|line| &text[line]).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn lines_break_where_each_script_allows_it() {
        check("the quick brown fox", 10, &["the quick", "brown fox"]);
        check("one\ntwo", 10, &["one", "two"]);
        check("", 10, &[""]);
        check("   ", 10, &[""]);
        check("台風は西へ進む。目がある。", 12, &["台風は西へ進", "む。目があ", "る。"]);
        check(
            "서울은 맑고 기온은 이십 도입니다.",
            12,
            &["서울은 맑고", "기온은 이십", "도입니다."],
        );
    }

    #[test]
    fn closing_marks_stay_with_what_they_close() {
        check("晴れ「雨」。", 8, &["晴れ", "「雨」。"]);
    }

    #[test]
    fn a_word_wider_than_the_line_is_cut() {
        check("abcdefghij kl", 4, &["abcd", "efgh", "ij", "kl"]);
        check("🦀🦀🦀", 4, &["🦀🦀", "🦀"]);
    }
}
