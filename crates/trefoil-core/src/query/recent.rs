//! What was computed last, by what it was computed of.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// A bounded memory of values by their keys: the one that was not asked for the longest goes. For
/// some dozens of values, which are looked through in order.
#[derive(Debug)]
pub struct Recent<K, V> {
    most: usize,
    /// The last asked first.
    held: Mutex<VecDeque<(K, V)>>,
}

impl<K: PartialEq, V: Clone> Recent<K, V> {
    /// Remembers at most so many.
    pub const fn new(most: usize) -> Self {
        Self { most, held: Mutex::new(VecDeque::new()) }
    }

    /// The value of a key, if it is remembered.
    pub fn get(&self, key: &K) -> Option<V> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let place = held.iter().position(|(known, _)| known == key)?;
        let found = held.remove(place)?;
        let value = found.1.clone();
        held.push_front(found);
        Some(value)
    }

    /// Remembers a value, and gives it back.
    pub fn keep(&self, key: K, value: V) -> V {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|(known, _)| *known != key);
        held.push_front((key, value.clone()));
        held.truncate(self.most);
        value
    }

    /// Forgets all of it.
    pub fn forget(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_was_not_asked_for_the_longest_goes() {
        let recent = Recent::new(2);
        assert_eq!(recent.get(&1), None);
        assert_eq!(recent.keep(1, "one"), "one");
        recent.keep(2, "two");
        assert_eq!(recent.get(&1), Some("one"));
        recent.keep(3, "three");
        assert_eq!([1, 2, 3].map(|key| recent.get(&key)), [Some("one"), None, Some("three")]);
        recent.keep(3, "drei");
        assert_eq!([1, 3].map(|key| recent.get(&key)), [Some("one"), Some("drei")]);
        recent.forget();
        assert_eq!(recent.get(&1), None);
    }
}
