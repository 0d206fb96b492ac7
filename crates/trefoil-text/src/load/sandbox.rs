//! Foreign parsers, run where they can do no harm.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
    time::Duration,
};

/// Parsers recurse on nested input: more stack than the caller may have.
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// Files of the largest size that is read take a few seconds.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Runs a parser in a thread of its own, so that a panic or an endless loop on a
/// hostile file becomes a reason to refuse the file. (PDF extraction is known for
/// both.) A thread cannot be stopped: one that loops goes on until the process ends.
pub(super) fn run<T: Send + 'static>(
    parser: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    run_for(TIMEOUT, parser)
}

fn run_for<T: Send + 'static>(
    timeout: Duration,
    parser: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        // The parser owns all that it touches, so nothing half-changed is seen afterwards.
        let result = catch_unwind(AssertUnwindSafe(parser));
        let result = result.unwrap_or_else(|_| Err("its parser failed on it".to_owned()));
        // The receiver is gone only if it gave up on this thread.
        let _ = sender.send(result);
    };
    thread::Builder::new()
        .name("trefoil-load".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(work)
        .map_err(|error| format!("no thread could be started to parse it: {error}"))?;
    receiver
        .recv_timeout(timeout)
        .unwrap_or_else(|_| Err(format!("parsing it takes more than {} s", timeout.as_secs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_and_a_loop_become_reasons() {
        assert_eq!(run(|| Ok(1)), Ok(1));
        assert_eq!(run::<()>(|| Err("odd".to_owned())), Err("odd".to_owned()));
        assert_eq!(run::<()>(|| panic!("on purpose")), Err("its parser failed on it".to_owned()));
        let (_hold, forever) = mpsc::channel::<()>();
        let looping = move || forever.recv().map_err(|error| error.to_string());
        assert_eq!(
            run_for(Duration::ZERO, looping),
            Err("parsing it takes more than 0 s".to_owned())
        );
    }
}
