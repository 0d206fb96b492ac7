//! Where a search looks further when its evidence is weak.

use std::{collections::BTreeSet, sync::Arc};

use trefoil_core::{
    Allowed, Correction, Language, Plan, PlannedRetriever, QueryRewrite, Question, Ranked,
    RankedList, Result, Retriever, RowId, RowSet, Score, SearchFilters,
};

use crate::{
    crag::{
        feedback::{FeedbackTerm, Sample, feedback_terms},
        grade::JUDGED,
        rescale::rescaled,
    },
    graph::relationships::plans_graph,
    search::searcher::Searcher,
};

/// What the confidence in a hit of the expanded question is multiplied by: the hit may hold none of
/// the words that were asked for.
const FEEDBACK_DISCOUNT: f32 = 0.5;
/// The same of a hit by words that are written nearly like those of the question.
const FUZZY_DISCOUNT: f32 = 0.8;
/// Words of an expansion that a refined question is shown with.
const SHOWN_WORDS: usize = 5;

/// Passages that the first list did not hold.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// In the order in which they were found.
    pub(crate) rows: Vec<RowId>,
    /// What a retriever says of them that the question as it stands would not bring up, on the
    /// scale of that retriever's own list.
    pub(crate) list: Option<RankedList>,
    /// The rewrite that found them.
    pub(crate) rewrite: Option<String>,
}

/// What a correction starts from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CorrectionInput<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) filters: &'a SearchFilters,
    pub(crate) allowed: &'a Allowed,
    /// The retrievers' lists.
    pub(crate) lists: &'a [RankedList],
    /// The passages, in their order.
    pub(crate) ranked: &'a [Ranked],
    /// How many passages a correction may add.
    pub(crate) most: usize,
}

impl Searcher<'_> {
    /// Passages that are not among those found, at most as many as a correction may add, all
    /// of them allowed by the filters.
    pub(crate) fn candidates(
        self,
        correction: Correction,
        found: CorrectionInput<'_>,
    ) -> Result<Candidates> {
        match correction {
            Correction::Feedback => self.by_feedback(found),
            Correction::Neighbours => self.neighbours(found),
            Correction::Graph => self.one_step_on(found),
            Correction::Fuzzy => self.reworded(found, QueryRewrite::Fuzzy, FUZZY_DISCOUNT),
            Correction::Languages => self.in_other_languages(found),
            _ => Ok(Candidates::default()),
        }
    }

    fn by_feedback(self, found: CorrectionInput<'_>) -> Result<Candidates> {
        let question = &found.plan.question;
        let graded = found.ranked.get(..JUDGED).unwrap_or(found.ranked);
        let keep = self.thresholds(&question.text, found.ranked).keep;
        let good = graded.iter().filter(|one| one.evidence() >= keep);
        let good: Vec<Sample<'_>> = good.map(sample).collect();
        let all: Vec<Sample<'_>> = found.ranked.iter().map(sample).collect();
        let learnt = feedback_terms(self.state.analyzer(), question, &good, &all);
        if learnt.is_empty() {
            return Ok(Candidates::default());
        }
        let rewrite = Some(shown(question, &learnt));
        let terms = learnt.into_iter().map(|term| term.weighted).collect();
        let candidates = self.reworded(found, QueryRewrite::Expanded(terms), FEEDBACK_DISCOUNT)?;
        Ok(Candidates { rewrite, ..candidates })
    }

    /// What the first retriever that takes rewrites finds with the question rewritten.
    fn reworded(
        self,
        found: CorrectionInput<'_>,
        rewrite: QueryRewrite,
        discount: f32,
    ) -> Result<Candidates> {
        let question = Question { rewrite, ..found.plan.question.clone() };
        let Some(list) = self.ask(found, <dyn Retriever>::rewrites, question, found.allowed)?
        else {
            return Ok(Candidates::default());
        };
        let empty = RankedList::new(list.retriever(), Vec::new());
        let asked = found.lists.iter().find(|one| one.retriever() == list.retriever());
        Ok(unseen(found, &rescaled(asked.unwrap_or(&empty), &list, discount)))
    }

    fn neighbours(self, found: CorrectionInput<'_>) -> Result<Candidates> {
        let graded = found.ranked.get(..JUDGED).unwrap_or(found.ranked);
        let rows: Vec<RowId> = graded.iter().map(|one| one.passage.chunk.row).collect();
        let seen = seen(found);
        let mut taken = BTreeSet::new();
        let neighbours = self.state.store.neighbours_of(&rows)?;
        let rows = neighbours
            .into_iter()
            .flat_map(|(before, after)| [before, after])
            .flatten()
            .map(|chunk| chunk.row)
            .filter(|&row| !seen.contains(row) && found.allowed.contains(row))
            .filter(|&row| taken.insert(row))
            .take(found.most)
            .collect();
        Ok(Candidates { rows, ..Candidates::default() })
    }

    /// What the graph leads to from the graded passages, each weighed by its evidence.
    fn one_step_on(self, found: CorrectionInput<'_>) -> Result<Candidates> {
        if !plans_graph(found.plan) {
            return Ok(Candidates::default());
        }
        let graded = found.ranked.get(..JUDGED).unwrap_or(found.ranked);
        let from: Vec<(RowId, Score)> =
            graded.iter().map(|one| (one.passage.chunk.row, one.evidence())).collect();
        let count = found.ranked.len() + found.most;
        let list = self.view.step(&found.plan.question, &from, found.allowed, count)?;
        Ok(unseen(found, &list))
    }

    /// What the first retriever that crosses languages finds in those that the first list does
    /// not hold.
    fn in_other_languages(self, found: CorrectionInput<'_>) -> Result<Candidates> {
        let held: BTreeSet<Language> =
            found.ranked.iter().map(|one| one.passage.chunk.chunk.language).collect();
        let wanted = &found.filters.languages;
        let languages: Vec<Language> = Language::ALL
            .into_iter()
            .filter(|one| !held.contains(one) && (wanted.is_empty() || wanted.contains(one)))
            .collect();
        if languages.is_empty() {
            return Ok(Candidates::default());
        }
        let filters = SearchFilters { languages, ..found.filters.clone() };
        let allowed = self.allowed(&filters)?;
        // Whatever language the question is in, these are in another.
        let other_languages = filters.languages.clone();
        let question =
            Question { cross_lingual: true, other_languages, ..found.plan.question.clone() };
        let list = self.ask(found, <dyn Retriever>::crosses_languages, question, &allowed)?;
        Ok(list.map(|list| unseen(found, &list)).unwrap_or_default())
    }

    /// The list that the first planned retriever which `can` do it has for another question, deep
    /// enough to hold as many new passages as are wanted.
    fn ask(
        self,
        found: CorrectionInput<'_>,
        can: impl Fn(&dyn Retriever) -> bool,
        question: Question,
        allowed: &Allowed,
    ) -> Result<Option<RankedList>> {
        let retrievers = &self.view.documents.retrievers;
        let able = |planned: &&PlannedRetriever| {
            retrievers.iter().any(|one| one.id() == planned.id && can(one.as_ref()))
        };
        let Some(planned) = found.plan.retrievers.iter().find(able) else { return Ok(None) };
        let depth = planned.depth + found.most;
        let retriever = PlannedRetriever::new(planned.id, depth, planned.weight);
        let plan = Plan { question, retrievers: vec![retriever], ..found.plan.clone() };
        let mut lists = self.lists(&plan, allowed)?;
        Ok(lists.pop())
    }
}

/// The passages of `list` that were not found before, with what it says of them.
fn unseen(found: CorrectionInput<'_>, list: &RankedList) -> Candidates {
    let seen = seen(found);
    let hits: Vec<_> = list
        .hits()
        .iter()
        .filter(|hit| !seen.contains(hit.row) && found.allowed.contains(hit.row))
        .take(found.most)
        .copied()
        .collect();
    let rows = hits.iter().map(|hit| hit.row).collect();
    let list = RankedList::new(list.retriever(), hits)
        .with_floor(list.floor())
        .with_confidence(list.confidence());
    Candidates { rows, list: Some(list), rewrite: None }
}

fn seen(found: CorrectionInput<'_>) -> RowSet {
    found.ranked.iter().map(|one| one.passage.chunk.row).collect()
}

fn sample(ranked: &Ranked) -> Sample<'_> {
    let chunk = &ranked.passage.chunk.chunk;
    Sample { text: &chunk.text, language: chunk.language, evidence: ranked.evidence() }
}

/// The question with the first words that were learnt.
fn shown(question: &Question, learnt: &[FeedbackTerm]) -> String {
    let mut words: Vec<&str> = vec![&question.text];
    for term in learnt {
        let is_new = words.iter().skip(1).all(|word| !word.contains(&term.surface));
        if words.len() <= SHOWN_WORDS && is_new {
            words.push(&term.surface);
        }
    }
    words.join(" ")
}

/// The rows as a filter.
pub(crate) fn only(rows: &[RowId]) -> Allowed {
    Allowed::Only(Arc::new(rows.iter().copied().collect()))
}
