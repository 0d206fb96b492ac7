//! What the graph says to a question in addition to its list: paths, communities and entities.

use std::cmp::Reverse;

use trefoil_core::{Allowed, Degraded, IndexInput, Plan, Result, SearchQuery, SearchResultItem};

use crate::{
    background::catch_panics, default_set::stage_fed_by, graph::relationships::Relationships,
    index::read_view::ReadView, state::State,
};

/// What the graph says.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// The paths between the entities of the question.
    pub(crate) relationships: Relationships,
    /// The results that are no passages, best first.
    pub(crate) others: Vec<SearchResultItem>,
    /// What failed: it is not worth a search that fails.
    pub(crate) degraded: Vec<Degraded>,
}

/// Asks the graph what else it says to a question.
pub(crate) fn answers(
    state: &State,
    view: &ReadView,
    query: &SearchQuery,
    plan: &Plan,
    allowed: &Allowed,
) -> Answers {
    let mut degraded = Vec::new();
    let relationships = catch_panics("the graph", || state.relationships(view, plan, allowed));
    let mut words_only = Vec::new();
    let communities =
        catch_panics("the graph", || state.overview(view, query, plan, allowed, &mut words_only));
    let entities = catch_panics("the graph", || state.entities(view, query, plan, allowed));
    let relationships = or_default(relationships, &mut degraded);
    let mut others = or_default(communities, &mut degraded);
    others.extend(or_default(entities, &mut degraded));
    // The sort is stable: each of the two falls in score.
    others.sort_by_key(|item| Reverse(item.score));
    degraded.extend(words_only);
    Answers { relationships, others, degraded }
}

fn or_default<T: Default>(found: Result<T>, degraded: &mut Vec<Degraded>) -> T {
    found.unwrap_or_else(|error| {
        let stage = stage_fed_by(IndexInput::Extraction);
        degraded.push(Degraded { stage, reason: error.chain() });
        T::default()
    })
}
