//! Passages to results: the page, its highlights, context and metadata.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use trefoil_core::{
    Allowed, Answerability, Chunk, Content, Degraded, EntityFacet, EntityId, Fusion, Highlight,
    IndexInput, ItemMetadata, Language, NamedEntity, OrderKey, Plan, Ranked, Relevance,
    RerankConfig, Result, RetrieverId, RowId, Score, SearchQuery, SearchResult, SearchResultItem,
    SearchResultType, SearchStrategy, Sources, Stage, StagePlace, StoredChunk,
};
use trefoil_text::{Highlighter, sentences};

use crate::{
    background::catch_panics,
    config::Rerankers,
    default_set::stage_fed_by,
    index::read_view::ReadView,
    search::{
        answerability::{AnswerEvidence, Calibration},
        diagnostics::Diagnostics,
        explain::explanation,
        graded::{Graded, GradedPassage},
        page::Page,
        pool,
        retrieve::Retrieved,
        searcher::{Request, Searcher},
        select::Selected,
    },
    state::State,
};

impl Searcher<'_> {
    /// The result of a search whose passages are found, scored, graded and selected: those of
    /// `graded` are in `selected`.
    pub(crate) fn present(
        self,
        Request { query, plan, allowed }: Request<'_>,
        retrieved: Retrieved,
        graded: Graded,
        selected: &Selected<GradedPassage>,
        mut diagnostics: Diagnostics,
    ) -> Result<SearchResult> {
        let Self { state, view, .. } = self;
        let Graded { total, best_read, report, .. } = graded;
        let Retrieved { lists, relationships, others } = retrieved;
        let kept: Vec<&GradedPassage> = selected.kept.iter().collect();
        let total = if plan.selection.passages { total } else { 0 } + others.len();
        let Listing { listed, keys } = Listing::of(&others, &kept);
        let Page { shown: places, next } = Page::new(&keys, &diagnostics.first, plan);
        let offset = places.start;
        let listed = listed.get(places).unwrap_or_default();
        let passage_places: Vec<usize> = listed.iter().filter_map(Listed::passage).collect();
        let first = passage_places.first().copied().unwrap_or_default();
        let page = kept.get(first..first + passage_places.len()).unwrap_or_default();
        let contexts = contexts(state, query, allowed, page)?;
        let ranks = (offset + 1..).zip(listed).filter(|(_, one)| one.passage().is_some());
        let highlighter =
            Highlighter::new(state.analyzer(), &plan.question.text, plan.question.language);
        let passages = || -> Vec<SearchResultItem> {
            let items =
                page.iter().zip(contexts).zip(ranks).map(|((graded, context), (rank, _))| {
                    let mut item = item(state, query, plan, graded, context, &highlighter);
                    item.explanation = query.options.explain.then(|| explanation(graded, rank));
                    item.sources.relation_ids = relationships.shown_by(row(graded));
                    item
                });
            items.collect()
        };
        let entities = {
            let (state, view, allowed) = (Arc::clone(state), Arc::clone(view), allowed.clone());
            let rows: Vec<RowId> = page.iter().map(|&one| row(one)).collect();
            let of =
                move |row| catch_panics("the graph", || state.entities_of(&view, row, &allowed));
            move || rows.into_iter().map(of).collect::<Vec<_>>()
        };
        let (mut passages, entities) = pool::join(passages, [entities]);
        let mut mentioned = Vec::new();
        for (item, entities) in passages.iter_mut().zip(entities.into_iter().flatten().flatten()) {
            let entities = entities.unwrap_or_else(|error| {
                let stage = stage_fed_by(IndexInput::Extraction);
                let failed = Degraded { stage, reason: error.chain() };
                if !diagnostics.degraded.contains(&failed) {
                    diagnostics.degraded.push(failed);
                }
                Vec::new()
            });
            item.sources.entity_ids = entities.iter().map(|entity| entity.id.clone()).collect();
            mentioned.extend(entities);
        }
        let mut passages = passages.into_iter();
        let results: Vec<SearchResultItem> = (offset + 1..)
            .zip(listed)
            .filter_map(|(rank, one)| match one {
                Listed::Other(place) => others.get(*place).map(|item| placed(item, rank)),
                Listed::Passage(_) => passages.next(),
            })
            .collect();
        let evidence = AnswerEvidence::of(&lists, best_read);
        let answerability = answerability(state, view, plan.question.language, &evidence);
        let missing = missing(view, query, &diagnostics.degraded);
        diagnostics.degraded.extend(missing);
        diagnostics.lap(Stage::Present, kept.len(), results.len());
        let (processing_time, stages) = diagnostics.finish();
        Ok(SearchResult {
            query: query.clone(),
            results,
            total_count: total,
            processing_time,
            strategies: diagnostics.metrics,
            classification: plan.classification.clone(),
            crag: report,
            answerability,
            paths: relationships.paths,
            facets: if query.options.include_metadata { facets(mentioned) } else { Vec::new() },
            degraded: diagnostics.degraded,
            stages,
            offset,
            has_more: next.is_some(),
            next_cursor: next,
        })
    }
}

fn row(graded: &GradedPassage) -> RowId {
    graded.ranked.passage.chunk.row
}

/// Whether the corpus answers the question, by the first calibration that is about it and
/// whose evidence is there: the profile's, or else those of the default models.
fn answerability(
    state: &State,
    view: &ReadView,
    question: Language,
    evidence: &AnswerEvidence,
) -> Answerability {
    let config = &state.config;
    let profile = config.profile.as_ref().map_or(&[][..], |profile| &profile.calibrations);
    let default = matches!(config.rerankers, Rerankers::Default)
        && config.rerank.model == RerankConfig::default().model;
    let defaults = if default { Calibration::of_default_models() } else { &[] };
    let calibrations = if profile.is_empty() { defaults } else { profile };
    let model = view.embedder.as_ref().map(|embedder| embedder.space().model.as_str());
    calibrations
        .iter()
        .filter(|one| one.is_about(question, model))
        .map(|one| one.answerability(evidence))
        .find(|verdict| *verdict != Answerability::Uncalibrated)
        .unwrap_or_default()
}

/// All results in their order.
pub(crate) struct Listing {
    pub(crate) listed: Vec<Listed>,
    pub(crate) keys: Vec<OrderKey>,
}

impl Listing {
    pub(crate) fn of(others: &[SearchResultItem], passages: &[&GradedPassage]) -> Self {
        let listed = merged(others, passages);
        let keys = listed.iter().map(|one| one.key(others, passages)).collect();
        Self { listed, keys }
    }
}

/// One of the results, by its place among the passages or among the others.
pub(crate) enum Listed {
    Other(usize),
    Passage(usize),
}

impl Listed {
    pub(crate) fn passage(&self) -> Option<usize> {
        match self {
            Self::Other(_) => None,
            Self::Passage(place) => Some(*place),
        }
    }

    fn key(&self, others: &[SearchResultItem], passages: &[&GradedPassage]) -> OrderKey {
        // Should it be gone when the next page is asked for, passages below it are not taken for
        // seen.
        let of_other = |item: &SearchResultItem| OrderKey {
            reranked: Some(item.score),
            compared: Some(Score::ONE),
            combined: Score::ONE,
            id: item.id.clone(),
            ..OrderKey::default()
        };
        let key = match self {
            Self::Other(place) => others.get(*place).map(of_other),
            Self::Passage(place) => passages.get(*place).map(|one| one.ranked.key()),
        };
        key.unwrap_or_default()
    }
}

/// Passages and the others in one list that falls in score, each in their own order; of equal
/// score the others first.
fn merged(others: &[SearchResultItem], passages: &[&GradedPassage]) -> Vec<Listed> {
    let mut listed = Vec::with_capacity(others.len() + passages.len());
    let mut rest = others.iter().enumerate().peekable();
    for (place, passage) in passages.iter().enumerate() {
        while let Some((place, _)) = rest.next_if(|(_, item)| item.score >= passage.ranked.score) {
            listed.push(Listed::Other(place));
        }
        listed.push(Listed::Passage(place));
    }
    listed.extend(rest.map(|(place, _)| Listed::Other(place)));
    listed
}

/// One of the others at its rank, which an explanation tells.
fn placed(item: &SearchResultItem, rank: usize) -> SearchResultItem {
    let mut item = item.clone();
    if let Some(explanation) = &mut item.explanation {
        explanation.stages.push(StagePlace { stage: Stage::Present, rank, score: item.score });
    }
    item
}

/// Most entities that are counted for a page.
const FACETS: usize = 10;

/// The entities that most results mention, equals by id; one that a single result mentions
/// divides nothing.
fn facets(mentioned: Vec<NamedEntity>) -> Vec<EntityFacet> {
    let mut counted: BTreeMap<EntityId, EntityFacet> = BTreeMap::new();
    for entity in mentioned {
        let facet = counted.entry(entity.id.clone());
        facet.or_insert(EntityFacet { entity, results: 0 }).results += 1;
    }
    let mut facets: Vec<EntityFacet> = counted.into_values().collect();
    facets.retain(|facet| facet.results > 1);
    facets.sort_by_key(|facet| Reverse(facet.results));
    facets.truncate(FACETS);
    facets
}

/// What was asked for by name, that this engine has not, and of which nothing was said yet.
fn missing(view: &ReadView, query: &SearchQuery, degraded: &[Degraded]) -> Vec<Degraded> {
    let is_told = |stage| degraded.iter().any(|one| one.stage == stage);
    let asked = query.options.strategies.iter().filter_map(SearchStrategy::retriever);
    let missing = asked.filter(|&id| view.documents.retriever(id).is_none() && !is_told(id.into()));
    let named =
        |id: RetrieverId| Degraded { stage: id.into(), reason: format!("this engine has no {id}") };
    missing.map(named).collect()
}

fn item(
    state: &State,
    query: &SearchQuery,
    plan: &Plan,
    graded: &GradedPassage,
    (context_before, context_after): Context,
    highlighter: &Highlighter<'_>,
) -> SearchResultItem {
    let GradedPassage { ranked: Ranked { passage, rerank, score, .. }, grade, summary } = graded;
    let StoredChunk { id, file, chunk, .. } = passage.chunk.as_ref();
    let found_by = passage.fused.hits.iter();
    let options = &query.options;
    SearchResultItem {
        id: id.to_string(),
        item_type: SearchResultType::Chunk,
        score: *score,
        relevance: Relevance {
            combined: shown_combined(plan, passage.fused.combined),
            retrievers: found_by.map(|hit| (hit.retriever, hit.relevance)).collect(),
            rerank: *rerank,
            crag: grade.clone(),
        },
        content: Content {
            text: chunk.text.clone(),
            summary: summary.clone(),
            context_before,
            context_after,
        },
        entity: None,
        highlights: if options.include_highlights && !plan.question.text.is_empty() {
            highlights(passage.chunk.as_ref(), highlighter, state.config.highlight_chars)
        } else {
            Vec::new()
        },
        sources: Sources {
            chunk_id: Some(id.clone()),
            file_id: Some(file.id.clone()),
            ..Sources::default()
        },
        metadata: options.include_metadata.then(|| ItemMetadata {
            title: file.title.clone(),
            heading_path: chunk.heading_path.clone(),
            path: file.path.clone(),
            lines: chunk.lines,
            language: chunk.language,
            date: file.date,
            tags: file.tags.clone(),
            metadata: file.metadata.clone(),
        }),
        explanation: None,
    }
}

/// Reciprocal rank fusion may show its raw sum; the final score is the same either way.
fn shown_combined(plan: &Plan, combined: Score) -> Score {
    let rrf = plan.rrf;
    if plan.fusion == Fusion::Rrf && !rrf.normalize_scores {
        Score::clamped(combined.get() / (rrf.k as f32 + 1.0))
    } else {
        combined
    }
}

/// What matched in title, headings and text; for a passage that shares no term with the
/// question, its most telling sentence.
fn highlights(chunk: &StoredChunk, highlighter: &Highlighter<'_>, max: usize) -> Vec<Highlight> {
    let Chunk { text, language, heading_path, .. } = &chunk.chunk;
    let heading = heading_path.join(" › ");
    let fields = [("text", text), ("title", &chunk.file.title), ("heading", &heading)];
    let mut found: Vec<Highlight> = fields
        .into_iter()
        .filter_map(|(field, value)| highlighter.highlight(field, value, *language, max))
        .collect();
    if found.iter().all(|highlight| highlight.field != "text") {
        found.extend(highlighter.best_sentence("text", text, *language, max));
    }
    found
}

type Context = (Option<String>, Option<String>);

/// What stands before and after each result, as far as the budget reaches and the filters let
/// it through.
fn contexts(
    state: &State,
    query: &SearchQuery,
    allowed: &Allowed,
    page: &[&GradedPassage],
) -> Result<Vec<Context>> {
    let budget = state.config.context_chars;
    if budget == 0 || !query.options.include_metadata {
        return Ok(vec![(None, None); page.len()]);
    }
    let rows: Vec<RowId> = page.iter().map(|&one| row(one)).collect();
    let neighbours = state.store.neighbours_of(&rows)?;
    let may_show = |chunk: &Arc<StoredChunk>| allowed.contains(chunk.row);
    Ok(neighbours
        .into_iter()
        .map(|(before, after)| {
            (
                before.filter(may_show).and_then(|chunk| tail(&chunk.chunk, budget)),
                after.filter(may_show).and_then(|chunk| head(&chunk.chunk, budget)),
            )
        })
        .collect())
}

/// The last whole sentences of a chunk within `budget` characters.
fn tail(chunk: &Chunk, budget: usize) -> Option<String> {
    let (from, window) = last_chars(&chunk.text, 4 * budget);
    let mut start = None;
    for span in sentences(window, chunk.language).iter().rev() {
        let text = window.get(span.start..)?;
        // A sentence that begins before the window is not whole.
        let whole = from == 0 || span.start > 0;
        if !whole || text.trim_end().chars().count() > budget {
            break;
        }
        start = Some(span.start);
    }
    window.get(start?..).map(|text| text.trim_end().to_owned())
}

/// The first whole sentences of a chunk within `budget` characters.
fn head(chunk: &Chunk, budget: usize) -> Option<String> {
    let window: &str = match chunk.text.char_indices().nth(4 * budget) {
        Some((end, _)) => chunk.text.get(..end)?,
        None => &chunk.text,
    };
    let mut end = None;
    for span in sentences(window, chunk.language) {
        let whole = window.len() == chunk.text.len() || span.end < window.len();
        let text = window.get(..span.end)?;
        if !whole || text.trim_start().chars().count() > budget {
            break;
        }
        end = Some(span.end);
    }
    window.get(..end?).map(|text| text.trim_start().to_owned())
}

/// At most the last `count` characters of `text`, and where they begin.
fn last_chars(text: &str, count: usize) -> (usize, &str) {
    let from = text.char_indices().rev().nth(count.saturating_sub(1)).map_or(0, |(at, _)| at);
    (from, text.get(from..).unwrap_or_default())
}

#[cfg(test)]
pub(crate) mod tests {
    use trefoil_core::{ByteSpan, ChunkLevel, Language, LineSpan};

    use super::*;

    /// A chunk that is all of its document.
    pub(crate) fn chunk(text: &str, language: Language) -> Chunk {
        Chunk {
            level: ChunkLevel::Leaf,
            ordinal: 0,
            heading_path: Vec::new(),
            text: text.to_owned(),
            bytes: ByteSpan { start: 0, end: text.len() },
            lines: LineSpan { start: 1, end: 1 },
            language,
        }
    }

    #[test]
    fn context_is_cut_at_sentence_ends() {
        let english = chunk("One is short. Two is a longer one. Three ends.", Language::En);
        assert_eq!(tail(&english, 12).as_deref(), Some("Three ends."));
        assert_eq!(tail(&english, 40).as_deref(), Some("Two is a longer one. Three ends."));
        assert_eq!(head(&english, 20).as_deref(), Some("One is short."));
        assert_eq!(head(&english, 5), None);
        let japanese = chunk("今日は晴れ。明日は雨。", Language::Ja);
        assert_eq!(head(&japanese, 7).as_deref(), Some("今日は晴れ。"));
        assert_eq!(tail(&japanese, 7).as_deref(), Some("明日は雨。"));
    }

    #[test]
    fn a_sentence_longer_than_the_window_is_left_out() {
        let long = chunk(&"word ".repeat(500), Language::En);
        assert_eq!(head(&long, 50), None);
        assert_eq!(tail(&long, 50), None);
    }
}
