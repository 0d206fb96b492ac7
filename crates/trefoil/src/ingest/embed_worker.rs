//! The worker that gives chunks and units of memory their vectors, from the store's job table, and
//! the communities of the graph their reports.

use std::{
    fmt::Debug,
    sync::{Arc, atomic::Ordering},
};

use trefoil_core::{Embedder, Error, IndexInput, Result};
use trefoil_store::{EmbedJob, EmbedSource, EmbeddedText};

use crate::{
    background::catch_panics,
    default_set::stage_fed_by,
    index::embedding::{BATCH, embed, kept_tokens},
    ingest::background_thread::{Steps, ThreadStatus, Waker},
    state::State,
};

/// Seconds after which a job that nobody finished is taken up again.
const LEASE: u32 = 600;

/// A text whose embedding panics is tried so often before it is set aside.
const TRIES: usize = 3;

/// Jobs that are done, and embeddings that nothing uses, are forgotten so many at a time.
const FORGOTTEN: usize = 1_000;

/// What the worker does besides its own work.
pub(crate) trait Extra: Debug + Send + Sync {
    /// Does a little; false if nothing is left to do. What fails is noted in `state`.
    fn run(&self, state: &Arc<State>) -> bool;

    /// When it is next to be called although nothing was written, in seconds since 1970.
    fn next_at(&self) -> Option<i64>;
}

/// Embeds what the store's job table asks for, and then makes the reports.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) extra: Arc<dyn Extra>,
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
        let did = next_step(state, self.extra.as_ref(), thread)?;
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
        // What it had taken up is not lost: it waits for the next try.
        state.store.release_embed_jobs().is_ok() && is_panic
    }

    fn next_at(&self, state: &State) -> Option<i64> {
        // A store that cannot be read is named by the next thing that reads it.
        let job = state.store.next_job_at().ok().flatten();
        self.extra.next_at().into_iter().chain(job).min()
    }
}

/// Does what is first of all that is left to do; false if nothing is. What came in last is
/// embedded before the texts of a migration, and reports wait until nothing else is left.
fn next_step(state: &Arc<State>, extra: &dyn Extra, thread: &ThreadStatus<'_>) -> Result<bool> {
    if !state.leads() {
        // Rows are written by the node that leads; here the graph is frozen and reports are read.
        make_reports(state, thread.has_rested());
        return Ok(false);
    }
    if let Some(embedder) = state.embedder()
        && embed_batch(state, embedder.as_ref())? > 0
    {
        return Ok(true);
    }
    if extra.run(state) {
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
    let embed = |sources: &[_]| embed(embedder, kept.as_ref(), sources);
    match embed(&jobs.iter().map(|job| &job.source).collect::<Vec<_>>()) {
        Ok(embedded) => {
            finish(state, &jobs, embedded)?;
            state.errors.clear(stage_fed_by(IndexInput::Vector));
        }
        Err(
            Error::EmbeddingFailed { .. } | Error::EmbeddingShape { .. } | Error::Panicked { .. },
        ) => {
            each_alone(state, &jobs, embed)?;
        }
        Err(error) => {
            state.store.release_embed_jobs()?;
            return Err(error);
        }
    }
    state.replay_vectors()?;
    Ok(jobs.len())
}

/// One text that cannot be embedded must not hold up the others.
fn each_alone<'j>(
    state: &State,
    jobs: &'j [EmbedJob],
    embed: impl Fn(&[&'j EmbedSource]) -> Result<Vec<EmbeddedText>>,
) -> Result<()> {
    for job in jobs {
        let embed = || embed(&[&job.source]);
        let mut embedded = embed();
        for _ in 1..TRIES {
            if matches!(embedded, Err(Error::Panicked { .. })) {
                embedded = embed();
            }
        }
        match embedded {
            Ok(embedded) => finish(state, std::slice::from_ref(job), embedded)?,
            Err(error @ Error::Panicked { .. }) => {
                state.store.give_up_jobs(&[job.job], &error.chain())?;
                state.errors.note(stage_fed_by(IndexInput::Vector), error);
            }
            Err(error) => state.store.fail_jobs(&[job.job], &error.chain())?,
        }
    }
    Ok(())
}

fn finish(state: &State, jobs: &[EmbedJob], embedded: Vec<EmbeddedText>) -> Result<()> {
    let done = jobs.iter().zip(embedded);
    let done: Vec<_> = done.map(|(job, text)| (job.job, job.row, text)).collect();
    state.store.finish_embed_jobs(&done)?;
    state.embedded.fetch_add(done.len(), Ordering::Relaxed);
    Ok(())
}
