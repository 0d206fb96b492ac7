//! A thread that does what is left to do whenever it is woken.

use std::{
    fmt::Debug,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use trefoil_core::{Error, Result};

use crate::{background::catch_panics, state::State};

/// After so many errors in a row that are worth another try, it waits to be woken.
const TRIES: usize = 3;

/// What a thread does, in small steps.
pub(crate) trait Steps: Debug + Send + 'static {
    /// What errors call it.
    fn name(&self) -> &'static str;

    /// It was woken and is about to begin.
    fn begin(&self, _: &State) {}

    /// Does a little; false if nothing is left to do. A long step asks often whether it is stopped.
    fn step(&self, state: &Arc<State>, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<bool>;

    /// Notes what a step failed of; true if the next may go on.
    fn failed(&self, state: &State, error: Error) -> bool;

    /// When there is something to do although nobody wakes it, in seconds since 1970.
    fn next_at(&self, state: &State) -> Option<i64>;
}

/// A thread of an engine. It holds the engine's state only while it does something.
#[derive(Debug)]
pub(crate) struct BackgroundThread {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

/// How a thread is told that there is something to do.
#[derive(Clone, Debug)]
pub(crate) struct Waker(Arc<Signal>);

#[derive(Debug, Default)]
struct Signal {
    stop: AtomicBool,
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// There may be something to do that the thread has not looked at.
    woken: bool,
    /// The thread waits.
    idle: bool,
    /// The thread is gone.
    gone: bool,
}

impl BackgroundThread {
    /// Starts the thread, which looks for something to do at once.
    pub(crate) fn start(name: &str, state: &Arc<State>, steps: impl Steps) -> Result<Self> {
        let signal = Arc::new(Signal::default());
        signal.progress().woken = true;
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn({
                let (signal, state) = (Arc::clone(&signal), Arc::downgrade(state));
                move || {
                    // However the thread ends, nobody waits for it.
                    let _gone = Gone(&signal);
                    work(&signal, &state, &steps);
                }
            })
            .map_err(|source| Error::io("start the background thread", name, source))?;
        Ok(Self { signal, thread: Some(thread) })
    }

    /// What tells it that there is something to do.
    pub(crate) fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.signal))
    }

    /// Waits until nothing is left to do; `tick` is called about every tenth of a second.
    pub(crate) fn wait(&self, mut tick: impl FnMut() -> Result<()>) -> Result<()> {
        let mut progress = self.signal.progress();
        while !progress.gone && (progress.woken || !progress.idle) {
            drop(self.signal.wait(progress, Duration::from_millis(100)));
            tick()?;
            progress = self.signal.progress();
        }
        Ok(())
    }

    /// Tells the thread to end, without waiting for it.
    pub(crate) fn stop(&self) {
        self.signal.stop.store(true, Ordering::Relaxed);
        self.signal.changed.notify_all();
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        self.stop();
        // A task may hold what holds the last engine: a thread does not wait for itself.
        let is_own = |thread: &JoinHandle<()>| thread.thread().id() == std::thread::current().id();
        if let Some(thread) = self.thread.take().filter(|thread| !is_own(thread)) {
            // A panic of the thread is noted among its errors.
            drop(thread.join());
        }
    }
}

impl Waker {
    /// Tells the thread that there is something to do.
    pub(crate) fn wake(&self) {
        self.0.progress().woken = true;
        self.0.changed.notify_all();
    }
}

/// Says that the thread is gone when it is dropped.
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

    /// Waits for a change, so long at most.
    fn wait<'p>(
        &self,
        progress: MutexGuard<'p, Progress>,
        most: Duration,
    ) -> MutexGuard<'p, Progress> {
        let waited = self.changed.wait_timeout(progress, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn work(signal: &Signal, state: &Weak<State>, steps: &dyn Steps) {
    // When something is due though nobody says so.
    let mut next_at = None;
    loop {
        let mut progress = signal.progress();
        while !progress.woken && !signal.stopped() {
            progress.idle = true;
            signal.changed.notify_all();
            // A stop may fall between the check and the wait, and what is due by the clock tells
            // nobody: look again now and then.
            progress = signal.wait(progress, Duration::from_millis(200));
            if state.upgrade().is_none_or(|state| next_at.is_some_and(|at| at <= state.now())) {
                break;
            }
        }
        progress.woken = false;
        progress.idle = false;
        drop(progress);
        if let Some(state) = state.upgrade() {
            steps.begin(&state);
        }
        let mut failures = 0;
        while !signal.stopped() {
            let Some(state) = state.upgrade() else { return };
            let step = || steps.step(&state, &|| signal.stopped());
            match catch_panics(steps.name(), step) {
                Ok(false) => break,
                Ok(true) => failures = 0,
                Err(error) => {
                    failures += 1;
                    if !steps.failed(&state, error) || failures >= TRIES {
                        break;
                    }
                }
            }
        }
        if signal.stopped() {
            return;
        }
        next_at = state.upgrade().and_then(|state| steps.next_at(&state));
    }
}
