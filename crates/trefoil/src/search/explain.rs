//! How a passage came to its place, and what kept another from the results. Pure.

use trefoil_core::{Explanation, Plan, Ranked, RankedList, RowId, Stage, StagePlace};

use crate::search::{graded::GradedPassage, select::Exclusion};

/// How a passage came to its `rank` among the results.
pub(crate) fn explanation(graded: &GradedPassage, rank: usize) -> Explanation {
    let GradedPassage { ranked, grade, .. } = graded;
    let fused = &ranked.passage.fused;
    let at = |stage, rank, score| StagePlace { stage, rank, score };
    let mut stages = vec![at(Stage::Fuse, ranked.fused_rank, fused.combined)];
    stages.extend(ranked.rerank.map(|score| at(Stage::Rerank, ranked.rank, score)));
    stages.extend(grade.as_ref().map(|grade| at(Stage::Grade, ranked.rank, grade.confidence)));
    stages.push(at(Stage::Present, rank, ranked.score));
    let missing_words = ranked.passage.missing_words.clone();
    Explanation { retrievers: fused.hits.clone(), stages, missing_words }
}

pub(crate) fn why_excluded(exclusion: Exclusion, ranked: &Ranked, plan: &Plan) -> String {
    match exclusion {
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

pub(crate) fn in_lists(lists: &[RankedList], row: RowId) -> Explanation {
    let retrievers = lists.iter().filter_map(|list| list.hit(row)).collect();
    Explanation { retrievers, ..Explanation::default() }
}

/// Which retrievers looked how far.
pub(crate) fn missed(plan: &Plan, lists: &[RankedList]) -> String {
    let looked: Vec<String> = lists
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
