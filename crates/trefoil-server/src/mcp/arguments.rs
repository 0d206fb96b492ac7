//! What the tools take. The comments on the fields are what a language model reads.

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};
use trefoil::{
    Date, DocumentFormat, Language, Metadata,
    memory::{BoundaryClass, ClaimId, FeedbackSignal, ObservationId, ObservationKind, SessionId},
    search::Condition,
};
use trefoil_memory::{AllowTag, ClaimKind, Importance, Scope, SourceType};

/// The names that a field may have, as a schema.
fn names<T: ToString>(all: &[T]) -> Schema {
    let names: Vec<String> = all.iter().map(T::to_string).collect();
    json_schema!({"type": "string", "enum": names})
}

fn languages(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": names(&Language::ALL)})
}

fn classes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": names(BoundaryClass::ALL)})
}

fn class(_: &mut SchemaGenerator) -> Schema {
    names(BoundaryClass::ALL)
}

fn scopes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": names(Scope::ALL)})
}

fn scope(_: &mut SchemaGenerator) -> Schema {
    names(Scope::ALL)
}

fn observation_kind(_: &mut SchemaGenerator) -> Schema {
    names(ObservationKind::ALL)
}

fn source_type(_: &mut SchemaGenerator) -> Schema {
    names(SourceType::ALL)
}

fn claim_kind(_: &mut SchemaGenerator) -> Schema {
    names(ClaimKind::ALL)
}

fn importance(_: &mut SchemaGenerator) -> Schema {
    names(Importance::ALL)
}

fn signal(_: &mut SchemaGenerator) -> Schema {
    names(FeedbackSignal::ALL)
}

/// How much is told of a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Detail {
    Brief,
    #[default]
    Passage,
}

const fn eight() -> usize {
    8
}

const fn chars() -> usize {
    8_000
}

const fn twelve() -> usize {
    12
}

const fn window() -> u32 {
    4_096
}

const fn one() -> u32 {
    1
}

const fn month() -> u8 {
    30
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Search {
    /// The question or key words, 1–1,000 characters, in any of the languages. Of one to three words, passages that have them as they are written come first.
    pub(crate) query: String,
    /// Most hits.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 50))]
    pub(crate) limit: usize,
    /// Condition on documents' metadata: {field, op, value}, {and: […]}, {or: […]} or {not: …}; op is one of == != > >= < <= in notIn contains exists.
    #[serde(default, rename = "where")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub(crate) condition: Option<Condition>,
    /// Only passages in these languages.
    #[serde(default)]
    #[schemars(schema_with = "languages")]
    pub(crate) languages: Vec<Language>,
    /// Only paths like this, such as `docs/**/*.md`.
    #[serde(default)]
    pub(crate) path_glob: Option<String>,
    /// Only documents dated on or after this day, YYYY-MM-DD.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) since: Option<Date>,
    /// Only documents dated on or before this day.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) until: Option<Date>,
    /// `passage` for whole passages, `brief` for what matched.
    #[serde(default)]
    pub(crate) detail: Detail,
    /// Whether many passages are compared with the question, not only the first few: slower.
    #[serde(default)]
    pub(crate) thorough: bool,
    /// Most characters of the answer.
    #[serde(default = "chars")]
    #[schemars(range(min = 500, max = 60_000))]
    pub(crate) max_chars: usize,
    /// The `nextCursor` of the answer before, with the same arguments.
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GetDocument {
    /// Path of the document, as `search` tells it.
    #[serde(default)]
    pub(crate) path: Option<String>,
    /// Instead: id of a document (`fil_…`) or of a passage (`chk_…`).
    #[serde(default)]
    pub(crate) id: Option<String>,
    /// First line, from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub(crate) from_line: u32,
    /// Most lines; to the end, if absent.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) lines: Option<u32>,
    /// Most characters of the answer.
    #[serde(default = "chars")]
    #[schemars(range(min = 500, max = 60_000))]
    pub(crate) max_chars: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GraphQuery {
    /// Name of an entity: what is said of it, and what it is related to.
    #[serde(default)]
    pub(crate) entity: Option<String>,
    /// Instead, with `to`: how two entities hang together.
    #[serde(default)]
    pub(crate) from: Option<String>,
    #[serde(default)]
    pub(crate) to: Option<String>,
    /// Instead: the groups of entities that the documents are about, with reports.
    #[serde(default)]
    pub(crate) communities: bool,
    /// Most characters of the answer.
    #[serde(default = "chars")]
    #[schemars(range(min = 500, max = 60_000))]
    pub(crate) max_chars: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Observe {
    /// What happened or was said, 1–65,536 bytes.
    pub(crate) content: String,
    #[serde(default)]
    #[schemars(schema_with = "observation_kind")]
    pub(crate) kind: ObservationKind,
    /// What was answered to it.
    #[serde(default)]
    pub(crate) reply_text: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "source_type")]
    pub(crate) source_type: SourceType,
    /// Which of its kind: a path, an address, a tool.
    #[serde(default)]
    pub(crate) source_id: Option<String>,
    /// A session of the same token (`ses_…`).
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) session: Option<SessionId>,
    /// Labels.
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    /// Who may see it.
    #[serde(default)]
    #[schemars(schema_with = "class")]
    pub(crate) boundary_class: BoundaryClass,
    /// Days to keep the words; what is learnt stays.
    #[serde(default = "month")]
    #[schemars(range(min = 1, max = 90))]
    pub(crate) lifetime_days: u8,
    /// When it happened, RFC 3339; now, if absent.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) occurred_at: Option<Timestamp>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Activate {
    /// The question, at most 16 KB; empty for what is most worthwhile.
    #[serde(default)]
    pub(crate) q: String,
    /// Most claims.
    #[serde(default = "twelve")]
    #[schemars(range(min = 1, max = 50))]
    pub(crate) top_k: usize,
    /// True for what was said, word for word, instead of what was learnt from it.
    #[serde(default)]
    pub(crate) episodes: bool,
    /// Only these scopes.
    #[serde(default)]
    #[schemars(schema_with = "scopes")]
    pub(crate) scope: Vec<Scope>,
    /// Only these classes.
    #[serde(default)]
    #[schemars(schema_with = "classes")]
    pub(crate) boundary_classes: Vec<BoundaryClass>,
    /// Tags that say what for, such as `answer:task`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) allow: Vec<AllowTag>,
    /// A session of the same token, for its own claims.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) session: Option<SessionId>,
    /// Most characters of the answer.
    #[serde(default = "chars")]
    #[schemars(range(min = 500, max = 60_000))]
    pub(crate) max_chars: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ContextPack {
    /// What is being worked on or asked.
    #[serde(default)]
    pub(crate) q: String,
    /// Tokens of the model's window; the pack takes at most 6/10.
    #[serde(default = "window")]
    #[schemars(range(min = 256, max = 32_768))]
    pub(crate) window: u32,
    /// What the work is about, paragraph by paragraph.
    #[serde(default)]
    pub(crate) context: Vec<String>,
    /// A session of the same token.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) session: Option<SessionId>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Feedback {
    /// Id of the claim (`clm_…`), as `activate` tells it.
    #[schemars(with = "String")]
    pub(crate) claim: ClaimId,
    #[schemars(schema_with = "signal")]
    pub(crate) signal: FeedbackSignal,
    /// For `duplicate`: the claim that says the same.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) duplicate_of: Option<ClaimId>,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    #[default]
    Markdown,
    Text,
    Whole,
}

impl From<Format> for DocumentFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Markdown => Self::Markdown,
            Format::Text => Self::Text,
            Format::Whole => Self::Whole,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AddDocument {
    /// Its key in the index, such as `notes/today.md`; what is there is replaced.
    pub(crate) path: String,
    pub(crate) body: String,
    #[serde(default)]
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) format: Format,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    /// The day it is about, YYYY-MM-DD.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) date: Option<Date>,
    /// Fields to filter by, at most 16 KiB.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub(crate) metadata: Metadata,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoveDocument {
    /// Exactly this path; a file on disk stays.
    pub(crate) path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct UpsertClaim {
    /// What is so, in a sentence.
    pub(crate) text: String,
    /// The observation (`obs_…`) that tells it: `observe` first.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) observed: Option<ObservationId>,
    /// Instead: the claims that it follows from.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) derived: Vec<ClaimId>,
    #[serde(default)]
    #[schemars(schema_with = "claim_kind")]
    pub(crate) kind: ClaimKind,
    #[serde(default)]
    #[schemars(schema_with = "scope")]
    pub(crate) scope: Scope,
    #[serde(default)]
    #[schemars(schema_with = "class")]
    pub(crate) boundary_class: BoundaryClass,
    #[serde(default)]
    #[schemars(schema_with = "importance")]
    pub(crate) importance: Option<Importance>,
    #[serde(default)]
    pub(crate) subject: Option<String>,
    #[serde(default)]
    pub(crate) predicate: Option<String>,
    #[serde(default)]
    pub(crate) object: Option<String>,
    /// Where it can be looked at, such as `file:src/main.rs`.
    #[serde(default)]
    pub(crate) sources: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BoundaryValidate {
    /// What is to be told, at most 65,536 bytes.
    pub(crate) text: String,
    /// The class that its writer gives it.
    #[serde(default)]
    #[schemars(schema_with = "class")]
    pub(crate) class: BoundaryClass,
    #[serde(default)]
    #[schemars(schema_with = "scope")]
    pub(crate) scope: Option<Scope>,
    /// Tags that say what for.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) allow: Vec<AllowTag>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PolicyApply {
    /// The policy, in YAML.
    pub(crate) yaml: String,
    /// True to check it only.
    #[serde(default)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Forget {
    /// All that speaks of a subject.
    #[serde(default)]
    pub(crate) subject: Option<String>,
    /// Instead: a unit of memory by its id.
    #[serde(default)]
    pub(crate) unit: Option<String>,
    /// Instead: the document at a path.
    #[serde(default)]
    pub(crate) document: Option<String>,
}
