use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use trefoil_core::{BoundaryClass, Error, LoopId, Result};
use trefoil_text::canonical_text;

use crate::unit::whole_seconds;

/// Something that is left to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenLoop {
    /// Its id.
    pub id: LoopId,
    /// What is to be done, with single spaces; two with the same text are one.
    pub text: String,
    /// When it is due.
    #[serde(alias = "due_at", default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// From when it is no longer shown, and removed.
    #[serde(alias = "expires_at")]
    pub expires_at: Timestamp,
    /// Who may see it.
    #[serde(alias = "boundary_class")]
    pub boundary_class: BoundaryClass,
    /// When it was written.
    #[serde(alias = "created_at")]
    pub created_at: Timestamp,
}

impl OpenLoop {
    /// How many days one that is not due lives.
    pub const DAYS: i64 = 7;
    /// The most days that one lives.
    pub const MAX_DAYS: i64 = 30;
    /// The most bytes of its text.
    pub const MAX_BYTES: usize = 2_048;

    /// A loop that is written now.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for a text that is blank or too long.
    pub fn new(
        id: LoopId,
        text: &str,
        due_at: Option<Timestamp>,
        boundary_class: BoundaryClass,
        now: Timestamp,
    ) -> Result<Self> {
        let text = canonical_text(text);
        Error::check_length(text.len(), 1..=Self::MAX_BYTES, "text of a loop", "1–2,048 bytes")?;
        let (due_at, now) = (due_at.map(whole_seconds), whole_seconds(now));
        let expires_at = Self::expiry(due_at, now);
        Ok(Self { id, text, due_at, expires_at, boundary_class, created_at: now })
    }

    /// When a loop expires: when it is due, if that is still to come, else after 7 days; at
    /// most after 30.
    pub fn expiry(due_at: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let after = |days: i64| {
            now.checked_add(SignedDuration::from_hours(24 * days)).unwrap_or(Timestamp::MAX)
        };
        due_at
            .filter(|&due| due > now)
            .unwrap_or_else(|| after(Self::DAYS))
            .min(after(Self::MAX_DAYS))
    }

    /// True from the moment at which it is no longer shown.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }

    /// The same told again: its due time, if it has one, and the higher class count.
    #[must_use]
    pub fn told_again(self, again: &Self) -> Self {
        let due_at = again.due_at.or(self.due_at);
        Self {
            due_at,
            expires_at: Self::expiry(due_at, again.created_at),
            boundary_class: self.boundary_class.max(again.boundary_class),
            ..self
        }
    }
}

/// The loops that are not expired: those due earlier first, then those not due, oldest first.
pub fn open_loops<'l>(
    loops: impl IntoIterator<Item = &'l OpenLoop>,
    now: Timestamp,
) -> Vec<&'l OpenLoop> {
    let mut open: Vec<&OpenLoop> = loops.into_iter().filter(|one| !one.is_expired(now)).collect();
    open.sort_by_key(|one| (one.due_at.is_none(), one.due_at, one.created_at, one.id.clone()));
    open
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn day(day: i64) -> Timestamp {
        Timestamp::from_second(day * 86_400).unwrap()
    }

    fn open(id: &str, text: &str, due: Option<i64>) -> OpenLoop {
        let id = LoopId::new(id).unwrap();
        OpenLoop::new(id, text, due.map(day), BoundaryClass::Internal, day(0)).unwrap()
    }

    #[test]
    fn a_loop_expires_when_it_is_due_or_after_a_week() {
        let check = |due, expected| {
            assert_eq!(open("lop_1", "x", due).expires_at, day(expected), "{due:?}");
        };
        check(None, 7);
        check(Some(3), 3);
        check(Some(29), 29);
        check(Some(90), 30);
        check(Some(0), 7);
        check(Some(-3), 7);
    }

    #[test]
    fn limits_of_a_loop() {
        let id = || LoopId::new("lop_1").unwrap();
        let make = |text: &str| OpenLoop::new(id(), text, None, BoundaryClass::Internal, day(0));
        assert!(make(" \n").is_err() && make(&"x".repeat(2_049)).is_err());
        assert_eq!(make("call \n Bo").unwrap().text, "call Bo");
        assert!(make(&"x".repeat(2_048)).is_ok());
    }

    #[test]
    fn what_is_due_earlier_is_first_and_what_is_expired_is_gone() {
        let loops =
            [open("lop_1", "a", None), open("lop_2", "b", Some(5)), open("lop_3", "c", Some(2))];
        let shown = |at| {
            open_loops(&loops, day(at)).iter().map(|one| one.text.as_str()).collect::<String>()
        };
        assert_eq!(shown(0), "cba");
        assert_eq!(shown(2), "ba");
        assert_eq!(shown(7), "");
    }

    #[test]
    fn the_same_told_again_is_one_loop() {
        let again = OpenLoop {
            boundary_class: BoundaryClass::Pii,
            created_at: day(4),
            ..open("lop_2", "a", None)
        };
        let told = open("lop_1", "a", None).told_again(&again);
        assert_eq!((told.id.as_str(), told.expires_at), ("lop_1", day(11)));
        assert_eq!(told.boundary_class, BoundaryClass::Pii);
        let told = open("lop_1", "a", Some(6)).told_again(&again);
        assert_eq!((told.due_at, told.expires_at), (Some(day(6)), day(6)));
    }

    proptest! {
        #[test]
        fn a_loop_lives_at_most_30_days(due in proptest::option::of(-400_i64..400), now in -99_i64..99) {
            let expires = OpenLoop::expiry(due.map(day), day(now));
            prop_assert!(expires > day(now) && expires <= day(now + 30));
        }
    }
}
