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

use trefoil_core::{Embedder, Error, Result, Role, Strategy};
use trefoil_store::{EmbedJob, EmbedSource, JobCounts};
use trefoil_text::contextual_text;

use crate::engine::Inner;

/// Texts embedded between two commits. Large enough that the cores are idle for less
/// than one text in a hundred, small enough that a stop waits a few seconds at most.
pub(crate) const BATCH: usize = 192;

/// Seconds after which a job that nobody finished is taken up again.
const LEASE: u32 = 600;

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
    /// Why the worker gave up, until it is woken again.
    error: Option<Error>,
}

impl Worker {
    /// Starts the thread, which looks for jobs at once; none where there is nothing to do,
    /// without a model and without a graph.
    pub(crate) fn start(inner: &Arc<Inner>) -> Result<Option<Self>> {
        let embeds = inner.embedder().is_some() || inner.serving().succession.is_some();
        if !embeds && !inner.has(Strategy::Graph) {
            return Ok(None);
        }
        inner.store.release_jobs()?;
        let signal = Arc::new(Signal::default());
        signal.state().woken = true;
        let thread = std::thread::Builder::new()
            .name("trefoil-worker".to_owned())
            .spawn({
                let (signal, inner) = (Arc::clone(&signal), Arc::downgrade(inner));
                move || work(&signal, &inner)
            })
            .map_err(|source| Error::io("start the background thread of", "trefoil", source))?;
        Ok(Some(Self { signal, thread: Some(thread) }))
    }

    /// Tells the worker that there are new jobs.
    pub(crate) fn wake(&self) {
        let mut state = self.signal.state();
        state.woken = true;
        state.error = None;
        self.signal.changed.notify_all();
    }

    /// Waits until the worker has nothing left to do.
    pub(crate) fn drain(
        &self,
        inner: &Inner,
        mut on_progress: impl FnMut(&JobCounts),
    ) -> Result<JobCounts> {
        let mut state = self.signal.state();
        while state.woken || !state.idle {
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
        match state.error.take() {
            Some(error) => Err(error),
            None => inner.pending_embeddings(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.signal.stop.store(true, Ordering::Relaxed);
        self.signal.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the worker has been reported by its hook; there is nothing to add.
            drop(thread.join());
        }
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
    loop {
        let mut state = signal.state();
        while !state.woken && !signal.stopped() {
            state.idle = true;
            signal.changed.notify_all();
            // A stop may fall between the check and the wait: look again now and then.
            let pause = Duration::from_millis(200);
            state =
                signal.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.woken = false;
        state.idle = false;
        drop(state);
        while !signal.stopped() {
            let Some(inner) = inner.upgrade() else { return };
            match next_step(&inner) {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) => {
                    tracing::error!(reason = error.chain(), "work in the background stopped");
                    signal.state().error = Some(error);
                    break;
                }
            }
        }
        if signal.stopped() {
            return;
        }
    }
}

/// Does what is first of all that is left to do; false if nothing is. What came in last is
/// embedded before the texts of a successor, and reports wait until nothing else is left.
fn next_step(inner: &Inner) -> Result<bool> {
    if let Some(embedder) = inner.embedder()
        && embed_batch(inner, embedder.as_ref())? > 0
    {
        return Ok(true);
    }
    if inner.succeed_further()? {
        return Ok(true);
    }
    inner.update_reports()?;
    if inner.store.forget_done_jobs(FORGOTTEN)? > 0 {
        inner.store.forget_unused_embeddings(FORGOTTEN)?;
    }
    Ok(false)
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
    match embedder.embed(Role::Passage, &texts) {
        Ok(vectors) => finish(inner, &jobs, vectors)?,
        Err(Error::EmbeddingFailed { .. }) => each_alone(inner, embedder, &jobs, &texts)?,
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
        match embedder.embed(Role::Passage, &[text]) {
            Ok(vectors) => finish(inner, std::slice::from_ref(job), vectors)?,
            Err(error) => inner.store.fail_jobs(&[job.job], &error.chain())?,
        }
    }
    Ok(())
}

fn finish(inner: &Inner, jobs: &[EmbedJob], vectors: Vec<Vec<f32>>) -> Result<()> {
    let done: Vec<_> =
        jobs.iter().zip(vectors).map(|(job, vector)| (job.job, job.row, vector)).collect();
    inner.store.finish_embed_jobs(&done)?;
    inner.embedded.fetch_add(done.len(), Ordering::Relaxed);
    Ok(())
}
