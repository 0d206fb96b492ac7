use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Error, Result, RetrieverId};

/// The share that a retriever has in fusion, 0–1.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "maximum" = 1)))]
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f32", into = "f32")]
pub struct Weight(f32);

impl Weight {
    /// Checks a weight.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] unless it is a number from 0 to 1.
    pub fn new(weight: f32) -> Result<Self> {
        Error::check_range(weight, 0.0..=1.0, "weight", "0–1")?;
        Ok(Self(weight))
    }

    /// The number.
    pub const fn get(self) -> f32 {
        self.0
    }
}

crate::checked_conversions!(Weight(f32));

/// Weight of each retriever in fusion, each 0–1, with a sum of 1 ± 0.01. A retriever that is not
/// named weighs nothing.
///
/// ```
/// use trefoil_core::{RetrieverId, SearchWeights};
///
/// let weights = SearchWeights::new([(RetrieverId::KEYWORD, 0.8), (RetrieverId::SEMANTIC, 0.2)])?;
/// assert_eq!(weights.get(RetrieverId::GRAPH), 0.0);
/// # Ok::<(), trefoil_core::Error>(())
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend(
        "patternProperties" = {RetrieverId::PATTERN: {"type": "number", "minimum": 0, "maximum": 1}},
        "additionalProperties" = false,
    ))
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<RetrieverId, f32>", into = "BTreeMap<RetrieverId, f32>")]
pub struct SearchWeights {
    /// By id, each once.
    weights: Vec<(RetrieverId, f32)>,
}

impl SearchWeights {
    /// Checks weights. Of a retriever that is named twice, the last counts.
    ///
    /// # Errors
    /// [`Error::InvalidWeights`] if one is outside 0–1 or the sum is not 1 ± 0.01.
    pub fn new(weights: impl IntoIterator<Item = (RetrieverId, f32)>) -> Result<Self> {
        let by_id: BTreeMap<RetrieverId, f32> = weights.into_iter().collect();
        let weights = Self { weights: by_id.into_iter().collect() };
        let each = weights.iter().all(|(_, weight)| (0.0..=1.0).contains(&weight));
        // Half an ulp of slack, so that .34 + .33 + .34 is still 1.01.
        let sum: f64 = weights.iter().map(|(_, weight)| f64::from(weight)).sum();
        if each && (sum - 1.0).abs() <= 0.01 + 1e-6 {
            return Ok(weights);
        }
        let named = weights.iter().map(|(id, weight)| format!("{id} {weight}"));
        Err(Error::InvalidWeights { weights: named.collect::<Vec<_>>().join(", ") })
    }

    /// Checks the weights of the [default set](RetrieverId::DEFAULT_SET), in its order.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn default_set(weights: [f32; 3]) -> Result<Self> {
        Self::new(RetrieverId::DEFAULT_SET.into_iter().zip(weights))
    }

    /// The weight of one retriever.
    pub fn get(&self, retriever: RetrieverId) -> f32 {
        self.iter().find(|&(id, _)| id == retriever).map_or(0.0, |(_, weight)| weight)
    }

    /// Every retriever that is named, with its weight, by id.
    pub fn iter(&self) -> impl Iterator<Item = (RetrieverId, f32)> {
        self.weights.iter().copied()
    }
}

impl Default for SearchWeights {
    /// .35, .35 and .30 for the default set.
    fn default() -> Self {
        Self { weights: RetrieverId::DEFAULT_SET.into_iter().zip([0.35, 0.35, 0.30]).collect() }
    }
}

impl TryFrom<BTreeMap<RetrieverId, f32>> for SearchWeights {
    type Error = Error;
    fn try_from(weights: BTreeMap<RetrieverId, f32>) -> Result<Self> {
        Self::new(weights)
    }
}

impl From<SearchWeights> for BTreeMap<RetrieverId, f32> {
    fn from(weights: SearchWeights) -> Self {
        weights.weights.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_within_a_hundredth() {
        for (weights, valid) in [
            ([0.35, 0.35, 0.30], true),
            ([1.0, 0.0, 0.0], true),
            ([0.34, 0.33, 0.34], true),
            ([0.33, 0.33, 0.33], true),
            ([0.35, 0.35, 0.32], false),
            ([0.33, 0.33, 0.32], false),
            ([1.01, 0.0, 0.0], false),
            ([-0.01, 0.5, 0.51], false),
            ([f32::NAN, 0.5, 0.5], false),
        ] {
            assert_eq!(SearchWeights::default_set(weights).is_ok(), valid, "{weights:?}");
        }
        let error = SearchWeights::new([(RetrieverId::GRAPH, 0.5)]).unwrap_err().to_string();
        assert!(error.starts_with("weights graph 0.5 are invalid"), "{error}");
    }

    #[test]
    fn any_retriever_may_be_weighed() {
        let mine = RetrieverId::new("mine").unwrap();
        let weights = SearchWeights::new([(mine, 0.2), (RetrieverId::KEYWORD, 0.8)]).unwrap();
        assert_eq!((weights.get(mine), weights.get(RetrieverId::SEMANTIC)), (0.2, 0.0));
        let json = serde_json::to_string(&weights).unwrap();
        assert_eq!(json, r#"{"keyword":0.8,"mine":0.2}"#);
        assert_eq!(serde_json::from_str::<SearchWeights>(&json).unwrap(), weights);
        assert!(serde_json::from_str::<SearchWeights>(r#"{"keyword":2.0}"#).is_err());
    }
}
