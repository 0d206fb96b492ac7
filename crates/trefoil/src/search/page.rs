//! Where a page of results begins and ends, and the cursor to the next one. Pure.

use std::ops::Range;

use sha2::{Digest, Sha256};
use trefoil_core::{Cursor, FirstPage, OrderKey, Plan, SearchQuery};

/// A page of an ordered list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The positions that it shows.
    pub shown: Range<usize>,
    /// What leads to the next page; absent on the last.
    pub next: Option<Cursor>,
}

impl Page {
    /// The page that `plan` asks for: after its cursor, or without one after its offset. `keys`
    /// are those of all results in their order; passages among them are in the order of keys.
    /// `first` is what was done, if it is the first page.
    pub fn new(keys: &[OrderKey], first: &FirstPage, plan: &Plan) -> Self {
        let start = match &plan.cursor {
            Some(cursor) => seen(cursor, keys),
            None => plan.offset.min(keys.len()),
        };
        let end = keys.len().min(start.saturating_add(plan.limit));
        let last = keys.get(start..end).and_then(<[OrderKey]>::last);
        let first = plan.cursor.as_ref().map_or(first, |cursor| &cursor.first);
        let next = last.filter(|_| end < keys.len()).map(|last| Cursor {
            last: last.clone(),
            depth: plan.candidates,
            first: first.clone(),
            fingerprint: cursor_hash(plan.fingerprint, plan.candidates, first),
        });
        Self { shown: start..end, next }
    }
}

/// How many of the results stand on the pages before.
fn seen(cursor: &Cursor, keys: &[OrderKey]) -> usize {
    if let Some(place) = keys.iter().position(|key| key.id == cursor.last.id) {
        return place + 1;
    }
    // It is gone: the next page begins with the first passage after it.
    let is_passage = |key: &&OrderKey| key.id.starts_with("chk_");
    let passages: Vec<OrderKey> = keys.iter().filter(is_passage).cloned().collect();
    let next = passages.get(cursor.seen(&passages));
    next.and_then(|next| keys.iter().position(|key| key.id == next.id)).unwrap_or(keys.len())
}

/// The fingerprint of a query bound to what a cursor says of its first page.
pub(crate) fn cursor_hash(fingerprint: u64, depth: usize, first: &FirstPage) -> u64 {
    first_bytes(&Sha256::digest(format!("{fingerprint:016x} {depth} {first:?}")))
}

/// Whether a cursor is of the query with this fingerprint, and as it was given.
pub(crate) fn is_of(cursor: &Cursor, fingerprint: u64) -> bool {
    cursor.fingerprint == cursor_hash(fingerprint, cursor.depth, &cursor.first)
}

fn first_bytes(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Tells queries apart for [`Cursor`]: everything that a query and the `settings` of the
/// engine say, save where the page begins.
pub(crate) fn fingerprint(query: &SearchQuery, settings: &str) -> u64 {
    let mut query = query.clone();
    query.options.offset = 0;
    query.options.cursor = None;
    // The debug form holds every field, also one that is added later.
    first_bytes(&Sha256::digest(format!("{query:?}\n{settings}")))
}

#[cfg(test)]
mod tests {
    use trefoil_core::{QueryType, RetrieverId, Score};

    use super::*;
    use crate::{
        config::EngineConfig,
        search::plan::{plan, question},
    };

    fn keys(scores: &[f32]) -> Vec<OrderKey> {
        let key = |(at, &score): (usize, &f32)| OrderKey {
            combined: Score::clamped(score),
            id: format!("chk_{at}"),
            ..OrderKey::default()
        };
        scores.iter().enumerate().map(key).collect()
    }

    fn page(keys: &[OrderKey], cursor: Option<Cursor>, offset: usize, limit: usize) -> Page {
        let query = SearchQuery::new("tides").unwrap();
        let question = question(&query, &[]);
        let retrievers = [RetrieverId::KEYWORD.into()];
        let plan =
            plan(&query, question, None, &retrievers, &[], &EngineConfig::default()).unwrap();
        Page::new(keys, &FirstPage::default(), &Plan { cursor, offset, limit, ..plan })
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
    fn communities_are_paged_with_the_passages() {
        let mut keys = keys(&[0.9, 0.9, 0.4, 0.7, 0.6]);
        for place in [0, 2] {
            keys[place].id = format!("com_{place}");
        }
        for limit in 1..=6 {
            let (mut shown, mut cursor) = (Vec::new(), None);
            loop {
                let page = page(&keys, cursor, 0, limit);
                shown.extend(page.shown);
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(shown, [0, 1, 2, 3, 4], "{limit}");
        }
        // What the last page ended with is gone: a passage, a community.
        let first = page(&keys, None, 0, 4).next;
        assert_eq!(page(&[&keys[..3], &keys[4..]].concat(), first, 0, 4).shown, 3..4);
        let first = page(&keys, None, 0, 1).next;
        assert_eq!(page(&keys[1..], first, 0, 4).shown.end, 4);
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
        let cursor = Cursor {
            last: keys(&[0.5]).remove(0),
            depth: 60,
            first: FirstPage::default(),
            fingerprint: 7,
        };
        assert_eq!(of(&|query| query.options.cursor = Some(cursor.clone())), same);
        assert_ne!(of(&|query| query.options.limit = 5), same);
        assert_ne!(of(&|query| query.query_type = Some(QueryType::Global)), same);
        assert_ne!(of(&|query| query.filters.tags = vec!["sea".to_owned()]), same);
        assert_ne!(fingerprint(&query, "other model"), same);
    }
}
