//! What became of a transaction whose connection was cut.

use std::{thread, time::Duration};

use trefoil_core::{Error, Result};
use trefoil_postgres::PostgresTruth;
use trefoil_store::truth::{Place, Sequences, Truth};

use crate::{
    collected::{Change, Collected, Rows, TABLES, apply, setting, transaction},
    database::Database,
    proxy::{Proxy, Rule},
};

fn by_proxy(database: &Database, proxy: &Proxy, node: &str) -> PostgresTruth {
    let config = format!("{}?index=notes", database.url_by(proxy.port)).parse();
    let config: trefoil_postgres::PostgresConfig = config.unwrap();
    PostgresTruth::new(config.with_node(node).unwrap()).unwrap()
}

/// Leads from `place` or, if it stands there already, from where the transaction after it led.
/// True if that was written.
fn decide(truth: &dyn Truth, place: Place) -> (Place, bool) {
    loop {
        match truth.lead(place, Duration::ZERO) {
            Ok(Some(led)) => return (led, false),
            Ok(None) => {
                assert_eq!(truth.head().unwrap(), place.next());
                let led = truth.lead(place.next(), Duration::ZERO).unwrap().unwrap();
                return (led, true);
            }
            Err(Error::Unavailable { .. }) => {}
            Err(error) => panic!("{}", error.chain()),
        }
    }
}

#[test]
fn a_commit_that_is_cut_is_in_doubt_and_leading_again_decides() {
    let Some(database) = Database::with_tables() else { return };
    let proxy = Proxy::new(database.port());
    let truth = by_proxy(&database, &proxy, "a");
    let mut place = truth.lead(Place::NOTHING, Duration::ZERO).unwrap().unwrap();
    for (n, rule) in [Rule::CutBeforeCommit, Rule::CutAfterCommit].repeat(3).iter().enumerate() {
        proxy.set(*rule);
        let error = truth.append(place, &setting(&n.to_string(), "")).unwrap_err();
        assert!(matches!(error, Error::InDoubt { .. }), "{rule:?}: {}", error.chain());
        assert!(!error.chain().contains("clover"), "{}", error.chain());
        assert_eq!(proxy.rule(), Rule::Pass);
        let (led, is_written) = decide(&truth, place);
        assert_eq!(is_written, *rule == Rule::CutAfterCommit);
        place = led;
    }
    let all = Collected::of(&truth);
    let written: Vec<&String> = all.rows["meta"].keys().collect();
    assert_eq!(written, ["Text(\"1\")", "Text(\"3\")", "Text(\"5\")"]);
}

/// The writer stops, or is cut off without a word, just before it commits.
#[test]
fn another_node_leads_when_a_writer_is_held_before_its_commit() {
    let Some(database) = Database::with_tables() else { return };
    let proxy = Proxy::new(database.port());
    let (a, b) = (by_proxy(&database, &proxy, "a"), database.truth("b"));
    let place = a.lead(Place::NOTHING, Duration::ZERO).unwrap().unwrap();
    proxy.set(Rule::HoldCommit);
    thread::scope(|scope| {
        let held = scope.spawn(|| a.append(place, &setting("held", "")));
        while proxy.rule() != Rule::Pass {
            thread::yield_now();
        }
        // The lease was of no time. What is in its way is the lock on the row of the shard.
        let led = loop {
            match b.lead(place, Duration::from_mins(10)) {
                Ok(led) => break led.unwrap(),
                Err(Error::Unavailable { .. }) => {}
                Err(error) => panic!("{}", error.chain()),
            }
        };
        assert_eq!((led.epoch, led.tx), (2, 0));
        let held = held.join().unwrap().unwrap_err();
        assert!(matches!(held, Error::InDoubt { .. }), "{}", held.chain());
        assert_eq!(a.lead(place, Duration::ZERO).unwrap(), None);
        assert_eq!(a.head().unwrap(), led);
        b.append(led, &setting("b", "")).unwrap();
    });
    let fenced = a.append(place, &setting("held", "")).unwrap_err();
    assert!(matches!(fenced, Error::Fenced { .. }), "{}", fenced.chain());
    assert_eq!(Collected::of(&a).len(), 1);
}

#[test]
fn wherever_a_connection_is_cut_what_was_answered_is_there_and_nothing_else() {
    let Some(database) = Database::with_tables() else { return };
    let proxy = Proxy::new(database.port());
    let truth = by_proxy(&database, &proxy, "a");
    let mut random = fastrand::Rng::with_seed(7);
    let (mut model, mut follower) = (Rows::new(), Collected::default());
    let mut place = truth.lead(Place::NOTHING, Duration::ZERO).unwrap().unwrap();
    let (mut cut, mut doubts) = (0, 0);
    for _ in 0..150 {
        let changes: Vec<Change> = (0..random.usize(1..8))
            .map(|_| Change {
                table: random.usize(..TABLES.len()),
                key: random.u8(..9),
                seed: random.bool().then(|| random.u64(..)),
            })
            .collect();
        let touched = transaction(&changes, Sequences::default());
        proxy.set(Rule::CutAfterBytes(random.usize(1..9000)));
        let written: Result<Place> = truth.append(place, &touched);
        cut += usize::from(proxy.rule() == Rule::Pass);
        proxy.set(Rule::Pass);
        match written {
            Ok(next) => {
                apply(&mut model, &touched);
                place = next;
            }
            Err(Error::InDoubt { .. }) => {
                let (led, is_written) = decide(&truth, place);
                if is_written {
                    apply(&mut model, &touched);
                }
                (place, doubts) = (led, doubts + 1);
            }
            Err(Error::Unavailable { .. }) => assert_eq!(truth.head().unwrap(), place),
            Err(error) => panic!("{}", error.chain()),
        }
        if random.u8(..5) == 0 {
            proxy.set(Rule::CutAfterBytes(random.usize(1..900)));
            let before = follower.place;
            match follower.pull(&truth) {
                Ok(_) => assert_eq!(follower.rows, model),
                // What it was told counts only at the end.
                Err(Error::Unavailable { .. }) => {
                    assert_eq!(follower.place, before);
                    follower = Collected::default();
                }
                Err(error) => panic!("{}", error.chain()),
            }
            proxy.set(Rule::Pass);
        }
    }
    assert!(cut > 50 && doubts > 0, "{cut} connections were cut, {doubts} in doubt");
    assert_eq!(Collected::of(&truth).rows, model);
}

#[test]
fn connections_that_the_database_closed_are_made_again_without_a_word() {
    let Some(database) = Database::with_tables() else { return };
    let truth = database.truth("a");
    let mut place = truth.lead(Place::NOTHING, Duration::from_mins(10)).unwrap().unwrap();
    let mut follower = Collected::default();
    for n in 0..3 {
        place = truth.append(place, &setting(&n.to_string(), "")).unwrap();
        assert_eq!(follower.pull(&truth).unwrap(), place);
        assert_eq!(truth.head().unwrap(), place);
        let ended = database.sql(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
             WHERE application_name = 'trefoil' AND datname = current_database()",
        );
        assert!(ended.len() >= 3, "{ended:?}");
        truth.renew(place, Duration::from_mins(10)).unwrap();
    }
}

#[test]
fn a_database_that_is_not_there_is_named_without_its_password() {
    // Nobody listens on the port of a proxy that is gone.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://ada:clover@127.0.0.1:{port}/app?index=notes");
    let truth = PostgresTruth::new(url.parse().unwrap()).unwrap();
    let errors = [
        truth.head().map(drop).unwrap_err(),
        truth.lead(Place::NOTHING, Duration::ZERO).map(drop).unwrap_err(),
        truth.append(Place::NOTHING, &setting("k", "v")).map(drop).unwrap_err(),
        truth.pull(Place::NOTHING, &mut Collected::default()).map(drop).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Unavailable { .. }), "{}", error.chain());
        let said = format!("{} {error:?}", error.chain());
        assert!(said.contains(&format!("127.0.0.1:{port}/app")), "{said}");
        assert!(!said.contains("clover"), "{said}");
    }
}
