//! The thread of a node: it asks what is new, takes it over, and leads when no other node does.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, Weak},
    thread::JoinHandle,
    time::Duration,
};

use trefoil_core::{Error, Result};

use crate::{background::catch_panics, index::node::Turn, state::State};

/// How long it rests at most before it looks whether the engine is gone.
const LONGEST_REST: Duration = Duration::from_millis(200);

/// The thread of an engine that is a node. Dropping it ends the thread, and gives the lease back.
#[derive(Debug)]
pub(crate) struct NodeThread {
    stop: Arc<Stop>,
    state: Weak<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Stop {
    is_stopped: Mutex<bool>,
    changed: Condvar,
}

impl NodeThread {
    /// Starts the thread. It calls `on_change` when there is something new, or the node leads.
    pub(crate) fn start(state: &Arc<State>, on_change: impl Fn() + Send + 'static) -> Result<Self> {
        let (stop, weak) = (Arc::<Stop>::default(), Arc::downgrade(state));
        let thread = std::thread::Builder::new()
            .name("trefoil-node".to_owned())
            .spawn({
                let (stop, state) = (Arc::clone(&stop), Weak::clone(&weak));
                move || work(&stop, &state, &on_change)
            })
            .map_err(|source| Error::io("start the thread of the node", "trefoil-node", source))?;
        Ok(Self { stop, state: weak, thread: Some(thread) })
    }
}

impl Drop for NodeThread {
    fn drop(&mut self) {
        *self.stop.is_stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
        // The last engine may go on this thread, which does not wait for itself.
        let is_own = |thread: &JoinHandle<()>| thread.thread().id() == std::thread::current().id();
        if let Some(thread) = self.thread.take().filter(|thread| !is_own(thread)) {
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

fn work(stop: &Stop, state: &Weak<State>, on_change: &dyn Fn()) {
    // What went wrong last, which is logged once.
    let mut trouble = None;
    loop {
        let Some(engine) = state.upgrade() else { return };
        let turn = catch_panics("the node", || {
            let turn = engine.take_turn();
            let served = engine.serve_requests()?;
            engine.report_node()?;
            Ok(if served > 0 { Turn::Changed } else { turn })
        });
        let longest = if engine.leads() { engine.inbox_poll() } else { LONGEST_REST };
        drop(engine);
        if turn.is_ok() {
            trouble = None;
        }
        let rest = match turn {
            Ok(Turn::Again) => Duration::ZERO,
            Ok(Turn::Changed) => {
                on_change();
                Duration::ZERO
            }
            Ok(Turn::Rest(rest)) => rest.min(longest),
            // Whoever asks for something is told; here it is tried again.
            Err(ref error) => {
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
