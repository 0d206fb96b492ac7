use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use trefoil_core::{Error, Part, Result};

/// The names of the files of a repository, and what those hold that say what it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    name: String,
    origin: String,
    revision: String,
    names: BTreeSet<String>,
    texts: BTreeMap<String, String>,
}

impl Contents {
    /// Of a repository or a folder of this name, with the address and the commit that it has.
    pub(crate) fn new(
        name: impl Into<String>,
        origin: impl Into<String>,
        revision: impl Into<String>,
        names: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            name: name.into(),
            origin: origin.into(),
            revision: revision.into(),
            names: names.into_iter().collect(),
            texts: BTreeMap::new(),
        }
    }

    /// The files that say what the model is: to be read before anything is drafted.
    pub(crate) fn wanted(&self) -> Vec<String> {
        const WANTED: [&str; 9] = [
            "README.md",
            "artifact.metadata",
            "card.toml",
            "config.json",
            "config_sentence_transformers.json",
            "modules.json",
            "sentence_bert_config.json",
            "special_tokens_map.json",
            "tokenizer_config.json",
        ];
        let is_of_module = |name: &str| {
            name.split_once('/').is_some_and(|(folder, file)| {
                file == "config.json" && folder.starts_with(|c: char| c.is_ascii_digit())
            })
        };
        let is_wanted = |name: &&String| WANTED.contains(&name.as_str()) || is_of_module(name);
        self.names.iter().filter(is_wanted).cloned().collect()
    }

    /// Notes what a file holds.
    pub(crate) fn insert(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.texts.insert(name.into(), text.into());
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) fn revision(&self) -> &str {
        &self.revision
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// What a file holds, if it is there.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// What a file of JSON says; none if it is not there.
    ///
    /// # Errors
    /// [`Error::Corrupt`] that names the file.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        serde_json::from_str(text).map(Some).map_err(|error| self.damaged(name, error))
    }

    /// That a file is not what its name says.
    pub(crate) fn damaged(&self, name: &str, reason: impl std::fmt::Display) -> Error {
        let reason = format!("`{name}` of `{}`: {reason}", self.name);
        Error::Corrupt { part: Part::Model, reason }
    }

    /// That a file is not there.
    pub(crate) fn missing(&self, name: &str, why: &str) -> Error {
        Error::ModelMissing {
            name: self.name.clone(),
            reason: format!("there is no `{name}`, {why}"),
        }
    }
}
