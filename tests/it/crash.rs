//! A process that writes is killed, 20 times in `cargo test` and 1,000 times by
//! `just crash`: nothing that was acknowledged is lost, nothing is half there, and every
//! index agrees with the store after reopening.
//!
//! Half of the rounds end at a failpoint: between two steps of a commit. The others end by
//! `kill -9` at a random moment, also while the index is being opened. What the process
//! says on its standard output is the ledger: it lies outside of the index.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    time::Duration,
};

use crate::{
    campaign::{progress, rounds},
    ledger::{Ledger, Task},
};

/// Every step at which a commit can be cut off.
pub(crate) const FAILPOINTS: [&str; 10] = [
    "store-written",
    "store-committed",
    "keyword-prepared",
    "keyword-committed",
    "vectors-written",
    "vectors-manifest-written",
    "vectors-manifest-renamed",
    "graph-written",
    "graph-manifest-written",
    "graph-renamed",
];

#[test]
fn nothing_acknowledged_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let mut ledger = Ledger::default();
    let rounds = rounds(20);
    let mut cut_short = 0;
    for round in rounds.clone() {
        cut_short += u32::from(!write_until_killed(&mut ledger, &index, round));
        ledger.check(&index, round);
        progress("crash", round, &rounds);
    }
    assert_eq!(ledger.errors, [] as [&str; 0]);
    let count = rounds.end - rounds.start;
    assert!(ledger.acknowledged > count, "{} writes in {count} rounds", ledger.acknowledged);
    assert!(cut_short * 2 > count, "only {cut_short} of {count} children were killed");
    println!("{count} rounds, {cut_short} killed, {} writes acknowledged", ledger.acknowledged);
}

/// Starts a child that writes and ends it; true if it was faster and ended by itself.
fn write_until_killed(ledger: &mut Ledger, index: &Path, round: u32) -> bool {
    let mut random = fastrand::Rng::with_seed(u64::from(round));
    let failpoint = match round % 4 {
        0 | 2 => (FAILPOINTS[(round / 2) as usize % FAILPOINTS.len()], random.u32(0..12)),
        _ => ("none", 0),
    };
    let mut child = Task { index, round, failpoint }.alone().spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    match round % 4 {
        // After some writes, and a little later.
        1 => {
            let wanted = ledger.acknowledged + random.u32(1..15);
            while ledger.acknowledged < wanted
                && let Some(line) = lines.next()
            {
                ledger.note(&line.unwrap());
            }
            std::thread::sleep(Duration::from_millis(random.u64(0..40)));
            child.kill().unwrap();
        }
        // At any time, also while it opens the index.
        3 => {
            std::thread::sleep(Duration::from_millis(random.u64(0..600)));
            child.kill().unwrap();
        }
        _ => {}
    }
    // What it said before it died counts too.
    for line in lines.map_while(Result::ok) {
        ledger.note(&line);
    }
    child.wait().unwrap().success()
}
