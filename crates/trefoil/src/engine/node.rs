//! What an engine does as a node of a store that is shared.

use std::{path::Path, sync::Arc};

use trefoil_core::{Error, Result};
use trefoil_store::{Store, SystemClock, truth::Place};

use crate::{
    admin::opening::lock,
    engine::Engine,
    ingest::restore::Restored,
    store_at::{NodeStatus, SharedStore},
};

impl Engine {
    /// Puts the index of its own in `dir` into a store that is shared and has no rows yet, in one
    /// transaction; from then on `dir` is the cache of a node. All rows are held in memory
    /// meanwhile, some 7 kB a chunk with its vector.
    ///
    /// # Errors
    /// [`Error::InvalidField`] if the store has rows, [`Error::NodeCache`] if `dir` is a cache
    /// already, [`Error::Locked`] if another process writes to it, [`Error::Unavailable`] if the
    /// store does not answer: then nothing has changed.
    /// [`Error::InDoubt`]: the store may have all rows, and `dir` is as it was.
    pub fn share(dir: impl AsRef<Path>, shared: &SharedStore) -> Result<Place> {
        let dir = dir.as_ref();
        if !Store::exists(dir) {
            return Err(Error::IndexMissing { path: dir.to_owned() });
        }
        let _alone = lock(dir)?;
        let truth = Arc::clone(&shared.truth);
        Store::share(dir, truth, shared.times, Arc::new(SystemClock))
    }

    /// Brings the cache of this node to what the other nodes have written by now, and tells how far
    /// it is then. A node does so by itself all the time. Nothing to do in a directory of its own.
    ///
    /// # Errors
    /// [`Error::Unavailable`](trefoil_core::Error::Unavailable) if the store does not answer.
    pub fn follow(&self) -> Result<Place> {
        let place = self.state.follow()?;
        self.wake();
        Ok(place)
    }

    /// Asks to lead the shard, which a node that may lead does by itself as well. False if the node
    /// has not everything yet, or another one leads.
    ///
    /// # Errors
    /// [`Error::Unavailable`](trefoil_core::Error::Unavailable) if the store does not answer.
    pub fn lead(&self) -> Result<bool> {
        let leads = self.state.lead()?;
        if leads {
            self.wake();
        }
        Ok(leads)
    }

    /// Lets another node lead at once. This one may lead again when nobody else does.
    ///
    /// # Errors
    /// [`Error::Unavailable`](trefoil_core::Error::Unavailable) if the store does not answer: then
    /// another node leads when the lease has run out.
    pub fn resign(&self) -> Result<()> {
        self.state.resign()
    }

    /// Puts back the documents and units of memory that the shared store has lost, as far as this
    /// node had them, and forgets them then; with `dry_run` it only tells what it would do. It works on a node that
    /// follows too. What was written or removed since the loss stays as it is, and is named.
    ///
    /// # Errors
    /// [`Error::NothingLost`](trefoil_core::Error::NothingLost) if it has nothing of what was lost,
    /// and those of a write: what was not put back by then is kept.
    pub fn restore_lost(&self, dry_run: bool) -> Result<Restored> {
        let restored = self.state.restore_lost(dry_run)?;
        self.wake();
        Ok(restored)
    }

    /// Makes the searches that begin from now on wait until they see this place, which
    /// [`Ingested::place`](crate::Ingested) of any engine of the shard told.
    pub fn expect(&self, place: Place) {
        self.state.expect(place);
    }

    /// How this engine stands to the store that it shares with others; none if it shares none.
    pub fn node(&self) -> Result<Option<NodeStatus>> {
        self.state.node_status()
    }
}
