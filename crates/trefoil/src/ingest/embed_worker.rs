//! The worker that gives chunks and units of memory their vectors, from the store's job table, and
//! the communities of the graph their reports.

use std::sync::{Arc, atomic::Ordering};

use trefoil_core::{Embedder, Error, IndexInput, Result};
use trefoil_store::{EmbedJob, EmbeddedText};

use crate::{
    background::catch_panics,
    default_set::stage_fed_by,
    index::embedding::{BATCH, embed, embed_apart, kept_tokens},
    ingest::{
        background_thread::{Awaited, Steps, ThreadStatus, Waker},
        embed_queue::{EmbedQueue, QueueStep},
    },
    state::State,
    task_runner::TaskRunner,
};

/// Seconds after which a job that nobody finished is taken up again.
const LEASE: u32 = 600;

/// What panics is tried so often before it is set aside.
const TRIES: usize = 3;

/// Jobs that are done, and embeddings that nothing uses, are forgotten so many at a time.
const FORGOTTEN: usize = 1_000;

/// Embeds what the store's job table asks for, or has it embedded, and then makes the reports.
#[derive(Debug)]
pub(crate) struct Worker {
    /// Work for others.
    pub(crate) tasks: Arc<dyn TaskRunner>,
    /// The texts that other nodes embed; none where this one embeds.
    pub(crate) queue: Option<EmbedQueue>,
    /// What it has written may be merged.
    pub(crate) merger: Waker,
}

impl Steps for Worker {
    fn name(&self) -> &'static str {
        "the worker"
    }

    fn begin(&self, state: &State) {
        state.errors.try_again();
    }

    fn step(&self, state: &Arc<State>, thread: &ThreadStatus<'_>) -> Result<bool> {
        let did = self.next_step(state, thread)?;
        if did {
            self.merger.wake();
        }
        Ok(did)
    }

    fn failed(&self, state: &State, error: Error) -> bool {
        if matches!(error, Error::NotLeading { .. } | Error::Fenced { .. }) {
            // Another node goes on with it.
            return false;
        }
        let is_panic = matches!(error, Error::Panicked { .. });
        state.errors.note(stage_fed_by(IndexInput::Vector), error);
        if let Some(queue) = &self.queue {
            if is_panic {
                queue.begin_again();
            }
            return is_panic;
        }
        // What it had taken up is not lost: it waits for the next try.
        state.store.release_embed_jobs().is_ok() && is_panic
    }

    fn next_at(&self, state: &State, looked_at: i64) -> Option<i64> {
        // A store that cannot be read is named by the next thing that reads it.
        let job = state.store.next_job_at(looked_at).ok().flatten();
        self.tasks.next_at().into_iter().chain(job).min()
    }

    fn awaited(&self, state: &State) -> Option<Awaited> {
        self.queue.as_ref()?.awaited(state)
    }
}

impl Worker {
    /// Does what is first of all that is left to do; false if nothing is. What came in last is
    /// embedded before the texts of a migration, and reports wait until nothing else is left.
    fn next_step(&self, state: &Arc<State>, thread: &ThreadStatus<'_>) -> Result<bool> {
        if !state.leads() {
            // Rows are written by the node that leads; here the graph is frozen and reports are
            // read.
            make_reports(state, thread.has_rested());
            return Ok(false);
        }
        if state.forget_for_others()? {
            return Ok(true);
        }
        if let Some(embedder) = state.embedder() {
            let has_embedded = match &self.queue {
                None => embed_batch(state, embedder.as_ref())? > 0,
                Some(queue) => match queue.step(state, embedder.as_ref(), thread.is_called())? {
                    QueueStep::Did => true,
                    QueueStep::Waits => return Ok(false),
                    QueueStep::Empty => false,
                },
            };
            if has_embedded {
                return Ok(true);
            }
        }
        if self.tasks.run(state) {
            return Ok(true);
        }
        if state.migrate_further(&|| thread.is_stopped())? {
            return Ok(true);
        }
        make_reports(state, thread.has_rested());
        if state.store.forget_done_jobs(FORGOTTEN)? > 0 {
            state.store.forget_unused_embeddings(FORGOTTEN)?;
        }
        Ok(false)
    }
}

/// Makes the reports of communities. Where that panics it is tried a few times and then left
/// until the graph changes: nothing else has to wait for it. While documents come in, the graph
/// is followed from farther behind.
fn make_reports(state: &State, has_rested: bool) {
    for _ in 0..TRIES {
        match catch_panics("the maker of reports", || state.update_reports(has_rested)) {
            Ok(true) => return state.errors.clear(stage_fed_by(IndexInput::Extraction)),
            Ok(false) => return,
            Err(error) => {
                let is_panic = matches!(error, Error::Panicked { .. });
                state.errors.note(stage_fed_by(IndexInput::Extraction), error);
                if !is_panic {
                    return;
                }
            }
        }
    }
    if let Err(error) = state.set_reports_aside() {
        state.errors.note(stage_fed_by(IndexInput::Extraction), error);
    }
}

/// Embeds the next jobs: vectors into the cache, then into the index. How many.
fn embed_batch(state: &State, embedder: &dyn Embedder) -> Result<usize> {
    let seq = state.store.seq()?;
    let jobs = state.store.claim_embed_jobs(BATCH, LEASE)?;
    if jobs.is_empty() {
        // Jobs whose vectors turned out to be cached are closed at once.
        if state.store.seq()? != seq {
            state.replay_vectors()?;
        }
        return Ok(0);
    }
    let kept = kept_tokens(embedder, &state.config);
    let sources: Vec<_> = jobs.iter().map(|job| &job.source).collect();
    let embedded = embed_apart(&sources, |sources| embed(embedder, kept.as_ref(), sources));
    let embedded = match embedded {
        Ok(embedded) => embedded,
        Err(error) => {
            state.store.release_embed_jobs()?;
            return Err(error);
        }
    };
    finish(state, &jobs, embedded)?;
    state.replay_vectors()?;
    Ok(jobs.len())
}

/// Stores what was made. One text that cannot be embedded must not hold up the others.
fn finish(state: &State, jobs: &[EmbedJob], embedded: Vec<Result<EmbeddedText>>) -> Result<()> {
    let (mut done, mut panics, mut fails) = (Vec::new(), Vec::new(), Vec::new());
    for (job, embedded) in jobs.iter().zip(embedded) {
        match embedded {
            Ok(text) => done.push((job.job, job.row, text)),
            Err(error @ Error::Panicked { .. }) => panics.push((job.job, error)),
            Err(error) => fails.push((job.job, error)),
        }
    }
    let are_all_done = done.len() == jobs.len();
    state.store.finish_embed_jobs(&done)?;
    state.embedded.fetch_add(done.len(), Ordering::Relaxed);
    for (job, error) in fails {
        state.store.fail_jobs(&[job], &error.chain())?;
    }
    for (job, error) in panics {
        state.store.give_up_jobs(&[job], &error.chain())?;
        state.errors.note(stage_fed_by(IndexInput::Vector), error);
    }
    if are_all_done {
        state.errors.clear(stage_fed_by(IndexInput::Vector));
    }
    Ok(())
}
