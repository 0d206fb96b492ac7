//! Nodes that are given units of memory up to a class only.

use trefoil_core::{BoundaryClass, UnitKind};

use super::*;
use crate::{
    fixture::extraction,
    memory::{
        EpisodePayload, PatchReason, Payload, SessionRow, UnitRow, tests::claim as memory_claim,
    },
};

/// A clock that stands still.
#[derive(Debug)]
struct Noon;

impl Clock for Noon {
    fn now(&self) -> i64 {
        1_700_049_600
    }
}

fn within(truth: &MemoryTruth, name: &str, class: BoundaryClass) -> TestNode {
    let folder = tempfile::tempdir().unwrap();
    let truth = Arc::new(truth.node(name).within(class));
    let store = Store::open_node(folder.path(), truth, times(), Arc::new(Noon)).unwrap();
    TestNode { store, folder }
}

/// The numbers and the classes of the units of memory in a store.
fn classes(node: &TestNode) -> Vec<(i64, i64)> {
    let connection = Connection::open(file_in(node.folder.path())).unwrap();
    let sql = format!(
        "SELECT id, boundary FROM units WHERE kind <> {} ORDER BY id",
        UnitKind::Chunk.code()
    );
    let mut select = connection.prepare(&sql).unwrap();
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

/// Removes the embeddings that nothing names. Whoever was given one keeps it, and who comes later
/// is not given it.
fn remove_unnamed(node: &TestNode) {
    let remove = |tx: &WriteTx<'_>| {
        tx.execute(
            "DELETE FROM embedding_cache WHERE text_hash NOT IN (
                 SELECT embedding_hash FROM units WHERE embedding_hash IS NOT NULL
                 UNION ALL SELECT embedding_hash FROM payload_chunk)",
            [],
        )
    };
    node.store.write_here("remove what nothing names", remove).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 16))]
    #[test]
    fn a_cache_within_a_boundary_is_what_it_would_be_if_it_were_new(
        transactions in prop::collection::vec(
            (prop::collection::vec(statement(), 1..60), any::<bool>()), 1..5
        ),
        class in select(vec![BoundaryClass::Public, BoundaryClass::Internal, BoundaryClass::Pii]),
    ) {
        let truth = MemoryTruth::new("a");
        let writer = TestNode::leading(truth.clone());
        let follower = within(&truth, "b", class);
        let tables = tables().unwrap();
        for (statements, is_followed) in &transactions {
            writer.store.write("write at random", |tx, _| {
                for statement in statements {
                    statement.run(tx, &tables);
                }
                Ok(())
            }).unwrap();
            if *is_followed {
                follower.follow();
            }
        }
        follower.follow();
        let new = within(&truth, "c", class);
        new.follow();
        remove_unnamed(&follower);
        prop_assert_eq!(follower.dump(), new.dump());
        let mut expected = classes(&writer);
        expected.retain(|(_, boundary)| *boundary <= i64::from(class.code()));
        prop_assert_eq!(classes(&follower), expected);
        prop_assert!(!follower.store.lead().unwrap());
    }
}

const SECRET: &str = "Featherstonehaugh";

/// Writes a claim that names people.
fn claim(node: &TestNode, id: &str, class: BoundaryClass, names: &[&str]) {
    let text = format!("{} met at the lighthouse.", names.join(" and "));
    let unit = UnitRow { boundary: class, ..UnitRow::new(id, 1) };
    let body = Payload::Claim(memory_claim(&text));
    node.store
        .memory_write("claim", |memory| {
            let row = memory.put_unit(&unit, &body, PatchReason::Reflect)?;
            memory.put_mentions(row, &extraction(names))
        })
        .unwrap();
}

fn episode(node: &TestNode, id: &str, class: BoundaryClass, session: &str) {
    let unit = UnitRow { boundary: class, ..UnitRow::new(id, 1) };
    let told = EpisodePayload {
        input_text: Some(format!("{id} was said")),
        session: Some(session.to_owned()),
        ..Default::default()
    };
    let put = |memory: &crate::memory::MemoryWrite<'_>| {
        memory.put_unit(&unit, &Payload::Episode(told.clone()), PatchReason::Reflect)
    };
    node.store.memory_write("tell", put).unwrap();
}

fn session(node: &TestNode, id: &str, summary: &str) {
    let session = SessionRow {
        id: id.to_owned(),
        project_path: format!("/{id}"),
        started_at: 1,
        ended_at: None,
        summary: Some(summary.to_owned()),
        owner: None,
        token_count: 0,
    };
    node.store.memory_write("begin", |memory| memory.put_session(&session)).unwrap();
}

/// The rows of a table of which some column has a text.
fn rows_with(node: &TestNode, table: &str, text: &str) -> usize {
    let is_of = |line: &&String| line.starts_with(&format!("{table} ")) && line.contains(text);
    node.dump().iter().filter(is_of).count()
}

#[test]
fn nothing_of_a_unit_above_the_boundary_is_in_the_file() {
    let truth = MemoryTruth::new("a");
    let writer = TestNode::leading(truth.clone());
    let node = within(&truth, "b", BoundaryClass::Internal);
    node.follow();
    session(&writer, "s1", "About Ada.");
    session(&writer, "s2", SECRET);
    claim(&writer, "clm_1", BoundaryClass::Internal, &["Ada", "Grace"]);
    claim(&writer, "clm_2", BoundaryClass::Pii, &["Ada", SECRET]);
    episode(&writer, "obs_1", BoundaryClass::Public, "s1");
    episode(&writer, "obs_2", BoundaryClass::Secret, "s2");
    writer.store.put_files(&[file("a", &["A seal."])]).unwrap();
    node.follow();
    assert!(writer.dump().iter().any(|line| line.contains(SECRET)));
    let told = |text: &str| {
        let lines = node.dump().into_iter();
        lines.filter(|line| line.contains(text)).collect::<Vec<_>>()
    };
    assert_eq!(told(SECRET), [""; 0]);
    for secret in ["clm_2", "obs_2", "s2"] {
        assert_eq!(told(&format!("\"{secret}\"")), [""; 0], "{secret}");
    }
    for (table, text) in [
        ("sessions", "s1"),
        ("payload_episode", "obs_1 was said"),
        ("payload_claim", "Ada and Grace"),
        ("entities", "Ada"),
        ("entities", "Grace"),
        ("payload_chunk", "A seal."),
    ] {
        assert_eq!(rows_with(&node, table, text), 1, "{table}");
    }
    assert_eq!(node.store.verify().unwrap(), []);
    // One that has everything has all of it.
    let whole = TestNode::new(truth.node("c"));
    whole.follow();
    assert_eq!(whole.dump(), writer.dump());
}

#[test]
fn a_unit_of_another_class_comes_and_goes_with_all_that_is_said_of_it() {
    let truth = MemoryTruth::new("a");
    let writer = TestNode::leading(truth.clone());
    let node = within(&truth, "b", BoundaryClass::Internal);
    claim(&writer, "clm_1", BoundaryClass::Internal, &["Ada", "Grace"]);
    claim(&writer, "clm_2", BoundaryClass::Pii, &["Ada", "Eve"]);
    node.follow();
    assert_eq!(rows_with(&node, "entities", "Eve"), 0);
    let [one, two] = [BoundaryClass::Public, BoundaryClass::Pii];
    claim(&writer, "clm_2", one, &["Ada", "Eve"]);
    node.follow();
    assert_eq!(rows_with(&node, "entities", "Eve"), 1);
    assert_eq!(rows_with(&node, "payload_claim", "Ada and Eve"), 1);
    assert_eq!(node.store.verify().unwrap(), []);
    claim(&writer, "clm_2", two, &["Ada", "Eve"]);
    node.follow();
    assert_eq!(node.dump().iter().filter(|line| line.contains("Eve")).count(), 0);
    assert_eq!(rows_with(&node, "entities", "Ada"), 1);
    assert_eq!(node.store.verify().unwrap(), []);
}

#[test]
fn a_text_that_comes_back_brings_its_vector_to_a_node_that_joined_in_between() {
    let truth = MemoryTruth::new("a");
    let writer = TestNode::leading(truth.clone());
    writer.store.set_fingerprint("model").unwrap();
    let clover = file("clover", &["One.", "Two."]);
    writer.store.put_files(std::slice::from_ref(&clover)).unwrap();
    let jobs = writer.store.claim_embed_jobs(9, 60).unwrap();
    let done: Vec<_> = jobs.iter().map(|job| (job.job, job.row, vec![1.0, 0.5].into())).collect();
    writer.store.finish_embed_jobs(&done).unwrap();
    writer.store.remove_file("clover").unwrap();
    let node = within(&truth, "b", BoundaryClass::Internal);
    node.follow();
    assert_eq!(rows_with(&node, "embedding_cache", ""), 0, "nothing names them");
    writer.store.put_files(&[clover]).unwrap();
    assert_eq!(writer.store.claim_embed_jobs(9, 60).unwrap(), [], "their vectors are kept");
    node.follow();
    assert_eq!(rows_with(&node, "embedding_cache", ""), 2);
    assert_eq!(node.store.verify().unwrap(), []);
}

#[test]
fn a_cache_is_made_again_when_its_node_is_given_more_or_less() {
    let truth = MemoryTruth::new("a");
    let writer = TestNode::leading(truth.clone());
    claim(&writer, "clm_1", BoundaryClass::Internal, &["Ada", "Grace"]);
    claim(&writer, "clm_2", BoundaryClass::Pii, &["Ada", "Eve"]);
    let folder = tempfile::tempdir().unwrap();
    for (class, expected) in [
        (BoundaryClass::Secret, 2),
        (BoundaryClass::Internal, 1),
        (BoundaryClass::Pii, 2),
        (BoundaryClass::Public, 0),
        (BoundaryClass::Secret, 2),
    ] {
        let truth = Arc::new(truth.node("b").within(class));
        let store = open(folder.path(), truth).unwrap();
        // Nothing was written since.
        assert!(matches!(store.follow(&mut |_| Ok(())).unwrap(), Followed::Remade { .. }));
        assert!(matches!(store.follow(&mut |_| Ok(())).unwrap(), Followed::Same(_)));
        let found = store.memory_rows(trefoil_core::RowId::new(0), 9).unwrap();
        assert_eq!(found.len(), expected, "{class:?}");
    }
}
