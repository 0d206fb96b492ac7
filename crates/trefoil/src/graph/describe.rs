//! What the documents say of an entity: the sentences that name it, shortened to a description,
//! and the passages that they are from.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use trefoil_core::{
    Allowed, ByteSpan, EntityFacts, EntityType, Language, Mention, MentionKind, NamedEntity,
    Result, RowId, Score, SourcePassage, StoredChunk, Summarizer, Summary, SummaryPassage,
    SummaryRequest,
};
use trefoil_graph::{GraphIndex, Node};
use trefoil_store::EntityMention;
use trefoil_text::{defines, normalize_name, statements};

use crate::{
    graph::{
        paths::{excerpt, named},
        summarize::CentralSentences,
    },
    state::State,
};

/// Most characters of a description: a paragraph among other results.
const DESCRIPTION_CHARS: usize = 600;
/// Most passages that are read for one, those that are about the entity first.
const READ: usize = 24;
/// Most sentences that one is chosen from: their similarities are counted pair by pair.
const SENTENCES: usize = 64;
/// Most passages that are named as sources.
const PASSAGES: usize = 5;
/// Sentences that are about what a title above them names, whether they name it or not.
const BELOW_TITLE: usize = 2;
/// The same of a heading.
const BELOW_HEADING: usize = 1;
/// Passages whose beginnings tell of what no sentence names.
const BEGINNINGS: usize = 3;

/// What is known of an entity by the chunks that may be read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) entity: NamedEntity,
    pub(crate) facts: EntityFacts,
    pub(crate) description: String,
    /// The language of the description.
    pub(crate) language: Language,
    /// The passages that the description is from, then others.
    pub(crate) passages: Vec<SourcePassage>,
    /// The normalised names that these chunks call it by.
    pub(crate) spellings: BTreeSet<String>,
}

impl State {
    /// What the allowed chunks that `admits` lets through say of an entity, in `language` where
    /// any of them is; nothing if there are none.
    ///
    /// Descriptions are made while the question is answered, so that each is made from what its
    /// filters let through, and by extraction whatever summariser is configured, for a language
    /// model takes seconds.
    pub(crate) fn known(
        &self,
        index: &GraphIndex,
        node: Node,
        allowed: &Allowed,
        admits: impl Fn(&StoredChunk) -> bool,
        language: Option<Language>,
    ) -> Result<Option<Known>> {
        let Some(entity) = index.entity(node) else { return Ok(None) };
        let rows = index.mentions_of(node, allowed);
        let read = rows.get(..READ).unwrap_or(&rows);
        let chunks = self.store.chunks(read)?;
        let said = self.store.mentions_of(read, entity.normalized_name)?;
        let said: BTreeMap<RowId, EntityMention> = said.into_iter().collect();
        let mut mentioning: Vec<Mentioning<'_>> = chunks
            .iter()
            .filter(|chunk| admits(chunk))
            .filter_map(|chunk| {
                let EntityMention { mention, definitions } = said.get(&chunk.row)?;
                Some(Mentioning { chunk, mention, definitions })
            })
            .collect();
        let Some(first) = mentioning.first() else { return Ok(None) };
        let mut known = named(&entity)?;
        let mut kinds = kinds(&mentioning);
        let mut aliases: BTreeSet<&str> = index.aliases(node).collect();
        if let Allowed::Only(_) = allowed {
            // What all chunks call it may stand in none of these.
            known.name.clone_from(&first.mention.name);
            aliases = mentioning.iter().flat_map(Mentioning::aliases).collect();
        } else {
            kinds.retain(|kind| *kind != known.entity_type);
            kinds.insert(0, known.entity_type.clone());
        }
        if let Some(kind) = kinds.first() {
            known.entity_type = kind.clone();
        }
        let degrees = index.degrees(node, allowed);
        let facts = EntityFacts {
            kinds,
            aliases: aliases.into_iter().map(str::to_owned).collect(),
            chunks: rows.len(),
            degree: degrees.degree as usize,
            importance: Score::clamped(degrees.importance()),
        };
        let names = mentioning.iter().map(|one| normalize_name(&one.mention.name));
        let aliased = mentioning.iter().flat_map(Mentioning::aliases).map(str::to_owned);
        let spellings = names.chain(aliased).collect();
        let language = language_of(&mentioning, language);
        // The sort is stable: among those that are read, first what the asker reads.
        mentioning.sort_by_key(|one| one.language() != language);
        let Description { text, rows } = describe(&known.name, &mentioning, language)?;
        mentioning.sort_by_key(|one| {
            rows.iter().position(|&row| row == one.chunk.row).unwrap_or(usize::MAX)
        });
        let passages = mentioning.iter().take(PASSAGES).map(Mentioning::source).collect();
        Ok(Some(Known { entity: known, facts, description: text, language, passages, spellings }))
    }
}

/// A chunk and how it mentions an entity.
struct Mentioning<'c> {
    chunk: &'c StoredChunk,
    mention: &'c Mention,
    /// Where the chunk says what the entity is.
    definitions: &'c [ByteSpan],
}

impl<'c> Mentioning<'c> {
    fn language(&self) -> Language {
        self.chunk.chunk.language
    }

    fn aliases(&self) -> impl Iterator<Item = &'c str> + use<'c> {
        self.mention.aliases.iter().map(String::as_str)
    }

    /// The sentences that are about the entity, in order: those that name it, and the first ones
    /// below a title or heading that does.
    fn sentences(&self) -> Vec<Told<'c>> {
        let text = &self.chunk.chunk.text;
        let meets = |a: &ByteSpan, b: &ByteSpan| a.start < b.end && b.start < a.end;
        let below = match self.mention.kind {
            MentionKind::Title if self.chunk.chunk.ordinal == 0 => BELOW_TITLE,
            MentionKind::Heading => BELOW_HEADING,
            MentionKind::Title
            | MentionKind::Link
            | MentionKind::Code
            | MentionKind::Quoted
            | MentionKind::ProperNoun
            | MentionKind::NounPhrase => 0,
        };
        let told = statements(text, self.language()).into_iter().enumerate();
        let told = told.filter(|(place, span)| {
            *place < below || self.mention.spans.iter().any(|one| meets(one, span))
        });
        let told = told.filter_map(|(_, span)| {
            let text = text.get(span.start..span.end)?;
            let defines = self.definitions.iter().any(|one| meets(one, &span))
                || defines(text, &self.mention.name, self.language());
            Some(Told { text, defines, ..self.told() })
        });
        told.collect()
    }

    /// The first sentence of a chunk that names the entity in none.
    fn beginning(&self) -> Option<Told<'c>> {
        let text = &self.chunk.chunk.text;
        let span = *statements(text, self.language()).first()?;
        Some(Told { text: text.get(span.start..span.end)?, ..self.told() })
    }

    fn told(&self) -> Told<'c> {
        Told { row: self.chunk.row, language: self.language(), text: "", defines: false }
    }

    fn source(&self) -> SourcePassage {
        let StoredChunk { id, file, chunk, .. } = self.chunk;
        let name = &self.mention.name;
        let first = self.sentences().first().map(|one| one.text.to_owned());
        SourcePassage {
            chunk_id: id.clone(),
            path: file.path.clone(),
            lines: chunk.lines,
            excerpt: first.unwrap_or_else(|| excerpt(chunk, [name, name])),
        }
    }
}

/// A sentence of a chunk about an entity.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told<'c> {
    row: RowId,
    language: Language,
    text: &'c str,
    /// Whether it says what the entity is.
    defines: bool,
}

/// What the chunks take the entity for, first what they are surest of in all.
fn kinds(mentioning: &[Mentioning<'_>]) -> Vec<EntityType> {
    let mut sure: BTreeMap<&EntityType, f32> = BTreeMap::new();
    for Mentioning { mention, .. } in mentioning {
        *sure.entry(&mention.entity_type).or_default() += mention.confidence.get();
    }
    let mut kinds: Vec<(&EntityType, f32)> = sure.into_iter().collect();
    // The sort is stable: of equals the first in the alphabet.
    kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
    kinds.into_iter().map(|(kind, _)| kind.clone()).collect()
}

/// The wanted language if at least a fifth of the chunks is in it, else that of most; of equals
/// the first by name. A question that is a name in Latin letters may be in any.
fn language_of(mentioning: &[Mentioning<'_>], wanted: Option<Language>) -> Language {
    let mut counts: BTreeMap<Language, usize> = BTreeMap::new();
    for one in mentioning {
        *counts.entry(one.language()).or_default() += 1;
    }
    let is_read = |one: &Language| 5 * counts.get(one).copied().unwrap_or(0) >= mentioning.len();
    if let Some(wanted) = wanted.filter(is_read) {
        return wanted;
    }
    let most = counts.into_iter().min_by_key(|&(language, count)| (Reverse(count), language));
    most.map(|(language, _)| language).unwrap_or_default()
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Description {
    text: String,
    /// The chunks that it is from, in its order.
    rows: Vec<RowId>,
}

/// The sentences that say most of an entity: one that says what it is, if there is one, and the
/// central ones of the others that are about it. What no sentence names (but code, a table) is
/// told by how its passages begin, or quoted from the first.
fn describe(name: &str, mentioning: &[Mentioning<'_>], language: Language) -> Result<Description> {
    let all = mentioning.iter().flat_map(Mentioning::sentences);
    let mut all: Vec<Told<'_>> = all.take(SENTENCES).collect();
    if all.is_empty() {
        // What links to an entity is about another.
        let (linking, others): (Vec<_>, Vec<_>) =
            mentioning.iter().partition(|one| one.mention.kind == MentionKind::Link);
        let passages = others.into_iter().chain(linking);
        all = passages.filter_map(Mentioning::beginning).take(BEGINNINGS).collect();
    }
    let lead = all.iter().find(|one| one.defines && one.language == language);
    let passages = all.iter().filter(|one| lead.is_none_or(|lead| lead.text != one.text));
    let passages =
        passages.map(|&Told { row, language, text, .. }| SummaryPassage { row, text, language });
    let taken = lead.map_or(0, |one| one.text.chars().count() + 1);
    let Summary { text, sources } = CentralSentences::default().summarize(&SummaryRequest {
        name,
        members: vec![name],
        language,
        passages: passages.collect(),
        max_chars: DESCRIPTION_CHARS.saturating_sub(taken),
    })?;
    let mut rows: Vec<RowId> = lead.iter().map(|one| one.row).collect();
    for source in sources {
        if !rows.contains(&source.row) {
            rows.push(source.row);
        }
    }
    let lead: Vec<&str> = lead.iter().flat_map(|one| one.text.lines()).map(str::trim).collect();
    let lead = lead.join(" ");
    let space = if lead.is_empty() || text.is_empty() || lead.ends_with('。') { "" } else { " " };
    let text = format!("{lead}{space}{text}");
    if !text.is_empty() {
        return Ok(Description { text, rows });
    }
    let Some(first) = mentioning.first() else { return Ok(Description::default()) };
    Ok(Description { text: first.source().excerpt, rows: vec![first.chunk.row] })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trefoil_core::{ChunkId, FileId, FileInfo, Metadata};

    use super::*;
    use crate::search::present::tests::chunk;

    /// A chunk with how it mentions a name, at every place where it stands.
    fn said(
        row: u64,
        text: &str,
        language: Language,
        name: &str,
        kind: MentionKind,
    ) -> (StoredChunk, Mention) {
        let chunk = chunk(text, language);
        let file = FileInfo {
            id: FileId::new("fil_1").unwrap(),
            path: "a.md".to_owned(),
            title: String::new(),
            tags: Vec::new(),
            date: None,
            metadata: Metadata::default(),
        };
        let spans = text
            .match_indices(name)
            .map(|(start, part)| ByteSpan { start, end: start + part.len() });
        let mention = Mention {
            name: name.to_owned(),
            normalized_name: normalize_name(name),
            aliases: Vec::new(),
            entity_type: EntityType::NAME,
            kind,
            confidence: Score::HALF,
            spans: spans.collect(),
            target: None,
        };
        let id = ChunkId::new(format!("chk_{row}")).unwrap();
        (StoredChunk { row: RowId::new(row), id, file: Arc::new(file), chunk }, mention)
    }

    fn mentioning(all: &[(StoredChunk, Mention)]) -> Vec<Mentioning<'_>> {
        let each = all.iter();
        each.map(|(chunk, mention)| Mentioning { chunk, mention, definitions: &[] }).collect()
    }

    /// What is said of a name in some chunks, and the rows that it is from.
    fn described(all: &[(StoredChunk, Mention)], language: Language) -> (String, Vec<u64>) {
        let Description { text, rows } =
            describe(&all[0].1.name, &mentioning(all), language).unwrap();
        (text, rows.into_iter().map(RowId::get).collect())
    }

    #[test]
    fn what_an_entity_is_comes_first_in_each_language() {
        use Language::{En, Ja, Ko};
        let noun = MentionKind::ProperNoun;
        for (language, name, [other, unrelated, definition]) in [
            (
                En,
                "neap tide",
                [
                    "Harbours are shallow at every neap tide of the year. Gulls eat the mussels then.",
                    "Ships wait outside of the harbour until the water rises again in the evening.",
                    "A neap tide is a tide of small range that follows the half moon.",
                ],
            ),
            (
                Ja,
                "小潮",
                [
                    "港では小潮のあいだ水深がほとんど変わらない。カモメは貝を食べる。",
                    "船は水が再び満ちるまで港の外で静かに待っている。",
                    "小潮は半月のころに訪れる、干満の差が小さい潮である。",
                ],
            ),
            (
                Ko,
                "조금",
                [
                    "항구에서는 조금 무렵에 물 깊이가 거의 변하지 않는다. 갈매기는 조개를 먹는다.",
                    "배는 물이 다시 찰 때까지 항구 밖에서 조용히 기다린다.",
                    "조금은 반달 무렵에 찾아오는 조차가 작은 때이다.",
                ],
            ),
        ] {
            let all = [
                said(1, other, language, name, noun),
                said(2, unrelated, language, name, noun),
                said(3, definition, language, name, noun),
            ];
            let (text, rows) = described(&all, language);
            assert!(text.starts_with(definition), "{text}");
            let first = other.split_inclusive(['.', '。']).next().unwrap();
            assert!(text.ends_with(first), "{text}");
            assert_eq!(rows, [3, 1], "{text}");
        }
    }

    #[test]
    fn a_description_is_a_paragraph() {
        let noun = MentionKind::ProperNoun;
        let all: Vec<_> = (0..40)
            .map(|row| {
                let text = format!(
                    "The harbour of Oban number {row} is told of at length by skipper{row} and by \
                     mate{row}, who sailed from pier{row} to isle{row} with cargo{row}."
                );
                said(row, &text, Language::En, "Oban", noun)
            })
            .collect();
        let (text, rows) = described(&all, Language::En);
        assert!((100..=DESCRIPTION_CHARS).contains(&text.chars().count()), "{text}");
        assert!(rows.len() > 1 && text.ends_with('.'), "{text}");
    }

    #[test]
    fn what_no_sentence_names_is_told_by_how_its_passages_begin() {
        let code = "Every vector is a node with links to its neighbours.\n\n```\nhnsw(4)\n```\n";
        let link = "Other indexes are told of elsewhere in this book.\n\n- [hnsw](hnsw.md)\n";
        let all = [
            said(1, link, Language::En, "hnsw", MentionKind::Link),
            said(2, code, Language::En, "hnsw", MentionKind::Code),
        ];
        let (text, rows) = described(&all, Language::En);
        assert!(text.starts_with("Every vector is a node"), "{text}");
        assert_eq!(rows[0], 2);
        // Of what has no sentence at all, a piece is quoted.
        let bare = [said(1, "`hnsw(4)`", Language::En, "hnsw", MentionKind::Code)];
        assert_eq!(described(&bare, Language::En), ("`hnsw(4)`".to_owned(), vec![1]));
    }

    #[test]
    fn a_description_is_in_the_language_of_the_question_where_enough_is() {
        use Language::{En, Ja, Ko};
        let all: Vec<_> = [En, Ko, Ko, Ko, Ko, Ko, Ja, Ja]
            .map(|language| said(1, "React", language, "React", MentionKind::ProperNoun))
            .into();
        let all = mentioning(&all);
        assert_eq!(language_of(&all, Some(Ja)), Ja);
        assert_eq!(language_of(&all, Some(En)), Ko);
        assert_eq!(language_of(&all, None), Ko);
    }

    #[test]
    fn kinds_are_told_by_how_sure_the_chunks_are() {
        let mut all: Vec<_> = ["Oban"; 3]
            .map(|name| said(1, name, Language::En, name, MentionKind::ProperNoun))
            .into();
        all[1].1.entity_type = EntityType::PLACE;
        all[2].1.entity_type = EntityType::PLACE;
        assert_eq!(kinds(&mentioning(&all)), [EntityType::PLACE, EntityType::NAME]);
        all[0].1.confidence = Score::ONE;
        all[1].1.confidence = Score::clamped(0.3);
        assert_eq!(kinds(&mentioning(&all)), [EntityType::NAME, EntityType::PLACE]);
    }
}
