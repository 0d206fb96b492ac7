//! Resources: documents and the state of an index by address, and completion of names.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::{CompletionInfo, Reference, Resource, ResourceContents, ResourceTemplate};
use trefoil::SearchFilters;

use super::{client::Client, documents};
use crate::{auth::Scope, call::decoded, problem::Problem};

/// Documents of a list.
const PAGE: usize = 100;
/// Entities that a name is looked for among.
const ENTITIES: usize = 1_000;
/// What stands for itself in the path of an address.
const KEPT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const DOCUMENTS: &str = "trefoil://{index}/documents/{+path}";
const STATUS: &str = "trefoil://{index}/status";

fn address(index: &str, path: &str) -> String {
    format!("trefoil://{index}/documents/{}", utf8_percent_encode(path, KEPT))
}

/// A part of the list of documents, by path.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) resources: Vec<Resource>,
    /// The last path, if more may follow.
    pub(crate) next: Option<String>,
}

/// The only index that is asked of; a client that sees several names one.
fn index(client: &Client) -> Result<String, Problem> {
    let mut names = client.names();
    match (names.pop(), names.is_empty()) {
        (Some(name), true) => Ok(name),
        (None, _) => Err(Problem::not_found()),
        (Some(_), false) => {
            Err(Problem::parameter("index", "", "the name of one of `/v1/indexes`, in the address"))
        }
    }
}

/// The state of the index, and the documents behind a path.
pub(crate) fn list(client: &Client, after: Option<&str>) -> Result<Listed, Problem> {
    client.caller.needs(Scope::Read)?;
    let index = index(client)?;
    let files = client.reads()?.engine.documents(&SearchFilters::default(), after, PAGE)?;
    let next = files.last().filter(|_| files.len() == PAGE).map(|file| file.path.clone());
    let status = Resource::new(format!("trefoil://{index}/status"), "status")
        .with_description("What the index holds, and how it is")
        .with_mime_type("application/json");
    let status = after.is_none().then_some(status);
    let documents = files.iter().map(|file| {
        let resource =
            Resource::new(address(&index, &file.path), &*file.path).with_mime_type("text/plain");
        if file.title.is_empty() { resource } else { resource.with_title(&*file.title) }
    });
    Ok(Listed { resources: status.into_iter().chain(documents).collect(), next })
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(DOCUMENTS, "document")
            .with_description("A document as it is indexed")
            .with_mime_type("text/plain"),
        ResourceTemplate::new(STATUS, "status")
            .with_description("What an index holds, and how it is")
            .with_mime_type("application/json"),
    ]
}

/// What stands at an address; nothing, if there is no such thing for this client.
pub(crate) fn read(client: &Client, uri: &str) -> Result<Option<ResourceContents>, Problem> {
    client.caller.needs(Scope::Read)?;
    let Some((index, rest)) = uri.strip_prefix("trefoil://").and_then(|rest| rest.split_once('/'))
    else {
        return Ok(None);
    };
    if !client.names().iter().any(|name| name == index) {
        return Ok(None);
    }
    let client = &Client { index: Some(index.to_owned()), ..client.clone() };
    if rest == "status" {
        let status = documents::status(client)?.to_string();
        return Ok(Some(ResourceContents::text(status, uri).with_mime_type("application/json")));
    }
    let Some(path) = rest.strip_prefix("documents/").and_then(decoded) else { return Ok(None) };
    let engine = client.reads()?.engine;
    if engine.document(&path)?.is_none() {
        return Ok(None);
    }
    let lines = documents::lines(&engine.document_chunks(&path)?);
    Ok(Some(ResourceContents::text(documents::joined(&lines), uri)))
}

/// What an argument may become.
pub(crate) fn complete(
    client: &Client,
    of: &Reference,
    argument: &str,
    value: &str,
) -> Result<CompletionInfo, Problem> {
    client.caller.needs(Scope::Read)?;
    let values = match (of, argument) {
        (Reference::Resource(_), "index") => {
            client.names().into_iter().filter(|name| name.starts_with(value)).collect()
        }
        (Reference::Resource(template), "path") if template.uri == DOCUMENTS => {
            paths(client, value)?
        }
        (Reference::Prompt(prompt), "about") if prompt.name == "review_memory" => {
            entities(client, value)?
        }
        _ => Vec::new(),
    };
    let has_more = values.len() > CompletionInfo::MAX_VALUES;
    let values = values.into_iter().take(CompletionInfo::MAX_VALUES).collect();
    let info = CompletionInfo::with_pagination(values, None, has_more);
    info.map_err(|detail| Problem::own("internal", detail))
}

/// The paths that begin like this.
fn paths(client: &Client, value: &str) -> Result<Vec<String>, Problem> {
    let engine = client.reads()?.engine;
    let exact = engine.document(value)?.map(|file| file.path);
    // By path, those that begin with a text follow right behind it.
    let behind = engine.documents(&SearchFilters::default(), Some(value), PAGE + 1)?;
    let behind = behind.into_iter().map(|file| file.path).filter(|path| path.starts_with(value));
    Ok(exact.into_iter().chain(behind).collect())
}

/// The most important entities whose names begin like this, whatever the case.
fn entities(client: &Client, value: &str) -> Result<Vec<String>, Problem> {
    let value = value.to_lowercase();
    let found = client.reads()?.engine.entities(&SearchFilters::default(), ENTITIES)?;
    let names = found.into_iter().map(|view| view.entity.name);
    Ok(names.filter(|name| name.to_lowercase().starts_with(&value)).collect())
}
