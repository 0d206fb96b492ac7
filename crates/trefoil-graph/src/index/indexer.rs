use std::{
    any::Any,
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use trefoil_core::{
    Error, IndexEntry, IndexInput, Indexer, Merge, Result, RetrieverId, RowId, Seq, Size,
    Tombstones, plan_merges,
};

use crate::{
    index::{
        evidence::Evidence,
        frozen_file,
        manifest::{Changes, Manifest, SegmentEntry, segment_name},
        snapshot::{Snapshot, View},
    },
    segment::{
        Segment,
        encode::{Source, encode},
    },
};

/// The write half of the graph retriever. One at a time: the caller holds the lock.
///
/// A commit writes one segment of what changed, and reads no more than where it replaces
/// something. Segments are merged apart from it ([`Merge`]).
#[derive(Debug)]
pub struct GraphIndexer {
    dir: PathBuf,
    snapshot: Snapshot,
    /// Never goes back, so that a file name is used once even if a commit fails.
    next_file: u64,
    /// The number of the file that a merge is writing.
    merging: Option<u64>,
    /// What the next commit adds.
    added: Evidence,
    /// The rows that it adds, replaces or removes.
    changed: BTreeSet<RowId>,
}

/// Segments that become one: prepared from files that never change, while the index is written
/// and searched.
#[derive(Debug)]
struct GraphMerge {
    dir: PathBuf,
    /// The segments, as of the plan.
    sources: Vec<View>,
    /// The number of the file that is written.
    file: u64,
    /// What was prepared.
    merged: Option<SegmentEntry>,
}

impl Merge for GraphMerge {
    fn prepare(&mut self, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        if is_stopped() {
            return Ok(false);
        }
        let sources: Vec<&dyn Source> = self.sources.iter().map(|view| view as _).collect();
        let payload = encode(&sources)?;
        if is_stopped() {
            return Ok(false);
        }
        self.merged = Some(write_segment(&self.dir, self.file, &payload)?);
        Ok(true)
    }
}

impl GraphIndexer {
    /// Opens the index in `dir`, or makes an empty one, and removes what a crash left. Files are
    /// checked up to 16 MiB in all, the rest when it is read.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is damaged or an older version wrote it,
    /// [`Error::UnsupportedFormat`] if a newer version wrote it, [`Error::Io`].
    pub fn open(dir: &Path) -> Result<Self> {
        trefoil_core::create_private_folder(dir)
            .map_err(|error| Error::io("create", dir, error))?;
        let manifest = Manifest::read(dir)?.map(|(_, manifest)| manifest).unwrap_or_default();
        let snapshot = Snapshot::open(dir, manifest, None)?;
        snapshot.manifest.remove_others(dir, None)?;
        Ok(Self {
            dir: dir.to_owned(),
            next_file: snapshot.manifest.next_file,
            snapshot,
            merging: None,
            added: Evidence::default(),
            changed: BTreeSet::new(),
        })
    }

    /// The manifest after the pending changes: what is removed is marked, what is added is a new
    /// segment.
    fn write_pending(&mut self, seq: Seq) -> Result<Manifest> {
        let mut views = self.snapshot.views.clone();
        let mut removed = 0;
        for view in &mut views {
            for &row in &self.changed {
                if let Some(chunk) = view.chunk(row)? {
                    view.deleted.insert(chunk as usize);
                    removed += 1;
                }
            }
        }
        let mut segments = committed(&views);
        if self.added.len() > 0 {
            let payload = encode(&[&self.added.added()])?;
            let file = self.new_file();
            segments.push(write_segment(&self.dir, file, &payload)?);
        }
        let Changes { added, removed: before } = self.snapshot.manifest.changes;
        let changes = Changes { added: added + self.added.len() as u64, removed: before + removed };
        Ok(Manifest { seq, changes, ..self.next_manifest(segments) })
    }

    fn next_manifest(&self, segments: Vec<SegmentEntry>) -> Manifest {
        let Manifest { seq, commits, changes, .. } = self.snapshot.manifest;
        Manifest { seq, commits: commits + 1, changes, next_file: self.next_file, segments }
    }

    const fn new_file(&mut self) -> u64 {
        self.next_file += 1;
        self.next_file - 1
    }

    /// Makes a manifest the one that counts. All its files are opened before.
    fn publish(&mut self, manifest: Manifest) -> Result<()> {
        let snapshot = Snapshot::open(&self.dir, manifest, Some(&self.snapshot))?;
        snapshot.manifest.publish(&self.dir)?;
        self.snapshot = snapshot;
        self.snapshot.manifest.remove_others(&self.dir, self.merging)
    }

    fn forget_pending(&mut self) {
        self.added = Evidence::default();
        self.changed.clear();
    }

    /// The segments that should be one, the smallest that there are; none if none should.
    fn mergeable(&self) -> Option<Vec<View>> {
        let views = &self.snapshot.views;
        let size = |view: &View| Size { live: view.live(), deleted: view.deleted.len() };
        let groups = plan_merges(&views.iter().map(size).collect::<Vec<_>>());
        let group = groups.into_iter().next()?;
        Some(group.into_iter().filter_map(|place| views.get(place).cloned()).collect())
    }
}

/// The entries of segments, as far as anything in them counts.
fn committed(views: &[View]) -> Vec<SegmentEntry> {
    let live = views.iter().filter(|view| view.live() > 0);
    live.map(|view| SegmentEntry { deleted: view.deleted.ranges(), ..view.entry.clone() }).collect()
}

fn write_segment(dir: &Path, file: u64, payload: &[u8]) -> Result<SegmentEntry> {
    let path = dir.join(segment_name(file));
    let seal = Segment::write(&path, payload)?;
    let chunks = Segment::open(&path)?.len();
    Ok(SegmentEntry { file, seal, chunks, deleted: Vec::new() })
}

impl Indexer for GraphIndexer {
    fn id(&self) -> RetrieverId {
        RetrieverId::GRAPH
    }

    fn inputs(&self) -> &[IndexInput] {
        &[IndexInput::Extraction]
    }

    fn committed(&self) -> Seq {
        self.snapshot.manifest.seq
    }

    fn add(&mut self, entries: &[IndexEntry]) -> Result<()> {
        for entry in entries {
            let row = entry.unit.row();
            self.added.put(row, entry.unit.tie_break(), &entry.extraction);
            self.changed.insert(row);
        }
        Ok(())
    }

    fn remove(&mut self, rows: &[RowId]) -> Result<()> {
        for &row in rows {
            self.added.remove(row);
            self.changed.insert(row);
        }
        Ok(())
    }

    /// After an error the writes are still pending, and committing again is safe.
    fn commit(&mut self, seq: Seq) -> Result<()> {
        if !self.changed.is_empty() || seq != self.committed() {
            let manifest = self.write_pending(seq)?;
            self.publish(manifest)?;
            self.forget_pending();
        }
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        frozen_file::remove(&self.dir)?;
        self.merging = None;
        let Changes { added, removed } = self.snapshot.manifest.changes;
        let removed = removed + self.snapshot.live() as u64;
        self.publish(Manifest {
            seq: Seq::ZERO,
            changes: Changes { added, removed },
            ..self.next_manifest(Vec::new())
        })?;
        self.forget_pending();
        Ok(())
    }

    /// Merges the segments with deletions, and removes the frozen form, which holds names too.
    fn compact(&mut self) -> Result<()> {
        frozen_file::remove(&self.dir)?;
        self.merging = None;
        let (clean, others): (Vec<View>, Vec<View>) =
            self.snapshot.views.iter().cloned().partition(|view| view.deleted.is_empty());
        let mut segments = committed(&clean);
        if others.iter().any(|view| view.live() > 0) {
            let sources: Vec<&dyn Source> = others.iter().map(|view| view as _).collect();
            let payload = encode(&sources)?;
            let file = self.new_file();
            segments.push(write_segment(&self.dir, file, &payload)?);
        }
        self.publish(self.next_manifest(segments))
    }

    fn plan_merge(&mut self) -> Result<Option<Box<dyn Merge>>> {
        if self.merging.take().is_some() {
            // The last one was dropped.
            self.snapshot.manifest.remove_others(&self.dir, None)?;
        }
        let Some(sources) = self.mergeable() else { return Ok(None) };
        let file = self.new_file();
        self.merging = Some(file);
        Ok(Some(Box::new(GraphMerge { dir: self.dir.clone(), sources, file, merged: None })))
    }

    fn apply_merge(&mut self, merge: Box<dyn Merge>) -> Result<()> {
        let merge: Box<dyn Any> = merge;
        let planned = self.merging.take();
        let (sources, mut entry) = match merge.downcast::<GraphMerge>().map(|merge| *merge) {
            Ok(GraphMerge { sources, file, merged: Some(entry), .. }) if planned == Some(file) => {
                (sources, entry)
            }
            _ => return Ok(()),
        };
        let merged = Segment::open(&self.dir.join(entry.name()))?;
        let is_source = |view: &View| sources.iter().any(|one| one.entry.file == view.entry.file);
        let (now, others): (Vec<View>, Vec<View>) =
            self.snapshot.views.iter().cloned().partition(is_source);
        // What was removed meanwhile; nothing is live any more in a source that is gone.
        let mut deleted = Tombstones::default();
        for source in &sources {
            let now = now.iter().find(|view| view.entry.file == source.entry.file);
            for (row, chunk) in source.chunks()? {
                if now.is_none_or(|now| !now.is_live(chunk))
                    && let Some(chunk) = merged.chunk(row)?
                {
                    deleted.insert(chunk as usize);
                }
            }
        }
        entry.deleted = deleted.ranges();
        let mut segments = committed(&others);
        if deleted.len() < entry.chunks {
            segments.push(entry);
        }
        segments.sort_by_key(|segment| segment.file);
        self.publish(self.next_manifest(segments))
    }
}

#[cfg(test)]
impl GraphIndexer {
    /// How many segments there are.
    pub(crate) fn segment_count(&self) -> usize {
        self.snapshot.views.len()
    }
}
