//! What the server says of itself.

use axum::response::Response;

use crate::{
    call::{Call, json, text},
    markup::{self, HTML},
    problem::{self, Problem},
};

pub(crate) fn openapi(call: Call) -> Result<Response, Problem> {
    json(&call.app.reference.openapi)
}

pub(crate) fn docs(call: Call) -> Result<Response, Problem> {
    Ok(text(HTML, call.app.reference.docs.clone()))
}

pub(crate) fn problem(call: Call) -> Result<Response, Problem> {
    let (kind, meaning) = problem::meaning(call.named()).ok_or_else(Problem::not_found)?;
    let (status, meaning) = (kind.http_status, markup::escaped(meaning));
    let body = format!("<h1>{}</h1><p>Status {status}.</p><p>{meaning}</p>", kind.code);
    Ok(text(HTML, markup::page(kind.code, &body)))
}
