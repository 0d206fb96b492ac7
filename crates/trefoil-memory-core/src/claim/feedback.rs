use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil_core::{ClaimId, Error, FeedbackId, FeedbackSignal, Result};

/// What somebody says of how much a claim was worth, −1 to 1. Kept, and never used.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("minimum" = -1, "maximum" = 1)))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f32", into = "f32")]
pub struct Rating(f32);

impl Rating {
    /// Takes a value from −1 to 1.
    ///
    /// # Errors
    /// [`Error::InvalidField`] otherwise.
    pub fn new(value: f32) -> Result<Self> {
        let holds = (-1.0..=1.0).contains(&value);
        Error::check_field(holds, "score of feedback", value, "a number from −1 to 1")?;
        Ok(Self(value))
    }

    /// The value.
    pub const fn get(self) -> f32 {
        self.0
    }
}

trefoil_core::checked_conversions!(Rating(f32));

/// What was said of a claim.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Feedback {
    /// Its id.
    pub id: FeedbackId,
    /// The claim.
    #[serde(alias = "claim_id")]
    pub claim_id: ClaimId,
    /// When it was said.
    pub ts: Timestamp,
    /// What was said.
    pub signal: FeedbackSignal,
    /// How much, in the words of who said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Rating>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rating_is_between_minus_1_and_1() {
        for good in [-1.0, 0.0, 1.0] {
            assert_eq!(Rating::new(good).unwrap().get(), good);
        }
        for bad in [-1.1, 1.1, f32::NAN] {
            assert!(Rating::new(bad).is_err());
        }
    }
}
