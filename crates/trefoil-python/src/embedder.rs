//! An embedder that is written in Python.

use std::{
    cell::Cell,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{Py, PyAny, PyErr, Python, intern, types::PyAnyMethods};
use trefoil::{
    Error,
    index::Role,
    model::{Array2, Embedder, EmbeddingSpace},
};

use crate::{failure::Failure, leaving, settings::EmbedderSettings, vectors};

thread_local! {
    /// The embedder that this thread runs.
    static RUNNING: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread is within a call of an embedder.
pub(crate) fn runs() -> bool {
    RUNNING.get() != 0
}

/// What code of Python raised last while the engine waited for it.
#[derive(Debug, Default)]
pub(crate) struct Raised(Mutex<Option<PyErr>>);

impl Raised {
    pub(crate) fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(error);
    }

    pub(crate) fn forget(&self) {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(last);
    }

    /// The exception of a failure, with what Python raised as its cause.
    pub(crate) fn cause_of(pythons: Option<&Self>, py: Python<'_>, failure: Failure) -> PyErr {
        let may_be = failure.may_be_pythons();
        let exception = failure.into_exception(py);
        if let Some(raised) = pythons.filter(|_| may_be) {
            let raised = raised.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            exception.set_cause(py, raised);
        }
        exception
    }
}

/// Calls an embedder that is written in Python: one call at a time, unless it says that it is safe.
#[derive(Debug)]
pub(crate) struct PythonEmbedder {
    /// Takes whether the texts are questions, and the texts; gives a buffer of `f32`.
    embed: Py<PyAny>,
    space: EmbeddingSpace,
    cosine_range: (f32, f32),
    turn: Option<Mutex<()>>,
    raised: Arc<Raised>,
}

impl PythonEmbedder {
    pub(crate) fn new(embed: Py<PyAny>, settings: EmbedderSettings, raised: Arc<Raised>) -> Self {
        let EmbedderSettings { name, dimensions, thread_safe, cosine_range } = settings;
        let space = EmbeddingSpace::of_caller(name, "python", dimensions);
        let turn = (!thread_safe).then(Mutex::default);
        Self { embed, space, cosine_range, turn, raised }
    }

    /// Whether this thread is within a call of the embedder.
    pub(crate) fn runs_here(&self) -> bool {
        RUNNING.get() == self.id()
    }

    fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn failed(&self, texts: &[&str], reason: impl Into<String>) -> Error {
        Error::EmbeddingFailed {
            model: self.space.model.clone(),
            bytes: texts.iter().map(|text| text.len()).sum(),
            reason: reason.into(),
        }
    }

    fn call(&self, role: Role, texts: &[&str]) -> trefoil::Result<Vec<f32>> {
        let before = RUNNING.replace(self.id());
        let answer = leaving::attached(|py| {
            let answer = self.embed.bind(py).call1((role == Role::Query, texts.to_vec()));
            answer.and_then(|buffer| vectors::floats(&buffer)).map_err(|error| {
                let reason = match error.value(py).str() {
                    Ok(text) => format!("{}: {text}", name_of(py, &error)),
                    Err(_) => name_of(py, &error),
                };
                self.raised.keep(error);
                reason
            })
        });
        RUNNING.set(before);
        let answer = answer.unwrap_or_else(|| Err("Python is ending".to_owned()));
        answer.map_err(|reason| self.failed(texts, reason))
    }
}

fn name_of(py: Python<'_>, error: &PyErr) -> String {
    let name = error.get_type(py).getattr(intern!(py, "__name__"));
    name.and_then(|name| name.extract()).unwrap_or_else(|_| "an exception".to_owned())
}

impl Embedder for PythonEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn cosine_range(&self) -> (f32, f32) {
        self.cosine_range
    }

    fn embed(&self, role: Role, texts: &[&str]) -> trefoil::Result<Array2<f32>> {
        // The lock is taken by threads that are detached, and so do not hold up who has it.
        let turn =
            self.turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
        let mut values = self.call(role, texts)?;
        drop(turn);
        let dimensions = self.space.dimensions;
        for vector in values.chunks_mut(dimensions) {
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            if !length.is_finite() || length == 0.0 {
                let reason = "a vector is zero, or holds NaN or an infinity";
                return Err(self.failed(texts, reason));
            }
            for x in vector.iter_mut() {
                *x /= length;
            }
        }
        let rows = values.len() / dimensions;
        let shape = if values.len() % dimensions == 0 { (rows, dimensions) } else { (0, 0) };
        values.truncate(shape.0 * shape.1);
        Array2::from_shape_vec(shape, values)
            .map_err(|_| self.failed(texts, "its vectors have no common length"))
    }
}
