//! Algorithms on the graph of entities: communities, walks, paths, weights.
//!
//! A graph is frozen into compressed sparse rows ([`Csr`]) and then only read. Everything
//! here is pure and deterministic: the same graph, seeds and settings give the same result
//! on every run. petgraph's algorithms run on the same rows ([`Csr`] has its traits).

mod column;
mod components;
mod csr;
#[cfg(test)]
mod fixture;
mod hierarchy;
mod leiden;
mod partition;
mod quality;
mod random;
mod visit;

pub use components::{components, disconnected, split_disconnected};
pub use csr::{Csr, Node};
pub use hierarchy::{Community, Hierarchy, HierarchyConfig};
pub use leiden::{LeidenConfig, Update, improve, leiden, update};
pub use partition::Partition;
pub use quality::{CommunityEdges, modularity};
