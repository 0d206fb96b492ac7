//! Which ONNX file of a repository is taken, and what it needs next to it.

use std::cmp::Reverse;

use trefoil_core::{Error, Result};

use super::{Contents, DraftFile, onnx_header::OnnxHeader};
use crate::card::{Card, FileCard, is_plain_name};

/// The ONNX file that is wanted, or the one in 32-bit floating point.
///
/// # Errors
/// [`Error::ModelMissing`] if there is no such file, [`Error::ModelUnusable`] if there is none.
pub(crate) fn choose(contents: &Contents, wanted: Option<&str>) -> Result<String> {
    let mut all: Vec<&str> = onnx_files(contents).collect();
    if let Some(wanted) = wanted {
        if contents.has(wanted) {
            return Ok(wanted.to_owned());
        }
        let why = format!("but {}; set `--file` to one of them", listed(&all));
        return Err(contents.missing(wanted, &why));
    }
    all.sort_by_key(|path| {
        let name = path.rsplit('/').next().unwrap_or_default();
        // The usual name, then the exactest form, then the usual folder.
        let folder = path.strip_suffix(name).unwrap_or_default();
        (
            Reverse(name == "model.onnx"),
            form(name),
            Reverse(folder == "onnx/" || folder.is_empty()),
            path.len(),
            *path,
        )
    });
    all.first().map(|path| (*path).to_owned()).ok_or_else(|| Error::ModelUnusable {
        name: contents.name().to_owned(),
        reason: "it has no `.onnx` file; export one, as `optimum-cli export onnx` does, and add \
                 the folder"
            .to_owned(),
    })
}

/// A sentence about the other ONNX files, if there are any.
pub(super) fn others(contents: &Contents, chosen: &str) -> Option<String> {
    let all: Vec<&str> = onnx_files(contents).filter(|path| *path != chosen).collect();
    (!all.is_empty()).then(|| {
        format!("`{chosen}` was taken; there are {} too. Set `--file` for another.", listed(&all))
    })
}

/// The files that a model needs; those besides the model and the tokenizer are noted in its card.
///
/// # Errors
/// [`Error::ModelMissing`] for one that is not there, [`Error::Corrupt`] for a name that leads out
/// of the folder.
pub(super) fn files(
    contents: &Contents,
    onnx: &str,
    header: &OnnxHeader,
    card: &mut Card,
) -> Result<Vec<DraftFile>> {
    let folder = onnx.rsplit_once('/').map_or("", |(folder, _)| folder);
    let within = |name: &str| {
        if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
    };
    let mut files = vec![DraftFile::new(onnx, "model.onnx")];
    let tokenizer = [within("tokenizer.json"), "tokenizer.json".to_owned()];
    let tokenizer = tokenizer.into_iter().rfind(|path| contents.has(path)).ok_or_else(|| {
        contents.missing("tokenizer.json", "the tokenizer; save it as a fast tokenizer")
    })?;
    files.push(DraftFile::new(tokenizer, "tokenizer.json"));
    for location in &header.external {
        let name = location.trim_start_matches("./");
        if !is_plain_name(name) {
            return Err(contents.damaged(onnx, format!("its weights are at `{location}`")));
        }
        let from = within(name);
        if !contents.has(&from) {
            return Err(contents.missing(&from, &format!("where `{onnx}` has its weights")));
        }
        files.push(DraftFile::new(from, name));
    }
    for layer in card.dense() {
        // That of a module of the repository, or as it is in a folder with a card.
        let module = layer.file.trim_end_matches(".safetensors");
        let of_module = format!("{module}/model.safetensors");
        let from = if contents.has(&of_module) { of_module } else { layer.file.clone() };
        if !contents.has(&from) {
            return Err(contents.missing(&from, "the weights of a dense layer"));
        }
        files.push(DraftFile::new(from, layer.file.clone()));
    }
    card.files = files
        .iter()
        .filter(|file| !["model.onnx", "tokenizer.json"].contains(&file.name.as_str()))
        .map(|file| FileCard { name: file.name.clone(), sha256: None })
        .collect();
    Ok(files)
}

fn onnx_files(contents: &Contents) -> impl Iterator<Item = &str> {
    let is_onnx = |path: &&str| path.rsplit_once('.').is_some_and(|(_, ending)| ending == "onnx");
    contents.names().filter(is_onnx)
}

/// How much a file of that name is rounded.
fn form(name: &str) -> usize {
    const FORMS: [&[&str]; 3] = [
        &["q4", "bnb4", "int4", "uint4"],
        &["int8", "quantized", "q8"],
        &["fp16", "float16", "_o4", "bf16"],
    ];
    let name = name.to_lowercase();
    let has = |parts: &&[&str]| parts.iter().any(|part| name.contains(part));
    FORMS.iter().position(has).map_or(0, |place| FORMS.len() - place)
}

fn listed(paths: &[&str]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    if paths.is_empty() { "no ONNX file".to_owned() } else { paths.join(", ") }
}
