//! Numbers of payment cards.

use trefoil_core::ByteSpan;

use super::stands_alone;

/// How many digits a card's number has, by the digits that it begins with, from the first to
/// the last of a range. Source: ISO/IEC 7812 and the issuers' published ranges.
const ISSUERS: [(u32, u32, std::ops::RangeInclusive<usize>); 15] = [
    (4, 4, 13..=19),
    (51, 55, 16..=16),
    (2221, 2720, 16..=16),
    (34, 34, 15..=15),
    (37, 37, 15..=15),
    (3528, 3589, 16..=19),
    (300, 305, 14..=19),
    (36, 36, 14..=19),
    (38, 39, 16..=19),
    (6011, 6011, 16..=19),
    (644, 649, 16..=19),
    (65, 65, 16..=19),
    (62, 62, 16..=19),
    (50, 50, 13..=19),
    (56, 58, 13..=19),
];

/// Finds 13–19 digits, with at most a space or hyphen between two, that are a card's number:
/// an issuer's first digits, a length that it has, and a correct check digit.
pub(super) fn find(text: &str, found: &mut Vec<ByteSpan>) {
    let mut rest = 0;
    while let Some(start) = next_number(text, rest) {
        match longest(text, start) {
            Some(end) => {
                found.push(ByteSpan { start, end });
                rest = end;
            }
            None => rest = start + run_of_digits(text, start),
        }
    }
}

/// Where the next run of digits begins, from `from` on.
fn next_number(text: &str, from: usize) -> Option<usize> {
    Some(from + text.get(from..)?.find(|c: char| c.is_ascii_digit())?)
}

fn run_of_digits(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
}

/// The end of the longest card's number that begins at `start`.
fn longest(text: &str, start: usize) -> Option<usize> {
    let (mut digits, mut end, mut separated) = (Vec::new(), None, true);
    for (at, c) in text.get(start..)?.char_indices() {
        match c.to_digit(10) {
            Some(digit) if c.is_ascii_digit() && digits.len() < 19 => {
                digits.push(digit);
                separated = false;
                let span = ByteSpan { start, end: start + at + 1 };
                if is_card(&digits) && stands_alone(text, span, &[]) {
                    end = Some(span.end);
                }
            }
            None if matches!(c, ' ' | '-' | '‐' | '–' | '−') && !separated => {
                separated = true;
            }
            _ => break,
        }
    }
    end
}

fn is_card(digits: &[u32]) -> bool {
    let prefix = |length: u32| {
        digits.iter().take(length as usize).fold(0, |number, digit| number * 10 + digit)
    };
    ISSUERS.iter().any(|(first, last, lengths)| {
        lengths.contains(&digits.len()) && (*first..=*last).contains(&prefix(first.ilog10() + 1))
    }) && luhn(digits)
}

/// The check of ISO/IEC 7812-1, annex B: every second digit from the right doubled, digits
/// of all added, a multiple of 10.
fn luhn(digits: &[u32]) -> bool {
    let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, &digit)| if at % 2 == 1 { doubled(digit) } else { digit })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        find(text, &mut found);
        let found: Vec<_> = found.iter().map(|span| &text[span.start..span.end]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn numbers_of_every_issuer() {
        for card in [
            "4111111111111111",
            "4222222222222",
            "5555555555554444",
            "2223003122003222",
            "378282246310005",
            "3530111333300000",
            "30569309025904",
            "36227206271667",
            "6011111111111117",
            "6200000000000005",
        ] {
            check(card, &[card]);
        }
    }

    #[test]
    fn a_card_among_other_numbers() {
        check("4111 1111 1111 1111 2026", &["4111 1111 1111 1111"]);
        check("12 4111-1111-1111-1111", &["4111-1111-1111-1111"]);
        check(
            "4111 1111 1111 1111, 5555 5555 5555 4444",
            &["4111 1111 1111 1111", "5555 5555 5555 4444"],
        );
        check("3782 822463 10005", &["3782 822463 10005"]);
    }

    #[test]
    fn luhn_and_length_and_issuer_must_agree() {
        for text in [
            "4111111111111112",
            "1111111111111117",
            "9780306406157",
            "411111111111111a",
            "4111  1111  1111  1111",
            "41111111111111111111111",
            "x4111111111111111",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn any_single_wrong_digit_fails_the_check() {
        let card: Vec<u32> = "4539578763621486".chars().filter_map(|c| c.to_digit(10)).collect();
        assert!(luhn(&card));
        for at in 0..card.len() {
            let mut wrong = card.clone();
            wrong[at] = (wrong[at] + 1) % 10;
            assert!(!luhn(&wrong), "{at}");
        }
    }
}
