//! The first passages, read together with the question.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use trefoil_core::{Fused, Passage, Ranked, RerankPlan, Reranker, RowId, RowSet, Score};

use crate::{
    background::catch_panics,
    models::FoundRerankers,
    search::{
        blend::{NEUTRAL, blend, lift_named},
        relevance::final_scores,
    },
};

/// How strongly the passage of the first row mentions the subject of the second, 0–1.
pub(crate) type Names<'a> = &'a dyn Fn(RowId, RowId) -> f32;

/// A reranker that cannot read so many passages from the top leaves the list to one that can.
const ENOUGH: usize = 10;

/// Passages in their final order, and why not all were read that should have been.
#[derive(Debug)]
pub(crate) struct Reranked {
    pub(crate) ranked: Vec<Ranked>,
    pub(crate) degraded: Option<String>,
}

/// Reads the head of `passages` as `plan` says and orders it by the blend of both scores, lifted
/// by what the first of them name; what is not read follows in the order of fusion.
pub(crate) fn rerank(
    found: &FoundRerankers,
    plan: Option<&RerankPlan>,
    question: &str,
    passages: Vec<Passage>,
    names: Names<'_>,
) -> Reranked {
    let Some(plan) = plan.filter(|_| !passages.is_empty()) else {
        let ranked = in_order(passages, &BTreeMap::new(), &RowSet::default(), names);
        return Reranked { ranked, degraded: None };
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
    let rows = passages.iter().map(|passage| passage.chunk.row);
    let scores = rows.zip(scores).collect();
    Reranked { ranked: in_order(passages, &scores, &RowSet::default(), names), degraded }
}

/// What has been read of a list that repairs have made longer.
pub(crate) struct Read<'a> {
    /// The scores of what was read.
    pub(crate) scores: BTreeMap<RowId, Score>,
    /// What repairs found: all of it is read, wherever it stands.
    pub(crate) repaired: &'a RowSet,
    /// Which of the passages name what others are about.
    pub(crate) names: Names<'a>,
}

/// A list after that.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) ranked: Vec<Ranked>,
    /// Whether another reranker than that of the first list read all of it.
    pub(crate) switched: bool,
    /// How many passages were read.
    pub(crate) read: usize,
}

/// Reads what repairs have added to a list, and puts all in order.
///
/// One list has one scorer: that of the first list reads what was added. Where it cannot,
/// because a repair found other languages, the first reranker that reads both reads the
/// head of the list again.
pub(crate) fn rerank_more(
    found: &FoundRerankers,
    plan: Option<&RerankPlan>,
    question: &str,
    passages: Vec<Passage>,
    Read { mut scores, repaired, names }: Read<'_>,
) -> Added {
    let is_repaired = |passage: &&Passage| repaired.contains(passage.chunk.row);
    if passages.iter().all(|passage| is_repaired(&passage)) {
        // There was no first list: this is it.
        let Reranked { ranked, .. } = rerank(found, plan, question, passages, names);
        let read = ranked.iter().filter(|one| one.rerank.is_some()).count();
        return Added { ranked, switched: false, read };
    }
    // A list that was not read has no scorer.
    let Some(plan) = plan.filter(|_| !scores.is_empty()) else {
        let ranked = in_order(passages, &scores, repaired, names);
        return Added { ranked, switched: false, read: 0 };
    };
    let first = passages.iter().filter(|passage| !is_repaired(passage)).take(plan.passages);
    let first: Vec<(RowId, String)> = first.map(row_and_text).collect();
    let added: Vec<(RowId, String)> =
        passages.iter().filter(is_repaired).map(row_and_text).collect();
    let texts: Vec<&str> = first.iter().map(|(_, text)| text.as_str()).collect();
    let Some((before, _)) = found.rerankers.iter().find_map(|one| head(one, question, &texts))
    else {
        let ranked = in_order(passages, &scores, repaired, names);
        return Added { ranked, switched: false, read: 0 };
    };
    let reads = |one: &Arc<dyn Reranker>| added.iter().all(|(_, text)| one.reads(text));
    let other = || {
        let both = |one: &&Arc<dyn Reranker>| head(one, question, &texts).is_some() && reads(one);
        found.rerankers.iter().find(both)
    };
    let reranker = if reads(before) { before } else { other().unwrap_or(before) };
    let mut wanted: Vec<&(RowId, String)> = Vec::new();
    let switched = !Arc::ptr_eq(reranker, before);
    if switched {
        scores.clear();
        let head = head(reranker, question, &texts).map_or(0, |(_, head)| head.len());
        wanted.extend(first.iter().take(head));
    }
    wanted.extend(&added);
    wanted.retain(|(row, text)| !scores.contains_key(row) && reranker.reads(text));
    let texts: Vec<&str> = wanted.iter().map(|(_, text)| text.as_str()).collect();
    // What the budget cuts off stays behind what was read, as in the first list.
    let (read, _) = read(reranker.as_ref(), plan, question, &texts);
    let added = read.len();
    scores.extend(wanted.iter().map(|(row, _)| *row).zip(read));
    Added { ranked: in_order(passages, &scores, repaired, names), switched, read: added }
}

/// Who read these passages: the first reranker that can, if all of them were read.
pub(crate) fn reader<'a, 'p>(
    found: &'a FoundRerankers,
    question: &str,
    passages: impl Iterator<Item = &'p Ranked> + Clone,
) -> Option<&'a dyn Reranker> {
    let all_read = passages.clone().all(|one| one.rerank.is_some());
    let texts: Vec<String> = passages.map(|one| readable(&one.passage)).collect();
    let reads =
        |one: &&Arc<dyn Reranker>| one.reads(question) && texts.iter().all(|text| one.reads(text));
    found.rerankers.iter().find(reads).filter(|_| all_read).map(Arc::as_ref)
}

fn row_and_text(passage: &Passage) -> (RowId, String) {
    (passage.chunk.row, readable(passage))
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
pub(crate) fn read(
    reranker: &dyn Reranker,
    plan: &RerankPlan,
    question: &str,
    texts: &[&str],
) -> (Vec<Score>, Option<String>) {
    if let Err(error) = catch_panics("the reranker", || reranker.load()) {
        return (Vec::new(), Some(error.chain()));
    }
    let deadline = plan.budget.map(|budget| Instant::now() + budget);
    let limit = plan.limit.unwrap_or(usize::MAX).min(texts.len());
    let wanted = texts.get(..limit).unwrap_or(texts);
    let mut scores = Vec::with_capacity(texts.len());
    let mut stopped = false;
    for batch in wanted.chunks(plan.batch.max(1)) {
        if stopped || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            stopped = true;
            break;
        }
        let score = || reranker.score_until(question, batch, deadline);
        match catch_panics("the reranker", score) {
            Ok(read) => {
                stopped = read.len() < batch.len();
                scores.extend(read);
            }
            Err(error) => return (Vec::new(), Some(error.chain())),
        }
    }
    if limit < texts.len() && !stopped {
        let (read, all) = (scores.len(), texts.len());
        return (scores, Some(format!("read {read} of {all} passages, as for the first page")));
    }
    let reason = stopped.then(|| {
        let millis = plan.budget.as_ref().map_or(0, Duration::as_millis);
        let (read, all) = (scores.len(), texts.len());
        format!("stopped after {read} of {all} passages, at {millis} ms")
    });
    (scores, reason)
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

/// What was read by the blend of fused and reranker's score, and by what the first of it name;
/// then the rest. Against what repairs found the fused score does not speak: the question as it
/// was asked could not bring it up.
fn in_order(
    passages: Vec<Passage>,
    scores: &BTreeMap<RowId, Score>,
    repaired: &RowSet,
    names: Names<'_>,
) -> Vec<Ranked> {
    let score = |passage: &Passage| scores.get(&passage.chunk.row).copied();
    let (read, rest): (Vec<usize>, Vec<usize>) = (0..passages.len())
        .partition(|&place| passages.get(place).is_some_and(|one| score(one).is_some()));
    let fused = |places: &[usize]| -> Vec<Fused> {
        places.iter().filter_map(|&place| Some(passages.get(place)?.fused.clone())).collect()
    };
    let combined = |fused: &Fused| {
        let least = if repaired.contains(fused.row) { NEUTRAL } else { Score::ZERO };
        fused.combined.max(least)
    };
    let combined: Vec<Score> = fused(&read).iter().map(combined).collect();
    let rerank: Vec<Score> = read.iter().filter_map(|&at| score(passages.get(at)?)).collect();
    let row = |index: usize| Some(passages.get(*read.get(index)?)?.chunk.row);
    let names = |from, to| row(from).zip(row(to)).map_or(0.0, |(from, to)| names(from, to));
    let blended = lift_named(blend(&combined, &rerank), names);
    let head = blended.iter().filter_map(|one| Some((*read.get(one.index)?, one.score)));
    let scored = final_scores(&fused(&rest));
    let order: Vec<(usize, Score)> = head.chain(rest.iter().copied().zip(scored)).collect();
    let mut passages: Vec<Option<Passage>> = passages.into_iter().map(Some).collect();
    let mut least = Score::ONE;
    order
        .into_iter()
        .zip(1..)
        .filter_map(|((index, score), rank)| {
            // What was not read is not above what was.
            least = least.min(score);
            let passage = passages.get_mut(index)?.take()?;
            let rerank = scores.get(&passage.chunk.row).copied();
            Some(Ranked { passage, fused_rank: index + 1, rank, rerank, score: least })
        })
        .collect()
}
