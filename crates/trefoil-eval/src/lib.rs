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

mod breakdown;
mod calibrate;
#[cfg(feature = "engine")]
mod case;
mod collection;
mod compare;
mod evaluation;
#[cfg(feature = "engine")]
mod gate;
#[cfg(feature = "engine")]
mod harness;
mod language_means;
mod lines;
mod lists;
mod metric;
mod probe;
mod qrels;
mod random;
mod report;
mod run;
pub mod separation;
mod stage_list;
pub mod statistic;
mod table;
#[cfg(feature = "engine")]
mod token_space;
mod tune;

pub use breakdown::{Breakdown, BreakdownTable, Gain, ListMean};
pub use calibrate::{
    CalibrationBounds, CalibrationTable, GradeTable, Refusal, Sample, calibrate, calibrate_grades,
};
#[cfg(feature = "engine")]
pub use case::{Expected, RetrievalCase};
pub use collection::{Collection, Query};
pub use compare::{Comparison, Moved};
pub use evaluation::{Evaluation, PerQuery};
#[cfg(feature = "engine")]
#[doc(hidden)]
pub use gate::assert_gate;
#[cfg(feature = "engine")]
pub use gate::{CaseReport, FloorReport, Gate, GateReport, Ranks};
#[cfg(feature = "engine")]
pub use harness::{Answered, Harness, Measured, samples};
pub use language_means::{language_means, questions, write_language_means};
pub use lists::{RetrieverLists, StoredHit, StoredList};
pub use metric::Metric;
pub use probe::gibberish;
pub use qrels::{Judgements, Qrels};
pub use report::{Ingest, Latency, Percentiles, Report, ReportTable, Share};
pub use run::{Run, Scored};
pub use stage_list::StageList;
pub use statistic::{Interval, mean};
#[cfg(feature = "engine")]
pub use token_space::{TokenSamples, write_token_space};
pub use tune::{
    Trial, Tuned, Tuning,
    folds::folds,
    left_out::{LeftOut, LeftOutRow, Parameters, leave_one_out},
    tune,
};
