//! The index as a whole: against a model, under damage, through its graph.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use proptest::prelude::*;
use trefoil_core::{
    Allowed, Array2, ByteSpan, Chunk, ChunkId, ChunkLevel, Embedder, Embedding, EmbeddingSpace,
    Error, Extraction, FileId, FileInfo, IndexEntry, IndexedUnit, Indexer, Language, LineSpan,
    Metadata, Pooling, Quantization, Question, Result, Retriever, Role, RowId, RowSet, Score, Seq,
    StoredChunk, merge_all,
};

use crate::{SemanticRetriever, VectorConfig, VectorIndex, VectorIndexer};

mod languages;

const DIMENSIONS: usize = 5;

fn entry(row: u64, vector: &[f32]) -> IndexEntry {
    let file = FileInfo {
        id: FileId::new("fil_1").unwrap(),
        path: "a".into(),
        title: String::new(),
        tags: Vec::new(),
        date: None,
        metadata: Metadata::default(),
    };
    let chunk = Chunk {
        level: ChunkLevel::Leaf,
        ordinal: 0,
        heading_path: Vec::new(),
        text: String::new(),
        bytes: ByteSpan { start: 0, end: 0 },
        lines: LineSpan { start: 1, end: 1 },
        language: Language::En,
    };
    let chunk = StoredChunk {
        row: RowId::new(row),
        id: ChunkId::new("chk_1").unwrap(),
        file: Arc::new(file),
        chunk,
    };
    IndexEntry {
        unit: IndexedUnit::Chunk(Arc::new(chunk)),
        vector: vector.to_vec(),
        extraction: Extraction::default(),
    }
}

fn only(rows: impl IntoIterator<Item = u64>) -> Allowed {
    Allowed::Only(Arc::new(rows.into_iter().map(RowId::new).collect::<RowSet>()))
}

fn writer(dir: &Path, config: &VectorConfig) -> Result<VectorIndexer> {
    VectorIndexer::open(dir, "space", DIMENSIONS, config)
}

fn reader(dir: &Path, config: &VectorConfig) -> Result<VectorIndex> {
    VectorIndex::open(dir, "space", DIMENSIONS, config)
}

/// Numbers from -1 to 1 that look random: a linear congruential generator.
fn noise(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    }
}

fn random(seed: u64, dimensions: usize) -> Vec<f32> {
    let mut next = noise(seed);
    std::iter::repeat_with(|| next() + 1e-6).skip(9).take(dimensions).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn equals_are_ordered_by_their_ids_and_not_by_their_rows() {
    let dir = tempfile::tempdir().unwrap();
    let vector = vec![0.5; DIMENSIONS];
    let mut writer = writer(dir.path(), &VectorConfig::default()).unwrap();
    // Two segments, of which the second has the smaller ids, and one that a merge makes.
    for (seq, rows) in [(1, 0..100_u64), (2, 100..103), (3, 103..400)] {
        let entries = rows.map(|row| {
            let mut entry = entry(row, &vector);
            if let IndexedUnit::Chunk(chunk) = &mut entry.unit {
                let id = ChunkId::new(format!("chk_{:016x}", 1_000 - row)).unwrap();
                Arc::get_mut(chunk).unwrap().id = id;
            }
            entry
        });
        writer.add(&entries.collect::<Vec<_>>()).unwrap();
        writer.commit(Seq::new(seq)).unwrap();
        let index = reader(dir.path(), &VectorConfig::default()).unwrap();
        let nearest = index.search(&vector, 5, &Allowed::All).unwrap();
        let rows: Vec<u64> = nearest.iter().map(|(row, _)| row.get()).collect();
        let last = index.len() as u64 - 1;
        assert_eq!(rows, (last - 4..=last).rev().collect::<Vec<_>>());
    }
}

/// The rows of a brute-force search must be those found, but for ties.
fn agree(
    model: &BTreeMap<u64, Vec<f32>>,
    index: &VectorIndex,
    query: &[f32],
    k: usize,
    allowed: &Allowed,
) {
    let found = index.search(query, k, allowed).unwrap();
    let may = model.iter().filter(|&(&row, _)| allowed.contains(RowId::new(row)));
    let mut expected: Vec<f64> = may.map(|(_, vector)| cosine(query, vector)).collect();
    expected.sort_by(|a, b| b.total_cmp(a));
    expected.truncate(k);
    assert_eq!(found.len(), expected.len());
    for (&(row, score), expected) in found.iter().zip(expected) {
        assert!((f64::from(score) - expected).abs() < 1e-5, "{score} {expected}");
        assert!((cosine(query, &model[&row.get()]) - f64::from(score)).abs() < 1e-5);
        assert!(allowed.contains(row));
    }
    let ordered = |pair: &[(RowId, f32)]| {
        pair[1].1.total_cmp(&pair[0].1).then(pair[0].0.cmp(&pair[1].0)).is_lt()
    };
    assert!(found.windows(2).all(ordered), "{found:?}");
}

#[derive(Clone, Debug)]
enum Step {
    Add(u64, u64),
    Remove(u64),
    Commit,
    Reopen,
    Clear,
    Compact,
    /// Plans and prepares a merge; the one before is dropped.
    Prepare,
    /// Applies it.
    Apply,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (0..40_u64, 0..1000_u64).prop_map(|(row, seed)| Step::Add(row, seed)),
        4 => (0..40_u64).prop_map(Step::Remove),
        4 => Just(Step::Commit),
        1 => Just(Step::Reopen),
        1 => Just(Step::Clear),
        1 => Just(Step::Compact),
        3 => Just(Step::Prepare),
        3 => Just(Step::Apply),
    ];
    prop::collection::vec(step, 1..50)
}

proptest! {
    #[test]
    fn an_index_is_what_was_committed(
        steps in steps(), limit in 0..12_usize, filter in prop::collection::btree_set(0..40_u64, 0..20), k in 0..50_usize
    ) {
        let dir = tempfile::tempdir()?;
        let config = VectorConfig { exact_limit: limit, graph_limit: limit, m: 4, ef_construction: 20, ..VectorConfig::default() };
        let mut indexer = writer(dir.path(), &config)?;
        let mut index = reader(dir.path(), &config)?;
        let (mut committed, mut pending) = (BTreeMap::new(), BTreeMap::new());
        let (mut seq, mut prepared) = (0, None);
        for step in steps {
            match step {
                Step::Add(row, seed) => {
                    indexer.add(&[entry(row, &random(seed, DIMENSIONS))])?;
                    pending.insert(row, random(seed, DIMENSIONS));
                }
                Step::Remove(row) => {
                    indexer.remove(&[RowId::new(row)])?;
                    pending.remove(&row);
                }
                Step::Commit => {
                    seq += 1;
                    indexer.commit(Seq::new(seq))?;
                    committed.clone_from(&pending);
                }
                Step::Compact => {
                    indexer.compact()?;
                    let deleted = indexer.deleted();
                    prop_assert_eq!(deleted, 0);
                }
                Step::Prepare => {
                    prepared = indexer.plan_merge()?;
                    if let Some(merge) = &mut prepared {
                        prop_assert!(merge.prepare(&|| false)?);
                    }
                }
                Step::Apply => {
                    if let Some(merge) = prepared.take() {
                        indexer.apply_merge(merge)?;
                    }
                }
                Step::Reopen => {
                    drop((indexer, prepared.take()));
                    indexer = writer(dir.path(), &config)?;
                    pending.clone_from(&committed);
                }
                Step::Clear => {
                    indexer.clear()?;
                    pending.clear();
                    committed.clear();
                    seq = 0;
                }
            }
            index = index.newest()?.unwrap_or(index);
            prop_assert_eq!(index.seq(), Seq::new(seq));
            prop_assert_eq!(indexer.committed(), Seq::new(seq));
            prop_assert_eq!(index.len(), committed.len());
        }
        merge_all(&mut indexer, &|| false)?;
        let segments = 1.0 + (committed.len().max(1) as f64).log(3.0);
        let files = std::fs::read_dir(dir.path())?.count().saturating_sub(1);
        prop_assert!(files as f64 <= 2.0 * segments, "{} files", files);
        index.verify()?;
        let query = random(4711, DIMENSIONS);
        for index in [&index, &reader(dir.path(), &config)?] {
            agree(&committed, index, &query, k, &Allowed::All);
            agree(&committed, index, &query, k, &only(filter.clone()));
            agree(&committed, index, &query, k, &only(filter.iter().copied().take(1)));
            prop_assert!(index.recall(100, 5)? <= 1.0);
        }
    }

    #[test]
    fn damage_is_an_error_or_changes_nothing(
        file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), bit in 0..8_u8, cut in any::<bool>()
    ) {
        let dir = tempfile::tempdir()?;
        let config = VectorConfig { graph_limit: 20, ..VectorConfig::default() };
        let mut indexer = writer(dir.path(), &config)?;
        for (rows, seq) in [(0..100_u64, 1), (100..130, 2), (130..135, 3)] {
            let entries: Vec<_> = rows.map(|row| entry(row, &random(row, DIMENSIONS))).collect();
            indexer.add(&entries)?;
            indexer.remove(&[RowId::new(seq)])?;
            indexer.commit(Seq::new(seq))?;
        }
        let query = random(4711, DIMENSIONS);
        let search = || reader(dir.path(), &config)?.search(&query, 10, &Allowed::All);
        let right = search()?;
        let mut files: Vec<_> = std::fs::read_dir(dir.path())?.map(|f| f.map(|f| f.path())).collect::<Result<_, _>>()?;
        files.sort();
        prop_assert!(files.len() >= 4);
        let path = &files[file.index(files.len())];
        let mut bytes = std::fs::read(path)?;
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
        std::fs::write(path, bytes)?;
        match search() {
            Ok(found) => prop_assert_eq!(found, right),
            Err(Error::Corrupt { .. } | Error::UnsupportedFormat { .. } | Error::Io { .. }) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

#[test]
fn a_missing_file_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let config = VectorConfig::default();
    let mut indexer = writer(dir.path(), &config).unwrap();
    indexer.add(&[entry(1, &random(1, DIMENSIONS))]).unwrap();
    indexer.commit(Seq::new(1)).unwrap();
    std::fs::remove_file(dir.path().join("00000000.vectors")).unwrap();
    assert!(matches!(reader(dir.path(), &config), Err(Error::Corrupt { .. })));
    assert!(matches!(writer(dir.path(), &config), Err(Error::Corrupt { .. })));
}

#[test]
fn another_space_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let config = VectorConfig::default();
    let mut indexer = writer(dir.path(), &config).unwrap();
    indexer.add(&[entry(1, &random(1, DIMENSIONS))]).unwrap();
    indexer.commit(Seq::new(1)).unwrap();
    let other = VectorIndexer::open(dir.path(), "other", DIMENSIONS, &config).unwrap_err();
    assert!(
        matches!(&other, Error::ModelMismatch { expected, found } if expected == "other" && found == "space")
    );
    let other = VectorIndex::open(dir.path(), "other", DIMENSIONS, &config).unwrap_err();
    assert!(matches!(other, Error::ModelMismatch { .. }));
    let longer = VectorIndex::open(dir.path(), "space", 6, &config).unwrap_err();
    assert!(matches!(longer, Error::DimensionMismatch { expected: 5, provided: 6 }));
    let query = reader(dir.path(), &config).unwrap().search(&[1.0], 1, &Allowed::All).unwrap_err();
    assert!(matches!(query, Error::DimensionMismatch { expected: 5, provided: 1 }));
}

#[test]
fn a_bad_vector_spoils_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut indexer = writer(dir.path(), &VectorConfig::default()).unwrap();
    let good = entry(1, &random(1, DIMENSIONS));
    for bad in [vec![0.0; 5], vec![f32::NAN; 5], vec![1.0; 4], Vec::new()] {
        assert!(indexer.add(&[good.clone(), entry(2, &bad)]).is_err(), "{bad:?}");
    }
    indexer.commit(Seq::new(1)).unwrap();
    assert!(indexer.is_empty());
}

#[test]
fn a_reader_keeps_its_state_while_files_go_away() {
    let dir = tempfile::tempdir().unwrap();
    let config = VectorConfig::default();
    let mut indexer = writer(dir.path(), &config).unwrap();
    let mut old = reader(dir.path(), &config).unwrap();
    assert!(old.is_empty());
    for row in 0..20 {
        indexer.add(&[entry(row, &random(row, DIMENSIONS))]).unwrap();
        indexer.commit(Seq::new(row + 1)).unwrap();
        merge_all(&mut indexer, &|| false).unwrap();
        if row == 9 {
            old = old.newest().unwrap().unwrap();
            assert_eq!(old.seq(), Seq::new(10));
        }
    }
    assert_eq!(old.search(&random(1, DIMENSIONS), 50, &Allowed::All).unwrap().len(), 10);
    let new = old.newest().unwrap().unwrap();
    assert_eq!((new.seq(), new.len(), old.len()), (Seq::new(20), 20, 10));
    assert!(new.newest().unwrap().is_none());
    // 20 commits of one vector each: few files are left.
    assert!(std::fs::read_dir(dir.path()).unwrap().count() <= 5);
}

#[test]
fn what_a_crash_left_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let config = VectorConfig::default();
    let mut indexer = writer(dir.path(), &config).unwrap();
    indexer.add(&[entry(1, &random(1, DIMENSIONS))]).unwrap();
    indexer.commit(Seq::new(1)).unwrap();
    drop(indexer);
    for name in ["00000001.vectors", "00000000.graph", "MANIFEST.tmp"] {
        std::fs::write(dir.path().join(name), "half").unwrap();
    }
    let mut indexer = writer(dir.path(), &config).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    indexer.add(&[entry(2, &random(2, DIMENSIONS))]).unwrap();
    indexer.commit(Seq::new(2)).unwrap();
    assert_eq!(reader(dir.path(), &config).unwrap().len(), 2);
}

#[test]
fn a_failed_commit_is_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let config = VectorConfig::default();
    let mut indexer = writer(dir.path(), &config).unwrap();
    indexer.add(&[entry(1, &random(1, DIMENSIONS))]).unwrap();
    // A directory in the way of the manifest's temporary file.
    let obstacle = dir.path().join("MANIFEST.tmp");
    std::fs::create_dir(&obstacle).unwrap();
    assert!(matches!(indexer.commit(Seq::new(1)), Err(Error::Io { .. })));
    assert_eq!(indexer.committed(), Seq::ZERO);
    std::fs::remove_dir(&obstacle).unwrap();
    indexer.commit(Seq::new(1)).unwrap();
    assert_eq!(reader(dir.path(), &config).unwrap().len(), 1);
}

/// Clusters, as embeddings have them: 60 centres, and noise around each.
fn clustered(count: u64, dimensions: usize) -> Vec<Vec<f32>> {
    let vector = |i: u64| {
        let (centre, around) = (random(i % 60, dimensions), random(1000 + i, dimensions));
        centre.iter().zip(around).map(|(c, a)| c + 0.6 * a).collect()
    };
    (0..count).map(vector).collect()
}

#[test]
fn a_walk_finds_nearly_all_and_never_what_is_deleted_or_not_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let config = VectorConfig { graph_limit: 500, ..VectorConfig::default() };
    let vectors = clustered(4000, 32);
    let mut indexer = VectorIndexer::open(dir.path(), "space", 32, &config).unwrap();
    let entries: Vec<_> = (0..).zip(&vectors).map(|(row, vector)| entry(row, vector)).collect();
    indexer.add(&entries).unwrap();
    indexer.commit(Seq::new(1)).unwrap();
    assert!(!merge_all(&mut indexer, &|| true).unwrap());
    assert!(merge_all(&mut indexer, &|| false).unwrap());
    let index = VectorIndex::open(dir.path(), "space", 32, &config).unwrap();
    assert!(index.recall(200, 10).unwrap() >= 0.95, "{}", index.recall(200, 10).unwrap());

    indexer.remove(&(0..4000).step_by(5).map(RowId::new).collect::<Vec<_>>()).unwrap();
    indexer.commit(Seq::new(2)).unwrap();
    let index = index.newest().unwrap().unwrap();
    let odd = only((0..4000).filter(|row| row % 2 == 1));
    let (mut found, mut wanted) = (0, 0);
    for query in vectors.iter().step_by(40) {
        let live = |row: u64| !row.is_multiple_of(5) && row % 2 == 1;
        let mut exact: Vec<_> = (0..)
            .zip(&vectors)
            .filter(|&(row, _)| live(row))
            .map(|(row, v)| (cosine(query, v), row))
            .collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let near = index.search(query, 10, &odd).unwrap();
        assert_eq!(near.len(), 10);
        assert!(near.iter().all(|(row, _)| live(row.get())));
        found +=
            near.iter().filter(|(row, _)| exact[..10].iter().any(|e| e.1 == row.get())).count();
        wanted += 10;
    }
    assert!(found * 100 >= 95 * wanted, "{found} of {wanted}");
}

/// The `k` nearest of some rows by a comparison of all in `f64`.
fn nearest(vectors: &[Vec<f32>], query: &[f32], k: usize, may: impl Fn(u64) -> bool) -> Vec<u64> {
    let rows = (0..).zip(vectors).filter(|&(row, _)| may(row));
    let mut exact: Vec<(f64, u64)> = rows.map(|(row, v)| (cosine(query, v), row)).collect();
    exact.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    exact.into_iter().take(k).map(|(_, row)| row).collect()
}

/// Puts vectors into an index, one commit for each number of them.
fn index_of(dir: &Path, vectors: &[Vec<f32>], commits: &[usize], config: &VectorConfig) {
    let dimensions = vectors[0].len();
    let mut indexer = VectorIndexer::open(dir, "space", dimensions, config).unwrap();
    let mut rows = (0..).map(RowId::new).zip(vectors.iter().map(Vec::as_slice));
    for (seq, &count) in (1..).zip(commits) {
        indexer.put(rows.by_ref().take(count)).unwrap();
        indexer.commit(Seq::new(seq)).unwrap();
    }
}

/// Goes through the lists of every segment that has some.
const LISTS: VectorConfig = VectorConfig {
    exact_limit: 0,
    graph_limit: usize::MAX,
    m: 16,
    ef_construction: 1,
    ef_search: 1,
};

#[test]
fn lists_miss_next_to_nothing_and_hold_nothing_that_is_deleted_or_not_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = clustered(12_000, 64);
    index_of(dir.path(), &vectors, &[12_000], &LISTS);
    let index = VectorIndex::open(dir.path(), "space", 64, &LISTS).unwrap();
    let recall = index.recall(100, 10).unwrap();
    assert!(recall >= 0.99, "{recall}");

    let mut indexer = VectorIndexer::open(dir.path(), "space", 64, &LISTS).unwrap();
    indexer.remove(&(0..12_000).step_by(5).map(RowId::new).collect::<Vec<_>>()).unwrap();
    indexer.commit(Seq::new(2)).unwrap();
    let index = index.newest().unwrap().unwrap();
    let odd = only((0..12_000).filter(|row| row % 2 == 1));
    for k in [1, 10, 200] {
        let (mut found, mut wanted) = (0, 0);
        for query in vectors.iter().step_by(500) {
            let may = |row: u64| !row.is_multiple_of(5) && row % 2 == 1;
            let exact = nearest(&vectors, query, k, may);
            let near = index.search(query, k, &odd).unwrap();
            assert_eq!(near.len(), k);
            assert!(near.iter().all(|(row, _)| may(row.get())));
            found += near.iter().filter(|(row, _)| exact.contains(&row.get())).count();
            wanted += k;
        }
        assert!(found * 100 >= 99 * wanted, "{found} of {wanted}");
    }
    let all = index.search(&vectors[0], 12_000, &Allowed::All).unwrap();
    assert_eq!(all.len(), 9_600, "a search for more than there is finds all");
}

#[test]
fn however_vectors_are_laid_out_answers_are_the_same() {
    let vectors = clustered(22_000, 48);
    let layouts: [&[usize]; 3] = [&[22_000], &[13_000, 9_000], &[9_000, 400, 12_500, 100]];
    let indexes = layouts.map(|commits| {
        let dir = tempfile::tempdir().unwrap();
        index_of(dir.path(), &vectors, commits, &LISTS);
        (VectorIndex::open(dir.path(), "space", 48, &LISTS).unwrap(), dir)
    });
    let (mut same, mut all) = (0, 0);
    for query in vectors.iter().step_by(300) {
        let answers =
            indexes.each_ref().map(|(index, _)| index.search(query, 20, &Allowed::All).unwrap());
        // What one layout misses, one in a hundred at most, another may find.
        same += answers.iter().filter(|answer| **answer == answers[0]).count();
        all += answers.len();
    }
    assert!(same * 100 >= 98 * all, "{same} of {all}");
}

#[test]
fn copies_of_a_vector_are_all_found() {
    let dir = tempfile::tempdir().unwrap();
    let vectors: Vec<_> = (0..9_000).map(|row| random(row / 3_000, DIMENSIONS)).collect();
    index_of(dir.path(), &vectors, &[9_000], &LISTS);
    let index = reader(dir.path(), &LISTS).unwrap();
    let found = index.search(&random(1, DIMENSIONS), 3_001, &Allowed::All).unwrap();
    let rows: Vec<u64> = found.iter().map(|(row, _)| row.get()).collect();
    assert!(rows[..3_000].iter().copied().eq(3_000..6_000));
}

#[test]
fn damage_of_lists_is_an_error_or_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let vectors: Vec<_> = (0..8_500).map(|row| random(row, DIMENSIONS)).collect();
    index_of(dir.path(), &vectors, &[8_500], &LISTS);
    let query = random(4711, DIMENSIONS);
    let search = || reader(dir.path(), &LISTS)?.search(&query, 10, &Allowed::All);
    let right = search().unwrap();
    let path = dir.path().join("00000000.vectors");
    let good = std::fs::read(&path).unwrap();
    let vectors_end = 8_500 * (8 + 4 + 64 + 4 * DIMENSIONS);
    assert!(good.len() > vectors_end + 100_000, "there are lists");
    for at in (vectors_end..good.len()).step_by(2_111).chain([40, 41, 48, 56]) {
        let mut bytes = good.clone();
        bytes[at] ^= 4;
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
        match search() {
            Ok(found) => assert_eq!(found, right),
            Err(error) => assert!(matches!(error, Error::Corrupt { .. }), "{error}"),
        }
    }
}

#[test]
fn more_than_a_walk_can_reach_is_still_found() {
    let dir = tempfile::tempdir().unwrap();
    let config = VectorConfig { graph_limit: 10, ef_search: 1, ..VectorConfig::default() };
    let mut indexer = writer(dir.path(), &config).unwrap();
    // Copies of one vector crowd each other out of every list of links.
    let entries: Vec<_> = (0..300).map(|row| entry(row, &random(row / 100, DIMENSIONS))).collect();
    indexer.add(&entries).unwrap();
    indexer.commit(Seq::new(1)).unwrap();
    let index = reader(dir.path(), &config).unwrap();
    for k in [1, 10, 100, 299, 300, 1000] {
        let found = index.search(&random(1, DIMENSIONS), k, &Allowed::All).unwrap();
        assert_eq!(found.len(), k.min(300));
    }
}

/// Embeds a text by its length, and counts how often it is asked.
#[derive(Debug)]
struct ByLength {
    space: EmbeddingSpace,
    asked: AtomicUsize,
}

impl ByLength {
    fn new() -> Self {
        let space = EmbeddingSpace {
            model: "by-length".into(),
            sha256: String::new(),
            dimensions: DIMENSIONS,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            quantization: Quantization::F32,
            max_tokens: 512,
        };
        Self { space, asked: AtomicUsize::new(0) }
    }
}

impl Embedder for ByLength {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn cosine_range(&self) -> (f32, f32) {
        (0.5, 1.0)
    }

    fn embed(&self, _: Role, texts: &[&str]) -> Result<Array2<f32>> {
        self.asked.fetch_add(texts.len(), Ordering::Relaxed);
        let numbers = texts.iter().flat_map(|text| random(text.len() as u64, DIMENSIONS));
        Ok(Array2::from_shape_vec((texts.len(), DIMENSIONS), numbers.collect()).unwrap())
    }
}

fn question(text: &str, embedding: Option<Vec<f32>>) -> Question {
    let embedding = embedding.map(|vector| Embedding::new(vector).unwrap());
    Question { text: text.into(), embedding, ..Question::default() }
}

#[test]
fn the_retriever_embeds_once_ranks_and_maps() {
    let dir = tempfile::tempdir().unwrap();
    let config = VectorConfig::default();
    let embedder = Arc::new(ByLength::new());
    let retriever = SemanticRetriever::open(dir.path(), embedder.clone(), &config).unwrap();
    let list = retriever.retrieve(&question("a question", None), 20, &Allowed::All).unwrap();
    assert_eq!(list.hits(), []);
    assert_eq!(embedder.asked.load(Ordering::Relaxed), 0, "an empty index asks no model");

    let fingerprint = embedder.space().fingerprint();
    let mut indexer = VectorIndexer::open(dir.path(), &fingerprint, DIMENSIONS, &config).unwrap();
    let entries: Vec<_> = (0..300).map(|row| entry(row, &random(row, DIMENSIONS))).collect();
    indexer.add(&entries).unwrap();
    indexer.commit(Seq::new(5)).unwrap();
    let retriever = retriever.newest().unwrap().unwrap();
    assert_eq!(retriever.seq(), Seq::new(5));
    let ask = |question: &Question| retriever.retrieve(question, 20, &Allowed::All).unwrap();

    let list = ask(&question("a question", None));
    assert_eq!(ask(&question("  a \n question ", None)), list);
    assert_eq!(embedder.asked.load(Ordering::Relaxed), 1, "the same words are embedded once");
    assert_eq!(list.hits().len(), 20);
    assert_eq!(list.hits()[0].row, RowId::new("a question".len() as u64));
    for hit in list.hits() {
        let expected = ((hit.raw_score - 0.5) / 0.5).clamp(0.0, 1.0);
        assert!((hit.relevance.get() - expected).abs() < 1e-6);
    }
    let all = retriever.search(&random(10, DIMENSIONS), 300, &Allowed::All).unwrap();
    assert_eq!(list.floor().to_bits(), all[199].1.to_bits());
    // The model's range is ½, and a fifth of it is usual.
    let confidence = (all[0].1 - all[9].1) / 0.5 / 0.2;
    assert!((list.confidence() - confidence).abs() < 1e-5);

    let least = Score::clamped(f32::midpoint(
        list.hits()[4].relevance.get(),
        list.hits()[5].relevance.get(),
    ));
    let cut = ask(&Question { min_similarity: Some(least), ..question("a question", None) });
    assert_eq!(cut.hits(), &list.hits()[..5], "a cut-off keeps what is above it");
    assert_eq!((cut.floor(), cut.confidence()), (list.floor(), list.confidence()));

    let given = ask(&question("", Some(random(10, DIMENSIONS))));
    assert_eq!(given, list);
    assert_eq!(ask(&question("", None)).hits(), []);
    assert_eq!(embedder.asked.load(Ordering::Relaxed), 1);
    assert_eq!(retriever.retrieve(&question("x", None), 20, &only([])).unwrap().hits(), []);
    let few = retriever.retrieve(&question("a question", None), 20, &only([3, 4])).unwrap();
    assert_eq!(few.hits().len(), 2);
    let above = (few.hits()[0].raw_score - 0.5).max(0.0) / 0.5 / 0.2;
    assert!((few.confidence() - above).abs() < 1e-5);
}
