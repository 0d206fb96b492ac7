//! Commits that are not answered.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use super::*;

/// What a connection does to the next calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The transaction is made, and the answer is lost.
    AnswerLost,
    /// The transaction is not made, and nobody says so.
    CallLost,
    /// Another node leads before the transaction arrives.
    Overtaken,
    /// The transaction is made, the answer is lost, and another node leads.
    AnsweredToNobody,
    /// Nothing is reached.
    Down,
}

/// A connection that breaks.
#[derive(Debug)]
struct Breaking {
    truth: MemoryTruth,
    faults: Mutex<Vec<Fault>>,
    appends: AtomicU64,
}

impl Breaking {
    fn new(truth: &MemoryTruth) -> Arc<Self> {
        Arc::new(Self {
            truth: truth.clone(),
            faults: Mutex::default(),
            appends: AtomicU64::new(0),
        })
    }

    fn then(&self, fault: Fault) {
        self.faults.lock().unwrap().push(fault);
    }

    fn in_doubt(&self) -> Error {
        Error::InDoubt { shard: self.truth.name(), reason: "no answer".to_owned() }
    }

    fn overtake(&self) {
        let state = self.truth.shard().unwrap();
        self.truth.resign(state.head).unwrap();
        self.truth.node("other").lead(state.head, Duration::from_secs(10)).unwrap().unwrap();
    }

    fn is_down(&self) -> trefoil_core::Result<()> {
        if self.faults.lock().unwrap().last() == Some(&Fault::Down) {
            let (truth, doing) = (self.truth.name(), "ask");
            return Err(Error::Unavailable { truth, doing, source: "it is down".into() });
        }
        Ok(())
    }
}

impl Truth for Arc<Breaking> {
    fn name(&self) -> String {
        self.truth.name()
    }
    fn head(&self) -> trefoil_core::Result<Place> {
        self.is_down().and_then(|()| self.truth.head())
    }
    fn shard(&self) -> trefoil_core::Result<Shard> {
        self.is_down().and_then(|()| self.truth.shard())
    }
    fn lead(&self, from: Place, lease: Duration) -> trefoil_core::Result<Option<Place>> {
        self.is_down().and_then(|()| self.truth.lead(from, lease))
    }
    fn renew(&self, place: Place, lease: Duration) -> trefoil_core::Result<()> {
        self.is_down().and_then(|()| self.truth.renew(place, lease))
    }
    fn resign(&self, place: Place) -> trefoil_core::Result<()> {
        self.is_down().and_then(|()| self.truth.resign(place))
    }
    fn hand_over(&self, place: Place, to: &str, lease: Duration) -> trefoil_core::Result<()> {
        self.is_down().and_then(|()| self.truth.hand_over(place, to, lease))
    }
    fn append(&self, place: Place, touched: &Touched) -> trefoil_core::Result<Place> {
        self.appends.fetch_add(1, Ordering::Relaxed);
        self.is_down()?;
        let fault = self.faults.lock().unwrap().pop();
        match fault {
            None | Some(Fault::Down) => self.truth.append(place, touched),
            Some(Fault::AnswerLost) => {
                self.truth.append(place, touched)?;
                Err(self.in_doubt())
            }
            Some(Fault::CallLost) => Err(self.in_doubt()),
            Some(Fault::Overtaken) => {
                self.overtake();
                Err(self.in_doubt())
            }
            Some(Fault::AnsweredToNobody) => {
                self.truth.append(place, touched)?;
                self.overtake();
                Err(self.in_doubt())
            }
        }
    }
    fn pull(&self, after: Place, into: &mut dyn RowSink) -> trefoil_core::Result<Place> {
        self.is_down().and_then(|()| self.truth.pull(after, into))
    }
    fn prune(&self, place: Place, upto: u64) -> trefoil_core::Result<()> {
        self.is_down().and_then(|()| self.truth.prune(place, upto))
    }
}

struct Doubting {
    truth: MemoryTruth,
    breaking: Arc<Breaking>,
    node: TestNode,
}

impl Doubting {
    fn new() -> Self {
        let truth = MemoryTruth::new("a");
        let breaking = Breaking::new(&truth);
        let node = TestNode::leading(Arc::clone(&breaking));
        node.store.set_meta("before", "1").unwrap();
        Self { truth, breaking, node }
    }

    fn write(&self, fault: Fault) -> trefoil_core::Result<()> {
        self.breaking.then(fault);
        self.node.store.set_meta("key", "value")
    }

    /// Whether the truth and the cache have the write: both or none of them.
    fn is_written(&self) -> bool {
        self.breaking.faults.lock().unwrap().clear();
        self.node.follow();
        let follower = TestNode::new(self.truth.node("c"));
        follower.follow();
        assert_eq!(follower.dump(), self.node.dump());
        follower.store.meta("key").unwrap().is_some()
    }
}

#[test]
fn a_commit_whose_answer_is_lost_is_written_once_and_the_node_leads_on() {
    let doubting = Doubting::new();
    let before = doubting.node.store.leads().unwrap();
    doubting.write(Fault::AnswerLost).unwrap();
    let leads = doubting.node.store.leads().unwrap();
    assert_eq!((leads.epoch, leads.tx), (before.epoch + 1, before.tx + 1));
    assert!(doubting.is_written());
    doubting.node.store.set_meta("next", "1").unwrap();
}

#[test]
fn a_commit_that_never_arrived_is_made_again_in_the_next_epoch() {
    let doubting = Doubting::new();
    let appends = doubting.breaking.appends.load(Ordering::Relaxed);
    doubting.write(Fault::CallLost).unwrap();
    assert_eq!(doubting.breaking.appends.load(Ordering::Relaxed), appends + 2);
    assert!(doubting.is_written());
}

#[test]
fn a_commit_that_another_node_overtook_is_undone() {
    let doubting = Doubting::new();
    let fenced = doubting.write(Fault::Overtaken).unwrap_err();
    assert!(matches!(fenced, Error::Fenced { .. }), "{fenced:?}");
    assert_eq!(doubting.node.store.leads(), None);
    assert!(!doubting.is_written());
}

#[test]
fn a_commit_before_another_node_leads_is_written_and_the_node_follows() {
    let doubting = Doubting::new();
    doubting.write(Fault::AnsweredToNobody).unwrap();
    assert_eq!(doubting.node.store.leads(), None);
    assert!(doubting.is_written());
}

#[test]
fn while_nobody_answers_a_write_is_unavailable_and_the_node_leads_on() {
    let doubting = Doubting::new();
    let leads = doubting.node.store.leads();
    let error = doubting.write(Fault::Down).unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
    assert_eq!(doubting.node.store.leads(), leads);
    assert!(!doubting.is_written());
    doubting.node.store.set_meta("next", "1").unwrap();
}

#[test]
fn doubt_that_nobody_ends_is_told_and_following_finds_the_answer() {
    for (fault, is_written) in [(Fault::AnswerLost, true), (Fault::CallLost, false)] {
        let doubting = Doubting::new();
        doubting.breaking.then(Fault::Down);
        doubting.breaking.faults.lock().unwrap().push(fault);
        // The first call breaks, and then the database is down.
        let breaking = &doubting.breaking;
        let error = doubting.node.store.set_meta("key", "value").unwrap_err();
        assert!(matches!(error, Error::InDoubt { .. }), "{error:?}");
        assert!(error.to_string().contains("it is down"), "{error}");
        assert_eq!(doubting.node.store.leads(), None);
        assert_eq!(breaking.faults.lock().unwrap().last(), Some(&Fault::Down));
        assert_eq!(doubting.is_written(), is_written, "{fault:?}");
    }
}
