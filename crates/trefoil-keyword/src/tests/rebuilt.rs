//! An index answers as one rebuilt of what is left in it.

use std::collections::BTreeMap;

use trefoil_core::Digest;

use super::*;
use crate::{
    candidates::{of_postings, of_rows},
    query::QueryTerms,
};

/// Words from common to rare.
const WORDS: [&str; 9] =
    ["tide", "sea", "the", "moon", "harbour", "keeper", "storm", "lantern", "quay"];
/// Asked of each index: common and rare words, several, a phrase, one that is misspelt.
const QUESTIONS: [&str; 7] = [
    "tide",
    "quay",
    "sea moon",
    "the lantern of the keeper",
    "tide sea moon harbour keeper storm lantern quay",
    "harbur lantem",
    "the",
];

/// Numbers without end that a seed decides (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) % end
    }

    /// Up to `most` words, of which the common ones are many.
    fn words(&mut self, most: u64) -> String {
        let count = self.below(most + 1);
        let word = |random: &mut Self| {
            let rarest = 1 + random.below(WORDS.len() as u64);
            WORDS[usize::try_from(random.below(rarest)).unwrap()]
        };
        (0..count).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }
}

/// What a passage says; its id is that of its name.
#[derive(Clone, Debug)]
struct Passage {
    name: u64,
    title: String,
    heading: String,
    text: String,
}

impl Passage {
    fn entry(&self, row: u64) -> IndexEntry {
        let mut entry = passage(row, &self.title, &self.heading, &self.text);
        if let IndexedUnit::Chunk(chunk) = &mut entry.unit {
            let hash = Digest::new().with(&self.name.to_le_bytes()).get();
            Arc::get_mut(chunk).unwrap().id = ChunkId::new(format!("chk_{hash:016x}")).unwrap();
        }
        entry
    }
}

/// An index and what should be in it.
struct History {
    fixture: Fixture,
    live: BTreeMap<u64, (u64, Passage)>,
    rows: u64,
    seq: u64,
    random: Random,
}

impl History {
    fn new(seed: u64) -> Self {
        let (fixture, live) = (Fixture::new(&[]), BTreeMap::new());
        Self { fixture, live, rows: 0, seq: 1, random: Random(seed) }
    }

    /// Adds passages, or changes those of these names, in their rows or in new ones.
    fn add(&mut self, names: impl Iterator<Item = u64>) {
        let mut entries = Vec::new();
        for name in names {
            let passage = Passage {
                name,
                title: self.random.words(3),
                heading: self.random.words(2),
                text: self.random.words(60),
            };
            let known = self.live.get(&name).map(|(row, _)| *row);
            let row = known.filter(|_| self.random.below(2) == 0).unwrap_or_else(|| {
                self.rows += 1;
                self.rows
            });
            if let Some(other) = known.filter(|&known| known != row) {
                self.fixture.indexer.remove(&[RowId::new(other)]).unwrap();
            }
            entries.push(passage.entry(row));
            self.live.insert(name, (row, passage));
        }
        self.fixture.indexer.add(&entries).unwrap();
    }

    fn remove(&mut self, names: impl Iterator<Item = u64>) {
        let gone: Vec<RowId> =
            names.filter_map(|name| Some(RowId::new(self.live.remove(&name)?.0))).collect();
        self.fixture.indexer.remove(&gone).unwrap();
    }

    fn commit(&mut self) {
        self.seq += 1;
        self.fixture.commit(self.seq);
    }

    /// The names by row.
    fn names(&self) -> BTreeMap<RowId, u64> {
        self.live.iter().map(|(&name, (row, _))| (RowId::new(*row), name)).collect()
    }

    /// An index of the same passages, rebuilt in the order of their names.
    fn rebuilt(&self) -> Self {
        let mut new = Self::new(0);
        let passages = self.live.iter().zip(1..);
        let entries: Vec<_> =
            passages.clone().map(|((_, (_, passage)), row)| passage.entry(row)).collect();
        new.live = passages.map(|((&name, (_, one)), row)| (name, (row, one.clone()))).collect();
        new.fixture.add(&entries, 2);
        new
    }

    /// What a question finds: names, scores and relevances to the bit, floor and confidence.
    fn answer(&self, question: &Question, depth: usize) -> (Vec<(u64, u32, u32)>, u32, u32) {
        let names = self.names();
        let list = self.fixture.retriever.retrieve(question, depth, &Allowed::All).unwrap();
        let hits = list
            .hits()
            .iter()
            .map(|hit| (names[&hit.row], hit.raw_score.to_bits(), hit.relevance.get().to_bits()));
        (hits.collect(), list.floor().to_bits(), list.confidence().to_bits())
    }

    /// The names of the best `limit` candidates among those below `end`, by the postings and by
    /// the rows.
    fn best(&self, text: &str, end: u64, limit: usize) -> [BTreeSet<u64>; 2] {
        let (retriever, names) = (&self.fixture.retriever, self.names());
        let question = Question { text: text.into(), ..Question::default() };
        let query = QueryTerms::analyze(&Words, &question);
        let snapshot = &retriever.snapshot;
        let scorer = retriever.rescorer(&snapshot.segments, &query).unwrap();
        let wanted = self.live.range(..end).map(|(_, (row, _))| RowId::new(*row)).collect();
        let wanted = Arc::new(wanted);
        let by_postings =
            of_postings(snapshot, &scorer, &Allowed::Only(Arc::clone(&wanted)), limit).unwrap();
        let by_rows = of_rows(snapshot, &scorer, &wanted, limit).unwrap();
        [by_postings, by_rows].map(|found| found.iter().map(|one| names[&one.row]).collect())
    }

    /// Whether each name holds each word of a question, as far as that is told apart.
    fn coverage(&self, text: &str, names: impl Iterator<Item = u64>) -> Vec<u32> {
        let question = Question { text: text.into(), ..Question::default() };
        let row = |name: &u64| Some(RowId::new(self.live.get(name)?.0));
        let rows: Vec<RowId> = names.filter_map(|name| row(&name)).collect();
        let wanted: RowSet = rows.iter().copied().collect();
        let coverage = self.fixture.retriever.term_coverage(&question, &wanted).unwrap();
        rows.iter().map(|&row| coverage.gain(RowId::new(u64::MAX), row).to_bits()).collect()
    }

    fn compare(&self, new: &Self) {
        for text in QUESTIONS {
            for rewrite in [QueryRewrite::None, QueryRewrite::Fuzzy] {
                let question = Question { text: text.into(), rewrite, ..Question::default() };
                for depth in [50, 10_000] {
                    let answer = self.answer(&question, depth);
                    assert_eq!(answer, new.answer(&question, depth), "{question:?} {depth}");
                }
            }
            for (end, limit) in [(u64::MAX, 1), (u64::MAX, 7), (400, 20), (30, 5)] {
                let [by_postings, by_rows] = self.best(text, end, limit);
                assert_eq!(by_postings, by_rows, "{text} {end} {limit}");
                assert_eq!(by_postings, new.best(text, end, limit)[0], "{text} {end} {limit}");
            }
            for end in [4, 1_000] {
                assert_eq!(self.coverage(text, 0..end), new.coverage(text, 0..end), "{text}");
            }
        }
    }
}

/// A step of a history.
#[derive(Clone, Debug)]
enum Step {
    Add(u64, u64),
    Remove(u64, u64),
    /// Every so-manieth.
    Thin(u64),
    Commit,
    Compact,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let names = || (0..700_u64, 1..150_u64);
    let step = prop_oneof![
        3 => names().prop_map(|(from, count)| Step::Add(from, from + count)),
        2 => names().prop_map(|(from, count)| Step::Remove(from, from + count)),
        2 => (2..12_u64).prop_map(Step::Thin),
        4 => Just(Step::Commit),
        1 => Just(Step::Compact),
    ];
    proptest::collection::vec(step, 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_history_answers_as_a_rebuilt_index(seed: u64, first in 0..700_u64, steps in steps()) {
        let mut history = History::new(seed);
        history.add(0..first);
        history.commit();
        for step in steps {
            match step {
                Step::Add(from, to) => history.add(from..to),
                Step::Remove(from, to) => history.remove(from..to),
                Step::Thin(each) => history.remove((0..1_000).filter(|name| name % each == 0)),
                Step::Commit => history.commit(),
                Step::Compact => history.fixture.indexer.compact().unwrap(),
            }
        }
        history.commit();
        history.compare(&history.rebuilt());
    }
}

#[test]
fn equals_are_found_by_their_ids_also_at_the_cut() {
    let mut history = History::new(1);
    let equal = |name| Passage {
        name,
        title: String::new(),
        heading: String::new(),
        text: "low tide".to_owned(),
    };
    for (name, row) in (0..900).zip((1..=900).rev()) {
        history.live.insert(name, (row, equal(name)));
    }
    let entries: Vec<_> = history.live.values().map(|(row, passage)| passage.entry(*row)).collect();
    for (seq, batch) in (2..).zip(entries.chunks(130)) {
        history.fixture.add(batch, seq);
        history.seq = seq;
    }
    history.remove((0..900).step_by(5));
    history.commit();
    history.compare(&history.rebuilt());
    let question = Question { text: "tide".into(), ..Question::default() };
    let (hits, ..) = history.answer(&question, 10_000);
    assert_eq!(hits.len(), 720);
    let hash = |name: u64| Digest::new().with(&name.to_le_bytes()).get();
    assert!(hits.is_sorted_by_key(|&(name, ..)| hash(name)));
}
