use serde::{Deserialize, Serialize};
use trefoil_core::Result;

use crate::{PruneConfig, Walk};

/// How the graph is made from what the chunks say, and how it is walked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GraphConfig {
    /// What is left out of the relations from occurring together.
    pub prune: PruneConfig,
    /// With what chance a walk goes on instead of back to where it began, 0–0.99; .8 by
    /// default, as was best of .5, .8 and .85 for questions that need two passages.
    pub damping: f32,
    /// How walks are computed; by pushes down to 10⁻⁴ by default.
    pub walk: Walk,
}

impl Default for GraphConfig {
    fn default() -> Self {
        let walk = Walk::Push { threshold: 1e-4 };
        Self { prune: PruneConfig::default(), damping: 0.8, walk }
    }
}

impl GraphConfig {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`trefoil_core::Error::InvalidConfig`] names the first that is out of its range.
    pub fn validate(&self) -> Result<()> {
        self.prune.validate()?;
        crate::pagerank::check_damping(self.damping)
    }
}
