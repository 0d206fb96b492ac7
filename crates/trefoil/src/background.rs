//! What went wrong in the background, for those who ask: `drain`, `stats` and every search.

use std::{
    any::Any,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, MutexGuard, PoisonError},
};

use trefoil_core::{Degraded, Error, Result, Stage};

/// Runs code that may not be ours, such as a caller's own model. A panic becomes
/// [`Error::Panicked`], which names `what`.
pub fn catch_panics<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(panicked(what, &*payload)))
}

/// The error that a panic becomes.
pub(crate) fn panicked(what: &str, payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    Error::Panicked { what: what.to_owned(), reason: text.unwrap_or("no message").to_owned() }
}

/// The errors of the threads in the background, by the stage whose results suffer.
#[derive(Debug, Default)]
pub(crate) struct BackgroundErrors(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    lasting: BTreeMap<(Stage, Work), String>,
    /// What `drain` has not told yet.
    untold: Option<Error>,
}

/// What failed: each lasts until the same succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    /// What the worker does.
    Worker,
    /// A merge of an index.
    Merge,
    /// What is embedded for another node.
    Embed,
}

impl BackgroundErrors {
    /// Notes an error of the worker. It is told by every search until [`clear`](Self::clear), and once by
    /// `drain`.
    pub(crate) fn note(&self, stage: Stage, error: Error) {
        self.note_of(Work::Worker, stage, error);
    }

    /// The same of other work.
    pub(crate) fn note_of(&self, work: Work, stage: Stage, error: Error) {
        tracing::error!(%stage, reason = error.chain(), "work in the background failed");
        let mut state = self.state();
        let reason = format!("work in the background failed: {}", error.chain());
        state.lasting.insert((stage, work), reason);
        state.untold = Some(error);
    }

    /// The worker's work for a stage succeeds again.
    pub(crate) fn clear(&self, stage: Stage) {
        self.clear_of(Work::Worker, stage);
    }

    /// The same of other work.
    pub(crate) fn clear_of(&self, work: Work, stage: Stage) {
        self.state().lasting.remove(&(stage, work));
    }

    /// New work is about to be tried: an error of before counts no more, unless code panicked,
    /// which nobody should miss.
    pub(crate) fn try_again(&self) {
        let mut state = self.state();
        if !matches!(state.untold, Some(Error::Panicked { .. })) {
            state.untold = None;
        }
    }

    /// What lasts, by stage.
    pub(crate) fn list(&self) -> Vec<Degraded> {
        let state = self.state();
        let told = state.lasting.iter();
        told.map(|(&(stage, _), reason)| Degraded { stage, reason: reason.clone() }).collect()
    }

    /// What has not been told yet; it is told by this.
    pub(crate) fn take(&self) -> Option<Error> {
        self.state().untold.take()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use trefoil_core::RetrieverId;

    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        let said = |result: Result<()>| result.unwrap_err().to_string();
        let literal = said(catch_panics("the summariser", || panic!("on purpose")));
        assert!(literal.starts_with("the summariser panicked: on purpose"), "{literal}");
        let text = said(catch_panics("the summariser", || panic!("{} times", 3)));
        assert!(text.starts_with("the summariser panicked: 3 times"), "{text}");
        let other = said(catch_panics("it", || std::panic::panic_any(7)));
        assert!(other.starts_with("it panicked: no message"), "{other}");
        assert_eq!(catch_panics("it", || Ok(7)).unwrap(), 7);
    }

    #[test]
    fn a_panic_is_told_once_by_drain_and_lasts_for_searches() {
        let troubles = BackgroundErrors::default();
        troubles.note(Stage::Retriever(RetrieverId::SEMANTIC), panicked("it", &"x"));
        troubles.try_again();
        assert!(troubles.take().is_some() && troubles.take().is_none());
        assert_eq!(troubles.list().len(), 1);
        troubles.clear(Stage::Retriever(RetrieverId::SEMANTIC));
        assert_eq!(troubles.list(), []);
        troubles.note(
            Stage::Retriever(RetrieverId::GRAPH),
            Error::SearchFailed { query: "q".into(), reason: "r".into() },
        );
        troubles.try_again();
        assert!(troubles.take().is_none());
    }
}
