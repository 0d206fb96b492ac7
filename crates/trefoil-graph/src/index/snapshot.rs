//! One state of an index: what a manifest names, mapped.

use std::{borrow::Cow, path::Path, sync::Arc};

use trefoil_core::{Result, RowId, Tombstones};

use crate::{
    index::manifest::{self, Manifest, SegmentEntry},
    segment::{
        Segment,
        encode::Source,
        said::{Said, Text},
    },
};

/// Bytes of new files that are checked when they are opened; the rest is checked block by block
/// as it is read. 16 MiB are some 20,000 chunks, and take about 3 ms.
const CHECKED_AT_OPEN: usize = 16 << 20;

/// A segment with its deletions.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) entry: SegmentEntry,
    pub(crate) segment: Arc<Segment>,
    pub(crate) deleted: Tombstones,
}

/// Segments that count, and which of their chunks do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) manifest: Manifest,
    pub(crate) views: Vec<View>,
}

impl View {
    /// Of a segment in no file.
    pub(crate) fn of(segment: Segment) -> Self {
        let entry = SegmentEntry { file: 0, seal: 0, chunks: segment.len(), deleted: Vec::new() };
        Self { entry, segment: Arc::new(segment), deleted: Tombstones::default() }
    }

    /// Chunks that count.
    pub(crate) fn live(&self) -> usize {
        self.segment.len() - self.deleted.len()
    }

    /// True if a chunk counts.
    #[inline]
    pub(crate) fn is_live(&self, chunk: u32) -> bool {
        !self.deleted.contains(chunk as usize)
    }

    /// The chunk of a row, if it counts.
    pub(crate) fn chunk(&self, row: RowId) -> Result<Option<u32>> {
        Ok(self.segment.chunk(row)?.filter(|&chunk| self.is_live(chunk)))
    }
}

impl Source for View {
    fn text_count(&self) -> usize {
        self.segment.text_count()
    }

    fn text(&self, text: Text) -> Result<&str> {
        self.segment.text(text)
    }

    fn chunks(&self) -> Result<Vec<(RowId, u32)>> {
        let rows = self.segment.rows()?.zip(0..);
        Ok(rows.filter(|&(_, chunk)| self.is_live(chunk)).collect())
    }

    fn tie(&self, chunk: u32) -> Result<u64> {
        self.segment.tie(chunk)
    }

    fn said(&self, chunk: u32) -> Result<Cow<'_, Said>> {
        let said = self.segment.said(chunk)?.renumbered(
            |entity| self.segment.key_text(entity),
            Ok,
            |label| self.segment.entity_label(label),
            |label| self.segment.relation_label(label),
        )?;
        Ok(Cow::Owned(said))
    }
}

impl Snapshot {
    /// Maps what a manifest names, taking what is the same from an earlier state.
    pub(crate) fn open(dir: &Path, manifest: Manifest, earlier: Option<&Self>) -> Result<Self> {
        let mut views = Vec::with_capacity(manifest.segments.len());
        let mut unchecked = CHECKED_AT_OPEN;
        for entry in &manifest.segments {
            let known = earlier.iter().flat_map(|earlier| &earlier.views);
            let known = known
                .clone()
                .find(|view| view.entry.file == entry.file && view.entry.seal == entry.seal);
            let segment = if let Some(view) = known {
                Arc::clone(&view.segment)
            } else {
                let segment = Segment::open(&dir.join(entry.name()))?;
                if segment.bytes() <= unchecked {
                    segment.verify()?;
                    unchecked -= segment.bytes();
                }
                Arc::new(segment)
            };
            let deleted = Tombstones::of(&entry.deleted, entry.chunks);
            let (true, Some(deleted)) =
                (segment.seal() == entry.seal && segment.len() == entry.chunks, deleted)
            else {
                let reason = format!("`{}` is not the file that it names", entry.name());
                return Err(manifest::damaged(dir, &reason));
            };
            views.push(View { entry: entry.clone(), segment, deleted });
        }
        Ok(Self { manifest, views })
    }

    /// Chunks that count.
    pub(crate) fn live(&self) -> usize {
        self.views.iter().map(View::live).sum()
    }
}
