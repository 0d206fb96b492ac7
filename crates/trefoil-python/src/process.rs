//! What a process owns: a fork of it must not touch it.

use std::{
    mem::ManuallyDrop,
    sync::{Arc, PoisonError, RwLock},
    thread,
};

use pyo3::Python;

use crate::{embedder, failure::Failure, leaving};

/// Something that belongs to the process that made it, until it is closed. A fork of the process
/// touches neither its locks nor its files.
#[derive(Debug)]
pub(crate) struct Owned<T: Send + Sync + 'static> {
    process: u32,
    value: ManuallyDrop<RwLock<Option<Arc<T>>>>,
}

impl<T: Send + Sync + 'static> Owned<T> {
    pub(crate) fn new(value: T) -> Self {
        let value = ManuallyDrop::new(RwLock::new(Some(Arc::new(value))));
        Self { process: std::process::id(), value }
    }

    /// It, unless it was closed or is another process's.
    pub(crate) fn get(&self) -> Result<Arc<T>, Failure> {
        if !self.is_here() {
            return Err(Failure::Forked);
        }
        self.value.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Failure::Closed)
    }

    /// What `look` sees of it. It is not closed meanwhile, and so not here.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&T) -> R) -> Result<R, Failure> {
        if !self.is_here() {
            return Err(Failure::Forked);
        }
        let value = self.value.read().unwrap_or_else(PoisonError::into_inner);
        value.as_deref().map(look).ok_or(Failure::Closed)
    }

    /// Closes it. A call that runs ends first.
    pub(crate) fn close(&self, py: Python<'_>) -> Result<(), Failure> {
        if !self.is_here() {
            return Err(Failure::Forked);
        }
        // Its threads may be waiting for Python.
        leaving::detached(py, || drop(self.take()));
        Ok(())
    }

    fn take(&self) -> Option<Arc<T>> {
        self.value.write().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T: Send + Sync + 'static> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            return;
        }
        if embedder::runs() {
            // A thread of the engine cannot wait for its own end.
            let value = self.take();
            thread::spawn(move || drop(value));
        } else {
            // When Python is ending, nobody is left to wait for.
            Python::try_attach(|py| drop(self.close(py)));
        }
    }
}
