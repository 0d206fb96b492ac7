//! The stages. Every trait is object safe, synchronous and batch-sized, so that
//! the cost of dispatch is paid once a batch.

mod document;
mod embed;
mod graph;
mod index;
mod question;
mod rank;
mod retrieve;
mod text;

pub use document::{Chunker, Loader};
pub use embed::{
    Embedder, EmbeddingSpace, LanguageMeans, Pooling, Quantization, QueryVectors, QuestionCodes,
    Role, TokenCodes, TokenMeans, TokenSpace,
};
pub use graph::{EntityExtractor, Summarizer};
pub use index::{Change, IndexEntry, IndexInput, Indexer, Merge, merge_all};
pub use question::{KnownName, NameLookup, QueryClassifier};
pub use rank::{Fuser, Reranker};
pub use retrieve::{After, Retriever, SeedContext};
pub use text::{Analyzer, Token, TokenCounter};
