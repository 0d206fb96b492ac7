//! Question to plan: every decision of a search, made before any of it runs. Pure.

use trefoil_core::{
    Language, Leg, Plan, QueryType, Question, RerankPlan, SearchQuery, SearchStrategy,
    SearchWeights, Strategy,
};

use crate::EngineConfig;

/// Decides how `query`, which is in `language`, is searched with the legs in `available`
/// over a corpus of this many chunks in each language.
pub fn plan(
    query: &SearchQuery,
    language: Language,
    available: &[Strategy],
    corpus: &[(Language, usize)],
    config: &EngineConfig,
) -> Plan {
    let options = &query.options;
    let rerank = &config.rerank;
    let depth = (3 * (options.offset + options.limit)).max(rerank.top_k);
    let legs = SearchStrategy::legs(&options.strategies)
        .into_iter()
        .filter(|strategy| available.contains(strategy))
        .map(|strategy| Leg { strategy, depth, weight: options.weights.get(strategy) })
        .collect();
    Plan {
        question: Question {
            text: query.text.as_str().to_owned(),
            language,
            foreign: is_foreign(language, &query.filters.languages, corpus),
            embedding: query.embedding.clone(),
        },
        query_type: query.query_type.unwrap_or(QueryType::Local),
        legs,
        adaptive: config.adaptive_weights && options.weights == SearchWeights::default(),
        candidates: depth,
        rerank: (rerank.enabled && options.rerank_enabled).then_some(RerankPlan {
            passages: rerank.top_k,
            batch: rerank.batch_size,
            budget: config.rerank_budget,
        }),
        offset: options.offset,
        limit: options.limit,
    }
}

/// A question is foreign to a corpus with less than this share of its language: code and
/// names alone make up to a tenth of the chunks of translated documentation English.
const FOREIGN_SHARE: f64 = 0.2;

fn is_foreign(language: Language, wanted: &[Language], corpus: &[(Language, usize)]) -> bool {
    let searched = || corpus.iter().filter(|(one, _)| wanted.is_empty() || wanted.contains(one));
    let all: usize = searched().map(|(_, chunks)| chunks).sum();
    let own: usize = searched().filter(|(one, _)| *one == language).map(|(_, chunks)| chunks).sum();
    all > 0 && (own as f64) < FOREIGN_SHARE * all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(query: &SearchQuery) -> Plan {
        let available = [Strategy::Keyword, Strategy::Semantic];
        plan(query, Language::En, &available, &[], &EngineConfig::default())
    }

    #[test]
    fn depth_covers_the_page_and_the_reranker() {
        let depth = |limit, offset| {
            let mut query = SearchQuery::new("q").unwrap().limit(limit);
            query.options.offset = offset;
            planned(&query).legs.first().map(|leg| leg.depth)
        };
        assert_eq!(depth(1, 0), Some(50));
        assert_eq!(depth(20, 0), Some(60));
        assert_eq!(depth(100, 200), Some(900));
    }

    #[test]
    fn reranking_can_be_left_out_by_the_question_or_the_configuration() {
        let mut query = SearchQuery::new("q").unwrap();
        assert_eq!(planned(&query).rerank.map(|rerank| rerank.passages), Some(50));
        query.options.rerank_enabled = false;
        assert_eq!(planned(&query).rerank, None);
        query.options.rerank_enabled = true;
        let mut config = EngineConfig::default();
        config.rerank.enabled = false;
        let plan = plan(&query, Language::En, &[Strategy::Keyword], &[], &config);
        assert_eq!(plan.rerank, None);
    }

    #[test]
    fn only_legs_that_are_there_are_planned() {
        let legs = planned(&SearchQuery::new("q").unwrap()).legs;
        let strategies: Vec<Strategy> = legs.iter().map(|leg| leg.strategy).collect();
        assert_eq!(strategies, [Strategy::Keyword, Strategy::Semantic]);
    }

    #[test]
    fn a_question_is_foreign_to_a_corpus_in_other_languages() {
        use Language::{En, Ja, Ko};
        let mixed = [(En, 30), (Ja, 60), (Ko, 10)];
        assert!(!is_foreign(En, &[], &mixed));
        assert!(!is_foreign(Ja, &[], &mixed));
        assert!(is_foreign(Ko, &[], &mixed));
        assert!(is_foreign(En, &[Ja, Ko], &mixed));
        assert!(!is_foreign(Ko, &[Ko], &mixed));
        assert!(!is_foreign(En, &[], &[]));
    }

    #[test]
    fn weights_that_the_caller_chose_are_not_adapted() {
        let mut query = SearchQuery::new("q").unwrap();
        assert!(planned(&query).adaptive);
        query.options.weights = SearchWeights::new(0.5, 0.5, 0.0).unwrap();
        assert!(!planned(&query).adaptive);
    }
}
