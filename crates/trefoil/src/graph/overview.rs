//! Questions about the whole: the communities that they are about, which stand before the
//! passages.

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    fmt,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use trefoil_core::{
    Allowed, CommunityId, Degraded, EntityId, Explanation, Plan, QueryType, QueryVectors,
    Relevance, Result, RetrieverId, Score, SearchQuery, SearchResultItem, SearchResultType, Stage,
};
use trefoil_graph::{FrozenAt, GraphRetriever};
use trefoil_store::{CommunityRow, entity_id};
use trefoil_text::language_of;

use crate::{
    background::catch_panics,
    graph::{
        communities::update_communities,
        relationships::plans_graph,
        reports::{NearCommunity, ReportView, Reports, content, embed_reports, metadata, sources},
    },
    index::read_view::ReadView,
    state::State,
};

/// The store's setting that says what the reports were made from.
const REPORTS: &str = "reports";
/// Most communities that stand before the passages.
const COMMUNITIES: usize = 3;
/// The relevance of a community to a question that names nothing and is about everything.
const WHOLE: Score = Score::HALF;

/// What reports are made from, and which model embedded them.
struct MadeFrom {
    form: String,
    model: Option<String>,
}

impl MadeFrom {
    /// The model that embedded reports of which this was stored, if they are of the same form.
    fn model_of<'s>(&self, stored: &'s str) -> Option<&'s str> {
        stored.strip_prefix(&*self.form).and_then(|rest| rest.strip_prefix(' '))
    }
}

impl fmt::Display for MadeFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.form, self.model.as_deref().unwrap_or("no model"))
    }
}

impl State {
    /// Freezes the graph where enough of it changed. Once the worker `has_rested`, finds its
    /// communities and makes their reports again where they are of another form: while documents
    /// come in, each report would soon be of the past. Whether there was something to do.
    pub(crate) fn update_reports(&self, has_rested: bool) -> Result<bool> {
        let view = self.view();
        let Some(graph) = view.graph() else { return Ok(false) };
        if !has_rested {
            graph.freeze(GraphRetriever::LAG_WHILE_WRITTEN)?;
            return Ok(false);
        }
        let made_from = self.made_from(graph.freeze(GraphRetriever::LAG)?);
        if !self.leads() {
            // The node that leads makes them.
            self.refresh_reports()?;
            return Ok(false);
        }
        let stored = self.store.meta(REPORTS)?.unwrap_or_default();
        // Without a model, reports are as good whichever model embedded them.
        let stored = made_from.model_of(&stored);
        if stored.is_some_and(|stored| made_from.model.as_deref().is_none_or(|own| own == stored)) {
            return Ok(false);
        }
        if stored.is_none() {
            // The form in use may be a newer one than that on disk, which tells when to do it
            // again.
            let index = graph.near()?;
            let summarizer = self.config.summarizer.as_ref();
            update_communities(&self.store, &index, summarizer, &self.config.communities)?;
        }
        if let Some(embedder) = self.embedder() {
            let embedded = embed_reports(&self.store, embedder.as_ref())?;
            self.embedded.fetch_add(embedded, Ordering::Relaxed);
        }
        self.store.set_meta(REPORTS, &made_from.to_string())?;
        self.refresh_reports()?;
        Ok(true)
    }

    /// Leaves the reports as they are until the graph changes, for they cannot be rebuilt.
    pub(crate) fn set_reports_aside(&self) -> Result<()> {
        let view = self.view();
        let Some(graph) = view.graph() else { return Ok(()) };
        let made_from = self.made_from(graph.freeze(GraphRetriever::LAG)?);
        self.store.set_meta(REPORTS, &made_from.to_string())
    }

    /// What reports are made from that are made of a form of the graph.
    fn made_from(&self, FrozenAt { seq, changes }: FrozenAt) -> MadeFrom {
        let summarizer = self.config.summarizer.fingerprint();
        let form = format!("{} {} {summarizer}", changes.removed, seq.get());
        MadeFrom { form, model: self.embedder().map(|embedder| embedder.space().fingerprint()) }
    }

    /// Shows the newest reports to the searches that start from now on.
    pub(crate) fn refresh_reports(&self) -> Result<()> {
        let made_from = self.store.meta(REPORTS)?;
        if self.shown_reports().made_from != made_from {
            let reports = Arc::new(Reports::load(&self.store, self.analyzer())?);
            let mut shown = self.reports.write().unwrap_or_else(PoisonError::into_inner);
            *shown = ReportView { made_from, reports };
        }
        Ok(())
    }

    /// Shows none until they are read again: the rows that they were made of are others.
    pub(crate) fn forget_reports(&self) {
        *self.reports.write().unwrap_or_else(PoisonError::into_inner) = ReportView::default();
    }

    fn shown_reports(&self) -> std::sync::RwLockReadGuard<'_, ReportView> {
        self.reports.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The communities that a question about the whole is about, best first; none for other
    /// questions. One that is less relevant than asked is left out, and one that any chunk has
    /// a part in that the filters exclude.
    pub(crate) fn overview(
        &self,
        view: &ReadView,
        query: &SearchQuery,
        plan: &Plan,
        allowed: &Allowed,
        degraded: &mut Vec<Degraded>,
    ) -> Result<Vec<SearchResultItem>> {
        let planned = plans_graph(plan);
        let wanted = query.options.wants(SearchResultType::Community);
        if plan.query_type != QueryType::Global || !planned || !wanted {
            return Ok(Vec::new());
        }
        self.refresh_reports()?;
        let (reports, made_from) = {
            let shown = self.shown_reports();
            (Arc::clone(&shown.reports), shown.made_from.clone())
        };
        let supported = supported(view, &reports, made_from.as_deref(), allowed)?;
        let may_show = |id: &CommunityId| supported.as_ref().is_none_or(|ids| ids.contains(id));
        let semantic = view.documents.retriever(RetrieverId::SEMANTIC);
        let vector = semantic.map_or(Ok(None), |semantic| {
            catch_panics("the semantic retriever", || semantic.embedding(&plan.question))
        });
        // Communities can be told by their words alone.
        let vector = vector.unwrap_or_else(|error| {
            degraded.push(Degraded {
                stage: Stage::Retriever(RetrieverId::SEMANTIC),
                reason: error.chain(),
            });
            None
        });
        let near = vector.zip(view.embedder.as_ref()).map(|(vector, embedder)| {
            let vectors = QueryVectors::of(&plan.question, &vector, embedder.language_means());
            (vectors, embedder.cosine_range())
        });
        let near = near.as_ref().map(|(vectors, range)| (vectors, *range));
        let all = reports.rows().count();
        // More than are shown: some say much the same, and filters may exclude any.
        let count = if supported.is_some() { all } else { 4 * COMMUNITIES };
        let mut near = reports.nearest(&plan.question, near, self.analyzer(), count);
        let named =
            plan.classification.as_ref().is_some_and(|one| !one.extracted_entities.is_empty());
        if near.is_empty() && !named {
            let largest = reports.largest(count).into_iter();
            near = largest.map(|row| NearCommunity { row, relevance: WHOLE }).collect();
        }
        near.retain(|one| one.relevance >= query.filters.min_relevance && may_show(&one.row.id));
        // The sort is stable: among those that are near, first what the asker reads.
        near.sort_by_key(|one| language_of(&one.row.summary) != plan.question.language);
        let mut taken: Vec<&CommunityRow> = Vec::with_capacity(COMMUNITIES);
        let mut items = Vec::with_capacity(COMMUNITIES);
        for NearCommunity { row, relevance } in near {
            // A community and a part of it say much the same.
            let is_told = taken.iter().any(|one| {
                one.parent.as_ref() == Some(&row.id) || row.parent.as_ref() == Some(&one.id)
            });
            let has_room = items.len() < COMMUNITIES && !is_told && !row.summary.is_empty();
            if has_room {
                items.push(community(query, &reports, row, relevance, may_show));
                taken.push(row);
            }
        }
        // The list falls in score.
        items.sort_by_key(|item| Reverse(item.score));
        Ok(items)
    }
}

fn community(
    query: &SearchQuery,
    reports: &Reports,
    row: &CommunityRow,
    relevance: Score,
    may_show: impl Fn(&CommunityId) -> bool,
) -> SearchResultItem {
    SearchResultItem {
        id: row.id.to_string(),
        item_type: SearchResultType::Community,
        score: relevance,
        relevance: Relevance {
            combined: relevance,
            retrievers: [(RetrieverId::GRAPH, relevance)].into_iter().collect(),
            ..Relevance::default()
        },
        content: content(row),
        entity: None,
        highlights: Vec::new(),
        sources: sources(row),
        metadata: query.options.include_metadata.then(|| metadata(reports, row, may_show)),
        explanation: query.options.explain.then(Explanation::default),
    }
}

/// The communities that the filters let through; none where there are no filters.
///
/// A community is made of every chunk that mentions one of its members: their names, its
/// keywords and what a summariser says may come from each. Reports that were made before a
/// chunk went may be made of it.
fn supported<'r>(
    view: &ReadView,
    reports: &'r Reports,
    made_from: Option<&str>,
    allowed: &Allowed,
) -> Result<Option<BTreeSet<&'r CommunityId>>> {
    let Allowed::Only(_) = allowed else { return Ok(None) };
    let Some(graph) = view.graph() else { return Ok(Some(BTreeSet::new())) };
    let index = graph.index();
    let removed = made_from.and_then(|made| made.split(' ').next());
    if removed != Some(index.changes().removed.to_string().as_str()) {
        return Ok(Some(BTreeSet::new()));
    }
    let hidden = index.names_beyond(allowed)?.into_iter().map(entity_id);
    let hidden: BTreeSet<EntityId> = hidden.collect::<Result<_>>()?;
    let supported = reports.rows().filter(|row| {
        !row.members.is_empty() && row.members.iter().all(|member| !hidden.contains(member))
    });
    Ok(Some(supported.map(|row| &row.id).collect()))
}
