//! How a passage came to its place, and why another did not.

use trefoil_core::{
    ChunkId, Error, Explanation, Plan, Ranked, Result, RetrieverPlace, RowId, SearchQuery,
    SearchResultItem, Stage, StagePlace, WhyNot,
};

use crate::{
    Engine,
    correct::{Graded, GradedPassage},
    page::Page,
    present::{Admission, Listing},
    retrieve::Retrieved,
    select::Exclusion,
    trace::Trace,
};

/// How a passage came to its `rank` among the results.
pub(crate) fn explanation(graded: &GradedPassage, rank: usize) -> Explanation {
    let GradedPassage { ranked, grade, .. } = graded;
    let fused = &ranked.passage.fused;
    let at = |stage, rank, score| StagePlace { stage, rank, score };
    let mut stages = vec![at(Stage::Fuse, ranked.fused_rank, fused.combined)];
    stages.extend(ranked.rerank.map(|score| at(Stage::Rerank, ranked.rank, score)));
    stages.extend(grade.as_ref().map(|grade| at(Stage::Grade, ranked.rank, grade.confidence)));
    stages.push(at(Stage::Present, rank, ranked.score));
    Explanation {
        retrievers: fused.hits.iter().copied().map(RetrieverPlace::from).collect(),
        stages,
    }
}

impl Engine {
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
        let plan = self.plan(query)?;
        let allowed = self.inner().store.allowed(&query.filters)?;
        if !allowed.contains(stored.row) || !Admission::new(&query.filters)?.admits(&stored) {
            let reason = "a filter leaves it out".to_owned();
            return lost(Stage::Filter, reason, Explanation::default());
        }
        let mut retrievers = self.retrieve(query, &plan, &allowed, &mut Trace::start())?;
        let mut explanation = in_retrievers(&retrievers, stored.row);
        let fused = retrievers.fused(&plan)?;
        let of = fused.len();
        let place = fused.iter().position(|hit| hit.row == stored.row);
        let hit = place.and_then(|place| Some((place + 1, fused.get(place)?.combined)));
        let at_fusion = |(rank, score)| StagePlace { stage: Stage::Fuse, rank, score };
        explanation.stages.extend(hit.map(at_fusion));
        let found = self.read(&plan, &query.filters, fused)?;
        let ranked = self.rerank(&plan, found.passages, &mut retrievers.degraded);
        let missed = missed(&plan, &retrievers);
        let graded = self.correct(query, &plan, &allowed, ranked, found.total, &mut retrievers);
        let of_this = |one: &GradedPassage| one.ranked.passage.chunk.row == stored.row;
        if let Some(place) = graded.passages.iter().position(of_this) {
            return self.selected_or_not(&plan, &graded, &retrievers.others, place);
        }
        if graded.dropped.contains(stored.row) {
            let reason = "it was found, but does not answer the question, and was dropped";
            return lost(Stage::Grade, reason.to_owned(), explanation);
        }
        // It was lost on the way, and no repair has found it.
        match place {
            None if explanation.retrievers.is_empty() => lost(Stage::Fuse, missed, explanation),
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

    /// Whether the passage at `place` of the graded list is a result, and on the page.
    fn selected_or_not(
        &self,
        plan: &Plan,
        graded: &Graded,
        others: &[SearchResultItem],
        place: usize,
    ) -> Result<WhyNot> {
        let Some(one) = graded.passages.get(place) else { return Ok(WhyNot::default()) };
        let left = self.select(plan, &graded.passages)?;
        let before = left.iter().take(place).filter(|left| left.is_none()).count();
        let shown = graded.passages.iter().zip(&left).filter(|(_, left)| left.is_none());
        let shown: Vec<&GradedPassage> = shown.map(|(one, _)| one).collect();
        let Listing { listed, keys } = Listing::of(others, &shown);
        let at = listed.iter().position(|one| one.passage() == Some(before));
        let at = at.unwrap_or(listed.len());
        let rank = at + 1;
        let explanation = explanation(one, rank);
        if let Some(left) = left.get(place).copied().flatten() {
            let reason = why_left(left, &one.ranked, plan);
            return Ok(WhyNot { lost_at: Some(Stage::Select), reason, explanation });
        }
        let page = Page::new(&keys, 0, &[], plan).shown;
        let (lost_at, reason) = if page.contains(&at) {
            (None, format!("it is result {rank}"))
        } else {
            let (first, last) = (page.start + 1, page.end);
            let reason = format!("it is result {rank}, and the page shows {first} to {last}");
            (Some(Stage::Present), reason)
        };
        Ok(WhyNot { lost_at, reason, explanation })
    }
}

fn why_left(left: Exclusion, ranked: &Ranked, plan: &Plan) -> String {
    match left {
        Exclusion::TypeNotRequested => {
            "passages are not wanted, only results of other types".to_owned()
        }
        Exclusion::BelowThreshold => format!(
            "its score {:.3} is below the least relevance {:.3}",
            ranked.score.get(),
            plan.selection.min_relevance.get()
        ),
        Exclusion::Adjacent(rank) => {
            format!(
                "it adjoins a passage of its section that ranks better, {rank}, and stands for both"
            )
        }
        Exclusion::PerFileLimit => {
            "better passages of its file are as many as one file may have".to_owned()
        }
        Exclusion::NearDuplicate => "it says what better passages say".to_owned(),
    }
}

fn in_retrievers(retrievers: &Retrieved, row: RowId) -> Explanation {
    let place = |list: &trefoil_core::RankedList| {
        let (rank, hit) = (1..).zip(list.hits()).find(|(_, hit)| hit.row == row)?;
        Some(RetrieverPlace {
            retriever: list.retriever(),
            rank,
            raw_score: hit.raw_score,
            relevance: hit.relevance,
        })
    };
    Explanation {
        retrievers: retrievers.lists.iter().filter_map(place).collect(),
        stages: Vec::new(),
    }
}

/// Which retrievers looked how far.
fn missed(plan: &Plan, retrievers: &Retrieved) -> String {
    let looked: Vec<String> = retrievers
        .lists
        .iter()
        .map(|list| {
            let depth = plan.retrievers.iter().find(|one| one.id == list.retriever());
            let depth = depth.map_or(0, |retriever| retriever.depth);
            if list.hits().len() < depth {
                format!("the {} retriever finds {} and not it", list.retriever(), list.hits().len())
            } else {
                format!("it is not among the first {depth} of the {} retriever", list.retriever())
            }
        })
        .collect();
    looked.join("; ")
}
