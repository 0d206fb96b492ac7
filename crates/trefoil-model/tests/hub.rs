//! A Hugging Face repository, played by a server on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails"
)]
#![cfg(feature = "hub")]

mod tiny;

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::Arc,
    thread,
};

use serde_json::json;
use tiny::{Tiny, tokenizer};
use trefoil_core::{Embedder, Error, Pooling, Role};
use trefoil_model::{
    AddOptions, AddSource, AddedModel, ModelHome, ModelSource, OnnxEmbedder, PullOptions,
};

const COMMIT: &str = "c0ffee";

type Files = BTreeMap<String, Vec<u8>>;

/// The files of `owner/name`.
fn files() -> Files {
    let folder = tempfile::tempdir().unwrap();
    let model = Tiny { data: Some("model.onnx_data"), ..Tiny::default() };
    model.write(&folder.path().join("model.onnx"));
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let text = |text: &str| text.as_bytes().to_vec();
    Files::from([
        ("onnx/model.onnx".to_owned(), read("model.onnx")),
        ("onnx/model.onnx_data".to_owned(), read("model.onnx_data")),
        ("tokenizer.json".to_owned(), text(&tokenizer::bert(&[]).to_string())),
        ("config.json".to_owned(), text(r#"{"model_type": "bert", "hidden_size": 64}"#)),
        ("README.md".to_owned(), text("---\nlicense: mit\nlanguage: en\n---\n")),
        ("model.safetensors".to_owned(), text("weights that nobody asks for")),
        ("../outside.json".to_owned(), text("{}")),
    ])
}

/// Answers requests for the list of files, and for ranges of them, as the hub does.
fn serve(listener: &TcpListener, files: &Arc<Files>) {
    for stream in listener.incoming() {
        let (stream, files) = (stream.unwrap(), Arc::clone(files));
        thread::spawn(move || answer(stream, &files));
    }
}

fn answer(stream: TcpStream, files: &Files) {
    let mut writer = stream.try_clone().unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let list: Vec<_> = files.keys().map(|name| json!({ "rfilename": name })).collect();
    let info = json!({ "sha": COMMIT, "siblings": list }).to_string();
    while let Some(request) = lines.next() {
        let headers: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let path = request.split(' ').nth(1).unwrap_or_default();
        if path == "/api/models/owner/name/revision/v1" {
            let length = info.len();
            write!(
                writer,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                 content-length: {length}\r\n\r\n{info}"
            )
            .unwrap();
            continue;
        }
        let name = path.strip_prefix(&format!("/owner/name/resolve/{COMMIT}/"));
        // Of this one the server knows, and does not give it.
        let body =
            name.filter(|name| *name != "model.safetensors").and_then(|name| files.get(name));
        let Some(body) = body else {
            write!(writer, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").unwrap();
            continue;
        };
        let range = headers
            .iter()
            .find_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
        let range = range.unwrap_or_else(|| "0-".to_owned());
        let (start, end) = range.split_once('-').unwrap();
        let start: usize = start.parse().unwrap();
        let end = end.parse().map_or(body.len(), |last: usize| (last + 1).min(body.len()));
        let part = &body[start..end];
        write!(
            writer,
            "HTTP/1.1 206 Partial Content\r\ncontent-length: {}\r\n\
             content-range: bytes {start}-{}/{}\r\netag: \"etag-{}\"\r\n\
             x-repo-commit: {COMMIT}\r\n\r\n",
            part.len(),
            end - 1,
            body.len(),
            name.unwrap_or_default().replace('/', "-")
        )
        .unwrap();
        writer.write_all(part).unwrap();
    }
}

/// `HF_ENDPOINT` is read from the environment, so the model is added in a process of its own:
/// this same test, told where to add it.
#[test]
fn a_repository_becomes_a_model_with_a_name() {
    let argument =
        std::env::args().find_map(|argument| argument.strip_prefix("add-to=").map(str::to_owned));
    if let Some(root) = argument {
        return add_to(Path::new(&root));
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let files = Arc::new(files());
    thread::spawn(move || serve(&listener, &files));
    let (folder, _home) = tiny::home();
    // The second argument is a filter that matches no test; several filters are a union.
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "a_repository_becomes_a_model_with_a_name",
            &format!("add-to={}", folder.path().display()),
        ])
        .env("HF_ENDPOINT", endpoint)
        .env("HF_HOME", folder.path().join("hf"))
        .envs(["NO_PROXY", "no_proxy"].map(|name| (name, "127.0.0.1")))
        .status()
        .unwrap();
    assert!(status.success());
}

fn add_to(root: &Path) {
    let home = ModelHome::at(root);
    let add = |source: &str, options: &AddOptions, offline| -> Result<AddedModel, Error> {
        let source: AddSource = source.parse()?;
        home.add(&source, options, &(), PullOptions { offline })
    };
    let plain = AddOptions::default();
    let missing = |added: Result<AddedModel, Error>, part: &str| {
        let error = added.unwrap_err();
        assert!(matches!(error, Error::ModelMissing { .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    };
    missing(add("hf:owner/name@v1", &plain, true), "fetching is off");
    missing(add("hf:owner/other@v1", &plain, false), "hf:owner/other");
    let absent = AddOptions { file: Some("onnx/absent.onnx".into()), ..AddOptions::default() };
    missing(add("hf:owner/name@v1", &absent, false), "onnx/model.onnx");
    for wrong in ["hf:name", "hf:owner/name@", "hf:../name", "hf:a/b/c"] {
        assert!(matches!(add(wrong, &plain, false), Err(Error::InvalidConfig { .. })), "{wrong}");
    }

    let added = add("hf:owner/name@v1", &plain, false).unwrap();
    assert_eq!((added.card.name.as_str(), added.card.revision.as_str()), ("name", COMMIT));
    assert_eq!(added.card.origin, "https://huggingface.co/owner/name");
    assert_eq!(added.card.license, "mit");
    assert_eq!(added.card.embedding.as_ref().unwrap().pooling, Pooling::Mean);
    let expected = files();
    for (from, name) in [
        ("onnx/model.onnx", "model.onnx"),
        ("onnx/model.onnx_data", "model.onnx_data"),
        ("tokenizer.json", "tokenizer.json"),
    ] {
        assert_eq!(fs::read(added.path.join(name)).unwrap(), expected[from], "{name}");
    }
    assert!(!root.join("downloads/hub/owner--name").exists(), "nothing is left over");
    let source = ModelSource::Name("name".to_owned());
    let embedder = OnnxEmbedder::open(&home, &source, 1).unwrap();
    assert_eq!(embedder.embed(Role::Query, &["water"]).unwrap().dim(), (1, 64));
}
