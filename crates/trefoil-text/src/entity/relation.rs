//! How the mentions of a text hang together: by its structure, by its definitions, and
//! by standing in one sentence or next to each other.

use std::{cmp::Reverse, collections::BTreeMap};

use trefoil_core::{ByteSpan, Mention, MentionKind, Relation, RelationType, TitledText};

use super::{
    definition::{self, Definition},
    markup::{Mark, Markup},
    name::{normalize_name, without_qualifier},
};
use crate::sentence::sentences;

/// The relations between `mentions`, which are those of `titled`: what the structure of
/// the text shows, then what stands in one sentence, often first, and then the title with all
/// that is named below it, and what stands in two sentences that follow each other: most
/// sentences go on about what the title or the sentence before them named.
pub(crate) fn relations(
    titled: &TitledText<'_>,
    markup: &Markup,
    mentions: &[Mention],
) -> Vec<Relation> {
    let text = titled.text;
    let names = mentions.iter().enumerate().map(|(at, m)| (&*m.normalized_name, at)).collect();
    let mut reader = Reader { text, names, mentions, places: places(mentions), found: Vec::new() };
    let sections = reader.sections(titled, markup);
    reader.links(markup, &sections);
    let sentences = sentences(text, titled.language);
    for &sentence in &sentences {
        reader.definition(titled, sentence, &sections);
    }
    reader.code(&sections);
    reader.neighbours(&sentences, &sections);
    reader.found
}

/// Where mentions stand, by place.
fn places(mentions: &[Mention]) -> Vec<(ByteSpan, usize)> {
    let each = |(at, mention): (usize, &Mention)| {
        mention.spans.iter().map(move |&span| (span, at)).collect::<Vec<_>>()
    };
    let mut places: Vec<_> = mentions.iter().enumerate().flat_map(each).collect();
    places.sort_by_key(|(span, at)| (span.start, Reverse(span.end), *at));
    places
}

/// What each part of a text is about: the heading, or else the title, above it.
struct Sections {
    /// The place that a section starts at, and the mention that it is about.
    starts: Vec<(usize, Option<usize>)>,
    /// The mention that is the title.
    title: Option<usize>,
}

impl Sections {
    fn at(&self, place: usize) -> Option<usize> {
        let after = self.starts.partition_point(|&(start, _)| start <= place);
        self.starts.get(after.checked_sub(1)?).and_then(|&(_, about)| about)
    }
}

/// Which mentions stand together, the surer one of each pair first, and where.
#[derive(Default)]
struct Together(BTreeMap<(usize, usize), Vec<ByteSpan>>);

impl Together {
    fn push(&mut self, one: usize, other: usize, span: ByteSpan) {
        if one != other {
            self.0.entry((one.min(other), one.max(other))).or_default().push(span);
        }
    }

    fn often_first(self) -> Vec<(usize, usize, ByteSpan)> {
        let mut pairs: Vec<_> = self.0.into_iter().collect();
        // Of equals the surer ones, which come first.
        pairs.sort_by_key(|((one, other), evidence)| (Reverse(evidence.len()), one + other, *one));
        let each = |((one, other), evidence): ((usize, usize), Vec<ByteSpan>)| {
            evidence.into_iter().map(move |span| (one, other, span))
        };
        pairs.into_iter().flat_map(each).collect()
    }
}

struct Reader<'r> {
    text: &'r str,
    names: BTreeMap<&'r str, usize>,
    mentions: &'r [Mention],
    places: Vec<(ByteSpan, usize)>,
    found: Vec<Relation>,
}

impl Reader<'_> {
    /// Reads the headings above and in the text, each of which contains the next deeper.
    fn sections(&mut self, titled: &TitledText<'_>, markup: &Markup) -> Sections {
        let whole = ByteSpan { start: 0, end: self.text.len() };
        let titles =
            [titled.title].into_iter().chain(titled.heading_path.iter().map(String::as_str));
        let mut above: Vec<(usize, usize)> = Vec::new();
        for title in titles {
            if let Some(at) = self.named(without_qualifier(title).0) {
                self.contains(&above, at, whole);
                above.push((0, at));
            }
        }
        let mut starts = vec![(0, above.last().map(|&(_, at)| at))];
        for marked in &markup.marked {
            let Mark::Heading(level) = marked.mark else { continue };
            above.retain(|&(other, _)| other < level);
            let at = self.named(self.inside(marked.span));
            if let Some(at) = at {
                self.contains(&above, at, marked.span);
                above.push((level, at));
            }
            starts.push((marked.span.start, at.or(above.last().map(|&(_, at)| at))));
        }
        let title = self.mentions.iter().position(|one| one.kind == MentionKind::Title);
        Sections { starts, title }
    }

    fn contains(&mut self, above: &[(usize, usize)], at: usize, evidence: ByteSpan) {
        if let Some(&(_, parent)) = above.last() {
            self.push(parent, RelationType::CONTAINS, at, evidence);
        }
    }

    fn links(&mut self, markup: &Markup, sections: &Sections) {
        for marked in &markup.marked {
            let relation_type = match marked.mark {
                Mark::Link if marked.target.is_some() => RelationType::LINKS_TO,
                Mark::Citation => RelationType::CITES,
                Mark::Heading(_) | Mark::Link | Mark::Code | Mark::Quote => continue,
            };
            let to = self.named(self.inside(marked.span));
            if let (Some(from), Some(to)) = (sections.at(marked.span.start), to) {
                self.push(from, relation_type, to, marked.span);
            }
        }
    }

    /// Reads `A is a B`, and `A: …` at the start of a line.
    fn definition(&mut self, titled: &TitledText<'_>, sentence: ByteSpan, sections: &Sections) {
        let inside = self.inside(sentence);
        let start = sentence.start + definition::lead(inside);
        let first = self.places.partition_point(|(span, _)| span.start < start);
        let Some(&(span, at)) = self.places.get(first).filter(|(span, _)| span.start == start)
        else {
            return;
        };
        let rest = self.text.get(span.end..sentence.end).unwrap_or_default();
        let Some(definition) = definition::read(rest, titled.language) else { return };
        if let Some(section) = sections.at(sentence.start) {
            self.push(section, RelationType::DEFINES, at, sentence);
        }
        let Definition::Kind(kind) = definition else { return };
        let (from, to) = (span.end + kind.start, span.end + kind.end);
        let inside = self.places.iter().skip(first).take_while(|(span, _)| span.start < to);
        // The kind is named by the last words: `a Canadian country music singer`.
        let genus = inside.filter(|(span, _)| from <= span.start && span.end == to).last();
        if let Some(&(_, genus)) = genus {
            self.push(at, RelationType::IS_A, genus, sentence);
        }
    }

    fn code(&mut self, sections: &Sections) {
        for (at, mention) in self.mentions.iter().enumerate() {
            if mention.kind != MentionKind::Code {
                continue;
            }
            for &span in &mention.spans {
                if let Some(from) = sections.at(span.start) {
                    self.push(from, RelationType::REFERS_TO, at, span);
                }
            }
        }
    }

    /// Counts the sentences that name two; then those of a document that name something other
    /// than its title, and pairs of sentences, for what no sentence names together.
    fn neighbours(&mut self, sentences: &[ByteSpan], sections: &Sections) {
        let mut within = Together::default();
        let mut around = Together::default();
        let mut before: (Vec<usize>, usize) = (Vec::new(), 0);
        let mut places = self.places.iter().peekable();
        for &sentence in sentences {
            let mut named: Vec<usize> = Vec::new();
            while let Some((_, at)) = places.next_if(|(span, _)| span.start < sentence.end) {
                named.push(*at);
            }
            named.sort_unstable();
            named.dedup();
            for (nth, &one) in named.iter().enumerate() {
                for &other in named.iter().skip(nth + 1) {
                    within.push(one, other, sentence);
                }
                if let Some(title) = sections.title {
                    around.push(title, one, sentence);
                }
                for &other in &before.0 {
                    around.push(other, one, ByteSpan { start: before.1, end: sentence.end });
                }
            }
            before = (named, sentence.start);
        }
        around.0.retain(|pair, _| !within.0.contains_key(pair));
        for (one, other, span) in within.often_first().into_iter().chain(around.often_first()) {
            self.push(one, RelationType::CO_OCCURS, other, span);
        }
    }

    fn inside(&self, span: ByteSpan) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    fn named(&self, name: &str) -> Option<usize> {
        self.names.get(&*normalize_name(name)).copied()
    }

    fn push(&mut self, source: usize, relation_type: RelationType, target: usize, span: ByteSpan) {
        let (Some(from), Some(to)) = (self.mentions.get(source), self.mentions.get(target)) else {
            return;
        };
        self.found.push(Relation {
            source: from.normalized_name.clone(),
            target: to.normalized_name.clone(),
            relation_type,
            evidence: vec![span],
        });
    }
}
