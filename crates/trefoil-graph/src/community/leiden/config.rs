use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result};

/// How communities are looked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LeidenConfig {
    /// γ of the modularity; more makes more and smaller communities. Above 0; 1 by default.
    pub resolution: f64,
    /// θ of the refinement: with what chance a part is joined that does not gain most. In
    /// units of the mean weight of an edge; 0 always takes the best. 0.01 by default.
    pub randomness: f64,
    /// Most iterations; fewer are made if one gains nothing. 1–100; 100 by default.
    pub iterations: u32,
    /// What the random numbers are made from; the same seed gives the same communities.
    pub seed: u64,
}

impl Default for LeidenConfig {
    fn default() -> Self {
        Self { resolution: 1.0, randomness: 0.01, iterations: 100, seed: 0 }
    }
}

impl LeidenConfig {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] names the first that is out of its range.
    pub fn validate(&self) -> Result<()> {
        let invalid = |field, value: &dyn std::fmt::Display, allowed| {
            Err(Error::InvalidConfig { field, value: value.to_string(), allowed })
        };
        if !(self.resolution.is_finite() && self.resolution > 0.0) {
            return invalid("leiden.resolution", &self.resolution, "a number above 0");
        }
        if !(self.randomness.is_finite() && self.randomness >= 0.0) {
            return invalid("leiden.randomness", &self.randomness, "a number from 0");
        }
        if !(1..=100).contains(&self.iterations) {
            return invalid("leiden.iterations", &self.iterations, "1–100");
        }
        Ok(())
    }
}
