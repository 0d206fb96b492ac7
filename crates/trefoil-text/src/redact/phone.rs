//! Telephone numbers: international, and as they are written in English-speaking countries,
//! Japan and Korea.

use std::{ops::RangeInclusive, sync::LazyLock};

use lazy_regex::{Regex, regex};
use trefoil_core::ByteSpan;

use super::stands_alone;

/// What may stand between the groups of a number; the long vowel sign is a hyphen to many
/// who type full-width digits.
const JOIN: &str = "[-.‐–−ー ]";

/// What joins a number to more of it: then it is something else.
const JOINS: [char; 7] = ['-', '.', '‐', '–', '−', 'ー', ':'];

/// Forms of a number, `_` for [`JOIN`], and how many digits it has in all.
const FORMS: [(&str, RangeInclusive<usize>); 8] = [
    // International: E.164 has at most 15 digits.
    (r"\+[1-9]\d{0,2}(?:_?\(\d{1,4}\))?(?:_?\d{1,5}){2,6}", 8..=15),
    // North American: (212) 555-0123, 1-212-555-0123, 212.555.0123.
    (r"(?:1_)?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}_)[2-9]\d{2}_\d{4}", 10..=11),
    // With the trunk prefix 0 in groups: Japan 03-1234-5678, Korea 02-123-4567, Britain
    // 020 7946 0958.
    (r"0\d{1,4}_\d{1,4}_\d{3,4}", 9..=11),
    (r"\(0\d{1,4}\)_?\d{1,4}_?\d{3,4}", 9..=11),
    (r"0\d{1,4}\(\d{1,4}\)\d{3,4}", 9..=11),
    (r"0\d{4}_\d{5,6}", 10..=11),
    // Mobile numbers in one run: Japan 090…, Korea 010…, Britain 07….
    (r"0[5789]0\d{8}|01[016789]\d{7,8}|07\d{9}", 10..=11),
    // North American in one run after 1.
    (r"\+?1\([2-9]\d{2}\)[2-9]\d{6}", 11..=11),
];

/// Finds telephone numbers.
pub(super) fn find(text: &str, found: &mut Vec<ByteSpan>) {
    static PATTERNS: LazyLock<Vec<(Regex, RangeInclusive<usize>)>> = LazyLock::new(|| {
        let pattern =
            |(form, digits): (&str, _)| Some((Regex::new(&form.replace('_', JOIN)).ok()?, digits));
        FORMS.into_iter().filter_map(pattern).collect()
    });
    for (pattern, digits) in &*PATTERNS {
        for hit in pattern.find_iter(text) {
            let span = ByteSpan { start: hit.start(), end: hit.end() };
            if digits.contains(&count(hit.as_str())) && stands_alone(text, span, &JOINS) {
                found.push(span);
            }
        }
    }
    // A word for a telephone, and the digits that soon follow it.
    let cued = regex!(
        r"(?i)(?:\b(?:tel|phone|mobile|cell|fax|call|text|whatsapp)\b|電話|携帯|けいたい|ケータイ|連絡先|ファックス|전화|휴대폰|휴대전화|핸드폰|연락처|팩스)[^\d\n+(\[\]]{0,12}([+(]?\d(?:[-.‐–−ー ()]{0,2}\d){7,14})"
    );
    for hit in cued.captures_iter(text) {
        let Some(number) = hit.get(1) else { continue };
        let span = ByteSpan { start: number.start(), end: number.end() };
        if !is_date(number.as_str()) && stands_alone(text, span, &JOINS) {
            found.push(span);
        }
    }
}

fn count(number: &str) -> usize {
    number.bytes().filter(u8::is_ascii_digit).count()
}

/// True for a day as it is written with the year first, or last.
fn is_date(number: &str) -> bool {
    let groups: Vec<usize> =
        number.split(|c: char| !c.is_ascii_digit()).map(str::len).filter(|&n| n > 0).collect();
    let year_first = number.starts_with("19") || number.starts_with("20");
    matches!(*groups, [4, 1 | 2, 1 | 2] | [1 | 2, 1 | 2, 4]) || (*groups == [8] && year_first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_a_pattern() {
        for (form, _) in FORMS {
            Regex::new(&form.replace('_', JOIN)).unwrap();
        }
    }

    #[test]
    fn a_date_is_no_number() {
        for date in ["2026-11-22", "20261122", "1.1.2026", "22-11-2026"] {
            assert!(is_date(date), "{date}");
        }
        for number in ["03-1234-5678", "0312345678", "31234567"] {
            assert!(!is_date(number), "{number}");
        }
    }
}
