//! What flags, environment and `trefoil.toml` say together.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde::Deserialize;
use trefoil::{
    EngineConfig, Model, Profile,
    index::KeywordConfig,
    memory::MemoryUpkeep,
    model::{ModelHome, Rerankers},
    search::RerankConfig,
};

use crate::args::{GlobalArgs, KeywordBoost};

/// Name of the settings file.
const FILE: &str = "trefoil.toml";
const DEFAULT_INDEX: &str = ".trefoil";

/// Everything that a command needs to open an engine.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Directory of the index, if one was chosen.
    index: Option<PathBuf>,
    /// Where models are kept.
    pub(crate) home: ModelHome,
    /// How the engine works.
    pub(crate) engine: EngineConfig,
}

impl Settings {
    /// Reads the settings file and puts the flags above it. What the environment says
    /// is in the flags already.
    pub(crate) fn read(args: &GlobalArgs) -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("cannot tell the current directory")?;
        let file = SettingsFile::find(&here)?;
        let home = match args.home.clone().or(file.model_home) {
            Some(home) => ModelHome::at(std::path::absolute(&home).unwrap_or(home)),
            None => ModelHome::platform()?,
        };
        let profile = args.profile.clone().or(file.profile);
        let defaults = EngineConfig::default();
        let (rerankers, rerank) =
            rerankers(args.rerank_model.as_deref().map(model).or(file.rerank_model));
        Ok(Self {
            index: args.index.clone().or(file.index),
            engine: EngineConfig {
                model: args.model.as_deref().map(model).or(file.model).unwrap_or_default(),
                model_home: Some(home.root().to_owned()),
                threads: file.threads,
                rerankers,
                rerank,
                keyword: boosted(file.keyword.unwrap_or_default(), &args.keyword_boosts),
                profile: profile.map(Profile::read).transpose()?,
                max_file_bytes: file.max_file_bytes.unwrap_or(defaults.max_file_bytes),
                redact_documents: args
                    .redact_documents
                    .or(file.redact_documents)
                    .unwrap_or(defaults.redact_documents),
                privacy_globs: file.privacy_globs.unwrap_or(defaults.privacy_globs),
                // Each command makes its own pass over memory.
                memory: MemoryUpkeep::ASKED_FOR,
                ..EngineConfig::default()
            },
            home,
        })
    }

    /// Directory of the index.
    pub(crate) fn index(&self) -> &Path {
        self.index.as_deref().unwrap_or(Path::new(DEFAULT_INDEX))
    }

    /// Directory of the index, where a command has another default.
    pub(crate) fn index_or(&self, default: PathBuf) -> PathBuf {
        self.index.clone().unwrap_or(default)
    }
}

/// A settings file that cannot be used.
#[derive(Debug)]
pub(crate) struct InvalidSettings {
    path: PathBuf,
    reason: String,
}

impl std::fmt::Display for InvalidSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is not valid: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for InvalidSettings {}

/// `trefoil.toml`. Paths in it are relative to the folder that it is in.
#[derive(Debug, Default)]
struct SettingsFile {
    index: Option<PathBuf>,
    model: Option<Model>,
    rerank_model: Option<Model>,
    model_home: Option<PathBuf>,
    threads: Option<usize>,
    max_file_bytes: Option<u64>,
    privacy_globs: Option<Vec<String>>,
    profile: Option<PathBuf>,
    keyword: Option<KeywordConfig>,
    redact_documents: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSettings {
    index: Option<PathBuf>,
    model: Option<String>,
    rerank_model: Option<String>,
    model_home: Option<PathBuf>,
    threads: Option<usize>,
    max_file_bytes: Option<u64>,
    privacy_globs: Option<Vec<String>>,
    profile: Option<PathBuf>,
    keyword: Option<KeywordConfig>,
    redact_documents: Option<bool>,
}

impl SettingsFile {
    /// The nearest settings file in `folder` or above it; none is no error.
    fn find(folder: &Path) -> anyhow::Result<Self> {
        for folder in folder.ancestors() {
            let path = folder.join(FILE);
            match fs::read_to_string(&path) {
                Ok(text) => return Ok(Self::parse(&text, &path, folder)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(trefoil::Error::io("read", path, error).into()),
            }
        }
        Ok(Self::default())
    }

    fn parse(text: &str, path: &Path, folder: &Path) -> Result<Self, InvalidSettings> {
        let raw: RawSettings = toml::from_str(text).map_err(|error| InvalidSettings {
            path: path.to_owned(),
            reason: located(text, &error),
        })?;
        let below = |text: &str| match model(text) {
            Model::Folder(path) => Model::Folder(folder.join(path)),
            named @ (Model::None | Model::Default | Model::Named(_) | Model::Custom(_)) => named,
        };
        Ok(Self {
            index: raw.index.map(|path| folder.join(path)),
            model: raw.model.as_deref().map(below),
            rerank_model: raw.rerank_model.as_deref().map(below),
            model_home: raw.model_home.map(|path| folder.join(path)),
            threads: raw.threads,
            max_file_bytes: raw.max_file_bytes,
            privacy_globs: raw.privacy_globs,
            profile: raw.profile.map(|path| folder.join(path)),
            keyword: raw.keyword,
            redact_documents: raw.redact_documents,
        })
    }
}

/// The first line of what the parser says, with the line that it is about.
fn located(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().lines().next().unwrap_or_default();
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message.to_owned(),
    }
}

/// The weights of the settings file, with those that flags or the environment name instead.
fn boosted(mut config: KeywordConfig, boosts: &[KeywordBoost]) -> KeywordConfig {
    for boost in boosts {
        match *boost {
            KeywordBoost::Title(weight) => config.title_boost = weight,
            KeywordBoost::Heading(weight) => config.heading_boost = weight,
            KeywordBoost::Body(weight) => config.body_boost = weight,
        }
    }
    config
}

/// What reads passages with the question: `none`, a cross-encoder in a folder, or one by name.
fn rerankers(wanted: Option<Model>) -> (Rerankers, RerankConfig) {
    let rerank = RerankConfig::default();
    match wanted {
        Some(Model::None) => (Rerankers::Default, RerankConfig { enabled: false, ..rerank }),
        Some(Model::Named(model)) => (Rerankers::Default, RerankConfig { model, ..rerank }),
        Some(Model::Folder(folder)) => (Rerankers::Folder(folder), rerank),
        Some(Model::Default | Model::Custom(_)) | None => (Rerankers::Default, rerank),
    }
}

/// The model that a person means: `none`, a folder if it looks like a path, else a name.
fn model(text: &str) -> Model {
    if text == "none" {
        Model::None
    } else if text.starts_with('.') || text.contains(['/', '\\']) {
        Model::Folder(PathBuf::from(text))
    } else {
        Model::Named(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_file() {
        let text = "index = 'notes.trefoil'\nmodel = './e5'\nmodel_home = '/models'\nthreads = 2";
        let file =
            SettingsFile::parse(text, Path::new("/a/trefoil.toml"), Path::new("/a")).unwrap();
        assert_eq!(file.index.unwrap(), Path::new("/a/notes.trefoil"));
        assert!(matches!(file.model, Some(Model::Folder(path)) if path == Path::new("/a/./e5")));
        assert_eq!(file.model_home.unwrap(), Path::new("/models"));
        assert_eq!(file.threads, Some(2));
    }

    #[test]
    fn mistakes_are_located() {
        let check = |text: &str, expected: &str| {
            let error =
                SettingsFile::parse(text, Path::new("trefoil.toml"), Path::new("")).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        check("index = 'a'\nindexes = 'b'", "line 2: unknown field `indexes`");
        check("threads = 'two'", "line 1: invalid type");
        check("threads = ", "line 1: ");
    }

    #[test]
    fn a_model_is_none_a_name_or_a_folder() {
        assert!(matches!(model("none"), Model::None));
        assert!(matches!(model("bge-small-en-v1.5"), Model::Named(_)));
        for folder in ["./e5", "models/e5", "/models/e5", "."] {
            assert!(matches!(model(folder), Model::Folder(_)), "{folder}");
        }
    }
}
