//! Documents to chunks.

mod block;
mod cut;
#[cfg(feature = "code")]
mod syntax;

use std::{
    ops::{Range, RangeInclusive},
    sync::Arc,
};

use trefoil_core::{
    ByteSpan, Chunk, ChunkLevel, Chunker, Document, DocumentFormat, Error, Language, LineSpan,
    Result, TokenCounter,
};

pub(crate) use self::block::{RECORD_SEPARATOR, first_heading, first_title};
use self::{block::Section, cut::Cutter};
use crate::{language::language_of, tokens::Measure};

/// A body of more characters than this gets parent chunks.
const LONG_DOCUMENT_CHARS: usize = 50_000;
/// Length of a parent chunk in characters: it closes at the first section that
/// starts above the lower bound, and before the leaf that would pass the upper.
const PARENT_CHARS: RangeInclusive<usize> = 2_000..=4_000;

/// How large a chunk is, in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkSizes {
    /// Where a section that has to be cut is cut.
    pub target: RangeInclusive<usize>,
    /// The hard limit, up to which a section, a code block or a table stays whole. A run
    /// of characters is cut rather than pass it.
    pub max: usize,
}

impl ChunkSizes {
    /// Where a section is cut, in tokens, and the most that a chunk may have.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] unless 1 ≤ start ≤ end ≤ max.
    pub fn new(target: RangeInclusive<usize>, max: usize) -> Result<Self> {
        let sizes = Self { target, max };
        let (start, end) = (*sizes.target.start(), *sizes.target.end());
        if 1 <= start && start <= end && end <= max {
            return Ok(sizes);
        }
        let (value, allowed) = (format!("{start}–{end}, {max}"), "1 ≤ start ≤ end ≤ max");
        Err(Error::InvalidConfig { field: "chunk sizes", value, allowed })
    }
}

/// 256–400 tokens, at most 480: with a contextual header the usual 512-token
/// embedder sees all of it.
impl Default for ChunkSizes {
    fn default() -> Self {
        Self { target: 256..=400, max: 480 }
    }
}

/// Cuts documents into chunks along their structure.
///
/// A section of a Markdown document is a chunk; one that is larger than the maximum
/// is cut to the target, between blocks, then sentences, then words. Code blocks and tables stay
/// whole up to the maximum and are cut at line ends above it. A heading without
/// text joins the first section below it. Plain text is cut between paragraphs,
/// source code between items, and every record is a chunk. A document that is to stay whole is
/// one chunk, kept to the byte.
///
/// Chunks do not overlap: a sentence that stood in two chunks would compete with
/// itself in every ranking, the heading path already repeats the context, and
/// neighbours are known by their ordinal.
///
/// ```
/// use std::sync::Arc;
/// use trefoil_core::{Chunker, Document, DocumentFormat};
/// use trefoil_text::{ApproximateTokens, ChunkSizes, StructuralChunker};
///
/// let chunker = StructuralChunker::new(Arc::new(ApproximateTokens), ChunkSizes::default());
/// let document = Document::new("guide.md", "# Guide\n\n## Install\n\nRun it.\n")
///     .title("Guide")
///     .format(DocumentFormat::Markdown);
/// let chunks = chunker.chunk(&document);
/// assert_eq!(chunks[0].heading_path, ["Install"]);
/// assert_eq!(chunks[0].lines.end, 5);
/// ```
#[derive(Clone, Debug)]
pub struct StructuralChunker {
    counter: Arc<dyn TokenCounter>,
    sizes: ChunkSizes,
}

impl StructuralChunker {
    /// A chunker that sizes chunks as `counter` counts. Sizes that contradict each
    /// other are made to fit: at least one token, and start ≤ end ≤ max.
    pub fn new(counter: Arc<dyn TokenCounter>, sizes: ChunkSizes) -> Self {
        let (start, end) = sizes.target.into_inner();
        let end = end.max(1);
        let start = start.clamp(1, end);
        Self { counter, sizes: ChunkSizes { target: start..=end, max: sizes.max.max(end) } }
    }
}

impl Chunker for StructuralChunker {
    fn fingerprint(&self) -> String {
        let ChunkSizes { target, max } = &self.sizes;
        format!("structure {}–{} {max}", target.start(), target.end())
    }

    /// The chunks of a document: its leaves in order, then, for a body of more than
    /// 50,000 characters, parents of about 2,000–4,000 characters in order.
    ///
    /// Leaves hold all of the body that is not white space, front matter or a
    /// separator of records, and each lies in exactly one parent. A blank document
    /// has no chunks, and one that is to stay whole has no parents.
    fn chunk(&self, document: &Document) -> Vec<Chunk> {
        let body = document.body.as_str();
        if document.format == DocumentFormat::Whole {
            return whole(body, document.language).into_iter().collect();
        }
        let measure = Measure::new(body, self.counter.as_ref());
        let cutter = Cutter::new(&measure, &self.sizes);
        let lines = LineStarts::new(body);
        let mut leaves = Vec::new();
        for Section { heading_path, span, blocks } in block::sections(document) {
            for piece in cutter.cut(span, &blocks) {
                let Some(span) = without_blank_edges(body, piece) else { continue };
                leaves.push(Piece { heading_path: heading_path.clone(), span });
            }
        }
        let parents = if body.chars().nth(LONG_DOCUMENT_CHARS).is_some() {
            parents(body, &leaves)
        } else {
            Vec::new()
        };
        let level = |level: ChunkLevel, pieces: Vec<Piece>| {
            (0..)
                .zip(pieces)
                .filter_map(|(ordinal, piece)| {
                    piece.into_chunk(body, level, ordinal, &lines, document.language)
                })
                .collect::<Vec<_>>()
        };
        let mut chunks = level(ChunkLevel::Leaf, leaves);
        chunks.extend(level(ChunkLevel::Parent, parents));
        chunks
    }
}

/// Number of the form that [`contextual_text`] gives. Vectors of two forms do not belong in
/// one index, so that a change of the form has a new number.
pub const CONTEXT_FORM: u32 = 2;

/// What is embedded for a chunk: the text after its title and headings.
///
/// ```
/// use trefoil_text::contextual_text;
///
/// let path = ["Install".to_owned(), "Linux".to_owned()];
/// assert_eq!(contextual_text("Guide", &path, "Run it."), "Guide > Install > Linux - Run it.");
/// assert_eq!(contextual_text("", &[], "Run it."), "Run it.");
/// ```
pub fn contextual_text(title: &str, heading_path: &[String], text: &str) -> String {
    let headings = heading_path.iter().map(String::as_str);
    let header: Vec<&str> =
        std::iter::once(title).chain(headings).filter(|part| !part.is_empty()).collect();
    if header.is_empty() { text.to_owned() } else { format!("{} - {text}", header.join(" > ")) }
}

/// The body as one chunk, unless it is blank.
fn whole(body: &str, language: Option<Language>) -> Option<Chunk> {
    if body.trim().is_empty() {
        return None;
    }
    let piece = Piece { heading_path: Vec::new(), span: 0..body.len() };
    piece.into_chunk(body, ChunkLevel::Leaf, 0, &LineStarts::new(body), language)
}

/// A chunk before it is known where it stands among the others.
struct Piece {
    heading_path: Vec<String>,
    span: Range<usize>,
}

impl Piece {
    fn into_chunk(
        self,
        body: &str,
        level: ChunkLevel,
        ordinal: u32,
        lines: &LineStarts,
        language: Option<Language>,
    ) -> Option<Chunk> {
        let Range { start, end } = self.span;
        let text = body.get(start..end)?.to_owned();
        Some(Chunk {
            level,
            ordinal,
            heading_path: self.heading_path,
            language: language.unwrap_or_else(|| language_of(&text)),
            text,
            bytes: ByteSpan { start, end },
            lines: LineSpan {
                start: lines.line_of(start),
                end: lines.line_of(end.saturating_sub(1)),
            },
        })
    }
}

/// Byte offsets at which lines start.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn new(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// The line that holds a byte, from 1.
    fn line_of(&self, byte: usize) -> u32 {
        let line = self.0.partition_point(|&start| start <= byte);
        u32::try_from(line).unwrap_or(u32::MAX)
    }
}

/// The span without white space around it, but with the indentation of its first
/// line; `None` if nothing is left.
fn without_blank_edges(body: &str, span: Range<usize>) -> Option<Range<usize>> {
    let text = body.get(span.clone())?;
    let end = span.start + text.trim_end().len();
    let lead = text.get(..text.len() - text.trim_start().len())?;
    let at_line_start = span.start == 0 || body.get(..span.start)?.ends_with('\n');
    let start = span.start
        + match lead.rfind('\n') {
            Some(newline) => newline + 1,
            None if at_line_start => 0,
            None => lead.len(),
        };
    (start < end).then_some(start..end)
}

fn parents(body: &str, leaves: &[Piece]) -> Vec<Piece> {
    let mut parents: Vec<Piece> = Vec::new();
    let mut last_path: &[String] = &[];
    for leaf in leaves {
        let fits = parents.last().is_some_and(|open| {
            let chars = |span: Range<usize>| body.get(span).map_or(0, |text| text.chars().count());
            let new_section = leaf.heading_path != last_path;
            let full = new_section && chars(open.span.clone()) >= *PARENT_CHARS.start();
            !full && chars(open.span.start..leaf.span.end) <= *PARENT_CHARS.end()
        });
        match parents.last_mut() {
            Some(open) if fits => {
                open.span.end = leaf.span.end;
                let shared = open
                    .heading_path
                    .iter()
                    .zip(&leaf.heading_path)
                    .take_while(|(a, b)| a == b)
                    .count();
                open.heading_path.truncate(shared);
            }
            _ => parents
                .push(Piece { heading_path: leaf.heading_path.clone(), span: leaf.span.clone() }),
        }
        last_path = &leaf.heading_path;
    }
    parents
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trefoil_core::DocumentFormat;

    use super::*;
    use crate::{front_matter::FrontMatter, tokens::ApproximateTokens};

    fn small() -> StructuralChunker {
        StructuralChunker::new(Arc::new(ApproximateTokens), ChunkSizes { target: 8..=16, max: 18 })
    }

    fn usual() -> StructuralChunker {
        StructuralChunker::new(Arc::new(ApproximateTokens), ChunkSizes::default())
    }

    fn document(format: DocumentFormat, body: &str) -> Document {
        Document::new("sample.rs", body).title("Title").format(format)
    }

    /// Heading paths, joined, and texts.
    fn check(
        chunker: &StructuralChunker,
        format: DocumentFormat,
        body: &str,
        expected: &[(&str, &str)],
    ) {
        let chunks = chunker.chunk(&document(format, body));
        let found: Vec<_> = chunks
            .iter()
            .map(|chunk| (chunk.heading_path.join("/"), chunk.text.as_str()))
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|&(path, text)| (path.to_owned(), text)).collect();
        assert_eq!(found, expected);
    }

    use DocumentFormat::{Code, Markdown, Records, Text, Whole};

    #[test]
    fn a_section_is_a_chunk_and_a_bare_heading_joins_the_next() {
        let body = "---\nkey: value\n---\nIntro.\n\n# Title\n\n## A {/*a*/}\n\nSome text.\n\n### B\n\nMore.\n\n## Empty\n## Last\nEnd.\n";
        check(
            &usual(),
            Markdown,
            body,
            &[
                ("", "Intro."),
                ("A", "# Title\n\n## A {/*a*/}\n\nSome text."),
                ("A/B", "### B\n\nMore."),
                ("Empty", "## Empty"),
                ("Last", "## Last\nEnd."),
            ],
        );
    }

    #[test]
    fn a_whole_document_is_one_chunk_to_the_byte() {
        let body = format!("\n  # Not a heading\n\n{} \n\n", "Words and words. ".repeat(9_000));
        let chunks = usual().chunk(&document(Whole, &body));
        let [chunk] = chunks.as_slice() else { panic!("{} chunks", chunks.len()) };
        assert_eq!((chunk.level, chunk.ordinal), (ChunkLevel::Leaf, 0));
        assert!(chunk.text == body);
        assert_eq!((chunk.bytes.start, chunk.bytes.end), (0, body.len()));
        assert_eq!((chunk.lines.start, chunk.lines.end), (1, 5));
        check(&usual(), Whole, " \n\t\n", &[]);
    }

    #[test]
    fn the_sample_is_cut_where_a_reader_would() {
        let body = include_str!("../testdata/guide.md");
        let chunks = usual().chunk(&document(Markdown, body).title("Growing clover"));
        let found: Vec<_> = chunks
            .iter()
            .map(|chunk| {
                (chunk.heading_path.join("/"), chunk.lines.start, chunk.lines.end, chunk.language)
            })
            .collect();
        let expected = [
            ("", 9, 13, Language::En),
            ("Sowing/When to sow", 15, 21, Language::En),
            ("Sowing/How to sow", 23, 39, Language::En),
            ("刈り取り", 41, 48, Language::Ja),
            ("물 주기", 50, 52, Language::Ko),
        ];
        assert_eq!(
            found,
            expected.map(|(path, start, end, language)| (path.to_owned(), start, end, language))
        );
    }

    #[test]
    fn a_large_section_is_cut_into_about_equal_parts_at_sentences() {
        let body =
            "## S\n\nOne two three four. Five six seven eight. Nine ten eleven. Twelve thirteen.\n";
        check(
            &small(),
            Markdown,
            body,
            &[
                ("S", "## S\n\nOne two three four. Five six seven eight."),
                ("S", "Nine ten eleven. Twelve thirteen."),
            ],
        );
        check(
            &small(),
            Text,
            "今日は雨が降る。明日は晴れる。明後日は曇りだろう。その次は雪かな。",
            &[("", "今日は雨が降る。明日は晴れる。"), ("", "明後日は曇りだろう。その次は雪かな。")],
        );
    }

    #[test]
    fn code_blocks_and_tables_stay_whole_up_to_the_maximum() {
        let prose = "Words before the block that fill the first chunk well.\n\n";
        let fence = "```sh\nfirst --long-option value\nsecond --long-option value\n```";
        check(&small(), Markdown, &format!("{prose}{fence}\n"), &[("", prose.trim()), ("", fence)]);
        let table = "| a | b |\n| --- | --- |\n| one and | two and |\n| three and | four and |";
        check(
            &small(),
            Markdown,
            &format!("{prose}{table}\n\nAfter.\n"),
            &[("", prose.trim()), ("", table), ("", "After.")],
        );
    }

    #[test]
    fn a_larger_code_block_is_cut_at_line_ends() {
        let line = "a_line_of_code(with, some, arguments);\n";
        let chunks = small().chunk(&document(Markdown, &format!("```\n{}```\n", line.repeat(9))));
        assert!(chunks.len() > 3);
        assert!(
            chunks.iter().all(|chunk| chunk
                .text
                .lines()
                .all(|text| text == "```" || text == line.trim_end()))
        );
    }

    #[test]
    fn a_heading_stays_with_the_start_of_its_section() {
        let body = format!("## Heading\n\n```\n{}```\n", "some code here;\n".repeat(4));
        let chunks = usual().chunk(&document(Markdown, &body));
        assert_eq!(chunks.len(), 1);
        let long = format!("## Heading\n\n{}", "Some words of text. ".repeat(9));
        assert!(
            small().chunk(&document(Markdown, &long))[0]
                .text
                .starts_with("## Heading\n\nSome words")
        );
    }

    #[test]
    fn list_items_and_quotes_are_cut_between_their_parts() {
        let body = "* first item with words\n* second item with words\n* third item with words\n";
        check(
            &small(),
            Markdown,
            body,
            &[
                ("", "* first item with words\n* second item with words"),
                ("", "* third item with words"),
            ],
        );
    }

    #[test]
    fn every_record_is_a_chunk_and_paragraphs_fill_one() {
        check(&usual(), Records, "a\nb: c\n\u{1E}\nd\n\u{1E}\n", &[("", "a\nb: c"), ("", "d")]);
        check(&usual(), Text, "a\n\nb\n", &[("", "a\n\nb")]);
    }

    #[test]
    fn code_is_cut_between_items_and_keeps_its_indentation() {
        let body = "    /// First.\n    fn a() {\n        one(1);\n        two(2);\n    }\n\n    /// Second.\n    fn b() {\n        three(3);\n        four(4);\n    }\n";
        check(
            &small(),
            Code,
            body,
            &[
                ("", "    /// First.\n    fn a() {\n        one(1);\n        two(2);\n    }"),
                ("", "    /// Second.\n    fn b() {\n        three(3);\n        four(4);\n    }"),
            ],
        );
    }

    #[cfg(feature = "code")]
    #[test]
    fn blank_lines_do_not_cut_an_item_that_syntax_keeps_together() {
        let function = "/// Says what.\n#[test]\nfn a() {\n    one();\n\n    two();\n}\n";
        let body = format!("{function}\n{}", function.replace("fn a", "fn b"));
        let chunks = small().chunk(&document(Code, &body));
        assert_eq!(
            chunks.iter().map(|chunk| chunk.text.as_str()).collect::<Vec<_>>(),
            [function.trim_end(), function.replace("fn a", "fn b").trim_end()]
        );
    }

    #[test]
    fn blank_documents_have_no_chunks() {
        for format in [Text, Markdown, Code, Records] {
            for body in ["", " ", "\n\n\t\n", "\u{3000}"] {
                assert_eq!(usual().chunk(&document(format, body)), [], "{format:?} {body:?}");
            }
        }
        assert_eq!(usual().chunk(&document(Markdown, "---\ntitle: only\n---\n")), []);
    }

    #[test]
    fn a_given_language_is_kept() {
        let mut document = document(Text, "東京");
        assert_eq!(usual().chunk(&document)[0].language, Language::Ja);
        document.language = Some(Language::Ko);
        assert_eq!(usual().chunk(&document)[0].language, Language::Ko);
    }

    #[test]
    fn a_long_document_has_parents_that_tile_its_leaves() {
        let section =
            |i: usize| format!("## Section {i}\n\n{}\n\n", "Some words of a text. ".repeat(30));
        let body: String = (0..100).map(section).collect();
        assert!(body.len() > LONG_DOCUMENT_CHARS);
        let chunks = usual().chunk(&document(Markdown, &body));
        let (leaves, parents): (Vec<_>, Vec<_>) =
            chunks.iter().partition(|chunk| chunk.level == ChunkLevel::Leaf);
        assert_eq!(leaves.len(), 100);
        assert!(parents.iter().all(|parent| PARENT_CHARS.contains(&parent.text.len())
            || parent.ordinal as usize + 1 == parents.len()));
        assert!(parents.iter().all(|parent| parent.text.starts_with("## Section")));
        for leaf in leaves {
            let around = |parent: &&&Chunk| {
                parent.bytes.start <= leaf.bytes.start && leaf.bytes.end <= parent.bytes.end
            };
            assert_eq!(parents.iter().filter(around).count(), 1);
        }
        let short = usual().chunk(&document(Markdown, &section(1)));
        assert!(short.iter().all(|chunk| chunk.level == ChunkLevel::Leaf));
    }

    #[test]
    fn a_long_run_without_a_break_is_cut_all_the_same() {
        for unit in ["x", "東", "word ", "(", "> ", "* ", "\n", "```\n", "a\u{0301}", "| "] {
            let body = unit.repeat((1 << 17) / unit.len());
            for format in [Text, Markdown, Code] {
                let chunks = usual().chunk(&document(format, &body));
                let tokens = chunks.iter().filter(|chunk| chunk.level == ChunkLevel::Leaf);
                let most = tokens
                    .map(|chunk| ApproximateTokens.count(&chunk.text))
                    .max()
                    .unwrap_or_default();
                assert!(most <= 480, "{unit:?} {format:?}: {most}");
            }
        }
    }

    #[test]
    fn contradictory_sizes_are_made_to_fit() {
        for sizes in [
            ChunkSizes { target: 0..=0, max: 0 },
            ChunkSizes { target: RangeInclusive::new(9, 3), max: 1 },
        ] {
            let chunks = StructuralChunker::new(Arc::new(ApproximateTokens), sizes)
                .chunk(&document(Text, "somewordshere"));
            assert_eq!(
                chunks.iter().map(|chunk| chunk.text.as_str()).collect::<String>(),
                "somewordshere"
            );
        }
    }

    /// Markdown, code and records out of what makes them up.
    fn bodies() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            Just("# Heading {/*a*/}\n".to_owned()),
            Just("\n### Deeper\n\n".to_owned()),
            Just("\n```rust\n".to_owned()),
            Just("\n| a | b |\n|---|---|\n| c | d |\n".to_owned()),
            Just("\n* item\n  > quote\n".to_owned()),
            Just("---\n".to_owned()),
            Just("key: value\n".to_owned()),
            Just("fn a() {\n    b();\n}\n\n".to_owned()),
            Just("\u{1E}".to_owned()),
            Just("[ref]: http://example.org\n".to_owned()),
            "[a-zA-Z東京の가나 .。!?\n<>/`*_\\[\\]|{}-]{0,60}",
            "\\PC{0,40}",
            any::<String>(),
        ];
        prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn chunks_are_true_slices_that_hold_all_text(body in bodies()) {
            for format in [Text, Markdown, Code, Records] {
                let document = document(format, &body);
                let chunks = small().chunk(&document);
                prop_assert_eq!(&chunks, &small().chunk(&document));
                let front_matter = FrontMatter::of(&body).filter(|_| format == Markdown);
                let mut end = front_matter.map_or(0, |front_matter| front_matter.len);
                for (ordinal, chunk) in chunks.iter().enumerate() {
                    prop_assert_eq!(chunk.ordinal as usize, ordinal);
                    prop_assert_eq!(Some(chunk.text.as_str()), body.get(chunk.bytes.start..chunk.bytes.end));
                    let between = &body[end..chunk.bytes.start];
                    prop_assert!(between.chars().all(|c| c.is_whitespace() || format == Records && c == RECORD_SEPARATOR), "{:?}", between);
                    let single = chunk.text.trim().chars().count() == 1;
                    prop_assert!(single || ApproximateTokens.count(&chunk.text) <= 20, "{:?}", chunk.text);
                    let line = |at: usize| body.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1;
                    prop_assert_eq!((chunk.lines.start as usize, chunk.lines.end as usize), (line(chunk.bytes.start), line(chunk.bytes.end - 1)));
                    end = chunk.bytes.end;
                }
                let rest = &body[end..];
                prop_assert!(rest.chars().all(|c| c.is_whitespace() || format == Records && c == RECORD_SEPARATOR), "{:?}", rest);
            }
        }
    }
}
