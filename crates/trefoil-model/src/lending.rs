//! Who has which of the few sessions of a model.

use std::{
    fmt,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use trefoil_core::{Deadline, Result};

/// What something is borrowed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A question, which somebody waits for.
    Question,
    /// One text of many, for an index.
    Batch,
}

/// Things that are made when all are out, and lent for one use at a time.
///
/// Batches have `most` of them at once. While they have any, one more may be made, which only
/// questions are lent; and what comes back goes to a question before it goes to a batch. So a
/// question never waits for a batch, and only for other questions.
pub(crate) struct Lending<T> {
    most: usize,
    state: Mutex<State<T>>,
    question: Condvar,
    batch: Condvar,
}

struct State<T> {
    idle: Vec<T>,
    /// Idle, lent or being made.
    made: usize,
    /// Lent to batches, or being made for one.
    batches: usize,
    /// Questions that wait.
    questions: usize,
}

/// Something on loan; it returns when dropped.
pub(crate) struct Loan<'a, T> {
    lending: &'a Lending<T>,
    purpose: Purpose,
    /// There once it is made, until `drop` takes it.
    thing: Option<T>,
}

impl<T> Lending<T> {
    /// Makes nothing yet.
    pub(crate) const fn new(most: usize) -> Self {
        let most = if most == 0 { 1 } else { most };
        let state = State { idle: Vec::new(), made: 0, batches: 0, questions: 0 };
        Self { most, state: Mutex::new(state), question: Condvar::new(), batch: Condvar::new() }
    }

    /// Whether none was made yet.
    pub(crate) fn is_new(&self) -> bool {
        self.lock().made == 0
    }

    /// An idle one, or a new one, or the next that is returned; none if that does not happen until
    /// `deadline`. To make one takes as long as it takes.
    ///
    /// # Errors
    /// What `make` returns.
    pub(crate) fn borrow(
        &self,
        purpose: Purpose,
        deadline: &Deadline,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Option<Loan<'_, T>>> {
        let Some(mut loan) = self.take(purpose, deadline) else { return Ok(None) };
        if loan.thing.is_none() {
            // Gives its place back if this fails, or panics. Others may borrow and return meanwhile.
            loan.thing = Some(make()?);
        }
        Ok(Some(loan))
    }

    /// An idle one, or a place for one that is to be made; none if it is too late.
    fn take(&self, purpose: Purpose, deadline: &Deadline) -> Option<Loan<'_, T>> {
        let mut state = self.lock();
        let mut waits = false;
        let taken = loop {
            let is_turn = match purpose {
                Purpose::Question => true,
                Purpose::Batch => state.batches < self.most && state.questions == 0,
            };
            let room = self.most + usize::from(state.batches > 0);
            if is_turn && (!state.idle.is_empty() || state.made < room) {
                let thing = state.idle.pop();
                state.made += usize::from(thing.is_none());
                state.batches += usize::from(purpose == Purpose::Batch);
                break Some(Loan { lending: self, purpose, thing });
            }
            let wait = deadline.wait();
            if deadline.has_passed() {
                break None;
            }
            if purpose == Purpose::Question && !waits {
                state.questions += 1;
                waits = true;
            }
            let returned = match purpose {
                Purpose::Question => &self.question,
                Purpose::Batch => &self.batch,
            };
            state = match wait {
                None => returned.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = returned.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        };
        state.questions -= usize::from(waits);
        self.call_next(&state);
        taken
    }

    /// Wakes the next whose turn it may be.
    fn call_next(&self, state: &State<T>) {
        if state.questions > 0 { &self.question } else { &self.batch }.notify_one();
    }

    /// The state is whole between any two statements, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Loan<'_, T> {
    /// What was lent.
    pub(crate) const fn thing(&mut self) -> Option<&mut T> {
        self.thing.as_mut()
    }
}

impl<T> Drop for Loan<'_, T> {
    fn drop(&mut self) {
        let mut state = self.lending.lock();
        let thing = self.thing.take();
        state.made -= usize::from(thing.is_none());
        state.idle.extend(thing);
        state.batches -= usize::from(self.purpose == Purpose::Batch);
        self.lending.call_next(&state);
    }
}

impl<T> fmt::Debug for Lending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lending").field("most", &self.most).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, sync::mpsc, thread, time::Duration};

    use trefoil_core::{Cancel, Error};

    use super::*;

    const NEVER: &Deadline = &Deadline::NEVER;

    /// A loan that makes the number of things made before.
    fn lend<'a>(
        lending: &'a Lending<usize>,
        purpose: Purpose,
        made: &Cell<usize>,
        deadline: &Deadline,
    ) -> Option<Loan<'a, usize>> {
        let make = || Ok(made.replace(made.get() + 1));
        lending.borrow(purpose, deadline, make).unwrap()
    }

    #[test]
    fn a_blocked_batch_blocks_no_question() {
        let (lending, made) = (Lending::new(2), Cell::new(0));
        let lend = |purpose| lend(&lending, purpose, &made, &Deadline::after(Duration::ZERO));
        let _blocked = [lend(Purpose::Batch).unwrap(), lend(Purpose::Batch).unwrap()];
        assert!(lend(Purpose::Batch).is_none(), "batches have two");
        let question = lend(Purpose::Question).expect("one is kept for questions");
        assert!(lend(Purpose::Question).is_none(), "and one only");
        assert!(lend(Purpose::Batch).is_none());
        drop(question);
        assert!(lend(Purpose::Batch).is_none(), "what is kept for questions is lent to no batch");
        assert!(lend(Purpose::Question).is_some());
        assert_eq!(made.get(), 3);
    }

    #[test]
    fn without_batches_questions_share_as_many_as_there_are_threads() {
        let (lending, made) = (Lending::new(2), Cell::new(0));
        let lend = || lend(&lending, Purpose::Question, &made, &Deadline::after(Duration::ZERO));
        let _held = [lend().unwrap(), lend().unwrap()];
        assert!(lend().is_none());
        assert_eq!(made.get(), 2);
    }

    #[test]
    fn what_comes_back_goes_to_the_question_that_waits() {
        let lending = Lending::new(1);
        let made = Cell::new(0);
        let batch = lend(&lending, Purpose::Batch, &made, NEVER).unwrap();
        let reserved = lend(&lending, Purpose::Question, &made, NEVER).unwrap();
        let (got, order) = mpsc::channel();
        thread::scope(|scope| {
            let ask = |purpose: Purpose| {
                let got = got.clone();
                let lending = &lending;
                scope.spawn(move || {
                    let loan = lending.borrow(purpose, NEVER, || Err(Error::EmptyRankedLists));
                    let loan = loan.unwrap().unwrap();
                    got.send(purpose).unwrap();
                    drop(loan);
                })
            };
            ask(Purpose::Question);
            while lending.lock().questions == 0 {
                thread::yield_now();
            }
            ask(Purpose::Batch);
            drop(batch);
            assert_eq!(order.recv().unwrap(), Purpose::Question);
            assert_eq!(order.recv().unwrap(), Purpose::Batch);
        });
        drop(reserved);
        assert_eq!(lending.lock().idle.len(), 2);
    }

    #[test]
    fn a_question_that_is_given_up_stops_waiting() {
        let lending = Lending::new(1);
        let _held = lend(&lending, Purpose::Question, &Cell::new(0), NEVER).unwrap();
        let cancel = Cancel::default();
        thread::scope(|scope| {
            let deadline = Deadline::NEVER.with_cancel(cancel.clone());
            let lending = &lending;
            let waiting = scope.spawn(move || {
                let loan = lending.borrow(Purpose::Question, &deadline, || Ok(9));
                loan.unwrap().is_none()
            });
            while lending.lock().questions == 0 {
                thread::yield_now();
            }
            cancel.cancel();
            assert!(waiting.join().unwrap());
        });
        assert_eq!(lending.lock().questions, 0);
    }

    #[test]
    fn one_that_could_not_be_made_leaves_its_place() {
        let lending = Lending::<usize>::new(1);
        for purpose in [Purpose::Question, Purpose::Batch] {
            let failed = lending.borrow(purpose, NEVER, || Err(Error::EmptyRankedLists));
            assert!(failed.is_err());
            assert!(lending.is_new());
        }
        assert!(lending.borrow(Purpose::Batch, NEVER, || Ok(1)).unwrap().is_some());
    }
}
