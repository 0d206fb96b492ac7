//! The first passages, read together with the question.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use trefoil_core::{
    Deadline, Fused, Passage, Ranked, RerankPlan, Reranker, Result, RowId, RowSet, Score,
};

use crate::{
    background::catch_panics,
    models::FoundRerankers,
    search::{
        blend::{NEUTRAL, Prior, blend_with, is_settled, lift_named},
        relevance::final_scores,
        turns::Turns,
    },
};

/// How strongly the passage of the first row mentions the subject of the second, 0–1.
type Names<'a> = &'a dyn Fn(RowId, RowId) -> f32;

/// What token vectors say of rows, in a list that a cross-encoder reads or that none does.
type CompareTokens<'a> = &'a dyn Fn(&[RowId], bool) -> Result<Compared>;

/// What the indexes know of passages without reading them.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// What the token vectors that are kept say of rows.
    pub(crate) compare_tokens: CompareTokens<'a>,
    /// Which passages name what others are about.
    pub(crate) names: Names<'a>,
}

/// What kept token vectors say of rows: the average of the others of one that has none, nothing if
/// too few have any.
#[derive(Debug)]
pub(crate) enum Compared {
    /// The log-odds of each, by which a list is ordered before any of it is read.
    Before(BTreeMap<RowId, f32>),
    /// The score of each, in place of reading.
    Instead(BTreeMap<RowId, Score>),
}

impl Default for Compared {
    fn default() -> Self {
        Self::Before(BTreeMap::new())
    }
}

/// A reranker that cannot read so many passages from the top leaves the list to one that can.
const ENOUGH: usize = 10;

/// How long a search with a budget waits for others that read passages. Then the order of fusion is
/// the better answer.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// The most time for reading, unless the search is thorough. Two slow cores need less, a busy
/// machine may need more.
const QUICK_BUDGET: Duration = Duration::from_millis(150);

/// Passages in their final order, and why not all were read that should have been.
#[derive(Debug)]
pub(crate) struct Reranked {
    pub(crate) ranked: Vec<Ranked>,
    pub(crate) degraded: Option<String>,
}

/// Reads the head of `passages` as `plan` says, the first few of it if that is not thorough, and
/// orders it by the blend of all scores, lifted by what the first of them name; what is not read
/// follows. What is kept of their tokens by a model of late interaction orders passages before
/// they are read (decision 028), as what is kept by the embedder does where the embedder reads
/// (decision 037). A list in another language than the question is ordered by what is kept alone, if
/// that says something; what cannot be compared is read, and `degraded` says why.
pub(crate) fn rerank(
    found: &FoundRerankers,
    plan: Option<&RerankPlan>,
    question: &str,
    passages: Vec<Passage>,
    known: Known<'_>,
    deadline: &Deadline,
) -> Reranked {
    let names = known.names;
    let Some(plan) = plan.filter(|_| !passages.is_empty()) else {
        return Reranked { ranked: unread(passages, names), degraded: None };
    };
    let nothing = RowSet::default();
    let is_read = {
        let texts: Vec<String> = passages.iter().take(plan.passages).map(readable).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        found.rerankers.iter().any(|one| head(one, question, &texts).is_some())
    };
    let rows: Vec<RowId> = passages.iter().take(plan.passages).map(|one| one.chunk.row).collect();
    let (compared, mut degraded) = compared(known, &rows, is_read);
    // What none of the others reads, the embedder does.
    let readers: Vec<&Arc<dyn Reranker>> =
        if is_read { found.all().collect() } else { found.by_tokens.iter().collect() };
    let tokens = match compared {
        // What is not read stays in the order of fusion.
        Compared::Before(_) if readers.is_empty() => BTreeMap::new(),
        Compared::Before(tokens) => tokens,
        Compared::Instead(mut scores) => {
            // A later page has the scores that the first one had.
            for row in rows.iter().skip(plan.limit.unwrap_or(usize::MAX)) {
                scores.remove(row);
            }
            let candidates = candidates(passages, &BTreeMap::new(), &nothing);
            return Reranked { ranked: in_order(candidates, &scores, names), degraded };
        }
    };
    let candidates = candidates(passages, &tokens, &nothing);
    let texts: Vec<String> =
        candidates.iter().take(plan.passages).map(|one| readable(&one.passage)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let reads = |one| head(one, question, &texts);
    let priors: Vec<Prior> = candidates.iter().map(|one| one.prior).collect();
    let read = if let Some((reranker, head)) = readers.into_iter().find_map(reads) {
        let reading = Reading { turns: &found.turns, plan, question, deadline };
        // The embedder's kept vectors have told some of what it would read.
        let half_first = !is_read && !tokens.is_empty();
        reading.read_enough(reranker.as_ref(), head, &priors, half_first)
    } else {
        let none = || "no reranker reads the languages found".to_owned();
        (Vec::new(), Some(found.missing.clone().unwrap_or_else(none)))
    };
    degraded = degraded.or(read.1);
    let scores = candidates.iter().map(|one| one.passage.chunk.row).zip(read.0).collect();
    Reranked { ranked: in_order(candidates, &scores, names), degraded }
}

/// What the token vectors of rows say, or why they say nothing.
fn compared(known: Known<'_>, rows: &[RowId], is_read: bool) -> (Compared, Option<String>) {
    match (known.compare_tokens)(rows, is_read) {
        Ok(compared) => (compared, None),
        Err(error) => (Compared::default(), Some(error.chain())),
    }
}

/// A passage before it is read.
#[derive(Debug)]
struct Candidate {
    passage: Passage,
    /// Its place in the order of fusion, from 1.
    fused_rank: usize,
    prior: Prior,
}

/// `passages`, which are in the order of fusion, as they are read: those that `tokens` speak of by
/// that and their fused score, then the others. Against what repairs found the fused score does not
/// speak: the question as it was asked could not bring it up.
fn candidates(
    passages: Vec<Passage>,
    tokens: &BTreeMap<RowId, f32>,
    repaired: &RowSet,
) -> Vec<Candidate> {
    let candidate = |(passage, fused_rank): (Passage, usize)| {
        let row = passage.fused.row;
        let least = if repaired.contains(row) { NEUTRAL } else { Score::ZERO };
        let tokens = tokens.get(&row).copied();
        let prior = Prior::new(passage.fused.combined.max(least), tokens);
        Candidate { passage, fused_rank, prior }
    };
    let all = passages.into_iter().zip(1..).map(candidate);
    let is_compared = |one: &Candidate| tokens.contains_key(&one.passage.fused.row);
    let (mut compared, others): (Vec<Candidate>, Vec<Candidate>) = all.partition(is_compared);
    // The sort is stable.
    compared.sort_by(|a, b| b.prior.log_odds.total_cmp(&a.prior.log_odds));
    compared.extend(others);
    compared
}

/// `passages` in the order of fusion, none of them read.
pub(crate) fn unread(passages: Vec<Passage>, names: Names<'_>) -> Vec<Ranked> {
    let candidates = candidates(passages, &BTreeMap::new(), &RowSet::default());
    in_order(candidates, &BTreeMap::new(), names)
}

/// What has been read of a list that repairs have made longer.
pub(crate) struct Read<'a> {
    /// The scores of what was read.
    pub(crate) scores: BTreeMap<RowId, Score>,
    /// What repairs found: all of it is read, wherever it stands.
    pub(crate) repaired: &'a RowSet,
    pub(crate) known: Known<'a>,
    /// When the search has to end.
    pub(crate) deadline: &'a Deadline,
}

/// A list after that.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) ranked: Vec<Ranked>,
    /// Whether another reranker than that of the first list read all of it.
    pub(crate) switched: bool,
    /// How many passages were read.
    pub(crate) read: usize,
    /// Why the token vectors that are kept could not be compared.
    pub(crate) degraded: Option<String>,
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
    Read { mut scores, repaired, known, deadline }: Read<'_>,
) -> Added {
    let names = known.names;
    let is_repaired = |passage: &&Passage| repaired.contains(passage.chunk.row);
    if passages.iter().all(|passage| is_repaired(&passage)) {
        // There was no first list: this is it. What repairs found is all read.
        let plan = plan.map(|plan| RerankPlan { thorough: true, ..plan.clone() });
        let plan = plan.as_ref();
        let Reranked { ranked, .. } = rerank(found, plan, question, passages, known, deadline);
        let read = ranked.iter().filter(|one| one.rerank.is_some()).count();
        return Added { ranked, switched: false, read, degraded: None };
    }
    // A list that was not read has no scorer.
    let Some(plan) = plan.filter(|_| !scores.is_empty()) else {
        let candidates = candidates(passages, &BTreeMap::new(), repaired);
        let ranked = in_order(candidates, &scores, names);
        return Added { ranked, switched: false, read: 0, degraded: None };
    };
    let first = passages.iter().filter(|passage| !is_repaired(passage)).take(plan.passages);
    let first: Vec<(RowId, String)> = first.map(row_and_text).collect();
    let added: Vec<(RowId, String)> =
        passages.iter().filter(is_repaired).map(row_and_text).collect();
    let texts: Vec<&str> = first.iter().map(|(_, text)| text.as_str()).collect();
    let is_read = found.rerankers.iter().any(|one| head(one, question, &texts).is_some());
    let mut rows: Vec<RowId> = added.iter().map(|(row, _)| *row).collect();
    let (mut told, mut degraded) = compared(known, &rows, is_read);
    if matches!(told, Compared::Before(_)) {
        rows.extend(first.iter().map(|(row, _)| *row));
        (told, degraded) = compared(known, &rows, is_read);
    } else if let Compared::Instead(told) = &told {
        for (&row, &score) in told {
            scores.entry(row).or_insert(score);
        }
    }
    let tokens = match told {
        Compared::Before(tokens) if is_read || found.by_tokens.is_some() => tokens,
        Compared::Before(_) | Compared::Instead(_) => BTreeMap::new(),
    };
    let Some((before, _)) = found.all().find_map(|one| head(one, question, &texts)) else {
        let ranked = in_order(candidates(passages, &tokens, repaired), &scores, names);
        return Added { ranked, switched: false, read: 0, degraded };
    };
    let reads = |one: &Arc<dyn Reranker>| added.iter().all(|(_, text)| one.reads(text));
    let other = || {
        let both = |one: &&Arc<dyn Reranker>| head(one, question, &texts).is_some() && reads(one);
        found.all().find(both)
    };
    let reranker = if reads(before) { before } else { other().unwrap_or(before) };
    let mut wanted: Vec<&(RowId, String)> = Vec::new();
    let switched = !Arc::ptr_eq(reranker, before);
    if switched {
        scores.clear();
        let head = head(reranker, question, &texts).map_or(&[][..], |(_, head)| head);
        wanted.extend(first.iter().take(head.len()));
    }
    wanted.extend(&added);
    wanted.retain(|(row, text)| !scores.contains_key(row) && reranker.reads(text));
    let texts: Vec<&str> = wanted.iter().map(|(_, text)| text.as_str()).collect();
    // What the budget cuts off stays behind what was read, as in the first list.
    let reading = Reading { turns: &found.turns, plan, question, deadline };
    let (read, _) = reading.read(reranker.as_ref(), &texts);
    let added = read.len();
    scores.extend(wanted.iter().map(|(row, _)| *row).zip(read));
    let ranked = in_order(candidates(passages, &tokens, repaired), &scores, names);
    Added { ranked, switched, read: added, degraded }
}

/// Who read these passages: the first reranker that can, if all of them were read.
pub(crate) fn reader<'a, 'p>(
    found: &'a FoundRerankers,
    question: &str,
    passages: impl Iterator<Item = &'p Ranked> + Clone,
) -> Option<&'a dyn Reranker> {
    let all_read = passages.clone().all(|one| one.rerank.is_some());
    able_reader(found, question, passages).filter(|_| all_read)
}

/// Who can read these passages, whether they were read or not.
pub(crate) fn able_reader<'a, 'p>(
    found: &'a FoundRerankers,
    question: &str,
    passages: impl Iterator<Item = &'p Ranked>,
) -> Option<&'a dyn Reranker> {
    let texts: Vec<String> = passages.map(|one| readable(&one.passage)).collect();
    let reads =
        |one: &&Arc<dyn Reranker>| one.reads(question) && texts.iter().all(|text| one.reads(text));
    found.all().find(reads).map(Arc::as_ref)
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

/// What reading of passages needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) turns: &'a Turns,
    pub(crate) plan: &'a RerankPlan,
    pub(crate) question: &'a str,
    /// When the search has to end.
    pub(crate) deadline: &'a Deadline,
}

impl Reading<'_> {
    /// Scores of all `texts`, from the top down, until the budget is spent or the search has to
    /// end; one that cannot be had leaves the order of fusion as it is.
    pub(crate) fn read(
        self,
        reranker: &dyn Reranker,
        texts: &[&str],
    ) -> (Vec<Score>, Option<String>) {
        let read = self.read_while(reranker, texts, |_| Ok(texts.len()));
        read.unwrap_or_else(|error| (Vec::new(), Some(error.chain())))
    }

    /// The same of as many of a list from the top as the plan wants: all of them, or as many as
    /// the reranker finds enough, if not one leads all others before that; half of the first of
    /// them to begin with, where `half_first` says so. A later page reads what the first one has read.
    fn read_enough(
        self,
        reranker: &dyn Reranker,
        head: &[&str],
        priors: &[Prior],
        half_first: bool,
    ) -> (Vec<Score>, Option<String>) {
        let Self { plan, question, .. } = self;
        if plan.thorough {
            return self.read(reranker, head);
        }
        let enough = |read: &[Score]| {
            catch_panics("the reranker", || Ok(reranker.enough(question, head, read)))
        };
        let quick = || {
            let first = enough(&[])?;
            let first = if half_first { first.div_ceil(2) } else { first };
            let most = if first < head.len() { QUICK_BUDGET } else { Duration::MAX };
            let budget = plan.budget.map(|budget| budget.min(most));
            let quick = Reading { plan: &RerankPlan { budget, ..plan.clone() }, ..self };
            quick.read_while(reranker, head, |read| match plan.limit {
                Some(limit) => Ok(limit.max(first)),
                None if read.is_empty() => Ok(first),
                None if is_settled(priors, read) => Ok(read.len()),
                None => enough(read),
            })
        };
        quick().unwrap_or_else(|error| (Vec::new(), Some(error.chain())))
    }

    /// Reads as many as `enough` says, which is asked again with what was read until that is
    /// enough; the scores, and why they are not all that it wanted.
    fn read_while(
        self,
        reranker: &dyn Reranker,
        texts: &[&str],
        enough: impl Fn(&[Score]) -> Result<usize>,
    ) -> Result<(Vec<Score>, Option<String>)> {
        let Self { turns, plan, question, deadline: whole } = self;
        let mut all = enough(&[])?.min(texts.len());
        if whole.has_passed() {
            return Ok((Vec::new(), Some(format!("read 0 of {all} passages: {TIME_IS_UP}"))));
        }
        catch_panics("the reranker", || reranker.load())?;
        let deadline = whole.within(plan.budget);
        let longest_wait = plan.budget.map(|budget| budget.min(LONGEST_WAIT));
        let Some(_turn) = turns.take(&whole.within(longest_wait)) else {
            let reason = format!("read 0 of {all} passages: other questions are being read");
            return Ok((Vec::new(), Some(reason)));
        };
        let limit = plan.limit.unwrap_or(usize::MAX);
        let mut scores = Vec::with_capacity(all);
        let mut stopped = false;
        while !stopped && scores.len() < all.min(limit) {
            if deadline.has_passed() {
                stopped = true;
                break;
            }
            let batch = texts.get(scores.len()..all.min(limit)).unwrap_or_default();
            let batch = batch.get(..plan.batch.max(1)).unwrap_or(batch);
            let score = || reranker.score_until(question, batch, &deadline);
            let read = catch_panics("the reranker", score)?;
            stopped = read.len() < batch.len();
            scores.extend(read);
            if scores.len() == all {
                all = all.max(enough(&scores)?.min(texts.len()));
            }
        }
        let read = scores.len();
        let reason = if stopped && whole.has_passed() {
            Some(format!("stopped after {read} of {all} passages: {TIME_IS_UP}"))
        } else if stopped {
            let millis = plan.budget.as_ref().map_or(0, Duration::as_millis);
            Some(format!("stopped after {read} of {all} passages, at {millis} ms"))
        } else if limit < all {
            Some(format!("read {read} of {all} passages, as for the first page"))
        } else {
            None
        };
        Ok((scores, reason))
    }
}

/// Why something was left out.
pub(crate) const TIME_IS_UP: &str = "the time of the search was up; raise `timeoutMs`";

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

/// What was read by the blend of what was known and the reranker's score, and by what the first of
/// it name; then the rest.
fn in_order(
    candidates: Vec<Candidate>,
    scores: &BTreeMap<RowId, Score>,
    names: Names<'_>,
) -> Vec<Ranked> {
    let score = |at: usize| scores.get(&candidates.get(at)?.passage.chunk.row).copied();
    let (read, rest): (Vec<usize>, Vec<usize>) =
        (0..candidates.len()).partition(|&at| score(at).is_some());
    let row = |index: usize| Some(candidates.get(*read.get(index)?)?.passage.chunk.row);
    let names = |from, to| row(from).zip(row(to)).map_or(0.0, |(from, to)| names(from, to));
    let rerank: Vec<Score> = read.iter().filter_map(|&at| score(at)).collect();
    let priors = read.iter().filter_map(|&at| candidates.get(at)).map(|one| one.prior);
    let blended = lift_named(blend_with(priors, &rerank), names);
    let head = blended.iter().filter_map(|one| Some((*read.get(one.index)?, one.score)));
    let unread = rest.iter().filter_map(|&at| candidates.get(at));
    let fused: Vec<Fused> = unread.map(|one| one.passage.fused.clone()).collect();
    let order: Vec<(usize, Score)> =
        head.chain(rest.iter().copied().zip(final_scores(&fused))).collect();
    let mut candidates: Vec<Option<Candidate>> = candidates.into_iter().map(Some).collect();
    let mut least = Score::ONE;
    order
        .into_iter()
        .zip(1..)
        .filter_map(|((at, score), rank)| {
            // What was not read is not above what was.
            least = least.min(score);
            let Candidate { passage, fused_rank, .. } = candidates.get_mut(at)?.take()?;
            let rerank = scores.get(&passage.chunk.row).copied();
            Some(Ranked { passage, fused_rank, rank, rerank, score: least })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use trefoil_core::{Cancel, Result};

    use super::*;

    /// Counts what it scores, and gives the search up after so many.
    #[derive(Debug)]
    struct Counts {
        scored: AtomicUsize,
        gives_up_after: usize,
        cancel: Cancel,
    }

    impl Reranker for Counts {
        fn model(&self) -> &'static str {
            "counts"
        }

        fn reads(&self, _: &str) -> bool {
            true
        }

        fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<Score>> {
            let scored = self.scored.fetch_add(passages.len(), Ordering::Relaxed) + passages.len();
            if scored >= self.gives_up_after {
                self.cancel.cancel();
            }
            Ok(vec![Score::ONE; passages.len()])
        }
    }

    /// What is read of five passages, and what is said about it.
    fn read(
        turns: &Turns,
        deadline: &Deadline,
        budget: Option<Duration>,
        reranker: &Counts,
    ) -> (usize, String) {
        let plan = RerankPlan { passages: 5, thorough: false, batch: 16, limit: None, budget };
        let reading = Reading { turns, plan: &plan, question: "why?", deadline };
        let (scores, reason) = reading.read(reranker, &["a"; 5]);
        assert_eq!(scores.len(), reranker.scored.load(Ordering::Relaxed));
        (scores.len(), reason.unwrap_or_default())
    }

    fn counts(gives_up_after: usize) -> Counts {
        Counts { scored: 0.into(), gives_up_after, cancel: Cancel::default() }
    }

    #[test]
    fn nothing_is_read_after_the_end_of_the_search() {
        let (turns, late) = (Turns::of(1), Deadline::after(Duration::ZERO));
        let (scored, said) = read(&turns, &late, None, &counts(9));
        assert_eq!(scored, 0);
        assert!(said.starts_with("read 0 of 5 passages") && said.contains("timeoutMs"), "{said}");
        assert_eq!(read(&turns, &Deadline::NEVER, None, &counts(9)), (5, String::new()));
    }

    #[test]
    fn the_end_is_looked_for_before_each_passage_of_a_batch() {
        let reranker = counts(2);
        let deadline = Deadline::NEVER.with_cancel(reranker.cancel.clone());
        let (scored, said) = read(&Turns::of(1), &deadline, None, &reranker);
        assert_eq!(scored, 2);
        assert!(said.starts_with("stopped after 2 of 5 passages: the time"), "{said}");
    }

    #[test]
    fn half_is_read_first_where_kept_vectors_have_told_half() {
        let (turns, deadline) = (Turns::of(1), Deadline::NEVER);
        let plan =
            RerankPlan { passages: 5, thorough: false, batch: 16, limit: None, budget: None };
        let reading = Reading { turns: &turns, plan: &plan, question: "why?", deadline: &deadline };
        for (first, half_first, expected) in [(4.0, true, 3), (0.0, true, 5), (4.0, false, 5)] {
            let priors = [first, 0.0, 0.0, 0.0, 0.0].map(|it| Prior::new(Score::HALF, Some(it)));
            let (scores, reason) = reading.read_enough(&counts(9), &["a"; 5], &priors, half_first);
            assert_eq!((scores.len(), reason), (expected, None), "{first} {half_first}");
        }
    }

    #[test]
    fn without_a_turn_the_order_of_fusion_stays() {
        let turns = Turns::of(1);
        let taken = turns.take(&Deadline::NEVER).unwrap();
        let (scored, said) = read(&turns, &Deadline::NEVER, Some(Duration::ZERO), &counts(9));
        assert_eq!(scored, 0);
        assert!(said.contains("other questions"), "{said}");
        drop(taken);
        let hour = Some(Duration::from_hours(1));
        assert_eq!(read(&turns, &Deadline::NEVER, hour, &counts(9)), (5, String::new()));
    }
}
