//! Why a passage is not among the results of a question.

use std::cmp::Reverse;

use trefoil_core::{
    ChunkId, Deadline, Error, Explanation, FirstPage, Lost, Missed, Plan, Result, SearchQuery,
    SearchResultItem, Stage, StagePlace, WhyNot,
};

use crate::{
    engine::Engine,
    index::admission::Admission,
    search::{
        diagnostics::Diagnostics,
        explain::{explanation, in_lists, missed, why_excluded},
        graded::GradedPassage,
        page::Page,
        present::Listing,
        searcher::Request,
        select::Selected,
    },
};

impl Engine {
    /// Where the passage was lost that a question missed; nothing if it is given as a document
    /// without passages.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] unless either the passage or its document is given; else those of
    /// [`Engine::why_not`].
    pub fn why_missed(&self, missed: &Missed) -> Result<Option<Lost>> {
        match (&missed.chunk, &missed.path) {
            (Some(chunk), None) => {
                let answer = self.why_not(&missed.query, chunk)?;
                Ok(Some(Lost { chunk: chunk.clone(), answer }))
            }
            (None, Some(path)) => self.why_not_document(&missed.query, path),
            (chunk, _) => Err(Error::InvalidQuery {
                field: "chunk",
                value: chunk.as_ref().map_or("missing", |_| "given with `path`").to_owned(),
                allowed: "either `chunk` or `path`",
            }),
        }
    }

    /// The same of the passage of the document at `path` that came farthest; nothing if the
    /// document has no passage.
    ///
    /// # Errors
    /// Those of [`Engine::search`].
    pub fn why_not_document(&self, query: &SearchQuery, path: &str) -> Result<Option<Lost>> {
        let mut farthest: Option<Lost> = None;
        for chunk in self.document_chunks(path)? {
            let answer = self.why_not(query, &chunk.id)?;
            let is_farther = |other: &Lost| distance(&other.answer) <= distance(&answer);
            if farthest.as_ref().is_none_or(is_farther) {
                farthest = Some(Lost { chunk: chunk.id.clone(), answer });
            }
        }
        Ok(farthest)
    }

    /// Names the stage at which `chunk` was lost for `query`, or its place in the results.
    ///
    /// # Errors
    /// [`Error::ChunkMissing`] if there is no such chunk; else those of [`Engine::search`].
    pub fn why_not(&self, query: &SearchQuery, chunk: &ChunkId) -> Result<WhyNot> {
        query.check()?;
        let Some(stored) = self.chunk(chunk)? else {
            return Err(Error::ChunkMissing { id: chunk.clone() });
        };
        let lost = |stage, reason: String, explanation| {
            Ok(WhyNot { lost_at: Some(stage), reason, explanation })
        };
        let view = self.state.current_view()?;
        let searcher = self.searcher(&view, &Deadline::NEVER);
        let diagnostics = &mut Diagnostics::start();
        let allowed = searcher.allowed(&query.filters)?;
        let plan = searcher.plan(query, &allowed, diagnostics)?;
        if !allowed.contains(stored.row) || !Admission::new(&query.filters)?.admits(&stored) {
            let reason = "a filter leaves it out".to_owned();
            return lost(Stage::Filter, reason, Explanation::default());
        }
        let request = Request { query, plan: &plan, allowed: &allowed };
        let retrieved = searcher.retrieve(request, diagnostics)?;
        let mut explanation = in_lists(&retrieved.lists, stored.row);
        let fused = retrieved.fused(&plan)?;
        let of = fused.len();
        let place = fused.iter().position(|hit| hit.row == stored.row);
        let hit = place.and_then(|place| Some((place + 1, fused.get(place)?.combined)));
        let read = searcher.read(&plan, &query.filters, fused, None)?;
        // Where the words of a short question have put it, if they were looked for.
        let mut passages = read.passages.iter().zip(1..);
        let weighed = passages.find(|(one, _)| one.fused.row == stored.row);
        let hit = weighed.map(|(one, rank)| (rank, one.fused.combined)).or(hit);
        let missing = weighed.map(|(one, _)| one.missing_words.clone());
        explanation.missing_words = missing.unwrap_or_default();
        let at_fusion = |(rank, score)| StagePlace { stage: Stage::Fuse, rank, score };
        explanation.stages.extend(hit.map(at_fusion));
        let total = read.total;
        let ranked = searcher.rerank(&plan, read, diagnostics);
        let lists = &retrieved.lists;
        let graded = searcher.correct(request, ranked, total, lists, diagnostics);
        let is_this = |one: &GradedPassage| one.ranked.passage.chunk.row == stored.row;
        if graded.passages.iter().any(is_this) {
            let selected = searcher.select(&plan, graded.passages)?;
            return Ok(kept_or_excluded(&plan, &selected, &retrieved.others, is_this));
        }
        if graded.dropped.contains(stored.row) {
            let reason = "it was found, but does not answer the question, and was dropped";
            return lost(Stage::Grade, reason.to_owned(), explanation);
        }
        // It was lost on the way, and no correction has found it.
        match place {
            None if explanation.retrievers.is_empty() => {
                lost(Stage::Fuse, missed(&plan, lists), explanation)
            }
            None => lost(Stage::Fuse, "fusion leaves it out".to_owned(), explanation),
            Some(place) if place >= plan.candidates => {
                let reason = format!(
                    "it is {} of {of} in the fused list, of which the first {} go on; ask for \
                     more results",
                    place + 1,
                    plan.candidates
                );
                lost(Stage::Fuse, reason, explanation)
            }
            Some(_) => {
                let reason = "it was removed while the question was answered".to_owned();
                lost(Stage::Read, reason, explanation)
            }
        }
    }
}

/// How far a passage came, and how high it stood there.
fn distance(answer: &WhyNot) -> (bool, bool, usize, Reverse<usize>) {
    let stages = &answer.explanation.stages;
    let rank = stages.last().map_or(usize::MAX, |place| place.rank);
    let passed_filters = answer.lost_at != Some(Stage::Filter);
    (answer.lost_at.is_none(), passed_filters, stages.len(), Reverse(rank))
}

/// Where a selected passage stands among the results, or what keeps it from being one.
fn kept_or_excluded(
    plan: &Plan,
    selected: &Selected<GradedPassage>,
    others: &[SearchResultItem],
    is_this: impl Fn(&GradedPassage) -> bool,
) -> WhyNot {
    let kept: Vec<&GradedPassage> = selected.kept.iter().collect();
    let excluded = selected.excluded.iter().find(|(one, _)| is_this(one));
    let this =
        excluded.map(|(one, _)| one).or_else(|| kept.iter().copied().find(|one| is_this(one)));
    let Some(one) = this else { return WhyNot::default() };
    let before = kept.iter().filter(|other| other.ranked.rank < one.ranked.rank).count();
    let Listing { listed, keys } = Listing::of(others, &kept);
    let at = listed.iter().position(|item| item.passage() == Some(before));
    let at = at.unwrap_or(listed.len());
    let rank = at + 1;
    let explanation = explanation(one, rank);
    if let Some((_, exclusion)) = excluded {
        let reason = why_excluded(*exclusion, &one.ranked, plan);
        return WhyNot { lost_at: Some(Stage::Select), reason, explanation };
    }
    let page = Page::new(&keys, &FirstPage::default(), plan).shown;
    let (lost_at, reason) = if page.contains(&at) {
        (None, format!("it is result {rank}"))
    } else {
        let (first, last) = (page.start + 1, page.end);
        let reason = format!("it is result {rank}, and the page shows {first} to {last}");
        (Some(Stage::Present), reason)
    };
    WhyNot { lost_at, reason, explanation }
}
