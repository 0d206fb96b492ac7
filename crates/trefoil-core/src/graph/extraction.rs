use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{ByteSpan, EntityType, Language, RelationType, Score};

/// Lengths of a name and of its normalised form, in characters.
const NAME_CHARS: std::ops::RangeInclusive<usize> = 2..=255;

/// A text and the names it stands under: what entities are extracted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TitledText<'t> {
    /// Name of the document; may be empty.
    pub title: &'t str,
    /// Headings that the text stands under, outermost first.
    pub heading_path: &'t [String],
    /// The text.
    pub text: &'t str,
    /// Language of the text.
    pub language: Language,
}

/// By what sign a mention was told from the words around it, the surest sign first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MentionKind {
    /// It is the title of the document.
    Title,
    /// It is a heading above the text or in it.
    Heading,
    /// It is the text of a link, or cites a work.
    Link,
    /// It is set as code or has the form of an identifier.
    Code,
    /// It stands in quotation marks.
    Quoted,
    /// It is written like a name.
    ProperNoun,
    /// It is a noun or a group of nouns.
    NounPhrase,
}

/// One name in a text, with every place it stands at.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// The name as it is written where it is surest, 2–255 characters.
    pub name: String,
    /// The key under which spellings of a name are one, 2–255 characters.
    pub normalized_name: String,
    /// Keys of other forms of the name that the text uses: a surname, an acronym.
    pub aliases: Vec<String>,
    /// What it names.
    pub entity_type: EntityType,
    /// The surest sign of it.
    pub kind: MentionKind,
    /// How sure it is that this is a name worth a node, at least .5.
    pub confidence: Score,
    /// Where it stands in the text, in order, apart; empty for one that is only above it.
    pub spans: Vec<ByteSpan>,
    /// Where a link leads to, as written.
    pub target: Option<String>,
}

/// One entity bearing on another, and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Normalised name of the one.
    pub source: String,
    /// Normalised name of the other.
    pub target: String,
    /// The relation to the other.
    pub relation_type: RelationType,
    /// The places of the text that show it, at least one, in order; their number is how
    /// often it was seen.
    pub evidence: Vec<ByteSpan>,
}

/// What one text mentions, and how it hangs together: what a graph is built from.
///
/// Whatever an extractor hands in, it holds at most [`Extraction::MAX_MENTIONS`], surest
/// first, each normalised name once, and at most [`Extraction::MAX_RELATIONS`] between
/// two different ones of them, each pair once a type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extraction {
    mentions: Vec<Mention>,
    relations: Vec<Relation>,
}

impl Extraction {
    /// The most mentions of a text.
    pub const MAX_MENTIONS: usize = 20;
    /// The most relations of a text.
    pub const MAX_RELATIONS: usize = 30;
    /// What is less sure than this is no mention.
    pub const MIN_CONFIDENCE: f32 = 0.5;

    /// Keeps what holds: unites mentions of one normalised name, sorts them by
    /// confidence, then by place, and leaves out what is too short, too long, too unsure
    /// or too many.
    pub fn new(mentions: Vec<Mention>) -> Self {
        Self { mentions: kept_mentions(mentions), relations: Vec::new() }
    }

    /// The same with `relations` in place of its own: the first ones, without those
    /// between a mention and itself or one that is not kept, and those that nothing shows.
    #[must_use]
    pub fn with_relations(self, relations: Vec<Relation>) -> Self {
        let names = self.mentions.iter().map(|mention| &*mention.normalized_name).collect();
        let relations = kept_relations(relations, &names);
        Self { relations, ..self }
    }

    /// The mentions, surest first.
    pub fn mentions(&self) -> &[Mention] {
        &self.mentions
    }

    /// The relations, in the order in which the extractor gave them.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// Both, to be taken apart.
    pub fn into_parts(self) -> (Vec<Mention>, Vec<Relation>) {
        (self.mentions, self.relations)
    }
}

impl Mention {
    /// Where it stands first; the start of the text for one that is above it.
    fn place(&self) -> usize {
        self.spans.first().map_or(0, |span| span.start)
    }

    fn unite(&mut self, other: Self) {
        let surer = other.confidence > self.confidence
            || other.confidence == self.confidence && other.kind < self.kind;
        self.aliases.extend(other.aliases);
        self.spans.extend(other.spans);
        self.target = self.target.take().or(other.target);
        if surer {
            self.name = other.name;
            self.entity_type = other.entity_type;
            self.kind = other.kind;
            self.confidence = other.confidence;
        }
    }
}

fn kept_mentions(mentions: Vec<Mention>) -> Vec<Mention> {
    let mut by_name: BTreeMap<String, Mention> = BTreeMap::new();
    for mention in mentions.into_iter().filter(holds) {
        match by_name.get_mut(&mention.normalized_name) {
            Some(united) => united.unite(mention),
            None => {
                by_name.insert(mention.normalized_name.clone(), mention);
            }
        }
    }
    let mut kept: Vec<Mention> = by_name.into_values().collect();
    for mention in &mut kept {
        set_apart(&mut mention.spans);
        mention.aliases.sort();
        mention.aliases.dedup();
        mention.aliases.retain(|alias| !alias.is_empty() && *alias != mention.normalized_name);
    }
    kept.sort_by(|a, b| b.confidence.cmp(&a.confidence).then_with(|| a.place().cmp(&b.place())));
    kept.truncate(Extraction::MAX_MENTIONS);
    kept
}

fn holds(mention: &Mention) -> bool {
    // `nth` reads no further than it must.
    let fits = |name: &str| {
        name.chars().nth(NAME_CHARS.start() - 1).is_some()
            && name.chars().nth(*NAME_CHARS.end()).is_none()
    };
    mention.confidence.get() >= Extraction::MIN_CONFIDENCE
        && fits(&mention.name)
        && fits(&mention.normalized_name)
}

fn kept_relations(relations: Vec<Relation>, names: &BTreeSet<&str>) -> Vec<Relation> {
    let mut kept: Vec<Relation> = Vec::new();
    let mut at: BTreeMap<(String, RelationType, String), usize> = BTreeMap::new();
    for relation in relations {
        let joins = names.contains(&*relation.source) && names.contains(&*relation.target);
        if !joins || relation.source == relation.target || relation.evidence.is_empty() {
            continue;
        }
        let key =
            (relation.source.clone(), relation.relation_type.clone(), relation.target.clone());
        if let Some(same) = at.get(&key).and_then(|&at| kept.get_mut(at)) {
            same.evidence.extend(relation.evidence);
        } else if kept.len() < Extraction::MAX_RELATIONS {
            at.insert(key, kept.len());
            kept.push(relation);
        }
    }
    for relation in &mut kept {
        relation.evidence.sort_by_key(|span| (span.start, span.end));
        relation.evidence.dedup();
    }
    kept
}

/// Sorts spans and unites those that overlap: a quoted name is found as a quotation and
/// as a name.
fn set_apart(spans: &mut Vec<ByteSpan>) {
    spans.sort_by_key(|span| (span.start, span.end));
    spans.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mention(name: &str, confidence: f32, start: usize) -> Mention {
        Mention {
            name: name.to_owned(),
            normalized_name: name.to_lowercase(),
            aliases: Vec::new(),
            entity_type: EntityType::NAME,
            kind: MentionKind::ProperNoun,
            confidence: Score::clamped(confidence),
            spans: vec![ByteSpan { start, end: start + name.len() }],
            target: None,
        }
    }

    fn relation(source: &str, target: &str, start: usize) -> Relation {
        Relation {
            source: source.to_owned(),
            target: target.to_owned(),
            relation_type: RelationType::CO_OCCURS,
            evidence: vec![ByteSpan { start, end: start + 9 }],
        }
    }

    #[test]
    fn mentions_of_one_name_are_united() {
        let mut link = mention("PARIS", 0.9, 12);
        link.kind = MentionKind::Link;
        link.target = Some("paris.md".to_owned());
        link.aliases = vec!["lutetia".to_owned(), "paris".to_owned()];
        let weak = mention("Paris", 0.5, 30);
        let again = mention("Paris", 0.6, 14);
        let extraction = Extraction::new(vec![weak, again, link.clone()]);
        let expected = Mention {
            aliases: vec!["lutetia".to_owned()],
            spans: vec![ByteSpan { start: 12, end: 19 }, ByteSpan { start: 30, end: 35 }],
            ..link
        };
        assert_eq!(extraction.mentions(), [expected]);
    }

    #[test]
    fn what_is_no_name_is_left_out() {
        let mut unkeyed = mention("Key", 0.9, 0);
        unkeyed.normalized_name = "k".to_owned();
        let long = mention(&"x".repeat(256), 0.9, 0);
        let all = vec![mention("X", 0.9, 0), mention("Unsure", 0.49, 0), unkeyed, long];
        assert_eq!(Extraction::new(all), Extraction::default());
        let longest = vec![mention(&"あ".repeat(255), 0.5, 0)];
        assert_eq!(Extraction::new(longest).mentions().len(), 1);
    }

    #[test]
    fn relations_join_two_that_are_kept() {
        let mentions = vec![mention("aa", 0.9, 0), mention("bb", 0.8, 3), mention("cc", 0.1, 6)];
        let mut unseen = relation("bb", "aa", 0);
        unseen.evidence.clear();
        let given = vec![
            relation("aa", "bb", 20),
            relation("aa", "aa", 0),
            relation("aa", "cc", 0),
            relation("aa", "bb", 0),
            relation("aa", "bb", 20),
            unseen,
        ];
        let extraction = Extraction::new(mentions).with_relations(given);
        let [only] = extraction.relations() else { panic!("{extraction:?}") };
        assert_eq!(only.evidence.iter().map(|span| span.start).collect::<Vec<_>>(), [0, 20]);
    }

    proptest! {
        #[test]
        fn an_extraction_keeps_its_limits(
            given in prop::collection::vec(("[a-e]{1,3}", 0.0_f32..1.0, 0_usize..40), 0..60),
            pairs in prop::collection::vec(("[a-e]{1,3}", "[a-e]{1,3}", 0_usize..40), 0..200),
        ) {
            let mentions = given.iter().map(|(n, c, s)| mention(n, *c, *s)).collect();
            let relations = pairs.iter().map(|(a, b, s)| relation(a, b, *s)).collect();
            let extraction = Extraction::new(mentions).with_relations(relations);
            let (mentions, relations) = (extraction.mentions(), extraction.relations());
            prop_assert!(mentions.len() <= Extraction::MAX_MENTIONS);
            prop_assert!(relations.len() <= Extraction::MAX_RELATIONS);
            prop_assert!(mentions.is_sorted_by(|a, b| a.confidence >= b.confidence));
            let names: BTreeSet<&str> = mentions.iter().map(|m| &*m.normalized_name).collect();
            prop_assert_eq!(names.len(), mentions.len());
            for mention in mentions {
                prop_assert!(mention.spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
            }
            for relation in relations {
                prop_assert!(relation.source != relation.target);
                prop_assert!(names.contains(&*relation.source));
                prop_assert!(names.contains(&*relation.target));
                prop_assert!(!relation.evidence.is_empty());
            }
        }
    }
}
