//! Documents and their passages.

use std::{ops::ControlFlow, sync::Arc, time::Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trefoil::{
    Document, Ingested, SearchFilters,
    index::{FileInfo, StoredChunk},
    ingest::{Chunk, ChunkId, FileId},
    search::Condition,
};

use crate::{
    call::{Call, body},
    problem::Problem,
    route::{Parameter, Values},
    settings::Kind,
};

/// Documents of one request or page.
const MOST: usize = 1_000;

pub(crate) const PAGE: &[Parameter] = &[
    Parameter { name: "after", values: Values::Text, summary: "only documents behind this path" },
    Parameter {
        name: "limit",
        values: Values::Number { least: 1, most: MOST, default: 100 },
        summary: "how many",
    },
    Parameter {
        name: "where",
        values: Values::Condition,
        summary: "only documents with metadata like this condition, as JSON",
    },
];

/// Documents, by path.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Documents {
    documents: Vec<FileInfo>,
    /// The `after` of the following page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(crate) fn list(call: &Call) -> Result<Documents, Problem> {
    let limit = call.query.number("limit");
    let condition = call.query.text("where").map(|json| {
        let allowed =
            "a condition as JSON, such as `{\"field\": \"year\", \"op\": \">\", \"value\": 2020}`";
        body::from_slice(json.as_bytes()).map_err(|_| Problem::parameter("where", json, allowed))
    });
    let filters = SearchFilters { condition: condition.transpose()?, ..SearchFilters::default() };
    let documents = call.index()?.engine.documents(&filters, call.query.text("after"), limit)?;
    let next = documents.last().filter(|_| documents.len() == limit);
    let next = next.map(|last| last.path.clone());
    Ok(Documents { documents, next })
}

/// Documents that are to be stored.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewDocuments {
    /// At most 1,000.
    #[schemars(length(max = MOST))]
    documents: Vec<Document>,
    #[serde(default)]
    wait: Wait,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Wait {
    /// Until they are found by their words.
    #[default]
    Keyword,
    /// Until they are found by meaning too, or it is time.
    Vectors,
}

/// What was stored.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Stored {
    #[serde(flatten)]
    ingested: Ingested,
    /// How many passages of the index wait for their vectors.
    waiting: usize,
}

pub(crate) fn ingest(call: &Call, new: NewDocuments) -> Result<Stored, Problem> {
    let NewDocuments { documents, wait } = new;
    Problem::at_most(documents.len(), MOST, "documents")?;
    let engine = call.index()?.engine;
    // A little less than the call may take, so that what is stored is always told.
    let until = Instant::now() + call.app.limits().deadline(Kind::Write).mul_f32(0.8);
    let ingested = engine.ingest(&documents)?;
    let jobs = match wait {
        Wait::Vectors => engine.wait_until_indexed_with(|_| {
            if Instant::now() < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?,
        Wait::Keyword => engine.stats()?.store.jobs,
    };
    Ok(Stored { ingested, waiting: jobs.queued + jobs.running })
}

/// What is to be removed: one of these.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("anyOf" = [
    {"properties": {"paths": {"type": "array"}, "where": {"type": "null"}}, "required": ["paths"]},
    {"properties": {"paths": {"type": "null"}, "where": {"type": "object"}}, "required": ["where"]},
]))]
pub(crate) struct ToRemove {
    /// Documents at exactly these paths, at most 1,000.
    #[schemars(length(max = MOST))]
    paths: Option<Vec<String>>,
    /// Documents with metadata like this.
    #[serde(rename = "where")]
    condition: Option<Condition>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Removed {
    /// How many documents.
    removed: usize,
}

pub(crate) fn remove(call: &Call, what: ToRemove) -> Result<Removed, Problem> {
    let engine = call.index()?.engine;
    let removed = match what {
        ToRemove { paths: Some(paths), condition: None } => {
            Problem::at_most(paths.len(), MOST, "paths")?;
            engine.remove_documents(&paths)?
        }
        ToRemove { paths: None, condition: condition @ Some(_) } => {
            let filters = SearchFilters { condition, ..SearchFilters::default() };
            let mut removed = 0;
            loop {
                let found = engine.documents(&filters, None, MOST)?;
                let paths: Vec<String> = found.into_iter().map(|one| one.path).collect();
                let count = engine.remove_documents(&paths)?;
                removed += count;
                if count == 0 || paths.len() < MOST {
                    break removed;
                }
            }
        }
        _ => return Err(Problem::own("invalid_body", "give `paths` or `where`")),
    };
    Ok(Removed { removed })
}

/// The document that the path of a call names.
fn named(call: &Call) -> Result<FileInfo, Problem> {
    let id: FileId = call.id()?;
    call.index()?.engine.document_by_id(&id)?.ok_or_else(Problem::not_found)
}

/// A document with its passages.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Whole {
    #[serde(flatten)]
    document: FileInfo,
    chunks: Vec<Passage>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Passage {
    id: ChunkId,
    #[serde(flatten)]
    chunk: Chunk,
}

pub(crate) fn document(call: &Call) -> Result<Whole, Problem> {
    let document = named(call)?;
    let chunks = call.index()?.engine.document_chunks(&document.path)?;
    let passage =
        |stored: Arc<StoredChunk>| Passage { id: stored.id.clone(), chunk: stored.chunk.clone() };
    Ok(Whole { document, chunks: chunks.into_iter().map(passage).collect() })
}

pub(crate) fn delete(call: &Call) -> Result<Removed, Problem> {
    let document = named(call)?;
    Ok(Removed { removed: call.index()?.engine.remove_documents(&[document.path])? })
}

/// A passage with its neighbours.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WithNeighbours {
    chunk: StoredChunk,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<StoredChunk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<StoredChunk>,
}

pub(crate) fn chunk(call: &Call) -> Result<WithNeighbours, Problem> {
    let id: ChunkId = call.id()?;
    let engine = call.index()?.engine;
    let chunk = engine.chunk(&id)?.ok_or_else(Problem::not_found)?;
    let [before, after] = engine.neighbours(chunk.row)?;
    let [before, after] = [before, after].map(|one| one.map(Arc::unwrap_or_clone));
    Ok(WithNeighbours { chunk: Arc::unwrap_or_clone(chunk), before, after })
}
