//! Documents to sections and blocks: where a body may be cut.

use std::ops::Range;

use lazy_regex::regex;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};
use trefoil_core::{Document, DocumentFormat};

use crate::front_matter::FrontMatter;

/// What separates records in a body: the ASCII record separator.
pub(crate) const RECORD_SEPARATOR: char = '\u{1E}';

/// Blocks within blocks are not looked into below this depth.
const MAX_DEPTH: usize = 8;
/// A longer heading is a paragraph that `CommonMark` takes for one, because a line
/// of dashes follows it.
const MAX_HEADING_CHARS: usize = 200;

/// Part of a body that stands under one heading path.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) heading_path: Vec<String>,
    pub(super) span: Range<usize>,
    pub(super) blocks: Vec<Block>,
}

/// A paragraph, list, code block, function …, and what it consists of.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) span: Range<usize>,
    pub(super) kind: BlockKind,
    pub(super) children: Vec<Block>,
}

/// How a block is cut that is too large and has no children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Between sentences.
    Prose,
    /// Between lines, and not at all up to the maximum.
    Lines,
}

/// The sections of a document, in order, and the blocks in each.
pub(super) fn sections(document: &Document) -> Vec<Section> {
    let body = document.body.as_str();
    let whole = |blocks| vec![Section { heading_path: Vec::new(), span: 0..body.len(), blocks }];
    match document.format {
        DocumentFormat::Markdown => markdown(body, &document.title),
        DocumentFormat::Records => records(body),
        DocumentFormat::Code => whole(code(&document.path, body)),
        DocumentFormat::Text | _ => whole(paragraphs(body, 0..body.len(), BlockKind::Prose)),
    }
}

/// The text of the first heading of level 1.
pub(crate) fn first_title(body: &str) -> Option<String> {
    let (headings, _) = outline(body, 0);
    headings
        .into_iter()
        .find(|heading| heading.level == HeadingLevel::H1 && !heading.text.is_empty())
        .map(|h| h.text)
}

/// The text of the first heading of any level.
pub(crate) fn first_heading(body: &str) -> Option<String> {
    let (headings, _) = outline(body, 0);
    headings.into_iter().map(|heading| heading.text).find(|text| !text.is_empty())
}

struct Heading {
    level: HeadingLevel,
    span: Range<usize>,
    text: String,
}

fn markdown(body: &str, title: &str) -> Vec<Section> {
    let from = FrontMatter::of(body).map_or(0, |front_matter| front_matter.len);
    let (headings, blocks) = outline(body, from);
    let mut blocks = blocks.into_iter().peekable();
    let mut sections = Vec::new();
    let mut above: Vec<(HeadingLevel, String)> = Vec::new();
    // Starts of headings whose text is still to come.
    let mut start = from;
    let mut content_start = from;
    let mut headings = headings.into_iter().peekable();
    loop {
        let next = headings.next();
        let end = next.as_ref().map_or(body.len(), |heading| heading.span.start);
        let own: Vec<Block> =
            std::iter::from_fn(|| blocks.next_if(|block| block.span.start < end)).collect();
        let is_bare = body.get(content_start..end).is_none_or(|text| text.trim().is_empty());
        let leads_deeper = match (above.last(), &next) {
            (Some((level, _)), Some(heading)) => heading.level > *level,
            _ => false,
        };
        if !(is_bare && leads_deeper) {
            sections.push(Section {
                heading_path: path(&above, title),
                span: start..end,
                blocks: own,
            });
            start = end;
        }
        let Some(Heading { level, span, text }) = next else { return sections };
        content_start = span.end;
        while above.last().is_some_and(|(outer, _)| *outer >= level) {
            above.pop();
        }
        above.push((level, text));
    }
}

/// The headings above a section, without the document's title.
fn path(above: &[(HeadingLevel, String)], title: &str) -> Vec<String> {
    above
        .iter()
        .map(|(_, text)| text)
        .enumerate()
        .filter(|(i, text)| !(text.is_empty() || *i == 0 && *text == title.trim()))
        .map(|(_, text)| text.clone())
        .collect()
}

/// The outermost headings and blocks of a Markdown text, from a byte on.
fn outline(body: &str, from: usize) -> (Vec<Heading>, Vec<Block>) {
    let text = body.get(from..).unwrap_or_default();
    let mut headings = Vec::new();
    let mut blocks = Vec::new();
    let mut open: Vec<Block> = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let Event::Start(tag) = event else { continue };
        let span = from + range.start..from + range.end;
        while open.last().is_some_and(|block| block.span.end <= span.start) {
            close(&mut open, &mut blocks);
        }
        if let Tag::Heading { level, .. } = tag {
            if open.is_empty() {
                headings.push(Heading {
                    level,
                    text: heading_text(body.get(span.clone()).unwrap_or_default()),
                    span,
                });
            }
        } else if let Some(kind) = kind_of(&tag)
            && open.len() < MAX_DEPTH
        {
            open.push(Block { span, kind, children: Vec::new() });
        }
    }
    while !open.is_empty() {
        close(&mut open, &mut blocks);
    }
    (headings, blocks)
}

fn close(open: &mut Vec<Block>, blocks: &mut Vec<Block>) {
    if let Some(block) = open.pop() {
        open.last_mut().map_or(blocks, |parent| &mut parent.children).push(block);
    }
}

fn kind_of(tag: &Tag<'_>) -> Option<BlockKind> {
    if matches!(tag, Tag::CodeBlock(_) | Tag::Table(_)) {
        Some(BlockKind::Lines)
    } else if matches!(
        tag,
        Tag::Paragraph | Tag::BlockQuote(_) | Tag::List(_) | Tag::Item | Tag::HtmlBlock
    ) {
        Some(BlockKind::Prose)
    } else {
        None
    }
}

/// What a heading says to a reader: without marks, links' addresses, JSX, and
/// anchors such as `{/*install*/}` or `{#install}`.
fn heading_text(source: &str) -> String {
    let source = regex!(r"\{(?:/\*.*?\*/|#[^{}\s]*)\}").replace_all(source, "");
    let mut text = String::new();
    for event in Parser::new(&source) {
        if let Event::Text(part) | Event::Code(part) = event {
            text.push_str(&part);
        } else if matches!(event, Event::SoftBreak | Event::HardBreak) {
            text.push(' ');
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(MAX_HEADING_CHARS).collect()
}

fn records(body: &str) -> Vec<Section> {
    let mut start = 0;
    body.split(RECORD_SEPARATOR)
        .map(|record| {
            let span = start..start + record.len();
            start = span.end + RECORD_SEPARATOR.len_utf8();
            Section {
                heading_path: Vec::new(),
                blocks: paragraphs(body, span.clone(), BlockKind::Prose),
                span,
            }
        })
        .collect()
}

#[cfg(feature = "code")]
fn code(path: &str, body: &str) -> Vec<Block> {
    super::syntax::items(path, body)
        .unwrap_or_else(|| paragraphs(body, 0..body.len(), BlockKind::Lines))
}

#[cfg(not(feature = "code"))]
fn code(_path: &str, body: &str) -> Vec<Block> {
    paragraphs(body, 0..body.len(), BlockKind::Lines)
}

/// What stands between blank lines.
fn paragraphs(body: &str, span: Range<usize>, kind: BlockKind) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut after_blank = true;
    let mut start = span.start;
    for line in body.get(span).unwrap_or_default().split_inclusive('\n') {
        let end = start + line.len();
        let blank = line.trim().is_empty();
        if !blank {
            match blocks.last_mut() {
                Some(block) if !after_blank => block.span.end = end,
                _ => blocks.push(Block { span: start..end, kind, children: Vec::new() }),
            }
        }
        after_blank = blank;
        start = end;
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_say_what_a_reader_sees() {
        let check = |source: &str, text: &str| assert_eq!(heading_text(source), text, "{source}");
        check("## Stable releases {/*stable-releases*/}\n", "Stable releases");
        check("### `useState(initialState)` {/*usestate*/}", "useState(initialState)");
        check("## Install {#install}", "Install");
        check("## <Badge>New</Badge> *very* [linked](/x) ##", "New very linked");
        check("Two\nlines\n=====\n", "Two lines");
        check("## 리액트 `컴포넌트` {/*c*/}", "리액트 컴포넌트");
        check("#", "");
        check(&format!("# {}", "long ".repeat(99)), &"long ".repeat(40));
    }

    #[test]
    fn sections_follow_the_headings_of_the_document_only() {
        let body = "---\ntitle: T\n---\nintro\n\n# T\n\n## A\n\n### B\n\nb\n\n```sh\n# no heading\n```\n> # nor this\n\n## C\nc\n\nSetext\n---\n\n# D";
        let found: Vec<_> = markdown(body, "T")
            .into_iter()
            .map(|s| (s.heading_path.join("/"), body[s.span].to_owned()))
            .collect();
        let expected = [
            ("", "intro\n\n"),
            ("A/B", "# T\n\n## A\n\n### B\n\nb\n\n```sh\n# no heading\n```\n> # nor this\n\n"),
            ("C", "## C\nc\n\n"),
            ("Setext", "Setext\n---\n\n"),
            ("D", "# D"),
        ];
        assert_eq!(found, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    }
}
