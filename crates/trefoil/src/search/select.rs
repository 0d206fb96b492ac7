//! Which items of an ordered list are shown. Pure: what is kept stays in order.

use std::{
    borrow::Borrow,
    collections::{BTreeMap, BTreeSet},
};

use trefoil_core::{Error, FileId, Ranked, Result, Score, Selection};

/// Weight of relevance against novelty that is usual for [`mmr`].
pub const MMR_LAMBDA: f32 = 0.85;

/// How many items [`diverse`] looks at for each two that it keeps.
const LOOK_AT: usize = 3;

/// What keeps a passage from being a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// Only results of other types are wanted.
    TypeNotRequested,
    /// Its score is below the least.
    BelowThreshold,
    /// It adjoins a result of this rank within a section.
    Adjacent(usize),
    /// Its file has as many results as it may.
    PerFileLimit,
    /// It says what better results say.
    NearDuplicate,
}

/// The passages that are results, and those that are not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selected<P> {
    /// The results, in their order.
    pub kept: Vec<P>,
    /// The others, in their order, each with what keeps it from being a result.
    pub excluded: Vec<(P, Exclusion)>,
}

/// Tells the passages that are results from those that are not.
///
/// A section that was too long for one chunk does not fill rank after rank with its
/// pieces: one that adjoins a result is left out, for a result carries what stands around
/// it. Sections are told by their headings, so that text without any, rows of a table and
/// functions of a program are all of their own. `limit` is how many a page holds and
/// `similarity`, of two positions, is asked only for [`Selection::diverse`].
///
/// # Errors
/// None that a caller could cause.
pub fn select<P: Borrow<Ranked>>(
    selection: &Selection,
    limit: usize,
    passages: Vec<P>,
    similarity: impl Fn(usize, usize) -> f32,
) -> Result<Selected<P>> {
    let mut exclusions = exclusions(selection, &passages);
    if selection.diverse {
        let kept: Vec<usize> =
            (0..).zip(&exclusions).filter_map(|(at, one)| one.is_none().then_some(at)).collect();
        let score = |&at: &usize| passages.get(at).map(|one| one.borrow().score);
        let relevance: Vec<Score> = kept.iter().filter_map(score).collect();
        let place = |nth: usize| kept.get(nth).copied().unwrap_or_default();
        let novel = diverse(&relevance, limit, MMR_LAMBDA, |a, b| similarity(place(a), place(b)))?;
        let novel: BTreeSet<usize> = novel.into_iter().map(place).collect();
        for at in kept.into_iter().filter(|at| !novel.contains(at)) {
            if let Some(exclusion) = exclusions.get_mut(at) {
                *exclusion = Some(Exclusion::NearDuplicate);
            }
        }
    }
    let (mut kept, mut excluded) = (Vec::with_capacity(passages.len()), Vec::new());
    for (passage, exclusion) in passages.into_iter().zip(exclusions) {
        match exclusion {
            None => kept.push(passage),
            Some(exclusion) => excluded.push((passage, exclusion)),
        }
    }
    Ok(Selected { kept, excluded })
}

/// What keeps each passage from being a result, if anything does.
fn exclusions(selection: &Selection, passages: &[impl Borrow<Ranked>]) -> Vec<Option<Exclusion>> {
    let mut chosen = Chosen::default();
    passages.iter().map(|one| chosen.look_at(one.borrow(), selection)).collect()
}

/// The results so far.
#[derive(Default)]
struct Chosen<'r> {
    /// Each by its file and its place in it.
    pieces: BTreeMap<(&'r FileId, u32), &'r Ranked>,
    /// How many of each file.
    files: BTreeMap<&'r FileId, usize>,
}

impl<'r> Chosen<'r> {
    /// Chooses `one` unless something keeps it from being a result.
    fn look_at(&mut self, one: &'r Ranked, selection: &Selection) -> Option<Exclusion> {
        if !selection.passages {
            return Some(Exclusion::TypeNotRequested);
        }
        let file = &one.passage.chunk.file.id;
        let count = self.files.entry(file).or_default();
        if one.score < selection.min_relevance {
            return Some(Exclusion::BelowThreshold);
        }
        if selection.per_file.is_some_and(|most| *count >= most) {
            return Some(Exclusion::PerFileLimit);
        }
        let chunk = &one.passage.chunk.chunk;
        if !selection.adjoining && !chunk.heading_path.is_empty() {
            let around = [chunk.ordinal.checked_sub(1), chunk.ordinal.checked_add(1)];
            let adjoined = around
                .into_iter()
                .flatten()
                .filter_map(|ordinal| self.pieces.get(&(file, ordinal)))
                .find(|piece| piece.passage.chunk.chunk.heading_path == chunk.heading_path);
            if let Some(piece) = adjoined {
                return Some(Exclusion::Adjacent(piece.rank));
            }
        }
        *count += 1;
        self.pieces.insert((file, chunk.ordinal), one);
        None
    }
}

/// Positions of `count` items that are relevant and unlike each other, in order.
///
/// Maximal marginal relevance: picks one after the other the item with the greatest
/// `λ · relevance − (1 − λ) · similarity` to the most similar item picked before, of
/// equals the first. `relevance` is 0–1; `similarity` of two positions is taken as 0–1
/// and symmetric, and is asked at most `count` times an item. λ 1 gives the most
/// relevant. Source: Carbonell, Goldstein: The Use of MMR, Diversity-Based Reranking for
/// Reordering Documents and Producing Summaries, SIGIR 1998.
///
/// # Errors
/// [`Error::InvalidConfig`] unless λ is a number from 0 to 1.
pub fn mmr(
    relevance: &[Score],
    count: usize,
    lambda: f32,
    similarity: impl Fn(usize, usize) -> f32,
) -> Result<Vec<usize>> {
    Error::check_range(lambda, 0.0..=1.0, "lambda", "0–1")?;
    // What is left, with the similarity to what is most like it among the picked.
    let mut left: Vec<(usize, Score, f32)> =
        relevance.iter().enumerate().map(|(at, &score)| (at, score, 0.0)).collect();
    let mut picked = Vec::with_capacity(count.min(left.len()));
    while picked.len() < count {
        let gain = |&(_, score, nearest): &(usize, Score, f32)| {
            lambda * score.get() - (1.0 - lambda) * nearest
        };
        // The first of the greatest: `max_by` would give the last.
        let best = left.iter().map(gain).enumerate().rev().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((best, _)) = best else { break };
        let (chosen, ..) = left.remove(best);
        picked.push(chosen);
        for (at, _, nearest) in &mut left {
            *nearest = nearest.max(Score::clamped(similarity(chosen, *at)).get());
        }
    }
    picked.sort_unstable();
    Ok(picked)
}

/// Positions of the items that remain when a list is thinned for diversity page by page,
/// in order: of each 3/2 · `limit` items that follow one another, the `limit` that
/// [`mmr`] picks.
///
/// What is shown on a page so depends on nothing below its window: the list can be cut
/// into pages of `limit`, and a longer list begins with the pages of a shorter one.
///
/// # Errors
/// [`Error::InvalidConfig`] unless λ is a number from 0 to 1.
pub fn diverse(
    relevance: &[Score],
    limit: usize,
    lambda: f32,
    similarity: impl Fn(usize, usize) -> f32,
) -> Result<Vec<usize>> {
    let window = (limit * LOOK_AT).div_ceil(2).max(1);
    let mut kept = Vec::new();
    for (nth, part) in relevance.chunks(window).enumerate() {
        let first = nth * window;
        let picked = mmr(part, limit, lambda, |a, b| similarity(first + a, first + b))?;
        kept.extend(picked.into_iter().map(|at| first + at));
    }
    Ok(kept)
}

/// Cosine of vectors of any length but zero as a similarity for [`mmr`]; 0 where one is missing.
pub fn cosine<V: AsRef<[f32]>>(vectors: &[V]) -> impl Fn(usize, usize) -> f32 {
    let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let lengths: Vec<f32> = vectors.iter().map(|v| dot(v.as_ref(), v.as_ref()).sqrt()).collect();
    move |one, other| {
        let at = |place: usize| Some((vectors.get(place)?.as_ref(), *lengths.get(place)?));
        match (at(one), at(other)) {
            (Some((one, one_length)), Some((other, other_length))) => {
                let lengths = one_length * other_length;
                if lengths > 0.0 { dot(one, other) / lengths } else { 0.0 }
            }
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};
    use trefoil_core::{
        ByteSpan, Chunk, ChunkId, ChunkLevel, FileInfo, Fused, Language, LineSpan, Metadata,
        Passage, RowId, StoredChunk,
    };

    use super::*;

    fn scores(values: &[f32]) -> Vec<Score> {
        values.iter().copied().map(Score::clamped).collect()
    }

    /// Passages as (file, ordinal, heading, score), in this order.
    fn ranked(passages: &[(&str, u32, &str, f32)]) -> Vec<Ranked> {
        let one = |(rank, &(file, ordinal, heading, score)): (usize, &(&str, u32, &str, f32))| {
            let chunk = Chunk {
                level: ChunkLevel::Leaf,
                ordinal,
                heading_path: heading.split_terminator('/').map(str::to_owned).collect(),
                text: String::new(),
                bytes: ByteSpan { start: 0, end: 0 },
                lines: LineSpan { start: 1, end: 1 },
                language: Language::En,
            };
            let file = FileInfo {
                id: FileId::new(format!("fil_{file}")).unwrap(),
                path: file.to_owned(),
                title: String::new(),
                date: None,
                metadata: Metadata::default(),
                tags: Vec::new(),
            };
            let row = RowId::new(rank as u64);
            let id = ChunkId::new(format!("chk_{rank}")).unwrap();
            let fused = Fused { row, combined: Score::ZERO, hits: Vec::new() };
            let chunk = Arc::new(StoredChunk { row, id, file: Arc::new(file), chunk });
            let passage = Passage { fused, chunk, missing_words: Vec::new() };
            let score = Score::clamped(score);
            Ranked { passage, fused_rank: rank, rank, compared: None, rerank: None, score }
        };
        (1..).zip(passages).map(one).collect()
    }

    const ALL: Selection = Selection {
        passages: true,
        min_relevance: Score::ZERO,
        adjoining: false,
        per_file: None,
        diverse: false,
    };

    #[track_caller]
    fn check(
        selection: &Selection,
        passages: &[(&str, u32, &str, f32)],
        expected: &[Option<Exclusion>],
    ) {
        assert_eq!(exclusions(selection, &ranked(passages)), expected);
    }

    #[test]
    fn pieces_of_a_section_do_not_fill_rank_after_rank() {
        let pieces = [
            ("a", 2, "Install", 0.9),
            ("a", 1, "Install", 0.8),
            ("a", 3, "Install", 0.8),
            ("a", 4, "Install", 0.8),
            ("b", 3, "Install", 0.7),
            ("a", 5, "Install/Linux", 0.7),
        ];
        let first = Some(Exclusion::Adjacent(1));
        // The fourth adjoins only what is left out itself.
        check(&ALL, &pieces, &[None, first, first, None, None, None]);
        check(&Selection { adjoining: true, ..ALL }, &pieces, &[None; 6]);
        // Without headings nothing says that they belong together.
        check(&ALL, &[("a", 1, "", 0.9), ("a", 2, "", 0.8)], &[None; 2]);
    }

    #[test]
    fn a_file_has_no_more_results_than_it_may() {
        let passages = [
            ("a", 1, "", 0.9),
            ("a", 5, "", 0.8),
            ("b", 1, "", 0.7),
            ("a", 9, "", 0.6),
            ("c", 1, "", 0.1),
        ];
        let most = |per_file| Selection {
            per_file: Some(per_file),
            min_relevance: Score::clamped(0.5),
            ..ALL
        };
        let full = Some(Exclusion::PerFileLimit);
        let weak = Some(Exclusion::BelowThreshold);
        check(&most(1), &passages, &[None, full, None, full, weak]);
        check(&most(2), &passages, &[None, None, None, full, weak]);
        // What is left out as a piece does not count.
        let pieces = [("a", 1, "One", 0.9), ("a", 2, "One", 0.8), ("a", 9, "Two", 0.7)];
        check(&most(2), &pieces, &[None, Some(Exclusion::Adjacent(1)), None]);
    }

    #[test]
    fn what_says_the_same_gives_way_if_asked() {
        let passages = [("a", 1, "", 0.9), ("b", 1, "", 0.88), ("c", 1, "", 0.75)];
        // The second says what the first says.
        let alike = |a: usize, b: usize| if a.max(b) == 1 { 1.0 } else { 0.0 };
        let selection = Selection { diverse: true, ..ALL };
        let ranked = ranked(&passages);
        let selected = select(&selection, 2, ranked.clone(), alike).unwrap();
        assert_eq!(selected.kept, [ranked[0].clone(), ranked[2].clone()]);
        assert_eq!(selected.excluded, [(ranked[1].clone(), Exclusion::NearDuplicate)]);
    }

    #[test]
    fn a_copy_gives_way_to_what_is_new() {
        // 0 and 1 are the same; 2 and 3 are like nothing.
        let alike = |a: usize, b: usize| if a.max(b) == 1 { 1.0 } else { 0.0 };
        let relevance = scores(&[0.9, 0.88, 0.75, 0.7]);
        let check = |count, lambda, expected: &[usize]| {
            assert_eq!(
                mmr(&relevance, count, lambda, alike).unwrap(),
                expected,
                "{count} {lambda}"
            );
        };
        // .85 · .88 − .15 = .598 is less than .85 · .75 = .6375, but more than .85 · .7 = .595.
        check(2, MMR_LAMBDA, &[0, 2]);
        check(3, MMR_LAMBDA, &[0, 1, 2]);
        check(3, 0.5, &[0, 2, 3]);
        check(2, 1.0, &[0, 1]);
        check(0, MMR_LAMBDA, &[]);
        check(9, MMR_LAMBDA, &[0, 1, 2, 3]);
    }

    #[test]
    fn equals_are_picked_from_the_top() {
        let relevance = scores(&[0.5, 0.5, 0.5]);
        assert_eq!(mmr(&relevance, 2, MMR_LAMBDA, |_, _| 0.0).unwrap(), [0, 1]);
        assert_eq!(mmr(&relevance, 2, 0.0, |_, _| f32::NAN).unwrap(), [0, 1]);
    }

    #[test]
    fn lambda_is_checked() {
        for lambda in [-0.1, 1.1, f32::NAN] {
            let error = mmr(&[], 1, lambda, |_, _| 0.0).unwrap_err();
            assert!(matches!(error, Error::InvalidConfig { field: "lambda", .. }));
        }
    }

    #[test]
    fn each_window_gives_its_page() {
        // Every third item is a copy of the one before.
        let alike =
            |a: usize, b: usize| f32::from(u8::from(a.max(b) % 3 == 2 && a.abs_diff(b) == 1));
        let relevance = scores(&[0.5; 9]);
        assert_eq!(diverse(&relevance, 2, MMR_LAMBDA, alike).unwrap(), [0, 1, 3, 4, 6, 7]);
        assert_eq!(diverse(&relevance, 0, MMR_LAMBDA, alike).unwrap(), [0; 0]);
        assert_eq!(diverse(&[], 2, MMR_LAMBDA, alike).unwrap(), [0; 0]);
    }

    #[test]
    fn similarity_of_vectors_is_their_cosine() {
        let vectors = [vec![1.0, 0.0], vec![0.6, 0.8], vec![-1.0, 0.0]];
        let similarity = cosine(&vectors);
        assert_eq!(similarity(0, 1), 0.6);
        assert_eq!(similarity(0, 2), -1.0);
        assert_eq!(similarity(0, 3), 0.0);
    }

    /// A list in order of relevance and a symmetric table of similarities.
    fn any_list() -> impl Strategy<Value = (Vec<Score>, Vec<f32>)> {
        (0_usize..24).prop_flat_map(|count| {
            let relevance =
                proptest::collection::vec(0.0_f32..=1.0, count).prop_map(|mut values| {
                    values.sort_unstable_by(|a, b| b.total_cmp(a));
                    scores(&values)
                });
            (relevance, proptest::collection::vec(-0.2_f32..=1.2, 24 * 24))
        })
    }

    proptest! {
        #[test]
        fn mmr_selects_and_does_not_reorder(
            (relevance, table) in any_list(), count in 0_usize..30, lambda in 0.0_f32..=1.0,
        ) {
            let similarity = |a: usize, b: usize| table[a.min(b) * 24 + a.max(b)];
            let kept = mmr(&relevance, count, lambda, similarity)?;
            prop_assert_eq!(kept.len(), count.min(relevance.len()));
            prop_assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(kept.iter().all(|&at| at < relevance.len()));
            // The most relevant is always kept, and a larger selection holds a smaller one.
            prop_assert!(kept.is_empty() || kept.first() == Some(&0));
            let more = mmr(&relevance, count + 1, lambda, similarity)?;
            prop_assert!(kept.iter().all(|at| more.contains(at)));
        }

        #[test]
        fn without_novelty_mmr_is_the_top(relevance in any_list().prop_map(|list| list.0), count in 0_usize..30) {
            let top: Vec<usize> = (0..count.min(relevance.len())).collect();
            prop_assert_eq!(mmr(&relevance, count, 1.0, |_, _| 1.0)?, top);
        }

        #[test]
        fn a_longer_list_begins_with_the_pages_of_a_shorter(
            (relevance, table) in any_list(), limit in 1_usize..6,
        ) {
            let similarity = |a: usize, b: usize| table[a.min(b) * 24 + a.max(b)];
            let whole = diverse(&relevance, limit, MMR_LAMBDA, similarity)?;
            prop_assert!(whole.windows(2).all(|pair| pair[0] < pair[1]));
            let window = (limit * 3).div_ceil(2);
            for windows in 0..=relevance.len() / window {
                let part = diverse(&relevance[..windows * window], limit, MMR_LAMBDA, similarity)?;
                prop_assert_eq!(part.len(), windows * limit);
                prop_assert_eq!(&whole[..part.len()], &part[..]);
            }
        }

        #[test]
        fn what_is_left_keeps_to_the_selection(
            passages in proptest::collection::vec((0_u8..3, 0_u32..6, 0_u8..3), 0..30),
            per_file in proptest::option::of(1_usize..4),
            adjoining in proptest::bool::ANY,
        ) {
            // A place in a file has one chunk.
            let mut places = BTreeSet::new();
            let names: Vec<(String, u32, String)> = passages
                .iter()
                .filter(|(file, ordinal, _)| places.insert((file, ordinal)))
                .map(|(file, ordinal, heading)| (file.to_string(), *ordinal, "h".repeat((*heading).into())))
                .collect();
            let passages: Vec<(&str, u32, &str, f32)> =
                names.iter().map(|(file, at, heading)| (file.as_str(), *at, heading.as_str(), 0.5)).collect();
            let ranked = ranked(&passages);
            let selection = Selection { per_file, adjoining, ..ALL };
            let left = exclusions(&selection, &ranked);
            let selected = select(&selection, 5, ranked, |_, _| 0.0)?;
            prop_assert_eq!(selected.kept.len(), left.iter().filter(|one| one.is_none()).count());
            prop_assert_eq!(left.len(), passages.len());
            let shown: Vec<_> = passages.iter().zip(&left).filter(|(_, left)| left.is_none()).map(|(one, _)| one).collect();
            prop_assert!(passages.is_empty() || left[0].is_none());
            for (at, one) in shown.iter().enumerate() {
                let file = shown.iter().filter(|other| other.0 == one.0).count();
                prop_assert!(per_file.is_none_or(|most| file <= most));
                let adjoins = shown[..at].iter().any(|other| {
                    !one.2.is_empty() && (other.0, other.2) == (one.0, one.2) && other.1.abs_diff(one.1) == 1
                });
                prop_assert!(adjoining || !adjoins);
            }
        }
    }
}
