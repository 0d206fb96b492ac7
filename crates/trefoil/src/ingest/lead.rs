//! A node that begins to write.

use trefoil_core::Result;

use crate::{index::active_model::ActiveModel, state::State};

impl State {
    /// Makes the store ready for writes: what an engine does that opens a directory of its own.
    pub(crate) fn prepare_to_write(&self) -> Result<()> {
        let embedder = self.active_model().embedder.clone();
        if let Some(embedder) = embedder {
            ActiveModel::adopt(&self.store, embedder.as_ref(), &self.config)?;
        }
        // None can be running: the node that claimed them leads no more.
        self.store.release_jobs()?;
        self.extract_first()?;
        self.replay_all()
    }
}
