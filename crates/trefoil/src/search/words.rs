//! What passages have of a question of few words. Pure.

use trefoil_core::{Passage, Question, Score};
use trefoil_text::FewWords;

use crate::search::rerank::readable;

/// The share of its fused score that a passage loses if it has none of the words and another one
/// has all.
const OF_THE_WORDS: f32 = 0.7;
/// How much it counts what a reader says of a list in which a passage has all of the words.
const READING_WEIGHT: f32 = 0.5;
/// How many passages are asked for the words, in the order of fusion: as many whatever the depth of
/// the search, so that pages agree. Those below stay below.
const ASKED: usize = 50;

/// What is known of a list once its passages were asked for the words of the question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weighed {
    /// How many of the words a passage has at most; 0 of a question that has more than a few.
    pub(crate) words: usize,
    /// How much it counts what a reader will say, 0–1.
    pub(crate) reading_weight: f32,
}

impl Weighed {
    pub(crate) const NOT: Self = Self { words: 0, reading_weight: 1.0 };
}

/// Lowers the fused scores of passages that lack words of a question of one to three words, by .7 of
/// the share of the words that they lack; what has most of them keeps its score (decision 039). `most`
/// is how many that are, if another list of the search has told. `passages` are in the order of fusion.
/// Those in another language of the corpus than the question's keep theirs: they say it in other words.
///
/// Whoever asks with a sentence describes what is looked for, in words of their own; whoever asks
/// with a few words looks for these. The retrievers and readers of the default set do not see the
/// difference: by stems, parts of words and vectors they take one word for another.
pub(crate) fn weigh_words(
    question: &Question,
    passages: &mut [Passage],
    most: Option<usize>,
) -> Weighed {
    let Some(words) = FewWords::of(&question.text) else { return Weighed::NOT };
    let all = words.len();
    let speaks = |passage: &Passage| {
        question.cross_lingual || passage.chunk.chunk.language == question.language
    };
    let (asked, below) = passages.split_at_mut(ASKED.min(passages.len()));
    let mut counts: Vec<Option<usize>> = Vec::with_capacity(asked.len());
    for passage in &mut *asked {
        let missing = speaks(passage).then(|| words.missing_in(&readable(passage)));
        counts.push(missing.as_ref().map(|missing| all - missing.len()));
        passage.missing_words = missing.unwrap_or_default();
    }
    let most_here = || counts.iter().copied().flatten().max().unwrap_or_default();
    let most = most.unwrap_or_else(most_here).min(all);
    let kept = |words: usize| 1.0 - OF_THE_WORDS * (1.0 - words as f32 / all as f32);
    let below = below.iter_mut().map(|one| (one, Some(0)));
    for (passage, count) in asked.iter_mut().zip(counts).chain(below) {
        let combined = &mut passage.fused.combined;
        let count = count.unwrap_or(most).min(most);
        *combined = Score::clamped(combined.get() * (kept(count) / kept(most)));
    }
    Weighed { words: most, reading_weight: if most == all { READING_WEIGHT } else { 1.0 } }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use trefoil_core::Language;

    use super::*;
    use crate::search::rerank::tests::passage;

    fn passages(texts: &[(&str, f32)]) -> Vec<Passage> {
        (0..).zip(texts).map(|(row, &(text, combined))| passage(row, text, combined)).collect()
    }

    /// A question in the language of the passages.
    fn asked(text: &str) -> Question {
        Question { text: text.to_owned(), language: Language::Ko, ..Question::default() }
    }

    #[track_caller]
    fn check(question: &str, texts: &[(&str, f32)], expected: (&[f32], f32)) {
        let mut passages = passages(texts);
        let weight = weigh_words(&asked(question), &mut passages, None).reading_weight;
        let scores: Vec<f32> = passages.iter().map(|one| one.fused.combined.get()).collect();
        let is_near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
        assert!(scores.iter().zip(expected.0).all(is_near), "{question}: {scores:?}");
        assert_eq!(weight, expected.1, "{question}");
    }

    #[test]
    fn what_lacks_a_word_of_few_loses_its_share() {
        let texts = [("Reducers and reducing", 0.9), ("A reducer of state", 0.5)];
        check("reducer", &texts, (&[0.27, 0.5], 0.5));
        check("state reducer", &texts, (&[0.27, 0.5], 0.5));
        check("reducer of actions", &texts, (&[0.9 * 0.3 / 0.65, 0.5], 1.0));
        // None has any, or it is a question.
        check("heron", &texts, (&[0.9, 0.5], 1.0));
        check("where a reducer has its place", &texts, (&[0.9, 0.5], 1.0));
        check("?", &texts, (&[0.9, 0.5], 1.0));
        check("heron", &[], (&[], 1.0));
    }

    #[test]
    fn a_passage_tells_what_it_lacks() {
        let texts = [("Reducers and reducing", 0.9), ("A reducer of state", 0.5)];
        let mut passages = passages(&texts);
        weigh_words(&asked("the reducer state"), &mut passages, None);
        let missing = passages.iter().map(|one| one.missing_words.join(" "));
        assert_eq!(missing.collect::<Vec<String>>(), ["reducer state", ""]);
        let nothing_missing = |question: &Question, texts: &[(&str, f32)]| {
            let mut passages = self::passages(texts);
            weigh_words(question, &mut passages, None);
            passages.last().unwrap().missing_words.is_empty()
        };
        // A sentence, a passage in another language, and one below those that are asked.
        assert!(!nothing_missing(&asked("reducer"), &texts[..1]));
        assert!(nothing_missing(&asked("what is a reducer for?"), &texts[..1]));
        let english = Question { language: Language::En, ..asked("reducer") };
        assert!(nothing_missing(&english, &texts[..1]));
        assert!(!nothing_missing(&asked("heron"), &[("a walrus", 0.5); ASKED]));
        assert!(nothing_missing(&asked("heron"), &[("a walrus", 0.5); ASKED + 1]));
    }

    #[test]
    fn words_of_the_headings_count() {
        let mut passages = passages(&[("It holds state.", 0.5), ("A reducer.", 0.6)]);
        let chunk = std::sync::Arc::make_mut(&mut passages[0].chunk);
        chunk.chunk.heading_path = vec!["The reducer".to_owned()];
        let all = Weighed { words: 2, reading_weight: READING_WEIGHT };
        assert_eq!(weigh_words(&asked("reducer state"), &mut passages, None), all);
        assert!(passages[0].fused.combined > passages[1].fused.combined);
    }

    #[test]
    fn another_language_of_the_corpus_has_other_words() {
        let mut english = asked("reducer");
        english.language = Language::En;
        let texts = [("리듀서", 0.9), ("A reducer", 0.5), ("State", 0.4)];
        let weigh = |question: &Question| {
            let mut passages = passages(&texts);
            for one in &mut passages[1..] {
                std::sync::Arc::make_mut(&mut one.chunk).chunk.language = Language::En;
            }
            weigh_words(question, &mut passages, None);
            passages.iter().map(|one| one.fused.combined.get()).collect::<Vec<f32>>()
        };
        assert_eq!(weigh(&english), [0.9, 0.5, 0.4 * 0.3]);
        // The corpus has no other passages than those.
        english.cross_lingual = true;
        assert_eq!(weigh(&english), [0.9 * 0.3, 0.5, 0.4 * 0.3]);
    }

    #[test]
    fn what_is_below_those_that_are_asked_stays_below() {
        let texts = [("a heron", 0.5); ASKED + 1];
        let mut passages = passages(&texts);
        passages[0] = passage(99, "a walrus", 0.6);
        let question = asked("heron");
        weigh_words(&question, &mut passages, None);
        assert_eq!(passages[ASKED - 1].fused.combined, Score::HALF);
        assert!(passages[ASKED].fused.combined < passages[0].fused.combined);
    }

    #[test]
    fn another_list_is_weighed_as_the_first() {
        let texts = [("A reducer of state", 0.5), ("A reducer", 0.5), ("State", 0.5)];
        for (most, expected, weight) in [
            (None, [0.5, 0.325, 0.325], 0.5),
            (Some(2), [0.5, 0.325, 0.325], 0.5),
            // What has more than the best of the first list is as good as that.
            (Some(1), [0.5; 3], 1.0),
            (Some(0), [0.5; 3], 1.0),
            (Some(9), [0.5, 0.325, 0.325], 0.5),
        ] {
            let mut passages = passages(&texts);
            let weighed = weigh_words(&asked("reducer state"), &mut passages, most);
            let scores: Vec<f32> = passages.iter().map(|one| one.fused.combined.get()).collect();
            assert!(scores.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{scores:?}");
            assert_eq!(weighed.reading_weight, weight, "{most:?}");
        }
    }

    proptest! {
        #[test]
        fn none_rises_and_the_best_stays(
            question in "[b-e]( [b-e]){0,3}",
            texts in proptest::collection::vec(("[b-e]( [b-e]){0,3}", 0_u8..=10), 0..8),
        ) {
            let texts: Vec<(&str, f32)> =
                texts.iter().map(|(text, it)| (text.as_str(), f32::from(*it) / 10.0)).collect();
            let before = passages(&texts);
            let mut after = before.clone();
            let weighed = weigh_words(&asked(&question), &mut after, None);
            let words = FewWords::of(&question);
            let count = |one: &Passage| {
                words.as_ref().map(|it| it.len() - it.missing_in(&one.chunk.chunk.text).len())
            };
            let most = before.iter().filter_map(count).max().unwrap_or_default();
            let has_all = words.as_ref().is_some_and(|it| it.len() == most);
            prop_assert_eq!((weighed.words, weighed.reading_weight < 1.0), (most, has_all));
            for (before, after) in before.iter().zip(&after) {
                let (was, is) = (before.fused.combined, after.fused.combined);
                prop_assert!(is <= was);
                if count(before).is_none_or(|count| count == most) {
                    prop_assert_eq!(is, was);
                }
            }
        }
    }
}
