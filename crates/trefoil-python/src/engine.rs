//! An engine as Python holds it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use pyo3::{
    Bound, Py, PyAny, PyResult, Python, pyclass, pymethods,
    types::{PyByteArray, PyBytes},
};
use trefoil::{
    Document, Engine, EngineConfig, Error, Model, SearchFilters, SearchOptions, SearchQuery,
    model::{Embedder, Reranker, Rerankers},
    search::Embedding,
};

use crate::{
    calls::{Opened, answer, answer_in_time, write},
    embedder::{PythonEmbedder, Raised},
    failure::Failure,
    leaving, long_call,
    objects::Reader,
    process::Owned,
    reranker::PythonReranker,
    settings::Settings,
    vectors::floats,
};

/// An engine whose calls take and give JSON, and which answers a question with an object. It
/// belongs to the process that opened it.
#[pyclass(frozen, name = "NativeEngine", module = "trefoil_search")]
#[derive(Debug)]
pub(crate) struct NativeEngine {
    opened: Owned<Opened>,
    reader: Py<Reader>,
}

impl NativeEngine {
    /// Fails if the engine waits for an embedder that this thread runs.
    fn check_waits_not_here(&self, py: Python<'_>) -> PyResult<()> {
        let runs_here =
            |opened: &Opened| opened.embedder.as_ref().is_some_and(|one| one.runs_here());
        match self.opened.with(runs_here) {
            Ok(true) => Err(Failure::Reentered.into_exception(py)),
            Ok(false) | Err(_) => Ok(()),
        }
    }

    fn opened(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        self.check_waits_not_here(py)?;
        self.opened.get().map_err(|failure| failure.into_exception(py))
    }

    /// Runs a call that is over soon, detached from the interpreter.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&Opened) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let opened = self.opened(py)?;
        let raised = Arc::clone(&opened.raised);
        let answer = leaving::detached(py, move || {
            opened.raised.forget();
            let answer = catch_unwind(AssertUnwindSafe(|| call(&opened)));
            // It may be the last to hold the engine, whose threads may be waiting for Python.
            drop(opened);
            answer.unwrap_or_else(|payload| Err(Failure::panicked("a call", payload.as_ref())))
        });
        answer.map_err(|failure| Raised::cause_of(Some(&raised), py, failure))
    }

    /// Runs a call that may take long.
    fn run_long(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        call: impl FnOnce(&Opened, &long_call::Reporter) -> Result<Vec<u8>, Failure> + Send + 'static,
    ) -> PyResult<Py<PyBytes>> {
        let opened = self.opened(py)?;
        let raised = Arc::clone(&opened.raised);
        raised.forget();
        long_call::run(py, progress, Some(&raised), move |reporter| call(&opened, reporter))
    }
}

#[pymethods]
impl NativeEngine {
    /// Opens an engine, whose answers `reader` makes objects of. `embed` and `score` are what is
    /// written in Python.
    #[new]
    #[pyo3(signature = (settings, reader, embed=None, score=None))]
    fn new(
        py: Python<'_>,
        settings: &[u8],
        reader: Py<Reader>,
        embed: Option<Py<PyAny>>,
        score: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let open = || open(settings, embed, score);
        let opened = leaving::detached(py, || {
            let opened = catch_unwind(AssertUnwindSafe(open));
            opened.unwrap_or_else(|payload| Err(Failure::panicked("opening", payload.as_ref())))
        });
        let opened = opened.map_err(|failure| failure.into_exception(py))?;
        Ok(Self { opened: Owned::new(opened), reader })
    }

    /// Answers a call by its name.
    fn call(&self, py: Python<'_>, name: &str, arguments: &[u8]) -> PyResult<Py<PyBytes>> {
        let json = self.run(py, |opened| answer(opened, name, arguments))?;
        Ok(PyBytes::new(py, &json).unbind())
    }

    /// The same for a call that may take long; `progress` is told how far it has come, and ends it
    /// by returning false.
    #[pyo3(signature = (name, arguments, progress=None))]
    fn call_long(
        &self,
        py: Python<'_>,
        name: String,
        arguments: Vec<u8>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyBytes>> {
        self.run_long(py, progress, move |opened, reporter| {
            answer_in_time(opened, &name, &arguments, reporter)
        })
    }

    /// Answers a question, with its vector if that is given.
    #[pyo3(signature = (query, vector=None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        query: &[u8],
        vector: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let vector = vector.map(|vector| floats(&vector)).transpose()?;
        let answer = self.run(py, |opened| {
            let mut query: SearchQuery = serde_json::from_slice(query)?;
            if let Some(vector) = vector {
                query.embedding = Some(Embedding::new(vector)?);
            }
            Ok(opened.engine.search(&query)?)
        })?;
        self.reader.get().answer(py, &answer)
    }

    /// Finds what is nearest to a vector.
    fn search_vector<'py>(
        &self,
        py: Python<'py>,
        vector: &Bound<'py, PyAny>,
        filters: &[u8],
        options: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        let vector = floats(vector)?;
        let answer = self.run(py, |opened| {
            let filters: SearchFilters = serde_json::from_slice(filters)?;
            let options: SearchOptions = serde_json::from_slice(options)?;
            Ok(opened.engine.search_by_embedding(&vector, filters, options)?)
        })?;
        self.reader.get().answer(py, &answer)
    }

    /// Indexes documents. The vectors of some of them, by their places, are the rows of a buffer.
    #[pyo3(signature = (documents, vectors=None, places=Vec::new(), progress=None))]
    fn ingest(
        &self,
        py: Python<'_>,
        documents: Vec<u8>,
        vectors: Option<Bound<'_, PyAny>>,
        places: Vec<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyBytes>> {
        let vectors = vectors.map(|vectors| floats(&vectors)).transpose()?.unwrap_or_default();
        self.run_long(py, progress, move |opened, reporter| {
            let mut documents: Vec<Document> = serde_json::from_slice(&documents)?;
            let length = vectors.len().checked_div(places.len()).unwrap_or(0).max(1);
            for (&place, vector) in places.iter().zip(vectors.chunks(length)) {
                if let Some(document) = documents.get_mut(place) {
                    document.embedding = Some(Embedding::new(vector.to_vec())?);
                }
            }
            let tell = |at: trefoil::Progress| reporter.tell(at.done, at.total);
            write(&opened.engine.ingest_with(&documents, tell)?)
        })
    }

    /// The stored vectors of documents: their `f32`, and how many there are.
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python is taken by value")]
    fn vectors<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<String>,
    ) -> PyResult<(Bound<'py, PyByteArray>, usize)> {
        let vectors = self.run(py, |opened| Ok(opened.engine.vectors(&paths)?))?;
        let bytes = vectors.iter().flat_map(|(_, vector)| vector).flat_map(|x| x.to_ne_bytes());
        let bytes: Vec<u8> = bytes.collect();
        Ok((PyByteArray::new(py, &bytes), vectors.len()))
    }

    /// Closes the engine: calls that run end first, and work in the background stops.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.check_waits_not_here(py)?;
        self.opened.close(py).map_err(|failure| failure.into_exception(py))
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        matches!(self.opened.get(), Err(Failure::Closed))
    }
}

fn open(
    settings: &[u8],
    embed: Option<Py<PyAny>>,
    score: Option<Py<PyAny>>,
) -> Result<Opened, Failure> {
    let settings = Settings::read(settings)?;
    let raised: Arc<Raised> = Arc::default();
    let mut config = settings.config()?;
    let embedder = settings.embedder()?.zip(embed).map(|(settings, embed)| {
        Arc::new(PythonEmbedder::new(embed, settings, Arc::clone(&raised)))
    });
    if let Some(embedder) = &embedder {
        config.model = Model::Custom(Arc::<PythonEmbedder>::clone(embedder) as Arc<dyn Embedder>);
    }
    if let Some((name, score)) = settings.reranker.clone().zip(score) {
        let reranker = Arc::new(PythonReranker::new(name, score, Arc::clone(&raised)));
        config.rerankers = Rerankers::Custom(vec![reranker as Arc<dyn Reranker>]);
    }
    let engine = opened(&settings, config.clone())?;
    Ok(Opened::new(engine, config, settings.path, embedder, raised))
}

fn opened(settings: &Settings, config: EngineConfig) -> Result<Engine, Error> {
    match settings {
        Settings { read_only: true, path, .. } => Engine::open_read_only(path, config),
        Settings { reindex: true, path, .. } => Engine::reindex(path, config),
        Settings { path, .. } => Engine::open_with(path, config),
    }
}
