//! The first passages, read together with the question.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use trefoil_core::{Fused, Passage, Ranked, RerankPlan, Reranker, Score};

use crate::{models::FoundRerankers, relevance::final_scores, rerank::blend};

/// A reranker that cannot read so many passages from the top leaves the list to one that can.
const ENOUGH: usize = 10;

/// Passages in their final order, and why not all were read that should have been.
#[derive(Debug)]
pub(crate) struct Reread {
    pub(crate) ranked: Vec<Ranked>,
    pub(crate) degraded: Option<String>,
}

/// Reads the head of `passages` as `plan` says and orders it by the blend of both scores;
/// what is not read follows in the order of fusion.
pub(crate) fn reread(
    found: &FoundRerankers,
    plan: Option<&RerankPlan>,
    question: &str,
    passages: Vec<Passage>,
) -> Reread {
    let Some(plan) = plan.filter(|_| !passages.is_empty()) else {
        return Reread { ranked: in_order(passages, &[]), degraded: None };
    };
    let texts: Vec<String> = passages.iter().take(plan.passages).map(readable).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let reranker = found.rerankers.iter().find_map(|one| head(one, question, &texts));
    let (scores, degraded) = if let Some((reranker, head)) = reranker {
        read(reranker.as_ref(), plan, question, head)
    } else {
        let none = || "no reranker reads the languages found".to_owned();
        (Vec::new(), Some(found.missing.clone().unwrap_or_else(none)))
    };
    Reread { ranked: in_order(passages, &scores), degraded }
}

/// The passages from the top that `reranker` reads, up to the first in a language that it
/// does not know: what is scored is scored by one reranker. None if it cannot read enough.
fn head<'a, 't>(
    reranker: &'a Arc<dyn Reranker>,
    question: &str,
    texts: &'a [&'t str],
) -> Option<(&'a Arc<dyn Reranker>, &'a [&'t str])> {
    let unknown = texts.iter().position(|text| !reranker.reads(text));
    let known = unknown.unwrap_or(texts.len());
    let enough = reranker.reads(question) && known >= texts.len().min(ENOUGH);
    let head = texts.get(..known.min(reranker.top_k()))?;
    enough.then_some((reranker, head))
}

/// Scores from the top down until the budget is spent; one that cannot be had leaves
/// the order of fusion as it is.
fn read(
    reranker: &dyn Reranker,
    plan: &RerankPlan,
    question: &str,
    texts: &[&str],
) -> (Vec<Score>, Option<String>) {
    let start = Instant::now();
    let mut scores = Vec::with_capacity(texts.len());
    for batch in texts.chunks(plan.batch.max(1)) {
        if plan.budget.is_some_and(|budget| start.elapsed() >= budget) {
            let millis = plan.budget.as_ref().map_or(0, Duration::as_millis);
            let reason = format!(
                "stopped after {} of {} passages, at {millis} ms",
                scores.len(),
                texts.len()
            );
            return (scores, Some(reason));
        }
        match reranker.score(question, batch) {
            Ok(read) => scores.extend(read),
            Err(error) => return (Vec::new(), Some(error.chain())),
        }
    }
    (scores, None)
}

/// A passage as a reranker reads it: its headings, an empty line, its text.
fn readable(passage: &Passage) -> String {
    let chunk = &passage.chunk;
    let title = std::iter::once(&chunk.file.title).chain(&chunk.chunk.heading_path);
    let header: Vec<&str> = title.map(String::as_str).filter(|part| !part.is_empty()).collect();
    if header.is_empty() {
        chunk.chunk.text.clone()
    } else {
        format!("{}\n\n{}", header.join(" > "), chunk.chunk.text)
    }
}

/// The head by the blend of fused and reranker's score, then the rest.
fn in_order(passages: Vec<Passage>, rerank: &[Score]) -> Vec<Ranked> {
    let fused: Vec<Fused> = passages.iter().map(|passage| passage.fused.clone()).collect();
    let (head, rest) = fused.split_at(rerank.len().min(fused.len()));
    let combined: Vec<Score> = head.iter().map(|fused| fused.combined).collect();
    let blended = blend(&combined, rerank);
    let rest = (head.len()..).zip(final_scores(rest));
    let order = blended.iter().map(|blended| (blended.index, blended.score)).chain(rest);
    let mut passages: Vec<Option<Passage>> = passages.into_iter().map(Some).collect();
    let mut least = Score::ONE;
    order
        .zip(1..)
        .filter_map(|((index, score), rank)| {
            // What was not read is not above what was.
            least = least.min(score);
            Some(Ranked {
                passage: passages.get_mut(index)?.take()?,
                fused_rank: index + 1,
                rank,
                rerank: rerank.get(index).copied(),
                score: least,
            })
        })
        .collect()
}
