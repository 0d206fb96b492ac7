//! Entities and how they hang together: the graph retriever.
//!
//! ```text
//! extractions ─▶ GraphIndexer ─commit─▶ segments + MANIFEST ─▶ GraphIndex ─▶ GraphRetriever ─▶ RankedList
//!                                                └──▶ frozen form ──┘
//! ```
//!
//! An index is a directory of segments that never change, and a manifest that names those that
//! count ([`GraphIndexer`] writes them). A segment says what each of its chunks mentions and
//! which chunks mention an entity. What few of them tell is read from them when it is asked
//! ([`GraphIndex`]); what needs the whole graph works on a form of it that is frozen from time to
//! time. Neither depends on how the chunks came and went. A question is answered by a step from
//! what others found, or by a walk from the entities that it names ([`GraphRetriever`]).
//!
//! # Algorithms
//!
//! A graph is frozen into compressed sparse rows ([`Csr`]) and then only read. Everything
//! here is pure and deterministic: the same graph, seeds and settings give the same result
//! on every run. petgraph's algorithms run on the same rows ([`Csr`] has its traits), and
//! [`GraphIndex::to_petgraph`] makes a graph of petgraph itself.
//!
//! - [`weigh`]: counts of what occurs together become weights.
//! - [`leiden`], [`update`], [`Hierarchy`]: communities, after a change, and their parts.
//! - [PageRank], [`EntityChunks`]: how near everything is to some seeds.
//! - [`shortest_paths`]: how things hang together.
//!
//! ```
//! use trefoil_graph::{Csr, LeidenConfig, Partition, leiden, shortest_paths};
//!
//! // Two triangles with an edge between them.
//! let edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)];
//! let graph = Csr::from_edges(6, edges.map(|(a, b)| (a, b, 1.0)))?;
//! let communities = leiden(&graph, &LeidenConfig::default())?;
//! assert_eq!(communities, Partition::from_labels([0, 0, 0, 1, 1, 1]));
//!
//! let paths = shortest_paths(&graph, &[0, 5], 3, 10);
//! assert_eq!(paths[0].nodes, [0, 2, 3, 5]);
//! # Ok::<(), trefoil_core::Error>(())
//! ```

mod bipartite;
mod column;
mod community;
mod config;
mod csr;
#[cfg(test)]
mod fixture;
mod index;
mod lexrank;
mod pagerank;
mod paths;
mod pmi;
mod random;
mod ranking;
mod retriever;
mod segment;
#[cfg(test)]
mod tests;

pub use bipartite::EntityChunks;
pub use community::{
    components::{components, disconnected, split_disconnected},
    hierarchy::{Community, Hierarchy, HierarchyConfig},
    leiden::{LeidenConfig, Update, improve, leiden, update},
    modularity::{CommunityEdges, modularity},
    name::community_name,
    partition::Partition,
};
pub use config::GraphConfig;
pub use csr::{Csr, Node};
pub use index::{
    Degrees, Entity, GraphIndex,
    export::{EntityNode, RelationEdge},
    files::GraphFiles,
    frozen::FrozenAt,
    indexer::GraphIndexer,
    manifest::Changes,
    relations::{ProvenRelation, RelationPath},
    step::Stepped,
};
pub use lexrank::{Sentence, central};
pub use pagerank::{PageRank, Scores, Walk};
pub use paths::{Path, shortest_paths};
/// The library whose graphs and algorithms are in this crate's interface.
pub use petgraph;
pub use pmi::{Counts, PruneConfig, npmi, weigh};
pub use retriever::{GraphRetriever, Normalize};
