//! A tool as data: what it takes, who may call it, and what answers.

use std::fmt;

use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trefoil::{Cancel, Error};
use trefoil_memory::PolicyVersion;

use super::client::Client;
use crate::{auth::Scope, problem::Problem, route::Reads, settings::Kind};

/// Tools that are given together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolSet {
    /// Search, documents, the graph.
    Documents,
    /// What is remembered, and what happens.
    Memory,
    /// Changes of documents and claims.
    Write,
    /// What only the owner of an index does.
    Admin,
}

impl ToolSet {
    /// Every set with its name.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Documents, "documents"),
        (Self::Memory, "memory"),
        (Self::Write, "write"),
        (Self::Admin, "admin"),
    ];
    /// Those that are given where nobody says otherwise.
    pub const DEFAULT: [Self; 2] = [Self::Documents, Self::Memory];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(set, _)| *set == self).map_or("", |(_, name)| name)
    }
}

impl std::str::FromStr for ToolSet {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|(_, other)| *other == name);
        let allowed = "`documents`, `memory`, `write` or `admin`";
        found.map(|(set, _)| set).ok_or_else(|| Error::invalid_field("tools", name, allowed))
    }
}

/// What a tool answers: the same facts as a text and as a value.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) value: Value,
    /// The policy that holds, for what is about memory.
    pub(crate) policy: Option<PolicyVersion>,
}

impl Answer {
    pub(crate) fn new(text: String, value: Value) -> Self {
        Self { text, value, policy: None }
    }
}

/// What calling a tool does to the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Reads,
    /// Something is added; calling it again adds more.
    Adds,
    /// Something is put in the place of what was there; calling it again changes nothing.
    Replaces,
    /// Something goes away; calling it again changes nothing.
    Removes,
}

type Call = Box<dyn Fn(&Client, JsonObject, &Cancel) -> Result<Answer, Problem> + Send + Sync>;

/// A tool.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) set: ToolSet,
    /// The scope that a token needs.
    pub(crate) scope: Scope,
    pub(crate) effect: Effect,
    /// What a call is, which decides how long it may take.
    pub(crate) kind: Kind,
    /// Reads its arguments.
    pub(crate) reads: Reads,
    listed: Listed,
    pub(crate) call: Call,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Tool {
    pub(crate) fn new<A: DeserializeOwned + JsonSchema + 'static>(
        name: &'static str,
        (set, scope, effect, kind): (ToolSet, Scope, Effect, Kind),
        description: &'static str,
        call: fn(&Client, A, &Cancel) -> Result<Answer, Problem>,
    ) -> Self {
        let annotations = ToolAnnotations::new()
            .read_only(effect == Effect::Reads)
            .destructive(matches!(effect, Effect::Replaces | Effect::Removes))
            .idempotent(effect != Effect::Adds)
            .open_world(false);
        let listed = Listed::new(name, description, schema::<A>()).with_annotations(annotations);
        let call = move |client: &Client, arguments: JsonObject, cancel: &Cancel| {
            let arguments = read(arguments).map_err(|error| {
                let detail = format!("the arguments are not what `{name}` takes: {error}");
                Problem::own("invalid_parameter", detail)
            })?;
            call(client, arguments, cancel)
        };
        Self { name, set, scope, effect, kind, reads: reads::<A>, listed, call: Box::new(call) }
    }

    /// Whether a client is given it.
    pub(crate) fn is_for(&self, client: &Client) -> bool {
        client.sets.contains(&self.set)
            && client.caller.grant.has(self.scope)
            && (self.effect == Effect::Reads || !client.is_read_only())
    }

    /// As `tools/list` tells of it.
    pub(crate) fn listed(&self) -> Listed {
        self.listed.clone()
    }
}

/// What a tool takes, from the arguments of a call.
fn read<A: DeserializeOwned>(arguments: JsonObject) -> serde_json::Result<A> {
    crate::call::body::from_object(arguments)
}

/// Tells whether bytes are JSON of such arguments, read as those of a call are.
fn reads<A: DeserializeOwned>(bytes: &[u8]) -> bool {
    serde_json::from_slice(bytes).is_ok_and(|arguments| read::<A>(arguments).is_ok())
}

/// The schema of what a tool takes, without what says nothing to a caller.
fn schema<A: JsonSchema>() -> JsonObject {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<A>();
    let Value::Object(mut schema) = schema.to_value() else { return JsonObject::new() };
    schema.remove("description");
    tidy(&mut schema);
    schema.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    schema
}

fn tidy(schema: &mut JsonObject) {
    for noise in ["$schema", "title", "format"] {
        schema.remove(noise);
    }
    let says_nothing = |value: &Value| {
        let empty = [Value::Null, json!(false), json!(""), json!([]), json!({})];
        empty.contains(value)
    };
    if schema.get("default").is_some_and(says_nothing) {
        schema.remove("default");
    }
    if schema.get("additionalProperties") == Some(&Value::Bool(true)) {
        schema.remove("additionalProperties");
    }
    let is_null = |one: &Value| one == "null" || one.get("type").is_some_and(|of| of == "null");
    // What may be absent is not also null.
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| !is_null(one));
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("enum") {
        choices.retain(|one| !one.is_null());
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|one| !is_null(one));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            for (key, value) in only {
                schema.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            tidy(property);
        }
    }
    if let Some(items) = schema.get_mut("items").and_then(Value::as_object_mut) {
        tidy(items);
    }
}
