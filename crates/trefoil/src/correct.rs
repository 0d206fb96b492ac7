//! Passages to graded passages: what is found is graded and, where it is weak, looked
//! for once more (CRAG, Yan et al., 2024).

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use trefoil_core::{
    Allowed, Correction, CorrectionOutcome, CragAction, CragBasis, CragPlan, CragRelevance,
    CragReport, CragScore, Degraded, Fused, Hit, Passage, Plan, Ranked, RankedList, RerankPlan,
    Result, RetrieverHit, RowId, RowSet, Score, SearchFilters, SearchQuery, Stage, WebPage,
};

use crate::{
    Engine, GradeThresholds, IncorrectPolicy, JUDGED,
    background::catch_panics,
    fuse::fuser,
    refine::Refinement,
    repair::{Candidates, Found, only},
    rerank::{Added, Read, read, reader, rerank_more},
    retrieve::Retrieved,
};

/// Fewer passages that may answer than this, and the web is asked.
const ENOUGH: usize = 3;

/// The passages of a search after grading, in their order.
#[derive(Debug)]
pub(crate) struct Graded {
    pub(crate) passages: Vec<GradedPassage>,
    /// Candidates that pass the filters, read or not.
    pub(crate) total: usize,
    /// What was found and dropped.
    pub(crate) dropped: RowSet,
    /// The best score that a reranker gave, also to what was dropped.
    pub(crate) best_read: Option<Score>,
    /// What grading found and did, where it was asked for.
    pub(crate) report: Option<CragReport>,
}

/// A passage and what grading says of it.
#[derive(Debug)]
pub(crate) struct GradedPassage {
    pub(crate) ranked: Ranked,
    pub(crate) grade: Option<CragScore>,
    /// The sentences that matter, where they were picked out.
    pub(crate) summary: Option<String>,
}

impl Engine {
    /// Grades `ranked` if the plan asks for it: repairs what is weak, with each of the
    /// planned repairs at most once, drops what does not answer, picks out sentences, and
    /// asks the web where too little is left.
    pub(crate) fn correct(
        &self,
        query: &SearchQuery,
        plan: &Plan,
        allowed: &Allowed,
        ranked: Vec<Ranked>,
        total: usize,
        retrievers: &mut Retrieved,
    ) -> Graded {
        let Some(crag) = &plan.crag else {
            let best_read = best_read(&ranked);
            let (passages, dropped) = (ungraded(ranked), RowSet::default());
            return Graded { passages, total, dropped, best_read, report: None };
        };
        let deadline = crag.budget.map(|budget| Instant::now() + budget);
        let thresholds = self.thresholds(&plan.question.text, &ranked);
        let evidence = Findings::new(thresholds, retrievers.lists.clone(), ranked, total);
        let search = Search { plan, crag, filters: &query.filters, allowed, deadline, limit: None };
        let (evidence, repairs, rewrite) = self.repaired(search, evidence, retrievers);
        let found = repairs.iter().any(|one| one.found > 0);
        let mut actions = Vec::from_iter(found.then_some(CragAction::Expand));
        let Findings { ranked, total, grade, basis, thresholds, .. } = evidence;
        let score = CragScore { refined_query: rewrite, ..grade };

        let config = &self.inner().config.crag;
        let best_read = best_read(&ranked);
        let mut passages = graded(&thresholds, ranked);
        let row = |one: &GradedPassage| one.ranked.passage.chunk.row;
        let mut dropped: RowSet = passages.iter().map(row).collect();
        match (score.relevance, config.incorrect) {
            (CragRelevance::Correct, _) => actions.push(CragAction::Keep),
            (CragRelevance::Ambiguous, _) => {
                // What nobody read in a list that was read is no evidence against itself: its
                // score is capped by what stands above it.
                let unread =
                    |one: &GradedPassage| best_read.is_some() && one.ranked.rerank.is_none();
                passages.retain(|one| unread(one) || one.ranked.evidence() >= thresholds.keep);
            }
            (CragRelevance::Incorrect, IncorrectPolicy::Drop) => passages.clear(),
            (CragRelevance::Incorrect, IncorrectPolicy::Annotate) => {}
        }
        for one in &passages {
            dropped.remove(row(one));
        }
        if !dropped.is_empty() {
            actions.push(CragAction::Discard);
        }
        let refines = match score.relevance {
            CragRelevance::Correct => config.refine_correct,
            CragRelevance::Ambiguous => true,
            CragRelevance::Incorrect => false,
        };
        if refines && !passages.is_empty() {
            self.refine(search, &mut passages);
            actions.push(CragAction::Refine);
        }
        let good = passages.iter().filter(|one| one.ranked.evidence() >= thresholds.keep).count();
        let mut web = Vec::new();
        if score.needs_web_search && good < ENOUGH && self.inner().config.web.is_some() {
            actions.push(CragAction::WebSearch);
            web = self.ask_the_web(plan, &mut retrievers.degraded);
        }
        let report = Some(CragReport { score, basis, actions, repairs, web });
        Graded { passages, total, dropped, best_read, report }
    }

    /// Where the grades begin of a list, by who read its first passages.
    pub(crate) fn thresholds(&self, question: &str, ranked: &[Ranked]) -> GradeThresholds {
        let graded = ranked.get(..JUDGED).unwrap_or(ranked);
        let read_by = (!graded.is_empty())
            .then(|| reader(self.inner().rerankers(), question, graded.iter()))
            .flatten();
        self.inner().config.thresholds(read_by.map(trefoil_core::Reranker::model))
    }

    /// The name of the reranker that reads a question of this text, and so passages in its
    /// language; none if none does.
    pub fn reranker_of(&self, question: &str) -> Option<&str> {
        let rerankers = &self.inner().rerankers().rerankers;
        rerankers.iter().find(|one| one.reads(question)).map(|one| one.model())
    }

    /// Tries the planned repairs in order while the evidence is not correct. What makes
    /// it worse is taken back; what fails is reported and left out.
    fn repaired(
        &self,
        search: Search<'_>,
        mut evidence: Findings,
        retrievers: &mut Retrieved,
    ) -> (Findings, Vec<CorrectionOutcome>, Option<String>) {
        let (mut repairs, mut rewrite) = (Vec::new(), None);
        // Each is tried once: as many rounds as there are repairs, at most. A later page tries
        // those that the first did.
        let before = search.plan.cursor.as_ref().map(|cursor| cursor.repairs.as_slice());
        let most = before.map_or(usize::MAX, <[usize]>::len);
        for (place, &repair) in search.crag.repairs.iter().enumerate().take(most) {
            if evidence.grade.relevance == CragRelevance::Correct || search.is_late() {
                break;
            }
            let limit = before.and_then(|read| read.get(place).copied());
            let tried = self.try_repair(Search { limit, ..search }, repair, &evidence);
            let read = tried.as_ref().ok().and_then(|(_, more)| Some(more.as_ref()?.read));
            retrievers.repairs.push(read.unwrap_or_default());
            match tried {
                Ok((candidates, more)) => {
                    let kept = more.filter(|more| more.is_no_worse_than(&evidence));
                    let found = candidates.rows.len();
                    repairs.push(CorrectionOutcome { repair, found, kept: kept.is_some() });
                    if let Some(more) = kept {
                        let helped = more.gain > evidence.gain;
                        rewrite = candidates.rewrite.filter(|_| helped).or(rewrite);
                        evidence = more;
                    }
                }
                Err(error) => {
                    let reason = format!("{} — {}", repair.name(), error.chain());
                    retrievers.degraded.push(Degraded { stage: Stage::Grade, reason });
                }
            }
        }
        (evidence, repairs, rewrite)
    }

    /// Looks for more with one repair, and takes what it finds through the stages that
    /// the first list went through: retrievers, fusion, passages, reading, grade.
    fn try_repair(
        &self,
        search: Search<'_>,
        repair: Correction,
        evidence: &Findings,
    ) -> Result<(Candidates, Option<Findings>)> {
        let Search { plan, crag, filters, allowed, .. } = search;
        let Findings { lists, ranked, .. } = evidence;
        let most = crag.candidates;
        let found = Found { plan, filters, allowed, lists, ranked, most };
        let candidates = self.candidates(repair, found)?;
        if candidates.rows.is_empty() {
            return Ok((candidates, None));
        }
        let mut heard = self.lists(plan, &only(&candidates.rows))?;
        heard.extend(candidates.list.clone());
        let lists = joined(lists.clone(), &heard);
        let mut repaired = evidence.repaired.clone();
        for &row in &candidates.rows {
            repaired.insert(row);
        }
        let fused = complete(fuser(plan).fuse(&plan.retrievers, &lists)?, &lists, &repaired);
        let all = fused.len();
        let fused = shortlist(fused, plan.candidates, &repaired);
        let unread = all - fused.len();
        let wider = Plan { candidates: fused.len(), ..plan.clone() };
        let found = self.read(&wider, filters, fused)?;
        let Added { ranked, anew, read } =
            self.rerank_more(search, found.passages, ranked, &repaired);
        let thresholds = self.thresholds(&plan.question.text, &ranked);
        let more = Findings::new(thresholds, lists, ranked, found.total + unread);
        Ok((candidates, Some(Findings { repaired, anew, read, ..more })))
    }

    /// The passages in their order, those of repairs read like the others.
    fn rerank_more(
        &self,
        search: Search<'_>,
        passages: Vec<Passage>,
        before: &[Ranked],
        repaired: &RowSet,
    ) -> Added {
        let scores: BTreeMap<RowId, Score> =
            before.iter().filter_map(|one| Some((one.passage.chunk.row, one.rerank?))).collect();
        let plan = search.rerank();
        let question = &search.plan.question.text;
        let names = &self.mention_strength(search.plan);
        let read = Read { scores, repaired, names };
        rerank_more(self.inner().rerankers(), plan.as_ref(), question, passages, read)
    }

    /// Picks the sentences that matter out of the first passages.
    fn refine(&self, search: Search<'_>, passages: &mut [GradedPassage]) {
        let config = &self.inner().config.crag;
        let refinement = Refinement {
            analyzer: self.inner().analyzer(),
            question: &search.plan.question,
            bar: config.strip_bar,
            most: config.strips,
        };
        let question = &search.plan.question.text;
        let graded = passages.iter().take(JUDGED).map(|one| &one.ranked);
        let rerank = search.rerank().filter(|_| !search.is_late());
        let reader = reader(self.inner().rerankers(), question, graded.clone());
        let summaries = refinement.summaries(graded, |strips| match (reader, rerank) {
            (Some(reader), Some(plan)) => {
                let first = strips.get(..config.read_strips).unwrap_or(strips);
                read(reader, &plan, question, first).0
            }
            _ => Vec::new(),
        });
        for (one, summary) in passages.iter_mut().zip(summaries) {
            one.summary = summary;
        }
    }

    /// What the web says to the question as it was asked: no word of the corpus leaves.
    fn ask_the_web(&self, plan: &Plan, degraded: &mut Vec<Degraded>) -> Vec<WebPage> {
        let config = &self.inner().config;
        let Some(web) = &config.web else { return Vec::new() };
        let question = &plan.question;
        let ask = || web.search(&question.text, question.language, config.crag.web_pages);
        match catch_panics("the web search", ask) {
            Ok(pages) => pages.into_iter().take(config.crag.web_pages).collect(),
            Err(error) => {
                degraded.push(Degraded { stage: Stage::Web, reason: error.chain() });
                Vec::new()
            }
        }
    }
}

/// What every repair of one search shares.
#[derive(Clone, Copy, Debug)]
struct Search<'a> {
    plan: &'a Plan,
    crag: &'a CragPlan,
    filters: &'a SearchFilters,
    allowed: &'a Allowed,
    deadline: Option<Instant>,
    /// How many passages are read, as many as the first page did.
    limit: Option<usize>,
}

impl Search<'_> {
    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Reading as planned, in the time that is left.
    fn rerank(&self) -> Option<RerankPlan> {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        let budget: Option<Duration> = self.deadline.map(left);
        self.plan.rerank.clone().map(|plan| RerankPlan { budget, limit: self.limit, ..plan })
    }
}

/// What is found so far, and its grade.
#[derive(Debug)]
struct Findings {
    lists: Vec<RankedList>,
    ranked: Vec<Ranked>,
    total: usize,
    /// Rows that repairs found.
    repaired: RowSet,
    /// Whether another reranker than before gave the scores.
    anew: bool,
    /// How many passages the last repair read.
    read: usize,
    grade: CragScore,
    /// Where its grades begin.
    thresholds: GradeThresholds,
    basis: CragBasis,
    /// Σ score/rank of the graded passages: unlike their mean it does not fall when weak
    /// passages come after good ones.
    gain: f32,
}

impl Findings {
    fn new(
        thresholds: GradeThresholds,
        lists: Vec<RankedList>,
        ranked: Vec<Ranked>,
        total: usize,
    ) -> Self {
        let graded = ranked.get(..JUDGED).unwrap_or(&ranked);
        let scores: Vec<Score> = graded.iter().map(Ranked::evidence).collect();
        let read = !graded.is_empty() && graded.iter().all(|one| one.rerank.is_some());
        let gain = scores.iter().zip(1_u8..).map(|(score, i)| score.get() / f32::from(i)).sum();
        Self {
            grade: thresholds.overall(&scores),
            thresholds,
            basis: if read { CragBasis::Rerank } else { CragBasis::Retrieved },
            gain,
            lists,
            ranked,
            total,
            repaired: RowSet::default(),
            anew: false,
            read: 0,
        }
    }

    /// True if neither verdict nor gain is worse. The scores of two rerankers, or of one
    /// and the retrievers, do not compare: then the verdict has to be better.
    fn is_no_worse_than(&self, before: &Self) -> bool {
        if before.ranked.is_empty() {
            return true;
        }
        if self.anew || self.basis != before.basis {
            return self.grade.relevance < before.grade.relevance;
        }
        self.grade.relevance <= before.grade.relevance && self.gain >= before.gain
    }
}

/// `lists` with the hits of `heard`, each in the list of its retriever.
fn joined(mut lists: Vec<RankedList>, heard: &[RankedList]) -> Vec<RankedList> {
    for more in heard.iter().filter(|more| !more.hits().is_empty()) {
        match lists.iter_mut().find(|list| list.retriever() == more.retriever()) {
            Some(list) => *list = list.clone().joined(more),
            None => lists.push(more.clone()),
        }
    }
    lists
}

/// The fused list with what repairs found and fusion left out, at its end: a retriever that
/// knows little about a question, and so weighs nothing, may be the only one to know a row.
fn complete(mut fused: Vec<Fused>, lists: &[RankedList], repaired: &RowSet) -> Vec<Fused> {
    let held: RowSet = fused.iter().map(|hit| hit.row).collect();
    let hit = |list: &RankedList, row| {
        let (rank, hit) = (1..).zip(list.hits()).find(|(_, hit)| hit.row == row)?;
        let Hit { raw_score, relevance, .. } = *hit;
        Some(RetrieverHit { retriever: list.retriever(), rank, raw_score, relevance })
    };
    for row in repaired.iter().filter(|&row| !held.contains(row)) {
        let hits = lists.iter().filter_map(|list| hit(list, row)).collect();
        fused.push(Fused { row, combined: Score::ZERO, hits });
    }
    fused
}

/// The first `candidates` of what the retrievers found and all that repairs found.
fn shortlist(fused: Vec<Fused>, candidates: usize, repaired: &RowSet) -> Vec<Fused> {
    let mut left = candidates;
    fused
        .into_iter()
        .filter(|hit| {
            let stays = left > 0 || repaired.contains(hit.row);
            if !repaired.contains(hit.row) {
                left = left.saturating_sub(1);
            }
            stays
        })
        .collect()
}

fn best_read(ranked: &[Ranked]) -> Option<Score> {
    ranked.iter().filter_map(|one| one.rerank).max()
}

fn ungraded(ranked: Vec<Ranked>) -> Vec<GradedPassage> {
    let graded = |ranked| GradedPassage { ranked, grade: None, summary: None };
    ranked.into_iter().map(graded).collect()
}

fn graded(thresholds: &GradeThresholds, ranked: Vec<Ranked>) -> Vec<GradedPassage> {
    let mut passages = ungraded(ranked);
    for one in &mut passages {
        one.grade = Some(thresholds.passage(one.ranked.evidence()));
    }
    passages
}
