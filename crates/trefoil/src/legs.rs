//! Asking of the legs: those that search beside each other, and the one that goes on from what
//! they found.

use std::{
    iter,
    sync::Arc,
    time::{Duration, Instant},
};

use trefoil_core::{
    Allowed, Degraded, Error, Fused, HeldTerms, Leg, Part, Plan, Question, RankedList, Result,
    Retriever, RowSet, SearchResultItem, Strategy, StrategyMetrics, Trail,
};

use crate::{background::caught, beside::beside, fuse::fuser, relationships::Relationships};

/// What the legs gave.
#[derive(Debug, Default)]
pub(crate) struct Legs {
    pub(crate) lists: Vec<RankedList>,
    pub(crate) metrics: StrategyMetrics,
    /// How the entities of a question about a relationship hang together.
    pub(crate) relationships: Relationships,
    /// The communities that a question about the whole is about and the entities that it names,
    /// best first: results that are no passages.
    pub(crate) others: Vec<SearchResultItem>,
    /// How many of the fused passages were reranked.
    pub(crate) reranked: usize,
    /// How many passages were read for each of the repairs that were tried.
    pub(crate) repairs: Vec<usize>,
    pub(crate) degraded: Vec<Degraded>,
    /// What the filters let through.
    pub(crate) allowed: Allowed,
}

impl Legs {
    /// One list of all; empty if no retriever gave one.
    pub(crate) fn fused(&self, plan: &Plan) -> Result<Vec<Fused>> {
        if self.lists.is_empty() {
            return Ok(Vec::new());
        }
        fuser(plan).fuse(&plan.legs, &self.lists)
    }
}

/// What a leg gave, and how long it took.
pub(crate) type Outcome = (Strategy, Duration, Result<RankedList>);

/// Runs the legs beside each other, and then the one that goes on from what they found.
pub(crate) fn run_legs(
    retrievers: &[Arc<dyn Retriever>],
    plan: &Plan,
    allowed: &Allowed,
    relationships: &Relationships,
) -> Vec<Outcome> {
    let mut outcomes = run_beside(retrievers, plan, allowed);
    let behind = plan.legs.iter().find(|leg| follows(plan, leg));
    if let Some((leg, retriever)) = behind.and_then(|leg| with_retriever(retrievers, leg)) {
        let start = Instant::now();
        let lists = outcomes.iter().filter_map(|(.., outcome)| outcome.as_ref().ok()).cloned();
        let lists: Vec<RankedList> = lists.collect();
        let run = || run_behind(retrievers, retriever, leg, plan, allowed, relationships, &lists);
        let list = caught(&retriever_of(leg), run);
        let list = list.map(|list| within(list, allowed));
        outcomes.push((leg.strategy, start.elapsed(), list));
    }
    outcomes
}

/// True for a leg that is asked after the others.
fn follows(plan: &Plan, leg: &Leg) -> bool {
    leg.strategy == Strategy::Graph && plan.legs.len() > 1
}

/// Asks a leg to go on from the others' lists; as it is, where they found nothing.
fn run_behind(
    retrievers: &[Arc<dyn Retriever>],
    retriever: &dyn Retriever,
    leg: &Leg,
    plan: &Plan,
    allowed: &Allowed,
    relationships: &Relationships,
    lists: &[RankedList],
) -> Result<RankedList> {
    let found = if lists.is_empty() { Vec::new() } else { fuser(plan).fuse(&plan.legs, lists)? };
    if found.is_empty() {
        return retriever.retrieve(&plan.question, leg, allowed);
    }
    let terms = |rows: &RowSet| held_terms(retrievers, &plan.question, rows);
    let question = &plan.question;
    let trail = Trail { question, leg, allowed, found: &found, terms: &terms };
    Ok(retriever.follow(&trail)?.joined(&relationships.list(&found)).truncated(leg.depth))
}

pub(crate) fn held_terms(
    retrievers: &[Arc<dyn Retriever>],
    question: &Question,
    rows: &RowSet,
) -> Result<HeldTerms> {
    let keyword = retrievers.iter().find(|one| one.strategy() == Strategy::Keyword);
    keyword.map_or_else(|| Ok(HeldTerms::default()), |one| one.held_terms(question, rows))
}

/// Filters hold on every leg, also on one that forgets them.
fn within(list: RankedList, allowed: &Allowed) -> RankedList {
    if list.hits().iter().all(|hit| allowed.contains(hit.row)) {
        return list;
    }
    let hits = list.hits().iter().filter(|hit| allowed.contains(hit.row)).copied();
    RankedList::new(list.strategy(), hits.collect())
}

fn with_retriever<'a>(
    retrievers: &'a [Arc<dyn Retriever>],
    leg: &'a Leg,
) -> Option<(&'a Leg, &'a dyn Retriever)> {
    let retriever = retrievers.iter().find(|one| one.strategy() == leg.strategy)?;
    Some((leg, retriever.as_ref()))
}

/// What a retriever is called where it panics.
fn retriever_of(leg: &Leg) -> String {
    format!("the {} retriever", leg.strategy)
}

pub(crate) fn run_beside(
    retrievers: &[Arc<dyn Retriever>],
    plan: &Plan,
    allowed: &Allowed,
) -> Vec<Outcome> {
    let run = &|leg: &Leg, retriever: &dyn Retriever| {
        let start = Instant::now();
        let retrieve = || retriever.retrieve(&plan.question, leg, allowed);
        let list = caught(&retriever_of(leg), retrieve);
        (leg.strategy, start.elapsed(), list.map(|list| within(list, allowed)))
    };
    let legs = plan.legs.iter().filter(|leg| !follows(plan, leg));
    let pairs: Vec<_> = legs.filter_map(|leg| with_retriever(retrievers, leg)).collect();
    // The first leg runs on this thread, the others beside it.
    let Some((&(leg, retriever), others)) = pairs.split_first() else { return Vec::new() };
    let run_others = others.iter().map(|&(leg, retriever)| move || run(leg, retriever));
    let (first, found) = beside(|| run(leg, retriever), run_others);
    let rest = others.iter().zip(found).map(|(&(leg, _), found)| {
        found.unwrap_or_else(|| {
            let part = Part::Index(leg.strategy);
            let panicked = Error::backend(part, "answer", "the leg panicked");
            (leg.strategy, Duration::ZERO, Err(panicked))
        })
    });
    iter::once(first).chain(rest).collect()
}
