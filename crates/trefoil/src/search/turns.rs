//! How many searches read passages at the same time.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use trefoil_core::Deadline;

/// As many turns as there are cores: more rerankings at once would only make each of them late.
#[derive(Debug)]
pub(crate) struct Turns {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A turn that is taken; it is free again when dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Turns);

impl Default for Turns {
    fn default() -> Self {
        Self::of(thread::available_parallelism().map_or(1, usize::from))
    }
}

impl Turns {
    /// So many at once.
    pub(crate) const fn of(most: usize) -> Self {
        Self { free: Mutex::new(most), freed: Condvar::new() }
    }

    /// A turn, or the next that is free; none if none is until `deadline`.
    pub(crate) fn take(&self, deadline: &Deadline) -> Option<Turn<'_>> {
        let mut free = self.lock();
        loop {
            if *free > 0 {
                *free -= 1;
                return Some(Turn(self));
            }
            let wait = deadline.wait();
            if deadline.has_passed() {
                return None;
            }
            free = match wait {
                None => self.freed.wait(free).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = self.freed.wait_timeout(free, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.lock() += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
    fn one_that_waits_has_the_next() {
        let turns = Turns::of(1);
        let taken = turns.take(&Deadline::NEVER).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.take(&Deadline::NEVER).is_some());
            drop(taken);
            assert!(waiting.join().unwrap());
        });
    }
}
