use std::{collections::BTreeSet, slice, thread, time::Duration};

use trefoil_core::Language;
use trefoil_postgres::PostgresTruth;
use trefoil_store::truth::{
    Cluster, Done, EMBED_TRIES, EmbedOutcome, EmbedText, MadeVectors, NodeReport, NodeRole,
    OutOfReach, Place, Request, RequestId, Touched, Truth, Value,
};

use crate::{
    collected::{Collected, setting},
    database::Database,
};

fn request(id: u128) -> Request {
    Request { id: RequestId(id), body: vec![0, 1, 255] }
}

#[test]
fn a_request_is_done_once_in_the_transaction_that_does_it() {
    let Some(database) = Database::with_tables() else { return };
    let (writer, other) = (database.truth("a"), database.truth("b"));
    let (first, second) = (request(u128::MAX - 5), request(7));
    for request in [&first, &first, &second, &first] {
        other.send(request).unwrap();
    }
    other.send(&Request { body: Vec::new(), ..second.clone() }).unwrap();
    assert_eq!(writer.requests(10).unwrap(), [first.clone(), second.clone()]);
    assert_eq!(writer.requests(1).unwrap(), slice::from_ref(&first));
    assert_eq!(other.answer(first.id).unwrap(), None);
    let place = writer.lead(Place::NOTHING, Duration::ZERO).unwrap().unwrap();
    let done = vec![Done { id: first.id, answer: vec![9, 0] }];
    let touched = Touched { done, ..setting("k", "v") };
    // A transaction that was fenced has done nothing.
    writer.append(place.next(), &touched).unwrap_err();
    assert_eq!(writer.requests(10).unwrap().len(), 2);
    let place = writer.append(place, &touched).unwrap();
    assert_eq!(other.answer(first.id).unwrap(), Some((place.tx, vec![9, 0])));
    assert_eq!(writer.requests(10).unwrap(), slice::from_ref(&second));
    other.send(&first).unwrap();
    assert_eq!(writer.requests(10).unwrap(), slice::from_ref(&second));
    other.forget(first.id).unwrap();
    other.forget(second.id).unwrap();
    assert_eq!(other.answer(first.id).unwrap(), None);
    assert_eq!(writer.requests(10).unwrap(), []);
    assert_eq!(Collected::of(&other).len(), 1, "requests are no rows");
}

fn texts(count: usize) -> Vec<EmbedText> {
    let language = |n| [None, Some(Language::Ja), Some(Language::Ko), Some(Language::En)][n % 4];
    let text = |n| EmbedText {
        text_hash: format!("{n:04}"),
        text: format!("\0text\u{1} {n}"),
        language: language(n),
    };
    (0..count).map(text).collect()
}

#[test]
fn each_text_is_taken_by_one_embedder_and_comes_back_as_a_vector() {
    let Some(database) = Database::with_tables() else { return };
    let writer = database.truth("a");
    let wanted = texts(300);
    writer.want_vectors("model", &wanted).unwrap();
    writer.want_vectors("model", &wanted[..50]).unwrap();
    writer.want_vectors("other", &wanted[..1]).unwrap();
    let lease = Duration::from_mins(10);
    let taken: Vec<EmbedText> = thread::scope(|scope| {
        let work = |node: &'static str| {
            let database = &database;
            scope.spawn(move || {
                let (truth, mut mine) = (database.truth(node), Vec::new());
                loop {
                    let some = truth.claim_texts("model", 64, lease).unwrap();
                    if some.is_empty() {
                        return mine;
                    }
                    assert!(some.len() <= 64);
                    let vector = |text: &EmbedText| {
                        let number: f32 = text.text_hash.parse().unwrap();
                        let tokens = text.language.map(|_| vec![7; some.len() % 2]);
                        let vector = vec![number; 3 + some.len() % 2];
                        (text.text_hash.clone(), MadeVectors { vector, tokens })
                    };
                    let vectors: Vec<_> = some.iter().map(vector).collect();
                    truth.put_vectors("model", &vectors).unwrap();
                    mine.extend(some);
                }
            })
        };
        let workers = ["b", "c", "d"].map(work);
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(taken.len(), 300);
    let all = |texts: &[EmbedText]| -> BTreeSet<String> {
        texts.iter().map(|text| format!("{text:?}")).collect()
    };
    assert_eq!(all(&taken), all(&wanted));
    let hashes: Vec<String> = wanted.iter().map(|text| text.text_hash.clone()).collect();
    assert_eq!(writer.outcomes("model", 200).unwrap().len(), 200);
    let outcomes = writer.outcomes("model", 1_000).unwrap();
    assert_eq!(outcomes.len(), 300);
    for (hash, outcome) in outcomes {
        let EmbedOutcome::Made(MadeVectors { vector, tokens }) = outcome else { panic!("{hash}") };
        let number: usize = hash.parse().unwrap();
        assert!(vector.len() >= 3 && vector.iter().all(|&n| n == hash.parse::<f32>().unwrap()));
        assert_eq!(tokens.is_none(), number.is_multiple_of(4), "{hash}");
        assert!(tokens.is_none_or(|tokens| tokens.iter().all(|&byte| byte == 7)));
    }
    assert_eq!(writer.outcomes("other", 9).unwrap(), []);
    writer.forget_vectors("model", &hashes[1..]).unwrap();
    assert_eq!(writer.outcomes("model", 9).unwrap().len(), 1);
    writer.want_vectors("model", &wanted[..3]).unwrap();
    writer.retain_texts(&[("model", "0002"), ("other", "0001")]).unwrap();
    let left = database.sql("SELECT fingerprint, text_hash FROM trefoil.embed");
    assert_eq!(left, [["model", "0002"]]);
    writer.retain_texts(&[]).unwrap();
    let late = MadeVectors { vector: vec![1.0], tokens: None };
    writer.put_vectors("model", &[("0001".into(), late)]).unwrap();
    assert_eq!(writer.outcomes("model", 9).unwrap(), [], "nobody wants it any more");
}

#[test]
fn a_text_whose_embedder_is_gone_is_given_out_again_and_a_bad_one_only_so_often() {
    let Some(database) = Database::with_tables() else { return };
    let truth = database.truth("a");
    truth.want_vectors("model", &texts(1)).unwrap();
    let claim = |lease| truth.claim_texts("model", 64, lease).unwrap();
    assert_eq!(claim(Duration::from_mins(10)), texts(1));
    assert_eq!(claim(Duration::ZERO), []);
    database.sql("UPDATE trefoil.embed SET until = clock_timestamp() - interval '1 s'");
    for _ in 1..EMBED_TRIES {
        assert_eq!(truth.outcomes("model", 9).unwrap(), []);
        assert_eq!(claim(Duration::ZERO).len(), 1);
    }
    assert_eq!(claim(Duration::ZERO), []);
    let failed = |reason: Option<&str>| {
        [("0000".to_owned(), EmbedOutcome::Failed(reason.map(str::to_owned)))]
    };
    assert_eq!(truth.outcomes("model", 9).unwrap(), failed(None));
}

#[test]
fn a_text_that_is_given_back_is_taken_at_once_and_counts_if_it_is_to_blame() {
    let Some(database) = Database::with_tables() else { return };
    let (truth, other) = (database.truth("a"), database.truth("b"));
    truth.want_vectors("model", &texts(1)).unwrap();
    let lease = Duration::from_mins(10);
    let give_back = |truth: &PostgresTruth, reason: Option<&str>| {
        truth.return_texts("model", &[("0000".into(), reason.map(str::to_owned))]).unwrap();
    };
    for _ in 0..9 {
        assert_eq!(truth.claim_texts("model", 9, lease).unwrap().len(), 1);
        give_back(&truth, None);
    }
    for reason in ["one", "two", "\0three"] {
        assert_eq!(truth.claim_texts("model", 9, lease).unwrap().len(), 1);
        // Another node cannot give it back.
        give_back(&other, Some("mine"));
        assert_eq!(other.claim_texts("model", 9, lease).unwrap(), []);
        assert_eq!(truth.outcomes("model", 9).unwrap(), []);
        give_back(&truth, Some(reason));
    }
    assert_eq!(truth.claim_texts("model", 9, lease).unwrap(), []);
    let outcomes = truth.outcomes("model", 9).unwrap();
    let [(_, EmbedOutcome::Failed(Some(reason)))] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert!(reason.contains("three"), "{reason}");
}

#[test]
fn what_is_no_vector_is_read_as_one_that_is_refused() {
    let Some(database) = Database::with_tables() else { return };
    let truth = database.truth("a");
    truth.want_vectors("model", &texts(1)).unwrap();
    for (sql, is_refused) in [
        ("'{1,NULL}'", (|vector| vector[1].is_nan()) as fn(&[f32]) -> bool),
        ("'{{1,2},{3,4}}'", <[f32]>::is_empty),
        ("'{}'", <[f32]>::is_empty),
    ] {
        database.sql(&format!("UPDATE trefoil.embed SET vector = {sql}"));
        let outcomes = truth.outcomes("model", 9).unwrap();
        let [(_, EmbedOutcome::Made(made))] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert!(is_refused(&made.vector), "{sql}: {made:?}");
    }
}

#[test]
fn nodes_tell_of_themselves_and_are_seen_for_a_while() {
    let Some(database) = Database::with_tables() else { return };
    let (a, b) = (database.truth("a"), database.truth("b"));
    let mut report = NodeReport {
        role: NodeRole::Writer,
        address: None,
        place: Place { epoch: 2, by: u64::MAX, tx: 9 },
        erased: 4,
    };
    a.report(&report).unwrap();
    report.role = NodeRole::Searcher;
    b.report(&report).unwrap();
    report.address = Some("https://b.example".into());
    report.erased = 9;
    b.report(&report).unwrap();
    let day = Duration::from_hours(24);
    let nodes = a.nodes(day).unwrap();
    assert_eq!(nodes.iter().map(|node| node.node.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(nodes[0].report.role, NodeRole::Writer);
    assert_eq!(nodes[1].report, report);
    assert!(nodes.iter().all(|node| node.ago < day));
    database.sql("UPDATE trefoil.node SET seen = seen - interval '2 days' WHERE node = 'a'");
    assert_eq!(a.nodes(day).unwrap().len(), 1);
    assert!(a.nodes(day * 3).unwrap()[0].ago > day);
}

#[test]
fn a_vacuum_removes_what_is_left_of_rows_that_are_gone() {
    let Some(database) = Database::with_tables() else { return };
    let truth = database.truth("a");
    let mut place = truth.lead(Place::NOTHING, Duration::ZERO).unwrap().unwrap();
    let mut touched = setting("0", &"secret ".repeat(200));
    let rows = &mut touched.tables[0].rows;
    let named = |n: usize| [vec![Value::Text(n.to_string())], rows[0][1..].to_vec()].concat();
    *rows = (0..500).map(named).collect();
    place = truth.append(place, &touched).unwrap();
    let table = &mut touched.tables[0];
    let key = |mut row: Vec<Value>| {
        row.truncate(1);
        row
    };
    table.gone = std::mem::take(&mut table.rows).into_iter().map(key).collect();
    truth.append(place, &touched).unwrap();
    let size = || database.value("SELECT pg_relation_size('trefoil.meta')");
    assert_ne!(size(), "0");
    let database_files =
        [OutOfReach::FreeSpace, OutOfReach::Log, OutOfReach::Archives, OutOfReach::Backups];
    assert_eq!(truth.vacuum().unwrap(), database_files);
    assert_eq!(size(), "0");
    let vacuumed = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_stat_user_tables
         WHERE schemaname = 'trefoil' AND vacuum_count = 0";
    assert_eq!(database.value(vacuumed), "epoch member node shard version");
}
