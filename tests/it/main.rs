//! The one integration-test binary of the workspace.

mod crash;
mod engine;
mod fixtures;
mod hostile;
mod models;
mod tidy;
