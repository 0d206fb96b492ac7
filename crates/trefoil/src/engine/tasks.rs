//! Work that the worker of an open engine does for somebody else.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use trefoil_core::{Result, Stage};

use crate::{
    background::catch_panics,
    engine::Engine,
    state::State,
    task_runner::{AskedWrite, TaskRunner},
};

/// Work that the worker of an open engine does for somebody else, such as the layer above
/// memory: see [`Engine::run_in_background`].
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicU64, Ordering::SeqCst}};
/// use trefoil::{Document, Engine, Model, Result, admin::BackgroundTask};
///
/// /// Keeps count of the documents.
/// #[derive(Debug, Default)]
/// struct Counter(AtomicU64);
///
/// impl BackgroundTask for Counter {
///     fn name(&self) -> &str {
///         "the count of documents"
///     }
///     fn run(self: Arc<Self>, engine: Arc<Engine>) -> Result<bool> {
///         let documents = engine.paths()?.len() as u64;
///         Ok(self.0.swap(documents, SeqCst) != documents)
///     }
///     fn next_at(&self) -> Option<i64> {
///         None
///     }
/// }
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path().join("notes.trefoil");
/// let engine = Engine::builder(dir).model(Model::None).open()?;
/// let counter: Arc<Counter> = Arc::default();
/// engine.run_in_background(&(counter.clone() as Arc<dyn BackgroundTask>));
/// engine.ingest(&[Document::new("a.md", "Rain in Tokyo.")])?;
/// engine.wait_until_indexed()?;
/// assert_eq!(counter.0.load(SeqCst), 1);
/// # Ok::<(), trefoil::Error>(())
/// ```
pub trait BackgroundTask: Debug + Send + Sync {
    /// What errors call it, such as `the upkeep of memory`.
    fn name(&self) -> &str;

    /// Does one small step of its work; false if there was nothing to do. The worker calls it
    /// again until it returns false, embeds what was written between two steps, and calls it
    /// whenever something is written.
    ///
    /// Do not keep `engine`: closing the engine waits until the task has returned, and the lock of
    /// the directory is held as long as `engine` is.
    ///
    /// # Errors
    /// What kept it from its work. It is told by [`Engine::wait_until_indexed`] and in
    /// [`EngineStats::background`](crate::engine::EngineStats), and the task is asked again when
    /// something is written, or its time comes.
    fn run(self: Arc<Self>, engine: Arc<Engine>) -> Result<bool>;

    /// When the worker is to call it next although nothing was written, in seconds since 1970 by
    /// the engine's clock; never, if absent.
    fn next_at(&self) -> Option<i64>;

    /// Does a write of memory that another node of a shared store asks this one for, by
    /// [`MemoryCollection::write_for`](crate::memory::MemoryCollection::write_for); false if it is
    /// no write of this task's. It is not called from the worker, and holds up the node while it
    /// runs.
    ///
    /// # Errors
    /// Why the write is refused, which the other node is told.
    fn write_for(self: Arc<Self>, engine: Arc<Engine>, asked: &AskedWrite<'_>) -> Result<bool> {
        let _ = (engine, asked);
        Ok(false)
    }
}

/// The tasks of a worker, as long as somebody else keeps them.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<Vec<Weak<dyn BackgroundTask>>>);

impl Tasks {
    pub(crate) fn add(&self, task: &Arc<dyn BackgroundTask>) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| task.strong_count() > 0);
        tasks.push(Arc::downgrade(task));
    }

    /// Those that are still kept.
    fn alive(&self) -> Vec<Arc<dyn BackgroundTask>> {
        let tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.iter().filter_map(Weak::upgrade).collect()
    }
}

impl TaskRunner for Tasks {
    /// One that fails holds up nobody else.
    fn run(&self, state: &Arc<State>) -> bool {
        let mut any = false;
        for task in self.alive() {
            let engine = Arc::new(Engine::of_worker(Arc::clone(state)));
            match catch_panics(task.name(), || Arc::clone(&task).run(engine)) {
                Ok(did) => any |= did,
                Err(error) => state.errors.note(Stage::Memory, error),
            }
        }
        any
    }

    fn next_at(&self) -> Option<i64> {
        self.alive().iter().filter_map(|task| task.next_at()).min()
    }

    fn write_for(&self, state: &Arc<State>, asked: &AskedWrite<'_>) -> Result<bool> {
        for task in self.alive() {
            let engine = Arc::new(Engine::of_worker(Arc::clone(state)));
            if catch_panics(task.name(), || Arc::clone(&task).write_for(engine, asked))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
