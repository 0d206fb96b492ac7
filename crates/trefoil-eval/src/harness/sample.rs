//! Questions that a corpus answers and questions that it does not, to calibrate with.

use rayon::prelude::*;
use trefoil::{
    Engine, Language, Result, Score, SearchFilters, SearchOptions,
    crag::JUDGED,
    search::{AnswerEvidence, RankedList},
    text::language_of,
};

use crate::{
    Answered, Collection, Harness, RetrievalCase, RetrieverLists, Sample, gibberish,
    harness::{cut, passages_for, spread},
};

impl Harness {
    /// The questions that `collection` answers, as many as the harness asks, and questions
    /// that it does not: its own for which nothing is judged to be right; where it has none,
    /// as many as it answers: a third that mean nothing, a third asked of another of `all`
    /// collections, and a third its own without the documents that answer them.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn samples(&self, collection: &Collection, all: &[Collection]) -> Result<Answered<Sample>> {
        let Answered { answers: lists, degraded } = self.retriever_lists(collection)?;
        let engine = self.engine_of(collection)?;
        let mut samples: Vec<Sample> = Vec::new();
        for one in &lists {
            samples.push(sample_of(&engine, collection, one, true));
        }
        let mut probes: Vec<String> =
            collection.unanswerable().map(|query| query.text.clone()).collect();
        if probes.is_empty() {
            let share = samples.len() / 3;
            let near = spread(&lists.iter().collect::<Vec<_>>(), share);
            samples.extend(
                near.into_iter()
                    .map(|one| sample_of(&engine, collection, &one.without_answers(), false)),
            );
            probes = meaningless(&lists, share);
            probes.extend(foreign(collection, all, &lists, share));
        }
        let anywhere = SearchFilters::default();
        let asked: Result<Vec<Sample>> =
            probes.par_iter().map(|text| sample(&engine, text, &anywhere, false)).collect();
        samples.extend(asked?);
        Ok(Answered { answers: samples, degraded })
    }
}

/// Gibberish in the languages of the questions.
fn meaningless(lists: &[RetrieverLists], count: usize) -> Vec<String> {
    let languages: Vec<Language> = lists.iter().map(|one| one.language).collect();
    let some = spread(&languages, count).into_iter().zip(0..);
    some.flat_map(|(language, seed)| gibberish(language, 1, seed)).collect()
}

/// Questions of other collections, in the languages of this one's.
fn foreign(
    collection: &Collection,
    all: &[Collection],
    lists: &[RetrieverLists],
    count: usize,
) -> Vec<String> {
    let others = all.iter().filter(|other| other.content_hash() != collection.content_hash());
    let asked: Vec<&str> = others
        .flat_map(Collection::answerable)
        .filter(|query| lists.iter().any(|own| own.language == query.language))
        .map(|query| query.text.as_str())
        .collect();
    spread(&asked, count).into_iter().map(str::to_owned).collect()
}

/// What an engine tells about each case; one without answers is unanswerable. The engine
/// should rerank without a time budget, or the clock decides.
///
/// # Errors
/// Those of the engine.
pub fn samples(engine: &Engine, cases: &[RetrievalCase]) -> Result<Vec<Sample>> {
    let one = |case: &RetrievalCase| {
        sample(engine, &case.question, &case.filters, !case.answers.is_empty())
    };
    cases.par_iter().map(one).collect()
}

fn sample(engine: &Engine, text: &str, filters: &SearchFilters, answered: bool) -> Result<Sample> {
    let cut = cut(text);
    let options = SearchOptions { thorough: true, ..SearchOptions::default() };
    let query = passages_for(&cut, filters.clone(), options)?;
    let lists = engine.ranked_lists(&query)?;
    let found = engine.search(&query)?.results;
    let best = found.iter().filter_map(|item| item.relevance.rerank).max();
    let evidence = AnswerEvidence::of(&lists, best);
    let judged = judged(found.iter().filter_map(|item| item.relevance.rerank));
    let reranker = engine.reranker_of(&cut).map(str::to_owned);
    Ok(Sample { language: language_of(&cut), evidence, answered, reranker, judged })
}

/// The best scores, as many as grading looks at.
fn judged(scores: impl Iterator<Item = Score>) -> Vec<Score> {
    let mut scores: Vec<Score> = scores.collect();
    scores.sort_unstable_by(|a, b| b.cmp(a));
    scores.truncate(JUDGED);
    scores
}

/// The same from lists that are there already.
fn sample_of(
    engine: &Engine,
    collection: &Collection,
    asked: &RetrieverLists,
    answered: bool,
) -> Sample {
    let lists: Vec<RankedList> = asked.ranked_lists();
    let evidence = AnswerEvidence::of(&lists, asked.reranked.values().max().copied());
    let judged = judged(asked.reranked.values().copied());
    let text = collection.answerable().find(|query| query.id == asked.query);
    let reranker = text.and_then(|query| engine.reranker_of(&query.text)).map(str::to_owned);
    Sample { language: asked.language, evidence, answered, reranker, judged }
}
