//! What each route does.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "what answers a route has one form"
)]

pub(crate) mod documents;
pub(crate) mod graph;
pub(crate) mod jobs;
pub(crate) mod memory;
pub(crate) mod page;
pub(crate) mod pages;
pub(crate) mod search;
pub(crate) mod status;
