//! The one integration-test binary of the workspace.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a panic is how a test fails"
)]

mod campaign;
mod classify;
mod compatibility;
mod corrupt;
mod crag;
mod crash;
mod deadline;
mod documents;
mod duplicates;
mod engine;
mod entities;
mod explain;
mod external;
mod failing;
mod faults;
mod files;
mod fixtures;
mod forget;
mod fuzz;
mod generation;
mod graph;
mod hostile;
mod leak;
mod ledger;
mod locks;
mod memory;
mod memory_crash;
mod models;
mod nodes;
mod nouns;
mod options;
mod page;
mod plugged;
mod pools;
mod queue;
mod reader;
mod rebuilt;
mod reindex;
mod rerank;
mod server;
mod snapshot;
mod soak;
mod source_files;
mod tenants;
mod tidy;
mod token_vectors;
mod trigrams;
mod upkeep;
mod verify;
