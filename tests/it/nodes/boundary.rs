//! A node that is given units of memory up to a class only.

use trefoil::{
    Engine,
    cluster::MemoryTruth,
    index::RowId,
    memory::{BoundaryClass, UnitFilter, UnitRow},
};

use super::{Node, parts, walrus};
use crate::{
    files::contents,
    memory::{DEPTH, remember},
    trigrams::with_trigrams,
};

const SECRET: &str = "Doctor Featherstonehaugh keeps the walrus below the third stone.";

fn unit(id: &str, boundary: BoundaryClass) -> UnitRow {
    UnitRow { boundary, ..UnitRow::new(id, 1_700_000_000) }
}

/// The units that words, and that vectors find, whatever their class.
fn found(engine: &Engine) -> [Vec<RowId>; 2] {
    let memory = engine.memory();
    let filter = UnitFilter::of(BoundaryClass::ALL, &["project", "principle"]);
    let allowed = memory.allowed(&filter).unwrap();
    let found = memory.recall("walrus", &allowed, DEPTH).unwrap();
    assert_eq!(found.degraded, []);
    [found.by_text, found.by_vector].map(|hits| {
        let mut rows: Vec<RowId> = hits.iter().map(|hit| hit.row).collect();
        rows.sort_unstable();
        rows
    })
}

fn holds(node: &Node, text: &str) -> bool {
    contents(node.dir.path())
        .any(|(_, bytes)| bytes.windows(text.len()).any(|run| run == text.as_bytes()))
}

#[test]
fn it_finds_what_it_is_given_and_has_no_byte_of_the_rest() {
    let truth = MemoryTruth::new("a");
    let leader = parts(truth.clone(), with_trigrams()).open();
    let within = truth.node("b").within(BoundaryClass::Internal);
    let node = parts(within, with_trigrams()).following().open();
    leader.engine.ingest(&[walrus("one")]).unwrap();
    let walks =
        remember(&leader.engine, &unit("obs_1", BoundaryClass::Public), "The walrus walks.");
    let hidden = remember(&leader.engine, &unit("obs_2", BoundaryClass::Pii), SECRET);
    leader.engine.wait_until_indexed().unwrap();
    node.settle();
    assert!(holds(&leader, SECRET) && !holds(&node, "Featherstonehaugh"));
    assert_eq!(node.finds("walrus"), ["one"]);
    assert_eq!(found(&leader.engine), [vec![walks, hidden], vec![walks, hidden]]);
    assert_eq!(found(&node.engine), [vec![walks], vec![walks]]);
    // It comes with its class, is searched by words and by meaning, and goes with it.
    remember(&leader.engine, &unit("obs_2", BoundaryClass::Internal), SECRET);
    leader.engine.wait_until_indexed().unwrap();
    node.settle();
    assert_eq!(found(&node.engine), found(&leader.engine));
    remember(&leader.engine, &unit("obs_2", BoundaryClass::Pii), SECRET);
    leader.engine.wait_until_indexed().unwrap();
    node.settle();
    assert_eq!(found(&node.engine), [vec![walks], vec![walks]]);
    assert_eq!(found(&leader.engine), [vec![walks, hidden], vec![walks, hidden]]);
    // It never leads, and its cache is sound.
    leader.engine.forget_document("one").unwrap();
    node.settle();
    let dir = node.dir;
    drop((leader, node.engine));
    let verification = Engine::verify(dir.path()).unwrap();
    assert!(verification.is_sound() && verification.lagging.is_empty(), "{verification:?}");
    let truth = truth.node("b").within(BoundaryClass::Internal);
    let alone = parts(truth, with_trigrams()).open_in(dir.path()).unwrap();
    assert!(!alone.node().unwrap().unwrap().leads);
    assert_eq!(found(&alone), [vec![walks], vec![walks]]);
}
