use trefoil::{Engine, Result};

use crate::Gate;

/// Asserts in a test that an engine answers questions as well as it should.
///
/// After the engine and the cases come floors: a list (the name of a retriever for its own, such
/// as `keyword`, `hybrid` for the fused one, `reranked` for that after the cross-encoder), a metric, and its least value. `"found"` is the share of cases found within their own
/// `top`; every other metric has the name of a [`Metric`](crate::Metric), such as `"mrr@10"`.
/// With floors for the retrievers, a failure names the retriever that broke.
///
/// ```
/// # use trefoil::{Document, Engine, EngineConfig, Model};
/// # let dir = tempfile::tempdir()?;
/// # let config = EngineConfig { model: Model::None, ..Default::default() };
/// # let engine = Engine::open_with(dir.path(), config)?;
/// # engine.ingest(&[Document::new("release.md", "A release is cut on Friday.")])?;
/// use trefoil_eval::{RetrievalCase, assert_retrieval};
///
/// let cases = [RetrievalCase::new("friday", "when is a release cut?", ["release.md"])];
/// assert_retrieval!(engine, cases, hybrid "found" >= 0.95, keyword "mrr@10" >= 0.8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If a floor does not hold, with the questions that are missed; if a search fails.
#[macro_export]
macro_rules! assert_retrieval {
    ($engine:expr, $cases:expr, $($list:ident $metric:literal >= $least:expr),+ $(,)?) => {
        $crate::assert_gate(&$engine, ::core::result::Result::Ok($crate::Gate::new($cases))
            $(.and_then(|gate: $crate::Gate| {
                gate.floor(stringify!($list).parse()?, $metric, $least)
            }))+)
    };
}

/// Runs a gate: what [`assert_retrieval!`](crate::assert_retrieval) expands to.
///
/// # Panics
/// As that macro does.
#[doc(hidden)]
#[track_caller]
#[expect(clippy::panic, reason = "a panic is how a test fails")]
pub fn assert_gate(engine: &Engine, gate: Result<Gate>) {
    match gate.and_then(|gate| gate.run(engine)) {
        Ok(report) if report.passed() => {}
        Ok(report) => panic!("{report}"),
        Err(error) => panic!("the retrieval gate could not be run: {}", error.chain()),
    }
}
