//! Question to plan: every decision of a search, made before any of it runs. Pure.

use trefoil_core::{
    Fusion, Language, Leg, Plan, QueryType, Question, RerankPlan, RrfConfig, SearchQuery,
    SearchStrategy, SearchWeights, Strategy,
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
    let query_type = query.query_type.unwrap_or(QueryType::Local);
    let searched = searched(&query.filters.languages, corpus);
    let tuned = config
        .profile
        .as_ref()
        .map(|profile| profile.settings(language, majority(&searched), query_type));
    let rerank = &config.rerank;
    let shown = options.offset + options.limit;
    let depth = tuned.map_or(3 * shown, |settings| settings.depth.max(shown)).max(rerank.top_k);
    // Weights that the caller chose are taken as they are.
    let left_alone = options.weights == SearchWeights::default();
    let weights = match tuned {
        Some(settings) if left_alone => settings.weights,
        _ => options.weights,
    };
    let adaptive = config.adaptive_weights && left_alone;
    let fusion = tuned.map_or(config.fusion, |settings| settings.fusion);
    let reranks = tuned.map_or(rerank.enabled, |settings| settings.rerank && rerank.enabled);
    let legs = SearchStrategy::legs(&options.strategies)
        .into_iter()
        .filter(|strategy| available.contains(strategy))
        .map(|strategy| Leg { strategy, depth, weight: weights.get(strategy) })
        .collect();
    Plan {
        question: Question {
            text: query.text.as_str().to_owned(),
            language,
            foreign: is_foreign(language, &searched),
            embedding: query.embedding.clone(),
        },
        query_type,
        legs,
        fusion: if fusion == Fusion::Adaptive && !adaptive {
            Fusion::RelativeScore
        } else {
            fusion
        },
        rrf: RrfConfig { k: tuned.map_or(config.rrf.k, |settings| settings.k), ..config.rrf },
        candidates: depth,
        rerank: (reranks && options.rerank_enabled).then_some(RerankPlan {
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

fn is_foreign(language: Language, searched: &[(Language, usize)]) -> bool {
    let chunks = |wanted: &dyn Fn(Language) -> bool| -> usize {
        searched.iter().filter(|(one, _)| wanted(*one)).map(|(_, chunks)| chunks).sum()
    };
    let all = chunks(&|_| true);
    all > 0 && (chunks(&|one| one == language) as f64) < FOREIGN_SHARE * all as f64
}

/// The part of the corpus in the languages that are wanted; all if none is named.
fn searched(wanted: &[Language], corpus: &[(Language, usize)]) -> Vec<(Language, usize)> {
    let searched = |(one, _): &&(Language, usize)| wanted.is_empty() || wanted.contains(one);
    corpus.iter().filter(searched).copied().collect()
}

/// The language of most chunks; of equals the first.
fn majority(corpus: &[(Language, usize)]) -> Language {
    let most = corpus.iter().rev().max_by_key(|(_, chunks)| chunks);
    most.map_or_else(Language::default, |(language, _)| *language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Rule, Settings};

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
    fn a_profile_decides_what_the_caller_left_alone() {
        let tuned = SearchWeights::new(0.2, 0.5, 0.3).unwrap();
        let settings =
            Settings { fusion: Fusion::Rrf, k: 20, depth: 40, rerank: false, weights: tuned };
        let rule = Rule {
            question: Some(Language::Ja),
            documents: Some(Language::En),
            query_type: None,
            settings: Settings { k: 7, ..settings },
        };
        let profile = Profile { rules: vec![rule], ..Profile::new(settings) };
        let config = EngineConfig { profile: Some(profile), ..EngineConfig::default() };
        let planned = |query: &SearchQuery, language| {
            plan(query, language, &[Strategy::Keyword], &[(Language::En, 9)], &config)
        };
        let mut query = SearchQuery::new("q").unwrap();
        let en = planned(&query, Language::En);
        assert_eq!((en.fusion, en.rrf.k, &en.rerank), (Fusion::Rrf, 20, &None));
        // Deep enough for the reranker too, though it does not run.
        assert_eq!(en.legs, [Leg { strategy: Strategy::Keyword, depth: 50, weight: 0.2 }]);
        assert_eq!(planned(&query, Language::Ja).rrf.k, 7);
        query.options.limit = 90;
        query.options.weights = SearchWeights::new(0.5, 0.5, 0.0).unwrap();
        let own = planned(&query, Language::En);
        assert_eq!(own.legs, [Leg { strategy: Strategy::Keyword, depth: 90, weight: 0.5 }]);
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
        let foreign =
            |language, wanted: &[Language]| is_foreign(language, &searched(wanted, &mixed));
        assert!(!foreign(En, &[]));
        assert!(!foreign(Ja, &[]));
        assert!(foreign(Ko, &[]));
        assert!(foreign(En, &[Ja, Ko]));
        assert!(!foreign(Ko, &[Ko]));
        assert!(!is_foreign(En, &[]));
        assert_eq!(majority(&searched(&[], &mixed)), Ja);
        assert_eq!(majority(&searched(&[En, Ko], &mixed)), En);
    }

    #[test]
    fn weights_that_the_caller_chose_are_not_adapted() {
        let mut query = SearchQuery::new("q").unwrap();
        assert_eq!(planned(&query).fusion, Fusion::Adaptive);
        query.options.weights = SearchWeights::new(0.5, 0.5, 0.0).unwrap();
        assert_eq!(planned(&query).fusion, Fusion::RelativeScore);
    }
}
