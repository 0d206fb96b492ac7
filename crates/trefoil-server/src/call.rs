//! A request that may do what it asks, as a handler sees it, and how it is answered.

pub(crate) mod body;

use std::{str::FromStr, sync::Arc};

use axum::{
    body::Bytes,
    http::{HeaderName, HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use percent_encoding::percent_decode_str;
use serde::{Serialize, de::DeserializeOwned};
use trefoil::{Engine, cluster::Place};

use crate::{
    app::App,
    auth::Caller,
    indexes::Opened,
    problem::Problem,
    route::{Parameter, Route, Values},
    turns::Turn,
};

/// How far an index is that several nodes share: in an answer what it has seen or written, in a
/// request what it wants to see.
pub(crate) const PLACE: HeaderName = HeaderName::from_static("trefoil-place");

/// A request that may do what it asks.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) caller: Caller,
    /// The parameters of the path, in order.
    pub(crate) path: Vec<String>,
    pub(crate) query: Query,
    pub(crate) body: Bytes,
    /// Media types that it wants.
    pub(crate) accept: String,
    /// The last event that it has seen of a stream.
    pub(crate) last_event: Option<u64>,
    /// What the caller wants to see of an index that several nodes share.
    pub(crate) place: Option<Place>,
    /// The turn of a search, for what goes on when the call has its answer.
    pub(crate) turn: Option<Arc<Turn>>,
}

impl Call {
    /// The index that it is about.
    pub(crate) fn index(&self) -> Result<Opened, Problem> {
        let opened = self.app.indexes.find(self.query.text("index"), &self.caller.grant)?;
        if let Some(place) = self.place {
            opened.engine.expect(place);
        }
        Ok(opened)
    }

    /// What tells how far the index is that it is about, if several nodes share it.
    fn node(&self, route: &Route) -> Option<Arc<Engine>> {
        let index = route.has_index.then(|| self.index().ok()).flatten()?;
        matches!(index.engine.node(), Ok(Some(_))).then_some(index.engine)
    }

    /// Is answered, with the place of what it has seen or written.
    pub(crate) fn answer(self, route: &Route) -> Result<Response, Problem> {
        let node = self.node(route);
        let mut response = (route.handler)(self)?;
        if let Some(Ok(Some(status))) = node.map(|engine| engine.node())
            && let Ok(place) = HeaderValue::from_str(&status.place.to_string())
        {
            response.headers_mut().insert(PLACE, place);
        }
        Ok(response)
    }

    /// What it takes.
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        body::from_slice(&self.body).map_err(|error| Problem::body(&error))
    }

    /// What it takes, as a text.
    pub(crate) fn text_body(&self) -> Result<&str, Problem> {
        let text = std::str::from_utf8(&self.body);
        text.map_err(|_| Problem::own("malformed_request", "the body is not UTF-8"))
    }

    /// The first parameter of its path.
    pub(crate) fn named(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    /// The same, read as an id. What is no id names nothing.
    pub(crate) fn id<T: FromStr>(&self) -> Result<T, Problem> {
        self.named().parse().map_err(|_| Problem::not_found())
    }

    /// Whether it wants a media type.
    pub(crate) fn wants(&self, media: &str) -> bool {
        self.accept.contains(media)
    }
}

/// The parameters of a query, as the route declares them.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Reads a query, each parameter of which has to be known and is there once.
    pub(crate) fn read(
        text: Option<&str>,
        known: impl Iterator<Item = Parameter>,
    ) -> Result<Self, Problem> {
        let known: Vec<Parameter> = known.collect();
        let mut read = Self::default();
        for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |text: &str| decoded(&text.replace('+', " "));
            let (Some(name), Some(value)) = (decode(name), decode(value)) else {
                return Err(Problem::own(
                    "malformed_request",
                    "the query is not UTF-8, or holds a NUL",
                ));
            };
            let is_new = read.text(&name).is_none();
            let Some(parameter) = known.iter().find(|one| one.name == name && is_new) else {
                let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
                let allowed = match names.as_slice() {
                    [] => "no parameter".to_owned(),
                    names => format!("each of {} once", names.join(", ")),
                };
                return Err(Problem::parameter(&name, &value, &allowed));
            };
            check(*parameter, &value)?;
            read.0.push((parameter.name, value));
        }
        for parameter in known {
            if read.text(parameter.name).is_some() {
                continue;
            }
            match parameter.values {
                Values::Text | Values::Condition | Values::Flag => {}
                Values::Required => check(parameter, "")?,
                Values::Number { default, .. } => {
                    read.0.push((parameter.name, default.to_string()));
                }
            }
        }
        Ok(read)
    }

    /// A parameter, if it is there.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A number, which was checked when it was read.
    pub(crate) fn number(&self, name: &str) -> usize {
        self.text(name).and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    /// A flag.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }
}

fn check(parameter: Parameter, value: &str) -> Result<(), Problem> {
    let wrong = |allowed: &str| Err(Problem::parameter(parameter.name, value, allowed));
    match parameter.values {
        Values::Required if value.trim().is_empty() => wrong("a text"),
        Values::Text | Values::Condition | Values::Required => Ok(()),
        Values::Flag if ["true", "false"].contains(&value) => Ok(()),
        Values::Flag => wrong("`true` or `false`"),
        Values::Number { least, most, .. } => match value.parse::<usize>() {
            Ok(number) if (least..=most).contains(&number) => Ok(()),
            _ => wrong(&format!("{least}–{most}")),
        },
    }
}

/// A text without its percent signs; nothing if it is not UTF-8, or holds a NUL.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let text = percent_decode_str(text).decode_utf8().ok()?;
    (!text.contains('\0')).then(|| text.into_owned())
}

/// Sixteen hexadecimal digits, unlike those of other requests.
pub(crate) fn request_id() -> String {
    let mut random = [0; 8];
    // Without random numbers there is still a request to be answered.
    _ = getrandom::fill(&mut random);
    format!("{:016x}", u64::from_le_bytes(random))
}

/// A value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<Response, Problem> {
    written(serde_json::to_string(value))
}

/// What was written as JSON.
pub(crate) fn written(json: serde_json::Result<String>) -> Result<Response, Problem> {
    match json {
        Ok(json) => Ok(text(crate::route::JSON, json)),
        Err(error) => {
            tracing::error!("an answer cannot be written: {error}");
            Err(Problem::own("internal", "the answer cannot be written"))
        }
    }
}

/// A text of a media type.
pub(crate) fn text(media: &'static str, text: String) -> Response {
    (StatusCode::OK, [(CONTENT_TYPE, media)], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_known_parameters_once() {
        let parameter = |name, values| Parameter { name, values, summary: "" };
        let read = |text| {
            let number = Values::Number { least: 1, most: 9, default: 4 };
            let known = [
                parameter("a", Values::Text),
                parameter("b", number),
                parameter("c", Values::Flag),
            ];
            Query::read(Some(text), known.into_iter())
        };
        let query = read("a=x+y%2B&c=true").unwrap();
        assert_eq!((query.text("a"), query.number("b")), (Some("x y+"), 4));
        assert!(query.flag("c") && !read("c=false").unwrap().flag("c"));
        assert_eq!(read("b=9").unwrap().number("b"), 9);
        for (text, code) in [
            ("d=1", "invalid_parameter"),
            ("a=1&a=2", "invalid_parameter"),
            ("b=0", "invalid_parameter"),
            ("b=x", "invalid_parameter"),
            ("c=1", "invalid_parameter"),
            ("a=%ff", "malformed_request"),
            ("a=%00", "malformed_request"),
        ] {
            assert_eq!(read(text).unwrap_err().code, code, "{text}");
        }
        let needed = || [parameter("a", Values::Required)].into_iter();
        assert!(Query::read(Some("a=x"), needed()).is_ok());
        for text in [None, Some("a="), Some("a=+")] {
            assert_eq!(Query::read(text, needed()).unwrap_err().code, "invalid_parameter");
        }
    }
}
