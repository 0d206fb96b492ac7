use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of answer a question wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueryType {
    /// A passage that states the answer.
    Local,
    /// An overview of the whole corpus.
    Global,
    /// How two or more things hang together.
    Relationship,
    /// Undecided: every leg with about the same weight.
    Hybrid,
}

impl fmt::Display for QueryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local",
            Self::Global => "global",
            Self::Relationship => "relationship",
            Self::Hybrid => "hybrid",
        })
    }
}

/// The strategies a caller may ask for; see [`Strategy`] for those that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchStrategy {
    /// BM25 over analysed terms.
    Keyword,
    /// Nearest neighbours of the query embedding.
    Semantic,
    /// Neighbourhoods and communities of the entity graph.
    Graph,
    /// All three, whatever it is listed with.
    Hybrid,
}

/// A leg of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Strategy {
    /// BM25 over analysed terms.
    Keyword,
    /// Nearest neighbours of the query embedding.
    Semantic,
    /// Neighbourhoods and communities of the entity graph.
    Graph,
}

impl Strategy {
    /// Every leg, in a fixed order.
    pub const ALL: [Self; 3] = [Self::Keyword, Self::Semantic, Self::Graph];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keyword => "keyword",
            Self::Semantic => "semantic",
            Self::Graph => "graph",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl SearchStrategy {
    /// The legs that a list of strategies asks for, in a fixed order, each once.
    pub fn legs(strategies: &[Self]) -> Vec<Strategy> {
        let all = strategies.contains(&Self::Hybrid);
        let wanted = |leg| match leg {
            Strategy::Keyword => all || strategies.contains(&Self::Keyword),
            Strategy::Semantic => all || strategies.contains(&Self::Semantic),
            Strategy::Graph => all || strategies.contains(&Self::Graph),
        };
        Strategy::ALL.into_iter().filter(|&leg| wanted(leg)).collect()
    }
}

/// What a result item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchResultType {
    /// A span of a document.
    Chunk,
    /// An entity of the graph.
    Entity,
    /// A community of entities.
    Community,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hybrid_means_all_three_also_when_mixed() {
        use SearchStrategy::{Graph, Hybrid, Keyword};
        assert_eq!(SearchStrategy::legs(&[Hybrid]), Strategy::ALL);
        assert_eq!(SearchStrategy::legs(&[Keyword, Hybrid]), Strategy::ALL);
        assert_eq!(
            SearchStrategy::legs(&[Graph, Keyword, Graph]),
            [Strategy::Keyword, Strategy::Graph]
        );
        assert_eq!(SearchStrategy::legs(&[]), []);
    }
}
