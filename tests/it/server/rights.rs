//! Who may do what.

use std::collections::BTreeSet;

use serde_json::json;
use trefoil_server::{
    Grant, NewToken, Scope, Server, StartError, Takes, Token, Tokens, living_server, routes,
};

use super::running::{Running, settings};

/// A path of a route with something in the place of its parameters.
fn some_path(path: &str) -> String {
    path.replace("{id}", "fil_1").replace("{code}", "not_found")
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
    let other_index = server.make_token(&[Scope::Admin], Some(&["other"]));
    let of: Vec<(Scope, NewToken)> = Scope::ALL
        .into_iter()
        .map(|(scope, _)| (scope, server.make_token(&[scope], None)))
        .collect();
    let own = server.token.clone().unwrap();
    let changed = format!("{}A", &own[..own.len() - 1]);
    for route in routes() {
        let path = some_path(route.path);
        let body = (route.takes != Takes::Nothing).then(|| json!({"no": "such field"}));
        let ask = |token: Option<&str>| server.ask_as(token, route.method, &path, body.as_ref());
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
            if wrong == Some(&*own) {
                continue;
            }
            let answer = ask(wrong);
            assert_eq!(answer.code(), "unauthorized", "{route:?} {wrong:?}");
            assert!(answer.head.contains("www-authenticate: bearer"), "{answer:?}");
        }
        for (has, token) in &of {
            let answer = ask(Some(&token.secret));
            let is_refused = answer.status == 403;
            let may = *has == scope || *has == Scope::Admin;
            assert_eq!(is_refused, !may, "{route:?} {has} {answer:?}");
            if is_refused {
                assert_eq!(answer.code(), "scope_missing");
            }
        }
        if route.has_index && route.takes == Takes::Nothing && !route.path.contains('{') {
            let answer = ask(Some(&other_index.secret));
            // Only what lacks a parameter of its own is told so first.
            let codes = ["not_found", "invalid_parameter"];
            assert!(codes.contains(&answer.code().as_str()), "{route:?} {answer:?}");
        }
    }
    let seen = server.ask_as(Some(&other_index.secret), "GET", "/v1/indexes", None).json();
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
