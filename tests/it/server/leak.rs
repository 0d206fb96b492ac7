//! Nothing above the boundary of a token is in any answer, over HTTP or by the Model Context
//! Protocol: the random requests of `leak.rs`, asked by tokens with random boundaries.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};
use trefoil::memory::BoundaryClass;
use trefoil_memory::{Boundary, Scope as MemoryScope, UnitId, recall::RecallQuery};
use trefoil_server::{Grant, IndexSettings, NewToken, Scope, Server, Stop, Tokens};

use super::running::{Running, settings};
use crate::{
    campaign::{progress, rounds},
    leak::{Request, TOPICS, World, random_boundary},
};

/// Cases that `cargo test` can afford, how many are under the same policy, and who asks.
const CASES: u32 = 600;
const UNDER_ONE_POLICY: u32 = 50;
const TOKENS: usize = 60;

/// Who asks, within what.
struct Asker {
    secret: String,
    within: (Boundary, BTreeSet<MemoryScope>),
}

#[test]
fn nothing_above_the_boundary_is_told_over_the_wire() {
    let mut random = Rng::with_seed(9);
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens.toml");
    let askers: Vec<Asker> = (0..TOKENS).map(|_| asker(&mut random, &tokens)).collect();
    let open = |dir: &std::path::Path, engine| {
        let mut settings = settings(folder.path());
        settings.limits.requests_per_minute = u32::MAX;
        settings.limits.burst = u32::MAX;
        settings.limits.writes_per_minute = u32::MAX;
        settings.indexes = vec![IndexSettings { name: "main".into(), dir: dir.into(), engine }];
        let server = Server::bind(settings).unwrap();
        let (address, token) = (server.address(), server.token().map(str::to_owned));
        let (stop, engine) = (Stop::default(), server.engine("main").unwrap());
        let thread = std::thread::spawn({
            let stop = stop.clone();
            move || server.run(&stop).unwrap()
        });
        (Running { folder, address, token, stop, thread: Some(thread) }, engine)
    };
    let (server, world) = World::new(&mut random).opened_by(open);
    let (cases, mut seen, mut under) = (rounds(CASES), BTreeMap::new(), None);
    for case in cases.clone() {
        let policy = case / UNDER_ONE_POLICY;
        if under.replace(policy) != Some(policy) {
            world.apply(policy);
        }
        let mut random = Rng::with_seed(u64::from(case));
        let asker = random.choice(&askers).unwrap();
        let request = Request::within(&mut random, &world, asker.within.clone());
        ask(&server, &world, asker, request, &mut random, &mut seen);
        progress("leak over the wire", case, &cases);
    }
    // Every output does tell what it may, so that silence is no proof.
    println!("leak over the wire: cases {cases:?}, words told by {seen:?}");
    let outputs = ["activate", "context", "context_pack", "episodes", "find", "recall"];
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), outputs);
}

fn asker(random: &mut Rng, tokens: &std::path::Path) -> Asker {
    loop {
        let within = random_boundary(random);
        let scopes = [Scope::MemoryRead, Scope::MemoryWrite].into();
        let grant = Grant { scopes, boundary: within.0.clone(), ..Grant::everything() };
        // A token that could see nothing is not made.
        if let Ok(new) = NewToken::new("asker", grant, jiff::Timestamp::now(), None) {
            Tokens::open(tokens).unwrap().add(new.token).unwrap();
            return Asker { secret: new.secret, within };
        }
    }
}

/// Asks one thing, and searches what is told for what must not be.
fn ask(
    server: &Running,
    world: &World,
    asker: &Asker,
    mut request: Request,
    random: &mut Rng,
    seen: &mut BTreeMap<&'static str, u32>,
) {
    let query = serde_json::to_value(&request.query).unwrap();
    let with = |changes: Value| {
        let mut query = query.clone();
        let fields = changes.as_object().unwrap().clone();
        query.as_object_mut().unwrap().extend(fields);
        query
    };
    let claim = |random: &mut Rng| loop {
        if let UnitId::Claim(id) = random.choice(&world.units).unwrap() {
            return id.clone();
        }
    };
    let of_query = |names: &[&str]| {
        let fields = query.as_object().unwrap().iter();
        let fields = fields.filter(|(name, value)| names.contains(&&***name) && !value.is_null());
        fields.map(|(name, value)| (name.clone(), value.clone())).collect::<Value>()
    };
    let tool = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    };
    let (pii, secret) = (BoundaryClass::Pii, BoundaryClass::Secret);
    let (output, highest, path, body) = match random.u8(0..10) {
        0 | 1 => ("recall", secret, "/v1/memory/recall", query.clone()),
        2 => ("episodes", pii, "/v1/memory/recall", with(json!({"profile": "episodes"}))),
        3 => ("context", pii, "/v1/memory/context", json!({"query": query})),
        4 => {
            let options = json!({"layer": random.u8(1..4), "limit": request.query.top_k});
            ("find", secret, "/v1/memory/find", json!({"query": query, "options": options}))
        }
        5 => {
            // Two that are merged would be told in the class of the higher one.
            let given = if random.bool() {
                json!({"claim": claim(random), "signal": "helpful"})
            } else {
                json!({"claim": claim(random), "signal": "duplicate", "duplicateOf": "clm_none"})
            };
            ("feedback", secret, "/v1/memory/feedback", json!({"feedback": [given]}))
        }
        6 => {
            let origin = json!({"derived": [claim(random), claim(random)]});
            let topic = *random.choice(&TOPICS).unwrap();
            let body = json!({"text": format!("The {topic} again."), "origin": origin});
            ("claim", BoundaryClass::Public, "/v1/memory/claims", body)
        }
        7 | 8 => {
            let names = ["q", "scope", "boundaryClasses", "allow", "session", "topK"];
            // An empty list of a tool narrows nothing.
            let mut query = request.query.clone();
            query.scope = query.scope.filter(|scopes| !scopes.is_empty());
            query.boundary_classes = query.boundary_classes.filter(|classes| !classes.is_empty());
            request = Request::asking(query, world, asker.within.clone());
            let mut asked = of_query(&names);
            asked["episodes"] = json!(random.bool());
            let highest = if asked["episodes"] == true { pii } else { secret };
            ("activate", highest, "/mcp", tool("activate", asked))
        }
        _ => {
            let (q, session) = (request.query.q.clone(), request.query.session.clone());
            let query = RecallQuery { session, ..RecallQuery::new(q) };
            request = Request::asking(query, world, asker.within.clone());
            ("context_pack", pii, "/mcp", tool("context_pack", of_query(&["q", "session"])))
        }
    };
    let headers = [("Accept", "application/json, text/event-stream")];
    let text = body.to_string();
    let body = Some(("application/json", text.as_str()));
    let answer = server.ask_with(Some(&asker.secret), "POST", path, &headers, body);
    assert!(![0, 401, 429, 500, 503, 504].contains(&answer.status), "{output} {text}: {answer:?}");
    let is_refused = answer.status != 200 || answer.body.contains("\"isError\":true");
    let told = if is_refused { format!("error {}", answer.body) } else { answer.body };
    let (leaks, may) = request.leaks(world, &told, highest);
    assert_eq!(leaks, BTreeSet::new(), "{output}: {text} {:?} {told}", asker.within);
    if may > 0 && !["feedback", "claim"].contains(&output) {
        *seen.entry(output).or_default() += 1;
    }
}
