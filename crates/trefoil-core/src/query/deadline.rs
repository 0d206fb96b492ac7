use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Tells work that nobody waits for it any more. Clones are the same token.
///
/// ```
/// use trefoil_core::Cancel;
///
/// let cancel = Cancel::default();
/// let of_the_work = cancel.clone();
/// cancel.cancel();
/// assert!(of_the_work.is_cancelled());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the work at the next place where it looks.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work should end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// When work has to end: at a point in time, by a [`Cancel`], by whichever comes first, or never.
///
/// ```
/// use std::time::Duration;
/// use trefoil_core::{Cancel, Deadline};
///
/// let cancel = Cancel::default();
/// let deadline = Deadline::after(Duration::from_secs(3_600)).with_cancel(cancel.clone());
/// assert!(!deadline.has_passed());
/// cancel.cancel();
/// assert!(deadline.has_passed());
/// assert!(Deadline::after(Duration::ZERO).has_passed());
/// assert!(!Deadline::NEVER.has_passed());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Deadline {
    at: Option<Instant>,
    cancel: Option<Cancel>,
}

impl Deadline {
    /// No end.
    pub const NEVER: Self = Self { at: None, cancel: None };

    /// Ends after that time. A time that no clock can hold is no end.
    pub fn after(time: Duration) -> Self {
        Self { at: Instant::now().checked_add(time), cancel: None }
    }

    /// The same that ends by `cancel` too, in place of the one that it had.
    #[must_use]
    pub fn with_cancel(self, cancel: Cancel) -> Self {
        Self { cancel: Some(cancel), ..self }
    }

    /// The same that ends after `time` at the latest, if there is one.
    #[must_use]
    pub fn within(&self, time: Option<Duration>) -> Self {
        let at = time.and_then(|time| Self::after(time).at);
        Self { at: self.at.into_iter().chain(at).min(), cancel: self.cancel.clone() }
    }

    /// Whether the work should end.
    pub fn has_passed(&self) -> bool {
        self.is_cancelled() || self.at.is_some_and(|at| Instant::now() >= at)
    }

    /// Whether nobody waits for the work.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_cancelled)
    }

    /// The time until it passes by the clock; none if it does not.
    pub fn left(&self) -> Option<Duration> {
        self.at.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// How long one may wait before looking again whether it [has passed](Self::has_passed); none
    /// for as long as it takes, zero if it has.
    pub fn wait(&self) -> Option<Duration> {
        if self.is_cancelled() {
            return Some(Duration::ZERO);
        }
        // Nobody wakes who waits when a search is given up.
        let look = self.cancel.as_ref().map(|_| LOOK);
        self.left().into_iter().chain(look).min()
    }
}

/// How long a wait goes on without a look at the [`Cancel`].
const LOOK: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_end_counts() {
        let hour = Some(Duration::from_hours(1));
        assert!(Deadline::NEVER.within(Some(Duration::ZERO)).has_passed());
        assert!(Deadline::after(Duration::ZERO).within(hour).has_passed());
        assert!(!Deadline::NEVER.within(hour).has_passed());
        assert!(!Deadline::NEVER.within(None).has_passed());
        assert!(!Deadline::after(Duration::MAX).has_passed());
    }

    #[test]
    fn a_wait_ends_with_the_deadline_and_looks_at_the_cancel() {
        assert_eq!(Deadline::NEVER.wait(), None);
        assert_eq!(Deadline::after(Duration::ZERO).wait(), Some(Duration::ZERO));
        let cancel = Cancel::default();
        let deadline = Deadline::NEVER.with_cancel(cancel.clone());
        assert_eq!(deadline.wait(), Some(LOOK));
        assert!(Deadline::after(Duration::from_hours(1)).wait() > Some(LOOK));
        cancel.cancel();
        assert_eq!(deadline.within(None).wait(), Some(Duration::ZERO));
    }
}
