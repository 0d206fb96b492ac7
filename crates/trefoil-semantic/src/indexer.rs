use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use trefoil_core::{Error, IndexEntry, IndexInput, Indexer, Result, RetrieverId, RowId, Seq};

use crate::{
    VectorConfig,
    graph::Graph,
    manifest::{Manifest, SegmentEntry, graph_name, segment_name},
    merge::{self, Size},
    segment::{Content, Encoded, Segment, Source},
    snapshot::Snapshot,
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
        snapshot.manifest.remove_others(dir)?;
        let next_file = snapshot.manifest.next_file;
        let pending = BTreeMap::new();
        Ok(Self { dir: dir.to_owned(), config: *config, snapshot, next_file, pending })
    }

    /// Adds or replaces the vectors of rows, scaled to length 1. Either all are taken or,
    /// with an error, none.
    ///
    /// # Errors
    /// [`Error::DimensionMismatch`], [`Error::InvalidEmbedding`].
    pub fn put<'v>(&mut self, vectors: impl IntoIterator<Item = (RowId, &'v [f32])>) -> Result<()> {
        let dimensions = self.snapshot.manifest.dimensions;
        let encode =
            |(row, vector)| Ok((row, Some(Encoded::of(&vector::unit(vector, dimensions)?))));
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

    /// The manifest after the pending changes, with new segments written but without
    /// their graphs.
    fn write_segments(&mut self, seq: Seq) -> Result<Manifest> {
        let added = self.pending.iter().filter_map(|(&row, vector)| {
            Some(Source { row, content: Content::Added(vector.as_ref()?) })
        });
        let added: Vec<Source<'_>> = added.collect();
        let mut views = self.snapshot.views.clone();
        for view in &mut views {
            let rows = view.segment.rows()?;
            for &row in self.pending.keys() {
                if let Ok(ordinal) = rows.find(row, 0) {
                    view.deleted.insert(ordinal);
                }
            }
        }
        let files =
            views.iter().map(|v| Size { live: v.live(), deleted: v.deleted.len(), new: false });
        let sizes: Vec<Size> =
            files.chain([Size { live: added.len(), deleted: 0, new: true }]).collect();
        let groups = merge::plan(&sizes);

        let Manifest { fingerprint, dimensions, commits, .. } = self.snapshot.manifest.clone();
        let mut segments: Vec<SegmentEntry> = Vec::new();
        for (place, view) in views.iter().enumerate() {
            if view.live() > 0 && !groups.iter().flatten().any(|&grouped| grouped == place) {
                segments
                    .push(SegmentEntry { deleted: view.deleted.ranges(), ..view.entry.clone() });
            }
        }
        for group in groups {
            let mut sources: Vec<Source<'_>> = Vec::new();
            for place in group {
                if let Some(view) = views.get(place) {
                    for (ordinal, row) in view.segment.rows()?.iter().enumerate() {
                        if !view.deleted.contains(ordinal) {
                            let content = Content::Stored(&view.segment, ordinal);
                            sources.push(Source { row, content });
                        }
                    }
                } else {
                    sources.extend(added.iter().copied());
                }
            }
            sources.sort_unstable_by_key(|source| source.row);
            let file = self.next_file;
            self.next_file += 1;
            let seal = Segment::write(&self.dir.join(segment_name(file)), dimensions, &sources)?;
            segments.push(SegmentEntry {
                file,
                seal,
                count: sources.len(),
                deleted: Vec::new(),
                graph: None,
            });
        }
        Ok(Manifest {
            fingerprint,
            dimensions,
            seq,
            commits: commits + 1,
            next_file: self.next_file,
            segments,
        })
    }

    /// The manifest after everything that is committed was written into one new segment.
    fn write_compacted(&mut self) -> Result<Manifest> {
        let Manifest { dimensions, commits, .. } = self.snapshot.manifest;
        let mut sources: Vec<Source<'_>> = Vec::new();
        for view in &self.snapshot.views {
            for (ordinal, row) in view.segment.rows()?.iter().enumerate() {
                if !view.deleted.contains(ordinal) {
                    sources.push(Source { row, content: Content::Stored(&view.segment, ordinal) });
                }
            }
        }
        sources.sort_unstable_by_key(|source| source.row);
        let mut segments = Vec::new();
        if !sources.is_empty() {
            let file = self.next_file;
            self.next_file += 1;
            let seal = Segment::write(&self.dir.join(segment_name(file)), dimensions, &sources)?;
            let count = sources.len();
            segments.push(SegmentEntry { file, seal, count, deleted: Vec::new(), graph: None });
        }
        Ok(Manifest {
            commits: commits + 1,
            next_file: self.next_file,
            segments,
            ..self.snapshot.manifest.clone()
        })
    }

    /// Gives every segment that is large enough a graph; until then it is scanned.
    fn write_graphs(&mut self) -> Result<()> {
        let mut manifest = self.snapshot.manifest.clone();
        let mut new = false;
        for (entry, view) in manifest.segments.iter_mut().zip(&self.snapshot.views) {
            if entry.graph.is_none() && view.live() > self.config.exact_limit {
                let path = self.dir.join(graph_name(entry.file));
                entry.graph =
                    Some(Graph::write(&path, &view.segment, manifest.dimensions, &self.config)?);
                new = true;
            }
        }
        if new {
            manifest.commits += 1;
            self.publish(manifest)?;
        }
        Ok(())
    }

    /// Makes a manifest the one that counts. All its files are opened before.
    fn publish(&mut self, manifest: Manifest) -> Result<()> {
        let snapshot = Snapshot::open(&self.dir, manifest, Some(&self.snapshot))?;
        snapshot.manifest.publish(&self.dir)?;
        self.snapshot = snapshot;
        self.snapshot.manifest.remove_others(&self.dir)
    }
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
        self.put(entries.iter().map(|entry| (entry.unit.row(), entry.vector.as_slice())))
    }

    fn remove(&mut self, rows: &[RowId]) -> Result<()> {
        self.pending.extend(rows.iter().map(|&row| (row, None)));
        Ok(())
    }

    /// Makes the writes durable, then builds the graphs that are missing. After an error
    /// the writes are still pending, and committing again is safe.
    fn commit(&mut self, seq: Seq) -> Result<()> {
        if !self.pending.is_empty() || seq != self.committed() {
            let manifest = self.write_segments(seq)?;
            self.publish(manifest)?;
            self.pending.clear();
        }
        self.write_graphs()
    }

    fn clear(&mut self) -> Result<()> {
        let Manifest { fingerprint, dimensions, commits, .. } = &self.snapshot.manifest;
        let manifest = Manifest {
            commits: commits + 1,
            next_file: self.next_file,
            ..Manifest::empty(fingerprint, *dimensions)
        };
        self.publish(manifest)?;
        self.pending.clear();
        Ok(())
    }

    fn compact(&mut self) -> Result<()> {
        let manifest = self.write_compacted()?;
        self.publish(manifest)?;
        self.write_graphs()
    }
}
