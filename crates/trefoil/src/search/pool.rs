//! Work on threads that stay, in parallel with the calling thread.
//!
//! A thread for each retriever of each search would cost its start, and leave memory behind: an
//! allocator that keeps memory for threads hands what one thread freed to whichever comes
//! next. And the threads are not those that read documents, so that no search waits for a
//! large file.
//!
//! Nobody waits for a thread to be free: what none has begun when the caller has done its own share,
//! the caller does itself. So a search ends whatever the others are waiting for.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use trefoil_core::Threads;

static THREADS: LazyLock<Threads> = LazyLock::new(|| Threads::start("trefoil-retriever"));

/// Work that the threads have yet to look at.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Work that waits for each thread, at most. With more, whoever brings it is sooner done alone.
const WAITING_EACH: usize = 2;

/// Work that is done once, by whoever takes it first.
type Work = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// Does `here` on this thread and `others` in parallel; all of them on this one if it is itself of
/// a pool of rayon, whose other threads have work of their own. What the others return, in their
/// order; nothing for one that panicked.
pub(crate) fn join<A, B: Send + 'static>(
    here: impl FnOnce() -> A,
    others: impl IntoIterator<Item = impl FnOnce() -> B + Send + 'static>,
) -> (A, Vec<Option<B>>) {
    let (sender, receiver) = mpsc::channel();
    let work = |(place, other)| {
        let sender = sender.clone();
        let work = move || {
            // Nobody receives where `here` has panicked.
            let _ = sender.send((place, catch_unwind(AssertUnwindSafe(other)).ok()));
        };
        Arc::new(Mutex::new(Some(Box::new(work) as Box<dyn FnOnce() + Send>)))
    };
    let others: Vec<Work> = others.into_iter().enumerate().map(work).collect();
    others.iter().for_each(offer);
    let here = here();
    others.iter().for_each(do_once);
    let mut returned: Vec<Option<B>> = others.iter().map(|_| None).collect();
    for (place, value) in receiver.iter().take(others.len()) {
        if let Some(returned) = returned.get_mut(place) {
            *returned = value;
        }
    }
    (here, returned)
}

/// Gives work to the threads, unless they have enough.
fn offer(work: &Work) {
    let Some(threads) = THREADS.for_others() else { return };
    let most = threads.current_num_threads() * WAITING_EACH;
    if WAITING.load(Ordering::Relaxed) >= most {
        return;
    }
    WAITING.fetch_add(1, Ordering::Relaxed);
    let work = Arc::clone(work);
    threads.spawn(move || {
        WAITING.fetch_sub(1, Ordering::Relaxed);
        do_once(&work);
    });
}

fn do_once(work: &Work) {
    let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(work) = work {
        work();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_returns_or_is_missing() {
        let texts = ["ada", "panic", "lovelace"];
        let others = texts.map(|text| {
            move || {
                assert!(text != "panic", "on purpose");
                text.len()
            }
        });
        assert_eq!(join(|| "here", others), ("here", vec![Some(3), None, Some(8)]));
    }

    #[test]
    fn parallel_work_may_be_nested() {
        let state = |number: usize| move || join(|| number, [move || number * 10]).1;
        let ((), found) = join(|| (), (0..50).map(state));
        let expected: Vec<_> = (0..50).map(|number| Some(vec![Some(number * 10)])).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn nobody_waits_for_the_work_of_others() {
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        // More than there are threads, which all wait.
        let count = 4 * std::thread::available_parallelism().map_or(8, usize::from);
        let blocked: Vec<_> = (0..count)
            .map(|_| {
                let held = Arc::clone(&held);
                let wait =
                    move || held.lock().unwrap_or_else(PoisonError::into_inner).recv().is_ok();
                std::thread::spawn(move || join(|| (), [wait]).1)
            })
            .collect();
        assert_eq!(join(|| 1, [|| 2]), (1, vec![Some(2)]));
        (0..count).for_each(|_| release.send(()).unwrap());
        for one in blocked {
            assert_eq!(one.join().unwrap(), [Some(true)]);
        }
    }
}
