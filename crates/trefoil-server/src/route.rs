//! One thing to ask for, as data: what it takes, who may ask, and what answers.

use std::fmt;

use axum::response::Response;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, de::DeserializeOwned};

use crate::{auth::Scope, call::Call, problem::Problem, settings::Kind};

/// The body that a route takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None.
    Nothing,
    /// JSON.
    Json,
    /// JSON with documents, which may be larger.
    Documents,
    /// A text in YAML.
    Yaml,
}

/// What a parameter of a query may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// A text.
    Text,
    /// A text that has to be there, and is not blank.
    Required,
    /// A condition on the metadata of documents, as JSON.
    Condition,
    /// `true` or `false`; false if absent.
    Flag,
    /// A number within bounds.
    Number {
        /// The least.
        least: usize,
        /// The most.
        most: usize,
        /// What it is if absent.
        default: usize,
    },
}

/// A parameter of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub values: Values,
    /// What it does, in a few words.
    pub summary: &'static str,
}

/// Gives the schema of a type and names those that it is made of.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub(crate) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The schema of what is stored, without an id: the server gives it one.
pub(crate) fn schema_of_new<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let schema = generator.subschema_for::<T>();
    json_schema!({"allOf": [schema, {"properties": {"id": {"type": "null"}}}]})
}

/// Tells whether bytes are JSON of a type that requests bring.
pub type Reads = fn(&[u8]) -> bool;

pub(crate) fn reads<T: DeserializeOwned>(bytes: &[u8]) -> bool {
    crate::call::body::from_slice::<T>(bytes).is_ok()
}

type Handler = Box<dyn Fn(Call) -> Result<Response, Problem> + Send + Sync>;

/// One thing to ask for.
pub struct Route {
    /// `GET`, `POST`, `PUT` or `DELETE`.
    pub method: &'static str,
    /// Its path; what stands in braces is a parameter.
    pub path: &'static str,
    /// The scope that a token needs; none for what everybody may see.
    pub scope: Option<Scope>,
    /// What the call is, which decides how long it may take.
    pub kind: Kind,
    /// Whether it is about one index, which the parameter `index` names.
    pub has_index: bool,
    /// The other parameters of its query.
    pub query: &'static [Parameter],
    /// Its body.
    pub takes: Takes,
    /// The schema of that body.
    pub(crate) body: Option<SchemaOf>,
    /// Tells whether bytes are such a body.
    pub reads: Option<Reads>,
    /// The status of its answer.
    pub status: u16,
    /// The media types of its answer.
    pub media: &'static [&'static str],
    /// The schema of an answer in JSON.
    pub(crate) answer: Option<SchemaOf>,
    /// The events that it tells, each with the schema of its data.
    pub(crate) events: Vec<(&'static str, SchemaOf)>,
    /// What it answers, in words.
    pub answers: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    pub(crate) handler: Handler,
}

/// The media type of a stream of events.
pub(crate) const EVENTS: &str = "text/event-stream";
pub(crate) const JSON: &str = "application/json";

impl Route {
    fn new(
        method: &'static str,
        path: &'static str,
        scope: impl Into<Option<Scope>>,
        summary: &'static str,
        handler: Handler,
    ) -> Self {
        Self {
            method,
            path,
            scope: scope.into(),
            kind: Kind::Short,
            has_index: false,
            query: &[],
            takes: Takes::Nothing,
            body: None,
            reads: None,
            status: 200,
            media: &[JSON],
            answer: None,
            events: Vec::new(),
            answers: "",
            summary,
            handler,
        }
    }

    /// A route without a body that answers with JSON.
    pub(crate) fn get<A: Serialize + JsonSchema + 'static>(
        path: &'static str,
        scope: impl Into<Option<Scope>>,
        summary: &'static str,
        handler: fn(&Call) -> Result<A, Problem>,
    ) -> Self {
        let handler = Box::new(move |call: Call| crate::call::json(&handler(&call)?));
        Self::new("GET", path, scope, summary, handler).gives::<A>()
    }

    /// A route without a body that does something.
    pub(crate) fn act<A: Serialize + JsonSchema + 'static>(
        path: &'static str,
        scope: impl Into<Option<Scope>>,
        summary: &'static str,
        handler: fn(&Call) -> Result<A, Problem>,
    ) -> Self {
        Self { method: "POST", kind: Kind::Write, ..Self::get(path, scope, summary, handler) }
    }

    /// The same for what goes away.
    pub(crate) fn delete<A: Serialize + JsonSchema + 'static>(
        path: &'static str,
        scope: impl Into<Option<Scope>>,
        summary: &'static str,
        handler: fn(&Call) -> Result<A, Problem>,
    ) -> Self {
        let method = "DELETE";
        Self { method, kind: Kind::Write, ..Self::get(path, scope, summary, handler) }
    }

    /// A route that takes JSON and answers with JSON.
    pub(crate) fn post<
        B: DeserializeOwned + JsonSchema + 'static,
        A: Serialize + JsonSchema + 'static,
    >(
        path: &'static str,
        scope: impl Into<Option<Scope>>,
        summary: &'static str,
        handler: fn(&Call, B) -> Result<A, Problem>,
    ) -> Self {
        let handler = Box::new(move |call: Call| {
            let body = call.body()?;
            crate::call::json(&handler(&call, body)?)
        });
        let route = Self::new("POST", path, scope, summary, handler).kind(Kind::Write);
        route.takes_json::<B>().gives::<A>()
    }

    /// A route without a body that writes its own answer, of one of these media types.
    pub(crate) fn page(
        path: &'static str,
        scope: impl Into<Option<Scope>>,
        summary: &'static str,
        media: &'static [&'static str],
        handler: fn(Call) -> Result<Response, Problem>,
    ) -> Self {
        Self { media, ..Self::new("GET", path, scope, summary, Box::new(handler)) }
    }

    /// A route that takes JSON and writes its own answer.
    pub(crate) fn post_for<B: DeserializeOwned + JsonSchema + 'static>(
        path: &'static str,
        scope: impl Into<Option<Scope>>,
        summary: &'static str,
        handler: fn(Call, B) -> Result<Response, Problem>,
    ) -> Self {
        let handler = Box::new(move |call: Call| {
            let body = call.body()?;
            handler(call, body)
        });
        Self::new("POST", path, scope, summary, handler).takes_json::<B>()
    }

    /// A route that takes a text and answers with JSON.
    pub(crate) fn put_text<A: Serialize + JsonSchema + 'static>(
        path: &'static str,
        scope: impl Into<Option<Scope>>,
        summary: &'static str,
        handler: fn(&Call, &str) -> Result<A, Problem>,
    ) -> Self {
        let handler = Box::new(move |call: Call| {
            let body = call.text_body()?;
            crate::call::json(&handler(&call, body)?)
        });
        let route = Self::new("PUT", path, scope, summary, handler).kind(Kind::Write);
        route.takes(Takes::Yaml).gives::<A>()
    }

    /// The same about one index.
    pub(crate) fn of_index(self) -> Self {
        Self { has_index: true, ..self }
    }

    pub(crate) fn kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    pub(crate) fn query(self, query: &'static [Parameter]) -> Self {
        Self { query, ..self }
    }

    pub(crate) fn takes(self, takes: Takes) -> Self {
        Self { takes, ..self }
    }

    fn takes_json<B: DeserializeOwned + JsonSchema>(self) -> Self {
        Self { takes: Takes::Json, body: Some(schema_of::<B>), reads: Some(reads::<B>), ..self }
    }

    /// It stores what it takes.
    pub(crate) fn stores<B: JsonSchema>(self) -> Self {
        Self { body: Some(schema_of_new::<B>), ..self }
    }

    /// What its answers in JSON are.
    pub(crate) fn gives<A: JsonSchema>(self) -> Self {
        Self { answer: Some(schema_of::<A>), ..self }
    }

    /// An event that it tells, and what its data are.
    pub(crate) fn tells<D: JsonSchema>(mut self, event: &'static str) -> Self {
        self.events.push((event, schema_of::<D>));
        self
    }

    pub(crate) fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn media(self, media: &'static [&'static str]) -> Self {
        Self { media, ..self }
    }

    pub(crate) fn answers(self, answers: &'static str) -> Self {
        Self { answers, ..self }
    }

    /// The parameters of its path, in order.
    pub(crate) fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        let parts = self.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Every parameter of its query.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = Parameter> {
        let index = Parameter {
            name: "index",
            values: Values::Text,
            summary: "the index; optional where the token sees one",
        };
        self.query.iter().copied().chain(self.has_index.then_some(index))
    }

    /// Whether it also answers with a stream of events.
    pub fn streams(&self) -> bool {
        self.media.contains(&EVENTS)
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}
