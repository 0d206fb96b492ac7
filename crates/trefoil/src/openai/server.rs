//! A server of chat completions for tests.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use trefoil_core::{Language, TitledText};

use super::{OpenAi, OpenAiConfig};

pub(super) const KEY: &str = "sk-test-0123456789";
/// An extraction without anything in it.
pub(super) const NOTHING: &str = r#"{"entities": [], "relations": []}"#;

/// What was asked of the server.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) line: String,
    /// In lower case.
    pub(super) headers: Vec<String>,
    pub(super) body: Value,
}

impl Request {
    /// Nothing if the client has gone before all of it was here.
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut lines = reader.by_ref().lines().map_while(Result::ok);
        let line = lines.next()?;
        let headers: Vec<String> =
            lines.take_while(|line| !line.is_empty()).map(|line| line.to_lowercase()).collect();
        let length = headers.iter().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length?.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        Some(Self { line, headers, body: serde_json::from_slice(&body).unwrap() })
    }

    pub(super) fn instructions(&self) -> &str {
        self.body["messages"][0]["content"].as_str().unwrap()
    }

    /// What the user's message holds.
    pub(super) fn material(&self) -> Value {
        serde_json::from_str(self.body["messages"][1]["content"].as_str().unwrap()).unwrap()
    }
}

/// What the server does about a request.
pub(super) enum Answer {
    Bytes(Vec<u8>),
    /// It keeps silent until the client has gone.
    Nothing,
}

/// A server of chat completions on this machine that keeps what it was asked.
pub(super) struct Server {
    pub(super) base: String,
    pub(super) requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers with what `answer` makes of a request and of how many came before it.
    pub(super) fn new(answer: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().map(Result::unwrap) {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                thread::spawn(move || serve(stream, &kept, &*answer));
            }
        });
        Self { base, requests }
    }

    /// Answers every request with what a model says.
    pub(super) fn saying(content: &str) -> Self {
        let answer = said(content);
        Self::new(move |_, _| Answer::Bytes(answer.clone()))
    }

    pub(super) fn answering(bytes: Vec<u8>) -> Self {
        Self::new(move |_, _| Answer::Bytes(bytes.clone()))
    }

    pub(super) fn model(&self) -> OpenAi {
        self.model_with(OpenAiConfig::default())
    }

    /// Waits next to nothing before it asks again.
    pub(super) fn model_with(&self, config: OpenAiConfig) -> OpenAi {
        let config = OpenAiConfig { backoff: Duration::from_millis(1), ..config };
        OpenAi::with_config(&self.base, "small", KEY, config).unwrap()
    }

    pub(super) fn requests(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap()
    }
}

fn serve(
    mut stream: TcpStream,
    kept: &Mutex<Vec<Request>>,
    answer: &dyn Fn(&Request, usize) -> Answer,
) {
    let Some(request) = Request::read(&stream) else { return };
    let before = {
        let mut kept = kept.lock().unwrap();
        kept.push(request.clone());
        kept.len() - 1
    };
    // A client that has given up may be gone.
    match answer(&request, before) {
        Answer::Bytes(bytes) => _ = stream.write_all(&bytes),
        Answer::Nothing => _ = stream.read(&mut [0]),
    }
}

pub(super) fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}

/// The completion of OpenAI's own server, shortened.
pub(super) fn said(content: &str) -> Vec<u8> {
    let completion = json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_741_569_952,
        "model": "small-2025-04-14",
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": content, "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": { "prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29 },
    });
    response("200 OK", "", &completion.to_string())
}

pub(super) fn titled(text: &str, language: Language) -> TitledText<'_> {
    TitledText { text, language, ..TitledText::default() }
}
