use std::path::{Path, PathBuf};

use trefoil_core::Result;

use crate::{card::FileCard, file};

/// The weights of a model: `model.onnx` and the files next to it that it needs.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    model: PathBuf,
    sha256: Option<String>,
    files: Vec<FileCard>,
}

impl Weights {
    /// Those in a folder, with the SHA-256 of `model.onnx` where it is known.
    pub(crate) fn new(folder: &Path, sha256: Option<String>, files: Vec<FileCard>) -> Self {
        Self { model: folder.join("model.onnx"), sha256, files }
    }

    /// The file that the runtime opens.
    pub(crate) fn model(&self) -> &Path {
        &self.model
    }

    /// A SHA-256 of all of it: that of `model.onnx` where it stands alone. What is not known is
    /// computed.
    ///
    /// # Errors
    /// [`Error::Io`](trefoil_core::Error::Io).
    pub(crate) fn sha256(&self) -> Result<String> {
        let of = |path: &Path, known: Option<&String>| {
            known.map_or_else(|| file::sha256_of_file(path), |known| Ok(known.clone()))
        };
        let model = of(&self.model, self.sha256.as_ref())?;
        if self.files.is_empty() {
            return Ok(model);
        }
        let mut lines = vec![format!("{model} model.onnx\n")];
        for FileCard { name, sha256 } in &self.files {
            let sha256 = of(&self.model.with_file_name(name), sha256.as_ref())?;
            lines.push(format!("{sha256} {name}\n"));
        }
        Ok(file::sha256(lines.concat().as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_checksum_is_that_of_every_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("model.onnx"), b"graph").unwrap();
        let data = folder.path().join("model.onnx_data");
        fs::write(&data, b"weights").unwrap();
        let one = |sha256: Option<&str>| FileCard {
            name: "model.onnx_data".into(),
            sha256: sha256.map(str::to_owned),
        };
        let of = |known: Option<&str>, files| {
            Weights::new(folder.path(), known.map(str::to_owned), files).sha256().unwrap()
        };
        assert_eq!(of(None, vec![]), file::sha256(b"graph"));
        assert_eq!(of(Some("ab"), vec![]), "ab");
        let whole = of(None, vec![one(None)]);
        let (graph, weights) = (file::sha256(b"graph"), file::sha256(b"weights"));
        assert_eq!(of(Some(&graph), vec![one(Some(&weights))]), whole, "as it was noted");
        fs::write(&data, b"others").unwrap();
        assert_ne!(of(None, vec![one(None)]), whole);
        fs::remove_file(&data).unwrap();
        assert!(Weights::new(folder.path(), None, vec![one(None)]).sha256().is_err());
    }
}
