//! Counts and times, as `OpenMetrics`. Labels are from closed sets: routes of the table, stages,
//! names of indexes, tools, codes of problems.

use std::{
    fmt,
    sync::atomic::{AtomicI64, AtomicU64},
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use trefoil::admin::EngineStats;

use crate::job::State;

/// From a millisecond to a quarter of a minute.
const SECONDS: [f64; 11] = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 4.0, 15.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Requested {
    route: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStage {
    stage: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfIndex {
    index: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRetriever {
    index: String,
    retriever: &'static str,
}

#[cfg(feature = "mcp")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Called {
    tool: &'static str,
    outcome: &'static str,
}

/// What an index holds, and how far it is behind.
#[derive(Debug)]
pub(crate) struct Sizes {
    index: String,
    documents: usize,
    /// Passages that wait for their vectors.
    without_vector: usize,
    /// Passages that came or went since the graph was frozen.
    graph_lag: u64,
}

impl Sizes {
    pub(crate) fn new(index: String, stats: &EngineStats) -> Self {
        let (jobs, graph_lag) = (stats.store.jobs, stats.graph_lag);
        let without_vector = jobs.queued + jobs.running;
        Self { index, documents: stats.store.files, without_vector, graph_lag }
    }
}

type Times<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of one server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Requested, Counter<u64, AtomicU64>>,
    seconds: Histogram,
    stages: Times<OfStage>,
    degraded: Family<OfStage, Counter<u64, AtomicU64>>,
    failures: Counter<u64, AtomicU64>,
    waiting: Gauge<i64, AtomicI64>,
    documents: Family<OfIndex, Gauge<i64, AtomicI64>>,
    lag: Family<OfRetriever, Gauge<i64, AtomicI64>>,
    jobs: Family<OfState, Gauge<i64, AtomicI64>>,
    #[cfg(feature = "mcp")]
    calls: Family<Called, Counter<u64, AtomicU64>>,
}

fn histogram() -> Histogram {
    Histogram::new(SECONDS)
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let metrics = Self {
            registry: Registry::with_prefix("trefoil"),
            requests: Family::default(),
            seconds: histogram(),
            stages: Family::new_with_constructor(histogram),
            degraded: Family::default(),
            failures: Counter::default(),
            waiting: Gauge::default(),
            documents: Family::default(),
            lag: Family::default(),
            jobs: Family::default(),
            #[cfg(feature = "mcp")]
            calls: Family::default(),
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register("http_requests", "Requests by route and status", self.requests.clone());
        registry.register_with_unit(
            "http",
            "How long requests take",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register_with_unit(
            "search",
            "How long stages of searches take",
            Unit::Seconds,
            self.stages.clone(),
        );
        registry.register("degraded", "Stages that did not run as asked", self.degraded.clone());
        registry.register("auth_failures", "Failed authentications", self.failures.clone());
        registry.register("waiting", "Searches that wait for their turn", self.waiting.clone());
        registry.register("documents", "Documents by index", self.documents.clone());
        registry.register("lag", "Passages that a retriever is behind", self.lag.clone());
        registry.register("jobs", "Jobs by state, those that are remembered", self.jobs.clone());
        #[cfg(feature = "mcp")]
        registry.register("mcp_calls", "Calls of tools by outcome", self.calls.clone());
        self
    }

    /// Notes a request that was answered.
    pub(crate) fn answered(&self, route: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&Requested { route, status }).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    /// Notes a search.
    pub(crate) fn searched(&self, found: &trefoil::SearchResult) {
        for stage in &found.stages {
            let of = OfStage { stage: stage.stage.to_string() };
            self.stages.get_or_create(&of).observe(stage.duration / 1_000.0);
        }
        for degraded in &found.degraded {
            self.degraded.get_or_create(&OfStage { stage: degraded.stage.to_string() }).inc();
        }
    }

    /// Notes a call of a tool, with `ok` or the code of its problem.
    #[cfg(feature = "mcp")]
    pub(crate) fn called(&self, tool: &'static str, outcome: &'static str) {
        self.calls.get_or_create(&Called { tool, outcome }).inc();
    }

    /// Notes a failed authentication.
    pub(crate) fn refused(&self) {
        self.failures.inc();
    }

    /// All of them, with what is measured when they are asked for.
    pub(crate) fn text(&self, waiting: usize, sizes: &[Sizes], jobs: &[(State, usize)]) -> String {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.waiting.set(count(waiting));
        for (state, jobs) in jobs {
            self.jobs.get_or_create(&OfState { state: state.name() }).set(count(*jobs));
        }
        // What another token saw is not for this one.
        self.documents.clear();
        self.lag.clear();
        for Sizes { index, documents, without_vector, graph_lag } in sizes {
            let index = || index.clone();
            self.documents.get_or_create(&OfIndex { index: index() }).set(count(*documents));
            let graph = usize::try_from(*graph_lag).unwrap_or(usize::MAX);
            for (retriever, lag) in [("semantic", *without_vector), ("graph", graph)] {
                let of = OfRetriever { index: index(), retriever };
                self.lag.get_or_create(&of).set(count(lag));
            }
        }
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(error) => {
                tracing::error!("the metrics cannot be written: {error}");
                "# EOF\n".to_owned()
            }
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
