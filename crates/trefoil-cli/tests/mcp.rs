//! `trefoil mcp` as the program that starts it sees it.

#![cfg(feature = "mcp")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on may panic"
)]

mod place;

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
};

use place::Place;
use serde_json::{Value, json};

/// A client that has started the server.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

fn command(place: &Place, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil"));
    command.args(["--model", "none"]).args(args).current_dir(place.path("."));
    for name in ["TREFOIL_INDEX", "TREFOIL_MODEL", "TREFOIL_RERANK_MODEL", "TREFOIL_LOG"] {
        command.env_remove(name);
    }
    command.env("TREFOIL_HOME", place.path("no-models"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

impl Client {
    fn start(place: &Place, args: &[&str]) -> Self {
        let args: Vec<&str> = ["mcp"].iter().chain(args).copied().collect();
        Self::spawn(command(place, &args))
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { child, input, output, asked: 0 };
        let told = client.request(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {},
                    "clientInfo": {"name": "test", "version": "1"}}),
        );
        assert_eq!(told["result"]["protocolVersion"], "2025-06-18", "{told}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next message; every line is one.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params});
        self.send(&message.to_string());
        let answer = self.next();
        assert_eq!(answer["id"], self.asked, "{answer}");
        answer
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Waits for its end, after nothing more was written.
    fn ends(mut self) -> i32 {
        let mut line = String::new();
        assert_eq!(self.output.read_line(&mut line).unwrap(), 0, "{line}");
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

fn indexed() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("docs")).unwrap();
    for (name, text) in [
        ("walrus.md", "# Walrus\n\nA walrus has long tusks.\n"),
        ("tides.md", "潮の満ち引きは月の引力による。\n"),
        ("weather.md", "내일 서울은 맑고 낮 최고 기온은 이십 도입니다.\n"),
    ] {
        std::fs::write(place.path("docs").join(name), text).unwrap();
    }
    place.run(&["--model", "none", "index", "docs"]).expect(0);
    place
}

#[test]
fn a_client_asks_over_standard_input() {
    let place = indexed();
    let mut client = Client::start(&place, &[]);
    let listed = client.request("tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 8, "{listed}");
    for (question, path) in [
        ("how long are the tusks of a walrus?", "docs/walrus.md"),
        ("潮の満ち引き", "docs/tides.md"),
        ("서울의 기온", "docs/weather.md"),
    ] {
        let found = client.call("search", &json!({"query": question}));
        assert_eq!(found["structuredContent"]["hits"][0]["path"], path, "{found}");
    }
    for wrong in ["{", "7", "[]"] {
        client.send(wrong);
        assert!(client.next()["error"]["code"].is_number(), "{wrong}");
    }
    client.send("");
    assert!(client.request("ping", &json!({}))["result"].is_object());
    client.input = None;
    assert_eq!(client.ends(), 0);
}

#[cfg(unix)]
#[test]
fn it_ends_when_it_is_told_to() {
    let place = indexed();
    let client = Client::start(&place, &[]);
    let id = client.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(client.ends(), 0);
}

#[test]
fn an_index_that_is_not_there_is_made_by_the_first_write() {
    let place = Place::new();
    let mut client = Client::start(&place, &["--tools", "documents,memory,write"]);
    let missing = client.call("search", &json!({"query": "otter"}));
    assert_eq!(missing["structuredContent"]["code"], "index_missing", "{missing}");
    let document = json!({"path": "otter.md", "body": "An otter swims."});
    assert_eq!(client.call("add_document", &document)["isError"], false);
    let found = client.call("search", &json!({"query": "otter"}));
    assert_eq!(found["structuredContent"]["hits"][0]["path"], "otter.md", "{found}");
}

#[test]
fn several_clients_write_to_one_index() {
    let place = indexed();
    let clients = 4;
    thread::scope(|scope| {
        for client in 0..clients {
            let place = &place;
            scope.spawn(move || {
                let mut mcp = Client::start(place, &["--tools", "documents,memory,write"]);
                for round in 0..3 {
                    let path = format!("{client}-{round}.md");
                    let document =
                        json!({"path": path, "body": format!("Otter {client} {round}.")});
                    let added = mcp.call("add_document", &document);
                    assert_eq!(added["isError"], false, "{added}");
                    let found = mcp.call("search", &json!({"query": "otter", "pathGlob": path}));
                    assert_eq!(found["structuredContent"]["hits"][0]["path"], path, "{found}");
                }
            });
        }
    });
    let stats = place.run(&["--model", "none", "stats", "--json"]).expect(0).json();
    assert_eq!(stats["files"], 3 + 3 * clients, "{stats}");
}

#[test]
fn a_server_that_has_the_index_open_is_asked() {
    let place = indexed();
    let mut server = command(&place, &["serve", "--addr", "127.0.0.1:0"]).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    // It has the lock: only what the server does can be written.
    let mut client = Client::start(&place, &["--tools", "documents,memory,write"]);
    let document = json!({"path": "otter.md", "body": "An otter swims."});
    let added = client.call("add_document", &document);
    assert_eq!(added["isError"], false, "{added}");
    let found = client.call("search", &json!({"query": "otter"}));
    assert_eq!(found["structuredContent"]["hits"][0]["path"], "otter.md", "{found}");
    let read_only = Client::start(&place, &["--read-only"]).request("tools/list", &json!({}));
    assert!(!read_only.to_string().contains("\"observe\""), "{read_only}");
    let mut alone = Client::start(&place, &["--alone"]);
    let locked = alone.call("observe", &json!({"content": "An otter swam."}));
    assert_eq!(locked["structuredContent"]["code"], "locked", "{locked}");
    server.kill().unwrap();
    server.wait().unwrap();
    // It has gone, and its client goes on by itself.
    let found = client.call("search", &json!({"query": "otter"}));
    assert_eq!(found["structuredContent"]["hits"][0]["path"], "otter.md", "{found}");
}

#[test]
fn a_server_of_several_indexes_is_asked_of_the_right_one() {
    let place = indexed();
    std::fs::create_dir(place.path("other")).unwrap();
    std::fs::write(place.path("other/otter.md"), "An otter swims.").unwrap();
    place.run(&["--model", "none", "--index", "work.trefoil", "index", "other"]).expect(0);
    // The client has no settings file, and does not know what the server calls its index.
    let settings =
        "[indexes.notes]\npath = '../.trefoil'\n[indexes.work]\npath = '../work.trefoil'\n";
    std::fs::create_dir(place.path("server")).unwrap();
    std::fs::write(place.path("server/trefoil.toml"), settings).unwrap();
    for (flags, is_asked) in [(&[][..], true), (&["--no-mcp"], false)] {
        let mut server = command(&place, &["serve", "--addr", "127.0.0.1:0"]);
        let mut server = server.args(flags).current_dir(place.path("server")).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let args = ["--index", "work.trefoil", "mcp", "--tools", "documents,write"];
        let mut client = Client::spawn(command(&place, &args));
        let found = client.call("search", &json!({"query": "otter"}));
        assert_eq!(found["structuredContent"]["hits"][0]["path"], "other/otter.md", "{found}");
        // Only the server can write.
        let document = json!({"path": "heron.md", "body": "A heron wades."});
        let added = client.call("add_document", &document);
        assert_eq!(added["isError"], !is_asked, "{added}");
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

#[test]
fn a_configuration_starts_the_same() {
    let place = Place::new();
    let args = ["--index", "notes", "mcp", "--read-only", "--print-config", "vscode"];
    let told = place.run(&args).expect(0).says(&["\"stdio\""]).json();
    let args = told["servers"]["trefoil"]["args"].as_array().unwrap();
    let args: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
    assert!(args[0] == "--index" && std::path::Path::new(args[1]).ends_with("notes"), "{args:?}");
    assert_eq!(args[2..], ["mcp", "--read-only"]);
    place.run(&["mcp", "--tools", "all"]).expect(2).complains(&["`documents`, `memory`, `write`"]);
    place.run(&["mcp", "--class", "secret"]).expect(3);
}
