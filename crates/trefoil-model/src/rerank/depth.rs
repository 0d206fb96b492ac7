//! How many passages a search reads that is to be quick. Pure.
//!
//! The length of texts is what a model takes its time for: all is counted in bytes. A window of
//! tokens is about as many bytes of English as of Japanese or Korean.

use trefoil_core::Score;

/// About what the window of a model holds, the question included; of Japanese and Korean it holds
/// a little more.
const WINDOW_BYTES: usize = 560;
/// What a passage costs besides its bytes: a run of the model takes as long as so many more.
const RUN_BYTES: usize = 48;
/// How many windows are read at once: a round of two cores.
const ROUND: usize = 2;
/// How many are read where the first do not settle what is best, and are about the question.
const LEAST: usize = 4;
/// How many at most.
const MOST: usize = 8;
/// A passage with this score answers the question: log-odds of 4.
const ANSWERS: f32 = 0.982;
/// Where none of four windows has this score, few below answer either: log-odds of 0.
const MAY_ANSWER: f32 = 0.5;
/// Where nothing has this score, nothing read is about the question: log-odds of −5.
const IS_ABOUT: f32 = 0.0067;
/// A question is long that takes more than a third of a window: less of a passage fits in, and such
/// questions gained nothing by more than one round (decision 042).
const LONG: usize = WINDOW_BYTES / 3;

/// How many of `passages`, from the top, are read together with `question` if neither its length nor
/// what is found in them ends it before: as many as fit in four windows.
pub(crate) fn at_least(question: &str, passages: &[&str]) -> usize {
    fit(question, passages, LEAST)
}

/// How many are enough, if the first of them have these scores: what fits in two windows; in four,
/// if something in those is about the question; and in two more, up to eight, while the best of all
/// may answer the question and does not surely (decision 038). For a long question two windows are
/// enough.
pub(crate) fn enough(question: &str, passages: &[&str], read: &[Score]) -> usize {
    if let Some(best) = read.iter().max().map(|score| score.get()) {
        let goes_on = if is_long(question) {
            read.len() < fit(question, passages, ROUND)
        } else if read.len() < at_least(question, passages) {
            is_about(read)
        } else {
            (MAY_ANSWER..ANSWERS).contains(&best)
        };
        if !goes_on {
            return read.len();
        }
    }
    let mut steps = (ROUND..=MOST).step_by(ROUND).map(|windows| fit(question, passages, windows));
    steps.find(|&fit| fit > read.len()).unwrap_or(read.len())
}

/// Whether something of what was read, with these scores, is about the question.
pub(crate) fn is_about(read: &[Score]) -> bool {
    read.iter().any(|score| score.get() >= IS_ABOUT)
}

fn is_long(question: &str) -> bool {
    question.len() > LONG
}

/// How many of `passages` fit in so many windows, each with the question: at least one a window.
fn fit(question: &str, passages: &[&str], windows: usize) -> usize {
    let asked = asked(question);
    let mut left = windows * (WINDOW_BYTES + RUN_BYTES);
    let fits = |passage: &&&str| {
        let pair = (passage.len() + asked).min(WINDOW_BYTES) + RUN_BYTES;
        left.checked_sub(pair).inspect(|&rest| left = rest).is_some()
    };
    passages.iter().take_while(fits).count()
}

/// What a question takes of a window: half of it at most.
fn asked(question: &str) -> usize {
    question.len().min(WINDOW_BYTES / 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[track_caller]
    fn check(question: usize, passages: &[usize], expected: [usize; 2]) {
        let all = "x".repeat(5_000);
        let passages: Vec<&str> = passages.iter().map(|&bytes| &all[..bytes]).collect();
        let question = &all[..question];
        let mut read = Vec::new();
        loop {
            let wanted = enough(question, &passages, &read);
            if wanted <= read.len() {
                break;
            }
            read.resize(wanted, Score::HALF);
        }
        let found = [at_least(question, &passages), read.len()];
        assert_eq!(found, expected, "{passages:?}");
    }

    #[test]
    fn long_passages_are_few_and_short_ones_many() {
        check(30, &[], [0, 0]);
        check(30, &[2_000; 3], [3, 3]);
        // A window holds no more of a longer passage or a longer question.
        check(30, &[2_000; 50], [4, 8]);
        check(30, &[560; 50], [4, 8]);
        check(186, &[4_000; 50], [4, 8]);
        // A short one costs its run as well.
        check(40, &[160; 50], [9, 19]);
        check(20, &[40; 100], [22, 45]);
        check(20, &[0; 100], [35, 71]);
    }

    #[test]
    fn two_windows_are_enough_for_a_long_question() {
        check(187, &[4_000; 50], [4, 2]);
        check(1_000, &[4_000; 50], [4, 2]);
        check(187, &[80; 50], [7, 3]);
        check(187, &[4_000], [1, 1]);
    }

    #[test]
    fn what_is_about_nothing_tells_nothing() {
        let read = |scores: &[f32]| {
            is_about(&scores.iter().copied().map(Score::clamped).collect::<Vec<_>>())
        };
        assert!(!read(&[]) && !read(&[0.0, 0.006]));
        assert!(read(&[0.0, 0.007]));
    }

    #[test]
    fn more_are_read_while_one_may_answer() {
        let passages = ["x".repeat(600), "y".repeat(700)].concat().repeat(9);
        let passages: Vec<&str> = (0..9).map(|n| &passages[n..1_000 + n]).collect();
        let wanted = |read: &[f32]| {
            let read: Vec<Score> = read.iter().copied().map(Score::clamped).collect();
            enough("why?", &passages, &read)
        };
        assert_eq!(wanted(&[]), 2);
        // One that answers is enough of four, not of two.
        assert_eq!(wanted(&[0.99; 2]), 4);
        assert_eq!(wanted(&[0.8; 4]), 6);
        assert_eq!(wanted(&[0.8, 0.99, 0.1, 0.1]), 4);
        // No more is read where none of four is likely to, or none of two is about the question.
        assert_eq!(wanted(&[0.4; 2]), 4);
        assert_eq!(wanted(&[0.4; 4]), 4);
        assert_eq!(wanted(&[0.005, 0.001]), 2);
        assert_eq!(wanted(&[0.005, 0.01]), 4);
        assert_eq!(wanted(&[0.8; 6]), 8);
        assert_eq!(wanted(&[0.8; 8]), 8);
        // What the clock has stopped may go on.
        assert_eq!(wanted(&[0.8; 2]), 4);
    }

    fn texts(most: usize) -> impl Strategy<Value = Vec<String>> {
        proptest::collection::vec(0_usize..900, 0..most)
            .prop_map(|lengths| lengths.into_iter().map(|bytes| "x".repeat(bytes)).collect())
    }

    fn borrowed(texts: &[String]) -> Vec<&str> {
        texts.iter().map(String::as_str).collect()
    }

    proptest! {
        #[test]
        fn a_window_is_read_of_each_of_the_first(
            question in "\\PC{0,200}",
            passages in texts(80),
        ) {
            let read = at_least(&question, &borrowed(&passages));
            prop_assert!(read >= passages.len().min(LEAST) && read <= passages.len());
        }

        #[test]
        fn shorter_passages_are_at_least_as_many(
            question in "\\PC{0,200}",
            passages in texts(80),
            cuts in proptest::collection::vec(0_usize..900, 80),
        ) {
            let cut = passages.iter().zip(cuts).map(|(text, to)| &text[..text.len().min(to)]);
            let cut: Vec<&str> = cut.collect();
            prop_assert!(at_least(&question, &cut) >= at_least(&question, &borrowed(&passages)));
        }

        #[test]
        fn what_stands_below_does_not_matter(
            question in "\\PC{0,200}",
            passages in texts(60),
            more in texts(20),
        ) {
            let (head, mut all) = (borrowed(&passages), borrowed(&passages));
            all.extend(borrowed(&more));
            let (few, many) = (at_least(&question, &head), at_least(&question, &all));
            prop_assert!(few <= many);
            prop_assert_eq!(few, many.min(head.len()));
        }

        #[test]
        fn reading_grows_until_it_is_enough(
            question in "\\PC{0,200}",
            passages in texts(80),
            scores in proptest::collection::vec(0.0_f32..=1.0, 80),
        ) {
            let (passages, mut read) = (borrowed(&passages), Vec::new());
            for _ in 0..=MOST {
                let wanted = enough(&question, &passages, &read);
                prop_assert!(wanted >= read.len() && wanted <= passages.len());
                let is_enough = wanted == read.len();
                read = scores[..wanted].iter().copied().map(Score::clamped).collect();
                if is_enough {
                    break;
                }
            }
            prop_assert_eq!(enough(&question, &passages, &read), read.len());
        }
    }
}
