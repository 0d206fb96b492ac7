//! Names as the chunks write them that the filters let through: an entity is called after all
//! chunks that mention it, and what one of them calls it may stand in no other.

use std::collections::{BTreeMap, BTreeSet};

use trefoil_core::{Allowed, EntityId, KnownName, NameLookup, NamedEntity, Result, RowId};
use trefoil_graph::Node;
use trefoil_store::entity_id;
use trefoil_text::normalize_name;

use crate::{index::read_view::ReadView, state::State};

/// Most chunks that are read for what else an entity is called.
const READ: usize = 32;

impl State {
    /// The entities that some chunks mention, each as the first of them writes it.
    pub(crate) fn spelled_in(&self, rows: &[RowId]) -> Result<BTreeMap<EntityId, NamedEntity>> {
        let mut spelled = BTreeMap::new();
        for (_, extraction) in self.store.extractions(rows)? {
            for mention in extraction.mentions() {
                let id = entity_id(&mention.normalized_name)?;
                spelled.entry(id.clone()).or_insert_with(|| NamedEntity {
                    id,
                    name: mention.name.clone(),
                    entity_type: mention.entity_type.clone(),
                });
            }
        }
        Ok(spelled)
    }

    /// The names that the allowed chunks speak of; none where there are no filters, so that
    /// all names are known.
    pub(crate) fn names_within<'s>(
        &'s self,
        view: &'s ReadView,
        allowed: &Allowed,
    ) -> Option<Box<dyn NameLookup + 's>> {
        let Allowed::Only(_) = allowed else { return None };
        Some(Box::new(NamesWithin { state: self, view, allowed: allowed.clone() }))
    }
}

/// The names of the graph as far as allowed chunks use them.
#[derive(Debug)]
struct NamesWithin<'e> {
    state: &'e State,
    view: &'e ReadView,
    allowed: Allowed,
}

impl NamesWithin<'_> {
    /// What the allowed chunks call an entity.
    fn called(&self, node: Node) -> Result<BTreeSet<String>> {
        let Some(graph) = self.view.graph() else { return Ok(BTreeSet::new()) };
        let index = graph.index();
        let Some(key) = index.entity(node).map(|entity| entity.normalized_name) else {
            return Ok(BTreeSet::new());
        };
        let rows = index.chunks_of(node).filter(|&row| self.allowed.contains(row));
        let rows: Vec<RowId> = rows.take(READ).collect();
        let mut called = BTreeSet::new();
        for (_, extraction) in self.state.store.extractions(&rows)? {
            let said = extraction.mentions().iter().filter(|said| said.normalized_name == key);
            for mention in said {
                called.insert(mention.name.clone());
                called.extend(mention.aliases.iter().cloned());
            }
        }
        Ok(called)
    }
}

impl NameLookup for NamesWithin<'_> {
    fn names_at(&self, text: &str) -> Vec<KnownName> {
        let Some(graph) = self.view.graph() else { return Vec::new() };
        let index = graph.index();
        let known = index.starts(text).into_iter().filter_map(|(len, entity)| {
            // A store that cannot be read fails the search soon enough; no name is told.
            let mut called = self.called(entity.node).unwrap_or_default();
            let spelling = normalize_name(text.get(..len)?);
            let before = called.len();
            called.retain(|name| normalize_name(name) != spelling);
            let is_known = called.len() < before;
            is_known.then(|| KnownName { len, aliases: called.into_iter().collect() })
        });
        known.collect()
    }
}
