//! Algorithms on the graph of entities: communities, walks, paths, weights.
//!
//! A graph is frozen into compressed sparse rows ([`Csr`]) and then only read. Everything
//! here is pure and deterministic: the same graph, seeds and settings give the same result
//! on every run. petgraph's algorithms run on the same rows ([`Csr`] has its traits).

mod bipartite;
mod column;
mod components;
mod csr;
#[cfg(test)]
mod fixture;
mod hierarchy;
mod leiden;
mod pagerank;
mod partition;
mod paths;
mod quality;
mod random;
mod ranking;
mod traverse;
mod visit;

pub use bipartite::EntityChunks;
pub use components::{components, disconnected, split_disconnected};
pub use csr::{Csr, Node};
pub use hierarchy::{Community, Hierarchy, HierarchyConfig};
pub use leiden::{LeidenConfig, Update, improve, leiden, update};
pub use pagerank::{PageRank, Scores, Walk};
pub use partition::Partition;
pub use paths::{Path, shortest_paths};
pub use quality::{CommunityEdges, modularity};
pub use traverse::{Reached, traverse};
