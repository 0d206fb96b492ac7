//! Searches that have to end, that nobody waits for, and that somebody watches.

use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use trefoil::{
    Cancel, Document, Engine, Error, Result, Score, SearchFilters, SearchQuery, SearchResult,
    model::{Reranker, Rerankers},
    search::{NameLookup, QueryClassification, QueryClassifier, Question, SearchEvent, Stage},
};

use crate::models::without_model;

/// Calls a function before it scores a passage by its length, where BM25 prefers short ones.
struct Calls<F>(F, AtomicUsize);

impl<F> Calls<F> {
    const fn new(call: F) -> Self {
        Self(call, AtomicUsize::new(0))
    }

    fn scored(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

impl<F> std::fmt::Debug for Calls<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Calls")
    }
}

impl<F: Fn() + Send + Sync> Reranker for Calls<F> {
    fn model(&self) -> &'static str {
        "calls"
    }

    fn reads(&self, _: &str) -> bool {
        true
    }

    fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<Score>> {
        let score = |text: &&str| {
            (self.0)();
            self.1.fetch_add(1, Ordering::Relaxed);
            Score::clamped((text.len() as f32 - 20.0) / 40.0)
        };
        Ok(passages.iter().map(score).collect())
    }
}

/// Takes longer than any search here may.
#[derive(Debug)]
struct Dawdles;

const TIMEOUT: u32 = 20;
const LONGER: Duration = Duration::from_millis(30);

impl QueryClassifier for Dawdles {
    fn classify(&self, _: &Question, _: &dyn NameLookup) -> Result<QueryClassification> {
        thread::sleep(LONGER);
        Err(Error::EmptyRankedLists)
    }
}

const WALRUSES: usize = 6;

fn engine(
    reranker: Arc<dyn Reranker>,
    change: impl FnOnce(&mut trefoil::EngineConfig),
) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let mut config = without_model();
    config.rerank.enabled = true;
    config.rerank_budget = None;
    config.rerankers = Rerankers::Custom(vec![reranker]);
    change(&mut config);
    let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
    let text = |n: usize| format!("A walrus {} by the sea.", "rests ".repeat(WALRUSES - n));
    let documents: Vec<Document> =
        (0..WALRUSES).map(|n| Document::new(format!("{n}"), text(n))).collect();
    engine.ingest(&documents).unwrap();
    (dir, engine)
}

fn query() -> SearchQuery {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    SearchQuery::new("walrus").unwrap().replace_filters(filters)
}

fn said(found: &SearchResult, stage: Stage) -> String {
    let about = found.degraded.iter().filter(|one| one.stage == stage);
    about.map(|one| one.reason.as_str()).collect()
}

fn ids(found: &SearchResult) -> Vec<&str> {
    found.results.iter().map(|hit| hit.id.as_str()).collect()
}

#[test]
fn what_had_no_time_to_begin_is_named() {
    let (_dir, engine) =
        engine(Arc::new(Calls::new(|| ())), |config| config.classifier = Arc::new(Dawdles));
    let found = engine.search(&query().timeout_ms(TIMEOUT)).unwrap();
    assert_eq!(found.results, []);
    for metric in found.strategies.iter() {
        assert!(!metric.1.enabled, "{metric:?}");
    }
    let keyword = said(&found, Stage::Retriever(trefoil::RetrieverId::KEYWORD));
    assert!(keyword.contains("timeoutMs"), "{:?}", found.degraded);
    assert_eq!(engine.search(&query()).unwrap().results.len(), WALRUSES);
}

#[test]
fn a_search_that_is_given_up_reads_no_further() {
    let cancel = Cancel::default();
    let token = cancel.clone();
    let reranker = Arc::new(Calls::new(move || token.cancel()));
    let (_dir, engine) = engine(Arc::clone(&reranker) as _, |_| ());
    let given_up = engine.search_unless(&query(), &cancel);
    assert!(matches!(given_up, Err(Error::Cancelled)), "{given_up:?}");
    assert_eq!(reranker.scored(), 1);
    let given_up = engine.search_unless(&query(), &cancel);
    assert!(matches!(given_up, Err(Error::Cancelled)), "{given_up:?}");
    assert_eq!(reranker.scored(), 1);
    assert_eq!(engine.search_unless(&query(), &Cancel::default()).unwrap().results.len(), WALRUSES);
}

#[test]
fn when_as_many_are_read_as_there_are_cores_others_are_answered_in_fused_order() {
    let cores = thread::available_parallelism().unwrap().get();
    let gate = Arc::new((Mutex::new((0, false)), Condvar::new()));
    let blocked = Arc::clone(&gate);
    let reranker = Arc::new(Calls::new(move || {
        let (state, changed) = &*blocked;
        let mut state = state.lock().unwrap();
        state.0 += 1;
        changed.notify_all();
        while !state.1 {
            state = changed.wait(state).unwrap();
        }
    }));
    let (_dir, engine) = engine(Arc::clone(&reranker) as _, |config| {
        config.rerank_budget = Some(Duration::from_hours(1));
    });
    let query = query().thorough(true);
    thread::scope(|scope| {
        let searches: Vec<_> =
            (0..cores).map(|_| scope.spawn(|| engine.search(&query).unwrap())).collect();
        let (state, changed) = &*gate;
        drop(changed.wait_while(state.lock().unwrap(), |state| state.0 < cores).unwrap());
        let found = engine.search(&query).unwrap();
        state.lock().unwrap().1 = true;
        changed.notify_all();
        assert!(found.results.iter().all(|hit| hit.relevance.rerank.is_none()));
        assert_eq!(found.results.len(), WALRUSES);
        assert!(said(&found, Stage::Rerank).contains("other questions"), "{:?}", found.degraded);
        for search in searches {
            let found = search.join().unwrap();
            assert!(found.results.iter().all(|hit| hit.relevance.rerank.is_some()));
        }
    });
    let found = engine.search(&query).unwrap();
    assert_eq!(said(&found, Stage::Rerank), "", "turns come back");
}

#[test]
fn who_watches_sees_the_stages_and_the_order_of_fusion_first() {
    let (_dir, engine) = engine(Arc::new(Calls::new(|| ())), |_| ());
    let mut stages = Vec::new();
    let mut provisional = Vec::new();
    let observed = engine
        .search_observed(&query(), |event| match event {
            SearchEvent::Stage(metric) => stages.push(metric.stage),
            SearchEvent::Provisional(items) => {
                assert!(!stages.contains(&Stage::Rerank));
                provisional.push(items);
            }
            _ => {}
        })
        .unwrap();
    let found = engine.search(&query()).unwrap();
    assert_eq!(ids(&observed), ids(&found));
    let unread = engine.search(&query().rerank(false)).unwrap();
    let first: Vec<Vec<&str>> = provisional
        .iter()
        .map(|items| items.iter().map(|item| item.id.as_str()).collect())
        .collect();
    assert_eq!(first, [ids(&unread)]);
    assert_ne!(ids(&unread), ids(&found), "the reranker has another order");
    let told: Vec<Stage> =
        found.stages.iter().map(|one| one.stage).filter(|one| *one != Stage::Present).collect();
    assert_eq!(stages, told);

    let mut events = 0;
    let count =
        |event: SearchEvent| events += usize::from(matches!(event, SearchEvent::Provisional(_)));
    engine.search_observed(&query().rerank(false), count).unwrap();
    assert_eq!(events, 0, "the results are there at once");
}
