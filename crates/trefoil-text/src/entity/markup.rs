//! What a text marks as a name by itself: code, links, headings, quotation marks; and
//! the prose between.

use trefoil_core::ByteSpan;

use super::{
    citation::citations,
    name::{is_generic_heading, normalize_name},
};
use crate::statement::code_blocks;

/// Longest quotation or link text that may be a name, in bytes; a longer one is speech.
const LONGEST_LABEL: usize = 120;

/// What a mark says of the text inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// With the number of its `#`.
    Heading(usize),
    Link,
    /// A reference to a work.
    Citation,
    Code,
    Quote,
}

/// Something marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marked {
    pub(crate) mark: Mark,
    /// The text inside the marks.
    pub(crate) span: ByteSpan,
    /// Where a link leads to.
    pub(crate) target: Option<ByteSpan>,
}

/// The marks of a text.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    /// By place.
    pub(crate) marked: Vec<Marked>,
    /// Stretches that are not prose: code, addresses, tags; by place, apart.
    skipped: Vec<ByteSpan>,
    /// Blocks of code, by place.
    pub(crate) code_blocks: Vec<ByteSpan>,
    len: usize,
}

impl Markup {
    /// Reads Markdown; in a plain text, quotation marks are all it finds.
    pub(crate) fn new(text: &str) -> Self {
        let code_blocks = code_blocks(text);
        let skipped = code_blocks.clone();
        let mut markup = Self { code_blocks, skipped, len: text.len(), ..Self::default() };
        let mut blocks = markup.code_blocks.clone().into_iter().peekable();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let line = ByteSpan { start, end: start + line.len() };
            start = line.end;
            while blocks.next_if(|block| block.end <= line.start).is_some() {}
            if blocks.peek().is_none_or(|block| line.start < block.start) {
                markup.line(text, line);
            }
        }
        for span in citations(text) {
            markup.push(Mark::Citation, span, None);
        }
        markup.marked.sort_by_key(|marked| marked.span.start);
        markup.unite_skipped();
        markup
    }

    /// What lies between the skipped stretches.
    pub(crate) fn prose(&self) -> impl Iterator<Item = ByteSpan> {
        let ends = self.skipped.iter().map(|skipped| skipped.start).chain([self.len]);
        let starts = std::iter::once(0).chain(self.skipped.iter().map(|skipped| skipped.end));
        starts.zip(ends).map(|(start, end)| ByteSpan { start, end }).filter(|s| s.start < s.end)
    }

    fn line(&mut self, text: &str, line: ByteSpan) {
        let inside = text.get(line.start..line.end).unwrap_or_default();
        let marks = inside.bytes().take_while(|&b| b == b'#').count();
        if (1..=6).contains(&marks) && inside.as_bytes().get(marks) == Some(&b' ') {
            let heading = inside.get(marks..).unwrap_or_default();
            // `{#anchor}` of Markdown, `{/*anchor*/}` of MDX.
            let heading = heading.split("{#").next().unwrap_or(heading);
            let heading = heading.split("{/*").next().unwrap_or(heading);
            let name = heading.trim_end().trim_end_matches('#');
            self.push(Mark::Heading(marks), trimmed(text, line.start + marks, name.len()), None);
            if is_generic_heading(&normalize_name(name)) {
                self.skipped.push(line);
                return;
            }
        }
        let mut at = line.start;
        while let Some(next) = text.get(at..line.end).and_then(|rest| rest.find(is_opener)) {
            at += next;
            at = self.mark_at(text, at, line.end).max(at + width_at(text, at));
        }
    }

    /// Reads the mark that starts at `at`, if it is one, and says where to read on.
    fn mark_at(&mut self, text: &str, at: usize, end: usize) -> usize {
        let Some(rest) = text.get(at..end) else { return end };
        match rest.chars().next() {
            Some('`') => self.code(text, at, rest),
            Some('[') => self.link(text, at, rest),
            Some('<') => self.tag(text, at, rest),
            Some('h') => self.address(text, at, rest),
            Some(open) => self.quote(text, at, rest, open),
            None => end,
        }
    }

    fn code(&mut self, text: &str, at: usize, rest: &str) -> usize {
        let ticks = rest.bytes().take_while(|&b| b == b'`').count();
        let inside = rest.get(ticks..).unwrap_or_default();
        // LaTeX quotes: ``name''.
        if let (2, Some(len)) = (ticks, inside.find("''"))
            && inside.get(..len).is_some_and(|inside| !inside.contains('`'))
        {
            self.push_label(Mark::Quote, text, at + ticks, len);
            return at + ticks;
        }
        let Some(len) = inside.find(rest.get(..ticks).unwrap_or("`")) else { return at + ticks };
        self.push(Mark::Code, trimmed(text, at + ticks, len), None);
        self.skip(at, at + 2 * ticks + len)
    }

    fn link(&mut self, text: &str, at: usize, rest: &str) -> usize {
        let Some(close) = matching(rest, b'[', b']') else { return at + 1 };
        let after = rest.get(close + 1..).unwrap_or_default();
        let (target, end) = match after.as_bytes().first() {
            Some(b'(') => match matching(after, b'(', b')') {
                Some(len) => (Some((close + 2, len - 1)), close + 2 + len),
                None => (None, close + 1),
            },
            Some(b'[') => (None, close + 1 + after.find(']').map_or(0, |len| len + 1)),
            _ => (None, close + 1),
        };
        let is_image = at > 0 && text.as_bytes().get(at - 1) == Some(&b'!');
        if !is_image && close <= LONGEST_LABEL {
            let target = target.map(|(start, len)| address_of(text, at + start, len));
            self.push(Mark::Link, trimmed(text, at + 1, close - 1), target);
        }
        // The text of a link is prose too; where it leads to is not.
        if end > close + 1 {
            self.skip(at + close, at + end);
        }
        at + 1
    }

    fn tag(&mut self, text: &str, at: usize, rest: &str) -> usize {
        let inside = rest.get(1..).unwrap_or_default().trim_start_matches('/');
        let name_at = rest.len() - inside.len();
        let name = inside
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')))
            .unwrap_or(inside.len());
        let Some(close) = rest.find('>') else { return at + 1 };
        if !inside.starts_with(|c: char| c.is_ascii_alphabetic()) || close < name_at + name {
            return at + 1;
        }
        // On a line of its own it is layout.
        let is_alone = is_blank(text.get(..at).and_then(|head| head.rsplit('\n').next()))
            && is_blank(rest.get(close + 1..));
        if inside.starts_with(|c: char| c.is_ascii_uppercase()) && !is_alone {
            self.push(Mark::Code, trimmed(text, at + name_at, name), None);
        }
        self.skip(at, at + close + 1)
    }

    fn address(&mut self, text: &str, at: usize, rest: &str) -> usize {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let is_address = rest.starts_with("http://") || rest.starts_with("https://");
        if !is_address || before.is_some_and(char::is_alphanumeric) {
            return at + 1;
        }
        let end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | ')' | ']' | '`'))
            .unwrap_or(rest.len());
        self.skip(at, at + end)
    }

    fn quote(&mut self, text: &str, at: usize, rest: &str, open: char) -> usize {
        let start = at + open.len_utf8();
        let inside = text.get(start..at + rest.len()).unwrap_or_default();
        let Some(close) = closer(open) else { return start };
        let Some(len) = inside.find(close) else { return start };
        // A straight mark opens after a space and closes after a word; else it is an inch
        // or the close of another.
        let straight = open == close;
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let opens = !before.is_some_and(char::is_alphanumeric)
            && inside.starts_with(|c: char| !c.is_whitespace());
        if !straight || opens {
            self.push_label(Mark::Quote, text, start, len);
        }
        if straight && opens { start + len + close.len_utf8() } else { start }
    }

    fn push_label(&mut self, mark: Mark, text: &str, start: usize, len: usize) {
        if len <= LONGEST_LABEL {
            self.push(mark, trimmed(text, start, len), None);
        }
    }

    fn push(&mut self, mark: Mark, span: ByteSpan, target: Option<ByteSpan>) {
        if span.start < span.end {
            self.marked.push(Marked { mark, span, target });
        }
    }

    fn skip(&mut self, start: usize, end: usize) -> usize {
        self.skipped.push(ByteSpan { start, end });
        end
    }

    /// Sorts the skipped stretches and unites those that overlap: the text of a link
    /// is read after the link.
    fn unite_skipped(&mut self) {
        self.skipped.sort_by_key(|skipped| (skipped.start, skipped.end));
        self.skipped.dedup_by(|next, last| {
            let overlaps = next.start <= last.end;
            if overlaps {
                last.end = last.end.max(next.end);
            }
            overlaps
        });
    }
}

fn is_opener(c: char) -> bool {
    matches!(c, '`' | '[' | '<' | 'h') || closer(c).is_some()
}

const fn closer(open: char) -> Option<char> {
    Some(match open {
        '"' => '"',
        '“' | '„' => '”',
        '‘' => '’',
        '«' => '»',
        '「' => '」',
        '『' => '』',
        '《' => '》',
        '〈' => '〉',
        '【' => '】',
        _ => return None,
    })
}

fn is_blank(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
}

/// Place of the bracket that closes the one `text` starts with.
fn matching(text: &str, open: u8, close: u8) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().position(|b| {
        depth += usize::from(b == open);
        b == close && {
            depth -= 1;
            depth == 0
        }
    })
}

/// The address of `(address "title")`.
fn address_of(text: &str, start: usize, len: usize) -> ByteSpan {
    let span = trimmed(text, start, len);
    let inside = text.get(span.start..span.end).unwrap_or_default();
    let end = inside.find(char::is_whitespace).unwrap_or(inside.len());
    ByteSpan { start: span.start, end: span.start + end }
}

/// `len` bytes from `start` without white space and marks of emphasis around them.
fn trimmed(text: &str, start: usize, len: usize) -> ByteSpan {
    let inside = text.get(start..start + len).unwrap_or_default();
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '*' | '`');
    let lead = inside.len() - inside.trim_start_matches(is_mark).len();
    let trimmed = inside.trim_matches(is_mark);
    ByteSpan { start: start + lead, end: start + lead + trimmed.len() }
}

fn width_at(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
}
