//! Writes of documents on any node: the one that leads does them, others ask it to.

use std::{
    sync::PoisonError,
    thread,
    time::{Duration, Instant},
};

use trefoil_core::{Error, Result};
use trefoil_store::truth::{Request, RequestId, WriteRequest, Written};

use crate::{index::node::NodeState, state::State};

/// Most requests of other nodes that are done in one go.
const AT_ONCE: usize = 16;
/// How long a node rests at most before it looks into the inbox, or for an answer.
const LONGEST_POLL: Duration = Duration::from_millis(200);

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
        let truth = &node.shared.truth;
        let id = RequestId::random();
        truth.send(&Request { id, body: request.to_bytes()? })?;
        let asked = Instant::now();
        loop {
            match truth.answer(id) {
                Ok(Some((tx, answer))) => {
                    self.expect_transaction(tx);
                    // If this fails, the answer lies there and nobody asks for it.
                    drop(truth.forget(id));
                    return Written::from_answer(&answer);
                }
                // Another node may lead soon, and the database come back.
                Ok(None) | Err(Error::Unavailable { .. }) => {}
                Err(error) => return Err(error),
            }
            if asked.elapsed() >= node.shared.write_wait {
                drop(truth.forget(id));
                let reason = format!(
                    "no node that leads has answered within {:?}; write it again",
                    node.shared.write_wait
                );
                return Err(Error::InDoubt { shard: truth.name(), reason });
            }
            thread::sleep(self.inbox_poll().min(node.shared.write_wait));
        }
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
        let requests = node.shared.truth.requests(AT_ONCE)?;
        for request in &requests {
            self.store.serve(request)?;
        }
        if !requests.is_empty() {
            self.replay_all()?;
        }
        Ok(requests.len())
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
