//! One collection of rows: its indexes, which follow the store's change log, and its legs.
//! Documents and memory are two of these; all of recovery is here, once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trefoil_core::{Collection, Degraded, IndexInput, Indexer, Result, Retriever, Strategy};
use trefoil_store::Store;

use crate::{
    leaves::Leaves,
    replay::{lags, replay},
};

/// Write halves of the legs of one collection.
pub(crate) type Indexers = Vec<Box<dyn Indexer>>;

/// The indexes of one collection.
#[derive(Debug)]
pub(crate) struct Indexed {
    collection: Collection,
    /// None when read-only.
    pub(crate) indexers: Option<Mutex<Indexers>>,
    pub(crate) retrievers: Vec<Arc<dyn Retriever>>,
    /// Legs that cannot run, and why.
    pub(crate) absent: Vec<Degraded>,
}

impl Indexed {
    pub(crate) fn new(collection: Collection, leaves: Leaves, write: bool) -> Self {
        Self {
            collection,
            indexers: write.then_some(Mutex::new(leaves.indexers)),
            retrievers: leaves.retrievers,
            absent: leaves.absent,
        }
    }

    /// The read half of a leg.
    pub(crate) fn leg(&self, strategy: Strategy) -> Option<&dyn Retriever> {
        let leg = self.retrievers.iter().find(|one| one.strategy() == strategy);
        leg.map(AsRef::as_ref)
    }

    /// Brings the indexes that are wanted to the end of the change log; nothing to do when
    /// read-only.
    pub(crate) fn replay(&self, store: &Store, wanted: impl Fn(IndexInput) -> bool) -> Result<()> {
        for indexer in self.locked().iter_mut().flat_map(|indexers| indexers.iter_mut()) {
            if wanted(indexer.input()) {
                replay(store, self.collection, indexer.as_mut())?;
            }
        }
        Ok(())
    }

    /// Forgets what is indexed, as the first step of a rebuild.
    pub(crate) fn clear(&self) -> Result<()> {
        self.each_indexer(|indexer| indexer.clear())
    }

    /// Writes every index anew, without what was removed.
    pub(crate) fn compact(&self) -> Result<()> {
        self.each_indexer(|indexer| indexer.compact())
    }

    /// Shows the newest commits to the legs, and tells which of them are behind the store.
    pub(crate) fn refresh(&self, store: &Store) -> Result<Vec<Degraded>> {
        let mut lagging = Vec::new();
        for retriever in &self.retrievers {
            let reached = retriever.refresh()?;
            if lags(store, self.collection, retriever.input(), reached)? {
                lagging.push(Degraded {
                    stage: retriever.strategy().into(),
                    reason:
                        "the index is behind the store; run `trefoil index` to bring it up to date"
                            .to_owned(),
                });
            }
        }
        Ok(lagging)
    }

    fn each_indexer(&self, work: impl Fn(&mut dyn Indexer) -> Result<()>) -> Result<()> {
        let mut indexers = self.locked();
        indexers.iter_mut().flat_map(|all| all.iter_mut()).try_for_each(|one| work(one.as_mut()))
    }

    fn locked(&self) -> Option<MutexGuard<'_, Indexers>> {
        let indexers = self.indexers.as_ref();
        indexers.map(|indexers| indexers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
