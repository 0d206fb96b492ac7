//! A node of a store that is shared: how its indexes follow, and what it tells about that.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use trefoil_core::{Deadline, Degraded, Error, Result, Stage};
use trefoil_store::truth::{Followed, Lost, Node, NodeReport, NodeRole, NodeStep, Place};

use crate::{
    index::{forget_queue::ForgetQueue, read_view::ReadView},
    state::State,
    store_at::{Freshness, NodeStatus, SharedStore},
    task_runner::TaskRunner,
};

/// What an engine knows as a node.
#[derive(Debug)]
pub(crate) struct NodeState {
    pub(crate) shared: SharedStore,
    /// Times are counted from here.
    began: Instant,
    known: Mutex<Known>,
    /// Searches see more.
    advanced: Condvar,
    /// Held by whoever asks the truth for something that changes the cache.
    stepping: Mutex<()>,
    /// Held by whoever does what other nodes ask for.
    pub(crate) serving: Mutex<()>,
    /// What they ask to be forgotten.
    pub(crate) forgets: ForgetQueue,
    /// What does other writes for them; none before the engine has threads.
    pub(crate) tasks: OnceLock<Arc<dyn TaskRunner>>,
}

#[derive(Debug)]
struct Known {
    node: Node,
    /// How far searches see that start now.
    shown: Place,
    /// Up to which transaction they are to see.
    expected: u64,
    lost: Option<Lost>,
    failed: Option<String>,
    /// What it last told the others that it does.
    role: Option<NodeRole>,
    /// When it next tells the others of itself.
    report_at: Duration,
    /// When it next forgets what no other node needs.
    prune_at: Duration,
    /// The last transaction of which it told that nothing erased up to there is left.
    erased: u64,
}

/// How often a node tells the others of itself.
pub(crate) const REPORT: Duration = Duration::from_secs(5);
/// How often the node that leads forgets keys that are gone, and what counts as a node that may
/// need them.
const PRUNE: Duration = Duration::from_mins(10);
const SEEN: Duration = Duration::from_hours(24);

impl NodeState {
    /// A node that has just been opened, and has followed or could not.
    pub(crate) fn new(
        shared: SharedStore,
        followed: &Result<Followed>,
        lost: Option<Lost>,
    ) -> Self {
        let mut node = Node::new(shared.times, shared.may_lead);
        node.pulled(Duration::ZERO, followed.as_ref().ok().map(Followed::place));
        let failed = followed.as_ref().err().map(Error::chain);
        let (shown, expected) = (Place::NOTHING, 0);
        let lost = lost.filter(|lost| lost.at.tx > lost.after);
        let (report_at, prune_at, erased) = (REPORT, PRUNE, 0);
        let role = None;
        let known =
            Known { node, shown, expected, lost, failed, role, report_at, prune_at, erased };
        let known = Mutex::new(known);
        Self {
            shared,
            began: Instant::now(),
            known,
            advanced: Condvar::new(),
            stepping: Mutex::default(),
            serving: Mutex::default(),
            forgets: ForgetQueue::default(),
            tasks: OnceLock::new(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what came of a step.
    fn note<T>(&self, result: &Result<T>, note: impl FnOnce(&mut Node, Duration, Option<&T>)) {
        let mut known = self.known();
        note(&mut known.node, self.began.elapsed(), result.as_ref().ok());
        known.failed = result.as_ref().err().map(Error::chain);
    }
}

/// What a node is to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It did something, and may have more to do.
    Again,
    /// It took over rows, or began to lead: others have something to do.
    Changed,
    /// Nothing for so long.
    Rest(Duration),
}

impl State {
    /// Whether this engine may write rows: it alone does in a directory of its own, and the node
    /// that leads where the store is shared.
    pub(crate) fn leads(&self) -> bool {
        self.documents.is_writable() && (self.node.is_none() || self.store.leads().is_some())
    }

    /// Does what a node is to do next.
    pub(crate) fn take_turn(&self) -> Turn {
        let Some(node) = &self.node else { return Turn::Rest(Duration::MAX) };
        let leads = self.store.leads();
        let now = node.began.elapsed();
        let place = match leads.map_or_else(|| self.store.place(), Ok) {
            Ok(place) => place,
            Err(error) => {
                node.known().failed = Some(error.chain());
                return Turn::Rest(node.shared.times.retry);
            }
        };
        let step = node.known().node.next(now, place, leads.is_some());
        match step {
            NodeStep::Wait(until) => return Turn::Rest(until.saturating_sub(now)),
            NodeStep::AskHead => {
                let head = node.shared.truth.head();
                node.note(&head, |node, now, head| node.asked(now, head.copied()));
            }
            NodeStep::Pull => {
                if self.follow().is_ok() {
                    return Turn::Changed;
                }
            }
            NodeStep::Lead => {
                if matches!(self.lead(), Ok(true)) {
                    return Turn::Changed;
                }
            }
            NodeStep::Renew => {
                let renewed = self.store.renew();
                node.note(&renewed, |node, now, renewed| match renewed {
                    Some(false) => node.deposed(now),
                    Some(true) => node.renewed(now, true),
                    None => node.renewed(now, false),
                });
            }
        }
        Turn::Again
    }

    /// Brings the cache to the head of the store that is shared, and the indexes and searches with
    /// it.
    pub(crate) fn follow(&self) -> Result<Place> {
        let Some(node) = &self.node else { return Ok(Place::NOTHING) };
        let _one_at_a_time = node.stepping.lock().unwrap_or_else(PoisonError::into_inner);
        let followed = self.store.follow(&mut |lost| self.forget_rows(lost));
        let shown = followed.and_then(|followed| {
            if matches!(followed, Followed::Remade { .. }) {
                // What was written meanwhile on another thread, of the rows before.
                self.documents.clear()?;
                self.memory.clear()?;
            }
            if self.show(node, followed)? {
                node.known().report_at = Duration::ZERO;
            }
            Ok(followed)
        });
        node.note(&shown, |node, now, followed| node.pulled(now, followed.map(Followed::place)));
        let place = shown.map(|followed| followed.place())?;
        if node.known().report_at == Duration::ZERO {
            // Whoever erased something waits for this node to be rid of it. If this fails, the
            // thread of the node does it.
            drop(self.report_node());
        }
        Ok(place)
    }

    /// Shows searches what was taken over, unless they see it. True if every file was rewritten.
    fn show(&self, node: &NodeState, followed: Followed) -> Result<bool> {
        if self.store.is_unclean()? && !self.leads() {
            // Something was erased: no file of this node may keep a byte of it.
            self.rewrite()?;
            return Ok(true);
        }
        if node.known().shown != followed.place() {
            self.replay_all()?;
        }
        Ok(false)
    }

    /// Asks to lead, and makes ready to write.
    pub(crate) fn lead(&self) -> Result<bool> {
        let Some(node) = &self.node else { return Ok(true) };
        let _one_at_a_time = node.stepping.lock().unwrap_or_else(PoisonError::into_inner);
        if self.store.leads().is_some() {
            return Ok(true);
        }
        let mut led = self.store.lead();
        if matches!(led, Ok(true))
            && let Err(error) = self.prepare_to_write()
        {
            // Another node may do better.
            drop(self.store.resign());
            led = Err(error);
        }
        node.note(&led, |node, now, led| node.led(now, led.copied().unwrap_or(false)));
        led
    }

    /// Lets another node lead at once.
    pub(crate) fn resign(&self) -> Result<()> {
        let Some(node) = &self.node else { return Ok(()) };
        node.known().node.led(node.began.elapsed(), false);
        self.store.resign()
    }

    /// Lets another node lead, which has the lease from then on.
    pub(crate) fn hand_over(&self, to: &str) -> Result<()> {
        let Some(node) = &self.node else { return Ok(()) };
        node.known().node.led(node.began.elapsed(), false);
        self.store.hand_over(to)
    }

    /// The rows of the cache are about to be others: nothing that was made of them counts.
    fn forget_rows(&self, lost: Option<Lost>) -> Result<()> {
        if let Some(node) = &self.node
            && let Some(lost) = lost.filter(|lost| lost.at.tx > lost.after)
        {
            let (at, after) = (lost.at.tx, lost.after);
            tracing::warn!(at, after, "the shared store has lost transactions");
            let mut known = node.known();
            known.lost = Some(lost);
            known.expected = known.expected.min(after);
        }
        self.documents.clear()?;
        self.memory.clear()?;
        #[cfg(feature = "graph")]
        {
            self.typed_rows.forget();
            self.forget_reports();
        }
        self.refresh_read_view()
    }

    /// Notes how far the searches see that start now.
    pub(crate) fn note_shown(&self, place: Place) {
        if let Some(node) = &self.node {
            node.known().shown = place;
            node.advanced.notify_all();
        }
    }

    /// Makes the searches that start from now on wait for a place.
    pub(crate) fn expect(&self, place: Place) {
        self.expect_transaction(place.tx);
    }

    /// Makes the searches that start from now on wait for a transaction.
    pub(crate) fn expect_transaction(&self, tx: u64) {
        if let Some(node) = &self.node {
            let mut known = node.known();
            known.expected = known.expected.max(tx);
        }
    }

    /// Waits until searches see what they are to see, but not for long.
    ///
    /// # Errors
    /// [`Error::Behind`] if they do not, and freshness is required.
    pub(crate) fn wait_until_fresh(&self, deadline: &Deadline) -> Result<()> {
        let Some(node) = &self.node else { return Ok(()) };
        let deadline = deadline.within(Some(node.shared.freshness_wait));
        let mut known = node.known();
        while known.shown.tx < known.expected && !deadline.has_passed() {
            let wait = deadline.wait().unwrap_or(node.shared.freshness_wait);
            let waited = node.advanced.wait_timeout(known, wait);
            known = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let transactions = known.expected.saturating_sub(known.shown.tx);
        if transactions > 0 && node.shared.freshness == Freshness::Required {
            return Err(Error::Behind { transactions });
        }
        Ok(())
    }

    /// Tells the others how far this node is, and forgets what none of them needs, if it is time.
    ///
    /// # Errors
    /// The store does not answer: the next time is soon.
    pub(crate) fn report_node(&self) -> Result<()> {
        let Some(node) = &self.node else { return Ok(()) };
        let now = node.began.elapsed();
        let leads = self.store.leads();
        let role = if leads.is_some() { NodeRole::Writer } else { NodeRole::Searcher };
        let (reports, prunes) = {
            let mut known = node.known();
            // A node that never told of itself yet may be a command that is gone soon.
            let has_changed = known.role.is_some_and(|told| told != role);
            let due = (has_changed || now >= known.report_at, now >= known.prune_at);
            if due.0 {
                (known.role, known.report_at) = (Some(role), now + REPORT);
            }
            if due.1 {
                known.prune_at = now + PRUNE;
            }
            due
        };
        if reports {
            let place = self.store.place()?;
            let is_clean = !self.store.is_unclean()?;
            let erased = {
                let mut known = node.known();
                if is_clean {
                    known.erased = place.tx;
                }
                known.erased
            };
            let address = node.shared.address.clone();
            node.shared.truth.report(&NodeReport { role, address, place, erased })?;
        }
        if let Some(place) = leads.filter(|_| prunes) {
            let nodes = node.shared.truth.nodes(SEEN)?;
            let nodes = nodes.iter().filter(|node| node.report.has_rows());
            let furthest_back = nodes.map(|node| node.report.place.tx).min();
            let upto = furthest_back.unwrap_or(place.tx).min(place.tx);
            node.shared.truth.prune(place, upto)?;
        }
        Ok(())
    }

    /// What a search has to say of how this node follows.
    pub(crate) fn node_troubles(&self, view: &ReadView) -> Vec<Degraded> {
        let Some(node) = &self.node else { return Vec::new() };
        let leads = self.store.leads().is_some();
        let known = node.known();
        let tx = view.place.tx;
        let missing = known.expected.saturating_sub(tx);
        let mut troubles = Vec::new();
        if missing > 0 {
            troubles.push(format!("behind by {missing} transactions"));
        }
        if let Some(failed) = known.failed.as_ref().filter(|_| !leads) {
            troubles.push(format!("as of transaction {tx}; what is newer cannot be had: {failed}"));
        }
        if let Some(Lost { at, after }) = known.lost {
            troubles.push(format!(
                "the shared store has lost {} transactions after transaction {after}, which this \
                 node had; `trefoil cluster restore` puts back what it can of them",
                at.tx - after
            ));
        }
        drop(known);
        let degraded = |reason| Degraded { stage: Stage::Follow, reason };
        troubles.into_iter().map(degraded).collect()
    }

    /// How this engine stands to the store that it shares; none if it shares none.
    pub(crate) fn node_status(&self) -> Result<Option<NodeStatus>> {
        let Some(node) = &self.node else { return Ok(None) };
        let (place, leads) = (self.store.place()?, self.store.leads().is_some());
        let known = node.known();
        let behind = if leads { 0 } else { known.node.behind(place) };
        let (lost, failed) = (known.lost, known.failed.clone());
        Ok(Some(NodeStatus { place, leads, behind, lost, failed }))
    }

    /// True if a node follows into vectors of another model than its own: what it would add to its
    /// index of vectors does not compare with what is in there.
    pub(crate) fn follows_other_model(&self) -> Result<bool> {
        let (Some(_), Some(own)) = (&self.node, &self.own_vectors) else { return Ok(false) };
        Ok(self.store.fingerprint()?.is_some_and(|found| found != *own))
    }
}
