//! Who may do what.

use std::collections::BTreeSet;

use serde_json::json;
use trefoil_server::{
    Grant, NewToken, Route, Scope, Server, StartError, Takes, Token, Tokens, Values, living_server,
    routes,
};

use super::running::{Running, settings};

/// A path of a route with something in the place of its parameters.
fn some_path(route: &Route) -> String {
    let path = route
        .path
        .replace("{code}", "not_found")
        .replace("{id}", "fil_1")
        .replace("{file}", "style.css");
    if route.query.iter().any(|parameter| parameter.values == Values::Required) {
        format!("{path}?name=x")
    } else {
        path
    }
}

/// A body that a route takes, with its media type.
fn some_body(route: &Route) -> Option<(&'static str, String)> {
    let json = match (route.method, route.path) {
        ("PUT", "/v1/memory/policy") => return Some(("application/yaml", "no: policy".to_owned())),
        (_, "/v1/search" | "/v1/memory/validate") => json!({"text": "x"}),
        (_, "/v1/why-not") => json!({"query": {"text": "x"}, "path": "a"}),
        ("POST", "/v1/documents") => json!({"documents": []}),
        (_, "/v1/documents/remove") => json!({"paths": []}),
        (_, "/v1/memory/observe") => json!({"content": "x"}),
        (_, "/v1/memory/claims") => json!({"text": "x", "origin": {"observed": "obs_1"}}),
        (_, "/v1/memory/feedback") => json!({"feedback": []}),
        (_, "/v1/memory/sessions") => json!({"projectPath": "/p"}),
        (_, "/v1/memory/sessions/{id}/end") => json!({"summary": "x"}),
        (_, "/v1/memory/recall") => json!({"q": "x"}),
        (_, "/v1/memory/context" | "/v1/memory/find") => json!({"query": {"q": "x"}}),
        (_, "/v1/memory/forget") => json!({"document": "not there"}),
        ("POST", "/v1/jobs") => json!({"kind": "verify"}),
        _ => return None,
    };
    Some(("application/json", json.to_string()))
}

#[test]
fn each_route_asks_for_its_scope() {
    let server = Running::with(|settings| {
        settings.limits.failures_per_minute = 10_000;
        settings.limits.requests_per_minute = 100_000;
    });
    let expired = {
        let grant = Grant::everything();
        let then = jiff::Timestamp::UNIX_EPOCH;
        NewToken::new("expired", grant, then, Some(then)).unwrap()
    };
    server.tokens().add(expired.token.clone()).unwrap();
    let revoked = server.make_token(&[Scope::Admin], None);
    assert!(server.tokens().revoke(&revoked.token.id).unwrap());
    let other_index = server.make_token(&[Scope::Admin], Some(&["other"])).secret;
    let of: Vec<(Scope, NewToken)> = Scope::ALL
        .into_iter()
        .map(|(scope, _)| (scope, server.make_token(&[scope], None)))
        .collect();
    let own = server.token.clone().unwrap();
    let end = if own.ends_with('A') { "B" } else { "A" };
    let changed = format!("{}{end}", &own[..own.len() - 1]);
    for route in routes() {
        let (path, body) = (some_path(route), some_body(route));
        assert_eq!(body.is_some(), route.takes != Takes::Nothing, "{route:?}");
        let body = body.as_ref().map(|(media, body)| (*media, body.as_str()));
        let ask = |token: Option<&str>| server.ask_with(token, route.method, &path, &[], body);
        let Some(scope) = route.scope else {
            assert_eq!(ask(None).status, 200, "{route:?}");
            continue;
        };
        for wrong in [
            None,
            Some(""),
            Some("tfl_"),
            Some(&*changed),
            Some(&*expired.secret),
            Some(&*revoked.secret),
        ] {
            let answer = ask(wrong);
            assert_eq!(answer.code(), "unauthorized", "{route:?} {wrong:?}");
            assert!(answer.head.contains("www-authenticate: bearer"), "{answer:?}");
        }
        for (has, token) in &of {
            let answer = ask(Some(&token.secret));
            if *has == scope || *has == Scope::Admin {
                assert!(![401, 403, 500].contains(&answer.status), "{route:?} {has} {answer:?}");
            } else {
                assert_eq!(answer.code(), "scope_missing", "{route:?} {has}");
            }
        }
        // What is of an index that a token does not see is like what is not there.
        let names_one = route.has_index || route.path.starts_with("/v1/jobs/");
        if names_one {
            assert_eq!(ask(Some(&other_index)).code(), "not_found", "{route:?}");
        }
    }
    let seen = server.ask_as(Some(&other_index), "GET", "/v1/indexes", None).json();
    assert_eq!(seen, json!({"indexes": []}));
}

#[test]
fn an_address_that_guesses_tokens_has_to_wait() {
    let server = Running::start();
    let guess = || server.ask_as(Some("tfl_guess"), "GET", "/v1/stats", None);
    let codes: BTreeSet<String> = (0..10).map(|_| guess().code()).collect();
    assert_eq!(codes, BTreeSet::from(["unauthorized".to_owned()]));
    let answer = guess();
    assert_eq!(answer.code(), "too_many_requests");
    assert!(answer.head.contains("retry-after: "), "{answer:?}");
}

#[test]
fn others_are_kept_out_without_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = settings(folder.path());
    open.addr = ([0, 0, 0, 0], 0).into();
    assert!(matches!(Server::bind(open.clone()), Err(StartError::Unprotected(_))));
    let new: Token =
        NewToken::new("x", Grant::everything(), jiff::Timestamp::now(), None).unwrap().token;
    Tokens::open(&open.tokens).unwrap().add(new).unwrap();
    let bound = Server::bind(open.clone()).unwrap();
    assert_eq!(bound.token(), None);
    drop(bound);
    open.no_auth = true;
    assert!(matches!(Server::bind(open), Err(StartError::Unprotected(_))));
    let server = Running::with(|settings| settings.no_auth = true);
    assert_eq!(server.ask_as(None, "GET", "/v1/stats", None).status, 200);
    assert_eq!(living_server(&server.folder.path().join("notes")).unwrap().token, None);
}
