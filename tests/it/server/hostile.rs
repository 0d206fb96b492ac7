//! What is wrong with requests, by mistake or on purpose.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::Duration,
};

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

#[test]
fn bytes_that_are_no_request_are_refused_and_others_unharmed() {
    let server = Running::start();
    let token = server.token.as_deref().unwrap();
    let with_path = |path: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n"
        )
    };
    for (request, status) in [
        ("\0\0\0\0\r\n\r\n".to_owned(), 400),
        ("GET\r\n\r\n".to_owned(), 400),
        ("GET /healthz HTTP/9.9\r\n\r\n".to_owned(), 400),
        ("GET /healthz HTTP/1.1\r\n\r\n".to_owned(), 403),
        (with_path("/v1/documents/..%2f..%2fetc%2fpasswd"), 404),
        (with_path("/v1/documents/../../etc/passwd"), 404),
        (with_path("/v1/documents/%00"), 404),
        (with_path("/v1/documents/%ff"), 404),
        (with_path("/v1/chunks/%e6%9d%b1"), 404),
        (with_path("//v1/stats"), 404),
        (with_path("/v1/stats?index=%ff"), 400),
        (with_path("/v1/stats?index=../notes"), 404),
    ] {
        let answer = server.send(&request);
        assert_eq!(answer.status, status, "{request:?} {answer:?}");
        assert_eq!(server.ask("GET", "/healthz", None).status, 200);
    }
}

#[test]
fn endless_and_huge_requests_are_cut_off_and_others_unharmed() {
    let server = Running::with(|settings| {
        settings.limits.head_seconds = 1;
        settings.limits.body_seconds = 1;
    });
    let token = server.token.as_deref().unwrap();
    let head = format!(
        "POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nConnection: close\r\n"
    );
    // It says how long it is, and sends nothing of it.
    let large = server.send(&format!("{head}Content-Length: {}\r\n\r\n", 33 << 20));
    assert_eq!((large.status, large.code()), (413, "body_too_large".to_owned()));
    // It does not say so.
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, " ".repeat(1 << 20));
    let large =
        server.send(&format!("{head}Transfer-Encoding: chunked\r\n\r\n{}", chunk.repeat(33)));
    assert!([0, 413].contains(&large.status), "{large:?}");
    let many = "X-Other: 1\r\n".repeat(10_000);
    let many = server.send(&format!("{head}{many}Content-Length: 2\r\n\r\n{{}}"));
    assert_eq!(many.status, 431, "{many:?}");
    let broken =
        [head.as_bytes(), b"Content-Length: 14\r\n\r\n", b"{\"documents\":\xff\xfe"].concat();
    let broken = server.send_bytes(&broken);
    assert_eq!((broken.status, broken.code()), (400, "malformed_request".to_owned()));
    // A byte now and then keeps neither a head nor a body alive.
    for (start, status) in [
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ".to_owned(), 0),
        (format!("{head}Content-Length: 1000\r\n\r\n"), 408),
    ] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let mut drip = stream.try_clone().unwrap();
        stream.write_all(start.as_bytes()).unwrap();
        let dripping = thread::spawn(move || {
            (0..300).find(|_| {
                thread::sleep(Duration::from_millis(100));
                drip.write_all(b" ").is_err()
            })
        });
        let mut answer = String::new();
        drop(stream.read_to_string(&mut answer));
        let told = answer.split(' ').nth(1).map_or(0, |status| status.parse().unwrap());
        assert_eq!(told, status, "{answer}");
        drop(stream);
        assert!(dripping.join().unwrap().is_some(), "it was let drip for half a minute");
        assert_eq!(server.ask("GET", "/healthz", None).status, 200);
    }
}

#[test]
fn text_is_found_as_it_is_whatever_is_in_it() {
    let server = Running::start();
    let odd = "walrus \u{202e}\u{0}<script>alert(1)</script> \u{feff}\u{1f1ef}\u{1f1f5}";
    let documents = json!([{"path": "odd<b>.md", "title": "\u{202e}", "body": odd}]);
    server.write(&documents);
    let query = json!({"text": "walrus \u{0} <script>"});
    let found = server.ask("POST", "/v1/search", Some(&query));
    assert!([200, 422].contains(&found.status), "{found:?}");
    let found = server.ask("POST", "/v1/search", Some(&json!({"text": "walrus"}))).json();
    assert_eq!(found["results"][0]["metadata"]["path"], "odd<b>.md", "{found}");
    for (name, value) in [("text", json!(1)), ("text", json!(null)), ("limit", json!(-1))] {
        assert_eq!(server.ask("POST", "/v1/search", Some(&json!({name: value}))).status, 422);
    }
}

#[test]
fn a_bearer_is_one_header_and_nothing_else() {
    let server = Running::start();
    let token = server.token.clone().unwrap();
    let ask =
        |headers: &[(&str, &str)]| server.ask_with(None, "GET", "/v1/stats", headers, None).status;
    let bearer = format!("Bearer {token}");
    assert_eq!(ask(&[("Authorization", &bearer)]), 200);
    assert_eq!(ask(&[("authorization", &format!("bearer   {token} "))]), 200);
    for headers in [
        &[("Authorization", &*bearer), ("Authorization", &*bearer)][..],
        &[("Authorization", &*token)],
        &[("Authorization", &*format!("Basic {token}"))],
        &[("Cookie", &*format!("token={token}"))],
        &[("X-Api-Key", &*token)],
    ] {
        assert_eq!(ask(headers), 401, "{headers:?}");
    }
    let in_query = format!("/v1/stats?token={token}");
    assert_eq!(server.ask_as(None, "GET", &in_query, None).status, 401);
}
