//! The worker that gives chunks and units of memory their vectors, from the store's job table, and the
//! communities of the graph their reports.

use std::{
    borrow::Cow,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use trefoil_core::{Array2, Embedder, Error, IndexInput, Result, Role, Stage};
use trefoil_store::{EmbedJob, EmbedSource, JobCounts};
use trefoil_text::contextual_text;

use crate::{Engine, background::catch_panics, default_set::stage_fed_by, engine::Inner};

/// Texts embedded between two commits. Large enough that the cores are idle for less
/// than one text in a hundred, small enough that a stop waits a few seconds at most.
pub(crate) const BATCH: usize = 192;

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
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// There may be jobs that the worker has not looked at.
    woken: bool,
    /// The worker waits.
    idle: bool,
    /// The worker is gone.
    gone: bool,
}

impl Worker {
    /// Starts the thread, which looks for jobs at once.
    pub(crate) fn start(inner: &Arc<Inner>) -> Result<Self> {
        inner.store.release_jobs()?;
        let signal = Arc::new(Signal::default());
        signal.state().woken = true;
        let thread = std::thread::Builder::new()
            .name("trefoil-worker".to_owned())
            .spawn({
                let (signal, inner) = (Arc::clone(&signal), Arc::downgrade(inner));
                move || {
                    // However the thread ends, nobody waits for it.
                    let _gone = Gone(&signal);
                    work(&signal, &inner);
                }
            })
            .map_err(|source| Error::io("start the background thread of", "trefoil", source))?;
        Ok(Self { signal, thread: Some(thread) })
    }

    /// Tells the worker that there are new jobs.
    pub(crate) fn wake(&self) {
        let mut state = self.signal.state();
        state.woken = true;
        self.signal.changed.notify_all();
    }

    /// Waits until the worker has nothing left to do.
    pub(crate) fn drain(
        &self,
        inner: &Inner,
        mut on_progress: impl FnMut(&JobCounts),
    ) -> Result<JobCounts> {
        let mut state = self.signal.state();
        while !state.gone && (state.woken || !state.idle) {
            let tick = Duration::from_millis(100);
            state = self
                .signal
                .changed
                .wait_timeout(state, tick)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            drop(state);
            on_progress(&inner.pending_embeddings()?);
            state = self.signal.state();
        }
        drop(state);
        match inner.troubles.take() {
            Some(error) => Err(error),
            None => inner.pending_embeddings(),
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
            // A panic of the worker is noted among its troubles.
            drop(thread.join());
        }
    }
}

/// Says that the worker is gone when it is dropped.
struct Gone<'s>(&'s Signal);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.state().gone = true;
        self.0.changed.notify_all();
    }
}

impl Signal {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn work(signal: &Signal, inner: &Weak<Inner>) {
    // When something is due though nobody says so.
    let mut next_at = None;
    loop {
        let mut state = signal.state();
        while !state.woken && !signal.stopped() {
            state.idle = true;
            signal.changed.notify_all();
            // A stop may fall between the check and the wait, and what is due by the clock tells
            // nobody: look again now and then.
            let pause = Duration::from_millis(200);
            state =
                signal.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
            if inner.upgrade().is_none_or(|inner| next_at.is_some_and(|at| at <= inner.now())) {
                break;
            }
        }
        state.woken = false;
        state.idle = false;
        drop(state);
        if let Some(inner) = inner.upgrade() {
            inner.troubles.try_again();
        }
        let mut panics = 0;
        while !signal.stopped() {
            let Some(inner) = inner.upgrade() else { return };
            match catch_panics("the worker", || next_step(&inner)) {
                Ok(false) => break,
                Ok(true) => panics = 0,
                Err(error) => {
                    let is_panic = matches!(error, Error::Panicked { .. });
                    inner.troubles.note(stage_fed_by(IndexInput::Vector), error);
                    panics += 1;
                    // What it had taken up is not lost: it waits for the next try.
                    let released = inner.store.release_embed_jobs();
                    if !is_panic || released.is_err() || panics >= TRIES {
                        break;
                    }
                }
            }
        }
        if signal.stopped() {
            return;
        }
        next_at = inner.upgrade().and_then(|inner| {
            // A store that cannot be read is named by the next thing that reads it.
            let job = inner.store.next_job_at().ok().flatten();
            inner.tasks.alive().iter().filter_map(|task| task.next_at()).chain(job).min()
        });
    }
}

/// Does what is first of all that is left to do; false if nothing is. What came in last is
/// embedded before the texts of a migration, and reports wait until nothing else is left.
fn next_step(inner: &Arc<Inner>) -> Result<bool> {
    if let Some(embedder) = inner.embedder()
        && embed_batch(inner, embedder.as_ref())? > 0
    {
        return Ok(true);
    }
    if run_tasks(inner) {
        return Ok(true);
    }
    if inner.migrate_further()? {
        return Ok(true);
    }
    make_reports(inner);
    if inner.store.forget_done_jobs(FORGOTTEN)? > 0 {
        inner.store.forget_unused_embeddings(FORGOTTEN)?;
    }
    Ok(false)
}

/// Lets each task do a little; true if one did. One that fails holds up nobody else.
fn run_tasks(inner: &Arc<Inner>) -> bool {
    let mut any = false;
    for task in inner.tasks.alive() {
        let engine = Arc::new(Engine::of_worker(Arc::clone(inner)));
        match catch_panics(task.name(), || Arc::clone(&task).run(engine)) {
            Ok(did) => any |= did,
            Err(error) => inner.troubles.note(Stage::Memory, error),
        }
    }
    any
}

/// Makes the reports of communities. Where that panics it is tried a few times and then left
/// until the graph changes: nothing else has to wait for it.
fn make_reports(inner: &Inner) {
    for _ in 0..TRIES {
        match catch_panics("the maker of reports", || inner.update_reports()) {
            Ok(true) => return inner.troubles.clear(stage_fed_by(IndexInput::Extraction)),
            Ok(false) => return,
            Err(error) => {
                let is_panic = matches!(error, Error::Panicked { .. });
                inner.troubles.note(stage_fed_by(IndexInput::Extraction), error);
                if !is_panic {
                    return;
                }
            }
        }
    }
    if let Err(error) = inner.set_reports_aside() {
        inner.troubles.note(stage_fed_by(IndexInput::Extraction), error);
    }
}

/// Embeds the next jobs: vectors into the cache, then into the index. How many.
fn embed_batch(inner: &Inner, embedder: &dyn Embedder) -> Result<usize> {
    let seq = inner.store.seq()?;
    let jobs = inner.store.claim_embed_jobs(BATCH, LEASE)?;
    if jobs.is_empty() {
        // Jobs whose vectors turned out to be cached are closed at once.
        if inner.store.seq()? != seq {
            inner.replay_vectors()?;
        }
        return Ok(0);
    }
    let texts: Vec<Cow<'_, str>> = jobs.iter().map(|job| text_of(&job.source)).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    match catch_panics(EMBEDDER, || embedder.embed_checked(Role::Passage, &texts)) {
        Ok(vectors) => {
            finish(inner, &jobs, &vectors)?;
            inner.troubles.clear(stage_fed_by(IndexInput::Vector));
        }
        Err(
            Error::EmbeddingFailed { .. } | Error::EmbeddingShape { .. } | Error::Panicked { .. },
        ) => {
            each_alone(inner, embedder, &jobs, &texts)?;
        }
        Err(error) => {
            inner.store.release_embed_jobs()?;
            return Err(error);
        }
    }
    inner.replay_vectors()?;
    Ok(jobs.len())
}

/// What is embedded.
pub(crate) fn text_of(source: &EmbedSource) -> Cow<'_, str> {
    match source {
        EmbedSource::Chunk(chunk) => {
            let (file, chunk) = (&chunk.file, &chunk.chunk);
            contextual_text(&file.title, &chunk.heading_path, &chunk.text).into()
        }
        EmbedSource::Text(text) => text.into(),
    }
}

/// One text that cannot be embedded must not hold up the others.
fn each_alone(
    inner: &Inner,
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
            Ok(vectors) => finish(inner, std::slice::from_ref(job), &vectors)?,
            Err(error @ Error::Panicked { .. }) => {
                inner.store.give_up_jobs(&[job.job], &error.chain())?;
                inner.troubles.note(stage_fed_by(IndexInput::Vector), error);
            }
            Err(error) => inner.store.fail_jobs(&[job.job], &error.chain())?,
        }
    }
    Ok(())
}

/// Who panicked, if the embedder did.
pub(crate) const EMBEDDER: &str = "the embedder";

fn finish(inner: &Inner, jobs: &[EmbedJob], vectors: &Array2<f32>) -> Result<()> {
    let done = jobs.iter().zip(vectors.rows());
    let done: Vec<_> = done.map(|(job, vector)| (job.job, job.row, vector.to_vec())).collect();
    inner.store.finish_embed_jobs(&done)?;
    inner.embedded.fetch_add(done.len(), Ordering::Relaxed);
    Ok(())
}
