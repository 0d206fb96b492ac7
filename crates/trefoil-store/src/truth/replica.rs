//! The part of a store that ties its writes to the truth.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    thread,
    time::Instant,
};

use trefoil_core::{Error, Result};

use super::{
    Append, AppendAnswer, AppendStep, Appended, Done, NodeTimes, Place, Table, Touched, Truth,
    apply::set_place, touch,
};
use crate::{WriteTx, fault::fault};

/// How the store of a node reaches the truth, and whether it leads. What changes it holds the lock
/// of the store's writer.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(super) truth: Arc<dyn Truth>,
    pub(super) tables: Vec<Arc<Table>>,
    pub(super) times: NodeTimes,
    /// Where the node leads, if it does.
    leading: Mutex<Option<Place>>,
    /// Whether it has looked, since it was opened, at what it is given.
    pub(super) has_looked: AtomicBool,
}

impl Replica {
    pub(super) fn new(truth: Arc<dyn Truth>, tables: Vec<Arc<Table>>, times: NodeTimes) -> Self {
        Self { truth, tables, times, leading: Mutex::default(), has_looked: AtomicBool::new(false) }
    }

    /// Where the node leads.
    ///
    /// # Errors
    /// [`Error::NotLeading`] if it does not; `doing` says what it was to do.
    pub(crate) fn leads_at(&self, doing: &'static str) -> Result<Place> {
        self.leading().ok_or_else(|| Error::NotLeading { shard: self.truth.name(), doing })
    }

    pub(super) fn leading(&self) -> Option<Place> {
        *self.lock()
    }

    pub(super) fn set_leading(&self, place: Option<Place>) {
        *self.lock() = place;
    }

    /// Lets another node lead at once, where the truth answers.
    pub(crate) fn resign(&self) {
        if let Some(place) = self.lock().take() {
            // If this fails, the lease runs out.
            drop(self.truth.resign(place));
        }
    }

    /// Notes that the node leads no more in the epoch of `place`; nothing if it has another one.
    pub(super) fn depose(&self, place: Place) {
        let mut leading = self.lock();
        if leading.is_some_and(|leads| (leads.epoch, leads.by) == (place.epoch, place.by)) {
            *leading = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Place>> {
        self.leading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a transaction true and then durable here; `done` is the request that it does.
    ///
    /// # Errors
    /// [`Error::Fenced`], [`Error::InDoubt`], [`Error::Unavailable`]: the transaction is undone
    /// here, and where another node leads this one does no more.
    pub(crate) fn commit(
        &self,
        tx: WriteTx<'_>,
        done: Option<Done>,
        path: &Path,
        doing: &'static str,
    ) -> Result<()> {
        let failed = |error| fault(path, doing, error);
        let mut touched = touch::read(&tx, &self.tables).map_err(failed)?;
        touched.done.extend(done);
        if touched.is_empty() {
            touch::forget(&tx).map_err(failed)?;
            return tx.commit().map_err(failed);
        }
        let (at, leads) = self.append(self.leads_at(doing)?, &touched)?;
        #[cfg(feature = "failpoints")]
        fail::fail_point!("truth-appended");
        let finish = || {
            set_place(&tx, leads.unwrap_or(at))?;
            touch::forget(&tx)?;
            tx.commit()
        };
        // A cache that is behind the truth does not lead: it follows first.
        let finished = finish();
        self.set_leading(leads.filter(|_| finished.is_ok()));
        finished.map_err(failed)
    }

    /// Makes a transaction durable here that no other node is to know of.
    pub(crate) fn commit_here(&self, tx: WriteTx<'_>) -> rusqlite::Result<()> {
        if self.leading().is_some() {
            touch::forget(&tx)?;
        }
        tx.commit()
    }

    /// Where the transaction is, and where the node leads from then on, if it does.
    fn append(&self, place: Place, touched: &Touched) -> Result<(Place, Option<Place>)> {
        let began = Instant::now();
        let mut append = Append::new(place, self.times.doubt);
        let mut last: Option<Error> = None;
        let mut note = |error: Error, answer| {
            last = Some(error);
            answer
        };
        let ended = loop {
            let answer = match append.next(began.elapsed()) {
                AppendStep::Append(place) => match self.truth.append(place, touched) {
                    Ok(at) => AppendAnswer::Appended(at),
                    Err(error @ Error::Fenced { .. }) => note(error, AppendAnswer::Fenced),
                    Err(error @ Error::InDoubt { .. }) => note(error, AppendAnswer::InDoubt),
                    Err(error) => note(error, AppendAnswer::Failed),
                },
                AppendStep::Lead(from) => match self.truth.lead(from, self.times.lease) {
                    Ok(led) => AppendAnswer::Led(led),
                    Err(error) => note(error, AppendAnswer::Failed),
                },
                AppendStep::Look => match self.truth.shard() {
                    Ok(shard) => AppendAnswer::Saw(shard),
                    Err(error) => note(error, AppendAnswer::Failed),
                },
                AppendStep::Wait(until) => {
                    thread::sleep(until.saturating_sub(began.elapsed()));
                    continue;
                }
                AppendStep::End(how) => break how,
            };
            append.answered(began.elapsed(), &answer);
        };
        let shard = || self.truth.name();
        match ended {
            Appended::Written { at, leads } => Ok((at, leads)),
            Appended::Failed(place) => {
                self.set_leading(Some(place));
                Err(last.unwrap_or_else(|| Error::Fenced { shard: shard() }))
            }
            Appended::Fenced => {
                self.set_leading(None);
                Err(Error::Fenced { shard: shard() })
            }
            Appended::Undecided => {
                self.set_leading(None);
                let reason = last.map_or_else(String::new, |error| error.chain());
                Err(Error::InDoubt { shard: shard(), reason })
            }
        }
    }
}
