//! `trefoil serve` as the one who types it sees it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Server {
    fn start(folder: &TempDir) -> Self {
        Self::with(folder, |_| ())
    }

    fn with(folder: &TempDir, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil"));
        command.args(["--model", "none", "serve", "--addr", "127.0.0.1:0"]);
        command.current_dir(folder.path()).env("TREFOIL_HOME", folder.path().join("no-models"));
        for name in ["TREFOIL_INDEX", "TREFOIL_MODEL", "TREFOIL_RERANK_MODEL", "TREFOIL_LOG"] {
            command.env_remove(name);
        }
        change(&mut command);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut printed = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut printed).unwrap();
        let rest = printed.trim().strip_prefix("http://").unwrap();
        let (address, token) = rest.split_once("/#token=").unwrap();
        Self { child, address: address.to_owned(), token: token.to_owned() }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let Self { address, token, .. } = self;
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        serde_json::from_str(&self.ask("POST", path, &body.to_string())).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_server_learns_what_it_is_told_and_shows_its_page() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(&folder);
    server.post("/v1/memory/observe", &json!({"content": "Mika: I live in Kyoto."}));
    let learnt = (0..600).find_map(|_| {
        let found = server.post("/v1/memory/recall", &json!({"q": "Where does Mika live?"}));
        let text = found.pointer("/claims/0").map(ToString::to_string);
        if text.is_none() {
            thread::sleep(Duration::from_millis(100));
        }
        text
    });
    assert!(learnt.unwrap().contains("Kyoto"));
    let page = server.ask("GET", "/", "");
    assert!(page.contains("/page/main.js"), "{page}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_browser_is_led_to_the_page_and_nobody_else_is() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let (bin, opened) = (folder.path().join("bin"), folder.path().join("opened"));
    std::fs::create_dir(&bin).unwrap();
    // What the system opens files with: it tells what it was given, and what that says.
    let opener = bin.join("xdg-open");
    let script = format!(
        "#!/bin/sh\n{{ stat -c %a \"$1\"; echo \"$@\"; cat \"$1\"; }} > {0}.new\nmv {0}.new {0}\n",
        opened.display()
    );
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let server = Server::with(&folder, |command| {
        command.arg("--open").env("PATH", path);
    });
    let told = (0..600).find_map(|_| {
        thread::sleep(Duration::from_millis(50));
        std::fs::read_to_string(&opened).ok()
    });
    let told = told.unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "600", "{told}");
    assert!(!lines[1].contains(&server.token), "{told}");
    let address = format!("url=http://{}/#token={}\"", server.address, server.token);
    assert!(told.contains(&address), "{told}");
}

#[test]
fn flags_name_several_indexes_and_paths_go_to_the_first() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("walrus.md"), "A walrus has tusks.").unwrap();
    let server = Server::with(&folder, |command| {
        command.args(["--index", "sea=sea.trefoil", "--index", "land=land.trefoil", "walrus.md"]);
    });
    let names = server.ask("GET", "/v1/indexes", "");
    assert!(names.contains("\"sea\"") && names.contains("\"land\""), "{names}");
    let found = |index: &str| {
        let path = format!("/v1/search?index={index}");
        let query = json!({"text": "walrus", "options": {"resultTypes": ["chunk"]}});
        server.post(&path, &query).pointer("/results/0/metadata/path").cloned()
    };
    let in_sea = (0..600).find_map(|_| {
        thread::sleep(Duration::from_millis(50));
        found("sea")
    });
    assert_eq!(in_sea, Some(json!("walrus.md")));
    assert_eq!(found("land"), None);
}

#[test]
fn indexes_are_named_where_there_are_several() {
    let folder = TempDir::new().unwrap();
    for (arguments, said) in [
        (&["serve", "--index", "a", "--index", "b"][..], "NAME=DIR for each"),
        (&["serve", "--index", "n=a", "--index", "n=b"], "another name"),
        (&["stats", "--index", "a", "--index", "b"], "`serve` alone takes several"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil"));
        let done = command.args(arguments).current_dir(folder.path()).output().unwrap();
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{arguments:?} {error}");
        assert!(error.contains(said), "{error}");
    }
}
