//! The threads of an engine that writes: one embeds, one merges.

use std::{ops::ControlFlow, sync::Arc};

use trefoil_core::Result;
use trefoil_store::JobCounts;

use crate::{
    ingest::{
        background_thread::BackgroundThread,
        embed_worker::{Extra, Worker},
        merger::Merger,
    },
    state::State,
};

/// The threads of an engine. Dropping them stops both, and waits for them.
#[derive(Debug)]
pub(crate) struct Workers {
    worker: BackgroundThread,
    merger: BackgroundThread,
}

impl Workers {
    /// Starts the threads.
    pub(crate) fn start(state: &Arc<State>, extra: Arc<dyn Extra>) -> Result<Self> {
        if state.leads() {
            state.store.release_jobs()?;
        }
        let merger = BackgroundThread::start("trefoil-merger", state, Merger)?;
        let worker = Worker { extra, merger: merger.waker() };
        let worker = BackgroundThread::start("trefoil-worker", state, worker)?;
        Ok(Self { worker, merger })
    }

    /// Tells them that something was written.
    pub(crate) fn wake(&self) {
        self.waker()();
    }

    /// What tells them so, from wherever.
    pub(crate) fn waker(&self) -> impl Fn() + Send + use<> {
        let (worker, merger) = (self.worker.waker(), self.merger.waker());
        move || {
            worker.wake();
            merger.wake();
        }
    }

    /// Waits until they have nothing left to do.
    pub(crate) fn wait(
        &self,
        state: &State,
        mut on_progress: impl FnMut(&JobCounts) -> ControlFlow<()>,
    ) -> Result<JobCounts> {
        let mut tick = || Ok(on_progress(&state.pending_embeddings()?));
        if self.worker.wait(&mut tick)?.is_break() || self.merger.wait(&mut tick)?.is_break() {
            return state.pending_embeddings();
        }
        match state.errors.take() {
            Some(error) => Err(error),
            None => state.pending_embeddings(),
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // Neither works on while the other ends.
        self.worker.stop();
        self.merger.stop();
    }
}
