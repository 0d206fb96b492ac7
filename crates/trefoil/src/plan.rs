//! Question to plan: every decision of a search, made before any of it runs. Pure.

use trefoil_core::{
    Language, Leg, Plan, Question, QueryType, RerankConfig, SearchQuery, SearchStrategy,
    SearchWeights, Strategy,
};

/// Decides how `query`, which is in `language`, is searched with the legs in `available`.
pub fn plan(
    query: &SearchQuery,
    language: Language,
    available: &[Strategy],
    rerank: &RerankConfig,
    adaptive_weights: bool,
) -> Plan {
    let options = &query.options;
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
            embedding: query.embedding.clone(),
        },
        query_type: query.query_type.unwrap_or(QueryType::Local),
        legs,
        adaptive: adaptive_weights && options.weights == SearchWeights::default(),
        candidates: depth,
        offset: options.offset,
        limit: options.limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(query: &SearchQuery) -> Plan {
        let available = [Strategy::Keyword, Strategy::Semantic];
        plan(query, Language::En, &available, &RerankConfig::default(), true)
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
    fn only_legs_that_are_there_are_planned() {
        let legs = planned(&SearchQuery::new("q").unwrap()).legs;
        let strategies: Vec<Strategy> = legs.iter().map(|leg| leg.strategy).collect();
        assert_eq!(strategies, [Strategy::Keyword, Strategy::Semantic]);
    }

    #[test]
    fn weights_that_the_caller_chose_are_not_adapted() {
        let mut query = SearchQuery::new("q").unwrap();
        assert!(planned(&query).adaptive);
        query.options.weights = SearchWeights::new(0.5, 0.5, 0.0).unwrap();
        assert!(!planned(&query).adaptive);
    }
}
