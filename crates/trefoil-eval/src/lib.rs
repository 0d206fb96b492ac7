//! Retrieval evaluation: test collections in; metrics, intervals and a verdict on a change
//! out.
//!
//! ```
//! use trefoil_eval::{Comparison, Evaluation, Metric, Qrels, Run, Scored};
//!
//! let mut qrels = Qrels::default();
//! let (mut before, mut after) = (Run::new("before"), Run::new("after"));
//! for query in ["q1", "q2", "q3"] {
//!     qrels.insert(query, "right", 1);
//!     let ranked = |documents: [&str; 2]| {
//!         documents.map(|id| Scored { document: id.to_owned(), score: 1.0 }).to_vec()
//!     };
//!     before.insert_ranked(query, ranked(["wrong", "right"]));
//!     after.insert_ranked(query, ranked(["right", "wrong"]));
//! }
//! let metric = Metric::Mrr(10);
//! let scores = |run| Evaluation::of(run, &qrels, &[metric]).scores(metric).cloned().unwrap();
//! let verdict = Comparison::of(metric, &scores(&before), &scores(&after));
//! assert_eq!((verdict.mean_a, verdict.mean_b, verdict.wins), (0.5, 1.0, 3));
//! ```
//!
//! Metrics equal those of `trec_eval` to its last digit; files are in BEIR and TREC layout.

#[cfg(feature = "engine")]
mod assert;
mod breakdown;
mod calibrate;
#[cfg(feature = "engine")]
mod case;
mod collection;
mod compare;
mod evaluation;
mod folds;
#[cfg(feature = "engine")]
mod gate;
#[cfg(feature = "engine")]
mod gate_report;
mod grades;
#[cfg(feature = "engine")]
mod harness;
#[cfg(feature = "engine")]
mod index;
mod lines;
mod lists;
mod logistic;
#[cfg(feature = "engine")]
mod memory;
mod metric;
mod probe;
mod qrels;
mod random;
#[cfg(test)]
mod reference;
mod report;
mod run;
#[cfg(feature = "engine")]
mod sample;
pub mod separation;
mod stage_list;
pub mod statistic;
mod table;
mod tune;

#[cfg(feature = "engine")]
#[doc(hidden)]
pub use assert::assert_gate;
pub use breakdown::{Breakdown, BreakdownTable, Gain, ListMean};
pub use calibrate::{CalibrationBounds, CalibrationTable, Refusal, Sample, calibrate};
#[cfg(feature = "engine")]
pub use case::{Expected, RetrievalCase};
pub use collection::{Collection, Query};
pub use compare::{Comparison, Moved};
pub use evaluation::{Evaluation, PerQuery};
pub use folds::folds;
#[cfg(feature = "engine")]
pub use gate::Gate;
#[cfg(feature = "engine")]
pub use gate_report::{CaseReport, FloorReport, GateReport, Ranks};
pub use grades::{GradeTable, calibrate_grades};
#[cfg(feature = "engine")]
pub use harness::{Harness, Measured};
pub use lists::{RetrieverLists, StoredHit, StoredList};
pub use metric::Metric;
pub use probe::gibberish;
pub use qrels::{Judgements, Qrels};
pub use report::{Ingest, Latency, Percentiles, Report, ReportTable, Share};
pub use run::{Run, Scored};
#[cfg(feature = "engine")]
pub use sample::samples;
pub use stage_list::StageList;
pub use statistic::{Interval, mean};
pub use tune::{Trial, Tuned, Tuning, tune};
