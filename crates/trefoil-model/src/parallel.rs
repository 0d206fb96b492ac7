use std::{
    sync::{
        LazyLock, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use trefoil_core::{Deadline, Result, Threads};

/// Threads for what a question waits for. The long work of embedding documents has threads of its
/// own.
static STAYING: LazyLock<Threads> = LazyLock::new(|| Threads::start("trefoil-model"));

/// `task(i)` for `0..count` in that order, on this thread and on at most `threads - 1` of those
/// that stay, until `deadline`: results of the first, as many as were begun in time. A worker
/// that is not to be had in time is none. It is asked for again for each task, so that others have
/// it in between. The first error, by index, is returned instead.
///
/// A caller that is itself of a pool of rayon works alone: while it waited, it would take up
/// other work of its pool.
pub(crate) fn map_until<T: Send, W>(
    threads: usize,
    count: usize,
    deadline: &Deadline,
    worker: impl Fn() -> Result<Option<W>> + Sync,
    task: impl Fn(&mut W, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::default();
    let push = |index, value| {
        done.lock().unwrap_or_else(PoisonError::into_inner).push((index, value));
    };
    let work = || {
        while next.load(Ordering::Relaxed) < count && !deadline.has_passed() {
            let mut worker = match worker() {
                Ok(Some(worker)) => worker,
                Ok(None) => return,
                Err(error) => return push(next.fetch_add(1, Ordering::Relaxed), Err(error)),
            };
            // It may have been waited for.
            if deadline.has_passed() {
                return;
            }
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let value = task(&mut worker, index);
            if value.is_err() {
                next.store(count, Ordering::Relaxed);
            }
            push(index, value);
        }
    };
    let others = threads.min(count).saturating_sub(1);
    match STAYING.for_others().filter(|_| others > 0) {
        Some(staying) => staying.in_place_scope(|scope| {
            (0..others).for_each(|_| scope.spawn(|_| work()));
            work();
        }),
        None => work(),
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    let first = done.into_iter().zip(0..).take_while(|((index, _), place)| index == place);
    first.map(|((_, value), _)| value).collect()
}

/// `task(i)` for every `i` of `order`, on at most `threads` threads, each taking the
/// next one that is free; results are returned by index, `0..order.len()`. The first
/// error, by index, is returned in their place.
///
/// `order` must be a permutation of `0..order.len()`.
pub(crate) fn map<T: Send>(
    threads: usize,
    order: &[usize],
    task: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let work = || -> Vec<(usize, Result<T>)> {
        let mut done = Vec::new();
        while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let value = task(index);
            if value.is_err() {
                // Nobody needs the rest.
                next.store(order.len(), Ordering::Relaxed);
            }
            done.push((index, value));
        }
        done
    };
    let threads = threads.clamp(1, order.len().max(1));
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use trefoil_core::{Cancel, Error};

    use super::*;

    #[test]
    fn results_come_by_index_whatever_the_order() {
        for threads in [0, 1, 3, 9] {
            assert_eq!(map(threads, &[3, 0, 2, 1], |i| Ok(i * i)).unwrap(), [0, 1, 4, 9]);
        }
        assert!(map(2, &[], Ok).unwrap().is_empty());
    }

    #[test]
    fn work_ends_at_its_deadline() {
        let all = |deadline| map_until(2, 9, &deadline, || Ok(Some(())), |(), i| Ok(i)).unwrap();
        assert_eq!(all(Deadline::NEVER), (0..9).collect::<Vec<_>>());
        assert_eq!(all(Deadline::after(Duration::ZERO)), [0; 0]);
        assert_eq!(all(Deadline::after(Duration::from_hours(1))).len(), 9);
        // One that gets its worker too late does nothing with it.
        let cancel = Cancel::default();
        let late = || {
            cancel.cancel();
            Ok(Some(()))
        };
        let deadline = Deadline::NEVER.with_cancel(cancel.clone());
        assert_eq!(map_until(2, 9, &deadline, late, |(), i| Ok(i)).unwrap(), [0; 0]);
        let never = &Deadline::NEVER;
        assert_eq!(map_until(2, 9, never, || Ok(None::<()>), |(), i| Ok(i)).unwrap(), [0; 0]);
        let fail = |(): &mut (), i| if i == 4 { Err(Error::EmptyRankedLists) } else { Ok(i) };
        assert!(map_until(1, 9, never, || Ok(Some(())), fail).is_err());
    }

    #[test]
    fn work_that_is_given_up_ends_before_the_next_task() {
        let cancel = Cancel::default();
        let task = |(): &mut (), i| {
            if i == 3 {
                cancel.cancel();
            }
            Ok(i)
        };
        let deadline = Deadline::NEVER.with_cancel(cancel.clone());
        assert_eq!(map_until(1, 9, &deadline, || Ok(Some(())), task).unwrap(), [0, 1, 2, 3]);
    }

    #[test]
    fn no_thread_is_started_for_a_question() {
        let seen = Mutex::new(std::collections::BTreeSet::new());
        for _ in 0..200 {
            let note = |(): &mut (), _| {
                let name = thread::current().name().unwrap_or_default().to_owned();
                seen.lock().unwrap().insert((name, format!("{:?}", thread::current().id())));
                Ok(())
            };
            map_until(4, 8, &Deadline::NEVER, || Ok(Some(())), note).unwrap();
        }
        // This thread and those that stay.
        let staying = STAYING.for_others().unwrap().current_num_threads();
        assert!(seen.into_inner().unwrap().len() <= staying + 1);
    }

    #[test]
    fn an_error_stops_the_work() {
        let fail = |i: usize| if i == 2 { Err(Error::EmptyRankedLists) } else { Ok(i) };
        assert!(map(1, &[0, 1, 2, 3], fail).is_err());
    }
}
