use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use trefoil::{Error, Result, RetrieverId};

/// A list on the way from the question to the results. On the wire it is its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StageList {
    /// A retriever's own.
    Retriever(RetrieverId),
    /// All of them fused.
    Hybrid,
    /// The fused one after the cross-encoder.
    Reranked,
}

impl StageList {
    /// Its name; of a retriever's list, the name of that.
    pub fn name(&self) -> &str {
        match self {
            Self::Retriever(retriever) => retriever.name(),
            Self::Hybrid => "hybrid",
            Self::Reranked => "reranked",
        }
    }

    /// Whether it is a retriever's own.
    pub const fn is_retriever(self) -> bool {
        matches!(self, Self::Retriever(_))
    }
}

impl From<RetrieverId> for StageList {
    fn from(retriever: RetrieverId) -> Self {
        Self::Retriever(retriever)
    }
}

impl FromStr for StageList {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let other = [Self::Hybrid, Self::Reranked].into_iter().find(|list| list.name() == name);
        other.map_or_else(|| RetrieverId::new(name).map(Self::Retriever), Ok)
    }
}

trefoil::string_conversions!(StageList);

impl fmt::Display for StageList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
