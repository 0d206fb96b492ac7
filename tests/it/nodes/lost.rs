//! What is gone: what the store has lost, and what was forgotten.

use std::{path::PathBuf, time::Duration};

use trefoil::{
    Document, Engine, Error,
    admin::UncleanNode,
    cluster::{
        Cluster, Lost, MemoryTruth, NodeReport, NodeRole, NotRestored, NotRestoredReason,
        OutOfReach, Truth,
    },
};

use super::{Cut, Node, parts, walrus};
use crate::{files::contents, models::without_model, trigrams::with_trigrams};

#[test]
fn what_the_store_lost_is_gone_everywhere_and_said() {
    let truth = MemoryTruth::new("a");
    let first = parts(truth.clone(), with_trigrams()).open();
    let second = parts(truth.node("b"), with_trigrams()).following().open();
    first.engine.ingest(&[walrus("one")]).unwrap();
    first.engine.wait_until_indexed().unwrap();
    let standby = truth.state();
    first.engine.ingest(&[walrus("two")]).unwrap();
    first.engine.wait_until_indexed().unwrap();
    second.settle();
    assert_eq!(second.finds("walrus").len(), 2);
    let at = truth.head().unwrap();
    let after = standby.head().tx;
    truth.put_back(standby);
    let fenced = first.write_here().unwrap_err();
    assert!(matches!(fenced, Error::Fenced { .. }), "{fenced:?}");
    for node in [&second, &first] {
        node.settle();
        assert_eq!(node.finds("walrus"), ["one"]);
        let lost = Some(Lost { at, after });
        assert_eq!(node.engine.node().unwrap().unwrap().lost, lost);
        assert!(node.troubles()[0].contains("has lost"), "{:?}", node.troubles());
    }
    assert!(first.engine.lead().unwrap());
    first.engine.ingest(&[walrus("four")]).unwrap();
    second.settle();
    assert_eq!(second.finds("walrus of four").len(), 2);
    let Node { engine, dir } = second;
    drop(engine);
    let verified = Engine::verify(dir.path()).unwrap();
    assert!(verified.is_sound(), "{verified:?}");
}

/// What a node tells of restoring: paths of documents, and those that it left as they are.
fn restored(node: &Node, dry_run: bool) -> (Vec<String>, Vec<(String, NotRestoredReason)>) {
    let report = node.engine.restore_lost(dry_run).unwrap();
    assert_eq!(report.dry_run, dry_run);
    let skipped = report.skipped.into_iter();
    let skipped = skipped.map(|NotRestored { path, reason }| (path, reason));
    (report.restored, skipped.collect())
}

#[test]
fn what_the_store_lost_is_put_back_once_and_nothing_newer_is_overwritten() {
    use NotRestoredReason::{Present, Removed, Returned, Rewritten};
    let truth = MemoryTruth::new("a");
    let mut first = parts(truth.clone(), with_trigrams());
    first.shared.times.poll = Duration::from_millis(5);
    let first = first.open();
    let second = parts(truth.node("b"), with_trigrams()).following().open();
    let old = ["goes", "changes", "changes since", "removed since"].map(walrus);
    first.engine.ingest(&old).unwrap();
    first.engine.wait_until_indexed().unwrap();
    second.settle();
    let nothing = second.engine.restore_lost(false).unwrap_err();
    assert!(matches!(nothing, Error::NothingLost { .. }), "{nothing:?}");
    let standby = truth.state();
    let after = standby.head().tx;
    let lost = ["new", "changes", "changes since", "removed since"];
    let lost = lost.map(|name| Document::new(name, format!("The lost heron of {name} fishes.")));
    first.engine.ingest(&lost).unwrap();
    first.engine.remove("goes").unwrap();
    first.engine.wait_until_indexed().unwrap();
    second.settle();
    let had = second.texts();
    truth.put_back(standby);
    first.write_here().unwrap_err();
    for node in [&second, &first] {
        node.settle();
    }
    // The index goes on.
    assert!(first.engine.lead().unwrap());
    first.engine.ingest(&[Document::new("changes since", "The newest heron.")]).unwrap();
    first.engine.remove("removed since").unwrap();

    let left = |present: &[&str]| {
        let named = [("changes since", Rewritten), ("goes", Returned), ("removed since", Removed)];
        let present = present.iter().map(|&path| (path, Present));
        let left = named.into_iter().chain(present).map(|(path, reason)| (path.to_owned(), reason));
        let mut left: Vec<_> = left.collect();
        left.sort();
        left
    };
    let due = ["changes", "new"].map(str::to_owned).to_vec();
    let there = first.texts();
    assert_eq!(restored(&second, true), (due.clone(), left(&[])));
    assert_eq!(first.texts(), there, "nothing was written");
    assert_eq!(restored(&second, false), (due.clone(), left(&[])));
    for path in &due {
        assert_eq!(second.texts()[path], had[path]);
    }
    assert_eq!(second.texts()["changes since"], ["The newest heron."]);
    assert!(second.finds("lost heron of new").contains(&"new".to_owned()));
    assert_eq!(first.texts(), second.texts());
    let nothing = second.engine.restore_lost(false).unwrap_err();
    assert!(matches!(nothing, Error::NothingLost { .. }), "{nothing:?}");
    // The other node has kept the same, and finds it there.
    assert_eq!(first.engine.restore_lost(true).unwrap().lost_after, after);
    assert_eq!(restored(&first, false), (vec![], left(&["changes", "new"])));
}

#[test]
fn what_is_forgotten_is_not_kept_among_what_was_lost() {
    let truth = MemoryTruth::new("a");
    let first = parts(truth.clone(), without_model()).open();
    let second = parts(truth.node("b"), without_model()).following().open();
    first.engine.ingest(&[walrus("one")]).unwrap();
    let standby = truth.state();
    first.engine.ingest(&[walrus("two")]).unwrap();
    second.settle();
    truth.put_back(standby);
    first.write_here().unwrap_err();
    for node in [&second, &first] {
        node.settle();
        assert!(node.dir.path().join("lost.json").exists());
    }
    assert!(first.engine.lead().unwrap());
    first.engine.forget_document("one").unwrap();
    second.settle();
    for node in [&second, &first] {
        assert!(!node.dir.path().join("lost.json").exists());
    }
}

/// Files of a node that hold something of a text.
fn holders(node: &Node, text: &str) -> Vec<PathBuf> {
    let needle = &text.as_bytes()[16..40];
    contents(node.dir.path())
        .filter(|(_, bytes)| bytes.windows(needle.len()).any(|window| window == needle))
        .map(|(path, _)| path)
        .collect()
}

#[test]
fn what_any_node_is_asked_to_forget_is_in_no_file_of_any() {
    let secret = "the walrus hid the key below the third stone";
    for who in 0..2 {
        let truth = MemoryTruth::new("a");
        let mut first = parts(truth.clone(), without_model());
        first.shared.times.poll = Duration::from_millis(5);
        first.shared.forget_wait = Duration::ZERO;
        let nodes = [first.open(), parts(truth.node("b"), without_model()).following().open()];
        nodes[0].engine.ingest(&[Document::new("secret", secret), walrus("one")]).unwrap();
        nodes[1].settle();
        for node in &nodes {
            assert!(!holders(node, secret).is_empty(), "the search sees nothing");
        }
        let receipt = nodes[who].engine.forget_document("secret").unwrap();
        assert!(receipt.searched && receipt.hits == 0, "{receipt:?}");
        assert_eq!(receipt.removed["file"], 1, "{receipt:?}");
        assert!(receipt.shared.is_some() && !receipt.files.is_empty(), "{receipt:?}");
        nodes[1].settle();
        for node in &nodes {
            assert_eq!(holders(node, secret), [""; 0].map(PathBuf::from));
            assert_eq!(node.finds("walrus"), ["one"]);
        }
        let again = nodes[who].engine.forget_document("secret").unwrap();
        assert!(again.removed.is_empty() && again.shared.is_none(), "{again:?}");
        assert_eq!(truth.requests(1).unwrap(), [], "nothing is left in the inbox");
    }
}

/// Tells the others of a node as its own thread does after a while.
fn report(truth: &MemoryTruth, node: &Node) {
    let place = node.engine.node().unwrap().unwrap().place;
    let report = NodeReport { role: NodeRole::Searcher, address: None, place, erased: place.tx };
    truth.report(&report).unwrap();
}

#[test]
fn forgetting_waits_for_the_nodes_that_follow_and_names_those_that_do_not() {
    let truth = MemoryTruth::new("a");
    let mut first = parts(truth.clone(), without_model());
    first.shared.forget_wait = Duration::from_mins(5);
    let first = first.open();
    let secrets = ["second", "third"].map(|name| Document::new(name, format!("{name} secret")));
    first.engine.ingest(&[secrets.as_slice(), &[walrus("one")]].concat()).unwrap();
    let mut awake = parts(truth.node("b"), without_model()).following();
    awake.shared.times.poll = Duration::from_millis(5);
    let awake = awake.open();
    awake.settle();
    report(&truth.node("b"), &awake);
    let receipt = first.engine.forget_document("second").unwrap();
    let shared = receipt.shared.unwrap();
    assert!(shared.transaction > 1 && shared.transaction <= truth.head().unwrap().tx);
    assert_eq!((shared.nodes, shared.out_of_reach), (vec![], vec![OutOfReach::Caches]));
    let seen = truth.nodes(Duration::from_hours(1)).unwrap();
    assert_eq!(seen.iter().map(|seen| seen.node.as_str()).collect::<Vec<_>>(), ["b"]);
    assert!(seen[0].report.erased >= shared.transaction, "{seen:?}");
    assert!(first.engine.forget_document("second").unwrap().shared.is_none(), "it is gone");

    // One that was seen just now and does not follow.
    let asleep = parts(truth.node("c"), without_model()).following().open();
    asleep.settle();
    let at = asleep.engine.node().unwrap().unwrap().place.tx;
    report(&truth.node("c"), &asleep);
    let Node { engine, dir } = first;
    drop(engine);
    let mut first = parts(truth.clone(), without_model());
    first.shared.forget_wait = Duration::from_millis(20);
    let engine = first.open_in(dir.path()).unwrap();
    let receipt = engine.forget_document("third").unwrap();
    let shared = receipt.shared.unwrap();
    let nodes: Vec<&UncleanNode> = shared.nodes.iter().filter(|node| node.name == "c").collect();
    assert_eq!((nodes[0].transaction, nodes[0].erased), (at, at));
    assert_eq!(nodes.len(), 1);
    // It says at once that it is rid of it.
    asleep.engine.follow().unwrap();
    let seen = truth.nodes(Duration::from_hours(1)).unwrap();
    let asleep = seen.iter().find(|seen| seen.node == "c").unwrap();
    assert!(asleep.report.erased >= shared.transaction, "{asleep:?}");
}

#[test]
fn forgetting_says_so_where_the_store_does_not_answer_any_more() {
    let truth = MemoryTruth::new("a");
    let mut others = Cut::new(truth);
    others.are_others_away = true;
    let mut node = parts(others, without_model());
    node.shared.forget_wait = Duration::ZERO;
    let node = node.open();
    node.engine.ingest(&[walrus("one")]).unwrap();
    let receipt = node.engine.forget_document("one").unwrap();
    assert_eq!((receipt.hits, receipt.removed["file"]), (0, 1));
    let out_of_reach = receipt.shared.unwrap().out_of_reach;
    let all = [OutOfReach::Caches, OutOfReach::Nodes, OutOfReach::Rows, OutOfReach::FreeSpace];
    let database = [OutOfReach::Log, OutOfReach::Archives, OutOfReach::Backups];
    assert_eq!(out_of_reach, [all.as_slice(), &database].concat());
}
