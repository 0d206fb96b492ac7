//! The stages of a search that look at the engine's data. `Engine::search` shows them in order.

use std::{borrow::Borrow, collections::BTreeMap, sync::Arc};

use trefoil_core::{
    Allowed, Deadline, Degraded, Error, Fused, Passage, Plan, Question, Ranked, RankedList, Result,
    Retriever, RetrieverMetric, RowId, SearchFilters, SearchQuery, SearchStrategy, Stage,
    TokenSpace,
};

use crate::{
    background::catch_panics,
    default_set::{Available, fuses_terms},
    graph::answers::{Answers, answers},
    index::{admission::Admission, read_view::ReadView, tokens::asked_tokens},
    search::{
        blend::WEIGHT_OF_TOKENS_WITHIN,
        diagnostics::{Diagnostics, millis},
        plan::{plan, question},
        pool,
        rerank::{Compared, Known, rerank},
        retrieve::{Retrieved, run_after, run_independent},
        select::{Selected, cosine, select},
        words::{Weighed, weigh_words},
    },
    state::State,
};

/// Runs the stages of a search over the store, the models and the configuration of an engine, and
/// over the retrievers of one view: every stage sees the same commits, whatever is written
/// meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Searcher<'s> {
    pub(crate) state: &'s Arc<State>,
    pub(crate) view: &'s Arc<ReadView>,
    /// When the search has to end. What has not begun by then is left out, and named.
    pub(crate) deadline: &'s Deadline,
}

/// What is asked, how it is searched, and in which rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) query: &'a SearchQuery,
    pub(crate) plan: &'a Plan,
    pub(crate) allowed: &'a Allowed,
}

/// The passages of a search, in the order of fusion.
#[derive(Debug)]
pub(crate) struct ReadPassages {
    pub(crate) passages: Vec<Passage>,
    /// Fused candidates that pass the filters, read or not.
    pub(crate) total: usize,
    /// What they have of a question of few words.
    pub(crate) weighed: Weighed,
}

impl Searcher<'_> {
    /// The rows that the filters let through.
    pub(crate) fn allowed(self, filters: &SearchFilters) -> Result<Allowed> {
        self.state.allowed(self.view, filters)
    }

    /// Every decision of a search: what is asked, of what kind it is, by the names that the
    /// filters let through, and how it is searched. A failing classifier is reported, and the
    /// kind stays open.
    pub(crate) fn plan(
        self,
        query: &SearchQuery,
        allowed: &Allowed,
        diagnostics: &mut Diagnostics,
    ) -> Result<Plan> {
        let (config, view) = (&self.state.config, self.view);
        view.check_embedding(query.embedding.as_ref())?;
        let question = question(query, &view.languages);
        let within = self.state.names_within(view, allowed);
        let names = within.as_deref().unwrap_or_else(|| view.names());
        let classify = || config.classifier.classify(&question, names);
        let classification = catch_panics("the classifier", classify)
            .map_err(|error| diagnostics.degrade(Stage::Classify, error.chain()))
            .ok();
        diagnostics.lap(Stage::Classify, 1, 1);
        let available = |one: &Arc<dyn Retriever>| Available {
            id: one.id(),
            after: one.after(),
            weight: config.weight_of(one.id()),
        };
        let available: Vec<Available> = view.documents.retrievers.iter().map(available).collect();
        let plan = plan(query, question, classification, &available, &view.languages, config)?;
        diagnostics.lap(Stage::Plan, 1, plan.retrievers.len());
        Ok(plan)
    }

    /// Runs the retrievers, and meanwhile asks the graph what else it says. One that fails is
    /// reported and left out.
    ///
    /// # Errors
    /// [`Error::SearchFailed`] if every retriever failed.
    pub(crate) fn retrieve(
        self,
        Request { query, plan, allowed }: Request<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Result<Retrieved> {
        let documents = &self.view.documents;
        let (retrievers, deadline) = (&documents.retrievers, self.deadline);
        let graph = {
            let (state, view) = (Arc::clone(self.state), Arc::clone(self.view));
            let (query, plan, allowed) = (query.clone(), plan.clone(), allowed.clone());
            move || answers(&state, &view, &query, &plan, &allowed)
        };
        let (found, graph) =
            pool::join(|| run_independent(retrievers, plan, allowed, deadline), [graph]);
        // It catches its own panics.
        let Answers { relationships, others, degraded: failed } =
            graph.into_iter().flatten().next().unwrap_or_default();
        let mut degraded: Vec<Degraded> =
            documents.troubles().chain(self.state.errors.list()).chain(failed).collect();
        let strategies = &query.options.strategies;
        let is_asked =
            |stage| matches!(stage, Stage::Retriever(id) if SearchStrategy::wants(strategies, id));
        degraded.retain(|one| is_asked(one.stage));
        let before = diagnostics.degraded.len();
        diagnostics.degraded.extend(degraded);
        let mut lists = Vec::new();
        let mut timed_out = false;
        for (id, duration, outcome) in
            run_after(found, retrievers, plan, allowed, &relationships, deadline)
        {
            match outcome {
                Ok(list) => {
                    let top_score = list.hits().iter().map(|hit| hit.relevance).max();
                    let metric = RetrieverMetric {
                        enabled: true,
                        result_count: list.hits().len(),
                        processing_time: millis(duration),
                        top_score: top_score.unwrap_or_default(),
                    };
                    diagnostics.metrics.insert(id, metric);
                    diagnostics.record(id.into(), duration, 1, list.hits().len());
                    lists.push(list);
                }
                // A vector of another model is the caller's mistake, not the retriever's.
                Err(error @ Error::DimensionMismatch { .. }) => return Err(error),
                Err(error) => {
                    timed_out |= matches!(error, Error::TimedOut);
                    let failed = Degraded { stage: id.into(), reason: error.chain() };
                    if !diagnostics.degraded.contains(&failed) {
                        diagnostics.degraded.push(failed);
                    }
                }
            }
        }
        diagnostics.skip();
        if lists.is_empty() && others.is_empty() && !timed_out {
            let degraded = diagnostics.degraded.get(before..).unwrap_or_default();
            return Err(search_failed(query, degraded));
        }
        Ok(Retrieved { lists, relationships, others })
    }

    /// The lists of the planned retrievers that search by themselves, without a word on how they
    /// ran.
    ///
    /// # Errors
    /// What the last retriever that failed reported, if none gave a list.
    pub(crate) fn lists(self, plan: &Plan, allowed: &Allowed) -> Result<Vec<RankedList>> {
        let mut lists = Vec::new();
        let mut failed = None;
        let retrievers = &self.view.documents.retrievers;
        for (.., outcome) in run_independent(retrievers, plan, allowed, self.deadline) {
            match outcome {
                Ok(list) => lists.push(list),
                Err(error) => failed = Some(error),
            }
        }
        failed.filter(|_| lists.is_empty()).map_or(Ok(lists), Err)
    }

    /// Loads the fused rows. Filters are checked once more, against what is stored now. `words` is
    /// how many words of a short question a passage of the first list has at most, for another list.
    pub(crate) fn read(
        self,
        plan: &Plan,
        filters: &SearchFilters,
        mut fused: Vec<Fused>,
        words: Option<usize>,
    ) -> Result<ReadPassages> {
        let mut total = fused.len();
        fused.truncate(plan.candidates);
        let scored = fused.len();
        let rows: Vec<_> = fused.iter().map(|hit| hit.row).collect();
        let chunks = self.state.store.chunks(&rows)?;
        let admission = Admission::new(filters)?;
        let typed = self.state.of_types(self.view, &filters.entity_types, &rows)?;
        let mut chunks = chunks.into_iter().peekable();
        let mut passages: Vec<Passage> = Vec::with_capacity(scored);
        for fused in fused {
            let chunk = chunks.next_if(|chunk| chunk.row == fused.row);
            if let Some(chunk) = chunk.filter(|chunk| {
                admission.admits(chunk)
                    && typed.as_ref().is_none_or(|rows| rows.contains(chunk.row))
            }) {
                passages.push(Passage { fused, chunk, missing_words: Vec::new() });
            }
        }
        total -= scored - passages.len();
        // One list alone, and another fusion, is taken as it is asked for.
        let weighed = if fuses_terms(plan) {
            let before = plan.cursor.as_ref().map(|cursor| cursor.first.words);
            weigh_words(&plan.question, &mut passages, words.or(before))
        } else {
            Weighed::NOT
        };
        // Ties: newer first, then by id, whatever the rows are.
        passages.sort_by(|a, b| {
            let date = |passage: &Passage| passage.chunk.file.date;
            b.fused
                .combined
                .cmp(&a.fused.combined)
                .then_with(|| date(b).cmp(&date(a)))
                .then_with(|| a.chunk.id.cmp(&b.chunk.id))
        });
        Ok(ReadPassages { passages, total, weighed })
    }

    /// Reads the first passages together with the question and puts all in their final order.
    pub(crate) fn rerank(
        self,
        plan: &Plan,
        ReadPassages { passages, weighed, .. }: ReadPassages,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Ranked> {
        let (question, rerankers) = (&plan.question, &self.state.rerankers);
        let names = self.mention_strength(plan);
        let compare = |rows: &[RowId], is_read| self.compare_tokens(question, rows, is_read);
        // What a reader says is the evidence that is graded.
        let graded = plan.crag.is_some();
        let reading_weight = if graded { 1.0 } else { weighed.reading_weight };
        let known = Known { compare_tokens: &compare, names: &names, reading_weight, graded };
        let reranked =
            rerank(rerankers, plan.rerank.as_ref(), &question.text, passages, known, self.deadline);
        if let Some(reason) = reranked.degraded {
            diagnostics.degrade(Stage::Rerank, reason);
        }
        let read = reranked.ranked.iter().filter(|one| one.rerank.is_some());
        diagnostics.first.reranked = read.count();
        diagnostics.first.compared = reranked.compared;
        diagnostics.first.words = weighed.words;
        reranked.ranked
    }

    /// What the token vectors that are kept say of rows; the average of the others of one that has
    /// none.
    ///
    /// Those of a model of late interaction order what a cross-encoder reads (decision 028). What
    /// none reads, those of the embedder order as reading would if the question is in a language
    /// that the corpus is not in (decision 024); within a language they count less, since a window
    /// of each of the first is better read (decision 037). Nothing, if the time is up before all are
    /// compared, or fewer than half of the rows have any of one space.
    ///
    /// # Errors
    ///
    /// Fails if the vectors cannot be read, or the embedder fails on the question.
    pub(crate) fn compare_tokens(
        self,
        question: &Question,
        rows: &[RowId],
        is_read: bool,
    ) -> Result<Compared> {
        let is_text = !question.text.trim().is_empty();
        let Some(embedder) = self.view.embedder.as_deref().filter(|_| is_text) else {
            return Ok(Compared::default());
        };
        let languages = self.state.config.token_vectors.languages().unwrap_or_default();
        let orders = |space: &TokenSpace| !is_read || space.is_late_interaction();
        if !languages.into_iter().filter_map(|one| embedder.token_space(one)).any(orders) {
            return Ok(Compared::default());
        }
        let (store, language) = (&self.state.store, question.language);
        let mut each = asked_tokens(embedder, store, &question.text, language, rows)?;
        each.retain(|one| orders(one.space));
        let most = each.into_iter().max_by_key(|one| one.kept.len());
        let most = most.filter(|one| 2 * one.kept.len() >= rows.len());
        let Some(asked) = most else { return Ok(Compared::default()) };
        let space = asked.space;
        let mut found: BTreeMap<RowId, f32> =
            asked.similarities().take_while(|_| !self.deadline.has_passed()).collect();
        if found.len() < asked.kept.len() {
            return Ok(Compared::default());
        }
        let average = found.values().sum::<f32>() / found.len() as f32;
        for &row in rows {
            found.entry(row).or_insert(average);
        }
        let trained = space.is_late_interaction();
        Ok(if is_read || !(trained || question.cross_lingual) {
            let weight = if trained { 1.0 } else { WEIGHT_OF_TOKENS_WITHIN };
            let log_odds = |(row, found)| (row, weight * space.log_odds(found));
            Compared::Before(found.into_iter().map(log_odds).collect())
        } else {
            let score = |(row, found)| (row, space.score(found));
            Compared::Instead(found.into_iter().map(score).collect())
        })
    }

    /// How strongly one passage mentions the subject of another, 0–1, by the planned retrievers
    /// that know names. 0 for a question in another language than the documents': names that are
    /// the same in both say little.
    pub(crate) fn mention_strength(self, plan: &Plan) -> impl Fn(RowId, RowId) -> f32 + use<> {
        let is_planned = |one: &Arc<dyn Retriever>| {
            !plan.question.cross_lingual && plan.retrievers.iter().any(|it| it.id == one.id())
        };
        let mut retrievers = self.view.documents.retrievers.clone();
        retrievers.retain(is_planned);
        move |from, to| {
            let strengths = retrievers.iter().map(|one| one.mention_strength(from, to));
            strengths.fold(0.0, f32::max)
        }
    }

    /// The passages that are results, and what keeps each of the others from being one.
    pub(crate) fn select<P: Borrow<Ranked>>(
        self,
        plan: &Plan,
        passages: Vec<P>,
    ) -> Result<Selected<P>> {
        let row = |one: &P| one.borrow().passage.chunk.row;
        let rows: Vec<RowId> = passages.iter().map(row).collect();
        let vectors: BTreeMap<RowId, Vec<f32>> = if plan.selection.diverse {
            self.state.store.cached_embeddings(&rows)?.into_iter().collect()
        } else {
            BTreeMap::new()
        };
        let vectors: Vec<&[f32]> =
            rows.iter().map(|row| vectors.get(row).map_or(&[][..], Vec::as_slice)).collect();
        select(&plan.selection, plan.limit, passages, cosine(&vectors))
    }
}

fn search_failed(query: &SearchQuery, degraded: &[Degraded]) -> Error {
    let reasons: Vec<String> = degraded
        .iter()
        .map(|degraded| format!("{} — {}", degraded.stage, degraded.reason))
        .collect();
    let reason = if reasons.is_empty() {
        "none of the strategies asked for is part of this engine".to_owned()
    } else {
        reasons.join("; ")
    };
    Error::SearchFailed { query: query.text.as_str().to_owned(), reason }
}
