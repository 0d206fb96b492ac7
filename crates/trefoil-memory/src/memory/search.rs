//! The one way of a recall, whatever is recalled: boundary, retrieve, filter, rank.

use std::{collections::BTreeMap, sync::Arc};

use trefoil::{
    Degraded,
    index::{Allowed, RowId, RowSet},
    memory::{Admitted, MemoryCollection, RecallDepth, Recalled, UnitFilter, UtilityStats},
    search::Embedding,
};
use trefoil_core::{Result, Score};

use super::{Memory, visibility::Visibility};
use crate::{
    HybridPolicy,
    recall::{RecallProfile, RecallQuery, adapted_alpha, combined, widened},
};

/// How often the retrievers are asked before the filter is asked of every unit.
const ROUNDS: usize = 4;

/// The request of a recall to the retrievers.
pub(super) struct RecallPlan<'v> {
    /// The units that may be found: what the boundary lets the request see.
    pub(super) units: UnitFilter,
    /// What is asked; all units that may be found, if there is none.
    pub(super) questions: Vec<String>,
    /// How many units each retriever is asked for.
    pub(super) depth: RecallDepth,
    /// How many are to be shown: a retriever that finds fewer than half of them is asked once
    /// more and deeper, and what only words found is compared in meaning too. Neither is done
    /// if absent.
    pub(super) k_final: Option<usize>,
    /// Whether meaning is asked only where words find too little.
    pub(super) profile: RecallProfile,
    /// Who is shown the messages that tell the claims that are found, if those are asked too.
    pub(super) messages: Option<&'v Visibility<'v>>,
}

impl RecallPlan<'_> {
    /// One question that both retrievers are asked, as deep as the policy says.
    pub(super) fn hybrid(
        units: UnitFilter,
        question: &str,
        query: &RecallQuery,
        policy: &HybridPolicy,
    ) -> Self {
        Self {
            units,
            questions: vec![question.to_owned()],
            depth: RecallDepth { text: policy.k_txt, vector: policy.k_vec },
            k_final: Some(query.top_k),
            profile: query.profile,
            messages: None,
        }
    }
}

/// What the retrievers found.
#[derive(Clone, Debug, Default)]
pub(super) struct Matches {
    /// The rows that any of them found, in order.
    pub(super) rows: Vec<RowId>,
    /// The ranked list of each retriever for each question, best first.
    pub(super) lists: Vec<Vec<RowId>>,
    /// Relevance of words, 0–1.
    pub(super) text: BTreeMap<RowId, f64>,
    /// Cosine of meanings; of a claim whose message was asked, the mean with that.
    pub(super) cosine: BTreeMap<RowId, f32>,
    /// How well the tokens of units match those of the question, 0–1; likewise.
    pub(super) tokens: BTreeMap<RowId, f64>,
    /// How deep the retrievers were asked.
    pub(super) depth: RecallDepth,
    /// How useful all claims are that may be found.
    pub(super) utility: UtilityStats,
    /// What could not be searched, or is behind.
    pub(super) degraded: Vec<Degraded>,
    /// The vector of each question that was embedded.
    embedded: BTreeMap<String, Embedding>,
}

/// Units that a filter was asked of.
pub(super) struct Filtered<U> {
    /// Those that may be shown.
    pub(super) kept: Vec<(RowId, U)>,
    /// Those that must not influence what else is found.
    pub(super) broken: Vec<RowId>,
}

impl Memory {
    /// Recalls units: retrieves what answers `plan` of what the boundary admits, asks `filter`
    /// of it, and gives what is left to `rank`, which scores, selects and presents.
    ///
    /// Where `filter` finds units that break a rule, the retrievers are asked again without
    /// them, so that what they find is as if those had never been there.
    pub(super) fn find<U, R>(
        &self,
        plan: &RecallPlan<'_>,
        filter: impl Fn(&[RowId]) -> Result<Filtered<U>>,
        rank: impl FnOnce(Vec<(RowId, U)>, &Matches) -> Result<R>,
    ) -> Result<R> {
        let memory = self.engine.memory();
        let Admitted { mut allowed, utility } = memory.admitted(&plan.units)?;
        let (mut matches, mut round) = (Matches::default(), 0);
        let mut kept = loop {
            matches = plan.retrieve(memory, &allowed, &matches)?;
            round += 1;
            // Where many break a rule, all are asked at once.
            let asked = if round < ROUNDS { matches.rows.clone() } else { rows_of(&allowed) };
            let Filtered { kept, broken } = filter(&asked)?;
            if broken.is_empty() || plan.questions.is_empty() {
                break kept;
            }
            let broken: RowSet = broken.into_iter().collect();
            let rest = rows_of(&allowed).into_iter().filter(|&row| !broken.contains(row));
            allowed = Allowed::Only(Arc::new(rest.collect()));
        };
        kept.retain(|(row, _)| matches.rows.binary_search(row).is_ok());
        plan.ask_messages(memory, &mut matches)?;
        rank(kept, &Matches { utility, ..matches })
    }
}

impl RecallPlan<'_> {
    /// What both retrievers find for each question. The vector of a question that was asked
    /// `before` is used again.
    fn retrieve(
        &self,
        memory: MemoryCollection<'_>,
        allowed: &Allowed,
        before: &Matches,
    ) -> Result<Matches> {
        if self.questions.is_empty() {
            return Ok(Matches { rows: rows_of(allowed), ..Matches::default() });
        }
        let mut found = Matches { depth: self.depth, ..Matches::default() };
        for question in &self.questions {
            self.ask(memory, allowed, question, before, &mut found)?;
        }
        found.rows = found.lists.concat();
        found.rows.sort_unstable();
        found.rows.dedup();
        Ok(found)
    }

    fn ask(
        &self,
        memory: MemoryCollection<'_>,
        allowed: &Allowed,
        question: &str,
        before: &Matches,
        found: &mut Matches,
    ) -> Result<()> {
        let Recalled { mut by_text, mut by_vector, asked, degraded } =
            self.first(memory, allowed, question, before)?;
        let deeper =
            |asked: usize, found: usize| self.k_final.and_then(|k| widened(asked, found, k));
        if let Some(deeper) = deeper(self.depth.text, by_text.len()) {
            found.depth.text = deeper;
            by_text = memory.by_text(question, allowed, deeper)?;
        }
        if let (Some(asked), Some(deeper)) = (&asked, deeper(self.depth.vector, by_vector.len())) {
            found.depth.vector = deeper;
            by_vector = memory.by_vector(question, asked, allowed, deeper)?;
        }
        found.text.extend(by_text.iter().map(|one| (one.row, f64::from(one.relevance.get()))));
        found.cosine.extend(by_vector.iter().map(|one| (one.row, one.raw_score)));
        found
            .lists
            .extend([by_text, by_vector].map(|list| list.iter().map(|one| one.row).collect()));
        for one in degraded {
            if !found.degraded.contains(&one) {
                found.degraded.push(one);
            }
        }
        let Some(asked) = asked else { return Ok(()) };
        if self.k_final.is_some() {
            let words_only: RowSet =
                found.text.keys().copied().filter(|row| !found.cosine.contains_key(row)).collect();
            let (count, words_only) = (words_only.len(), Allowed::Only(Arc::new(words_only)));
            let near = memory.by_vector(question, &asked, &words_only, count)?;
            found.cosine.extend(near.iter().map(|one| (one.row, one.raw_score)));
            let rows: Vec<RowId> = found.cosine.keys().copied().collect();
            found.tokens.extend(wide(memory.by_tokens(question, &rows)?));
        }
        found.embedded.insert(question.to_owned(), asked);
        Ok(())
    }

    /// Compares the messages that tell the best claims with the question: meaning and tokens of
    /// those claims are then the mean of their own and of the message's.
    fn ask_messages(&self, memory: MemoryCollection<'_>, found: &mut Matches) -> Result<()> {
        let (Some(sight), [question]) = (self.messages, self.questions.as_slice()) else {
            return Ok(());
        };
        let Some(asked) = found.embedded.get(question).cloned() else { return Ok(()) };
        let alpha = adapted_alpha(question, sight.policy.retrieval.hybrid.alpha);
        let told = sight.messages_of(&found.best(memory, alpha))?;
        let messages: RowSet = told.iter().map(|&(_, message)| message).collect();
        let rows: Vec<RowId> = messages.iter().collect();
        let messages = Allowed::Only(Arc::new(messages));
        let near = memory.by_vector(question, &asked, &messages, rows.len())?;
        let near = near.iter().map(|one| (one.row, one.raw_score)).collect();
        let tokens = wide(memory.by_tokens(question, &rows)?).collect();
        with_messages(&mut found.cosine, &near, &told, f32::midpoint);
        with_messages(&mut found.tokens, &tokens, &told, f64::midpoint);
        Ok(())
    }

    fn first(
        &self,
        memory: MemoryCollection<'_>,
        allowed: &Allowed,
        question: &str,
        before: &Matches,
    ) -> Result<Recalled> {
        if let Some(asked) = before.embedded.get(question) {
            let by_text = memory.by_text(question, allowed, self.depth.text)?;
            let by_vector = memory.by_vector(question, asked, allowed, self.depth.vector)?;
            let (asked, degraded) = (Some(asked.clone()), before.degraded.clone());
            return Ok(Recalled { by_text, by_vector, asked, degraded });
        }
        if self.profile == RecallProfile::KeywordFirst
            && let Ok(by_text) = memory.by_text(question, allowed, self.depth.text)
        {
            let relevances: Vec<f64> =
                by_text.iter().map(|one| f64::from(one.relevance.get())).collect();
            if !self.profile.needs_meaning(&relevances, self.k_final.unwrap_or_default()) {
                return Ok(Recalled { by_text, ..Recalled::default() });
            }
        }
        memory.recall(question, allowed, self.depth)
    }
}

impl Matches {
    /// What the cosine of a row says of its relevance, 0–1.
    pub(super) fn meaning(&self, memory: MemoryCollection<'_>, row: RowId) -> f64 {
        let cosine = self.cosine.get(&row);
        cosine.map_or(0.0, |&cosine| f64::from(memory.relevance_of(cosine).get()))
    }

    /// Those that answer best by themselves, as many as can be shown.
    fn best(&self, memory: MemoryCollection<'_>, alpha: f64) -> Vec<RowId> {
        let score = |row: RowId| {
            let text = self.text.get(&row).copied().unwrap_or_default();
            combined(alpha, self.meaning(memory, row), text, self.tokens.get(&row).copied())
        };
        let mut best: Vec<(f64, RowId)> =
            self.cosine.keys().map(|&row| (score(row), row)).collect();
        best.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        best.truncate(RecallQuery::MAX_TOP_K);
        best.into_iter().map(|(_, row)| row).collect()
    }
}

/// Puts in place of each claim's score the mean with that of the message that tells it.
fn with_messages<S: Copy>(
    scores: &mut BTreeMap<RowId, S>,
    messages: &BTreeMap<RowId, S>,
    told: &[(RowId, RowId)],
    mean: impl Fn(S, S) -> S,
) {
    for (claim, message) in told {
        if let (Some(own), Some(&told)) = (scores.get_mut(claim), messages.get(message)) {
            *own = mean(*own, told);
        }
    }
}

fn wide(scores: BTreeMap<RowId, Score>) -> impl Iterator<Item = (RowId, f64)> {
    scores.into_iter().map(|(row, score)| (row, f64::from(score.get())))
}

fn rows_of(allowed: &Allowed) -> Vec<RowId> {
    match allowed {
        Allowed::Only(rows) => rows.iter().collect(),
        Allowed::All => Vec::new(),
    }
}
