//! What the filters of a query let through, and a second look at it: on what is stored.

use std::{collections::BTreeSet, sync::Arc};

use globset::{Glob, GlobMatcher};
#[cfg(feature = "graph")]
use trefoil_core::Retriever as _;
use trefoil_core::{Allowed, Error, FileId, Result, RowId, RowSet, SearchFilters, StoredChunk};

use crate::{index::read_view::ReadView, state::State};

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
        let SearchFilters { date_range, tags, languages, condition, .. } = self.filters;
        let file = &chunk.file;
        (self.files.is_empty() || self.files.contains(&file.id))
            && date_range.is_none_or(|range| file.date.is_some_and(|date| range.contains(date)))
            && (tags.is_empty() || file.tags.iter().any(|tag| tags.contains(tag)))
            && (languages.is_empty() || languages.contains(&chunk.chunk.language))
            && self.glob.as_ref().is_none_or(|glob| glob.is_match(&file.path))
            && condition.as_ref().is_none_or(|condition| condition.admits(&file.metadata))
    }
}

impl State {
    /// The rows that the filters let through: of types of entities those that the graph knows, of
    /// all else those of the store.
    #[cfg_attr(
        not(feature = "graph"),
        expect(unused_variables, reason = "the graph alone is looked at in the view")
    )]
    pub(crate) fn allowed(&self, view: &ReadView, filters: &SearchFilters) -> Result<Allowed> {
        filters.check()?;
        let within = self.store.allowed(filters)?;
        if filters.entity_types.is_empty() {
            return Ok(within);
        }
        let types = capitals(&filters.entity_types);
        #[cfg(feature = "graph")]
        if let Some(graph) = view.graph() {
            return Ok(self.typed_rows.allowed(&graph.index(), graph.seq(), types, within));
        }
        let rows = self.store.rows_of_types(&types)?;
        Ok(Allowed::Only(Arc::new(match within {
            Allowed::All => rows,
            Allowed::Only(others) => rows.intersection(&others),
        })))
    }

    /// Those of `rows` that mention an entity of one of these types; nothing if no type is asked
    /// for.
    #[cfg_attr(
        not(feature = "graph"),
        expect(unused_variables, reason = "the graph alone is looked at in the view")
    )]
    pub(crate) fn of_types(
        &self,
        view: &ReadView,
        types: &[String],
        rows: &[RowId],
    ) -> Result<Option<RowSet>> {
        if types.is_empty() {
            return Ok(None);
        }
        let types = capitals(types);
        #[cfg(feature = "graph")]
        if let Some(graph) = view.graph() {
            let index = graph.index();
            let is_of = |row: &RowId| {
                index.entities_of(*row).any(|entity| types.contains(entity.entity_type.as_str()))
            };
            return Ok(Some(rows.iter().copied().filter(is_of).collect()));
        }
        let of_types = self.store.rows_of_types(&types)?;
        Ok(Some(rows.iter().copied().filter(|&row| of_types.contains(row)).collect()))
    }
}

fn capitals(types: &[String]) -> BTreeSet<String> {
    types.iter().map(|label| label.to_uppercase()).collect()
}
