//! The Model Context Protocol, as a client of the server sees it.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use trefoil_server::{Grant, NewToken, Scope};

use super::running::{Answer, Running, walrus};

/// Who asks, and for what.
struct Client<'s> {
    server: &'s Running,
    token: Option<String>,
    query: &'static str,
}

const ALL: &str = "?tools=documents,memory,write,admin";

impl<'s> Client<'s> {
    fn new(server: &'s Running, query: &'static str) -> Self {
        Self { server, token: server.token.clone(), query }
    }

    fn of(server: &'s Running, scopes: &[Scope], query: &'static str) -> Self {
        Self { server, token: Some(server.make_token(scopes, None).secret), query }
    }

    fn send(&self, headers: &[(&str, &str)], message: &Value) -> Answer {
        let headers: Vec<(&str, &str)> = [("Accept", "application/json, text/event-stream")]
            .iter()
            .chain(headers)
            .copied()
            .collect();
        let (path, body) = (format!("/mcp{}", self.query), message.to_string());
        let body = Some(("application/json", &*body));
        self.server.ask_with(self.token.as_deref(), "POST", &path, &headers, body)
    }

    fn request(&self, method: &str, params: &Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let answer = self.send(&[("MCP-Protocol-Version", "2025-11-25")], &message);
        assert_eq!(answer.status, 200, "{answer:?}");
        let json = answer.json();
        assert_eq!(json["id"], 7, "{json}");
        json
    }

    fn result(&self, method: &str, params: &Value) -> Value {
        let answer = self.request(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn tools(&self) -> Vec<String> {
        let listed = self.result("tools/list", &json!({}));
        let tools = listed["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.result("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// The structured answer of a call that succeeds.
    fn value(&self, tool: &str, arguments: &Value) -> Value {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["isError"], false, "{tool} {arguments}: {answer}");
        assert_eq!(answer["_meta"]["requestId"].as_str().unwrap().len(), 16);
        answer["structuredContent"].clone()
    }

    /// The code of a call that fails.
    fn code(&self, tool: &str, arguments: &Value) -> String {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["isError"], true, "{tool} {arguments}: {answer}");
        let code = answer["structuredContent"]["code"].as_str().unwrap();
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(&format!("{code}: ")), "{text}");
        code.to_owned()
    }
}

/// Characters of both forms of an answer.
fn chars(answer: &Value) -> usize {
    let text = answer["content"][0]["text"].as_str().unwrap();
    text.chars().count() + answer["structuredContent"].to_string().chars().count()
}

#[test]
fn a_client_is_told_what_there_is() {
    let server = Running::start();
    server.write(&walrus());
    let client = Client::new(&server, "");
    let told = client.result(
        "initialize",
        &json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}}),
    );
    assert_eq!(told["serverInfo"]["name"], "trefoil");
    assert_eq!(told["protocolVersion"], "2025-11-25");
    let instructions = told["instructions"].as_str().unwrap();
    assert!(instructions.chars().count() <= 1_500);
    for part in ["3 documents", "notes", "words are found", "never an instruction"] {
        assert!(instructions.contains(part), "no `{part}` in: {instructions}");
    }
    for capability in ["tools", "resources", "prompts", "completions"] {
        assert!(told["capabilities"][capability].is_object(), "{capability}");
    }
}

#[test]
fn the_list_of_tools_is_small_and_true() {
    let server = Running::start();
    let default = [
        "search",
        "get_document",
        "graph_query",
        "health",
        "observe",
        "activate",
        "context_pack",
        "feedback",
    ];
    assert_eq!(Client::new(&server, "").tools(), default);
    let all = Client::new(&server, ALL).tools();
    assert_eq!(all.len(), 14);
    for (query, most) in [("", 10_000), (ALL, 20_000)] {
        let listed = Client::new(&server, query).result("tools/list", &json!({}));
        let json = listed.to_string();
        assert!(json.len() <= most, "{} bytes", json.len());
        assert!(!json.contains("$ref") && !json.contains("\"null\""), "{json}");
        for tool in listed["tools"].as_array().unwrap() {
            let schema = &tool["inputSchema"];
            assert_eq!(
                (&schema["type"], &schema["additionalProperties"]),
                (&json!("object"), &json!(false)),
                "{tool}"
            );
            assert!(schema["properties"].is_object(), "{tool}");
            let hints = &tool["annotations"];
            assert_eq!(hints["openWorldHint"], false, "{tool}");
            let name = tool["name"].as_str().unwrap();
            let reads = [
                "search",
                "get_document",
                "graph_query",
                "health",
                "activate",
                "context_pack",
                "boundary_validate",
            ]
            .contains(&name);
            assert_eq!(hints["readOnlyHint"], reads, "{tool}");
            let destroys =
                ["add_document", "remove_document", "policy_apply", "forget"].contains(&name);
            assert_eq!(hints["destructiveHint"], destroys, "{tool}");
        }
    }
}

#[test]
fn a_tool_that_is_not_given_is_like_none() {
    let server = Running::start();
    let none = |client: &Client<'_>, name: &str| {
        let answer = client.request("tools/call", &json!({"name": name, "arguments": {}}));
        answer["error"].to_string().replace(name, "NAME")
    };
    let expected = none(&Client::new(&server, ALL), "no_such_tool");
    assert!(expected.contains("there is no tool"), "{expected}");
    let read_only = "?tools=documents,memory,write,admin&readOnly=true";
    for (client, excluded) in [
        (Client::new(&server, ""), vec!["forget", "add_document"]),
        (Client::new(&server, read_only), vec!["observe", "feedback", "add_document", "forget"]),
        (Client::of(&server, &[Scope::Read], ALL), vec!["activate", "observe", "add_document"]),
        (Client::of(&server, &[Scope::MemoryRead], ALL), vec!["search", "observe", "forget"]),
        (Client::of(&server, &[Scope::Metrics], ALL), vec!["search", "health", "activate"]),
    ] {
        let tools = client.tools();
        for name in excluded {
            assert!(!tools.iter().any(|tool| tool == name), "{name} in {tools:?}");
            assert_eq!(none(&client, name), expected, "{name}");
        }
    }
}

#[test]
fn documents_are_searched_and_read() {
    let server = Running::start();
    server.write(&walrus());
    let client = Client::new(&server, ALL);
    for (question, path) in
        [("how long are the tusks of a walrus?", "sea/walrus.md"), ("潮の満ち引き", "tides.md")]
    {
        let found = client.value("search", &json!({"query": question}));
        assert_eq!(found["hits"][0]["path"], path, "{found}");
        assert!(found["answerability"].is_string() && found["degraded"].is_array(), "{found}");
    }
    let answer = client.call("search", &json!({"query": "tusks", "detail": "brief"}));
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("sea/walrus.md:1-1 · Walrus"), "{text}");
    assert!(text.contains("\n> A walrus has long tusks."), "{text}");
    let of = |filter: Value| {
        let mut asked = json!({"query": "a walrus, a heron"});
        asked.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        let found = client.value("search", &asked);
        let hits = found["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["path"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let walrus = BTreeSet::from(["sea/walrus.md".to_owned()]);
    assert_eq!(of(json!({"pathGlob": "sea/**"})), walrus);
    assert_eq!(of(json!({"where": {"field": "year", "op": ">", "value": 2025}})), walrus);
    assert_eq!(of(json!({"languages": ["ja"]})), BTreeSet::new());
    assert_eq!(of(json!({"since": "2026-01-01"})), BTreeSet::new());
    let read = client.value("get_document", &json!({"path": "sea/walrus.md"}));
    assert_eq!(read["text"], "A walrus has long tusks.\n");
    let id = read["id"].as_str().unwrap();
    assert_eq!(client.value("get_document", &json!({"id": id}))["path"], "sea/walrus.md");
    let health = client.value("health", &json!({}));
    assert_eq!((&health["documents"], &health["readOnly"]), (&json!(3), &json!(false)));
}

#[test]
fn the_graph_is_asked() {
    let server = Running::start();
    server.write(&json!([
        {"path": "countess", "body": "Ada Lovelace wrote the first program. It was meant for a \
            machine of Charles Babbage."},
        {"path": "father", "body": "Lord Byron left England a month after his daughter Ada \
            Lovelace was born."},
        {"path": "machine", "body": "Charles Babbage never finished the Analytical Engine, for \
            want of money."},
        {"path": "mill", "body": "The mill of the Analytical Engine was what a processor is \
            today."},
        {"path": "far", "body": "Tokyo and Osaka are joined by the Shinkansen."},
    ]));
    let client = Client::new(&server, "");
    let ada = client.value("graph_query", &json!({"entity": "ada lovelace"}));
    assert_eq!(ada["name"], "Ada Lovelace");
    let related: Vec<&str> =
        ada["related"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(related.contains(&"Charles Babbage"), "{ada}");
    let path =
        client.value("graph_query", &json!({"from": "Ada Lovelace", "to": "Analytical Engine"}));
    assert_eq!(
        path["paths"][0]["entities"],
        json!(["Ada Lovelace", "Charles Babbage", "Analytical Engine"]),
        "{path}"
    );
    assert!(client.value("graph_query", &json!({"communities": true}))["communities"].is_array());
    assert_eq!(client.code("graph_query", &json!({"entity": "Grace Hopper"})), "not_found");
    let metrics = server.ask("GET", "/metrics", None).body;
    let called = r#"trefoil_mcp_calls_total{tool="graph_query",outcome="ok"} 3"#;
    assert!(metrics.contains(called), "{metrics}");
}

#[test]
fn what_is_observed_is_recalled_and_corrected() {
    let server = Running::start();
    let client = Client::new(&server, ALL);
    let seen =
        client.value("observe", &json!({"content": "Mika: I live in Kyoto. I prefer green tea."}));
    assert!(seen["id"].as_str().unwrap().starts_with("obs_"));
    let recalled = client.call("activate", &json!({"q": "Where does Mika live?"}));
    assert!(recalled["_meta"]["policyVersion"].is_string(), "{recalled}");
    let claim = &recalled["structuredContent"]["claims"][0];
    assert!(claim["text"].as_str().unwrap().contains("Kyoto"), "{recalled}");
    let said = client.value("activate", &json!({"q": "Where does Mika live?", "episodes": true}));
    assert!(said["episodes"].is_array(), "{said}");
    let pack = client.call("context_pack", &json!({"q": "What does Mika drink?"}));
    assert!(pack["content"][0]["text"].as_str().unwrap().contains("green tea"), "{pack}");
    let id = claim["id"].as_str().unwrap();
    let corrected = client.value("feedback", &json!({"claim": id, "signal": "outdated"}));
    assert_eq!(corrected["changed"], true);
    let made = client.value("upsert_claim", &json!({"text": "Mika likes tea.", "derived": [id]}));
    assert!(made["id"].as_str().unwrap().starts_with("clm_"));
    let verdict = client.value("boundary_validate", &json!({"text": "Tea is green."}));
    assert_eq!(verdict["allowed"], true);
    let erased = client.value("forget", &json!({"unit": seen["id"]}));
    assert_eq!(erased["placesLeft"], 0);
}

#[test]
fn documents_are_changed() {
    let server = Running::start();
    let client = Client::new(&server, ALL);
    let document = json!({"path": "a.md", "title": "A", "body": "# Otters\n\nAn otter swims.",
        "metadata": {"year": 2026}});
    assert_eq!(client.value("add_document", &document)["written"], true);
    assert_eq!(client.value("add_document", &document)["written"], false);
    assert_eq!(client.value("search", &json!({"query": "otter"}))["hits"][0]["path"], "a.md");
    assert_eq!(client.value("remove_document", &json!({"path": "a.md"}))["removed"], 1);
    assert_eq!(client.code("remove_document", &json!({"path": "a.md"})), "not_found");
    let checked = client.code("policy_apply", &json!({"yaml": "version: {", "dryRun": true}));
    assert!(checked.starts_with("invalid"), "{checked}");
}

#[test]
fn nothing_above_a_boundary_is_told() {
    let server = Running::start();
    let mut grant = Grant::everything();
    grant.boundary.boundary_classes.insert("pii".parse().unwrap());
    let wide = NewToken::new("wide", grant, jiff::Timestamp::now(), None).unwrap();
    server.tokens().add(wide.token).unwrap();
    let wide = Client { token: Some(wide.secret), ..Client::new(&server, ALL) };
    let secret = json!({"content": "Mika: I prefer the xylophone.", "boundaryClass": "pii"});
    let seen = wide.value("observe", &secret);
    assert_eq!(seen["boundaryClass"], "pii");
    wide.value("observe", &json!({"content": "Mika: I prefer green tea."}));
    let narrow = Client::new(&server, ALL);
    for (tool, asked) in [
        ("activate", json!({"q": "What does Mika prefer? xylophone"})),
        ("activate", json!({"q": "xylophone", "episodes": true})),
        ("activate", json!({"q": ""})),
        ("context_pack", json!({"q": "xylophone"})),
    ] {
        let told = narrow.call(tool, &asked).to_string();
        // The question itself may be told back.
        assert!(!told.contains("prefer the xylophone"), "{tool} {asked}: {told}");
    }
    for (tool, asked) in [
        ("activate", json!({"q": "x", "boundaryClasses": ["pii"]})),
        ("activate", json!({"q": "x", "allow": ["tool:other"]})),
        ("observe", json!({"content": "x", "boundaryClass": "secret"})),
    ] {
        assert_eq!(narrow.code(tool, &asked), "boundary_denied", "{tool} {asked}");
    }
    let public = Client::new(&server, "?classes=public");
    assert_eq!(public.code("observe", &json!({"content": "x"})), "boundary_denied");
    assert_eq!(public.value("activate", &json!({"q": "tea"}))["claims"], json!([]));
    let beyond = Client::new(&server, "?classes=pii").send(&[], &json!({}));
    assert_eq!((beyond.status, beyond.code()), (403, "boundary_denied".to_owned()));
}

#[test]
fn what_cannot_be_is_told_with_what_can() {
    let server = Running::start();
    server.write(&walrus());
    let client = Client::new(&server, ALL);
    for (tool, arguments, code) in [
        ("search", json!({}), "invalid_parameter"),
        ("search", json!({"query": 7}), "invalid_parameter"),
        ("search", json!({"query": "x", "no": "field"}), "invalid_parameter"),
        ("search", json!({"query": ""}), "invalid_query"),
        ("search", json!({"query": "x".repeat(1_001)}), "invalid_query"),
        ("search", json!({"query": "x", "limit": 0}), "invalid_parameter"),
        ("search", json!({"query": "x", "limit": 51}), "invalid_parameter"),
        ("search", json!({"query": "x", "limit": -1}), "invalid_parameter"),
        ("search", json!({"query": "x", "maxChars": 499}), "invalid_parameter"),
        ("search", json!({"query": "x", "maxChars": 60_001}), "invalid_parameter"),
        ("search", json!({"query": "x", "cursor": "no"}), "invalid_parameter"),
        ("search", json!({"query": "x", "cursor": "9~8~"}), "invalid_parameter"),
        ("search", json!({"query": "x", "since": "2026-02-30"}), "invalid_parameter"),
        (
            "search",
            json!({"query": "x", "since": "2026-02-02", "until": "2026-02-01"}),
            "invalid_query",
        ),
        ("search", json!({"query": "x", "pathGlob": "["}), "invalid_query"),
        ("search", json!({"query": "x", "where": {"field": "a"}}), "invalid_parameter"),
        ("get_document", json!({}), "invalid_parameter"),
        ("get_document", json!({"path": "no.md"}), "not_found"),
        ("get_document", json!({"path": "../../etc/passwd"}), "not_found"),
        ("get_document", json!({"path": "a\u{0}b"}), "not_found"),
        ("get_document", json!({"id": "fil_no"}), "not_found"),
        ("get_document", json!({"path": "heron.md", "fromLine": 9}), "invalid_parameter"),
        ("graph_query", json!({"from": "a"}), "invalid_parameter"),
        ("activate", json!({"q": "x", "topK": 51}), "invalid_query"),
        ("activate", json!({"q": "x".repeat(16_385)}), "invalid_query"),
        ("observe", json!({"content": "x".repeat(65_537)}), "invalid_field"),
        ("feedback", json!({"claim": "clm_no", "signal": "helpful"}), "unknown_claim"),
        ("upsert_claim", json!({"text": "x"}), "invalid_parameter"),
        ("forget", json!({}), "invalid_parameter"),
    ] {
        assert_eq!(client.code(tool, &arguments), code, "{tool} {}", shortened(&arguments));
    }
}

fn shortened(value: &Value) -> String {
    value.to_string().chars().take(100).collect()
}

#[test]
fn documents_are_resources_and_names_are_completed() {
    let server = Running::start();
    server.write(&walrus());
    let client = Client::new(&server, "");
    let listed = client.result("resources/list", &json!({}));
    let addresses: Vec<&str> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["uri"].as_str().unwrap())
        .collect();
    assert_eq!(
        addresses,
        [
            "trefoil://notes/status",
            "trefoil://notes/documents/heron.md",
            "trefoil://notes/documents/sea/walrus.md",
            "trefoil://notes/documents/tides.md"
        ]
    );
    let read =
        client.result("resources/read", &json!({"uri": "trefoil://notes/documents/tides.md"}));
    assert_eq!(read["contents"][0]["text"], "潮の満ち引きは月の引力による。\n");
    let status = client.result("resources/read", &json!({"uri": "trefoil://notes/status"}));
    assert!(status["contents"][0]["text"].as_str().unwrap().contains("\"documents\":3"));
    for uri in [
        "trefoil://notes/documents/no.md",
        "trefoil://other/status",
        "file:///etc/passwd",
        "trefoil://notes/documents/%2e%2e",
    ] {
        let answer = client.request("resources/read", &json!({"uri": uri}));
        assert_eq!(answer["error"]["data"]["uri"], uri, "{answer}");
    }
    let templates = client.result("resources/templates/list", &json!({}));
    let template = "trefoil://{index}/documents/{+path}";
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], template);
    let completed = |of: Value, name: &str, value: &str| {
        let asked = json!({"ref": of, "argument": {"name": name, "value": value}});
        client.result("completion/complete", &asked)["completion"]["values"].clone()
    };
    let resource = json!({"type": "ref/resource", "uri": template});
    assert_eq!(completed(resource.clone(), "path", "sea/"), json!(["sea/walrus.md"]));
    assert_eq!(completed(resource.clone(), "path", "heron.md"), json!(["heron.md"]));
    assert_eq!(completed(resource, "index", "no"), json!(["notes"]));
}

#[test]
fn prompts_are_those_of_the_tools() {
    let server = Running::start();
    let names = |client: &Client<'_>| {
        let listed = client.result("prompts/list", &json!({}));
        let prompts = listed["prompts"].as_array().unwrap().iter();
        prompts.map(|prompt| prompt["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let client = Client::new(&server, "");
    assert_eq!(names(&client), ["answer_with_sources", "remember", "review_memory"]);
    assert_eq!(names(&Client::of(&server, &[Scope::Read], "")), ["answer_with_sources"]);
    let asked = json!({"name": "answer_with_sources", "arguments": {"question": "Why tides?"}});
    let got = client.result("prompts/get", &asked);
    let text = got["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("Why tides?") && text.contains("path:lines"), "{text}");
    let answer = client.request("prompts/get", &json!({"name": "remember"}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("`what`"), "{answer}");
}

#[test]
fn who_may_not_ask_is_refused() {
    let server = Running::start();
    let client = Client::new(&server, "");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(client.send(&[], &ping).status, 200);
    let nobody = Client { token: None, ..Client::new(&server, "") };
    assert_eq!(nobody.send(&[], &ping).code(), "unauthorized");
    assert_eq!(client.send(&[("Origin", "http://evil.example")], &ping).status, 403);
    let own = format!("http://{}", server.address);
    assert_eq!(client.send(&[("Origin", &own)], &ping).status, 200);
    assert_eq!(Client::new(&server, "?index=other").send(&[], &ping).code(), "not_found");
    assert_eq!(Client::new(&server, "?tools=all").send(&[], &ping).status, 422);
    let elsewhere = server.make_token(&[Scope::Admin], Some(&["other"]));
    let elsewhere = Client { token: Some(elsewhere.secret), ..Client::new(&server, "") };
    assert_eq!(elsewhere.send(&[], &ping).code(), "not_found");
    let get = server.ask("GET", "/mcp", None);
    assert_eq!(get.status, 405, "{get:?}");
    let broken = client.server.ask_with(
        server.token.as_deref(),
        "POST",
        "/mcp",
        &[("Accept", "application/json, text/event-stream")],
        Some(("application/json", "{")),
    );
    assert!((400..500).contains(&broken.status), "{broken:?}");
}

/// Any text that a document may hold.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-z ]{0,80}",
        "[東京都の天気晴れ]{0,40}",
        "[\\x00-\\x1f\"\\\\<>\u{202e}]{0,40}",
        Just("walrus ".repeat(300)),
    ];
    prop::collection::vec(line, 1..30).prop_map(|lines| format!("walrus\n{}", lines.join("\n")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_stays_within_its_characters(
        bodies in prop::collection::vec(text(), 1..12),
        long in "[a-z]{1,300}",
        max_chars in prop_oneof![Just(500_usize), 500_usize..5_000, Just(60_000)],
        limit in 1_usize..20,
        brief in any::<bool>(),
    ) {
        let server = Running::start();
        let documents: Vec<Value> = bodies.iter().enumerate().map(|(place, body)| {
            json!({"path": format!("{long}/{place}.md"), "title": long, "body": body,
                   "metadata": {"long": long}})
        }).collect();
        server.write(&json!(documents));
        let client = Client::new(&server, "");
        let most = max_chars * 22 / 10;
        let detail = if brief { "brief" } else { "passage" };
        let mut asked = json!({"query": "walrus", "maxChars": max_chars, "limit": limit, "detail": detail});
        let mut seen = Vec::new();
        loop {
            let answer = client.call("search", &asked);
            prop_assert_eq!(&answer["isError"], false, "{}", answer);
            prop_assert!(chars(&answer) <= most, "{} of {}: {}", chars(&answer), most, answer);
            let value = &answer["structuredContent"];
            let hits = value["hits"].as_array().unwrap();
            prop_assert!(!hits.is_empty() || value["nextCursor"].is_null(), "{}", answer);
            seen.extend(hits.iter().map(|hit| hit["id"].as_str().unwrap().to_owned()));
            match value["nextCursor"].as_str() {
                Some(cursor) => asked["cursor"] = cursor.into(),
                None => break,
            }
            prop_assert!(seen.len() < 1_000);
        }
        let each: BTreeSet<&String> = seen.iter().collect();
        prop_assert_eq!(each.len(), seen.len(), "a hit is told twice");
        let whole = client.value("search", &json!({"query": "walrus", "maxChars": 60_000, "limit": 50}));
        // Of more, a longer page chooses among more.
        let hits = whole["hits"].as_array().unwrap().iter();
        for hit in hits.filter(|_| whole["total"].as_u64() <= Some(50)) {
            prop_assert!(seen.iter().any(|id| hit["id"] == **id), "{} is left out", hit);
        }
        // Documents, from page to page.
        let path = format!("{long}/0.md");
        let mut asked = json!({"path": path, "maxChars": max_chars});
        let mut last = 0;
        loop {
            let answer = client.call("get_document", &asked);
            prop_assert!(chars(&answer) <= most, "{} of {}: {}", chars(&answer), most, answer);
            let value = &answer["structuredContent"];
            let Some(next) = value["nextLine"].as_u64() else { break };
            prop_assert!(next > last, "{}", answer);
            last = next;
            asked["fromLine"] = next.into();
        }
        // What is remembered.
        client.value("observe", &json!({"content": format!("Mika: I prefer {}.", bodies[0])}));
        for episodes in [false, true] {
            let asked = json!({"q": "walrus", "maxChars": max_chars, "episodes": episodes, "topK": 50});
            let answer = client.call("activate", &asked);
            prop_assert!(chars(&answer) <= most, "{} of {}: {}", chars(&answer), most, answer);
        }
        let answer = client.call("graph_query", &json!({"communities": true, "maxChars": max_chars}));
        prop_assert!(chars(&answer) <= most, "{} of {}: {}", chars(&answer), most, answer);
    }
}
