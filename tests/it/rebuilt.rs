//! An index from which documents were removed answers as one rebuilt of those that are left.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;
use trefoil::{Document, Engine, RetrieverId, SearchOptions, SearchResultItem, SearchStrategy};

use crate::{
    campaign::{any_relevance, list},
    trigrams::with_trigrams,
};

/// Whose lists are compared one by one.
const RETRIEVERS: [RetrieverId; 2] = [RetrieverId::KEYWORD, RetrieverId::SEMANTIC];
/// What searches are compared.
const STRATEGIES: [&[SearchStrategy]; 2] =
    [&[SearchStrategy::KEYWORD], &[SearchStrategy::KEYWORD, SearchStrategy::SEMANTIC]];
/// Of so many documents one is removed: 14 %.
const REMOVED: usize = 7;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    question: String,
}

fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// The corpus in three languages, by path.
pub(crate) fn documents() -> Vec<Document> {
    let mut documents = Vec::new();
    for language in ["en", "ja", "ko"] {
        for entry in fs::read_dir(fixtures().join("corpus").join(language)).unwrap() {
            let file = entry.unwrap().path();
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&file).unwrap();
            documents.push(Document::new(format!("{language}/{name}"), text));
        }
    }
    documents.sort_by(|a, b| a.path.cmp(&b.path));
    documents
}

pub(crate) fn questions() -> Vec<String> {
    let of = |file: &str| {
        let text = fs::read_to_string(fixtures().join("queries").join(file)).unwrap();
        toml::from_str::<Cases>(&text).unwrap().case.into_iter().map(|case| case.question)
    };
    ["en.toml", "ja.toml", "ko.toml", "cross.toml"].into_iter().flat_map(of).collect()
}

#[test]
fn removed_documents_leave_no_trace_in_any_list() {
    let documents = documents();
    assert!(documents.len() > 120);
    let dir = tempfile::tempdir().unwrap();
    let grown = Engine::open_with(dir.path().join("grown"), with_trigrams()).unwrap();
    for some in documents.chunks(40) {
        grown.ingest(some).unwrap();
    }
    grown.wait_until_indexed().unwrap();
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for (number, document) in documents.into_iter().enumerate() {
        if number % REMOVED == 0 { gone.push(document) } else { kept.push(document) }
    }
    for document in &gone {
        assert!(grown.remove(&document.path).unwrap() > 0);
    }
    grown.wait_until_indexed().unwrap();

    let rebuilt = Engine::open_with(dir.path().join("rebuilt"), with_trigrams()).unwrap();
    kept.reverse();
    rebuilt.ingest(&kept).unwrap();
    rebuilt.wait_until_indexed().unwrap();

    let (grown, rebuilt) = (Indexed::new(grown), Indexed::new(rebuilt));
    for question in questions() {
        for retriever in RETRIEVERS {
            let [list, expected] = [&grown, &rebuilt].map(|index| index.list(&question, retriever));
            assert_eq!(list, expected, "{retriever}: {question}");
        }
        for strategies in STRATEGIES {
            let [found, expected] =
                [&grown, &rebuilt].map(|index| index.search(&question, strategies));
            assert_eq!(found, expected, "{strategies:?}: {question}");
        }
    }
}

/// An engine, and the ids of its rows.
struct Indexed {
    engine: Engine,
    ids: BTreeMap<u64, String>,
}

impl Indexed {
    fn new(engine: Engine) -> Self {
        let mut ids = BTreeMap::new();
        for path in engine.paths().unwrap() {
            let chunks = engine.document_chunks(&path).unwrap();
            ids.extend(chunks.iter().map(|one| (one.row.get(), one.id.to_string())));
        }
        Self { engine, ids }
    }

    /// The ids of a list with their scores, and its floor and confidence.
    fn list(&self, question: &str, retriever: RetrieverId) -> (Vec<(&str, u32)>, u32, u32) {
        let list = list(&self.engine, question, retriever).unwrap();
        let hits = list.hits().iter();
        let hits = hits.map(|hit| (&*self.ids[&hit.row.get()], hit.raw_score.to_bits())).collect();
        (hits, list.floor().to_bits(), list.confidence().to_bits())
    }

    fn search(&self, question: &str, strategies: &[SearchStrategy]) -> Vec<(String, f32)> {
        let options = SearchOptions {
            limit: 100,
            strategies: strategies.to_vec(),
            ..SearchOptions::default()
        };
        let found = self.engine.search(&any_relevance(question).replace_options(options)).unwrap();
        assert!(found.degraded.is_empty(), "{:?}", found.degraded);
        let result = |one: SearchResultItem| (one.id, one.score.get());
        found.results.into_iter().map(result).collect()
    }
}
