//! What goes wrong, and how Python is told.

use std::any::Any;

use pyo3::{PyErr, Python, intern, types::PyAnyMethods};
use trefoil::{Error, FieldError};

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine says why.
    Engine(Error),
    /// What the caller gave is not what the call takes.
    Arguments(String),
    /// The engine was closed.
    Closed,
    /// The process is a fork of the one that opened the engine.
    Forked,
    /// An embedder calls the engine that waits for it.
    Reentered,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Arguments(error.to_string())
    }
}

impl Failure {
    /// A panic of Rust, which is a fault of the program.
    pub(crate) fn panicked(what: &str, payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let reason = text.unwrap_or_else(|| "it does not say why".to_owned());
        Self::Engine(Error::Panicked { what: what.to_owned(), reason })
    }

    /// Whether code of Python that the engine called may be what failed.
    pub(crate) fn may_be_pythons(&self) -> bool {
        matches!(
            self,
            Self::Engine(
                Error::EmbeddingFailed { .. }
                    | Error::EmbeddingShape { .. }
                    | Error::RerankFailed { .. }
                    | Error::SearchFailed { .. }
            )
        )
    }

    /// The exception of `trefoil_search.errors` that tells of it.
    pub(crate) fn into_exception(self, py: Python<'_>) -> PyErr {
        let (code, message, fields) = match self {
            Self::Engine(error) => (error.code(), error.chain(), fields(&error)),
            Self::Arguments(reason) => ("invalid_input", reason, Vec::new()),
            Self::Closed => {
                ("closed", "this engine was closed; open it again".to_owned(), Vec::new())
            }
            Self::Forked => {
                let message = "this engine was opened by another process; open it again in this \
                               process";
                ("forked", message.to_owned(), Vec::new())
            }
            Self::Reentered => {
                let message = "an embedder cannot call the engine that waits for it; call another \
                               engine";
                ("reentered", message.to_owned(), Vec::new())
            }
        };
        let make = || {
            let errors = py.import(intern!(py, "trefoil_search.errors"))?;
            errors.call_method1(intern!(py, "error_of"), (code, message, fields))
        };
        match make() {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }
}

/// The field, value and range that an error names.
fn fields(error: &Error) -> Vec<(String, String, String)> {
    let named = error.field().map(|FieldError { field, value, allowed }| (field, value, allowed));
    named.into_iter().collect()
}
