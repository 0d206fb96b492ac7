//! Search results as a person reads them.

use std::{fmt::Write, ops::Range};

use anstyle::{AnsiColor, Style};
use trefoil::{
    ChunkId, Content, EntityFacts, EntityType, Explanation, Highlight, ItemMetadata, QueryType,
    RelationType, RetrieverId, RetrieverMetrics, RetrieverPlace, Score, SearchResult,
    SearchResultItem, SourcePassage, StagePlace, WhyNot,
};

use crate::wrap::{columns, wrap};

const MATCH: Style = Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));
pub(crate) const TITLE: Style = Style::new().bold();
const SCORE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
pub(crate) const PATH: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));
pub(crate) const DIM: Style = Style::new().dimmed();
const PLAIN: Style = Style::new();

/// Characters shown of a passage in which nothing is highlighted.
const BEGINNING: usize = 150;

/// How much of each passage to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The fragment in which something matched.
    Fragment,
    /// All of it, with what stands before and after.
    Whole,
}

/// Numbered results, each followed by an empty line.
pub(crate) fn results(found: &SearchResult, extent: Extent, width: usize) -> String {
    let offset = found.offset;
    let digits = (offset + found.results.len()).to_string().len();
    let mut page = Page { text: String::new(), indent: digits + 2, width };
    for (number, item) in found.results.iter().enumerate() {
        page.item(offset + number + 1, item, &found.strategies, extent);
    }
    page.text
}

/// Where a passage was lost, and how far it had come.
pub(crate) fn why_not(chunk: &ChunkId, answer: &WhyNot) -> String {
    let stage = match answer.lost_at {
        Some(stage) => format!("{TITLE}lost at {stage}{TITLE:#}: "),
        None => format!("{TITLE}found{TITLE:#}: "),
    };
    let mut text = format!("{stage}{}\n{DIM}{chunk}{DIM:#}\n", answer.reason);
    for line in explanation(&answer.explanation) {
        _ = writeln!(text, "  {line}");
    }
    text
}

/// A line for each retriever and each stage.
fn explanation(explanation: &Explanation) -> Vec<String> {
    let retrievers = explanation.retrievers.iter().map(|retriever| {
        let RetrieverPlace { retriever, rank, raw_score, relevance } = retriever;
        format!("{:<9} rank {rank:>3}  {raw_score:.3} → {}", retriever.name(), score(*relevance))
    });
    let stages = explanation.stages.iter().map(|place| {
        let StagePlace { stage, rank, score: value } = place;
        format!("{:<9} rank {rank:>3}  {}", stage.to_string(), score(*value))
    });
    retrievers.chain(stages).collect()
}

/// How the entities of a question hang together, each step with a passage that shows it.
pub(crate) fn paths(found: &SearchResult, width: usize) -> String {
    let mut text = String::new();
    for path in &found.paths {
        let names: Vec<String> = path.entities.iter().map(|one| printable(&one.name)).collect();
        _ = writeln!(text, "{TITLE}{}{TITLE:#}", names.join(" – "));
        for step in &path.steps {
            let Some(relation) = step.relations.first() else { continue };
            let Some(proof) = relation.proofs.first() else { continue };
            let excerpt = printable(&proof.excerpt).replace('\n', " ");
            let line = format!("{}: {excerpt}", self::relation(&relation.relation_type));
            for at in wrap(&line, width.saturating_sub(2).max(10)) {
                _ = writeln!(text, "  {DIM}{}{DIM:#}", line.get(at).unwrap_or_default());
            }
        }
        text.push('\n');
    }
    text
}

/// How one entity bears on another, in words.
pub(crate) fn relation(relation_type: &RelationType) -> String {
    if *relation_type == RelationType::CO_OCCURS {
        "named together".to_owned()
    } else {
        printable(&relation_type.as_str().replace('_', " "))
    }
}

/// What kind of question this is, where that is said or told; with `explain`, what it was read
/// as. Most questions are of no kind that stands out.
pub(crate) fn question(found: &SearchResult) -> String {
    let Some(read) = &found.classification else { return String::new() };
    let explain = found.query.options.explain;
    let told = || format!("{} ({})", read.query_type, score(read.confidence));
    let mut lines = Vec::new();
    match found.query.query_type {
        Some(asked) => lines.push(format!("{asked} question, as asked; it reads as {}", told())),
        None if explain || read.query_type != QueryType::Hybrid => {
            lines.push(format!("reads as a {} question", told()));
        }
        None => {}
    }
    if explain {
        let list = |name: &str, values: &[String]| {
            (!values.is_empty()).then(|| format!("  {name:<9} {}", printable(&values.join(" · "))))
        };
        lines.extend(list("entities", &read.extracted_entities));
        lines.extend(list("wordings", &read.expanded_queries));
        let weights = read.suggested_weights.iter();
        let weights: Vec<String> = weights
            .map(|(retriever, weight)| format!("{retriever} {weight:.2}").replace(" 0.", " ."))
            .collect();
        lines.push(format!("  {:<9} {}", "weights", weights.join(" · ")));
    }
    lines.into_iter().fold(String::new(), |mut text, line| {
        _ = writeln!(text, "{DIM}{line}{DIM:#}");
        text
    })
}

/// How to see what follows.
pub(crate) fn more(found: &SearchResult) -> String {
    match &found.next_cursor {
        Some(next) if found.query.options.cursor.is_some() => {
            format!("more with --cursor {next}\n")
        }
        Some(_) => format!("more with --offset {}\n", found.offset + found.results.len()),
        None => String::new(),
    }
}

/// What was found and how long it took.
pub(crate) fn summary(found: &SearchResult) -> String {
    let shown = found.results.len();
    let mut parts = Vec::new();
    parts.push(match (shown, found.total_count) {
        (0, 0) => "nothing found".to_owned(),
        (0, total) => format!(
            "none of {total} candidates scores {} or more; try --min-relevance 0",
            score(found.query.filters.min_relevance)
        ),
        (_, total) => format!("{shown} of {total}"),
    });
    parts.push(milliseconds(found.processing_time));
    parts.extend(found.strategies.iter().filter(|&(_retriever, metric)| metric.enabled).map(
        |(retriever, metric)| format!("{retriever} {}", milliseconds(metric.processing_time)),
    ));
    format!("{DIM}{}{DIM:#}\n", parts.join(" · "))
}

/// `.62`, `1.0`.
pub(crate) fn score(score: Score) -> String {
    let text = format!("{:.2}", score.get());
    match text.strip_prefix('0') {
        Some(decimals) => decimals.to_owned(),
        None => "1.0".to_owned(),
    }
}

/// `1 passage`, `2 passages`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn milliseconds(time: f64) -> String {
    if time < 10.0 { format!("{time:.1} ms") } else { format!("{time:.0} ms") }
}

/// Text that grows downwards between a margin and the edge of the terminal.
struct Page {
    text: String,
    indent: usize,
    width: usize,
}

impl Page {
    fn item(
        &mut self,
        number: usize,
        item: &SearchResultItem,
        retrievers: &RetrieverMetrics,
        extent: Extent,
    ) {
        let heading = heading(item);
        let number = format!("{number:>width$}", width = self.indent - 2);
        for (line, at) in self.wrapped(&heading.text).into_iter().enumerate() {
            if line == 0 {
                _ = write!(self.text, "{TITLE}{number}{TITLE:#}  ");
            } else {
                self.margin();
            }
            self.line(&heading, at, TITLE);
        }
        self.evidence(item, retrievers);
        if let Some(facts) = &item.entity {
            self.facts(facts);
        }
        for line in item.explanation.iter().flat_map(explanation) {
            self.margin();
            _ = writeln!(self.text, "{DIM}{line}{DIM:#}");
        }
        match extent {
            Extent::Fragment => match &item.content.summary {
                Some(summary) => self.paragraph(&Marked::plain(summary).tidy(), PLAIN),
                None => self.fragments(item),
            },
            Extent::Whole => self.passage(&item.content, &item.highlights),
        }
        for SourcePassage { path, lines, .. } in &item.sources.passages {
            self.margin();
            _ = writeln!(self.text, "{PATH}{}:{}{PATH:#}", printable(path), lines.start);
        }
        self.text.push('\n');
    }

    /// Score, what each retriever says, and where the passage stands.
    fn evidence(&mut self, item: &SearchResultItem, retrievers: &RetrieverMetrics) {
        self.margin();
        let total = score(item.score);
        let mut used = self.indent + total.len();
        _ = write!(self.text, "{SCORE}{total}{SCORE:#}");
        let relevance = &item.relevance;
        let scores: Vec<(RetrieverId, Score)> = relevance
            .retrievers
            .iter()
            .filter(|&(retriever, _)| retrievers.get(retriever).enabled)
            .collect();
        let said = scores
            .iter()
            .map(|(retriever, score)| (retriever.name(), Some(*score).filter(|&s| s > Score::ZERO)))
            .chain(relevance.rerank.map(|relevance| ("rerank", Some(relevance))));
        for (name, relevance) in said {
            let part = format!("  {name} {}", relevance.map_or("–".to_owned(), score));
            used += columns(&part);
            _ = write!(self.text, "{DIM}{part}{DIM:#}");
        }
        // Communities and entities stand in no file.
        let metadata = item.metadata.as_ref().filter(|metadata| !metadata.path.is_empty());
        if let Some(ItemMetadata { path, lines, .. }) = metadata {
            let place = format!("{}:{}", printable(path), lines.start);
            // A path is kept whole, so that it can be copied and clicked.
            if used + 2 + columns(&place) > self.width {
                self.text.push('\n');
                self.margin();
            } else {
                self.text.push_str("  ");
            }
            _ = write!(self.text, "{PATH}{place}{PATH:#}");
        }
        self.text.push('\n');
    }

    /// What an entity is and how it is connected.
    fn facts(&mut self, facts: &EntityFacts) {
        let kinds: Vec<&str> = facts.kinds.iter().map(EntityType::as_str).collect();
        let mut parts = vec![
            printable(&kinds.join(", ")),
            counted(facts.chunks, "passage"),
            format!("related to {}", facts.degree),
            format!("importance {}", score(facts.importance)),
        ];
        if !facts.aliases.is_empty() {
            parts.push(format!("also {}", printable(&facts.aliases.join(", "))));
        }
        let line = parts.join(" · ");
        for at in self.wrapped(&line) {
            self.margin();
            _ = writeln!(self.text, "{DIM}{}{DIM:#}", line.get(at).unwrap_or_default());
        }
    }

    fn fragments(&mut self, item: &SearchResultItem) {
        let text = &item.content.text;
        let mut fragments: Vec<Marked> = item
            .highlights
            .iter()
            .filter(|highlight| highlight.field == "text")
            .map(|highlight| excerpt(text, highlight))
            .collect();
        if fragments.is_empty() {
            let fragment = text.chars().take(BEGINNING).collect();
            let start = Highlight { field: "text".to_owned(), fragment, offsets: Vec::new() };
            fragments.push(excerpt(text, &start));
        }
        for fragment in &fragments {
            self.paragraph(fragment, PLAIN);
        }
    }

    fn passage(&mut self, content: &Content, highlights: &[Highlight]) {
        let mut whole = Marked::plain(&content.text);
        for highlight in highlights.iter().filter(|highlight| highlight.field == "text") {
            if let Some(at) = content.text.find(&highlight.fragment) {
                whole.mark(at, highlight);
            }
        }
        let plain = |text: &Option<String>| text.as_deref().map(Marked::plain);
        let parts = [
            (plain(&content.context_before), DIM),
            (Some(whole), PLAIN),
            (plain(&content.context_after), DIM),
        ];
        for (part, style) in parts {
            if let Some(part) = part {
                self.text.push('\n');
                self.paragraph(&part, style);
            }
        }
    }

    fn paragraph(&mut self, marked: &Marked, style: Style) {
        for at in self.wrapped(&marked.text) {
            if !at.is_empty() {
                self.margin();
            }
            self.line(marked, at, style);
        }
    }

    /// One line of `marked`, which has been told to fit.
    fn line(&mut self, marked: &Marked, at: Range<usize>, style: Style) {
        for (part, is_match) in marked.parts(at) {
            let style = if is_match { MATCH } else { style };
            _ = write!(self.text, "{style}{part}{style:#}");
        }
        self.text.push('\n');
    }

    fn margin(&mut self) {
        self.text.extend(std::iter::repeat_n(' ', self.indent));
    }

    fn wrapped(&self, text: &str) -> Vec<Range<usize>> {
        wrap(text, self.width.saturating_sub(self.indent).max(10))
    }
}

/// `Title › heading › heading`; the title is left out where the first heading says it.
fn heading(item: &SearchResultItem) -> Marked {
    const SEPARATOR: &str = " › ";
    let highlighted = |field: &str, value: &str| {
        item.highlights
            .iter()
            .find(|highlight| highlight.field == field && highlight.fragment == value)
            .map_or_else(|| Marked::plain(value), Marked::from)
    };
    let path = item.metadata.as_ref().map_or(&[][..], |metadata| &metadata.heading_path);
    let headings = highlighted("heading", &path.join(SEPARATOR));
    // Pages often add the name of their site to the title.
    let said = |first: &String| item.title().to_lowercase().starts_with(&first.to_lowercase());
    if path.first().is_some_and(said) {
        return headings;
    }
    let mut title = highlighted("title", item.title());
    if !headings.text.is_empty() {
        title.push(&Marked::plain(SEPARATOR));
        title.push(&headings);
    }
    title
}

/// A fragment of `text` on one line, with marks where the text goes on.
fn excerpt(text: &str, highlight: &Highlight) -> Marked {
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
struct Marked {
    text: String,
    /// Byte ranges, in order.
    marks: Vec<Range<usize>>,
}

impl Marked {
    fn plain(text: &str) -> Self {
        Self { text: printable(text), marks: Vec::new() }
    }

    fn mark(&mut self, at: usize, highlight: &Highlight) {
        self.marks
            .extend(highlight.offsets.iter().map(|offset| at + offset.start..at + offset.end));
    }

    fn push(&mut self, other: &Self) {
        let at = self.text.len();
        self.marks.extend(other.marks.iter().map(|mark| at + mark.start..at + mark.end));
        self.text.push_str(&other.text);
    }

    /// On one line, without the headings and the punctuation that it begins with, and
    /// without the marks of strong emphasis, which are for another reader.
    fn tidy(&self) -> Self {
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
    fn parts(&self, at: Range<usize>) -> Vec<(&str, bool)> {
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
    use trefoil::Offsets;

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

    #[test]
    fn a_heading_does_not_repeat_the_title() {
        let mut item: SearchResultItem = serde_json::from_str(
            r#"{"id": "chk_1", "type": "chunk", "score": 0.5,
                "relevance": {"combined": 0.5, "keyword": 0.5, "semantic": 0, "graph": 0},
                "content": {"text": "body"}, "highlights": [],
                "sources": {"chunkId": "chk_1", "entityIds": [], "relationIds": []},
                "metadata": {"title": "Tides", "headingPath": ["Tides", "Springs"], "path": "tides.md",
                             "lines": {"start": 3, "end": 4}, "language": "en", "tags": []}}"#,
        )
        .unwrap();
        assert_eq!(heading(&item).text, "Tides › Springs");
        item.metadata.as_mut().unwrap().title = "tides - The Sea".into();
        assert_eq!(heading(&item).text, "Tides › Springs");
        item.metadata.as_mut().unwrap().title = "The Sea".into();
        assert_eq!(heading(&item).text, "The Sea › Tides › Springs");
        item.metadata.as_mut().unwrap().title = "Tides".into();
        item.highlights = vec![Highlight {
            field: "heading".into(),
            ..highlight("Tides › Springs", &["Springs"])
        }];
        assert_eq!(heading(&item).parts(0..17), [("Tides › ", false), ("Springs", true)]);
        item.metadata.as_mut().unwrap().heading_path.truncate(1);
        item.highlights.clear();
        assert_eq!(heading(&item).text, "Tides");
        item.metadata.as_mut().unwrap().title.clear();
        assert_eq!(heading(&item).text, "Tides");
    }

    #[test]
    fn scores_have_two_figures() {
        for (value, expected) in [(0.0, ".00"), (0.625, ".62"), (0.996, "1.0"), (1.0, "1.0")] {
            assert_eq!(score(Score::clamped(value)), expected);
        }
    }
}
