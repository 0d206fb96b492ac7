//! What a model answers, and what of it holds.

use std::collections::BTreeMap;

use serde::Deserialize;
use trefoil_core::{
    ByteSpan, EntityType, Extraction, Language, Mention, MentionKind, Relation, RelationType,
    Score, Summary, SummaryRequest, SummarySource, TitledText,
};
use trefoil_text::normalize_name;

use super::quote::Quoted;

/// Other forms of a name that are looked at.
const MAX_ALIASES: usize = 8;

/// What a model finds in a text; fields that are not asked for are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct Found {
    entities: Vec<Entity>,
    relations: Vec<Link>,
}

#[derive(Debug, Deserialize)]
struct Entity {
    name: String,
    #[serde(rename = "type")]
    label: EntityType,
    confidence: Score,
    #[serde(default)]
    aliases: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Link {
    source: String,
    target: String,
    #[serde(rename = "type")]
    relation_type: RelationType,
    evidence: String,
}

/// What a model tells of passages.
#[derive(Debug, Deserialize)]
pub(super) struct Told {
    sentences: Vec<Sentence>,
}

#[derive(Debug, Deserialize)]
struct Sentence {
    text: String,
    /// Numbers of passages, from 1.
    sources: Vec<usize>,
}

impl Found {
    /// Of as many as were asked for keeps the names that stand in the text or above it, and
    /// the relations between two of them that a stretch of the text shows which names one.
    pub(super) fn checked(self, titled: &TitledText<'_>) -> Extraction {
        let quoted = Quoted::new(titled.text);
        let entities = self.entities.into_iter().take(Extraction::MAX_MENTIONS);
        let mentions = entities.filter_map(|entity| entity.checked(titled, &quoted)).collect();
        let extraction = Extraction::new(mentions);
        let keys = keys(extraction.mentions());
        let links = self.relations.iter().take(Extraction::MAX_RELATIONS);
        let relations = links.filter_map(|link| link.checked(&keys, &quoted)).collect();
        extraction.with_relations(relations)
    }
}

impl Entity {
    fn checked(self, titled: &TitledText<'_>, quoted: &Quoted<'_>) -> Option<Mention> {
        let normalized_name = normalize_name(&self.name);
        let stands_in = |above: &str| !Quoted::new(above).name(&self.name).is_empty();
        let mut spans = quoted.name(&self.name);
        if spans.is_empty()
            && !stands_in(titled.title)
            && !titled.heading_path.iter().any(|heading| stands_in(heading))
        {
            return None;
        }
        let mut aliases = Vec::new();
        for alias in self.aliases.iter().take(MAX_ALIASES) {
            let (key, places) = (normalize_name(alias), quoted.name(alias));
            if key.chars().nth(1).is_some() && !places.is_empty() {
                aliases.push(key);
                spans.extend(places);
            }
        }
        Some(Mention {
            kind: kind(titled, &normalized_name, &self.label),
            name: self.name.split_whitespace().collect::<Vec<_>>().join(" "),
            normalized_name,
            aliases,
            entity_type: self.label,
            confidence: self.confidence,
            spans,
            target: None,
        })
    }
}

impl Link {
    fn checked(&self, keys: &BTreeMap<&str, &Mention>, quoted: &Quoted<'_>) -> Option<Relation> {
        let end = |name| keys.get(&*normalize_name(name)).copied();
        let (source, target) = (end(&self.source)?, end(&self.target)?);
        let evidence = quoted.stretch(&self.evidence)?;
        let inside = |span: &ByteSpan| evidence.start <= span.start && span.end <= evidence.end;
        source.spans.iter().chain(&target.spans).any(inside).then(|| Relation {
            source: source.normalized_name.clone(),
            target: target.normalized_name.clone(),
            relation_type: self.relation_type.clone(),
            evidence: vec![evidence],
        })
    }
}

impl Told {
    /// Keeps the sentences that fit from the first on, each with its passages, or says
    /// what is wrong with them.
    pub(super) fn checked(self, request: &SummaryRequest<'_>) -> Result<Summary, String> {
        let between = if request.language == Language::Ja { "" } else { " " };
        let mut summary = Summary::default();
        let mut chars = 0;
        for (number, sentence) in (1..).zip(&self.sentences) {
            let text = sentence.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let sources = sentence.sources(request)?;
            if text.is_empty() || sources.is_empty() {
                return Err(format!("sentence {number} is empty or cites no passage"));
            }
            let space = if summary.text.is_empty() { "" } else { between };
            chars += space.len() + text.chars().count();
            if chars > request.max_chars {
                break;
            }
            summary.text.extend([space, &text]);
            for source in sources {
                if !summary.sources.contains(&source) {
                    summary.sources.push(source);
                }
            }
        }
        if summary.text.is_empty() {
            let limit = request.max_chars;
            return Err(format!("there is no first sentence of at most {limit} characters"));
        }
        Ok(summary)
    }
}

impl Sentence {
    fn sources(&self, request: &SummaryRequest<'_>) -> Result<Vec<SummarySource>, String> {
        let source = |&number: &usize| {
            let passage = number.checked_sub(1).and_then(|at| request.passages.get(at));
            let passage = passage.ok_or_else(|| {
                format!("it cites passage {number} of {}", request.passages.len())
            })?;
            let span = ByteSpan { start: 0, end: passage.text.len() };
            Ok(SummarySource { row: passage.row, span })
        };
        self.sources.iter().map(source).collect()
    }
}

/// The mentions under their names, and under other forms of these that no other one has.
fn keys(mentions: &[Mention]) -> BTreeMap<&str, &Mention> {
    let mut keys = BTreeMap::new();
    for mention in mentions {
        for alias in &mention.aliases {
            keys.entry(alias.as_str()).or_insert(mention);
        }
    }
    keys.extend(mentions.iter().map(|mention| (mention.normalized_name.as_str(), mention)));
    keys
}

/// By what sign a name was told: the title and headings are seen, the rest is guessed from
/// what it names.
fn kind(titled: &TitledText<'_>, key: &str, entity_type: &EntityType) -> MentionKind {
    if normalize_name(titled.title) == key {
        MentionKind::Title
    } else if titled.heading_path.iter().any(|heading| normalize_name(heading) == key) {
        MentionKind::Heading
    } else if *entity_type == EntityType::CODE {
        MentionKind::Code
    } else if [EntityType::CONCEPT, EntityType::TOPIC].contains(entity_type) {
        MentionKind::NounPhrase
    } else {
        MentionKind::ProperNoun
    }
}
