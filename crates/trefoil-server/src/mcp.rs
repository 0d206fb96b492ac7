//! The Model Context Protocol: what a language model may ask of an index, as tools, resources and
//! prompts.
//!
//! A message goes one way: in by the [`endpoint`] of a server or by [`stdio`], made a request of
//! the SDK, taken apart by [`handler`], and answered by one function of a [`tool`], within a
//! [`budget`] of characters.

mod arguments;
mod budget;
mod change;
mod client;
mod documents;
pub(crate) mod endpoint;
mod graph;
mod handler;
mod memory;
mod prompt;
mod relay;
mod resource;
mod shared;
mod stdio;
mod tool;
mod tools;

pub use stdio::{McpSettings, serve_stdio};
pub use tool::ToolSet;
pub use tools::tool_arguments;
