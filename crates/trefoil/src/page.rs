//! Where a page of results begins and ends, and the cursor to the next one. Pure.

use std::ops::Range;

use sha2::{Digest, Sha256};
use trefoil_core::{Cursor, OrderKey, Plan, SearchQuery};

/// A page of an ordered list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The positions that it shows.
    pub shown: Range<usize>,
    /// What leads to the next page; absent on the last.
    pub next: Option<Cursor>,
}

impl Page {
    /// The page that `plan` asks for: after its cursor, or without one after its offset.
    /// `keys` are those of all results, in order.
    pub fn new(keys: &[OrderKey], plan: &Plan) -> Self {
        let start = match &plan.cursor {
            Some(cursor) => cursor.seen(keys),
            None => plan.offset.min(keys.len()),
        };
        let end = keys.len().min(start.saturating_add(plan.limit));
        let last = keys.get(start..end).and_then(<[OrderKey]>::last);
        let next = last.filter(|_| end < keys.len()).map(|last| Cursor {
            last: last.clone(),
            depth: plan.candidates,
            fingerprint: plan.fingerprint,
        });
        Self { shown: start..end, next }
    }
}

/// Tells queries apart for [`Cursor`]: everything that a query and the `settings` of the
/// engine say, save where the page begins.
pub fn fingerprint(query: &SearchQuery, settings: &str) -> u64 {
    let mut query = query.clone();
    query.options.offset = 0;
    query.options.cursor = None;
    // The debug form holds every field, also one that is added later.
    let digest = Sha256::digest(format!("{query:?}\n{settings}"));
    digest.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use trefoil_core::{QueryType, Score, Strategy};

    use super::*;
    use crate::{EngineConfig, plan, question};

    fn keys(scores: &[f32]) -> Vec<OrderKey> {
        let key = |(at, &score): (usize, &f32)| OrderKey {
            reranked: None,
            combined: Score::clamped(score),
            date: None,
            id: format!("chk_{at}"),
        };
        scores.iter().enumerate().map(key).collect()
    }

    fn page(keys: &[OrderKey], cursor: Option<Cursor>, offset: usize, limit: usize) -> Page {
        let query = SearchQuery::new("tides").unwrap();
        let question = question(&query, &[]);
        let legs = [Strategy::Keyword];
        let plan = plan(&query, question, None, &legs, &[], &EngineConfig::default()).unwrap();
        Page::new(keys, &Plan { cursor, offset, limit, ..plan })
    }

    #[test]
    fn pages_follow_each_other_across_ties() {
        let keys = keys(&[0.9, 0.5, 0.5, 0.5, 0.5, 0.1]);
        let first = page(&keys, None, 0, 2);
        assert_eq!(first.shown, 0..2);
        let second = page(&keys, first.next, 0, 2);
        assert_eq!(second.shown, 2..4);
        let third = page(&keys, second.next, 0, 2);
        assert_eq!((third.shown, third.next), (4..6, None));
    }

    #[test]
    fn an_offset_beyond_the_end_shows_nothing() {
        let keys = keys(&[0.9, 0.5]);
        for offset in [2, 3, usize::MAX] {
            let page = page(&keys, None, offset, 2);
            assert_eq!((page.shown, page.next), (2..2, None));
        }
        assert_eq!(page(&keys, None, 1, usize::MAX).shown, 1..2);
        assert_eq!(page(&[], None, 0, 2).shown, 0..0);
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
        let cursor = Cursor { last: keys(&[0.5]).remove(0), depth: 60, fingerprint: 7 };
        assert_eq!(of(&|query| query.options.cursor = Some(cursor.clone())), same);
        assert_ne!(of(&|query| query.options.limit = 5), same);
        assert_ne!(of(&|query| query.query_type = Some(QueryType::Global)), same);
        assert_ne!(of(&|query| query.filters.tags = vec!["sea".to_owned()]), same);
        assert_ne!(fingerprint(&query, "other model"), same);
    }
}
