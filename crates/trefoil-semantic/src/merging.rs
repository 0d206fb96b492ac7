//! Merging of segments and building of their graphs: prepared from segments that never change,
//! while the index is written and searched.

use std::{path::PathBuf, sync::Arc};

use trefoil_core::{Merge, Result, Tombstones};

use crate::{
    VectorConfig,
    graph::Graph,
    manifest::{SegmentEntry, graph_name, segment_name},
    segment::{Content, Segment, Source},
    snapshot::View,
};

/// Segments that become one, with a graph if it is large enough; or a single one that keeps its file
/// and is given a graph.
#[derive(Debug)]
pub(crate) struct VectorMerge {
    pub(crate) dir: PathBuf,
    pub(crate) config: VectorConfig,
    pub(crate) dimensions: usize,
    /// The segments, as of the plan.
    pub(crate) sources: Vec<View>,
    /// The number of the file that is written.
    pub(crate) file: u64,
    /// What was prepared.
    pub(crate) merged: Option<View>,
}

impl VectorMerge {
    /// The merged segment, opened.
    fn segment(&self) -> Result<View> {
        if let [only] = self.sources.as_slice()
            && only.entry.file == self.file
        {
            return Ok(only.clone());
        }
        let live = live(&self.sources)?;
        let path = self.dir.join(segment_name(self.file));
        let seal = Segment::write(&path, self.dimensions, &live)?;
        let (file, count) = (self.file, live.len());
        let entry = SegmentEntry { file, seal, count, deleted: Vec::new(), graph: None };
        let segment = Arc::new(Segment::open(&path, self.dimensions)?);
        Ok(View { entry, segment, deleted: Tombstones::default(), graph: None })
    }
}

impl Merge for VectorMerge {
    fn prepare(&mut self, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let mut merged = self.segment()?;
        if is_stopped() {
            return Ok(false);
        }
        if merged.live() > self.config.graph_limit {
            let path = self.dir.join(graph_name(self.file));
            let (segment, dimensions) = (&merged.segment, self.dimensions);
            let seal = Graph::write(&path, segment, dimensions, &self.config, is_stopped)?;
            if seal.is_none() {
                return Ok(false);
            }
            merged.entry.graph = seal;
            merged.graph = Some(Arc::new(Graph::open(&path, merged.entry.count)?));
        }
        self.merged = Some(merged);
        Ok(true)
    }
}

/// The vectors of some segments that count, ascending by row.
pub(crate) fn live(views: &[View]) -> Result<Vec<Source<'_>>> {
    let mut sources: Vec<Source<'_>> = Vec::new();
    for view in views {
        let rows = view.segment.rows()?.iter().enumerate();
        let live = rows.filter(|&(ordinal, _)| !view.deleted.contains(ordinal));
        sources.extend(live.map(|(ordinal, row)| Source {
            row,
            content: Content::Stored(&view.segment, ordinal),
        }));
    }
    sources.sort_unstable_by_key(|source| source.row);
    Ok(sources)
}
