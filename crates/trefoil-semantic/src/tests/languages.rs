//! Texts of several languages in one index.

use trefoil_core::{LanguageMeans, QueryVectors};

use super::*;

/// Languages of rows, in turn; a third of them in runs, as the chunks of a document are.
fn language_of(row: u64) -> Language {
    let place = if row.is_multiple_of(3) { row / 50 } else { row };
    Language::ALL[usize::try_from(place % 3).unwrap()]
}

fn entry_in(language: Language, row: u64, vector: &[f32]) -> IndexEntry {
    let mut entry = entry(row, vector);
    if let IndexedUnit::Chunk(chunk) = &mut entry.unit {
        Arc::get_mut(chunk).unwrap().chunk.language = language;
    }
    entry
}

fn vectors_of(seed: u64, dimensions: usize) -> QueryVectors {
    let means =
        [(Language::En, 1), (Language::Ja, 2), (Language::Ko, 3)].map(|(language, seed)| {
            (language, random(seed, dimensions).into_iter().map(|x| 0.3 * x).collect())
        });
    let question = Question {
        language: Language::Ja,
        other_languages: vec![Language::En, Language::Ko],
        ..Question::default()
    };
    QueryVectors::of(
        &question,
        &random(seed, dimensions),
        Some(&LanguageMeans::new(means).unwrap()),
    )
}

/// The cosines of a search are those of a comparison of each row with the vector of its language.
fn check(dimensions: usize, rows: u64, config: &VectorConfig) {
    let dir = tempfile::tempdir().unwrap();
    let vectors: Vec<Vec<f32>> = (0..rows).map(|row| random(row + 9, dimensions)).collect();
    let vector = |row: u64| vectors[usize::try_from(row).unwrap()].as_slice();
    let mut indexer = VectorIndexer::open(dir.path(), "space", dimensions, config).unwrap();
    for (seq, part) in [(1, 0..rows - 20), (2, rows - 20..rows)] {
        let entries = part.map(|row| entry_in(language_of(row), row, vector(row)));
        indexer.add(&entries.collect::<Vec<_>>()).unwrap();
        indexer.commit(Seq::new(seq)).unwrap();
    }
    indexer.remove(&(0..rows).step_by(7).map(RowId::new).collect::<Vec<_>>()).unwrap();
    indexer.commit(Seq::new(3)).unwrap();
    let index = VectorIndex::open(dir.path(), "space", dimensions, config).unwrap();
    let odd = only((0..rows).filter(|row| row % 2 == 1));
    for (seed, allowed) in [(70, &Allowed::All), (71, &odd), (72, &only([5, 8, 9, rows - 1]))] {
        let asked = vectors_of(seed, dimensions);
        let expected = |row: u64| cosine(asked.for_language(Some(language_of(row))), vector(row));
        let live =
            (0..rows).filter(|&row| !row.is_multiple_of(7) && allowed.contains(RowId::new(row)));
        let mut exact: Vec<f64> = live.map(expected).collect();
        exact.sort_by(|a, b| b.total_cmp(a));
        let found = index.search_by_language(&asked, 20, allowed).unwrap();
        assert_eq!(found.len(), exact.len().min(20));
        for (&(row, score), exact) in found.iter().zip(exact) {
            assert!((f64::from(score) - expected(row.get())).abs() < 1e-5);
            assert!((f64::from(score) - exact).abs() < 1e-5, "{score} is not {exact}");
        }
    }
}

#[test]
fn every_text_is_compared_with_the_vector_of_its_language() {
    check(DIMENSIONS, 400, &VectorConfig::default());
}

#[test]
fn lists_are_searched_for_each_language() {
    check(32, 9_000, &LISTS);
}

#[test]
fn languages_stay_with_their_vectors_when_segments_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let config = VectorConfig::default();
    let mut indexer = writer(dir.path(), &config).unwrap();
    for row in 0..40 {
        let vector = random(row, DIMENSIONS);
        indexer.add(&[entry_in(language_of(row), row, &vector)]).unwrap();
        indexer.commit(Seq::new(row + 1)).unwrap();
    }
    let asked = vectors_of(90, DIMENSIONS);
    let search = || {
        let index = reader(dir.path(), &config).unwrap();
        index.search_by_language(&asked, 40, &Allowed::All).unwrap()
    };
    let before = search();
    merge_all(&mut indexer, &|| false).unwrap();
    assert_eq!(search(), before);
    indexer.remove(&[RowId::new(3)]).unwrap();
    indexer.commit(Seq::new(50)).unwrap();
    indexer.compact().unwrap();
    let without: Vec<_> = before.into_iter().filter(|(row, _)| row.get() != 3).collect();
    assert_eq!(search(), without);
}

#[test]
fn a_question_within_one_language_is_asked_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let config = VectorConfig::default();
    let mut indexer = writer(dir.path(), &config).unwrap();
    let entries: Vec<IndexEntry> =
        (0..300).map(|row| entry_in(Language::Ja, row, &random(row, DIMENSIONS))).collect();
    indexer.add(&entries).unwrap();
    indexer.commit(Seq::new(1)).unwrap();
    let index = reader(dir.path(), &config).unwrap();
    let asked = vectors_of(91, DIMENSIONS);
    let plain = index.search(asked.own(), 50, &Allowed::All).unwrap();
    assert_eq!(index.search_by_language(&asked, 50, &Allowed::All).unwrap(), plain);
}
