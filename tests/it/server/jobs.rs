//! Long work.

use serde_json::{Value, json};
use trefoil_server::Scope;

use super::running::{Running, walrus};

impl Running {
    fn begin(&self, job: &Value) -> String {
        let answer = self.ask("POST", "/v1/jobs", Some(job));
        assert_eq!(answer.status, 202, "{answer:?}");
        let at = format!("/v1/jobs/{}", answer.json()["id"].as_str().unwrap());
        assert!(answer.head.contains(&format!("location: {at}")), "{answer:?}");
        at
    }

    /// Waits until a job has ended, by its events.
    fn ended(&self, at: &str) -> Value {
        let events = self.ask("GET", &format!("{at}/events"), None).events();
        let (_, name, job) = events.last().unwrap();
        assert_eq!(job["state"], *name, "{job}");
        assert_eq!(self.ask("GET", at, None).json(), *job);
        job.clone()
    }
}

#[test]
fn files_below_the_roots_are_read_and_the_index_is_cared_for() {
    let server = Running::start();
    let root = server.folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("walrus.md"), "A walrus has long tusks.").unwrap();
    std::fs::write(server.folder.path().join("secret.md"), "Not to be read.").unwrap();
    let done = server.ended(&server.begin(&json!({"kind": "ingest"})));
    assert_eq!((&done["state"], &done["result"]["written"]), (&json!("done"), &json!(1)));
    let outside = json!({"kind": "ingest", "paths": [server.folder.path().join("secret.md")]});
    assert_eq!(server.ask("POST", "/v1/jobs", Some(&outside)).code(), "not_found");
    for (job, sound) in [
        (json!({"kind": "reindex"}), "/files"),
        (json!({"kind": "verify"}), "/sound"),
        (json!({"kind": "doctor", "sample": 5}), "/0/check"),
        (json!({"kind": "maintain", "dryRun": true}), "/dryRun"),
        (json!({"kind": "export", "file": "walrus.snapshot"}), "/id"),
    ] {
        let done = server.ended(&server.begin(&job));
        assert_eq!(done["state"], "done", "{done}");
        assert!(done["result"].pointer(sound).is_some(), "{done}");
    }
    assert!(server.folder.path().join("walrus.snapshot").exists());
    let query = json!({"text": "tusks"});
    let found = server.ask("POST", "/v1/search", Some(&query)).json();
    assert!(!found["results"].as_array().unwrap().is_empty(), "{found}");
    let taken = json!({"kind": "export", "file": "walrus.snapshot"});
    assert_eq!(server.ask("POST", "/v1/jobs", Some(&taken)).code(), "invalid_field");
    assert_eq!(server.ask("POST", "/v1/jobs", Some(&json!({"kind": "x"}))).code(), "invalid_body");
}

#[test]
fn a_collection_below_the_roots_is_measured() {
    let server = Running::start();
    let collection = server.folder.path().join("root/small");
    std::fs::create_dir_all(collection.join("qrels")).unwrap();
    for (name, text) in [
        ("corpus.jsonl", "{\"_id\": \"1\", \"text\": \"A walrus has long tusks.\"}\n"),
        ("queries.jsonl", "{\"_id\": \"a\", \"text\": \"walrus tusks\"}\n"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\na\t1\t1\n"),
    ] {
        std::fs::write(collection.join(name), text).unwrap();
    }
    let done = server.ended(&server.begin(&json!({"kind": "eval", "collection": collection})));
    assert_eq!(done["state"], "done", "{done}");
    assert!(done["result"].to_string().to_lowercase().contains("ndcg"), "{done}");
}

#[test]
fn a_job_is_told_again_from_where_its_reader_left() {
    let server = Running::start();
    server.write(&walrus());
    let at = server.begin(&json!({"kind": "export", "file": "a.snapshot"}));
    server.ended(&at);
    let all = server.ask("GET", &format!("{at}/events"), None).events();
    assert!(all.len() > 1, "{all:?}");
    let seen = all[0].0.to_string();
    let rest = server.ask_with(
        server.token.as_deref(),
        "GET",
        &format!("{at}/events"),
        &[("Last-Event-ID", &seen)],
        None,
    );
    assert_eq!(rest.events(), all[1..]);
}

#[test]
fn jobs_are_cancelled_and_seen_by_those_who_see_their_index() {
    let server = Running::start();
    server.write(&walrus());
    let at = server.begin(&json!({"kind": "verify"}));
    let other = server.make_token(&[Scope::Admin], Some(&["other"]));
    let ask = |method: &str, path: &str| server.ask_as(Some(&other.secret), method, path, None);
    assert_eq!(ask("GET", "/v1/jobs").json(), json!({"jobs": []}));
    for (method, path) in
        [("GET", at.clone()), ("DELETE", at.clone()), ("GET", at.clone() + "/events")]
    {
        assert_eq!(ask(method, &path).code(), "not_found");
    }
    let cancelled = server.ask("DELETE", &at, None);
    assert_eq!(cancelled.status, 200);
    let state = server.ended(&at)["state"].clone();
    // It may have been done before.
    assert!(state == "cancelled" || state == "done", "{state}");
    assert_eq!(server.ask("GET", "/v1/jobs", None).json()["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(server.ask("GET", "/v1/jobs/job_0", None).code(), "not_found");
}
