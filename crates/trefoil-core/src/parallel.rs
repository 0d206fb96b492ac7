//! Work on many cores, asked for by any thread.

use std::{process, sync::LazyLock};

use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};

static THREADS: LazyLock<Threads> = LazyLock::new(|| Threads::start("trefoil"));

/// Threads that stay, one a core. A fork of the process has none of them.
#[derive(Debug)]
pub struct Threads {
    process: u32,
    pool: Option<ThreadPool>,
}

impl Threads {
    /// Starts them, named `NAME-0` and so on, if they can be started.
    pub fn start(name: &'static str) -> Self {
        let builder = ThreadPoolBuilder::new().thread_name(move |n| format!("{name}-{n}"));
        Self { process: process::id(), pool: builder.build().ok() }
    }

    /// Them, where there are any and the caller is not itself of a pool of rayon: while it waited,
    /// it would take up other work of its pool.
    pub fn for_others(&self) -> Option<&ThreadPool> {
        let is_of_a_pool = rayon::current_thread_index().is_some();
        self.pool.as_ref().filter(|_| !is_of_a_pool && self.process == process::id())
    }
}

/// What `work` makes of each of `items`, in their order, on as many cores as there are: a `Vec`,
/// or a `Result` of one, for which no more is begun after an error.
///
/// The threads are our own: each of the application's may be waiting for a lock that the caller
/// holds. For a caller that is itself of a pool of rayon it is one after the other. There are
/// others next to that one, and while it waited, rayon would let it take up other work of the
/// pool, which may ask for the lock that its own thread holds.
pub fn map_in_parallel<'a, T, R, C>(items: &'a [T], work: impl Fn(&'a T) -> R + Sync + Send) -> C
where
    T: Sync,
    R: Send,
    C: FromIterator<R> + FromParallelIterator<R> + Send,
{
    match THREADS.for_others().filter(|_| items.len() > 1) {
        Some(threads) => threads.install(|| items.par_iter().map(work).collect()),
        None => items.iter().map(work).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, sync::Mutex};

    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        for count in [0, 1, 2, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            let found: Vec<usize> = map_in_parallel(&items, |item| item + 1);
            assert_eq!(found, (1..=count).collect::<Vec<_>>());
        }
        let found: Result<Vec<u8>, _> = map_in_parallel(&["1", "x", "3"], |item| item.parse());
        assert!(found.is_err());
    }

    #[test]
    fn a_thread_of_a_pool_takes_up_nothing_else_meanwhile() {
        thread_local!(static AT_WORK: Cell<bool> = const { Cell::new(false) });
        let lock = Mutex::new(0);
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.install(|| {
            (0..200).into_par_iter().with_max_len(1).for_each(|_| {
                assert!(!AT_WORK.replace(true));
                let mut sum = lock.lock().unwrap();
                let found: Vec<i32> = map_in_parallel(&[1, 2, 3, 4], |item| item * 10);
                *sum += found.iter().sum::<i32>();
                AT_WORK.set(false);
            });
        });
        assert_eq!(lock.into_inner().unwrap(), 200 * 100);
    }
}
