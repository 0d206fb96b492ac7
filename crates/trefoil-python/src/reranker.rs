//! A reranker that is written in Python.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::{Py, PyAny, types::PyAnyMethods};
use trefoil::{Error, Score, model::Reranker};

use crate::{embedder::Raised, leaving};

/// Calls a reranker that is written in Python, one call at a time.
#[derive(Debug)]
pub(crate) struct PythonReranker {
    name: String,
    /// Takes the question and the passages; gives a number for each.
    score: Py<PyAny>,
    turn: Mutex<()>,
    raised: Arc<Raised>,
}

impl PythonReranker {
    pub(crate) fn new(name: String, score: Py<PyAny>, raised: Arc<Raised>) -> Self {
        Self { name, score, turn: Mutex::default(), raised }
    }
}

impl Reranker for PythonReranker {
    fn model(&self) -> &str {
        &self.name
    }

    fn reads(&self, _: &str) -> bool {
        true
    }

    fn score(&self, question: &str, passages: &[&str]) -> trefoil::Result<Vec<Score>> {
        let failed = |reason: String| Error::RerankFailed {
            model: self.name.clone(),
            bytes: passages.iter().map(|passage| passage.len()).sum(),
            reason,
        };
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let scores = leaving::attached(|py| {
            let scores = self.score.bind(py).call1((question, passages.to_vec()));
            scores.and_then(|scores| scores.extract::<Vec<f32>>()).map_err(|error| {
                let reason = error.to_string();
                self.raised.keep(error);
                reason
            })
        });
        drop(turn);
        let scores =
            scores.unwrap_or_else(|| Err("Python is ending".to_owned())).map_err(failed)?;
        if scores.len() != passages.len() {
            let (given, of) = (scores.len(), passages.len());
            return Err(failed(format!("it gave {given} scores for {of} passages")));
        }
        scores
            .into_iter()
            .map(|score| Score::new(score).map_err(|error| failed(error.to_string())))
            .collect()
    }
}
