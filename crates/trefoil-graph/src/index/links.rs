//! How chunks are linked: by the entities that they share.

use std::sync::Arc;

use trefoil_core::{Allowed, Result, RowId};

use super::{GraphIndex, entity_cache::Known, frozen::specificity, snapshot::View};
use crate::segment::said::TITLE;

/// A chunk that is linked to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    pub(super) row: RowId,
    /// What orders it among equals.
    pub(super) tie: u64,
    /// How strongly, 0–1.
    pub(super) strength: f32,
}

/// An entity that a chunk mentions.
struct Shared {
    known: Arc<Known>,
    /// The square root of its specificity.
    root: f32,
    /// The weight of the mention.
    weight: f32,
}

impl GraphIndex {
    /// The chunks that share entities with the one at `row`, by row, with how strongly each
    /// is linked to it, 0–1: more for entities that few chunks mention, and for titles.
    ///
    /// L / (1 + L), where L is Σ over the shared entities of the product of the weights of both
    /// mentions.
    pub fn links(&self, row: RowId, allowed: &Allowed) -> Vec<(RowId, f32)> {
        let mut links = self.noted(self.linked(row, 0.0)).unwrap_or_default();
        links.retain(|one| allowed.contains(one.row));
        links.sort_unstable_by_key(|one| one.row);
        links.into_iter().map(|one| (one.row, one.strength)).collect()
    }

    /// How strongly the chunk at `from` mentions the subject of the one at `to`, 0–1: how specific
    /// the title of `to` is, if `from` mentions it and does not bear it itself.
    pub fn names(&self, from: RowId, to: RowId) -> f32 {
        self.noted(self.read_names(from, to)).unwrap_or_default()
    }

    fn read_names(&self, from: RowId, to: RowId) -> Result<f32> {
        let (Some((view, chunk)), Some((other, title))) = (self.chunk(from)?, self.chunk(to)?)
        else {
            return Ok(0.0);
        };
        let said = view.segment.said(chunk)?;
        let mut strongest = 0.0_f32;
        for subject in other.segment.said(title)?.mentions.iter().filter(|one| one.is_title) {
            let name = other.segment.key(subject.key)?;
            let Some(entity) = view.segment.entity(name)? else { continue };
            if said.mentions.iter().any(|one| one.key == entity && !one.is_title) {
                let df = self.df(&self.located(name)?)?;
                strongest = strongest.max(specificity(df, self.live));
            }
        }
        Ok(strongest)
    }

    /// The chunks that are linked to the one at `row` at least so strongly, in no order.
    ///
    /// Entities that so many chunks mention that they alone link nothing strongly enough lead to
    /// no chunk; they count for those that others lead to.
    pub(super) fn linked(&self, row: RowId, least: f32) -> Result<Vec<Link>> {
        let Some((own_place, own_view, own_chunk)) = self.chunk_at(row)? else {
            return Ok(Vec::new());
        };
        let mut mentions = own_view.segment.said(own_chunk)?.mentions;
        mentions.sort_unstable_by_key(|mention| mention.key);
        let mut shared = Vec::with_capacity(mentions.len());
        for mention in &mentions {
            let known = self.known(own_place, mention.key)?;
            let root = specificity(self.df(&known.located)?, self.live).sqrt();
            shared.push(Shared { known, root, weight: mention.strength() * root });
        }
        let leads = leading(&shared, least);
        let mut links = Vec::new();
        for (place, view) in self.views().iter().enumerate() {
            let products = products(view, place, &shared, &leads)?;
            for same in products.chunk_by(|a, b| a.0 == b.0) {
                let Some(&(chunk, ..)) = same.first() else { continue };
                let sum = same.iter().fold(0.0_f32, |sum, (.., product)| sum + product);
                let strength = sum / (1.0 + sum);
                let other = view.segment.row(chunk)?;
                if other != row && sum > 0.0 && strength >= least {
                    links.push(Link { row: other, tie: view.segment.tie(chunk)?, strength });
                }
            }
        }
        Ok(links)
    }
}

/// Which of the shared entities lead to chunks: all but the most common ones, as long as these
/// together link nothing as strongly as `least`.
fn leading(shared: &[Shared], least: f32) -> Vec<bool> {
    // A little less, for sums are rounded.
    let bar = 0.999 * least / (1.0 - least);
    let mut bounds: Vec<(f32, usize)> =
        shared.iter().map(|one| one.weight * TITLE * one.root).zip(0..).collect();
    bounds.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut leads = vec![true; shared.len()];
    let mut sum = 0.0;
    for (bound, place) in bounds {
        sum += bound;
        if sum >= bar {
            break;
        }
        if let Some(leads) = leads.get_mut(place) {
            *leads = false;
        }
    }
    leads
}

/// The products of the weights of both mentions in the chunks of a segment that count and that a
/// leading entity leads to: chunk, place of the entity and product, ascending.
fn products(
    view: &View,
    place: usize,
    shared: &[Shared],
    leads: &[bool],
) -> Result<Vec<(u32, usize, f32)>> {
    let of = |one: &Shared| {
        one.known.located.iter().find(|(at, _)| *at == place).map(|&(_, entity)| entity)
    };
    let mut products: Vec<(u32, usize, f32)> = Vec::new();
    let mut others: Vec<(usize, u32, &Shared)> = Vec::new();
    for ((order, one), leads) in shared.iter().enumerate().zip(leads) {
        let Some(entity) = of(one) else { continue };
        if *leads {
            let postings = view.segment.postings(entity)?;
            let live = postings.filter(|posting| view.is_live(posting.chunk));
            let product = |strength: f32| one.weight * (strength * one.root);
            products
                .extend(live.map(|posting| (posting.chunk, order, product(posting.strength()))));
        } else {
            others.push((order, entity, one));
        }
    }
    products.sort_unstable_by_key(|&(chunk, order, _)| (chunk, order));
    if others.is_empty() {
        return Ok(products);
    }
    let mut reached: Vec<u32> = products.iter().map(|&(chunk, ..)| chunk).collect();
    reached.dedup();
    for (order, entity, one) in others {
        for &chunk in &reached {
            if let Some(posting) = view.segment.posting(entity, chunk)? {
                products.push((chunk, order, one.weight * (posting.strength() * one.root)));
            }
        }
    }
    products.sort_unstable_by_key(|&(chunk, order, _)| (chunk, order));
    Ok(products)
}
