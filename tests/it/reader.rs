//! A process that only reads, next to one whose indexes are behind or damaged.

use std::{
    fs,
    path::Path,
    sync::{Arc, Barrier, mpsc},
    thread,
    time::Duration,
};

use trefoil::{
    Document, Engine, EngineConfig, Result, RetrieverId, SearchResult,
    search::{NameLookup, QueryClassification, QueryClassifier, Question, RuleClassifier, Stage},
};

use crate::{campaign::any_relevance, files::copy, models::without_model};

/// What the classifier stops at, with what it has in hand.
const HELD: &str = "hold";

/// Classifies one question when it is told to.
#[derive(Debug)]
struct Holds {
    begun: Barrier,
    ended: Barrier,
}

impl QueryClassifier for Holds {
    fn classify(&self, question: &Question, names: &dyn NameLookup) -> Result<QueryClassification> {
        if question.text == HELD {
            self.begun.wait();
            self.ended.wait();
        }
        RuleClassifier.classify(question, names)
    }
}

fn write(index: &Path, name: &str, text: &str) {
    let engine = Engine::open_with(index, without_model()).unwrap();
    engine.ingest(&[Document::new(name, text)]).unwrap();
    engine.wait_until_indexed().unwrap();
}

fn found(result: &SearchResult) -> Vec<&str> {
    result.results.iter().map(|hit| hit.metadata.as_ref().unwrap().path.as_str()).collect()
}

fn stages(result: &SearchResult) -> Vec<Stage> {
    result.degraded.iter().map(|one| one.stage).collect()
}

#[test]
fn searches_do_not_wait_for_one_another_where_an_index_is_behind() {
    let dir = tempfile::tempdir().unwrap();
    let (index, before) = (dir.path().join("index"), dir.path().join("before"));
    write(&index, "a", "the walrus sleeps");
    copy(&index.join("documents"), &before);
    write(&index, "b", "the walrus dives");
    // The indexes of an earlier day, which only a writer brings up to date.
    fs::remove_dir_all(index.join("documents")).unwrap();
    copy(&before, &index.join("documents"));
    let holds = Arc::new(Holds { begun: Barrier::new(2), ended: Barrier::new(2) });
    let config = EngineConfig { classifier: holds.clone(), ..without_model() };
    let reader = Arc::new(Engine::open_read_only(&index, config).unwrap());
    let held = thread::spawn({
        let reader = Arc::clone(&reader);
        move || reader.search(&any_relevance(HELD)).unwrap()
    });
    holds.begun.wait();
    let (sender, receiver) = mpsc::channel();
    thread::spawn({
        let reader = Arc::clone(&reader);
        move || drop(sender.send(reader.search(&any_relevance("walrus")).unwrap()))
    });
    let result = receiver.recv_timeout(Duration::from_mins(2));
    let result = result.expect("a search waits for another one, and nothing is new");
    assert_eq!(found(&result), ["a"]);
    assert!(
        stages(&result).contains(&Stage::Retriever(RetrieverId::KEYWORD)),
        "{:?}",
        result.degraded
    );
    holds.ended.wait();
    held.join().unwrap();
    // A writer brings the indexes up to date without a change of the store.
    drop(Engine::open_with(&index, without_model()).unwrap());
    let result = reader.search(&any_relevance("walrus")).unwrap();
    // There is no model.
    assert_eq!(
        (found(&result).len(), stages(&result)),
        (2, vec![Stage::Retriever(RetrieverId::SEMANTIC)])
    );
}

#[test]
fn a_commit_that_cannot_be_read_leaves_the_one_before_and_the_other_retrievers() {
    for folder in ["keyword", "graph"] {
        let dir = tempfile::tempdir().unwrap();
        let index = dir.path().join("index");
        write(&index, "a", "The Walrus Club met in Tromsø.");
        let reader = Engine::open_read_only(&index, without_model()).unwrap();
        write(&index, "b", "The Walrus Club met in Bergen.");
        let file = match folder {
            "keyword" => index.join("documents/keyword/meta.json"),
            _ => index.join("documents/graph/MANIFEST"),
        };
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() - 3]).unwrap();
        // Twice: the first to see it and one after it.
        for _ in 0..2 {
            let result = reader.search(&any_relevance("Walrus Club")).unwrap();
            assert!(found(&result).contains(&"a"), "{folder}: {result:?}");
            let said = result.degraded.iter().map(|one| (one.stage, one.reason.as_str()));
            let said: Vec<_> = said.collect();
            let is_named = |(stage, reason): &(Stage, &str)| {
                stage.to_string() == folder && reason.contains("newest commit cannot be read")
            };
            assert!(said.iter().any(is_named), "{folder}: {said:?}");
        }
    }
}
