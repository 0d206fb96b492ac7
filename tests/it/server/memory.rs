//! Memory, within the boundary of a token.

use serde_json::{Value, json};
use trefoil_memory::Boundary;
use trefoil_server::{Grant, NewToken, Scope};

use super::running::Running;

impl Running {
    /// A token for memory within a boundary.
    fn remembers(&self, name: &str, boundary: &Value) -> String {
        let boundary: Boundary = serde_json::from_value(boundary.clone()).unwrap();
        let scopes = [Scope::MemoryRead, Scope::MemoryWrite].into();
        let grant = Grant { scopes, boundary, ..Grant::everything() };
        let new = NewToken::new(name, grant, jiff::Timestamp::now(), None).unwrap();
        self.tokens().add(new.token).unwrap();
        new.secret
    }

    fn post(&self, token: &str, path: &str, body: &Value) -> super::running::Answer {
        self.ask_as(Some(token), "POST", path, Some(body))
    }
}

fn wide() -> Value {
    json!({"scope": ["session", "project"], "allow": ["*"],
           "boundaryClasses": ["public", "internal", "pii"]})
}

fn narrow() -> Value {
    json!({"scope": ["project"], "allow": ["answer:task"], "boundaryClasses": ["public"]})
}

#[test]
fn what_is_told_is_remembered_and_answers() {
    let server = Running::start();
    let mika = server.remembers("mika", &wide());
    let post = |path: &str, body: Value| {
        let answer = server.post(&mika, path, &body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    };
    let session = post("/v1/memory/sessions", json!({"projectPath": "/project"}));
    let session = session["id"].as_str().unwrap();
    let told = post(
        "/v1/memory/observe",
        json!({"content": "The walrus exhibit opens on Friday.", "actor": "somebody else",
               "session": session}),
    );
    assert_eq!(told["actor"], "mika");
    let claim = post(
        "/v1/memory/claims",
        json!({"text": "The walrus exhibit opens on Friday.", "origin": {"observed": told["id"]}}),
    );
    let found = post("/v1/memory/recall", json!({"q": "walrus exhibit"}));
    assert_eq!(found["claims"][0]["claim"]["id"], claim["id"], "{found}");
    let episodes = post("/v1/memory/recall", json!({"q": "walrus", "profile": "episodes"}));
    assert!(episodes["episodes"].is_array(), "{episodes}");
    let views = post("/v1/memory/find", json!({"query": {"q": "walrus"}, "options": {"limit": 3}}));
    assert!(!views["views"].as_array().unwrap().is_empty(), "{views}");
    let pack = post("/v1/memory/context", json!({"query": {"q": "walrus"}}));
    assert!(pack.to_string().contains("walrus exhibit"), "{pack}");
    let passes = post("/v1/memory/validate", json!({"text": "The exhibit opens on Friday."}));
    assert_eq!(passes["allowed"], true, "{passes}");
    let feedback = json!({"feedback": [{"claim": claim["id"], "signal": "helpful"}]});
    let outcome = post("/v1/memory/feedback", feedback);
    assert!(outcome["outcomes"][0]["updated"].is_object(), "{outcome}");
    let many = json!({"feedback": vec![json!({"claim": claim["id"], "signal": "helpful"}); 101]});
    assert_eq!(server.post(&mika, "/v1/memory/feedback", &many).code(), "invalid_body");
    let end = format!("/v1/memory/sessions/{session}/end");
    assert_eq!(post(&end, json!({"summary": "It is planned."}))["summary"], "It is planned.");
    let unit = format!("/v1/memory/units/{}", claim["id"].as_str().unwrap());
    assert_eq!(server.ask("GET", &unit, None).json()["kind"], "claim");
    assert_eq!(server.ask("GET", "/v1/memory/units/clm_0", None).code(), "not_found");
    let receipt =
        server.ask("POST", "/v1/memory/forget", Some(&json!({"unit": claim["id"]}))).json();
    assert_eq!(receipt["hits"], 0, "{receipt}");
    assert_eq!(server.ask("GET", &unit, None).code(), "not_found");
}

#[test]
fn a_request_narrows_the_boundary_of_its_token_and_never_widens_it() {
    let server = Running::start();
    let [wide, narrow] =
        [("wide", wide()), ("narrow", narrow())].map(|(name, of)| server.remembers(name, &of));
    let told = server.post(&wide, "/v1/memory/observe", &json!({"content": "Tea is at four."}));
    let observed = json!({"observed": told.json()["id"]});
    let claim = json!({"text": "Tea is at four.", "origin": observed});
    let claim = server.post(&wide, "/v1/memory/claims", &claim).json();
    // What is beyond it is refused, and not passed over.
    for (path, body) in [
        ("recall", json!({"q": "tea", "boundaryClasses": ["public", "internal"]})),
        ("recall", json!({"q": "tea", "scope": ["session"]})),
        ("recall", json!({"q": "tea", "allow": ["tool:calendar"]})),
        ("context", json!({"query": {"q": "tea", "scope": ["session"]}})),
        ("find", json!({"query": {"q": "tea", "allow": ["*"]}})),
        ("observe", json!({"content": "x", "boundaryClass": "internal"})),
        ("claims", json!({"text": "x", "boundaryClass": "pii", "origin": observed})),
        (
            "claims",
            json!({"text": "x", "boundaryClass": "public", "scope": "session",
                          "origin": observed}),
        ),
    ] {
        let answer = server.post(&narrow, &format!("/v1/memory/{path}"), &body);
        assert_eq!((answer.status, answer.code()), (403, "boundary_denied".to_owned()), "{path}");
    }
    // What is there and may not be seen is like what is not there.
    let found = server.post(&narrow, "/v1/memory/recall", &json!({"q": "tea"})).json();
    assert_eq!(found["claims"], json!([]), "{found}");
    let found = server.post(&wide, "/v1/memory/recall", &json!({"q": "tea"})).json();
    assert_eq!(found["claims"].as_array().unwrap().len(), 1, "{found}");
    let say = |id: &Value| {
        let body = json!({"feedback": [{"claim": id, "signal": "harmful"}]});
        let answer = server.post(&narrow, "/v1/memory/feedback", &body);
        (answer.status, answer.json())
    };
    let absent = json!("clm_01ARZ3NDEKTSV4RRFFQ69G5FAV");
    assert_eq!(say(&claim["id"]), say(&absent));
    let derived = |id: &Value| {
        let body = json!({"text": "y", "boundaryClass": "public", "origin": {"derived": [id]}});
        let answer = server.post(&narrow, "/v1/memory/claims", &body);
        (answer.status, answer.json())
    };
    assert_eq!(derived(&claim["id"]), derived(&absent));
    // Nobody brings the id of something that is there.
    let again = json!({"id": claim["id"], "text": "z", "boundaryClass": "public",
                       "origin": {"derived": [claim["id"]]}});
    assert_eq!(server.post(&narrow, "/v1/memory/claims", &again).code(), "invalid_body");
    let passes = json!({"text": "x", "class": "internal"});
    let passes = server.post(&narrow, "/v1/memory/validate", &passes).json();
    assert_eq!(passes["allowed"], false, "{passes}");
}

#[test]
fn a_session_is_known_to_its_owner_alone() {
    let server = Running::start();
    let [one, other] = ["one", "other"].map(|name| server.remembers(name, &wide()));
    let session = server.post(&one, "/v1/memory/sessions", &json!({"projectPath": "/p"})).json();
    let of = |id: &str| {
        let bodies = [
            ("recall", json!({"q": "x", "session": id})),
            ("observe", json!({"content": "x", "session": id})),
            (&*format!("sessions/{id}/end"), json!({"summary": "x"})),
        ]
        .map(|(path, body)| (format!("/v1/memory/{path}"), body));
        bodies.map(|(path, body)| {
            let answer = server.post(&other, &path, &body);
            assert_eq!(answer.status, 404, "{path}");
            answer.json()["detail"].clone()
        })
    };
    let absent = "ses_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    assert_eq!(of(session["id"].as_str().unwrap()), of(absent));
}

#[test]
fn a_policy_is_shown_checked_and_applied() {
    let server = Running::start();
    let policy = || server.ask("GET", "/v1/memory/policy", None);
    let before = policy();
    assert!(before.head.contains("content-type: application/yaml"), "{before:?}");
    let put = |path: &str, yaml: &str| {
        let body = Some(("application/yaml", yaml));
        server.ask_with(server.token.as_deref(), "PUT", path, &[], body)
    };
    let changed = format!("# changed\n{}", before.body);
    let checked = put("/v1/memory/policy?dryRun=true", &changed).json();
    assert_eq!((&checked["applied"], policy().body), (&json!(false), before.body));
    let applied = put("/v1/memory/policy", &changed).json();
    assert_eq!((&applied["applied"], policy().body), (&json!(true), changed));
    assert_eq!(put("/v1/memory/policy", "no: policy").code(), "invalid_policy");
    let version = checked["version"].as_str().unwrap();
    let of = |version: &str| {
        server.ask("GET", &format!("/v1/memory/policy?version={version}"), None).status
    };
    assert_eq!((of(version), of("none")), (200, 404));
}
