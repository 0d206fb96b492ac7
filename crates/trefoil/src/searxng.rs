use std::time::Duration;

use serde::Deserialize;
use trefoil_core::{Error, Language, Result, Trust, WebFailure, WebMetadata, WebPage, WebSearch};
use ureq::Agent;

/// How long an answer is waited for, from the look-up of the name to the last byte.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The largest answer that is read.
const MAX_BYTES: u64 = 2 << 20;
/// Characters of a title or snippet that are kept.
const MAX_CHARS: usize = 1_000;

/// Asks a `SearXNG` server, or what speaks as one: `GET {base}/search?q=…&format=json`.
///
/// ```no_run
/// use std::sync::Arc;
/// use trefoil::{Engine, EngineConfig, crag::Searxng};
///
/// let web = Searxng::new("https://searx.example.org")?;
/// let config = EngineConfig { web: Some(Arc::new(web)), ..EngineConfig::default() };
/// let engine = Engine::open_with("notes.trefoil", config)?;
/// # Ok::<(), trefoil::Error>(())
/// ```
#[derive(Debug)]
pub struct Searxng {
    /// Without a slash at the end.
    base: String,
    timeout: Duration,
    max_bytes: u64,
    agent: Agent,
}

impl Searxng {
    /// A server by its address, such as `https://searx.example.org`. It must allow the
    /// format `json`. It has 5 s to answer with at most 2 MiB.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] unless the address is `http` or `https`.
    pub fn new(base: &str) -> Result<Self> {
        Self::with_limits(base, TIMEOUT, MAX_BYTES)
    }

    /// The same with other limits.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] unless the address is `http` or `https`.
    pub fn with_limits(base: &str, timeout: Duration, max_bytes: u64) -> Result<Self> {
        let allowed = "an address with http:// or https://";
        Error::check_config(is_web_address(base), "web", base, allowed)?;
        let agent = Agent::config_builder().timeout_global(Some(timeout)).build().new_agent();
        let base = base.trim_end_matches('/').to_owned();
        Ok(Self { base, timeout, max_bytes, agent })
    }

    fn fetch(&self, question: &str, language: Language) -> Result<Vec<u8>, ureq::Error> {
        let mut answer = self
            .agent
            .get(format!("{}/search", self.base))
            .query("q", question)
            .query("format", "json")
            .query("language", language.code())
            .header("Accept", "application/json")
            .call()?;
        answer.body_mut().with_config().limit(self.max_bytes).read_to_vec()
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "whatever else fails, it was not reached")]
    fn failure(&self, error: ureq::Error) -> WebFailure {
        match error {
            ureq::Error::StatusCode(code) => WebFailure::Status { code },
            ureq::Error::Timeout(_) => {
                let millis = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
                WebFailure::Timeout { millis }
            }
            ureq::Error::BodyExceedsLimit(limit) => WebFailure::TooLarge { limit },
            other => WebFailure::Unreachable { reason: other.to_string() },
        }
    }
}

impl WebSearch for Searxng {
    fn service(&self) -> &str {
        &self.base
    }

    fn search(&self, question: &str, language: Language, limit: usize) -> Result<Vec<WebPage>> {
        let failed = |failure| Error::WebSearch { service: self.base.clone(), failure };
        let body = self.fetch(question, language).map_err(|error| failed(self.failure(error)))?;
        let answer: Answer = serde_json::from_slice(&body)
            .map_err(|error| failed(WebFailure::Malformed { reason: error.to_string() }))?;
        let page = |found: Found| WebPage {
            url: found.url,
            title: shortened(&found.title.unwrap_or_default()),
            snippet: shortened(&found.content.unwrap_or_default()),
            metadata: WebMetadata { service: self.base.clone(), trust: Trust::Untrusted },
        };
        let pages = answer.results.into_iter().filter(|found| is_web_address(&found.url));
        Ok(pages.take(limit).map(page).collect())
    }
}

/// What the server answers, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Answer {
    results: Vec<Found>,
}

#[derive(Debug, Deserialize)]
struct Found {
    url: String,
    title: Option<String>,
    content: Option<String>,
}

fn is_web_address(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| url.len() > scheme.len() && url.starts_with(scheme))
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        thread::JoinHandle,
    };

    use super::*;

    /// Answers one request with `answer` as it stands; gives back what was asked.
    fn server(answer: Vec<u8>, wait: Duration) -> (String, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let request = head(&mut stream);
            std::thread::sleep(wait);
            // A client that has given up may be gone.
            _ = stream.write_all(&answer);
            request
        });
        (base, thread)
    }

    fn head(stream: &mut TcpStream) -> String {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
            head.extend(byte);
        }
        String::from_utf8(head).unwrap()
    }

    fn ok(body: &str) -> Vec<u8> {
        let length = body.len();
        let kind = "application/json; charset=utf-8";
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
            .into_bytes()
    }

    fn ask(answer: Vec<u8>, wait: Duration) -> (Result<Vec<WebPage>>, String) {
        let (base, thread) = server(answer, wait);
        let web = Searxng::with_limits(&base, Duration::from_millis(500), 2_000).unwrap();
        let pages = web.search("潮の満ち引き & more?", Language::Ja, 2);
        (pages, thread.join().unwrap())
    }

    #[track_caller]
    fn check_failure(answer: Vec<u8>, wait: Duration, expected: impl Fn(&WebFailure) -> bool) {
        match ask(answer, wait).0 {
            Err(Error::WebSearch { failure, .. }) => assert!(expected(&failure), "{failure:?}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_question_is_asked_and_pages_are_untrusted() {
        let body = r#"{"query": "潮", "number_of_results": 3, "results": [
            {"url": "javascript:alert(1)", "title": "x", "content": "y"},
            {"url": "https://tides.example/a", "title": "潮汐", "content": "月の引力", "engine": "e"},
            {"url": "http://tides.example/b", "title": null},
            {"url": "https://tides.example/c", "title": "one too many"}]}"#;
        let (pages, request) = ask(ok(body), Duration::ZERO);
        let pages = pages.unwrap();
        let found: Vec<(&str, &str, &str)> = pages
            .iter()
            .map(|page| (page.url.as_str(), page.title.as_str(), page.snippet.as_str()))
            .collect();
        assert_eq!(
            found,
            [("https://tides.example/a", "潮汐", "月の引力"), ("http://tides.example/b", "", "")]
        );
        assert!(pages.iter().all(|page| page.metadata.trust == Trust::Untrusted));
        let line = request.lines().next().unwrap();
        assert!(line.starts_with("GET /search?q=%E6%BD%AE"), "{line}");
        assert!(line.contains("%26") && line.contains("&format=json&language=ja"), "{line}");
    }

    #[test]
    fn each_failure_has_its_name() {
        let status = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n".to_vec();
        let now = Duration::ZERO;
        check_failure(status, now, |one| *one == WebFailure::Status { code: 429 });
        check_failure(ok("<html>"), now, |one| matches!(one, WebFailure::Malformed { .. }));
        check_failure(ok("{}"), now, |one| matches!(one, WebFailure::Malformed { .. }));
        let large = format!(r#"{{"results": [], "padding": "{}"}}"#, "x".repeat(3_000));
        check_failure(ok(&large), now, |one| *one == WebFailure::TooLarge { limit: 2_000 });
        check_failure(ok("{}"), Duration::from_secs(1), |one| {
            *one == WebFailure::Timeout { millis: 500 }
        });
        check_failure(Vec::new(), now, |one| matches!(one, WebFailure::Unreachable { .. }));
    }

    #[test]
    fn nothing_listens_or_the_address_is_none() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let web = Searxng::new(&format!("http://{free}")).unwrap();
        let error = web.search("tide", Language::En, 3).unwrap_err();
        let unreachable =
            matches!(&error, Error::WebSearch { failure: WebFailure::Unreachable { .. }, .. });
        assert!(unreachable && error.to_string().contains(&free.to_string()), "{error}");
        for bad in ["", "searx.example.org", "ftp://searx.example.org", "https://"] {
            assert!(Searxng::new(bad).is_err(), "{bad}");
        }
    }
}
