use std::time::Duration;

use trefoil_core::Error;
use trefoil_store::truth::{Lost, Place, Sequences, Start, Truth, Value};

use crate::{
    collected::{Change, Collected, TABLES, setting, table, transaction},
    database::Database,
};

/// Leads, and writes the settings `0` to `count - 1`.
fn write(truth: &dyn Truth, count: u64) -> Place {
    let from = truth.head().unwrap();
    let place = truth.lead(from, Duration::ZERO).unwrap().unwrap();
    (0..count).fold(place, |place, n| truth.append(place, &setting(&n.to_string(), "")).unwrap())
}

#[test]
fn a_pull_tells_what_changed_and_no_more() {
    let Some(database) = Database::with_tables() else { return };
    let truth = database.truth("a");
    let place = write(&truth, 5);
    let mut follower = Collected::of(&truth);
    assert_eq!(follower.start, Some(Start::Nothing { lost: None }));
    assert_eq!((follower.told, follower.place), ((0, 5), place));
    follower.pull(&truth).unwrap();
    assert_eq!((follower.start, follower.told), (Some(Start::After(place)), (0, 0)));
    let at = TABLES.iter().position(|table| table.name == "units").unwrap();
    let units = |seeds: [Option<u64>; 3]| {
        let changes = (0..).zip(seeds).map(|(key, seed)| Change { table: at, key, seed });
        transaction(&changes.collect::<Vec<_>>(), Sequences::default())
    };
    let place = truth.append(place, &units([Some(1), Some(2), None])).unwrap();
    let place = truth.append(place, &units([None, Some(3), Some(4)])).unwrap();
    follower.pull(&truth).unwrap();
    assert_eq!((follower.told, follower.place), ((2, 2), place));
    assert_eq!(follower.rows["units"].len(), 2);
    assert_eq!(follower.rows, Collected::of(&truth).rows);
}

#[test]
fn who_is_before_what_was_pruned_starts_from_nothing() {
    let Some(database) = Database::with_tables() else { return };
    let truth = database.truth("a");
    let place = write(&truth, 3);
    let mut early = Collected::of(&truth);
    let place = truth.lead(place, Duration::ZERO).unwrap().unwrap();
    let mut gone = setting("1", "");
    gone.tables[0].gone = vec![gone.tables[0].rows.pop().unwrap()[..1].to_vec()];
    let place = truth.append(place, &gone).unwrap();
    let mut late = Collected::of(&truth);
    let place = truth.append(place, &setting("9", "")).unwrap();
    truth.prune(place, 4).unwrap();
    truth.prune(place, 2).unwrap();
    let shard = truth.shard().unwrap();
    assert_eq!((shard.pruned, shard.epochs.len()), (4, 2), "epochs stay");
    assert_eq!(database.value("SELECT count(*) FROM trefoil.gone"), "0");
    late.pull(&truth).unwrap();
    assert!(matches!(late.start, Some(Start::After(_))));
    early.pull(&truth).unwrap();
    assert_eq!(early.start, Some(Start::Nothing { lost: None }));
    assert_eq!(early.rows, late.rows);
    assert_eq!(early.len(), 3);
}

#[test]
fn pruning_takes_the_rows_that_tell_of_what_is_gone() {
    let Some(database) = Database::with_tables() else { return };
    let truth = database.truth("a");
    let place = write(&truth, 1);
    let log = table("change_log");
    let tombstone = log.tombstone.unwrap();
    let at = TABLES.iter().position(|table| table.name == "change_log").unwrap();
    let mut touched = transaction(
        &[0, 1].map(|key| Change { table: at, key, seed: Some(1) }),
        Sequences::default(),
    );
    for (removed, row) in (0..).zip(&mut touched.tables[0].rows) {
        row[tombstone] = Value::Integer(removed);
    }
    let place = truth.append(place, &touched).unwrap();
    truth.prune(place, place.tx - 1).unwrap();
    assert_eq!(Collected::of(&truth).rows["change_log"].len(), 2);
    truth.prune(place, u64::from(u32::MAX)).unwrap();
    assert_eq!(truth.shard().unwrap().pruned, place.tx, "not after what there is");
    assert_eq!(Collected::of(&truth).rows["change_log"].len(), 1);
}

/// A database that took over from another one has lost the last transactions, and has given their
/// numbers again.
#[test]
fn what_was_lost_by_the_database_is_told_to_who_has_it() {
    let Some(database) = Database::with_tables() else { return };
    let truth = database.truth("a");
    let place = write(&truth, 5);
    let mut follower = Collected::of(&truth);
    database.sql("UPDATE trefoil.shard SET tx = 3; DELETE FROM trefoil.meta WHERE tx > 3");
    let error = truth.append(place, &setting("x", "")).unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "{error}");
    assert_eq!(truth.lead(place, Duration::ZERO).unwrap(), None);
    let lost = Some(Start::Nothing { lost: Some(Lost { at: place, after: 3 }) });
    let mut other = Collected { place, ..Collected::default() };
    other.pull(&truth).unwrap();
    assert_eq!((other.start, other.len()), (lost, 3));
    // Another node leads from there, and the numbers are given a second time.
    let next = database.truth("b");
    let new = next.lead(other.place, Duration::ZERO).unwrap().unwrap();
    (0..3).fold(new, |place, n| next.append(place, &setting(&format!("b{n}"), "")).unwrap());
    follower.pull(&truth).unwrap();
    assert_eq!(follower.start, lost);
    assert_eq!(follower.rows, Collected::of(&next).rows);
}

#[test]
fn an_error_of_the_sink_ends_the_pull_and_the_next_one_is_whole() {
    let Some(database) = Database::with_tables() else { return };
    let truth = database.truth("a");
    let place = write(&truth, 5);
    let mut follower = Collected { fails_at: Some(3), ..Collected::default() };
    assert!(matches!(follower.pull(&truth), Err(Error::Cancelled)));
    assert_eq!(follower.place, Place::NOTHING);
    follower.fails_at = None;
    assert_eq!(follower.pull(&truth).unwrap(), place);
    assert_eq!(follower.len(), 5);
}

#[test]
fn a_value_that_cannot_be_is_refused_and_leaves_nothing() {
    let Some(database) = Database::with_tables() else { return };
    let truth = database.truth("a");
    let place = write(&truth, 1);
    let mut wrong = setting("k", "v");
    wrong.tables[0].rows[0][1] = Value::Integer(1);
    let error = truth.append(place, &wrong).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    assert_eq!(truth.head().unwrap(), place);
    truth.append(place, &setting("k", "v")).unwrap();
}
