//! Memory, within the boundary of the token that asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trefoil::{admin::ForgetReceipt, memory::BoundaryClass};
use trefoil_memory::{
    AllowTag, Claim, ClaimDraft, ContextRequest, FeedbackInput, FeedbackOutcome, FindOptions,
    FoundUnits, Observation, ObservationDraft, PackedContext, Payload, PolicyVersion,
    RecalledClaims, RecalledEpisodes, Scope, Session, UnitRecord, Validation,
    recall::{RecallProfile, RecallQuery},
};

use crate::{
    auth,
    call::{Call, text},
    problem::Problem,
    route::{Parameter, Values},
};
use axum::response::Response;

/// Feedback of one request.
const MOST: usize = 100;

pub(crate) fn observe(call: &Call, draft: ObservationDraft) -> Result<Observation, Problem> {
    let memory = call.index()?.memory;
    Ok(memory.observe(call.caller.observation(&memory, draft)?)?)
}

pub(crate) fn claim(call: &Call, draft: ClaimDraft) -> Result<Claim, Problem> {
    let memory = call.index()?.memory;
    Ok(memory.insert_claim(call.caller.claim(&memory, draft)?)?)
}

/// What is said of claims.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeedbackBatch {
    /// At most 100; all of it is done, or nothing.
    #[schemars(length(max = MOST))]
    feedback: Vec<FeedbackInput>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeedbackDone {
    outcomes: Vec<FeedbackOutcome>,
}

pub(crate) fn feedback(call: &Call, batch: FeedbackBatch) -> Result<FeedbackDone, Problem> {
    Problem::at_most(batch.feedback.len(), MOST, "feedback")?;
    let memory = call.index()?.memory;
    batch.feedback.iter().try_for_each(|input| call.caller.feedback(&memory, input))?;
    Ok(FeedbackDone { outcomes: memory.feedback_batch(&batch.feedback)? })
}

/// A session that begins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewSession {
    /// The folder of the project.
    #[serde(alias = "project_path")]
    project_path: String,
}

pub(crate) fn begin_session(call: &Call, new: NewSession) -> Result<Session, Problem> {
    let memory = call.index()?.memory;
    Ok(memory.create_session_of(&new.project_path, Some(&call.caller.id))?)
}

/// A session that ends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndOfSession {
    /// What was done in it.
    summary: String,
}

pub(crate) fn end_session(call: &Call, end: EndOfSession) -> Result<Session, Problem> {
    let memory = call.index()?.memory;
    let session = call.caller.session(&memory, call.named())?;
    Ok(memory.end_session(&session.id, &end.summary)?)
}

/// Whether what is recalled may be saved as a context: by who may write, where that can be.
fn saves(call: &Call) -> bool {
    call.caller.grant.has(auth::Scope::MemoryWrite) && !call.app.now().settings.read_only
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Recalled {
    /// Claims.
    Claims(Box<RecalledClaims>),
    /// Episodes, for the profile `episodes`.
    Episodes(RecalledEpisodes),
}

pub(crate) fn recall(call: &Call, query: RecallQuery) -> Result<Recalled, Problem> {
    let memory = call.index()?.memory;
    let query = call.caller.query(&memory, query, saves(call))?;
    let boundary = &call.caller.grant.boundary;
    Ok(if query.profile == RecallProfile::Episodes {
        Recalled::Episodes(memory.episodes(&query, boundary)?)
    } else {
        Recalled::Claims(Box::new(memory.recall(&query, boundary)?))
    })
}

pub(crate) fn context(call: &Call, request: ContextRequest) -> Result<PackedContext, Problem> {
    let memory = call.index()?.memory;
    let query = call.caller.query(&memory, request.query, saves(call))?;
    Ok(memory.context(&ContextRequest { query, ..request }, &call.caller.grant.boundary)?)
}

/// What is looked for among units of every kind.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Find {
    /// The question, and who asks.
    query: RecallQuery,
    /// What is searched, and how much is told.
    #[serde(default)]
    options: FindOptions,
}

pub(crate) fn find(call: &Call, Find { query, options }: Find) -> Result<FoundUnits, Problem> {
    let memory = call.index()?.memory;
    let query = call.caller.query(&memory, query, false)?;
    let question = query.q.clone();
    Ok(memory.view(query, call.caller.grant.boundary.clone()).search(&question, &options)?)
}

/// What is to pass the boundary.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ToPass {
    /// What it says, at most 65,536 bytes.
    #[schemars(length(max = Observation::MAX_CONTENT))]
    text: String,
    /// The class that its writer gives it.
    #[serde(default)]
    class: BoundaryClass,
    /// How far it holds.
    #[serde(default)]
    scope: Option<Scope>,
    /// The tags of the request.
    #[serde(default)]
    allow: Vec<AllowTag>,
    /// The tool that asks.
    #[serde(default)]
    tool: Option<String>,
}

pub(crate) fn validate(call: &Call, to_pass: ToPass) -> Result<Validation, Problem> {
    let ToPass { text, class, scope, allow, tool } = to_pass;
    Problem::at_most(text.len(), Observation::MAX_CONTENT, "text")?;
    let (text, tool, actor) = (&*text, tool.as_deref(), Some(&*call.caller.name));
    let payload = Payload { text, class, scope, allow: &allow, actor, tool, claim: None };
    Ok(call.index()?.memory.validate(&payload, &call.caller.grant.boundary)?)
}

/// What is to be forgotten: one of these.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Forget {
    /// All that speaks of a subject.
    Subject(String),
    /// A unit of memory, by its id, and what was made from it.
    Unit(String),
    /// The document at a path.
    Document(String),
}

pub(crate) fn forget(call: &Call, what: Forget) -> Result<ForgetReceipt, Problem> {
    let opened = call.index()?;
    Ok(match what {
        Forget::Subject(subject) => opened.memory.forget_subject(&subject)?,
        Forget::Unit(id) => opened.memory.forget_unit(&id)?,
        Forget::Document(path) => opened.engine.forget_document(&path)?,
    })
}

pub(crate) fn unit(call: &Call) -> Result<UnitRecord, Problem> {
    call.index()?.memory.record(call.named())?.ok_or_else(Problem::not_found)
}

pub(crate) const VERSION: &[Parameter] = &[Parameter {
    name: "version",
    values: Values::Text,
    summary: "a version; the one that holds without",
}];

pub(crate) fn policy(call: Call) -> Result<Response, Problem> {
    let version = call.query.text("version");
    let read = |text: &str| text.parse().map_err(|_| Problem::not_found());
    let version: Option<PolicyVersion> = version.map(read).transpose()?;
    let yaml = call.index()?.memory.policy_text(version.as_ref())?;
    Ok(text("application/yaml", yaml))
}

pub(crate) const DRY_RUN: &[Parameter] =
    &[Parameter { name: "dryRun", values: Values::Flag, summary: "whether it is only checked" }];

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Applied {
    version: PolicyVersion,
    /// Whether it holds now.
    applied: bool,
}

pub(crate) fn apply_policy(call: &Call, yaml: &str) -> Result<Applied, Problem> {
    let dry_run = call.query.flag("dryRun");
    let version = call.index()?.memory.apply_policy(yaml, dry_run)?;
    Ok(Applied { version, applied: !dry_run })
}
