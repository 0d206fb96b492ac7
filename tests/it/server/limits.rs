//! How much is taken.

use std::{
    fmt::Write as _,
    io::{Read, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::json;
use trefoil_server::{Limits, Scope};

use super::running::Running;

#[test]
fn a_token_that_asks_too_often_has_to_wait() {
    let server = Running::with(|settings| {
        settings.limits = Limits { burst: 3, writes_per_minute: 1, ..Limits::default() };
    });
    let write = || server.ask("POST", "/v1/documents", Some(&json!({"documents": []})));
    assert_eq!(write().status, 200);
    assert_eq!(write().code(), "too_many_requests");
    assert_eq!(server.ask("GET", "/v1/stats", None).status, 200);
    assert_eq!(server.ask("GET", "/v1/stats", None).code(), "too_many_requests");
    // Others are not kept from asking.
    let other = server.make_token(&[Scope::Read], None);
    assert_eq!(server.ask_as(Some(&other.secret), "GET", "/v1/stats", None).status, 200);
    assert_eq!(server.ask_as(None, "GET", "/healthz", None).status, 200);
}

#[test]
fn a_slow_or_endless_head_and_a_slow_body_are_cut_off() {
    let server = Running::with(|settings| {
        settings.limits.head_seconds = 1;
        settings.limits.body_seconds = 1;
    });
    let began = Instant::now();
    let half_a_head = server.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
    assert_eq!(half_a_head.body, "", "{half_a_head:?}");
    let mut many = String::new();
    for n in 0..200 {
        _ = write!(many, "X-{n}: 1\r\n");
    }
    let many = server.send(&format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"));
    assert_eq!(many.status, 431, "{many:?}");
    let long = "x".repeat(40_000);
    let long =
        server.send(&format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n"));
    assert_eq!(long.status, 431, "{long:?}");
    let token = server.token.as_deref().unwrap();
    let half_a_body = server.send(&format!(
        "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{{"
    ));
    assert_eq!(half_a_body.code(), "request_timeout");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(server.ask("GET", "/healthz", None).status, 200);
}

#[test]
fn too_many_connections_of_an_address_are_closed() {
    let server = Running::with(|settings| settings.limits.connections_per_address = 2);
    let open = || TcpStream::connect(server.address).unwrap();
    let healthy = |mut stream: &TcpStream| {
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        drop(stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        let mut bytes = [0; 12];
        stream.read_exact(&mut bytes).is_ok() && bytes.ends_with(b"200")
    };
    let (first, second) = (open(), open());
    assert!(healthy(&first) && healthy(&second));
    assert!(!healthy(&open()));
    drop(first);
    let deadline = Instant::now() + Duration::from_secs(20);
    while !healthy(&open()) {
        assert!(Instant::now() < deadline, "the place of a closed connection is not given again");
        std::thread::sleep(Duration::from_millis(20));
    }
}
