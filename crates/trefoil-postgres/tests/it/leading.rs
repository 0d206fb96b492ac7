use std::{sync::Mutex, thread, time::Duration};

use trefoil_core::Error;
use trefoil_store::truth::{Cluster, NodeReport, NodeRole, Place, Truth, format};

use crate::{
    collected::{Collected, setting},
    database::Database,
};

const LONG: Duration = Duration::from_mins(10);

#[test]
fn only_a_node_that_has_everything_leads_and_only_when_the_lease_has_run_out() {
    let Some(database) = Database::with_tables() else { return };
    let (a, b) = (database.truth("a"), database.truth("b"));
    let first = a.lead(Place::NOTHING, LONG).unwrap().unwrap();
    assert_eq!((first.epoch, first.tx), (1, 0));
    assert_ne!(first.by, 0);
    assert_eq!(b.shard().unwrap().writer.as_deref(), Some("a"));
    assert_eq!(b.lead(first, LONG).unwrap(), None, "the lease is of another");
    let second = a.append(first, &setting("k", "v")).unwrap();
    assert_eq!(second, first.next());
    a.resign(second).unwrap();
    assert_eq!(b.shard().unwrap().writer, None);
    assert_eq!(b.lead(first, LONG).unwrap(), None, "it has not everything");
    let other = Place { by: second.by ^ 1, ..second };
    assert_eq!(b.lead(other, LONG).unwrap(), None, "it has the rows of another writer");
    let third = b.lead(second, LONG).unwrap().unwrap();
    assert_eq!((third.epoch, third.tx), (2, 1));
    let shard = a.shard().unwrap();
    assert_eq!(shard.head, third);
    assert_eq!(shard.epochs, [Place { tx: 0, ..first }, third]);
    // Its own lease is in nobody's way: it may have been started again.
    assert!(database.truth("b").lead(third, LONG).unwrap().is_some());
}

#[test]
fn a_lease_that_was_handed_over_is_of_that_node_alone() {
    let Some(database) = Database::with_tables() else { return };
    let (a, b, c) = (database.truth("a"), database.truth("b"), database.truth("c"));
    let first = a.lead(Place::NOTHING, LONG).unwrap().unwrap();
    a.hand_over(Place { by: first.by ^ 1, ..first }, "b", LONG).unwrap();
    assert_eq!(a.shard().unwrap().writer.as_deref(), Some("a"), "it was not its to give");
    a.hand_over(first, "b", LONG).unwrap();
    assert_eq!(c.lead(first, LONG).unwrap(), None);
    assert_eq!(a.lead(first, LONG).unwrap(), None);
    assert!(b.lead(first, LONG).unwrap().is_some());
}

#[test]
fn a_writer_of_an_older_epoch_is_fenced_and_leaves_nothing() {
    let Some(database) = Database::with_tables() else { return };
    let (a, b) = (database.truth("a"), database.truth("b"));
    let old = a.lead(Place::NOTHING, Duration::ZERO).unwrap().unwrap();
    let new = b.lead(old, LONG).unwrap().unwrap();
    let behind = Place { epoch: new.epoch, by: new.by, tx: 7 };
    for place in [old, behind, Place { by: 1, ..new }] {
        let error = a.append(place, &setting("lost", "x")).unwrap_err();
        assert!(matches!(error, Error::Fenced { .. }), "{place:?}: {}", error.chain());
    }
    for (place, fenced) in [(old, true), (new, false)] {
        let renewed = a.renew(place, LONG);
        assert_eq!(matches!(renewed, Err(Error::Fenced { .. })), fenced);
        assert_eq!(matches!(a.prune(place, 0), Err(Error::Fenced { .. })), fenced);
    }
    a.resign(old).unwrap();
    assert_eq!(b.shard().unwrap().writer.as_deref(), Some("b"));
    assert_eq!(b.head().unwrap(), new);
    assert_eq!(Collected::of(&b).len(), 0);
}

#[test]
fn a_transaction_renews_the_lease() {
    let Some(database) = Database::with_tables() else { return };
    let a = database.truth("a");
    let place = a.lead(Place::NOTHING, LONG).unwrap().unwrap();
    database.sql("UPDATE trefoil.shard SET until = clock_timestamp() - interval '1 s'");
    assert_eq!(a.shard().unwrap().writer, None);
    a.append(place, &setting("k", "v")).unwrap();
    assert_eq!(a.shard().unwrap().writer.as_deref(), Some("a"));
}

#[test]
fn whoever_writes_at_once_one_of_them_writes_each_transaction() {
    let Some(database) = Database::with_tables() else { return };
    let written = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for node in ["a", "b", "c", "d"] {
            let (written, database) = (&written, &database);
            scope.spawn(move || {
                let truth = database.truth(node);
                let (mut mine, mut count) = (Collected::default(), 0);
                while count < 15 {
                    mine.pull(&truth).unwrap();
                    let Some(mut place) = truth.lead(mine.place, Duration::ZERO).unwrap() else {
                        continue;
                    };
                    for _ in 0..3 {
                        let key = format!("{node}{count}");
                        match truth.append(place, &setting(&key, node)) {
                            Ok(next) => {
                                assert_eq!(next, place.next());
                                written.lock().unwrap().push((next.tx, key));
                                (place, count) = (next, count + 1);
                            }
                            Err(Error::Fenced { .. }) => break,
                            Err(error) => panic!("{}", error.chain()),
                        }
                    }
                }
            });
        }
    });
    let mut written = written.into_inner().unwrap();
    written.sort();
    let numbers: Vec<u64> = written.iter().map(|(tx, _)| *tx).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let all = Collected::of(&database.truth("e"));
    assert_eq!(all.place.tx, numbers.len() as u64);
    assert_eq!(all.len(), written.len());
}

#[test]
fn rows_of_an_older_format_are_led_once_no_node_of_that_is_there() {
    let Some(database) = Database::with_tables() else { return };
    let (a, b) = (database.truth("a"), database.truth("b"));
    let report = |role| NodeReport { role, address: None, place: Place::NOTHING, erased: 0 };
    b.report(&report(NodeRole::Searcher)).unwrap();
    database.sql("UPDATE trefoil.shard SET format = format - 1");
    let older = |node: &str| {
        database.sql(&format!("UPDATE trefoil.node SET format = NULL WHERE node = '{node}'"));
    };
    older("b");
    let refused = |expected: &str| {
        let error = a.lead(Place::NOTHING, LONG).unwrap_err().chain();
        assert!(error.contains(expected), "{error}");
        assert_eq!(a.shard().unwrap().format, format() - 1);
    };
    refused("nodes of an older version are there: b; upgrade them");
    assert_eq!(a.nodes(LONG).unwrap()[0].format, None);
    // One of before may still lead, and then there is nothing to say.
    database.sql("UPDATE trefoil.shard SET writer = 'b', until = clock_timestamp() + '1 min'");
    assert_eq!(a.lead(Place::NOTHING, LONG).unwrap(), None);
    database.sql("UPDATE trefoil.shard SET writer = NULL, until = '-infinity'");
    // Tables that were not brought up to date are told of, and no row is migrated.
    b.report(&report(NodeRole::Searcher)).unwrap();
    database.sql("UPDATE trefoil.version SET format = format - 1");
    refused("run `trefoil cluster init` again");
    trefoil_postgres::init(&database.config(), 1).unwrap();
    // Its own node of before, one that is gone, and one without rows are in nobody's way.
    for (node, role) in
        [("a", NodeRole::Writer), ("c", NodeRole::Writer), ("d", NodeRole::Embedder)]
    {
        database.truth(node).report(&report(role)).unwrap();
        older(node);
    }
    database.sql("UPDATE trefoil.node SET seen = seen - interval '1 min' WHERE node = 'c'");
    let led = a.lead(Place::NOTHING, LONG).unwrap().unwrap();
    assert_eq!(a.shard().unwrap().format, format());
    a.append(led, &setting("k", "v")).unwrap();
}
