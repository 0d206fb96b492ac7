//! Several processes read while one writes: what a search shows is one committed state, in
//! every retriever, or the result says which retriever is behind.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Child,
};

use trefoil::{
    Document, Engine, RetrieverId, Score, SearchFilters, SearchOptions, SearchQuery, SearchResult,
};

use crate::{campaign::process_of, verify::letters};

const PAIRS: usize = 60;
/// Pairs that are there at a time.
const KEPT: usize = 8;
/// Set for the children only: the index.
const READER: &str = "TREFOIL_READER_CHILD";
/// A file in the index's folder that tells them to end.
const STOP: &str = "stop";

#[test]
fn readers_see_one_state_while_another_process_writes() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    let engine = Engine::open_with(&index, letters()).unwrap();
    engine.ingest(&pair(0)).unwrap();
    engine.wait_until_indexed().unwrap();
    let readers: Vec<Child> = (0..2).map(|_| spawn(&index)).collect();
    for n in 1..PAIRS {
        // Both of a pair come in one transaction, and go in one.
        engine.ingest(&pair(n)).unwrap();
        if let Some(old) = n.checked_sub(KEPT) {
            assert_eq!(engine.remove(&format!("pair-{old}")).unwrap(), 2);
        }
        if n % 4 == 0 {
            engine.wait_until_indexed().unwrap();
        }
    }
    engine.wait_until_indexed().unwrap();
    std::fs::write(folder.path().join(STOP), "").unwrap();
    for reader in readers {
        let output = reader.wait_with_output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{printed}");
    }
}

fn spawn(index: &Path) -> Child {
    process_of("generation::reader").env(READER, index).spawn().unwrap()
}

#[test]
fn reader() {
    #[expect(clippy::disallowed_methods, reason = "how the parent tells the child what to do")]
    let Ok(index) = std::env::var(READER) else { return };
    let index = Path::new(&index);
    let engine = Engine::open_read_only(index, letters()).unwrap();
    loop {
        let last = index.with_file_name(STOP).exists();
        let found = search(&engine);
        check(&found);
        if last {
            let kept = PAIRS - KEPT..PAIRS;
            let expected: BTreeSet<String> =
                kept.flat_map(pair).map(|document| document.path).collect();
            assert_eq!(found.degraded, []);
            assert_eq!(paths(&found).into_keys().collect::<BTreeSet<_>>(), expected);
            return;
        }
    }
}

fn pair(n: usize) -> Vec<Document> {
    ["left", "right"]
        .map(|side| {
            let body = format!("The {side} walrus of pair {n} lies on the ice.");
            Document::new(format!("pair-{n}/{side}"), body)
        })
        .to_vec()
}

/// Asks what every document answers, of both retrievers.
fn search(engine: &Engine) -> SearchResult {
    let query = SearchQuery::new("walrus on the ice").unwrap();
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    let options =
        SearchOptions { limit: 100, adjoining: true, explain: true, ..SearchOptions::default() };
    engine.search(&query.replace_filters(filters).replace_options(options)).unwrap()
}

/// The results with the retrievers that found them.
fn paths(found: &SearchResult) -> BTreeMap<String, Vec<RetrieverId>> {
    let result = |one: &trefoil::SearchResultItem| {
        let retrievers = one
            .explanation
            .as_ref()
            .unwrap()
            .retrievers
            .iter()
            .map(|retriever| retriever.retriever);
        (one.metadata.as_ref().unwrap().path.clone(), retrievers.collect())
    };
    found.results.iter().map(result).collect()
}

fn check(found: &SearchResult) {
    if !found.degraded.is_empty() {
        return;
    }
    let paths = paths(found);
    for (path, retrievers) in &paths {
        for retriever in [RetrieverId::KEYWORD, RetrieverId::SEMANTIC] {
            assert!(
                retrievers.contains(&retriever),
                "{path} is not in the {retriever} retriever: {paths:?}"
            );
        }
        let (pair, side) = path.split_once('/').unwrap();
        let other = if side == "left" { "right" } else { "left" };
        assert!(paths.contains_key(&format!("{pair}/{other}")), "half of {pair}: {paths:?}");
    }
    assert!(paths.len() <= 2 * (KEPT + 1), "{paths:?}");
}
