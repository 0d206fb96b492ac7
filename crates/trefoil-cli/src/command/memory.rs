//! The commands of memory, one file each.

mod context;
pub(super) mod feedback;
pub(super) mod forget;
pub(super) mod maintain;
pub(super) mod observe;
mod policy;
pub(super) mod recall;
mod show;

use std::{fmt::Write, sync::Arc};

use trefoil_memory::{
    Boundary, Claim, ContextNote, Memory, Observation, Requester, Scope, recall::RecallQuery,
};

use super::Outcome;
use crate::{
    args::{MemoryCommand, PolicyCommand, RequestArgs},
    console::columns,
    settings::Settings,
    show::{DIM, TITLE, printable},
    wrap::wrap,
};

/// Runs a command of memory.
pub(super) fn run(command: MemoryCommand, settings: &Settings) -> anyhow::Result<Outcome> {
    match command {
        MemoryCommand::Observe(args) => observe::run(args, settings),
        MemoryCommand::Recall(args) => recall::run(args, settings),
        MemoryCommand::Feedback(args) => feedback::run(args, settings),
        MemoryCommand::Context(args) => context::run(args, settings),
        MemoryCommand::Maintain(args) => maintain::run(&args, settings),
        MemoryCommand::Forget(args) => forget::run(&args, settings),
        MemoryCommand::Policy(PolicyCommand::Show { version }) => {
            policy::show(version.as_ref(), settings)
        }
        MemoryCommand::Policy(PolicyCommand::Apply { file, dry_run }) => {
            policy::apply(&file, dry_run, settings)
        }
        MemoryCommand::Show { id } => show::run(id.as_deref(), settings),
    }
}

/// The memory of an index that is there, to write to.
fn writable(settings: &Settings) -> trefoil::Result<Memory> {
    settings.open_existing().map(Arc::new).map(Memory::new)
}

/// The memory of an index that is there, while another process may write to it.
fn readable(settings: &Settings) -> trefoil::Result<Memory> {
    settings.open_to_read().map(Arc::new).map(Memory::new)
}

/// What a request may see: what is public or internal, unless it names other classes.
fn boundary(request: &RequestArgs) -> Boundary {
    let mut boundary = Boundary::default();
    boundary.allow.extend(request.allow.iter().cloned());
    if !request.classes.is_empty() {
        boundary.boundary_classes = request.classes.iter().copied().collect();
    }
    if !request.scopes.is_empty() {
        boundary.scope = request.scopes.iter().copied().collect();
    }
    boundary
}

/// What a request asks; it is saved only where that is wanted.
fn query(question: String, request: RequestArgs, save: bool) -> RecallQuery {
    let RequestArgs { allow, session, actor, tool, .. } = request;
    let requester = Requester { actor, tool };
    RecallQuery { allow, session, requester, save, ..RecallQuery::new(question) }
}

/// A claim in words, and beneath it what tells it apart.
fn told(claim: &Claim, margin: &str) -> String {
    let mut text = paragraph(&claim.text, margin);
    let mut about = vec![claim.id.to_string(), claim.kind.to_string()];
    if claim.scope != Scope::Project {
        about.push(claim.scope.to_string());
    }
    about.push(claim.boundary_class.to_string());
    about.push(claim.epistemic_status.to_string());
    if let (Some(subject), Some(predicate), Some(object)) =
        (&claim.subject, &claim.predicate, &claim.object)
    {
        about.push(printable(&format!("{subject} {predicate} {object}")));
    }
    _ = writeln!(text, "{margin}{DIM}{}{DIM:#}", about.join(" · "));
    text
}

/// What was told, what was answered and what a picture shows, and the circumstances.
fn said(observation: &Observation, margin: &str) -> String {
    let mut text = paragraph(&observation.text(), margin);
    for (name, note) in observation.context_note.iter().flat_map(ContextNote::iter) {
        text += &paragraph(&format!("{name}: {note}"), margin);
    }
    text
}

/// Text in lines that fit, after a margin.
pub(super) fn paragraph(text: &str, margin: &str) -> String {
    let text = printable(text);
    let mut lines = String::new();
    for line in wrap(&text, columns().saturating_sub(margin.len()).max(10)) {
        _ = writeln!(lines, "{margin}{}", text.get(line).unwrap_or_default());
    }
    lines
}

fn heading(text: &str) -> String {
    format!("{TITLE}{text}{TITLE:#}\n")
}
