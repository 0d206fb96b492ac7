//! Entities, their relations and communities.

use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use trefoil::{
    SearchFilters,
    graph::{CommunityView, EntityView},
};

use crate::{
    call::{Call, json, text},
    drawing,
    problem::Problem,
    route::{Parameter, Values},
};

/// The media type of a drawing.
pub(crate) const SVG: &str = "image/svg+xml";

const LIMIT: Parameter = Parameter {
    name: "limit",
    values: Values::Number { least: 1, most: 1_000, default: 20 },
    summary: "how many entities",
};
pub(crate) const MOST: &[Parameter] = &[LIMIT];
pub(crate) const NAMED: &[Parameter] =
    &[Parameter { name: "name", values: Values::Required, summary: "what it is called" }, LIMIT];
pub(crate) const AROUND: &[Parameter] = &[
    Parameter {
        name: "around",
        values: Values::Text,
        summary: "the name of an entity; the most important ones without",
    },
    LIMIT,
];

/// Entities, the most important first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Entities {
    entities: Vec<EntityView>,
}

pub(crate) fn entities(call: &Call) -> Result<Entities, Problem> {
    let most = call.query.number("limit");
    Ok(Entities { entities: call.index()?.engine.entities(&SearchFilters::default(), most)? })
}

pub(crate) fn entity(call: &Call) -> Result<EntityView, Problem> {
    let (name, most) = (call.query.text("name"), call.query.number("limit"));
    let name = name.unwrap_or_default();
    let entity = call.index()?.engine.entity(name, &SearchFilters::default(), most)?;
    entity.ok_or_else(Problem::not_found)
}

/// Communities, each with its report.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Communities {
    communities: Vec<CommunityView>,
}

pub(crate) fn communities(call: &Call) -> Result<Communities, Problem> {
    let rows = call.index()?.engine.communities()?;
    Ok(Communities { communities: rows.into_iter().map(CommunityView::from).collect() })
}

pub(crate) fn subgraph(call: Call) -> Result<Response, Problem> {
    let (around, most) = (call.query.text("around"), call.query.number("limit"));
    let graph = call.index()?.engine.subgraph(around, &SearchFilters::default(), most)?;
    if call.wants(SVG) { Ok(text(SVG, drawing::svg(&graph))) } else { json(&graph) }
}
