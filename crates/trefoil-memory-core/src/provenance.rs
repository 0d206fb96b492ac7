use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Who or what made something, when, and from which state of the sources.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// When.
    pub at: Timestamp,
    /// Who: a person or a program.
    pub actor: Option<String>,
    /// The state of the repository.
    pub git: Option<GitProvenance>,
    /// Where it can be read.
    pub url: Option<String>,
    /// What else there is to say.
    pub note: Option<String>,
    /// A signature over it.
    pub signed: Option<String>,
}

/// A state of a repository.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitProvenance {
    /// Hash of the commit.
    pub commit: String,
    /// Name of the repository.
    pub repo: String,
    /// Where it can be fetched.
    pub url: Option<String>,
    /// The files that it is about; all if absent.
    pub files: Option<Vec<String>>,
}
