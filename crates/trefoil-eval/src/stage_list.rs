use std::fmt;

use serde::{Deserialize, Serialize};
use trefoil::Strategy;

/// A list on the way from the question to the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StageList {
    /// The keyword leg's own.
    Keyword,
    /// The semantic leg's own.
    Semantic,
    /// The graph leg's own.
    Graph,
    /// All of them fused.
    Hybrid,
    /// The fused one after the cross-encoder.
    Reranked,
}

impl StageList {
    /// Whether it is a leg's own.
    pub const fn is_leg(self) -> bool {
        matches!(self, Self::Keyword | Self::Semantic | Self::Graph)
    }
}

impl From<Strategy> for StageList {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Keyword => Self::Keyword,
            Strategy::Semantic => Self::Semantic,
            Strategy::Graph | _ => Self::Graph,
        }
    }
}

impl fmt::Display for StageList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keyword => "keyword",
            Self::Semantic => "semantic",
            Self::Graph => "graph",
            Self::Hybrid => "hybrid",
            Self::Reranked => "reranked",
        })
    }
}
