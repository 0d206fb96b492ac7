//! Nearest neighbours of embeddings: the semantic retriever.
//!
//! An index is a directory of files that never change, and a manifest that names
//! the ones that count. One writer adds; any number of readers, in this process or
//! another, map the files and search them.
//!
//! ```text
//! vectors ─▶ VectorIndexer ─commit─▶ segments + MANIFEST ─▶ SemanticRetriever ─▶ RankedList
//! ```
//!
//! - A **segment** holds unit vectors twice: in `f32`, and as 8-bit codes that a
//!   scan compares with SIMD. Each commit writes one; segments of similar size are
//!   merged ([`trefoil_core::Merge`]), so that there are O(log n) of them. A large one has
//!   **inverted lists** of 1-bit codes.
//! - A search compares codes, and again in `f32` what may be among the nearest by the
//!   error of the codes. A question may have another vector for the texts of each language
//!   ([`trefoil_core::QueryVectors`]). Up to [`VectorConfig::exact_limit`] allowed vectors of a segment it
//!   compares all of them; above, it goes through the lists. A segment above
//!   [`VectorConfig::graph_limit`] has a **graph** (HNSW), which is walked instead.
//! - Every block of every file is checked against its CRC-32 before it is first
//!   used: damage is an error, never a wrong answer.
//!
//! ```
//! use trefoil_core::{Allowed, Indexer, RowId, Seq};
//! use trefoil_semantic::{VectorConfig, VectorIndex, VectorIndexer};
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let config = VectorConfig::default();
//! let mut indexer = VectorIndexer::open(dir, "model-a", 2, &config)?;
//! indexer.put([(RowId::new(7), [0.6, 0.8].as_slice())])?;
//! indexer.commit(Seq::new(1))?;
//!
//! let index = VectorIndex::open(dir, "model-a", 2, &config)?;
//! let nearest = index.search(&[1.0, 0.0], 10, &Allowed::All)?;
//! assert_eq!(nearest, [(RowId::new(7), 0.6)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod candidates;
mod config;
mod files;
mod graph;
mod hnsw;
mod index;
mod indexer;
mod language;
mod lists;
mod manifest;
mod merging;
mod probe;
mod quantize;
mod query;
mod retriever;
mod scan;
mod segment;
mod snapshot;
#[cfg(test)]
mod tests;
mod vector;

pub use config::VectorConfig;
pub use files::VectorFiles;
pub use index::VectorIndex;
pub use indexer::VectorIndexer;
pub use retriever::SemanticRetriever;
