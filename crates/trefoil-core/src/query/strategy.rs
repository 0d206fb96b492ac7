use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Error, Result, RetrieverId};

crate::string_enum!(
    /// What kind of answer a question wants.
    QueryType, "type of a query" {
        /// A passage that states the answer.
        Local = "local",
        /// An overview of the whole corpus.
        Global = "global",
        /// How two or more things hang together.
        Relationship = "relationship",
        /// Undecided: every retriever with about the same weight.
        Hybrid = "hybrid",
    }
);

/// What a caller may ask for: one retriever, or all of them.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = RetrieverId::PATTERN)))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SearchStrategy {
    /// One retriever; on the wire its name.
    Only(RetrieverId),
    /// All of them, whatever it is listed with; on the wire `hybrid`.
    Hybrid,
    /// A name that no retriever can have: refused when the query is checked.
    Invalid(String),
}

impl SearchStrategy {
    /// BM25 over analysed terms.
    pub const KEYWORD: Self = Self::Only(RetrieverId::KEYWORD);
    /// Nearest neighbours of the query embedding.
    pub const SEMANTIC: Self = Self::Only(RetrieverId::SEMANTIC);
    /// Neighbourhoods and communities of the entity graph.
    pub const GRAPH: Self = Self::Only(RetrieverId::GRAPH);

    /// The retriever that is asked for by name, if one is.
    pub const fn retriever(&self) -> Option<RetrieverId> {
        match self {
            Self::Only(retriever) => Some(*retriever),
            Self::Hybrid | Self::Invalid(_) => None,
        }
    }

    /// Whether a list of strategies asks for a retriever.
    pub fn wants(strategies: &[Self], retriever: RetrieverId) -> bool {
        strategies.contains(&Self::Hybrid) || strategies.contains(&Self::Only(retriever))
    }
}

impl From<RetrieverId> for SearchStrategy {
    fn from(retriever: RetrieverId) -> Self {
        Self::Only(retriever)
    }
}

impl From<&str> for SearchStrategy {
    fn from(name: &str) -> Self {
        name.parse().unwrap_or_else(|_| Self::Invalid(name.to_owned()))
    }
}

impl FromStr for SearchStrategy {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        if name == HYBRID { Ok(Self::Hybrid) } else { RetrieverId::new(name).map(Self::Only) }
    }
}

impl fmt::Display for SearchStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Only(retriever) => retriever.name(),
            Self::Hybrid => HYBRID,
            Self::Invalid(name) => name,
        })
    }
}

crate::string_conversions!(SearchStrategy);

const HYBRID: &str = "hybrid";

/// What a result item is.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    fn hybrid_means_all_also_when_mixed() {
        use SearchStrategy as Asked;
        let mine = RetrieverId::new("mine").unwrap();
        assert_eq!(Asked::from("mine"), mine.into());
        assert_eq!(Asked::from("No name"), Asked::Invalid("No name".to_owned()));
        let wanted = |asked: &[Asked]| {
            let all = RetrieverId::DEFAULT_SET.into_iter().chain([mine]);
            all.filter(|&one| Asked::wants(asked, one)).collect::<Vec<_>>()
        };
        assert_eq!(wanted(&[Asked::Hybrid]).len(), 4);
        assert_eq!(wanted(&[Asked::KEYWORD, Asked::Hybrid]).len(), 4);
        let [keyword, _, graph] = RetrieverId::DEFAULT_SET;
        assert_eq!(wanted(&[Asked::GRAPH, mine.into(), Asked::KEYWORD]), [keyword, graph, mine]);
        assert_eq!(wanted(&[]), []);
    }

    #[test]
    fn on_the_wire_a_strategy_is_a_name() {
        let asked: Vec<SearchStrategy> = serde_json::from_str(r#"["hybrid", "mine"]"#).unwrap();
        assert_eq!(serde_json::to_string(&asked).unwrap(), r#"["hybrid","mine"]"#);
        assert!(serde_json::from_str::<SearchStrategy>(r#""BM 25""#).is_err());
    }
}
