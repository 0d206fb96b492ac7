//! Where a search looks further when its evidence is weak.

use std::{collections::BTreeSet, sync::Arc};

use trefoil_core::{
    Allowed, Language, Leg, Plan, Question, Ranked, RankedList, Repair, Result, RowId, RowSet,
    Score, SearchFilters, Strategy, Wording,
};

use crate::{
    Engine, JUDGED,
    belief::believed,
    feedback::{FeedbackTerm, Sample, feedback_terms},
};

/// How far a hit of the expanded question is believed: it may hold none of the words that
/// were asked for.
const FEEDBACK_BELIEF: f32 = 0.5;
/// The same of a hit by words that are written nearly like those of the question.
const LOOSE_BELIEF: f32 = 0.8;
/// Words of an expansion that a refined question is shown with.
const SHOWN_WORDS: usize = 5;

/// Passages that the first list did not hold.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// In the order in which they were found.
    pub(crate) rows: Vec<RowId>,
    /// What a leg says of them that the question as it stands would not bring up, on the
    /// scale of that leg's own list.
    pub(crate) list: Option<RankedList>,
    /// The wording that found them.
    pub(crate) wording: Option<String>,
}

/// What a repair starts from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) filters: &'a SearchFilters,
    pub(crate) allowed: &'a Allowed,
    /// The legs' lists.
    pub(crate) lists: &'a [RankedList],
    /// The passages, in their order.
    pub(crate) ranked: &'a [Ranked],
    /// How many passages a repair may add.
    pub(crate) most: usize,
}

impl Engine {
    /// Passages that are not among those found, at most as many as a repair may add, all
    /// of them allowed by the filters.
    pub(crate) fn candidates(&self, repair: Repair, found: Found<'_>) -> Result<Candidates> {
        match repair {
            Repair::Feedback => self.by_feedback(found),
            Repair::Neighbours => self.beside(found),
            Repair::Graph => self.one_step_on(found),
            Repair::Loose => self.reworded(found, Wording::Loose, LOOSE_BELIEF),
            Repair::Languages => self.in_other_languages(found),
            _ => Ok(Candidates::default()),
        }
    }

    fn by_feedback(&self, found: Found<'_>) -> Result<Candidates> {
        let question = &found.plan.question;
        let judged = found.ranked.get(..JUDGED).unwrap_or(found.ranked);
        let keep = self.thresholds(&question.text, found.ranked).keep;
        let good = judged.iter().filter(|one| one.evidence() >= keep);
        let good: Vec<Sample<'_>> = good.map(sample).collect();
        let all: Vec<Sample<'_>> = found.ranked.iter().map(sample).collect();
        let learnt = feedback_terms(self.inner().analyzer(), question, &good, &all);
        if learnt.is_empty() {
            return Ok(Candidates::default());
        }
        let wording = Some(shown(question, &learnt));
        let terms = learnt.into_iter().map(|term| term.weighted).collect();
        let candidates = self.reworded(found, Wording::Expanded(terms), FEEDBACK_BELIEF)?;
        Ok(Candidates { wording, ..candidates })
    }

    /// What the keyword leg finds with another wording of the question.
    fn reworded(&self, found: Found<'_>, wording: Wording, belief: f32) -> Result<Candidates> {
        let question = Question { wording, ..found.plan.question.clone() };
        let Some(list) = self.ask(found, Strategy::Keyword, question, found.allowed)? else {
            return Ok(Candidates::default());
        };
        let empty = RankedList::new(Strategy::Keyword, Vec::new());
        let asked = found.lists.iter().find(|list| list.strategy() == Strategy::Keyword);
        Ok(unseen(found, &believed(asked.unwrap_or(&empty), &list, belief)))
    }

    fn beside(&self, found: Found<'_>) -> Result<Candidates> {
        let judged = found.ranked.get(..JUDGED).unwrap_or(found.ranked);
        let rows: Vec<RowId> = judged.iter().map(|one| one.passage.chunk.row).collect();
        let seen = seen(found);
        let mut beside = BTreeSet::new();
        let neighbours = self.inner().store.neighbours_of(&rows)?;
        let rows = neighbours
            .into_iter()
            .flat_map(|(before, after)| [before, after])
            .flatten()
            .map(|chunk| chunk.row)
            .filter(|&row| !seen.contains(row) && found.allowed.contains(row))
            .filter(|&row| beside.insert(row))
            .take(found.most)
            .collect();
        Ok(Candidates { rows, ..Candidates::default() })
    }

    /// What the graph leads to from the judged passages, each as far as it is believed.
    fn one_step_on(&self, found: Found<'_>) -> Result<Candidates> {
        if found.plan.legs.iter().all(|leg| leg.strategy != Strategy::Graph) {
            return Ok(Candidates::default());
        }
        let judged = found.ranked.get(..JUDGED).unwrap_or(found.ranked);
        let from: Vec<(RowId, Score)> =
            judged.iter().map(|one| (one.passage.chunk.row, one.evidence())).collect();
        let count = found.ranked.len() + found.most;
        let list = self.inner().step(&found.plan.question, &from, found.allowed, count)?;
        Ok(unseen(found, &list))
    }

    /// What the semantic leg finds in the languages that the first list does not hold.
    fn in_other_languages(&self, found: Found<'_>) -> Result<Candidates> {
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
        let allowed = self.inner().store.allowed(&filters)?;
        // Whatever language the question is in, these are in another.
        let question = Question { foreign: true, ..found.plan.question.clone() };
        let list = self.ask(found, Strategy::Semantic, question, &allowed)?;
        Ok(list.map(|list| unseen(found, &list)).unwrap_or_default())
    }

    /// One leg's list for another question, deep enough to hold as many new passages as
    /// are wanted; none if the leg is not part of the plan.
    fn ask(
        &self,
        found: Found<'_>,
        strategy: Strategy,
        question: Question,
        allowed: &Allowed,
    ) -> Result<Option<RankedList>> {
        let Some(leg) = found.plan.legs.iter().find(|leg| leg.strategy == strategy) else {
            return Ok(None);
        };
        let leg = Leg { depth: leg.depth + found.most, ..leg.clone() };
        let plan = Plan { question, legs: vec![leg], ..found.plan.clone() };
        let mut lists = self.lists(&plan, allowed)?;
        Ok(lists.pop())
    }
}

/// The passages of `list` that were not found before, with what it says of them.
fn unseen(found: Found<'_>, list: &RankedList) -> Candidates {
    let seen = seen(found);
    let hits: Vec<_> = list
        .hits()
        .iter()
        .filter(|hit| !seen.contains(hit.row) && found.allowed.contains(hit.row))
        .take(found.most)
        .copied()
        .collect();
    let rows = hits.iter().map(|hit| hit.row).collect();
    let list = RankedList::new(list.strategy(), hits)
        .with_floor(list.floor())
        .with_confidence(list.confidence());
    Candidates { rows, list: Some(list), wording: None }
}

fn seen(found: Found<'_>) -> RowSet {
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
