//! Work on threads that stay, in parallel with the calling thread.
//!
//! A thread for each retriever of each search would cost its start, and leave memory behind: an
//! allocator that keeps memory for threads hands what one thread freed to whichever comes
//! next. And the threads are not those that read documents, so that no search waits for a
//! large file.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::LazyLock,
};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// One thread a core; none if they cannot be started.
static THREADS: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    ThreadPoolBuilder::new()
        .thread_name(|number| format!("trefoil-retriever-{number}"))
        .build()
        .ok()
});

/// Does `here` on this thread and `others` in parallel; all of them on this one if it is itself of
/// a pool of rayon, which would take up other work of that pool while it waited: within a search
/// another search, to any depth. What the others return, in their order; nothing for one that
/// panicked.
pub(crate) fn join<A, B: Send>(
    here: impl FnOnce() -> A,
    others: impl IntoIterator<Item = impl FnOnce() -> B + Send>,
) -> (A, Vec<Option<B>>) {
    let others = others.into_iter();
    let is_of_a_pool = rayon::current_thread_index().is_some();
    let Some(threads) = THREADS.as_ref().filter(|_| !is_of_a_pool) else {
        return (here(), others.map(unless_it_panics).collect());
    };
    let others: Vec<_> = others.collect();
    let mut returned: Vec<Option<B>> = others.iter().map(|_| None).collect();
    let here = threads.in_place_scope(|scope| {
        for (other, returned) in others.into_iter().zip(&mut returned) {
            scope.spawn(move |_| *returned = unless_it_panics(other));
        }
        here()
    });
    (here, returned)
}

fn unless_it_panics<B>(work: impl FnOnce() -> B) -> Option<B> {
    catch_unwind(AssertUnwindSafe(work)).ok()
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
}
