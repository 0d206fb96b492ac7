//! What is wrong with requests, by mistake or on purpose.

use serde_json::{Value, json};

use super::running::Running;

#[test]
fn what_is_wrong_with_a_request_is_a_problem() {
    let server = Running::with(|settings| settings.limits.body_bytes = 2_000);
    let ask = |method: &str, path: &str, body: Option<Value>| {
        let answer = server.ask(method, path, body.as_ref());
        (answer.status, answer.code())
    };
    let check = |found: (u16, String), status: u16, code: &str| {
        assert_eq!(found, (status, code.to_owned()));
    };
    check(ask("GET", "/nothing", None), 404, "not_found");
    check(ask("GET", "/v1/documents/..%2f..%2fetc", None), 404, "not_found");
    check(ask("GET", "/v1/chunks/chk_0", None), 404, "not_found");
    check(ask("PUT", "/v1/documents", None), 405, "method_not_allowed");
    check(ask("GET", "/v1/stats?index=other", None), 404, "not_found");
    check(ask("GET", "/v1/stats?no=1", None), 422, "invalid_parameter");
    check(ask("GET", "/v1/documents?limit=0", None), 422, "invalid_parameter");
    check(ask("GET", "/v1/documents?where=1", None), 422, "invalid_parameter");
    check(ask("POST", "/v1/search", Some(json!({"text": ""}))), 422, "invalid_body");
    check(ask("POST", "/v1/search", Some(json!({"text": "x", "no": 1}))), 422, "invalid_body");
    let too_many = json!({"text": "x", "options": {"limit": 101}});
    check(ask("POST", "/v1/search", Some(too_many.clone())), 422, "invalid_query");
    let problem = server.ask("POST", "/v1/search", Some(&too_many)).json();
    assert_eq!(
        (&problem["errors"][0]["field"], &problem["instance"]),
        (&json!("options.limit"), &json!("/v1/search"))
    );
    check(
        ask("POST", "/v1/search", Some(json!({"text": "x".repeat(3_000)}))),
        413,
        "body_too_large",
    );
    check(ask("POST", "/v1/search", None), 415, "unsupported_media_type");
    check(ask("POST", "/v1/documents/remove", Some(json!({}))), 422, "invalid_body");
    let raw = |headers: &[(&str, &str)], media: &str, body: &str| {
        let token = server.token.as_deref();
        let answer = server.ask_with(token, "POST", "/v1/search", headers, Some((media, body)));
        (answer.status, answer.code())
    };
    let json = "application/json";
    check(raw(&[], json, "{"), 400, "malformed_request");
    let deep = format!("{{\"text\": \"x\", \"filters\": {{\"where\": {}", "[".repeat(1_000));
    check(raw(&[], json, &deep), 400, "malformed_request");
    check(raw(&[], "text/plain", "{}"), 415, "unsupported_media_type");
    check(raw(&[("Content-Encoding", "gzip")], json, "{}"), 415, "unsupported_media_type");
    check(raw(&[("Origin", "http://evil.example")], json, "{}"), 403, "origin_refused");
    let own = format!("http://{}", server.address);
    check(raw(&[("Origin", &own)], json, "{}"), 422, "invalid_body");
    let foreign =
        server.send("GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    check((foreign.status, foreign.code()), 403, "host_refused");
    let local =
        server.send("GET /healthz HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n");
    assert_eq!((local.status, local.body.as_str()), (200, "ok\n"));
    assert!(local.head.contains("x-request-id: ") && local.head.contains("nosniff"), "{local:?}");
    assert_eq!(server.ask("GET", "/problems/body_too_large", None).status, 200);
    check(ask("GET", "/problems/nothing", None), 404, "not_found");
}
