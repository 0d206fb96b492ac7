use std::time::Duration;

use proptest::prelude::*;
use trefoil_postgres::PostgresTruth;
use trefoil_store::truth::{Place, Sequences, Truth};

use crate::{
    collected::{Change, Collected, Rows, TABLES, apply, transaction},
    database::Database,
};

#[derive(Clone, Debug)]
enum Step {
    Write(Vec<Change>),
    Follow(usize),
    Lead,
    Prune,
}

fn change() -> impl Strategy<Value = Change> {
    (0..TABLES.len(), 0..40_u8, proptest::option::weighted(0.7, any::<u64>()))
        .prop_map(|(table, key, seed)| Change { table, key, seed })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => proptest::collection::vec(change(), 1..30).prop_map(Step::Write),
        3 => (0..3_usize).prop_map(Step::Follow),
        1 => Just(Step::Lead),
        1 => Just(Step::Prune),
    ]
}

/// Begins the index again in the same database: to make one costs more than a case.
pub(crate) fn begin_again(database: &Database) -> PostgresTruth {
    let rows = TABLES.iter().map(|table| format!("DELETE FROM trefoil.\"{}\"", table.name));
    database.sql(&rows.collect::<Vec<_>>().join(";"));
    database.sql(
        "DELETE FROM trefoil.gone;
         DELETE FROM trefoil.epoch;
         UPDATE trefoil.shard SET epoch = 0, by = 0, tx = 0, pruned = 0, sequences = '{}',
             touched = '{}', until = '-infinity'",
    );
    database.truth("a")
}

#[test]
fn after_random_transactions_over_every_table_followers_have_the_rows_of_the_writer() {
    let Some(database) = Database::with_tables() else { return };
    let config = ProptestConfig::default();
    // A case takes as long as thirty of those in memory.
    let cases = config.cases.div_ceil(2);
    let config = ProptestConfig { cases, failure_persistence: None, ..config };
    proptest!(config, |(steps in proptest::collection::vec(step(), 1..25))| {
        let truth = begin_again(&database);
        let mut place = truth.lead(Place::NOTHING, Duration::ZERO).unwrap().unwrap();
        let (mut model, mut sequences) = (Rows::new(), Sequences::new());
        let mut followers = [(); 3].map(|()| Collected::default());
        for (number, step) in (0..).zip(&steps) {
            match step {
                Step::Write(changes) => {
                    sequences = Sequences::from([("units".to_owned(), number)]);
                    let touched = transaction(changes, sequences.clone());
                    place = truth.append(place, &touched).unwrap();
                    apply(&mut model, &touched);
                }
                Step::Follow(which) => {
                    let follower = &mut followers[*which];
                    follower.pull(&truth).unwrap();
                    prop_assert_eq!(follower.place, place);
                    prop_assert_eq!(&follower.rows, &model);
                }
                Step::Lead => place = truth.lead(place, Duration::ZERO).unwrap().unwrap(),
                // Rows that only tell of something that is gone go with what is gone.
                Step::Prune => {
                    truth.prune(place, place.tx).unwrap();
                    if let Some(rows) = model.get_mut("change_log") {
                        rows.retain(|_, row| row.rsplit(',').nth(1) != Some("Integer(1)"));
                    }
                    model.retain(|_, rows| !rows.is_empty());
                    followers = [(); 3].map(|()| Collected::default());
                }
            }
        }
        for follower in followers.iter_mut().chain([&mut Collected::default()]) {
            follower.pull(&truth).unwrap();
            prop_assert_eq!(&follower.rows, &model);
            prop_assert_eq!(&follower.sequences, &sequences);
        }
    });
}
