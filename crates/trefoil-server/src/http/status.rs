//! The server itself, and what its indexes hold.

use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use trefoil::admin::EngineStats;

use crate::{
    call::{Call, text},
    metrics::Sizes,
    problem::Problem,
};

pub(crate) const PLAIN: &str = "text/plain; charset=utf-8";
pub(crate) const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) fn healthz(_: Call) -> Result<Response, Problem> {
    Ok(text(PLAIN, "ok\n".to_owned()))
}

pub(crate) fn readyz(call: Call) -> Result<Response, Problem> {
    if call.app.is_stopping() || !call.app.indexes.any_is_open() {
        return Err(Problem::own("not_ready", "no index is open, or the server is stopping"));
    }
    Ok(text(PLAIN, "ready\n".to_owned()))
}

pub(crate) fn metrics(call: Call) -> Result<Response, Problem> {
    let app = &call.app;
    let mut sizes = Vec::new();
    for (index, opened) in app.indexes.seen_by(&call.caller.grant) {
        if let Some(opened) = opened {
            sizes.push(Sizes::new(index, &opened.engine.stats()?));
        }
    }
    let waiting = app.now().gates.searches.waiting();
    Ok(text(METRICS, app.metrics.text(waiting, &sizes, &app.jobs.counts())))
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IndexList {
    indexes: Vec<IndexState>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct IndexState {
    name: String,
    /// Whether it is open; the log of the server says why not.
    open: bool,
}

pub(crate) fn indexes(call: &Call) -> Result<IndexList, Problem> {
    let seen = call.app.indexes.seen_by(&call.caller.grant).into_iter();
    let state = |(name, opened): (_, Option<_>)| IndexState { name, open: opened.is_some() };
    Ok(IndexList { indexes: seen.map(state).collect() })
}

pub(crate) fn stats(call: &Call) -> Result<EngineStats, Problem> {
    Ok(call.index()?.engine.stats()?)
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Reloaded {
    /// What is other than before: `limits`, `hosts`, `roots`, and names of indexes.
    changed: Vec<String>,
}

pub(crate) fn reload(call: &Call) -> Result<Reloaded, Problem> {
    let changed = call.app.reload().map_err(|error| {
        tracing::error!("everything stays as it was: {error}");
        Problem::own("bad_settings", "the settings cannot be read; the log of the server says why")
    })?;
    let grant = &call.caller.grant;
    let is_hidden =
        |name: &str| name.strip_prefix("indexes.").is_some_and(|index| !grant.sees(index));
    Ok(Reloaded { changed: changed.into_iter().filter(|name| !is_hidden(name)).collect() })
}
