//! The first passages read together with the question.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use trefoil::{
    Document, Engine, EngineConfig, Error, Result, Score, SearchFilters, SearchOptions,
    SearchQuery, SearchResult, SearchStrategy,
    crag::CragRelevance,
    index::RowId,
    ingest::ChunkId,
    model::{ModelHome, ModelStatus, Reranker, Rerankers},
    search::{Stage, blend, lift_named},
};

use crate::models::{with_model, without_model};

/// Believes English passages as much as a function says.
#[derive(Debug)]
struct Believes(fn(&str) -> f32);

impl Reranker for Believes {
    fn model(&self) -> &'static str {
        "a function"
    }

    fn reads(&self, text: &str) -> bool {
        text.is_ascii()
    }

    fn score(&self, _question: &str, passages: &[&str]) -> Result<Vec<Score>> {
        Ok(passages.iter().map(|text| Score::clamped(self.0(text))).collect())
    }
}

fn shortest_first() -> Arc<dyn Reranker> {
    Arc::new(Believes(|text| 1.0 / text.len() as f32))
}

/// Fails at the first passage.
#[derive(Debug)]
struct Broken;

impl Reranker for Broken {
    fn model(&self) -> &'static str {
        "broken"
    }

    fn reads(&self, _text: &str) -> bool {
        true
    }

    fn score(&self, _question: &str, _passages: &[&str]) -> Result<Vec<Score>> {
        Err(Error::RerankFailed {
            model: "broken".to_owned(),
            bytes: 0,
            reason: "it is broken".to_owned(),
        })
    }
}

fn search(engine: &Engine, question: &str) -> SearchResult {
    let query = SearchQuery::new(question).unwrap();
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    engine.search(&query.replace_filters(filters)).unwrap()
}

/// What is said about reranking: without a model, there is more to say.
fn said(found: &SearchResult) -> Vec<&str> {
    let about = |degraded: &&trefoil::Degraded| degraded.stage == Stage::Rerank;
    found.degraded.iter().filter(about).map(|degraded| degraded.reason.as_str()).collect()
}

fn paths(found: &SearchResult) -> Vec<&str> {
    found.results.iter().map(|hit| hit.metadata.as_ref().unwrap().path.as_str()).collect()
}

fn engine(
    reranker: Arc<dyn Reranker>,
    change: impl FnOnce(&mut EngineConfig),
) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let mut config = without_model();
    config.rerank.enabled = true;
    config.rerank_budget = None;
    config.rerankers = Rerankers::Custom(vec![reranker]);
    change(&mut config);
    let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
    let documents = [
        Document::new("long", "walrus walrus walrus tusks and whiskers and flippers too"),
        Document::new("short", "a walrus"),
        Document::new("middle", "the walrus dives for clams"),
    ];
    engine.ingest(&documents).unwrap();
    (dir, engine)
}

/// Everything about the results that a caller sees, in order.
#[track_caller]
fn check_scores(found: &SearchResult) {
    let scores: Vec<Score> = found.results.iter().map(|hit| hit.score).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

#[test]
fn the_rerankers_score_is_shown_and_blended_in() {
    let (_dir, plain) = engine(shortest_first(), |config| config.rerank.enabled = false);
    let (_dir, reranked) = engine(shortest_first(), |_| ());
    let (before, after) = (search(&plain, "walrus"), search(&reranked, "walrus"));
    assert!(said(&after).is_empty());
    check_scores(&after);
    assert!(before.results.iter().all(|hit| hit.relevance.rerank.is_none()));
    assert!(after.results.iter().all(|hit| hit.relevance.rerank.is_some()));
    let place = |found: &SearchResult| paths(found).iter().position(|&path| path == "long");
    assert!(place(&after) >= place(&before));
}

#[test]
fn what_is_not_read_keeps_the_order_of_fusion_below_what_is() {
    let (_dir, plain) = engine(shortest_first(), |config| config.rerank.enabled = false);
    let (_dir, reranked) = engine(shortest_first(), |config| config.rerank.top_k = 1);
    let (before, after) = (search(&plain, "walrus"), search(&reranked, "walrus"));
    check_scores(&after);
    assert_eq!(paths(&before), paths(&after));
    let read: Vec<bool> = after.results.iter().map(|hit| hit.relevance.rerank.is_some()).collect();
    assert_eq!(read, [true, false, false]);
}

#[test]
fn a_broken_reranker_leaves_the_order_of_fusion_and_says_so() {
    let (_dir, plain) = engine(Arc::new(Broken), |config| config.rerank.enabled = false);
    let (_dir, broken) = engine(Arc::new(Broken), |_| ());
    let found = search(&broken, "walrus");
    assert_eq!(paths(&found), paths(&search(&plain, "walrus")));
    let said = said(&found);
    assert!(said.len() == 1 && said[0].contains("it is broken"), "{said:?}");
}

#[test]
fn reading_stops_at_its_budget_and_says_so() {
    let (_dir, engine) = engine(shortest_first(), |config| {
        config.rerank.batch_size = 1;
        config.rerank_budget = Some(Duration::ZERO);
    });
    let found = search(&engine, "walrus");
    assert_eq!(found.results.len(), 3);
    assert_eq!(said(&found), ["stopped after 0 of 3 passages, at 0 ms"]);
}

/// Counts what it reads, and would read the first three in a hurry.
#[derive(Debug, Default)]
struct FirstThree(AtomicUsize);

impl FirstThree {
    /// How many passages were read since this was last asked.
    fn taken(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Reranker for FirstThree {
    fn model(&self) -> &'static str {
        "first three"
    }

    fn reads(&self, _text: &str) -> bool {
        true
    }

    fn enough(&self, _question: &str, _passages: &[&str], _read: &[Score]) -> usize {
        3
    }

    fn score(&self, _question: &str, passages: &[&str]) -> Result<Vec<Score>> {
        self.0.fetch_add(passages.len(), Ordering::Relaxed);
        Ok(passages.iter().map(|text| Score::clamped(text.len() as f32 % 7.0 / 7.0)).collect())
    }
}

/// Thirty passages, each a result, and a reranker that is asked to read twenty of them at most.
fn in_a_hurry(reranker: &Arc<FirstThree>) -> (tempfile::TempDir, Engine, SearchQuery) {
    let (dir, engine) = engine(Arc::clone(reranker) as _, |config| config.rerank.top_k = 20);
    let text = |n: usize| format!("A walrus {} by the sea.", "rests ".repeat(n % 9 + 1));
    let documents: Vec<Document> =
        (3..30).map(|n| Document::new(format!("{n:02}"), text(n))).collect();
    engine.ingest(&documents).unwrap();
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    let query = SearchQuery::new("walrus").unwrap().replace_filters(filters);
    (dir, engine, query)
}

#[test]
fn a_search_reads_the_first_few_and_a_thorough_one_all_that_it_may() {
    let reranker = Arc::new(FirstThree::default());
    let (_dir, engine, query) = in_a_hurry(&reranker);
    for (query, expected) in [(query.clone(), 3), (query.thorough(true), 20)] {
        let found = engine.search(&query.limit(100)).unwrap();
        assert_eq!(reranker.taken(), expected);
        assert!(said(&found).is_empty(), "{:?}", said(&found));
        check_scores(&found);
        let is_read: Vec<bool> =
            found.results.iter().map(|hit| hit.relevance.rerank.is_some()).collect();
        assert_eq!(is_read, (0..30).map(|place| place < expected).collect::<Vec<_>>());
    }
}

#[test]
fn pages_are_cut_from_one_order_however_much_is_read() {
    let reranker = Arc::new(FirstThree::default());
    let (_dir, engine, query) = in_a_hurry(&reranker);
    for (thorough, expected) in [(false, 3), (true, 20)] {
        let query = query.clone().thorough(thorough);
        let ids = |found: SearchResult| -> Vec<String> {
            found.results.into_iter().map(|hit| hit.id).collect()
        };
        let whole = ids(engine.search(&query.clone().limit(100)).unwrap());
        reranker.taken();
        let (mut shown, mut page) = (Vec::new(), query.limit(10));
        loop {
            let found = engine.search(&page).unwrap();
            assert_eq!(reranker.taken(), expected);
            assert!(said(&found).is_empty(), "{:?}", said(&found));
            let next = found.next_cursor.clone();
            shown.extend(ids(found));
            let Some(next) = next else { break };
            // It is bound to the query, also in how much is read.
            let other = page.clone().thorough(!thorough).cursor(next.clone());
            let error = engine.search(&other).unwrap_err();
            assert!(matches!(error, Error::InvalidQuery { field: "options.cursor", .. }));
            page = page.cursor(next);
        }
        assert_eq!(shown, whole);
    }
}

/// Reads three, and three more until one ends with "here.".
#[derive(Debug, Default)]
struct UntilHere(AtomicUsize);

impl Reranker for UntilHere {
    fn model(&self) -> &'static str {
        "until here"
    }

    fn reads(&self, _text: &str) -> bool {
        true
    }

    fn enough(&self, _question: &str, _passages: &[&str], read: &[Score]) -> usize {
        if read.contains(&Score::ONE) { read.len() } else { read.len() + 3 }
    }

    fn score(&self, _question: &str, passages: &[&str]) -> Result<Vec<Score>> {
        self.0.fetch_add(passages.len(), Ordering::Relaxed);
        let score =
            |text: &&str| if text.ends_with("here.") { Score::ONE } else { Score::clamped(0.2) };
        Ok(passages.iter().map(score).collect())
    }
}

#[test]
fn more_is_read_until_it_is_enough() {
    let reranker = Arc::new(UntilHere::default());
    let (_dir, engine) = engine(Arc::clone(&reranker) as _, |config| config.rerank.top_k = 20);
    // One more word before "walrus" makes a passage a little worse.
    let text = |n: usize| {
        let place = if n == 7 { "here" } else { "far" };
        format!("A {}walrus rests {place}.", "very ".repeat(n))
    };
    let documents: Vec<Document> =
        (1..=12).map(|n| Document::new(format!("{n:02}"), text(n))).collect();
    for path in ["long", "short", "middle"] {
        engine.remove(path).unwrap();
    }
    engine.ingest(&documents).unwrap();
    reranker.0.store(0, Ordering::Relaxed);
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    let query = SearchQuery::new("walrus").unwrap().replace_filters(filters);
    let whole = engine.search(&query.clone().limit(100)).unwrap();
    let read = reranker.0.swap(0, Ordering::Relaxed);
    assert!(read > 3 && read % 3 == 0, "{read}");
    let is_read = |place: usize| whole.results[place].relevance.rerank.is_some();
    assert!((0..12).all(|place| is_read(place) == (place < read)), "{:?}", paths(&whole));
    let answers: Vec<usize> = (0..12)
        .filter(|&place| whole.results[place].relevance.rerank == Some(Score::ONE))
        .collect();
    // It was found, and not before the last three.
    assert_eq!(answers, [0]);
    let combined_of = |place: usize| whole.results[place].relevance.combined;
    let before = (0..12).filter(|&place| combined_of(place) > combined_of(0)).count();
    assert!((read - 3..read).contains(&before), "{before} of {read}");
    // Pages are cut from that list.
    let first = engine.search(&query.clone().limit(5)).unwrap();
    let next = query.limit(5).cursor(first.next_cursor.clone().unwrap());
    let second = engine.search(&next).unwrap();
    let pages = [paths(&first), paths(&second)].concat();
    assert_eq!(pages, paths(&whole)[..10]);
    assert_eq!(reranker.0.load(Ordering::Relaxed), 2 * read);
    assert!(said(&second).is_empty(), "{:?}", said(&second));
}

/// Takes longer for a passage than there is time for all.
#[derive(Debug)]
struct Slow;

const BUDGET: Duration = Duration::from_millis(100);

impl Reranker for Slow {
    fn model(&self) -> &'static str {
        "slow"
    }

    fn reads(&self, _text: &str) -> bool {
        true
    }

    fn score(&self, _question: &str, passages: &[&str]) -> Result<Vec<Score>> {
        std::thread::sleep(BUDGET * u32::try_from(passages.len()).unwrap());
        Ok(vec![Score::ONE; passages.len()])
    }
}

#[test]
fn no_passage_is_begun_after_the_budget_is_spent() {
    let (_dir, engine) = engine(Arc::new(Slow), |config| {
        assert_eq!(config.rerank.batch_size, 16);
        config.rerank_budget = Some(BUDGET);
    });
    let found = search(&engine, "walrus");
    assert_eq!(found.results.len(), 3);
    let read = found.results.iter().filter(|hit| hit.relevance.rerank.is_some()).count();
    assert!(read <= 1, "{read} were read");
    assert_eq!(said(&found), [format!("stopped after {read} of 3 passages, at 100 ms")]);
}

#[test]
fn a_list_in_a_language_that_no_reranker_reads_is_left_as_it_is() {
    let (_dir, engine) = engine(shortest_first(), |_| ());
    engine.ingest(&[Document::new("ja", "セイウチ walrus")]).unwrap();
    let found = search(&engine, "walrus");
    assert!(found.results.iter().all(|hit| hit.relevance.rerank.is_none()));
    assert_eq!(said(&found), ["no reranker reads the languages found"]);
}

#[test]
fn the_cross_encoder_puts_the_answer_above_what_only_shares_its_words() {
    let dir = tempfile::tempdir().unwrap();
    let config = with_model();
    let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
    let documents = [
        Document::new(
            "words",
            "How much water? How much water a lake holds is how much water flows in.",
        ),
        Document::new("answer", "An adult should drink about two litres of fluid every day."),
        Document::new("other", "The library opens at nine."),
    ];
    engine.ingest(&documents).unwrap();
    engine.wait_until_indexed().unwrap();
    let found = search(&engine, "how much water should a person drink daily");
    assert_eq!(found.degraded, []);
    assert_eq!(paths(&found)[0], "answer");
    check_scores(&found);
}

#[test]
fn evidence_is_graded_if_asked() {
    let (_dir, engine) = engine(shortest_first(), |_| ());
    let query = SearchQuery::new("walrus").unwrap();
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    let options = SearchOptions { crag_enabled: true, ..SearchOptions::default() };
    let found = engine.search(&query.replace_filters(filters).replace_options(options)).unwrap();
    // The shortest passage has eight bytes: nothing here is above an eighth.
    let crag = found.crag.unwrap().score;
    assert_eq!(crag.relevance, CragRelevance::Incorrect);
    assert!(crag.needs_web_search && crag.confidence.get() <= 0.125);
    assert!(found.results.iter().all(|hit| hit.relevance.crag.is_some()));
    assert_eq!(search(&engine, "walrus").crag, None);
    assert_eq!(search(&engine, "zebra").results, []);
}

#[test]
fn what_the_best_passage_names_is_lifted() {
    let (_dir, engine) = engine(
        Arc::new(Believes(|text| if text.contains("designed") { 0.99 } else { 0.3 })),
        |_| (),
    );
    let documents = [
        Document::new("light", "The lighthouse was designed by Ada Lovelace.").title("Skerry"),
        Document::new("ada", "Born in London, she studied numbers.").title("Ada Lovelace"),
        Document::new("charles", "Born in London, he studied engines.").title("Charles Babbage"),
    ];
    engine.ingest(&documents).unwrap();
    let question = "Where was who designed the lighthouse born?";
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    let asked = SearchQuery::new(question).unwrap().replace_filters(filters);
    let found = engine.search(&asked).unwrap();
    assert_eq!(paths(&found), ["light", "ada", "charles"]);

    let row = |id: &String| engine.chunk(&ChunkId::new(id).unwrap()).unwrap().unwrap().row;
    let rows: Vec<RowId> = found.results.iter().map(|hit| row(&hit.id)).collect();
    let names = engine.mention_strength(&engine.plan(&asked).unwrap());
    assert!(names(rows[0], rows[1]) > 0.0);
    assert_eq!(names(rows[0], rows[2]), 0.0);
    let combined: Vec<Score> = found.results.iter().map(|hit| hit.relevance.combined).collect();
    let read: Vec<Score> = found.results.iter().map(|hit| hit.relevance.rerank.unwrap()).collect();
    let blended = blend(&combined, &read);
    let lifted = lift_named(blended.clone(), |from, to| names(rows[from], rows[to]));
    let shown: Vec<Score> = found.results.iter().map(|hit| hit.score).collect();
    assert_eq!(shown, lifted.iter().map(|one| one.score).collect::<Vec<_>>());
    assert!(shown[1] > blended[1].score && shown[2] == blended[2].score);

    // Without the graph nobody knows what is named.
    let options =
        SearchOptions { strategies: vec![SearchStrategy::KEYWORD], ..asked.options.clone() };
    let names = engine.mention_strength(&engine.plan(&asked.replace_options(options)).unwrap());
    assert_eq!(names(rows[0], rows[1]), 0.0);
}

#[test]
fn where_a_passage_has_the_word_asked_for_reading_counts_half() {
    let written = "A long page on state ends with one reducer.";
    let alike = "Reducers reduce reducers.";
    let unsure = |text: &str| if text.contains("one reducer") { 0.2 } else { 0.8 };
    let (_dir, engine) = engine(Arc::new(Believes(unsure)), |_| ());
    engine.ingest(&[written, alike].map(|text| Document::new(text, text))).unwrap();
    let asked = SearchQuery::new("reducer").unwrap();
    let found = engine.search(&asked).unwrap();
    assert_eq!(paths(&found), [written, alike]);
    let combined: Vec<Score> = found.results.iter().map(|hit| hit.relevance.combined).collect();
    let read: Vec<Score> = found.results.iter().map(|hit| hit.relevance.rerank.unwrap()).collect();
    assert_eq!(blend(&combined, &read)[0].index, 1, "{combined:?}");
    // What is graded is ordered by what is read.
    assert_eq!(paths(&engine.search(&asked.crag(true)).unwrap())[0], alike);
}

#[test]
fn a_reranker_in_a_folder_reads_as_the_same_one_by_its_name() {
    let named = with_model();
    let home = ModelHome::platform().unwrap();
    let mine = home.list().unwrap().into_iter().find(|one| one.name() == named.rerank.model);
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("mine");
    std::fs::create_dir(&own).unwrap();
    let ModelStatus { path, card, .. } = mine.unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        std::fs::copy(path.join(file), own.join(file)).unwrap();
    }
    let card = format!(
        "name = 'mine'\nrole = 'reranker'\nlicense = '{}'\nlanguages = {:?}\nmax-tokens = {}\n",
        card.license, card.languages, card.max_tokens
    );
    std::fs::write(own.join("card.toml"), card).unwrap();
    let index = folder.path().join("index");
    let scores = |config: EngineConfig| -> Vec<(String, Option<Score>)> {
        let engine = Engine::open_with(&index, config).unwrap();
        let texts =
            ["The tide follows the moon.", "Owls hunt at night.", "The moon pulls the sea."];
        let numbered = (0..).zip(texts).map(|(n, text)| Document::new(format!("{n}"), text));
        engine.ingest(&numbered.collect::<Vec<_>>()).unwrap();
        engine.wait_until_indexed().unwrap();
        let found = search(&engine, "why does the tide rise?");
        assert_eq!(found.degraded, []);
        found.results.into_iter().map(|hit| (hit.id, hit.relevance.rerank)).collect()
    };
    let reads = |config: &EngineConfig| {
        let engine = Engine::open_with(&index, config.clone()).unwrap();
        engine.reranker_of("why?").map(str::to_owned)
    };
    assert_eq!(reads(&named).as_deref(), Some(&*named.rerank.model));
    let by_name = scores(named.clone());
    assert!(by_name.iter().all(|(_, score)| score.is_some()), "{by_name:?}");
    let folder = EngineConfig { rerankers: Rerankers::Folder(own.clone()), ..named };
    assert_eq!(reads(&folder).as_deref(), Some("mine"));
    assert_eq!(scores(folder), by_name);
}
