//! The retriever as a whole: what is written, read and found.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use tempfile::tempdir;
use trefoil_core::{
    Allowed, ByteSpan, Chunk, ChunkId, ChunkLevel, Error, Extraction, FileId, FileInfo, Fused,
    IndexEntry, IndexInput, IndexedUnit, Indexer, Language, LineSpan, Question, RankedList,
    Retriever, RetrieverId, RowId, RowSet, Score, SeedContext, Seq, StoredChunk, TermCoverage,
};

use crate::{
    GraphConfig, GraphIndex, GraphIndexer, GraphRetriever, PruneConfig,
    fixture::{chunk, names},
};

fn entry((row, extraction): (RowId, Extraction)) -> IndexEntry {
    let file = FileInfo {
        id: FileId::new("fil_1").unwrap(),
        path: "a".to_owned(),
        title: String::new(),
        tags: Vec::new(),
        date: None,
    };
    let chunk = Chunk {
        level: ChunkLevel::Leaf,
        ordinal: 0,
        heading_path: Vec::new(),
        text: "a".to_owned(),
        bytes: ByteSpan { start: 0, end: 1 },
        lines: LineSpan { start: 1, end: 1 },
        language: Language::En,
    };
    let id = ChunkId::new(format!("chk_{}", row.get())).unwrap();
    let chunk = StoredChunk { row, id, file: Arc::new(file), chunk };
    IndexEntry { unit: IndexedUnit::Chunk(Arc::new(chunk)), vector: Vec::new(), extraction }
}

fn entries(chunks: &[(u64, &str)]) -> Vec<IndexEntry> {
    chunks.iter().map(|&(row, names)| entry(chunk(row, names))).collect()
}

fn config() -> GraphConfig {
    let prune = PruneConfig { min_count: 1, percentile: 0.0 };
    GraphConfig { prune, ..GraphConfig::default() }
}

fn normalize(text: &str) -> String {
    text.to_lowercase()
}

fn retrieve(retriever: &GraphRetriever, text: &str, depth: usize, allowed: &Allowed) -> RankedList {
    let question = Question { text: text.to_owned(), ..Question::default() };
    retriever.retrieve(&question, depth, allowed).unwrap()
}

fn rows(list: &RankedList) -> Vec<u64> {
    list.hits().iter().map(|hit| hit.row.get()).collect()
}

fn only(rows: impl IntoIterator<Item = u64>) -> Allowed {
    Allowed::Only(Arc::new(rows.into_iter().map(RowId::new).collect::<RowSet>()))
}

/// Ada with the engine, the engine with punched cards, cards with Jacquard; Seoul apart.
const CHAIN: &[(u64, &str)] =
    &[(1, "Ada Engine"), (2, "Engine Cards"), (3, "Cards Jacquard"), (4, "서울 東京"), (5, "東京")];

fn committed(chunks: &[(u64, &str)]) -> (tempfile::TempDir, GraphRetriever) {
    let dir = tempdir().unwrap();
    let mut indexer = GraphIndexer::open(dir.path()).unwrap();
    indexer.add(&entries(chunks)).unwrap();
    indexer.commit(Seq::new(1)).unwrap();
    let retriever = GraphRetriever::open(dir.path(), &config(), normalize).unwrap();
    (dir, retriever)
}

#[test]
fn chunks_are_found_by_way_of_others() {
    let (_dir, retriever) = committed(CHAIN);
    let check = |question: &str, allowed: &Allowed, expected: &[u64]| {
        assert_eq!(rows(&retrieve(&retriever, question, 9, allowed)), expected, "{question}");
    };
    check("What did Ada write?", &Allowed::All, &[1, 2, 3]);
    check("jacquard", &Allowed::All, &[3, 2, 1]);
    check("ada and jacquard", &only([2, 3]), &[3, 2]);
    check("서울의 날씨", &Allowed::All, &[4, 5]);
    check("who is Byron", &Allowed::All, &[]);
    check("ada", &only([]), &[]);
    assert_eq!(rows(&retrieve(&retriever, "ada", 1, &Allowed::All)), [1]);
    assert_eq!((retriever.id(), retriever.rows()), (RetrieverId::GRAPH, 5));
    assert_eq!(retriever.inputs(), [IndexInput::Extraction]);
}

#[test]
fn a_step_from_a_passage_is_trusted_less_across_languages() {
    let (_dir, retriever) = committed(CHAIN);
    let seeds = [Fused { row: RowId::new(1), combined: Score::ONE, hits: Vec::new() }];
    let expand = |cross_lingual| {
        let question = Question { text: "cards".into(), cross_lingual, ..Question::default() };
        let context = SeedContext {
            question: &question,
            depth: 9,
            allowed: &Allowed::All,
            seeds: &seeds,
            coverage: &|_| Ok(TermCoverage::default()),
        };
        retriever.expand(&context).unwrap()
    };
    let (same, other) = (expand(false), expand(true));
    assert!(rows(&same).contains(&2), "one step leads from Ada to the engine: {same:?}");
    assert_eq!(same.hits(), other.hits());
    assert_eq!((same.confidence(), other.confidence()), (1.0, 0.3));
}

#[test]
fn a_passage_names_what_another_is_about() {
    let chunks =
        [(1, "#ada engine"), (2, "#engine mill"), (3, "#engine cards"), (4, "mill ada"), (5, "x")];
    let (_dir, retriever) = committed(&chunks);
    let names = |from, to| retriever.mention_strength(RowId::new(from), RowId::new(to));
    // The title of 2 and of 3, which three of five passages have.
    assert!((0.0..0.1).contains(&names(1, 2)) && names(1, 2) > 0.0, "{}", names(1, 2));
    assert_eq!(names(1, 2), names(1, 3));
    assert!(names(4, 1) > names(1, 2), "two passages have that of 1");
    assert_eq!(names(2, 3), 0.0, "the same title");
    assert_eq!(names(2, 1), 0.0, "not mentioned");
    assert_eq!(names(2, 4), 0.0, "no title");
    assert_eq!((names(1, 99), names(99, 1)), (0.0, 0.0));
}

#[test]
fn a_hit_is_relevant_by_what_it_names_and_how_near_it_is() {
    let (_dir, retriever) = committed(CHAIN);
    let list = retrieve(&retriever, "ada jacquard", 9, &Allowed::All);
    let relevance: BTreeMap<u64, f32> =
        list.hits().iter().map(|hit| (hit.row.get(), hit.relevance.get())).collect();
    // The ends name one of two equally rare names each, the middle none.
    assert!(relevance[&1] > 0.4 && relevance[&3] > 0.4, "{relevance:?}");
    assert!(relevance[&2] < 0.4, "{relevance:?}");
    assert!(list.confidence() > 0.9);
    let none = retrieve(&retriever, "nobody", 9, &Allowed::All);
    assert!(none.confidence().abs() < 1e-6);
}

#[test]
fn a_title_and_a_rare_name_link_more_strongly() {
    let chunks =
        [(1, "Ada Engine"), (2, "#Ada Byron"), (3, "Ada Byron"), (4, "Engine"), (5, "Ada")];
    let (_dir, retriever) = committed(&chunks);
    let mut links = retriever.index().links(RowId::new(1), &Allowed::All);
    links.sort_by(|a, b| b.1.total_cmp(&a.1));
    let order: Vec<u64> = links.iter().map(|(row, _)| row.get()).collect();
    assert_eq!(order, [4, 2, 3, 5], "{links:?}");
    assert_eq!(retriever.index().links(RowId::new(1), &only([3])).len(), 1);
}

#[test]
fn an_entity_is_called_what_most_chunks_call_it() {
    let chunks = [(1, "ADA"), (2, "Ada"), (3, "Ada")];
    let (_dir, retriever) = committed(&chunks);
    let index = retriever.index();
    let entity = index.find("ada").unwrap();
    assert_eq!((entity.name, entity.normalized_name, entity.chunks), ("Ada", "ada", 3));
    assert_eq!(entity.entity_type.as_str(), "NAME");
    assert!(entity.specificity < 0.05);
    assert_eq!(index.entities_of(RowId::new(2)).count(), 1);
    assert_eq!(index.entity(1), None);
    assert_eq!(retriever.link("Ada, ada and Byron"), [0]);
}

#[test]
fn a_retriever_shows_one_commit() {
    let (dir, mut retriever) = committed(&CHAIN[..1]);
    let mut indexer = GraphIndexer::open(dir.path()).unwrap();
    assert_eq!(indexer.committed(), Seq::new(1));
    indexer.add(&entries(CHAIN)).unwrap();
    indexer.remove(&[RowId::new(1), RowId::new(99)]).unwrap();
    assert!(retriever.newest().unwrap().is_none());
    indexer.commit(Seq::new(8)).unwrap();
    assert_eq!(rows(&retrieve(&retriever, "engine", 9, &Allowed::All)), [1]);
    retriever = retriever.newest().unwrap().unwrap();
    assert_eq!(retriever.seq(), Seq::new(8));
    assert_eq!(rows(&retrieve(&retriever, "engine", 9, &Allowed::All)), [2, 3]);
    indexer.clear().unwrap();
    retriever = retriever.newest().unwrap().unwrap();
    assert_eq!((retriever.seq(), retriever.rows()), (Seq::ZERO, 0));
}

#[test]
fn a_damaged_index_is_corrupt_and_an_absent_one_is_empty() {
    let (dir, retriever) = committed(CHAIN);
    std::fs::write(dir.path().join("EVIDENCE"), "TREFGRPH and no more than that").unwrap();
    for error in [
        GraphIndexer::open(dir.path()).unwrap_err(),
        GraphRetriever::open(dir.path(), &config(), normalize).unwrap_err(),
        retriever.newest().unwrap_err(),
    ] {
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
    assert_eq!(rows(&retrieve(&retriever, "ada", 1, &Allowed::All)), [1]);
    let empty = tempdir().unwrap();
    let retriever = GraphRetriever::open(empty.path(), &config(), normalize).unwrap();
    assert_eq!((retriever.seq(), retriever.rows()), (Seq::ZERO, 0));
    assert!(rows(&retrieve(&retriever, "ada", 9, &Allowed::All)).is_empty());
}

#[test]
fn settings_out_of_range_are_refused() {
    for config in [
        GraphConfig { damping: 1.0, ..config() },
        GraphConfig { prune: PruneConfig { min_count: 1, percentile: 2.0 }, ..config() },
    ] {
        assert!(matches!(GraphIndex::build([], &config), Err(Error::InvalidConfig { .. })));
    }
}

proptest! {
    #[test]
    fn lists_keep_to_the_filter_and_their_order(
        chunks in prop::collection::vec(names(), 1..20),
        allowed in prop::collection::btree_set(0..20_u64, 0..12),
        question in names(),
        depth in 1..9_usize,
    ) {
        let chunks = chunks.iter().zip(0..).map(|(names, row)| entry(chunk(row, names)));
        let dir = tempdir()?;
        let mut indexer = GraphIndexer::open(dir.path())?;
        indexer.add(&chunks.collect::<Vec<_>>())?;
        indexer.commit(Seq::new(1))?;
        let retriever = GraphRetriever::open(dir.path(), &GraphConfig::default(), normalize)?;
        let allowed = only(allowed);
        let list = retrieve(&retriever, &question, depth, &allowed);
        prop_assert!(list.hits().len() <= depth);
        prop_assert!(list.hits().iter().all(|hit| allowed.contains(hit.row) && hit.raw_score > 0.0));
        prop_assert!(list.hits().is_sorted_by(|a, b| a.raw_score >= b.raw_score));
        let mut rows = rows(&list);
        rows.sort_unstable();
        rows.dedup();
        prop_assert_eq!(rows.len(), list.hits().len());
        // The allowed part of what is found without the filter, as far as it goes.
        let all = retrieve(&retriever, &question, 99, &Allowed::All);
        let expected = all.hits().iter().filter(|hit| allowed.contains(hit.row)).take(depth);
        let expected: Vec<RowId> = expected.map(|hit| hit.row).collect();
        prop_assert_eq!(list.hits().iter().map(|hit| hit.row).collect::<Vec<_>>(), expected);
        for row in 0..20 {
            let links = retriever.index().links(RowId::new(row), &allowed);
            let holds = |&(other, strength): &(RowId, f32)| {
                allowed.contains(other) && other != RowId::new(row) && (0.0..1.0).contains(&strength)
            };
            prop_assert!(links.iter().all(holds));
        }
    }

    #[test]
    fn what_is_left_is_the_graph_built_without_the_rest(
        steps in prop::collection::vec((0..8_u64, prop::option::of(names()), any::<bool>()), 1..20)
    ) {
        let dir = tempdir()?;
        let mut indexer = GraphIndexer::open(dir.path())?;
        let mut left = BTreeMap::new();
        for (seq, (row, names, reopen)) in (1..).zip(steps) {
            if let Some(names) = names {
                let (row, extraction) = chunk(row, &names);
                indexer.add(&[entry((row, extraction.clone()))])?;
                left.insert(row, extraction);
            } else {
                indexer.remove(&[RowId::new(row)])?;
                left.remove(&RowId::new(row));
            }
            indexer.commit(Seq::new(seq))?;
            if reopen {
                indexer = GraphIndexer::open(dir.path())?;
            }
        }
        let retriever = GraphRetriever::open(dir.path(), &config(), normalize)?;
        let new = GraphIndex::build(left, &config())?;
        prop_assert_eq!(format!("{:?}", retriever.index()), format!("{new:?}"));
    }
}
