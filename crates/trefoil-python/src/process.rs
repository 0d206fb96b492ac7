//! What a process owns: a fork of it must not touch it.

use std::{
    mem::ManuallyDrop,
    sync::{Arc, PoisonError, RwLock},
};

use pyo3::Python;

use crate::failure::Failure;

/// Something that belongs to the process that made it, until it is closed. A fork of the process
/// touches neither its locks nor its files.
#[derive(Debug)]
pub(crate) struct Owned<T: Send + Sync> {
    process: u32,
    value: ManuallyDrop<RwLock<Option<Arc<T>>>>,
}

impl<T: Send + Sync> Owned<T> {
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

    /// Closes it. A call that runs ends first.
    pub(crate) fn close(&self, py: Python<'_>) -> Result<(), Failure> {
        if !self.is_here() {
            return Err(Failure::Forked);
        }
        // Its threads may be waiting for Python.
        py.detach(|| {
            let value = self.value.write().unwrap_or_else(PoisonError::into_inner).take();
            drop(value);
        });
        Ok(())
    }

    fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T: Send + Sync> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.is_here() {
            // When Python is ending, nobody is left to wait for.
            Python::try_attach(|py| drop(self.close(py)));
        }
    }
}
