//! How much is taken.

use std::{
    fmt::Write as _,
    io::{Read, Write as _},
    net::TcpStream,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use trefoil::graph::EntityExtraction;
use trefoil_server::{Limits, Scope};

use super::running::{Barrier, HELD, OpenAtEnd, Running, walrus};

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
fn a_connection_on_which_nothing_is_asked_ends_later_than_a_head_that_does_not() {
    let with = |idle, head| {
        Running::with(|settings| {
            (settings.limits.idle_seconds, settings.limits.head_seconds) = (idle, head);
        })
    };
    let ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let open = |server: &Running| {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    };
    let is_answered = |mut stream: &TcpStream| {
        stream.write_all(ask).unwrap();
        let mut answer = String::new();
        while !answer.ends_with("\r\n\r\nok\n") {
            let mut bytes = [0; 512];
            match stream.read(&mut bytes) {
                Ok(count) if count > 0 => answer += std::str::from_utf8(&bytes[..count]).unwrap(),
                _ => return false,
            }
        }
        true
    };
    let is_closed = |mut stream: &TcpStream| matches!(stream.read(&mut [0; 64]), Ok(0));
    // Before the first request, and after one.
    let server = with(1, 600);
    assert!(is_closed(&open(&server)));
    let used = open(&server);
    assert!(is_answered(&used) && is_closed(&used));
    // A head that has begun has its own time, and each request as much of it as the last.
    let server = with(600, 1);
    let used = open(&server);
    assert!(is_answered(&used));
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(is_answered(&used), "it was closed as if a head had begun");
    (&used).write_all(b"GET /hea").unwrap();
    assert!(is_closed(&used));
}

#[test]
fn too_many_connections_are_closed() {
    let of_an_address = |limits: &mut Limits| limits.connections_per_address = 2;
    let of_all = |limits: &mut Limits| limits.connections = 2;
    for change in [of_an_address as fn(&mut Limits), of_all] {
        let server = Running::with(|settings| change(&mut settings.limits));
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
            assert!(
                Instant::now() < deadline,
                "the place of one that is closed is not given again"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn with_barrier(change: impl FnOnce(&mut Limits)) -> (Running, Barrier) {
    let barrier = Barrier::default();
    let server = Running::with(|settings| {
        settings.indexes[0].engine.classifier = Arc::new(barrier.clone());
        change(&mut settings.limits);
    });
    server.write(&walrus());
    (server, barrier)
}

#[test]
fn a_search_that_finds_no_turn_is_told_to_come_again() {
    let (server, barrier) = with_barrier(|limits| {
        (limits.searches, limits.waiting, limits.waiting_seconds) = (1, 1, 1);
    });
    let _open = OpenAtEnd(barrier.clone());
    let ask = |text: &str| server.ask("POST", "/v1/search", Some(&json!({"text": text})));
    std::thread::scope(|scope| {
        let held = scope.spawn(|| ask(HELD));
        barrier.wait_for(1);
        // It waits for its turn, and then no longer.
        let late = ask("tusks");
        assert_eq!((late.status, late.code()), (503, "overloaded".to_owned()));
        assert!(late.head.contains("retry-after: "), "{late:?}");
        // Others are not kept from asking.
        assert_eq!(server.ask("GET", "/v1/stats", None).status, 200);
        barrier.open();
        assert_eq!(held.join().unwrap().status, 200);
    });
    assert_eq!(ask("tusks").status, 200);
}

#[test]
fn a_search_that_takes_too_long_is_given_up_and_keeps_its_turn() {
    let (server, barrier) = with_barrier(|limits| {
        (limits.searches, limits.waiting_seconds, limits.search_seconds) = (1, 1, 1);
    });
    let _open = OpenAtEnd(barrier.clone());
    let ask = |text: &str| server.ask("POST", "/v1/search", Some(&json!({"text": text})));
    let late = ask(HELD);
    assert_eq!((late.status, late.code()), (504, "deadline".to_owned()));
    assert_eq!(ask("tusks").code(), "overloaded");
    barrier.open();
    let until = Instant::now() + Duration::from_secs(20);
    while ask("tusks").status != 200 {
        assert!(Instant::now() < until, "the turn of a search that ended is not given again");
    }
}

#[test]
fn a_write_that_takes_too_long_is_given_up_and_goes_on() {
    let barrier = Barrier::default();
    let _open = OpenAtEnd(barrier.clone());
    let server = Running::with(|settings| {
        settings.indexes[0].engine.extractor = EntityExtraction::Custom(Arc::new(barrier.clone()));
        settings.limits.write_seconds = 1;
    });
    let body = json!({"documents": [{"path": "held.md", "body": HELD}]});
    let late = server.ask("POST", "/v1/documents", Some(&body));
    assert_eq!((late.status, late.code()), (504, "deadline".to_owned()));
    barrier.open();
    let until = Instant::now() + Duration::from_secs(20);
    while server.ask("GET", "/v1/stats", None).json()["files"] != 1 {
        assert!(Instant::now() < until, "what was begun does not go on");
    }
}

#[test]
fn a_token_has_so_many_streams_at_a_time() {
    let (server, barrier) = with_barrier(|limits| (limits.streams, limits.searches) = (1, 2));
    let _open = OpenAtEnd(barrier.clone());
    let watch = |text: &str| {
        let body = json!({"text": text}).to_string();
        let accept = [("Accept", "text/event-stream")];
        let body = Some(("application/json", body.as_str()));
        server.ask_with(server.token.as_deref(), "POST", "/v1/search", &accept, body)
    };
    std::thread::scope(|scope| {
        let held = scope.spawn(|| watch(HELD));
        barrier.wait_for(1);
        assert_eq!(watch("tusks").code(), "too_many_requests");
        barrier.open();
        assert_eq!(held.join().unwrap().events().last().unwrap().1, "result");
    });
    assert_eq!(watch("tusks").status, 200);
}

#[test]
fn a_stream_ends_soon_after_its_token() {
    let (server, barrier) = with_barrier(|limits| limits.searches = 2);
    let _open = OpenAtEnd(barrier.clone());
    let token = server.make_token(&[Scope::Read], None);
    let body = json!({"text": HELD}).to_string();
    std::thread::scope(|scope| {
        let watched = scope.spawn(|| {
            let accept = [("Accept", "text/event-stream")];
            let body = Some(("application/json", body.as_str()));
            server.ask_with(Some(&token.secret), "POST", "/v1/search", &accept, body)
        });
        barrier.wait_for(1);
        assert!(server.tokens().revoke(&token.token.id).unwrap());
        // The search goes on, and nobody is told what it finds.
        let answer = watched.join().unwrap();
        assert_eq!(answer.status, 200);
        assert!(answer.events().iter().all(|(_, name, _)| name == "stage"), "{answer:?}");
    });
}

#[test]
fn a_stop_cuts_off_what_takes_longer_than_it_may() {
    let (mut server, barrier) = with_barrier(|limits| limits.stop_seconds = 1);
    let _open = OpenAtEnd(barrier.clone());
    let thread = server.thread.take().unwrap();
    std::thread::scope(|scope| {
        let held =
            scope.spawn(|| server.ask("POST", "/v1/search", Some(&json!({"text": HELD}))).status);
        barrier.wait_for(1);
        server.stop.stop();
        // It ends although the search does not.
        thread.join().unwrap();
        assert_eq!(held.join().unwrap(), 0);
    });
}

#[test]
fn bodies_have_their_bounds() {
    let server = Running::with(|settings| {
        (settings.limits.body_bytes, settings.limits.document_bytes) = (1_000, 4_000);
    });
    let of = |bytes: usize| json!({"text": "x".repeat(bytes)});
    let documents =
        |bytes: usize| json!({"documents": [{"path": "a", "body": "x ".repeat(bytes / 2)}]});
    for (path, body, status) in [
        ("/v1/search", of(500), 200),
        ("/v1/search", of(1_000), 413),
        ("/v1/documents", documents(3_000), 200),
        ("/v1/documents", documents(4_000), 413),
    ] {
        assert_eq!(server.ask("POST", path, Some(&body)).status, status, "{path}");
    }
    // One that does not say how long it is.
    let token = server.token.as_deref().unwrap();
    let mut chunked = format!(
        "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    for _ in 0..20 {
        _ = write!(chunked, "64\r\n{}\r\n", " ".repeat(100));
    }
    assert_eq!(server.send(&chunked).code(), "body_too_large");
}

#[test]
fn limits_that_let_nothing_through_are_refused() {
    Limits::default().check().unwrap();
    for wrong in [
        Limits { head_bytes: 100, ..Limits::default() },
        Limits { searches: 0, ..Limits::default() },
        Limits { burst: 0, ..Limits::default() },
        Limits { search_seconds: 601, ..Limits::default() },
    ] {
        assert!(wrong.check().is_err(), "{wrong:?}");
    }
}
