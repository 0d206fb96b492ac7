use regex::Regex;
use trefoil_core::ByteSpan;
use trefoil_text::WordBounds;

/// Letters of the widths that one width of is written in for the other: `!`–`~`.
const FULL_WIDTH: u32 = 0xFEE0;

/// A text in which what a model quotes of it is looked up.
#[derive(Debug)]
pub(super) struct Quoted<'t> {
    text: &'t str,
    bounds: WordBounds<'t>,
}

impl<'t> Quoted<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, bounds: WordBounds::new(text) }
    }

    /// Where a name stands, in order: as whole words, or else, where words are not set
    /// apart, as a part of one. Case, width and the kind of spaces do not matter.
    pub(super) fn name(&self, name: &str) -> Vec<ByteSpan> {
        let all = self.all(name);
        let whole = |span: &&ByteSpan| self.bounds.is_whole(span.start, span.end);
        let words: Vec<ByteSpan> = all.iter().filter(whole).copied().collect();
        if words.is_empty() {
            all.into_iter().filter(|span| !self.cuts_word(*span)).collect()
        } else {
            words
        }
    }

    /// Where a stretch of the text stands first.
    pub(super) fn stretch(&self, stretch: &str) -> Option<ByteSpan> {
        self.all(stretch).first().copied()
    }

    fn all(&self, quote: &str) -> Vec<ByteSpan> {
        let words: Vec<String> = quote.split_whitespace().map(pattern).collect();
        if words.is_empty() {
            return Vec::new();
        }
        // Too long a quote makes no pattern, and is none.
        let Ok(pattern) = Regex::new(&format!("(?i){}", words.join(r"\s+"))) else {
            return Vec::new();
        };
        let spans = pattern.find_iter(self.text);
        spans.map(|found| ByteSpan { start: found.start(), end: found.end() }).collect()
    }

    /// True if a word of a script with spaces goes on before or after `span`.
    fn cuts_word(&self, ByteSpan { start, end }: ByteSpan) -> bool {
        let last = |end| self.text.get(..end).and_then(|text| text.chars().next_back());
        let first = |start| self.text.get(start..).and_then(|text| text.chars().next());
        let joined = |one: Option<char>, other: Option<char>| {
            one.is_some_and(is_of_word) && other.is_some_and(is_of_word)
        };
        joined(last(start), first(start)) || joined(last(end), first(end))
    }
}

fn is_of_word(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || c.is_numeric()
}

/// The expression for a word in either width.
fn pattern(word: &str) -> String {
    word.chars().map(either_width).collect()
}

fn either_width(c: char) -> String {
    let half = u32::from(c).checked_sub(FULL_WIDTH).and_then(char::from_u32);
    let half = half.filter(char::is_ascii_graphic).unwrap_or(c);
    let full = char::from_u32(u32::from(half) + FULL_WIDTH).filter(|_| half.is_ascii_graphic());
    let escaped = regex::escape(half.encode_utf8(&mut [0; 4]));
    full.map_or(escaped.clone(), |full| format!("(?:{escaped}|{full})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, name: &str, expected: &[&str]) {
        let spans = Quoted::new(text).name(name);
        let found: Vec<&str> = spans.iter().map(|span| &text[span.start..span.end]).collect();
        assert_eq!(found, expected, "{name} in {text}");
    }

    #[test]
    fn names_are_found_as_they_may_be_written() {
        check("Ada met Ada's friend", "Ada", &["Ada", "Ada"]);
        check("the ADA\n lovelace", "Ada Lovelace", &["ADA\n lovelace"]);
        check("start of art", "art", &["art"]);
        check("startled", "art", &[]);
        check("C++ (2011)", "C++", &["C++"]);
        check("東京都の京都", "京都", &["京都"]);
        check("Ｔｒｅｆｏｉｌ社", "Trefoil社", &["Ｔｒｅｆｏｉｌ社"]);
        check("Trefoil社", "Ｔｒｅｆｏｉｌ社", &["Trefoil社"]);
        check("김철수씨는 서울의 의사다", "김철수", &["김철수"]);
        check("서울의 지도", "서울", &["서울"]);
        check("anything", " ", &[]);
        check("", "Ada", &[]);
    }
}
