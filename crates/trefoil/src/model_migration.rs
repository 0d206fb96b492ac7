//! A change of model beside the index: the vectors of another model are made while those in
//! use go on answering, and take their place in one transaction (decision 009).

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use trefoil_core::{
    Collection, Degraded, Embedder, Error, IndexEntry, IndexInput, Indexer, Result, Role, RowId,
};
use trefoil_store::{ModelMigration, Store, Unembedded};

use crate::{
    EngineConfig, Model,
    background::catch_panics,
    default_set::stage_fed_by,
    embed::{BATCH, EMBEDDER, text_of},
    engine::{Inner, vectors_are_of},
    leaves::{self, OpenIndexes},
    models,
    replay::entries_with,
};

/// Rows whose vectors are put into an index at a time: bounds memory.
const PAGE: usize = 2_048;

/// Vectors that are being made, and what makes them.
#[derive(Debug)]
pub(crate) struct Migration {
    model_migration: ModelMigration,
    embedder: Arc<dyn Embedder>,
    /// The last row that was looked at: what could not be embedded is not tried again.
    after: Mutex<RowId>,
    /// Texts that are yet to be embedded.
    left: AtomicUsize,
}

/// What to do with vectors of another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnMismatch {
    Refuse,
    /// Make vectors of the configured model beside them.
    Migrate,
}

/// What answers questions by meaning, and what is being made to take its place.
#[derive(Debug, Default)]
pub(crate) struct ActiveModel {
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) migration: Option<Arc<Migration>>,
}

impl ActiveModel {
    /// Vectors of two models do not compare: the first that is used is the index's, until
    /// another was made to take its place.
    ///
    /// # Errors
    /// [`Error::ModelMismatch`] if the vectors are of another model and `other` refuses, or if
    /// [`EngineConfig::model_before`] is not the model in use either.
    pub(crate) fn agreed(
        store: &Store,
        embedder: Option<Arc<dyn Embedder>>,
        config: &EngineConfig,
        write: bool,
        other: OnMismatch,
    ) -> Result<Self> {
        let Some(embedder) = embedder else { return Ok(Self::default()) };
        let expected = vectors_are_of(embedder.space());
        match store.fingerprint()? {
            Some(found) if found != expected => {
                let begun = store.model_migration()?.is_some_and(|one| one.fingerprint == expected);
                if !write || (other == OnMismatch::Refuse && !begun) {
                    return Err(Error::ModelMismatch { expected, found });
                }
                let model_migration = store.begin_model_migration(&expected)?;
                let left = store.count_unembedded(&model_migration.fingerprint)?.into();
                let after = Mutex::new(RowId::new(0));
                Ok(Self {
                    embedder: embedder_before(config, found)?,
                    migration: Some(Arc::new(Migration { model_migration, embedder, after, left })),
                })
            }
            found => {
                if other == OnMismatch::Migrate && store.model_migration()?.is_some() {
                    store.abandon_model_migration()?;
                }
                if write && found.is_none() {
                    store.set_fingerprint(&expected)?;
                }
                Ok(Self { embedder: Some(embedder), migration: None })
            }
        }
    }

    /// No vectors where nothing embeds a question, and why.
    pub(crate) fn no_vectors(&self) -> OpenIndexes {
        let reason = match &self.migration {
            Some(_) => {
                "its vectors are being made for another model, and the model before was not given"
            }
            None => "no model; run `trefoil models pull`",
        };
        let absent =
            Degraded { stage: stage_fed_by(IndexInput::Vector), reason: reason.to_owned() };
        OpenIndexes { absent: vec![absent], ..OpenIndexes::default() }
    }
}

fn embedder_before(config: &EngineConfig, found: String) -> Result<Option<Arc<dyn Embedder>>> {
    let before = EngineConfig { model: config.model_before.clone(), ..config.clone() };
    if matches!(before.model, Model::None) {
        return Ok(None);
    }
    let Some(embedder) = models::models(&before)?.embedder else { return Ok(None) };
    let expected = vectors_are_of(embedder.space());
    if expected == found {
        Ok(Some(embedder))
    } else {
        Err(Error::ModelMismatch { expected, found })
    }
}

impl Inner {
    /// Texts that are yet to be embedded for a migration.
    pub(crate) fn left_to_migrate(&self) -> usize {
        self.active_model().migration.as_ref().map_or(0, |one| one.left.load(Ordering::Relaxed))
    }

    /// Embeds the next texts for a migration, or puts it in place if there are none. False if
    /// there is no migration.
    pub(crate) fn migrate_further(&self) -> Result<bool> {
        let migration = self.active_model().migration.clone();
        let Some(migration) = migration else { return Ok(false) };
        let Migration { model_migration, after, left, .. } = migration.as_ref();
        let last = *after.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = self.store.unembedded(&model_migration.fingerprint, last, BATCH)?;
        let Some(end) = texts.last().map(|text| text.row) else {
            self.put_in_place(&migration)?;
            return Ok(true);
        };
        let embedded = migration.embed(&texts)?;
        self.store.put_embeddings_in(&model_migration.fingerprint, &embedded)?;
        self.embedded.fetch_add(embedded.len(), Ordering::Relaxed);
        left.fetch_sub(texts.len().min(left.load(Ordering::Relaxed)), Ordering::Relaxed);
        *after.lock().unwrap_or_else(PoisonError::into_inner) = end;
        Ok(true)
    }

    /// Makes the indexes of the migration and switches to them.
    fn put_in_place(&self, migration: &Migration) -> Result<()> {
        let Migration { model_migration, embedder, .. } = migration;
        let mut made = Vec::new();
        for collection in Collection::ALL {
            let folder = leaves::vector_folder(collection, model_migration.generation);
            remove(&self.dir.join(folder))?;
            let number = model_migration.generation;
            let mut leaves = leaves::vectors(&self.dir, collection, number, embedder, true)?;
            for indexer in &mut leaves.indexers {
                fill(&self.store, collection, model_migration, indexer.as_mut())?;
            }
            made.push((collection, leaves));
        }
        {
            // No search sees the one without the other.
            let _shown = self.read_view.write().unwrap_or_else(PoisonError::into_inner);
            self.store.finish_model_migration(model_migration)?;
            for (collection, leaves) in made {
                self.indexed(collection).replace(leaves);
            }
            let active_model =
                ActiveModel { embedder: Some(Arc::clone(embedder)), migration: None };
            self.serve(active_model, model_migration.generation);
        }
        self.remove_other_vectors()?;
        self.replay_all()
    }

    /// Removes the folders of vectors that are not in use: of a model before, and of a
    /// migration that was not complete.
    pub(crate) fn remove_other_vectors(&self) -> Result<()> {
        let used = self.store.vectors_generation()?;
        for collection in Collection::ALL {
            let folder = self.dir.join(collection.name());
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let number = name.to_str().and_then(leaves::generation_of);
                if number.is_some_and(|number| number != used) {
                    remove(&entry.path())?;
                }
            }
        }
        Ok(())
    }
}

impl Migration {
    /// The embeddings of texts, by hash. One that cannot be embedded must not hold up the
    /// others: a job tries it again once the migration is in use.
    fn embed(&self, texts: &[Unembedded]) -> Result<Vec<(String, Vec<f32>)>> {
        let sources: Vec<_> = texts.iter().map(|text| text_of(&text.source)).collect();
        let all: Vec<&str> = sources.iter().map(AsRef::as_ref).collect();
        let hashes = texts.iter().map(|text| text.hash.clone());
        match catch_panics(EMBEDDER, || self.embedder.embed_checked(Role::Passage, &all)) {
            Ok(vectors) => {
                let vectors = vectors.rows().into_iter().map(|vector| vector.to_vec());
                Ok(hashes.zip(vectors).collect())
            }
            Err(
                Error::EmbeddingFailed { .. }
                | Error::EmbeddingShape { .. }
                | Error::Panicked { .. },
            ) => {
                let alone = |text: &&str| {
                    catch_panics(EMBEDDER, || self.embedder.embed_checked(Role::Passage, &[text]))
                };
                let embedded = hashes.zip(all.iter().map(alone));
                let done = embedded
                    .filter_map(|(hash, vectors)| Some((hash, vectors.ok()?.row(0).to_vec())));
                Ok(done.collect())
            }
            Err(error) => Err(error),
        }
    }
}

/// Puts what is cached for a migration into an index of it.
fn fill(
    store: &Store,
    collection: Collection,
    model_migration: &ModelMigration,
    indexer: &mut dyn Indexer,
) -> Result<()> {
    // What is logged from here on is replayed when the index is in use.
    let reached = store.seq()?;
    let mut after = RowId::new(0);
    loop {
        let page = store.embeddings_in(&model_migration.fingerprint, collection, after, PAGE)?;
        let Some(&(last, _)) = page.last() else { break };
        let entries: Vec<IndexEntry> = entries_with(store, collection, page)?;
        indexer.add(&entries)?;
        after = last;
    }
    indexer.commit(reached)
}

fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", folder, error))
        }
        _ => Ok(()),
    }
}
