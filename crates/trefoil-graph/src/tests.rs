//! The retriever as a whole: what is written, read and found.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use tempfile::tempdir;
use trefoil_core::{
    Allowed, ByteSpan, Chunk, ChunkId, ChunkLevel, EntityId, Error, Extraction, FileId, FileInfo,
    Fused, IndexEntry, IndexFiles, IndexInput, IndexedUnit, Indexer, Language, LineSpan, Mention,
    Metadata, Question, RankedList, Retriever, RetrieverId, RowId, RowSet, Score, SeedContext, Seq,
    StoredChunk, TermCoverage, merge_all,
};

use crate::{
    Entity, GraphConfig, GraphFiles, GraphIndex, GraphIndexer, GraphRetriever, Node, PruneConfig,
    fixture::{chunk, names},
};

fn entry((row, extraction): (RowId, Extraction)) -> IndexEntry {
    let file = FileInfo {
        id: FileId::new("fil_1").unwrap(),
        path: "a".to_owned(),
        title: String::new(),
        tags: Vec::new(),
        date: None,
        metadata: Metadata::default(),
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
fn a_step_is_sure_where_it_leads_to_one_passage_and_not_to_many() {
    let expand = |chunks: &[(u64, &str)]| {
        let (_dir, retriever) = committed(chunks);
        let question = Question { text: "cards".into(), ..Question::default() };
        let seeds = [Fused { row: RowId::new(1), combined: Score::ONE, hits: Vec::new() }];
        let context = SeedContext {
            question: &question,
            depth: 50,
            allowed: &Allowed::All,
            seeds: &seeds,
            coverage: &|_| Ok(TermCoverage::default()),
        };
        retriever.expand(&context).unwrap()
    };
    let led = expand(CHAIN);
    assert!(rows(&led).contains(&2), "one step leads from Ada to the engine: {led:?}");
    // Fewer than ten are led to, so that the best stands out from nothing; half is usual.
    assert!((led.confidence() - 2.0).abs() < 1e-6, "{led:?}");
    // Twelve sections of one page, each as near as the others.
    let page: Vec<(u64, &str)> = (1..=12).map(|row| (row, "#ada")).collect();
    let others = (13..=99).map(|row| (row, "other"));
    let spread = expand(&page.into_iter().chain(others).collect::<Vec<_>>());
    assert_eq!(spread.hits().len(), 12);
    assert!(spread.confidence().abs() < 1e-6, "{spread:?}");
    assert_eq!(expand(&[(1, "ada"), (2, "jacquard")]).confidence(), 0.0, "it leads nowhere");
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
    for (name, bytes) in [("MANIFEST", "trefoil-graph and no more than that"), ("EVIDENCE", "")] {
        let (dir, retriever) = committed(CHAIN);
        if name == "EVIDENCE" {
            std::fs::remove_file(dir.path().join("MANIFEST")).unwrap();
        }
        std::fs::write(dir.path().join(name), bytes).unwrap();
        for error in [
            GraphIndexer::open(dir.path()).unwrap_err(),
            GraphRetriever::open(dir.path(), &config(), normalize).unwrap_err(),
            retriever.newest().unwrap_err(),
        ] {
            assert!(matches!(error, Error::Corrupt { .. }), "{name}: {error}");
        }
        assert_eq!(rows(&retrieve(&retriever, "ada", 1, &Allowed::All)), [1]);
    }
    let empty = tempdir().unwrap();
    let retriever = GraphRetriever::open(empty.path(), &config(), normalize).unwrap();
    assert_eq!((retriever.seq(), retriever.rows()), (Seq::ZERO, 0));
    assert!(rows(&retrieve(&retriever, "ada", 9, &Allowed::All)).is_empty());
}

#[test]
fn damage_to_a_segment_is_found_when_it_is_opened() {
    let (dir, _retriever) = committed(CHAIN);
    let path = dir.path().join("00000000.mentions");
    let whole = std::fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
        let opened = GraphRetriever::open(dir.path(), &config(), normalize);
        assert!(
            matches!(opened, Err(Error::Corrupt { .. } | Error::UnsupportedFormat { .. })),
            "{at}"
        );
        assert!(GraphFiles::new(dir.path()).contents().is_err(), "{at}");
    }
    for end in (0..whole.len()).step_by(7) {
        std::fs::write(&path, &whole[..end]).unwrap();
        assert!(GraphIndexer::open(dir.path()).is_err(), "{end}");
    }
}

#[test]
fn a_crash_between_two_files_leaves_the_commit_before() {
    let (dir, _retriever) = committed(&CHAIN[..2]);
    let manifest = std::fs::read(dir.path().join("MANIFEST")).unwrap();
    let segment = std::fs::read(dir.path().join("00000000.mentions")).unwrap();
    let mut indexer = GraphIndexer::open(dir.path()).unwrap();
    indexer.add(&entries(&CHAIN[2..])).unwrap();
    indexer.commit(Seq::new(2)).unwrap();
    drop(indexer);
    // The new segment is written, the manifest is not, and nothing was removed.
    std::fs::write(dir.path().join("MANIFEST"), manifest).unwrap();
    std::fs::write(dir.path().join("00000000.mentions"), segment).unwrap();
    std::fs::write(dir.path().join("MANIFEST.tmp"), "half").unwrap();
    let mut indexer = GraphIndexer::open(dir.path()).unwrap();
    assert_eq!(indexer.committed(), Seq::new(1));
    let retriever = GraphRetriever::open(dir.path(), &config(), normalize).unwrap();
    assert_eq!(retriever.rows(), 2);
    indexer.add(&entries(&CHAIN[2..])).unwrap();
    indexer.commit(Seq::new(2)).unwrap();
    let retriever = retriever.newest().unwrap().unwrap();
    assert_eq!((retriever.seq(), retriever.rows()), (Seq::new(2), 5));
}

#[test]
fn the_frozen_form_follows_in_time_and_is_kept() {
    let dir = tempdir().unwrap();
    let mut indexer = GraphIndexer::open(dir.path()).unwrap();
    let many: Vec<(u64, &str)> = (0..1_000).map(|row| (row, "Ada Babbage")).collect();
    indexer.add(&entries(&many)).unwrap();
    indexer.commit(Seq::new(1)).unwrap();
    let mut retriever = GraphRetriever::open(dir.path(), &config(), normalize).unwrap();
    assert_eq!(retriever.index().lag(), 1_000);
    let at = retriever.freeze(GraphRetriever::LAG).unwrap();
    assert_eq!((at.changes.added, retriever.index().lag()), (1_000, 0));
    indexer.add(&entries(&[(1_000, "Byron Babbage")])).unwrap();
    indexer.remove(&[RowId::new(0)]).unwrap();
    indexer.commit(Seq::new(2)).unwrap();
    retriever = retriever.newest().unwrap().unwrap();
    // Two of a thousand are few, and what is asked of a chunk or an entity knows of them.
    assert_eq!(retriever.freeze(GraphRetriever::LAG).unwrap(), at);
    let index = retriever.near().unwrap();
    assert_eq!(index.lag(), 2);
    let byron = index.find("byron").unwrap();
    assert_eq!((byron.name, byron.chunks), ("Byron", 1));
    assert_eq!(index.find("ada").unwrap().chunks, 999);
    assert_eq!(index.entity(byron.node), Some(byron));
    assert_eq!(index.chunks_of(byron.node).collect::<Vec<_>>(), [RowId::new(1_000)]);
    assert!(rows(&retrieve(&retriever, "ada", 99, &Allowed::All)).iter().all(|&row| row != 0));
    // Another process reads the form that is kept, and not the chunks.
    let reader = GraphRetriever::open(dir.path(), &config(), normalize).unwrap();
    assert_eq!(reader.near().unwrap().frozen_at(), at);
    assert_eq!(reader.whole().unwrap().lag(), 0);
    // More than one in twenty are too many.
    let more: Vec<(u64, &str)> = (1_001..1_061).map(|row| (row, "Byron")).collect();
    indexer.add(&entries(&more)).unwrap();
    indexer.commit(Seq::new(3)).unwrap();
    retriever = retriever.newest().unwrap().unwrap();
    assert_eq!(retriever.freeze(GraphRetriever::LAG).unwrap().changes.added, 1_061);
    indexer.compact().unwrap();
    assert!(!dir.path().join("FROZEN").exists(), "it holds names of what was removed");
}

#[test]
fn segments_are_few() {
    let dir = tempdir().unwrap();
    let mut indexer = GraphIndexer::open(dir.path()).unwrap();
    for row in 0..100 {
        indexer.add(&entries(&[(row, "Ada Babbage")])).unwrap();
        indexer.commit(Seq::new(row + 1)).unwrap();
        merge_all(&mut indexer, &|| false).unwrap();
    }
    assert!(indexer.segment_count() <= 5, "{}", indexer.segment_count());
    indexer.remove(&[RowId::new(0), RowId::new(99)]).unwrap();
    indexer.commit(Seq::new(101)).unwrap();
    indexer.compact().unwrap();
    let payloads = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(payloads, indexer.segment_count() + 1, "no file holds what was removed");
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
        steps in prop::collection::vec((0..8_u64, prop::option::of(names()), 0..8_u8), 1..24)
    ) {
        let dir = tempdir()?;
        let mut indexer = GraphIndexer::open(dir.path())?;
        let mut retriever = GraphRetriever::open(dir.path(), &config(), normalize)?;
        let (mut left, mut merging) = (BTreeMap::new(), None);
        for (seq, (row, names, then)) in (1..).zip(steps) {
            if let Some(names) = names {
                let (row, extraction) = called(row, &names);
                indexer.add(&[entry((row, extraction.clone()))])?;
                left.insert(row, extraction);
            } else {
                indexer.remove(&[RowId::new(row)])?;
                left.remove(&RowId::new(row));
            }
            match then {
                0 => {}
                1 => {
                    indexer.commit(Seq::new(seq))?;
                    indexer = GraphIndexer::open(dir.path())?;
                }
                2 => {
                    indexer.commit(Seq::new(seq))?;
                    indexer.compact()?;
                }
                3 => {
                    indexer.commit(Seq::new(seq))?;
                    retriever = retriever.newest()?.unwrap_or(retriever);
                    retriever.freeze(GraphRetriever::LAG)?;
                }
                4 => {
                    indexer.commit(Seq::new(seq))?;
                    // What changes while a merge is prepared is not lost by it.
                    merging = indexer.plan_merge()?;
                    if let Some(merge) = &mut merging {
                        merge.prepare(&|| false)?;
                    }
                }
                5 => {
                    if let Some(merge) = merging.take() {
                        indexer.apply_merge(merge)?;
                    }
                }
                _ => indexer.commit(Seq::new(seq))?,
            }
        }
        indexer.commit(Seq::new(99))?;
        let retriever = retriever.newest()?.unwrap_or(retriever);
        let new = GraphIndex::build(left, &config())?;
        // Of the segments with whatever frozen form there is, and of a new form.
        prop_assert_eq!(told(&retriever.index()), told(&new));
        let whole = retriever.whole()?;
        prop_assert_eq!(told(&whole), told(&new));
        prop_assert_eq!(whole.entity_count(), new.entity_count());
        prop_assert_eq!(whole.related(), new.related());
        prop_assert_eq!(whole.all_related(), new.all_related());
        let seeds: Vec<(Node, f32)> = (0..new.entity_count()).map(|node| (node, 1.0)).collect();
        for seed in &seeds {
            let ranked = |index: &GraphIndex| index.rank(&[*seed], &[], &Allowed::All, 9);
            prop_assert_eq!(ranked(&whole), ranked(&new));
        }
        let ids = |name: &str| EntityId::new(format!("ent_{name}"));
        let exported = |index: &GraphIndex| format!("{:?}", index.to_petgraph(ids));
        prop_assert_eq!(exported(&whole), exported(&new));
        retriever.index().check()?;
    }
}

/// A chunk whose names are also called by their first letters and, all of them, "it".
fn called(row: u64, names: &str) -> (RowId, Extraction) {
    let (row, extraction) = chunk(row, names);
    let (mentions, relations) = extraction.into_parts();
    let mentions = mentions.into_iter().map(|mention| {
        let first = mention.normalized_name.chars().take(2).collect();
        Mention { aliases: vec![first, "it".to_owned()], ..mention }
    });
    (row, Extraction::new(mentions.collect()).with_relations(relations))
}

/// All that an index tells of chunks and entities, by names and rows.
fn told(index: &GraphIndex) -> Vec<String> {
    let all = Allowed::All;
    let even = only((0..8).filter(|row| row % 2 == 0));
    let entities = (0..index.entity_count()).filter_map(|node| index.entity(node));
    let mut entities: Vec<_> = entities.collect();
    entities.sort_by_key(|entity| entity.normalized_name);
    let name = |node: Node| index.normalized_name(node).unwrap().to_owned();
    let mut told = vec![format!("{} chunks", index.chunk_count())];
    for entity in &entities {
        let node = entity.node;
        told.push(format!("{:?}", Entity { node: 0, ..*entity }));
        told.push(format!("{:?}", index.aliases(node).collect::<Vec<_>>()));
        told.push(format!("{:?}", index.chunks_of(node).collect::<Vec<_>>()));
        for allowed in [&all, &even] {
            told.push(format!("{:?}", index.mentions_of(node, allowed)));
            told.push(format!("{:?}", index.degrees(node, allowed)));
            for other in &entities {
                let relations = index.relations_between(node, other.node, allowed).into_iter();
                let relations = relations.map(|one| {
                    let ends = (name(one.source), name(one.target));
                    (ends, one.relation_type, one.proofs)
                });
                told.push(format!("{:?}", relations.collect::<Vec<_>>()));
            }
        }
    }
    for row in (0..8).map(RowId::new) {
        let named = index.entities_of(row).map(|one| one.normalized_name.to_owned());
        told.push(format!("{row:?} {:?}", named.collect::<Vec<_>>()));
        told.push(format!("{:?} {:?}", index.links(row, &all), index.links(row, &even)));
        for other in (0..8).map(RowId::new) {
            told.push(format!("{}", index.names(row, other)));
        }
        let stepped = index.step(&[(row, 1.0)], |_| Ok(TermCoverage::default()), &all, 5);
        told.push(format!("{stepped:?}"));
    }
    for spelling in ["ada", "ad", "it", "서울", "engine", "nobody"] {
        told.push(format!("{:?}", index.find(spelling).map(|one| one.normalized_name)));
    }
    let text = "ada of engine ba 서울의 ad";
    let linked = index.link(text).into_iter().map(|(span, one)| (span, one.normalized_name));
    told.push(format!("{:?}", linked.collect::<Vec<_>>()));
    let starts = index.starts(text).into_iter().map(|(len, one)| (len, one.normalized_name));
    told.push(format!("{:?}", starts.collect::<Vec<_>>()));
    told.push(format!("{:?}", index.names_beyond(&even)));
    told
}
