//! Forgetting where the store is shared: which nodes are not rid of what was erased, and which
//! places no node reaches.
//!
//! Each node rewrites its files when it takes over an erasure, and tells the others up to which
//! transaction they are rid of what was erased. Whoever erases waits for those that are there, has
//! the store remove what is left of the rows, and says what may still hold something.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result};
use trefoil_store::truth::{NodeSeen, OutOfReach, Place};

use crate::{index::node::NodeState, state::State};

/// A node that was seen so lately is there, and is waited for.
const LATELY: Duration = Duration::from_secs(15);
/// One that was not seen for so long is not named any more.
const KNOWN: Duration = Duration::from_hours(30 * 24);

/// What became of an erasure beyond the node that did it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedErasure {
    /// The transaction that erased it.
    pub transaction: u64,
    /// Nodes whose files may hold something of it, by name. Each is rid of it when it follows.
    pub nodes: Vec<UncleanNode>,
    /// Places that may hold something of it, and that no node rids of it.
    pub out_of_reach: Vec<OutOfReach>,
}

/// A node whose files may hold something that was erased.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UncleanNode {
    /// Its name.
    pub name: String,
    /// How far it was when it last told of itself.
    pub transaction: u64,
    /// Up to which transaction its files are rid of what was erased.
    pub erased: u64,
    /// How long ago it told that.
    pub seen_seconds_ago: u64,
}

impl State {
    /// Waits for the nodes that are there to be rid of what the transaction at `place` erased, has
    /// the store remove its rows, and tells what may hold something of it. None in an index that is
    /// not shared.
    ///
    /// # Errors
    /// What the store refuses. That it does not answer is no error: it is erased here.
    pub(crate) fn erase_elsewhere(&self, place: Place) -> Result<Option<SharedErasure>> {
        let Some(node) = &self.node else { return Ok(None) };
        let transaction = place.tx;
        let mut out_of_reach = vec![OutOfReach::Caches];
        let nodes = self.unclean_nodes(node, transaction)?.unwrap_or_else(|| {
            out_of_reach.push(OutOfReach::Nodes);
            Vec::new()
        });
        // After the nodes: one that was reading the rows holds up their removal.
        match node.shared.truth.vacuum() {
            Ok(more) => out_of_reach.extend(more),
            Err(error) => {
                tracing::warn!("the shared store was not vacuumed: {}", error.chain());
                out_of_reach.extend(OF_A_DATABASE);
            }
        }
        Ok(Some(SharedErasure { transaction, nodes, out_of_reach }))
    }

    /// The nodes that are not known to be rid of what a transaction erased, once those that are
    /// there are, or after a while. None if the store does not say.
    fn unclean_nodes(&self, node: &NodeState, tx: u64) -> Result<Option<Vec<UncleanNode>>> {
        let shared = &node.shared;
        let (began, own) = (Instant::now(), shared.truth.node_name());
        loop {
            let is_late = began.elapsed() >= shared.forget_wait;
            match shared.truth.nodes(KNOWN) {
                Ok(mut seen) => {
                    // An embedder keeps no rows.
                    seen.retain(|one| {
                        one.node != own && one.report.has_rows() && one.report.erased < tx
                    });
                    if is_late || !seen.iter().any(|one| one.ago <= LATELY) {
                        return Ok(Some(seen.into_iter().map(UncleanNode::of).collect()));
                    }
                }
                Err(Error::Unavailable { .. }) if is_late => return Ok(None),
                Err(Error::Unavailable { .. }) => {}
                Err(error) => return Err(error),
            }
            thread::sleep(self.inbox_poll());
        }
    }
}

/// What holds something of rows in a database about which nothing is known.
const OF_A_DATABASE: [OutOfReach; 5] = [
    OutOfReach::Rows,
    OutOfReach::FreeSpace,
    OutOfReach::Log,
    OutOfReach::Archives,
    OutOfReach::Backups,
];

impl UncleanNode {
    fn of(NodeSeen { node, report, ago, .. }: NodeSeen) -> Self {
        let (transaction, seen_seconds_ago) = (report.place.tx, ago.as_secs());
        Self { name: node, transaction, erased: report.erased, seen_seconds_ago }
    }
}
