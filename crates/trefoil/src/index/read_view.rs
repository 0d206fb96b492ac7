//! What searches see: one commit of all indexes, and what those lag behind.

use std::{
    path::PathBuf,
    sync::{PoisonError, atomic::Ordering},
    time::{Duration, Instant, SystemTime},
};

use trefoil_core::{Collection, Degraded, IndexInput, Result, RetrieverId, Seq};
use trefoil_store::WaitingEmbeddings;

use crate::{
    default_set::stage_fed_by,
    index::{active_model::ActiveModel, replay::lags},
    layout,
    state::{ReadView, State},
};

/// How often the retrievers are refreshed because another process commits meanwhile.
const REFRESHES: u32 = 4;

/// The store's setting that says which extractor found what the chunks mention.
#[cfg(feature = "graph")]
pub(crate) const EXTRACTOR: &str = "extractor";

impl State {
    /// Brings every index to the end of the change log and shows the result to new searches.
    pub(crate) fn replay_all(&self) -> Result<()> {
        self.replay_where(|_| true)
    }

    /// The same for the indexes that feed on vectors only.
    pub(crate) fn replay_vectors(&self) -> Result<()> {
        self.replay_where(|inputs| inputs.contains(&IndexInput::Vector))
    }

    fn replay_where(&self, wanted: impl Fn(&[IndexInput]) -> bool) -> Result<()> {
        self.writable("update the indexes")?;
        self.documents.replay(&self.store, &wanted)?;
        self.memory.replay(&self.store, &wanted)?;
        self.refresh_read_view()
    }

    /// Shows the newest commits of all retrievers to the searches that start from now on.
    pub(crate) fn refresh_read_view(&self) -> Result<()> {
        let mut shown = self.read_view.write().unwrap_or_else(PoisonError::into_inner);
        *shown = self.newest(&shown)?;
        Ok(())
    }

    /// Refreshes all indexes; the caller keeps searches out meanwhile.
    fn newest(&self, shown: &ReadView) -> Result<ReadView> {
        let commits = self.commits();
        // Before and after, for what is done in between is not in the retrievers yet.
        let before = self.waiting_embeddings()?;
        let (seq, mut lagging, mut memory_lagging) = self.refresh_all()?;
        let after = self.waiting_embeddings()?;
        lagging.extend(self.stale_extractions()?);
        lagging.extend(vectors_wait(before.documents.max(after.documents), "chunks"));
        memory_lagging.extend(vectors_wait(before.memory.max(after.memory), "units"));
        // Languages are counted again only where texts came or went: vectors have none.
        let text_changed =
            lags(&self.store, Collection::Documents, &[IndexInput::Text], shown.seq)?;
        let languages =
            if text_changed { self.store.languages()? } else { shown.languages.clone() };
        let at = Some(Instant::now());
        Ok(ReadView { seq, lagging, memory_lagging, languages, commits, at })
    }

    /// Shows the newest commit of each retriever, and says which of them are behind the store, whose
    /// last change this is about: those of documents, and those of memory.
    ///
    /// Another process may commit while one retriever after the other is shown. Then it is done
    /// again, a few times; retrievers that differ in the end are behind, for each is compared with
    /// the log after all are shown.
    fn refresh_all(&self) -> Result<(Seq, Vec<Degraded>, Vec<Degraded>)> {
        let mut tries = REFRESHES;
        loop {
            let seq = self.store.seq()?;
            let (kept, outdated) = self.outdated()?;
            let mut documents = self.documents.refresh(&self.store, kept)?;
            let mut memory = self.memory.refresh(&self.store, kept)?;
            tries -= 1;
            if tries == 0 || self.store.seq()? == seq {
                documents.extend(outdated.clone());
                memory.extend(outdated);
                return Ok((seq, documents, memory));
            }
        }
    }

    /// True if vectors of another model took the place of those that this engine reads.
    fn is_outdated(&self) -> Result<bool> {
        let shown = self.generation.load(Ordering::Relaxed);
        Ok(self.documents.fed_by(IndexInput::Vector).is_some()
            && self.store.vectors_generation()? != shown)
    }

    /// What an engine keeps that is outdated, and what it says of it.
    fn outdated(&self) -> Result<(Option<IndexInput>, Option<Degraded>)> {
        if !self.is_outdated()? {
            return Ok((None, None));
        }
        self.activate(ActiveModel::default(), self.generation.load(Ordering::Relaxed));
        let model = self.store.fingerprint()?.unwrap_or_default();
        let reason = format!(
            "the index has vectors of `{model}` now, and these are the ones before; open it \
             again with that model"
        );
        let outdated = Degraded { stage: stage_fed_by(IndexInput::Vector), reason };
        Ok((Some(IndexInput::Vector), Some(outdated)))
    }

    /// Brings the indexes of memory to the end of the change log and shows the result to new
    /// searches of it.
    pub(crate) fn replay_memory(&self) -> Result<()> {
        self.memory.replay(&self.store, |_| true)?;
        let mut shown = self.read_view.write().unwrap_or_else(PoisonError::into_inner);
        shown.memory_lagging = self.memory.refresh(&self.store, None)?;
        let waiting = self.waiting_embeddings()?.memory;
        shown.memory_lagging.extend(vectors_wait(waiting, "units"));
        Ok(())
    }

    /// The same after a write that is durable already: an index that cannot follow is named to
    /// searches, and brought up to date by the next write or opening.
    pub(crate) fn show_memory(&self) {
        let Err(error) = self.replay_memory() else { return };
        tracing::error!(reason = error.chain(), "an index of memory could not be written");
        let reason = format!("an index of memory could not be written: {}", error.chain());
        let mut shown = self.read_view.write().unwrap_or_else(PoisonError::into_inner);
        shown.memory_lagging.push(Degraded { stage: stage_fed_by(IndexInput::Text), reason });
    }

    /// Texts that wait for the model; none without one.
    fn waiting_embeddings(&self) -> Result<WaitingEmbeddings> {
        match self.embedder() {
            Some(_) => self.store.waiting_embeddings(),
            None => Ok(WaitingEmbeddings::default()),
        }
    }

    /// What the chunks mention by another extractor than the configured one is not what the
    /// graph should be made from: says so.
    pub(crate) fn stale_extractions(&self) -> Result<Option<Degraded>> {
        #[cfg(feature = "graph")]
        if let Some(extractor) = &self.extractor
            && self.store.meta(EXTRACTOR)?.as_deref() != Some(&extractor.fingerprint())
        {
            let reason = "the graph was made by another extractor; run `trefoil reindex`";
            return Ok(Some(Degraded {
                stage: stage_fed_by(IndexInput::Extraction),
                reason: reason.to_owned(),
            }));
        }
        Ok(None)
    }

    /// In a read-only process: shows what another process has written since.
    pub(crate) fn catch_up(&self) -> Result<()> {
        if self.documents.indexers.is_some() {
            return Ok(());
        }
        let (is_new, may_be_new) = {
            let shown = self.read_view.read().unwrap_or_else(PoisonError::into_inner);
            let lags = !shown.lagging.is_empty() || !shown.memory_lagging.is_empty();
            (
                shown.seq != self.store.seq()? || self.is_outdated()?,
                lags && (shown.commits != self.commits() || shown.at.is_none_or(is_long_ago)),
            )
        };
        if is_new {
            return self.refresh_read_view();
        }
        if may_be_new {
            // What lags is told already: no search waits for others to end.
            if let Ok(mut shown) = self.read_view.try_write() {
                *shown = self.newest(&shown)?;
            }
        }
        Ok(())
    }

    /// When something was last put in place in the folder of each index. A commit puts a file in
    /// place.
    fn commits(&self) -> Vec<Option<SystemTime>> {
        let retrievers: Vec<RetrieverId> =
            self.documents.retrievers().iter().map(|one| one.id()).collect();
        let generation = self.generation.load(Ordering::Relaxed);
        let folders = layout::folders(&self.dir, generation, &retrievers);
        let changed = |folder: PathBuf| std::fs::metadata(folder).ok()?.modified().ok();
        folders.into_iter().map(changed).collect()
    }
}

/// Clocks of file systems are coarse: two commits may have one time.
fn is_long_ago(at: Instant) -> bool {
    at.elapsed() >= Duration::from_secs(1)
}

/// That texts are not found by meaning yet, if any are not.
fn vectors_wait(waiting: usize, what: &str) -> Option<Degraded> {
    let reason = format!("{waiting} {what} wait for their vectors");
    (waiting > 0).then_some(Degraded { stage: stage_fed_by(IndexInput::Vector), reason })
}
