//! The seam to a store that is shared by many machines.
//!
//! A [`Truth`] holds the rows of one shard. A node's [`Store`](crate::Store) is a cache of it: the
//! node that leads appends what each of its transactions touched, before it commits; others pull
//! what was appended since they last looked. Nothing is said here of SQL, of a network or of
//! threads, so that a database, a test in memory and a simulation take the same place.
//! The reasons are in `docs/decisions/025-truth.md`.

mod append;
mod apply;
mod boundary;
mod cache;
mod cluster;
mod lost;
mod lost_units;
mod memory;
mod node;
mod place;
pub(crate) mod replica;
mod request;
mod rows;
mod schema;
mod share;
mod sums;
#[cfg(test)]
mod tests;
mod touch;

use std::{fmt::Debug, time::Duration};

use trefoil_core::Result;

pub use append::{Append, AppendAnswer, AppendStep, Appended};
pub use cache::Followed;
pub use cluster::{
    Cluster, EMBED_TRIES, EmbedOutcome, EmbedText, MadeVectors, NodeReport, NodeRole, NodeSeen,
    OutOfReach, Request, RequestId,
};
pub use lost::{LostDocument, LostRows, is_of_lost_rows};
pub use lost_units::{LostEvidence, LostFeedback, LostUnit};
pub use memory::{MemoryShard, MemoryTruth};
pub use node::{Node, NodeStep, NodeTimes};
pub use place::{Lost, Place, Shard, Start};
pub use request::{Answer, Refusal, WriteRequest, Written, read_answer};
pub use rows::{Done, RowSink, Sequences, Touched, TouchedTable, Value};
pub use schema::{Column, ColumnKind, Instead, Table, Within, format, tables};

/// One node's connection to the shard that holds the truth. All nodes of the shard have one each.
///
/// Every call that writes is one transaction: it happens as a whole or not at all. The order of
/// the transactions that change rows is the order of [`Place::tx`], without gaps.
///
/// # Errors
/// Each call may end with [`Error::Unavailable`](trefoil_core::Error::Unavailable); then a call
/// that only reads did nothing, and one that writes did nothing but where it says otherwise. All
/// but [`shard`](Self::shard) end with
/// [`Error::UnsupportedFormat`](trefoil_core::Error::UnsupportedFormat) where the rows are of a
/// newer [`format()`].
pub trait Truth: Debug + Send + Sync {
    /// What the shard is called in messages: the index and its part, never a password.
    fn name(&self) -> String;

    /// How far the shard is. Asked many times a second.
    fn head(&self) -> Result<Place>;

    /// How far the shard is and how it came there, as of one moment.
    fn shard(&self) -> Result<Shard>;

    /// Begins a new epoch with this node as the writer, if the shard stands exactly at `from` and
    /// no other node holds the lease. The place of the new epoch: its number is one more, its
    /// writer a random number, its transaction that of `from`, where the epoch is noted to have
    /// begun. None if the shard is elsewhere or another node has the lease; then nothing changed.
    ///
    /// It waits until a transaction of the epoch before that has begun to commit is decided, and
    /// none of that epoch can commit afterwards: so it tells what became of an
    /// [`append`](Self::append) that was in doubt. Each connection that appends has an epoch of
    /// its own.
    fn lead(&self, from: Place, lease: Duration) -> Result<Option<Place>>;

    /// Holds the lease for so long from now on.
    ///
    /// # Errors
    /// [`Error::Fenced`](trefoil_core::Error::Fenced) if the shard has another epoch or writer, or
    /// has fewer transactions than `place`: then it has lost some.
    fn renew(&self, place: Place, lease: Duration) -> Result<()>;

    /// Gives the lease back, so that another node may lead at once. Nothing happens if the shard
    /// has another epoch or writer.
    fn resign(&self, place: Place) -> Result<()>;

    /// Gives the lease to another node, for so long: until then no third one may lead. Nothing
    /// happens if the shard has another epoch or writer.
    fn hand_over(&self, place: Place, to: &str, lease: Duration) -> Result<()>;

    /// Writes what one transaction touched, as the transaction after `place`, and renews the
    /// lease for as long as it was last given. The place after it.
    ///
    /// # Errors
    /// [`Error::Fenced`](trefoil_core::Error::Fenced) if the shard does not stand exactly at
    /// `place`, whether by epoch, writer or transaction: nothing was written.
    /// [`Error::InDoubt`](trefoil_core::Error::InDoubt) if the commit was not answered: the caller
    /// finds out by [`lead`](Self::lead). Every other error says that nothing was written.
    fn append(&self, place: Place, touched: &Touched) -> Result<Place>;

    /// Gives `into` what changed after `after`, as of one moment, and returns the place of that
    /// moment. Keys that are gone come before rows; otherwise the order is free.
    ///
    /// A node that is given units of memory up to a class only ([`Shard::boundary`]) gets the rows
    /// that [`Table::within`] says, with [`Column::instead`], as if there were no others.
    ///
    /// Where `after` is [`Place::NOTHING`], is before [`Shard::pruned`], or does not hold any more
    /// ([`Shard::lost`]), all rows are given, and [`RowSink::begin`] is told so: it starts from
    /// nothing, and no key is said to be gone. An error of the sink ends the call with it.
    fn pull(&self, after: Place, into: &mut dyn RowSink) -> Result<Place>;

    /// Forgets what is only kept for nodes that are not further than `upto`: keys that are gone,
    /// and rows that only tell of something that is gone ([`Table::tombstone`]). A node before it
    /// starts from nothing the next time. Nothing happens if it was pruned further already. Epochs
    /// stay for good: there are as many as connections that led, and without them nobody could say
    /// whether a node that comes back after a long time has lost something.
    ///
    /// # Errors
    /// [`Error::Fenced`](trefoil_core::Error::Fenced) if the shard has another epoch or writer.
    fn prune(&self, place: Place, upto: u64) -> Result<()>;
}
