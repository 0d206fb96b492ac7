/// Receives how far a pull is, for a progress bar. `()` ignores it.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use trefoil_model::PullProgress;
///
/// /// Counts the bytes of the step that runs.
/// #[derive(Default)]
/// struct Counter {
///     done: AtomicU64,
///     all: AtomicU64,
/// }
///
/// impl PullProgress for Counter {
///     fn begin(&self, _step: &str, bytes: u64) {
///         self.done.store(0, Relaxed);
///         self.all.store(bytes, Relaxed);
///     }
///     fn advance(&self, bytes: u64) {
///         self.done.fetch_add(bytes, Relaxed);
///     }
/// }
///
/// let counter = Counter::default();
/// counter.begin("download", 200);
/// counter.advance(50);
/// assert_eq!((counter.done.into_inner(), counter.all.into_inner()), (50, 200));
/// ```
pub trait PullProgress: Sync {
    /// A step begins: what it does, and how many bytes it processes.
    fn begin(&self, step: &str, bytes: u64);
    /// `bytes` more of the step are done.
    fn advance(&self, bytes: u64);
}

impl PullProgress for () {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
}
