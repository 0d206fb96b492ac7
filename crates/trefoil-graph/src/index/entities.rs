//! Entities as the segments tell of them.

use std::{borrow::Cow, cmp::Ordering, collections::BTreeSet, ops::Range, sync::Arc};

use trefoil_core::{Allowed, EntityType, Result, RowId};

use super::{
    GraphIndex, Located,
    entity_cache::{Known, Placed, Summed},
    frozen::specificity,
    gazetteer::Gazetteer,
    snapshot::View,
};
use crate::{Node, segment::Posting};

/// An entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entity<'a> {
    /// Its number.
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

impl GraphIndex {
    /// An entity by its number.
    pub fn entity(&self, node: Node) -> Option<Entity<'_>> {
        self.noted(self.read_entity(node)).flatten()
    }

    /// The normalised name of an entity, which is read faster than all of it. Nothing may mention
    /// it any more.
    pub fn normalized_name(&self, node: Node) -> Option<&str> {
        self.noted(self.name_of(node)).flatten()
    }

    /// The entity with this normalised name, or with this alias if it is of one entity only.
    pub fn find(&self, normalized: &str) -> Option<Entity<'_>> {
        self.entity(self.noted(self.resolve(normalized)).flatten()?)
    }

    /// The entities whose names or aliases stand in a normalised question, and where, from
    /// left to right.
    pub fn link(&self, normalized: &str) -> Vec<(Range<usize>, Entity<'_>)> {
        let found = self.noted(self.gazetteer().find(normalized)).unwrap_or_default().into_iter();
        found.filter_map(|(span, node)| Some((span, self.entity(node)?))).collect()
    }

    /// The entities whose names or aliases a normalised text begins with: how many bytes of it
    /// they cover, the longest first.
    pub fn starts(&self, normalized: &str) -> Vec<(usize, Entity<'_>)> {
        let found = self.noted(self.gazetteer().starts(normalized)).unwrap_or_default();
        found.into_iter().filter_map(|(len, node)| Some((len, self.entity(node)?))).collect()
    }

    /// What else an entity is called, as normalised names, in order; also what other entities
    /// are called as well.
    pub fn aliases(&self, node: Node) -> impl Iterator<Item = &str> + '_ {
        self.noted(self.read_aliases(node)).unwrap_or_default().into_iter()
    }

    /// The entities that a chunk mentions, by normalised name.
    pub fn entities_of(&self, row: RowId) -> impl Iterator<Item = Entity<'_>> + '_ {
        self.noted(self.named_by(row)).unwrap_or_default().into_iter()
    }

    /// The chunks that mention an entity, by row.
    pub fn chunks_of(&self, node: Node) -> impl Iterator<Item = RowId> + '_ {
        let mut rows: Vec<RowId> =
            self.noted(self.mentions(node)).unwrap_or_default().iter().map(|one| one.row).collect();
        rows.sort_unstable();
        rows.into_iter()
    }

    /// The allowed chunks that mention an entity, those that are about it first: by how strongly
    /// they mention it, titles before all else, of equals by id.
    pub fn mentions_of(&self, node: Node, allowed: &Allowed) -> Vec<RowId> {
        let mut mentions = self.noted(self.mentions(node)).unwrap_or_default();
        mentions.retain(|one| allowed.contains(one.row));
        mentions.sort_unstable_by(|a, b| {
            let order = b.strength.total_cmp(&a.strength);
            order.then((a.tie, a.row).cmp(&(b.tie, b.row)))
        });
        mentions.into_iter().map(|one| one.row).collect()
    }

    /// The normalised names that a chunk beyond the allowed ones mentions.
    ///
    /// # Errors
    /// [`Corrupt`](trefoil_core::Error::Corrupt) if what had to be read is damaged.
    pub fn names_beyond(&self, allowed: &Allowed) -> Result<BTreeSet<&str>> {
        let mut names = BTreeSet::new();
        for view in self.views() {
            let mut entities: BTreeSet<u32> = BTreeSet::new();
            for (row, chunk) in view.segment.rows()?.zip(0..) {
                if view.is_live(chunk) && !allowed.contains(row) {
                    entities.extend(view.segment.said(chunk)?.mentions.iter().map(|one| one.key));
                }
            }
            for entity in entities {
                names.insert(view.segment.key(entity)?);
            }
        }
        Ok(names)
    }

    fn read_entity(&self, node: Node) -> Result<Option<Entity<'_>>> {
        let Some(name) = self.name_of(node)? else { return Ok(None) };
        // The same entity may have places in several segments; one of them has its number.
        if node >= self.frozen.names.len() && self.node_of(name)? != Some(node) {
            return Ok(None);
        }
        self.sum(node, name, || self.located(name).map(Cow::Owned))
    }

    /// The entity of a number and name that the segments have there.
    fn sum<'s, 'l>(
        &'s self,
        node: Node,
        name: &'s str,
        located: impl FnOnce() -> Result<Cow<'l, [(usize, u32)]>>,
    ) -> Result<Option<Entity<'s>>> {
        let summed = self.cache.summed.get(node, || Ok(self.tally(&located()?)?.summed()))?;
        let Some(Summed { name: written, label, chunks, mentioned }) = summed else {
            return Ok(None);
        };
        let (Some(wrote), Some(labelled)) =
            (self.views().get(written.0), self.views().get(label.0))
        else {
            return Ok(None);
        };
        Ok(Some(Entity {
            node,
            name: wrote.segment.text(written.1)?,
            normalized_name: name,
            entity_type: labelled.segment.entity_type(label.1)?,
            chunks,
            mentioned,
            specificity: specificity(chunks, self.live),
        }))
    }

    /// The normalised name of a number.
    pub(super) fn name_of(&self, node: Node) -> Result<Option<&str>> {
        if let Some(name) = self.frozen.names.get(node) {
            return Ok(Some(name));
        }
        let place = self.firsts.partition_point(|&first| first <= node);
        let place = place.checked_sub(1);
        let view =
            place.and_then(|place| Some((self.views().get(place)?, self.firsts.get(place)?)));
        let Some((view, first)) = view else { return Ok(None) };
        let entity = node - first;
        if entity >= view.segment.entity_count() {
            return Ok(None);
        }
        view.segment.key(entity).map(Some)
    }

    /// The number of a normalised name that some segment or the frozen form has.
    pub(super) fn node_of(&self, name: &str) -> Result<Option<Node>> {
        if let Some(node) = self.frozen.names.find(name) {
            return Ok(Some(node));
        }
        for (view, first) in self.views().iter().zip(&self.firsts) {
            if let Some(entity) = view.segment.entity(name)? {
                return Ok(Some(first.saturating_add(entity)));
            }
        }
        Ok(None)
    }

    /// Where the segments have a normalised name.
    pub(super) fn located(&self, name: &str) -> Result<Located> {
        let mut located = Vec::new();
        for (place, view) in self.views().iter().enumerate() {
            if let Some(entity) = view.segment.entity(name)? {
                located.push((place, entity));
            }
        }
        Ok(located)
    }

    /// The entity that has an ordinal in the segment at a place.
    pub(super) fn known(&self, place: usize, entity: u32) -> Result<Arc<Known>> {
        self.cache.known.get((place, entity), || {
            let view = self.views().get(place);
            let name = view.map_or(Ok(""), |view| view.segment.key(entity))?;
            let node = self.node_of(name)?.unwrap_or(Node::MAX);
            Ok(Arc::new(Known { node, located: self.located(name)? }))
        })
    }

    /// The same of a number.
    pub(super) fn located_node(&self, node: Node) -> Result<Located> {
        self.name_of(node)?.map_or(Ok(Vec::new()), |name| self.located(name))
    }

    /// The segments of an entity, with its ordinals there.
    pub(super) fn views_of<'s, 'l>(
        &'s self,
        located: &'l Located,
    ) -> impl Iterator<Item = (&'s View, u32)> + use<'s, 'l> {
        located.iter().filter_map(|&(place, entity)| Some((self.views().get(place)?, entity)))
    }

    /// How many chunks mention an entity.
    pub(super) fn df(&self, located: &Located) -> Result<u32> {
        let mut df = 0;
        for (view, entity) in self.views_of(located) {
            df += if view.deleted.is_empty() {
                view.segment.posting_count(entity)?
            } else {
                let postings = view.segment.postings(entity)?;
                postings.filter(|posting| view.is_live(posting.chunk)).count()
            };
        }
        Ok(u32::try_from(df).unwrap_or(u32::MAX))
    }

    /// The entity that a normalised name or alias stands for. An alias of several entities, and
    /// one that is a name, stands for none.
    fn resolve(&self, spelling: &str) -> Result<Option<Node>> {
        if self.df(&self.located(spelling)?)? > 0 {
            return self.node_of(spelling);
        }
        let mut owners: BTreeSet<&str> = BTreeSet::new();
        for view in self.views() {
            for entity in view.segment.aliased(spelling)? {
                if is_called(view, entity, spelling)? {
                    owners.insert(view.segment.key(entity)?);
                }
            }
        }
        match owners.first() {
            Some(owner) if owners.len() == 1 && !spelling.is_empty() => self.node_of(owner),
            _ => Ok(None),
        }
    }

    fn gazetteer(&self) -> Gazetteer<'_, impl Fn(&str) -> Result<Option<Node>> + '_> {
        let resolve = |spelling: &str| self.resolve(spelling);
        Gazetteer { views: self.views(), beginnings: &self.cache.beginnings, resolve }
    }

    fn read_aliases(&self, node: Node) -> Result<Vec<&str>> {
        let located = self.located_node(node)?;
        let mut aliases: BTreeSet<&str> = BTreeSet::new();
        for (view, entity) in self.views_of(&located) {
            for alias in view.segment.aliases(entity)? {
                let alias = view.segment.text(alias)?;
                if is_called(view, entity, alias)? {
                    aliases.insert(alias);
                }
            }
        }
        Ok(aliases.into_iter().collect())
    }

    /// The entities that a chunk mentions, by normalised name.
    fn named_by(&self, row: RowId) -> Result<Vec<Entity<'_>>> {
        let Some((place, view, chunk)) = self.chunk_at(row)? else { return Ok(Vec::new()) };
        let said = view.segment.said(chunk)?;
        let mut entities: Vec<u32> = said.mentions.iter().map(|mention| mention.key).collect();
        entities.sort_unstable();
        let read = |entity| {
            let Known { node, located } = &*self.known(place, entity)?;
            self.sum(*node, view.segment.key(entity)?, || Ok(Cow::Borrowed(located)))
        };
        entities.into_iter().filter_map(|entity| read(entity).transpose()).collect()
    }

    /// Where an entity is mentioned, in no order.
    fn mentions(&self, node: Node) -> Result<Vec<Mentioning>> {
        let located = self.located_node(node)?;
        let mut mentions = Vec::new();
        for (view, entity) in self.views_of(&located) {
            for posting in view.segment.postings(entity)? {
                if view.is_live(posting.chunk) {
                    let (row, tie) =
                        (view.segment.row(posting.chunk)?, view.segment.tie(posting.chunk)?);
                    mentions.push(Mentioning { row, tie, strength: posting.strength() });
                }
            }
        }
        Ok(mentions)
    }

    /// Sums up what the chunks that mention an entity say of it.
    fn tally(&self, located: &[(usize, u32)]) -> Result<Tally<'_>> {
        let mut tally = Tally::default();
        for &(place, entity) in located {
            let Some(view) = self.views().get(place) else { continue };
            let (mut names, mut labels) = (Votes::default(), Votes::default());
            for posting in view.segment.postings(entity)? {
                if view.is_live(posting.chunk) {
                    let Posting { name, label, confidence, is_above, .. } = posting;
                    tally.chunks = tally.chunks.saturating_add(1);
                    names.add(name, f64::from(confidence));
                    labels.add(label, f64::from(confidence));
                    if !is_above {
                        tally.mentioned += f64::from(confidence);
                    }
                }
            }
            for (name, weight) in names.0 {
                let what = view.segment.text(name)?;
                tally.names.add(Placed { what, at: (place, name) }, weight);
            }
            for (label, weight) in labels.0 {
                let what = view.segment.entity_type(label)?;
                tally.labels.add(Placed { what, at: (place, label) }, weight);
            }
        }
        Ok(tally)
    }
}

struct Mentioning {
    row: RowId,
    tie: u64,
    strength: f32,
}

/// What the chunks that mention an entity say of it. Sums are of f32 in f64: of up to 2²⁸ of them
/// they are exact, so that no order can be seen in them.
#[derive(Default)]
struct Tally<'a> {
    chunks: u32,
    mentioned: f64,
    names: Votes<Placed<&'a str>>,
    labels: Votes<Placed<&'a EntityType>>,
}

impl Tally<'_> {
    /// What is kept of it; none if no chunk counts.
    fn summed(&self) -> Option<Summed> {
        let name = self.names.heaviest(|a, b| a.what.cmp(b.what))?;
        let label = self.labels.heaviest(|a, b| a.what.cmp(b.what))?;
        #[expect(clippy::cast_possible_truncation, reason = "graphs are in f32")]
        let mentioned = self.mentioned as f32;
        Some(Summed { name: name.at, label: label.at, chunks: self.chunks, mentioned })
    }
}

/// Weights of the few things that chunks call an entity.
struct Votes<T>(Vec<(T, f64)>);

impl<T> Default for Votes<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + PartialEq> Votes<T> {
    #[inline]
    fn add(&mut self, what: T, weight: f64) {
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, sum)) => *sum += weight,
            None => self.0.push((what, weight)),
        }
    }

    /// What has the greatest weight; of equals the first.
    fn heaviest(&self, order: impl Fn(T, T) -> Ordering) -> Option<T> {
        let best = self.0.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(order(b.0, a.0)));
        best.map(|&(what, _)| what)
    }
}

/// Whether a chunk that counts calls an entity so.
fn is_called(view: &View, entity: u32, alias: &str) -> Result<bool> {
    if view.deleted.is_empty() {
        return Ok(true);
    }
    for posting in view.segment.postings(entity)? {
        if !view.is_live(posting.chunk) {
            continue;
        }
        for mention in view.segment.said(posting.chunk)?.mentions {
            if mention.key == entity {
                for called in mention.aliases {
                    if view.segment.text(called)? == alias {
                        return Ok(true);
                    }
                }
            }
        }
    }
    Ok(false)
}
