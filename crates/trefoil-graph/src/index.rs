mod communities;
pub(crate) mod evidence;
pub(crate) mod export;
pub(crate) mod files;
pub(crate) mod format;
mod gazetteer;
pub(crate) mod indexer;
pub(crate) mod relations;
pub(crate) mod step;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use trefoil_core::{Allowed, EntityType, Extraction, RelationType, Result, RowId};

use self::{
    evidence::{Evidence, Packed, Related, Said, Text},
    gazetteer::Gazetteer,
    relations::Relations,
};
use crate::{
    Csr, EntityChunks, GraphConfig, Node,
    column::Column,
    pmi::{Counts, PruneConfig, weigh},
};

/// What a mention that is the title of its document weighs; any other weighs its confidence.
const TITLE: f32 = 2.0;
/// What a relation weighs that the text states, such as a link; one from occurring together
/// weighs its normalised pointwise mutual information.
const STATED: f32 = 1.0;

/// The graph of what chunks say, frozen: entities, their relations, and the chunks that
/// mention them. Equal evidence gives an equal graph, however it came about.
#[derive(Debug)]
pub struct GraphIndex {
    texts: Vec<Arc<str>>,
    entities: Column<Entry>,
    types: BTreeMap<Text, EntityType>,
    names: Gazetteer,
    aliases: BTreeMap<Node, BTreeSet<Text>>,
    related: Csr,
    all_related: Csr,
    pub(crate) relations: Relations,
    /// Of each entity, how many others the text relates to it.
    in_degrees: Column<u32>,
    chunks: EntityChunks,
    config: GraphConfig,
}

/// An entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entity<'a> {
    /// Its number, by normalised name from 0.
    pub node: Node,
    /// How most of the chunks write it, each weighted by how strongly it mentions it.
    pub name: &'a str,
    /// The key under which spellings of a name are one.
    pub normalized_name: &'a str,
    /// What most of the chunks take it for.
    pub entity_type: &'a EntityType,
    /// How many chunks mention it.
    pub chunks: u32,
    /// The same, where each counts as much as it is sure of it, 0–1, and none by a title or
    /// heading, which stands above it whatever it says.
    pub mentioned: f32,
    /// How much it tells: from 1 for an entity of one chunk to nearly 0 for one of all.
    ///
    /// (1 − ln df / ln (N + 1))³, where df of N chunks mention it.
    pub specificity: f32,
    /// What it is worth showing, by all chunks: see [`Degrees::importance`].
    pub importance: f32,
}

/// How well an entity is connected, as far as some chunks show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degrees {
    /// How many entities it is related to.
    pub degree: u32,
    /// How many of them the text relates to it: by a link, a title or heading above it, a
    /// citation, a definition. Standing together has no direction.
    pub in_degree: u32,
}

impl Degrees {
    /// min(1, degree / 20 + min(in-degree / 10, .2)).
    pub fn importance(self) -> f32 {
        let pointed_at = (self.in_degree as f32 / 10.0).min(0.2);
        (self.degree as f32 / 20.0 + pointed_at).min(1.0)
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Text,
    name: Text,
    label: Text,
    chunks: u32,
    mentioned: f32,
    specificity: f32,
}

impl GraphIndex {
    /// Makes the graph of what chunks say.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`](trefoil_core::Error::InvalidConfig) if a setting is out of its range.
    pub fn build(
        chunks: impl IntoIterator<Item = (RowId, Extraction)>,
        config: &GraphConfig,
    ) -> Result<Self> {
        Self::freeze(chunks.into_iter().collect::<Evidence>().pack(), config)
    }

    pub(crate) fn freeze(packed: Packed, config: &GraphConfig) -> Result<Self> {
        config.validate()?;
        let Packed { texts, chunks } = packed;
        let nodes = Nodes::of(texts.len(), &chunks);
        let entities = nodes.entries(&chunks);
        let counts = nodes.counts(&texts, &chunks, &entities);
        let related = weigh(&counts, &config.prune)?;
        let all_related = weigh(&counts, &PruneConfig { min_count: 0, percentile: 0.0 })?;
        let mentions: Vec<(Node, RowId, f32)> = nodes
            .mentions(&chunks)
            .map(|(node, row, mention)| {
                let strength = if mention.is_title { TITLE } else { mention.confidence };
                (node, row, strength * entities[node].specificity.sqrt())
            })
            .collect();
        let walked = related.hub().map(|hub| related.without(hub));
        let walked = walked.as_ref().unwrap_or(&related);
        let text = |text: Text| texts.get(text as usize).cloned();
        let names = (0..).zip(entities.iter());
        let names = names.filter_map(|(node, entry)| Some((text(entry.key)?, node)));
        let aliases = nodes.mentions(&chunks).flat_map(|(node, _, mention)| {
            mention.aliases.iter().filter_map(move |&alias| Some((text(alias)?, node)))
        });
        let mut also_called: BTreeMap<Node, BTreeSet<Text>> = BTreeMap::new();
        for (node, _, mention) in nodes.mentions(&chunks) {
            if !mention.aliases.is_empty() {
                also_called.entry(node).or_default().extend(&mention.aliases);
            }
        }
        let relations = nodes.relations(&texts, &chunks)?;
        Ok(Self {
            names: Gazetteer::new(names, aliases),
            aliases: also_called,
            types: labels(&texts, entities.iter().map(|entry| entry.label), EntityType::new)?,
            in_degrees: relations.in_degrees(entities.len()),
            relations,
            chunks: EntityChunks::new(walked, &mentions, config.damping)?,
            config: config.clone(),
            related,
            all_related,
            entities,
            texts,
        })
    }

    /// How many entities there are.
    pub fn entity_count(&self) -> u32 {
        self.entities.len()
    }

    /// How many chunks mention something.
    pub fn chunk_count(&self) -> usize {
        self.chunks.rows().len()
    }

    /// An entity by its number.
    pub fn entity(&self, node: Node) -> Option<Entity<'_>> {
        if node >= self.entity_count() {
            return None;
        }
        let Entry { key, name, label, chunks, mentioned, specificity } = self.entities[node];
        let importance = self.degrees(node, &Allowed::All).importance();
        Some(Entity {
            node,
            name: self.text(name),
            normalized_name: self.text(key),
            entity_type: self.types.get(&label)?,
            chunks,
            mentioned,
            specificity,
            importance,
        })
    }

    /// How well an entity is connected, as far as the allowed chunks show it.
    pub fn degrees(&self, node: Node, allowed: &Allowed) -> Degrees {
        if node >= self.entity_count() {
            return Degrees::default();
        }
        let related = self.all_related.neighbours(node);
        let count = |other: &dyn Fn(Node) -> bool| {
            let counted = related.iter().filter(|&&node| other(node)).count();
            u32::try_from(counted).unwrap_or(u32::MAX)
        };
        match allowed {
            Allowed::All => Degrees { degree: count(&|_| true), in_degree: self.in_degrees[node] },
            Allowed::Only(_) => Degrees {
                degree: count(&|other| self.relations.is_shown(node, other, allowed)),
                in_degree: count(&|other| self.relations.points(other, node, allowed)),
            },
        }
    }

    /// The entity with this normalised name, or with this alias if it is of one entity only.
    pub fn find(&self, normalized: &str) -> Option<Entity<'_>> {
        self.entity(self.names.get(normalized)?)
    }

    /// The entities whose names or aliases stand in a normalised question, and where, from
    /// left to right.
    pub fn link(&self, normalized: &str) -> Vec<(Range<usize>, Entity<'_>)> {
        let found = self.names.find(normalized).into_iter();
        found.filter_map(|(span, node)| Some((span, self.entity(node)?))).collect()
    }

    /// What else an entity is called, as normalised names, in order; also what other entities
    /// are called as well.
    pub fn aliases(&self, node: Node) -> impl Iterator<Item = &str> + '_ {
        self.aliases.get(&node).into_iter().flatten().map(|&alias| self.text(alias))
    }

    /// The entities whose names or aliases a normalised text begins with: how many bytes of it
    /// they cover, the longest first.
    pub fn starts(&self, normalized: &str) -> Vec<(usize, Entity<'_>)> {
        let found = self.names.starts(normalized).into_iter();
        found.filter_map(|(len, node)| Some((len, self.entity(node)?))).collect()
    }

    /// The entities that a chunk mentions, by number.
    pub fn entities_of(&self, row: RowId) -> impl Iterator<Item = Entity<'_>> + '_ {
        self.chunks.entities_of(row).filter_map(|(node, _)| self.entity(node))
    }

    /// The chunks that share entities with the one at `row`, by row, with how strongly each
    /// is linked to it, 0–1: more for entities that few chunks mention, and for titles.
    pub fn links(&self, row: RowId, allowed: &Allowed) -> Vec<(RowId, f32)> {
        let mut links = self.chunks.links(row);
        links.retain(|&(row, _)| allowed.contains(row));
        links
    }

    /// How strongly the chunk at `from` mentions the subject of the one at `to`, 0–1: how specific the
    /// title of `to` is, if `from` mentions it and does not bear it itself.
    pub fn names(&self, from: RowId, to: RowId) -> f32 {
        let mentioned: BTreeMap<Node, f32> = self.chunks.entities_of(from).collect();
        let titles = self.chunks.entities_of(to).filter_map(|(node, weight)| {
            let specificity = self.entities[node].specificity;
            // Only a title is stronger than 1, which is the most that a mention can be.
            let is_title = |weight: f32| weight > specificity.sqrt();
            let mentions = mentioned.get(&node).is_some_and(|&weight| !is_title(weight));
            (mentions && is_title(weight)).then_some(specificity)
        });
        titles.fold(0.0, f32::max)
    }

    /// The `count` best of the allowed chunks around entities and chunks with weights,
    /// best first: see [`EntityChunks::rank`].
    pub fn rank(
        &self,
        entities: &[(Node, f32)],
        chunks: &[(RowId, f32)],
        allowed: &Allowed,
        count: usize,
    ) -> Vec<(RowId, f32)> {
        self.chunks.rank(entities, chunks, self.config.walk, allowed, count)
    }

    /// The weights of the relations between entities, without the weakest: the graph of
    /// walks and communities.
    pub const fn related(&self) -> &Csr {
        &self.related
    }

    /// The weights of all relations, also of those that were seen once: the graph of paths.
    pub const fn all_related(&self) -> &Csr {
        &self.all_related
    }

    /// The chunks that mention an entity, by row.
    pub fn chunks_of(&self, node: Node) -> impl Iterator<Item = RowId> + '_ {
        self.chunks.chunks_of(node)
    }

    /// The allowed chunks that mention an entity, those that are about it first: by how strongly
    /// they mention it, titles before all else, of equals by row.
    pub fn mentions_of(&self, node: Node, allowed: &Allowed) -> Vec<RowId> {
        let mentions = self.chunks.mentions_of(node).filter(|(row, _)| allowed.contains(*row));
        let mut mentions: Vec<(RowId, f32)> = mentions.collect();
        // The sort is stable, and the chunks are in the order of their rows.
        mentions.sort_by(|a, b| b.1.total_cmp(&a.1));
        mentions.into_iter().map(|(row, _)| row).collect()
    }

    fn text(&self, text: Text) -> &str {
        self.texts.get(text as usize).map_or("", |text| text)
    }
}

/// The text of each label, checked.
fn labels<L>(
    texts: &[Arc<str>],
    labels: impl Iterator<Item = Text>,
    new: impl Fn(&str) -> Result<L>,
) -> Result<BTreeMap<Text, L>> {
    let mut known = BTreeMap::new();
    for label in labels {
        if let (false, Some(text)) = (known.contains_key(&label), texts.get(label as usize)) {
            known.insert(label, new(text)?);
        }
    }
    Ok(known)
}

/// The numbers of the entities: by normalised name, from 0.
struct Nodes {
    /// Of each text that is a normalised name.
    of: Column<Node>,
    /// The normalised name of each.
    keys: Vec<Text>,
    chunks: usize,
}

const NONE: Node = Node::MAX;

impl Nodes {
    fn of(texts: usize, chunks: &[(RowId, Said)]) -> Self {
        let texts = Text::try_from(texts).unwrap_or(Text::MAX);
        let mut of = Column::filled(texts, NONE);
        for mention in chunks.iter().flat_map(|(_, said)| &said.mentions) {
            of[mention.key] = 0;
        }
        let keys: Vec<Text> = (0..texts).filter(|&text| of[text] != NONE).collect();
        for (node, &key) in (0..).zip(&keys) {
            of[key] = node;
        }
        Self { of, keys, chunks: chunks.len() }
    }

    fn count(&self) -> u32 {
        Node::try_from(self.keys.len()).unwrap_or(Node::MAX)
    }

    fn mentions<'a>(
        &'a self,
        chunks: &'a [(RowId, Said)],
    ) -> impl Iterator<Item = (Node, RowId, &'a evidence::Named)> + 'a {
        chunks.iter().flat_map(move |(row, said)| {
            said.mentions.iter().map(move |mention| (self.of[mention.key], *row, mention))
        })
    }

    /// The relations of chunks between two different entities.
    fn related<'a>(
        &'a self,
        chunks: &'a [(RowId, Said)],
    ) -> impl Iterator<Item = (Node, Node, RowId, Related)> + 'a {
        let all = chunks
            .iter()
            .flat_map(|(row, said)| said.relations.iter().map(move |related| (*row, *related)));
        all.filter_map(move |(row, related)| {
            let (source, target) = (self.of[related.source], self.of[related.target]);
            (source != NONE && target != NONE && source != target)
                .then_some((source, target, row, related))
        })
    }

    fn entries(&self, chunks: &[(RowId, Said)]) -> Column<Entry> {
        let mentions = || self.mentions(chunks);
        let names =
            self.heaviest(mentions().map(|(node, _, one)| (node, one.name, one.confidence)));
        let labels =
            self.heaviest(mentions().map(|(node, _, one)| (node, one.label, one.confidence)));
        let mut df = Column::filled(self.count(), 0_u32);
        let mut mentioned = Column::filled(self.count(), 0.0);
        for (node, _, mention) in mentions() {
            df[node] += 1;
            if !mention.is_above {
                mentioned[node] += mention.confidence;
            }
        }
        let entries = (0..).zip(&self.keys).map(|(node, &key)| Entry {
            key,
            name: names[node],
            label: labels[node],
            chunks: df[node],
            mentioned: mentioned[node],
            specificity: specificity(df[node], self.chunks),
        });
        entries.collect()
    }

    /// Of each node the text with the greatest weight in all; of equals the first.
    fn heaviest(&self, said: impl Iterator<Item = (Node, Text, f32)>) -> Column<Text> {
        let mut said: Vec<(Node, Text, f32)> = said.collect();
        said.sort_unstable_by_key(|&(node, text, _)| (node, text));
        let mut best = Column::filled(self.count(), (0, 0.0));
        for same in said.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let weight: f64 = same.iter().map(|one| f64::from(one.2)).sum();
            if let Some(&(node, text, _)) = same.first()
                && weight > best[node].1
            {
                best[node] = (text, weight);
            }
        }
        best.iter().map(|&(text, _)| text).collect()
    }

    fn counts(
        &self,
        texts: &[Arc<str>],
        chunks: &[(RowId, Said)],
        entities: &Column<Entry>,
    ) -> Counts {
        let mut counts = Counts {
            units: chunks.len() as u64,
            entities: entities.iter().map(|entry| u64::from(entry.chunks)).collect(),
            ..Counts::default()
        };
        let together = RelationType::CO_OCCURS;
        let together = texts.binary_search_by(|text| (**text).cmp(together.as_str())).ok();
        for (source, target, _, related) in self.related(chunks) {
            if Some(related.label as usize) == together {
                counts.pairs.push((source, target, 1));
            } else {
                counts.stated.push((source, target, STATED));
            }
        }
        counts
    }

    fn relations(&self, texts: &[Arc<str>], chunks: &[(RowId, Said)]) -> Result<Relations> {
        let types = self.related(chunks).map(|(.., related)| related.label);
        let types = labels(texts, types, RelationType::new)?;
        let shown = self
            .related(chunks)
            .map(|(source, target, row, related)| (source, target, related.label, row));
        Ok(Relations::new(shown, types))
    }
}

/// How much an entity tells that so many of all chunks mention.
///
/// The third power, and the logarithms, were found on questions that need two passages: an
/// entity of every tenth chunk counts next to nothing, at any size of the corpus.
#[expect(clippy::cast_possible_truncation, reason = "graphs are in f32")]
fn specificity(mentioning: u32, chunks: usize) -> f32 {
    let rarity = 1.0 - f64::from(mentioning.max(1)).ln() / (chunks as f64 + 1.0).ln();
    rarity.clamp(0.0, 1.0).powi(3) as f32
}
