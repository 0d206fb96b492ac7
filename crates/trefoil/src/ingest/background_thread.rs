//! A thread that does what is left to do whenever it is woken.

use std::{
    fmt::Debug,
    ops::ControlFlow,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use trefoil_core::{Error, Result};

use crate::{background::catch_panics, state::State};

/// After so many errors in a row that are worth another try, it waits to be woken.
const TRIES: usize = 3;

/// Nobody has woken the thread for so long: what was going on is over.
const REST: Duration = Duration::from_secs(1);
/// What waits for that waits no longer than this, or, where it takes long, than so many times as
/// long as it took last.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
const SHARE: u32 = 10;

/// What a thread does, in small steps.
pub(crate) trait Steps: Debug + Send + 'static {
    /// What errors call it.
    fn name(&self) -> &'static str;

    /// It was woken and is about to begin.
    fn begin(&self, _: &State) {}

    /// Does a little; false if nothing is left to do. A long step asks often whether the thread is
    /// stopped. What is better done once than often waits until the thread has rested: it is
    /// called again then.
    fn step(&self, state: &Arc<State>, thread: &ThreadStatus<'_>) -> Result<bool>;

    /// Notes what a step failed of; true if the next may go on.
    fn failed(&self, state: &State, error: Error) -> bool;

    /// When there is something to do although nobody wakes it, in seconds since 1970, that was not
    /// due yet at `looked_at`: it may be by now.
    fn next_at(&self, state: &State, looked_at: i64) -> Option<i64>;

    /// What it waits for that others do, if it does.
    fn awaited(&self, _: &State) -> Option<Awaited> {
        None
    }
}

/// What a thread waits for that others do, without being told when it is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited {
    /// It is looked for so often.
    pub(crate) every: Duration,
    /// Whether it belongs to what is left to do.
    pub(crate) is_left_to_do: bool,
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

/// What a step may ask of the thread that it runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadStatus<'s> {
    signal: &'s Signal,
    has_rested: bool,
    is_called: bool,
}

impl ThreadStatus<'_> {
    /// True if the thread is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.signal.stopped()
    }

    /// True if nobody woke the thread for a second, if that has not been so for a minute or more,
    /// or if somebody waits for all that is left to do.
    pub(crate) const fn has_rested(&self) -> bool {
        self.has_rested
    }

    /// False if it only looks for what it [awaits](Steps::awaited): nothing was written that it
    /// has not looked at.
    pub(crate) const fn is_called(&self) -> bool {
        self.is_called
    }
}

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
    /// When it was told so last.
    woken_at: Option<Instant>,
    /// What waits for the thread to rest has been looked at since it was woken last.
    rested: bool,
    /// When it was looked at last, and how long that took.
    rested_at: Option<(Instant, Duration)>,
    /// How many wait for all that is left to do.
    waiting: usize,
    /// What the thread does.
    activity: Activity,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Activity {
    #[default]
    Working,
    Waiting,
    /// It waits for what others do, and what it does itself is not done before.
    Awaiting,
    /// It has ended.
    Gone,
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
    pub(crate) fn wait(
        &self,
        mut tick: impl FnMut() -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let _waiting = Waiting::begin(&self.signal);
        let mut progress = self.signal.progress();
        while progress.is_busy() {
            drop(self.signal.wait(progress, Duration::from_millis(100)));
            if tick()?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            progress = self.signal.progress();
        }
        Ok(ControlFlow::Continue(()))
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
        let mut progress = self.0.progress();
        progress.woken = true;
        progress.woken_at = Some(Instant::now());
        drop(progress);
        self.0.changed.notify_all();
    }
}

/// Counts who waits for the thread until it is dropped.
struct Waiting<'s>(&'s Signal);

impl<'s> Waiting<'s> {
    fn begin(signal: &'s Signal) -> Self {
        signal.progress().waiting += 1;
        signal.changed.notify_all();
        Self(signal)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.progress().waiting -= 1;
    }
}

/// Says that the thread is gone when it is dropped.
struct Gone<'s>(&'s Signal);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.progress().activity = Activity::Gone;
        self.0.changed.notify_all();
    }
}

impl Progress {
    fn has_rested(&self) -> bool {
        let is_overdue =
            |(at, took): (Instant, Duration)| at.elapsed() >= LONGEST_WAIT.max(took * SHARE);
        self.waiting > 0
            || self.woken_at.is_none_or(|at| at.elapsed() >= REST)
            || self.rested_at.is_some_and(is_overdue)
    }

    /// True if the thread is at work, or has something left to do.
    fn is_busy(&self) -> bool {
        match self.activity {
            Activity::Gone => false,
            Activity::Working | Activity::Awaiting => true,
            Activity::Waiting => self.woken || !self.rested,
        }
    }

    /// True if there is something to look at.
    fn is_called(&self) -> bool {
        self.woken || (!self.rested && self.has_rested())
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
    // When something is due though nobody says so, and what others do.
    let (mut next_at, mut awaited): (Option<i64>, Option<Awaited>) = (None, None);
    // Since when it has been looked at what is due.
    let mut looked_at = i64::MIN;
    loop {
        let mut progress = signal.progress();
        let rests_from = Instant::now();
        let mut is_called = true;
        while !progress.is_called() && !signal.stopped() {
            let is_left = awaited.is_some_and(|awaited| awaited.is_left_to_do);
            progress.activity = if is_left { Activity::Awaiting } else { Activity::Waiting };
            signal.changed.notify_all();
            // A stop may fall between the check and the wait, and what is due by the clock tells
            // nobody: look again now and then.
            let left = awaited.map(|awaited| awaited.every.saturating_sub(rests_from.elapsed()));
            let most = Duration::from_millis(200);
            progress = signal.wait(progress, left.unwrap_or(most).min(most));
            if state.upgrade().is_none_or(|state| next_at.is_some_and(|at| at <= state.now())) {
                break;
            }
            if awaited.is_some_and(|awaited| rests_from.elapsed() >= awaited.every) {
                is_called = progress.is_called();
                break;
            }
        }
        progress.woken = false;
        progress.activity = Activity::Working;
        progress.rested = progress.has_rested();
        let thread = ThreadStatus { signal, has_rested: progress.rested, is_called };
        drop(progress);
        let began = Instant::now();
        if let Some(state) = state.upgrade().filter(|_| is_called) {
            looked_at = state.now();
            steps.begin(&state);
        }
        let mut failures = 0;
        while !signal.stopped() {
            let Some(state) = state.upgrade() else { return };
            let step = || steps.step(&state, &thread);
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
        let Some(state) = state.upgrade() else { return };
        (next_at, awaited) = (steps.next_at(&state, looked_at), steps.awaited(&state));
        if thread.has_rested && awaited.is_none() {
            signal.progress().rested_at = Some((Instant::now(), began.elapsed()));
        }
    }
}
