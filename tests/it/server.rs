//! The server as its clients see it, over real connections.

mod documents;
mod hostile;
mod jobs;
mod leak;
mod limits;
mod mcp;
mod memory;
mod nodes;
mod operation;
mod rights;
mod running;
