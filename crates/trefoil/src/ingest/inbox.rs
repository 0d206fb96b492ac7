//! Writes on any node: the one that leads does them, others ask it to.

use std::{
    sync::{Arc, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use trefoil_core::{Error, Part, Result};
use trefoil_store::truth::{
    Answer, Cluster, Refusal, Request, RequestId, WriteRequest, Written, read_answer,
};

use crate::{index::forget_queue::Forget, state::State, task_runner::AskedWrite};

/// Most requests of other nodes that are fetched in one go.
const AT_ONCE: usize = 16;
/// How soon a request that is not answered is sent again.
const SEND_AGAIN: Duration = Duration::from_secs(1);
/// How soon something that the node that leads cannot do now is asked again.
const AGAIN_AFTER_REFUSAL: Duration = Duration::from_millis(100);
/// How long a node rests at most before it looks into the inbox, or for an answer.
const LONGEST_POLL: Duration = Duration::from_millis(200);

/// The code of a refusal by a node that leads and cannot do what is asked: another one, or the same
/// one a little later, may.
const NOT_LEADING: &str = "not_leading";

/// What a node asks the one that leads for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Asked {
    Write(WriteRequest),
    Memory(Value),
    Forget(Forget),
    HandOver { to: String },
}

/// The same on its way.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum AskedRef<'a> {
    Write(&'a WriteRequest),
    Memory(&'a Value),
    Forget(&'a Forget),
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
    let asked = coded(&AskedRef::HandOver { to })?;
    ask::<Written>(truth, asked, within, LONGEST_POLL).map(drop)
}

/// The transaction that did what was asked, and the answer.
fn ask<T: DeserializeOwned>(
    truth: &dyn Cluster,
    body: Vec<u8>,
    within: Duration,
    poll: Duration,
) -> Result<(u64, T)> {
    let mut request = Request { id: RequestId::random(), body };
    truth.send(&request)?;
    let (asked, mut sent) = (Instant::now(), Instant::now());
    loop {
        if sent.elapsed() >= SEND_AGAIN {
            sent = Instant::now();
            // A database that took over may have lost it. One that has it knows its number.
            drop(truth.send(&request));
        }
        match truth.answer(request.id) {
            Ok(Some((tx, answer))) => {
                // If this fails, the answer lies there and nobody asks for it.
                drop(truth.forget(request.id));
                match read_answer(&answer) {
                    Err(Error::Refused { kind, .. })
                        if kind.code == NOT_LEADING && asked.elapsed() < within / 2 =>
                    {
                        thread::sleep(poll.max(AGAIN_AFTER_REFUSAL).min(within));
                        request.id = RequestId::random();
                        truth.send(&request)?;
                        sent = Instant::now();
                        continue;
                    }
                    answer => return Ok((tx, answer?)),
                }
            }
            // Another node may lead soon, and the database come back.
            Ok(None) | Err(Error::Unavailable { .. }) => {}
            Err(error) => return Err(error),
        }
        if asked.elapsed() >= within {
            drop(truth.forget(request.id));
            let reason =
                format!("no node that leads has answered within {within:?}; ask for it again");
            return Err(Error::InDoubt { shard: truth.name(), reason });
        }
        thread::sleep(poll.min(within));
    }
}

/// Whether a request that ended with this error waits for another node or a later time: the error
/// has nothing to do with what was asked.
pub(crate) const fn stays_in_inbox(error: &Error) -> bool {
    matches!(
        error,
        Error::Fenced { .. }
            | Error::NotLeading { .. }
            | Error::InDoubt { .. }
            | Error::Unavailable { .. }
            | Error::Io { .. }
    )
}

impl State {
    /// Does a write of documents here, or has the node that leads do it.
    ///
    /// # Errors
    /// As [`write_or_ask`](Self::write_or_ask).
    pub(crate) fn write_documents(self: &Arc<Self>, request: &WriteRequest) -> Result<Written> {
        self.write_or_ask(|| self.store.perform(request), || coded(&AskedRef::Write(request)))
    }

    /// Does a write of memory here, or has the layer above memory do it at the node that leads,
    /// where `asked` says what to do.
    ///
    /// # Errors
    /// As [`write_or_ask`](Self::write_or_ask).
    pub(crate) fn write_memory<T: DeserializeOwned>(
        self: &Arc<Self>,
        here: impl FnOnce() -> Result<T>,
        asked: impl FnOnce() -> Result<Value>,
    ) -> Result<T> {
        self.write_or_ask(here, || coded(&AskedRef::Memory(&asked()?)))
    }

    /// Forgets `here`, or has the node that leads forget.
    ///
    /// # Errors
    /// As [`write_or_ask`](Self::write_or_ask).
    pub(crate) fn write_forget<T: DeserializeOwned>(
        self: &Arc<Self>,
        what: &Forget,
        here: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.write_or_ask(here, || coded(&AskedRef::Forget(what)))
    }

    /// Does a write here, or has the node that leads do what is `asked`.
    ///
    /// # Errors
    /// [`Error::InDoubt`] if no node that leads answers in time: it may have been written.
    fn write_or_ask<T: DeserializeOwned>(
        self: &Arc<Self>,
        here: impl FnOnce() -> Result<T>,
        asked: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<T> {
        let Some(node) = &self.node else { return here() };
        if self.store.leads().is_some() {
            // What others asked for before comes first, also of a node that is gone by now: its
            // caller may have come here with what is to take its place.
            if let Err(error) = self.serve_requests() {
                tracing::warn!("requests of other nodes wait: {}", error.chain());
            }
            match here() {
                // Another node leads by now, and nothing was written.
                Err(Error::Fenced { .. } | Error::NotLeading { .. }) => {}
                written => return written,
            }
        }
        let shared = &node.shared;
        let poll = self.inbox_poll();
        let (tx, written) = ask(shared.truth.as_ref(), asked()?, shared.write_wait, poll)?;
        self.expect_transaction(tx);
        Ok(written)
    }

    /// Does what other nodes ask for, if this one leads. How much that was.
    ///
    /// # Errors
    /// What ended the first request that was not done; it stays in the inbox.
    pub(crate) fn serve_requests(self: &Arc<Self>) -> Result<usize> {
        let Some(node) = self.node.as_ref().filter(|_| self.store.leads().is_some()) else {
            return Ok(0);
        };
        let _each_once = node.serving.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut served, mut successor) = (0, None);
        while successor.is_none() {
            // Those that are to be forgotten stay in the inbox until they are.
            let most = AT_ONCE + node.forgets.len();
            let requests = node.shared.truth.requests(most)?;
            for Request { id, body } in &requests {
                served += 1;
                match serde_json::from_slice(body) {
                    Ok(Asked::Forget(what)) => {
                        served -= usize::from(!node.forgets.add(*id, what));
                    }
                    Ok(Asked::Write(request)) => self.store.serve(*id, &request)?,
                    Ok(Asked::Memory(what)) => {
                        self.serve_memory(&AskedWrite { id: *id, what: &what })?;
                    }
                    Ok(Asked::HandOver { to }) => {
                        self.store.answer(*id, &Ok(Written::Counted(0)))?;
                        successor = Some(to);
                        break;
                    }
                    Err(error) => {
                        let doing = "understand what another node asks for";
                        let error = Error::backend(Part::Store, doing, error);
                        self.store.refuse(*id, &error)?;
                    }
                }
            }
            if requests.len() < most {
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

    /// Has the layer above memory do a write that another node asks for. What it is refused for is
    /// the answer.
    ///
    /// # Errors
    /// What has nothing to do with the write; it stays in the inbox.
    fn serve_memory(self: &Arc<Self>, asked: &AskedWrite<'_>) -> Result<()> {
        let tasks = self.node.as_ref().and_then(|node| node.tasks.get());
        match tasks.map_or(Ok(false), |tasks| tasks.write_for(self, asked)) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let reason = "it keeps no memory; open the memory of its engine".to_owned();
                let code = NOT_LEADING.to_owned();
                let answer: Answer<()> = Err(Refusal { code, reason, field: None });
                self.store.answer(asked.id, &answer)
            }
            Err(error) if stays_in_inbox(&error) => Err(error),
            Err(error) => self.store.refuse(asked.id, &error),
        }
    }

    /// How often a node looks into the inbox, or for an answer.
    pub(crate) fn inbox_poll(&self) -> Duration {
        let poll = self.node.as_ref().map(|node| node.shared.times.poll);
        poll.map_or(LONGEST_POLL, |poll| poll.min(LONGEST_POLL))
    }

    /// Lets searches see what the node that leads wrote for this one. What was written here, they
    /// see.
    pub(crate) fn show_answered(&self) -> Result<()> {
        if self.node.is_none() || self.store.leads().is_some() {
            return Ok(());
        }
        self.show_written()
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
