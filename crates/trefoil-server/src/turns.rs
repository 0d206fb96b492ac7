//! Work that waits for its turn: so much runs at a time, and what waits is begun in order.
//!
//! The thread that ends one begins the next. So a server that is asked all the time goes from one
//! to the next without waking a thread, on few threads, whose memory is warm.

use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use tokio::{sync::oneshot, time::timeout};

use crate::{problem::Problem, settings::Limits};

/// So much runs, and so much waits for its turn.
#[derive(Debug)]
pub(crate) struct Turns {
    line: Arc<Line>,
    most_waiting: usize,
    longest: Duration,
}

/// A turn. It lasts until nobody holds it.
#[derive(Debug)]
pub(crate) struct Turn(Option<Arc<Line>>);

type Work = Box<dyn FnOnce(Arc<Turn>) + Send>;

#[derive(Debug)]
struct Line(Mutex<Places>);

struct Places {
    /// None while something waits.
    free: usize,
    waiting: VecDeque<(u64, Work)>,
    last: u64,
}

impl std::fmt::Debug for Places {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let waiting = self.waiting.len();
        f.debug_struct("Places")
            .field("free", &self.free)
            .field("waiting", &waiting)
            .finish_non_exhaustive()
    }
}

impl Turns {
    pub(crate) fn new(limits: &Limits) -> Self {
        let (free, waiting) = (limits.searches, VecDeque::new());
        Self {
            line: Arc::new(Line(Mutex::new(Places { free, waiting, last: 0 }))),
            most_waiting: limits.waiting,
            longest: Duration::from_secs(limits.waiting_seconds),
        }
    }

    /// How much waits.
    pub(crate) fn waiting(&self) -> usize {
        self.line.places().waiting.len()
    }

    /// Does `work` on a thread for what may wait, once it has its turn. It is given up while it
    /// waits, if nobody wants its answer any more; begun, it goes on.
    ///
    /// # Errors
    /// `overloaded` where too much waits, or it would wait too long; `deadline` where it takes
    /// longer than that, `internal` where it panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        deadline: Duration,
        work: impl FnOnce(Arc<Turn>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (answer, mut answered) = oneshot::channel();
        let begun: Arc<OnceLock<Instant>> = Arc::default();
        let work = {
            let begun = Arc::clone(&begun);
            Box::new(move |turn| {
                begun.get_or_init(Instant::now);
                match catch_unwind(AssertUnwindSafe(|| work(turn))) {
                    // Nobody may want it any more.
                    Ok(value) => drop(answer.send(value)),
                    Err(payload) => log(payload.as_ref()),
                }
            })
        };
        let overloaded = || Problem::own("overloaded", "too many searches wait; try again later");
        let place = self.line.enter(work, self.most_waiting).ok_or_else(overloaded)?;
        let too_late = Instant::now() + self.longest;
        loop {
            let now = Instant::now();
            let until = match begun.get() {
                Some(&begun) => begun + deadline,
                None => too_late.min(now + deadline),
            };
            match timeout(until.saturating_duration_since(now), &mut answered).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(_)) => return Err(failed()),
                Err(_) => {}
            }
            match begun.get() {
                Some(begun) if begun.elapsed() >= deadline => return Err(late(deadline)),
                None if Instant::now() >= too_late && place.leave() => return Err(overloaded()),
                _ => {}
            }
        }
    }
}

/// Does `work` at once, on a thread for what may wait.
///
/// # Errors
/// `deadline` where it takes longer than that, `internal` where it panics.
pub(crate) async fn without_turn<T: Send + 'static>(
    deadline: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    match timeout(deadline, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            if let Ok(payload) = error.try_into_panic() {
                log(payload.as_ref());
            }
            Err(failed())
        }
        Err(_) => Err(late(deadline)),
    }
}

fn late(deadline: Duration) -> Problem {
    let seconds = deadline.as_secs();
    Problem::own("deadline", format!("it took more than {seconds} seconds; ask for less"))
}

fn failed() -> Problem {
    Problem::own("internal", "the server has failed; its log says how")
}

fn log(panic: &(dyn Any + Send)) {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!("a call has panicked: {}", text.unwrap_or("it does not say why"));
}

impl Line {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins work, or lets it wait; nothing where too much waits.
    fn enter(self: &Arc<Self>, work: Work, most_waiting: usize) -> Option<Place> {
        let mut places = self.places();
        places.last += 1;
        let number = places.last;
        if places.free > 0 {
            places.free -= 1;
            drop(places);
            self.begin(work);
        } else if places.waiting.len() < most_waiting {
            places.waiting.push_back((number, work));
        } else {
            return None;
        }
        Some(Place { line: Arc::clone(self), number })
    }

    fn begin(self: &Arc<Self>, work: Work) {
        let line = Arc::clone(self);
        drop(tokio::task::spawn_blocking(move || line.work_off(work)));
    }

    /// Does `work` and then what waits, on this thread.
    fn work_off(self: Arc<Self>, mut work: Work) {
        loop {
            let turn = Arc::new(Turn(Some(Arc::clone(&self))));
            work(Arc::clone(&turn));
            // A stream may go on with it.
            let Some(mut turn) = Arc::into_inner(turn) else { return };
            turn.0 = None;
            match self.next() {
                Some(next) => work = next,
                None => return,
            }
        }
    }

    /// What has waited longest; without any, a turn is free.
    fn next(&self) -> Option<Work> {
        let mut places = self.places();
        let next = places.waiting.pop_front();
        if next.is_none() {
            places.free += 1;
        }
        next.map(|(_, work)| work)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(line) = self.0.take()
            && let Some(next) = line.next()
        {
            line.begin(next);
        }
    }
}

/// A place in the line, which is left when it is dropped.
struct Place {
    line: Arc<Line>,
    number: u64,
}

impl Place {
    /// Whether it was still there to be left.
    fn leave(&self) -> bool {
        let mut places = self.line.places();
        let place = places.waiting.binary_search_by_key(&self.number, |(number, _)| *number);
        let left = place.ok().and_then(|place| places.waiting.remove(place));
        drop(places);
        left.is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, mpsc};

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn turns(searches: usize, waiting: usize, waiting_seconds: u64) -> Arc<Turns> {
        Arc::new(Turns::new(&Limits { searches, waiting, waiting_seconds, ..Limits::default() }))
    }

    /// Work that says that it has begun, and ends when it is told to.
    fn held(
        turns: &Arc<Turns>,
    ) -> (mpsc::Sender<()>, tokio::task::JoinHandle<Result<(), Problem>>) {
        let (begun, has_begun) = mpsc::channel();
        let (end, ends) = mpsc::channel();
        let own = Arc::clone(turns);
        let running = tokio::spawn(async move {
            own.run(LONG, move |_| {
                begun.send(()).unwrap();
                ends.recv().unwrap();
            })
            .await
        });
        tokio::task::block_in_place(|| has_begun.recv().unwrap());
        (end, running)
    }

    async fn until_one_waits(turns: &Turns) {
        while turns.waiting() == 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn searches_wait_for_their_turn_and_no_more_than_may() {
        let turns = turns(1, 1, 60);
        let (end, running) = held(&turns);
        let own = Arc::clone(&turns);
        let waits = tokio::spawn(async move { own.run(LONG, |_| 7).await });
        until_one_waits(&turns).await;
        let refused = turns.run(LONG, |_| ()).await.unwrap_err();
        assert_eq!((refused.code, refused.retry_after), ("overloaded", Some(1)));
        end.send(()).unwrap();
        running.await.unwrap().unwrap();
        assert_eq!(waits.await.unwrap().unwrap(), 7);
        assert_eq!(turns.waiting(), 0);
        assert_eq!(turns.run(LONG, |_| 8).await.unwrap(), 8, "the turn is free again");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_waits_too_long_and_who_has_gone_waits_no_longer() {
        let turns = turns(1, 9, 0);
        let (end, running) = held(&turns);
        let refused = turns.run(LONG, |_| ()).await.unwrap_err();
        assert_eq!((refused.code, turns.waiting()), ("overloaded", 0));
        end.send(()).unwrap();
        running.await.unwrap().unwrap();

        let turns = self::turns(1, 9, 60);
        let (end, running) = held(&turns);
        let own = Arc::clone(&turns);
        let gone = tokio::spawn(async move { own.run(LONG, |_| ()).await });
        until_one_waits(&turns).await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        assert_eq!(turns.waiting(), 0);
        end.send(()).unwrap();
        running.await.unwrap().unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_takes_too_long_or_panics_is_told_and_gives_its_turn_back() {
        let turns = turns(1, 9, 60);
        let (end, ends) = mpsc::channel::<()>();
        let late = turns.run(Duration::ZERO, move |_| ends.recv().unwrap()).await;
        assert_eq!(late.unwrap_err().code, "deadline");
        end.send(()).unwrap();
        let failed = turns.run::<()>(LONG, |_| panic!("on purpose")).await;
        assert_eq!(failed.unwrap_err().code, "internal");
        assert_eq!(turns.run(LONG, |_| 1).await.unwrap(), 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_turn_that_is_kept_ends_when_it_is_dropped() {
        let turns = turns(1, 9, 60);
        let kept = turns.run(LONG, |turn| turn).await.unwrap();
        let own = Arc::clone(&turns);
        let waits = tokio::spawn(async move { own.run(LONG, |_| 5).await });
        until_one_waits(&turns).await;
        drop(kept);
        assert_eq!(waits.await.unwrap().unwrap(), 5);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn as_many_run_at_once_as_there_are_turns() {
        let turns = turns(2, 9, 60);
        let barrier = Arc::new(Barrier::new(2));
        let both = [0, 1].map(|_| {
            let (turns, barrier) = (Arc::clone(&turns), Arc::clone(&barrier));
            tokio::spawn(async move { turns.run(LONG, move |_| barrier.wait()).await.is_ok() })
        });
        for one in both {
            assert!(one.await.unwrap());
        }
    }
}
