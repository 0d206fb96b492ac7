//! How a search went: what did not run as asked, what each retriever did, how long each stage took.

use std::time::{Duration, Instant};

use trefoil_core::{Degraded, FirstPage, RetrieverMetrics, Stage, StageMetric};

/// What one search tells of itself.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    /// What did not run as asked, and why.
    pub(crate) degraded: Vec<Degraded>,
    /// What each retriever did.
    pub(crate) metrics: RetrieverMetrics,
    /// What later pages do again.
    pub(crate) first: FirstPage,
    start: Instant,
    lap: Instant,
    stages: Vec<StageMetric>,
}

impl Diagnostics {
    /// Begins the first stage.
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Self {
            degraded: Vec::new(),
            metrics: RetrieverMetrics::default(),
            first: FirstPage::default(),
            start: now,
            lap: now,
            stages: Vec::new(),
        }
    }

    /// Notes that a stage did not run as asked.
    pub(crate) fn degrade(&mut self, stage: Stage, reason: String) {
        self.degraded.push(Degraded { stage, reason });
    }

    /// Ends the stage that began at the last call.
    pub(crate) fn lap(&mut self, stage: Stage, items_in: usize, items_out: usize) {
        let duration = self.lap.elapsed();
        self.record(stage, duration, items_in, items_out);
        self.lap = Instant::now();
    }

    /// Adds a stage that was timed elsewhere, such as one of several that ran at the same time.
    pub(crate) fn record(
        &mut self,
        stage: Stage,
        duration: Duration,
        items_in: usize,
        items_out: usize,
    ) {
        self.stages.push(StageMetric { stage, duration: millis(duration), items_in, items_out });
    }

    /// The stages that have ended since the first `told`.
    pub(crate) fn ended(&self, told: usize) -> &[StageMetric] {
        self.stages.get(told..).unwrap_or_default()
    }

    /// Begins the next stage here.
    pub(crate) fn skip(&mut self) {
        self.lap = Instant::now();
    }

    /// Milliseconds since the start, and the stages in order.
    pub(crate) fn finish(&mut self) -> (f64, Vec<StageMetric>) {
        (millis(self.start.elapsed()), std::mem::take(&mut self.stages))
    }
}

/// A duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
