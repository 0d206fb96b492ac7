//! Descriptions of the server, made from the route table.

use std::{collections::BTreeMap, fmt::Write};

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use trefoil::search::Condition;

use crate::{
    markup,
    problem::ProblemView,
    route::{EVENTS, JSON, Route, SchemaOf, Takes, Values, schema_of},
    routes::routes,
};

/// `OpenAPI` 3.1 of everything there is to ask for.
pub(crate) fn description() -> Value {
    let mut schemas = Schemas::new();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in routes() {
        let of_path = paths.entry(route.path).or_default();
        of_path.insert(route.method.to_lowercase(), operation(route, &mut schemas));
    }
    let schemas = schemas.into_components();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Trefoil",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
        },
    })
}

/// Schemas of what is taken and what is given, each named once. A type may be read in more ways
/// than it is written in, so that there are two schemas of it: the one of answers has a name
/// that ends with `Answer`.
struct Schemas {
    taken: SchemaGenerator,
    given: SchemaGenerator,
}

/// What the names of schemas of answers end with.
const GIVEN: &str = "Answer";

impl Schemas {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12()
            .with(|settings| settings.definitions_path = "/components/schemas".into());
        let given = settings.clone().for_serialize().into_generator();
        Self { taken: settings.into_generator(), given }
    }

    /// The schema of what is given.
    fn answer(&mut self, schema: SchemaOf) -> Value {
        let mut schema = schema(&mut self.given).to_value();
        refer_to_answers(&mut schema);
        schema
    }

    fn into_components(mut self) -> Map<String, Value> {
        let mut all = self.taken.take_definitions(true);
        for (name, mut schema) in self.given.take_definitions(true) {
            refer_to_answers(&mut schema);
            all.insert(format!("{name}{GIVEN}"), schema);
        }
        all
    }
}

/// Lets references of an answer lead to schemas of answers.
fn refer_to_answers(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Value::String(to) = value
                    && name == "$ref"
                {
                    to.push_str(GIVEN);
                } else {
                    refer_to_answers(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(refer_to_answers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn operation(route: &Route, schemas: &mut Schemas) -> Value {
    let in_path = route.path_parameters().map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let in_query = route.parameters().map(|parameter| {
        let schema = match parameter.values {
            Values::Text => json!({"type": "string", "pattern": r"^[^\u0000]*$"}),
            Values::Required => {
                json!({"type": "string", "pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$"})
            }
            Values::Condition => schemas.taken.subschema_for::<Condition>().to_value(),
            Values::Flag => json!({"type": "boolean", "default": false}),
            Values::Number { least, most, default } => {
                json!({"type": "integer", "minimum": least, "maximum": most, "default": default})
            }
        };
        let (name, described) = if parameter.values == Values::Condition {
            ("content", json!({JSON: {"schema": schema}}))
        } else {
            ("schema", schema)
        };
        json!({
            "name": parameter.name,
            "in": "query",
            "required": parameter.values == Values::Required,
            "description": parameter.summary,
            name: described,
        })
    });
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    let given = route.answer.map(|schema| json!({"schema": schemas.answer(schema)}));
    let events = route.events.iter().map(|(name, data)| {
        let data = json!({"contentMediaType": JSON, "contentSchema": schemas.answer(*data)});
        json!({"required": ["event"], "properties": {"event": {"const": name}, "data": data}})
    });
    // Each event is described, as it is once the lines of the stream are put together.
    let text = json!({"type": "string"});
    let events = json!({"schema": {
        "type": "object",
        "required": ["id", "event", "data"],
        "properties": {"id": text, "event": text, "data": text},
        "oneOf": events.collect::<Vec<_>>(),
    }});
    let content = route.media.iter().map(|media| {
        let described = match *media {
            JSON => given.clone().unwrap_or_else(|| json!({})),
            EVENTS => events.clone(),
            _ => json!({}),
        };
        ((*media).to_owned(), described)
    });
    let content: Map<String, Value> = content.collect();
    let problem = schemas.answer(schema_of::<ProblemView<'_>>);
    let problem = json!({
        "description": "a problem as in RFC 9457",
        "content": {"application/problem+json": {"schema": problem}},
    });
    let security = if route.scope.is_some() { json!([{"token": []}]) } else { json!([]) };
    let mut operation = Map::from_iter([
        ("operationId".to_owned(), operation_id(route).into()),
        ("summary".to_owned(), route.summary.into()),
        ("parameters".to_owned(), parameters.into()),
        (
            "responses".to_owned(),
            json!({
                route.status.to_string(): {"description": route.answers, "content": content},
                "default": problem,
            }),
        ),
        ("security".to_owned(), security),
    ]);
    let media = match route.takes {
        Takes::Nothing => None,
        Takes::Json | Takes::Documents => Some("application/json"),
        Takes::Yaml => Some("application/yaml"),
    };
    if let Some(media) = media {
        let taken = route.body.map(|schema| schema(&mut schemas.taken).to_value());
        let taken = taken.unwrap_or_else(|| json!({"type": "object"}));
        let body = json!({"required": true, "content": {media: {"schema": taken}}});
        operation.insert("requestBody".to_owned(), body);
    }
    operation.into()
}

/// A word for each operation: `get-v1-documents-id`.
fn operation_id(route: &Route) -> String {
    let path = route.path.trim_start_matches('/').replace(['{', '}'], "");
    format!("{}-{}", route.method.to_lowercase(), path.replace(['/', '.'], "-"))
}

/// The same to read.
pub(crate) fn page() -> String {
    let mut rows = String::new();
    for route in routes() {
        let scope = route.scope.map_or("–", |scope| scope.name());
        let query: Vec<&str> = route.parameters().map(|parameter| parameter.name).collect();
        _ = writeln!(
            rows,
            "<tr><td><code>{} {}</code><td>{scope}<td>{}<td>{}<td>{}",
            route.method,
            markup::escaped(route.path),
            query.join(", "),
            markup::escaped(route.summary),
            markup::escaped(route.answers),
        );
    }
    let table = format!(
        "<h1>Trefoil</h1><p><a href=\"/openapi.json\">OpenAPI</a></p>\n<table>\n\
         <tr><th>request<th>scope<th>parameters<th>what it does<th>answer\n{rows}</table>"
    );
    markup::page("Trefoil", &table)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn bounds_of_values_are_described() {
        let schemas = &description()["components"]["schemas"];
        for (at, bound) in [
            ("/Score/maximum", json!(1)),
            ("/QueryText/maxLength", json!(1_000)),
            ("/ChunkId/pattern", json!("^chk_[A-Za-z0-9_-]{1,128}$")),
            ("/SearchOptions/properties/limit/maximum", json!(100)),
            ("/Layer/maximum", json!(3)),
            ("/SearchWeights/patternProperties/^[a-z][a-z0-9_-]{0,31}$/maximum", json!(1)),
            ("/RecallQuery/properties/topK/maximum", json!(50)),
            ("/ClaimDraft/properties/text/minLength", json!(1)),
            ("/ContextNote/propertyNames/pattern", json!("^[a-z][a-z0-9_]{0,63}$")),
            ("/Embedding/items/maximum", json!(f32::MAX)),
        ] {
            assert_eq!(schemas.pointer(at), Some(&bound), "{at}");
        }
    }

    #[test]
    fn every_route_is_described() {
        let description = description();
        let mut ids = BTreeSet::new();
        let mut references = BTreeSet::new();
        collect(&description, &mut references);
        for reference in &references {
            let at = reference.strip_prefix('#').unwrap();
            assert!(description.pointer(at).is_some(), "{reference}");
        }
        for named in ["SearchQuery", "SearchResultAnswer", "ProblemAnswer"] {
            assert!(references.contains(&format!("#/components/schemas/{named}")), "{named}");
        }
        for route in routes() {
            let operation = &description["paths"][route.path][route.method.to_lowercase()];
            assert_eq!(operation["summary"], route.summary, "{route:?}");
            let named = operation["parameters"].as_array().unwrap().len();
            let expected = route.path_parameters().count() + route.parameters().count();
            assert_eq!(named, expected, "{route:?}");
            assert!(ids.insert(operation["operationId"].to_string()), "{route:?}");
            let taken = &operation["requestBody"]["content"];
            assert_eq!(taken.is_object(), route.takes != Takes::Nothing, "{route:?}");
            let given = &operation["responses"][route.status.to_string()]["content"];
            if route.path.starts_with("/v1/") && route.media.contains(&JSON) {
                assert!(given[JSON]["schema"].is_object(), "{route:?}");
            }
            let told = given[EVENTS]["schema"]["oneOf"].as_array();
            let told = told.is_some_and(|told| !told.is_empty());
            assert_eq!(told, route.streams(), "{route:?}");
        }
    }

    fn collect(value: &Value, references: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                references.extend(fields.get("$ref").map(|to| to.as_str().unwrap().to_owned()));
                fields.values().for_each(|value| collect(value, references));
            }
            Value::Array(items) => items.iter().for_each(|value| collect(value, references)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
