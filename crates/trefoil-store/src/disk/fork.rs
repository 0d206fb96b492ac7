//! Forks of the process, in which only the thread that forks goes on.
//!
//! A lock that another thread holds stays locked in the child. SQLite has locks that all connections
//! share, and remembers in memory which locks of files its process has, which the child has not. So
//! whoever forks waits until no thread is within SQLite.

use std::{
    cell::{Cell, RefCell},
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError},
    thread,
    time::{Duration, Instant},
};

/// Held to read by whoever is within SQLite, to write by whoever forks.
static USES: RwLock<()> = RwLock::new(());

/// How long a fork waits for a transaction to end, and how often it looks.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_micros(100);

thread_local! {
    /// How many uses of this thread are within each other; a fork that it makes is one.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static FORKING: RefCell<Option<RwLockWriteGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// This thread is within SQLite.
#[derive(Debug)]
pub(crate) struct Use(#[expect(dead_code, reason = "held")] Option<RwLockReadGuard<'static, ()>>);

impl Use {
    /// Waits for a fork that is being made.
    pub(crate) fn begin() -> Self {
        let is_first = DEPTH.replace(DEPTH.get() + 1) == 0;
        Self(is_first.then(|| USES.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get().saturating_sub(1));
    }
}

/// Waits until no thread is within a transaction of a store, 5 seconds at most, and keeps all others
/// out of stores until [`after_fork`]. To be called before the process is forked, by the thread that
/// forks it; then the child can open indexes that the process has open. Engines that were opened
/// before the fork are not for the child.
pub fn before_fork() {
    let until = Instant::now() + LONGEST_WAIT;
    while Instant::now() < until {
        let held = match USES.try_write() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            Err(TryLockError::WouldBlock) => {
                thread::sleep(PAUSE);
                continue;
            }
        };
        FORKING.set(Some(held));
        DEPTH.set(DEPTH.get() + 1);
        return;
    }
}

/// Lets others go on after [`before_fork`]. To be called by the same thread, in the process and in
/// its child. Between the two this thread may use stores.
pub fn after_fork() {
    if let Some(held) = FORKING.take() {
        DEPTH.set(DEPTH.get().saturating_sub(1));
        drop(held);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn whoever_forks_waits_for_those_within_and_keeps_others_out() {
        let (begun, begins) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let within = thread::spawn(move || {
            let _outer = Use::begin();
            let _inner = Use::begin();
            begun.send(()).unwrap();
            ends.recv().unwrap();
        });
        begins.recv().unwrap();
        assert!(USES.try_write().is_err());
        end.send(()).unwrap();
        within.join().unwrap();
        before_fork();
        assert!(thread::spawn(|| USES.try_read().is_err()).join().unwrap());
        drop(Use::begin());
        assert!(thread::spawn(|| USES.try_read().is_err()).join().unwrap());
        after_fork();
        drop(Use::begin());
        assert!(USES.try_write().is_ok());
        before_fork();
        after_fork();
    }
}
