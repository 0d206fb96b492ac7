//! The filters of a query, looked at once more: on what is stored.

use std::collections::{BTreeMap, BTreeSet};

use globset::{Glob, GlobMatcher};
use trefoil_core::{EntityId, Error, FileId, Result, RowId, RowSet, SearchFilters, StoredChunk};
use trefoil_store::entity_id;

use crate::state::State;

/// The filters of a query as a test of one chunk: the second look, independent of how
/// the rows were chosen.
#[derive(Debug)]
pub(crate) struct Admission<'q> {
    filters: &'q SearchFilters,
    files: BTreeSet<&'q FileId>,
    glob: Option<GlobMatcher>,
}

impl<'q> Admission<'q> {
    pub(crate) fn new(filters: &'q SearchFilters) -> Result<Self> {
        let glob = match &filters.path_glob {
            Some(glob) => Some(
                Glob::new(glob)
                    .map_err(|_| {
                        Error::invalid_query(
                            "filters.pathGlob",
                            glob,
                            "a glob such as `docs/**/*.md`",
                        )
                    })?
                    .compile_matcher(),
            ),
            None => None,
        };
        Ok(Self { filters, files: filters.file_ids.iter().collect(), glob })
    }

    /// True if `chunk` passes every filter that its own data can answer.
    pub(crate) fn admits(&self, chunk: &StoredChunk) -> bool {
        let SearchFilters { date_range, tags, languages, .. } = self.filters;
        let file = &chunk.file;
        (self.files.is_empty() || self.files.contains(&file.id))
            && date_range.is_none_or(|range| file.date.is_some_and(|date| range.contains(date)))
            && (tags.is_empty() || file.tags.iter().any(|tag| tags.contains(tag)))
            && (languages.is_empty() || languages.contains(&chunk.chunk.language))
            && self.glob.as_ref().is_none_or(|glob| glob.is_match(&file.path))
    }
}

impl State {
    /// Those of `rows` that mention an entity of one of these types; nothing if no type is asked
    /// for.
    pub(crate) fn of_types(&self, types: &[String], rows: &[RowId]) -> Result<Option<RowSet>> {
        if types.is_empty() {
            return Ok(None);
        }
        let wanted: BTreeSet<String> = types.iter().map(|label| label.to_uppercase()).collect();
        let mut ids: BTreeMap<EntityId, Vec<RowId>> = BTreeMap::new();
        for (row, extraction) in self.store.extractions(rows)? {
            for mention in extraction.mentions() {
                ids.entry(entity_id(&mention.normalized_name)?).or_default().push(row);
            }
        }
        let known: Vec<EntityId> = ids.keys().cloned().collect();
        let of_type = self.store.entities(&known)?.into_iter();
        let of_type = of_type.filter(|entity| wanted.contains(entity.entity_type.as_str()));
        Ok(Some(of_type.filter_map(|entity| ids.remove(&entity.id)).flatten().collect()))
    }
}
