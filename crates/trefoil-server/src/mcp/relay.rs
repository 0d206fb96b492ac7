//! Messages of standard input as requests of HTTP: to a server that has the index open, or to this
//! process.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::{client::Client, endpoint};
use crate::local::{LocalServer, living_server};

/// Where messages go.
#[derive(Debug)]
pub(crate) struct Relay {
    /// What this process answers by itself.
    pub(crate) own: Client,
    /// Finds the server that has the index open, while there is one.
    pub(crate) server: Option<ServerOfIndex>,
    /// The version of the protocol that was agreed on.
    version: Mutex<Option<String>>,
}

/// A server, and what to ask it for.
#[derive(Debug)]
pub(crate) struct ServerOfIndex {
    pub(crate) dir: PathBuf,
    /// The query of its address, but for the index, which it names itself.
    pub(crate) query: String,
}

/// The server that has the index in `dir` open and answers messages, if there is one.
pub(crate) fn asked_server(dir: &Path) -> Option<LocalServer> {
    living_server(dir).filter(|server| server.mcp)
}

/// An answer of the protocol that is an error.
pub(crate) fn error(id: &Value, code: i32, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

type Sender = SendRequest<Full<Bytes>>;

const INTERNAL: i32 = -32_603;

impl Relay {
    pub(crate) fn new(own: Client, server: Option<ServerOfIndex>) -> Self {
        Self { own, server, version: Mutex::default() }
    }

    /// The answer to a message, on one line; nothing to what wants none.
    pub(crate) async fn answer(&self, message: &Value) -> Option<String> {
        let headers = self.headers(message);
        let body = Bytes::from(message.to_string());
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.headers_mut() = headers;
        let answer = if let Some((sender, server, query)) = self.connected().await {
            ask(sender, &server, query, request).await
        } else {
            let response = endpoint::answer(self.own.clone(), request).await;
            let Ok(collected) = response.into_body().collect().await;
            Ok(collected.to_bytes())
        };
        let id = message.get("id")?;
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => {
                // It may have been done: what the server was told is not told again.
                let detail = format!("the server of the index has gone: {failure}; ask again");
                return Some(error(id, INTERNAL, &detail));
            }
        };
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        if text_at(&answer, "/jsonrpc") == Some("2.0") {
            if let Some(version) = text_at(&answer, "/result/protocolVersion") {
                let mut agreed = self.version.lock().unwrap_or_else(PoisonError::into_inner);
                *agreed = Some(version.to_owned());
            }
            return Some(answer.to_string());
        }
        let detail = text_at(&answer, "/detail").unwrap_or("the message was not understood");
        Some(error(id, INTERNAL, detail))
    }

    /// A connection to the server that has the index open, if one does.
    async fn connected(&self) -> Option<(Sender, LocalServer, &str)> {
        let of_index = self.server.as_ref()?;
        let dir = of_index.dir.clone();
        let found = tokio::task::spawn_blocking(move || asked_server(&dir)).await;
        let server = found.ok()??;
        let stream = TcpStream::connect(server.address).await.ok()?;
        drop(stream.set_nodelay(true));
        let (sender, connection) = handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        Some((sender, server, &of_index.query))
    }

    /// What HTTP says of a message in its head.
    fn headers(&self, message: &Value) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let fixed = HeaderValue::from_static;
        headers.insert(header::CONTENT_TYPE, fixed("application/json"));
        headers.insert(header::ACCEPT, fixed("application/json, text/event-stream"));
        headers.insert(header::HOST, fixed("localhost"));
        let method = text_at(message, "/method").unwrap_or_default();
        let own = text_at(message, "/params/_meta/io.modelcontextprotocol~1protocolVersion");
        let agreed = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let version = own.map(str::to_owned).or(agreed).filter(|_| method != "initialize");
        let name = match method {
            "tools/call" | "prompts/get" => text_at(message, "/params/name"),
            "resources/read" => text_at(message, "/params/uri"),
            _ => None,
        };
        for (header, value) in [
            ("mcp-protocol-version", version),
            ("mcp-method", Some(method.to_owned())),
            ("mcp-name", name.map(encoded)),
        ] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
                headers.insert(HeaderName::from_static(header), value);
            }
        }
        headers
    }
}

/// A text within a message, by its JSON pointer.
pub(crate) fn text_at<'m>(message: &'m Value, pointer: &str) -> Option<&'m str> {
    message.pointer(pointer)?.as_str()
}

/// A name as a header has it: as it is, or, where a header cannot hold that, in base64.
fn encoded(name: &str) -> String {
    let is_plain = name.chars().all(|c| (' '..='~').contains(&c))
        && name.trim() == name
        && !name.starts_with("=?base64?");
    if is_plain {
        return name.to_owned();
    }
    format!("=?base64?{}?=", BASE64_STANDARD.encode(name))
}

/// Asks a server.
async fn ask(
    mut sender: Sender,
    server: &LocalServer,
    query: &str,
    mut request: Request<Full<Bytes>>,
) -> io::Result<Bytes> {
    if let Some(token) = &server.token {
        let value = format!("Bearer {token}").parse().map_err(io::Error::other)?;
        request.headers_mut().insert(header::AUTHORIZATION, value);
    }
    let address = format!("{}?index={}&{query}", endpoint::PATH, server.index);
    *request.uri_mut() = address.parse().map_err(io::Error::other)?;
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    let collected = response.into_body().collect().await.map_err(io::Error::other)?;
    Ok(collected.to_bytes())
}
