//! A cache that writes and caches that follow, over a truth in memory.

use std::{path::Path, sync::Arc, time::Duration};

use proptest::{prelude::*, sample::select};
use rusqlite::{Connection, types::Value as Sql};
use tempfile::TempDir;
use trefoil_core::{Error, Seq};

use super::*;
use crate::{
    Clock, Store, SystemClock, WriteTx,
    fixture::{extraction, file},
    store::file_in,
};
mod boundary;
mod doubt;
mod lost_units;
mod simulation;

/// A node with a cache in a folder of its own.
pub(super) struct TestNode {
    pub(super) store: Store,
    pub(super) folder: TempDir,
}

/// Times without waiting.
pub(super) fn times() -> NodeTimes {
    NodeTimes { doubt: Duration::ZERO, ..NodeTimes::default() }
}

impl TestNode {
    pub(super) fn new(truth: impl Truth + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), Arc::new(truth)).unwrap();
        Self { store, folder }
    }

    pub(super) fn leading(truth: impl Truth + 'static) -> Self {
        let node = Self::new(truth);
        node.follow();
        assert!(node.store.lead().unwrap());
        node
    }

    pub(super) fn follow(&self) -> Followed {
        self.store.follow(&mut |_| Ok(())).unwrap()
    }

    fn dump(&self) -> Vec<String> {
        dump(&file_in(self.folder.path()))
    }
}

fn open(dir: &Path, truth: Arc<dyn Truth>) -> trefoil_core::Result<Store> {
    Store::open_node(dir, truth, times(), Arc::new(SystemClock) as Arc<dyn Clock>)
}

/// Every row of a store as a line, with what follows from rows, and without what is a node's own.
fn dump(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let names: Vec<String> = connection
        .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name <> 'sqlite_schema' ORDER BY 1")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    let mut lines = Vec::new();
    for name in names {
        let mut rows = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let columns = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        let mut of_table = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<Sql> = (0..columns).map(|column| row.get(column).unwrap()).collect();
            let local = |key: &str| values[0] == Sql::Text(key.to_owned());
            let is_own = name == "meta" && crate::meta::LOCAL.iter().any(|key| local(key));
            let is_zero = name == "counters" && values[4] == Sql::Integer(0);
            if !is_own && !is_zero {
                of_table.push(format!("{name} {values:?}"));
            }
        }
        of_table.sort();
        lines.extend(of_table);
    }
    lines
}

/// A statement on one table.
#[derive(Clone, Debug)]
enum Statement {
    Insert { table: usize, or_replace: bool, values: Vec<Guess> },
    Update { table: usize, column: usize, to: Guess, of: u8 },
    Delete { table: usize, of: u8 },
}

/// A value that a column may take.
#[derive(Clone, Debug)]
struct Guess {
    null: bool,
    number: i64,
    real: f64,
    text: u8,
}

/// Texts, among them some that columns with a closed choice take.
const TEXTS: [&str; 12] = [
    "a",
    "b",
    "",
    "U+0000 \0 and U+0001 \u{1}",
    "트레포일 三つ葉",
    "[]",
    "{}",
    "[\"x\", \"y\"]",
    "[\"x\"]",
    "en",
    "ja",
    "1",
];
/// What a column takes.
const CHOICES: [(&str, &[&str]); 10] = [
    ("relation", &["contradicts", "supersedes", "duplicates"]),
    ("method", &["rule", "llm", "manual"]),
    ("signal", &["helpful", "harmful"]),
    ("observation_kind", &["note", "message"]),
    ("source_type", &["chat", "tool"]),
    ("scope", &["session", "project"]),
    ("epistemic_status", &["verified", "unknown"]),
    ("patch_reason", &["reflect", "forget"]),
    ("kind", &["fact", "task"]),
    ("tags", &["[]", "[\"x\", \"y\"]", "[\"x\"]"]),
];

impl Guess {
    fn sql(&self, column: &Column) -> Sql {
        if self.null && !column.not_null {
            return Sql::Null;
        }
        match column.kind {
            ColumnKind::Integer => Sql::Integer(self.number),
            ColumnKind::Real => Sql::Real(self.real),
            ColumnKind::Blob => Sql::Blob(vec![0, self.text, 0xff]),
            ColumnKind::Text => {
                let choices = CHOICES.iter().find(|(name, _)| *name == column.name);
                let texts = choices.map_or(&TEXTS[..], |(_, texts)| texts);
                Sql::Text(texts[usize::from(self.text) % texts.len()].to_owned())
            }
        }
    }
}

fn guess() -> impl Strategy<Value = Guess> {
    (prop::bool::weighted(0.2), 0..4_i64, select(vec![0.5, -0.25, 1e-300, 1.0]), 0..12_u8)
        .prop_map(|(null, number, real, text)| Guess { null, number, real, text })
}

fn statement() -> impl Strategy<Value = Statement> {
    let table = 0..32_usize;
    prop_oneof![
        4 => (table.clone(), any::<bool>(), prop::collection::vec(guess(), 24))
            .prop_map(|(table, or_replace, values)| Statement::Insert { table, or_replace, values }),
        2 => (table.clone(), 0..24_usize, guess(), 0..4_u8)
            .prop_map(|(table, column, to, of)| Statement::Update { table, column, to, of }),
        1 => (table, 0..4_u8).prop_map(|(table, of)| Statement::Delete { table, of }),
    ]
}

impl Statement {
    /// Runs it; what a rule of the store refuses changes nothing.
    fn run(&self, tx: &WriteTx<'_>, tables: &[Arc<Table>]) -> bool {
        let run = |sql: String, values: Vec<Sql>| {
            tx.execute(&sql, rusqlite::params_from_iter(values)).is_ok_and(|rows| rows > 0)
        };
        match self {
            Self::Insert { table, or_replace, values } => {
                let table = &tables[*table];
                let names: Vec<String> =
                    table.columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
                let values: Vec<Sql> =
                    table.columns.iter().zip(values).map(|(column, one)| one.sql(column)).collect();
                let marks = vec!["?"; names.len()].join(", ");
                let or = if *or_replace { "OR REPLACE" } else { "" };
                let sql = format!(
                    "INSERT {or} INTO {} ({}) VALUES ({marks})",
                    table.name,
                    names.join(", ")
                );
                run(sql, values)
            }
            Self::Update { table, column, to, of } => {
                let table = &tables[*table];
                let column = &table.columns[column % table.columns.len()];
                // Nothing updates these: the sums of what they say are kept for what comes and goes.
                if table.name == "unit_entities" {
                    return false;
                }
                let key = table.key_columns().next().unwrap();
                let sql = format!(
                    "UPDATE {} SET \"{}\" = ?1 WHERE \"{}\" = ?2",
                    table.name, column.name, key.name
                );
                run(sql, vec![to.sql(column), Self::key(key, *of)])
            }
            Self::Delete { table, of } => {
                let table = &tables[*table];
                let key = table.key_columns().next().unwrap();
                let sql = format!("DELETE FROM {} WHERE \"{}\" = ?1", table.name, key.name);
                run(sql, vec![Self::key(key, *of)])
            }
        }
    }

    fn key(column: &Column, of: u8) -> Sql {
        Guess { null: false, number: of.into(), real: 0.0, text: of }.sql(column)
    }
}

proptest! {
    // Statements are compiled again for each transaction, with all triggers.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]
    #[test]
    fn a_cache_that_follows_equals_the_one_that_writes(
        transactions in prop::collection::vec(
            (prop::collection::vec(statement(), 1..60), any::<bool>(), any::<bool>()), 1..5
        ),
    ) {
        let truth = MemoryTruth::new("a");
        let writer = TestNode::leading(truth.clone());
        let follower = TestNode::new(truth.node("b"));
        let tables = tables().unwrap();
        for (statements, is_undone, is_followed) in &transactions {
            let written = writer.store.write("write at random", |tx, _| {
                for statement in statements {
                    statement.run(tx, &tables);
                }
                if *is_undone { Err(rusqlite::Error::QueryReturnedNoRows) } else { Ok(()) }
            });
            prop_assert_eq!(written.is_err(), *is_undone);
            if *is_followed {
                follower.follow();
                prop_assert_eq!(follower.dump(), writer.dump());
            }
        }
        follower.follow();
        prop_assert_eq!(follower.dump(), writer.dump());
        prop_assert_eq!(follower.store.place().unwrap(), truth.head().unwrap());
        let late = TestNode::new(truth.node("c"));
        late.follow();
        prop_assert_eq!(late.dump(), writer.dump());
    }
}

#[test]
fn random_statements_reach_every_table() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let node = TestNode::leading(MemoryTruth::new("a"));
    let tables = tables().unwrap();
    let mut runner = TestRunner::deterministic();
    let reached = node.store.write("write at random", |tx, _| {
        let mut reached = std::collections::BTreeSet::new();
        for _ in 0..20_000 {
            let statement = statement().new_tree(&mut runner).unwrap().current();
            if statement.run(tx, &tables)
                && let Statement::Insert { table, .. } = statement
            {
                reached.insert(table);
            }
        }
        Ok(reached)
    });
    assert_eq!(reached.unwrap(), (0..tables.len()).collect());
}

#[test]
fn what_is_stored_is_followed_with_all_that_comes_of_it() {
    let truth = MemoryTruth::new("a");
    let writer = TestNode::leading(truth.clone());
    let follower = TestNode::new(truth.node("b"));
    let mut clover = file("clover", &["one", "two"]);
    clover.tags = vec!["plant".into(), "green".into()];
    clover.chunks[0].extraction = extraction(&["Ada", "Engine"]);
    writer.store.set_fingerprint("model").unwrap();
    writer.store.put_files(&[clover.clone(), file("b", &["three"])]).unwrap();
    assert!(matches!(follower.follow(), Followed::Remade { lost: None, .. }));
    assert_eq!(follower.dump(), writer.dump());
    // A label goes, a chunk comes, a file goes, a vector is made.
    clover.tags = vec!["plant".into()];
    clover.chunks.push(crate::fixture::leaf(2, "four"));
    writer.store.put_files(&[clover]).unwrap();
    writer.store.remove_file("b").unwrap();
    let jobs = writer.store.claim_embed_jobs(9, 60).unwrap();
    let done: Vec<_> = jobs.iter().map(|job| (job.job, job.row, vec![1.0, 0.5].into())).collect();
    writer.store.finish_embed_jobs(&done).unwrap();
    let Followed::Advanced { to, rows } = follower.follow() else { panic!("not advanced") };
    assert!(rows > 10 && to == truth.head().unwrap());
    assert_eq!(follower.dump(), writer.dump());
    assert_eq!(follower.store.verify().unwrap(), []);
    assert_eq!(
        follower.store.changes(Seq::ZERO, 99).unwrap(),
        writer.store.changes(Seq::ZERO, 99).unwrap()
    );
    assert_eq!(follower.follow(), Followed::Same(to));
}

#[test]
fn a_node_that_follows_does_not_write_and_one_that_has_everything_takes_over() {
    let truth = MemoryTruth::new("a");
    let first = TestNode::leading(truth.clone());
    let second = TestNode::new(truth.node("b"));
    first.store.put_files(&[file("a", &["one"])]).unwrap();
    let refused = second.store.set_meta("k", "v").unwrap_err();
    assert!(matches!(refused, Error::NotLeading { doing: "write a setting", .. }), "{refused:?}");
    assert!(!second.store.lead().unwrap(), "it has nothing");
    second.follow();
    assert!(!second.store.lead().unwrap(), "the lease runs");
    first.store.resign().unwrap();
    assert!(matches!(first.store.set_meta("k", "v").unwrap_err(), Error::NotLeading { .. }));
    assert!(second.store.lead().unwrap());
    second.store.put_files(&[file("b", &["two"])]).unwrap();
    first.follow();
    assert_eq!(first.dump(), second.dump());
    assert_eq!(first.store.place().unwrap(), second.store.leads().unwrap());
}

#[test]
fn row_numbers_are_not_given_twice_after_a_failover() {
    let truth = MemoryTruth::new("a");
    let first = TestNode::leading(truth.clone());
    first.store.put_files(&[file("a", &["one", "two"])]).unwrap();
    first.store.remove_file("a").unwrap();
    first.store.resign().unwrap();
    let second = TestNode::leading(truth.node("b"));
    let seq = second.store.seq().unwrap();
    assert_eq!(seq, first.store.seq().unwrap());
    second.store.put_files(&[file("b", &["three"])]).unwrap();
    let changes = second.store.changes(seq, 9).unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
    first.follow();
    assert_eq!(first.dump(), second.dump());
}

#[test]
fn a_cache_whose_transactions_were_lost_is_made_again_and_says_so() {
    let truth = MemoryTruth::new("a");
    let first = TestNode::leading(truth.clone());
    first.store.put_files(&[file("a", &["one"])]).unwrap();
    let standby = truth.state();
    first.store.put_files(&[file("b", &["two"])]).unwrap();
    let second = TestNode::new(truth.node("b"));
    second.follow();
    let at = second.store.place().unwrap();
    truth.put_back(standby);
    // The writer is fenced, for it has what the truth has not.
    let fenced = first.store.put_files(&[file("c", &["three"])]).unwrap_err();
    assert!(matches!(fenced, Error::Fenced { .. }), "{fenced:?}");
    assert_eq!(first.store.leads(), None);
    // No late copy of the call is taken any more.
    assert!(truth.head().unwrap().epoch > at.epoch);
    let mut told = None;
    let followed = second
        .store
        .follow(&mut |lost| {
            told = lost;
            Ok(())
        })
        .unwrap();
    let lost = Lost { at, after: 1 };
    assert_eq!(followed, Followed::Remade { to: truth.head().unwrap(), lost: Some(lost) });
    assert_eq!(told, Some(lost));
    assert_eq!(second.store.files().unwrap().len(), 1);
    assert!(matches!(first.follow(), Followed::Remade { lost: Some(_), .. }));
    assert_eq!(first.dump(), second.dump());
    assert!(first.store.lead().unwrap());
    first.store.put_files(&[file("d", &["four"])]).unwrap();
    second.follow();
    assert_eq!(first.dump(), second.dump());
}

#[test]
fn a_node_keeps_what_was_lost_unless_it_was_written_or_removed_since() {
    let truth = MemoryTruth::new("a");
    let first = TestNode::leading(truth.clone());
    let before = ["stays", "changes", "goes", "goes since", "changes since"];
    let before = before.map(|path| file(path, &["old words"]));
    first.store.put_files(&before).unwrap();
    let second = TestNode::new(truth.node("b"));
    second.follow();
    let standby = truth.state();
    let lost = ["new", "changes", "changes since", "new and since"];
    first.store.put_files(&lost.map(|path| file(path, &["lost"]))).unwrap();
    first.store.remove_file("goes").unwrap();
    truth.put_back(standby);
    assert_eq!(first.store.lost_rows().unwrap(), None);
    // Another node goes on before this one notices.
    first.store.set_meta("k", "v").unwrap_err();
    truth.resign(truth.head().unwrap()).unwrap();
    second.follow();
    assert!(second.store.lead().unwrap());
    let since = ["changes since", "new and since", "other"];
    second.store.put_files(&since.map(|path| file(path, &["new words"]))).unwrap();
    second.store.remove_file("goes since").unwrap();
    let at = first.store.place().unwrap();
    assert!(matches!(first.follow(), Followed::Remade { lost: Some(_), .. }));
    assert_eq!(first.dump(), second.dump());
    let kept = first.store.lost_rows().unwrap().unwrap();
    assert_eq!(kept.at, at);
    let documents: Vec<&str> = kept.documents.iter().map(|one| one.file.path.as_str()).collect();
    assert_eq!(documents, ["changes", "new"]);
    let digest = |path| first.store.file_digest(path).unwrap();
    assert_eq!(kept.documents[0].before, digest("changes"));
    assert_eq!(kept.documents[1].before, None);
    assert_eq!(kept.documents[1].file.chunks[0].chunk.text, "lost");
    let paths = [&kept.rewritten, &kept.removed, &kept.returned];
    let paths = paths.map(|paths| paths.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(paths[0], ["changes since", "new and since"]);
    assert_eq!(paths[1], ["goes since"]);
    assert_eq!(paths[2], ["goes"]);
    let bytes = std::fs::read(first.folder.path().join("lost.json")).unwrap();
    let words = String::from_utf8(bytes).unwrap();
    assert!(words.contains("lost") && !words.contains("old words") && !words.contains("new words"));
    // What is written by then is not overwritten.
    let Written::Stored(stored) =
        second.store.perform(&WriteRequest::RestoreFiles(kept.documents.clone())).unwrap()
    else {
        panic!("not stored")
    };
    assert_eq!(stored.len(), 2);
    let again = second.store.perform(&WriteRequest::RestoreFiles(kept.documents)).unwrap();
    assert_eq!(again, Written::Stored(vec![]));
    first.store.forget_lost_rows().unwrap();
    assert_eq!(first.store.lost_rows().unwrap(), None);
}

#[test]
fn a_second_loss_adds_to_what_was_kept_of_the_first() {
    let truth = MemoryTruth::new("a");
    let first = TestNode::leading(truth.clone());
    first.store.put_files(&[file("a", &["one"])]).unwrap();
    let mut kept = Vec::new();
    for (path, text) in [("b", "first"), ("c", "second")] {
        let standby = truth.state();
        first.store.put_files(&[file(path, &[text])]).unwrap();
        truth.put_back(standby);
        first.store.set_meta("k", "v").unwrap_err();
        first.follow();
        let documents = first.store.lost_rows().unwrap().unwrap().documents;
        kept = documents.into_iter().map(|one| one.file.path).collect();
        assert!(first.store.lead().unwrap());
    }
    assert_eq!(kept, ["b", "c"]);
}

#[test]
fn a_cache_is_not_replaced_where_its_indexes_cannot_be() {
    let truth = MemoryTruth::new("a");
    let writer = TestNode::leading(truth.clone());
    writer.store.put_files(&[file("a", &["one"])]).unwrap();
    let node = TestNode::new(truth.node("b"));
    let refused = node.store.follow(&mut |_| Err(Error::Cancelled));
    assert!(matches!(refused, Err(Error::Cancelled)));
    assert!(!node.folder.path().join("store.pulled").exists(), "it may hold what is erased later");
    assert_eq!(node.store.place().unwrap(), Place::NOTHING);
    assert_eq!(node.store.files().unwrap(), []);
    node.follow();
    assert_eq!(node.dump(), writer.dump());
}

#[test]
fn a_cache_before_what_was_pruned_is_made_again() {
    let truth = MemoryTruth::new("a");
    let writer = TestNode::leading(truth.clone());
    writer.store.put_files(&[file("a", &["one", "two"]), file("b", &["three"])]).unwrap();
    let [near, far] = ["b", "c"].map(|name| TestNode::new(truth.node(name)));
    far.follow();
    writer.store.remove_file("a").unwrap();
    near.follow();
    let at = near.store.place().unwrap();
    truth.prune(writer.store.leads().unwrap(), at.tx).unwrap();
    assert_eq!(truth.state().gone(), 0);
    writer.store.put_files(&[file("c", &["four"])]).unwrap();
    assert!(matches!(near.follow(), Followed::Advanced { .. }));
    assert!(matches!(far.follow(), Followed::Remade { lost: None, .. }));
    assert_eq!(near.dump(), writer.dump());
    // Removals that were pruned are missing in the log, and nothing else.
    assert_eq!(far.store.files().unwrap(), writer.store.files().unwrap());
    assert_eq!(far.store.verify().unwrap(), []);
}

#[test]
fn a_node_compacts_its_own_log_and_nobody_elses() {
    let truth = MemoryTruth::new("a");
    let writer = TestNode::leading(truth.clone());
    let follower = TestNode::new(truth.node("b"));
    writer.store.put_files(&[file("a", &["one", "two"])]).unwrap();
    writer.store.remove_file("a").unwrap();
    let head = truth.head().unwrap();
    let seq = writer.store.seq().unwrap();
    assert_eq!(writer.store.compact_log(seq, 1).unwrap(), 2);
    assert_eq!(truth.head().unwrap(), head, "nobody was told");
    follower.follow();
    assert_eq!(follower.store.changes(Seq::ZERO, 9).unwrap().len(), 2);
    assert_eq!(follower.store.compact_log(seq, 1).unwrap(), 2, "also where it follows");
    writer.store.put_files(&[file("b", &["three"])]).unwrap();
    follower.follow();
    assert_eq!(follower.dump(), writer.dump());
}

#[test]
fn a_cache_and_an_index_are_not_taken_for_each_other() {
    let truth = MemoryTruth::new("a");
    let node = TestNode::leading(truth.clone());
    node.store.put_files(&[file("a", &["one"])]).unwrap();
    let TestNode { store, folder } = node;
    drop(store);
    let clock = || Arc::new(SystemClock) as Arc<dyn Clock>;
    let refused = Store::open(folder.path(), crate::Access::ReadWrite, clock()).unwrap_err();
    assert!(matches!(refused, Error::NodeCache { .. }), "{refused:?}");
    Store::open(folder.path(), crate::Access::ReadOnly, clock()).unwrap();
    let own = crate::fixture::Fixture::new();
    own.put(&file("a", &["one"]));
    let refused = open(own.dir(), Arc::new(truth)).unwrap_err();
    assert!(matches!(refused, Error::NotNodeCache { .. }), "{refused:?}");
}

#[test]
fn readers_of_the_file_before_see_one_state_to_the_end() {
    let truth = MemoryTruth::new("a");
    let first = TestNode::leading(truth.clone());
    first.store.put_files(&[file("a", &["one"])]).unwrap();
    let standby = truth.state();
    first.store.put_files(&[file("b", &["two"])]).unwrap();
    let second = TestNode::new(truth.node("b"));
    second.follow();
    truth.put_back(standby);
    let count = "SELECT count(*) FROM files";
    second
        .store
        .read("count", |tx| {
            assert_eq!(tx.query_row(count, [], |row| row.get::<_, i64>(0))?, 2);
            second.follow();
            assert_eq!(tx.query_row(count, [], |row| row.get::<_, i64>(0))?, 2);
            Ok(())
        })
        .unwrap();
    assert_eq!(second.store.files().unwrap().len(), 1);
}

#[test]
fn whoever_takes_over_an_erasure_is_told_that_its_files_are_unclean() {
    let truth = MemoryTruth::new("a");
    let writer = TestNode::leading(truth.clone());
    let [near, far] = ["b", "c"].map(|name| TestNode::new(truth.node(name)));
    writer.store.put_files(&[file("a", &["a text of more than sixteen bytes"])]).unwrap();
    for node in [&near, &far] {
        node.follow();
        assert!(!node.store.is_unclean().unwrap());
    }
    writer.store.erase_file("a").unwrap().unwrap();
    near.follow();
    assert!(near.store.is_unclean().unwrap());
    near.store.clean().unwrap();
    near.store.set_clean().unwrap();
    writer.store.set_clean().unwrap();
    writer.store.set_nothing_left().unwrap();
    // One that had it once is told once, and one that was away is told all the same.
    near.follow();
    assert!(!near.store.is_unclean().unwrap());
    far.follow();
    assert!(far.store.is_unclean().unwrap());
    assert_eq!(far.dump(), writer.dump());
    // Also of a text that is too short to be looked for.
    writer.store.put_files(&[file("b", &["short"]), file("c", &["brief"])]).unwrap();
    for path in ["b", "c"] {
        near.follow();
        near.store.set_clean().unwrap();
        writer.store.erase_file(path).unwrap().unwrap();
        near.follow();
        assert!(near.store.is_unclean().unwrap(), "{path}");
    }
}
