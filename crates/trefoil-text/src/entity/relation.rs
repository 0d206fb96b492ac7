//! How the mentions of a text hang together: by its structure, by its definitions, and
//! by standing in one sentence.

use std::{cmp::Reverse, collections::BTreeMap};

use trefoil_core::{ByteSpan, Mention, MentionKind, Relation, RelationType, TitledText};

use super::{
    definition::{self, Definition},
    markup::{Mark, Markup},
    name::{normalize_name, without_qualifier},
};
use crate::sentence::sentences;

/// The relations between `mentions`, which are those of `titled`: what the structure of
/// the text shows, and then what stands in one sentence, often first.
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
    reader.neighbours(&sentences);
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
}

impl Sections {
    fn at(&self, place: usize) -> Option<usize> {
        let after = self.starts.partition_point(|&(start, _)| start <= place);
        self.starts.get(after.checked_sub(1)?).and_then(|&(_, about)| about)
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
        Sections { starts }
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

    /// Counts the sentences that name two.
    fn neighbours(&mut self, sentences: &[ByteSpan]) {
        let mut together: BTreeMap<(usize, usize), Vec<ByteSpan>> = BTreeMap::new();
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
                    together.entry((one, other)).or_default().push(sentence);
                }
            }
        }
        let mut pairs: Vec<_> = together.into_iter().collect();
        // Of equals the surer ones, which come first.
        pairs.sort_by_key(|((one, other), evidence)| (Reverse(evidence.len()), one + other, *one));
        for ((one, other), evidence) in pairs {
            for span in evidence {
                self.push(one, RelationType::CO_OCCURS, other, span);
            }
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
