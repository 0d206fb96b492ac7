//! How a passage came to its place, and why another did not.

use crate::{
    Engine, engine::Legs, fuse::fuser, page::Page, present::Admission, select::Left, trace::Trace,
};
use trefoil_core::{
    ChunkId, Error, Explanation, LegPlace, OrderKey, Plan, Ranked, Result, RowId, SearchQuery,
    Stage, StagePlace, WhyNot,
};

/// How `ranked` came to its `rank` among the results.
pub(crate) fn explanation(ranked: &Ranked, rank: usize) -> Explanation {
    let fused = &ranked.passage.fused;
    let mut stages =
        vec![StagePlace { stage: Stage::Fuse, rank: ranked.fused_rank, score: fused.combined }];
    let read = |score| StagePlace { stage: Stage::Rerank, rank: ranked.rank, score };
    stages.extend(ranked.rerank.map(read));
    stages.push(StagePlace { stage: Stage::Present, rank, score: ranked.score });
    Explanation { legs: fused.legs.iter().copied().map(LegPlace::from).collect(), stages }
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
        let mut legs = self.retrieve(query, &plan, &allowed, &mut Trace::start())?;
        let mut explanation = in_legs(&legs, stored.row);
        if explanation.legs.is_empty() {
            return lost(Stage::Fuse, missed(&plan, &legs), explanation);
        }
        let fused = fuser(&plan).fuse(&plan.legs, &legs.lists)?;
        let Some(place) = fused.iter().position(|hit| hit.row == stored.row) else {
            return lost(Stage::Fuse, "fusion leaves it out".to_owned(), explanation);
        };
        let of = fused.len();
        if let Some(hit) = fused.get(place) {
            explanation.stages.push(StagePlace {
                stage: Stage::Fuse,
                rank: place + 1,
                score: hit.combined,
            });
        }
        if place >= plan.candidates {
            let reason = format!(
                "it is {} of {of} in the fused list, of which the first {} go on; ask for more \
                 results",
                place + 1,
                plan.candidates
            );
            return lost(Stage::Fuse, reason, explanation);
        }
        let found = self.read(&plan, &query.filters, fused)?;
        let ranked = self.rerank(&plan, found.passages, &mut legs.degraded);
        let place = ranked.iter().position(|one| one.passage.chunk.row == stored.row);
        let Some((place, one)) = place.and_then(|place| Some((place, ranked.get(place)?))) else {
            let reason = "it was removed while the question was answered".to_owned();
            return lost(Stage::Read, reason, explanation);
        };
        let left = self.select(&plan, &ranked)?;
        let before = left.iter().take(place).filter(|left| left.is_none()).count();
        let rank = before + 1;
        let explanation = self::explanation(one, rank);
        if let Some(left) = left.get(place).copied().flatten() {
            return lost(Stage::Select, why_left(left, one, &plan), explanation);
        }
        let shown = ranked.iter().zip(&left).filter(|(_, left)| left.is_none());
        let keys: Vec<OrderKey> = shown.map(|(ranked, _)| ranked.key()).collect();
        let page = Page::new(&keys, &plan).shown;
        if !page.contains(&before) {
            let reason = format!(
                "it is result {rank}, and the page shows {} to {}",
                page.start + 1,
                page.end
            );
            return lost(Stage::Present, reason, explanation);
        }
        Ok(WhyNot { lost_at: None, reason: format!("it is result {rank}"), explanation })
    }
}

fn why_left(left: Left, ranked: &Ranked, plan: &Plan) -> String {
    match left {
        Left::Weak => format!(
            "its score {:.3} is below the least relevance {:.3}",
            ranked.score.get(),
            plan.selection.min_relevance.get()
        ),
        Left::Adjoins(rank) => {
            format!(
                "it adjoins a passage of its section that ranks better, {rank}, and stands for both"
            )
        }
        Left::FileFull => "better passages of its file are as many as one file may have".to_owned(),
        Left::Alike => "it says what better passages say".to_owned(),
    }
}

fn in_legs(legs: &Legs, row: RowId) -> Explanation {
    let place = |list: &trefoil_core::RankedList| {
        let (rank, hit) = (1..).zip(list.hits()).find(|(_, hit)| hit.row == row)?;
        Some(LegPlace {
            strategy: list.strategy(),
            rank,
            native: hit.native,
            relevance: hit.relevance,
        })
    };
    Explanation { legs: legs.lists.iter().filter_map(place).collect(), stages: Vec::new() }
}

/// Which legs looked how far.
fn missed(plan: &Plan, legs: &Legs) -> String {
    let looked: Vec<String> = legs
        .lists
        .iter()
        .map(|list| {
            let depth = plan.legs.iter().find(|leg| leg.strategy == list.strategy());
            let depth = depth.map_or(0, |leg| leg.depth);
            if list.hits().len() < depth {
                format!("the {} leg finds {} and not it", list.strategy(), list.hits().len())
            } else {
                format!("it is not among the first {depth} of the {} leg", list.strategy())
            }
        })
        .collect();
    looked.join("; ")
}
