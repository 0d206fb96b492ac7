use std::fmt::Debug;

/// Tells the time; injected so that leases and backoff can be tested.
///
/// ```
/// use trefoil_store::Clock;
///
/// /// A clock that stands still.
/// #[derive(Debug)]
/// struct Noon;
///
/// impl Clock for Noon {
///     fn now(&self) -> i64 {
///         1_700_049_600
///     }
/// }
///
/// assert_eq!(Noon.now() % 86_400, 12 * 3_600);
/// ```
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
