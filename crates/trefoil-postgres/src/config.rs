//! Where the database is and which index of it is meant.

use std::{
    fmt::{self, Debug, Display},
    net::IpAddr,
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use percent_encoding::percent_decode_str;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use trefoil_core::{Error, Result};

/// How long a socket may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long what was sent may stay unacknowledged, and how soon a silent peer is noticed.
const SILENCE: Duration = Duration::from_secs(10);

/// Modes of `sslmode` that ask for TLS. Each checks the host name here.
const TLS_MODES: [&str; 3] = ["require", "verify-ca", "verify-full"];
const PLAIN_MODES: [&str; 3] = ["disable", "allow", "prefer"];

/// A PostgreSQL database and the index in it, read from a URL such as
/// `postgres://writer@db.example/app?index=notes`.
///
/// Besides what PostgreSQL itself understands, the URL has
///
/// | parameter | meaning |
/// |---|---|
/// | `index` | the name of the index; required |
/// | `part` | which part of an index of several, 0 if absent |
/// | `sslmode` | TLS with the host name checked is used in any case, unless the host is this machine |
/// | `sslrootcert` | a PEM file of the authorities to trust, in place of the public ones |
///
/// Nothing that is shown of it, such as its `Debug` form or an error, has the password.
///
/// ```
/// # fn main() -> trefoil_core::Result<()> {
/// let config: trefoil_postgres::PostgresConfig =
///     "postgres://writer:secret@db.example/app?index=notes".parse()?;
/// assert_eq!(config.to_string(), "db.example:5432/app");
/// assert_eq!(config.index(), "notes");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresConfig {
    pub(crate) client: tokio_postgres::Config,
    index: String,
    part: u32,
    node: String,
    root_certificates: Option<PathBuf>,
}

impl PostgresConfig {
    /// The name of the index.
    pub fn index(&self) -> &str {
        &self.index
    }

    /// Which part of the index it is.
    pub fn part(&self) -> u32 {
        self.part
    }

    /// What the shard is called in messages.
    pub(crate) fn shard_name(&self) -> String {
        format!("{}/{}", self.index, self.part)
    }

    /// Names this node; a name given by chance otherwise. A node that is started again with its
    /// old name need not wait for the end of its own lease.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] if the name is empty or has more than 200 bytes.
    pub fn with_node(mut self, node: &str) -> Result<Self> {
        let fits = (1..=200).contains(&node.len()) && !node.chars().any(char::is_control);
        let allowed = "1–200 bytes without control characters";
        Error::check_config(fits, "node", format!("`{node}`"), allowed)?;
        node.clone_into(&mut self.node);
        Ok(self)
    }

    /// The name of this node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The user, where the URL names none.
    #[must_use]
    pub fn with_default_user(mut self, user: &str) -> Self {
        if self.client.get_user().is_none() {
            self.client.user(user);
        }
        self
    }

    /// The password, where the URL has none.
    #[must_use]
    pub fn with_default_password(mut self, password: &str) -> Self {
        if self.client.get_password().is_none() {
            self.client.password(password);
        }
        self
    }

    /// The file of the authorities to trust, if not the public ones.
    pub(crate) fn root_certificates(&self) -> Option<&PathBuf> {
        self.root_certificates.as_ref()
    }

    /// True if connections use TLS, and check the name of the host.
    pub fn uses_tls(&self) -> bool {
        self.client.get_ssl_mode() == SslMode::Require
    }

    /// Whether every host is this machine, by name as by address.
    fn is_loopback(&self) -> bool {
        let is_here = |host: &Host| match host {
            Host::Tcp(name) => {
                name == "localhost" || IpAddr::from_str(name).is_ok_and(|ip| ip.is_loopback())
            }
            #[cfg(unix)]
            Host::Unix(_) => true,
        };
        self.client.get_hosts().iter().all(is_here)
            && self.client.get_hostaddrs().iter().all(IpAddr::is_loopback)
    }

    fn set_defaults(&mut self, asks_for_tls: Option<bool>) -> Result<()> {
        let client = &mut self.client;
        if client.get_hosts().is_empty() && client.get_hostaddrs().is_empty() {
            return Err(invalid("a URL without a host", "`postgres://HOST/DATABASE?index=NAME`"));
        }
        if client.get_dbname().is_none() {
            return Err(invalid(
                "a URL without a database",
                "`postgres://HOST/DATABASE?index=NAME`",
            ));
        }
        client.connect_timeout(CONNECT_TIMEOUT).tcp_user_timeout(SILENCE);
        client.keepalives_idle(SILENCE / 2).keepalives_interval(SILENCE / 5).keepalives_retries(3);
        client.application_name("trefoil");
        // After a failover another of the hosts takes writes.
        let any = client.get_target_session_attrs() == TargetSessionAttrs::Any;
        if any && client.get_hosts().len().max(client.get_hostaddrs().len()) > 1 {
            client.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let is_loopback = self.is_loopback();
        if asks_for_tls == Some(false) && !is_loopback {
            return Err(invalid(
                "`sslmode` without TLS for a host that is not this machine",
                "`verify-full`, or no `sslmode`",
            ));
        }
        let with_tls = asks_for_tls.unwrap_or(!is_loopback || self.root_certificates.is_some());
        self.client.ssl_mode(if with_tls { SslMode::Require } else { SslMode::Disable });
        Ok(())
    }
}

impl FromStr for PostgresConfig {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(invalid(
                "not a URL of PostgreSQL",
                "`postgres://HOST/DATABASE?index=NAME`",
            ));
        }
        let (start, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut index, mut part, mut tls, mut root_certificates) = (None, 0, None, None);
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8();
            let value = value.map_err(|_| invalid("a parameter that is not UTF-8", "UTF-8"))?;
            match name {
                "index" => index = Some(checked_name(&value)?),
                "part" => {
                    let number = value.parse();
                    part = number.map_err(|_| invalid(format!("part={value}"), "a number"))?;
                }
                "sslmode" if TLS_MODES.contains(&&*value) => tls = Some(true),
                "sslmode" if PLAIN_MODES.contains(&&*value) => tls = Some(false),
                "sslmode" => return Err(invalid(format!("sslmode={value}"), "`verify-full`")),
                "sslrootcert" => root_certificates = Some(PathBuf::from(value.as_ref())),
                _ => others.push(pair),
            }
        }
        let index = index.ok_or_else(|| {
            invalid("a URL without the name of an index", "`postgres://HOST/DATABASE?index=NAME`")
        })?;
        let client = format!("{start}?{}", others.join("&")).parse();
        let client = client.map_err(|error: tokio_postgres::Error| {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            invalid(
                source.unwrap_or_else(|| error.to_string()),
                "a URL that PostgreSQL understands",
            )
        })?;
        let node = format!("{:016x}", fastrand::u64(..));
        let mut config = Self { client, index, part, node, root_certificates };
        config.set_defaults(tls)?;
        Ok(config)
    }
}

impl Display for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.client.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        });
        let mut places: Vec<String> = hosts.collect();
        if places.is_empty() {
            places.extend(self.client.get_hostaddrs().iter().map(IpAddr::to_string));
        }
        let ports = self.client.get_ports();
        for (n, place) in places.iter().enumerate() {
            let port = ports.get(n).or(ports.first()).copied().unwrap_or(5432);
            write!(f, "{}{place}:{port}", if n == 0 { "" } else { "," })?;
        }
        write!(f, "/{}", self.client.get_dbname().unwrap_or_default())
    }
}

impl Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, part, node, root_certificates, client } = self;
        f.debug_struct("PostgresConfig")
            .field("database", &format_args!("{self}"))
            .field("user", &client.get_user())
            .field("index", index)
            .field("part", part)
            .field("node", node)
            .field("root_certificates", root_certificates)
            .finish_non_exhaustive()
    }
}

fn checked_name(name: &str) -> Result<String> {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let fits = (1..=63).contains(&name.len()) && name.chars().all(letters);
    let allowed = "1–63 of a–z, A–Z, 0–9, `_`, `-` and `.`";
    Error::check_config(fits, "index", format!("`{name}`"), allowed)?;
    Ok(name.to_owned())
}

/// An error that does not repeat the URL: it may have a password.
fn invalid(value: impl Display, allowed: &'static str) -> Error {
    Error::invalid_config("store", value, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<PostgresConfig> {
        url.parse()
    }

    #[test]
    fn a_url_has_all_that_a_connection_needs() {
        let url = "postgres://ada:pa%40ss@db.example:6000/app?index=notes&part=2&connect_timeout=9";
        let config = parse(url).unwrap();
        assert_eq!((config.index(), config.part()), ("notes", 2));
        assert_eq!(config.to_string(), "db.example:6000/app");
        assert_eq!(config.client.get_user(), Some("ada"));
        assert_eq!(config.client.get_password(), Some(&b"pa@ss"[..]));
        let config = config.with_default_user("eve").with_default_password("other");
        assert_eq!(config.client.get_user(), Some("ada"));
        assert_eq!(config.client.get_password(), Some(&b"pa@ss"[..]));
        let bare = parse("postgresql://db.example/app?index=n").unwrap();
        let bare = bare.with_default_user("eve").with_default_password("x");
        assert_eq!(bare.client.get_user(), Some("eve"));
        assert_eq!(bare.client.get_password(), Some(&b"x"[..]));
    }

    #[test]
    fn of_several_hosts_the_one_that_takes_writes_is_used() {
        let two = parse("postgres://a.example:1,b.example:2/app?index=n").unwrap();
        assert_eq!(two.to_string(), "a.example:1,b.example:2/app");
        assert_eq!(two.client.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        let one = parse("postgres://a.example/app?index=n").unwrap();
        assert_eq!(one.client.get_target_session_attrs(), TargetSessionAttrs::Any);
    }
}
