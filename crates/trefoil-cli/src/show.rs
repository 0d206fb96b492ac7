//! Search results as a person reads them.

mod marked;

use std::{fmt::Write, ops::Range};

use anstyle::{AnsiColor, Style};
use trefoil::{
    Highlight, RetrieverId, Score, SearchResult, SearchResultItem,
    graph::{EntityFacts, EntityType, RelationType},
    ingest::ChunkId,
    search::{
        Content, Explanation, ItemMetadata, QueryType, RetrieverMetrics, RetrieverPlace,
        SourcePassage, StagePlace, WhyNot,
    },
};

pub(crate) use self::marked::printable;
use self::marked::{Marked, excerpt};
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

/// What was found by keyword, before the rest is known.
pub(crate) fn provisional(found: &SearchResult, extent: Extent, width: usize) -> String {
    let results = results(found, extent, width);
    format!("{DIM}by keyword:{DIM:#}\n{results}{DIM}with everything:{DIM:#}\n")
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
    let missing = (!explanation.missing_words.is_empty())
        .then(|| format!("{:<9} {}", "lacks", printable(&explanation.missing_words.join(" · "))));
    retrievers.chain(stages).chain(missing).collect()
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

/// How one entity is related to another, in words.
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

#[cfg(test)]
mod tests {
    use trefoil::search::Offsets;

    use super::*;

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
            fragment: "Tides › Springs".into(),
            offsets: vec![Offsets { start: 10, end: 17 }],
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
