//! The entities that a question names, which stand among the passages by how much of the
//! question is their name.

use std::cmp::Reverse;

use trefoil_core::{
    Allowed, Analyzer, Content, EntityType, Explanation, ItemMetadata, Language, LineSpan,
    Metadata, Plan, Relevance, Result, RetrieverId, Score, SearchQuery, SearchResultItem,
    SearchResultType, Sources,
};
use trefoil_graph::{GraphIndex, Node};
use trefoil_text::{WordBounds, normalize, normalize_name};

use crate::{
    graph::{describe::Known, relationships::plans_graph},
    index::{admission::Admission, read_view::ReadView},
    state::State,
};

/// Most entities that are results of a question.
const ENTITIES: usize = 3;
/// A question is about an entity whose name is this share of it; what is less is only mentioned.
const NAMED: f32 = 0.3;
/// The same of what a common noun names, as any question has them: more than half. Names in
/// Japanese and Korean that nothing tells from nouns are taken for such.
const NOUN: f32 = 0.5;

/// An entity that a question names.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    node: Node,
    /// The name in the question, normalised.
    spelling: String,
    /// Which share of the question it is.
    share: Score,
}

impl State {
    /// The entities that a question names, best first: those whose name is a large enough share
    /// of it, at least as relevant as asked, and known to the allowed chunks by this name.
    pub(crate) fn entities(
        &self,
        view: &ReadView,
        query: &SearchQuery,
        plan: &Plan,
        allowed: &Allowed,
    ) -> Result<Vec<SearchResultItem>> {
        let planned = plans_graph(plan);
        let wanted = planned && query.options.wants(SearchResultType::Entity);
        let Some(graph) = view.graph().filter(|_| wanted) else { return Ok(Vec::new()) };
        let index = graph.index();
        let admission = Admission::new(&query.filters)?;
        let types = &query.filters.entity_types;
        let language = Some(plan.question.language);
        let mut items = Vec::new();
        for Asked { node, spelling, share } in asked(plan, &index, self.analyzer()) {
            if items.len() == ENTITIES || share < query.filters.min_relevance {
                break;
            }
            let admits = |chunk: &_| admission.admits(chunk);
            let known = self.known(&index, node, allowed, admits, language)?;
            let is_asked = |known: &Known| {
                let is_noun = known.entity.entity_type == EntityType::CONCEPT;
                let is_of = |kind: &EntityType| {
                    types.iter().any(|label| label.to_uppercase() == kind.as_str())
                };
                (!is_noun || share.get() > NOUN)
                    && (types.is_empty() || known.facts.kinds.iter().any(is_of))
                    && (matches!(allowed, Allowed::All) || known.spellings.contains(&spelling))
            };
            items.extend(known.filter(is_asked).map(|known| item(query, known, share)));
        }
        Ok(items)
    }
}

/// The entities whose names the classifier has found in the question, the largest share first,
/// of equals in the order of the question. A name within a longer one is not meant.
fn asked(plan: &Plan, index: &GraphIndex, analyzer: &dyn Analyzer) -> Vec<Asked> {
    let text = normalize(&plan.question.text);
    let names = plan.classification.iter().flat_map(|one| &one.extracted_entities);
    let known = names.filter_map(|name| {
        let spelling = normalize_name(name);
        Some((name, index.find(&spelling)?.node, spelling))
    });
    let known: Vec<(&String, Node, String)> = known.collect();
    let mut asked: Vec<Asked> = Vec::new();
    for (name, node, spelling) in &known {
        let is_longer = |(other, ..): &(&String, Node, String)| {
            other.len() > name.len() && other.contains(name.as_str())
        };
        let share = share(analyzer, &text, plan.question.language, name);
        let is_new = asked.iter().all(|one| one.node != *node);
        if is_new && share.get() >= NAMED && !known.iter().any(is_longer) {
            asked.push(Asked { node: *node, spelling: spelling.clone(), share });
        }
    }
    // The sort is stable.
    asked.sort_by_key(|one| Reverse(one.share));
    asked
}

/// Which share of the terms of a question, function words left out, the name holds.
fn share(analyzer: &dyn Analyzer, text: &str, language: Language, name: &str) -> Score {
    let bounds = WordBounds::new(text);
    let spans = text.match_indices(name).map(|(start, part)| (start, start + part.len()));
    let spans: Vec<(usize, usize)> =
        spans.filter(|&(start, end)| bounds.is_whole(start, end)).collect();
    let (mut inside, mut all) = (0_u16, 0_u16);
    analyzer.analyze(text, language, &mut |token| {
        if !token.stop {
            let span = token.span;
            let is_inside = spans.iter().any(|&(start, end)| span.start < end && start < span.end);
            all = all.saturating_add(1);
            inside = inside.saturating_add(u16::from(is_inside));
        }
    });
    match all {
        0 if !spans.is_empty() => Score::ONE,
        all => Score::clamped(f32::from(inside) / f32::from(all.max(1))),
    }
}

fn item(query: &SearchQuery, known: Known, share: Score) -> SearchResultItem {
    let Known { entity, facts, description, language, passages, .. } = known;
    let metadata = ItemMetadata {
        title: entity.name,
        heading_path: Vec::new(),
        path: String::new(),
        lines: LineSpan { start: 1, end: 1 },
        language,
        date: None,
        tags: Vec::new(),
        metadata: Metadata::default(),
    };
    SearchResultItem {
        id: entity.id.to_string(),
        item_type: SearchResultType::Entity,
        score: share,
        relevance: Relevance {
            combined: share,
            retrievers: [(RetrieverId::GRAPH, share)].into_iter().collect(),
            ..Relevance::default()
        },
        content: Content {
            text: description.clone(),
            summary: Some(description),
            ..Content::default()
        },
        entity: Some(facts),
        highlights: Vec::new(),
        sources: Sources { entity_ids: vec![entity.id], passages, ..Sources::default() },
        metadata: query.options.include_metadata.then_some(metadata),
        explanation: query.options.explain.then(Explanation::default),
    }
}

#[cfg(test)]
mod tests {
    use trefoil_text::ScriptAnalyzer;

    use super::*;

    #[test]
    fn an_entity_is_as_relevant_as_its_name_is_a_share_of_the_question() {
        use Language::{En, Ja, Ko};
        for (question, name, language, expected) in [
            ("Who was Ada Lovelace?", "Ada Lovelace", En, 1.0),
            ("Where did Ada Lovelace meet Babbage?", "Ada Lovelace", En, 0.5),
            ("Where did Ada Lovelace meet Babbage?", "Babbage", En, 0.25),
            // Part of another word.
            ("Adam and Eve", "Ada", En, 0.0),
            ("兼六園とは何ですか", "兼六園", Ja, 1.0),
            ("東京の天気", "東京", Ja, 0.5),
            // What a particle is written onto is part of the name's word.
            ("한라산은 무엇인가", "한라산", Ko, 1.0),
            ("한라산의 높이", "한라산", Ko, 0.75),
            ("the who", "the who", En, 1.0),
            ("", "Ada", En, 0.0),
        ] {
            let share = share(&ScriptAnalyzer::new(), question, language, name);
            assert!((share.get() - expected).abs() < 1e-6, "{question} {name}: {share:?}");
        }
    }
}
