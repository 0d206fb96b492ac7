//! How many passages a search reads that is to be quick. Pure.

/// What a quick search reads, in bytes of passages and question: their length is what a model
/// takes its time for.
const QUICK_BYTES: usize = 2_000;
/// About what the window of a model holds of English, the question included; of Japanese and Korean
/// it holds a little more.
const WINDOW_BYTES: usize = 560;
/// A shorter passage costs as much as one of this length.
const LEAST_BYTES: usize = 40;
/// Of what fills windows, so many are read.
const FEWEST: usize = 3;

/// How many of `passages`, from the top, are read together with `question` in the time of a quick
/// search: never fewer than three of those that are there.
pub(crate) fn first(question: &str, passages: &[&str]) -> usize {
    let asked = question.len().min(WINDOW_BYTES / 2);
    let mut left = QUICK_BYTES;
    let fits = |passage: &&&str| {
        let pair = (passage.len().max(LEAST_BYTES) + asked).min(WINDOW_BYTES);
        left.checked_sub(pair).inspect(|&rest| left = rest).is_some()
    };
    let fit = passages.iter().take_while(fits).count();
    fit.max(FEWEST).min(passages.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[track_caller]
    fn check(question: usize, passages: &[usize], expected: usize) {
        let all = "x".repeat(5_000);
        let passages: Vec<&str> = passages.iter().map(|&bytes| &all[..bytes]).collect();
        assert_eq!(first(&all[..question], &passages), expected, "{passages:?}");
    }

    #[test]
    fn long_passages_are_few_and_short_ones_many() {
        check(30, &[], 0);
        check(30, &[2_000; 3], 3);
        // A window holds no more of a longer passage or a longer question.
        check(30, &[2_000; 50], 3);
        check(30, &[560; 50], 3);
        check(1_000, &[4_000; 50], 3);
        check(40, &[160; 50], 10);
        check(1_000, &[80; 50], 5);
        check(20, &[0; 100], 33);
        check(20, &[40; 100], 33);
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
        fn at_least_three_are_read_and_at_most_all(question in "\\PC{0,200}", passages in texts(80)) {
            let read = first(&question, &borrowed(&passages));
            prop_assert!(read >= passages.len().min(FEWEST) && read <= passages.len());
        }

        #[test]
        fn shorter_passages_are_at_least_as_many(
            question in "\\PC{0,200}",
            passages in texts(80),
            cuts in proptest::collection::vec(0_usize..900, 80),
        ) {
            let cut = passages.iter().zip(cuts).map(|(text, to)| &text[..text.len().min(to)]);
            let cut: Vec<&str> = cut.collect();
            prop_assert!(first(&question, &cut) >= first(&question, &borrowed(&passages)));
        }

        #[test]
        fn what_stands_below_does_not_matter(
            question in "\\PC{0,200}",
            passages in texts(60),
            more in texts(20),
        ) {
            let (head, mut all) = (borrowed(&passages), borrowed(&passages));
            all.extend(borrowed(&more));
            let (few, many) = (first(&question, &head), first(&question, &all));
            prop_assert!(few <= many);
            prop_assert_eq!(few, many.min(head.len()));
        }
    }
}
