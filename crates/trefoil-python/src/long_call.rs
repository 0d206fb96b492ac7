//! Calls that take long: they tell how far they have come, and end at a safe point when a signal
//! comes or the caller has enough.

use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use pyo3::{Py, PyAny, PyErr, PyResult, Python, types::PyAnyMethods, types::PyBytes};

use crate::{embedder::Raised, failure::Failure, leaving};

/// How often the caller looks at signals.
const LOOK: Duration = Duration::from_millis(100);

/// Is told how far a call has come.
#[derive(Debug)]
pub(crate) struct Reporter {
    stopped: AtomicBool,
    callback: Option<Py<PyAny>>,
    /// What the callback raised.
    raised: Mutex<Option<PyErr>>,
}

impl Reporter {
    /// Tells the callback; breaks once it returns false or raises, and once a signal came.
    pub(crate) fn tell(&self, done: u64, total: u64) -> ControlFlow<()> {
        if self.stopped.load(Ordering::Relaxed) || leaving::has_begun() {
            return ControlFlow::Break(());
        }
        let Some(callback) = &self.callback else { return ControlFlow::Continue(()) };
        let goes_on = leaving::attached(|py| match callback.bind(py).call1((done, total)) {
            Ok(answer) => !matches!(answer.extract::<bool>(), Ok(false)),
            Err(error) => {
                self.raised.lock().unwrap_or_else(PoisonError::into_inner).replace(error);
                false
            }
        });
        if goes_on == Some(true) {
            return ControlFlow::Continue(());
        }
        self.stopped.store(true, Ordering::Relaxed);
        ControlFlow::Break(())
    }

    fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Runs `work` on a thread of its own, and looks at signals until it ends.
pub(crate) fn run(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    pythons: Option<&Raised>,
    work: impl FnOnce(&Reporter) -> Result<Vec<u8>, Failure> + Send + 'static,
) -> PyResult<Py<PyBytes>> {
    let reporter = Arc::new(Reporter { stopped: false.into(), callback, raised: Mutex::default() });
    let (sender, ended) = channel();
    let told = Arc::clone(&reporter);
    let begun = thread::Builder::new().name("trefoil-call".to_owned()).spawn(move || {
        let answer = catch_unwind(AssertUnwindSafe(|| work(&told)));
        let answer = answer
            .unwrap_or_else(|payload| Err(Failure::panicked("a long call", payload.as_ref())));
        drop(told);
        // A caller that is gone needs no answer.
        drop(sender.send(answer));
    });
    begun.map_err(PyErr::from)?;
    let ended = Mutex::new(ended);
    let wait = || ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK);
    let mut signal = None;
    let answer = loop {
        match leaving::detached(py, wait) {
            Ok(answer) => break answer,
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = py.check_signals() {
                    reporter.stopped.store(true, Ordering::Relaxed);
                    signal = Some(error);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                break Err(Failure::panicked("a long call", &"its thread ended"));
            }
        }
    };
    if let Some(error) = signal.or_else(|| reporter.take_raised()) {
        return Err(error);
    }
    match answer {
        Ok(json) => Ok(PyBytes::new(py, &json).unbind()),
        Err(failure) => Err(Raised::cause_of(pythons, py, failure)),
    }
}
