//! The retriever as a whole: what is written is what is found.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use proptest::prelude::*;
use tempfile::TempDir;
use trefoil_core::{
    Allowed, Analyzer, ByteSpan, Chunk, ChunkId, ChunkLevel, Error, Extraction, FileId, FileInfo,
    IndexEntry, IndexInput, IndexedUnit, Indexer, Language, LineSpan, Metadata, Part, QueryRewrite,
    Question, RankedList, Retriever, RetrieverId, RowId, RowSet, Score, Seq, StoredChunk, Token,
    WeightedTerm,
};

use crate::{KeywordConfig, KeywordIndexer, KeywordRetriever, index::KeywordIndex};

mod damage;
mod rebuilt;

/// Lower-cased runs of letters and digits; `the`, `of` and `in` are stop words.
#[derive(Debug)]
struct Words;

impl Analyzer for Words {
    fn analyze(&self, text: &str, _: Language, sink: &mut dyn FnMut(Token<'_>)) {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        for (position, word) in (0..).zip(words) {
            let term = word.to_lowercase();
            let stop = matches!(&*term, "the" | "of" | "in");
            sink(Token { term: term.into(), span: ByteSpan::default(), position, stop });
        }
    }
}

/// One character, one term.
#[derive(Debug)]
struct Characters;

impl Analyzer for Characters {
    fn analyze(&self, text: &str, _: Language, sink: &mut dyn FnMut(Token<'_>)) {
        for (position, c) in (0..).zip(text.chars()) {
            sink(Token {
                term: c.to_string().into(),
                span: ByteSpan::default(),
                position,
                stop: false,
            });
        }
    }
}

/// A title, a heading and a text under a row.
fn passage(row: u64, title: &str, heading: &str, text: &str) -> IndexEntry {
    let file = FileInfo {
        id: FileId::new("fil_1").unwrap(),
        path: "notes.md".into(),
        title: title.into(),
        tags: Vec::new(),
        date: Some(jiff::civil::date(2026, 11, 21)),
        metadata: Metadata::default(),
    };
    let chunk = Chunk {
        level: ChunkLevel::Leaf,
        ordinal: 0,
        heading_path: if heading.is_empty() { Vec::new() } else { vec![heading.into()] },
        text: text.into(),
        bytes: ByteSpan::default(),
        lines: LineSpan { start: 1, end: 1 },
        language: Language::En,
    };
    let id = ChunkId::new(format!("chk_{row}")).unwrap();
    let chunk = Arc::new(StoredChunk { row: RowId::new(row), id, file: Arc::new(file), chunk });
    IndexEntry {
        unit: IndexedUnit::Chunk(chunk),
        vector: Vec::new(),
        extraction: Extraction::default(),
    }
}

fn text(row: u64, text: &str) -> IndexEntry {
    passage(row, "", "", text)
}

struct Fixture {
    dir: TempDir,
    indexer: KeywordIndexer,
    retriever: KeywordRetriever,
}

impl Fixture {
    fn new(entries: &[IndexEntry]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let indexer = open(dir.path()).unwrap();
        let retriever = indexer.retriever().unwrap();
        let mut this = Self { dir, indexer, retriever };
        this.add(entries, 1);
        this
    }

    fn add(&mut self, entries: &[IndexEntry], seq: u64) {
        self.indexer.add(entries).unwrap();
        self.commit(seq);
    }

    fn commit(&mut self, seq: u64) {
        self.indexer.commit(Seq::new(seq)).unwrap();
        self.refresh();
        assert_eq!(self.retriever.seq(), Seq::new(seq));
    }

    /// Shows the newest commit; whether it is another one.
    fn refresh(&mut self) -> bool {
        let newest = self.retriever.newest().unwrap();
        newest.map(|newest| self.retriever = newest).is_some()
    }

    /// The rows that answer, best first.
    fn rows(&self, text: &str) -> Vec<u64> {
        rows(&ask(&self.retriever, text, &Allowed::All))
    }

    /// The relevance of the best answer.
    fn relevance(&self, text: &str) -> f32 {
        ask(&self.retriever, text, &Allowed::All)
            .hits()
            .first()
            .map_or(0.0, |hit| hit.relevance.get())
    }
}

fn open(dir: &Path) -> Result<KeywordIndexer, Error> {
    KeywordIndexer::open(dir, Arc::new(Words), &KeywordConfig::default())
}

fn open_reader(dir: &Path) -> Result<KeywordRetriever, Error> {
    KeywordRetriever::open(dir, Arc::new(Words), &KeywordConfig::default())
}

fn ask(retriever: &KeywordRetriever, text: &str, allowed: &Allowed) -> RankedList {
    let question = Question { text: text.into(), ..Question::default() };
    retriever.retrieve(&question, 100, allowed).unwrap()
}

fn rows(list: &RankedList) -> Vec<u64> {
    list.hits().iter().map(|hit| hit.row.get()).collect()
}

fn only(rows: impl IntoIterator<Item = u64>) -> Allowed {
    Allowed::Only(Arc::new(rows.into_iter().map(RowId::new).collect()))
}

fn is_corrupt(error: &Error) -> bool {
    matches!(error, Error::Corrupt { part: Part::Index(RetrieverId::KEYWORD), .. })
}

#[test]
fn terms_are_ored_and_more_of_them_rank_higher() {
    let fixture = Fixture::new(&[
        text(1, "the tide turns slowly"),
        text(2, "a turn of phrase turns up"),
        text(3, "low tide at noon"),
        text(4, "nothing here"),
    ]);
    assert_eq!(fixture.rows("tide turns"), [1, 3, 2]);
    assert_eq!(fixture.rows("tide unknown words"), [1, 3]);
    assert_eq!(fixture.rows("unknown"), [0_u64; 0]);
    assert_eq!(fixture.retriever.rows(), 4);
    assert_eq!(
        (fixture.indexer.id(), fixture.indexer.inputs()),
        (RetrieverId::KEYWORD, &[IndexInput::Text][..])
    );
}

#[test]
fn another_wording_finds_other_passages() {
    let fixture = Fixture::new(&[
        text(1, "the tide turns slowly"),
        text(2, "the moon pulls at the sea"),
        text(3, "nothing here"),
    ]);
    let ask = |text: &str, rewrite: QueryRewrite| {
        let question = Question { text: text.into(), rewrite, ..Question::default() };
        fixture.retriever.retrieve(&question, 100, &Allowed::All).unwrap()
    };
    let expansion = |term: &str, weight: f32| {
        QueryRewrite::Expanded(vec![WeightedTerm {
            term: term.to_owned(),
            weight: Score::clamped(weight),
        }])
    };
    assert_eq!(rows(&ask("tide", expansion("moon", 0.5))), [1, 2]);
    let relevance: Vec<f32> =
        ask("tide", expansion("moon", 0.5)).hits().iter().map(|hit| hit.relevance.get()).collect();
    assert!(relevance[0] < 0.9 && relevance[1] < relevance[0], "{relevance:?}");
    assert_eq!(rows(&ask("slwoly turn", QueryRewrite::None)), [0_u64; 0]);
    assert_eq!(rows(&ask("slwoly turn", QueryRewrite::Fuzzy)), [1]);
    assert_eq!(rows(&ask("nothing", QueryRewrite::Fuzzy)), [3]);
    assert_eq!(rows(&ask("quasar", QueryRewrite::Fuzzy)), [0_u64; 0]);
}

#[test]
fn title_and_headings_are_found_and_weigh_more_than_text() {
    let fixture = Fixture::new(&[
        text(1, "harbour walls and winter storms"),
        passage(2, "harbour", "", "walls and winter storms"),
        passage(3, "", "harbour", "walls and winter storms"),
        text(4, "winter storms over walls and roofs"),
    ]);
    assert_eq!(BTreeSet::from_iter(fixture.rows("harbour")), BTreeSet::from([1, 2, 3]));
    assert_eq!(fixture.rows("harbour")[2], 1);
}

#[test]
fn neighbours_in_the_question_that_stand_together_rank_higher() {
    let fixture = Fixture::new(&[
        text(1, "light is what a house by the sea needs"),
        text(2, "by the sea is a light house that needs what"),
        text(3, "sea and what needs a house is by the light"),
    ]);
    assert_eq!(fixture.rows("light house")[0], 2);
}

#[test]
fn stop_words_count_only_when_nothing_else_does() {
    let fixture =
        Fixture::new(&[text(1, "the end of the road"), text(2, "road works"), text(3, "in sight")]);
    assert_eq!(BTreeSet::from_iter(fixture.rows("the road")), BTreeSet::from([1, 2]));
    assert_eq!(fixture.rows("of the"), [1]);
}

#[test]
fn relevance_is_the_share_of_the_questions_information() {
    let filler = (10..40).map(|row| text(row, "one two three four five six"));
    let entries: Vec<_> = filler
        .chain([text(1, "one alpha three beta five six"), text(2, "one alpha three four five six")])
        .collect();
    let fixture = Fixture::new(&entries);
    // Each term once in a passage of average length, but not word for word.
    assert!((fixture.relevance("beta alpha") - 1.0).abs() < 0.02);
    // Half of it, and half of it where the other half is known to nobody.
    let list = ask(&fixture.retriever, "beta alpha", &only([2]));
    assert!((0.3..0.7).contains(&list.hits()[0].relevance.get()));
    assert!((0.3..0.7).contains(&fixture.relevance("beta zeta")));
    assert!(fixture.relevance("beta zeta eta theta") < 0.3);
}

#[test]
fn a_literal_occurrence_of_the_question_has_relevance_one() {
    let long = format!(
        "{} the state of the art {}",
        "padding words here ".repeat(40),
        "and more ".repeat(40)
    );
    let fixture = Fixture::new(&[
        text(1, &long),
        text(2, "art of the state"),
        text(3, "state funded art"),
        text(4, "x"),
    ]);
    let list = ask(&fixture.retriever, "State of the Art", &Allowed::All);
    let relevance =
        |row| list.hits().iter().find(|hit| hit.row == RowId::new(row)).unwrap().relevance;
    assert_eq!(relevance(1), Score::ONE);
    let shuffled = ask(&fixture.retriever, "art state of the", &only([1]));
    assert!(shuffled.hits()[0].relevance.get() < 1.0);
}

#[test]
fn a_phrase_does_not_span_title_and_text() {
    let long = "words ".repeat(200);
    let fixture = Fixture::new(&[
        passage(1, "light", "", &format!("house {long}")),
        text(2, "x"),
        text(3, "y"),
    ]);
    assert!(fixture.relevance("light house") < 1.0);
}

#[test]
fn floor_and_confidence_say_how_much_the_retriever_knows() {
    let entries: Vec<_> = (0..300)
        .map(|row| text(row, if row == 7 { "alpha beta" } else { "alpha gamma" }))
        .collect();
    let fixture = Fixture::new(&entries);
    let sure = ask(&fixture.retriever, "alpha beta", &Allowed::All);
    assert!(sure.floor() > 0.0 && sure.floor() < sure.hits()[0].raw_score);
    assert_eq!(sure.hits().len(), 100);
    let unsure = ask(&fixture.retriever, "alpha zeta eta theta", &Allowed::All);
    assert!(unsure.confidence() < sure.confidence());
    let empty = ask(&fixture.retriever, "zeta", &Allowed::All);
    assert!(empty.hits().is_empty() && empty.confidence() == 0.0);
}

#[test]
fn what_an_english_question_shares_with_other_languages_is_chance() {
    let fixture = Fixture::new(&[text(1, "alpha beta"), text(2, "beta"), text(3, "gamma")]);
    let ask = |text: &str, language, cross_lingual| {
        let question =
            Question { text: text.into(), language, cross_lingual, ..Question::default() };
        fixture.retriever.retrieve(&question, 9, &Allowed::All).unwrap()
    };
    let [same, other] = [false, true].map(|crosses| ask("beta delta", Language::En, crosses));
    assert_eq!(same.hits(), other.hits());
    assert!(same.confidence() > 0.0 && other.confidence() == 0.0);
    // What a passage holds word for word is in the language of the documents.
    let [same, other] = [false, true].map(|crosses| ask("alpha beta", Language::En, crosses));
    assert_eq!(other, same);
    let named = ask("beta delta", Language::Ja, true);
    assert!(!named.hits().is_empty() && named.confidence() > 0.0);
}

#[test]
fn any_text_is_data() {
    let fixture = Fixture::new(&[text(1, "plain words"), text(2, "그리고 日本語 👍🏽 e\u{301}")]);
    for query in [
        "\"plain",
        "plain AND (",
        "title:words^3",
        "+plain -words",
        "plain~2 /wo.*/",
        "[a TO b]",
        "*",
        "\\",
        "\0",
        "👍🏽",
        "e\u{301}",
        "日本語",
        "ﾃﾞｰﾀ",
        "\u{202e}words",
        "plain' OR 1=1 --",
    ] {
        ask(&fixture.retriever, query, &Allowed::All);
    }
    assert_eq!(fixture.rows("NOT plain"), [1]);
    assert_eq!(fixture.rows(&"plain ".repeat(170)), [1]);
    assert_eq!(fixture.rows("日本語"), [2]);
}

#[test]
fn a_filter_reaches_below_the_unfiltered_top() {
    let entries: Vec<_> =
        (0..1_000).map(|row| text(row, &"tide ".repeat(1 + usize::from(row != 900)))).collect();
    let fixture = Fixture::new(&entries);
    assert!(!fixture.rows("tide").contains(&900));
    assert_eq!(rows(&ask(&fixture.retriever, "tide", &only([900]))), [900]);
    assert_eq!(rows(&ask(&fixture.retriever, "tide", &only([]))), [0_u64; 0]);
}

#[test]
fn adding_a_row_again_replaces_it_and_removing_forgets_it() {
    let mut fixture = Fixture::new(&[text(1, "old words"), text(2, "old news")]);
    fixture.add(&[text(1, "new words"), text(1, "newest words")], 2);
    assert_eq!(fixture.rows("old"), [2]);
    assert_eq!(fixture.rows("new"), [0_u64; 0]);
    assert_eq!(fixture.rows("newest"), [1]);
    fixture.indexer.remove(&[RowId::new(1), RowId::new(99)]).unwrap();
    fixture.commit(3);
    assert_eq!(fixture.rows("words"), [0_u64; 0]);
    assert_eq!(fixture.retriever.rows(), 1);
}

#[test]
fn nothing_shows_before_commit_and_refresh() {
    let mut fixture = Fixture::new(&[text(1, "tide")]);
    fixture.indexer.add(&[text(2, "tide")]).unwrap();
    assert!(!fixture.refresh());
    assert_eq!(fixture.rows("tide"), [1]);
    fixture.indexer.commit(Seq::new(2)).unwrap();
    assert_eq!(fixture.rows("tide"), [1]);
    let before = fixture.retriever.clone();
    assert!(fixture.refresh());
    assert_eq!(fixture.rows("tide"), [1, 2]);
    assert_eq!((before.seq(), before.rows()), (Seq::new(1), 1));
}

#[test]
fn clearing_forgets_everything_and_starts_before_the_first_change() {
    let mut fixture = Fixture::new(&[text(1, "tide")]);
    fixture.indexer.add(&[text(2, "tide")]).unwrap();
    fixture.indexer.clear().unwrap();
    assert_eq!(fixture.indexer.committed(), Seq::ZERO);
    assert!(fixture.refresh());
    assert_eq!(fixture.retriever.seq(), Seq::ZERO);
    assert_eq!(fixture.rows("tide"), [0_u64; 0]);
    fixture.add(&[text(3, "tide")], 5);
    assert_eq!(fixture.rows("tide"), [3]);
}

/// The passages of each segment that are there, and those that are deleted.
fn segments(dir: &Path) -> Vec<(u32, u32)> {
    let index = KeywordIndex::open(dir, Arc::new(Words)).unwrap().index;
    let segments = index.searchable_segment_metas().unwrap();
    segments.iter().map(|segment| (segment.num_docs(), segment.num_deleted_docs())).collect()
}

#[test]
fn compacting_during_merges_leaves_one_segment_without_what_was_removed() {
    let mut fixture = Fixture::new(&[]);
    for round in 1..20_u32 {
        // Eight small segments are merged without being asked for.
        let first = u64::from(round * 8);
        for seq in first..first + 8 {
            fixture.add(&[text(seq, "tide")], seq);
        }
        fixture.indexer.remove(&[RowId::new(first)]).unwrap();
        fixture.commit(first + 7);
        fixture.indexer.compact().unwrap();
        assert_eq!(segments(fixture.dir.path()), [(round * 7, 0)]);
    }
}

#[test]
fn merges_are_over_when_the_writer_is_gone() {
    let mut fixture = Fixture::new(&[]);
    for seq in 1..9 {
        fixture.add(&[text(seq, "tide")], seq);
    }
    drop(fixture.indexer);
    assert_eq!(segments(fixture.dir.path()), [(8, 0)]);
}

#[test]
fn a_segment_of_many_deletions_is_rewritten_also_after_clearing() {
    let mut fixture = Fixture::new(&[]);
    fixture.indexer.clear().unwrap();
    let entries: Vec<_> = (1..11).map(|row| text(row, "tide")).collect();
    fixture.add(&entries, 1);
    fixture.indexer.remove(&[1, 2, 3].map(RowId::new)).unwrap();
    fixture.commit(2);
    drop(fixture.indexer);
    assert_eq!(segments(fixture.dir.path()), [(7, 0)]);
}

#[test]
fn what_is_committed_is_there_after_reopening_and_the_rest_is_not() {
    let Fixture { dir, mut indexer, retriever } = Fixture::new(&[text(1, "tide")]);
    indexer.add(&[text(2, "tide")]).unwrap();
    drop((indexer, retriever));
    let indexer = open(dir.path()).unwrap();
    assert_eq!(indexer.committed(), Seq::new(1));
    assert_eq!(rows(&ask(&indexer.retriever().unwrap(), "tide", &Allowed::All)), [1]);
}

#[test]
fn an_index_has_one_writer() {
    let fixture = Fixture::new(&[]);
    assert!(matches!(open(fixture.dir.path()), Err(Error::Locked { .. })));
}

#[test]
fn a_reader_of_its_own_follows_the_writer() {
    let mut fixture = Fixture::new(&[text(1, "tide")]);
    let mut reader = open_reader(fixture.dir.path()).unwrap();
    for seq in 2..20 {
        fixture.add(&[text(seq, "tide")], seq);
        reader = reader.newest().unwrap().unwrap();
        assert_eq!(reader.seq(), Seq::new(seq));
        assert_eq!(reader.rows(), seq);
    }
}

#[test]
fn a_reader_works_where_it_may_not_write() {
    let fixture = Fixture::new(&[text(1, "tide")]);
    let dir = fixture.dir.path().to_owned();
    let _ = fs::remove_file(dir.join(".tantivy-meta.lock"));
    let writable = fs::metadata(&dir).unwrap().permissions();
    let mut read_only = writable.clone();
    read_only.set_readonly(true);
    fs::set_permissions(&dir, read_only).unwrap();
    let reader = open_reader(&dir);
    let newest = reader.as_ref().map(KeywordRetriever::newest);
    fs::set_permissions(&dir, writable).unwrap();
    assert!(newest.unwrap().unwrap().is_none());
    assert_eq!(rows(&ask(&reader.unwrap(), "tide", &Allowed::All)), [1]);
}

#[test]
fn a_reader_needs_an_index() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(open_reader(dir.path()), Err(Error::IndexMissing { .. })));
    assert!(matches!(open_reader(&dir.path().join("none")), Err(Error::IndexMissing { .. })));
}

#[test]
fn another_analyser_needs_a_rebuild() {
    let Fixture { dir, indexer, retriever } = Fixture::new(&[text(1, "tide")]);
    drop((indexer, retriever));
    let config = KeywordConfig::default();
    assert!(is_corrupt(
        &KeywordIndexer::open(dir.path(), Arc::new(Characters), &config).unwrap_err()
    ));
    assert!(is_corrupt(
        &KeywordRetriever::open(dir.path(), Arc::new(Characters), &config).unwrap_err()
    ));
    assert!(open(dir.path()).is_ok());
}

#[test]
fn the_order_does_not_depend_on_how_documents_came_in() {
    let words = ["tide", "turn", "low", "high", "noon", "sea"];
    let entries: Vec<_> = (0..120_u64)
        .map(|row| {
            let text_of_row: Vec<_> =
                (0..=row % 7).map(|n| words[((row * 7 + n * n) % 6) as usize]).collect();
            text(row, &text_of_row.join(" "))
        })
        .collect();
    let answer = |order: &[IndexEntry], batch: usize| {
        let mut fixture = Fixture::new(&[]);
        for (seq, batch) in (2..).zip(order.chunks(batch)) {
            fixture.add(batch, seq);
        }
        let list = ask(&fixture.retriever, "low tide at noon", &Allowed::All);
        list.hits().iter().map(|hit| (hit.row.get(), hit.raw_score.to_bits())).collect::<Vec<_>>()
    };
    let expected = answer(&entries, 120);
    let backwards: Vec<_> = entries.iter().rev().cloned().collect();
    assert_eq!(answer(&entries, 50), expected);
    assert_eq!(answer(&backwards, 120), expected);
    assert_eq!(answer(&backwards, 17), expected);
}

proptest! {
    #[test]
    fn hits_are_allowed_sorted_unique_and_in_range(
        texts in proptest::collection::vec("[a-d ]{0,12}", 1..20),
        allowed in proptest::collection::btree_set(0_u64..25, 0..25),
        query in "[a-d ]{0,8}|\\PC{0,20}",
        depth in 0_usize..12,
    ) {
        let entries: Vec<_> = (0..).zip(&texts).map(|(row, content)| text(row, content)).collect();
        let fixture = Fixture::new(&entries);
        let question = Question { text: query, language: Language::Ko, ..Question::default() };
        let list = fixture.retriever.retrieve(&question, depth, &only(allowed.clone())).unwrap();
        let hits = list.hits();
        prop_assert!(hits.len() <= depth);
        prop_assert!(hits.iter().all(|hit| allowed.contains(&hit.row.get()) && hit.raw_score > 0.0));
        let sorted = hits.is_sorted_by(|a, b| b.raw_score.total_cmp(&a.raw_score).then(a.row.cmp(&b.row)).is_lt());
        prop_assert!(sorted);
        prop_assert!(list.floor() >= 0.0 && list.confidence() >= 0.0);
    }
}
