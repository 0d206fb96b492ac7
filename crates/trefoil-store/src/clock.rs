use std::fmt::Debug;

/// Tells the time; injected so that leases and backoff can be tested.
pub trait Clock: Debug + Send + Sync {
    /// Seconds since 1970-01-01T00:00:00Z.
    fn now(&self) -> i64;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        jiff::Timestamp::now().as_second()
    }
}
