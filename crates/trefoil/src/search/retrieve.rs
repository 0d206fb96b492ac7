//! Asking of the retrievers: those that search by themselves run at the same time, then those that
//! go on from what they found.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use trefoil_core::{
    Allowed, Deadline, Error, Fused, Part, Plan, PlannedRetriever, Question, RankedList, Result,
    Retriever, RetrieverId, RowSet, SearchResultItem, SeedContext,
};

use crate::{
    background::catch_panics,
    graph::relationships::Relationships,
    index::collection::term_coverage,
    search::{fusion::fuser, pool},
};

/// What the retrievers gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retrieved {
    pub(crate) lists: Vec<RankedList>,
    /// The paths between the entities of a question about a relationship.
    pub(crate) relationships: Relationships,
    /// Results that are no passages, best first: the communities that a question about the whole
    /// is about, and the entities that it names.
    pub(crate) others: Vec<SearchResultItem>,
}

impl Retrieved {
    /// One list of all; empty if no retriever gave one.
    pub(crate) fn fused(&self, plan: &Plan) -> Result<Vec<Fused>> {
        if self.lists.is_empty() {
            return Ok(Vec::new());
        }
        fuser(plan).fuse(&plan.retrievers, &self.lists)
    }
}

/// What a retriever gave, and how long it took.
pub(crate) type Outcome = (RetrieverId, Duration, Result<RankedList>);

/// A planned retriever, and what runs it.
#[derive(Clone, Copy)]
struct Runner<'a> {
    planned: &'a PlannedRetriever,
    retriever: &'a Arc<dyn Retriever>,
}

/// Runs the planned retrievers that go on from what others found, and adds what they give.
pub(crate) fn run_after(
    mut outcomes: Vec<Outcome>,
    retrievers: &[Arc<dyn Retriever>],
    plan: &Plan,
    allowed: &Allowed,
    relationships: &Relationships,
    deadline: &Deadline,
) -> Vec<Outcome> {
    for runner in runners(retrievers, plan).filter(|one| !one.planned.after.is_empty()) {
        let start = Instant::now();
        let is_before = |id: &RetrieverId| runner.planned.after.contains(id);
        let before = outcomes.iter().filter(|(id, ..)| is_before(id));
        let lists: Vec<RankedList> =
            before.filter_map(|(.., outcome)| outcome.as_ref().ok()).cloned().collect();
        let expand = || {
            in_time(deadline)?;
            runner.expand(retrievers, plan, allowed, relationships, &lists)
        };
        let list =
            catch_panics(&called(runner.planned.id), expand).map(|list| within(list, allowed));
        outcomes.push((runner.planned.id, start.elapsed(), list));
    }
    outcomes
}

/// Runs the planned retrievers that search by themselves, all at the same time.
pub(crate) fn run_independent(
    retrievers: &[Arc<dyn Retriever>],
    plan: &Plan,
    allowed: &Allowed,
    deadline: &Deadline,
) -> Vec<Outcome> {
    let runners: Vec<Runner<'_>> =
        runners(retrievers, plan).filter(|one| one.planned.after.is_empty()).collect();
    // The first runs on this thread.
    let Some((first, others)) = runners.split_first() else { return Vec::new() };
    let question = Arc::new(plan.question.clone());
    let work = |runner: &Runner<'_>| {
        let (retriever, depth) = (Arc::clone(runner.retriever), runner.planned.depth);
        let (question, allowed) = (Arc::clone(&question), allowed.clone());
        let deadline = deadline.clone();
        move || run(retriever.as_ref(), depth, &question, &allowed, &deadline)
    };
    let (first, found) = pool::join(work(first), others.iter().map(work));
    let rest = others.iter().zip(found).map(|(runner, found)| {
        found.unwrap_or_else(|| {
            let id = runner.planned.id;
            let panicked = Error::backend(Part::Index(id), "answer", "the retriever panicked");
            (id, Duration::ZERO, Err(panicked))
        })
    });
    std::iter::once(first).chain(rest).collect()
}

fn run(
    retriever: &dyn Retriever,
    depth: usize,
    question: &Question,
    allowed: &Allowed,
    deadline: &Deadline,
) -> Outcome {
    let start = Instant::now();
    let id = retriever.id();
    let retrieve = || {
        in_time(deadline)?;
        retriever.retrieve(question, depth, allowed)
    };
    let list = catch_panics(&called(id), retrieve);
    (id, start.elapsed(), list.map(|list| within(list, allowed)))
}

/// A retriever that has not begun by the end of the search does not.
fn in_time(deadline: &Deadline) -> Result<()> {
    if deadline.has_passed() { Err(Error::TimedOut) } else { Ok(()) }
}

fn runners<'a>(
    retrievers: &'a [Arc<dyn Retriever>],
    plan: &'a Plan,
) -> impl Iterator<Item = Runner<'a>> {
    plan.retrievers.iter().filter_map(|planned| {
        let retriever = retrievers.iter().find(|one| one.id() == planned.id)?;
        Some(Runner { planned, retriever })
    })
}

impl Runner<'_> {
    fn retrieve(self, plan: &Plan, allowed: &Allowed) -> Result<RankedList> {
        self.retriever.retrieve(&plan.question, self.planned.depth, allowed)
    }

    /// Goes on from the others' lists. Where they found nothing, it is asked by itself, and has
    /// the weight that is stated for it.
    fn expand(
        self,
        retrievers: &[Arc<dyn Retriever>],
        plan: &Plan,
        allowed: &Allowed,
        relationships: &Relationships,
        lists: &[RankedList],
    ) -> Result<RankedList> {
        let seeds = if lists.is_empty() {
            Vec::new()
        } else {
            fuser(plan).fuse(&plan.retrievers, lists)?
        };
        if seeds.is_empty() {
            return Ok(self.retrieve(plan, allowed)?.with_confidence(1.0));
        }
        let (question, depth) = (&plan.question, self.planned.depth);
        let coverage = |rows: &RowSet| term_coverage(retrievers, question, rows);
        let context = SeedContext { question, depth, allowed, seeds: &seeds, coverage: &coverage };
        let list = self.retriever.expand(&context)?;
        if list.retriever() != Relationships::RETRIEVER {
            return Ok(list);
        }
        let paths = relationships.list(&seeds);
        let surest = list.confidence().max(paths.confidence());
        Ok(list.joined(&paths).truncated(depth).with_confidence(surest))
    }
}

/// What errors call a retriever.
fn called(id: RetrieverId) -> String {
    format!("the {id} retriever")
}

/// Filters hold for every retriever, also for one that forgets them.
fn within(list: RankedList, allowed: &Allowed) -> RankedList {
    if list.hits().iter().all(|hit| allowed.contains(hit.row)) {
        return list;
    }
    let hits = list.hits().iter().filter(|hit| allowed.contains(hit.row)).copied();
    RankedList::new(list.retriever(), hits.collect())
}
