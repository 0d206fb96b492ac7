//! The threads of a node. One asks what is new, takes it over, and leads when no other node does. The
//! other does what other nodes ask for: that may take long, and meanwhile the lease is renewed.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, Weak},
    thread::JoinHandle,
    time::Duration,
};

use trefoil_core::{Error, Result};

use crate::{background::catch_panics, index::node::Turn, state::State};

/// How long they rest at most before they look whether the engine is gone.
const LONGEST_REST: Duration = Duration::from_millis(200);

/// The threads of an engine that is a node. Dropping them ends both, and gives the lease back.
#[derive(Debug)]
pub(crate) struct NodeThreads {
    stop: Arc<Stop>,
    state: Weak<State>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Stop {
    is_stopped: Mutex<bool>,
    changed: Condvar,
}

/// Does what there is to do, and says how long to rest.
type Work = fn(&Arc<State>, &dyn Fn()) -> Result<Duration>;

impl NodeThreads {
    /// Starts them. They call `on_change` when there is something new, or the node leads.
    pub(crate) fn start(
        state: &Arc<State>,
        on_change: impl Fn() + Clone + Send + 'static,
    ) -> Result<Self> {
        let (stop, weak) = (Arc::<Stop>::default(), Arc::downgrade(state));
        let mut started = Self { stop, state: weak, threads: Vec::new() };
        for (name, work) in [("trefoil-node", take_turn as Work), ("trefoil-inbox", serve)] {
            let (stop, state) = (Arc::clone(&started.stop), Weak::clone(&started.state));
            let on_change = on_change.clone();
            let thread = std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || repeat(&stop, &state, &on_change, work))
                .map_err(|source| Error::io("start a thread of the node", name, source))?;
            started.threads.push(thread);
        }
        Ok(started)
    }
}

impl Drop for NodeThreads {
    fn drop(&mut self) {
        *self.stop.is_stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
        // The last engine may go on one of them, which does not wait for itself.
        let own = std::thread::current().id();
        for thread in self.threads.drain(..).filter(|thread| thread.thread().id() != own) {
            drop(thread.join());
        }
        // Another node need not wait for the lease to run out; if this fails, it does.
        if let Some(state) = self.state.upgrade()
            && state.store.leads().is_some()
        {
            drop(state.store.resign());
        }
    }
}

/// Follows, leads, and tells the others of this node.
fn take_turn(state: &Arc<State>, on_change: &dyn Fn()) -> Result<Duration> {
    let turn = state.take_turn();
    state.report_node()?;
    Ok(match turn {
        Turn::Again => Duration::ZERO,
        Turn::Changed => {
            on_change();
            Duration::ZERO
        }
        Turn::Rest(rest) => rest,
    })
}

/// Does what other nodes ask for, if this one leads.
fn serve(state: &Arc<State>, on_change: &dyn Fn()) -> Result<Duration> {
    if state.serve_requests()? == 0 {
        return Ok(state.inbox_poll());
    }
    on_change();
    Ok(Duration::ZERO)
}

fn repeat(stop: &Stop, state: &Weak<State>, on_change: &dyn Fn(), work: Work) {
    // What went wrong last, which is logged once.
    let mut trouble = None;
    loop {
        let Some(engine) = state.upgrade() else { return };
        let done = catch_panics("the node", || work(&engine, on_change));
        drop(engine);
        let rest = match done {
            Ok(rest) => {
                trouble = None;
                rest.min(LONGEST_REST)
            }
            // Whoever asks for something is told; here it is tried again.
            Err(error) => {
                let reason = error.chain();
                if trouble.as_ref() != Some(&reason) {
                    tracing::warn!("the node tries again: {reason}");
                    trouble = Some(reason);
                }
                LONGEST_REST
            }
        };
        let stopped = stop.is_stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = stop.changed.wait_timeout_while(stopped, rest, |is_stopped| !*is_stopped);
        if *waited.unwrap_or_else(PoisonError::into_inner).0 {
            return;
        }
    }
}
