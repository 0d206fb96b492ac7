//! Parts of an engine that fail or panic: the others go on, and say so.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use trefoil::{
    Document, Engine, EngineConfig, Error, Model, Result, RetrieverId, Score, SearchFilters,
    SearchOptions, SearchQuery,
    crag::GradeThresholds,
    graph::{
        CentralSentences, EntityExtraction, EntityExtractor, Extraction, Summarizer, Summary,
        SummaryRequest, TitledText,
    },
    index::Role,
    model::{Array2, Deadline, Embedder, EmbeddingSpace, Reranker, Rerankers},
    search::{
        NameLookup, QueryClassification, QueryClassifier, QueryType, Question, RuleClassifier,
        Stage,
    },
};

use crate::{
    files::{copy, entries},
    trigrams::with_trigrams,
    verify::finds,
};

/// How parts fail: not at all, with an error, with a panic.
const MODES: [u8; 3] = [0, 1, 2];

/// A switch that several parts share.
#[derive(Clone, Debug, Default)]
struct Switch(Arc<AtomicU8>);

impl Switch {
    fn set(&self, mode: u8) {
        self.0.store(mode, Ordering::Relaxed);
    }

    fn check(&self, part: &str) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            0 => Ok(()),
            1 => Err(Error::EmbeddingFailed {
                model: part.to_owned(),
                bytes: 0,
                reason: "on purpose".to_owned(),
            }),
            _ => panic!("{part} on purpose"),
        }
    }
}

#[derive(Debug)]
struct FailingEmbedder(Arc<dyn Embedder>, Switch);

impl Embedder for FailingEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        self.0.space()
    }

    fn cosine_range(&self) -> (f32, f32) {
        self.0.cosine_range()
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        self.1.check("the model")?;
        assert!(!texts.iter().any(|text| text.contains("poison")), "a text is poison");
        self.0.embed(role, texts)
    }
}

#[derive(Debug)]
struct FailingReranker(Switch);

impl Reranker for FailingReranker {
    fn model(&self) -> &'static str {
        "even"
    }

    fn reads(&self, _: &str) -> bool {
        true
    }

    fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<Score>> {
        self.0.check("the reranker")?;
        Ok(vec![Score::HALF; passages.len()])
    }
}

#[derive(Debug)]
struct FailingClassifier(Switch);

impl QueryClassifier for FailingClassifier {
    fn classify(&self, question: &Question, names: &dyn NameLookup) -> Result<QueryClassification> {
        self.0.check("the classifier")?;
        RuleClassifier.classify(question, names)
    }
}

#[derive(Debug)]
struct FailingSummarizer(Switch);

impl Summarizer for FailingSummarizer {
    fn fingerprint(&self) -> String {
        "failing".to_owned()
    }

    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<Summary> {
        self.0.check("the summariser")?;
        CentralSentences::default().summarize(request)
    }
}

#[derive(Debug)]
struct FailingExtractor(Switch);

impl EntityExtractor for FailingExtractor {
    fn fingerprint(&self) -> String {
        trefoil::graph::ScriptExtractor.fingerprint()
    }

    fn extract(&self, texts: &[TitledText<'_>]) -> Result<Vec<Extraction>> {
        self.0.check("the extractor")?;
        trefoil::graph::ScriptExtractor.extract(texts)
    }
}

/// A switch for each part.
#[derive(Clone, Debug, Default)]
struct Switches {
    embedder: Switch,
    reranker: Switch,
    classifier: Switch,
    summarizer: Switch,
    extractor: Switch,
}

impl Switches {
    fn config(&self) -> EngineConfig {
        let base = with_trigrams();
        let Model::Custom(embedder) = &base.model else { panic!("trigrams are no model") };
        let embedder = FailingEmbedder(Arc::clone(embedder), self.embedder.clone());
        let mut config = EngineConfig {
            model: Model::Custom(Arc::new(embedder)),
            rerankers: Rerankers::Custom(vec![Arc::new(FailingReranker(self.reranker.clone()))]),
            classifier: Arc::new(FailingClassifier(self.classifier.clone())),
            summarizer: Arc::new(FailingSummarizer(self.summarizer.clone())),
            extractor: EntityExtraction::Custom(Arc::new(FailingExtractor(self.extractor.clone()))),
            ..base
        };
        config.rerank.enabled = true;
        config
    }
}

fn documents() -> Vec<Document> {
    [
        ("owl", "The Barn Owl hunts for the Field Vole near the Old Mill. The Barn Owl is silent."),
        (
            "vole",
            "The Field Vole hides from the Barn Owl. The Field Vole eats grass by the Old Mill.",
        ),
        ("tide", "The Spring Tide follows the Full Moon. The Full Moon pulls the Spring Tide."),
        ("moon", "At the Full Moon the Spring Tide is highest. Harbours know the Spring Tide."),
    ]
    .map(|(path, text)| Document::new(path, text))
    .into()
}

const TYPES: [QueryType; 4] =
    [QueryType::Local, QueryType::Global, QueryType::Relationship, QueryType::Hybrid];

/// Another question each time, for the embeddings of questions are kept.
fn new_query(query_type: QueryType, crag: bool) -> SearchQuery {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let number = ASKED.fetch_add(1, Ordering::Relaxed);
    let text = format!("{ASKED_TEXT} {number}");
    let query = query(query_type, crag);
    SearchQuery { text: trefoil::search::QueryText::new(&text).unwrap(), ..query }
}

const ASKED_TEXT: &str = "how is the Barn Owl related to the Field Vole of the Old Mill?";

fn query(query_type: QueryType, crag: bool) -> SearchQuery {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    let options = SearchOptions { crag_enabled: crag, ..SearchOptions::default() };
    let query =
        SearchQuery::new(ASKED_TEXT).unwrap().replace_filters(filters).replace_options(options);
    SearchQuery { query_type: Some(query_type), ..query }
}

#[test]
fn whatever_fails_the_rest_answers_every_type_of_question() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let switches = Switches::default();
    let engine = Engine::open_with(&whole, switches.config()).unwrap();
    engine.ingest(&documents()).unwrap();
    engine.wait_until_indexed().unwrap();
    drop(engine);
    let indexes =
        ["documents/keyword/meta.json", "documents/semantic/MANIFEST", "documents/graph/MANIFEST"];
    for damaged in 0_u8..8 {
        let index = folder.path().join(format!("{damaged}"));
        copy(&whole, &index);
        let is_damaged = |place: usize| damaged & 1 << place != 0;
        for (place, file) in indexes.iter().enumerate().filter(|(place, _)| is_damaged(*place)) {
            assert!(index.join(file).exists(), "{file} {place}");
            fs::write(index.join(file), "damaged").unwrap();
        }
        let engine = Engine::open_read_only(&index, switches.config()).unwrap();
        for (embedder, others) in MODES.into_iter().flat_map(|a| MODES.map(|b| (a, b))) {
            switches.embedder.set(embedder);
            switches.reranker.set(others);
            switches.classifier.set(others);
            let answers = !is_damaged(0) || !is_damaged(2) || !is_damaged(1) && embedder == 0;
            for (query_type, crag) in TYPES.into_iter().flat_map(|one| [(one, false), (one, true)])
            {
                let case = format!("{damaged:03b} {embedder} {others} {query_type:?} {crag}");
                match engine.search(&new_query(query_type, crag)) {
                    Ok(found) => {
                        assert!(answers, "{case}");
                        assert!(!found.results.is_empty(), "{case}: {:?}", found.degraded);
                        let names = |stage| found.degraded.iter().any(|one| one.stage == stage);
                        let semantic = is_damaged(1) || embedder > 0;
                        assert_eq!(
                            names(Stage::Retriever(RetrieverId::SEMANTIC)),
                            semantic,
                            "{case}: {:?}",
                            found.degraded
                        );
                        assert_eq!(
                            names(Stage::Retriever(RetrieverId::KEYWORD)),
                            is_damaged(0),
                            "{case}"
                        );
                        assert_eq!(names(Stage::Classify), others > 0, "{case}");
                        assert_eq!(names(Stage::Rerank), others > 0, "{case}");
                    }
                    Err(Error::SearchFailed { .. }) => assert!(!answers, "{case}"),
                    Err(error) => panic!("{case}: {error:?}"),
                }
            }
        }
        switches.embedder.set(0);
        switches.reranker.set(0);
        switches.classifier.set(0);
    }
}

#[test]
fn a_question_brings_its_own_vector_to_the_communities() {
    let folder = tempfile::tempdir().unwrap();
    let switches = Switches::default();
    let engine = Engine::open_with(folder.path().join("index"), switches.config()).unwrap();
    engine.ingest(&documents()).unwrap();
    engine.wait_until_indexed().unwrap();
    let asked = query(QueryType::Global, false);
    let before = engine.search(&asked).unwrap();
    let semantic = |found: &trefoil::SearchResult| {
        found.degraded.iter().any(|one| one.stage == Stage::Retriever(RetrieverId::SEMANTIC))
    };
    assert!(!semantic(&before), "{:?}", before.degraded);
    // The embedding of the question is remembered.
    switches.embedder.set(2);
    let again = engine.search(&asked).unwrap();
    assert_eq!(again.results, before.results);
    assert!(!semantic(&again), "{:?}", again.degraded);
    // Another has to bring it along.
    let mut other = SearchQuery::new("overview of owls and voles").unwrap();
    other.query_type = Some(QueryType::Global);
    assert!(semantic(&engine.search(&other).unwrap()));
    let Model::Custom(embedder) = with_trigrams().model else { panic!("trigrams are no model") };
    let vector = embedder.embed(Role::Query, &["owls and voles"]).unwrap().row(0).to_vec();
    other.embedding = Some(trefoil::search::Embedding::new(vector).unwrap());
    assert!(!semantic(&engine.search(&other).unwrap()));
}

#[test]
fn a_text_whose_embedding_panics_is_set_aside_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    let switches = Switches::default();
    let engine = Engine::open_with(&index, switches.config()).unwrap();
    let mut given = documents();
    given.insert(1, Document::new("bad", "This one is poison to the model."));
    engine.ingest(&given).unwrap();
    let error = engine.wait_until_indexed().unwrap_err();
    assert!(matches!(&error, Error::Panicked { what, .. } if what == "the embedder"), "{error:?}");
    let told = engine.stats().unwrap().background;
    assert!(
        told.iter().any(|one| one.stage == Stage::Retriever(RetrieverId::SEMANTIC)),
        "{told:?}"
    );
    let found = engine.search(&query(QueryType::Local, false)).unwrap();
    assert!(found.degraded.iter().any(|one| one.reason.contains("a text is poison")), "{found:?}");
    // The others have their vectors, and the worker goes on.
    let left = engine.wait_until_indexed().unwrap();
    assert_eq!((left.queued, left.running, left.failed), (0, 0, 1));
    engine.ingest(&[Document::new("late", "The heron came late to the estuary.")]).unwrap();
    assert_eq!(engine.wait_until_indexed().unwrap().failed, 1);
    let mut by_meaning = SearchQuery::new("a heron at the estuary, late").unwrap();
    by_meaning.options.strategies = vec![trefoil::SearchStrategy::SEMANTIC];
    by_meaning.filters.min_relevance = Score::ZERO;
    let found = engine.search(&by_meaning).unwrap();
    assert_eq!(found.results[0].metadata.as_ref().unwrap().path, "late");
    assert!(finds(&engine, "poison", "bad"), "by its words it is found");
}

#[test]
fn a_summariser_that_panics_holds_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let switches = Switches::default();
    switches.summarizer.set(2);
    let engine = Engine::open_with(folder.path().join("index"), switches.config()).unwrap();
    engine.ingest(&documents()).unwrap();
    let error = engine.wait_until_indexed().unwrap_err();
    assert!(matches!(error, Error::Panicked { .. }), "{error:?}");
    assert!(
        engine
            .stats()
            .unwrap()
            .background
            .iter()
            .any(|one| one.stage == Stage::Retriever(RetrieverId::GRAPH))
    );
    let found = engine.search(&query(QueryType::Global, false)).unwrap();
    assert!(!found.results.is_empty());
    assert!(
        found.degraded.iter().any(|one| one.stage == Stage::Retriever(RetrieverId::GRAPH)),
        "{:?}",
        found.degraded
    );
    // It is asked again when the graph changes.
    switches.summarizer.set(0);
    engine.ingest(&[Document::new("mill", "The Old Mill is home to the Barn Owl.")]).unwrap();
    engine.wait_until_indexed().unwrap();
    assert_eq!(engine.stats().unwrap().background, []);
    assert_ne!(engine.communities().unwrap(), []);
}

#[test]
fn an_extractor_that_fails_is_an_error_of_the_ingest() {
    let folder = tempfile::tempdir().unwrap();
    let switches = Switches::default();
    let engine = Engine::open_with(folder.path().join("index"), switches.config()).unwrap();
    switches.extractor.set(2);
    let error = engine.ingest(&documents()).unwrap_err();
    assert!(matches!(error, Error::Panicked { .. }), "{error:?}");
    assert_eq!(engine.paths().unwrap(), [""; 0]);
    switches.extractor.set(0);
    assert_eq!(engine.ingest(&documents()).unwrap().written, 4);
}

#[test]
fn an_index_that_cannot_be_shown_anew_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    let writer = Engine::open_with(&index, with_trigrams()).unwrap();
    writer.ingest(&documents()).unwrap();
    writer.wait_until_indexed().unwrap();
    let reader = Engine::open_read_only(&index, with_trigrams()).unwrap();
    writer.ingest(&[Document::new("late", "The heron came late.")]).unwrap();
    writer.wait_until_indexed().unwrap();
    fs::write(index.join("documents/graph/MANIFEST"), "damaged").unwrap();
    assert!(finds(&reader, "heron", "late"));
    let found = reader.search(&SearchQuery::new("heron").unwrap()).unwrap();
    assert!(
        found.degraded.iter().any(|one| one.stage == Stage::Retriever(RetrieverId::GRAPH)),
        "{:?}",
        found.degraded
    );
}

/// Waits, where its question says so, until it is told to go on.
#[derive(Debug)]
struct Waiting {
    entered: Mutex<mpsc::Sender<()>>,
    go: Mutex<mpsc::Receiver<()>>,
}

impl QueryClassifier for Waiting {
    fn classify(&self, question: &Question, names: &dyn NameLookup) -> Result<QueryClassification> {
        if question.text == "wait" {
            self.entered.lock().unwrap().send(()).unwrap();
            self.go.lock().unwrap().recv().unwrap();
        }
        RuleClassifier.classify(question, names)
    }
}

#[test]
fn a_reader_that_lags_waits_for_no_other_search() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    drop(Engine::open_with(&index, crate::models::without_model()).map(|engine| {
        engine.ingest(&documents()).unwrap();
    }));
    let (entered, has_entered) = mpsc::channel();
    let (go, wait) = mpsc::channel();
    let classifier = Waiting { entered: Mutex::new(entered), go: Mutex::new(wait) };
    // Nothing is embedded: this reader lags for as long as it lives.
    let config = EngineConfig { classifier: Arc::new(classifier), ..with_trigrams() };
    let reader = Engine::open_read_only(&index, config).unwrap();
    let lags = reader.search(&SearchQuery::new("owl").unwrap()).unwrap().degraded;
    assert!(
        lags.iter().any(|one| one.stage == Stage::Retriever(RetrieverId::SEMANTIC)),
        "{lags:?}"
    );
    let (done, is_done) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| reader.search(&SearchQuery::new("wait").unwrap()).unwrap());
        has_entered.recv().unwrap();
        scope.spawn(|| {
            let until = Instant::now() + Duration::from_millis(1_200);
            let mut asked = 0;
            while Instant::now() < until {
                reader.search(&SearchQuery::new("owl").unwrap()).unwrap();
                asked += 1;
            }
            done.send(asked).unwrap();
        });
        let asked = is_done.recv_timeout(Duration::from_mins(2));
        go.send(()).unwrap();
        assert!(asked.is_ok_and(|asked| asked > 0), "a search waited for another");
    });
}

/// Stops after so many passages, once; then reads all.
#[derive(Debug)]
struct Hurried {
    left: AtomicUsize,
    is_first: AtomicBool,
}

impl Reranker for Hurried {
    fn model(&self) -> &'static str {
        "hurried"
    }

    fn reads(&self, _: &str) -> bool {
        true
    }

    fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<Score>> {
        let score = |text: &&str| Score::clamped(text.len() as f32 % 7.0 / 7.0);
        Ok(passages.iter().map(score).collect())
    }

    fn score_until(&self, q: &str, passages: &[&str], until: &Deadline) -> Result<Vec<Score>> {
        let scores = self.score(q, passages)?;
        if until.left().is_none() || !self.is_first.load(Ordering::Relaxed) {
            return Ok(scores);
        }
        let read = self.left.load(Ordering::Relaxed).min(scores.len());
        self.left.fetch_sub(read, Ordering::Relaxed);
        Ok(scores[..read].to_vec())
    }
}

#[test]
fn pages_of_a_budgeted_reranking_show_each_result_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = |n: usize| format!("A walrus {} by the sea.", "rests ".repeat(n % 9 + 1));
    let documents: Vec<Document> =
        (0..30).map(|n| Document::new(format!("{n:02}"), text(n))).collect();
    for read in [0, 1, 4, 16, 29] {
        let reranker = Arc::new(Hurried { left: read.into(), is_first: true.into() });
        let mut config = EngineConfig {
            rerankers: Rerankers::Custom(vec![Arc::clone(&reranker) as _]),
            rerank_budget: Some(Duration::from_hours(1)),
            ..crate::models::without_model()
        };
        config.rerank.enabled = true;
        let engine = Engine::open_with(folder.path().join("index"), config).unwrap();
        engine.ingest(&documents).unwrap();
        let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
        let walrus = SearchQuery::new("walrus").unwrap().replace_filters(filters);
        let mut query = walrus.thorough(true).limit(4);
        let (mut shown, mut scores) = (Vec::new(), Vec::new());
        loop {
            let page = engine.search(&query).unwrap();
            // From now on there is time enough, as in a process that is warm.
            reranker.is_first.store(false, Ordering::Relaxed);
            assert_eq!(page.has_more, page.next_cursor.is_some());
            scores.extend(page.results.iter().map(|one| one.score));
            shown.extend(page.results.into_iter().map(|one| one.id));
            let Some(next) = page.next_cursor else { break };
            query.options.cursor = Some(next);
        }
        assert!(scores.is_sorted_by(|a, b| a >= b), "{read}: {scores:?}");
        let all = shown.len();
        shown.sort();
        shown.dedup();
        assert_eq!((shown.len(), all), (30, 30), "{read}");
    }
}

#[test]
fn pages_of_repairs_that_were_cut_off_show_each_result_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = |n: usize| match n % 3 {
        0 => format!("A walrus {} by the sea with a clam.", "rests ".repeat(n % 9 + 1)),
        1 => format!("The clam {} on the reef, the tide is low.", "opens ".repeat(n % 7 + 1)),
        _ => format!("A seal {} with the tide.", "sleeps ".repeat(n % 5 + 1)),
    };
    let documents: Vec<Document> =
        (0..60).map(|n| Document::new(format!("{n:02}"), text(n))).collect();
    let mut tried = 0;
    for read in [0, 1, 5, 20, 24, 30, 41, 200] {
        let reranker = Arc::new(Hurried { left: 0.into(), is_first: true.into() });
        let mut config = EngineConfig {
            rerankers: Rerankers::Custom(vec![Arc::clone(&reranker) as _]),
            rerank_budget: Some(Duration::from_hours(1)),
            ..crate::models::without_model()
        };
        config.rerank.enabled = true;
        config.rerank.top_k = 20;
        config.crag.incorrect = trefoil::crag::IncorrectPolicy::Annotate;
        let (correct, certain) = (Score::ONE, Score::ONE);
        config.grade = Some(GradeThresholds { correct, certain, ..GradeThresholds::default() });
        let engine = Engine::open_with(folder.path().join("index"), config).unwrap();
        engine.ingest(&documents).unwrap();
        let hurry = || {
            reranker.left.store(read, Ordering::Relaxed);
            reranker.is_first.store(true, Ordering::Relaxed);
        };
        let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
        let options =
            SearchOptions { crag_enabled: true, thorough: true, ..SearchOptions::default() };
        let asked = SearchQuery::new("walrsu clam")
            .unwrap()
            .replace_filters(filters)
            .replace_options(options);
        let mut walk = |limit| {
            let mut query = asked.clone().limit(limit);
            let (mut shown, mut repairs) = (Vec::new(), None);
            hurry();
            loop {
                let page = engine.search(&query).unwrap();
                // From now on there is time enough, as in a process that is warm.
                reranker.is_first.store(false, Ordering::Relaxed);
                shown.extend(page.results.into_iter().map(|one| (one.id, one.score)));
                let report = page.crag.unwrap();
                let first = repairs.get_or_insert_with(|| report.repairs.clone());
                assert_eq!(&report.repairs, first, "{read}");
                let Some(next) = page.next_cursor else { break };
                query.options.cursor = Some(next.to_string().parse().unwrap());
            }
            tried += repairs.unwrap().iter().filter(|one| one.found > 0).count();
            assert!(shown.is_sorted_by(|a, b| a.1 >= b.1), "{read}: {shown:?}");
            let ids: std::collections::BTreeSet<&String> = shown.iter().map(|(id, _)| id).collect();
            assert_eq!(ids.len(), shown.len(), "{read}: {shown:?}");
            shown
        };
        // However long the pages are (of one depth), put together they are the list that the first was cut of.
        let shown = walk(4);
        assert_eq!(walk(6), shown, "{read}");
        assert_eq!(walk(1), shown, "{read}");
    }
    assert!(tried > 4, "{tried}: hardly a repair found anything");
}

#[test]
fn pages_of_every_type_of_question_are_those_of_one_large_page() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(folder.path().join("index"), with_trigrams()).unwrap();
    engine.ingest(&documents()).unwrap();
    engine.wait_until_indexed().unwrap();
    for query_type in TYPES {
        let whole = engine.search(&query(query_type, false)).unwrap();
        assert!(!whole.has_more);
        if query_type == QueryType::Global {
            let is_community = |one: &trefoil::SearchResultItem| one.is_community_result();
            assert!(whole.results.iter().any(is_community), "{:?}", whole.results);
        }
        assert!(whole.results.is_sorted_by(|a, b| a.score >= b.score));
        for limit in 1..=whole.results.len() + 1 {
            let mut query = query(query_type, false).limit(limit);
            let mut shown = Vec::new();
            loop {
                let page = engine.search(&query).unwrap();
                assert_eq!(page.has_more, page.next_cursor.is_some(), "{query_type:?} {limit}");
                assert!(!page.has_more || page.results.len() == limit);
                shown.extend(page.results.into_iter().map(|one| one.id));
                let Some(next) = page.next_cursor else { break };
                query.options.cursor = Some(next);
            }
            let ids: Vec<&String> = whole.results.iter().map(|one| &one.id).collect();
            assert_eq!(shown.iter().collect::<Vec<_>>(), ids, "{query_type:?} {limit}");
        }
    }
}

#[test]
fn communities_are_as_relevant_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(folder.path().join("index"), with_trigrams()).unwrap();
    engine.ingest(&documents()).unwrap();
    engine.wait_until_indexed().unwrap();
    let mut asked = query(QueryType::Global, false);
    asked.text = trefoil::search::QueryText::new("tell me of the moon and the sea").unwrap();
    let whole = engine.search(&asked).unwrap();
    let communities = || whole.results.iter().filter(|one| one.is_community_result());
    for one in communities() {
        assert_eq!(one.score, one.relevance.combined);
    }
    let least = communities().map(|one| one.score).min().unwrap();
    assert!(least < Score::ONE);
    let mut strict = asked;
    strict.filters.min_relevance = Score::clamped(least.get() + 0.001);
    let found = engine.search(&strict).unwrap();
    assert!(found.results.iter().all(|one| one.score >= strict.filters.min_relevance));
    let kept = found.results.iter().filter(|one| one.is_community_result()).count();
    assert!(kept < communities().count());
}

#[cfg(unix)]
#[test]
fn every_file_of_an_index_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    fn check(path: &Path) {
        for (path, metadata) in entries(path) {
            let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(metadata.permissions().mode() & 0o777, expected, "{}", path.display());
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let engine = Engine::open_with(path("index"), with_trigrams()).unwrap();
    engine.ingest(&documents()).unwrap();
    engine.wait_until_indexed().unwrap();
    crate::memory::remember(&engine, &trefoil::memory::UnitRow::new("obs_1", 1), "an owl");
    engine.wait_until_indexed().unwrap();
    check(&path("index"));
    Engine::export(path("index"), path("snapshot")).unwrap();
    check(&path("snapshot"));
    engine.forget_document("moon").unwrap();
    drop(engine);
    check(&path("index"));
    Engine::import(path("snapshot"), path("imported")).unwrap();
    drop(Engine::open_with(path("imported"), with_trigrams()).unwrap());
    check(&path("imported"));
    fs::write(path("imported/documents/graph/MANIFEST"), "damaged").unwrap();
    Engine::repair(path("imported"), &with_trigrams()).unwrap();
    drop(Engine::reindex(path("imported"), with_trigrams()).unwrap());
    check(&path("imported"));
}

/// Leaves out the last vector, or the last number of each.
#[derive(Debug)]
struct MisshapenEmbedder {
    embedder: Arc<dyn Embedder>,
    lacks_row: bool,
}

impl Embedder for MisshapenEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        self.embedder.space()
    }

    fn cosine_range(&self) -> (f32, f32) {
        self.embedder.cosine_range()
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        let vectors = self.embedder.embed(role, texts)?;
        let (mut rows, mut columns) = vectors.dim();
        *(if self.lacks_row { &mut rows } else { &mut columns }) -= 1;
        Ok(Array2::from_shape_fn((rows, columns), |place| vectors[place]))
    }
}

#[test]
fn an_embedder_that_returns_another_shape_is_told_and_stops_nothing() {
    for (lacks_row, told) in
        [(true, "0 vectors of 64 numbers for 1 texts of 64"), (false, "1 vectors of 63")]
    {
        let folder = tempfile::tempdir().unwrap();
        let base = with_trigrams();
        let Model::Custom(embedder) = &base.model else { panic!("trigrams are no model") };
        let embedder = MisshapenEmbedder { embedder: Arc::clone(embedder), lacks_row };
        let config = EngineConfig { model: Model::Custom(Arc::new(embedder)), ..base };
        let engine = Engine::open_with(folder.path().join("index"), config).unwrap();
        engine.ingest(&documents()).unwrap();
        // The reports of communities cannot be embedded either.
        let error = engine.wait_until_indexed().unwrap_err();
        assert!(matches!(error, Error::EmbeddingShape { .. }), "{error:?}");
        let jobs = engine.wait_until_indexed().unwrap();
        let chunks = engine.stats().unwrap().store.chunks;
        assert_eq!(jobs.queued + jobs.running + jobs.failed, chunks, "none is embedded");
        let found = engine.search(&query(QueryType::Local, false)).unwrap();
        assert!(!found.results.is_empty(), "found by its words");
        let mut by_meaning = SearchQuery::new("a heron at the estuary").unwrap();
        by_meaning.options.strategies = vec![trefoil::SearchStrategy::SEMANTIC];
        // Nothing was embedded, so that no question has to be.
        assert!(engine.search(&by_meaning).unwrap().results.is_empty());
        let error = engine.memory().embed(Role::Query, "a heron").unwrap_err();
        assert!(matches!(error, Error::EmbeddingShape { .. }), "{error:?}");
        assert!(error.to_string().contains(told), "{error}");
    }
}
