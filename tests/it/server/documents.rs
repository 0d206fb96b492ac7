//! Documents, questions and the graph.

use serde_json::{Value, json};

use super::running::{Running, walrus};

#[test]
fn documents_are_stored_found_shown_and_removed() {
    let server = Running::start();
    let ingested = server.write(&walrus());
    assert_eq!((&ingested["written"], &ingested["chunksAdded"]), (&json!(3), &json!(3)));
    let query = json!({"text": "tusks", "options": {"resultTypes": ["chunk"]}});
    let found = server.ask("POST", "/v1/search", Some(&query)).json();
    let first = &found["results"][0];
    assert_eq!(first["metadata"]["path"], "sea/walrus.md");
    assert_eq!(first["metadata"]["metadata"], json!({"year": 2026}));
    let chunk = first["sources"]["chunkId"].as_str().unwrap();
    let shown = server.ask("GET", &format!("/v1/chunks/{chunk}"), None).json();
    assert_eq!(shown["chunk"]["text"], "A walrus has long tusks.");
    let file = first["sources"]["fileId"].as_str().unwrap();
    let path = format!("/v1/documents/{file}");
    let document = server.ask("GET", &path, None).json();
    assert_eq!(
        (&document["title"], &document["chunks"][0]["id"]),
        (&json!("Walrus"), &json!(chunk))
    );
    let page = server.ask("GET", "/v1/documents?limit=2", None).json();
    assert_eq!(
        (page["documents"].as_array().unwrap().len(), &page["next"]),
        (2, &json!("sea/walrus.md"))
    );
    let rest = server.ask("GET", "/v1/documents?limit=2&after=sea%2Fwalrus.md", None).json();
    assert_eq!((&rest["documents"][0]["path"], &rest["next"]), (&json!("tides.md"), &Value::Null));
    let of_2026 = "%7B%22field%22%3A%22year%22%2C%22op%22%3A%22%3D%3D%22%2C%22value%22%3A2026%7D";
    let filtered = server.ask("GET", &format!("/v1/documents?where={of_2026}"), None).json();
    assert_eq!(filtered["documents"].as_array().unwrap().len(), 1);
    let why = json!({"query": {"text": "tusks"}, "path": "heron.md"});
    let why = server.ask("POST", "/v1/why-not", Some(&why)).json();
    assert!(why["lostAt"].is_string() && why["chunk"].is_string(), "{why}");
    assert_eq!(server.ask("DELETE", &path, None).json(), json!({"removed": 1}));
    assert_eq!(server.ask("DELETE", &path, None).code(), "not_found");
    assert_eq!(server.ask("GET", &path, None).code(), "not_found");
    let remove = json!({"paths": ["heron.md", "not there"]});
    let removed = server.ask("POST", "/v1/documents/remove", Some(&remove)).json();
    assert_eq!(removed, json!({"removed": 1}));
    let stats = server.ask("GET", "/v1/stats", None).json();
    assert_eq!((&stats["files"], &stats["languages"]), (&json!(1), &json!({"ja": 1})));
    let remove = json!({"where": {"field": "year", "op": "exists", "value": false}});
    let removed = server.ask("POST", "/v1/documents/remove", Some(&remove)).json();
    assert_eq!(removed, json!({"removed": 1}));
}

#[test]
fn a_search_can_be_watched() {
    let server = Running::start();
    server.write(&walrus());
    let body = json!({"text": "tusks"}).to_string();
    let answer = server.ask_with(
        server.token.as_deref(),
        "POST",
        "/v1/search",
        &[("Accept", "text/event-stream")],
        Some(("application/json", &body)),
    );
    assert!(answer.head.contains("content-type: text/event-stream"), "{answer:?}");
    let events = answer.events();
    for (number, (id, _, _)) in events.iter().enumerate() {
        assert_eq!(*id, number + 1);
    }
    let names: Vec<&str> = events.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names.first(), Some(&"stage"));
    let (_, last, result) = events.last().unwrap();
    assert_eq!(
        (last.as_str(), &result["results"][0]["metadata"]["path"]),
        ("result", &json!("sea/walrus.md"))
    );
}

#[test]
fn the_graph_is_shown() {
    let server = Running::start();
    server.write(&json!([
        {"path": "a.md", "body": "Ada Lovelace worked with Charles Babbage."},
        {"path": "b.md", "body": "Charles Babbage built the Difference Engine in London."},
    ]));
    let entities = server.ask("GET", "/v1/graph/entities?limit=5", None).json();
    assert!(!entities["entities"].as_array().unwrap().is_empty());
    let entity = server.ask("GET", "/v1/graph/entity?name=charles+babbage", None).json();
    assert_eq!(entity["entity"]["name"], "Charles Babbage", "{entity}");
    assert_eq!(server.ask("GET", "/v1/graph/entity?name=nobody", None).code(), "not_found");
    assert_eq!(server.ask("GET", "/v1/graph/entity", None).code(), "invalid_parameter");
    let drawn = server.ask("GET", "/v1/graph/subgraph?around=Ada+Lovelace", None).json();
    assert_eq!(drawn["nodes"][0]["entity"]["name"], "Ada Lovelace", "{drawn}");
    let draw = || {
        let path = "/v1/graph/subgraph?around=Ada+Lovelace";
        let accept = [("Accept", "image/svg+xml")];
        server.ask_with(server.token.as_deref(), "GET", path, &accept, None)
    };
    let svg = draw();
    assert!(svg.head.contains("content-type: image/svg+xml"), "{svg:?}");
    assert!(svg.body.starts_with("<svg") && svg.body.contains(">Ada Lovelace</text>"));
    assert_eq!(svg.body, draw().body);
    let communities = server.ask("GET", "/v1/graph/communities", None).json();
    assert!(communities["communities"].is_array());
}
