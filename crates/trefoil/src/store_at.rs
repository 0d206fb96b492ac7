//! Where the rows of an index are kept.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use trefoil_core::{Error, Result};
use trefoil_store::truth::{Cluster, Lost, NodeTimes, Place};

/// Where the rows of an index are kept.
#[derive(Clone, Debug, Default)]
pub enum StoreAt {
    /// In the directory of the index, which is all of it.
    #[default]
    Here,
    /// In a store that several nodes share. The directory is the cache of this one.
    Shared(SharedStore),
}

/// A store that several nodes share, as one of them sees it.
#[derive(Clone, Debug)]
pub struct SharedStore {
    /// The node's connection to the shard.
    pub truth: Arc<dyn Cluster>,
    /// Whether the node leads the shard when no other node does. True by default.
    pub may_lead: bool,
    /// Who embeds what is written while this node leads.
    pub embed: EmbedAt,
    /// Whether the node embeds texts of the queue where there is one, whoever leads. True by
    /// default.
    pub embeds: bool,
    /// How often it asks, and how long it leads without being heard of.
    pub times: NodeTimes,
    /// What a search does that cannot see yet what it is to see.
    pub freshness: Freshness,
    /// How long a search waits for that; 2 s by default.
    pub freshness_wait: Duration,
    /// How long a write waits for the node that leads; 30 s by default.
    pub write_wait: Duration,
    /// How long forgetting waits for the other nodes that are there; 10 s by default.
    pub forget_wait: Duration,
    /// Where others reach this node, if they do; it is told them.
    pub address: Option<String>,
}

/// What a search does that cannot see yet what its caller wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Freshness {
    /// It answers from what there is, and `degraded` says by how much it is behind.
    #[default]
    Preferred,
    /// It is an error, [`Error::Behind`].
    Required,
}

/// Who embeds what is written. All nodes of a store are to say the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbedAt {
    /// The node that leads.
    #[default]
    Here,
    /// The node that leads puts texts into a queue of the store. Nodes that
    /// [embed](SharedStore::embeds), and each [`QueueEmbedder`](crate::cluster::QueueEmbedder) with
    /// the model of the index, take them from there and store their vectors.
    Queue,
}

/// How a node stands to the store that it shares with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// How far its cache is.
    pub place: Place,
    /// Whether it leads: then it accepts writes.
    pub leads: bool,
    /// How many transactions it is behind what it last heard of.
    pub behind: u64,
    /// What its cache had that the store lost, since the engine was opened.
    pub lost: Option<Lost>,
    /// What went wrong when it last asked, if something did.
    pub failed: Option<String>,
}

impl SharedStore {
    /// A node that leads when no other node does, with the default times.
    pub fn new(truth: Arc<dyn Cluster>) -> Self {
        Self {
            truth,
            may_lead: true,
            embed: EmbedAt::default(),
            embeds: true,
            times: NodeTimes::default(),
            freshness: Freshness::default(),
            freshness_wait: Duration::from_secs(2),
            write_wait: Duration::from_secs(30),
            forget_wait: Duration::from_secs(10),
            address: None,
        }
    }

    /// Checks the times.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] if the lease would run out before it is renewed.
    pub(crate) fn check(&self) -> Result<()> {
        let NodeTimes { lease, renew, .. } = self.times;
        let (given, allowed) = (format!("{renew:?} of {lease:?}"), "less than half of the lease");
        Error::check_config(renew.saturating_mul(2) < lease, "store.renew", given, allowed)
    }
}
