//! One state of an index: what a manifest names, mapped.

use std::{path::Path, sync::Arc};

use trefoil_core::{Allowed, Error, Part, QueryVectors, Result, RetrieverId, RowId, Tombstones};

use crate::{
    VectorConfig,
    candidates::Candidates,
    graph::Graph,
    manifest::{Manifest, SegmentEntry},
    probe::probe,
    query::Query,
    scan::scan,
    segment::Segment,
    vector,
};

/// Bytes of new files that are checked when they are opened; the rest is checked block
/// by block as it is read. 64 MiB take about 10 ms.
const CHECKED_AT_OPEN: usize = 64 << 20;
/// A filter that allows fewer than one in this many vectors is followed row by row.
const SPARSE: usize = 10;

/// A segment with its deletions and its graph.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) entry: SegmentEntry,
    pub(crate) segment: Arc<Segment>,
    pub(crate) deleted: Tombstones,
    pub(crate) graph: Option<Arc<Graph>>,
}

impl View {
    /// Maps what an entry names, taking what is the same from an earlier state.
    fn open(
        dir: &Path,
        entry: &SegmentEntry,
        dimensions: usize,
        earlier: Option<&Self>,
    ) -> Result<Self> {
        let damaged = |name: String, reason| Error::Corrupt {
            part: Part::Index(RetrieverId::SEMANTIC),
            reason: format!("`{}`: {reason}", dir.join(name).display()),
        };
        let segment = match earlier {
            Some(earlier) => earlier.segment.clone(),
            None => Arc::new(Segment::open(&dir.join(entry.segment_name()), dimensions)?),
        };
        if segment.seal() != entry.seal || segment.len() != entry.count {
            return Err(damaged(
                entry.segment_name(),
                "it is not the file that the manifest names",
            ));
        }
        let graph = match (entry.graph, earlier.and_then(|earlier| earlier.graph.clone())) {
            (None, _) => None,
            (Some(seal), Some(graph)) if graph.seal() == seal => Some(graph),
            (Some(seal), _) => {
                let graph = Graph::open(&dir.join(entry.graph_name()), entry.count)?;
                if graph.seal() != seal {
                    return Err(damaged(
                        entry.graph_name(),
                        "it is not the file that the manifest names",
                    ));
                }
                Some(Arc::new(graph))
            }
        };
        let deleted = Tombstones::of(&entry.deleted, entry.count)
            .ok_or_else(|| damaged(entry.segment_name(), "more is deleted than there is"))?;
        Ok(Self { entry: entry.clone(), segment, deleted, graph })
    }

    /// The segment as a manifest names it.
    pub(crate) fn committed(&self) -> SegmentEntry {
        SegmentEntry { deleted: self.deleted.ranges(), ..self.entry.clone() }
    }

    /// Whether both are of the same segment, whatever is deleted.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        (self.entry.file, self.entry.seal) == (other.entry.file, other.entry.seal)
    }

    /// Vectors that count.
    pub(crate) fn live(&self) -> usize {
        self.segment.len() - self.deleted.len()
    }

    /// True if a search need not compare all vectors.
    pub(crate) fn has_shortcut(&self) -> bool {
        self.graph.is_some() || self.segment.has_lists()
    }

    /// Bytes of its files.
    pub(crate) fn file_bytes(&self) -> usize {
        self.segment.bytes() + self.graph.as_ref().map_or(0, |graph| graph.bytes())
    }

    /// Checks every byte of its files.
    pub(crate) fn verify(&self) -> Result<()> {
        self.segment.verify()?;
        self.graph.as_ref().map_or(Ok(()), |graph| graph.verify())
    }

    /// The language of each vector, if the query is for some of them only.
    pub(crate) fn other_languages(&self, query: &Query<'_>) -> Result<Option<&[u8]>> {
        let is_for_some = !self.segment.language_codes()?.without(query.languages).is_empty();
        is_for_some.then(|| self.segment.languages()).transpose()
    }

    /// Offers the nearest of the segment that are live, allowed and in a language of the query:
    /// all there are, or at least `k`.
    fn search(
        &self,
        place: usize,
        query: &Query<'_>,
        search: &Search<'_>,
        candidates: &mut Candidates,
    ) -> Result<()> {
        if self.segment.language_codes()?.and(query.languages).is_empty() {
            return Ok(());
        }
        if let Some(graph) = &self.graph
            && let Some(budget) = self.walk_budget(search)
        {
            let rows = self.segment.rows()?;
            let languages = self.other_languages(query)?;
            let admit = |ordinal: usize| {
                !self.deleted.contains(ordinal)
                    && languages.is_none_or(|all| query.is_for(all, ordinal))
                    && rows.get(ordinal).is_some_and(|row| search.allowed.contains(row))
            };
            let code = &query.code.bytes;
            let walked = graph.walk(&self.segment, code, search.ef(), budget, admit)?;
            // A walk that finds fewer than k proves nothing: then everything is compared.
            if let Some(found) = walked.filter(|found| found.len() >= search.k) {
                for ordinal in found {
                    if let Some(row) = rows.get(ordinal) {
                        candidates.offer(query.candidate(&self.segment, place, ordinal, row)?);
                    }
                }
                return Ok(());
            }
        }
        match self.segment.lists()? {
            Some(lists) if self.probes(search) => {
                probe(self, &lists, place, query, search.allowed, candidates)
            }
            _ => scan(self, place, query, search.allowed, candidates),
        }
    }

    /// Live vectors that are allowed, at most.
    fn allowed(&self, search: &Search<'_>) -> usize {
        match search.allowed {
            Allowed::All => self.live(),
            Allowed::Only(rows) => rows.len().min(self.live()),
        }
    }

    /// True if the lists are to be searched, not all vectors compared.
    fn probes(&self, search: &Search<'_>) -> bool {
        let allowed = self.allowed(search);
        !search.exact
            && allowed > search.config.exact_limit
            && allowed > self.segment.len() / SPARSE
    }

    /// How many nodes a walk may compare; `None` if all vectors are to be compared.
    fn walk_budget(&self, search: &Search<'_>) -> Option<usize> {
        let allowed = self.allowed(search);
        let budget = walk_budget(allowed, self.segment.len(), search.ef(), search.config);
        budget.filter(|_| !search.exact)
    }
}

/// How many nodes a walk may compare before a scan of the allowed vectors is cheaper;
/// `None` if a scan is expected to be.
///
/// `graph_limit` says what a walk with `ef_search` costs in vectors scanned. A walk
/// follows as many more nodes as its `ef` is larger and as the filter lets fewer pass,
/// and compares up to `2 m` links of each.
fn walk_budget(allowed: usize, nodes: usize, ef: usize, config: &VectorConfig) -> Option<usize> {
    let VectorConfig { graph_limit, m, ef_search, .. } = *config;
    let wider = graph_limit.saturating_mul(ef) / ef_search.max(1);
    let walk = wider.saturating_mul(nodes) / allowed.max(1);
    let links = allowed.saturating_mul(2 * m).saturating_mul(ef_search);
    (walk < allowed).then(|| links.checked_div(graph_limit).unwrap_or(usize::MAX))
}

/// What is searched for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search<'a> {
    /// Unit vectors of the index's dimensions.
    pub(crate) vectors: &'a QueryVectors,
    /// How many rows are wanted.
    pub(crate) k: usize,
    /// Which rows may be returned.
    pub(crate) allowed: &'a Allowed,
    /// True if no graph may be walked.
    pub(crate) exact: bool,
    /// How to search.
    pub(crate) config: &'a VectorConfig,
}

impl Search<'_> {
    /// Nodes that a walk keeps.
    fn ef(&self) -> usize {
        self.config.ef_search.max(self.k.saturating_mul(2))
    }
}

/// What a manifest names.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) manifest: Manifest,
    pub(crate) views: Vec<View>,
}

impl Snapshot {
    /// Maps the files of a manifest, taking what is the same from an earlier state.
    pub(crate) fn open(dir: &Path, manifest: Manifest, earlier: Option<&Self>) -> Result<Self> {
        let mut to_check = CHECKED_AT_OPEN;
        let mut views = Vec::with_capacity(manifest.segments.len());
        for entry in &manifest.segments {
            let same =
                |view: &&View| view.entry.file == entry.file && view.entry.seal == entry.seal;
            let known = earlier.and_then(|earlier| earlier.views.iter().find(same));
            let view = View::open(dir, entry, manifest.dimensions, known)?;
            if let Some(left) = to_check.checked_sub(view.file_bytes()) {
                view.verify()?;
                to_check = left;
            }
            views.push(view);
        }
        Ok(Self { manifest, views })
    }

    /// Rows that count.
    pub(crate) fn len(&self) -> usize {
        self.views.iter().map(View::live).sum()
    }

    /// The nearest rows with their cosines, best first, equals by their numbers.
    pub(crate) fn search(&self, search: &Search<'_>) -> Result<Vec<(RowId, f32)>> {
        let queries = Query::of(search.vectors);
        let mut candidates = Candidates::new(search.k);
        for (place, view) in self.views.iter().enumerate() {
            for query in &queries {
                view.search(place, query, search, &mut candidates)?;
            }
        }
        let mut nearest = Vec::new();
        for candidate in candidates.into_kept() {
            let Some(view) = self.views.get(candidate.segment) else { continue };
            let stored = view.segment.vector(candidate.ordinal)?;
            let tie_break = view.segment.tie_break(candidate.ordinal)?;
            let language = view.segment.language(candidate.ordinal)?.language();
            let cosine = vector::cosine(search.vectors.for_language(language), stored);
            nearest.push((cosine, tie_break, candidate.row));
        }
        nearest.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        nearest.truncate(search.k);
        Ok(nearest.into_iter().map(|(cosine, _, row)| (row, cosine)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_must_be_worth_it() {
        let config =
            VectorConfig { graph_limit: 30_000, ef_search: 100, m: 16, ..VectorConfig::default() };
        let walks = |allowed, nodes, ef| walk_budget(allowed, nodes, ef, &config).is_some();
        assert!(!walks(30_000, 30_000, 100));
        assert!(walks(30_001, 30_001, 100));
        assert!(!walks(50_000, 50_000, 200), "a wide walk costs more");
        assert!(walks(70_000, 70_000, 200));
        assert!(!walks(40_000, 100_000, 100), "so does one through a filter");
        assert!(walks(60_000, 100_000, 100));
        assert_eq!(walk_budget(60_000, 60_000, 100, &config), Some(6_400));
        assert!(!walks(0, 100_000, 100));
    }
}
