//! One collection of rows: its indexes, which follow the store's change log. Documents and memory
//! are two of these; all of recovery is here, once.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use trefoil_core::{
    Collection, Degraded, IndexInput, Indexer, Question, Result, Retriever, RetrieverId, RowSet,
    Seq, TermCoverage,
};
use trefoil_store::Store;

use crate::{
    background::catch_panics,
    index::{
        read_view::CollectionView,
        replay::{lags, replay},
    },
};

/// The indexes of one collection, as they are written.
#[derive(Debug)]
pub(crate) struct Indexed {
    collection: Collection,
    /// None when read-only.
    writers: Option<RwLock<Vec<Arc<IndexWriter>>>>,
    /// The commit that each retriever showed when it was last compared with the log and had
    /// nothing to be given, and the change up to which it was compared.
    compared: Mutex<BTreeMap<RetrieverId, (Seq, Seq)>>,
}

/// The write half of one index. No search takes its lock, and no other index waits for it.
#[derive(Debug)]
pub(crate) struct IndexWriter {
    id: RetrieverId,
    inputs: Vec<IndexInput>,
    writing: Mutex<Writing>,
    /// Held by a merge from its plan to its end.
    merging: Mutex<()>,
    /// That merge is to be given up.
    give_up: AtomicBool,
}

#[derive(Debug)]
struct Writing {
    indexer: Box<dyn Indexer>,
    /// The last change that was read for it: those up to here that it has no commit of do not
    /// concern it.
    read: Seq,
}

impl IndexWriter {
    fn new(indexer: Box<dyn Indexer>) -> Self {
        let (id, inputs, read) = (indexer.id(), indexer.inputs().to_vec(), indexer.committed());
        let writing = Mutex::new(Writing { indexer, read });
        Self { id, inputs, writing, merging: Mutex::default(), give_up: AtomicBool::new(false) }
    }

    /// The retriever that reads the index.
    pub(crate) const fn id(&self) -> RetrieverId {
        self.id
    }

    /// Does the next merge of the index, which is written and searched meanwhile. False if there is
    /// none, or it was stopped.
    pub(crate) fn merge_next(&self, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let _one_at_a_time = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stopped = || is_stopped() || self.give_up.load(Ordering::Relaxed);
        if is_stopped() {
            return Ok(false);
        }
        let Some(mut merge) = self.writing().indexer.plan_merge()? else { return Ok(false) };
        if !catch_panics(&index_name(self.id), || merge.prepare(&is_stopped))? {
            return Ok(false);
        }
        self.writing().indexer.apply_merge(merge)?;
        Ok(true)
    }

    /// Gives up the merge that runs, and keeps others from beginning as long as what is returned
    /// is kept.
    fn without_merges(&self) -> MutexGuard<'_, ()> {
        self.give_up.store(true, Ordering::Relaxed);
        let none = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        self.give_up.store(false, Ordering::Relaxed);
        none
    }

    /// Ends merging for good: the index is about to go.
    fn retire(&self) {
        let none = self.without_merges();
        self.give_up.store(true, Ordering::Relaxed);
        drop(none);
    }

    fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replay(&self, store: &Store, collection: Collection) -> Result<()> {
        let mut writing = self.writing();
        let Writing { indexer, read } = &mut *writing;
        *read = replay(store, collection, indexer.as_mut(), *read)?;
        Ok(())
    }

    fn clear(&self) -> Result<()> {
        let _none = self.without_merges();
        let mut writing = self.writing();
        writing.read = Seq::ZERO;
        writing.indexer.clear()
    }

    fn compact(&self) -> Result<()> {
        let _none = self.without_merges();
        self.writing().indexer.compact()
    }
}

impl Indexed {
    pub(crate) fn new(
        collection: Collection,
        indexers: Vec<Box<dyn Indexer>>,
        write: bool,
    ) -> Self {
        let writers = indexers.into_iter().map(|one| Arc::new(IndexWriter::new(one))).collect();
        let writers = write.then_some(RwLock::new(writers));
        Self { collection, writers, compared: Mutex::default() }
    }

    /// True if this process writes the indexes.
    pub(crate) const fn is_writable(&self) -> bool {
        self.writers.is_some()
    }

    /// Puts write halves in the place of those of the same indexes.
    pub(crate) fn replace(&self, by: Vec<Box<dyn Indexer>>) {
        let Some(writers) = &self.writers else { return };
        let by = by.into_iter().map(|one| Arc::new(IndexWriter::new(one)));
        let by: Vec<Arc<IndexWriter>> = by.collect();
        let replaced: Vec<Arc<IndexWriter>> = {
            let mut writers = writers.write().unwrap_or_else(PoisonError::into_inner);
            let is_replaced = |one: &mut Arc<IndexWriter>| by.iter().any(|new| new.id == one.id);
            let replaced = writers.extract_if(.., is_replaced).collect();
            writers.extend(by.iter().cloned());
            replaced
        };
        for one in &replaced {
            one.retire();
        }
    }

    /// Brings the indexes that are wanted to the end of the change log; nothing to do when
    /// read-only.
    pub(crate) fn replay(
        &self,
        store: &Store,
        wanted: impl Fn(&[IndexInput]) -> bool,
    ) -> Result<()> {
        let mut writers = self.writers();
        writers.retain(|one| wanted(&one.inputs));
        writers.iter().try_for_each(|one| one.replay(store, self.collection))
    }

    /// Forgets what is indexed, as the first step of a rebuild.
    pub(crate) fn clear(&self) -> Result<()> {
        self.compared.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.writers().iter().try_for_each(|one| one.clear())
    }

    /// Rewrites what holds anything that was removed.
    pub(crate) fn compact(&self) -> Result<()> {
        self.writers().iter().try_for_each(|one| one.compact())
    }

    /// Puts the newest commits into a view, and tells which retrievers are behind the store, or
    /// ahead of it. All are opened before the first is compared. Retrievers of an input that is
    /// `kept` stay as they are.
    pub(crate) fn refresh(
        &self,
        view: &mut CollectionView,
        store: &Store,
        kept: Option<IndexInput>,
    ) -> Result<()> {
        let is_kept = |one: &dyn Retriever| kept.is_some_and(|input| one.inputs().contains(&input));
        let follows = |one: &dyn Retriever| !one.inputs().is_empty() && !is_kept(one);
        view.lagging.clear();
        let mut unread = Vec::new();
        for retriever in view.retrievers.iter_mut().filter(|one| follows(one.as_ref())) {
            let id = retriever.id();
            match catch_panics(&index_name(id), || retriever.newest()) {
                Ok(newest) => *retriever = newest.unwrap_or_else(|| Arc::clone(retriever)),
                // It answers from the commit before; the others go on.
                Err(error) => {
                    let reason = format!("its newest commit cannot be read: {}", error.chain());
                    view.lagging.push(Degraded { stage: id.into(), reason });
                    unread.push(id);
                }
            }
        }
        let end = store.seq()?;
        for retriever in &view.retrievers {
            let id = retriever.id();
            if !follows(retriever.as_ref()) || unread.contains(&id) {
                continue;
            }
            let reached = retriever.seq();
            if reached > end {
                view.lagging.push(loss(id));
            }
            if self.lags(store, retriever.as_ref(), reached, end)? {
                let reason =
                    "the index is behind the store; run `trefoil index` to bring it up to date";
                view.lagging.push(Degraded { stage: id.into(), reason: reason.to_owned() });
            }
        }
        Ok(())
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

    /// The write halves; none when read-only.
    pub(crate) fn writers(&self) -> Vec<Arc<IndexWriter>> {
        let writers = self.writers.as_ref();
        let writers = writers.map(|all| all.read().unwrap_or_else(PoisonError::into_inner).clone());
        writers.unwrap_or_default()
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
pub(crate) fn losses(store: &Store, indexers: &[Box<dyn Indexer>]) -> Result<Vec<Degraded>> {
    let end = store.seq()?;
    let ahead = indexers.iter().filter(|indexer| indexer.committed() > end);
    let lost: Vec<Degraded> = ahead.map(|indexer| loss(indexer.id())).collect();
    for Degraded { stage, reason } in &lost {
        tracing::warn!(index = %stage, reason, "the store ends before its index");
    }
    Ok(lost)
}

/// What errors call an index.
pub(crate) fn index_name(id: RetrieverId) -> String {
    format!("the {id} index")
}

fn loss(retriever: RetrieverId) -> Degraded {
    let reason = "the store has lost what was written last, or is an earlier copy: its index \
                  knew of more; index the documents again";
    Degraded { stage: retriever.into(), reason: reason.to_owned() }
}
