//! Reading passages together with the question, within a budget of time.

use std::time::Duration;

use trefoil_core::{Deadline, RerankPlan, Reranker, Result, Score};

use crate::{
    background::catch_panics,
    search::{
        blend::{Prior, is_settled},
        turns::Turns,
    },
};

/// How long a search with a budget waits for others that read passages. Then the order of fusion is
/// the better answer.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// The most time for reading, unless the search is thorough. Two slow cores need less, a busy
/// machine may need more.
const QUICK_BUDGET: Duration = Duration::from_millis(150);

/// Why something was left out.
pub(crate) const TIME_IS_UP: &str = "the time of the search was up; raise `timeoutMs`";

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
    pub(super) fn read_enough(
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use trefoil_core::{Cancel, Result};

    use super::*;
    use crate::search::rerank::tests::PLAN;

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
        let plan = RerankPlan { budget, ..PLAN };
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
        let reading = Reading { turns: &turns, plan: &PLAN, question: "why?", deadline: &deadline };
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
