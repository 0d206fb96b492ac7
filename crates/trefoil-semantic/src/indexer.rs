use std::{
    any::Any,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use trefoil_core::{
    Error, IndexEntry, IndexInput, Indexer, Merge, Result, RetrieverId, RowId, Seq, Size,
    plan_merges,
};

use crate::{
    VectorConfig,
    language::LanguageCode,
    manifest::{Manifest, SegmentEntry, segment_name},
    merging::{VectorMerge, live},
    segment::{Content, Encoded, Segment, Source},
    snapshot::{Snapshot, View},
    vector::{self, MAX_DIMENSIONS},
};

/// The write half of the semantic retriever. One at a time: the caller holds the lock.
#[derive(Debug)]
pub struct VectorIndexer {
    dir: PathBuf,
    config: VectorConfig,
    snapshot: Snapshot,
    /// Never goes back, so that a file name is used once even if a commit fails.
    next_file: u64,
    /// The number of the files that a merge is writing.
    merging: Option<u64>,
    /// What the next commit does: a vector, or `None` to remove the row.
    pending: BTreeMap<RowId, Option<Encoded>>,
}

impl VectorIndexer {
    /// Opens the index in `dir`, or makes an empty one, and removes what a crash left.
    ///
    /// `fingerprint` names the space of the vectors ([`trefoil_core::EmbeddingSpace::fingerprint`]),
    /// `dimensions` is their length, 1–65,536. Files are checked up to 64 MiB in all, the
    /// rest when it is read. To start over, clear the index or remove the directory.
    ///
    /// # Errors
    /// [`Error::ModelMismatch`] or [`Error::DimensionMismatch`] if the index holds
    /// vectors of another space, [`Error::Corrupt`] if it is damaged,
    /// [`Error::UnsupportedFormat`], [`Error::InvalidConfig`], [`Error::Io`].
    pub fn open(
        dir: &Path,
        fingerprint: &str,
        dimensions: usize,
        config: &VectorConfig,
    ) -> Result<Self> {
        config.validate()?;
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            let value = dimensions.to_string();
            return Err(Error::InvalidConfig { field: "dimensions", value, allowed: "1–65,536" });
        }
        trefoil_core::create_private_folder(dir).map_err(|e| Error::io("create", dir, e))?;
        let manifest = match Manifest::read(dir)? {
            Some((_, manifest)) => manifest,
            None => Manifest::empty(fingerprint, dimensions),
        };
        manifest.check_space(fingerprint, dimensions)?;
        let snapshot = Snapshot::open(dir, manifest, None)?;
        snapshot.manifest.remove_others(dir, None)?;
        let next_file = snapshot.manifest.next_file;
        Ok(Self {
            dir: dir.to_owned(),
            config: *config,
            snapshot,
            next_file,
            merging: None,
            pending: BTreeMap::new(),
        })
    }

    /// Adds or replaces the vectors of rows, scaled to length 1, of texts in no known language.
    /// Either all are taken or, with an error, none. Equals are ordered by row.
    ///
    /// # Errors
    /// [`Error::DimensionMismatch`], [`Error::InvalidEmbedding`].
    pub fn put<'v>(&mut self, vectors: impl IntoIterator<Item = (RowId, &'v [f32])>) -> Result<()> {
        let numbered = |(row, vector): (RowId, _)| (row, row.get(), LanguageCode::NONE, vector);
        self.put_ordered(vectors.into_iter().map(numbered))
    }

    /// The same with the numbers that order equals, and with languages.
    fn put_ordered<'v>(
        &mut self,
        vectors: impl IntoIterator<Item = (RowId, u64, LanguageCode, &'v [f32])>,
    ) -> Result<()> {
        let dimensions = self.snapshot.manifest.dimensions;
        let encode = |(row, tie_break, language, vector)| {
            let unit = vector::unit(vector, dimensions)?;
            Ok((row, Some(Encoded::of(tie_break, language, &unit))))
        };
        let encoded: Vec<_> = vectors.into_iter().map(encode).collect::<Result<_>>()?;
        self.pending.extend(encoded);
        Ok(())
    }

    /// Rows that are committed.
    pub fn len(&self) -> usize {
        self.snapshot.len()
    }

    /// True if no row is committed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Vectors of removed rows that are still in a file.
    #[cfg(test)]
    pub(crate) fn deleted(&self) -> usize {
        self.snapshot.views.iter().map(|view| view.deleted.len()).sum()
    }

    /// The manifest after the pending changes: what is removed is marked, what is added is a new
    /// segment.
    fn write_pending(&mut self, seq: Seq) -> Result<Manifest> {
        let mut views = self.snapshot.views.clone();
        for view in &mut views {
            let rows = view.segment.rows()?;
            for &row in self.pending.keys() {
                if let Ok(ordinal) = rows.find(row, 0) {
                    view.deleted.insert(ordinal);
                }
            }
        }
        let live = views.iter().filter(|view| view.live() > 0);
        let mut segments: Vec<SegmentEntry> = live.map(View::committed).collect();
        let added = self.pending.iter().filter_map(|(&row, vector)| {
            Some(Source { row, content: Content::Added(vector.as_ref()?) })
        });
        let added: Vec<Source<'_>> = added.collect();
        if !added.is_empty() {
            let file = self.next_file;
            self.next_file += 1;
            segments.push(write_segment(&self.dir, file, &self.snapshot.manifest, &added)?);
        }
        Ok(Manifest { seq, ..self.next_manifest(segments) })
    }

    /// The manifest after the segments with deletions were written into one without.
    fn write_compacted(&mut self) -> Result<Manifest> {
        let is_clean = |view: &View| view.deleted.is_empty();
        let (clean, others): (Vec<View>, Vec<View>) =
            self.snapshot.views.iter().cloned().partition(is_clean);
        let mut segments: Vec<SegmentEntry> = clean.iter().map(View::committed).collect();
        let live = live(&others)?;
        if !live.is_empty() {
            let file = self.next_file;
            self.next_file += 1;
            segments.push(write_segment(&self.dir, file, &self.snapshot.manifest, &live)?);
        }
        Ok(self.next_manifest(segments))
    }

    fn next_manifest(&self, segments: Vec<SegmentEntry>) -> Manifest {
        let last = &self.snapshot.manifest;
        Manifest {
            fingerprint: last.fingerprint.clone(),
            dimensions: last.dimensions,
            seq: last.seq,
            commits: last.commits + 1,
            next_file: self.next_file,
            segments,
        }
    }

    /// Makes a manifest the one that counts. All its files are opened before; those that are open,
    /// here or in `prepared`, stay so.
    fn publish(&mut self, manifest: Manifest, prepared: Option<View>) -> Result<()> {
        let mut earlier = self.snapshot.clone();
        if let Some(prepared) = prepared {
            earlier.views.retain(|view| view.entry.file != prepared.entry.file);
            earlier.views.push(prepared);
        }
        let snapshot = Snapshot::open(&self.dir, manifest, Some(&earlier))?;
        snapshot.manifest.publish(&self.dir)?;
        self.snapshot = snapshot;
        self.snapshot.manifest.remove_others(&self.dir, self.merging)
    }

    /// The segments that should be one, the smallest that there are; none if none should.
    fn mergeable(&self) -> Option<Vec<View>> {
        let views = &self.snapshot.views;
        let size = |view: &View| Size { live: view.live(), deleted: view.deleted.len() };
        let groups = plan_merges(&views.iter().map(size).collect::<Vec<_>>());
        let group = groups.into_iter().next()?;
        Some(group.into_iter().filter_map(|place| views.get(place).cloned()).collect())
    }

    /// A segment that is large and has no graph.
    fn without_graph(&self) -> Option<View> {
        let is_slow = |view: &&View| view.graph.is_none() && view.live() > self.config.graph_limit;
        self.snapshot.views.iter().find(is_slow).cloned()
    }
}

fn write_segment(
    dir: &Path,
    file: u64,
    Manifest { dimensions, .. }: &Manifest,
    sources: &[Source<'_>],
) -> Result<SegmentEntry> {
    let seal = Segment::write(&dir.join(segment_name(file)), *dimensions, sources)?;
    Ok(SegmentEntry { file, seal, count: sources.len(), deleted: Vec::new(), graph: None })
}

impl Indexer for VectorIndexer {
    fn id(&self) -> RetrieverId {
        RetrieverId::SEMANTIC
    }

    fn inputs(&self) -> &[IndexInput] {
        &[IndexInput::Vector]
    }

    fn committed(&self) -> Seq {
        self.snapshot.manifest.seq
    }

    fn add(&mut self, entries: &[IndexEntry]) -> Result<()> {
        self.put_ordered(entries.iter().map(|IndexEntry { unit, vector, .. }| {
            (unit.row(), unit.tie_break(), unit.language().into(), vector.as_slice())
        }))
    }

    fn remove(&mut self, rows: &[RowId]) -> Result<()> {
        self.pending.extend(rows.iter().map(|&row| (row, None)));
        Ok(())
    }

    /// Makes the writes durable. After an error they are still pending, and committing again is
    /// safe. Segments are merged by [`plan_merge`](Indexer::plan_merge) and
    /// [`apply_merge`](Indexer::apply_merge); until then there are more of them, and large ones
    /// without a graph are compared as a whole.
    fn commit(&mut self, seq: Seq) -> Result<()> {
        if !self.pending.is_empty() || seq != self.committed() {
            let manifest = self.write_pending(seq)?;
            self.publish(manifest, None)?;
            self.pending.clear();
        }
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        let Manifest { fingerprint, dimensions, commits, .. } = &self.snapshot.manifest;
        let manifest = Manifest {
            commits: commits + 1,
            next_file: self.next_file,
            ..Manifest::empty(fingerprint, *dimensions)
        };
        self.merging = None;
        self.publish(manifest, None)?;
        self.pending.clear();
        Ok(())
    }

    fn compact(&mut self) -> Result<()> {
        self.merging = None;
        let manifest = self.write_compacted()?;
        self.publish(manifest, None)
    }

    fn plan_merge(&mut self) -> Result<Option<Box<dyn Merge>>> {
        if self.merging.take().is_some() {
            // The last one was dropped.
            self.snapshot.manifest.remove_others(&self.dir, None)?;
        }
        let (sources, file) = if let Some(sources) = self.mergeable() {
            self.next_file += 1;
            (sources, self.next_file - 1)
        } else if let Some(view) = self.without_graph() {
            let file = view.entry.file;
            (vec![view], file)
        } else {
            return Ok(None);
        };
        self.merging = Some(file);
        Ok(Some(Box::new(VectorMerge {
            dir: self.dir.clone(),
            config: self.config,
            dimensions: self.snapshot.manifest.dimensions,
            sources,
            file,
            merged: None,
        })))
    }

    fn apply_merge(&mut self, merge: Box<dyn Merge>) -> Result<()> {
        let merge: Box<dyn Any> = merge;
        let planned = self.merging.take();
        let prepared = match merge.downcast::<VectorMerge>().map(|merge| *merge) {
            Ok(VectorMerge { sources, file, merged: Some(merged), .. })
                if planned == Some(file) =>
            {
                Some((sources, merged))
            }
            _ => None,
        };
        let Some((sources, mut merged)) = prepared else {
            // It was stopped, or the index was cleared or compacted meanwhile.
            return self.snapshot.manifest.remove_others(&self.dir, None);
        };
        let is_source = |view: &View| sources.iter().any(|one| one.is_of(view));
        let (replaced, kept): (Vec<View>, Vec<View>) =
            self.snapshot.views.iter().cloned().partition(is_source);
        for source in &sources {
            let rows = source.segment.rows()?;
            let gone: Vec<RowId> = match replaced.iter().find(|view| view.is_of(source)) {
                Some(view) => view
                    .deleted
                    .since(&source.deleted)
                    .filter_map(|place| rows.get(place))
                    .collect(),
                // Nothing was left of it, so it is no part of the index any more.
                None => (0..)
                    .zip(rows.iter())
                    .filter(|&(place, _)| !source.deleted.contains(place))
                    .map(|(_, row)| row)
                    .collect(),
            };
            for row in gone {
                if let Ok(place) = merged.segment.rows()?.find(row, 0) {
                    merged.deleted.insert(place);
                }
            }
        }
        let segments = kept.iter().chain([&merged]).map(View::committed).collect();
        let manifest = self.next_manifest(segments);
        self.publish(manifest, Some(merged))
    }
}
