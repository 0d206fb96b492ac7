//! The engine as its user sees it: what is found, replaced, removed, filtered, reported.

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use trefoil::{
    Document, DocumentFormat, Engine, EngineConfig, Error, Fusion, Language, RetrieverId, Score,
    SearchFilters, SearchOptions, SearchQuery, SearchResult, SearchStrategy, SearchWeights,
    search::{DateRange, RetrieverMetric, SearchResultType, Stage},
};

use crate::models::{with_model, without_model};

fn open(config: EngineConfig) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
    (dir, engine)
}

fn ask(engine: &Engine, text: &str) -> SearchResult {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    engine.search(&SearchQuery::new(text).unwrap().replace_filters(filters)).unwrap()
}

/// Of the passages.
fn paths(result: &SearchResult) -> Vec<&str> {
    let passages = result.results.iter().filter(|hit| hit.is_chunk_result());
    passages.map(|hit| hit.metadata.as_ref().unwrap().path.as_str()).collect()
}

#[test]
fn what_is_ingested_is_found_at_once_in_three_languages() {
    let (_dir, engine) = open(without_model());
    let report = engine
        .ingest(&[
            Document::new("a", "the rain in Spain stays mainly in the plain"),
            Document::new("b", "東京の天気は晴れです"),
            Document::new("c", "서울의 날씨는 맑습니다"),
        ])
        .unwrap();
    assert_eq!((report.written, report.chunks_added), (3, 3));
    for (question, path) in [("rains in Spain", "a"), ("東京", "b"), ("서울 날씨", "c")] {
        assert_eq!(paths(&ask(&engine, question)), [path], "{question}");
    }
}

#[test]
fn a_highlight_covers_what_matched() {
    let (_dir, engine) = open(without_model());
    engine.ingest(&[Document::new("a", "ガラスのコップ。ﾃﾞｰﾀﾍﾞｰｽの設計。")]).unwrap();
    let result = ask(&engine, "データベース");
    let passage = result.results.iter().find(|hit| hit.is_chunk_result()).unwrap();
    let highlight = &passage.highlights[0];
    let marked = &highlight.fragment[highlight.offsets[0].start..highlight.offsets[0].end];
    assert_eq!(marked, "ﾃﾞｰﾀﾍﾞｰｽ");
}

#[test]
fn a_document_replaces_the_one_of_its_path_and_can_be_removed() {
    let (_dir, engine) = open(without_model());
    engine.ingest(&[Document::new("d/a", "walrus"), Document::new("d/b", "walrus")]).unwrap();
    engine.ingest(&[Document::new("d/a", "heron")]).unwrap();
    assert_eq!(paths(&ask(&engine, "walrus")), ["d/b"]);
    assert_eq!(paths(&ask(&engine, "heron")), ["d/a"]);
    let again = engine.ingest(&[Document::new("d/a", "heron")]).unwrap();
    assert_eq!((again.written, again.unchanged), (0, 1));
    assert_eq!(engine.remove("d/").unwrap(), 2);
    assert_eq!(paths(&ask(&engine, "walrus heron")), [] as [&str; 0]);
    assert_eq!(engine.remove("d").unwrap(), 0);
}

#[test]
fn a_folder_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("a.md"), "# Walrus\n\nIt has tusks.\n").unwrap();
    std::fs::write(file("b.txt"), "A heron wades.\n").unwrap();
    let (_dir, engine) = open(without_model());
    let first = engine.ingest_path(folder.path()).unwrap();
    assert_eq!((first.written, first.unchanged, first.removed), (2, 0, 0));
    let second = engine.ingest_path(folder.path()).unwrap();
    assert_eq!((second.written, second.unchanged, second.removed), (0, 2, 0));
    std::fs::remove_file(file("a.md")).unwrap();
    std::fs::write(file("b.txt"), "A stork wades.\n").unwrap();
    let third = engine.ingest_path(folder.path()).unwrap();
    assert_eq!((third.written, third.unchanged, third.removed), (1, 0, 1));
    assert_eq!(ask(&engine, "walrus heron").results.len(), 0);
    assert_eq!(ask(&engine, "stork").results.len(), 1);
}

#[test]
fn filters_hold_on_every_retriever() {
    let (_dir, engine) = open(with_model());
    let document = |path: &str, day: i8, tag: &str, body: &str| {
        let mut document = Document::new(path, body);
        document.tags = vec![tag.to_owned()];
        document.date = Some(jiff(day));
        document
    };
    engine
        .ingest(&[
            document("x/one.md", 1, "red", "the tide turns at noon"),
            document("x/two.md", 2, "blue", "the tide turns at dusk"),
            document("y/three.txt", 3, "red", "潮は正午に変わる tide"),
        ])
        .unwrap();
    engine.wait_until_indexed().unwrap();
    let found = |filters: SearchFilters| {
        let filters = SearchFilters { min_relevance: Score::ZERO, ..filters };
        let query = SearchQuery::new("when does the tide turn?").unwrap().replace_filters(filters);
        let result = engine.search(&query).unwrap();
        assert!(
            result.strategies.get(RetrieverId::SEMANTIC).enabled
                && result.strategies.get(RetrieverId::KEYWORD).enabled
        );
        let mut found: Vec<String> = paths(&result).into_iter().map(str::to_owned).collect();
        found.sort();
        found
    };
    let all = SearchFilters::default;
    assert_eq!(found(all()), ["x/one.md", "x/two.md", "y/three.txt"]);
    assert_eq!(
        found(SearchFilters { tags: vec!["red".into()], ..all() }),
        ["x/one.md", "y/three.txt"]
    );
    assert_eq!(found(SearchFilters { languages: vec![Language::Ja], ..all() }), ["y/three.txt"]);
    assert_eq!(
        found(SearchFilters { path_glob: Some("x/*.md".into()), ..all() }),
        ["x/one.md", "x/two.md"]
    );
    let range = DateRange::new(Some(jiff(2)), None).unwrap();
    assert_eq!(
        found(SearchFilters { date_range: Some(range), ..all() }),
        ["x/two.md", "y/three.txt"]
    );
    let id = engine.search(&SearchQuery::new("dusk").unwrap()).unwrap().results[0]
        .sources
        .file_id
        .clone();
    assert_eq!(found(SearchFilters { file_ids: id.into_iter().collect(), ..all() }), ["x/two.md"]);
    let none = SearchFilters { tags: vec!["green".into()], ..all() };
    assert_eq!(found(none), [] as [&str; 0]);
}

fn jiff(day: i8) -> trefoil::Date {
    trefoil::Date::new(2026, 1, day).unwrap()
}

#[test]
fn without_a_model_the_keyword_retriever_answers_and_the_result_says_so() {
    let (_dir, engine) = open(without_model());
    engine.ingest(&[Document::new("a", "walrus")]).unwrap();
    let result = ask(&engine, "walrus");
    assert_eq!(paths(&result), ["a"]);
    let degraded = &result.degraded[0];
    assert_eq!(degraded.stage, Stage::Retriever(RetrieverId::SEMANTIC));
    assert!(degraded.reason.contains("trefoil models pull"), "{degraded:?}");
    assert!(!result.strategies.get(RetrieverId::SEMANTIC).enabled);
    let semantic =
        SearchOptions { strategies: vec![SearchStrategy::SEMANTIC], ..Default::default() };
    let error =
        engine.search(&SearchQuery::new("walrus").unwrap().replace_options(semantic)).unwrap_err();
    assert!(matches!(error, Error::SearchFailed { .. }), "{error}");
}

#[test]
fn an_index_refuses_another_model_and_reindex_accepts_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    let engine = Engine::open_with(&path, with_model()).unwrap();
    engine.ingest(&[Document::new("a", "walrus")]).unwrap();
    engine.wait_until_indexed().unwrap();
    drop(engine);
    let other = || EngineConfig {
        model: trefoil::Model::Custom(std::sync::Arc::new(
            crate::engine::letters::Letters::default(),
        )),
        ..EngineConfig::default()
    };
    let error = Engine::open_with(&path, other()).unwrap_err();
    assert!(matches!(error, Error::ModelMismatch { .. }), "{error}");
    let engine = Engine::reindex(&path, other()).unwrap();
    engine.wait_until_indexed().unwrap();
    let found = engine
        .search_by_embedding(
            &letters::vector("walrus"),
            SearchFilters::default(),
            SearchOptions::default(),
        )
        .unwrap();
    assert_eq!(paths(&found), ["a"]);
    drop(engine);
    // Back to the first model: its vectors are still cached, nothing is left to embed.
    let engine = Engine::reindex(&path, with_model()).unwrap();
    let jobs = engine.stats().unwrap().store.jobs;
    assert_eq!((jobs.queued, jobs.running), (0, 0));
    assert_eq!(paths(&ask(&engine, "walrus")), ["a"]);
}

#[test]
fn a_vector_of_another_length_is_refused() {
    let (_dir, engine) = open(with_model());
    engine.ingest(&[Document::new("a", "walrus")]).unwrap();
    engine.wait_until_indexed().unwrap();
    let search = |vector: &[f32]| {
        engine.search_by_embedding(vector, SearchFilters::default(), SearchOptions::default())
    };
    assert!(matches!(
        search(&[1.0; 3]).unwrap_err(),
        Error::DimensionMismatch { expected: 384, provided: 3 }
    ));
    assert!(matches!(search(&[0.0; 384]).unwrap_err(), Error::InvalidEmbedding { .. }));
    assert!(matches!(search(&[f32::NAN; 384]).unwrap_err(), Error::InvalidEmbedding { .. }));
}

#[test]
fn one_process_writes_and_others_read_what_it_commits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    assert!(matches!(
        Engine::open_read_only(&path, without_model()).unwrap_err(),
        Error::IndexMissing { .. }
    ));
    let writer = Engine::open_with(&path, without_model()).unwrap();
    assert!(matches!(Engine::open_with(&path, without_model()).unwrap_err(), Error::Locked { .. }));
    writer.ingest(&[Document::new("a", "walrus")]).unwrap();
    let reader = Engine::open_read_only(&path, without_model()).unwrap();
    assert_eq!(paths(&ask(&reader, "walrus")), ["a"]);
    writer.ingest(&[Document::new("b", "walrus")]).unwrap();
    assert_eq!(paths(&ask(&reader, "walrus")).len(), 2);
    assert!(matches!(
        reader.ingest(&[Document::new("c", "x")]).unwrap_err(),
        Error::ReadOnly { .. }
    ));
    assert!(matches!(reader.remove("a").unwrap_err(), Error::ReadOnly { .. }));
}

#[test]
fn context_comes_from_the_neighbouring_chunks() {
    let (_dir, engine) = open(without_model());
    let body = "# One\n\nThe first section speaks of geese.\n\n# Two\n\nThe second speaks of a walrus.\n\n# Three\n\nThe third speaks of gulls.\n";
    engine.ingest(&[Document::new("a.md", body).format(DocumentFormat::Markdown)]).unwrap();
    let result = ask(&engine, "walrus");
    let hit = &result.results[0];
    assert_eq!(hit.metadata.as_ref().unwrap().heading_path, ["Two"]);
    assert_eq!(hit.metadata.as_ref().unwrap().lines.start, 5);
    assert!(hit.content.context_before.as_ref().unwrap().contains("geese"));
    assert!(hit.content.context_after.as_ref().unwrap().contains("gulls"));
}

#[test]
fn a_result_is_the_same_bytes_on_repeat_and_parses_back() {
    let (_dir, engine) = open(with_model());
    engine
        .ingest(&[
            Document::new("a", "the tide turns at noon"),
            Document::new("b", "a turn of phrase"),
            Document::new("c", "noon is when the sun is highest"),
        ])
        .unwrap();
    engine.wait_until_indexed().unwrap();
    let bytes = || {
        let mut result = ask(&engine, "noon tide");
        result.processing_time = 0.0;
        result.stages.iter_mut().for_each(|stage| stage.duration = 0.0);
        let retrievers = &mut result.strategies;
        for id in RetrieverId::DEFAULT_SET {
            retrievers.insert(id, RetrieverMetric { processing_time: 0.0, ..retrievers.get(id) });
        }
        serde_json::to_string(&result).unwrap()
    };
    let first = bytes();
    assert_eq!(bytes(), first);
    let parsed: SearchResult = serde_json::from_str(&first).unwrap();
    assert_eq!(serde_json::to_string(&parsed).unwrap(), first);
}

#[test]
fn every_fuser_answers() {
    for fusion in [Fusion::Adaptive, Fusion::Rrf, Fusion::RelativeScore, Fusion::DistributionBased]
    {
        let (_dir, engine) = open(EngineConfig { fusion: fusion.clone(), ..with_model() });
        engine
            .ingest(&[Document::new("a", "the tide turns"), Document::new("b", "bread and butter")])
            .unwrap();
        engine.wait_until_indexed().unwrap();
        assert_eq!(paths(&ask(&engine, "when does the tide turn"))[0], "a", "{fusion:?}");
    }
}

#[test]
fn who_asks_with_a_word_finds_it_as_it_is_written() {
    for (question, written, alike) in [
        ("reducer", "A long page on state ends with one reducer.", "Reducers reduce reducers."),
        ("리듀서", "상태를 다루는 긴 글의 끝에 리듀서가 있다.", "리듀서함수와 리듀서함수"),
    ] {
        let documents = [written, alike].map(|text| Document::new(text, text));
        let ask = |fusion, strategy| {
            let (_dir, engine) = open(EngineConfig { fusion, ..without_model() });
            engine.ingest(&documents).unwrap();
            let query = SearchQuery::new(question).unwrap().strategy(strategy);
            paths(&engine.search(&query).unwrap())[0].to_owned()
        };
        assert_eq!(ask(Fusion::Adaptive, SearchStrategy::Hybrid), written);
        // Another fusion, and one list alone, is taken as it is.
        assert_eq!(ask(Fusion::Rrf, SearchStrategy::Hybrid), alike);
        assert_eq!(ask(Fusion::Adaptive, SearchStrategy::KEYWORD), alike);
    }
}

#[test]
fn a_page_follows_though_what_has_the_word_is_gone() {
    let (_dir, engine) = open(without_model());
    let texts = ["Reducers reduce reducers.", "Of all pages this long one has one reducer."];
    engine.ingest(&texts.map(|text| Document::new(text, text))).unwrap();
    let query = SearchQuery::new("reducer").unwrap().limit(1);
    let first = engine.search(&query).unwrap();
    assert_eq!(paths(&first), [texts[1]]);
    engine.remove_documents(&[texts[1]]).unwrap();
    let next = query.cursor(first.next_cursor.clone().unwrap());
    assert_eq!(paths(&engine.search(&next).unwrap()), [texts[0]]);
}

#[test]
fn reciprocal_ranks_are_shown_raw_where_asked_and_score_the_same() {
    let found = |normalize_scores| {
        let mut config = EngineConfig { fusion: Fusion::Rrf, ..without_model() };
        config.rrf.normalize_scores = normalize_scores;
        let (_dir, engine) = open(config);
        let documents = ["the walrus dives", "a walrus", "walrus and heron"];
        let documents: Vec<Document> =
            documents.iter().map(|&text| Document::new(text, text)).collect();
        engine.ingest(&documents).unwrap();
        let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
        let mut query = SearchQuery::new("walrus").unwrap().replace_filters(filters);
        query.options.strategies = vec![trefoil::SearchStrategy::KEYWORD];
        engine.search(&query).unwrap().results
    };
    let (raw, normal) = (found(false), found(true));
    assert_eq!(raw.len(), 3);
    for ((raw, normal), rank) in raw.iter().zip(&normal).zip(1_u8..) {
        assert_eq!((&raw.id, raw.score), (&normal.id, normal.score));
        let [combined, scaled] = [raw, normal].map(|one| one.relevance.combined.get());
        // One list: its whole weight, over k + rank.
        assert!((combined - 1.0 / (60.0 + f32::from(rank))).abs() < 1e-6, "{combined} at {rank}");
        assert!((combined * 61.0 - scaled).abs() < 1e-6, "{combined} {scaled}");
    }
}

proptest! {
    #[test]
    fn results_keep_the_promises_of_their_type(
        bodies in proptest::collection::vec("[a-e ]{1,12}|[あ-お。]{1,8}|[가-마 ]{1,8}", 1..12),
        question in "[a-e ]{0,6}[a-e]|[あ-お]{1,4}|[가-마]{1,4}",
        limit in 1_usize..8,
        least in 0.0_f32..0.6,
    ) {
        let (_dir, engine) = shared();
        engine.remove("p").unwrap();
        let documents: Vec<Document> = bodies
            .iter()
            .enumerate()
            .map(|(n, body)| Document::new(format!("p/{n}"), body.as_str()))
            .collect();
        engine.ingest(&documents).unwrap();
        let filters = SearchFilters { min_relevance: Score::clamped(least), ..Default::default() };
        let result = engine.search(&SearchQuery::new(&question)?.limit(limit).replace_filters(filters))?;
        prop_assert!(result.results.len() <= limit);
        prop_assert!(result.results.len() <= result.total_count);
        prop_assert!(result.results.windows(2).all(|w| w[0].score >= w[1].score));
        for hit in &result.results {
            prop_assert!(hit.score.get() >= least && hit.score.get() <= 1.0);
            prop_assert_eq!(hit.is_chunk_result(), hit.item_type == SearchResultType::Chunk);
            prop_assert!(!hit.is_community_result());
            prop_assert!(!hit.content.text.is_empty());
            for highlight in &hit.highlights {
                prop_assert!(highlight.fragment.chars().count() <= 500);
                for part in &highlight.offsets {
                    prop_assert!(part.start < part.end);
                    prop_assert!(highlight.fragment.get(part.start..part.end).is_some());
                }
            }
        }
        prop_assert_eq!(result.has_more, result.next_cursor.is_some());
    }
}

fn shared() -> &'static (tempfile::TempDir, Engine) {
    static ENGINE: std::sync::OnceLock<(tempfile::TempDir, Engine)> = std::sync::OnceLock::new();
    ENGINE.get_or_init(|| open(without_model()))
}

#[test]
fn chosen_weights_are_used_as_they_are() {
    let (_dir, engine) = open(with_model());
    engine
        .ingest(&[
            Document::new("words", "tide tide tide"),
            Document::new("sense", "the sea rises and falls"),
        ])
        .unwrap();
    engine.wait_until_indexed().unwrap();
    let options = |keyword, semantic| SearchOptions {
        weights: Some(SearchWeights::default_set([keyword, semantic, 0.0]).unwrap()),
        ..SearchOptions::default()
    };
    let filters = || SearchFilters { min_relevance: Score::ZERO, ..Default::default() };
    let query = SearchQuery::new("tide").unwrap().replace_filters(filters());
    let keyword = engine.search(&query.clone().replace_options(options(1.0, 0.0))).unwrap();
    assert_eq!(paths(&keyword), ["words"]);
    let semantic = engine.search(&query.replace_options(options(0.0, 1.0))).unwrap();
    assert_eq!(paths(&semantic).len(), 2);
}

/// A second, tiny embedder: which letters a text holds.
pub(crate) mod letters {
    use trefoil::{
        Result,
        index::Role,
        model::{Array2, Embedder, EmbeddingSpace, Pooling, Quantization},
    };

    #[derive(Debug)]
    pub(crate) struct Letters(EmbeddingSpace);

    impl Default for Letters {
        fn default() -> Self {
            Self(EmbeddingSpace {
                model: "letters".to_owned(),
                sha256: String::new(),
                dimensions: 26,
                pooling: Pooling::Mean,
                query_prefix: String::new(),
                passage_prefix: String::new(),
                quantization: Quantization::F32,
                max_tokens: 512,
            })
        }
    }

    impl Letters {
        pub(crate) fn named(name: &str) -> Self {
            let mut letters = Self::default();
            name.clone_into(&mut letters.0.model);
            letters
        }
    }

    impl Embedder for Letters {
        fn space(&self) -> &EmbeddingSpace {
            &self.0
        }
        fn cosine_range(&self) -> (f32, f32) {
            (0.0, 1.0)
        }
        fn embed(&self, _: Role, texts: &[&str]) -> Result<Array2<f32>> {
            let numbers = texts.iter().flat_map(|text| vector(text)).collect();
            Ok(Array2::from_shape_vec((texts.len(), self.0.dimensions), numbers).unwrap())
        }
    }

    pub(crate) fn vector(text: &str) -> Vec<f32> {
        let mut vector = [0.01_f32; 26];
        for letter in text.bytes().filter(u8::is_ascii_lowercase) {
            vector[usize::from(letter - b'a')] += 1.0;
        }
        let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter().map(|x| x / norm).collect()
    }
}
