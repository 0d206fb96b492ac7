/// Told how far a pull is, for a progress bar. `()` ignores it.
pub trait PullProgress: Sync {
    /// A step begins: what it does, and the bytes that it goes through.
    fn begin(&self, step: &str, bytes: u64);
    /// So many bytes of the step are done.
    fn advance(&self, bytes: u64);
}

impl PullProgress for () {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
}
