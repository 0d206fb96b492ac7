//! The rows of memory: units and what hangs on them, read on one snapshot and written in one
//! transaction.
//!
//! [`Store::memory_write`] gives its closure every operation at once, so that what belongs
//! together (a claim, its evidence, the feedback and the event that tells of it) is all there
//! or not at all. Each write of a unit appends to the change log that the indexes replay, to
//! `unit_versions` and to the jobs, by itself.

mod active_context;
mod allowed;
mod claim;
mod embedded;
mod episode;
mod erase;
mod erased_runs;
mod event;
mod evidence;
mod feedback;
mod graph;
mod life;
mod lookup;
pub(crate) mod mention_rows;
pub(crate) mod mentions;
mod open_loop;
mod policy;
mod session;
mod summary;
pub(crate) mod sums;
#[cfg(test)]
pub(crate) mod tests;
mod unit;
mod units;
mod version;

use std::{cell::RefCell, ops::Deref, path::Path};

use rusqlite::Connection;
use trefoil_core::{Error, Result};

pub use self::{
    active_context::{ActiveContextRow, ContextItemRow},
    allowed::{Admitted, SessionScope, UnitFilter, UtilityStats},
    claim::ClaimPayload,
    episode::EpisodePayload,
    erase::{Erased, ErasedUnits},
    erased_runs::ErasedRuns,
    event::EventRow,
    evidence::{ClaimLink, EvidenceRow, LinkRelation, TellingMessage},
    feedback::FeedbackRow,
    graph::{MemoryEdge, MemoryEntity},
    life::Tombstone,
    open_loop::LoopPayload,
    policy::PolicyRow,
    session::SessionRow,
    summary::SummaryPayload,
    unit::{AffectRow, MemoryUnit, Payload, UnitRow},
    version::{PatchReason, UnitVersion},
};
pub(crate) use self::{
    embedded::text_of,
    unit::{by_row as unit_by_row, is_readable},
    version::content_hash as unit_digest,
};
use crate::{Store, WriteTx, embedding, fault::fault, truth::Done};

/// One snapshot of memory.
#[derive(Debug)]
pub struct MemoryRead<'s> {
    tx: &'s Connection,
    path: &'s Path,
}

/// One transaction on memory; reads see what it has written.
#[derive(Debug)]
pub struct MemoryWrite<'s> {
    read: MemoryRead<'s>,
    tx: &'s WriteTx<'s>,
    now: i64,
    /// The key of the vector space, if there is a model.
    space: Option<String>,
}

impl<'s> MemoryWrite<'s> {
    /// Memory within a transaction of the store in the file at `path`.
    pub(crate) fn new(tx: &'s WriteTx<'s>, path: &'s Path, now: i64) -> rusqlite::Result<Self> {
        let space = embedding::space(tx)?;
        Ok(Self { read: MemoryRead { tx, path }, tx, now, space })
    }
}

impl Store {
    /// Runs `work` on one snapshot.
    pub fn memory_read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&MemoryRead<'_>) -> Result<T>,
    ) -> Result<T> {
        let failed = RefCell::new(None);
        let read = self.read(doing, |tx| {
            work(&MemoryRead { tx, path: self.path() }).map_err(|error| abort(&failed, error))
        });
        failed.into_inner().map_or(read, Err)
    }

    /// Runs `work` in one transaction that is durable when this returns, or undone if `work`
    /// fails.
    ///
    /// # Errors
    /// That of `work`, [`Error::ReadOnly`], or a full disk; then nothing was written.
    pub fn memory_write<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&MemoryWrite<'_>) -> Result<T>,
    ) -> Result<T> {
        self.memory_write_answering(doing, work, |_| Ok(None))
    }

    /// The same for a request of another node, which the transaction is noted to have done.
    pub(crate) fn memory_write_answering<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&MemoryWrite<'_>) -> Result<T>,
        answer: impl FnOnce(&T) -> Result<Option<Done>>,
    ) -> Result<T> {
        let failed = RefCell::new(None);
        let work = |tx: &WriteTx<'_>, now| {
            let write = MemoryWrite::new(tx, self.path(), now)?;
            work(&write).map_err(|error| abort(&failed, error))
        };
        let written = self.write_answering(doing, work, answer);
        failed.into_inner().map_or(written, Err)
    }
}

impl Store {
    /// Runs `work` as [`Store::memory_write`] does and undoes it: what it would have brought.
    ///
    /// # Errors
    /// As [`Store::memory_write`].
    pub fn memory_rehearse<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&MemoryWrite<'_>) -> Result<T>,
    ) -> Result<T> {
        let brought = RefCell::new(None);
        let undone = self.memory_write(doing, |write| {
            brought.replace(Some(work(write)));
            Err::<T, Error>(Error::InvalidState { state: "rehearsed".to_owned(), call: doing })
        });
        brought.into_inner().unwrap_or(undone)
    }
}

/// Keeps what stopped the work; what SQLite is told only undoes the transaction.
fn abort(failed: &RefCell<Option<Error>>, error: Error) -> rusqlite::Error {
    failed.replace(Some(error));
    rusqlite::Error::QueryReturnedNoRows
}

impl<'s> Deref for MemoryWrite<'s> {
    type Target = MemoryRead<'s>;

    fn deref(&self) -> &Self::Target {
        &self.read
    }
}

impl MemoryRead<'_> {
    /// Runs statements, with their failure told as ours.
    pub(crate) fn sql<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        work(self.tx).map_err(|error| fault(self.path, doing, error))
    }
}

impl MemoryWrite<'_> {
    /// When the transaction began, in seconds since 1970.
    pub const fn now(&self) -> i64 {
        self.now
    }

    /// Runs statements that may write, with their failure told as ours.
    fn sql<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&WriteTx<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        work(self.tx).map_err(|error| fault(self.path, doing, error))
    }
}
