//! How much an answer may hold: characters of its text and of its structured form together.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;

use crate::problem::Problem;

/// The least and the most characters that may be asked for.
pub(crate) const CHARS: std::ops::RangeInclusive<usize> = 500..=60_000;

/// What an answer may hold: 2.2 times the characters that were asked for, since a passage stands
/// in its text and in its structured form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Characters of both forms.
    pub(crate) both: usize,
}

impl Budget {
    /// The budget for so many characters.
    ///
    /// # Errors
    /// `invalid_parameter` for fewer than 500 or more than 60,000.
    pub(crate) fn new(max_chars: usize) -> Result<Self, Problem> {
        if CHARS.contains(&max_chars) {
            Ok(Self { both: max_chars * 22 / 10 })
        } else {
            Err(Problem::parameter("maxChars", &max_chars.to_string(), "500–60,000"))
        }
    }
}

/// A part of an answer in both forms; it is shown whole or not at all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) value: Value,
}

impl Piece {
    /// Its characters, with what separates it from others.
    pub(crate) fn cost(&self) -> usize {
        chars(&self.text) + json_chars(&self.value) + 2
    }
}

pub(crate) fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Characters of a value as JSON.
pub(crate) fn json_chars(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |json| chars(&json))
}

/// Puts a field into an object.
pub(crate) fn put(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object {
        fields.insert(name.to_owned(), value.into());
    }
}

/// How many of the pieces fit into so many characters, from the first on.
pub(crate) fn fitting(pieces: &[Piece], room: usize) -> usize {
    let mut used = 0;
    let fits = |piece: &&Piece| {
        used += piece.cost();
        used <= room
    };
    pieces.iter().take_while(fits).count()
}

/// The longest beginning of a text, in characters, with which `cost` stays within `room`.
pub(crate) fn longest(text: &str, room: usize, cost: impl Fn(&str) -> usize) -> &str {
    let ends: Vec<usize> =
        text.char_indices().map(|(at, _)| at).chain(std::iter::once(text.len())).collect();
    let fit = ends.partition_point(|&end| cost(text.get(..end).unwrap_or_default()) <= room);
    let end = fit.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or_default();
    text.get(..end).unwrap_or_default()
}

/// A text of at most so many characters; one that is cut ends with `…`.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if chars(text) <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(std::iter::once('…')).collect()
}

/// A text on one line, without what moves the cursor or turns the direction of writing.
pub(crate) fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if is_plain(c) { c } else { ' ' }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_plain(c: char) -> bool {
    let turns =
        matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
    !c.is_control() && !turns
}

/// A text marked as quotation, line by line.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for line in text.lines() {
        _ = writeln!(quoted, "> {line}");
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_a_least_and_a_most() {
        assert_eq!(Budget::new(500).unwrap().both, 1_100);
        for wrong in [0, 499, 60_001] {
            assert_eq!(Budget::new(wrong).unwrap_err().code, "invalid_parameter", "{wrong}");
        }
    }

    #[test]
    fn the_longest_beginning_is_cut_between_characters() {
        let cost = |text: &str| text.len();
        assert_eq!(longest("東京都", 7, cost), "東京");
        assert_eq!(longest("東京都", 2, cost), "");
        assert_eq!(longest("abc", 9, cost), "abc");
        assert_eq!(longest("", 0, cost), "");
    }

    #[test]
    fn a_name_is_one_line() {
        assert_eq!(one_line("a\n## b\u{202e}\tc"), "a ## b c");
        assert_eq!(shortened("台風の進路", 3), "台風…");
        assert_eq!(quoted("a\nb"), "> a\n> b\n");
    }
}
