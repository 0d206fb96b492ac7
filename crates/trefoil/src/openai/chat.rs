use std::{borrow::Cow, io::ErrorKind, time::Duration};

use jiff::fmt::rfc2822;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use trefoil_core::{Error, Result, WebFailure};
use ureq::{
    Agent, Timeout,
    http::{HeaderMap, HeaderValue, Uri, header},
};

use super::{AnswerFormat, OpenAiConfig};

/// Characters of what a server says that an error shows.
const MESSAGE_CHARS: usize = 300;
/// What stands before a key in its header.
const SCHEME: &str = "Bearer ";

/// One model of one server.
#[derive(Debug)]
pub(super) struct Chat {
    /// Without a slash at the end.
    base: String,
    model: String,
    /// Marked as sensitive, so that it is not shown.
    authorization: Option<HeaderValue>,
    config: OpenAiConfig,
    agent: Agent,
}

/// What a model is asked.
#[derive(Debug)]
pub(super) struct Question {
    /// The task, as a verb phrase for errors.
    pub(super) doing: String,
    /// What is to be done with the material.
    pub(super) instructions: String,
    /// The material: it is sent as JSON, out of which no text can break.
    pub(super) material: Value,
    /// Name and schema of the answer.
    pub(super) form: (&'static str, Value),
}

/// Why there is no answer, and after how long it is worth another try.
struct Failed {
    failure: WebFailure,
    again: Again,
}

enum Again {
    Never,
    /// At a time of our choice.
    Later,
    /// When the server says.
    After(Duration),
}

impl Chat {
    pub(super) fn new(base: &str, model: &str, key: &str, config: OpenAiConfig) -> Result<Self> {
        // What looks like a password is not repeated.
        let shown = if base.contains('@') { "(hidden)" } else { base };
        let allowed = "an address with http:// or https://, without user and query";
        Error::check_config(is_base(base), "openai.base", shown, allowed)?;
        let named = (1..=255).contains(&model.chars().count()) && !model.contains(char::is_control);
        Error::check_config(named, "openai.model", model, "1–255 characters")?;
        let authorization = authorization(key)?;
        let agent = Agent::config_builder()
            .timeout_global(Some(config.timeout))
            .http_status_as_error(false)
            // A key goes where it was meant to go.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .build()
            .new_agent();
        let (base, model) = (base.trim_end_matches('/').to_owned(), model.to_owned());
        Ok(Self { base, model, authorization, config, agent })
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Asks until there is an answer, or no hope of one.
    pub(super) fn ask<A: DeserializeOwned>(&self, question: &Question) -> Result<A> {
        let body = self.body(question);
        let mut tried = 0;
        let content = loop {
            let failed = match self.post(&body) {
                Ok(content) => break content,
                Err(failed) => failed,
            };
            let Some(wait) = self.wait(tried, &failed.again) else {
                return Err(self.failed(question, failed.failure));
            };
            tracing::warn!(model = self.model, reason = %failed.failure, ?wait, "asking again");
            std::thread::sleep(wait);
            tried += 1;
        };
        serde_json::from_str(&content).map_err(|error| self.malformed(question, &error.to_string()))
    }

    /// The error for an answer that is not as it should be.
    pub(super) fn malformed(&self, question: &Question, reason: &str) -> Error {
        self.failed(question, WebFailure::Malformed { reason: self.shown(reason) })
    }

    fn failed(&self, question: &Question, failure: WebFailure) -> Error {
        Error::LanguageModel {
            service: self.base.clone(),
            model: self.model.clone(),
            doing: question.doing.clone(),
            failure,
        }
    }

    fn body(&self, question: &Question) -> String {
        let (name, schema) = &question.form;
        let format = match self.config.answer_format {
            AnswerFormat::JsonSchema => json!({
                "type": "json_schema",
                "json_schema": { "name": name, "strict": true, "schema": schema },
            }),
            AnswerFormat::JsonObject => json!({ "type": "json_object" }),
        };
        let mut body = json!({
            "model": self.model,
            "messages": [
                { "role": "system", "content": question.instructions },
                { "role": "user", "content": question.material.to_string() },
            ],
            "response_format": format,
        });
        if let (Some(temperature), Some(body)) = (self.config.temperature, body.as_object_mut()) {
            body.insert("temperature".to_owned(), json!(temperature));
        }
        body.to_string()
    }

    /// Sends one request and reads what the model said.
    fn post(&self, body: &str) -> Result<String, Failed> {
        let mut request = self
            .agent
            .post(format!("{}/chat/completions", self.base))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let unanswered = |error| self.unanswered(error);
        let mut response = request.send(body).map_err(unanswered)?;
        let limited = response.body_mut().with_config().limit(self.config.max_bytes);
        let said = limited.read_to_vec();
        if !response.status().is_success() {
            let again = again(response.status().as_u16(), response.headers());
            let failure = self.refusal(response.status().as_u16(), &said.unwrap_or_default());
            return Err(Failed { failure, again });
        }
        content(&said.map_err(unanswered)?)
            .map_err(|reason| WebFailure::Malformed { reason: self.shown(&reason) }.into())
    }

    /// How long to wait before the next try, if there is to be one.
    fn wait(&self, tried: u32, again: &Again) -> Option<Duration> {
        let OpenAiConfig { retries, backoff, max_wait, .. } = self.config;
        let wait = match *again {
            Again::Never => None,
            Again::Later => Some(backoff.saturating_mul(1 << tried.min(16)).min(max_wait)),
            Again::After(wait) => (wait <= max_wait).then_some(wait),
        };
        wait.filter(|_| tried < retries)
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "whatever else fails, it was not reached")]
    fn unanswered(&self, error: ureq::Error) -> Failed {
        use ureq::Error::{BodyExceedsLimit, ConnectionFailed, HostNotFound, Io};
        let again = match &error {
            ConnectionFailed
            | HostNotFound
            | ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => Again::Later,
            Io(error) if error.kind() == ErrorKind::ConnectionRefused => Again::Later,
            _ => Again::Never,
        };
        let failure = match error {
            ureq::Error::Timeout(_) => {
                let millis = u64::try_from(self.config.timeout.as_millis()).unwrap_or(u64::MAX);
                WebFailure::Timeout { millis }
            }
            BodyExceedsLimit(limit) => WebFailure::TooLarge { limit },
            other => WebFailure::Unreachable { reason: self.shown(&other.to_string()) },
        };
        Failed { failure, again }
    }

    fn refusal(&self, code: u16, said: &[u8]) -> WebFailure {
        match serde_json::from_slice::<Refusal>(said) {
            // A server that does not know a key likes to repeat it in part.
            Ok(refusal) if code != 401 => {
                WebFailure::Refused { code, message: self.shown(&refusal.error.message) }
            }
            _ => WebFailure::Status { code },
        }
    }

    /// What a server says as far as an error shows it: shortened and without the key.
    fn shown(&self, said: &str) -> String {
        let key = self.authorization.as_ref().and_then(|value| value.to_str().ok());
        let key = key.and_then(|value| value.strip_prefix(SCHEME));
        let said = key.map_or(Cow::Borrowed(said), |key| Cow::Owned(said.replace(key, "…")));
        said.chars().take(MESSAGE_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect()
    }
}

impl From<WebFailure> for Failed {
    fn from(failure: WebFailure) -> Self {
        Self { failure, again: Again::Never }
    }
}

/// What a server answers, as far as it matters here.
#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    error: Reason,
}

#[derive(Deserialize)]
struct Reason {
    message: String,
}

/// What the model said, or why that is no answer.
fn content(said: &[u8]) -> Result<String, String> {
    let completion: Completion = serde_json::from_slice(said).map_err(|error| error.to_string())?;
    let choice = completion.choices.into_iter().next().ok_or("there is no choice in it")?;
    if let Some(refusal) = choice.message.refusal {
        return Err(format!("the model refuses: {refusal}"));
    }
    if choice.finish_reason.as_deref() == Some("length") {
        return Err("the model ran out of tokens".to_owned());
    }
    choice.message.content.ok_or_else(|| "there is no content in it".to_owned())
}

fn again(code: u16, headers: &HeaderMap) -> Again {
    match code {
        429 | 500..=599 => retry_after(headers).map_or(Again::Later, Again::After),
        _ => Again::Never,
    }
}

/// The time that `Retry-After` names: in seconds, or a date as against the server's own
/// clock (RFC 9110, 10.2.3).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok();
    let after = text(header::RETRY_AFTER)?.trim();
    if let Ok(seconds) = after.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let time = |text| rfc2822::DateTimeParser::new().parse_timestamp(text).ok();
    let (until, now) = (time(after)?, time(text(header::DATE)?)?);
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

fn is_base(base: &str) -> bool {
    base.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
            && uri.query().is_none()
    })
}

/// The header for a key, if there is one.
fn authorization(key: &str) -> Result<Option<HeaderValue>> {
    if key.is_empty() {
        return Ok(None);
    }
    let visible = key.bytes().all(|byte| byte.is_ascii_graphic());
    let value = HeaderValue::from_str(&format!("{SCHEME}{key}")).ok().filter(|_| visible);
    let allowed = "visible ASCII characters";
    let mut value =
        value.ok_or_else(|| Error::invalid_config("openai.key", "(hidden)", allowed))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[(header::HeaderName, &'static str)], expected: Option<u64>) {
        let headers: HeaderMap = lines
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect();
        assert_eq!(retry_after(&headers), expected.map(Duration::from_secs), "{lines:?}");
    }

    #[test]
    fn servers_say_when_to_come_back() {
        use header::{DATE, RETRY_AFTER};
        let date = (DATE, "Wed, 21 Oct 2015 07:28:00 GMT");
        check(&[(RETRY_AFTER, "20")], Some(20));
        check(&[(RETRY_AFTER, "Wed, 21 Oct 2015 07:29:30 GMT"), date.clone()], Some(90));
        check(&[(RETRY_AFTER, "Wed, 21 Oct 2015 07:00:00 GMT"), date.clone()], Some(0));
        check(&[(RETRY_AFTER, "Wed, 21 Oct 2015 07:29:30 GMT")], None);
        check(&[(RETRY_AFTER, "soon"), date], None);
        check(&[], None);
    }

    #[test]
    fn waits_grow_up_to_a_limit() {
        let seconds = Duration::from_secs;
        let chat = Chat::new("http://a/v1", "m", "", OpenAiConfig::default()).unwrap();
        let waits: Vec<_> = (0..5).map(|tried| chat.wait(tried, &Again::Later)).collect();
        assert_eq!(waits, [Some(1), Some(2), Some(4), Some(8), None].map(|n| n.map(seconds)));
        assert_eq!(chat.wait(0, &Again::After(seconds(60))), Some(seconds(60)));
        assert_eq!(chat.wait(0, &Again::After(seconds(61))), None);
        assert_eq!(chat.wait(0, &Again::Never), None);
        let config = OpenAiConfig { retries: 10, ..OpenAiConfig::default() };
        let chat = Chat::new("http://a/v1", "m", "", config).unwrap();
        assert_eq!(chat.wait(9, &Again::Later), Some(seconds(60)));
    }
}
