//! Writes of documents on any node: the one that leads does them, others ask it to.

use std::{
    sync::PoisonError,
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Part, Result};
use trefoil_store::truth::{Cluster, Request, RequestId, WriteRequest, Written};

use crate::{index::node::NodeState, state::State};

/// Most requests of other nodes that are fetched in one go.
const AT_ONCE: usize = 16;
/// How soon a request that is not answered is sent again.
const SEND_AGAIN: Duration = Duration::from_secs(1);
/// How long a node rests at most before it looks into the inbox, or for an answer.
const LONGEST_POLL: Duration = Duration::from_millis(200);

/// What a node asks the one that leads for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Asked {
    Write(WriteRequest),
    HandOver { to: String },
}

/// The same on its way.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum AskedRef<'a> {
    Write(&'a WriteRequest),
    HandOver { to: &'a str },
}

fn coded(asked: &AskedRef<'_>) -> Result<Vec<u8>> {
    serde_json::to_vec(asked).map_err(|error| Error::backend(Part::Store, "code a request", error))
}

/// Asks the node that leads to let another one lead, which is known by its name, and waits at most
/// `within` until it has agreed. The other one leads as soon as it has everything.
///
/// # Errors
/// [`Error::InDoubt`] if no node that leads answers in time, and those of the store.
pub fn hand_over(truth: &dyn Cluster, to: &str, within: Duration) -> Result<()> {
    ask(truth, coded(&AskedRef::HandOver { to })?, within, LONGEST_POLL).map(drop)
}

/// The transaction that did what was asked, and the answer.
fn ask(
    truth: &dyn Cluster,
    body: Vec<u8>,
    within: Duration,
    poll: Duration,
) -> Result<(u64, Written)> {
    let id = RequestId::random();
    let request = Request { id, body };
    truth.send(&request)?;
    let (asked, mut sent) = (Instant::now(), Instant::now());
    loop {
        if sent.elapsed() >= SEND_AGAIN {
            sent = Instant::now();
            // A database that took over may have lost it. One that has it knows its number.
            drop(truth.send(&request));
        }
        match truth.answer(id) {
            Ok(Some((tx, answer))) => {
                // If this fails, the answer lies there and nobody asks for it.
                drop(truth.forget(id));
                return Ok((tx, Written::from_answer(&answer)?));
            }
            // Another node may lead soon, and the database come back.
            Ok(None) | Err(Error::Unavailable { .. }) => {}
            Err(error) => return Err(error),
        }
        if asked.elapsed() >= within {
            drop(truth.forget(id));
            let reason =
                format!("no node that leads has answered within {within:?}; ask for it again");
            return Err(Error::InDoubt { shard: truth.name(), reason });
        }
        thread::sleep(poll.min(within));
    }
}

impl State {
    /// Does a write of documents here, or has the node that leads do it.
    ///
    /// # Errors
    /// [`Error::InDoubt`] if no node that leads answers in time: it may have been written.
    pub(crate) fn write_documents(&self, request: &WriteRequest) -> Result<Written> {
        let Some(node) = &self.node else { return self.store.perform(request) };
        if self.store.leads().is_some() {
            // What others asked for before comes first, also of a node that is gone by now: its
            // caller may have come here with what is to take its place.
            if let Err(error) = self.serve_requests() {
                tracing::warn!("requests of other nodes wait: {}", error.chain());
            }
            match self.store.perform(request) {
                // Another node leads by now, and nothing was written.
                Err(Error::Fenced { .. } | Error::NotLeading { .. }) => {}
                written => return written,
            }
        }
        self.ask_leader(node, request)
    }

    fn ask_leader(&self, node: &NodeState, request: &WriteRequest) -> Result<Written> {
        let asked = coded(&AskedRef::Write(request))?;
        let shared = &node.shared;
        let poll = self.inbox_poll();
        let (tx, written) = ask(shared.truth.as_ref(), asked, shared.write_wait, poll)?;
        self.expect_transaction(tx);
        Ok(written)
    }

    /// Does what other nodes ask for, if this one leads. How much that was.
    ///
    /// # Errors
    /// What ended the first request that was not done; it stays in the inbox.
    pub(crate) fn serve_requests(&self) -> Result<usize> {
        let Some(node) = self.node.as_ref().filter(|_| self.store.leads().is_some()) else {
            return Ok(0);
        };
        let _each_once = node.serving.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut served, mut successor) = (0, None);
        while successor.is_none() {
            let requests = node.shared.truth.requests(AT_ONCE)?;
            for Request { id, body } in &requests {
                served += 1;
                match serde_json::from_slice(body) {
                    Ok(Asked::Write(request)) => self.store.serve(*id, &request)?,
                    Ok(Asked::HandOver { to }) => {
                        self.store.answer(*id, Ok(Written::Counted(0)))?;
                        successor = Some(to);
                        break;
                    }
                    Err(error) => {
                        let reason = format!("this version does not understand it: {error}");
                        self.store.answer(*id, Err(reason))?;
                    }
                }
            }
            if requests.len() < AT_ONCE {
                break;
            }
        }
        if served > 0 {
            self.replay_all()?;
        }
        if let Some(successor) = successor {
            self.hand_over(&successor)?;
        }
        Ok(served)
    }

    /// How often a node looks into the inbox, or for an answer.
    pub(crate) fn inbox_poll(&self) -> Duration {
        let poll = self.node.as_ref().map(|node| node.shared.times.poll);
        poll.map_or(LONGEST_POLL, |poll| poll.min(LONGEST_POLL))
    }

    /// Lets searches see what was written.
    pub(crate) fn show_written(&self) -> Result<()> {
        if self.node.is_none() || self.store.leads().is_some() {
            return self.replay_all();
        }
        match self.follow() {
            // It is written all the same; searches wait for it, and say what they do not see.
            Ok(_) | Err(Error::Unavailable { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
