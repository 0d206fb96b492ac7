use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use trefoil_core::Result;

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
    fn an_error_stops_the_work() {
        let fail =
            |(): &mut (), i: usize| if i == 2 { Err(Error::EmptyRankedLists) } else { Ok(i) };
        assert!(map(1, &[0, 1, 2, 3], || Ok(()), fail).is_err());
        assert!(map(2, &[0], || Err::<(), _>(Error::EmptyRankedLists), |(), i| Ok(i)).is_err());
    }
}
