//! Every tool there is.

use std::sync::LazyLock;

use super::{
    change,
    client::Client,
    documents, graph, memory,
    tool::{
        Effect::{Adds, Reads, Removes, Replaces},
        Tool,
        ToolSet::{Admin, Documents, Memory, Write},
    },
};
use crate::{auth::Scope, route, settings::Kind};

/// The tools that a client is given.
pub(crate) fn of(client: &Client) -> impl Iterator<Item = &'static Tool> {
    all().iter().filter(|tool| tool.is_for(client))
}

/// The name of every tool, and what tells whether bytes are its arguments.
pub fn tool_arguments() -> impl Iterator<Item = (&'static str, route::Reads)> {
    all().iter().map(|tool| (tool.name, tool.reads))
}

fn all() -> &'static [Tool] {
    static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        let mut tools = about_documents();
        tools.extend(about_memory());
        tools.extend(changes());
        tools.extend(of_the_owner());
        tools
    });
    &TOOLS
}

fn about_documents() -> Vec<Tool> {
    vec![
        Tool::new(
            "search",
            (Documents, Scope::Read, Reads, Kind::Search),
            "Finds passages of the indexed documents that answer a question, in English, \
             Japanese or Korean, best first, each with path, lines and score. `answerability` \
             says whether the documents answer it at all.",
            documents::search,
        ),
        Tool::new(
            "get_document",
            (Documents, Scope::Read, Reads, Kind::Short),
            "Reads a document, or some lines of it, as it is indexed.",
            documents::get_document,
        ),
        Tool::new(
            "graph_query",
            (Documents, Scope::Read, Reads, Kind::Search),
            "Tells what the documents say of an entity, how two entities hang together, or \
             what groups of entities there are.",
            graph::query,
        ),
        Tool::new(
            "health",
            (Documents, Scope::Read, Reads, Kind::Short),
            "Says what the index holds, and what does not run as it should.",
            documents::health,
        ),
    ]
}

fn about_memory() -> Vec<Tool> {
    vec![
        Tool::new(
            "observe",
            (Memory, Scope::MemoryWrite, Adds, Kind::Write),
            "Remembers what happened or was said; facts, preferences and open tasks are learnt \
             from it. Personal data and secrets are recognised and kept from who may not see them.",
            memory::observe,
        ),
        Tool::new(
            "activate",
            (Memory, Scope::MemoryRead, Reads, Kind::Memory),
            "Recalls what is remembered that bears on a question: claims with their confidence, \
             or the words that were said.",
            memory::activate,
        ),
        Tool::new(
            "context_pack",
            (Memory, Scope::MemoryRead, Reads, Kind::Memory),
            "Packs what is remembered for a task into a part of the model's window: facts, what \
             happened lately, who and what is involved, what is left to do.",
            memory::context_pack,
        ),
        Tool::new(
            "feedback",
            (Memory, Scope::MemoryWrite, Adds, Kind::Write),
            "Corrects a claim: says that it helped, harmed, is outdated or is a duplicate.",
            memory::feedback,
        ),
    ]
}

fn changes() -> Vec<Tool> {
    vec![
        Tool::new(
            "add_document",
            (Write, Scope::Write, Replaces, Kind::Write),
            "Stores a document in the place of the one at its path.",
            change::add_document,
        ),
        Tool::new(
            "remove_document",
            (Write, Scope::Write, Removes, Kind::Write),
            "Removes a document from the index.",
            change::remove_document,
        ),
        Tool::new(
            "upsert_claim",
            (Write, Scope::MemoryWrite, Adds, Kind::Write),
            "Stores a claim that follows from an observation or from other claims.",
            change::upsert_claim,
        ),
    ]
}

fn of_the_owner() -> Vec<Tool> {
    vec![
        Tool::new(
            "boundary_validate",
            (Admin, Scope::MemoryRead, Reads, Kind::Memory),
            "Says whether a text may be told within the boundary, and what to cut out of it.",
            change::boundary_validate,
        ),
        Tool::new(
            "policy_apply",
            (Admin, Scope::Admin, Replaces, Kind::Write),
            "Checks a policy of memory, and makes it the one that holds.",
            change::policy_apply,
        ),
        Tool::new(
            "forget",
            (Admin, Scope::Admin, Removes, Kind::Write),
            "Erases a subject, a unit of memory or a document with all that was made from it, \
             and searches the files for what is left.",
            change::forget,
        ),
    ]
}
