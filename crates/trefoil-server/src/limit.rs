//! How much is taken at a time and a minute.

use std::{
    collections::HashMap,
    hash::Hash,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{settings::Limits, turns::Turns};

/// Keys that are kept at most; those that are full again go first.
const KEYS: usize = 10_000;

/// Token buckets, one a key: so many at once, and so many a minute.
#[derive(Debug)]
pub(crate) struct Buckets<K> {
    burst: f64,
    per_second: f64,
    filled: Mutex<HashMap<K, (f64, Instant)>>,
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    pub(crate) fn new(burst: u32, per_minute: u32) -> Self {
        let (burst, per_second) = (f64::from(burst), f64::from(per_minute) / 60.0);
        Self { burst, per_second, filled: Mutex::default() }
    }

    /// Takes one from the bucket of a key.
    ///
    /// # Errors
    /// The seconds until there is one, if it is empty.
    pub(crate) fn take(&self, key: &K, now: Instant) -> Result<(), u64> {
        self.change(key, now, |level| {
            if *level >= 1.0 {
                *level -= 1.0;
                Ok(())
            } else {
                Err(1.0 - *level)
            }
        })
        .map_err(|lacking| {
            // A minute at most: a bucket gets at least one a minute.
            Duration::from_secs_f64((lacking / self.per_second).ceil()).as_secs().max(1)
        })
    }

    /// Whether there is one in the bucket of a key, which stays.
    pub(crate) fn has(&self, key: &K, now: Instant) -> bool {
        self.change(key, now, |level| *level >= 1.0)
    }

    fn change<T>(&self, key: &K, now: Instant, change: impl FnOnce(&mut f64) -> T) -> T {
        let mut filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        let level = |(level, at): (f64, Instant)| {
            let since = now.saturating_duration_since(at).as_secs_f64();
            (level + since * self.per_second).min(self.burst)
        };
        if filled.len() >= KEYS {
            filled.retain(|_, bucket| level(*bucket) < self.burst);
        }
        let mut now_in_it = filled.get(key).map_or(self.burst, |bucket| level(*bucket));
        let outcome = change(&mut now_in_it);
        filled.insert(key.clone(), (now_in_it, now));
        outcome
    }
}

/// Counts how many of each key there are at a time.
#[derive(Debug)]
pub(crate) struct Counted<K: Hash + Eq + Clone> {
    most: usize,
    most_of_one: usize,
    counts: Arc<Mutex<(usize, HashMap<K, usize>)>>,
}

/// One of those that are counted, until it is dropped.
#[derive(Debug)]
pub(crate) struct CountedOne<K: Hash + Eq> {
    key: K,
    counts: Arc<Mutex<(usize, HashMap<K, usize>)>>,
}

impl<K: Hash + Eq + Clone> Counted<K> {
    pub(crate) fn new(most: usize, most_of_one: usize) -> Self {
        Self { most, most_of_one, counts: Arc::default() }
    }

    /// One more, unless there are too many.
    pub(crate) fn add(&self, key: &K) -> Option<CountedOne<K>> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_this = counts.1.get(key).copied().unwrap_or_default();
        if counts.0 >= self.most || of_this >= self.most_of_one {
            return None;
        }
        counts.0 += 1;
        counts.1.insert(key.clone(), of_this + 1);
        Some(CountedOne { key: key.clone(), counts: Arc::clone(&self.counts) })
    }
}

impl<K: Hash + Eq> Drop for CountedOne<K> {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.0 -= 1;
        if let Some(count) = counts.1.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.1.remove(&self.key);
            }
        }
    }
}

/// All that is counted of a server.
#[derive(Debug)]
pub(crate) struct Gates {
    pub(crate) connections: Counted<IpAddr>,
    pub(crate) streams: Counted<String>,
    pub(crate) requests: Buckets<String>,
    pub(crate) writes: Buckets<String>,
    pub(crate) failures: Buckets<IpAddr>,
    pub(crate) searches: Turns,
}

impl Gates {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            connections: Counted::new(limits.connections, limits.connections_per_address),
            streams: Counted::new(usize::MAX, limits.streams),
            requests: Buckets::new(limits.burst, limits.requests_per_minute),
            writes: Buckets::new(limits.writes_per_minute, limits.writes_per_minute),
            failures: Buckets::new(limits.failures_per_minute, limits.failures_per_minute),
            searches: Turns::new(limits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_what_it_holds_and_fills_again() {
        let buckets = Buckets::new(2, 60);
        let start = Instant::now();
        let take = |key: &str, seconds| {
            buckets.take(&key.to_owned(), start + Duration::from_secs(seconds))
        };
        assert_eq!([take("a", 0), take("a", 0), take("a", 0)], [Ok(()), Ok(()), Err(1)]);
        assert_eq!(take("b", 0), Ok(()));
        assert_eq!([take("a", 1), take("a", 1)], [Ok(()), Err(1)]);
        assert_eq!([take("a", 99), take("a", 99), take("a", 99)], [Ok(()), Ok(()), Err(1)]);
        let slow = Buckets::new(1, 1);
        assert_eq!(slow.take(&0, start), Ok(()));
        assert_eq!(slow.take(&0, start), Err(60));
        assert!(!slow.has(&0, start) && slow.has(&0, start + Duration::from_mins(1)));
    }

    #[test]
    fn as_many_are_counted_as_there_may_be() {
        let counted = Counted::new(3, 2);
        let first = [counted.add(&"a"), counted.add(&"a")];
        assert!(first.iter().all(Option::is_some) && counted.add(&"a").is_none());
        let other = counted.add(&"b");
        assert!(other.is_some() && counted.add(&"c").is_none());
        drop(first);
        assert!(counted.add(&"a").is_some());
    }
}
