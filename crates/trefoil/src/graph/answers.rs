//! What the graph says to a question in addition to its list: paths, communities and entities.

use std::cmp::Reverse;

use trefoil_core::{
    Allowed, Degraded, Error, IndexInput, Plan, Result, SearchQuery, SearchResultItem,
};

use crate::{
    background::catch_panics, default_set::stage_fed_by, graph::relationships::Relationships,
    index::read_view::ReadView, state::State,
};

/// The paths between the entities of the question, and the results that are no passages, best
/// first. What fails is named in `degraded`: it is not worth a search that fails.
pub(crate) fn answers(
    state: &State,
    view: &ReadView,
    query: &SearchQuery,
    plan: &Plan,
    allowed: &Allowed,
    degraded: &mut Vec<Degraded>,
) -> (Relationships, Vec<SearchResultItem>) {
    let mut failed = |error: Error| {
        let stage = stage_fed_by(IndexInput::Extraction);
        degraded.push(Degraded { stage, reason: error.chain() });
    };
    let relationships = catch_panics("the graph", || state.relationships(view, plan, allowed));
    let relationships = relationships.unwrap_or_else(|error| {
        failed(error);
        Relationships::default()
    });
    let mut words_only = Vec::new();
    let communities =
        catch_panics("the graph", || state.overview(view, query, plan, allowed, &mut words_only));
    let entities = catch_panics("the graph", || state.entities(view, query, plan, allowed));
    let mut or_failed = |items: Result<Vec<SearchResultItem>>| {
        items.unwrap_or_else(|error| {
            failed(error);
            Vec::new()
        })
    };
    let mut others = or_failed(communities);
    others.extend(or_failed(entities));
    // The sort is stable: each of the two falls in score.
    others.sort_by_key(|item| Reverse(item.score));
    degraded.extend(words_only);
    (relationships, others)
}
