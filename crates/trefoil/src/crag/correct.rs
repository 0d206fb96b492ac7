//! Passages to graded passages: what is found is graded and, where it is weak, looked
//! for once more (CRAG, Yan et al., 2024).

use std::collections::BTreeMap;

use trefoil_core::{
    Allowed, Correction, CorrectionOutcome, CragAction, CragBasis, CragPlan, CragRelevance,
    CragReport, CragScore, Deadline, Fused, Passage, Plan, Ranked, RankedList, RerankPlan, Result,
    RowId, RowSet, Score, SearchFilters, Stage, WebPage,
};

use crate::{
    background::catch_panics,
    crag::{
        config::IncorrectPolicy,
        expand::{Candidates, CorrectionInput, only},
        grade::{GradeThresholds, JUDGED},
        refine::Refinement,
    },
    search::{
        diagnostics::Diagnostics,
        fusion::fuser,
        graded::{Graded, GradedPassage, best_read},
        rerank::{Added, Known, Read, Reading, TIME_IS_UP, able_reader, reader, rerank_more},
        searcher::{Request, Searcher},
    },
};

/// Fewer passages that may answer than this, and the web is asked.
const ENOUGH: usize = 3;

impl Searcher<'_> {
    /// Grades `ranked` if the plan asks for it: corrects what is weak, with each of the planned
    /// corrections at most once, drops what does not answer, picks out sentences, and asks the
    /// web where too little is left.
    pub(crate) fn correct(
        self,
        Request { query, plan, allowed }: Request<'_>,
        ranked: Vec<Ranked>,
        total: usize,
        lists: &[RankedList],
        diagnostics: &mut Diagnostics,
    ) -> Graded {
        let Some(crag) = &plan.crag else { return Graded::ungraded(ranked, total) };
        let deadline = &self.deadline.within(crag.budget);
        let thresholds = self.thresholds(&plan.question.text, &ranked);
        let evidence = Findings::new(thresholds, lists.to_vec(), ranked, total);
        let search = Search { plan, crag, filters: &query.filters, allowed, deadline, limit: None };
        let (evidence, repairs, rewrite) = self.corrected(search, evidence, diagnostics);
        let found = repairs.iter().any(|one| one.found > 0);
        let mut actions = Vec::from_iter(found.then_some(CragAction::Expand));
        let Findings { ranked, total, grade, basis, thresholds, .. } = evidence;
        let score = CragScore { refined_query: rewrite, ..grade };

        let config = &self.state.config.crag;
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
        if score.needs_web_search && good < ENOUGH && self.state.config.web.is_some() {
            actions.push(CragAction::WebSearch);
            web = self.ask_the_web(plan, diagnostics);
        }
        let report = Some(CragReport { score, basis, actions, repairs, web });
        Graded { passages, total, dropped, best_read, report }
    }

    /// Where the grades begin of a list, by who read its first passages.
    pub(crate) fn thresholds(self, question: &str, ranked: &[Ranked]) -> GradeThresholds {
        let graded = ranked.get(..JUDGED).unwrap_or(ranked);
        let read_by = (!graded.is_empty())
            .then(|| reader(&self.state.rerankers, question, graded.iter()))
            .flatten();
        self.state.config.thresholds(read_by.map(trefoil_core::Reranker::model))
    }

    /// Tries the planned corrections in order while the evidence is not correct. What makes
    /// it worse is taken back; what fails is reported and left out.
    fn corrected(
        self,
        search: Search<'_>,
        mut evidence: Findings,
        diagnostics: &mut Diagnostics,
    ) -> (Findings, Vec<CorrectionOutcome>, Option<String>) {
        let (mut repairs, mut rewrite) = (Vec::new(), None);
        // Each is tried once: as many rounds as there are corrections, at most. A later page tries
        // those that the first did.
        let before = search.plan.cursor.as_ref().map(|cursor| cursor.first.repairs.as_slice());
        let most = before.map_or(usize::MAX, <[usize]>::len);
        for (place, &correction) in search.crag.repairs.iter().enumerate().take(most) {
            if evidence.grade.relevance == CragRelevance::Correct {
                break;
            }
            if search.deadline.has_passed() {
                if self.deadline.has_passed() {
                    let reason = format!("not all corrections were tried: {TIME_IS_UP}");
                    diagnostics.degrade(Stage::Grade, reason);
                }
                break;
            }
            let limit = before.and_then(|read| read.get(place).copied());
            let tried =
                self.try_correction(Search { limit, ..search }, correction, &evidence, diagnostics);
            let read = tried.as_ref().ok().and_then(|(_, more)| Some(more.as_ref()?.read));
            diagnostics.first.repairs.push(read.unwrap_or_default());
            match tried {
                Ok((candidates, more)) => {
                    let kept = more.filter(|more| more.is_no_worse_than(&evidence));
                    let found = candidates.rows.len();
                    repairs.push(CorrectionOutcome {
                        repair: correction,
                        found,
                        kept: kept.is_some(),
                    });
                    if let Some(more) = kept {
                        let helped = more.gain > evidence.gain;
                        rewrite = candidates.rewrite.filter(|_| helped).or(rewrite);
                        evidence = more;
                    }
                }
                Err(error) => {
                    let reason = format!("{correction} — {}", error.chain());
                    diagnostics.degrade(Stage::Grade, reason);
                }
            }
        }
        (evidence, repairs, rewrite)
    }

    /// Looks for more with one correction, and takes what it finds through the stages that
    /// the first list went through: retrievers, fusion, passages, reading, grade.
    fn try_correction(
        self,
        search: Search<'_>,
        correction: Correction,
        evidence: &Findings,
        diagnostics: &mut Diagnostics,
    ) -> Result<(Candidates, Option<Findings>)> {
        let Search { plan, crag, filters, allowed, .. } = search;
        let Findings { lists, ranked, .. } = evidence;
        let most = crag.candidates;
        let input = CorrectionInput { plan, filters, allowed, lists, ranked, most };
        let candidates = self.candidates(correction, input)?;
        if candidates.rows.is_empty() {
            return Ok((candidates, None));
        }
        let mut more = self.lists(plan, &only(&candidates.rows))?;
        more.extend(candidates.list.clone());
        let lists = joined(lists.clone(), &more);
        let mut repaired = evidence.repaired.clone();
        for &row in &candidates.rows {
            repaired.insert(row);
        }
        let fused = complete(fuser(plan).fuse(&plan.retrievers, &lists)?, &lists, &repaired);
        let all = fused.len();
        let fused = shortlist(fused, plan.candidates, &repaired);
        let unread = all - fused.len();
        let wider = Plan { candidates: fused.len(), ..plan.clone() };
        let words = Some(diagnostics.first.words);
        let found = self.read(&wider, filters, fused, words)?;
        let Added { ranked, switched, read, compared, degraded } =
            self.rerank_more(search, found.passages, ranked, &repaired);
        if let Some(reason) = degraded {
            diagnostics.degrade(Stage::Rerank, reason);
        }
        diagnostics.first.compared |= compared;
        let thresholds = self.thresholds(&plan.question.text, &ranked);
        let more = Findings::new(thresholds, lists, ranked, found.total + unread);
        Ok((candidates, Some(Findings { repaired, switched, read, ..more })))
    }

    /// The passages in their order, those of corrections read like the others.
    fn rerank_more(
        self,
        search: Search<'_>,
        passages: Vec<Passage>,
        before: &[Ranked],
        repaired: &RowSet,
    ) -> Added {
        let scores: BTreeMap<RowId, Score> =
            before.iter().filter_map(|one| Some((one.passage.chunk.row, one.rerank?))).collect();
        let plan = search.rerank();
        let names = self.mention_strength(search.plan);
        let question = &search.plan.question;
        let compare = |rows: &[RowId], is_read| self.compare_tokens(question, rows, is_read);
        let (reading_weight, graded) = (1.0, true);
        let known = Known { compare_tokens: &compare, names: &names, reading_weight, graded };
        let read = Read { scores, repaired, known, deadline: search.deadline };
        rerank_more(&self.state.rerankers, plan.as_ref(), &question.text, passages, read)
    }

    /// Picks the sentences that matter out of the first passages.
    fn refine(self, search: Search<'_>, passages: &mut [GradedPassage]) {
        let config = &self.state.config.crag;
        let refinement = Refinement {
            analyzer: self.state.analyzer(),
            question: &search.plan.question,
            bar: config.strip_bar,
            most: config.strips,
        };
        let question = &search.plan.question.text;
        let graded = passages.iter().take(JUDGED).map(|one| &one.ranked);
        let rerank = search.rerank().filter(|_| !search.deadline.has_passed());
        // Of a list of which no more than the first few were read, others may be left.
        let is_read = graded.clone().any(|one| one.rerank.is_some());
        let reader =
            able_reader(&self.state.rerankers, question, graded.clone()).filter(|_| is_read);
        let summaries = refinement.summaries(graded, |strips| match (reader, rerank) {
            (Some(reader), Some(plan)) => {
                let first = strips.get(..config.read_strips).unwrap_or(strips);
                let turns = &self.state.rerankers.turns;
                let reading = Reading { turns, plan: &plan, question, deadline: search.deadline };
                reading.read(reader, first).0
            }
            _ => Vec::new(),
        });
        for (one, summary) in passages.iter_mut().zip(summaries) {
            one.summary = summary;
        }
    }

    /// What the web says to the question as it was asked: no word of the corpus leaves.
    fn ask_the_web(self, plan: &Plan, diagnostics: &mut Diagnostics) -> Vec<WebPage> {
        let config = &self.state.config;
        let Some(web) = &config.web else { return Vec::new() };
        if self.deadline.has_passed() {
            diagnostics.degrade(Stage::Web, format!("not asked: {TIME_IS_UP}"));
            return Vec::new();
        }
        let question = &plan.question;
        let ask = || web.search(&question.text, question.language, config.crag.web_pages);
        match catch_panics("the web search", ask) {
            Ok(pages) => pages.into_iter().take(config.crag.web_pages).collect(),
            Err(error) => {
                diagnostics.degrade(Stage::Web, error.chain());
                Vec::new()
            }
        }
    }
}

/// What every correction of one search shares.
#[derive(Clone, Copy, Debug)]
struct Search<'a> {
    plan: &'a Plan,
    crag: &'a CragPlan,
    filters: &'a SearchFilters,
    allowed: &'a Allowed,
    deadline: &'a Deadline,
    /// How many passages are read, as many as the first page did.
    limit: Option<usize>,
}

impl Search<'_> {
    /// Reading as planned, in the time that is left.
    fn rerank(&self) -> Option<RerankPlan> {
        let budget = self.deadline.left();
        self.plan.rerank.clone().map(|plan| RerankPlan { budget, limit: self.limit, ..plan })
    }
}

/// What is found so far, and its grade.
#[derive(Debug)]
struct Findings {
    lists: Vec<RankedList>,
    ranked: Vec<Ranked>,
    total: usize,
    /// Rows that corrections found.
    repaired: RowSet,
    /// Whether another reranker than before gave the scores.
    switched: bool,
    /// How many passages the last correction read.
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
            switched: false,
            read: 0,
        }
    }

    /// True if neither verdict nor gain is worse. The scores of two rerankers, or of one
    /// and the retrievers, do not compare: then the verdict has to be better.
    fn is_no_worse_than(&self, before: &Self) -> bool {
        if before.ranked.is_empty() {
            return true;
        }
        if self.switched || self.basis != before.basis {
            return self.grade.relevance < before.grade.relevance;
        }
        self.grade.relevance <= before.grade.relevance && self.gain >= before.gain
    }
}

/// `lists` with the hits of `others`, each in the list of its retriever.
fn joined(mut lists: Vec<RankedList>, others: &[RankedList]) -> Vec<RankedList> {
    for more in others.iter().filter(|more| !more.hits().is_empty()) {
        match lists.iter_mut().find(|list| list.retriever() == more.retriever()) {
            Some(list) => *list = list.clone().joined(more),
            None => lists.push(more.clone()),
        }
    }
    lists
}

/// The fused list with what corrections found and fusion left out, at its end: a retriever that
/// knows little about a question, and so weighs nothing, may be the only one to know a row.
fn complete(mut fused: Vec<Fused>, lists: &[RankedList], repaired: &RowSet) -> Vec<Fused> {
    let held: RowSet = fused.iter().map(|hit| hit.row).collect();
    for row in repaired.iter().filter(|&row| !held.contains(row)) {
        let hits = lists.iter().filter_map(|list| list.hit(row)).collect();
        fused.push(Fused { row, combined: Score::ZERO, hits });
    }
    fused
}

/// The first `candidates` of what the retrievers found and all that corrections found.
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

fn graded(thresholds: &GradeThresholds, ranked: Vec<Ranked>) -> Vec<GradedPassage> {
    let graded = |ranked: Ranked| {
        let grade = Some(thresholds.passage(ranked.evidence()));
        GradedPassage { grade, ..GradedPassage::from(ranked) }
    };
    ranked.into_iter().map(graded).collect()
}
