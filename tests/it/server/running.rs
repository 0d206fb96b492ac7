//! A server that runs, and a client of it.

use std::{
    fmt::Write as _,
    io::{Read, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::{Arc, Condvar, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use serde_json::{Value, json};
use trefoil::{
    EngineConfig, Result,
    admin::SystemClock,
    graph::{EntityExtractor, Extraction, TitledText},
    memory::MemoryUpkeep,
    search::{NameLookup, QueryClassification, QueryClassifier, Question, RuleClassifier},
};
use trefoil_server::{
    Grant, IndexSettings, Limits, NewToken, Reload, Scope, Server, ServerSettings, Stop, Tokens,
};

use crate::models::without_model;

pub(super) struct Running {
    pub(super) folder: tempfile::TempDir,
    pub(super) address: SocketAddr,
    pub(super) token: Option<String>,
    pub(super) stop: Stop,
    pub(super) thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(super) fn start() -> Self {
        Self::with(|_| ())
    }

    pub(super) fn with(change: impl FnOnce(&mut ServerSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = settings(folder.path());
        change(&mut settings);
        let server = Server::bind(settings).unwrap();
        let (address, token) = (server.address(), server.token().map(str::to_owned));
        let stop = Stop::default();
        let thread = std::thread::spawn({
            let stop = stop.clone();
            move || server.run(&stop).unwrap()
        });
        Self { folder, address, token, stop, thread: Some(thread) }
    }

    /// Sends a request with the server's own token.
    pub(super) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.ask_as(self.token.as_deref(), method, path, body)
    }

    pub(super) fn ask_as(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let body = body.map(|body| ("application/json", body.to_string()));
        let body = body.as_ref().map(|(media, body)| (*media, body.as_str()));
        self.ask_with(token, method, path, &[], body)
    }

    /// Sends a request with more headers and a body of a media type.
    pub(super) fn ask_with(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<(&str, &str)>,
    ) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        if let Some(token) = token {
            _ = write!(head, "Authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            _ = write!(head, "{name}: {value}\r\n");
        }
        let (media, body) = body.unwrap_or_default();
        if !media.is_empty() {
            _ = write!(head, "Content-Type: {media}\r\nContent-Length: {}\r\n", body.len());
        }
        self.send(&format!("{head}Connection: close\r\n\r\n{body}"))
    }

    /// Sends bytes and reads until the server closes.
    pub(super) fn send(&self, request: &str) -> Answer {
        self.send_bytes(request.as_bytes())
    }

    pub(super) fn send_bytes(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        // The server may have refused and closed before everything is sent.
        drop(stream.write_all(request));
        let mut bytes = Vec::new();
        drop(stream.read_to_end(&mut bytes));
        Answer::read(&String::from_utf8(bytes).unwrap())
    }

    /// A token that is kept, with these scopes.
    pub(super) fn make_token(&self, scopes: &[Scope], indexes: Option<&[&str]>) -> NewToken {
        let grant = Grant {
            scopes: scopes.iter().copied().collect(),
            indexes: indexes.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
            ..Grant::everything()
        };
        let new = NewToken::new("test", grant, jiff::Timestamp::now(), None).unwrap();
        self.tokens().add(new.token.clone()).unwrap();
        new
    }

    pub(super) fn tokens(&self) -> Tokens {
        Tokens::open(self.folder.path().join("tokens.toml")).unwrap()
    }

    pub(super) fn write(&self, documents: &Value) -> Value {
        let body = json!({"documents": documents});
        let answer = self.ask("POST", "/v1/documents", Some(&body));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

pub(super) fn settings(folder: &Path) -> ServerSettings {
    let index = |name: &str| IndexSettings {
        name: name.to_owned(),
        dir: folder.join(name),
        // Nothing is learnt but what a test tells.
        engine: EngineConfig { memory: MemoryUpkeep::ASKED_FOR, ..without_model() },
    };
    ServerSettings {
        addr: ([127, 0, 0, 1], 0).into(),
        indexes: vec![index("notes")],
        read_only: false,
        no_auth: false,
        no_mcp: false,
        tokens: folder.join("tokens.toml"),
        hosts: Vec::new(),
        roots: vec![folder.join("root")],
        clock: Arc::new(SystemClock),
        reload: Reload::default(),
        // Tests ask faster than people.
        limits: Limits { burst: 10_000, writes_per_minute: 10_000, ..Limits::default() },
    }
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let head = head.to_lowercase();
        let body = if head.contains("transfer-encoding: chunked") {
            unchunked(body)
        } else {
            body.to_owned()
        };
        Self { status, head, body }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// The events that it is made of: id, name and data of each.
    pub(super) fn events(&self) -> Vec<(usize, String, Value)> {
        let event = |event: &str| {
            let value = |name: &str| {
                let lines = || event.lines().filter_map(|line| line.split_once(": "));
                lines().find(|(found, _)| *found == name).unwrap().1.to_owned()
            };
            let data = serde_json::from_str(&value("data")).unwrap();
            (value("id").parse().unwrap(), value("event"), data)
        };
        let events = self.body.split("\n\n").filter(|event| !event.is_empty());
        events.filter(|event| !event.starts_with(':')).map(event).collect()
    }

    /// The code of the problem that it is.
    pub(super) fn code(&self) -> String {
        assert!(self.head.contains("application/problem+json"), "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], self.status, "{self:?}");
        json["code"].as_str().unwrap().to_owned()
    }
}

fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        body.push_str(&after[..length]);
        if length == 0 {
            break;
        }
        rest = &after[length + 2..];
    }
    body
}

pub(super) fn walrus() -> Value {
    json!([
        {"path": "sea/walrus.md", "title": "Walrus", "body": "A walrus has long tusks.",
         "tags": ["sea"], "metadata": {"year": 2026}},
        {"path": "heron.md", "body": "A heron wades at dusk."},
        {"path": "tides.md", "body": "潮の満ち引きは月の引力による。"},
    ])
}

/// A question that does not end until it is let go.
pub(super) const HELD: &str = "held";

/// Holds every question and every text [`HELD`] until it is opened.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier(Arc<(Mutex<(usize, bool)>, Condvar)>);

impl Barrier {
    /// Waits until so many are held.
    pub(super) fn wait_for(&self, count: usize) {
        let (state, changed) = &*self.0;
        let state = state.lock().unwrap();
        drop(changed.wait_while(state, |(held, _)| *held < count).unwrap());
    }

    /// Holds who asks until it is opened.
    fn hold(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.0 += 1;
        changed.notify_all();
        drop(changed.wait_while(state, |(_, open)| !*open).unwrap());
    }

    /// Lets all of them go, and those that come.
    pub(super) fn open(&self) {
        self.0.0.lock().unwrap().1 = true;
        self.0.1.notify_all();
    }
}

impl QueryClassifier for Barrier {
    fn classify(&self, question: &Question, names: &dyn NameLookup) -> Result<QueryClassification> {
        if question.text == HELD {
            self.hold();
        }
        RuleClassifier.classify(question, names)
    }
}

impl EntityExtractor for Barrier {
    fn fingerprint(&self) -> String {
        "barrier".to_owned()
    }

    fn extract(&self, texts: &[TitledText<'_>]) -> Result<Vec<Extraction>> {
        if texts.iter().any(|one| one.text == HELD) {
            self.hold();
        }
        Ok(texts.iter().map(|_| Extraction::default()).collect())
    }
}

impl Drop for OpenAtEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// Opens a barrier when a test ends, however it does: else the server would wait for the held.
pub(super) struct OpenAtEnd(pub(super) Barrier);
