use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result};

/// How vectors are indexed and searched. The defaults are measured; see the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VectorConfig {
    /// Allowed vectors of a segment up to which a search compares the 8-bit codes of all
    /// of them; above, it goes through the segment's lists. 10,000 by default, where both
    /// take the same time for 200 results.
    pub exact_limit: usize,
    /// Live vectors above which a segment gets a graph, and allowed vectors of it up to
    /// which none is walked; 10,000,000 by default: up to a million, the lists are faster at
    /// the same recall, and a graph takes a hundred times as long to build. A wider walk, or
    /// one through a filter, has to save more to be taken.
    pub graph_limit: usize,
    /// Links of a graph node (twice as many on the ground layer), 2–128; 16 by
    /// default. More cost memory and build time and give recall.
    pub m: usize,
    /// Candidates for the links of a new node, 1–10,000; 200 by default.
    pub ef_construction: usize,
    /// Candidates that a walk keeps, 1–10,000; 128 by default.
    pub ef_search: usize,
}

impl Default for VectorConfig {
    fn default() -> Self {
        Self {
            exact_limit: 10_000,
            graph_limit: 10_000_000,
            m: 16,
            ef_construction: 200,
            ef_search: 128,
        }
    }
}

impl VectorConfig {
    /// Checks the ranges that the fields name.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] with the first field that is outside its range.
    pub fn validate(&self) -> Result<()> {
        let within = |field, value: usize, range: std::ops::RangeInclusive<usize>, allowed| {
            if range.contains(&value) {
                Ok(())
            } else {
                Err(Error::InvalidConfig { field, value: value.to_string(), allowed })
            }
        };
        within("m", self.m, 2..=128, "2–128")?;
        within("efConstruction", self.ef_construction, 1..=10_000, "1–10,000")?;
        within("efSearch", self.ef_search, 1..=10_000, "1–10,000")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_graph_cannot_take_is_refused() {
        let valid = VectorConfig::default();
        assert!(valid.validate().is_ok());
        for bad in [
            VectorConfig { m: 1, ..valid },
            VectorConfig { m: 257, ..valid },
            VectorConfig { ef_construction: 0, ..valid },
            VectorConfig { ef_search: 0, ..valid },
            VectorConfig { ef_search: usize::MAX, ..valid },
        ] {
            assert!(matches!(bad.validate(), Err(Error::InvalidConfig { .. })), "{bad:?}");
        }
    }
}
