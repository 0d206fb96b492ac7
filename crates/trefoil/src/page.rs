//! Where a page of results begins and ends, and the cursor to the next one. Pure.

use std::ops::Range;

use sha2::{Digest, Sha256};
use trefoil_core::{Cursor, Error, OrderKey, Result, SearchQuery};

/// A page of an ordered list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The positions that it shows.
    pub shown: Range<usize>,
    /// What leads to the next page; absent on the last.
    pub next: Option<Cursor>,
}

impl Page {
    /// The page of at most `limit` items that begins after `cursor`, or without one after
    /// `offset` items. `keys` are those of all items, in order; `fingerprint` is of the
    /// query that is answered.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] if the cursor is of another query or other settings.
    pub fn new(
        keys: &[OrderKey],
        cursor: Option<&Cursor>,
        offset: usize,
        limit: usize,
        fingerprint: u64,
    ) -> Result<Self> {
        let start = match cursor {
            Some(cursor) if cursor.fingerprint == fingerprint => cursor.seen(keys),
            Some(cursor) => {
                let allowed = "a cursor that the same query and settings gave";
                return Err(Error::invalid_query("options.cursor", cursor, allowed));
            }
            None => offset.min(keys.len()),
        };
        let end = keys.len().min(start.saturating_add(limit));
        let last = keys.get(start..end).and_then(<[OrderKey]>::last);
        let next = last
            .filter(|_| end < keys.len())
            .map(|last| Cursor { last: last.clone(), fingerprint });
        Ok(Self { shown: start..end, next })
    }
}

/// Tells queries apart for [`Cursor`]: everything that a query and the `settings` of the
/// engine say, save how many results to skip.
pub fn fingerprint(query: &SearchQuery, settings: &str) -> u64 {
    let mut query = query.clone();
    query.options.offset = 0;
    // The debug form holds every field, also one that is added later.
    let digest = Sha256::digest(format!("{query:?}\n{settings}"));
    digest.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use trefoil_core::{QueryType, Score};

    use super::*;

    fn keys(scores: &[f32]) -> Vec<OrderKey> {
        let key = |(at, &score): (usize, &f32)| OrderKey {
            reranked: None,
            combined: Score::clamped(score),
            date: None,
            id: format!("chk_{at}"),
        };
        scores.iter().enumerate().map(key).collect()
    }

    #[test]
    fn pages_follow_each_other_across_ties() {
        let keys = keys(&[0.9, 0.5, 0.5, 0.5, 0.5, 0.1]);
        let first = Page::new(&keys, None, 0, 2, 7).unwrap();
        assert_eq!(first.shown, 0..2);
        let second = Page::new(&keys, first.next.as_ref(), 0, 2, 7).unwrap();
        assert_eq!(second.shown, 2..4);
        let third = Page::new(&keys, second.next.as_ref(), 0, 2, 7).unwrap();
        assert_eq!((third.shown, third.next), (4..6, None));
    }

    #[test]
    fn an_offset_beyond_the_end_shows_nothing() {
        let keys = keys(&[0.9, 0.5]);
        for offset in [2, 3, usize::MAX] {
            let page = Page::new(&keys, None, offset, 2, 7).unwrap();
            assert_eq!((page.shown, page.next), (2..2, None));
        }
        assert_eq!(Page::new(&keys, None, 1, usize::MAX, 7).unwrap().shown, 1..2);
        assert_eq!(Page::new(&[], None, 0, 2, 7).unwrap().shown, 0..0);
    }

    #[test]
    fn a_cursor_of_another_query_is_refused() {
        let keys = keys(&[0.9, 0.5]);
        let cursor = Page::new(&keys, None, 0, 1, 7).unwrap().next.unwrap();
        let error = Page::new(&keys, Some(&cursor), 0, 1, 8).unwrap_err();
        assert!(matches!(error, Error::InvalidQuery { field: "options.cursor", .. }));
    }

    #[test]
    fn a_fingerprint_tells_all_but_the_offset() {
        let query = SearchQuery::new("tides").unwrap();
        let of = |change: &dyn Fn(&mut SearchQuery)| {
            let mut query = query.clone();
            change(&mut query);
            fingerprint(&query, "model")
        };
        let same = of(&|_| ());
        assert_eq!(of(&|query| query.options.offset = 40), same);
        assert_ne!(of(&|query| query.options.limit = 5), same);
        assert_ne!(of(&|query| query.query_type = Some(QueryType::Global)), same);
        assert_ne!(of(&|query| query.filters.tags = vec!["sea".to_owned()]), same);
        assert_ne!(fingerprint(&query, "other model"), same);
    }
}
