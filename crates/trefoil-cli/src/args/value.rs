//! Choices by name.

use clap::ValueEnum;
use trefoil::{
    Language, SearchStrategy,
    search::{QueryType, SearchResultType},
};

/// A [`SearchStrategy`] by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StrategyArg {
    /// BM25 over words
    Keyword,
    /// Nearest meanings
    Semantic,
    /// The graph of entities
    Graph,
    /// All of them
    Hybrid,
}

impl From<StrategyArg> for SearchStrategy {
    fn from(arg: StrategyArg) -> Self {
        match arg {
            StrategyArg::Keyword => Self::KEYWORD,
            StrategyArg::Semantic => Self::SEMANTIC,
            StrategyArg::Graph => Self::GRAPH,
            StrategyArg::Hybrid => Self::Hybrid,
        }
    }
}

/// A [`QueryType`] by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TypeArg {
    /// A passage that states the answer
    Local,
    /// An overview of everything
    Global,
    /// How things hang together
    Relationship,
    /// Undecided
    Hybrid,
}

impl From<TypeArg> for QueryType {
    fn from(arg: TypeArg) -> Self {
        match arg {
            TypeArg::Local => Self::Local,
            TypeArg::Global => Self::Global,
            TypeArg::Relationship => Self::Relationship,
            TypeArg::Hybrid => Self::Hybrid,
        }
    }
}

/// A [`Language`] by its code.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LanguageArg {
    /// English, and what is not one of the others
    En,
    /// Japanese
    Ja,
    /// Korean
    Ko,
}

impl From<LanguageArg> for Language {
    fn from(arg: LanguageArg) -> Self {
        match arg {
            LanguageArg::En => Self::En,
            LanguageArg::Ja => Self::Ja,
            LanguageArg::Ko => Self::Ko,
        }
    }
}

/// A [`SearchResultType`] by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ResultArg {
    /// A passage of a document
    Chunk,
    /// What the question names, with what the documents say of it
    Entity,
    /// What a part of the documents is about, in short
    Community,
}

impl From<ResultArg> for SearchResultType {
    fn from(arg: ResultArg) -> Self {
        match arg {
            ResultArg::Chunk => Self::Chunk,
            ResultArg::Entity => Self::Entity,
            ResultArg::Community => Self::Community,
        }
    }
}
