mod index;
mod peak_memory;
mod sample;

use std::{collections::BTreeMap, path::PathBuf};

use rayon::prelude::*;
use serde_json::Value;
use trefoil::{
    Engine, EngineConfig, Language, Result, Score, SearchFilters, SearchOptions, SearchQuery,
    SearchStrategy,
    index::RowId,
    search::{Plan, QueryText, SearchResultType, suited_weights},
};

use self::index::Index;
pub use self::sample::samples;
use crate::{
    Collection, Evaluation, Latency, Metric, Query, Report, RetrieverLists, Run, Scored, StoredHit,
    StoredList, gibberish,
};

/// Measures an engine on collections.
#[derive(Clone, Debug)]
pub struct Harness {
    /// The engine.
    pub config: EngineConfig,
    /// Where indexes are kept, one folder for each content and model.
    pub indexes: PathBuf,
    /// Which retrievers run.
    pub strategies: Vec<SearchStrategy>,
    /// Whether the cross-encoder reranks the first results.
    pub rerank: bool,
    /// Whether it reads as many of them as the configuration says, not only the first few.
    pub thorough: bool,
    /// How many questions are asked, spread evenly over the answerable ones; all if absent.
    pub queries: Option<usize>,
    /// How many of them are timed, spread evenly.
    pub timed: usize,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What was answered, the first 100 documents a question.
    pub run: Run,
    /// What that is worth, question by question.
    pub evaluation: Evaluation,
    /// The means, and what it cost.
    pub report: Report,
}

/// Answers to the questions of a collection, and what did not run.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered<T> {
    /// One or more for each question.
    pub answers: Vec<T>,
    /// What did not run, such as a retriever without its model, or was not indexed; each once.
    pub degraded: Vec<String>,
}

/// Documents that a ranking holds.
const DEPTH: usize = 100;
/// Pages of 100 chunks that are turned for them.
const PAGES: usize = 10;
const MEBIBYTE: f64 = 1_048_576.0;

impl Harness {
    /// Asks through all retrievers, without limits, and times 200 questions.
    pub fn new(config: EngineConfig, indexes: impl Into<PathBuf>) -> Self {
        Self {
            config,
            indexes: indexes.into(),
            strategies: vec![SearchStrategy::Hybrid],
            rerank: true,
            thorough: false,
            queries: None,
            timed: 200,
        }
    }

    /// Asks every answerable question of a collection.
    ///
    /// A document's score is that of its best chunk; `min_relevance` is 0, highlights are
    /// off, reranking takes the time that it needs. Quality is asked for on all cores.
    ///
    /// Times are taken before, one question at a time with nothing else running, each for the
    /// first time so that nothing of it is cached, with the default options and the time
    /// budget of the configuration: what a user waits for. Three questions that mean nothing
    /// come first, so that code and index are in memory.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn measure(&self, collection: &Collection) -> Result<Measured> {
        peak_memory::reset_peak();
        let queries = self.queries(collection);
        let latency = {
            let index = Index::open(&self.indexes, &self.config, collection)?;
            self.time(&index, &spread(&queries, self.timed))?
        };
        let index = Index::open(&self.indexes, &self.unhurried(), collection)?;
        let answers = queries
            .par_iter()
            .map(|query| Ok(self.returned(&index, &query.text, self.rerank)?.ranked))
            .collect::<Result<Vec<_>>>()?;
        let mut run = Run::new("trefoil");
        for (query, ranked) in queries.iter().zip(answers) {
            run.insert_ranked(&query.id, ranked);
        }
        let mut asked: Vec<&str> = queries.iter().map(|query| query.id.as_str()).collect();
        asked.sort_unstable();
        let qrels = collection.qrels.only(|query| asked.binary_search(&query).is_ok());
        let evaluation = Evaluation::of(&run, &qrels, &Metric::STANDARD);
        let report = Report {
            configuration: self.configuration(&index)?,
            latency_ms: Some(latency),
            ingest: index.ingest,
            peak_rss_mb: peak_memory::peak_mb(),
            index_mb: Some(index.engine.stats()?.bytes as f64 / MEBIBYTE),
            ..Report::of(collection, &evaluation)
        };
        Ok(Measured { run, evaluation, report })
    }

    /// For every answerable question each retriever's own list, what the engine returns without
    /// reranking and, if that is on, with it, and what the reranker says of the rows that it
    /// reads: to see what each stage is worth, and to tune with.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn retriever_lists(&self, collection: &Collection) -> Result<Answered<RetrieverLists>> {
        let index = Index::open(&self.indexes, &self.unhurried(), collection)?;
        let queries = self.queries(collection);
        let lists = queries.par_iter().map(|query| self.lists_of(&index, collection, query));
        let answers = lists.collect::<Result<_>>()?;
        Ok(Answered { answers, degraded: index.degraded() })
    }

    fn lists_of(
        &self,
        index: &Index,
        collection: &Collection,
        query: &Query,
    ) -> Result<RetrieverLists> {
        let engine = &index.engine;
        let asked = self.query(&query.text, DEPTH)?;
        let plan = engine.plan(&asked)?;
        let mut retrievers = BTreeMap::new();
        for list in engine.ranked_lists(&asked)? {
            let rows: Vec<_> = list.hits().iter().map(|hit| hit.row).collect();
            let documents: BTreeMap<_, _> = engine
                .chunks(&rows)?
                .into_iter()
                .map(|chunk| (chunk.row, chunk.file.path.clone()))
                .collect();
            let stored = list.hits().iter().filter_map(|hit| {
                let document = documents.get(&hit.row)?.clone();
                Some(StoredHit(hit.row.get(), document, hit.raw_score, hit.relevance))
            });
            let stored = StoredList {
                floor: list.floor(),
                confidence: list.confidence(),
                hits: stored.collect(),
            };
            retrievers.insert(list.retriever(), stored);
        }
        let paths = |ranked: Vec<Scored>| ranked.into_iter().map(|one| one.document).collect();
        let fused = self.returned(index, &query.text, false)?;
        let read = self.rerank.then(|| self.returned(index, &query.text, true)).transpose()?;
        let (read, reranked) = read.map(|read| (paths(read.ranked), read.scores)).unzip();
        let reranked = reranked.unwrap_or_default();
        Ok(RetrieverLists {
            set: collection.name.clone(),
            query: query.id.clone(),
            language: query.language,
            documents: collection.language(),
            query_type: plan.query_type,
            suited: suited_weights(asked.query_type, plan.classification.as_ref()),
            judgements: collection.qrels.get(&query.id).cloned().unwrap_or_default(),
            retrievers,
            fused: paths(fused.ranked),
            read,
            names: names(engine, &plan, &reranked),
            reranked,
        })
    }

    /// The configuration without a time budget: quality does not depend on the machine.
    fn unhurried(&self) -> EngineConfig {
        EngineConfig { rerank_budget: None, ..self.config.clone() }
    }

    /// The engine over a collection.
    pub(crate) fn engine_of(&self, collection: &Collection) -> Result<Engine> {
        Ok(Index::open(&self.indexes, &self.unhurried(), collection)?.engine)
    }

    fn queries<'c>(&self, collection: &'c Collection) -> Vec<&'c Query> {
        let answerable: Vec<&Query> = collection.answerable().collect();
        spread(&answerable, self.queries.unwrap_or(usize::MAX))
    }

    /// What the engine returns, with reranking or without.
    fn returned(&self, index: &Index, text: &str, rerank: bool) -> Result<Returned> {
        let mut found: Vec<Scored> = Vec::new();
        let mut scores = BTreeMap::new();
        let mut query = self.query(text, DEPTH)?;
        query.options.rerank_enabled = rerank;
        for _ in 0..PAGES {
            let page = index.search(&query)?;
            for item in page.results {
                if let (Some(score), Some(id)) = (item.relevance.rerank, &item.sources.chunk_id)
                    && let Some(chunk) = index.engine.chunk(id)?
                {
                    scores.insert(chunk.row.get(), score);
                }
                let Some(metadata) = item.metadata else { continue };
                if found.iter().all(|one| one.document != metadata.path) {
                    found.push(Scored { document: metadata.path, score: item.score.get() });
                }
            }
            if !page.has_more || found.len() >= DEPTH {
                break;
            }
            query.options.offset += DEPTH;
            // It reads the first page only.
            query.options.rerank_enabled = false;
        }
        found.truncate(DEPTH);
        Ok(Returned { ranked: found, scores })
    }

    fn query(&self, text: &str, limit: usize) -> Result<SearchQuery> {
        let strategies = self.strategies.clone();
        let options = SearchOptions {
            limit,
            strategies,
            rerank_enabled: self.rerank,
            thorough: self.thorough,
            ..Default::default()
        };
        passages_for(&cut(text), SearchFilters::default(), options)
    }

    fn time(&self, index: &Index, queries: &[&Query]) -> Result<Latency> {
        let options = SearchOptions {
            strategies: self.strategies.clone(),
            rerank_enabled: self.rerank,
            thorough: self.thorough,
            ..SearchOptions::default()
        };
        let ask = |text: &str| {
            let query = self.query(text, DEPTH)?;
            index.search(&SearchQuery { options: options.clone(), ..query })
        };
        for question in gibberish(Language::En, 3, 0) {
            ask(&question)?;
        }
        let mut totals = Vec::new();
        let mut stages: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for query in queries {
            let found = ask(&query.text)?;
            totals.push(found.processing_time);
            for stage in found.stages {
                stages.entry(stage.stage.to_string()).or_default().push(stage.duration);
            }
        }
        Ok(Latency::of(totals, stages))
    }

    fn reranker(&self) -> Option<&str> {
        let config = &self.config.rerank;
        (self.rerank && config.enabled).then_some(config.model.as_str())
    }

    /// Everything that decides a result.
    fn configuration(&self, index: &Index) -> Result<BTreeMap<String, Value>> {
        let stats = index.engine.stats()?;
        let fusion = serde_json::to_value(&self.config.fusion);
        let strategies = serde_json::to_value(&self.strategies);
        let mut configuration = BTreeMap::from([
            ("version".to_owned(), env!("CARGO_PKG_VERSION").into()),
            ("strategies".to_owned(), strategies.unwrap_or_default()),
            ("fusion".to_owned(), fusion.unwrap_or_default()),
            ("adaptive_weights".to_owned(), self.config.adaptive_weights.into()),
            ("rerank".to_owned(), self.reranker().into()),
            ("thorough".to_owned(), self.thorough.into()),
            ("embedding".to_owned(), stats.embedding.into()),
            ("chunks".to_owned(), stats.store.chunks.into()),
        ]);
        let degraded = index.degraded();
        if !degraded.is_empty() {
            configuration.insert("degraded".to_owned(), degraded.into());
        }
        Ok(configuration)
    }
}

/// As much of a question as an engine takes.
pub(crate) fn cut(text: &str) -> String {
    text.trim().chars().take(QueryText::MAX_CHARS).collect()
}

/// Asks for passages of any relevance: documents are judged, and entities and communities are
/// none.
pub(crate) fn passages_for(
    text: &str,
    filters: SearchFilters,
    options: SearchOptions,
) -> Result<SearchQuery> {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..filters };
    let result_types = vec![SearchResultType::Chunk];
    let options = SearchOptions { include_highlights: false, result_types, ..options };
    Ok(SearchQuery::new(text)?.replace_filters(filters).replace_options(options))
}

/// What the engine returned to a question.
struct Returned {
    /// The first 100 documents by their best chunk, best first.
    ranked: Vec<Scored>,
    /// What the reranker says of the rows that it read.
    scores: BTreeMap<u64, Score>,
}

/// Which of the rows that were read name what others are about.
fn names(engine: &Engine, plan: &Plan, read: &BTreeMap<u64, Score>) -> Vec<(u64, u64, f32)> {
    let names = engine.mention_strength(plan);
    let pairs = read.keys().flat_map(|&from| read.keys().map(move |&to| (from, to)));
    let named = pairs.map(|(from, to)| (from, to, names(RowId::new(from), RowId::new(to))));
    named.filter(|(.., strength)| *strength > 0.0).collect()
}

/// At most `count` of the values, as far apart as can be, the first among them.
pub(crate) fn spread<T: Copy>(values: &[T], count: usize) -> Vec<T> {
    let count = count.min(values.len());
    (0..count).filter_map(|place| values.get(place * values.len() / count).copied()).collect()
}

#[cfg(test)]
mod tests {
    use trefoil::{Document, Fusion, Model};

    use super::*;
    use crate::Qrels;

    /// Twelve birds, each with a question that names it.
    fn birds() -> Collection {
        let names = [
            "owl", "wren", "heron", "swift", "crane", "robin", "stork", "eagle", "gull", "tern",
            "梟", "鶴",
        ];
        let mut birds = Collection {
            name: "birds".to_owned(),
            documents: Vec::new(),
            queries: Vec::new(),
            qrels: Qrels::default(),
            languages: BTreeMap::from([(Language::En, 10), (Language::Ja, 2)]),
        };
        for name in names {
            let text = format!("The {name} has a nest.");
            birds.documents.push(Document::new(name, text).title(name));
            birds.queries.push(Query {
                id: format!("q {name}"),
                text: format!("where does the {name} nest?").repeat(60),
                language: trefoil::text::language_of(name),
                kind: Some("bird".to_owned()),
            });
            birds.qrels.insert(format!("q {name}"), name, 1);
        }
        let mut unanswerable = birds.queries[0].clone();
        unanswerable.id = "nothing".to_owned();
        birds.queries.push(unanswerable);
        birds
    }

    fn harness(dir: &std::path::Path) -> Harness {
        Harness::new(EngineConfig { model: Model::None, ..EngineConfig::default() }, dir)
    }

    #[test]
    fn a_collection_is_indexed_once_and_measured() {
        let dir = tempfile::tempdir().unwrap();
        let first = harness(dir.path()).measure(&birds()).unwrap();
        let report = &first.report;
        assert_eq!((report.documents, report.queries), (12, 12));
        assert_eq!(report.metrics[&Metric::Ndcg(10)], 1.0);
        assert_eq!(report.languages["ja"].queries, 2);
        assert_eq!(first.run.get("q owl")[0].document, "owl");
        assert!(report.ingest.is_some_and(|ingest| ingest.documents_per_second > 0.0));
        let latency = report.latency_ms.as_ref().unwrap();
        assert_eq!(latency.queries, 12);
        assert!(latency.p50 > 0.0 && latency.stages.contains_key("keyword"));
        assert!(report.index_mb.is_some_and(|size| size > 0.0));
        // A retriever that cannot run does not go unsaid.
        assert!(report.degraded().any(|reason| reason.starts_with("semantic: ")), "{report:?}");
        // The second time nothing is indexed: the first figures are shown.
        let second = harness(dir.path()).measure(&birds()).unwrap();
        assert_eq!((&second.run, &second.evaluation), (&first.run, &first.evaluation));
        assert_eq!(second.report.ingest, report.ingest);
        // Another corpus is another index.
        let mut fewer = birds();
        fewer.documents.truncate(3);
        let third = harness(dir.path()).measure(&fewer).unwrap();
        assert!(third.report.metrics[&Metric::Ndcg(10)] < 0.5);
    }

    /// Towns that are told of together, and questions of every type about them.
    fn towns() -> Collection {
        let texts = [
            ("arden", "Arden", "Arden trades salt with Belmor. The road to Corvin is closed."),
            ("belmor", "Belmor", "Belmor sells salt and fish. Arden buys both."),
            ("corvin", "Corvin", "Corvin mines silver. Belmor and Corvin share a harbour."),
            ("dunmar", "Dunmar", "Dunmar lies by the harbour. Silver comes from Corvin."),
            ("elstow", "Elstow", "Elstow has a market for salt. Nobody there knows Dunmar."),
            ("fenwick", "Fenwick", "Fenwick and Elstow have one bridge between them."),
        ];
        let questions = [
            ("what is the relationship between Arden and Corvin?", "belmor"),
            ("how are Belmor and Dunmar related?", "corvin"),
            ("compare Elstow with Fenwick", "fenwick"),
            ("overview of the towns that trade salt", "arden"),
            ("who sells salt and fish?", "belmor"),
            ("which of the towns is Arden?", "arden"),
        ];
        let mut towns = Collection {
            name: "towns".to_owned(),
            documents: Vec::new(),
            queries: Vec::new(),
            qrels: Qrels::default(),
            languages: BTreeMap::from([(Language::En, 6)]),
        };
        for (path, title, text) in texts {
            towns.documents.push(Document::new(path, text).title(title));
        }
        for (place, (text, right)) in questions.into_iter().enumerate() {
            let (id, text) = (place.to_string(), text.to_owned());
            towns.qrels.insert(id.clone(), right, 1);
            towns.queries.push(Query { id, text, language: Language::En, kind: None });
        }
        towns
    }

    #[test]
    fn stored_lists_fuse_to_what_the_engine_returns() {
        check_stored_lists(&Fusion::Adaptive, false);
        // Only these look at how the question is put: the default weights differ.
        check_stored_lists(&Fusion::Rrf, true);
    }

    fn check_stored_lists(fusion: &Fusion, suited: bool) {
        let dir = tempfile::tempdir().unwrap();
        let mut harness = Harness { rerank: false, ..harness(dir.path()) };
        harness.config.fusion = fusion.clone();
        let towns = towns();
        let Answered { answers: lists, degraded } = harness.retriever_lists(&towns).unwrap();
        assert!(degraded.iter().any(|reason| reason.starts_with("semantic: ")), "{degraded:?}");
        let engine = harness.engine_of(&towns).unwrap();
        let scores = |asked: &RetrieverLists, weights| -> BTreeMap<String, Score> {
            let settings = trefoil::search::FusionSettings {
                fusion: fusion.clone(),
                weights,
                ..trefoil::search::FusionSettings::default()
            };
            let fused = settings.fuse(&asked.ranked_lists(), &asked.suited).unwrap();
            let documents = asked.documents();
            fused.iter().map(|hit| (documents[&hit.row].to_owned(), hit.combined)).collect()
        };
        for (asked, query) in lists.iter().zip(&towns.queries) {
            let found = engine.search(&harness.query(&query.text, DEPTH).unwrap()).unwrap();
            let chunks = found.results.into_iter();
            let returned: Vec<(String, Score)> =
                chunks.map(|item| (item.metadata.unwrap().path, item.relevance.combined)).collect();
            let order: Vec<&String> = returned.iter().map(|(path, _)| path).collect();
            assert_eq!(asked.fused.iter().collect::<Vec<_>>(), order);
            assert_eq!(scores(asked, None), returned.into_iter().collect(), "{}", query.text);
        }
        let fixed = Some(trefoil::SearchWeights::default());
        let differs = |asked| scores(asked, fixed.clone()) != scores(asked, None);
        assert_eq!(lists.iter().any(differs), suited);
    }

    #[test]
    fn questions_are_spread_evenly() {
        assert_eq!(spread(&[0, 1, 2, 3, 4, 5], 3), [0, 2, 4]);
        assert_eq!(spread(&[0, 1, 2], 9), [0, 1, 2]);
        assert_eq!(spread(&[0, 1, 2], 0), [0; 0]);
        let dir = tempfile::tempdir().unwrap();
        let some = Harness { queries: Some(4), ..harness(dir.path()) };
        assert_eq!(some.measure(&birds()).unwrap().report.queries, 4);
    }
}
