//! Question to plan: every decision of a search, made before any of it runs. Pure.

use std::collections::BTreeSet;

use trefoil_core::{
    CragPlan, Error, Fusion, Language, Plan, QueryClassification, QueryRewrite, QueryType,
    Question, RerankPlan, Result, RetrieverId, RrfConfig, SearchOptions, SearchQuery,
    SearchResultType, SearchStrategy, SearchWeights, Selection,
};
use trefoil_text::language_of;

use crate::{
    config::EngineConfig,
    default_set::{Available, planned, suited_weights, with_others},
    search::page::{fingerprint, is_of},
};

/// What is asked by `query`, over a corpus of this many chunks in each language.
pub fn question(query: &SearchQuery, corpus: &[(Language, usize)]) -> Question {
    let text = query.text.as_str().to_owned();
    let language = language_of(&text);
    let searched = searched(&query.filters.languages, corpus);
    // A vector alone is in no language that is known.
    let is_vector = text.trim().is_empty();
    Question {
        text,
        language,
        cross_lingual: is_cross_lingual(language, &searched),
        other_languages: if is_vector { Vec::new() } else { others(language, &searched) },
        embedding: query.embedding.clone(),
        min_similarity: query.options.min_similarity,
        rewrite: QueryRewrite::None,
    }
}

/// Decides how `query`, which asks `question`, is searched with the retrievers in `available`
/// over a corpus of this many chunks in each language.
///
/// Without weights of the caller's, they are the profile's, or else, with `adaptive_weights` and a
/// fuser that does not weigh lists by what they tell, those that suit the kind of question.
///
/// # Errors
/// [`Error::InvalidQuery`] if the query's cursor is of another query or other settings,
/// [`Error::UnknownRetriever`] if it names one that is not there.
pub fn plan(
    query: &SearchQuery,
    question: Question,
    classification: Option<QueryClassification>,
    available: &[Available],
    corpus: &[(Language, usize)],
    config: &EngineConfig,
) -> Result<Plan> {
    let options = &query.options;
    check_names(options, available)?;
    let classified = classification.as_ref().map(|found| found.query_type);
    let query_type = query.query_type.or(classified).unwrap_or(QueryType::Hybrid);
    let searched = searched(&query.filters.languages, corpus);
    let tuned = config
        .profile
        .as_ref()
        .map(|profile| profile.settings(question.language, majority(&searched), query_type));
    let rerank = &config.rerank;
    let shown = options.offset + options.limit;
    let deep = tuned.map_or(3 * shown, |settings| settings.depth.max(shown)).max(rerank.top_k);
    // The pages of one list are cut from the same candidates.
    let depth = options.cursor.as_ref().map_or(deep, |cursor| cursor.depth);
    let tuned_weights = tuned.and_then(|settings| settings.weights.clone());
    // Weights that the caller chose are taken as they are.
    let adaptive = config.adaptive_weights && options.weights.is_none();
    let fusion = tuned.map_or(&config.fusion, |settings| &settings.fusion).clone();
    let weights = options.weights.clone().unwrap_or_else(|| {
        let suited = || {
            // What each list tells of this question says more than how the question is put.
            if adaptive && fusion != Fusion::Adaptive {
                suited_weights(query.query_type, classification.as_ref())
            } else {
                SearchWeights::default()
            }
        };
        with_others(tuned_weights.unwrap_or_else(suited), available)
    });
    let reranks = tuned.map_or(rerank.enabled, |settings| settings.rerank && rerank.enabled);
    let retrievers = planned(&options.strategies, available, depth, &weights);
    let crag = options.crag_enabled.then_some(&config.crag);
    // What is graded has to be read.
    let thorough = options.thorough || crag.is_some();
    let settings = (available, &config.fusion, config.adaptive_weights, config.rrf, rerank, crag);
    #[cfg(feature = "keyword")]
    let settings = (settings, config.keyword);
    let fingerprint = fingerprint(query, &format!("{settings:?} {:?}", config.profile));
    if let Some(cursor) = options.cursor.as_ref().filter(|one| !is_of(one, fingerprint)) {
        let allowed = "a cursor that the same query and settings gave";
        return Err(Error::invalid_query("options.cursor", cursor, allowed));
    }
    Ok(Plan {
        question,
        classification,
        query_type,
        retrievers,
        fusion: if fusion == Fusion::Adaptive && !adaptive {
            Fusion::RelativeScore
        } else {
            fusion
        },
        rrf: RrfConfig { k: tuned.map_or(config.rrf.k, |settings| settings.k), ..config.rrf },
        candidates: depth,
        rerank: (reranks && options.rerank_enabled).then_some(RerankPlan {
            passages: rerank.top_k,
            thorough,
            // What the first page reranked has to stand where it stood there.
            limit: options.cursor.as_ref().map(|cursor| cursor.first.reranked),
            compares: options.cursor.as_ref().is_none_or(|cursor| cursor.first.compared),
            batch: rerank.batch_size,
            budget: config.rerank_budget.filter(|_| options.cursor.is_none()),
        }),
        crag: crag.map(|crag| CragPlan {
            repairs: crag.repairs.clone(),
            candidates: crag.candidates,
            budget: config.rerank_budget.filter(|_| options.cursor.is_none()),
        }),
        selection: Selection {
            passages: options.wants(SearchResultType::Chunk),
            min_relevance: query.filters.min_relevance,
            adjoining: options.adjoining,
            per_file: options.per_file,
            diverse: options.diverse,
        },
        cursor: options.cursor.clone(),
        offset: options.offset,
        limit: options.limit,
        fingerprint,
    })
}

/// Refuses names of retrievers that no engine with these has.
fn check_names(options: &SearchOptions, available: &[Available]) -> Result<()> {
    let known: BTreeSet<RetrieverId> =
        RetrieverId::DEFAULT_SET.into_iter().chain(available.iter().map(|one| one.id)).collect();
    let asked = options.strategies.iter().filter_map(SearchStrategy::retriever);
    let weighed = options.weights.iter().flat_map(SearchWeights::iter).map(|(id, _)| id);
    let Some(name) = asked.chain(weighed).find(|id| !known.contains(id)) else { return Ok(()) };
    let known: Vec<&str> = known.iter().map(RetrieverId::name).collect();
    Err(Error::UnknownRetriever { name, known: known.join(", ") })
}

/// A question is cross-lingual to a corpus with less than this share of its language: code and
/// names alone make up to a tenth of the chunks of translated documentation English.
const CROSS_LINGUAL_SHARE: f64 = 0.2;

fn is_cross_lingual(language: Language, searched: &[(Language, usize)]) -> bool {
    let chunks = |wanted: &dyn Fn(Language) -> bool| -> usize {
        searched.iter().filter(|(one, _)| wanted(*one)).map(|(_, chunks)| chunks).sum()
    };
    let all = chunks(&|_| true);
    all > 0 && (chunks(&|one| one == language) as f64) < CROSS_LINGUAL_SHARE * all as f64
}

/// The languages that passages are in besides that of the question. What is English in a corpus
/// with little English is code and names, in documents of another language.
fn others(language: Language, searched: &[(Language, usize)]) -> Vec<Language> {
    let written = |&(one, chunks): &(Language, usize)| {
        let is_text = one != Language::En || !is_cross_lingual(one, searched);
        (one != language && chunks > 0 && is_text).then_some(one)
    };
    searched.iter().filter_map(written).collect()
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
    use trefoil_core::{Cursor, FirstPage, OrderKey, QueryClassifier, Score};

    use super::*;
    use crate::{
        classify::{NameTable, RuleClassifier},
        profile::{FusionSettings, Profile, ProfileRule},
        search::page::cursor_hash,
    };

    fn planned_by(query: &SearchQuery, config: &EngineConfig) -> Result<Plan> {
        let corpus = [(Language::En, 9)];
        let question = question(query, &corpus);
        let classification = RuleClassifier.classify(&question, &NameTable::default())?;
        let available = [RetrieverId::KEYWORD, RetrieverId::SEMANTIC].map(Available::from);
        plan(query, question, Some(classification), &available, &corpus, config)
    }

    fn planned(query: &SearchQuery) -> Plan {
        planned_by(query, &EngineConfig::default()).unwrap()
    }

    #[test]
    fn depth_covers_the_page_and_the_reranker() {
        let depth = |limit, offset| {
            let mut query = SearchQuery::new("q").unwrap().limit(limit);
            query.options.offset = offset;
            planned(&query).retrievers.first().map(|retriever| retriever.depth)
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
        assert_eq!(planned_by(&query, &config).unwrap().rerank, None);
    }

    #[test]
    fn what_is_graded_is_read_thoroughly() {
        let check = |query: SearchQuery, thorough| {
            let rerank = planned_by(&query, &EngineConfig::default()).unwrap().rerank.unwrap();
            assert_eq!((rerank.thorough, rerank.passages), (thorough, 50));
        };
        let query = || SearchQuery::new("q").unwrap();
        check(query(), false);
        check(query().thorough(true), true);
        check(query().crag(true), true);
    }

    #[test]
    fn a_profile_decides_what_the_caller_left_alone() {
        let tuned = SearchWeights::default_set([0.2, 0.5, 0.3]).unwrap();
        let settings = FusionSettings {
            fusion: Fusion::Rrf,
            k: 20,
            depth: 40,
            rerank: false,
            weights: Some(tuned),
        };
        let rule = ProfileRule {
            question: Some(Language::Ja),
            documents: Some(Language::En),
            query_type: None,
            settings: FusionSettings { k: 7, ..settings.clone() },
        };
        let profile = Profile { rules: vec![rule], ..Profile::new(settings) };
        let config = EngineConfig { profile: Some(profile), ..EngineConfig::default() };
        let planned = |query: &SearchQuery| planned_by(query, &config).unwrap();
        let weights = |plan: &Plan| -> Vec<(usize, f32)> {
            plan.retrievers.iter().map(|retriever| (retriever.depth, retriever.weight)).collect()
        };
        let mut query = SearchQuery::new("q").unwrap();
        let en = planned(&query);
        assert_eq!((&en.fusion, en.rrf.k, &en.rerank), (&Fusion::Rrf, 20, &None));
        // Deep enough for the reranker too, though it does not run.
        assert_eq!(weights(&en), [(50, 0.2), (50, 0.5)]);
        assert_eq!(planned(&SearchQuery::new("海").unwrap()).rrf.k, 7);
        query.options.limit = 90;
        query.options.weights = Some(SearchWeights::default_set([0.6, 0.4, 0.0]).unwrap());
        assert_eq!(weights(&planned(&query)), [(90, 0.6), (90, 0.4)]);
    }

    #[test]
    fn weights_that_were_left_alone_follow_the_kind_of_question() {
        let check = |query: &SearchQuery, config: &EngineConfig, kind, weights: [f32; 2]| {
            let plan = planned_by(query, config).unwrap();
            assert_eq!(plan.query_type, kind);
            for (retriever, weight) in plan.retrievers.iter().zip(weights) {
                assert!(
                    (retriever.weight - weight).abs() < 1e-6,
                    "{:?} is not {weights:?}",
                    plan.retrievers
                );
            }
        };
        let config = EngineConfig { fusion: Fusion::Rrf, ..EngineConfig::default() };
        let mut query = SearchQuery::new("overview of the handbook").unwrap();
        // What the graph retriever leaves, in halves.
        check(&query, &config, QueryType::Global, [0.25, 0.25]);
        // Adaptive fusion looks at the lists instead.
        check(&query, &EngineConfig::default(), QueryType::Global, [0.35, 0.35]);
        let fixed = EngineConfig { adaptive_weights: false, ..config.clone() };
        check(&query, &fixed, QueryType::Global, [0.35, 0.35]);
        query.query_type = Some(QueryType::Relationship);
        check(&query, &config, QueryType::Relationship, [0.20, 0.20]);
        query.options.weights = Some(SearchWeights::default_set([0.7, 0.1, 0.2]).unwrap());
        check(&query, &config, QueryType::Relationship, [0.7, 0.1]);
    }

    #[test]
    fn a_cursor_is_of_one_search_and_brings_its_depth() {
        let mut query = SearchQuery::new("q").unwrap().limit(7);
        let last = OrderKey { combined: Score::ONE, id: "chk_1".to_owned(), ..OrderKey::default() };
        let fingerprint = planned(&query).fingerprint;
        let first = FirstPage { compared: false, words: 1, reranked: 7, repairs: vec![4] };
        let cursor = Cursor {
            last,
            depth: 90,
            fingerprint: cursor_hash(fingerprint, 90, &first),
            first: first.clone(),
        };
        query.options.cursor = Some(cursor.clone());
        query.options.offset = 500;
        assert_eq!(planned(&query).candidates, 90);
        // It reranks what the first page did, and takes the time that this takes.
        let rerank = planned(&query).rerank.unwrap();
        assert_eq!((rerank.passages, rerank.limit, rerank.budget), (50, Some(7), None));
        assert!(!rerank.compares);
        for changed in [
            Cursor { depth: 900, ..cursor.clone() },
            Cursor { first: FirstPage { repairs: vec![4, 4], ..first.clone() }, ..cursor.clone() },
            Cursor { first: FirstPage { reranked: 50, ..first.clone() }, ..cursor.clone() },
            Cursor { first: FirstPage { compared: true, ..first.clone() }, ..cursor.clone() },
            Cursor { first: FirstPage { words: 2, ..first }, ..cursor },
        ] {
            let mut query = query.clone();
            query.options.cursor = Some(changed);
            let error = planned_by(&query, &EngineConfig::default()).unwrap_err();
            assert!(
                matches!(error, Error::InvalidQuery { field: "options.cursor", .. }),
                "{error}"
            );
        }
        query.options.limit = 8;
        let error = planned_by(&query, &EngineConfig::default()).unwrap_err();
        assert!(matches!(error, Error::InvalidQuery { field: "options.cursor", .. }), "{error}");
    }

    #[test]
    fn only_retrievers_that_are_there_are_planned() {
        let retrievers = planned(&SearchQuery::new("q").unwrap()).retrievers;
        let strategies: Vec<RetrieverId> = retrievers.iter().map(|one| one.id).collect();
        assert_eq!(strategies, [RetrieverId::KEYWORD, RetrieverId::SEMANTIC]);
    }

    #[test]
    fn a_question_is_cross_lingual_to_a_corpus_in_other_languages() {
        use Language::{En, Ja, Ko};
        let mixed = [(En, 30), (Ja, 60), (Ko, 10)];
        let cross_lingual =
            |language, wanted: &[Language]| is_cross_lingual(language, &searched(wanted, &mixed));
        assert!(!cross_lingual(En, &[]));
        assert!(!cross_lingual(Ja, &[]));
        assert!(cross_lingual(Ko, &[]));
        assert!(cross_lingual(En, &[Ja, Ko]));
        assert!(!cross_lingual(Ko, &[Ko]));
        assert!(!is_cross_lingual(En, &[]));
        assert_eq!(majority(&searched(&[], &mixed)), Ja);
        assert_eq!(majority(&searched(&[En, Ko], &mixed)), En);
    }

    #[test]
    fn a_question_is_moved_into_the_other_languages_of_the_corpus() {
        use Language::{En, Ja, Ko};
        let of = |text: &str, corpus: &[(Language, usize)]| {
            let text = SearchQuery::new(text).unwrap();
            question(&text, corpus).other_languages
        };
        let mixed = [(En, 30), (Ja, 60), (Ko, 10)];
        assert_eq!(of("which one?", &mixed), [Ja, Ko]);
        assert_eq!(of("どれですか", &mixed), [En, Ko]);
        // A tenth of a translation is code and names.
        assert_eq!(of("どれですか", &[(En, 10), (Ja, 90)]), []);
        assert_eq!(of("which one?", &[(En, 10), (Ja, 90)]), [Ja]);
        assert_eq!(of("which one?", &[(En, 9)]), []);
        let mut query = SearchQuery::new("which one?").unwrap();
        query.filters.languages = vec![Ko];
        assert_eq!(question(&query, &mixed).other_languages, [Ko]);
    }

    #[test]
    fn weights_that_the_caller_chose_are_not_adapted() {
        let mut query = SearchQuery::new("q").unwrap();
        assert_eq!(planned(&query).fusion, Fusion::Adaptive);
        query.options.weights = Some(SearchWeights::default_set([0.5, 0.5, 0.0]).unwrap());
        assert_eq!(planned(&query).fusion, Fusion::RelativeScore);
    }
}
