//! A Hugging Face repository, played by a server on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails"
)]
#![cfg(feature = "hub")]

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    thread,
};

use trefoil_core::Error;
use trefoil_model::{Card, HubModel, ModelHome, PullOptions};

const MODEL: &[u8] = b"some weights";
const TOKENIZER: &[u8] = b"{}";

/// Answers requests for ranges of the two files as the hub does.
fn serve(listener: &TcpListener) {
    for stream in listener.incoming() {
        let stream = stream.unwrap();
        thread::spawn(move || answer(stream));
    }
}

fn answer(stream: TcpStream) {
    let mut writer = stream.try_clone().unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while let Some(request) = lines.next() {
        let headers: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let body = match request.split(' ').nth(1) {
            Some("/owner/name/resolve/v1/onnx/model.onnx") => MODEL,
            Some("/owner/name/resolve/v1/tokenizer.json") => TOKENIZER,
            _ => {
                write!(writer, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").unwrap();
                continue;
            }
        };
        let range = headers
            .iter()
            .find_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
        let range = range.unwrap_or_else(|| "0-".to_owned());
        let (start, end) = range.split_once('-').unwrap();
        let start: usize = start.parse().unwrap();
        let end = end.parse().map_or(body.len(), |last: usize| last + 1);
        let part = &body[start..end];
        write!(
            writer,
            "HTTP/1.1 206 Partial Content\r\ncontent-length: {}\r\ncontent-range: bytes {start}-{}/{}\r\n\
             etag: \"etag-{}\"\r\nx-repo-commit: c0ffee\r\n\r\n",
            part.len(),
            end - 1,
            body.len(),
            body.len()
        )
        .unwrap();
        writer.write_all(part).unwrap();
    }
}

fn model(file: &str) -> HubModel {
    let card = "name = 'm'\nrole = 'reranker'\nlicense = 'MIT'\n";
    HubModel {
        repository: "owner/name".into(),
        revision: "v1".into(),
        model_file: file.into(),
        card: toml::from_str(card).unwrap(),
    }
}

/// `HF_ENDPOINT` is read from the environment, so the pull runs in a process of its own:
/// this same test, told where the server is.
#[test]
fn a_repository_becomes_a_local_folder() {
    let argument = std::env::args()
        .find_map(|argument| argument.strip_prefix("pull-into=").map(str::to_owned));
    if let Some(root) = argument {
        return pull_into(Path::new(&root));
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || serve(&listener));
    let folder = tempfile::tempdir().unwrap();
    // The second argument is a filter that matches no test; several filters are a union.
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "a_repository_becomes_a_local_folder",
            &format!("pull-into={}", folder.path().display()),
        ])
        .env("HF_ENDPOINT", endpoint)
        .env("HF_HOME", folder.path().join("hf"))
        .envs(["NO_PROXY", "no_proxy"].map(|name| (name, "127.0.0.1")))
        .status()
        .unwrap();
    assert!(status.success());
}

fn pull_into(root: &Path) {
    let home = ModelHome::at(root);
    let pull = |model: &HubModel, offline| home.pull_from_hub(model, &(), PullOptions { offline });
    let wanted = model("onnx/model.onnx");
    assert!(matches!(pull(&wanted, true), Err(Error::ModelMissing { .. })));
    assert!(matches!(pull(&model("onnx/absent.onnx"), false), Err(Error::ModelMissing { .. })));
    assert!(matches!(pull(&model("../model.onnx"), false), Err(Error::InvalidConfig { .. })));
    let mut other = wanted.clone();
    other.card.sha256 = Some("0".repeat(64));
    assert!(matches!(pull(&other, false), Err(Error::Checksum { .. })));
    assert!(matches!(pull(&wanted, true), Err(Error::ModelMissing { .. })), "nothing was kept");

    let folder = pull(&wanted, false).unwrap();
    assert_eq!(std::fs::read(folder.join("model.onnx")).unwrap(), MODEL);
    assert_eq!(std::fs::read(folder.join("tokenizer.json")).unwrap(), TOKENIZER);
    assert_eq!(Card::read(&folder.join("card.toml")).unwrap().sha256.unwrap().len(), 64);
    assert!(!folder.join("partial").exists());
    assert_eq!(pull(&wanted, true).unwrap(), folder, "it is there");
}
