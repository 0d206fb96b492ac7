//! An engine used from the threads of a pool. A thread of a pool that waits for work of its own
//! takes up other work of the pool meanwhile: within a search another search, to any depth, and
//! with the locks of the first in hand.

use std::cell::Cell;

use rayon::prelude::*;
use trefoil::Engine;

use crate::{
    campaign::{any_relevance, document},
    trigrams::with_trigrams,
};

#[test]
fn a_pool_searches_and_writes() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path(), with_trigrams()).unwrap();
    thread_local!(static AT_WORK: Cell<bool> = const { Cell::new(false) });
    let alone = |work: &dyn Fn()| {
        assert!(!AT_WORK.replace(true), "the thread took this up within another task");
        work();
        AT_WORK.set(false);
    };
    (0..24_u32).into_par_iter().with_max_len(1).for_each(|number| {
        alone(&|| {
            let documents = [document(2 * number, 0), document(2 * number + 1, 0)];
            assert_eq!(engine.ingest(&documents).unwrap().written, 2);
        });
    });
    engine.wait_until_indexed().unwrap();
    (0..400).into_par_iter().with_max_len(1).for_each(|_| {
        alone(&|| {
            let found = engine.search(&any_relevance("Captain Ellis1 met Station Tern3")).unwrap();
            assert!(!found.results.is_empty() && found.degraded.is_empty());
        });
    });
    assert_eq!(engine.paths().unwrap().len(), 48);
}
