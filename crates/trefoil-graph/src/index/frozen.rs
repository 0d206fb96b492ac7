//! What needs the whole graph: walks, communities, paths. It is made from one state of the index
//! and then only read; it may be a few changes behind what the segments say.

use std::collections::BTreeMap;

use trefoil_core::{RelationType, Result, RowId, Seq};

use crate::{
    Csr, EntityChunks, GraphConfig, Node,
    column::Column,
    index::{
        manifest::Changes,
        snapshot::{Snapshot, View},
    },
    pmi::{Counts, PruneConfig, weigh},
    segment::encode::Source,
};

/// What a relation weighs that the text states, such as a link; one from occurring together
/// weighs its normalised pointwise mutual information.
const STATED: f32 = 1.0;

/// The state that a form was frozen from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrozenAt {
    /// The last change of the store that is in it.
    pub seq: Seq,
    /// What had come and gone.
    pub changes: Changes,
}

/// The graph of a state, in compressed sparse rows. Entities are numbered by their normalised
/// names, so that it does not depend on how the chunks came and went.
#[derive(Debug)]
pub(crate) struct Frozen {
    /// The state.
    pub(crate) at: FrozenAt,
    pub(crate) names: Names,
    pub(crate) related: Csr,
    pub(crate) all_related: Csr,
    /// Of each entity, how many others the text relates to it.
    pub(crate) in_degrees: Column<u32>,
    pub(crate) chunks: EntityChunks,
}

/// Normalised names, ascending.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) text: String,
    pub(crate) ends: Vec<u32>,
}

impl Names {
    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }

    /// The name of a node.
    pub(crate) fn get(&self, node: Node) -> Option<&str> {
        let end = *self.ends.get(node as usize)? as usize;
        let before = node.checked_sub(1).and_then(|before| self.ends.get(before as usize));
        self.text.get(before.map_or(0, |&end| end as usize)..end)
    }

    /// The node with a name.
    pub(crate) fn find(&self, name: &str) -> Option<Node> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle)?.cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }
}

impl Frozen {
    /// The form of an index that holds nothing.
    pub(crate) fn empty(config: &GraphConfig) -> Result<Self> {
        Self::of(&Snapshot::default(), config)
    }

    /// Freezes a state.
    pub(crate) fn of(snapshot: &Snapshot, config: &GraphConfig) -> Result<Self> {
        config.validate()?;
        let views = &snapshot.views;
        let (names, numbers) = numbered(views)?;
        let total = snapshot.live();
        let mut df = Column::filled(names.len(), 0_u32);
        let mut counts = Counts { units: total as u64, ..Counts::default() };
        let mut mentions: Vec<(Node, RowId, f32)> = Vec::new();
        let mut ties: Vec<(u64, RowId)> = Vec::with_capacity(total);
        let mut pointing: Vec<(Node, Node)> = Vec::new();
        for (view, numbers) in views.iter().zip(&numbers) {
            let segment = &view.segment;
            let together = segment.together();
            let node = |entity: u32| numbers.get(entity as usize).copied().unwrap_or(Node::MAX);
            for (row, chunk) in view.chunks()? {
                ties.push((segment.tie(chunk)?, row));
                let said = segment.said(chunk)?;
                for mention in &said.mentions {
                    let node = node(mention.key);
                    if node >= names.len() {
                        return Err(segment.contradicts());
                    }
                    df[node] += 1;
                    mentions.push((node, row, mention.strength()));
                }
                for relation in &said.relations {
                    let (source, target) = (node(relation.source), node(relation.target));
                    if source == target || source.max(target) >= names.len() {
                        continue;
                    }
                    if Some(relation.label) == together {
                        counts.pairs.push((source, target, 1));
                    } else {
                        counts.stated.push((source, target, STATED));
                        pointing.push((source, target));
                    }
                }
            }
        }
        counts.entities = df.iter().map(|&chunks| u64::from(chunks)).collect();
        let related = weigh(&counts, &config.prune)?;
        let all_related = weigh(&counts, &PruneConfig { min_count: 0, percentile: 0.0 })?;
        drop(counts);
        for (node, _, weight) in &mut mentions {
            *weight *= specificity(df[*node], total).sqrt();
        }
        let walked = related.hub().map(|hub| related.without(hub));
        let walked = walked.as_ref().unwrap_or(&related);
        ties.sort_unstable();
        let rows = ties.into_iter().map(|(_, row)| row).collect();
        Ok(Self {
            at: FrozenAt { seq: snapshot.manifest.seq, changes: snapshot.manifest.changes },
            chunks: EntityChunks::in_order(walked, &mentions, rows, config.damping)?,
            in_degrees: in_degrees(names.len(), pointing),
            names,
            related,
            all_related,
        })
    }
}

/// The entities of all views that a live chunk mentions, numbered by name, and the number of each
/// of a view's.
fn numbered(views: &[View]) -> Result<(Names, Vec<Vec<Node>>)> {
    let mut all: Vec<(&str, usize, u32)> = Vec::new();
    let mut numbers: Vec<Vec<Node>> = Vec::with_capacity(views.len());
    for (place, view) in views.iter().enumerate() {
        let segment = &view.segment;
        numbers.push(vec![Node::MAX; segment.entity_count() as usize]);
        for entity in 0..segment.entity_count() {
            let is_whole = view.deleted.is_empty();
            if is_whole || segment.postings(entity)?.any(|posting| view.is_live(posting.chunk)) {
                all.push((segment.key(entity)?, place, entity));
            }
        }
    }
    // The names of a segment ascend already, which a stable sort makes use of.
    all.sort_by(|a, b| a.0.cmp(b.0));
    let mut names = Names::default();
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        let node = names.len();
        if let Some(&(name, ..)) = same.first() {
            names.push(name);
        }
        for &(_, place, entity) in same {
            let numbers = numbers.get_mut(place);
            if let Some(number) = numbers.and_then(|one| one.get_mut(entity as usize)) {
                *number = node;
            }
        }
    }
    Ok((names, numbers))
}

/// Of each entity, how many others are related to it, in this direction.
fn in_degrees(entities: u32, mut pointing: Vec<(Node, Node)>) -> Column<u32> {
    pointing.sort_unstable();
    pointing.dedup();
    let mut degrees = Column::filled(entities, 0);
    for (_, target) in pointing {
        degrees[target] += 1;
    }
    degrees
}

/// How much an entity tells that so many of all chunks mention.
///
/// The third power, and the logarithms, were found on questions that need two passages: an
/// entity of every tenth chunk counts next to nothing, at any size of the corpus.
#[expect(clippy::cast_possible_truncation, reason = "graphs are in f32")]
pub(crate) fn specificity(mentioning: u32, chunks: usize) -> f32 {
    let rarity = 1.0 - f64::from(mentioning.max(1)).ln() / (chunks as f64 + 1.0).ln();
    rarity.clamp(0.0, 1.0).powi(3) as f32
}

/// A relation by the numbers of a frozen form: both ends, the lower first, the one that the text
/// speaks of, and the type.
pub(crate) type Typed<'s> = ([Node; 2], Node, &'s RelationType);

/// All relations of a state, and how many chunks show each.
pub(crate) fn all_relations<'s>(
    views: &'s [View],
    names: &Names,
) -> Result<BTreeMap<Typed<'s>, usize>> {
    let mut relations = BTreeMap::new();
    for view in views {
        let segment = &view.segment;
        let mut numbers: Vec<Option<Node>> = Vec::with_capacity(segment.entity_count() as usize);
        for entity in 0..segment.entity_count() {
            numbers.push(names.find(segment.key(entity)?));
        }
        let node = |entity: u32| numbers.get(entity as usize).copied().flatten();
        for (_, chunk) in view.chunks()? {
            let mut seen = std::collections::BTreeSet::new();
            for relation in segment.said(chunk)?.relations {
                let (Some(source), Some(target)) = (node(relation.source), node(relation.target))
                else {
                    continue;
                };
                let ends = [source.min(target), source.max(target)];
                let key = (ends, source, segment.relation_type(relation.label)?);
                if source != target && seen.insert(key) {
                    *relations.entry(key).or_default() += 1;
                }
            }
        }
    }
    Ok(relations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_number_and_by_name() {
        let mut names = Names::default();
        let all = ["", "ada", "babbage", "서울"];
        for name in all {
            names.push(name);
        }
        for (node, name) in (0..).zip(all) {
            assert_eq!((names.get(node), names.find(name)), (Some(name), Some(node)));
        }
        assert_eq!((names.len(), names.get(4), names.find("b")), (4, None, None));
    }
}
