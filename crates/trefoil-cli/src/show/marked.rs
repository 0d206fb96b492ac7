//! Text in which something matched, safe to print.

use std::ops::Range;

use trefoil::Highlight;

/// A fragment of `text` on one line, with marks where the text goes on.
pub(super) fn excerpt(text: &str, highlight: &Highlight) -> Marked {
    let fragment = Marked::from(highlight).tidy();
    let ends =
        |char: char| matches!(char, '\n' | '.' | '!' | '?' | ':' | '。' | '！' | '？' | '|' | '`');
    let at = text.find(&highlight.fragment).unwrap_or_default();
    let before = text.get(..at).unwrap_or_default().trim_end_matches(' ').chars().next_back();
    let after =
        text.get(at + highlight.fragment.len()..).unwrap_or_default().trim_start_matches(' ');
    let cut_off =
        !fragment.text.ends_with(ends) && after.chars().next().is_some_and(|next| next != '\n');
    let mut excerpt =
        Marked::plain(if before.is_some_and(|char| !ends(char)) { "… " } else { "" });
    excerpt.push(&fragment);
    if cut_off {
        excerpt.push(&Marked::plain(" …"));
    }
    excerpt
}

/// Text in which something matched.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Marked {
    pub(super) text: String,
    /// Byte ranges, in order.
    marks: Vec<Range<usize>>,
}

impl Marked {
    pub(super) fn plain(text: &str) -> Self {
        Self { text: printable(text), marks: Vec::new() }
    }

    pub(super) fn mark(&mut self, at: usize, highlight: &Highlight) {
        self.marks
            .extend(highlight.offsets.iter().map(|offset| at + offset.start..at + offset.end));
    }

    pub(super) fn push(&mut self, other: &Self) {
        let at = self.text.len();
        self.marks.extend(other.marks.iter().map(|mark| at + mark.start..at + mark.end));
        self.text.push_str(&other.text);
    }

    /// On one line, without the headings and the punctuation that it begins with, and
    /// without the marks of strong emphasis, which are for another reader.
    pub(super) fn tidy(&self) -> Self {
        let mut rest = self.text.as_str();
        loop {
            rest = rest.trim_start_matches([' ', '\n', ',', ';', ':', '.', '、', '。', '，']);
            match rest.split_once('\n') {
                Some((line, body)) if line.starts_with('#') && !body.trim().is_empty() => {
                    rest = body;
                }
                _ => break,
            }
        }
        let start = self.text.len() - rest.len();
        let mut tidy = Self::default();
        // Where each byte of the original went; one more for the end.
        let mut moved = vec![0; start];
        let mut chars = rest.chars().peekable();
        while let Some(char) = chars.next() {
            moved.extend(std::iter::repeat_n(tidy.text.len(), char.len_utf8()));
            if char == '*' && chars.next_if_eq(&'*').is_some() {
                moved.push(tidy.text.len());
            } else if !char.is_whitespace() {
                tidy.text.push(char);
            } else if !tidy.text.ends_with(' ') {
                tidy.text.push(' ');
            }
        }
        tidy.text.truncate(tidy.text.trim_end().len());
        moved.push(tidy.text.len());
        let place =
            |at: usize| moved.get(at).copied().unwrap_or(tidy.text.len()).min(tidy.text.len());
        let marks = self.marks.iter().map(|mark| place(mark.start)..place(mark.end));
        tidy.marks = marks.filter(|mark| !mark.is_empty()).collect();
        tidy
    }

    /// The pieces of a range, and whether each is a match.
    pub(super) fn parts(&self, at: Range<usize>) -> Vec<(&str, bool)> {
        let mut parts = Vec::new();
        let mut from = at.start;
        let mut push = |range: Range<usize>, is_match| {
            if let Some(part) = self.text.get(range).filter(|part| !part.is_empty()) {
                parts.push((part, is_match));
            }
        };
        for mark in &self.marks {
            let (start, end) = (mark.start.max(from), mark.end.min(at.end));
            if start < end {
                push(from..start, false);
                push(start..end, true);
                from = end;
            }
        }
        push(from..at.end, false);
        parts
    }
}

impl From<&Highlight> for Marked {
    fn from(highlight: &Highlight) -> Self {
        let mut marked = Self::plain(&highlight.fragment);
        marked.mark(0, highlight);
        marked
    }
}

/// `text` without control characters, which could steer the terminal. Each is replaced
/// by as many bytes, so that offsets stay true; line breaks stay.
pub(crate) fn printable(text: &str) -> String {
    let shown = |char: char| match char {
        '\n' => '\n',
        char if char.is_control() && char.len_utf8() == 1 => ' ',
        char if char.is_control() => '·',
        char => char,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use trefoil::search::Offsets;

    use super::*;

    fn highlight(fragment: &str, matches: &[&str]) -> Highlight {
        let offsets = matches.iter().map(|found| {
            let start = fragment.find(found).unwrap();
            Offsets { start, end: start + found.len() }
        });
        Highlight {
            field: "text".to_owned(),
            fragment: fragment.to_owned(),
            offsets: offsets.collect(),
        }
    }

    #[test]
    fn a_match_may_run_over_the_end_of_a_line() {
        let marked = Marked::from(&highlight("台風の目は晴れる", &["風の目", "晴れ"]));
        assert_eq!(marked.parts(0..9), [("台", false), ("風の", true)]);
        assert_eq!(
            marked.parts(9..24),
            [("目", true), ("は", false), ("晴れ", true), ("る", false)]
        );
    }

    #[test]
    fn an_excerpt_says_where_the_text_goes_on() {
        let check = |text: &str, fragment: &str, expected: &str| {
            assert_eq!(excerpt(text, &highlight(fragment, &[])).text, expected);
        };
        check("One. Two is longer. Three.", "Two is longer.", "Two is longer.");
        check("One, two and three.", ", two and", "… two and …");
        check("One two.", "One two.", "One two.");
        check("# Tides\n\nThe sea\nrises.", "# Tides\n\nThe sea\nrises.", "The sea rises.");
        check("# Tides", "# Tides", "# Tides");
        check("海が上がる。海が下がる。", "海が下がる。", "海が下がる。");
        check("", "", "");
    }

    #[test]
    fn what_matched_is_still_marked_when_tidied() {
        let check = |fragment: &str, matches: &[&str], expected: &str| {
            let tidy = Marked::from(&highlight(fragment, matches)).tidy();
            let parts = tidy.parts(0..tidy.text.len()).into_iter();
            let shown: String = parts
                .map(
                    |(part, is_match)| if is_match { format!("[{part}]") } else { part.to_owned() },
                )
                .collect();
            assert_eq!(shown, expected);
        };
        check(
            "## 目\n\n雲のない「目」が  **できる**。",
            &["「目」", "できる"],
            "雲のない[「目」]が [できる]。",
        );
        check("## 目\n\n雲", &["目"], "雲");
        check(", 2 ** 3  ", &["2", "3"], "[2] [3]");
        check("", &[], "");
    }

    #[test]
    fn control_characters_cannot_steer_the_terminal() {
        let text = "a\u{1b}[31m\tb\u{9b}c\r\n";
        assert_eq!(printable(text), "a [31m b·c \n");
        assert_eq!(printable(text).len(), text.len());
    }
}
