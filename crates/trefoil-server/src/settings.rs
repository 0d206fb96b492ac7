use std::{fmt, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use serde::Deserialize;
use trefoil::{BoxError, EngineConfig, Error, Result, admin::Clock};

/// How a server works. The server itself reads no environment and no settings file.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Where it listens; port 0 takes a free one.
    pub addr: SocketAddr,
    /// What it serves, at least one index.
    pub indexes: Vec<IndexSettings>,
    /// Whether indexes are opened to read only.
    pub read_only: bool,
    /// Whether requests need no token: on a loopback address alone.
    pub no_auth: bool,
    /// Whether nothing is answered at `/mcp`.
    pub no_mcp: bool,
    /// The file of the tokens; it need not be there.
    pub tokens: PathBuf,
    /// Names that the `Host` of a request may have, besides those of the loopback interface.
    pub hosts: Vec<String>,
    /// Folders below which jobs read files.
    pub roots: Vec<PathBuf>,
    /// How much is taken and given.
    pub limits: Limits,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// What reads the settings again.
    pub reload: Reload,
}

impl ServerSettings {
    /// The settings as they are now.
    pub(crate) fn read_again(&self) -> Result<Self, BoxError> {
        match &self.reload.0 {
            Some(read) => read(),
            None => Ok(self.clone()),
        }
    }
}

type ReadSettings = dyn Fn() -> Result<ServerSettings, BoxError> + Send + Sync;

/// Reads the settings of a server again; without anything to read, they stay.
#[derive(Clone, Default)]
pub struct Reload(Option<Arc<ReadSettings>>);

impl Reload {
    /// Reads them by a function. Of what it returns, limits, hosts, roots and indexes are taken.
    pub fn by(read: impl Fn() -> Result<ServerSettings, BoxError> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(read)))
    }
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reload")
    }
}

/// An index that is served.
#[derive(Clone, Debug)]
pub struct IndexSettings {
    /// What requests call it: 1–64 of a–z, 0–9, `_` and `-`.
    pub name: String,
    /// Its directory.
    pub dir: PathBuf,
    /// How its engine works.
    pub engine: EngineConfig,
}

/// How much a server takes and gives. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of the head of a request, at least 8,192; 16,384 by default.
    pub head_bytes: usize,
    /// Headers of a request; 100 by default.
    pub headers: usize,
    /// How long a head may take from its first byte; 10 by default.
    pub head_seconds: u64,
    /// How long a connection is kept on which nothing is asked; 60 by default.
    pub idle_seconds: u64,
    /// Bytes of a body; 1 MiB by default.
    pub body_bytes: usize,
    /// Bytes of a body of documents; 32 MiB by default.
    pub document_bytes: usize,
    /// How long a body may take; 30 by default.
    pub body_seconds: u64,
    /// Connections at a time; 1,024 by default.
    pub connections: usize,
    /// Connections of one address at a time; 256 by default.
    pub connections_per_address: usize,
    /// Searches at a time; by default one more than there are cores, since one of them may wait
    /// for another thread.
    pub searches: usize,
    /// Searches that wait at most; 64 by default.
    pub waiting: usize,
    /// How long a search waits for its turn; 5 by default.
    pub waiting_seconds: u64,
    /// How long a search may take; 15 by default.
    pub search_seconds: u64,
    /// How long a call of memory may take; 10 by default.
    pub memory_seconds: u64,
    /// How long statistics and other short calls may take; 3 by default.
    pub short_seconds: u64,
    /// How long a write may take; 60 by default.
    pub write_seconds: u64,
    /// Streams of one token at a time; 16 by default.
    pub streams: usize,
    /// Requests of one token a minute; 600 by default.
    pub requests_per_minute: u32,
    /// Requests of one token at once; 60 by default.
    pub burst: u32,
    /// Writes of one token a minute; 60 by default.
    pub writes_per_minute: u32,
    /// Failed authentications of one address a minute; 10 by default.
    pub failures_per_minute: u32,
    /// How long running requests have when the server stops; 10 by default.
    pub stop_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 16 << 10,
            headers: 100,
            head_seconds: 10,
            idle_seconds: 60,
            body_bytes: 1 << 20,
            document_bytes: 32 << 20,
            body_seconds: 30,
            connections: 1_024,
            connections_per_address: 256,
            searches: std::thread::available_parallelism().map_or(1, usize::from) + 1,
            waiting: 64,
            waiting_seconds: 5,
            search_seconds: 15,
            memory_seconds: 10,
            short_seconds: 3,
            write_seconds: 60,
            streams: 16,
            requests_per_minute: 600,
            burst: 60,
            writes_per_minute: 60,
            failures_per_minute: 10,
            stop_seconds: 10,
        }
    }
}

impl Limits {
    /// Checks the values.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] for one that lets nothing through.
    pub fn check(&self) -> Result<()> {
        Error::check_range(
            self.head_bytes,
            8_192..=1 << 20,
            "server.limits.head_bytes",
            "8,192–1,048,576",
        )?;
        for (field, value) in [
            ("server.limits.headers", self.headers),
            ("server.limits.body_bytes", self.body_bytes),
            ("server.limits.document_bytes", self.document_bytes),
            ("server.limits.connections", self.connections),
            ("server.limits.connections_per_address", self.connections_per_address),
            ("server.limits.searches", self.searches),
            ("server.limits.streams", self.streams),
            ("server.limits.burst", self.burst as usize),
            ("server.limits.requests_per_minute", self.requests_per_minute as usize),
            ("server.limits.writes_per_minute", self.writes_per_minute as usize),
            ("server.limits.failures_per_minute", self.failures_per_minute as usize),
        ] {
            Error::check_range(value, 1.., field, "at least 1")?;
        }
        for (field, value) in [
            ("server.limits.head_seconds", self.head_seconds),
            ("server.limits.idle_seconds", self.idle_seconds),
            ("server.limits.body_seconds", self.body_seconds),
            ("server.limits.waiting_seconds", self.waiting_seconds),
            ("server.limits.search_seconds", self.search_seconds),
            ("server.limits.memory_seconds", self.memory_seconds),
            ("server.limits.short_seconds", self.short_seconds),
            ("server.limits.write_seconds", self.write_seconds),
            ("server.limits.stop_seconds", self.stop_seconds),
        ] {
            Error::check_range(value, 1..=600, field, "1–600")?;
        }
        Ok(())
    }
}

/// What a call is, which decides how long it may take and what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Statistics and other short calls.
    Short,
    /// A search: so many run at a time.
    Search,
    /// A call of memory.
    Memory,
    /// A change: so many a minute.
    Write,
}

impl Limits {
    /// How long a call may take.
    pub(crate) const fn deadline(&self, kind: Kind) -> Duration {
        Duration::from_secs(match kind {
            Kind::Short => self.short_seconds,
            Kind::Search => self.search_seconds,
            Kind::Memory => self.memory_seconds,
            Kind::Write => self.write_seconds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_call_has_its_own_deadline() {
        let limits = Limits {
            short_seconds: 1,
            search_seconds: 2,
            memory_seconds: 3,
            write_seconds: 4,
            ..Limits::default()
        };
        let kinds = [Kind::Short, Kind::Search, Kind::Memory, Kind::Write];
        assert_eq!(kinds.map(|kind| limits.deadline(kind).as_secs()), [1, 2, 3, 4]);
    }
}
