//! What can go wrong between here and the model.

use std::{net::TcpListener, sync::Arc, time::Duration};

use serde_json::{Value, json};
use trefoil_core::{EntityExtractor as _, Error, Language, WebFailure};

use super::{
    OpenAi, OpenAiConfig,
    server::{Answer, KEY, NOTHING, Server, response, said, titled},
};

/// The failure of a model that may ask `tries` times, and how often it did.
fn failure(server: &Server, config: OpenAiConfig) -> (WebFailure, Error, usize) {
    let text = "Ada Lovelace wrote the first program, and a note that is longer than that.";
    let error = server.model_with(config).extract(&[titled(text, Language::En)]).unwrap_err();
    let Error::LanguageModel { failure, .. } = &error else { panic!("{error:?}") };
    let asked = server.requests().len();
    (failure.clone(), error, asked)
}

#[track_caller]
fn check_failure(answer: Vec<u8>, expected: &WebFailure) {
    let server = Server::answering(answer);
    let (failure, error, asked) = failure(&server, OpenAiConfig::default());
    assert_eq!(failure, *expected);
    assert_eq!(asked, 1);
    let message = error.to_string();
    for part in ["`small`", &*server.base, "Ada Lovelace wrote the first program, an…"] {
        assert!(message.contains(part), "{message}");
    }
}

#[track_caller]
fn check_malformed(answer: Vec<u8>, reason: &str) {
    let (failure, ..) = failure(&Server::answering(answer), OpenAiConfig::default());
    let WebFailure::Malformed { reason: found } = failure else { panic!("{failure:?}") };
    assert!(found.contains(reason), "{found}");
}

#[test]
fn an_answer_of_another_form_is_an_error() {
    let entity = |name: &str, value: &str| {
        let entity = format!(r#"{{"{name}": {value}, "name": "Ada", "aliases": []"#);
        let rest = match name {
            "confidence" => r#""type": "PERSON""#,
            _ => r#""confidence": 0.9"#,
        };
        said(&format!(r#"{{"entities": [{entity}, {rest}}}], "relations": []}}"#))
    };
    // So it ends where a text talks the model into a form of its own.
    check_malformed(said(r#"{"pwned": true}"#), "missing field `entities`");
    check_malformed(said("Sure! Here it is:"), "expected value");
    check_malformed(said("```json\n{}\n```"), "expected value");
    check_malformed(said(r#"{"entities": []}"#), "missing field `relations`");
    check_malformed(said(r#"{"entities": [], "relations": [{}]}"#), "missing field");
    check_malformed(entity("confidence", "1.5"), "1.5 is not a score");
    check_malformed(entity("confidence", "\"high\""), "invalid type");
    check_malformed(entity("type", "\"\""), "is not a label");
    check_malformed(entity("type", "null"), "invalid type");
    check_malformed(response("200 OK", "", "<html>"), "expected value");
    check_malformed(response("200 OK", "", r#"{"choices": []}"#), "no choice");
    let choice =
        |choice: Value| response("200 OK", "", &json!({ "choices": [choice] }).to_string());
    check_malformed(choice(json!({ "message": { "content": null } })), "no content");
    let refusal = json!({ "message": { "content": null, "refusal": "I cannot help" } });
    check_malformed(choice(refusal), "I cannot help");
    let cut = json!({ "message": { "content": NOTHING }, "finish_reason": "length" });
    check_malformed(choice(cut), "ran out of tokens");
}

#[test]
fn one_bad_answer_fails_by_its_text() {
    let server = Server::new(|request, _| {
        let bad = request.material()["text"] == "Byron";
        Answer::Bytes(said(if bad { "{" } else { NOTHING }))
    });
    let texts = ["Ada", "Byron", "Babbage"].map(|text| titled(text, Language::En));
    let message = server.model().extract(&texts).unwrap_err().to_string();
    assert!(message.contains("“Byron”"), "{message}");
}

#[test]
fn each_refusal_has_its_name() {
    let error = |message: &str| json!({ "error": { "message": message } }).to_string();
    let missing = response("404 Not Found", "", &error("The model `small` does not exist"));
    let refused =
        WebFailure::Refused { code: 404, message: "The model `small` does not exist".to_owned() };
    check_failure(missing, &refused);
    check_failure(response("400 Bad Request", "", "no"), &WebFailure::Status { code: 400 });
    let moved = response("307 Temporary Redirect", "Location: http://127.0.0.1:1/\r\n", "");
    check_failure(moved, &WebFailure::Status { code: 307 });
}

#[test]
fn large_and_late_answers_are_given_up() {
    let server = Server::saying(&format!("{NOTHING}{}", " ".repeat(3_000)));
    let config = OpenAiConfig { max_bytes: 2_000, ..OpenAiConfig::default() };
    let (found, _, asked) = failure(&server, config);
    assert_eq!((found, asked), (WebFailure::TooLarge { limit: 2_000 }, 1));

    let server = Server::new(|_, _| Answer::Nothing);
    let config = OpenAiConfig { timeout: Duration::from_millis(100), ..OpenAiConfig::default() };
    let (found, ..) = failure(&server, config);
    assert_eq!(found, WebFailure::Timeout { millis: 100 });
}

#[test]
fn a_busy_server_is_asked_again_when_it_says() {
    let server = Server::new(|_, before| {
        Answer::Bytes(match before {
            0 => response("429 Too Many Requests", "Retry-After: 0\r\n", "{}"),
            1 => response("503 Service Unavailable", "Retry-After: 0\r\n", "busy"),
            _ => said(NOTHING),
        })
    });
    // Were it not for the header, the test would last an hour.
    let hour = Duration::from_hours(1);
    let config = OpenAiConfig { backoff: hour, max_wait: hour, ..OpenAiConfig::default() };
    let model = OpenAi::with_config(&server.base, "small", KEY, config).unwrap();
    model.extract(&[titled("Ada", Language::En)]).unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request.body == requests[0].body));
}

#[test]
fn a_failing_server_is_given_up() {
    let server = Server::answering(response("500 Internal Server Error", "", "oops"));
    let config = OpenAiConfig { retries: 2, ..OpenAiConfig::default() };
    let (found, _, asked) = failure(&server, config);
    assert_eq!((found, asked), (WebFailure::Status { code: 500 }, 3));

    // Nobody waits for a day.
    let later = response("429 Too Many Requests", "Retry-After: 86400\r\n", "{}");
    let (found, _, asked) = failure(&Server::answering(later), OpenAiConfig::default());
    assert_eq!((found, asked), (WebFailure::Status { code: 429 }, 1));
}

#[test]
fn nothing_listens() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server { base: format!("http://{free}/v1"), requests: Arc::default() };
    let (found, ..) = failure(&server, OpenAiConfig::default());
    assert!(matches!(found, WebFailure::Unreachable { .. }), "{found:?}");
}

#[test]
fn the_key_is_shown_nowhere() {
    let server = Server::new(|request, _| {
        let echoed = request.headers.join(" ").replace("bearer", "Bearer");
        let body = json!({ "error": { "message": echoed } }).to_string();
        Answer::Bytes(response("400 Bad Request", "", &body))
    });
    let model = server.model();
    let (_, error, _) = failure(&server, OpenAiConfig::default());
    assert!(error.to_string().contains("Bearer …"), "{error}");
    let unknown = json!({ "error": { "message": "Incorrect key sk-test-****6789" } }).to_string();
    let unknown = Server::answering(response("401 Unauthorized", "", &unknown));
    let (found, unauthorized, _) = failure(&unknown, OpenAiConfig::default());
    assert_eq!(found, WebFailure::Status { code: 401 });
    let said = Server::saying(&json!({ "entities": KEY, "relations": [] }).to_string());
    let (_, malformed, _) = failure(&said, OpenAiConfig::default());
    let invalid = OpenAi::new(&server.base, "small", &format!("{KEY}\n")).unwrap_err();
    let address = OpenAi::new(&format!("https://{KEY}@openai.example"), "small", "").unwrap_err();
    for error in [error, unauthorized, malformed, invalid, address] {
        let shown = format!("{error} {error:?} {}", error.chain());
        assert!(!shown.contains("0123") && !shown.contains("6789"), "{shown}");
    }
    assert!(!format!("{model:?} {model:#?}").contains("0123"), "{model:?}");
}

#[test]
fn what_cannot_be_asked_is_refused() {
    for base in ["", "openai.example/v1", "ftp://openai.example", "https://", "http://a/v1?x=1"] {
        assert!(OpenAi::new(base, "small", KEY).is_err(), "{base}");
    }
    let check = |change: &dyn Fn(&mut OpenAiConfig), valid: bool| {
        let mut config = OpenAiConfig::default();
        change(&mut config);
        assert_eq!(config.check().is_ok(), valid, "{config:?}");
    };
    for (temperature, valid) in [(0.0, true), (2.0, true), (2.1, false), (f32::NAN, false)] {
        check(&|config| config.temperature = Some(temperature), valid);
    }
    for (concurrency, valid) in [(0, false), (1, true), (64, true), (65, false)] {
        check(&|config| config.concurrency = concurrency, valid);
    }
    check(&|config| config.retries = 10, true);
    check(&|config| config.retries = 11, false);
    check(&|config| config.timeout = Duration::ZERO, false);
    assert!(OpenAi::new("http://a", "", KEY).is_err());
    assert!(OpenAi::new("http://a", "a\nb", KEY).is_err());
}
