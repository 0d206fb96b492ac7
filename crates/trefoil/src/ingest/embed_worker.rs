//! The worker that gives chunks and units of memory their vectors, from the store's job table, and
//! the communities of the graph their reports.

use std::{
    borrow::Cow,
    fmt::Debug,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use trefoil_core::{Array2, Embedder, Error, IndexInput, Result, Role};
use trefoil_store::{EmbedJob, JobCounts};

use crate::{
    background::catch_panics,
    default_set::stage_fed_by,
    index::embedding::{BATCH, EMBEDDER, text_of},
    state::State,
};

/// Seconds after which a job that nobody finished is taken up again.
const LEASE: u32 = 600;

/// A text whose embedding panics is tried so often before it is set aside, and the worker goes
/// on after so many panics in a row of which no text can be blamed.
const TRIES: usize = 3;

/// Jobs that are done, and embeddings that nothing uses, are forgotten so many at a time.
const FORGOTTEN: usize = 1_000;

/// One thread that embeds what the store's job table asks for, and then makes the reports.
#[derive(Debug)]
pub(crate) struct Worker {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Signal {
    stop: AtomicBool,
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// There may be jobs that the worker has not looked at.
    woken: bool,
    /// The worker waits.
    idle: bool,
    /// The worker is gone.
    gone: bool,
}

/// What the worker does besides its own work.
pub(crate) trait Extra: Debug + Send + Sync {
    /// Does a little; false if nothing is left to do. What fails is noted in `state`.
    fn run(&self, state: &Arc<State>) -> bool;

    /// When it is next to be called although nothing was written, in seconds since 1970.
    fn next_at(&self) -> Option<i64>;
}

impl Worker {
    /// Starts the thread, which looks for jobs at once.
    pub(crate) fn start(state: &Arc<State>, extra: Arc<dyn Extra>) -> Result<Self> {
        state.store.release_jobs()?;
        let signal = Arc::new(Signal::default());
        signal.progress().woken = true;
        let thread = std::thread::Builder::new()
            .name("trefoil-worker".to_owned())
            .spawn({
                let (signal, state) = (Arc::clone(&signal), Arc::downgrade(state));
                move || {
                    // However the thread ends, nobody waits for it.
                    let _gone = Gone(&signal);
                    work(&signal, &state, extra.as_ref());
                }
            })
            .map_err(|source| Error::io("start the background thread of", "trefoil", source))?;
        Ok(Self { signal, thread: Some(thread) })
    }

    /// Tells the worker that there are new jobs.
    pub(crate) fn wake(&self) {
        let mut progress = self.signal.progress();
        progress.woken = true;
        self.signal.changed.notify_all();
    }

    /// Waits until the worker has nothing left to do.
    pub(crate) fn wait(
        &self,
        state: &State,
        mut on_progress: impl FnMut(&JobCounts),
    ) -> Result<JobCounts> {
        let mut progress = self.signal.progress();
        while !progress.gone && (progress.woken || !progress.idle) {
            let tick = Duration::from_millis(100);
            progress = self
                .signal
                .changed
                .wait_timeout(progress, tick)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            drop(progress);
            on_progress(&state.pending_embeddings()?);
            progress = self.signal.progress();
        }
        drop(progress);
        match state.errors.take() {
            Some(error) => Err(error),
            None => state.pending_embeddings(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.signal.stop.store(true, Ordering::Relaxed);
        self.signal.changed.notify_all();
        // A task may hold what holds the last engine: a thread does not wait for itself.
        let is_own = |thread: &JoinHandle<()>| thread.thread().id() == std::thread::current().id();
        if let Some(thread) = self.thread.take().filter(|thread| !is_own(thread)) {
            // A panic of the worker is noted among its errors.
            drop(thread.join());
        }
    }
}

/// Says that the worker is gone when it is dropped.
struct Gone<'s>(&'s Signal);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.progress().gone = true;
        self.0.changed.notify_all();
    }
}

impl Signal {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn work(signal: &Signal, state: &Weak<State>, extra: &dyn Extra) {
    // When something is due though nobody says so.
    let mut next_at = None;
    loop {
        let mut progress = signal.progress();
        while !progress.woken && !signal.stopped() {
            progress.idle = true;
            signal.changed.notify_all();
            // A stop may fall between the check and the wait, and what is due by the clock tells
            // nobody: look again now and then.
            let pause = Duration::from_millis(200);
            progress = signal
                .changed
                .wait_timeout(progress, pause)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            if state.upgrade().is_none_or(|state| next_at.is_some_and(|at| at <= state.now())) {
                break;
            }
        }
        progress.woken = false;
        progress.idle = false;
        drop(progress);
        if let Some(state) = state.upgrade() {
            state.errors.try_again();
        }
        let mut panics = 0;
        while !signal.stopped() {
            let Some(state) = state.upgrade() else { return };
            match catch_panics("the worker", || next_step(&state, extra)) {
                Ok(false) => break,
                Ok(true) => panics = 0,
                Err(error) => {
                    let is_panic = matches!(error, Error::Panicked { .. });
                    state.errors.note(stage_fed_by(IndexInput::Vector), error);
                    panics += 1;
                    // What it had taken up is not lost: it waits for the next try.
                    let released = state.store.release_embed_jobs();
                    if !is_panic || released.is_err() || panics >= TRIES {
                        break;
                    }
                }
            }
        }
        if signal.stopped() {
            return;
        }
        next_at = state.upgrade().and_then(|state| {
            // A store that cannot be read is named by the next thing that reads it.
            let job = state.store.next_job_at().ok().flatten();
            extra.next_at().into_iter().chain(job).min()
        });
    }
}

/// Does what is first of all that is left to do; false if nothing is. What came in last is
/// embedded before the texts of a migration, and reports wait until nothing else is left.
fn next_step(state: &Arc<State>, extra: &dyn Extra) -> Result<bool> {
    if let Some(embedder) = state.embedder()
        && embed_batch(state, embedder.as_ref())? > 0
    {
        return Ok(true);
    }
    if extra.run(state) {
        return Ok(true);
    }
    if state.migrate_further()? {
        return Ok(true);
    }
    make_reports(state);
    if state.store.forget_done_jobs(FORGOTTEN)? > 0 {
        state.store.forget_unused_embeddings(FORGOTTEN)?;
    }
    Ok(false)
}

/// Makes the reports of communities. Where that panics it is tried a few times and then left
/// until the graph changes: nothing else has to wait for it.
fn make_reports(state: &State) {
    for _ in 0..TRIES {
        match catch_panics("the maker of reports", || state.update_reports()) {
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
    let texts: Vec<Cow<'_, str>> = jobs.iter().map(|job| text_of(&job.source)).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    match catch_panics(EMBEDDER, || embedder.embed_checked(Role::Passage, &texts)) {
        Ok(vectors) => {
            finish(state, &jobs, &vectors)?;
            state.errors.clear(stage_fed_by(IndexInput::Vector));
        }
        Err(
            Error::EmbeddingFailed { .. } | Error::EmbeddingShape { .. } | Error::Panicked { .. },
        ) => {
            each_alone(state, embedder, &jobs, &texts)?;
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
fn each_alone(
    state: &State,
    embedder: &dyn Embedder,
    jobs: &[EmbedJob],
    texts: &[&str],
) -> Result<()> {
    for (job, text) in jobs.iter().zip(texts) {
        let embed = || catch_panics(EMBEDDER, || embedder.embed_checked(Role::Passage, &[text]));
        let mut embedded = embed();
        for _ in 1..TRIES {
            if matches!(embedded, Err(Error::Panicked { .. })) {
                embedded = embed();
            }
        }
        match embedded {
            Ok(vectors) => finish(state, std::slice::from_ref(job), &vectors)?,
            Err(error @ Error::Panicked { .. }) => {
                state.store.give_up_jobs(&[job.job], &error.chain())?;
                state.errors.note(stage_fed_by(IndexInput::Vector), error);
            }
            Err(error) => state.store.fail_jobs(&[job.job], &error.chain())?,
        }
    }
    Ok(())
}

fn finish(state: &State, jobs: &[EmbedJob], vectors: &Array2<f32>) -> Result<()> {
    let done = jobs.iter().zip(vectors.rows());
    let done: Vec<_> = done.map(|(job, vector)| (job.job, job.row, vector.to_vec())).collect();
    state.store.finish_embed_jobs(&done)?;
    state.embedded.fetch_add(done.len(), Ordering::Relaxed);
    Ok(())
}
