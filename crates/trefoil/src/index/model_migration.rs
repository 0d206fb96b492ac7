//! A change of model without downtime: the vectors of another model are made while those in
//! use go on answering, and take their place in one transaction (decision 009).

use std::{
    path::Path,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use trefoil_core::{Collection, Error, IndexEntry, Indexer, Result, RowId, merge_all};
use trefoil_store::{ModelMigration, Store};

use crate::{
    index::{
        active_model::{ActiveModel, Migration},
        embedding::BATCH,
        open,
        read_view::ReadView,
        replay::entries_with,
    },
    layout,
    state::State,
};

/// Rows whose vectors are put into an index at a time: bounds memory.
const PAGE: usize = 2_048;

impl State {
    /// Embeds the next texts for a migration, or puts it in place if there are none. False if
    /// there is no migration.
    pub(crate) fn migrate_further(&self, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let migration = self.active_model().migration.clone();
        let Some(migration) = migration else { return Ok(false) };
        let Migration { target, after, left, .. } = migration.as_ref();
        let last = *after.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = self.store.unembedded(&target.fingerprint, last, BATCH)?;
        let Some(end) = texts.last().map(|text| text.row) else {
            self.put_in_place(&migration, is_stopped)?;
            return Ok(true);
        };
        let embedded = migration.embed(&texts)?;
        self.store.put_embeddings_in(&target.fingerprint, &embedded)?;
        self.embedded.fetch_add(embedded.len(), Ordering::Relaxed);
        left.fetch_sub(texts.len().min(left.load(Ordering::Relaxed)), Ordering::Relaxed);
        *after.lock().unwrap_or_else(PoisonError::into_inner) = end;
        Ok(true)
    }

    /// Makes the indexes of the migration and switches to them, unless it is stopped before.
    fn put_in_place(
        &self,
        migration: &Migration,
        is_stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let Migration { target, embedder, .. } = migration;
        let mut made = Vec::new();
        for collection in Collection::ALL {
            let folder = layout::vector_folder(collection, target.generation);
            remove(&self.dir.join(folder))?;
            let number = target.generation;
            let mut opened =
                open::vectors(&self.dir, collection, number, embedder, &self.config, true)?;
            for indexer in &mut opened.indexers {
                fill(&self.store, collection, target, indexer.as_mut())?;
                // As fast as those before it, when it takes their place.
                if !merge_all(indexer.as_mut(), is_stopped)? {
                    return Ok(());
                }
            }
            made.push((collection, opened));
        }
        // No search sees the one without the other.
        self.update_view(|shown| {
            self.store.finish_model_migration(target)?;
            self.store.keep_tokens(migration.tokens.as_ref())?;
            let mut next = shown.clone();
            for (collection, opened) in made {
                next.collection_mut(collection).replace(&opened);
                self.indexed(collection).replace(opened.indexers);
            }
            let embedder = Some(Arc::clone(embedder));
            self.activate(ActiveModel { embedder: embedder.clone(), migration: None });
            Ok(Some(ReadView { embedder, generation: target.generation, ..next }))
        })?;
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
                let number = name.to_str().and_then(layout::generation_of);
                if number.is_some_and(|number| number != used) {
                    remove(&entry.path())?;
                }
            }
        }
        Ok(())
    }
}

/// Puts what is cached for a migration into an index of it.
fn fill(
    store: &Store,
    collection: Collection,
    target: &ModelMigration,
    indexer: &mut dyn Indexer,
) -> Result<()> {
    // What is logged from here on is replayed when the index is in use.
    let reached = store.seq()?;
    let mut after = RowId::new(0);
    loop {
        let page = store.embeddings_in(&target.fingerprint, collection, after, PAGE)?;
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
