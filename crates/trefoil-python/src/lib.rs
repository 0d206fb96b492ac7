//! The native half of the Python package `trefoil_search`: an engine whose calls take and give
//! JSON, and what makes objects of it. What a person sees is written in Python, in `python/trefoil_search`.

mod calls;
mod care;
mod embedder;
mod engine;
mod failure;
mod leaving;
mod long_call;
mod objects;
mod process;
mod reranker;
mod schemas;
mod settings;
mod vectors;

use mimalloc::MiMalloc;
use pyo3::pymodule;

/// Many threads search at once, each with many small pieces of memory.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The native half of `trefoil_search`.
#[pymodule(gil_used = false)]
mod _native {
    use std::ffi::OsString;

    use pyo3::{Bound, Py, PyAny, PyResult, Python, pyfunction, types::PyBytes};

    #[pymodule_export]
    use crate::{engine::NativeEngine, objects::Reader};

    use crate::{care, leaving, long_call, settings, vectors};

    /// Runs the command `trefoil` with these arguments, the name of the program first; its exit
    /// code.
    #[pyfunction]
    fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        leaving::detached(py, || {
            let code = trefoil_cli::run(arguments);
            // An exit code tells itself by comparison only.
            (0..=u8::MAX).find(|&one| std::process::ExitCode::from(one) == code).unwrap_or(1)
        })
    }

    /// Begins the end of the interpreter: other threads stay away from it once their calls end.
    #[pyfunction]
    fn leave(py: Python<'_>) {
        leaving::begin(py);
    }

    /// Waits until no thread is within a store, and keeps all out until `after_fork`.
    #[pyfunction]
    fn before_fork(py: Python<'_>) {
        leaving::detached(py, trefoil::admin::before_fork);
    }

    /// Lets the threads of the process go on after a fork; a child has none of them.
    #[pyfunction]
    fn after_fork(is_child: bool) {
        trefoil::admin::after_fork();
        if is_child {
            leaving::forget_others();
        }
    }

    /// Whether all numbers of a contiguous buffer of `f32` are finite.
    #[pyfunction]
    fn are_finite(numbers: &Bound<'_, PyAny>) -> PyResult<bool> {
        vectors::are_finite(numbers)
    }

    /// The JSON Schemas of what goes over the boundary.
    #[pyfunction]
    fn schemas(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
        crate::schemas::all(py)
    }

    /// Looks after an index that no engine has open: `call` is `verify`, `repair`, `doctor`,
    /// `export` or `import`.
    #[pyfunction]
    fn care_for(
        py: Python<'_>,
        call: &str,
        arguments: &[u8],
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyBytes>> {
        let work = care::find(call)?;
        let arguments = arguments.to_vec();
        long_call::run(py, progress, None, move |progress| work(&arguments, progress))
    }

    /// Fetches models, or lists them.
    #[pyfunction]
    fn models(
        py: Python<'_>,
        arguments: &[u8],
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyBytes>> {
        let asked = settings::models(arguments)?;
        long_call::run(py, progress, None, move |progress| asked.answer(progress))
    }
}
