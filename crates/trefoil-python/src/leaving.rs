//! The end of the interpreter, while threads are within calls.
//!
//! Until Python 3.14 a thread that wants the interpreter after its end is ended by `pthread_exit`,
//! which unwinds its stack, and a frame of Rust on that ends the process. So from when Python
//! begins to leave, no thread comes back to it but the one that ends it.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicIsize, Ordering},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use pyo3::Python;

/// The thread that ends the interpreter, once it does.
static LEAVER: OnceLock<ThreadId> = OnceLock::new();
/// Threads that come back to the interpreter, or are in it for an engine.
static INSIDE: AtomicIsize = AtomicIsize::new(0);

/// How long the end of the interpreter waits for code of Python that an engine has called.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// One of [`INSIDE`].
struct Inside;

impl Inside {
    /// Enters, unless the interpreter is another thread's to end.
    fn enter() -> Option<Self> {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        let inside = Self;
        may_stay().then_some(inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

fn may_stay() -> bool {
    LEAVER.get().is_none_or(|leaver| *leaver == thread::current().id())
}

/// Does `work` while others have the interpreter, and comes back to it, unless it has ended.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let (answer, inside) = py.detach(|| {
        if !may_stay() {
            stay_away();
        }
        let answer = work();
        match Inside::enter() {
            Some(inside) => (answer, inside),
            None => stay_away(),
        }
    });
    drop(inside);
    answer
}

/// Does `work` in the interpreter, on a thread of an engine; nothing once Python leaves.
pub(crate) fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let _inside = Inside::enter()?;
    Python::try_attach(work)
}

/// Whether the interpreter is about to end.
pub(crate) fn has_begun() -> bool {
    LEAVER.get().is_some()
}

/// Begins the end of the interpreter by this thread: waits until no other is in it for an engine.
pub(crate) fn begin(py: Python<'_>) {
    LEAVER.get_or_init(|| thread::current().id());
    py.detach(|| {
        let until = Instant::now() + LONGEST_WAIT;
        while INSIDE.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            thread::sleep(Duration::from_micros(200));
        }
    });
}

/// A fork has none of the threads that were inside.
pub(crate) fn forget_others() {
    INSIDE.store(0, Ordering::SeqCst);
}

/// The process ends without this thread.
fn stay_away() -> ! {
    loop {
        thread::park();
    }
}
