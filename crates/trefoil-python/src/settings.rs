//! How an engine is opened, and what is asked about models.

use std::{ops::ControlFlow, path::PathBuf, sync::Mutex};

use pyo3::{PyResult, Python};
use serde::{Deserialize, Serialize};
use trefoil::{
    EngineConfig, Error, Model, Profile, TokenModel, TokenVectors,
    memory::MemoryUpkeep,
    model::{ModelHome, PullOptions, PullProgress},
};

use crate::{failure::Failure, long_call::Reporter};

/// How an engine is opened.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) path: PathBuf,
    #[serde(default)]
    pub(crate) read_only: bool,
    /// Whether the vectors are made again where they are of another model.
    #[serde(default)]
    pub(crate) reindex: bool,
    #[serde(default)]
    model: ModelSettings,
    threads: Option<usize>,
    profile: Option<PathBuf>,
    home: Option<PathBuf>,
    #[serde(default = "yes")]
    learn: bool,
    token_vectors: Option<TokenVectors>,
    #[serde(default)]
    token_model: TokenModelSettings,
    /// The URL of the store that several nodes share, and what this one does.
    store: Option<String>,
    #[serde(default = "auto")]
    role: String,
    /// The name of a reranker that is written in Python.
    pub(crate) reranker: Option<String>,
}

const fn yes() -> bool {
    true
}

fn auto() -> String {
    "auto".to_owned()
}

/// The model of an engine.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum ModelSettings {
    #[default]
    Default,
    None,
    Named(String),
    Folder(PathBuf),
    External {
        name: String,
        dimensions: usize,
    },
    Python(EmbedderSettings),
}

/// The model of late interaction of an engine.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum TokenModelSettings {
    #[default]
    Default,
    None,
    Named(String),
    Folder(PathBuf),
}

impl From<&TokenModelSettings> for TokenModel {
    fn from(settings: &TokenModelSettings) -> Self {
        match settings {
            TokenModelSettings::Default => Self::Default,
            TokenModelSettings::None => Self::None,
            TokenModelSettings::Named(name) => Self::Named(name.clone()),
            TokenModelSettings::Folder(folder) => Self::Folder(folder.clone()),
        }
    }
}

/// An embedder that is written in Python.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EmbedderSettings {
    pub(crate) name: String,
    pub(crate) dimensions: usize,
    pub(crate) thread_safe: bool,
    pub(crate) cosine_range: (f32, f32),
}

impl Settings {
    pub(crate) fn read(json: &[u8]) -> Result<Self, Failure> {
        Ok(serde_json::from_slice(json)?)
    }

    /// The embedder of Python that is to be called, if one is.
    pub(crate) fn embedder(&self) -> Result<Option<EmbedderSettings>, Failure> {
        let ModelSettings::Python(settings) = &self.model else { return Ok(None) };
        Error::check_range(settings.dimensions, 1..=65_536, "model.dimensions", "1–65,536")?;
        Ok(Some(settings.clone()))
    }

    /// The configuration of the engine, without what is written in Python.
    pub(crate) fn config(&self) -> Result<EngineConfig, Failure> {
        let defaults = EngineConfig::default();
        let store = self.store.as_ref().map(|url| trefoil_cli::shared_store(url, &self.role));
        Ok(EngineConfig {
            store: store.transpose()?.unwrap_or_default(),
            model: match &self.model {
                ModelSettings::Default => Model::Default,
                ModelSettings::None | ModelSettings::Python(_) => Model::None,
                ModelSettings::Named(name) => Model::Named(name.clone()),
                ModelSettings::Folder(folder) => Model::Folder(folder.clone()),
                ModelSettings::External { name, dimensions } => {
                    Model::External { name: name.clone(), dimensions: *dimensions }
                }
            },
            model_home: self.home.clone(),
            threads: self.threads,
            token_vectors: self.token_vectors.unwrap_or_default(),
            token_model: (&self.token_model).into(),
            profile: self.profile.as_ref().map(Profile::read).transpose()?,
            memory: if self.learn { defaults.memory } else { MemoryUpkeep::ASKED_FOR },
            ..defaults
        })
    }
}

/// What is asked about models.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ModelsAsked {
    home: Option<PathBuf>,
    /// The models to fetch, the default ones if none is named; nothing to list them.
    pull: Option<Vec<String>>,
    #[serde(default)]
    offline: bool,
}

/// Reads what is asked about models.
pub(crate) fn models(json: &[u8]) -> PyResult<ModelsAsked> {
    let asked = serde_json::from_slice(json).map_err(Failure::from);
    asked.map_err(|failure| Python::attach(|py| failure.into_exception(py)))
}

/// What is known of a model.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelInfo {
    name: String,
    /// `runtime`, `embedder`, `reranker`, `late-interaction` or `dictionary`.
    role: String,
    version: String,
    license: String,
    languages: Vec<String>,
    /// Bytes on disk once it is there.
    size: u64,
    /// Whether every file is there with the right size.
    present: bool,
    /// Where it is or would be.
    path: String,
}

impl ModelsAsked {
    /// Fetches what is to be fetched, and lists what there is.
    pub(crate) fn answer(self, reporter: &Reporter) -> Result<Vec<u8>, Failure> {
        let home = self.home.map_or_else(ModelHome::platform, |home| Ok(ModelHome::at(home)))?;
        if let Some(names) = &self.pull {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let progress = Pulled { reporter, step: Mutex::default() };
            home.pull(&names, &progress, PullOptions { offline: self.offline })?;
        }
        let listed = home.list()?.into_iter().map(|model| ModelInfo {
            name: model.name().to_owned(),
            role: model.role().name().to_owned(),
            version: model.version.clone(),
            license: model.card.license.clone(),
            languages: model.card.languages.clone(),
            size: model.size,
            present: model.present,
            path: model.path.display().to_string(),
        });
        Ok(serde_json::to_vec(&listed.collect::<Vec<_>>())?)
    }
}

/// How far a pull is, of one step after the other. It is not ended within a step.
struct Pulled<'r> {
    reporter: &'r Reporter,
    step: Mutex<(u64, u64)>,
}

impl PullProgress for Pulled<'_> {
    fn begin(&self, _: &str, bytes: u64) {
        self.tell(|step| *step = (0, bytes));
    }

    fn advance(&self, bytes: u64) {
        self.tell(|step| step.0 += bytes);
    }
}

impl Pulled<'_> {
    fn tell(&self, change: impl FnOnce(&mut (u64, u64))) {
        let mut step = self.step.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        change(&mut step);
        let (done, total) = *step;
        drop(step);
        match self.reporter.tell(done, total) {
            ControlFlow::Continue(()) | ControlFlow::Break(()) => {}
        }
    }
}
