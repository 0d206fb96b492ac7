use std::{cmp::Ordering, fmt};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A finite score from 0 to 1; larger is better.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "maximum" = 1)))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f32", into = "f32")]
pub struct Score(f32);

impl Score {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);
    /// As far from one end as from the other.
    pub const HALF: Self = Self(0.5);
    /// All there is.
    pub const ONE: Self = Self(1.0);

    /// Takes a value from 0 to 1, both included.
    ///
    /// # Errors
    /// [`Error::InvalidScore`] for NaN, the infinities and values outside 0–1.
    pub fn new(value: f32) -> Result<Self> {
        // `+ 0.0` turns -0.0 into 0.0, so that equal scores have equal bytes.
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value + 0.0))
        } else {
            Err(Error::InvalidScore { value })
        }
    }

    /// The nearest score: below 0 becomes 0, above 1 becomes 1, NaN becomes 0.
    pub fn clamped(value: f32) -> Self {
        if value > 0.0 { Self(value.min(1.0)) } else { Self(0.0) }
    }

    /// The value, 0–1.
    pub const fn get(self) -> f32 {
        self.0
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

crate::checked_conversions!(Score(f32));

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_edges_are_in_and_what_is_beyond_is_not() {
        for good in [0.0, -0.0, 1.0, f32::MIN_POSITIVE] {
            assert!(Score::new(good).is_ok(), "{good}");
        }
        for bad in [-f32::MIN_POSITIVE, 1.0 + f32::EPSILON, f32::NAN, f32::INFINITY] {
            assert!(Score::new(bad).is_err(), "{bad}");
        }
        assert_eq!(Score::new(-0.0).unwrap().get().to_bits(), 0);
    }

    proptest! {
        #[test]
        fn clamping_always_gives_a_valid_score(value in proptest::num::f32::ANY) {
            prop_assert!(Score::new(Score::clamped(value).get()).is_ok());
        }
    }
}
