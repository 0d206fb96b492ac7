//! The one integration-test binary of the workspace.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a panic is how a test fails"
)]

mod classify;
mod crag;
mod crash;
mod engine;
mod explain;
mod fixtures;
mod forget;
mod graph;
mod hostile;
mod memory;
mod memory_crash;
mod models;
mod nouns;
mod page;
mod rerank;
mod tidy;
