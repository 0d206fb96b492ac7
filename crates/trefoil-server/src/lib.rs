//! Indexes and memory over HTTP, for programs and people, within what each token may see.
//!
//! [`Server::bind`] opens the indexes, and [`Server::run`] answers until it is told to stop.
//! What is answered is the [table of routes](fn@routes): the router, the `OpenAPI` description,
//! the labels of the metrics and the reference page all come from it.
//!
//! A request goes one way: accepted (`serve`, `timeouts`), let in (`answer`, `app`, `auth`, `limit`), made a
//! call (`call`) of a route (`route`, `routes`) and answered by one function (`http`).

mod answer;
mod app;
mod auth;
mod boundary;
mod call;
mod drawing;
mod http;
mod indexes;
mod job;
mod limit;
mod local;
mod markup;
#[cfg(feature = "mcp")]
mod mcp;
mod metrics;
mod openapi;
mod problem;
mod route;
mod routes;
mod serve;
mod settings;
mod stream;
mod timeouts;
mod turns;

pub use auth::{Grant, NewToken, Scope, Token, Tokens};
pub use local::{LocalServer, living_server};
#[cfg(feature = "mcp")]
pub use mcp::{McpSettings, ToolSet, serve_stdio, tool_arguments};
pub use route::{Parameter, Reads, Route, Takes, Values};
pub use routes::routes;
pub use serve::{Server, StartError, Stop};
pub use settings::{IndexSettings, Kind, Limits, Reload, ServerSettings};
