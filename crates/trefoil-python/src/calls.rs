//! Every call of an engine that takes JSON and gives JSON, by name.

use std::{
    ops::ControlFlow,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use trefoil::{
    Engine, EngineConfig, Error, IngestOptions, Metadata, SearchFilters, SearchQuery,
    cluster::StoreAt,
    graph::CommunityView,
    index::{FileInfo, StoredChunk},
    ingest::ChunkId,
    memory::SessionId,
    search::Missed,
};
use trefoil_memory::{
    Boundary, ClaimDraft, ContextRequest, FeedbackInput, FindOptions, MaintainOptions, Memory,
    NoProbe, ObservationDraft, PolicyVersion, recall::RecallQuery,
};

use crate::{
    embedder::{PythonEmbedder, Raised},
    failure::Failure,
    long_call::Reporter,
};

/// An engine that is open.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) engine: Arc<Engine>,
    pub(crate) config: EngineConfig,
    pub(crate) dir: PathBuf,
    pub(crate) embedder: Option<Arc<PythonEmbedder>>,
    pub(crate) raised: Arc<Raised>,
    memory: OnceLock<Memory>,
}

impl Opened {
    pub(crate) fn new(
        engine: Engine,
        config: EngineConfig,
        dir: PathBuf,
        embedder: Option<Arc<PythonEmbedder>>,
        raised: Arc<Raised>,
    ) -> Self {
        let is_shared = matches!(config.store, StoreAt::Shared(_));
        let (engine, memory) = (Arc::new(engine), OnceLock::new());
        let opened = Self { engine, config, dir, embedder, raised, memory };
        if is_shared {
            // Other nodes may ask it to write to memory.
            opened.memory();
        }
        opened
    }

    /// The memory of the engine, which learns in the background from when it is first asked for.
    fn memory(&self) -> &Memory {
        self.memory.get_or_init(|| Memory::new(Arc::clone(&self.engine)))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    #[serde(default)]
    filters: SearchFilters,
    after: Option<String>,
    limit: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Paths {
    paths: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    paths: Vec<String>,
    patch: Metadata,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: Option<String>,
    #[serde(default)]
    filters: SearchFilters,
    limit: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ById<T> {
    id: T,
}

/// A document with its passages.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredDocument {
    #[serde(flatten)]
    file: FileInfo,
    /// Its passages, in order.
    chunks: Vec<StoredChunk>,
}

/// A passage with its neighbours.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChunkInContext {
    /// The passage.
    chunk: StoredChunk,
    /// The one before it in its document.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<StoredChunk>,
    /// The one after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<StoredChunk>,
}

/// What is asked of memory, within a boundary.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Within<T> {
    #[serde(flatten)]
    asked: T,
    #[serde(default)]
    boundary: Boundary,
}

#[derive(Debug, Deserialize)]
struct AskQuery {
    query: RecallQuery,
}

#[derive(Debug, Deserialize)]
struct AskContext {
    request: ContextRequest,
}

#[derive(Debug, Deserialize)]
struct AskUnits {
    query: RecallQuery,
    #[serde(default)]
    options: FindOptions,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Forget {
    Subject(String),
    Unit(String),
    Document(String),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewSession {
    project_path: String,
    owner: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndOfSession {
    id: SessionId,
    summary: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewPolicy {
    yaml: String,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Version {
    version: Option<PolicyVersion>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, Failure> {
    Ok(serde_json::from_slice(json)?)
}

pub(crate) fn write<T: Serialize>(value: &T) -> Result<Vec<u8>, Failure> {
    Ok(serde_json::to_vec(value)?)
}

macro_rules! calls {
    ($($name:literal => |$it:ident, ($argument:pat): $type:ty| $answer:expr;)*) => {
        /// Answers a call that is over soon.
        pub(crate) fn answer(
            opened: &Opened,
            name: &str,
            arguments: &[u8],
        ) -> Result<Vec<u8>, Failure> {
            match name {
                $($name => {
                    let call = |$it: &Opened, $argument: $type| {
                        Ok::<_, Error>($answer)
                    };
                    write(&call(opened, read(arguments)?)?)
                })*
                _ => Err(Failure::Arguments(format!("there is no call `{name}`"))),
            }
        }
    };
}

calls! {
    "plan" => |it, (query): SearchQuery| it.engine.plan(&query)?;
    "whyNot" => |it, (missed): Missed| it.engine.why_missed(&missed)?;
    "documents" => |it, (page): Page| {
        it.engine.documents(&page.filters, page.after.as_deref(), page.limit)?
    };
    "document" => |it, (ById { id: path }): ById<String>| match it.engine.document(&path)? {
        Some(file) => {
            let chunks = it.engine.document_chunks(&path)?;
            let chunks = chunks.into_iter().map(Arc::unwrap_or_clone).collect();
            Some(StoredDocument { file, chunks })
        }
        None => None,
    };
    "texts" => |it, (Paths { paths }): Paths| {
        let chunks = paths.iter().map(|path| it.engine.document_chunks(path));
        let chunks = chunks.collect::<trefoil::Result<Vec<_>>>()?;
        let text = |chunk: &Arc<StoredChunk>| chunk.chunk.text.clone();
        chunks.iter().map(|chunks| chunks.iter().map(text).collect()).collect::<Vec<Vec<_>>>()
    };
    "chunk" => |it, (ById { id }): ById<ChunkId>| {
        let chunk = it.engine.chunk(&id)?.ok_or(Error::ChunkMissing { id })?;
        let neighbours = it.engine.neighbours(chunk.row)?;
        let [before, after] = neighbours.map(|one| one.map(Arc::unwrap_or_clone));
        ChunkInContext { chunk: Arc::unwrap_or_clone(chunk), before, after }
    };
    "remove" => |it, (Paths { paths }): Paths| it.engine.remove_documents(&paths)?;
    "removeBelow" => |it, (ById { id: prefix }): ById<String>| it.engine.remove(&prefix)?;
    "updateMetadata" => |it, (Patch { paths, patch }): Patch| {
        it.engine.update_metadata(&paths, &patch)?
    };
    "entities" => |it, (named): Named| it.engine.entities(&named.filters, named.limit)?;
    "entity" => |it, (Named { name, filters, limit }): Named| {
        it.engine.entity(&name.unwrap_or_default(), &filters, limit)?
    };
    "subgraph" => |it, (Named { name, filters, limit }): Named| {
        it.engine.subgraph(name.as_deref(), &filters, limit)?
    };
    "communities" => |it, (Nothing {}): Nothing| {
        let rows = it.engine.communities()?;
        rows.into_iter().map(CommunityView::from).collect::<Vec<_>>()
    };
    "stats" => |it, (Nothing {}): Nothing| it.engine.stats()?;
    "paths" => |it, (Nothing {}): Nothing| it.engine.paths()?;
    "memory.observe" => |it, (draft): ObservationDraft| it.memory().observe(draft)?;
    "memory.recall" => |it, (Within { asked: AskQuery { query }, boundary }): Within<AskQuery>| {
        it.memory().recall(&query, &boundary)?
    };
    "memory.episodes" => |it, (Within { asked: AskQuery { query }, boundary }): Within<AskQuery>| {
        it.memory().episodes(&query, &boundary)?
    };
    "memory.context" => |it, (Within { asked: AskContext { request }, boundary }):
        Within<AskContext>| it.memory().context(&request, &boundary)?;
    "memory.find" => |it, (Within { asked: AskUnits { query, options }, boundary }):
        Within<AskUnits>| {
        let question = query.q.clone();
        it.memory().view(query, boundary).search(&question, &options)?
    };
    "memory.feedback" => |it, (inputs): Vec<FeedbackInput>| it.memory().feedback_batch(&inputs)?;
    "memory.insertClaims" => |it, (drafts): Vec<ClaimDraft>| it.memory().insert_claims(drafts)?;
    "memory.forget" => |it, (what): Forget| match what {
        Forget::Subject(subject) => it.memory().forget_subject(&subject)?,
        Forget::Unit(id) => it.memory().forget_unit(&id)?,
        Forget::Document(path) => it.engine.forget_document(&path)?,
    };
    "memory.record" => |it, (ById { id }): ById<String>| it.memory().record(&id)?;
    "memory.policy" => |it, (Version { version }): Version| {
        it.memory().policy_text(version.as_ref())?
    };
    "memory.applyPolicy" => |it, (NewPolicy { yaml, dry_run }): NewPolicy| {
        it.memory().apply_policy(&yaml, dry_run)?
    };
    "memory.createSession" => |it, (NewSession { project_path, owner }): NewSession| {
        it.memory().create_session_of(&project_path, owner.as_deref())?
    };
    "memory.endSession" => |it, (EndOfSession { id, summary }): EndOfSession| {
        it.memory().end_session(&id, &summary)?
    };
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathsToIngest {
    paths: Vec<PathBuf>,
    #[serde(default)]
    prune: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Timeout {
    /// Seconds.
    timeout: Option<f64>,
}

/// Answers a call that may take long.
pub(crate) fn answer_in_time(
    opened: &Opened,
    name: &str,
    arguments: &[u8],
    reporter: &Reporter,
) -> Result<Vec<u8>, Failure> {
    let engine = &opened.engine;
    match name {
        "ingestPaths" => {
            let PathsToIngest { paths, prune } = read(arguments)?;
            let tell = |at: trefoil::Progress| reporter.tell(at.done, at.total);
            write(&engine.ingest_paths(&paths, IngestOptions { prune }, tell)?)
        }
        "drain" => {
            let Timeout { timeout } = read(arguments)?;
            if opened.config.memory.learn {
                opened.memory();
            }
            write(&drain(engine, timeout, reporter)?)
        }
        "rebuild" => {
            engine.rebuild()?;
            write(&drain(engine, None, reporter)?)
        }
        "verify" => write(&trefoil::EngineBuilder::verify(
            &Engine::builder(&opened.dir).config(opened.config.clone()),
        )?),
        "memory.maintain" => {
            let options: MaintainOptions = read(arguments)?;
            write(&opened.memory().maintain(&NoProbe, &options)?)
        }
        "memory.work" => write(&opened.memory().work()?),
        "memory.forget" => answer(opened, name, arguments),
        _ => Err(Failure::Arguments(format!("there is no call `{name}`"))),
    }
}

fn drain(
    engine: &Engine,
    timeout: Option<f64>,
    reporter: &Reporter,
) -> Result<trefoil::admin::JobCounts, Failure> {
    let timeout = timeout.map(Duration::try_from_secs_f64);
    let timeout = timeout.transpose().map_err(|_| {
        Failure::Arguments("`timeout` is not a number of seconds, 0 or more".to_owned())
    })?;
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut total = 0;
    Ok(engine.wait_until_indexed_with(|jobs| {
        let left = jobs.queued + jobs.running;
        total = total.max(left);
        let told = reporter.tell((total - left) as u64, total as u64);
        if until.is_some_and(|until| Instant::now() >= until) {
            ControlFlow::Break(())
        } else {
            told
        }
    })?)
}
