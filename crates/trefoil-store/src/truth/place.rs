//! Places in the history of a shard, and whether one is still part of it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use trefoil_core::{BoundaryClass, Error, Result};

/// How far a shard, or a node's cache of it, is.
///
/// A database that takes over from one that failed may give the same epoch and transaction a
/// second time. `by` tells them apart.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Place {
    /// How often a connection has begun to write, so far.
    pub epoch: u64,
    /// A random number of the epoch's writer.
    pub by: u64,
    /// How many transactions there are.
    pub tx: u64,
}

impl Place {
    /// Where a shard begins: no writer yet, and no row.
    pub const NOTHING: Self = Self { epoch: 0, by: 0, tx: 0 };

    /// The place after one more transaction of the same writer.
    #[must_use]
    pub const fn next(self) -> Self {
        Self { tx: self.tx + 1, ..self }
    }
}

/// Epoch, writer and transaction, as in `3-6181996332276583714-9`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.epoch, self.by, self.tx)
    }
}

impl FromStr for Place {
    type Err = Error;

    /// Reads what [`Display`](fmt::Display) wrote.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for anything else.
    fn from_str(text: &str) -> Result<Self> {
        let mut numbers = text.split('-').map(|number| number.parse::<u64>().ok());
        let mut number = || numbers.next().flatten();
        if let (Some(epoch), Some(by), Some(tx)) = (number(), number(), number())
            && numbers.next().is_none()
        {
            return Ok(Self { epoch, by, tx });
        }
        let allowed = "a place that was told, such as `3-6181996332276583714-9`";
        let value: String = text.chars().take(80).collect();
        Err(Error::InvalidField { field: "place", value, allowed })
    }
}

/// A shard as of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shard {
    /// How far it is.
    pub head: Place,
    /// The format of its rows, see [`format`](super::format).
    pub format: u32,
    /// The transaction up to which keys that are gone are forgotten.
    pub pruned: u64,
    /// Where each epoch began, ascending.
    pub epochs: Vec<Place>,
    /// The node that leads; none if the lease has run out.
    pub writer: Option<String>,
    /// The highest class of units of memory that this node is given; none if it is given all.
    pub boundary: Option<BoundaryClass>,
}

/// What a place has that the shard has lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The place that does not hold any more.
    pub at: Place,
    /// The transaction from which on the shard went another way; transactions after it that the
    /// place has are lost.
    pub after: u64,
}

impl Shard {
    /// What of `place` the shard has lost; none if `place` is part of its history.
    ///
    /// A place at (e, by, t) is sound if epoch e is still by that writer, the head is not before t,
    /// and the next epoch began at t or later.
    pub fn lost(&self, place: Place) -> Option<Lost> {
        let lost = |after: u64| Some(Lost { at: place, after: after.min(place.tx) });
        if place == Place::NOTHING {
            return None;
        }
        let next = self.epochs.iter().find(|began| began.epoch > place.epoch);
        let own = self.epochs.iter().rfind(|began| began.epoch <= place.epoch);
        match own {
            Some(own) if own.epoch == place.epoch => {
                if own.by != place.by {
                    // Both writers went on from somewhere before.
                    return lost(own.tx);
                }
                let end = next.map_or(self.head.tx, |next| next.tx.min(self.head.tx));
                if place.tx <= end { None } else { lost(end) }
            }
            // An epoch of a head that is lost.
            _ => lost(next.map_or(self.head.tx, |next| next.tx)),
        }
    }

    /// Where a pull after `after` has to start.
    pub fn start(&self, after: Place) -> Start {
        match self.lost(after) {
            Some(lost) => Start::Nothing { lost: Some(lost) },
            None if after == Place::NOTHING || after.tx < self.pruned => {
                Start::Nothing { lost: None }
            }
            None => Start::After(after),
        }
    }
}

/// What the rows of a pull are to be added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The rows at this place.
    After(Place),
    /// Nothing: all rows come, and what was there before is void.
    Nothing {
        /// Why, if what was there has transactions that the shard lost.
        lost: Option<Lost>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(epoch: u64, by: u64, tx: u64) -> Place {
        Place { epoch, by, tx }
    }

    fn shard() -> Shard {
        Shard {
            head: place(3, 33, 9),
            epochs: vec![place(1, 11, 0), place(2, 22, 4), place(3, 33, 7)],
            ..Shard::default()
        }
    }

    #[test]
    fn a_place_holds_up_to_where_the_next_epoch_began() {
        let shard = shard();
        for sound in [place(1, 11, 4), place(2, 22, 4), place(2, 22, 7), place(3, 33, 9)] {
            assert_eq!(shard.start(sound), Start::After(sound));
        }
        let lost = |at, after| Start::Nothing { lost: Some(Lost { at, after }) };
        for (at, after) in [
            (place(1, 11, 5), 4),
            (place(2, 22, 8), 7),
            (place(3, 33, 10), 9),
            (place(2, 99, 5), 4),
            (place(3, 99, 7), 7),
            (place(4, 44, 9), 9),
        ] {
            assert_eq!(shard.start(at), lost(at, after), "{at:?}");
        }
    }

    #[test]
    fn a_place_before_what_was_pruned_starts_from_nothing_and_has_lost_nothing() {
        let mut shard = shard();
        assert_eq!(shard.start(Place::NOTHING), Start::Nothing { lost: None });
        shard.pruned = 6;
        assert_eq!(shard.start(place(1, 11, 4)), Start::Nothing { lost: None });
        assert_eq!(shard.start(place(2, 22, 5)), Start::Nothing { lost: None });
        assert_eq!(shard.start(place(2, 22, 6)), Start::After(place(2, 22, 6)));
    }

    #[test]
    fn a_place_is_read_as_it_was_written_and_nothing_else_is() {
        for place in [Place::NOTHING, place(3, u64::MAX, 9)] {
            assert_eq!(place.to_string().parse::<Place>().unwrap(), place);
        }
        for wrong in ["", "1-2", "1-2-3-4", "1-2-x", "1--3", "18446744073709551616-1-1"] {
            let error = wrong.parse::<Place>().unwrap_err();
            assert!(matches!(error, Error::InvalidField { field: "place", .. }), "{wrong}");
        }
    }

    #[test]
    fn a_new_shard_has_lost_all_that_a_place_has() {
        let at = place(1, 11, 2);
        assert_eq!(Shard::default().lost(at), Some(Lost { at, after: 0 }));
        assert_eq!(Shard::default().lost(Place::NOTHING), None);
    }
}
