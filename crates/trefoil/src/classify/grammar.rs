//! What makes a question global or one of relations: patterns of a language, and how
//! they are read.

use std::ops::Range;

use regex::{Captures, Regex};
use trefoil_core::{ByteSpan, QueryType};

/// The patterns of a language, in regular expressions, upper and lower case alike.
///
/// A space stands for white space of any length, and a few words in braces for what is
/// needed often: `{a}` and `{b}` are the sides of a pair, `{ab}` both with what is
/// between them, `{m}` a noun that both share, `{end}` the end of the question and
/// `{doc}` a word for documents.
pub(super) struct Source {
    /// What may stand before the question proper.
    pub(super) lead: &'static str,
    /// Patterns of relations with sides.
    pub(super) pairs: &'static [Pattern],
    /// Patterns of questions for an overview.
    pub(super) global: &'static [Pattern],
    /// Patterns of relations without sides: why, and what is the difference.
    pub(super) related: &'static [Pattern],
    /// What is cut off before a side.
    pub(super) before: &'static str,
    /// What is cut off after a side.
    pub(super) after: &'static str,
    /// Sides that name nothing: pronouns, and what is left of a clause.
    pub(super) nameless: &'static str,
    /// The particle between an owner and what it owns, where the owner comes first:
    /// の in `日本の首相`.
    pub(super) of: Option<&'static str>,
    /// The sides of what `{ab}` holds.
    pub(super) split: fn(&str) -> Vec<ByteSpan>,
}

/// What a question must hold to be of a kind.
#[derive(Clone, Copy)]
pub(super) struct Pattern {
    fits: &'static str,
    unless: Option<&'static str>,
}

/// A pattern that is found somewhere in the question.
pub(super) const fn when(fits: &'static str) -> Pattern {
    Pattern { fits, unless: None }
}

impl Pattern {
    /// The same where another is found nowhere in it.
    pub(super) const fn unless(self, barred: &'static str) -> Self {
        Self { unless: Some(barred), ..self }
    }
}

/// What a pattern found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// The kind of the question.
    pub(super) kind: QueryType,
    /// What it relates: parts of the question, in order.
    pub(super) sides: Vec<ByteSpan>,
}

/// The patterns of a language, ready to be used.
#[derive(Debug)]
pub(super) struct Grammar {
    lead: Option<Regex>,
    rules: Vec<Rule>,
    before: Option<Regex>,
    after: Option<Regex>,
    nameless: Option<Regex>,
    of: Option<&'static str>,
    split: fn(&str) -> Vec<ByteSpan>,
}

#[derive(Debug)]
struct Rule {
    kind: QueryType,
    pattern: Regex,
    unless: Option<Regex>,
}

/// A side of more characters than this is no name but a clause.
const LONGEST_SIDE: usize = 40;

impl Grammar {
    /// Compiles the patterns of a language; one that does not compile is left out, which
    /// the tests rule out.
    pub(super) fn new(source: &Source) -> Self {
        let of_kind = |kind, patterns: &[Pattern]| -> Vec<Rule> {
            patterns.iter().filter_map(|pattern| Rule::new(kind, pattern)).collect()
        };
        let mut rules = of_kind(QueryType::Relationship, source.pairs);
        rules.extend(of_kind(QueryType::Global, source.global));
        rules.extend(of_kind(QueryType::Relationship, source.related));
        Self {
            lead: compile(source.lead),
            rules,
            before: compile(source.before),
            after: compile(source.after),
            nameless: compile(source.nameless),
            of: source.of,
            split: source.split,
        }
    }

    /// The first pattern that fits `question`: pairs, then overviews, then the rest.
    pub(super) fn read(&self, question: &str) -> Option<Finding> {
        let lead = self.lead.as_ref().and_then(|lead| lead.find(question));
        let start = lead.map_or(0, |lead| lead.end());
        let proper = question.get(start..)?;
        self.rules.iter().find_map(|rule| {
            let captures = rule.captures(proper)?;
            let mut sides = self.sides(&captures, proper);
            for side in &mut sides {
                *side = ByteSpan { start: side.start + start, end: side.end + start };
            }
            Some(Finding { kind: rule.kind, sides })
        })
    }

    /// What a pattern of pairs relates, clauses around it cut off.
    fn sides(&self, captures: &Captures<'_>, text: &str) -> Vec<ByteSpan> {
        let group = |name| captures.name(name).map(|found| (found.start(), found.end()));
        let mut sides = match (group("ab"), group("a"), group("b")) {
            (Some((start, end)), ..) => (self.split)(text.get(start..end).unwrap_or_default())
                .into_iter()
                .map(|side| ByteSpan { start: side.start + start, end: side.end + start })
                .collect(),
            (None, a, b) => {
                let mut sides: Vec<ByteSpan> = [a, b]
                    .into_iter()
                    .flatten()
                    .map(|(start, end)| ByteSpan { start, end })
                    .collect();
                sides.sort_unstable_by_key(|side| side.start);
                sides
            }
        };
        if let Some(of) = self.of {
            share_head(&mut sides, text, of, group("m"));
        }
        sides.iter().filter_map(|&side| self.trimmed(side, text)).collect()
    }

    fn trimmed(&self, side: ByteSpan, text: &str) -> Option<ByteSpan> {
        let ByteSpan { mut start, mut end } = side;
        let cut = |pattern: &Option<Regex>, start: usize, end: usize| {
            let found = pattern.as_ref()?.find(text.get(start..end)?)?;
            Some((start + found.start(), start + found.end()))
        };
        if let Some((_, after)) = cut(&self.before, start, end) {
            start = after;
        }
        if let Some((before, _)) = cut(&self.after, start, end) {
            end = before;
        }
        let side = text.get(start..end)?;
        let trimmed = side.trim();
        start += side.len() - side.trim_start().len();
        let nameless = self.nameless.as_ref().is_some_and(|nameless| nameless.is_match(trimmed));
        let named = !trimmed.is_empty() && trimmed.chars().nth(LONGEST_SIDE).is_none() && !nameless;
        named.then_some(ByteSpan { start, end: start + trimmed.len() })
    }
}

impl Rule {
    fn new(kind: QueryType, pattern: &Pattern) -> Option<Self> {
        let unless = match pattern.unless {
            Some(unless) => Some(compile(unless)?),
            None => None,
        };
        Some(Self { kind, pattern: compile(pattern.fits)?, unless })
    }

    fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        let found = self.pattern.captures(text)?;
        let barred = self.unless.as_ref().is_some_and(|unless| unless.is_match(text));
        (!barred).then_some(found)
    }
}

/// The parts of `text` that stand between `separators`, which are in order.
pub(super) fn between(text: &str, separators: impl Iterator<Item = Range<usize>>) -> Vec<ByteSpan> {
    let mut parts = Vec::new();
    let mut start = 0;
    for separator in separators {
        parts.push(ByteSpan { start, end: separator.start });
        start = separator.end;
    }
    parts.push(ByteSpan { start, end: text.len() });
    parts
}

/// In a language whose owners come first, the two sides of `日本の首相と米国の大統領の違い`
/// are owner and head alike; of `JSのletとconst` the owner belongs to both.
fn share_head(sides: &mut [ByteSpan], text: &str, of: &str, shared: Option<(usize, usize)>) {
    let [first, .., last] = sides else { return };
    let part = |span: &ByteSpan| text.get(span.start..span.end).unwrap_or_default();
    match (part(first).rfind(of), shared) {
        (Some(_), Some((_, end))) => last.end = end,
        (Some(at), None) => {
            let start = first.start + at + of.len();
            let head = text.get(start..first.end).unwrap_or_default();
            if head.is_ascii() && part(last).is_ascii() {
                first.start = start;
            }
        }
        (None, _) => {}
    }
}

/// A pattern as [`Source`] describes it, as a regular expression.
fn compile(pattern: &str) -> Option<Regex> {
    let pattern = pattern
        .replace(" ?", r"\s*")
        .replace(" *", r"\s*")
        .replace(' ', r"\s+")
        .replace("{ab}", "(?P<ab>.+?)")
        .replace("{a}", "(?P<a>.+?)")
        .replace("{b}", "(?P<b>.+?)")
        .replace("{m}", "(?P<m>.+?)")
        .replace("{end}", r"\s*[?!.…。]*\s*$")
        .replace("{doc}", DOCUMENTS)
        // Words in the patterns are English: with all letters of Unicode, compiling them
        // takes many times as long.
        .replace(r"\w", "[0-9A-Za-z_À-ɏ]")
        .replace(r"\b", r"(?-u:\b)");
    Regex::new(&format!("(?i){pattern}")).ok()
}

const DOCUMENTS: &str = "(?:documents?|docs|documentation|files?|notes|handbook|corpus|collection|repo|repository|codebase|project|books?|novels?|manual|guides?|reports?|papers?|articles?|archive|folder|chapters?|wiki|website|pages?|essays?|texts?|transcripts?|minutes|meetings|interviews|emails|letters|recipes|logs|slides|policies)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{english, japanese, korean};

    #[test]
    fn every_pattern_compiles() {
        for source in [english::SOURCE, japanese::SOURCE, korean::SOURCE] {
            let grammar = Grammar::new(&source);
            let patterns = [source.pairs, source.global, source.related];
            assert_eq!(grammar.rules.len(), patterns.iter().map(|list| list.len()).sum::<usize>());
            for pattern in patterns.concat() {
                assert!(Rule::new(QueryType::Global, &pattern).is_some(), "{}", pattern.fits);
            }
            let cuts = [grammar.lead, grammar.before, grammar.after, grammar.nameless];
            assert!(cuts.iter().all(Option::is_some));
        }
    }
}
