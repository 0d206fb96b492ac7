//! `kill -9` while documents are being ingested: nothing that was acknowledged is lost,
//! nothing is half there, and the indexes agree with the store after reopening.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use trefoil::{Document, Engine, Score, SearchFilters, SearchQuery, Strategy};

use crate::models::{with_model, without_model};

const ROUNDS: u32 = 20;
/// Set for the child only: the index that it writes to, and the number of its first document.
const CHILD: &str = "TREFOIL_CRASH_CHILD";

#[test]
fn nothing_acknowledged_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    with_model();
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        acknowledged = write_until_killed(&index, acknowledged, round);
        check(&index, acknowledged, round);
    }
    assert!(acknowledged > u64::from(ROUNDS), "the child wrote {acknowledged} documents");
}

/// Starts a child that ingests documents one after the other and kills it; the number of
/// documents that it acknowledged, earlier rounds included.
fn write_until_killed(index: &Path, first: u64, round: u32) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{first}:{}", index.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = first;
    // Some rounds end at the first write, others run into embedding and commits.
    let wanted = 1 + u64::from(round * 7 % 30);
    let number =
        |line: &str| line.strip_prefix("acknowledged ").and_then(|n| n.parse::<u64>().ok());
    for line in lines.by_ref() {
        if let Some(n) = number(&line.unwrap()) {
            acknowledged = n + 1;
        }
        if acknowledged >= first + wanted {
            break;
        }
    }
    std::thread::sleep(Duration::from_millis(u64::from(round * 13 % 40)));
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said before it died counts too.
    for line in lines.map_while(Result::ok) {
        if let Some(n) = number(&line) {
            acknowledged = n + 1;
        }
    }
    acknowledged
}

#[test]
fn child() {
    #[expect(clippy::disallowed_methods, reason = "how the parent tells the child what to do")]
    let Ok(task) = std::env::var(CHILD) else { return };
    let (first, index) = task.split_once(':').unwrap();
    let engine = Engine::open_with(index, with_model()).unwrap();
    for number in first.parse::<u64>().unwrap().. {
        engine.ingest(&[document(number)]).unwrap();
        println!("acknowledged {number}");
    }
}

/// A few chunks each, one word that no other document has.
fn document(number: u64) -> Document {
    let line = |n| format!("Line {n} of the logbook, walrus{number}x{n}.");
    let body = (0..40).map(line).collect::<Vec<_>>().join("\n\n");
    Document::new(format!("log/{number:06}"), body)
}

fn check(index: &Path, acknowledged: u64, round: u32) {
    // The keyword leg has everything as soon as the index is open, without a model too.
    let engine = Engine::open_with(index, without_model()).unwrap();
    let paths = engine.paths().unwrap();
    let stats = engine.stats().unwrap();
    for number in 0..acknowledged {
        let path = format!("log/{number:06}");
        assert!(paths.contains(&path), "round {round}: {path} is lost");
    }
    // One may be durable although its acknowledgement did not get out.
    assert!(paths.len() as u64 <= acknowledged + 1, "round {round}: {} files", paths.len());
    let last = acknowledged - 1;
    for word in [format!("walrus{last}x0"), format!("walrus{last}x39")] {
        let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
        let query = SearchQuery::new(&word).unwrap().filters(filters);
        let found = engine.search(&query).unwrap();
        let path = &found.results.first().unwrap().metadata.as_ref().unwrap().path;
        assert_eq!(*path, format!("log/{last:06}"), "round {round}");
    }
    let rows = |engine: &Engine, strategy| {
        let stats = engine.stats().unwrap();
        stats.rows.into_iter().find(|(one, _)| *one == strategy).unwrap().1
    };
    assert_eq!(rows(&engine, Strategy::Keyword), stats.store.chunks as u64, "round {round}");
    drop(engine);
    // With the model, what was left to embed is embedded, and the vectors agree too.
    let engine = Engine::open_with(index, with_model()).unwrap();
    let left = engine.drain().unwrap();
    assert_eq!((left.queued, left.running, left.failed), (0, 0, 0), "round {round}");
    assert_eq!(rows(&engine, Strategy::Semantic), stats.store.chunks as u64, "round {round}");
}
