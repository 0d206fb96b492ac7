//! What an engine says of the graph that was built without one.

use trefoil_core::{
    Allowed, Degraded, NameLookup, NamedEntity, Plan, Question, RankedList, Result, RetrieverId,
    RowId, Score, SearchQuery, SearchResultItem,
};

use crate::{graph::relationships::Relationships, index::read_view::ReadView, state::State};

impl State {
    pub(crate) fn graph_lag(&self) -> u64 {
        0
    }

    pub(crate) fn relationships(
        &self,
        _: &ReadView,
        _: &Plan,
        _: &Allowed,
    ) -> Result<Relationships> {
        Ok(Relationships::default())
    }

    pub(crate) fn overview(
        &self,
        _: &ReadView,
        _: &SearchQuery,
        _: &Plan,
        _: &Allowed,
        _: &mut Vec<Degraded>,
    ) -> Result<Vec<SearchResultItem>> {
        Ok(Vec::new())
    }

    pub(crate) fn entities(
        &self,
        _: &ReadView,
        _: &SearchQuery,
        _: &Plan,
        _: &Allowed,
    ) -> Result<Vec<SearchResultItem>> {
        Ok(Vec::new())
    }

    pub(crate) fn update_reports(&self, _: bool) -> Result<bool> {
        Ok(false)
    }

    pub(crate) fn set_reports_aside(&self) -> Result<()> {
        Ok(())
    }

    pub(crate) fn names_within(
        &self,
        _: &ReadView,
        _: &Allowed,
    ) -> Option<Box<dyn NameLookup + '_>> {
        None
    }

    pub(crate) fn entities_of(
        &self,
        _: &ReadView,
        _: RowId,
        _: &Allowed,
    ) -> Result<Vec<NamedEntity>> {
        Ok(Vec::new())
    }
}

impl ReadView {
    pub(crate) fn step(
        &self,
        _: &Question,
        _: &[(RowId, Score)],
        _: &Allowed,
        _: usize,
    ) -> Result<RankedList> {
        Ok(RankedList::new(RetrieverId::GRAPH, Vec::new()))
    }
}
