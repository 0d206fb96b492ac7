//! The first passages, read together with the question.

mod reading;

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use trefoil_core::{
    Deadline, Fused, Passage, Ranked, RerankPlan, Reranker, Result, RowId, RowSet, Score,
};

pub(crate) use self::reading::{Reading, TIME_IS_UP};
use crate::{
    background::catch_panics,
    models::FoundRerankers,
    search::{
        blend::{NEUTRAL, Prior, blend_with, in_prior_order, lift_named},
        relevance::final_scores,
    },
};

/// How strongly the passage of the first row mentions the subject of the second, 0–1.
type Names<'a> = &'a dyn Fn(RowId, RowId) -> f32;

/// What token vectors say of rows, in a list that a cross-encoder reads or that none does.
type CompareTokens<'a> = &'a dyn Fn(&[RowId], bool) -> Result<Compared>;

/// What the indexes know of passages without reading them.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// What the token vectors that are kept say of rows.
    pub(crate) compare_tokens: CompareTokens<'a>,
    /// Which passages name what others are about.
    pub(crate) names: Names<'a>,
    /// How much it counts what token vectors and a reader say, 0–1.
    pub(crate) reading_weight: f32,
    /// Whether what is read is graded: then it is ordered by what the reader says of it.
    pub(crate) graded: bool,
}

/// What kept token vectors say of rows: the average of the others of one that has none, nothing if
/// too few have any.
#[derive(Debug)]
pub(crate) enum Compared {
    /// The log-odds of each, by which a list is ordered before any of it is read.
    Before(BTreeMap<RowId, f32>),
    /// The score of each, in place of reading.
    Instead(BTreeMap<RowId, Score>),
}

impl Compared {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Before(log_odds) if log_odds.is_empty())
    }
}

impl Default for Compared {
    fn default() -> Self {
        Self::Before(BTreeMap::new())
    }
}

/// A reranker that cannot read so many passages from the top leaves the list to one that can.
const ENOUGH: usize = 10;

/// Passages in their final order, and why not all were read that should have been.
#[derive(Debug)]
pub(crate) struct Reranked {
    pub(crate) ranked: Vec<Ranked>,
    /// Whether token vectors that are kept say something of it.
    pub(crate) compared: bool,
    pub(crate) degraded: Option<String>,
}

/// Reads the head of `passages` as `plan` says, the first few of it if that is not thorough, and
/// orders it by the blend of all scores, lifted by what the first of them name; what is not read
/// follows. What is kept of their tokens by a model of late interaction orders passages before
/// they are read (decision 028), as what is kept by the embedder does where the embedder reads
/// (decision 037). A list in another language than the question is ordered by what is kept alone,
/// if that says something; what cannot be compared is read, and `degraded` says why. Where all was
/// read and its scores do not tell which passage is better ([`Reranker::orders`]), the order before
/// reading stays.
pub(crate) fn rerank(
    found: &FoundRerankers,
    plan: Option<&RerankPlan>,
    question: &str,
    passages: Vec<Passage>,
    known: Known<'_>,
    deadline: &Deadline,
) -> Reranked {
    let (names, weight) = (known.names, known.reading_weight);
    let Some(plan) = plan.filter(|_| !passages.is_empty()) else {
        return Reranked { ranked: unread(passages, names), compared: false, degraded: None };
    };
    let nothing = RowSet::default();
    let is_read = {
        let texts: Vec<String> = passages.iter().take(plan.passages).map(readable).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        found.rerankers.iter().any(|one| head(one, question, &texts).is_some())
    };
    let rows: Vec<RowId> = passages.iter().take(plan.passages).map(|one| one.chunk.row).collect();
    let (compared, mut degraded) = compared(known, plan, &rows, is_read);
    // What none of the others reads, the embedder does.
    let readers: Vec<&Arc<dyn Reranker>> =
        if is_read { found.all().collect() } else { found.by_tokens.iter().collect() };
    let tokens = match compared {
        // What is not read stays in the order of fusion.
        Compared::Before(_) if readers.is_empty() => BTreeMap::new(),
        Compared::Before(tokens) => tokens,
        Compared::Instead(mut scores) => {
            // A later page has the scores that the first one had.
            for row in rows.iter().skip(plan.limit.unwrap_or(usize::MAX)) {
                scores.remove(row);
            }
            let candidates = candidates(passages, &BTreeMap::new(), &nothing, weight);
            let ranked = in_order(candidates, &scores, Some(names));
            return Reranked { ranked, compared: true, degraded };
        }
    };
    let compared = !tokens.is_empty();
    let candidates = candidates(passages, &tokens, &nothing, weight);
    let texts: Vec<String> =
        candidates.iter().take(plan.passages).map(|one| readable(&one.passage)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let reads = |one| head(one, question, &texts);
    let priors: Vec<Prior> = candidates.iter().map(|one| one.prior).collect();
    let mut lift = Some(names);
    let (read, unread) = if let Some((reranker, head)) = readers.into_iter().find_map(reads) {
        let reading = Reading { turns: &found.turns, plan, question, deadline };
        // The embedder's kept vectors have told some of what it would read.
        let half_first = !is_read && compared;
        let (read, unread) = reading.read_enough(reranker.as_ref(), head, &priors, half_first);
        let orders = || catch_panics("the reranker", || Ok(reranker.orders(&read)));
        // What was cut short may have come to something that tells.
        let orders = if known.graded || unread.is_some() { Ok(true) } else { orders() };
        lift = lift.filter(|_| orders.as_ref().is_ok_and(|&orders| orders));
        (read, unread.or_else(|| orders.err().map(|error| error.chain())))
    } else {
        let none = || "no reranker reads the languages found".to_owned();
        (Vec::new(), Some(found.missing.clone().unwrap_or_else(none)))
    };
    degraded = degraded.or(unread);
    let scores = candidates.iter().map(|one| one.passage.chunk.row).zip(read).collect();
    Reranked { ranked: in_order(candidates, &scores, lift), compared, degraded }
}

/// What the token vectors of rows say, or why they say nothing.
fn compared(
    known: Known<'_>,
    plan: &RerankPlan,
    rows: &[RowId],
    is_read: bool,
) -> (Compared, Option<String>) {
    if !plan.compares {
        return (Compared::default(), None);
    }
    match (known.compare_tokens)(rows, is_read) {
        Ok(compared) => (compared, None),
        Err(error) => (Compared::default(), Some(error.chain())),
    }
}

/// A passage before it is read.
#[derive(Debug)]
struct Candidate {
    passage: Passage,
    /// Its place in the order of fusion, from 1.
    fused_rank: usize,
    prior: Prior,
    /// The prior as a score, where token vectors are part of it.
    compared: Option<Score>,
}

/// `passages`, which are in the order of fusion, as they are read: those that `tokens` speak of by
/// that and their fused score, then the others. Against what repairs found the fused score does not
/// speak: the question as it was asked could not bring it up. What `tokens` and a reader say counts
/// `weight`.
fn candidates(
    passages: Vec<Passage>,
    tokens: &BTreeMap<RowId, f32>,
    repaired: &RowSet,
    weight: f32,
) -> Vec<Candidate> {
    let candidate = |(passage, fused_rank): (Passage, usize)| {
        let row = passage.fused.row;
        let least = if repaired.contains(row) { NEUTRAL } else { Score::ZERO };
        let tokens = tokens.get(&row).copied();
        let prior = Prior::weighing(passage.fused.combined.max(least), tokens, weight);
        let compared = tokens.map(|_| prior.score());
        Candidate { passage, fused_rank, prior, compared }
    };
    let all = passages.into_iter().zip(1..).map(candidate);
    let (mut compared, others): (Vec<Candidate>, Vec<Candidate>) =
        all.partition(|one| one.compared.is_some());
    // As the keys of results are ordered; the sort is stable.
    compared.sort_by_key(|one| Reverse(one.compared));
    compared.extend(others);
    compared
}

/// `passages` in the order of fusion, none of them read.
pub(crate) fn unread(passages: Vec<Passage>, names: Names<'_>) -> Vec<Ranked> {
    let candidates = candidates(passages, &BTreeMap::new(), &RowSet::default(), 1.0);
    in_order(candidates, &BTreeMap::new(), Some(names))
}

/// What has been read of a list that repairs have made longer.
pub(crate) struct Read<'a> {
    /// The scores of what was read.
    pub(crate) scores: BTreeMap<RowId, Score>,
    /// What repairs found: all of it is read, wherever it stands.
    pub(crate) repaired: &'a RowSet,
    pub(crate) known: Known<'a>,
    /// When the search has to end.
    pub(crate) deadline: &'a Deadline,
}

/// A list after that.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) ranked: Vec<Ranked>,
    /// Whether another reranker than that of the first list read all of it.
    pub(crate) switched: bool,
    /// How many passages were read.
    pub(crate) read: usize,
    /// Whether token vectors that are kept say something of it.
    pub(crate) compared: bool,
    /// Why the token vectors that are kept could not be compared.
    pub(crate) degraded: Option<String>,
}

/// Reads what repairs have added to a list, and puts all in order.
///
/// One list has one scorer: that of the first list reads what was added. Where it cannot,
/// because a repair found other languages, the first reranker that reads both reads the
/// head of the list again.
pub(crate) fn rerank_more(
    found: &FoundRerankers,
    plan: Option<&RerankPlan>,
    question: &str,
    passages: Vec<Passage>,
    Read { mut scores, repaired, known, deadline }: Read<'_>,
) -> Added {
    let (names, weight) = (known.names, known.reading_weight);
    let is_repaired = |passage: &&Passage| repaired.contains(passage.chunk.row);
    if passages.iter().all(|passage| is_repaired(&passage)) {
        // There was no first list: this is it. What repairs found is all read.
        let plan = plan.map(|plan| RerankPlan { thorough: true, ..plan.clone() });
        let plan = plan.as_ref();
        let Reranked { ranked, compared, .. } =
            rerank(found, plan, question, passages, known, deadline);
        let read = ranked.iter().filter(|one| one.rerank.is_some()).count();
        return Added { ranked, switched: false, read, compared, degraded: None };
    }
    // A list that was not read has no scorer.
    let Some(plan) = plan.filter(|_| !scores.is_empty()) else {
        let candidates = candidates(passages, &BTreeMap::new(), repaired, weight);
        let ranked = in_order(candidates, &scores, Some(names));
        return Added { ranked, switched: false, read: 0, compared: false, degraded: None };
    };
    let first = passages.iter().filter(|passage| !is_repaired(passage)).take(plan.passages);
    let first: Vec<(RowId, String)> = first.map(row_and_text).collect();
    let added: Vec<(RowId, String)> =
        passages.iter().filter(is_repaired).map(row_and_text).collect();
    let texts: Vec<&str> = first.iter().map(|(_, text)| text.as_str()).collect();
    let is_read = found.rerankers.iter().any(|one| head(one, question, &texts).is_some());
    let mut rows: Vec<RowId> = added.iter().map(|(row, _)| *row).collect();
    let (mut told, mut degraded) = compared(known, plan, &rows, is_read);
    if matches!(told, Compared::Before(_)) {
        rows.extend(first.iter().map(|(row, _)| *row));
        (told, degraded) = compared(known, plan, &rows, is_read);
    } else if let Compared::Instead(told) = &told {
        for (&row, &score) in told {
            scores.entry(row).or_insert(score);
        }
    }
    let compared = !told.is_empty();
    let tokens = match told {
        Compared::Before(tokens) if is_read || found.by_tokens.is_some() => tokens,
        Compared::Before(_) | Compared::Instead(_) => BTreeMap::new(),
    };
    let Some((before, _)) = found.all().find_map(|one| head(one, question, &texts)) else {
        let candidates = candidates(passages, &tokens, repaired, weight);
        let ranked = in_order(candidates, &scores, Some(names));
        return Added { ranked, switched: false, read: 0, compared, degraded };
    };
    let reads = |one: &Arc<dyn Reranker>| added.iter().all(|(_, text)| one.reads(text));
    let other = || {
        let both = |one: &&Arc<dyn Reranker>| head(one, question, &texts).is_some() && reads(one);
        found.all().find(both)
    };
    let reranker = if reads(before) { before } else { other().unwrap_or(before) };
    let mut wanted: Vec<&(RowId, String)> = Vec::new();
    let switched = !Arc::ptr_eq(reranker, before);
    if switched {
        scores.clear();
        let head = head(reranker, question, &texts).map_or(&[][..], |(_, head)| head);
        wanted.extend(first.iter().take(head.len()));
    }
    wanted.extend(&added);
    wanted.retain(|(row, text)| !scores.contains_key(row) && reranker.reads(text));
    let texts: Vec<&str> = wanted.iter().map(|(_, text)| text.as_str()).collect();
    // What the budget cuts off stays behind what was read, as in the first list.
    let reading = Reading { turns: &found.turns, plan, question, deadline };
    let (read, _) = reading.read(reranker.as_ref(), &texts);
    let added = read.len();
    scores.extend(wanted.iter().map(|(row, _)| *row).zip(read));
    let ranked = in_order(candidates(passages, &tokens, repaired, weight), &scores, Some(names));
    Added { ranked, switched, read: added, compared, degraded }
}

/// Who read these passages: the first reranker that can, if all of them were read.
pub(crate) fn reader<'a, 'p>(
    found: &'a FoundRerankers,
    question: &str,
    passages: impl Iterator<Item = &'p Ranked> + Clone,
) -> Option<&'a dyn Reranker> {
    let all_read = passages.clone().all(|one| one.rerank.is_some());
    able_reader(found, question, passages).filter(|_| all_read)
}

/// Who can read these passages, whether they were read or not.
pub(crate) fn able_reader<'a, 'p>(
    found: &'a FoundRerankers,
    question: &str,
    passages: impl Iterator<Item = &'p Ranked>,
) -> Option<&'a dyn Reranker> {
    let texts: Vec<String> = passages.map(|one| readable(&one.passage)).collect();
    let reads =
        |one: &&Arc<dyn Reranker>| one.reads(question) && texts.iter().all(|text| one.reads(text));
    found.all().find(reads).map(Arc::as_ref)
}

fn row_and_text(passage: &Passage) -> (RowId, String) {
    (passage.chunk.row, readable(passage))
}

/// The passages from the top that `reranker` reads, up to the first in a language that it
/// does not know: what is scored is scored by one reranker. None if it cannot read enough.
fn head<'a, 't>(
    reranker: &'a Arc<dyn Reranker>,
    question: &str,
    texts: &'a [&'t str],
) -> Option<(&'a Arc<dyn Reranker>, &'a [&'t str])> {
    let unknown = texts.iter().position(|text| !reranker.reads(text));
    let known = unknown.unwrap_or(texts.len());
    let enough = reranker.reads(question) && known >= texts.len().min(ENOUGH);
    let head = texts.get(..known.min(reranker.top_k()))?;
    enough.then_some((reranker, head))
}

/// A passage as a reranker reads it: its headings, an empty line, its text.
pub(crate) fn readable(passage: &Passage) -> String {
    let chunk = &passage.chunk;
    let title = std::iter::once(&chunk.file.title).chain(&chunk.chunk.heading_path);
    let header: Vec<&str> = title.map(String::as_str).filter(|part| !part.is_empty()).collect();
    if header.is_empty() {
        chunk.chunk.text.clone()
    } else {
        format!("{}\n\n{}", header.join(" > "), chunk.chunk.text)
    }
}

/// What was read by the blend of what was known and the reranker's score, and by what the first of
/// it name; in the order before reading, if there are no names to lift by. Then the rest.
fn in_order(
    candidates: Vec<Candidate>,
    scores: &BTreeMap<RowId, Score>,
    names: Option<Names<'_>>,
) -> Vec<Ranked> {
    let score = |at: usize| scores.get(&candidates.get(at)?.passage.chunk.row).copied();
    let (read, rest): (Vec<usize>, Vec<usize>) =
        (0..candidates.len()).partition(|&at| score(at).is_some());
    let row = |index: usize| Some(candidates.get(*read.get(index)?)?.passage.chunk.row);
    let rerank: Vec<Score> = read.iter().filter_map(|&at| score(at)).collect();
    let priors = read.iter().filter_map(|&at| candidates.get(at)).map(|one| one.prior);
    let blended = blend_with(priors, &rerank);
    let blended = match names {
        Some(names) => lift_named(blended, |from, to| {
            row(from).zip(row(to)).map_or(0.0, |(from, to)| names(from, to))
        }),
        None => in_prior_order(blended),
    };
    let head = blended.iter().filter_map(|one| Some((*read.get(one.index)?, one.score)));
    let unread = rest.iter().filter_map(|&at| candidates.get(at));
    let fused: Vec<Fused> = unread.map(|one| one.passage.fused.clone()).collect();
    let order: Vec<(usize, Score)> =
        head.chain(rest.iter().copied().zip(final_scores(&fused))).collect();
    let mut candidates: Vec<Option<Candidate>> = candidates.into_iter().map(Some).collect();
    let mut least = Score::ONE;
    order
        .into_iter()
        .zip(1..)
        .filter_map(|((at, score), rank)| {
            // What was not read is not above what was.
            least = least.min(score);
            let Candidate { passage, fused_rank, compared, .. } = candidates.get_mut(at)?.take()?;
            let rerank = scores.get(&passage.chunk.row).copied();
            Some(Ranked { passage, fused_rank, rank, compared, rerank, score: least })
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Mutex;

    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use trefoil_core::{
        ByteSpan, Chunk, ChunkId, ChunkLevel, FileId, FileInfo, Language, LineSpan, Metadata,
        OrderKey, StoredChunk,
    };

    use super::*;

    /// Reads two passages if not more are asked for, says ½ of each, and remembers them.
    #[derive(Debug, Default)]
    struct Half {
        read: Mutex<Vec<String>>,
    }

    impl Reranker for Half {
        fn model(&self) -> &'static str {
            "half"
        }

        fn reads(&self, _: &str) -> bool {
            true
        }

        fn enough(&self, _: &str, passages: &[&str], read: &[Score]) -> usize {
            read.len().max(2).min(passages.len())
        }

        fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<Score>> {
            self.read.lock().unwrap().extend(passages.iter().map(|&text| text.to_owned()));
            Ok(vec![Score::HALF; passages.len()])
        }
    }

    /// Says more of each row than of the one before; its scores tell nothing below so much.
    #[derive(Debug)]
    struct Rising(f32);

    impl Reranker for Rising {
        fn model(&self) -> &'static str {
            "rising"
        }

        fn reads(&self, _: &str) -> bool {
            true
        }

        fn orders(&self, read: &[Score]) -> bool {
            read.iter().any(|score| score.get() >= self.0)
        }

        fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<Score>> {
            let row = |text: &&str| text.parse::<f32>().unwrap();
            Ok(passages.iter().map(|text| Score::clamped((1.0 + row(text)) / 10.0)).collect())
        }
    }

    #[test]
    fn scores_that_tell_nothing_leave_the_order_before_reading() {
        let ranked = |least, graded, limit| {
            let compare = |_: &[RowId], _| Ok(Compared::default());
            // The first names the last.
            let names = |from: RowId, to: RowId| f32::from((from.get(), to.get()) == (0, 2));
            let known = Known { names: &names, graded, ..known(&compare) };
            let reranker: Arc<dyn Reranker> = Arc::new(Rising(least));
            let found = FoundRerankers { rerankers: vec![reranker], ..FoundRerankers::default() };
            let plan = RerankPlan { limit, ..PLAN };
            let passages = passages(&[0.52, 0.51, 0.5]);
            rerank(&found, Some(&plan), "?", passages, known, &Deadline::NEVER).ranked
        };
        let scores = |ranked: &[Ranked]| ranked.iter().map(|one| one.score).collect::<Vec<_>>();
        let told = ranked(0.25, false, None);
        assert_eq!(rows(&told), (vec![2, 1, 0], 3));
        let untold = ranked(0.35, false, None);
        assert_eq!(rows(&untold), (vec![0, 1, 2], 3));
        // What the reader said stays known, and as few as before have a high score.
        let said = untold.iter().map(|one| one.rerank.unwrap().get()).collect::<Vec<_>>();
        assert_eq!(said, [0.1, 0.2, 0.3]);
        assert_eq!(scores(&untold), scores(&told));
        // What is graded keeps the order of its grades, and so does what was not all read.
        assert_eq!(rows(&ranked(0.35, true, None)).0, [2, 1, 0]);
        assert_eq!(rows(&ranked(0.35, false, Some(2))).0, [1, 0, 2]);
    }

    /// Passages with these fused scores in this order; row 0 is the first, and its text `0`.
    fn passages(combined: &[f32]) -> Vec<Passage> {
        (0..).zip(combined).map(|(row, &it)| passage(row, &row.to_string(), it)).collect()
    }

    /// A passage of this text with this fused score.
    pub(crate) fn passage(row: u64, text: &str, combined: f32) -> Passage {
        let row = RowId::new(row);
        let chunk = Chunk {
            level: ChunkLevel::Leaf,
            ordinal: 0,
            heading_path: Vec::new(),
            text: text.to_owned(),
            bytes: ByteSpan { start: 0, end: 0 },
            lines: LineSpan { start: 1, end: 1 },
            language: Language::Ko,
        };
        let file = FileInfo {
            id: FileId::new("fil_1").unwrap(),
            path: "1".to_owned(),
            title: String::new(),
            date: None,
            metadata: Metadata::default(),
            tags: Vec::new(),
        };
        let id = ChunkId::new(format!("chk_{:02}", row.get())).unwrap();
        let chunk = Arc::new(StoredChunk { row, id, file: Arc::new(file), chunk });
        let combined = Score::clamped(combined);
        let fused = Fused { row, combined, hits: Vec::new() };
        Passage { fused, chunk, missing_words: Vec::new() }
    }

    pub(crate) const PLAN: RerankPlan = RerankPlan {
        passages: 5,
        thorough: false,
        batch: 16,
        limit: None,
        compares: true,
        budget: None,
    };

    /// Nothing but what token vectors say.
    fn known(compare_tokens: CompareTokens<'_>) -> Known<'_> {
        Known { compare_tokens, names: &|_, _| 0.0, reading_weight: 1.0, graded: false }
    }

    fn found(reader: &Arc<Half>, by_tokens: bool) -> FoundRerankers {
        let reader: Arc<dyn Reranker> = Arc::clone(reader) as _;
        if by_tokens {
            FoundRerankers { by_tokens: Some(reader), ..FoundRerankers::default() }
        } else {
            FoundRerankers { rerankers: vec![reader], ..FoundRerankers::default() }
        }
    }

    fn by_row<T: Copy>(told: &[(u64, T)]) -> BTreeMap<RowId, T> {
        told.iter().map(|&(row, it)| (RowId::new(row), it)).collect()
    }

    /// The rows of a list in their order, and how many of them have a score of a reader.
    fn rows(ranked: &[Ranked]) -> (Vec<u64>, usize) {
        let read = ranked.iter().filter(|one| one.rerank.is_some()).count();
        (ranked.iter().map(|one| one.passage.chunk.row.get()).collect(), read)
    }

    const FUSED: [f32; 6] = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4];

    /// What a list of `FUSED` becomes if its token vectors say this: its rows, how many have a score,
    /// the texts that the reader was given.
    fn check(
        compared: impl Fn() -> Compared,
        by_tokens: bool,
        limit: Option<usize>,
        expected: (&[u64], usize, &[&str]),
    ) {
        let reader = Arc::new(Half::default());
        let compare = |_: &[RowId], _| Ok(compared());
        let known = known(&compare);
        let plan = RerankPlan { limit, ..PLAN };
        let found = found(&reader, by_tokens);
        let Reranked { ranked, compared, degraded } =
            rerank(&found, Some(&plan), "why?", passages(&FUSED), known, &Deadline::NEVER);
        assert_eq!(compared, !(known.compare_tokens)(&[], false).unwrap().is_empty());
        let texts = reader.read.lock().unwrap().clone();
        let (rows, read) = rows(&ranked);
        assert_eq!((rows.as_slice(), read), (expected.0, expected.1), "{ranked:?}");
        assert_eq!(texts, expected.2);
        assert_eq!(degraded, None);
    }

    #[test]
    fn token_vectors_order_a_list_before_the_first_are_read() {
        // A fused score of .1 is worth log-odds of 1.
        let before = || Compared::Before(by_row(&[(0, -3.0), (1, 0.0), (2, 2.5), (3, 1.6)]));
        for by_tokens in [false, true] {
            // Half of two is read first where the embedder reads, and none leads by 6.
            check(before, by_tokens, None, (&[2, 1, 3, 0, 4, 5], 2, &["2", "1"]));
        }
        let far = || Compared::Before(by_row(&[(2, 9.0), (3, 1.0), (0, 0.0)]));
        check(far, true, None, (&[2, 0, 3, 1, 4, 5], 1, &["2"]));
        check(far, false, None, (&[2, 0, 3, 1, 4, 5], 2, &["2", "0"]));
        // A later page reads as many as the first has read.
        check(far, true, Some(1), (&[2, 0, 3, 1, 4, 5], 1, &["2"]));
        // Nothing is told of any.
        check(Compared::default, true, None, (&[0, 1, 2, 3, 4, 5], 2, &["0", "1"]));
    }

    #[test]
    fn a_later_page_compares_no_token_vectors_if_the_first_did_not() {
        let reader = Arc::new(Half::default());
        let compare = |_: &[RowId], _| panic!("they are not asked for");
        let known = known(&compare);
        let plan = RerankPlan { limit: Some(2), compares: false, ..PLAN };
        let found = found(&reader, true);
        let Reranked { ranked, compared, .. } =
            rerank(&found, Some(&plan), "why?", passages(&FUSED), known, &Deadline::NEVER);
        assert_eq!((rows(&ranked), compared), ((vec![0, 1, 2, 3, 4, 5], 2), false));
    }

    #[test]
    fn what_a_reader_says_counts_as_much_as_it_is_to() {
        let told = || Compared::Instead(by_row(&[(0, Score::HALF), (1, Score::clamped(0.9))]));
        for (reading_weight, expected) in [(1.0, [1, 0]), (0.4, [0, 1])] {
            let reader = Arc::new(Half::default());
            let compare = |_: &[RowId], _| Ok(told());
            let known = Known { reading_weight, ..known(&compare) };
            let found = found(&reader, true);
            let passages = passages(&[0.9, 0.75]);
            let Reranked { ranked, .. } =
                rerank(&found, Some(&PLAN), "why?", passages, known, &Deadline::NEVER);
            assert_eq!(rows(&ranked).0, expected, "{reading_weight}");
        }
    }

    #[test]
    fn token_vectors_in_place_of_reading_score_a_list() {
        let score = Score::clamped;
        let told = [(0, score(0.01)), (1, score(0.5)), (2, score(0.99)), (3, score(0.5))];
        let instead = || Compared::Instead(by_row(&told));
        check(instead, true, None, (&[2, 1, 3, 0, 4, 5], 4, &[]));
        // A later page has the scores of the first three alone.
        check(instead, true, Some(3), (&[2, 1, 0, 3, 4, 5], 3, &[]));
    }

    /// What a list becomes of which row 0 and 1 were read, and to which a repair has added row 5.
    fn check_added(
        compared: impl Fn(&[RowId]) -> Compared,
        by_tokens: bool,
        expected: (&[u64], usize, &[&str]),
    ) {
        let reader = Arc::new(Half::default());
        let compare = |rows: &[RowId], _| Ok(compared(rows));
        let known = known(&compare);
        let repaired: RowSet = [RowId::new(5)].into_iter().collect();
        let scores = by_row(&[(0, Score::HALF), (1, Score::HALF)]);
        let read = Read { scores, repaired: &repaired, known, deadline: &Deadline::NEVER };
        let found = found(&reader, by_tokens);
        let added = rerank_more(&found, Some(&PLAN), "why?", passages(&FUSED), read);
        let (rows, scored) = rows(&added.ranked);
        assert_eq!((rows.as_slice(), scored), (expected.0, expected.1), "{:?}", added.ranked);
        assert_eq!(*reader.read.lock().unwrap(), expected.2);
        assert_eq!((added.switched, added.compared, added.degraded), (false, true, None));
    }

    #[test]
    fn what_a_repair_adds_is_scored_by_what_scored_the_list() {
        // Row 5 has the neutral fused score, ½, and not its own .4.
        let before = |rows: &[RowId]| {
            Compared::Before(rows.iter().map(|&row| (row, 2.0 * row.get() as f32)).collect())
        };
        for by_tokens in [false, true] {
            check_added(before, by_tokens, (&[5, 1, 0, 4, 3, 2], 3, &["5"]));
        }
        let instead = |rows: &[RowId]| {
            Compared::Instead(rows.iter().map(|&row| (row, Score::clamped(0.999))).collect())
        };
        check_added(instead, true, (&[5, 0, 1, 2, 3, 4], 3, &[]));
    }

    proptest! {
        #[test]
        fn a_list_is_in_the_order_of_its_keys(
            mut combined in proptest::collection::vec(0_u8..8, 0..12),
            tokens in proptest::collection::btree_map(0_u64..12, -8_i8..8, 0..12),
            read in proptest::collection::btree_map(0_u64..12, 1_u8..10, 0..12),
            repaired in proptest::collection::vec(any::<bool>(), 12),
            weight in 0.0_f32..=1.0,
            orders: bool,
        ) {
            combined.sort_unstable_by(|a, b| b.cmp(a));
            let combined: Vec<f32> = combined.into_iter().map(|it| f32::from(it) / 8.0).collect();
            let tokens: BTreeMap<RowId, f32> =
                tokens.into_iter().map(|(row, it)| (RowId::new(row), f32::from(it))).collect();
            let scores: BTreeMap<RowId, Score> = (read.into_iter())
                .map(|(row, it)| (RowId::new(row), Score::clamped(f32::from(it) / 10.0)))
                .collect();
            let repaired: RowSet = (0..).zip(repaired)
                .filter_map(|(row, is)| (is && scores.contains_key(&RowId::new(row))).then_some(RowId::new(row)))
                .collect();
            let listed = candidates(passages(&combined), &tokens, &repaired, weight);
            let ranked = in_order(listed, &scores, orders.then_some(&|_, _| 0.0));
            prop_assert_eq!(ranked.len(), combined.len());
            let keys: Vec<OrderKey> = ranked.iter().map(Ranked::key).collect();
            let unread = keys.iter().position(|key| key.reranked.is_none()).unwrap_or(keys.len());
            // What is read is told apart by its id where scores are equal.
            let is_before = |pair: &[OrderKey]| pair[0].reranked >= pair[1].reranked;
            prop_assert!(keys[..unread].windows(2).all(is_before), "{:?}", keys);
            prop_assert!(keys[unread..].windows(2).all(|pair| pair[0] < pair[1]), "{:?}", keys);
        }
    }
}
