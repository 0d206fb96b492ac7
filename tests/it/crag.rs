//! Evidence that is graded, repaired, refined and, where nothing helps, marked or dropped.

use std::{
    path::Path,
    sync::{Arc, Mutex, OnceLock},
};

use proptest::prelude::{
    Just, Strategy as Generator, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use trefoil::{
    Document, DocumentFormat, Engine, EngineConfig, Error, Language, Profile, Result, RetrieverId,
    Score, SearchFilters, SearchOptions, SearchQuery, SearchResult, SearchStrategy,
    crag::{
        Correction, CragAction, CragBasis, CragRelevance, CragReport, GradeCalibration,
        GradeSeparation, GradeThresholds, IncorrectPolicy, Trust, WebFailure, WebMetadata, WebPage,
        WebSearch,
    },
    index::Role,
    model::{Array2, Embedder, EmbeddingSpace, Pooling, Quantization, Reranker, Rerankers},
    search::{FusionSettings, RetrieverMetric, Stage},
};

use crate::models::{with_model, without_model};

/// Believes a passage by the share of the question's words that it holds, however they
/// end.
#[derive(Debug)]
struct Beginnings;

impl Reranker for Beginnings {
    fn model(&self) -> &'static str {
        "beginnings"
    }

    fn reads(&self, _text: &str) -> bool {
        true
    }

    fn score(&self, question: &str, passages: &[&str]) -> Result<Vec<Score>> {
        let beginning = |word: &str| word.chars().take(4).collect::<String>();
        let asked: Vec<String> = question.split_whitespace().map(beginning).collect();
        let held = |text: &&str| {
            let held = asked.iter().filter(|word| text.contains(word.as_str())).count();
            Score::clamped(held as f32 / asked.len() as f32)
        };
        Ok(passages.iter().map(held).collect())
    }
}

/// Knows the answer when it sees it.
#[derive(Debug)]
struct Oracle {
    reads_japanese: bool,
}

impl Reranker for Oracle {
    fn model(&self) -> &'static str {
        "oracle"
    }

    fn reads(&self, text: &str) -> bool {
        self.reads_japanese || text.is_ascii()
    }

    fn score(&self, _question: &str, passages: &[&str]) -> Result<Vec<Score>> {
        let score = |text: &&str| Score::clamped(if text.contains('答') { 0.95 } else { 0.1 });
        Ok(passages.iter().map(score).collect())
    }
}

/// Puts texts of one language near each other.
#[derive(Debug)]
struct ByLanguage(EmbeddingSpace);

impl ByLanguage {
    fn model() -> trefoil::Model {
        trefoil::Model::Custom(Arc::new(Self(EmbeddingSpace {
            model: "by language".to_owned(),
            sha256: "0".repeat(64),
            dimensions: 2,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            quantization: Quantization::F32,
            max_tokens: 512,
        })))
    }
}

impl Embedder for ByLanguage {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }

    fn cosine_range(&self) -> (f32, f32) {
        (0.0, 1.0)
    }

    fn embed(&self, _role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        let vector = |text: &&str| if text.is_ascii() { [1.0, 0.0] } else { [0.6, 0.8] };
        Ok(texts.iter().map(vector).collect::<Vec<_>>().into())
    }
}

/// Answers from memory, or not at all; remembers what it was asked.
#[derive(Debug, Default)]
struct Web {
    broken: bool,
    asked: Mutex<Vec<String>>,
}

impl WebSearch for Web {
    fn service(&self) -> &'static str {
        "memory"
    }

    fn search(&self, question: &str, _: Language, _limit: usize) -> Result<Vec<WebPage>> {
        self.asked.lock().unwrap().push(question.to_owned());
        if self.broken {
            let failure = WebFailure::Status { code: 503 };
            return Err(Error::WebSearch { service: "memory".to_owned(), failure });
        }
        let metadata = WebMetadata { service: "memory".to_owned(), trust: Trust::Untrusted };
        let page = |n: usize| WebPage {
            url: format!("https://pages.example/{n}"),
            title: String::new(),
            snippet: String::new(),
            metadata: metadata.clone(),
        };
        Ok((0..9).map(page).collect())
    }
}

fn by_words(change: impl FnOnce(&mut EngineConfig)) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let mut config = without_model();
    config.rerank.enabled = true;
    config.rerank_budget = None;
    config.rerankers = Rerankers::Custom(vec![Arc::new(Beginnings)]);
    change(&mut config);
    let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
    (dir, engine)
}

fn ask(engine: &Engine, question: &str) -> SearchResult {
    engine.search(&graded(question)).unwrap()
}

fn graded(question: &str) -> SearchQuery {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    let options = SearchOptions { crag_enabled: true, ..SearchOptions::default() };
    SearchQuery::new(question).unwrap().replace_filters(filters).replace_options(options)
}

fn report(found: &SearchResult) -> &CragReport {
    found.crag.as_ref().unwrap()
}

fn paths(found: &SearchResult) -> Vec<&str> {
    found.results.iter().map(|hit| hit.metadata.as_ref().unwrap().path.as_str()).collect()
}

#[test]
fn correct_evidence_is_kept_as_it_is() {
    let (_dir, engine) = by_words(|_| ());
    engine.ingest(&[Document::new("a", "walrus tusks are long")]).unwrap();
    let found = ask(&engine, "walrus tusks");
    let crag = report(&found);
    assert_eq!(crag.score.relevance, CragRelevance::Correct);
    assert_eq!((crag.basis, &crag.actions[..]), (CragBasis::Rerank, &[CragAction::Keep][..]));
    assert!(crag.repairs.is_empty() && !crag.score.needs_web_search);
    assert!(found.results.iter().all(|hit| hit.content.summary.is_none()));
    let plain = SearchQuery::new("walrus").unwrap();
    assert_eq!(engine.search(&plain).unwrap().crag, None);
}

#[test]
fn sentences_are_picked_out_of_correct_evidence_on_request() {
    let (_dir, engine) = by_words(|config| config.crag.refine_correct = true);
    let text = "All walrus tusks are long. They eat clams. The library opens at nine.";
    engine.ingest(&[Document::new("a", text)]).unwrap();
    let found = ask(&engine, "walrus tusks");
    assert_eq!(report(&found).actions, [CragAction::Keep, CragAction::Refine]);
    assert_eq!(found.results[0].content.summary.as_deref(), Some("All walrus tusks are long."));
}

#[test]
fn a_word_that_the_index_does_not_know_is_taken_for_the_nearest() {
    let (_dir, engine) = by_words(|_| ());
    engine
        .ingest(&[
            Document::new("walrus", "the walruses dive for clams"),
            Document::new("library", "the library lends walnuts"),
            Document::new("ごみ", "ごみは朝に出す"),
        ])
        .unwrap();
    for (question, path) in [("walrsu clmas", "walrus"), ("ゴミ", "ごみ")] {
        let found = ask(&engine, question);
        let crag = report(&found);
        assert_eq!(paths(&found).first(), Some(&path), "{question}: {crag:?}");
        let loose = crag.repairs.iter().find(|one| one.repair == Correction::Fuzzy);
        assert!(loose.is_some_and(|one| one.kept && one.found > 0), "{question}: {crag:?}");
        assert_eq!(crag.actions[0], CragAction::Expand);
    }
}

#[test]
fn what_the_good_passages_say_finds_others() {
    let (_dir, engine) = by_words(|config| config.crag.repairs = vec![Correction::Feedback]);
    let mut documents: Vec<Document> = (0..20)
        .map(|n| Document::new(format!("other{n}"), format!("page {n} of the road atlas")))
        .collect();
    documents.push(Document::new("named", "the automobile burns petrol in its motor"));
    documents.push(Document::new("other words", "petrol for the motor: fuels refined from oil"));
    engine.ingest(&documents).unwrap();
    let found = ask(&engine, "automobile fuelling");
    let crag = report(&found);
    assert_eq!(crag.repairs[0].found, 1, "{crag:?}");
    assert!(crag.repairs[0].kept);
    assert_eq!(crag.score.refined_query.as_ref().map(|text| text.contains("petrol")), Some(true));
}

#[test]
fn an_answer_in_another_language_is_looked_for_and_read_by_one_who_can() {
    for (rerankers, found_by) in [
        (vec![false, true], true),
        (vec![true], true),
        // Nobody reads it: the first list keeps its scores.
        (vec![false], false),
    ] {
        let rerankers = rerankers
            .into_iter()
            .map(|reads_japanese| Arc::new(Oracle { reads_japanese }) as Arc<dyn Reranker>);
        let (_dir, engine) = by_words(|config| {
            config.model = ByLanguage::model();
            config.rerankers = Rerankers::Custom(rerankers.collect());
            config.crag.repairs = vec![Correction::Languages];
        });
        let english = (0..80).map(|n| Document::new(format!("en{n}"), format!("walrus {n}")));
        let documents: Vec<Document> =
            english.chain([Document::new("ja", "これが答えです")]).collect();
        engine.ingest(&documents).unwrap();
        engine.wait_until_indexed().unwrap();
        let found = ask(&engine, "walrus");
        let crag = report(&found);
        assert_eq!(crag.repairs[0].found, 1, "{crag:?}");
        assert_eq!(paths(&found).first() == Some(&"ja"), found_by, "{crag:?}");
        assert_eq!(crag.score.relevance == CragRelevance::Correct, found_by);
    }
}

#[test]
fn what_stands_beside_a_judged_passage_is_read_too() {
    let (_dir, engine) = by_words(|config| {
        config.rerankers = Rerankers::Custom(vec![Arc::new(Oracle { reads_japanese: true })]);
        config.crag.repairs = vec![Correction::Neighbours];
    });
    let text = "# One\n\nThe walrus dives.\n\n# Two\n\nここに答えがある。\n";
    let document = Document { format: DocumentFormat::Markdown, ..Document::new("a", text) };
    engine.ingest(&[document]).unwrap();
    let found = ask(&engine, "walrus");
    assert_eq!(report(&found).repairs[0].found, 1);
    assert!(found.results[0].content.text.contains('答'), "{:?}", report(&found));
}

#[test]
fn what_does_not_answer_is_marked_or_dropped() {
    for (policy, left) in [(IncorrectPolicy::Annotate, 2), (IncorrectPolicy::Drop, 0)] {
        let (_dir, engine) = by_words(|config| config.crag.incorrect = policy);
        engine
            .ingest(&[Document::new("a", "one walrus dives"), Document::new("b", "a walrus")])
            .unwrap();
        let found = ask(&engine, "walrus opening hours in winter at night");
        let crag = report(&found);
        assert_eq!(crag.score.relevance, CragRelevance::Incorrect, "{crag:?}");
        assert!(crag.score.needs_web_search);
        assert_eq!(found.results.len(), left);
        assert_eq!(crag.actions.contains(&CragAction::Discard), left == 0);
        let grades = found.results.iter().map(|hit| hit.relevance.crag.as_ref().unwrap());
        assert!(grades.into_iter().all(|one| one.relevance == CragRelevance::Incorrect));
    }
}

#[test]
fn ambiguous_evidence_loses_what_is_weak() {
    let (_dir, engine) = by_words(|_| ());
    engine
        .ingest(&[
            Document::new("half", "the walrus has tusks. It sleeps."),
            Document::new("weak", "a walrus in spring"),
        ])
        .unwrap();
    let found = ask(&engine, "walrus tusks winter night");
    let crag = report(&found);
    assert_eq!(crag.score.relevance, CragRelevance::Ambiguous, "{crag:?}");
    assert_eq!(paths(&found), ["half"]);
    assert_eq!(crag.actions, [CragAction::Discard, CragAction::Refine]);
    assert_eq!(found.results[0].content.summary.as_deref(), Some("the walrus has tusks."));
}

#[test]
fn what_was_not_read_is_not_dropped_for_it() {
    for (top_k, left) in [(1, &["half", "weak"][..]), (2, &["half"])] {
        let (_dir, engine) = by_words(|config| config.rerank.top_k = top_k);
        engine
            .ingest(&[
                Document::new("half", "the walrus has tusks"),
                Document::new("weak", "a walrus in spring"),
            ])
            .unwrap();
        let found = ask(&engine, "walrus tusks winter night");
        let crag = report(&found);
        assert_eq!(crag.score.relevance, CragRelevance::Ambiguous, "{crag:?}");
        assert_eq!(paths(&found), left);
        assert_eq!(crag.actions.contains(&CragAction::Discard), left.len() == 1);
    }
}

#[test]
fn the_web_is_asked_the_question_itself_when_too_little_is_left() {
    let web = Arc::new(Web::default());
    let (_dir, engine) = by_words(|config| {
        config.web = Some(Arc::clone(&web) as Arc<dyn WebSearch>);
        config.crag.web_pages = 2;
    });
    engine.ingest(&[Document::new("a", "a walrus of secret weight")]).unwrap();
    let found = ask(&engine, "walrus opening hours in winter");
    let crag = report(&found);
    assert_eq!(crag.actions.last(), Some(&CragAction::WebSearch), "{crag:?}");
    assert_eq!(crag.web.len(), 2);
    assert!(crag.web.iter().all(|page| page.metadata.trust == Trust::Untrusted));
    assert_eq!(*web.asked.lock().unwrap(), ["walrus opening hours in winter"]);
    let correct = ask(&engine, "walrus");
    assert!(report(&correct).web.is_empty());
    assert_eq!(web.asked.lock().unwrap().len(), 1);
}

#[test]
fn a_web_search_that_fails_is_reported_and_fails_nothing() {
    let (_dir, engine) = by_words(|config| {
        config.web = Some(Arc::new(Web { broken: true, ..Web::default() }));
    });
    engine.ingest(&[Document::new("a", "a walrus")]).unwrap();
    let found = ask(&engine, "walrus opening hours in winter");
    assert_eq!(paths(&found), ["a"]);
    let said: Vec<_> = found.degraded.iter().filter(|one| one.stage == Stage::Web).collect();
    assert!(said.len() == 1 && said[0].reason.contains("503"), "{said:?}");
}

#[test]
fn nothing_found_is_incorrect() {
    let (_dir, engine) = by_words(|_| ());
    let found = ask(&engine, "zebra");
    let crag = report(&found);
    assert_eq!(crag.score.relevance, CragRelevance::Incorrect);
    assert_eq!(crag.score.confidence, Score::ZERO);
}

#[test]
fn a_dropped_passage_is_accounted_for_and_a_repaired_one_explained() {
    let lost_at = |policy, question: &str, path: &str| {
        let (_dir, engine) = by_words(|config| config.crag.incorrect = policy);
        engine.ingest(&[Document::new("a", "a walrus"), Document::new("b", "the herons")]).unwrap();
        let chunk = engine.document_chunks(path).unwrap()[0].id.clone();
        let mut query = graded(question);
        query.options.explain = true;
        let why_not = engine.why_not(&query, &chunk).unwrap();
        (why_not.lost_at, engine.search(&query).unwrap().results.pop())
    };
    let (drop, annotate) = (IncorrectPolicy::Drop, IncorrectPolicy::Annotate);
    let walrus = "walrus opening hours in winter";
    assert_eq!(lost_at(drop, walrus, "a").0, Some(Stage::Grade));
    assert_eq!(lost_at(drop, walrus, "b").0, Some(Stage::Fuse));
    assert_eq!(lost_at(drop, "heorns", "b").0, Some(Stage::Grade));
    let (lost, hit) = lost_at(annotate, "heorns", "b");
    assert_eq!(lost, None);
    let explanation = hit.unwrap().explanation.unwrap();
    let stages: Vec<Stage> = explanation.stages.iter().map(|place| place.stage).collect();
    assert_eq!(stages, [Stage::Fuse, Stage::Rerank, Stage::Grade, Stage::Present]);
}

/// One index for the properties: 90 passages of words that share beginnings.
fn many() -> &'static Engine {
    static ENGINE: OnceLock<(tempfile::TempDir, Engine)> = OnceLock::new();
    let (_, engine) = ENGINE.get_or_init(|| {
        let (dir, engine) = by_words(|config| config.crag.candidates = 5);
        let words = ["walrus", "walruses", "herons", "heron", "tusked", "library", "libraries"];
        let japanese = ["ごみ", "ゴミ", "データ", "分別", "天気"];
        let document = |n: usize| {
            let word = |at: usize| match n % 3 {
                0 => japanese[(n * 7 + at * 5) % japanese.len()],
                _ => words[(n * 5 + at * 3) % words.len()],
            };
            let text: Vec<&str> = (0..2 + n % 5).map(word).collect();
            let tag = if n.is_multiple_of(2) { "even" } else { "odd" };
            let document = Document::new(format!("d{}/{n}", n % 4), text.join(" "));
            Document { tags: vec![tag.to_owned()], ..document }
        };
        let documents: Vec<Document> = (0..90).map(document).collect();
        engine.ingest(&documents).unwrap();
        (dir, engine)
    });
    engine
}

fn any_question() -> impl Generator<Value = String> {
    let word = prop_oneof![
        Just("walrus"),
        Just("wlarus"),
        Just("herons"),
        Just("heorn"),
        Just("librari"),
        Just("tusks"),
        Just("ゴミ"),
        Just("ごみ"),
        Just("天気"),
        Just("zebra"),
        Just("hours"),
        Just("winter"),
    ];
    proptest::collection::vec(word, 1..6).prop_map(|words| words.join(" "))
}

/// What a caller sees, but for how long it took.
fn timeless(mut found: SearchResult) -> String {
    found.processing_time = 0.0;
    found.stages.clear();
    for id in RetrieverId::DEFAULT_SET {
        let metric = RetrieverMetric { processing_time: 0.0, ..found.strategies.get(id) };
        found.strategies.insert(id, metric);
    }
    serde_json::to_string(&found).unwrap()
}

proptest! {
    #[test]
    fn a_graded_search_keeps_every_rule_of_a_search(
        question in any_question(),
        folder in proptest::option::of(0_usize..4),
        tag in proptest::option::of(prop_oneof![Just("even"), Just("odd")]),
        japanese in proptest::bool::ANY,
        limit in 1_usize..30,
        offset in 0_usize..10,
    ) {
        let mut query = graded(&question);
        query.filters.path_glob = folder.map(|folder| format!("d{folder}/*"));
        query.filters.tags = tag.map(str::to_owned).into_iter().collect();
        query.filters.languages = if japanese { vec![Language::Ja] } else { Vec::new() };
        (query.options.limit, query.options.offset) = (limit, offset);
        let found = many().search(&query).unwrap();

        let scores: Vec<Score> = found.results.iter().map(|hit| hit.score).collect();
        prop_assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        let mut ids: Vec<&str> = found.results.iter().map(|hit| hit.id.as_str()).collect();
        ids.sort_unstable();
        prop_assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        for hit in found.results.iter().filter(|hit| hit.is_chunk_result()) {
            let metadata = hit.metadata.as_ref().unwrap();
            let inside = folder.is_none_or(|folder| metadata.path.starts_with(&format!("d{folder}/")));
            prop_assert!(inside && tag.is_none_or(|tag| metadata.tags == [tag]));
            prop_assert!(!japanese || metadata.language == Language::Ja);
            prop_assert!(hit.relevance.crag.is_some());
        }
        prop_assert!(found.total_count >= found.results.len());

        let crag = report(&found);
        let tried: Vec<Correction> = crag.repairs.iter().map(|one| one.repair).collect();
        let planned = EngineConfig::default().crag.repairs;
        prop_assert_eq!(&tried[..], &planned[..tried.len()]);
        prop_assert!(crag.repairs.iter().all(|one| one.found <= 5));
        let correct = crag.score.relevance == CragRelevance::Correct;
        prop_assert!(correct || tried.len() == planned.len());
        prop_assert_eq!(crag.score.needs_web_search, !correct);
        prop_assert_eq!(timeless(found), timeless(many().search(&query).unwrap()));
    }
}

/// The three corpora of the fixtures with the real models.
fn fixtures() -> &'static Engine {
    static ENGINE: OnceLock<(tempfile::TempDir, Engine)> = OnceLock::new();
    let (_, engine) = ENGINE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut config = with_model();
        config.rerank.top_k = 10;
        config.crag.candidates = 4;
        let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/corpus");
        engine.ingest_path(corpus.canonicalize().unwrap()).unwrap();
        engine.wait_until_indexed().unwrap();
        (dir, engine)
    });
    engine
}

/// A question about the passages of one language, by the retrievers named.
fn about(question: &str, language: Language, retriever: SearchStrategy) -> SearchQuery {
    let mut query = graded(question);
    query.filters.languages = vec![language];
    query.options.strategies = vec![retriever];
    query
}

#[test]
fn a_poor_first_list_is_repaired_by_words_written_nearly_alike() {
    for (question, language, answer) in
        [("hegdehogs", Language::En, "hedgehogs.md"), ("ゴミ", Language::Ja, "gomi-bunbetsu.md")]
    {
        let mut query = about(question, language, SearchStrategy::KEYWORD);
        let holds = |found: &SearchResult| paths(found).iter().any(|path| path.ends_with(answer));
        query.options.crag_enabled = false;
        assert!(!holds(&fixtures().search(&query).unwrap()), "{question}");
        query.options.crag_enabled = true;
        let found = fixtures().search(&query).unwrap();
        assert!(paths(&found)[0].ends_with(answer), "{question}: {:?}", report(&found));
        assert_eq!(report(&found).actions[0], CragAction::Expand);
    }
}

#[test]
fn what_no_passage_answers_is_incorrect_in_every_language() {
    for (question, language) in [
        ("What is the boiling point of tungsten?", Language::En),
        ("月の裏側に最初に着陸した探査機は?", Language::Ja),
        ("블랙홀의 사건의 지평선은 어떻게 계산하나?", Language::Ko),
    ] {
        let found = fixtures().search(&about(question, language, SearchStrategy::Hybrid)).unwrap();
        let crag = report(&found);
        assert_eq!(crag.score.relevance, CragRelevance::Incorrect, "{question}: {crag:?}");
        assert_eq!(crag.basis, CragBasis::Rerank);
        // Annotated, not dropped.
        assert!(!found.results.is_empty() && crag.score.needs_web_search);
    }
}

#[test]
fn grades_begin_where_the_profile_says_for_the_reranker_that_read() {
    use CragRelevance::{Ambiguous, Correct, Incorrect};
    let thresholds = |incorrect: f32, keep: f32, correct: f32| GradeThresholds {
        incorrect: Score::clamped(incorrect),
        keep: Score::clamped(keep),
        correct: Score::clamped(correct),
        certain: Score::clamped(correct),
    };
    let calibrated = |reranker: &str, thresholds| GradeCalibration {
        reranker: reranker.to_owned(),
        thresholds,
        measured: GradeSeparation::default(),
    };
    let folder = tempfile::tempdir().unwrap();
    let grades = |explicit: Option<GradeThresholds>, grades: Vec<GradeCalibration>| {
        // As a person would have it: written by the one and read by the other.
        let file = folder.path().join("profile.toml");
        let profile = Profile { grades, ..Profile::new(FusionSettings::default()) };
        profile.write(&file, "").unwrap();
        let (_dir, engine) = by_words(|config| {
            config.grade = explicit;
            config.profile = Some(Profile::read(&file).unwrap());
            config.crag.repairs.clear();
        });
        // One of two words of the question: `Beginnings` gives it .5.
        engine.ingest(&[Document::new("a", "walruses sleep on the ice")]).unwrap();
        report(&ask(&engine, "walrus tusks")).score.relevance
    };
    let [low, high] = [thresholds(0.1, 0.1, 0.4), thresholds(0.6, 0.6, 0.8)];
    assert_eq!(grades(None, vec![]), Ambiguous);
    assert_eq!(grades(None, vec![calibrated("beginnings", low)]), Correct);
    assert_eq!(grades(None, vec![calibrated("beginnings", high)]), Incorrect);
    let both = vec![calibrated("another", low), calibrated("beginnings", high)];
    assert_eq!(grades(None, both.clone()), Incorrect);
    assert_eq!(grades(None, both[..1].to_vec()), Ambiguous, "another reranker's are not its own");
    assert_eq!(grades(Some(low), both), Correct, "what the configuration says holds");
    let wrong = calibrated("beginnings", thresholds(0.9, 0.1, 0.4));
    let profile = Profile { grades: vec![wrong], ..Profile::new(FusionSettings::default()) };
    assert!(matches!(profile.check(), Err(Error::InvalidConfig { .. })));
}
