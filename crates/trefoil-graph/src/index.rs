mod communities;
mod entities;
mod entity_cache;
pub(crate) mod evidence;
pub(crate) mod export;
pub(crate) mod files;
pub(crate) mod frozen;
pub(crate) mod frozen_file;
mod gazetteer;
pub(crate) mod indexer;
mod links;
pub(crate) mod manifest;
pub(crate) mod relations;
pub(crate) mod snapshot;
pub(crate) mod step;

use std::sync::{Arc, OnceLock};

use trefoil_core::{Allowed, Error, Extraction, Part, Result, RetrieverId, RowId};

use self::{
    entity_cache::EntityCache,
    evidence::Evidence,
    frozen::{Frozen, FrozenAt},
    manifest::Changes,
    snapshot::{Snapshot, View},
};
use crate::{
    Csr, GraphConfig, Node,
    segment::{Segment, encode::encode},
};

/// What chunks say of entities: one state of an index, and a frozen form of the whole graph.
///
/// What is asked of an entity or a chunk is told by the segments of the state. Walks, paths and
/// communities are of the frozen form, which may be [some changes](Self::lag) behind.
///
/// Entities have numbers: by normalised name from 0 if the frozen form is that of the state. Else
/// those that are in it keep its numbers, and others have higher ones, with gaps between them. A
/// number means nothing to another index.
#[derive(Debug)]
pub struct GraphIndex {
    snapshot: Arc<Snapshot>,
    live: usize,
    /// The first number of the entities of each segment that are not in the frozen form.
    firsts: Vec<Node>,
    frozen: Arc<Frozen>,
    config: GraphConfig,
    /// What was found to be damaged while it was read.
    damage: OnceLock<String>,
    cache: EntityCache,
}

/// An entity in the segments: each that mentions it, by place, with its ordinal there.
type Located = Vec<(usize, u32)>;

pub use entities::{Degrees, Entity};

impl GraphIndex {
    /// Makes the graph of what chunks say. Equals are in the order of their rows.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] if a setting is out of its range.
    pub fn build(
        chunks: impl IntoIterator<Item = (RowId, Extraction)>,
        config: &GraphConfig,
    ) -> Result<Self> {
        let evidence: Evidence = chunks.into_iter().collect();
        let segment = Segment::in_memory(encode(&[&evidence.added()])?)?;
        let views = vec![View::of(segment)];
        let snapshot = Arc::new(Snapshot { views, ..Snapshot::default() });
        let frozen = Arc::new(Frozen::of(&snapshot, config)?);
        Ok(Self::new(snapshot, frozen, config))
    }

    pub(crate) fn new(snapshot: Arc<Snapshot>, frozen: Arc<Frozen>, config: &GraphConfig) -> Self {
        let mut next = frozen.names.len();
        let firsts = snapshot.views.iter().map(|view| {
            let first = next;
            next = next.saturating_add(view.segment.entity_count());
            first
        });
        Self {
            firsts: firsts.collect(),
            live: snapshot.live(),
            frozen,
            config: config.clone(),
            damage: OnceLock::new(),
            cache: EntityCache::default(),
            snapshot,
        }
    }

    /// The state.
    pub(crate) const fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The frozen form.
    pub(crate) const fn frozen(&self) -> &Arc<Frozen> {
        &self.frozen
    }

    /// How many chunks came or went since the graph was frozen. Walks, paths and communities do
    /// not know of them.
    pub fn lag(&self) -> u64 {
        self.snapshot.manifest.changes.between(self.frozen.at.changes)
    }

    /// The state that the graph was frozen from.
    pub fn frozen_at(&self) -> FrozenAt {
        self.frozen.at
    }

    /// What has come and gone by now.
    pub fn changes(&self) -> Changes {
        self.snapshot.manifest.changes
    }

    /// Numbers of entities are below this; each is one if nothing came or went since the graph
    /// was frozen.
    pub fn entity_count(&self) -> u32 {
        let frozen = self.frozen.names.len();
        if self.lag() == 0 {
            return frozen;
        }
        let entities = self.views().iter().map(|view| view.segment.entity_count());
        entities.fold(frozen, u32::saturating_add)
    }

    /// How many chunks mention something.
    pub const fn chunk_count(&self) -> usize {
        self.live
    }

    /// The `count` best of the allowed chunks around entities and chunks with weights,
    /// best first: see [`EntityChunks::rank`](crate::EntityChunks::rank). Equals are in the order
    /// of their ids.
    pub fn rank(
        &self,
        entities: &[(Node, f32)],
        chunks: &[(RowId, f32)],
        allowed: &Allowed,
        count: usize,
    ) -> Vec<(RowId, f32)> {
        let is_current = self.lag() == 0;
        let admits = |row: RowId| {
            allowed.contains(row) && (is_current || self.noted(self.chunk(row)).flatten().is_some())
        };
        self.frozen.chunks.rank_where(entities, chunks, self.config.walk, admits, count)
    }

    /// The chunks that mention an entity in the frozen form, for work on the whole of it.
    pub fn frozen_chunks_of(&self, node: Node) -> impl ExactSizeIterator<Item = RowId> + '_ {
        self.frozen.chunks.chunks_of(node)
    }

    /// The weights of the relations between entities, without the weakest: the graph of
    /// walks and communities.
    pub fn related(&self) -> &Csr {
        &self.frozen.related
    }

    /// The weights of all relations, also of those that were seen once: the graph of paths.
    pub fn all_related(&self) -> &Csr {
        &self.frozen.all_related
    }

    /// Tells damage that was found while this was read: what was told since may be incomplete.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn check(&self) -> Result<()> {
        self.damage.get().map_or(Ok(()), |reason| {
            let part = Part::Index(RetrieverId::GRAPH);
            Err(Error::Corrupt { part, reason: reason.clone() })
        })
    }

    fn views(&self) -> &[View] {
        &self.snapshot.views
    }

    /// What was read, or nothing and a note of the damage.
    fn noted<T>(&self, read: Result<T>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(error) => {
                let reason =
                    if let Error::Corrupt { reason, .. } = error { reason } else { error.chain() };
                let _ = self.damage.set(reason);
                None
            }
        }
    }

    /// The segment and the chunk of a row that counts.
    fn chunk(&self, row: RowId) -> Result<Option<(&View, u32)>> {
        Ok(self.chunk_at(row)?.map(|(_, view, chunk)| (view, chunk)))
    }

    /// The same with the place of the segment.
    fn chunk_at(&self, row: RowId) -> Result<Option<(usize, &View, u32)>> {
        for (place, view) in self.views().iter().enumerate() {
            if let Some(chunk) = view.chunk(row)? {
                return Ok(Some((place, view, chunk)));
            }
        }
        Ok(None)
    }

    /// What orders the chunk of a row among equals.
    fn tie(&self, row: RowId) -> u64 {
        let tie = self.chunk(row).and_then(|found| match found {
            Some((view, chunk)) => view.segment.tie(chunk),
            None => Ok(0),
        });
        self.noted(tie).unwrap_or_default()
    }
}
