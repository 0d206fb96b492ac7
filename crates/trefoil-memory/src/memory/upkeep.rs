//! Memory that works by itself, in the worker of its engine.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use trefoil::{
    Engine,
    admin::BackgroundTask,
    graph::{CentralSentences, Summarizer},
    memory::AskedWrite,
};
use trefoil_core::Result;

use super::{Memory, work::JobBatch};
use crate::{IdGenerator, MaintainOptions, NoProbe, Policy, SourceProbe};
use trefoil_memory_core::extract::{ClaimExtractor, RuleExtractor};

/// The event that tells when memory was last looked after by itself.
const MAINTAINED: &str = "maintained";
/// Jobs that are done before what was written is embedded: a question asked meanwhile finds
/// what is new.
const STEP: usize = 8;

/// What memory works with besides its engine; shared with the worker.
#[derive(Debug)]
pub(super) struct Services {
    pub(super) ids: Arc<IdGenerator>,
    pub(super) extractor: Arc<dyn ClaimExtractor>,
    pub(super) summarizer: Arc<dyn Summarizer>,
    pub(super) probe: Arc<dyn SourceProbe>,
    /// The policy that was read last, by its text: each request asks for it.
    pub(super) policy: Mutex<Option<(String, Policy)>>,
    /// The kinds of jobs of which the last ones failed.
    pub(super) failing: Mutex<BTreeSet<&'static str>>,
    /// When memory is to be looked after next; not known yet, if it is the earliest of times.
    pub(super) next: AtomicI64,
}

impl Services {
    pub(super) fn new(ids: Arc<IdGenerator>) -> Self {
        Self {
            ids,
            extractor: Arc::new(RuleExtractor::default()),
            summarizer: Arc::new(CentralSentences::of_notes()),
            probe: Arc::new(NoProbe),
            policy: Mutex::default(),
            failing: Mutex::default(),
            next: AtomicI64::new(i64::MIN),
        }
    }

    /// The same, for another memory.
    pub(super) fn again(&self) -> Self {
        Self {
            extractor: Arc::clone(&self.extractor),
            summarizer: Arc::clone(&self.summarizer),
            probe: Arc::clone(&self.probe),
            ..Self::new(Arc::clone(&self.ids))
        }
    }
}

impl BackgroundTask for Services {
    fn name(&self) -> &'static str {
        "the upkeep of memory"
    }

    fn run(self: Arc<Self>, engine: Arc<Engine>) -> Result<bool> {
        Memory { engine, services: self }.keep_up()
    }

    fn write_for(self: Arc<Self>, engine: Arc<Engine>, asked: &AskedWrite<'_>) -> Result<bool> {
        Memory { engine, services: self }.perform_for(asked)?;
        Ok(true)
    }

    fn next_at(&self) -> Option<i64> {
        let next = self.next.load(Ordering::Relaxed);
        (next != i64::MAX).then_some(next)
    }
}

impl Memory {
    /// Tells of jobs that failed, for as long as none of their kind has succeeded since.
    fn tell(&self, taken: JobBatch) {
        let mut failing = self.services.failing.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.failed.into_iter().next_back() {
            Some(last) => {
                failing.insert(taken.kind);
                self.engine.memory().note_failure(last);
            }
            None if failing.remove(taken.kind) && failing.is_empty() => {
                self.engine.memory().note_recovery();
            }
            None => {}
        }
    }

    /// Does a little of what there is to do by itself; false if nothing is.
    fn keep_up(&self) -> Result<bool> {
        let upkeep = *self.engine.memory().upkeep();
        if upkeep.learn
            && let Some(taken) = self.queue().step(STEP)?
        {
            self.tell(taken);
            return Ok(true);
        }
        let Some(every) = upkeep.maintain_every else {
            self.services.next.store(i64::MAX, Ordering::Relaxed);
            return Ok(false);
        };
        let every = i64::try_from(every.as_secs()).unwrap_or(i64::MAX);
        let last = self
            .read("read when memory was looked after", |read| read.last_event(None, MAINTAINED))?
            .map(|event| event.ts);
        let now = self.engine.memory().now();
        let next = last.map_or(now, |last| last.saturating_add(every));
        if next > now {
            self.services.next.store(next, Ordering::Relaxed);
            return Ok(false);
        }
        // One that fails is tried again at its next time, not at once.
        self.services.next.store(now.saturating_add(every.max(1)), Ordering::Relaxed);
        self.write("note that memory was looked after", |write| {
            write.add_event(MAINTAINED, None, "{}")
        })?;
        self.maintain(self.services.probe.as_ref(), &MaintainOptions::default())?;
        Ok(true)
    }
}
