//! Forgetting on any node: the one that leads does it, others ask it to and take over its receipt.

use std::{ops::ControlFlow, sync::Arc};

use trefoil_core::{Result, RowId};
use trefoil_store::memory::{Erased, MemoryWrite};

use crate::{
    admin::erase::ForgetReceipt, background::catch_panics, index::forget_queue::Forget,
    ingest::inbox::stays_in_inbox, progress::OnProgress, state::State,
};

impl State {
    /// Forgets here, or has the node that leads do it, whose receipt it is then; there `on_progress`
    /// is told nothing.
    ///
    /// # Errors
    /// [`Error::InDoubt`](trefoil_core::Error::InDoubt) if no node that leads answers in time, and
    /// as [`Engine::forget_document`](crate::Engine::forget_document).
    pub(crate) fn forget(
        self: &Arc<Self>,
        what: &Forget,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<ForgetReceipt> {
        self.updates_indexes("forget")?;
        let receipt = self.write_forget(what, || self.forget_here(what, on_progress))?;
        self.show_answered()?;
        Ok(receipt)
    }

    fn forget_here(
        &self,
        what: &Forget,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<ForgetReceipt> {
        let erased = match what {
            Forget::Document(path) => self.store.erase_file(path)?.unwrap_or_default(),
            Forget::Units(rows) => self.erase_units(|_| Ok(rows.clone()))?,
            Forget::Subject(subject) => self.erase_units(|memory| memory.units_about(subject))?,
        };
        // The transaction that erased it, which the other nodes are to reach.
        let place = self.store.place()?;
        let mut receipt = self.clean(erased, on_progress)?;
        if receipt.searched || !receipt.removed.is_empty() {
            receipt.shared = self.erase_elsewhere(place)?;
        }
        Ok(receipt)
    }

    fn erase_units(
        &self,
        choose: impl FnOnce(&MemoryWrite<'_>) -> Result<Vec<RowId>>,
    ) -> Result<Erased> {
        self.store.memory_write("forget", |memory| {
            let rows = choose(memory)?;
            let units = memory.with_derived(&rows)?;
            memory.erase_units(&units)
        })
    }

    /// Forgets what another node asks for first; false if none does. What cannot be forgotten now
    /// stays in the inbox.
    ///
    /// # Errors
    /// Those of the store when it notes the answer.
    pub(crate) fn forget_for_others(&self) -> Result<bool> {
        let Some(queue) = self.node.as_ref().map(|node| &node.forgets) else { return Ok(false) };
        let Some((id, what)) = queue.first() else { return Ok(false) };
        let done = catch_panics("forgetting", || {
            self.forget_here(&what, &mut |_| ControlFlow::Continue(()))
        });
        let answered = match done {
            Err(error) if stays_in_inbox(&error) => {
                tracing::warn!("what another node wants forgotten waits: {}", error.chain());
                Ok(())
            }
            Err(error) => self.store.refuse(id, &error),
            Ok(receipt) => self.store.answer(id, &Ok(receipt)),
        };
        queue.remove(id);
        answered.map(|()| true)
    }
}
