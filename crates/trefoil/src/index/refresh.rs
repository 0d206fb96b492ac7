//! How searches come to see what was written: the indexes follow the log, and the next read view
//! takes the place of the last. Nothing here makes a search wait that has its view.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use trefoil_core::{Collection, Degraded, IndexInput, Result, RetrieverId};
use trefoil_store::WaitingEmbeddings;

use crate::{
    background::catch_panics,
    default_set::stage_fed_by,
    index::{
        active_model::ActiveModel,
        collection::index_name,
        read_view::{CollectionView, ReadView},
        replay::lags,
    },
    layout,
    state::State,
};

/// How often the retrievers are looked at again because another process commits meanwhile.
const REFRESHES: u32 = 4;

/// Removals that the change log keeps at most for nobody: fewer are not worth a write.
const REMOVALS: usize = 1_000;

/// The store's setting that says which extractor found what the chunks mention.
#[cfg(feature = "graph")]
pub(crate) const EXTRACTOR: &str = "extractor";

impl State {
    /// Brings every index to the end of the change log and shows the result to new searches.
    pub(crate) fn replay_all(&self) -> Result<()> {
        let seq = self.store.seq()?;
        self.replay_where(|_| true)?;
        // Every index has passed what was removed until then.
        self.store.compact_log(seq, REMOVALS).map(drop)
    }

    /// The same for the indexes that feed on vectors only.
    pub(crate) fn replay_vectors(&self) -> Result<()> {
        self.replay_where(|inputs| inputs.contains(&IndexInput::Vector))
    }

    fn replay_where(&self, wanted: impl Fn(&[IndexInput]) -> bool) -> Result<()> {
        self.updates_indexes("update the indexes")?;
        let is_other_model = self.node.is_some() && self.is_outdated(&self.view())?;
        let wanted = |inputs: &[IndexInput]| {
            wanted(inputs) && !(is_other_model && inputs.contains(&IndexInput::Vector))
        };
        self.documents.replay(&self.store, wanted)?;
        self.memory.replay(&self.store, wanted)?;
        self.refresh_read_view()
    }

    /// Shows the newest commits of all retrievers to the searches that start from now on.
    pub(crate) fn refresh_read_view(&self) -> Result<()> {
        self.update_view(|shown| self.newest(shown).map(Some))?;
        if self.node.is_some() {
            self.note_shown(self.view().place);
        }
        Ok(())
    }

    /// Shows what a merge has made of an index. The commit stays the same: another one is shown by
    /// whoever made it.
    pub(crate) fn show_merged(&self, collection: Collection, id: RetrieverId) -> Result<()> {
        self.update_view(|shown| {
            let mut next = shown.clone();
            let mut retrievers = next.collection_mut(collection).retrievers.iter_mut();
            let Some(retriever) = retrievers.find(|one| one.id() == id) else { return Ok(None) };
            let newest = catch_panics(&index_name(id), || retriever.newest())?;
            let Some(merged) = newest.filter(|newest| newest.seq() == retriever.seq()) else {
                return Ok(None);
            };
            *retriever = merged;
            Ok(Some(next))
        })
    }

    /// What a search sees that starts now. A process that only reads shows first what another one
    /// has written since: one thread reads it, and those that come meanwhile wait for that, because
    /// it may have been written before they came.
    pub(crate) fn current_view(&self) -> Result<Arc<ReadView>> {
        let view = self.view();
        if self.documents.is_writable() {
            return Ok(view);
        }
        if self.is_behind(&view)? {
            self.update_view(|shown| {
                if self.is_behind(shown)? { self.newest(shown).map(Some) } else { Ok(None) }
            })?;
            return Ok(self.view());
        }
        let lags = !view.documents.lagging.is_empty() || !view.memory.lagging.is_empty();
        if lags && (view.commits != self.commits(&view) || view.at.is_none_or(is_long_ago)) {
            // What lags is told already: no search waits for others to look.
            self.try_update_view(|shown| self.newest(shown).map(Some))?;
            return Ok(self.view());
        }
        Ok(view)
    }

    /// True if the store, or the model of its vectors, has changed since the view was made.
    fn is_behind(&self, view: &ReadView) -> Result<bool> {
        Ok(view.seq != self.store.seq()? || (view.embedder.is_some() && self.is_outdated(view)?))
    }

    /// The view that follows `shown`.
    fn newest(&self, shown: &ReadView) -> Result<ReadView> {
        let commits = self.commits(shown);
        // The rows that are read below are at least so far.
        let place = if self.node.is_some() { self.store.place()? } else { shown.place };
        // Before and after, for what is done in between is not in the retrievers yet.
        let before = self.waiting_embeddings()?;
        let mut next = self.with_newest_commits(shown)?;
        let after = self.waiting_embeddings()?;
        let lagging = &mut next.documents.lagging;
        lagging.extend(self.stale_extractions()?);
        lagging.extend(vectors_wait(before.documents.max(after.documents), "chunks"));
        let waiting = before.memory.max(after.memory);
        next.memory.lagging.extend(vectors_wait(waiting, "units"));
        // Languages are counted again only where texts came or went: vectors have none.
        if lags(&self.store, Collection::Documents, &[IndexInput::Text], shown.seq)? {
            next.languages = self.store.languages()?;
        }
        Ok(ReadView { commits, place, at: Some(Instant::now()), ..next })
    }

    /// The newest commit of each retriever, and which of them are behind the store, whose last
    /// change this is about.
    ///
    /// Another process may commit while one retriever after the other is opened. Then it is done
    /// again, a few times; retrievers that differ in the end are behind, for each is compared with
    /// the log after all are opened.
    fn with_newest_commits(&self, shown: &ReadView) -> Result<ReadView> {
        let mut view = shown.clone();
        let mut tries = REFRESHES;
        loop {
            view.seq = self.store.seq()?;
            let outdated = self.outdated(&mut view)?;
            let kept = outdated.is_some().then_some(IndexInput::Vector);
            self.documents.refresh(&mut view.documents, &self.store, kept)?;
            self.memory.refresh(&mut view.memory, &self.store, kept)?;
            tries -= 1;
            if tries == 0 || self.store.seq()? == view.seq {
                view.documents.lagging.extend(outdated.clone());
                view.memory.lagging.extend(outdated);
                return Ok(view);
            }
        }
    }

    /// True if vectors of another model took the place of those of the view.
    fn is_outdated(&self, view: &ReadView) -> Result<bool> {
        Ok(view.documents.fed_by(IndexInput::Vector).is_some()
            && (self.store.vectors_generation()? != view.generation
                || self.follows_other_model()?))
    }

    /// What is said of vectors whose place others took. They stay as they are, and nothing embeds
    /// for them any more.
    fn outdated(&self, view: &mut ReadView) -> Result<Option<Degraded>> {
        if !self.is_outdated(view)? {
            return Ok(None);
        }
        view.embedder = None;
        self.activate(ActiveModel::default());
        let model = self.store.fingerprint()?.unwrap_or_default();
        let reason = format!(
            "the index has vectors of `{model}` now, and these are the ones before; open it \
             again with that model"
        );
        Ok(Some(Degraded { stage: stage_fed_by(IndexInput::Vector), reason }))
    }

    /// Brings the indexes of memory to the end of the change log and shows the result to new
    /// searches of it.
    pub(crate) fn replay_memory(&self) -> Result<()> {
        self.memory.replay(&self.store, |_| true)?;
        self.update_memory_view(|memory| {
            self.memory.refresh(memory, &self.store, None)?;
            let waiting = self.waiting_embeddings()?.memory;
            memory.lagging.extend(vectors_wait(waiting, "units"));
            Ok(())
        })
    }

    /// The same after a write that is durable already: an index that cannot follow is named to
    /// searches, and brought up to date by the next write or opening.
    pub(crate) fn show_memory(&self) {
        let Err(error) = self.replay_memory() else { return };
        tracing::error!(reason = error.chain(), "an index of memory could not be written");
        let reason = format!("an index of memory could not be written: {}", error.chain());
        let trouble = Degraded { stage: stage_fed_by(IndexInput::Text), reason };
        // The change of the view itself cannot fail.
        let _ = self.update_memory_view(|memory| {
            memory.lagging.push(trouble);
            Ok(())
        });
    }

    fn update_memory_view(
        &self,
        update: impl FnOnce(&mut CollectionView) -> Result<()>,
    ) -> Result<()> {
        self.update_view(|shown| {
            let mut next = shown.clone();
            update(&mut next.memory)?;
            Ok(Some(next))
        })
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

    /// When something was last put in place in the folder of each index. A commit puts a file in
    /// place.
    fn commits(&self, view: &ReadView) -> Vec<Option<SystemTime>> {
        let retrievers: Vec<RetrieverId> =
            view.documents.retrievers.iter().map(|one| one.id()).collect();
        let folders = layout::folders(&self.dir, view.generation, &retrievers);
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
