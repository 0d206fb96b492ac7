//! Servers whose indexes are nodes of one shared store.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use trefoil::cluster::{Cluster, Freshness, MemoryTruth, NodeTimes, SharedStore, StoreAt};

use super::running::{Answer, Running};

fn node(truth: impl Cluster + 'static, change: impl FnOnce(&mut SharedStore)) -> Running {
    let mut shared = SharedStore::new(Arc::new(truth));
    change(&mut shared);
    Running::with(|settings| settings.indexes[0].engine.store = StoreAt::Shared(shared))
}

fn place(answer: &Answer) -> String {
    let line = answer.head.lines().find(|line| line.starts_with("trefoil-place: "));
    line.unwrap().split_once(' ').unwrap().1.to_owned()
}

#[test]
fn any_server_takes_writes_and_another_shows_them_as_of_their_place() {
    let truth = MemoryTruth::new("a");
    let first = node(truth.clone(), |shared| shared.times.poll = Duration::from_millis(5));
    // One that looks so seldom that it has nothing by itself, and is not content with that.
    let second = node(truth.node("b"), |shared| {
        let hour = Duration::from_hours(1);
        shared.times = NodeTimes { poll: hour, ..shared.times };
        shared.may_lead = false;
        shared.freshness = Freshness::Required;
        shared.freshness_wait = Duration::ZERO;
    });
    let documents = json!({"documents": [{"path": "walrus.md", "body": "The walrus sleeps."}]});
    let written = first.ask("POST", "/v1/documents", Some(&documents));
    assert_eq!(written.status, 200, "{}", written.body);
    let seen = place(&written);
    let ask = |server: &Running, headers: &[(&str, &str)]| {
        let query = json!({"text": "walrus"}).to_string();
        let body = Some(("application/json", query.as_str()));
        server.ask_with(server.token.as_deref(), "POST", "/v1/search", headers, body)
    };
    let found = ask(&first, &[("Trefoil-Place", &seen)]);
    assert_eq!(found.json()["results"].as_array().unwrap().len(), 1);
    assert_eq!(place(&found), seen);
    assert_eq!(ask(&second, &[]).json()["results"], json!([]));
    assert_eq!(ask(&second, &[("Trefoil-Place", &seen)]).code(), "behind");
    assert_eq!(ask(&second, &[("Trefoil-Place", "yesterday")]).code(), "invalid_field");

    // What it is given to write, the first one writes, and then it has everything.
    let documents = json!({"documents": [{"path": "seal.md", "body": "A seal and a walrus."}]});
    let written = second.ask("POST", "/v1/documents", Some(&documents));
    assert_eq!((written.status, &written.json()["written"]), (200, &json!(1)));
    let found = ask(&second, &[("Trefoil-Place", &place(&written))]);
    assert_eq!(found.json()["results"].as_array().unwrap().len(), 2);
    assert_eq!(first.ask("GET", "/v1/stats", None).json()["files"], 2);

    // So it is with memory and with forgetting; what is wrong with a request is told as there.
    let told = json!({"content": "The walrus likes clams."});
    let told = second.ask("POST", "/v1/memory/observe", Some(&told));
    assert_eq!(told.status, 200, "{}", told.body);
    let unit = format!("/v1/memory/units/{}", told.json()["id"].as_str().unwrap());
    let said = json!({"claim": "clm_nobody", "signal": "helpful"});
    let signal = json!({ "feedback": [said] });
    for server in [&first, &second] {
        assert_eq!(server.ask("GET", &unit, None).status, 200);
        let refused = server.ask("POST", "/v1/memory/feedback", Some(&signal));
        assert_eq!((refused.status, refused.code()), (404, "unknown_claim".into()));
    }
    let forgotten = second.ask("POST", "/v1/memory/forget", Some(&json!({"document": "seal.md"})));
    assert_eq!(forgotten.json()["removed"]["file"], 1, "{}", forgotten.body);
    let found = ask(&second, &[("Trefoil-Place", &place(&forgotten))]);
    assert_eq!(found.json()["results"].as_array().unwrap().len(), 1);
}
