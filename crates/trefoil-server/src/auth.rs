//! Who may do what: tokens, their file, and what a request shows of one.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use trefoil::{BoxError, Error, Part};
use trefoil_memory::Boundary;

use crate::problem::Problem;

trefoil::string_conversions!(Scope);

/// What a token lets its holder do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    /// Searches, documents, the graph.
    Read,
    /// Changes of documents.
    Write,
    /// What memory knows.
    MemoryRead,
    /// What memory is told.
    MemoryWrite,
    /// Metrics.
    Metrics,
    /// All of it, and what only the owner of an index does.
    Admin,
}

impl Scope {
    /// Every scope with its name.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Read, "read"),
        (Self::Write, "write"),
        (Self::MemoryRead, "memory.read"),
        (Self::MemoryWrite, "memory.write"),
        (Self::Metrics, "metrics"),
        (Self::Admin, "admin"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(scope, _)| *scope == self).map_or("", |(_, name)| name)
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Scope {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self, Error> {
        let allowed = "`read`, `write`, `memory.read`, `memory.write`, `metrics` or `admin`";
        let found = Self::ALL.into_iter().find(|(_, other)| *other == name);
        found.map(|(scope, _)| scope).ok_or_else(|| Error::invalid_field("scope", name, allowed))
    }
}

/// What a request may do: that of its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
    /// The indexes that it sees; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexes: Option<BTreeSet<String>>,
    /// What it sees of memory.
    #[serde(default)]
    pub boundary: Boundary,
}

impl Grant {
    /// Everything there is, within memory's default boundary.
    pub fn everything() -> Self {
        let scopes = BTreeSet::from([Scope::Admin]);
        Self { scopes, indexes: None, boundary: Boundary::default() }
    }

    /// Whether it has a scope.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    /// Whether it sees an index.
    pub fn sees(&self, index: &str) -> bool {
        self.indexes.as_ref().is_none_or(|indexes| indexes.contains(index))
    }
}

/// Who asks: the holder of a token.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// What it may see and do.
    pub(crate) grant: Grant,
    /// The token's id; empty without one.
    pub(crate) id: String,
    /// The token's name.
    pub(crate) name: String,
}

/// The id and the name of the token that a server makes for itself.
const LOCAL: &str = "local";

impl Caller {
    /// Whoever asks for what everybody may see.
    pub(crate) fn nobody() -> Self {
        let grant = Grant { scopes: BTreeSet::new(), ..Grant::everything() };
        Self { grant, id: String::new(), name: String::new() }
    }

    /// The owner of the machine, where no token is asked for.
    pub(crate) fn local() -> Self {
        Self { grant: Grant::everything(), id: LOCAL.to_owned(), name: LOCAL.to_owned() }
    }

    /// Whether it has a scope.
    ///
    /// # Errors
    /// `scope_missing` if it has not.
    pub(crate) fn needs(&self, scope: Scope) -> Result<(), Problem> {
        if self.grant.has(scope) {
            return Ok(());
        }
        let detail = format!("this needs the scope `{scope}`; make a token that has it");
        Err(Problem::own("scope_missing", detail))
    }
}

impl From<Token> for Caller {
    fn from(token: Token) -> Self {
        Self { grant: token.grant, id: token.id, name: token.name }
    }
}

/// A token as the file of tokens keeps it: without the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Ten letters; no secret.
    pub id: String,
    /// Who holds it, as its maker says: the `actor` of what it observes.
    pub name: String,
    /// SHA-256 of the whole token, hexadecimal.
    pub sha256: String,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// What it lets its holder do.
    pub grant: Grant,
}

/// A new token, which is seen this once.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// What its holder sends.
    pub secret: String,
    /// What is kept.
    pub token: Token,
}

impl NewToken {
    /// Makes a token: `tfl_`, its id, `_`, and 256 random bits as 43 characters of base64url.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for a name of other than 1–64 characters or a grant of nothing,
    /// [`Error::Backend`] if the system has no random numbers.
    pub fn new(
        name: &str,
        grant: Grant,
        now: Timestamp,
        expires: Option<Timestamp>,
    ) -> Result<Self, Error> {
        let name = name.trim().to_owned();
        let fits = (1..=64).contains(&name.chars().count()) && !name.contains(char::is_control);
        Error::check_field(fits, "name", &name, "1–64 characters")?;
        Error::check_field(!grant.scopes.is_empty(), "scope", "none", "at least one scope")?;
        grant.boundary.check()?;
        let id = random::<10>()?.iter().map(|byte| char::from(b'a' + byte % 26)).collect();
        Self::with_id(id, name, grant, now, expires)
    }

    /// The token of a server for its own owner, for as long as the server lives.
    pub(crate) fn local() -> Result<Self, Error> {
        let (id, name) = (LOCAL.to_owned(), LOCAL.to_owned());
        Self::with_id(id, name, Grant::everything(), Timestamp::UNIX_EPOCH, None)
    }

    fn with_id(
        id: String,
        name: String,
        grant: Grant,
        created: Timestamp,
        expires: Option<Timestamp>,
    ) -> Result<Self, Error> {
        let secret = format!("tfl_{id}_{}", base64url(&random::<32>()?));
        let sha256 = digest(&secret);
        Ok(Self { secret, token: Token { id, name, sha256, created, expires, grant } })
    }
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut random = [0; N];
    getrandom::fill(&mut random).map_err(|error| {
        let error: BoxError = error.to_string().into();
        Error::backend(Part::Text, "read random numbers of the system", error)
    })?;
    Ok(random)
}

/// RFC 4648, section 5, without padding.
fn base64url(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let at = |place: usize| group.get(place).copied().unwrap_or_default();
        let (first, second, third) = (at(0), at(1), at(2));
        let six = [
            first >> 2,
            (first & 3) << 4 | second >> 4,
            (second & 15) << 2 | third >> 6,
            third & 63,
        ];
        text.extend(six.into_iter().map(character).take(group.len() + 1));
    }
    text
}

/// The character for six bits: RFC 4648, table 2.
fn character(six: u8) -> char {
    char::from(match six {
        0..26 => b'A' + six,
        26..52 => b'a' + six - 26,
        52..62 => b'0' + six - 52,
        62 => b'-',
        _ => b'_',
    })
}

fn digest(secret: &str) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(secret) {
        _ = write!(text, "{byte:02x}");
    }
    text
}

/// `tokens.toml`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    #[serde(default, rename = "token")]
    tokens: Vec<Token>,
}

/// When a file changed and how long it is, which tells whether it is to be read again.
type Stamp = Option<(SystemTime, u64)>;

/// The tokens of a file, and those that live as long as the process. What changes in the file
/// holds from the next request.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    own: Vec<Token>,
    read: Mutex<(Stamp, Arc<Vec<Token>>)>,
}

impl Tokens {
    /// Reads the tokens of a file, which need not be there.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::MalformedLine`] if it is not what it should be.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let stamp = stamp(&path);
        let tokens = Arc::new(read(&path)?);
        Ok(Self { path, own: Vec::new(), read: Mutex::new((stamp, tokens)) })
    }

    /// Adds one that is in no file.
    #[must_use]
    pub(crate) fn with(mut self, token: Token) -> Self {
        self.own.push(token);
        self
    }

    /// Those of the file as it is now. If it cannot be read, those of before.
    pub fn list(&self) -> Arc<Vec<Token>> {
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&self.path);
        if known.0 != now {
            match read(&self.path) {
                Ok(tokens) => *known = (now, Arc::new(tokens)),
                Err(error) => {
                    tracing::error!("the tokens stay as they were: {}", error.chain());
                    known.0 = now;
                }
            }
        }
        Arc::clone(&known.1)
    }

    /// The token that a secret is, unless it has ended.
    pub fn find(&self, secret: &str, now: Timestamp) -> Option<Token> {
        let digest = digest(secret);
        let tokens = self.list();
        // All are compared, each in constant time.
        let mut found = None;
        for token in tokens.iter().chain(&self.own) {
            if bool::from(token.sha256.as_bytes().ct_eq(digest.as_bytes())) {
                found = Some(token);
            }
        }
        found.filter(|token| token.expires.is_none_or(|expires| now < expires)).cloned()
    }

    /// Whether the file can be read.
    pub(crate) fn check(&self) -> Result<(), Error> {
        read(&self.path).map(drop)
    }

    /// Whether the token with this id has not ended.
    pub(crate) fn is_valid(&self, id: &str, now: Timestamp) -> bool {
        let tokens = self.list();
        let mut all = tokens.iter().chain(&self.own);
        all.any(|token| token.id == id && token.expires.is_none_or(|expires| now < expires))
    }

    /// Adds a token to the file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn add(&self, token: Token) -> Result<(), Error> {
        let mut tokens = read(&self.path)?;
        tokens.push(token);
        write(&self.path, tokens)
    }

    /// Removes the token with this id from the file; false if there is none.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn revoke(&self, id: &str) -> Result<bool, Error> {
        let mut tokens = read(&self.path)?;
        let before = tokens.len();
        tokens.retain(|token| token.id != id);
        let revoked = tokens.len() < before;
        if revoked {
            write(&self.path, tokens)?;
        }
        Ok(revoked)
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn read(path: &Path) -> Result<Vec<Token>, Error> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", path, error)),
    };
    let file: TokenFile = toml::from_str(&text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        // What the parser quotes may be a part of a digest, which is no secret.
        Error::malformed_at(path, &text, at, error.message())
    })?;
    Ok(file.tokens)
}

/// Replaces the file, which its owner alone reads.
fn write(path: &Path, tokens: Vec<Token>) -> Result<(), Error> {
    let failed = |error| Error::io("write", path, error);
    let text = toml::to_string(&TokenFile { tokens })
        .map_err(|error| failed(std::io::Error::other(error)))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    // A temporary file has mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(scope: Scope) -> Grant {
        Grant { scopes: BTreeSet::from([scope]), ..Grant::everything() }
    }

    #[test]
    fn bytes_are_written_as_the_standard_says() {
        // RFC 4648, section 10.
        for (bytes, expected) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64url(bytes.as_bytes()), expected);
        }
        assert_eq!(base64url(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn a_token_is_found_until_it_is_revoked_or_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/tokens.toml");
        let tokens = Tokens::open(&path).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let later = now + jiff::SignedDuration::from_hours(1);
        let new = NewToken::new("reader", grant(Scope::Read), now, Some(later)).unwrap();
        assert_eq!(new.secret.len(), "tfl_".len() + 10 + 1 + 43);
        tokens.add(new.token.clone()).unwrap();
        assert_eq!(tokens.find(&new.secret, now), Some(new.token.clone()));
        assert_eq!(tokens.find(&new.secret, later), None);
        assert_eq!(tokens.find(&new.secret[..50], now), None);
        assert_eq!(tokens.find(&new.token.sha256, now), None);
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&new.secret[16..]), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        // A bad file changes nothing.
        fs::write(&path, "[[token]]\nid = 1").unwrap();
        assert!(tokens.find(&new.secret, now).is_some());
        write(&path, vec![new.token.clone()]).unwrap();
        assert!(tokens.revoke(&new.token.id).unwrap() && !tokens.revoke(&new.token.id).unwrap());
        assert_eq!(tokens.find(&new.secret, now), None);
    }

    #[test]
    fn admin_has_every_scope_and_others_their_own() {
        for (scope, name) in Scope::ALL {
            assert!(Grant::everything().has(scope));
            assert_eq!(name.parse::<Scope>().unwrap(), scope);
            let others = Scope::ALL.into_iter().filter(|(other, _)| grant(scope).has(*other));
            let expected = if scope == Scope::Admin { Scope::ALL.len() } else { 1 };
            assert_eq!(others.count(), expected);
        }
        assert!("reads".parse::<Scope>().is_err());
    }

    #[test]
    fn a_token_needs_a_name_and_a_scope() {
        let now = Timestamp::UNIX_EPOCH;
        assert!(NewToken::new(" ", grant(Scope::Read), now, None).is_err());
        assert!(NewToken::new(&"x".repeat(65), grant(Scope::Read), now, None).is_err());
        let nothing = Grant { scopes: BTreeSet::new(), ..Grant::everything() };
        assert!(NewToken::new("x", nothing, now, None).is_err());
    }
}
