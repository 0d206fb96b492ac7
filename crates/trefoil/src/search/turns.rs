//! How many searches do the same at the same time.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use trefoil_core::Deadline;

/// A number of turns, which are given in the order in which they are asked for. More work at once
/// than the cores can do would only make each of it late.
#[derive(Debug)]
pub(crate) struct Turns {
    line: Mutex<Line>,
}

#[derive(Debug)]
struct Line {
    /// None while somebody waits.
    free: usize,
    /// First come, first served: one that is done and asks again would else have the next turn.
    waiting: VecDeque<Arc<Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    has_turn: AtomicBool,
    given: Condvar,
}

/// A turn that is taken; it goes to the next in line when dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Turns);

/// One for each core.
impl Default for Turns {
    fn default() -> Self {
        Self::per_core(1)
    }
}

impl Turns {
    /// So many at once for each core.
    pub(crate) fn per_core(most: usize) -> Self {
        Self::of(most * thread::available_parallelism().map_or(1, usize::from))
    }

    /// So many at once.
    pub(crate) const fn of(most: usize) -> Self {
        Self { line: Mutex::new(Line { free: most, waiting: VecDeque::new() }) }
    }

    /// A turn, or the next that is free; none if none is until `deadline`.
    pub(crate) fn take(&self, deadline: &Deadline) -> Option<Turn<'_>> {
        let mut line = self.lock();
        if line.free > 0 {
            line.free -= 1;
            return Some(Turn(self));
        }
        let own = Arc::new(Waiting::default());
        line.waiting.push_back(Arc::clone(&own));
        loop {
            if own.has_turn.load(Ordering::Relaxed) {
                return Some(Turn(self));
            }
            let wait = deadline.wait();
            if deadline.has_passed() {
                line.waiting.retain(|one| !Arc::ptr_eq(one, &own));
                return None;
            }
            line = match wait {
                None => own.given.wait(line).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = own.given.wait_timeout(line, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut line = self.0.lock();
        let Some(next) = line.waiting.pop_front() else {
            line.free += 1;
            return;
        };
        next.has_turn.store(true, Ordering::Relaxed);
        next.given.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use trefoil_core::Cancel;

    use super::*;

    #[test]
    fn there_are_so_many_and_each_comes_back() {
        let turns = Turns::of(2);
        let now = &Deadline::after(Duration::ZERO);
        let (first, _second) = (turns.take(now).unwrap(), turns.take(now).unwrap());
        assert!(turns.take(now).is_none());
        drop(first);
        assert!(turns.take(now).is_some());
    }

    #[test]
    fn those_who_wait_are_served_in_their_order_but_who_has_gone() {
        let turns = &Turns::of(1);
        let taken = turns.take(&Deadline::NEVER).unwrap();
        let in_line = |count: usize| {
            while turns.lock().waiting.len() != count {
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            let (done, order) = mpsc::channel();
            let gives_up = Cancel::default();
            for place in 0..4 {
                let deadline = match place {
                    1 => Deadline::NEVER.with_cancel(gives_up.clone()),
                    _ => Deadline::NEVER,
                };
                let done = done.clone();
                scope.spawn(move || {
                    let turn = turns.take(&deadline);
                    done.send((place, turn.is_some())).unwrap();
                });
                in_line(place + 1);
            }
            gives_up.cancel();
            assert_eq!(order.recv().unwrap(), (1, false));
            in_line(3);
            drop(taken);
            let served: Vec<_> = order.iter().take(3).collect();
            assert_eq!(served, [(0, true), (2, true), (3, true)]);
        });
        let line = turns.lock();
        assert_eq!((line.free, line.waiting.len()), (1, 0));
    }
}
