//! What the graph says in addition to the chunks that it ranks: the entities of a chunk, and how those
//! of a question hang together.

use std::{collections::BTreeMap, sync::Arc};

use trefoil_core::{
    Allowed, ByteSpan, Chunk, EntityId, Hit, NamedEntity, PathStep, Plan, Proof, QueryType,
    Question, RankedList, RelationView, RelationshipPath, Result, RetrieverId, RowId, RowSet,
    Score, StoredChunk,
};
use trefoil_graph::{Entity, GraphIndex, GraphRetriever, ProvenRelation, RelationPath};
use trefoil_store::{entity_id, relation_id};
use trefoil_text::sentences;

use crate::{
    graph::relationships::{Relationships, plans_graph},
    index::{collection::term_coverage, read_view::ReadView},
    state::State,
};

/// Longest paths, in steps.
const HOPS: u32 = 3;
/// Most paths that are shown.
const PATHS: usize = 5;
/// Most chunks that show one relation.
pub(crate) const PROOFS: usize = 3;
/// Most characters of what shows a relation.
const EXCERPT: usize = 500;

impl State {
    /// The graph of what the chunks mention, as the searches see it that start now, frozen as it
    /// is now; none in an engine without an extractor.
    pub(crate) fn graph_index(&self) -> Option<Arc<GraphIndex>> {
        let view = self.view();
        let graph = view.graph()?;
        // What is damaged tells what can be read.
        Some(graph.whole().unwrap_or_else(|_| graph.index()))
    }

    /// How far the frozen form of the graph is behind what the chunks mention.
    pub(crate) fn graph_lag(&self) -> u64 {
        self.view().graph().map_or(0, GraphRetriever::lag)
    }

    /// How the entities that a question about a relationship names hang together; nothing
    /// for other questions, and where fewer than two are known.
    pub(crate) fn relationships(
        &self,
        view: &ReadView,
        plan: &Plan,
        allowed: &Allowed,
    ) -> Result<Relationships> {
        let planned = plans_graph(plan);
        let Some(graph) = view.graph().filter(|_| planned) else {
            return Ok(Relationships::default());
        };
        if plan.query_type != QueryType::Relationship {
            return Ok(Relationships::default());
        }
        let index = graph.near()?;
        let named = graph.linked(&index, &plan.question.text);
        if named.len() < 2 {
            return Ok(Relationships::default());
        }
        let paths = index.relationships(&named, HOPS, PATHS, allowed);
        let rows: Vec<RowId> = paths
            .iter()
            .flat_map(|path| path.steps.iter().flatten())
            .flat_map(|relation| relation.proofs.iter().take(PROOFS).copied())
            .collect();
        let chunks = self.store.chunks(&rows)?;
        let chunks = chunks.iter().map(|chunk| (chunk.row, chunk.as_ref())).collect();
        let spelled = match allowed {
            Allowed::All => None,
            Allowed::Only(_) => Some(self.spelled_in(&rows)?),
        };
        let mut found = Relationships::default();
        for path in &paths {
            found.push(&index, path, &chunks, spelled.as_ref())?;
        }
        Ok(found)
    }

    /// The entities that a chunk mentions; under filters as it writes them itself, for others
    /// may write them in words that the filters exclude.
    pub(crate) fn entities_of(
        &self,
        view: &ReadView,
        row: RowId,
        allowed: &Allowed,
    ) -> Result<Vec<NamedEntity>> {
        let Some(graph) = view.graph() else { return Ok(Vec::new()) };
        if matches!(allowed, Allowed::Only(_)) {
            return Ok(self.spelled_in(&[row])?.into_values().collect());
        }
        let index = graph.index();
        index.entities_of(row).map(|entity| named(&entity)).collect()
    }
}

impl ReadView {
    /// One step in the graph from passages, each rescaled as far as its score says.
    pub(crate) fn step(
        &self,
        question: &Question,
        from: &[(RowId, Score)],
        allowed: &Allowed,
        count: usize,
    ) -> Result<RankedList> {
        let Some(graph) = self.graph() else {
            return Ok(RankedList::new(RetrieverId::GRAPH, Vec::new()));
        };
        let from: Vec<(RowId, f32)> = from.iter().map(|&(row, score)| (row, score.get())).collect();
        let terms = |rows: &RowSet| term_coverage(&self.documents.retrievers, question, rows);
        let steps = graph.index().step(&from, terms, allowed, count)?;
        let hits = steps.into_iter().map(|one| Hit {
            row: one.row,
            raw_score: one.score,
            relevance: Score::clamped(one.score),
        });
        Ok(RankedList::new(RetrieverId::GRAPH, hits.collect()).with_floor(0.0))
    }
}

impl Relationships {
    fn push(
        &mut self,
        index: &GraphIndex,
        path: &RelationPath,
        chunks: &BTreeMap<RowId, &StoredChunk>,
        spelled: Option<&BTreeMap<EntityId, NamedEntity>>,
    ) -> Result<()> {
        let length = path.steps.len();
        let mut steps = Vec::with_capacity(length);
        for relations in &path.steps {
            let mut all = Vec::with_capacity(relations.len());
            for relation in relations {
                let Some((shown, rows)) = shown(index, relation, chunks)? else { continue };
                for row in rows {
                    let (steps, relations) =
                        self.shown.entry(row).or_insert_with(|| (length, Vec::new()));
                    *steps = length.min(*steps);
                    if !relations.contains(&shown.id) {
                        relations.push(shown.id.clone());
                    }
                }
                all.push(shown);
            }
            steps.push(PathStep { relations: all });
        }
        // What shows a step may be gone by now.
        if steps.iter().all(|step| !step.relations.is_empty()) {
            let entities = path.entities.iter().filter_map(|&node| index.entity(node));
            let entities = entities.map(|entity| {
                let known = named(&entity)?;
                let Some(spelled) = spelled else { return Ok(known) };
                let name = entity.normalized_name.to_owned();
                Ok(spelled.get(&known.id).cloned().unwrap_or(NamedEntity { name, ..known }))
            });
            let entities = entities.collect::<Result<_>>()?;
            #[expect(clippy::cast_possible_truncation, reason = "scores are in f32")]
            let weight = Score::clamped(path.weight as f32);
            self.paths.push(RelationshipPath { entities, weight, steps });
        }
        Ok(())
    }
}

/// A relation with the chunks that show it, and their rows; none if they are gone by now.
pub(crate) fn shown(
    index: &GraphIndex,
    relation: &ProvenRelation,
    chunks: &BTreeMap<RowId, &StoredChunk>,
) -> Result<Option<(RelationView, Vec<RowId>)>> {
    let ProvenRelation { source, target, relation_type, proofs } = relation;
    let (Some(source), Some(target)) = (index.entity(*source), index.entity(*target)) else {
        return Ok(None);
    };
    let (rows, proofs): (Vec<RowId>, Vec<Proof>) = proofs
        .iter()
        .take(PROOFS)
        .filter_map(|row| {
            let chunk = chunks.get(row)?;
            let excerpt = excerpt(&chunk.chunk, [source.name, target.name]);
            Some((*row, Proof { chunk_id: chunk.id.clone(), excerpt }))
        })
        .unzip();
    if rows.is_empty() {
        return Ok(None);
    }
    let id = relation_id(source.normalized_name, relation_type, target.normalized_name)?;
    let (source, target) = (named(&source)?.id, named(&target)?.id);
    let relation_type = relation_type.clone();
    Ok(Some((RelationView { id, source, target, relation_type, proofs, seen: None }, rows)))
}

pub(crate) fn named(entity: &Entity<'_>) -> Result<NamedEntity> {
    Ok(NamedEntity {
        id: entity_id(entity.normalized_name)?,
        name: entity.name.to_owned(),
        entity_type: entity.entity_type.clone(),
    })
}

/// The sentence that names both, or else the first that names the one and the first that
/// names the other, cut to [`EXCERPT`] characters; the beginning of the chunk where a name
/// stands in its title only.
pub(crate) fn excerpt(chunk: &Chunk, names: [&str; 2]) -> String {
    let spans = sentences(&chunk.text, chunk.language);
    let text = |span: &ByteSpan| chunk.text.get(span.start..span.end).unwrap_or_default();
    let lower: Vec<String> = spans.iter().map(|span| text(span).to_lowercase()).collect();
    let names = names.map(str::to_lowercase);
    let first = |wanted: &[&String]| {
        lower.iter().position(|sentence| wanted.iter().all(|name| sentence.contains(*name)))
    };
    let [one, other] = &names;
    let wanted = match first(&[one, other]) {
        Some(both) => (both, both),
        None => match (first(&[one]), first(&[other])) {
            (Some(one), Some(other)) => (one.min(other), one.max(other)),
            (one, other) => one.or(other).map_or((0, 0), |at| (at, at)),
        },
    };
    let (Some(from), Some(to)) = (spans.get(wanted.0), spans.get(wanted.1)) else {
        return chunk.text.chars().take(EXCERPT).collect();
    };
    let shown = if wanted.1 - wanted.0 > 1 {
        format!("{} … {}", text(from).trim(), text(to).trim())
    } else {
        text(&ByteSpan { start: from.start, end: to.end }).trim().to_owned()
    };
    shown.chars().take(EXCERPT).collect()
}

#[cfg(test)]
mod tests {
    use trefoil_core::Language;

    use super::*;
    use crate::search::present::tests::chunk;

    #[track_caller]
    fn check(text: &str, language: Language, names: [&str; 2], expected: &str) {
        let chunk = chunk(text, language);
        assert_eq!(excerpt(&chunk, names), expected);
    }

    #[test]
    fn an_excerpt_is_what_names_both() {
        let text = "Ada wrote. It rained. Ada met Babbage. He slept. Byron left.";
        check(text, Language::En, ["Ada", "Babbage"], "Ada met Babbage.");
        check(text, Language::En, ["Babbage", "rain"], "It rained. Ada met Babbage.");
        check(text, Language::En, ["byron", "ada"], "Ada wrote. … Byron left.");
        check(text, Language::En, ["Title", "Byron"], "Byron left.");
        check(text, Language::En, ["Title", "Other"], "Ada wrote.");
        let text = "兼六園は庭園です。金沢市にあります。";
        check(text, Language::Ja, ["兼六園", "金沢市"], text);
        check("", Language::Ko, ["가", "나"], "");
    }

    #[test]
    fn an_excerpt_ends() {
        check(&"a".repeat(900), Language::En, ["b", "c"], &"a".repeat(EXCERPT));
    }
}
