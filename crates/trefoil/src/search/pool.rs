//! Work on threads that stay, in parallel with the calling thread.
//!
//! A thread for each retriever of each search would cost its start, and leave memory behind: an
//! allocator that keeps memory for threads hands what one thread freed to whichever comes
//! next. And the threads are not those that read documents, so that no search waits for a
//! large file.
//!
//! Nobody waits for a thread to be free: what none has begun when the caller has done its own share,
//! the caller does itself. So a search ends whatever the others are waiting for. While there are as many
//! callers as worker threads, no worker is woken: every core has a search of its own.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use trefoil_core::Threads;

static THREADS: LazyLock<Threads> = LazyLock::new(|| Threads::start("trefoil-retriever"));

/// How many threads are inside [`join`].
static CALLERS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread is one of them: nested calls count once.
    static IS_CALLER: Cell<bool> = const { Cell::new(false) };
}

/// Counts this thread as a caller until it is dropped.
struct Caller;

/// Work that is done once, by whoever takes it first.
type Work = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// Does `here` on this thread and `others` in parallel; all of them on this one if it is itself of
/// a pool of rayon, whose other threads have work of their own. What the others return, in their
/// order; nothing for one that panicked.
pub(crate) fn join<A, B: Send + 'static>(
    here: impl FnOnce() -> A,
    others: impl IntoIterator<Item = impl FnOnce() -> B + Send + 'static>,
) -> (A, Vec<Option<B>>) {
    let _caller = Caller::enter();
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

impl Caller {
    /// None where the thread is counted already.
    fn enter() -> Option<Self> {
        let is_new = !IS_CALLER.replace(true);
        is_new.then(|| {
            CALLERS.fetch_add(1, Ordering::Relaxed);
            Self
        })
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        CALLERS.fetch_sub(1, Ordering::Relaxed);
        IS_CALLER.set(false);
    }
}

/// Offers work to the worker threads, unless there are as many callers.
fn offer(work: &Work) {
    let Some(threads) = THREADS.for_others() else { return };
    if CALLERS.load(Ordering::Relaxed) < threads.current_num_threads() {
        let work = Arc::clone(work);
        threads.spawn(move || do_once(&work));
    }
}

fn do_once(work: &Work) {
    let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(work) = work {
        work();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

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
        let count = 4 * cores();
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

    #[test]
    fn no_worker_is_woken_while_every_core_has_a_caller() {
        let (all_inside, end) =
            (Arc::new(Barrier::new(cores() + 1)), Arc::new(Barrier::new(cores() + 1)));
        let callers: Vec<_> = (0..cores())
            .map(|_| {
                let (all_inside, end) = (Arc::clone(&all_inside), Arc::clone(&end));
                let wait = move || _ = (all_inside.wait(), end.wait());
                std::thread::spawn(move || join(wait, [|| ()]).1)
            })
            .collect();
        all_inside.wait();
        let own = std::thread::current().id();
        let others = vec![Some(own); 50];
        let work = || (0..50).map(|_| || std::thread::current().id());
        // A worker that was woken would take some of it meanwhile.
        let pause = || std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(join(pause, work()).1, others);
        assert_eq!(join(|| join(pause, work()).1, work()), (others.clone(), others));
        end.wait();
        for one in callers {
            assert_eq!(one.join().unwrap(), [Some(())]);
        }
    }

    fn cores() -> usize {
        std::thread::available_parallelism().map_or(8, usize::from)
    }
}
