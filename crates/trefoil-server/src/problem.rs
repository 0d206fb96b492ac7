//! Errors as RFC 9457 says: `application/problem+json`.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use trefoil::{Error, ErrorKind, FieldError};

/// What went wrong with a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    /// What happened, and what to do; no path of the machine, no question, no secret.
    pub(crate) detail: String,
    pub(crate) errors: Vec<FieldError>,
    /// Seconds after which to try again.
    pub(crate) retry_after: Option<u64>,
}

/// A problem as it is written.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct ProblemView<'p> {
    /// The path of what it means.
    r#type: String,
    title: String,
    status: u16,
    /// What happened, and what to do.
    detail: &'p str,
    /// The path that was asked.
    instance: &'p str,
    /// The stable word to tell problems apart.
    code: &'p str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'p [FieldError],
}

/// The kinds of problems of the server itself, with what each means.
pub(crate) const OWN: [(ErrorKind, &str); 18] = [
    (kind("malformed_request", 400), "The request, or the JSON in it, cannot be read."),
    (kind("unauthorized", 401), "The request has no token, or one that is not valid (any more)."),
    (kind("scope_missing", 403), "The token lacks the scope that the route asks for."),
    (kind("host_refused", 403), "The `Host` of the request is not a name of this server."),
    (kind("origin_refused", 403), "The `Origin` of the request is not this server."),
    (kind("not_found", 404), "There is no such thing, or the token may not see it."),
    (kind("method_not_allowed", 405), "The path has other methods; `Allow` lists them."),
    (kind("request_timeout", 408), "The body of the request did not arrive in time."),
    (kind("body_too_large", 413), "The body has more bytes than the route takes."),
    (
        kind("unsupported_media_type", 415),
        "The body is not of the media type that the route takes.",
    ),
    (kind("invalid_body", 422), "The body is JSON, and not what the route takes."),
    (kind("invalid_parameter", 422), "A parameter of the query is not what the route takes."),
    (kind("too_many_requests", 429), "The token or address asks too often."),
    (kind("internal", 500), "The server has failed; its log says how."),
    (kind("overloaded", 503), "Too much is waiting already."),
    (kind("not_ready", 503), "The index is not open, or the server is stopping."),
    (kind("bad_settings", 500), "The settings cannot be read again; the server goes on as it was."),
    (kind("deadline", 504), "The call took longer than it may."),
];

const fn kind(code: &'static str, http_status: u16) -> ErrorKind {
    ErrorKind { code, http_status }
}

/// What the code of a problem means, and its status; nothing for a code that there is not.
pub(crate) fn meaning(code: &str) -> Option<(ErrorKind, &'static str)> {
    let own = OWN.into_iter().find(|(kind, _)| kind.code == code);
    own.or_else(|| {
        let of_library = Error::kinds().iter().find(|kind| kind.code == code)?;
        Some((*of_library, "An error of the engine or of memory; `detail` says what to do."))
    })
}

impl Problem {
    /// One of the server's own.
    pub(crate) fn own(code: &'static str, detail: impl Into<String>) -> Self {
        let status = OWN.iter().find(|(kind, _)| kind.code == code);
        let status = status.map_or(500, |(kind, _)| kind.http_status);
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after: matches!(status, 429 | 503).then_some(1),
        }
    }

    /// The answer to what is not there, and to what the token may not see.
    pub(crate) fn not_found() -> Self {
        Self::own("not_found", "there is no such thing here; see `/openapi.json` for what there is")
    }

    /// A parameter that is not what it may be.
    pub(crate) fn parameter(field: &str, value: &str, allowed: &str) -> Self {
        let detail = format!("parameter `{field}` cannot be this; allowed: {allowed}");
        let value = value.chars().take(80).collect();
        let error = FieldError { field: field.to_owned(), value, allowed: allowed.to_owned() };
        Self { errors: vec![error], ..Self::own("invalid_parameter", detail) }
    }

    /// A body that is not what the route takes.
    pub(crate) fn body(error: &serde_json::Error) -> Self {
        if error.is_data() {
            Self::own("invalid_body", format!("the body is not what this takes: {error}"))
        } else {
            Self::own("malformed_request", format!("the body is not JSON: {error}"))
        }
    }

    /// Too much of something.
    pub(crate) fn at_most(count: usize, most: usize, field: &'static str) -> Result<(), Self> {
        let allowed = format!("at most {most}");
        if count <= most {
            return Ok(());
        }
        let detail = format!("`{field}` has {count}; allowed: {allowed}");
        let error = FieldError { field: field.to_owned(), value: count.to_string(), allowed };
        Err(Self { errors: vec![error], ..Self::own("invalid_body", detail) })
    }

    /// The same with seconds after which to try again.
    pub(crate) fn after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds.max(1)), ..self }
    }

    /// What stands in the body of the response to the request for `instance`.
    pub(crate) fn as_value(&self, instance: &str) -> serde_json::Value {
        let view = ProblemView {
            r#type: format!("/problems/{}", self.code),
            title: self.code.replace('_', " "),
            status: self.status.as_u16(),
            detail: &self.detail,
            instance,
            code: self.code,
            errors: &self.errors,
        };
        serde_json::to_value(view).unwrap_or_default()
    }
}

impl IntoResponse for Problem {
    /// Its head; the body is written where the path of the request is known.
    fn into_response(self) -> Response {
        let media = HeaderValue::from_static("application/problem+json");
        let mut response = (self.status, [(header::CONTENT_TYPE, media)]).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = error.http_status();
        if status >= 500 && !matches!(error, Error::Cancelled | Error::TimedOut) {
            tracing::warn!(code = error.code(), "{}", error.chain());
        }
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: error.code(),
            detail: detail(&error),
            errors: error.field().into_iter().collect(),
            retry_after: (status == 503).then_some(5),
        }
    }
}

/// The message of an error, without paths of the machine and without the question.
fn detail(error: &Error) -> String {
    let fixed = match error.code() {
        "locked" => "the index is being written by another process; try again later",
        "read_only" => "the index is served to be read only",
        "index_missing" => "there is no index any more where this one was",
        "search_failed" => "every retriever failed; the log of the server says how",
        "embedding_failed" | "embedding_shape" | "rerank_failed" => {
            "a model failed; the log of the server says how"
        }
        "model_missing" => "a model is missing; run `trefoil models pull` at the server",
        "model_mismatch" => {
            "the index has vectors of another model; run `trefoil reindex` at the server"
        }
        "unknown_claim" => "there is no such claim; take an id from what was recalled",
        _ if error.http_status() == 500 => "the server has failed; its log says how",
        _ => return error.to_string(),
    };
    fixed.to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_of_the_server_and_of_the_library_differ() {
        let own = OWN.iter().map(|(kind, _)| kind.code);
        let codes: BTreeSet<&str> =
            own.chain(Error::kinds().iter().map(|kind| kind.code)).collect();
        assert_eq!(codes.len(), OWN.len() + Error::kinds().len());
    }

    #[test]
    fn a_detail_tells_no_path_and_no_question() {
        let path = std::path::PathBuf::from("/home/ada/secret");
        let of = |error: Error| Problem::from(error).detail;
        for error in [
            Error::Locked { path: path.clone() },
            Error::ReadOnly { path: path.clone(), doing: "write" },
            Error::IndexMissing { path: path.clone() },
            Error::io("read", &path, std::io::ErrorKind::NotFound.into()),
            Error::SearchFailed { query: "secret".into(), reason: "secret".into() },
        ] {
            let text = of(error);
            assert!(!text.contains("secret"), "{text}");
        }
        assert!(of(Error::invalid_query("options.limit", 0, "1–100")).contains("1–100"));
    }

    #[test]
    fn a_problem_is_what_the_standard_says() {
        let problem = Problem::from(Error::invalid_query("options.limit", 0, "1–100"));
        let json = problem.as_value("/v1/search");
        let expected = serde_json::json!({
            "type": "/problems/invalid_query",
            "title": "invalid query",
            "status": 422,
            "detail": "invalid query: `options.limit` is `0`; allowed: 1–100",
            "instance": "/v1/search",
            "code": "invalid_query",
            "errors": [{"field": "options.limit", "value": "`0`", "allowed": "1–100"}],
        });
        assert_eq!(json, expected);
    }
}
