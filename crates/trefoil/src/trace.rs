use std::time::{Duration, Instant};

use trefoil_core::{Stage, StageMetric};

/// Times the stages of one search.
#[derive(Debug)]
pub(crate) struct Trace {
    start: Instant,
    lap: Instant,
    stages: Vec<StageMetric>,
}

impl Trace {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Self { start: now, lap: now, stages: Vec::new() }
    }

    /// Ends the stage that began at the last call.
    pub(crate) fn lap(&mut self, stage: Stage, items_in: usize, items_out: usize) {
        let duration = self.lap.elapsed();
        self.record(stage, duration, items_in, items_out);
        self.lap = Instant::now();
    }

    /// Adds a stage that was timed elsewhere, such as a retriever beside others.
    pub(crate) fn record(
        &mut self,
        stage: Stage,
        duration: Duration,
        items_in: usize,
        items_out: usize,
    ) {
        self.stages.push(StageMetric { stage, duration: millis(duration), items_in, items_out });
    }

    /// Milliseconds since the start, and the stages in order.
    pub(crate) fn finish(self) -> (f64, Vec<StageMetric>) {
        (millis(self.start.elapsed()), self.stages)
    }

    /// Begins the next stage here.
    pub(crate) fn skip(&mut self) {
        self.lap = Instant::now();
    }
}

/// A duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
