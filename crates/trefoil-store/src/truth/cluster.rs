//! What nodes of a shard tell each other through the truth, besides rows: requests to the one that
//! writes, texts to be embedded, and who is there.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use trefoil_core::{Language, Result};

use super::{Place, Truth};

/// The number of a request, random, made by its sender. Sending it twice asks once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId(pub u128);

impl RequestId {
    /// A number for a new request.
    pub fn random() -> Self {
        Self(fastrand::u128(..))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A request that waits in the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub id: RequestId,
    /// What is asked, coded by the engine.
    pub body: Vec<u8>,
}

/// A text that was taken so often without a vector is not given out again.
pub const EMBED_TRIES: u32 = 3;

/// A text that waits to be embedded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedText {
    /// The hash that its vector is kept by.
    pub text_hash: String,
    /// The text.
    pub text: String,
    /// Its language, where the vectors of its tokens are wanted too.
    pub language: Option<Language>,
}

/// What an embedder made of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MadeVectors {
    /// The vector of the whole.
    pub vector: Vec<f32>,
    /// [The bytes](trefoil_core::TokenCodes::bytes) of those of its tokens, where they are wanted.
    pub tokens: Option<Vec<u8>>,
}

/// What became of a text in the queue.
#[derive(Clone, Debug, PartialEq)]
pub enum EmbedOutcome {
    /// It has its vectors. Nobody has checked them.
    Made(MadeVectors),
    /// It was taken [so often](EMBED_TRIES) without a vector; what the last embedder said, if one
    /// said something.
    Failed(Option<String>),
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeRole {
    /// It leads: it alone writes.
    Writer,
    /// It follows and answers searches.
    Searcher,
    /// It embeds texts for others, and has no rows.
    Embedder,
}

impl NodeRole {
    /// Its name in messages and tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Writer => "writer",
            Self::Searcher => "searcher",
            Self::Embedder => "embedder",
        }
    }
}

/// What a node says of itself. Its name is that of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// What it does.
    pub role: NodeRole,
    /// Where others reach it, if they do.
    pub address: Option<String>,
    /// How far its cache is, in memory and on disk.
    pub place: Place,
    /// The transaction up to which nothing that was erased is left in its files.
    pub erased: u64,
}

impl NodeReport {
    /// Whether it has a cache of the rows: then the others wait for it.
    pub const fn has_rows(&self) -> bool {
        !matches!(self.role, NodeRole::Embedder)
    }
}

/// A node, as the others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSeen {
    /// Its name.
    pub node: String,
    /// What it last said.
    pub report: NodeReport,
    /// The [format](super::format) of rows that it works with; none if it did not say.
    pub format: Option<u32>,
    /// How long ago that was, by the clock of the truth.
    pub ago: Duration,
}

/// A place that may hold what was erased, and that no node of the shard rids of it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OutOfReach {
    /// Caches of nodes that have not told of themselves for a month, or never did.
    Caches,
    /// Caches of all other nodes: the store did not say which there are.
    Nodes,
    /// Rows that are gone and that the database has not vacuumed.
    Rows,
    /// Free space in the files of the database, until it is written over.
    FreeSpace,
    /// The log of the database.
    Log,
    /// Archives of that log.
    Archives,
    /// Backups.
    Backups,
}

impl OutOfReach {
    /// What a message calls it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Caches => "caches of nodes that were not seen for a month",
            Self::Nodes => "caches of the other nodes, which the store did not name",
            Self::Rows => "rows that the database has not vacuumed",
            Self::FreeSpace => "free space in the files of the database",
            Self::Log => "the log of the database",
            Self::Archives => "archives of that log",
            Self::Backups => "backups",
        }
    }
}

/// The rest of what the nodes of a shard share.
///
/// # Errors
/// As those of [`Truth`]. A call that ends with an error may be made again: each is idempotent.
pub trait Cluster: Truth {
    /// Puts a request into the inbox, unless one with this number is there already.
    fn send(&self, request: &Request) -> Result<()>;
    /// What became of a request: the transaction that did it, and the answer. None while it waits,
    /// or if there is none.
    fn answer(&self, id: RequestId) -> Result<Option<(u64, Vec<u8>)>>;
    /// At most `limit` requests that are not done, in an order that serves all of them in the end.
    /// They are done by [`Touched::done`](super::Touched::done), in the transaction that does them.
    fn requests(&self, limit: usize) -> Result<Vec<Request>>;
    /// Removes a request, done or not: its sender has the answer, or gave up.
    fn forget(&self, id: RequestId) -> Result<()>;

    /// Puts texts into the queue of those that wait for vectors by the model of a fingerprint,
    /// unless they are there already.
    fn want_vectors(&self, fingerprint: &str, texts: &[EmbedText]) -> Result<()>;
    /// At most `limit` texts that have their vectors or failed, by hash, with what became of them.
    /// They stay until they are [forgotten](Self::forget_vectors).
    fn outcomes(&self, fingerprint: &str, limit: usize) -> Result<Vec<(String, EmbedOutcome)>>;
    /// Removes texts with their vectors.
    fn forget_vectors(&self, fingerprint: &str, text_hashes: &[String]) -> Result<()>;
    /// Removes all texts with their vectors but those that are named here, by fingerprint and hash.
    fn retain_texts(&self, keep: &[(&str, &str)]) -> Result<()>;
    /// Takes at most `limit` texts without a vector that nobody else has taken, for so long. One
    /// that was taken [`EMBED_TRIES`] times without a vector is not given out again.
    fn claim_texts(
        &self,
        fingerprint: &str,
        limit: usize,
        lease: Duration,
    ) -> Result<Vec<EmbedText>>;
    /// Stores vectors of texts; texts that nobody wants any more are passed over.
    fn put_vectors(&self, fingerprint: &str, vectors: &[(String, MadeVectors)]) -> Result<()>;
    /// Gives back texts that this node has taken and has no vector of, by hash, so that they can be
    /// taken at once. With what was wrong where it is the text: else it does not count as tried.
    fn return_texts(&self, fingerprint: &str, texts: &[(String, Option<String>)]) -> Result<()>;

    /// Tells the others of this node.
    fn report(&self, report: &NodeReport) -> Result<()>;
    /// The nodes of the shard that were seen within `within`, by name.
    fn nodes(&self, within: Duration) -> Result<Vec<NodeSeen>>;
    /// The name of this node, by which the others see it.
    fn node_name(&self) -> String;
    /// Removes what is left of rows that are gone, as far as this node may, and waits for it. The
    /// places of the truth that may hold something of them afterwards.
    fn vacuum(&self) -> Result<Vec<OutOfReach>>;
}
