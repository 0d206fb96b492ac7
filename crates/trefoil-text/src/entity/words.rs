//! Words with spaces between them: how a text in Latin, Greek or Cyrillic letters is
//! cut before names are looked for.

use std::borrow::Cow;

use super::english::Class;
use crate::{script::Script, word_list::WordList};

/// A line of at least this many bytes goes on in the next.
const WRAPPED_LINE: usize = 50;

/// What stands between a word and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    /// White space; a phrase goes on.
    Space,
    /// ` & `
    And,
    /// A comma, a bracket, a slash: a phrase ends.
    Phrase,
    /// The end of a sentence, a line, the text, or another script.
    Sentence,
}

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'t> {
    /// Byte offset in the whole text.
    pub(crate) start: usize,
    /// With its inner hyphens, apostrophes and dots; without a genitive `'s`.
    pub(crate) text: &'t str,
    /// The same in small letters.
    pub(crate) lower: Cow<'t, str>,
    /// What is known of it; of a contraction, of what is before the apostrophe.
    pub(crate) class: Class,
    /// What stands before it.
    pub(crate) gap: Gap,
    /// True if a genitive `'s` was cut off: nothing goes on after it.
    pub(crate) genitive: bool,
}

impl Word<'_> {
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(crate) fn is_capital(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }

    /// True for digits alone, with their dots and commas.
    pub(crate) fn is_number(&self) -> bool {
        !self.text.contains(|c: char| c.is_alphabetic())
    }

    /// True for `26th` and `1st`.
    pub(crate) fn is_ordinal(&self) -> bool {
        let digits = self.text.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() < self.text.len() && matches!(digits, "st" | "nd" | "rd" | "th")
    }
}

/// The words of the part of a text that starts at `offset`.
pub(crate) fn words(part: &str, offset: usize) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::with_capacity(part.len() / 6);
    let mut done = 0;
    let mut line = 0;
    while let Some(next) = part.get(done..).and_then(|rest| rest.find(is_letter)) {
        let start = done + next;
        let between = part.get(done..start).unwrap_or_default();
        let gap = words.last().map_or(Gap::Sentence, |last| gap_of(last, between, done - line));
        if let Some(newline) = between.rfind('\n') {
            line = done + newline + 1;
        }
        let end = word_end(part, start);
        let whole = part.get(start..end).unwrap_or_default();
        let text = without_genitive(whole);
        let lower = lower_case(text);
        let class = Class::of(lower.split(['\'', '’']).next().unwrap_or_default());
        let genitive = text.len() < whole.len();
        words.push(Word { start: offset + start, text, lower, class, gap, genitive });
        done = end;
    }
    words
}

fn is_letter(c: char) -> bool {
    Script::of(c) == Script::Spaced
}

/// True for a character that belongs to the word it stands in.
fn is_inner(c: char) -> bool {
    matches!(Script::of(c), Script::Spaced | Script::Mark)
}

/// Where the word that starts at `start` ends.
fn word_end(part: &str, start: usize) -> usize {
    let mut end = start;
    let mut piece = start;
    loop {
        let rest = part.get(end..).unwrap_or_default();
        end += rest.find(|c| !is_inner(c)).unwrap_or(rest.len());
        let mut after = part.get(end..).unwrap_or_default().chars();
        let (joiner, next) = (after.next(), after.clone().next());
        let (Some(joiner), Some(next)) = (joiner, next) else { return end };
        let width = match joiner {
            ':' if next == ':' && after.nth(1).is_some_and(is_letter) => 2,
            '.' if is_letter(next) && joins_by_dot(part.get(piece..end), next) => 1,
            '\'' | '’' | '-' | '–' | '&' | '_' | '+' if is_letter(next) => joiner.len_utf8(),
            // C++ and F#.
            '+' | '#'
                if end - piece <= 2 && next == joiner || joiner == '#' && end - piece == 1 =>
            {
                return end + if next == joiner { 2 } else { 1 };
            }
            _ => return end,
        };
        end += width;
        piece = end;
    }
}

/// True for `U.S`, `Node.js` and `3.14`, not for `the end.Then`.
fn joins_by_dot(piece: Option<&str>, next: char) -> bool {
    let is_initial = piece.is_some_and(|piece| {
        let mut chars = piece.chars();
        chars.next().is_some_and(char::is_uppercase) && chars.next().is_none()
    });
    is_initial || !next.is_uppercase()
}

fn lower_case(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}

fn without_genitive(word: &str) -> &str {
    word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word)
}

/// True for a word, in small letters, that a name of something else than people begins with, also
/// before a colon: `Operation: Overlord`.
pub(crate) fn is_before_code_name(lower: &str) -> bool {
    ["codename", "mission", "operation"].contains(&lower)
}

/// What `between` says, given the word before it and how far that ends into its line.
fn gap_of(last: &Word<'_>, between: &str, line_length: usize) -> Gap {
    let mut gap = Gap::Space;
    let mut lines = 0;
    for (at, c) in between.char_indices() {
        let found = match c {
            '\n' => {
                lines += 1;
                if lines > 1 || line_length < WRAPPED_LINE { Gap::Sentence } else { Gap::Space }
            }
            '.' if at == 0 && is_abbreviation(last.text) => Gap::Space,
            ':' if at == 0 && last.is_capital() && is_before_code_name(&last.lower) => Gap::Space,
            '.' | '!' | '?' | ';' | ':' | '|' | '•' | '…' | '“' => Gap::Sentence,
            // An opening mark begins speech.
            '"' if at + 1 == between.len() => Gap::Sentence,
            '&' => Gap::And,
            // Marks of emphasis.
            '*' | '_' => Gap::Space,
            c if c.is_whitespace() || Script::of(c) == Script::Mark => Gap::Space,
            c if Script::of(c).is_cjk() => Gap::Sentence,
            _ => Gap::Phrase,
        };
        gap = gap.max(found);
    }
    // A genitive may be followed by its head: `the city's mayor`.
    gap
}

/// True if a dot after the word does not end a sentence: initials and titles.
fn is_abbreviation(word: &str) -> bool {
    static ABBREVIATIONS: WordList =
        WordList::new("Capt Col Dr Ft Gen Gov Jr Lt Maj Mr Mrs Ms Mt No Prof Rev Sen Sgt Sr St vs");
    let mut chars = word.chars();
    let is_initial = chars.next().is_some_and(char::is_uppercase) && chars.next().is_none();
    let is_dotted = word.contains('.') && word.split('.').all(|part| part.chars().count() == 1);
    is_initial || is_dotted || ABBREVIATIONS.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Gap)]) {
        let found: Vec<_> = words(text, 0).iter().map(|word| (word.text, word.gap)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_word_keeps_what_joins_it() {
        use Gap::{And, Phrase, Sentence, Space};
        check("", &[]);
        check("A B-29, c.", &[("A", Sentence), ("B-29", Space), ("c", Phrase)]);
        check("the U.S. Army", &[("the", Sentence), ("U.S", Space), ("Army", Space)]);
        check(
            "G. Hall of St. Ives.",
            &[("G", Sentence), ("Hall", Space), ("of", Space), ("St", Space), ("Ives", Space)],
        );
        check(
            "Mr Hall's city. Then",
            &[("Mr", Sentence), ("Hall", Space), ("city", Space), ("Then", Sentence)],
        );
        check(
            "Node.js or foo::bar in C++",
            &[
                ("Node.js", Sentence),
                ("or", Space),
                ("foo::bar", Space),
                ("in", Space),
                ("C++", Space),
            ],
        );
        check("end.Then AT&T", &[("end", Sentence), ("Then", Sentence), ("AT&T", Space)]);
        check("Johnson & **Co** (x)", &[("Johnson", Sentence), ("Co", And), ("x", Phrase)]);
        check("Operation: X: y", &[("Operation", Sentence), ("X", Space), ("y", Sentence)]);
        check("a を b", &[("a", Sentence), ("b", Sentence)]);
    }

    #[test]
    fn a_long_line_goes_on_in_the_next() {
        use Gap::{Sentence, Space};
        check("Short\nLine", &[("Short", Sentence), ("Line", Sentence)]);
        let long = format!("{}\nNext\n\nPart", "x".repeat(60));
        let gaps: Vec<Gap> = words(&long, 0).iter().map(|word| word.gap).collect();
        assert_eq!(gaps, [Sentence, Space, Sentence]);
    }
}
