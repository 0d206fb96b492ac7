//! What flags, environment and `trefoil.toml` say together.

use std::{
    collections::BTreeMap,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde::{Deserialize, Deserializer};
use trefoil::{
    Engine, EngineConfig, Error, Model, Profile, TokenModel, TokenVectors,
    cluster::StoreAt,
    index::KeywordConfig,
    memory::MemoryUpkeep,
    model::{ModelHome, Rerankers},
    search::RerankConfig,
};
use trefoil_postgres::PostgresConfig;
use trefoil_server::Limits;

use crate::{
    args::{GlobalArgs, KeywordBoost},
    console::Console,
    store::{Role, StoreTable},
};

/// Name of the settings file.
const FILE: &str = "trefoil.toml";
const DEFAULT_INDEX: &str = ".trefoil";

/// The word for English documents alone, in place of the file of a profile.
const ENGLISH: &str = "english";
/// The embedding model that it means.
const ENGLISH_MODEL: &str = "bge-small-en-v1.5";

/// Everything that a command needs to open an engine.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Directory of the index, if one was chosen.
    index: Option<PathBuf>,
    /// Where models are kept.
    pub(crate) home: ModelHome,
    /// Who is told what.
    pub(crate) console: Console,
    /// How the engine works.
    pub(crate) engine: EngineConfig,
    /// Where the rows of the index are.
    store: StoreTable,
    /// How `serve` works.
    pub(crate) server: ServerTable,
    /// The indexes that `serve` serves, by name; the one of every command if there are none.
    pub(crate) indexes: BTreeMap<String, PathBuf>,
}

/// `[server]` of the settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerTable {
    /// Where to listen.
    pub(crate) addr: Option<SocketAddr>,
    /// Names that the `Host` of a request may have.
    pub(crate) hosts: Vec<String>,
    /// The file of the tokens.
    tokens: Option<PathBuf>,
    /// Folders below which jobs of the server read files, besides what `serve` is given.
    pub(crate) roots: Vec<PathBuf>,
    /// How much is taken and given.
    pub(crate) limits: Limits,
}

/// `[indexes.NAME]` of the settings file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexTable {
    path: PathBuf,
}

impl Settings {
    /// Reads the settings file and puts the flags above it. What the environment says
    /// is in the flags already.
    pub(crate) fn read(args: &GlobalArgs, console: Console) -> anyhow::Result<Self> {
        if let [_, second, ..] = args.index.as_slice() {
            let allowed = "given once; `serve` alone takes several, as NAME=DIR";
            trefoil::Error::check_field(false, "--index", second.to_string_lossy(), allowed)?;
        }
        Self::read_with(args, args.index.first().cloned(), console)
    }

    /// The same for `serve`, where flags may name indexes; they take the place of those of the
    /// file, and the first is the one that paths are read into.
    pub(crate) fn read_to_serve(args: &GlobalArgs, console: Console) -> anyhow::Result<Self> {
        let named = named_indexes(&args.index)?;
        let Some((_, first)) = named.first() else { return Self::read(args, console) };
        let settings = Self::read_with(args, Some(first.clone()), console)?;
        Ok(Self { indexes: named.into_iter().collect(), ..settings })
    }

    fn read_with(
        args: &GlobalArgs,
        index: Option<PathBuf>,
        console: Console,
    ) -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("cannot tell the current directory")?;
        let file = SettingsFile::find(&here)?;
        let home = match args.home.clone().or(file.model_home) {
            Some(home) => ModelHome::at(std::path::absolute(&home).unwrap_or(home)),
            None => ModelHome::platform()?,
        };
        let flags = args.model.as_deref().map(model).or_else(|| english(args.profile.as_deref()));
        let embedder = flags.or(file.model).or_else(|| english(file.profile.as_deref()));
        let profile = args.profile.clone().or(file.profile).filter(|path| !is_english(path));
        let defaults = EngineConfig::default();
        let (rerankers, rerank) =
            rerankers(args.rerank_model.as_deref().map(model).or(file.rerank_model));
        Ok(Self {
            index: index.or(file.index),
            engine: EngineConfig {
                model: embedder.unwrap_or_default(),
                model_home: Some(home.root().to_owned()),
                token_vectors: args.token_vectors.or(file.token_vectors).unwrap_or_default(),
                token_model: token_model(
                    args.token_model.as_deref().map(model).or(file.token_model),
                ),
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
            console,
            store: StoreTable { url: args.store.clone().or(file.store.url), ..file.store },
            server: file.server,
            indexes: file.indexes.into_iter().map(|(name, table)| (name, table.path)).collect(),
        })
    }

    /// Directory of the index.
    pub(crate) fn index(&self) -> &Path {
        self.index.as_deref().unwrap_or(Path::new(DEFAULT_INDEX))
    }

    /// The database that holds the index.
    ///
    /// # Errors
    /// [`Error::InvalidField`] if none is named.
    pub(crate) fn database(&self) -> trefoil::Result<PostgresConfig> {
        self.store.config()?.ok_or_else(|| Error::InvalidField {
            field: "--store",
            value: "none".to_owned(),
            allowed: "the URL of a database, as in `postgres://db.example/app?index=notes`",
        })
    }

    /// The settings of the engine, with the store that it shares if it does. `role` is that of the
    /// command line.
    pub(crate) fn node(&self, role: Option<Role>) -> trefoil::Result<EngineConfig> {
        let mut store = self.store.store()?;
        if let (Some(role), StoreAt::Shared(shared)) = (role, &mut store) {
            role.apply(shared);
        }
        Ok(EngineConfig { store, ..self.engine.clone() })
    }

    /// Opens the index to write.
    pub(crate) fn open(&self) -> trefoil::Result<Engine> {
        Engine::open_with(self.index(), self.node(None)?)
    }

    /// Opens an index that is there to write.
    pub(crate) fn open_existing(&self) -> trefoil::Result<Engine> {
        if self.store.url.is_none() && !self.index().is_dir() {
            return Err(Error::IndexMissing { path: self.index().to_owned() });
        }
        self.open()
    }

    /// Opens the index to read, while another process may write to it. What other nodes have
    /// written by now is there, unless another process has the cache: then that one follows.
    pub(crate) fn open_to_read(&self) -> trefoil::Result<Engine> {
        let config = self.node(Some(Role::Searcher))?;
        if matches!(config.store, StoreAt::Shared(_)) {
            match Engine::open_with(self.index(), config) {
                Err(Error::Locked { .. }) => {}
                opened => return opened,
            }
        }
        Engine::open_read_only(self.index(), self.engine.clone())
    }

    /// The name that `serve` gives the index of every command.
    pub(crate) fn main_index(&self) -> &str {
        let index = self.index();
        let served = self.indexes.iter().find(|(_, dir)| *dir == index);
        served.map_or("main", |(name, _)| name)
    }

    /// The file of the tokens of `serve`: that of the settings, or one in the index.
    pub(crate) fn tokens(&self) -> PathBuf {
        self.server.tokens.clone().unwrap_or_else(|| self.index().join("tokens.toml"))
    }

    /// Directory of the index, where a command has another default.
    pub(crate) fn index_or(&self, default: PathBuf) -> PathBuf {
        self.index.clone().unwrap_or(default)
    }
}

/// The model of late interaction that is asked for.
fn token_model(asked: Option<Model>) -> TokenModel {
    match asked {
        Some(Model::None) => TokenModel::None,
        Some(Model::Named(name)) => TokenModel::Named(name),
        Some(Model::Folder(folder)) => TokenModel::Folder(folder),
        Some(Model::Default | Model::Custom(_) | Model::External { .. }) | None => {
            TokenModel::Default
        }
    }
}

/// Indexes as `NAME=DIR`, in order; none where one is given without a name.
fn named_indexes(given: &[PathBuf]) -> trefoil::Result<Vec<(String, PathBuf)>> {
    let mut named: Vec<(String, PathBuf)> = Vec::new();
    for index in given {
        let text = index.to_string_lossy();
        let Some((name, dir)) = text.split_once('=') else {
            let allowed = "NAME=DIR for each, where there are several";
            trefoil::Error::check_field(given.len() == 1, "--index", &text, allowed)?;
            return Ok(Vec::new());
        };
        let is_new = named.iter().all(|(other, at)| other != name && at != Path::new(dir));
        let allowed = "NAME=DIR with another name and another directory than those before";
        trefoil::Error::check_field(is_new && !dir.is_empty(), "--index", &text, allowed)?;
        named.push((name.to_owned(), PathBuf::from(dir)));
    }
    Ok(named)
}

/// A settings file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is not valid: {reason}", path.display())]
pub(crate) struct InvalidSettings {
    path: PathBuf,
    reason: String,
}

/// `trefoil.toml`. Paths in it are relative to the folder that it is in.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsFile {
    index: Option<PathBuf>,
    #[serde(default, deserialize_with = "by_name")]
    model: Option<Model>,
    #[serde(default, deserialize_with = "by_name")]
    rerank_model: Option<Model>,
    model_home: Option<PathBuf>,
    threads: Option<usize>,
    max_file_bytes: Option<u64>,
    privacy_globs: Option<Vec<String>>,
    profile: Option<PathBuf>,
    keyword: Option<KeywordConfig>,
    redact_documents: Option<bool>,
    token_vectors: Option<TokenVectors>,
    #[serde(default, deserialize_with = "by_name")]
    token_model: Option<Model>,
    #[serde(default)]
    store: StoreTable,
    #[serde(default)]
    server: ServerTable,
    #[serde(default)]
    indexes: BTreeMap<String, IndexTable>,
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
        let mut file: Self = toml::from_str(text).map_err(|error| InvalidSettings {
            path: path.to_owned(),
            reason: located(text, &error),
        })?;
        for path in [&mut file.index, &mut file.model_home] {
            *path = path.take().map(|path| folder.join(path));
        }
        let profile = file.profile.take();
        file.profile = profile.map(|path| if is_english(&path) { path } else { folder.join(path) });
        file.server.tokens = file.server.tokens.take().map(|path| folder.join(path));
        for root in &mut file.server.roots {
            *root = folder.join(&*root);
        }
        for index in file.indexes.values_mut() {
            index.path = folder.join(&index.path);
        }
        let models = [&mut file.model, &mut file.rerank_model, &mut file.token_model];
        for model in models.into_iter().flatten() {
            if let Model::Folder(path) = model {
                *path = folder.join(&*path);
            }
        }
        Ok(file)
    }
}

fn by_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Model>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.as_deref().map(model))
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
        Some(Model::Default | Model::Custom(_) | Model::External { .. }) | None => {
            (Rerankers::Default, rerank)
        }
    }
}

/// Whether a profile is the word and no file.
fn is_english(profile: &Path) -> bool {
    profile == Path::new(ENGLISH)
}

/// The embedding model of a profile that is a word.
fn english(profile: Option<&Path>) -> Option<Model> {
    profile.filter(|path| is_english(path)).map(|_| Model::Named(ENGLISH_MODEL.to_owned()))
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
        check("index = 'a'\nindices = 'b'", "line 2: unknown field `indices`");
        check("[server]\nport = 1", "line 2: unknown field `port`");
        check("[server.limits]\nbody = 1", "line 2: unknown field `body`");
        check("threads = 'two'", "line 1: invalid type");
        check("threads = ", "line 1: ");
    }

    #[test]
    fn indexes_are_named_by_flags_each_once() {
        let named =
            |given: &[&str]| named_indexes(&given.iter().map(PathBuf::from).collect::<Vec<_>>());
        let pair = |name: &str, dir: &str| (name.to_owned(), PathBuf::from(dir));
        assert_eq!(named(&[]).unwrap(), []);
        assert_eq!(named(&["notes.trefoil"]).unwrap(), []);
        let two = named(&["work=b", "notes=a=1"]).unwrap();
        assert_eq!(two, [pair("work", "b"), pair("notes", "a=1")]);
        for wrong in [&["a", "b"][..], &["n=a", "b"], &["n=a", "n=b"], &["n=a", "m=a"], &["n="]] {
            assert!(named(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_profile_is_a_word_or_a_file() {
        let profile = |text: &str| {
            let path = Path::new("/a/trefoil.toml");
            SettingsFile::parse(text, path, Path::new("/a")).unwrap().profile.unwrap()
        };
        assert!(is_english(&profile("profile = 'english'")));
        assert_eq!(profile("profile = 'mine.toml'"), Path::new("/a/mine.toml"));
        let word = english(Some(Path::new("english")));
        assert!(matches!(word, Some(Model::Named(name)) if name == ENGLISH_MODEL));
        assert!(english(Some(Path::new("english.toml"))).is_none() && english(None).is_none());
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
