//! Several indexes, metrics, and the end of a server.

use std::{
    io::Write,
    net::TcpStream,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::json;
use trefoil_server::{IndexSettings, Limits, Reload, Scope, ServerSettings, living_server, routes};

use super::running::{Barrier, HELD, OpenAtEnd, Running, walrus};
use crate::models::without_model;

#[test]
fn several_indexes_are_told_apart() {
    let server = Running::with(|settings| {
        let first = settings.indexes[0].clone();
        let of = |name: &str| IndexSettings {
            name: name.to_owned(),
            dir: first.dir.with_file_name(name),
            ..first.clone()
        };
        settings.indexes.extend([of("work"), of("broken")]);
        std::fs::write(first.dir.with_file_name("broken"), "no index").unwrap();
    });
    assert_eq!(server.ask("GET", "/readyz", None).status, 200);
    let body = json!({"documents": walrus()});
    assert_eq!(server.ask("POST", "/v1/documents?index=work", Some(&body)).status, 200);
    let files = |index: &str| {
        server.ask("GET", &format!("/v1/stats?index={index}"), None).json()["files"].clone()
    };
    assert_eq!((files("work"), files("notes")), (json!(3), json!(0)));
    assert_eq!(server.ask("GET", "/v1/stats", None).code(), "invalid_parameter");
    assert_eq!(server.ask("GET", "/v1/stats?index=broken", None).code(), "not_ready");
    let work = server.make_token(&[Scope::Read], Some(&["work"]));
    let ask = |path: &str| server.ask_as(Some(&work.secret), "GET", path, None);
    assert_eq!(ask("/v1/stats").json()["files"], json!(3));
    // What it may not see is like what is not there.
    let [hidden, absent] =
        ["/v1/stats?index=notes", "/v1/stats?index=nothing"].map(|path| ask(path).json());
    assert_eq!(hidden, absent);
    assert_eq!(ask("/v1/indexes").json(), json!({"indexes": [{"name": "work", "open": true}]}));
}

#[test]
fn metrics_and_descriptions_come_from_the_table() {
    let server = Running::start();
    server.write(&walrus());
    server.ask("POST", "/v1/search", Some(&json!({"text": "tusks"})));
    let metrics = server.ask("GET", "/metrics", None).body;
    for line in [
        "trefoil_http_requests_total{route=\"/v1/search\",status=\"200\"} 1",
        "trefoil_documents{index=\"notes\"} 3",
        "trefoil_search_seconds_count{stage=\"fuse\"} 1",
        "trefoil_waiting 0",
        "# EOF",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    assert!(!metrics.contains("tusks"));
    let description = server.ask("GET", "/openapi.json", None).json();
    let docs = server.ask("GET", "/docs", None).body;
    for route in routes() {
        assert!(description["paths"][route.path][route.method.to_lowercase()].is_object());
        assert!(
            docs.contains(&format!("<code>{} {}</code>", route.method, route.path)),
            "{route:?}"
        );
    }
}

#[test]
fn a_server_is_announced_while_it_lives_and_ends_its_requests() {
    let server = Running::start();
    server.write(&walrus());
    let index = server.folder.path().join("notes");
    let living = living_server(&index).unwrap();
    assert_eq!((living.address, living.token), (server.address, server.token.clone()));
    assert_eq!((living.mcp, &*living.index), (true, "notes"));
    // A connection that is idle, and a head that never ends, do not hold it up.
    let _idle = TcpStream::connect(server.address).unwrap();
    let folder = server.folder.path().to_owned();
    let began = Instant::now();
    server.stop.stop();
    let mut server = server;
    server.thread.take().unwrap().join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(living_server(&index), None);
    assert!(TcpStream::connect(server.address).is_err());
    // The engine was closed: another takes its place.
    let engine = trefoil::Engine::open_with(folder.join("notes"), without_model()).unwrap();
    assert_eq!(engine.paths().unwrap().len(), 3);
}

#[test]
fn a_server_that_only_reads_refuses_writes() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("notes");
    let engine = trefoil::Engine::open_with(&index, without_model()).unwrap();
    engine.ingest(&[trefoil::Document::new("a", "A walrus.")]).unwrap();
    drop(engine);
    let server = Running::with(|settings| {
        settings.read_only = true;
        settings.indexes[0].dir = index;
    });
    assert_eq!(server.ask("GET", "/v1/stats", None).json()["files"], json!(1));
    let answer = server.ask("POST", "/v1/documents", Some(&json!({"documents": walrus()})));
    assert_eq!((answer.status, answer.code()), (403, "read_only".to_owned()));
}

/// A server whose settings change, and what changes them.
fn reloading() -> (Running, Arc<Mutex<Option<ServerSettings>>>) {
    let next: Arc<Mutex<Option<ServerSettings>>> = Arc::default();
    let server = Running::with(|settings| {
        let next = Arc::clone(&next);
        settings.reload =
            Reload::by(move || next.lock().unwrap().clone().ok_or_else(|| "a bad file".into()));
        settings.limits = Limits { burst: 1_000, ..Limits::default() };
    });
    (server, next)
}

#[test]
fn settings_are_read_again_and_bad_ones_change_nothing() {
    let (server, next) = reloading();
    server.write(&walrus());
    let reload = || server.ask("POST", "/v1/reload", None);
    assert_eq!(reload().code(), "bad_settings");
    let mut settings = super::running::settings(server.folder.path());
    settings.limits = Limits { burst: 1_000, ..Limits::default() };
    let set = |settings: &ServerSettings| *next.lock().unwrap() = Some(settings.clone());
    set(&settings);
    assert_eq!(reload().json(), json!({"changed": []}));
    settings.limits.body_bytes = 10;
    let work = IndexSettings {
        name: "work".to_owned(),
        dir: server.folder.path().join("work"),
        ..settings.indexes[0].clone()
    };
    settings.indexes.push(work);
    set(&settings);
    assert_eq!(reload().json(), json!({"changed": ["indexes.work", "limits"]}));
    assert_eq!(server.ask("GET", "/v1/stats?index=notes", None).json()["files"], json!(3));
    assert_eq!(server.ask("GET", "/v1/stats?index=work", None).json()["files"], json!(0));
    let living = living_server(&server.folder.path().join("work")).unwrap();
    assert_eq!((living.address, &*living.index), (server.address, "work"));
    let query = json!({"text": "tusks"});
    let search = || server.ask("POST", "/v1/search?index=notes", Some(&query)).status;
    assert_eq!(search(), 413);
    // An index that nobody can be told of keeps everything as it was.
    let mut wrong = settings.clone();
    wrong.limits.body_bytes = 1_000;
    wrong.indexes[1].name = "notes".to_owned();
    set(&wrong);
    assert_eq!((reload().code(), search()), ("bad_settings".to_owned(), 413));
    std::fs::write(server.folder.path().join("tokens.toml"), "[[token]]").unwrap();
    set(&settings);
    assert_eq!(reload().code(), "bad_settings");
    std::fs::remove_file(server.folder.path().join("tokens.toml")).unwrap();
    settings.indexes.pop();
    settings.limits.body_bytes = 1_000;
    set(&settings);
    assert_eq!(reload().json(), json!({"changed": ["indexes.work", "limits"]}));
    assert_eq!(search(), 200);
    assert_eq!(server.ask("GET", "/v1/stats?index=work", None).code(), "not_found");
    assert_eq!(living_server(&server.folder.path().join("work")), None);
}

#[test]
fn a_stop_answers_every_search_and_loses_no_write() {
    for _ in 0..3 {
        let barrier = Barrier::default();
        let _open = OpenAtEnd(barrier.clone());
        let mut server = Running::with(|settings| {
            settings.indexes[0].engine.classifier = Arc::new(barrier.clone());
            settings.limits.searches = 8;
            settings.limits.head_seconds = 3;
            settings.limits.body_seconds = 3;
        });
        let written = server.write(&walrus());
        assert_eq!(written["written"], 3);
        let connect = || TcpStream::connect(server.address).unwrap();
        let mut half_a_head = connect();
        half_a_head.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").unwrap();
        let mut half_a_body = connect();
        let token = server.token.as_deref().unwrap();
        let head = format!(
            "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        );
        half_a_body.write_all(head.as_bytes()).unwrap();
        let began = Instant::now();
        std::thread::scope(|scope| {
            let ask = || server.ask("POST", "/v1/search", Some(&json!({"text": HELD}))).status;
            let held: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            barrier.wait_for(4);
            server.stop.stop();
            let until = Instant::now() + Duration::from_secs(20);
            while TcpStream::connect(server.address).is_ok() {
                assert!(Instant::now() < until, "connections are still accepted");
            }
            barrier.open();
            for one in held {
                assert_eq!(one.join().unwrap(), 200);
            }
        });
        server.thread.take().unwrap().join().unwrap();
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        let index = server.folder.path().join("notes");
        let engine = trefoil::Engine::open_with(&index, without_model()).unwrap();
        assert_eq!(engine.paths().unwrap().len(), 3);
    }
}
