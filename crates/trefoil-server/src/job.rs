//! Long work: one job after the other, each with what it tells on its way.

use std::{
    collections::VecDeque,
    ops::ControlFlow,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use trefoil::{
    Error, Ingested, Progress,
    admin::{CheckResult, Clock, EngineStats, Snapshot, Verification},
};
use trefoil_eval::Report;
use trefoil_memory::MaintenanceReport;

use crate::problem::{Problem, ProblemView};

/// Jobs that wait at most.
const WAITING: usize = 16;
/// Jobs that are remembered at most; those that ended first are forgotten first.
const KEPT: usize = 100;
/// Events of a job that are kept.
const EVENTS: usize = 256;

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum State {
    /// It waits for those before it.
    Waiting,
    /// It runs.
    Running,
    /// It is done.
    Done,
    /// It ended with a problem.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl State {
    const ALL: [Self; 5] =
        [Self::Waiting, Self::Running, Self::Done, Self::Failed, Self::Cancelled];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    fn has_ended(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

/// How far a job has come: in files, chunks or bytes, as its kind says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Done {
    pub(crate) done: u64,
    /// 0 as long as nobody knows.
    pub(crate) total: u64,
}

/// What came of a job, by its kind.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum JobResult {
    /// Of `ingest`.
    Ingested(Ingested),
    /// Of `reindex`.
    Stats(Box<EngineStats>),
    /// Of `export`.
    Snapshot(Snapshot),
    /// Of `verify`.
    Verification(Verification),
    /// Of `doctor`.
    Health(Vec<CheckResult>),
    /// Of `maintain`.
    Maintenance(MaintenanceReport),
    /// Of `eval`.
    Report(Box<Report>),
}

/// A job as it is told.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct JobView {
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    /// The index that it is about.
    pub(crate) index: String,
    pub(crate) state: State,
    pub(crate) created: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Timestamp>,
    pub(crate) progress: Done,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<JobResult>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ProblemView<'_>>")]
    pub(crate) problem: Option<Value>,
}

/// Something that a job tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobEvent {
    pub(crate) id: u64,
    pub(crate) name: &'static str,
    pub(crate) data: String,
}

/// A job.
#[derive(Debug)]
pub(crate) struct Job {
    told: Mutex<(JobView, VecDeque<JobEvent>)>,
    /// The number of the last event.
    last: watch::Sender<u64>,
    cancelled: AtomicBool,
    clock: Arc<dyn Clock>,
}

/// What a job does.
pub(crate) type Work = Box<dyn FnOnce(&Job) -> Result<JobResult, Problem> + Send>;

impl Job {
    fn told(&self) -> MutexGuard<'_, (JobView, VecDeque<JobEvent>)> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn view(&self) -> JobView {
        self.told().0.clone()
    }

    /// Tells how far it has come, and hears whether it goes on.
    pub(crate) fn tell(&self, Progress { done, total }: Progress) -> ControlFlow<()> {
        let progress = Done { done, total };
        self.change("progress", |view| {
            let is_new = view.progress != progress;
            view.progress = progress;
            is_new.then(|| serde_json::to_string(&progress))
        });
        if self.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Lets it end at the next safe point; one that waits ends at once.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        if self.view().state == State::Waiting {
            self.end(State::Cancelled, Ok(None));
        }
    }

    fn begin(&self) -> bool {
        let now = self.now();
        let mut told = self.told();
        let begins = told.0.state == State::Waiting;
        if begins {
            (told.0.state, told.0.started) = (State::Running, Some(now));
        }
        begins
    }

    fn end(&self, state: State, outcome: Result<Option<JobResult>, Problem>) {
        let now = self.now();
        self.change(state.name(), |view| {
            if view.state.has_ended() {
                return None;
            }
            (view.state, view.ended) = (state, Some(now));
            match outcome {
                Ok(result) => view.result = result,
                Err(problem) => {
                    let instance = format!("/v1/jobs/{}", view.id);
                    view.problem = Some(problem.as_value(&instance));
                }
            }
            Some(serde_json::to_string(view))
        });
    }

    /// Changes what is told of it, and tells an event if the change has one.
    fn change(
        &self,
        name: &'static str,
        change: impl FnOnce(&mut JobView) -> Option<serde_json::Result<String>>,
    ) {
        let mut told = self.told();
        let (view, events) = &mut *told;
        let Some(Ok(data)) = change(view) else { return };
        let id = events.back().map_or(1, |last| last.id + 1);
        if events.len() == EVENTS {
            events.pop_front();
        }
        events.push_back(JobEvent { id, name, data });
        drop(told);
        self.last.send_replace(id);
    }

    /// Waits for the event after one that was seen; nothing after the last of a job that ended.
    /// Events that are not kept any more are passed over.
    pub(crate) async fn after(&self, seen: u64) -> Option<JobEvent> {
        let mut last = self.last.subscribe();
        loop {
            {
                let told = self.told();
                if let Some(event) = told.1.iter().find(|event| event.id > seen) {
                    return Some(event.clone());
                }
                if told.0.state.has_ended() {
                    return None;
                }
            }
            last.changed().await.ok()?;
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.clock.now()).unwrap_or(Timestamp::MAX)
    }
}

type Queue = mpsc::SyncSender<(Arc<Job>, Work)>;

/// The jobs of a server.
#[derive(Debug)]
pub(crate) struct Jobs {
    all: Mutex<VecDeque<Arc<Job>>>,
    queue: Mutex<Option<Queue>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    clock: Arc<dyn Clock>,
}

impl Jobs {
    pub(crate) fn start(clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let (queue, jobs) = mpsc::sync_channel::<(Arc<Job>, Work)>(WAITING);
        let run = move || {
            for (job, work) in jobs {
                if job.begin() {
                    run(&job, work);
                }
            }
        };
        let thread = std::thread::Builder::new().name("trefoil-jobs".to_owned()).spawn(run)?;
        let (queue, thread) = (Mutex::new(Some(queue)), Mutex::new(Some(thread)));
        Ok(Self { all: Mutex::default(), queue, thread, clock })
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<Arc<Job>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a job run after those before it.
    ///
    /// # Errors
    /// `overloaded` if too many wait, `not_ready` if the server stops.
    pub(crate) fn add(
        &self,
        kind: &'static str,
        index: &str,
        work: Work,
    ) -> Result<Arc<Job>, Problem> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let stopping = || Problem::own("not_ready", "the server is stopping");
        let queue = queue.as_ref().ok_or_else(stopping)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|_| Problem::own("internal", "the system has no random numbers"))?;
        let view = JobView {
            id: format!("job_{:016x}", u64::from_le_bytes(random)),
            kind,
            index: index.to_owned(),
            state: State::Waiting,
            created: Timestamp::from_second(self.clock.now()).unwrap_or(Timestamp::MAX),
            started: None,
            ended: None,
            progress: Done::default(),
            result: None,
            problem: None,
        };
        let job = Arc::new(Job {
            told: Mutex::new((view, VecDeque::new())),
            last: watch::Sender::new(0),
            cancelled: AtomicBool::new(false),
            clock: Arc::clone(&self.clock),
        });
        let full = |_| Problem::own("overloaded", "too many jobs wait; try again later");
        queue.try_send((Arc::clone(&job), work)).map_err(full)?;
        let mut all = self.all();
        if all.len() >= KEPT
            && let Some(place) = all.iter().position(|job| job.view().state.has_ended())
        {
            all.remove(place);
        }
        all.push_back(Arc::clone(&job));
        Ok(job)
    }

    /// Those that are remembered, the last first.
    pub(crate) fn list(&self) -> Vec<Arc<Job>> {
        self.all().iter().rev().cloned().collect()
    }

    /// How many there are in each state.
    pub(crate) fn counts(&self) -> [(State, usize); 5] {
        let states: Vec<State> = self.all().iter().map(|job| job.view().state).collect();
        let count = |state| states.iter().filter(|other| **other == state).count();
        State::ALL.map(|state| (state, count(state)))
    }

    /// Takes no more, and lets those that there are end at their next safe point.
    pub(crate) fn stop(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        for job in self.list() {
            job.cancel();
        }
    }

    /// Waits until the last one has ended.
    pub(crate) fn wait(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            drop(thread.join());
        }
    }
}

fn run(job: &Job, work: Work) {
    let outcome = trefoil::admin::catch_panics("run a job", || Ok::<_, Error>(work(job)));
    match outcome.unwrap_or_else(|error| Err(Problem::from(error))) {
        Err(problem) if problem.code == "cancelled" => job.end(State::Cancelled, Ok(None)),
        // What was cancelled at its very end is done.
        Ok(result) => job.end(State::Done, Ok(Some(result))),
        Err(problem) => job.end(State::Failed, Err(problem)),
    }
}

#[cfg(test)]
mod tests {
    use trefoil::{admin::SystemClock, index::Seq};

    use super::*;

    fn jobs() -> Jobs {
        Jobs::start(Arc::new(SystemClock)).unwrap()
    }

    fn add(
        jobs: &Jobs,
        kind: &'static str,
        work: impl FnOnce(&Job) -> Result<JobResult, Problem> + Send + 'static,
    ) -> Result<Arc<Job>, Problem> {
        jobs.add(kind, "notes", Box::new(work))
    }

    fn nothing_wrong() -> JobResult {
        JobResult::Verification(Verification {
            seq: Seq::default(),
            rows: Vec::new(),
            lagging: Vec::new(),
            findings: Vec::new(),
        })
    }

    async fn ended(job: &Job) -> Vec<JobEvent> {
        let (mut seen, mut events) = (0, Vec::new());
        while let Some(event) = job.after(seen).await {
            seen = event.id;
            events.push(event);
        }
        events
    }

    #[tokio::test]
    async fn a_job_tells_its_progress_and_its_result_last() {
        let jobs = jobs();
        let job = add(&jobs, "ingest", |job| {
            for done in 0..300 {
                assert_eq!(job.tell(Progress { done, total: 300 }), ControlFlow::Continue(()));
            }
            Ok(nothing_wrong())
        });
        let job = job.unwrap();
        ended(&job).await;
        // Told again from what is kept.
        let events = ended(&job).await;
        assert_eq!((events.len(), events[0].id), (EVENTS, 302 - EVENTS as u64));
        let last = events.last().unwrap();
        assert_eq!(last.name, "done");
        assert_eq!(serde_json::from_str::<Value>(&last.data).unwrap()["result"]["sound"], true);
        assert_eq!(job.after(last.id - 1).await.as_ref(), Some(last));
        jobs.stop();
        jobs.wait();
    }

    #[tokio::test]
    async fn jobs_run_in_their_order_and_are_cancelled_at_a_safe_point() {
        let jobs = jobs();
        let (begun, begins) = mpsc::channel();
        let first = add(&jobs, "ingest", move |job| {
            begun.send(()).unwrap();
            while job.tell(Progress::default()).is_continue() {
                std::thread::yield_now();
            }
            Err(Error::Cancelled.into())
        });
        let second = add(&jobs, "verify", |_| panic!("it was cancelled"));
        let third = add(&jobs, "verify", |_| panic!("this is what is tested"));
        let [first, second, third] = [first, second, third].map(Result::unwrap);
        begins.recv().unwrap();
        assert_eq!((first.view().state, second.view().state), (State::Running, State::Waiting));
        second.cancel();
        assert_eq!(second.view().state, State::Cancelled);
        first.cancel();
        assert_eq!(ended(&first).await.last().unwrap().name, "cancelled");
        assert_eq!(ended(&third).await.last().unwrap().name, "failed");
        assert_eq!(third.view().problem.unwrap()["code"], "panicked");
        jobs.stop();
        assert_eq!(add(&jobs, "verify", |_| Ok(nothing_wrong())).unwrap_err().code, "not_ready");
        jobs.wait();
    }

    #[test]
    fn no_more_jobs_wait_than_may() {
        let jobs = jobs();
        let (release, wait) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        add(&jobs, "verify", move |_| {
            begun.send(()).unwrap();
            _ = wait.recv();
            Ok(nothing_wrong())
        })
        .unwrap();
        begins.recv().unwrap();
        for _ in 0..WAITING {
            add(&jobs, "verify", |_| Ok(nothing_wrong())).unwrap();
        }
        let refused = add(&jobs, "verify", |_| Ok(nothing_wrong())).unwrap_err();
        assert_eq!((refused.code, refused.retry_after), ("overloaded", Some(1)));
        drop(release);
        jobs.stop();
        jobs.wait();
    }
}
