mod field;
mod kind;
mod web_failure;

use std::{error::Error as _, fmt::Display, ops::RangeBounds, path::PathBuf};

use serde::{Serialize, Serializer};

pub use self::{field::FieldError, kind::ErrorKind, web_failure::WebFailure};

use crate::{ChunkId, ClaimId, ContextId, Language, RetrieverId};

/// An error of another library, kept as the source of ours.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The result of every fallible operation in the workspace.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The part of the engine that an error came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The SQLite store.
    Store,
    /// One retriever's index of documents.
    Index(RetrieverId),
    /// One retriever's index of memory.
    MemoryIndex(RetrieverId),
    /// An ONNX model or its tokenizer.
    Model,
    /// Reading and cutting of documents.
    Text,
    /// A snapshot file of an index.
    Snapshot,
}

impl Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store => f.write_str("store"),
            Self::Index(retriever) => write!(f, "{retriever} index"),
            Self::MemoryIndex(retriever) => write!(f, "{retriever} index of memory"),
            Self::Model => f.write_str("model"),
            Self::Text => f.write_str("text"),
            Self::Snapshot => f.write_str("snapshot"),
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Everything that a caller can act on. The message names the thing, its value
/// and the next step; the failure of another library is kept as the source.
///
/// `allowed` says what may be given, `doing` and `call` are verb phrases; long values are cut.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what its fields are")]
#[non_exhaustive]
pub enum Error {
    /// A field of a query is outside what it may be.
    #[error("invalid query: `{field}` is {value}; allowed: {allowed}")]
    InvalidQuery { field: &'static str, value: String, allowed: &'static str },
    /// An id has the wrong prefix or form.
    #[error("`{provided}` is not a valid {id_type}; copy the id from a result")]
    InvalidId { id_type: &'static str, provided: String },
    /// The type of an entity or relation cannot be one.
    #[error("`{label}` is not a label; give 1–64 characters without control characters")]
    InvalidLabel { label: String },
    /// A score is not a number from 0 to 1.
    #[error("{value} is not a score; allowed: a number from 0 to 1")]
    InvalidScore { value: f32 },
    /// Weights are outside 0–1 or do not sum to 1 ± 0.01.
    #[error("weights {weights} are invalid; each must be 0–1 and their sum 1 ± 0.01")]
    InvalidWeights { weights: String },
    /// The name of a retriever cannot be one.
    #[error(
        "`{name}` cannot name a retriever; give 1–32 of a–z, 0–9, `_` and `-`, a letter first, \
         and not the name of another stage"
    )]
    InvalidRetrieverId { name: String },
    /// A retriever was asked for that the engine does not have.
    #[error("there is no retriever `{name}`; this engine has {known}")]
    UnknownRetriever { name: RetrieverId, known: String },
    /// The constant of reciprocal rank fusion is out of its range.
    #[error("RRF constant k is {k}; allowed: 1–1000")]
    InvalidK { k: u32 },
    /// Fusion was asked to fuse nothing.
    #[error("there are no ranked lists to fuse")]
    EmptyRankedLists,
    /// A setting is out of its range.
    #[error("setting `{field}` is {value}; allowed: {allowed}")]
    InvalidConfig { field: &'static str, value: String, allowed: &'static str },
    /// An edge cannot be in a graph.
    #[error("edge {a}–{b} of weight {weight} cannot be in the graph; allowed: {allowed}")]
    InvalidEdge { a: u32, b: u32, weight: f32, allowed: &'static str },
    /// Every retriever of a search failed.
    #[error("search for `{query}` failed in every retriever: {reason}")]
    SearchFailed { query: String, reason: String },
    /// A vector has another length than the index.
    #[error("embedding has {provided} dimensions, the index has {expected}; embed with its model")]
    DimensionMismatch { expected: usize, provided: usize },
    /// A vector holds NaN, an infinity, or only zeros.
    #[error("embedding is not usable: {reason}; supply finite numbers that are not all zero")]
    InvalidEmbedding { reason: &'static str },
    /// A model could not embed a text.
    #[error("{model} could not embed a text of {bytes} bytes: {reason}")]
    EmbeddingFailed { model: String, bytes: usize, reason: String },
    /// An embedder returned another number of vectors than there were texts, or vectors of
    /// another length than its space has dimensions: `expected` are the texts and dimensions,
    /// `found` the rows and columns of the matrix.
    #[error(
        "{model} returned {} vectors of {} numbers for {} texts of {} dimensions; \
         correct the embedder",
        found.0, found.1, expected.0, expected.1
    )]
    EmbeddingShape { model: String, expected: (usize, usize), found: (usize, usize) },
    /// A model could not score a passage.
    #[error("{model} could not score a passage of {bytes} bytes: {reason}; use another model")]
    RerankFailed { model: String, bytes: usize, reason: String },
    /// Code panicked, such as a model or an extractor of the caller's own.
    #[error("{what} panicked: {reason}; this is a fault of the program, please report it")]
    Panicked { what: String, reason: String },
    /// A web search failed.
    #[error("web search with {service} failed: {failure}; check its address, or search without it")]
    WebSearch { service: String, failure: WebFailure },
    /// A language model did not do what it was asked.
    #[error(
        "`{model}` at {service} could not {doing}: {failure}; check the service, or do without"
    )]
    LanguageModel { service: String, model: String, doing: String, failure: WebFailure },
    /// A model or the runtime is not where it should be; the reason says what to do.
    #[error("model `{name}` is missing: {reason}")]
    ModelMissing { name: String, reason: String },
    /// A model is of a kind that cannot be run, or its card does not say how.
    #[error("model `{name}` cannot be used: {reason}")]
    ModelUnusable { name: String, reason: String },
    /// The stored vectors were made by another model.
    #[error(
        "the index holds vectors of `{found}`, the engine runs `{expected}`; \
         open it with the first model, or run `trefoil reindex`"
    )]
    ModelMismatch { expected: String, found: String },
    /// A search, or other long work, was given up by who asked for it.
    #[error("this was cancelled; ask again")]
    Cancelled,
    /// The time of a search was up before one of its parts began.
    #[error("the time of the search was up before it began; raise `timeoutMs`")]
    TimedOut,
    /// A file is not what its checksum says.
    #[error("`{}` has checksum {found}, expected {expected}; nothing was kept, fetch it again", path.display())]
    Checksum { path: PathBuf, expected: String, found: String },
    /// A stored file is damaged.
    #[error("the {part} is damaged: {reason}")]
    Corrupt { part: Part, reason: String },
    /// Another process writes to this index.
    #[error("`{}` is being written by another process; wait for it or open read-only", path.display())]
    Locked { path: PathBuf },
    /// A write was asked of a read-only engine.
    #[error("cannot {doing}: `{}` is open read-only", path.display())]
    ReadOnly { path: PathBuf, doing: &'static str },
    /// An older version wrote what is to be read, and reading changes nothing.
    #[error(
        "`{}` has format {found} of an older version, this one reads {supported}; \
         `trefoil repair` brings it up to date",
        path.display()
    )]
    OlderFormat { path: PathBuf, found: u32, supported: u32 },
    /// There is no index where one was to be opened.
    #[error("there is no index at `{}`; make one with `trefoil index PATH`", path.display())]
    IndexMissing { path: PathBuf },
    /// There is no such chunk in the index.
    #[error("there is no chunk {id} in this index; take an id from a search result")]
    ChunkMissing { id: ChunkId },
    /// The index was written by a newer version.
    #[error("the index has format {found}, this version reads up to {supported}; upgrade Trefoil")]
    UnsupportedFormat { found: u32, supported: u32 },
    /// A document cannot be read as what it claims to be.
    #[error("`{path}` cannot be read: {reason}")]
    UnreadableDocument { path: String, reason: String },
    /// A line of a data file is not what its format asks for.
    #[error("`{}` line {line}: {reason}", path.display())]
    MalformedLine { path: PathBuf, line: usize, reason: String },
    /// A field of what is to be remembered is outside what it may be. `value` never is a text
    /// that may hold a secret.
    #[error("`{field}` is {value}; allowed: {allowed}")]
    InvalidField { field: &'static str, value: String, allowed: &'static str },
    /// A boundary or policy does not admit what was asked.
    #[error("{boundary} denies this: {reason}; ask for less, or with a tag that is allowed")]
    BoundaryDenied { boundary: String, reason: String },
    /// There is no such scope.
    #[error("there is no scope `{provided}`; allowed: {allowed}")]
    InvalidScope { provided: String, allowed: &'static str },
    /// A boundary cannot be one.
    #[error("the boundary is invalid: {reason}; correct it and ask again")]
    InvalidBoundary { reason: String },
    /// There is no policy, or not of this version.
    #[error(
        "there is no policy{}; apply one with `trefoil memory policy`",
        version.as_deref().map(|version| format!(" of version {version}")).unwrap_or_default()
    )]
    PolicyMissing { version: Option<String> },
    /// A policy breaks rules of its form.
    #[error("the policy is not valid: {}; correct all of this and apply it again", errors.join("; "))]
    InvalidPolicy { errors: Vec<String> },
    /// The version of a policy is not one.
    #[error(
        "`{provided}` is not a policy version; write it as `1.0.0`, `1.0.0-draft` or `1.0.0+build`"
    )]
    InvalidPolicyVersion { provided: String },
    /// A rule of an invariant cannot be read.
    #[error("the rule is not readable at byte {at}: {reason}; see the rule language")]
    InvalidRule { at: usize, reason: String },
    /// A claim says what another one says already.
    #[error("claim {existing} says the same ({hash}); update it instead")]
    DuplicateClaim { hash: String, existing: ClaimId },
    /// There is no such claim.
    #[error("there is no claim {id}; take an id from what was recalled")]
    UnknownClaim { id: ClaimId },
    /// A saved context is too old to be used.
    #[error("context {id} has expired; recall again")]
    ContextExpired { id: ContextId },
    /// A thing is in a state that does not allow what was asked.
    #[error("cannot {call}: it is {state}")]
    InvalidState { state: String, call: &'static str },
    /// A document's language cannot be handled by what was asked.
    #[error("{doing} does not handle `{language}`")]
    UnsupportedLanguage { doing: &'static str, language: Language },
    /// Another node writes to the shard now, and what this one wrote was undone.
    #[error("another node leads {shard} now; nothing was written, write again through that node")]
    Fenced { shard: String },
    /// Nobody can say whether a write reached the truth.
    #[error(
        "whether {shard} has the last write is not known: {reason}; \
         look for it before you write again"
    )]
    InDoubt { shard: String, reason: String },
    /// The database that holds the truth does not answer.
    #[error("cannot {doing}: {truth} does not answer; searches go on, write again later")]
    Unavailable { truth: String, doing: &'static str, source: BoxError },
    /// A write was asked of a node that follows another one.
    #[error("cannot {doing}: this node follows {shard}; write through the node that leads it")]
    NotLeading { shard: String, doing: &'static str },
    /// The node that leads refused what this one asked it for, and nothing was written. Its kind is
    /// that of the error there, and so is the field that it is about.
    #[error("the node that leads refused it: {reason}")]
    Refused { kind: ErrorKind, reason: String, field: Option<Box<FieldError>> },
    /// A node has not yet what a caller wants to see.
    #[error("this node is {transactions} transactions behind; search again, or ask for less fresh")]
    Behind { transactions: u64 },
    /// The cache of a node was to be written as if it were an index of its own.
    #[error(
        "`{}` is a node's cache of a shard; open it together with the store that holds the shard",
        path.display()
    )]
    NodeCache { path: PathBuf },
    /// An index of its own is where the cache of a node was to be opened.
    #[error(
        "`{}` holds an index of its own and no cache of the shard; put it into the store by \
         `trefoil cluster load`, or name another folder for the cache",
        path.display()
    )]
    NotNodeCache { path: PathBuf },
    /// There is no such shard in the database that holds the truth.
    #[error("there is no shard {shard}; make it with `trefoil cluster init`")]
    ShardMissing { shard: String },
    /// A node was to put back what the shared store has lost, and has nothing of that.
    #[error(
        "`{}` has nothing that the shared store has lost; look for it on the other nodes",
        path.display()
    )]
    NothingLost { path: PathBuf },
    /// Reading or writing a file failed.
    #[error("cannot {doing} `{}`", path.display())]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    /// Another library failed.
    #[error("the {part} failed to {doing}")]
    Backend { part: Part, doing: &'static str, source: BoxError },
}

impl Error {
    /// Wraps an error of another library; `doing` completes "failed to …".
    pub fn backend(part: Part, doing: &'static str, source: impl Into<BoxError>) -> Self {
        Self::Backend { part, doing, source: source.into() }
    }

    /// Wraps an I/O error; `doing` completes "cannot …".
    pub fn io(doing: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { doing, path: path.into(), source }
    }

    /// A text file with a mistake at byte `offset` of its `text`.
    pub fn malformed_at(
        path: impl Into<PathBuf>,
        text: &str,
        offset: usize,
        reason: impl Into<String>,
    ) -> Self {
        let before = text.get(..offset).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Self::MalformedLine { path: path.into(), line, reason: reason.into() }
    }

    /// A setting with a value that is not allowed.
    pub fn invalid_config(field: &'static str, value: impl Display, allowed: &'static str) -> Self {
        Self::InvalidConfig { field, value: value.to_string(), allowed }
    }

    /// Checks that a setting `holds`.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] otherwise.
    pub fn check_config(
        holds: bool,
        field: &'static str,
        value: impl Display,
        allowed: &'static str,
    ) -> Result<()> {
        if holds { Ok(()) } else { Err(Self::invalid_config(field, value, allowed)) }
    }

    /// Checks that a setting is within its range.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] otherwise.
    pub fn check_range<T: Display + PartialOrd>(
        value: T,
        range: impl RangeBounds<T>,
        field: &'static str,
        allowed: &'static str,
    ) -> Result<()> {
        Self::check_config(range.contains(&value), field, value, allowed)
    }

    /// A query field with a value that is not allowed; long values are cut.
    pub fn invalid_query(field: &'static str, value: impl Display, allowed: &'static str) -> Self {
        Self::InvalidQuery { field, value: format!("`{}`", shortened(&value.to_string())), allowed }
    }

    /// A field of something to be remembered with a value that is not allowed. `value` says
    /// what is wrong (a length, a label), for a text may hold a secret; it is shortened.
    pub fn invalid_field(field: &'static str, value: impl Display, allowed: &'static str) -> Self {
        Self::InvalidField { field, value: shortened(&value.to_string()), allowed }
    }

    /// Checks that a field of something to be remembered `holds`.
    ///
    /// # Errors
    /// [`Error::InvalidField`] otherwise, as [`invalid_field`](Self::invalid_field).
    pub fn check_field(
        holds: bool,
        field: &'static str,
        value: impl Display,
        allowed: &'static str,
    ) -> Result<()> {
        if holds { Ok(()) } else { Err(Self::invalid_field(field, value, allowed)) }
    }

    /// Checks how many bytes of something to be remembered there are.
    ///
    /// # Errors
    /// [`Error::InvalidField`] outside of `range`.
    pub fn check_length(
        length: usize,
        range: impl RangeBounds<usize>,
        field: &'static str,
        allowed: &'static str,
    ) -> Result<()> {
        let value = format_args!("{length} bytes long");
        Self::check_field(range.contains(&length), field, value, allowed)
    }

    /// What a boundary or policy does not admit, and why.
    pub fn denied(boundary: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::BoundaryDenied { boundary: boundary.into(), reason: reason.into() }
    }

    /// One stable word for each kind of error, in `snake_case`, for programs to tell them apart.
    pub fn code(&self) -> &'static str {
        kind::of(self).code
    }

    /// The status of an HTTP response that tells of this error.
    pub fn http_status(&self) -> u16 {
        kind::of(self).http_status
    }

    /// Every kind of error: its code and the status of a response that tells of it.
    pub const fn kinds() -> &'static [ErrorKind] {
        kind::ALL
    }

    /// The message with every source after it, for a log or a `degraded` entry.
    pub fn chain(&self) -> String {
        let sources = std::iter::successors(self.source(), |&error| error.source());
        sources.fold(self.to_string(), |text, error| format!("{text}: {error}"))
    }
}

/// The first 80 characters.
fn shortened(value: &str) -> String {
    let mut shown: String = value.chars().take(80).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_error_has_the_status_that_says_whose_it_is() {
        let id = ClaimId::new("clm_1").unwrap();
        let check = |error: Error, status| assert_eq!(error.http_status(), status, "{error}");
        let (provided, reason) = (String::from("x"), String::from("y"));
        check(Error::BoundaryDenied { boundary: provided.clone(), reason: reason.clone() }, 403);
        check(Error::InvalidScope { provided: provided.clone(), allowed: "session" }, 422);
        check(Error::InvalidPolicy { errors: vec![] }, 422);
        check(Error::InvalidId { id_type: "ClaimId", provided: provided.clone() }, 422);
        check(Error::invalid_query("q", 0, "1"), 422);
        check(Error::DuplicateClaim { hash: provided.clone(), existing: id.clone() }, 409);
        check(Error::UnknownClaim { id }, 404);
        check(Error::PolicyMissing { version: None }, 424);
        check(Error::ContextExpired { id: ContextId::new("ac_1").unwrap() }, 410);
        check(Error::InvalidBoundary { reason: reason.clone() }, 422);
        check(Error::InvalidPolicyVersion { provided: provided.clone() }, 422);
        check(Error::InvalidWeights { weights: provided.clone() }, 422);
        check(Error::InvalidK { k: 0 }, 422);
        check(Error::invalid_config("model", 1, "2"), 422);
        check(Error::InvalidScore { value: 2.0 }, 422);
        check(Error::InvalidLabel { label: provided.clone() }, 422);
        check(Error::InvalidEmbedding { reason: "it is empty" }, 422);
        check(Error::DimensionMismatch { expected: 2, provided: 1 }, 422);
        check(Error::UnreadableDocument { path: provided.clone(), reason: reason.clone() }, 422);
        check(Error::ChunkMissing { id: ChunkId::new("chk_1").unwrap() }, 404);
        check(Error::IndexMissing { path: PathBuf::new() }, 404);
        check(Error::ReadOnly { path: PathBuf::new(), doing: "write" }, 403);
        let (expected, found) = (provided.clone(), reason.clone());
        check(Error::ModelMismatch { expected, found }, 409);
        check(Error::InvalidState { state: reason.clone(), call: "read" }, 409);
        check(Error::Locked { path: PathBuf::new() }, 503);
        check(Error::ModelMissing { name: provided, reason }, 503);
        check(Error::TimedOut, 504);
        let kind = ErrorKind::of_code("duplicate_claim").unwrap();
        check(Error::Refused { kind, reason: String::from("it is there"), field: None }, 409);
        check(Error::EmptyRankedLists, 500);
    }

    #[test]
    fn each_kind_has_one_code_in_snake_case() {
        let codes: BTreeSet<&str> = Error::kinds().iter().map(|kind| kind.code).collect();
        assert_eq!(codes.len(), Error::kinds().len());
        let is_word = |code: &&str| code.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        assert!(codes.iter().all(is_word), "{codes:?}");
        assert_eq!(Error::invalid_query("q", 0, "1").code(), "invalid_query");
        assert_eq!(Error::TimedOut.code(), "timed_out");
        assert_eq!(ErrorKind::of_code("timed_out").unwrap().http_status, 504);
        assert_eq!(ErrorKind::of_code("nothing"), None);
    }

    #[test]
    fn messages_of_a_policy_name_all_that_is_wrong() {
        let errors = vec![String::from("alpha is 2"), String::from("k_txt is 0")];
        let message = Error::InvalidPolicy { errors }.to_string();
        assert!(message.contains("not valid: alpha is 2; k_txt is 0;"), "{message}");
        let missing = |version: Option<&str>| {
            Error::PolicyMissing { version: version.map(str::to_owned) }.to_string()
        };
        assert!(missing(Some("1.0.0")).starts_with("there is no policy of version 1.0.0;"));
        assert!(missing(None).starts_with("there is no policy;"));
        let long = Error::invalid_field("tag", "x".repeat(99), "fewer").to_string();
        assert!(long.contains(&format!("{}…", "x".repeat(80))) && !long.contains(&"x".repeat(81)));
    }
}
