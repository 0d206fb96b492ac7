//! Questions that a corpus answers and questions that it does not, to calibrate with.

use rayon::prelude::*;
use trefoil::{
    Engine, Evidence, Language, QueryText, RankedList, Result, Score, SearchFilters, SearchOptions,
    SearchQuery, language_of,
};

use crate::{Collection, Harness, LegLists, RetrievalCase, Sample, gibberish, harness::spread};

impl Harness {
    /// As many questions that `collection` answers as it has, or as the harness asks, and at
    /// most as many that it does not: of each three, one means nothing, one is asked of
    /// another of `all` collections, and one is its own without the documents that answer it.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn samples(&self, collection: &Collection, all: &[Collection]) -> Result<Vec<Sample>> {
        let lists = self.leg_lists(collection)?;
        let mut samples: Vec<Sample> = lists.iter().map(|one| sample_of(one, true)).collect();
        let share = samples.len() / 3;
        let near = spread(&lists.iter().collect::<Vec<_>>(), share);
        samples.extend(near.into_iter().map(|one| sample_of(&one.without_answers(), false)));
        let others = all.iter().filter(|other| other.content_hash() != collection.content_hash());
        let others: Vec<&str> = others
            .flat_map(Collection::answerable)
            .filter(|query| lists.iter().any(|own| own.language == query.language))
            .map(|query| query.text.as_str())
            .collect();
        let languages: Vec<Language> = lists.iter().map(|one| one.language).collect();
        let meaningless = spread(&languages, share).into_iter().zip(0..);
        let mut probes: Vec<String> =
            meaningless.flat_map(|(language, seed)| gibberish(language, 1, seed)).collect();
        probes.extend(spread(&others, share).into_iter().map(str::to_owned));
        let engine = self.engine_of(collection)?;
        let asked: Result<Vec<Sample>> = probes
            .par_iter()
            .map(|text| sample(&engine, text, &SearchFilters::default(), false))
            .collect();
        samples.extend(asked?);
        Ok(samples)
    }
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
    let cut: String = text.trim().chars().take(QueryText::MAX_CHARS).collect();
    let filters = SearchFilters { min_relevance: Score::ZERO, ..filters.clone() };
    let options = SearchOptions { include_highlights: false, ..SearchOptions::default() };
    let query = SearchQuery::new(&cut)?.filters(filters).options(options);
    let lists = engine.ranked_lists(&query)?;
    let found = engine.search(&query)?.results;
    let best = found.iter().filter_map(|item| item.relevance.rerank).max();
    let evidence = Evidence::of(&lists, best);
    Ok(Sample { language: language_of(&cut), evidence, answered })
}

/// The same from lists that are there already.
fn sample_of(asked: &LegLists, answered: bool) -> Sample {
    let lists: Vec<RankedList> = asked.ranked_lists();
    let evidence = Evidence::of(&lists, asked.reranked.values().max().copied());
    Sample { language: asked.language, evidence, answered }
}
