use std::{
    sync::{
        LazyLock, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use rayon::{ThreadPool, ThreadPoolBuilder};
use trefoil_core::Result;

/// Threads that stay, for what a question waits for; none if they cannot be started. The long
/// work of embedding documents has threads of its own.
static STAYING: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    ThreadPoolBuilder::new().thread_name(|number| format!("trefoil-model-{number}")).build().ok()
});

/// `task(i)` for `0..count` in that order, on this thread and on at most `threads - 1` of those
/// that stay, until `deadline`: results of the first, as many as were begun in time. A worker
/// that is not to be had in time is none. The first error, by index, is returned instead.
///
/// A caller that is itself of a pool of rayon works alone: while it waited, it would take up
/// other work of its pool.
pub(crate) fn map_until<T: Send, W>(
    threads: usize,
    count: usize,
    deadline: Option<Instant>,
    worker: impl Fn() -> Result<Option<W>> + Sync,
    task: impl Fn(&mut W, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::default();
    let push = |index, value| {
        done.lock().unwrap_or_else(PoisonError::into_inner).push((index, value));
    };
    let work = || {
        let mut state = None;
        while deadline.is_none_or(|deadline| Instant::now() < deadline) {
            if next.load(Ordering::Relaxed) >= count {
                return;
            }
            if state.is_none() {
                match worker() {
                    Ok(None) => return,
                    Ok(got) => state = got,
                    Err(error) => return push(next.fetch_add(1, Ordering::Relaxed), Err(error)),
                }
                // It may have been waited for.
                continue;
            }
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(state) = state.as_mut().filter(|_| index < count) else { return };
            let value = task(state, index);
            if value.is_err() {
                next.store(count, Ordering::Relaxed);
            }
            push(index, value);
        }
    };
    let is_of_a_pool = rayon::current_thread_index().is_some();
    let others = threads.min(count).saturating_sub(1);
    match STAYING.as_ref().filter(|_| others > 0 && !is_of_a_pool) {
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
pub(crate) fn map<T, W>(
    threads: usize,
    order: &[usize],
    worker: impl Fn() -> Result<W> + Sync,
    task: impl Fn(&mut W, usize) -> Result<T> + Sync,
) -> Result<Vec<T>>
where
    T: Send,
{
    let next = AtomicUsize::new(0);
    let work = || -> Vec<(usize, Result<T>)> {
        let mut state = None;
        let mut done = Vec::new();
        while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut run = || {
                if state.is_none() {
                    state = Some(worker()?);
                }
                state.as_mut().map(|state| task(state, index)).transpose()
            };
            match run() {
                Ok(Some(value)) => done.push((index, Ok(value))),
                Ok(None) => {}
                Err(error) => {
                    done.push((index, Err(error)));
                    // Nobody needs the rest.
                    next.store(order.len(), Ordering::Relaxed);
                }
            }
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
    use trefoil_core::Error;

    use super::*;

    #[test]
    fn results_come_by_index_whatever_the_order() {
        for threads in [0, 1, 3, 9] {
            let squares = map(threads, &[3, 0, 2, 1], || Ok(()), |(), i| Ok(i * i)).unwrap();
            assert_eq!(squares, [0, 1, 4, 9]);
        }
        assert!(map(2, &[], || Ok(()), |(), i| Ok(i)).unwrap().is_empty());
    }

    #[test]
    fn work_ends_at_its_deadline() {
        let all = |deadline| map_until(2, 9, deadline, || Ok(Some(())), |(), i| Ok(i)).unwrap();
        assert_eq!(all(None), (0..9).collect::<Vec<_>>());
        assert_eq!(all(Some(Instant::now())), [0; 0]);
        let far = Instant::now() + std::time::Duration::from_hours(1);
        assert_eq!(all(Some(far)).len(), 9);
        // One that waits past the deadline for its worker does nothing with it.
        let soon = Instant::now() + std::time::Duration::from_millis(5);
        let late = || {
            while Instant::now() <= soon {
                thread::yield_now();
            }
            Ok(Some(()))
        };
        assert_eq!(map_until(2, 9, Some(soon), late, |(), i| Ok(i)).unwrap(), [0; 0]);
        assert_eq!(map_until(2, 9, None, || Ok(None::<()>), |(), i| Ok(i)).unwrap(), [0; 0]);
        let fail = |(): &mut (), i| if i == 4 { Err(Error::EmptyRankedLists) } else { Ok(i) };
        assert!(map_until(1, 9, None, || Ok(Some(())), fail).is_err());
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
            map_until(4, 8, None, || Ok(Some(())), note).unwrap();
        }
        // This thread and those that stay.
        let staying = STAYING.as_ref().unwrap().current_num_threads();
        assert!(seen.into_inner().unwrap().len() <= staying + 1);
    }

    #[test]
    fn an_error_stops_the_work() {
        let fail =
            |(): &mut (), i: usize| if i == 2 { Err(Error::EmptyRankedLists) } else { Ok(i) };
        assert!(map(1, &[0, 1, 2, 3], || Ok(()), fail).is_err());
        assert!(map(2, &[0], || Err::<(), _>(Error::EmptyRankedLists), |(), i| Ok(i)).is_err());
    }
}
