//! The threads of an engine that writes: one embeds, one merges, and one embeds for other nodes.

use std::{ops::ControlFlow, sync::Arc};

use trefoil_core::Result;
use trefoil_store::JobCounts;

use crate::{
    ingest::{
        background_thread::BackgroundThread, embed_queue::EmbedQueue, embed_worker::Worker,
        merger::Merger, queue_embedder::EmbedForOthers,
    },
    state::State,
    store_at::EmbedAt,
    task_runner::TaskRunner,
};

/// The threads of an engine. Dropping them stops all, and waits for them.
#[derive(Debug)]
pub(crate) struct Workers {
    worker: BackgroundThread,
    merger: BackgroundThread,
    /// Of a node that embeds what is in the queue of its store.
    embedder: Option<BackgroundThread>,
}

impl Workers {
    /// Starts the threads.
    pub(crate) fn start(state: &Arc<State>, tasks: Arc<dyn TaskRunner>) -> Result<Self> {
        if state.leads() {
            state.store.release_jobs()?;
        }
        let merger = BackgroundThread::start("trefoil-merger", state, Merger)?;
        let shared = state.node.as_ref().map(|node| &node.shared);
        let queues = shared.filter(|shared| shared.embed == EmbedAt::Queue);
        let embeds = queues.is_some_and(|shared| shared.embeds);
        let start =
            || BackgroundThread::start("trefoil-embedder", state, EmbedForOthers::default());
        let embedder = embeds.then(start).transpose()?;
        let queue = queues.map(|_| EmbedQueue::default());
        let worker = Worker { tasks, queue, merger: merger.waker() };
        let worker = BackgroundThread::start("trefoil-worker", state, worker)?;
        Ok(Self { worker, merger, embedder })
    }

    /// Tells them that something was written.
    pub(crate) fn wake(&self) {
        self.waker()();
    }

    /// What tells them so, from wherever.
    pub(crate) fn waker(&self) -> impl Fn() + Clone + Send + use<> {
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
        // None works on while another one ends.
        self.worker.stop();
        self.merger.stop();
        if let Some(embedder) = &self.embedder {
            embedder.stop();
        }
    }
}
