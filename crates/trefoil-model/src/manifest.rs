use std::sync::LazyLock;

use serde::Deserialize;
use trefoil_core::{Error, Result};

use crate::{
    card::{Card, ModelRole},
    source::Source,
};

/// Name of the runtime's entry.
pub(crate) const RUNTIME: &str = "onnxruntime";

/// What can be fetched by name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    #[serde(rename = "entry")]
    entries: Vec<Entry>,
}

/// One model, or the runtime for one system.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) card: Card,
    /// `<arch>-<os>`; without one, every system.
    target: Option<String>,
    /// Pulled when nothing is named.
    #[serde(default)]
    default: bool,
    pub(crate) source: Source,
    pub(crate) convert: Option<Convert>,
    pub(crate) files: Vec<PinnedFile>,
}

/// A file of the package that is converted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Convert {
    pub(crate) from: String,
    pub(crate) size: u64,
    pub(crate) sha256: String,
    /// Heads of attention of a BERT in ONNX that scores pairs, which its weights do not tell.
    pub(crate) heads: Option<usize>,
}

/// A file of the cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PinnedFile {
    pub(crate) name: String,
    /// Its path in the package; absent if it is made by the conversion.
    pub(crate) from: Option<String>,
    pub(crate) size: u64,
    pub(crate) sha256: String,
}

impl Manifest {
    /// The manifest that is built in.
    pub(crate) fn built_in() -> Result<&'static Self> {
        static MANIFEST: LazyLock<Result<Manifest, toml::de::Error>> =
            LazyLock::new(|| toml::from_str(include_str!("../../../models/manifest.toml")));
        MANIFEST.as_ref().map_err(|error| {
            Error::backend(trefoil_core::Part::Model, "read its built-in manifest", error.clone())
        })
    }

    /// The entries that this system and this build can use, in the order of the file.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.target.as_deref().is_none_or(|t| t == host()))
            .filter(|entry| cfg!(feature = "lindera") || entry.card.role != ModelRole::Dictionary)
    }

    /// The entry of that name for this system.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] that lists the names.
    pub(crate) fn entry(&self, name: &str) -> Result<&Entry> {
        self.entries().find(|entry| entry.card.name == name).ok_or_else(|| {
            let names: Vec<_> = self.entries().map(|entry| entry.card.name.as_str()).collect();
            let reason = if name == RUNTIME {
                format!("there is no build for {}; give the path of your own", host())
            } else {
                format!("it was not added, and the manifest has {}", names.join(", "))
            };
            Error::ModelMissing { name: name.to_owned(), reason }
        })
    }

    /// What to do where the files of a model are not there.
    pub(crate) fn next_step(name: &str) -> String {
        match Self::built_in().and_then(|manifest| manifest.entry(name)) {
            Ok(_) => format!("run `trefoil models pull {name}`"),
            Err(_) => "put it back, or add the model again".to_owned(),
        }
    }

    /// The named entries, or the default ones if none is named, each once and with
    /// the runtime first, which every model needs, but no dictionary.
    pub(crate) fn select(&self, names: &[&str]) -> Result<Vec<&Entry>> {
        let named: Vec<&Entry> = if names.is_empty() {
            self.entries().filter(|entry| entry.default).collect()
        } else {
            names.iter().map(|name| self.entry(name)).collect::<Result<_>>()?
        };
        let needs_runtime = named.iter().any(|entry| entry.card.role != ModelRole::Dictionary);
        let runtime = needs_runtime.then(|| self.entry(RUNTIME)).transpose()?;
        let mut chosen: Vec<&Entry> = Vec::new();
        for entry in runtime.into_iter().chain(named) {
            if chosen.iter().all(|other| other.card.name != entry.card.name) {
                chosen.push(entry);
            }
        }
        Ok(chosen)
    }
}

impl Entry {
    /// The file of that name.
    pub(crate) fn file(&self, name: &str) -> Option<&PinnedFile> {
        self.files.iter().find(|file| file.name == name)
    }

    /// The files that its conversion makes.
    pub(crate) fn made(&self) -> impl Iterator<Item = &PinnedFile> {
        self.files.iter().filter(|file| file.from.is_none())
    }

    /// Bytes of all files.
    pub(crate) fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Folder of its files under the cache root.
    pub(crate) fn folder(&self) -> String {
        match self.card.role {
            ModelRole::Runtime => format!("runtime/{}-{}", self.card.name, self.source.version()),
            ModelRole::Embedder | ModelRole::Reranker | ModelRole::LateInteraction => {
                format!("models/{}", self.card.name)
            }
            ModelRole::Dictionary => format!("dictionaries/{}", self.card.name),
        }
    }
}

/// This system, as `target` writes it.
fn host() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        let manifest = Manifest::built_in().unwrap();
        for entry in &manifest.entries {
            let name = &entry.card.name;
            entry.card.check().unwrap_or_else(|reason| panic!("{name}: {reason}"));
            assert!(!entry.card.license.is_empty(), "{name}");
            assert!(!entry.files.is_empty(), "{name}");
            let embedding = entry.card.embedding.as_ref();
            assert!(embedding.is_none_or(|card| card.cosine_range.is_some()), "{name}");
            assert_eq!(entry.convert.is_some(), entry.made().next().is_some(), "{name}");
            for file in &entry.files {
                assert!(crate::card::is_plain_name(&file.name), "{}", file.name);
                assert!(file.size > 0 && file.sha256.len() == 64, "{name}/{}", file.name);
            }
        }
    }

    #[test]
    fn the_runtime_comes_first_and_once_where_it_is_needed() {
        fn check(names: &[&str], expected: &[&str]) {
            let chosen = Manifest::built_in().unwrap().select(names).unwrap();
            let chosen: Vec<_> = chosen.iter().map(|entry| entry.card.name.as_str()).collect();
            assert_eq!(chosen, expected);
        }
        check(
            &[],
            &[
                RUNTIME,
                "multilingual-e5-small",
                "ms-marco-MiniLM-L-12-v2",
                "answerai-colbert-small-v1",
            ],
        );
        check(&[RUNTIME], &[RUNTIME]);
        check(&["bge-small-en-v1.5", "bge-small-en-v1.5"], &[RUNTIME, "bge-small-en-v1.5"]);
        #[cfg(feature = "lindera")]
        check(&["ko-dic", "ipadic"], &["ko-dic", "ipadic"]);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = Manifest::built_in().unwrap().select(&["nonsense"]).unwrap_err().to_string();
        assert!(error.contains("nonsense") && error.contains("bge-small-en-v1.5"), "{error}");
    }
}
