//! One collection of rows: its indexes, which follow the store's change log, and its retrievers.
//! Documents and memory are two of these; all of recovery is here, once.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard},
};

use trefoil_core::{
    Collection, Degraded, IndexInput, Indexer, Question, Result, Retriever, RetrieverId, RowSet,
    Seq, Stage, TermCoverage,
};
use trefoil_store::Store;

use crate::index::{
    open::OpenIndexes,
    replay::{lags, replay},
};

/// Write halves of the retrievers of one collection.
pub(crate) type Indexers = Vec<Box<dyn Indexer>>;

/// The indexes of one collection.
#[derive(Debug)]
pub(crate) struct Indexed {
    collection: Collection,
    /// None when read-only.
    pub(crate) indexers: Option<Mutex<Indexers>>,
    read: RwLock<ReadHalves>,
    /// Indexes that held more than the store: it has lost what was written last.
    lost: Vec<Degraded>,
    /// The commit that each retriever showed when it was last compared with the log and had
    /// nothing to be given, and the change up to which it was compared.
    compared: Mutex<BTreeMap<RetrieverId, (Seq, Seq)>>,
}

/// What is asked of a collection.
#[derive(Debug)]
struct ReadHalves {
    retrievers: Vec<Arc<dyn Retriever>>,
    /// Retrievers that cannot run, and why.
    absent: Vec<Degraded>,
}

impl Indexed {
    pub(crate) fn new(
        collection: Collection,
        opened: OpenIndexes,
        store: &Store,
        write: bool,
    ) -> Result<Self> {
        Ok(Self {
            collection,
            lost: losses(store, &opened.indexers)?,
            indexers: write.then_some(Mutex::new(opened.indexers)),
            read: RwLock::new(ReadHalves { retrievers: opened.retrievers, absent: opened.absent }),
            compared: Mutex::default(),
        })
    }

    /// What every search is told: the retrievers that cannot run, and what the store has lost.
    pub(crate) fn troubles(&self) -> Vec<Degraded> {
        self.read().absent.iter().chain(&self.lost).cloned().collect()
    }

    /// Retrievers that cannot run, and why.
    pub(crate) fn absent(&self) -> Vec<Degraded> {
        self.read().absent.clone()
    }

    /// The read halves.
    pub(crate) fn retrievers(&self) -> Vec<Arc<dyn Retriever>> {
        self.read().retrievers.clone()
    }

    /// The read half of a retriever.
    pub(crate) fn retriever(&self, retriever: RetrieverId) -> Option<Arc<dyn Retriever>> {
        self.read().retrievers.iter().find(|one| one.id() == retriever).cloned()
    }

    /// The first retriever whose index feeds on this.
    pub(crate) fn fed_by(&self, input: IndexInput) -> Option<Arc<dyn Retriever>> {
        self.read().retrievers.iter().find(|one| one.inputs().contains(&input)).cloned()
    }

    /// Puts retrievers in the place of those with the same names.
    pub(crate) fn replace(&self, by: OpenIndexes) {
        let given = |stage| by.retrievers.iter().any(|one| Stage::from(one.id()) == stage);
        let mut read = self.read.write().unwrap_or_else(PoisonError::into_inner);
        read.retrievers.retain(|one| !given(one.id().into()));
        read.absent.retain(|one| !given(one.stage));
        read.retrievers.extend(by.retrievers.iter().cloned());
        read.retrievers.sort_by_key(|one| one.id());
        read.absent.extend(by.absent);
        if let Some(mut indexers) = self.locked() {
            indexers.retain(|one| !by.indexers.iter().any(|new| new.id() == one.id()));
            indexers.extend(by.indexers);
        }
    }

    /// Brings the indexes that are wanted to the end of the change log; nothing to do when
    /// read-only.
    pub(crate) fn replay(
        &self,
        store: &Store,
        wanted: impl Fn(&[IndexInput]) -> bool,
    ) -> Result<()> {
        for indexer in self.locked().iter_mut().flat_map(|indexers| indexers.iter_mut()) {
            if wanted(indexer.inputs()) {
                replay(store, self.collection, indexer.as_mut())?;
            }
        }
        Ok(())
    }

    /// Forgets what is indexed, as the first step of a rebuild.
    pub(crate) fn clear(&self) -> Result<()> {
        self.each_indexer(|indexer| indexer.clear())
    }

    /// Rewrites every index, without what was removed.
    pub(crate) fn compact(&self) -> Result<()> {
        self.each_indexer(|indexer| indexer.compact())
    }

    /// Shows the newest commits to the retrievers, and tells which of them are behind the store, or
    /// ahead of it. All are refreshed before the first is compared. Retrievers of an input that is `kept`
    /// stay as they are.
    pub(crate) fn refresh(&self, store: &Store, kept: Option<IndexInput>) -> Result<Vec<Degraded>> {
        let mut retrievers = self.retrievers();
        let is_kept = |one: &dyn Retriever| kept.is_some_and(|input| one.inputs().contains(&input));
        retrievers.retain(|one| !one.inputs().is_empty() && !is_kept(one.as_ref()));
        let reached: Vec<Result<Seq>> =
            retrievers.iter().map(|retriever| retriever.refresh()).collect();
        let end = store.seq()?;
        let mut troubles = Vec::new();
        for (retriever, reached) in retrievers.iter().zip(reached) {
            let stage = retriever.id().into();
            let reached = match reached {
                Ok(reached) => reached,
                // It answers from the commit before; the others go on.
                Err(error) => {
                    let reason = format!("its newest commit cannot be read: {}", error.chain());
                    troubles.push(Degraded { stage, reason });
                    continue;
                }
            };
            if reached > end {
                troubles.push(loss(retriever.id()));
            }
            if self.lags(store, retriever.as_ref(), reached, end)? {
                troubles.push(Degraded {
                    stage,
                    reason:
                        "the index is behind the store; run `trefoil index` to bring it up to date"
                            .to_owned(),
                });
            }
        }
        Ok(troubles)
    }

    /// True if a retriever that shows the commit `reached` is behind the log, which ends at `end`.
    /// What it was compared with before is not read again, so that the costs follow the changes.
    fn lags(
        &self,
        store: &Store,
        retriever: &dyn Retriever,
        reached: Seq,
        end: Seq,
    ) -> Result<bool> {
        let mut compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        let id = retriever.id();
        let from = match compared.get(&id) {
            Some(&(commit, up_to)) if commit == reached && up_to <= end => up_to,
            _ => reached,
        };
        let lags = lags(store, self.collection, retriever.inputs(), from)?;
        if lags {
            compared.remove(&id);
        } else {
            compared.insert(id, (reached, end.max(reached)));
        }
        Ok(lags)
    }

    fn each_indexer(&self, work: impl Fn(&mut dyn Indexer) -> Result<()>) -> Result<()> {
        let mut indexers = self.locked();
        indexers.iter_mut().flat_map(|all| all.iter_mut()).try_for_each(|one| work(one.as_mut()))
    }

    fn read(&self) -> RwLockReadGuard<'_, ReadHalves> {
        self.read.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn locked(&self) -> Option<MutexGuard<'_, Indexers>> {
        let indexers = self.indexers.as_ref();
        indexers.map(|indexers| indexers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Which of the question's terms some rows hold, by the first retriever that knows terms.
pub(crate) fn term_coverage(
    retrievers: &[Arc<dyn Retriever>],
    question: &Question,
    rows: &RowSet,
) -> Result<TermCoverage> {
    for retriever in retrievers {
        let coverage = retriever.term_coverage(question, rows)?;
        if !coverage.is_empty() {
            return Ok(coverage);
        }
    }
    Ok(TermCoverage::default())
}

/// The indexes that are ahead of the store. An index follows what is durable in the store,
/// so this takes damage to the end of its log, or a copy of an earlier day in its place.
fn losses(store: &Store, indexers: &[Box<dyn Indexer>]) -> Result<Vec<Degraded>> {
    let end = store.seq()?;
    let ahead = indexers.iter().filter(|indexer| indexer.committed() > end);
    let lost: Vec<Degraded> = ahead.map(|indexer| loss(indexer.id())).collect();
    for Degraded { stage, reason } in &lost {
        tracing::warn!(index = %stage, reason, "the store ends before its index");
    }
    Ok(lost)
}

fn loss(retriever: RetrieverId) -> Degraded {
    let reason = "the store has lost what was written last, or is an earlier copy: its index \
                  knew of more; index the documents again";
    Degraded { stage: retriever.into(), reason: reason.to_owned() }
}
