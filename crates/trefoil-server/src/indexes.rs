//! The indexes that are served.

use std::sync::{Arc, PoisonError, RwLock};

use trefoil::{Engine, Error};
use trefoil_memory::Memory;

use crate::{
    auth::Grant,
    problem::Problem,
    settings::{IndexSettings, ServerSettings},
};

/// An index that is open.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) engine: Arc<Engine>,
    pub(crate) memory: Arc<Memory>,
}

impl From<Engine> for Opened {
    fn from(engine: Engine) -> Self {
        let engine = Arc::new(engine);
        let memory = Arc::new(Memory::new(Arc::clone(&engine)));
        Self { engine, memory }
    }
}

/// An index, and whether it is open.
#[derive(Clone, Debug)]
struct Index {
    settings: IndexSettings,
    /// Nothing if it could not be opened; the log says why.
    opened: Option<Opened>,
}

impl Index {
    /// Opens it; one that fails says why to the log.
    fn open(settings: &IndexSettings, read_only: bool) -> Self {
        let IndexSettings { name, dir, engine } = settings;
        let opened = if read_only {
            Engine::open_read_only(dir, engine.clone())
        } else {
            Engine::open_with(dir, engine.clone())
        };
        let opened = opened.map(Opened::from).map_err(|error| {
            tracing::error!(index = name, "the index is not served: {}", error.chain());
        });
        Self { settings: settings.clone(), opened: opened.ok() }
    }
}

/// Every index, in the order of the settings.
#[derive(Debug)]
pub(crate) struct Indexes(RwLock<Vec<Index>>);

impl Indexes {
    /// Opens all of them. One that fails does not keep the others from being served.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] for a name that is none, or is there twice, and without any index.
    pub(crate) fn open(settings: &ServerSettings) -> Result<Self, Error> {
        check(&settings.indexes)?;
        let open = |index| Index::open(index, settings.read_only);
        Ok(Self(RwLock::new(settings.indexes.iter().map(open).collect())))
    }

    /// Opens those that are new, tries again those that are not open, and closes those that are
    /// not in the settings any more. The names of all that changed.
    ///
    /// # Errors
    /// As [`Self::open`]; then nothing has changed.
    pub(crate) fn reload(&self, settings: &ServerSettings) -> Result<Vec<String>, Error> {
        check(&settings.indexes)?;
        let before = self.all();
        let is_same = |index: &&Index, wanted: &IndexSettings| {
            index.settings.name == wanted.name && index.settings.dir == wanted.dir
        };
        let mut changed = Vec::new();
        let mut after = Vec::new();
        for wanted in &settings.indexes {
            let known =
                before.iter().find(|index| is_same(index, wanted) && index.opened.is_some());
            let index = known.cloned().unwrap_or_else(|| Index::open(wanted, settings.read_only));
            if known.is_none() && index.opened.is_some() {
                changed.push(wanted.name.clone());
            }
            after.push(index);
        }
        let gone = before.iter().filter(|index| {
            settings.indexes.iter().all(|wanted| wanted.name != index.settings.name)
        });
        changed.extend(gone.map(|index| index.settings.name.clone()));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = after;
        Ok(changed)
    }

    fn all(&self) -> Vec<Index> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The index of this name, or the only one that a grant sees.
    fn named(&self, name: Option<&str>, grant: &Grant) -> Result<Index, Problem> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut seen = all.iter().filter(|index| grant.sees(&index.settings.name));
        let found = if let Some(name) = name {
            seen.find(|index| index.settings.name == name)
        } else {
            let first = seen.next();
            if first.is_some() && seen.next().is_some() {
                let allowed = "the name of one of `/v1/indexes`";
                return Err(Problem::parameter("index", "", allowed));
            }
            first
        };
        found.cloned().ok_or_else(Problem::not_found)
    }

    /// The index of this name, or the only one that a grant sees, if it is open.
    pub(crate) fn find(&self, name: Option<&str>, grant: &Grant) -> Result<Opened, Problem> {
        self.named(name, grant)?.opened.ok_or_else(|| {
            Problem::own("not_ready", "the index is not open; the log of the server says why")
        })
    }

    /// The settings of the same, open or not.
    pub(crate) fn settings(
        &self,
        name: Option<&str>,
        grant: &Grant,
    ) -> Result<IndexSettings, Problem> {
        Ok(self.named(name, grant)?.settings)
    }

    /// Every index that a grant sees, and what is open of it.
    pub(crate) fn seen_by(&self, grant: &Grant) -> Vec<(String, Option<Opened>)> {
        let seen = self.all().into_iter().filter(|index| grant.sees(&index.settings.name));
        seen.map(|index| (index.settings.name, index.opened)).collect()
    }

    /// Whether at least one is open.
    pub(crate) fn any_is_open(&self) -> bool {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|index| index.opened.is_some())
    }

    /// Rebuilds an index from what is stored, while it goes on answering. One that could not be
    /// opened, such as one with vectors of another model, is opened by it.
    pub(crate) fn reindex(&self, name: &str) -> Result<Opened, Problem> {
        let Index { settings, opened } = self.named(Some(name), &Grant::everything())?;
        if let Some(opened) = opened {
            opened.engine.rebuild()?;
            return Ok(opened);
        }
        let opened = Opened::from(Engine::reindex(&settings.dir, settings.engine)?);
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = all.iter_mut().find(|index| index.settings.name == name) {
            index.opened = Some(opened.clone());
        }
        Ok(opened)
    }
}

fn check(indexes: &[IndexSettings]) -> Result<(), Error> {
    Error::check_config(!indexes.is_empty(), "indexes", "none", "at least one index")?;
    for (place, IndexSettings { name, .. }) in indexes.iter().enumerate() {
        let is_name = (1..=64).contains(&name.len())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c));
        let is_new = indexes.iter().take(place).all(|other| other.name != *name);
        let allowed = "1–64 of a–z, 0–9, `_` and `-`, each name once";
        Error::check_config(is_name && is_new, "indexes", name, allowed)?;
    }
    Ok(())
}
