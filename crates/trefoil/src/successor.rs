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
    Collection, Degraded, Embedder, Error, IndexEntry, Indexer, Result, Role, RowId, Stage,
};
use trefoil_store::{Store, Successor, Unembedded};

use crate::{
    EngineConfig, Model,
    background::caught,
    embed::{BATCH, EMBEDDER, text_of},
    engine::{Inner, vectors_are_of},
    leaves::{self, Leaves},
    models,
    replay::entries_with,
};

/// Rows whose vectors are put into an index at a time: bounds memory.
const PAGE: usize = 2_048;

/// Vectors that are being made, and what makes them.
#[derive(Debug)]
pub(crate) struct Succession {
    successor: Successor,
    embedder: Arc<dyn Embedder>,
    /// The last row that was looked at: what could not be embedded is not tried again.
    after: Mutex<RowId>,
    /// Texts that are yet to be embedded.
    left: AtomicUsize,
}

/// What to do with vectors of another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherModel {
    Refuse,
    /// Make vectors of the configured model beside them.
    Succeed,
}

/// What answers questions by meaning, and what is being made to take its place.
#[derive(Debug, Default)]
pub(crate) struct Serving {
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) succession: Option<Arc<Succession>>,
}

impl Serving {
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
        other: OtherModel,
    ) -> Result<Self> {
        let Some(embedder) = embedder else { return Ok(Self::default()) };
        let expected = vectors_are_of(embedder.space());
        match store.fingerprint()? {
            Some(found) if found != expected => {
                let begun = store.successor()?.is_some_and(|one| one.fingerprint == expected);
                if !write || (other == OtherModel::Refuse && !begun) {
                    return Err(Error::ModelMismatch { expected, found });
                }
                let successor = store.begin_successor(&expected)?;
                let left = store.count_unembedded(&successor.fingerprint)?.into();
                let after = Mutex::new(RowId::new(0));
                Ok(Self {
                    embedder: embedder_before(config, found)?,
                    succession: Some(Arc::new(Succession { successor, embedder, after, left })),
                })
            }
            found => {
                if other == OtherModel::Succeed && store.successor()?.is_some() {
                    store.give_up_successor()?;
                }
                if write && found.is_none() {
                    store.set_fingerprint(&expected)?;
                }
                Ok(Self { embedder: Some(embedder), succession: None })
            }
        }
    }

    /// No vectors where nothing embeds a question, and why.
    pub(crate) fn no_vectors(&self) -> Leaves {
        let reason = match &self.succession {
            Some(_) => {
                "its vectors are being made for another model, and the model before was not given"
            }
            None => "no model; run `trefoil models pull`",
        };
        let absent = Degraded { stage: Stage::Semantic, reason: reason.to_owned() };
        Leaves { absent: vec![absent], ..Leaves::default() }
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
    /// Texts that are yet to be embedded for a successor.
    pub(crate) fn left_to_succeed(&self) -> usize {
        self.serving().succession.as_ref().map_or(0, |one| one.left.load(Ordering::Relaxed))
    }

    /// Embeds the next texts for a successor, or puts it in place if there are none. False if
    /// there is no successor.
    pub(crate) fn succeed_further(&self) -> Result<bool> {
        let succession = self.serving().succession.clone();
        let Some(succession) = succession else { return Ok(false) };
        let Succession { successor, after, left, .. } = succession.as_ref();
        let last = *after.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = self.store.unembedded(&successor.fingerprint, last, BATCH)?;
        let Some(end) = texts.last().map(|text| text.row) else {
            self.put_in_place(&succession)?;
            return Ok(true);
        };
        let embedded = succession.embed(&texts)?;
        self.store.put_embeddings_in(&successor.fingerprint, &embedded)?;
        self.embedded.fetch_add(embedded.len(), Ordering::Relaxed);
        left.fetch_sub(texts.len().min(left.load(Ordering::Relaxed)), Ordering::Relaxed);
        *after.lock().unwrap_or_else(PoisonError::into_inner) = end;
        Ok(true)
    }

    /// Makes the indexes of the successor and switches to them.
    fn put_in_place(&self, succession: &Succession) -> Result<()> {
        let Succession { successor, embedder, .. } = succession;
        let mut made = Vec::new();
        for collection in Collection::ALL {
            let folder = leaves::vector_folder(collection, successor.generation);
            remove(&self.dir.join(folder))?;
            let number = successor.generation;
            let mut leaves = leaves::vectors(&self.dir, collection, number, embedder, true)?;
            for indexer in &mut leaves.indexers {
                fill(&self.store, collection, successor, indexer.as_mut())?;
            }
            made.push((collection, leaves));
        }
        {
            // No search sees the one without the other.
            let _shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
            self.store.succeed(successor)?;
            for (collection, leaves) in made {
                self.indexed(collection).replace(leaves);
            }
            let serving = Serving { embedder: Some(Arc::clone(embedder)), succession: None };
            self.serve(serving, successor.generation);
        }
        self.remove_other_vectors()?;
        self.replay_all()
    }

    /// Removes the folders of vectors that are not in use: of a model before, and of a
    /// successor that was not complete.
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

impl Succession {
    /// The embeddings of texts, by hash. One that cannot be embedded must not hold up the
    /// others: a job tries it again once the successor is in use.
    fn embed(&self, texts: &[Unembedded]) -> Result<Vec<(String, Vec<f32>)>> {
        let sources: Vec<_> = texts.iter().map(|text| text_of(&text.source)).collect();
        let all: Vec<&str> = sources.iter().map(AsRef::as_ref).collect();
        let hashes = texts.iter().map(|text| text.hash.clone());
        match caught(EMBEDDER, || self.embedder.embed(Role::Passage, &all)) {
            Ok(vectors) => Ok(hashes.zip(vectors).collect()),
            Err(Error::EmbeddingFailed { .. } | Error::Panicked { .. }) => {
                let alone =
                    |text: &&str| caught(EMBEDDER, || self.embedder.embed(Role::Passage, &[text]));
                let embedded = hashes.zip(all.iter().map(alone));
                let done = embedded
                    .filter_map(|(hash, vectors)| vectors.ok()?.pop().map(|vector| (hash, vector)));
                Ok(done.collect())
            }
            Err(error) => Err(error),
        }
    }
}

/// Puts what is cached for a successor into an index of it.
fn fill(
    store: &Store,
    collection: Collection,
    successor: &Successor,
    indexer: &mut dyn Indexer,
) -> Result<()> {
    // What is logged from here on is replayed when the index is in use.
    let reached = store.seq()?;
    let mut after = RowId::new(0);
    loop {
        let page = store.embeddings_in(&successor.fingerprint, collection, after, PAGE)?;
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
