//! How much the meaning of a question counts against its words.

use trefoil_text::WordBounds;

/// A question of at most so many words is a name or a term.
const SHORT: usize = 2;
/// From so many words on, a question is a long sentence …
const LONG: usize = 12;
/// … and from so many on, it is not told apart from longer ones.
const LONGEST: usize = 24;

/// α for a question: `base`, unless its form says more.
///
/// At most two words, code, and quotation marks each speak for its words: .5 for one of
/// them, .4 for two, .3 for all. A long sentence speaks for its meaning: .7 for 12 words,
/// .85 for 24 and more.
///
/// ```
/// use trefoil_memory::recall::adapted_alpha;
///
/// assert_eq!(adapted_alpha("tea", 0.65), 0.5);
/// assert_eq!(adapted_alpha("what does Mika drink", 0.65), 0.65);
/// ```
pub fn adapted_alpha(question: &str, base: f64) -> f64 {
    let bounds = WordBounds::new(question);
    let words = bounds.words().filter(|word| word.contains(char::is_alphanumeric)).count();
    let signs = [words <= SHORT, has_code(question), has_quotes(question)];
    match signs.into_iter().filter(|&sign| sign).count() {
        0 if words >= LONG => {
            let share = (words.min(LONGEST) - LONG) as f64 / (LONGEST - LONG) as f64;
            0.7 + 0.15 * share
        }
        0 => base,
        1 => 0.5,
        2 => 0.4,
        _ => 0.3,
    }
}

/// How many to ask a side for once more: twice `asked`, if it found fewer than half of the
/// `k_final` that are to be shown though it may have more; absent if it found enough.
pub const fn widened(asked: usize, found: usize, k_final: usize) -> Option<usize> {
    if 2 * found < k_final { Some(2 * asked) } else { None }
}

/// True for identifiers, calls, paths and what stands between back-quotes.
fn has_code(question: &str) -> bool {
    question.contains('`') || question.split_whitespace().any(is_code)
}

fn is_code(word: &str) -> bool {
    let word = word.trim_matches(|c: char| matches!(c, ',' | '.' | '?' | '!' | ';' | ':'));
    let inner = |sign: &str| {
        word.find(sign).is_some_and(|at| at > 0 && at + sign.len() < word.len()) && word.is_ascii()
    };
    let humps = word.is_ascii()
        && word
            .bytes()
            .zip(word.bytes().skip(1))
            .any(|(a, b)| a.is_ascii_lowercase() && b.is_ascii_uppercase());
    inner("_") || inner("::") || word.ends_with("()") || inner("/") || humps
}

/// True if something stands between quotation marks.
fn has_quotes(question: &str) -> bool {
    const MARKS: [(char, char); 5] =
        [('"', '"'), ('“', '”'), ('「', '」'), ('『', '』'), ('‘', '’')];
    MARKS.iter().any(|&(open, close)| {
        question.find(open).is_some_and(|at| {
            let inside = question.get(at + open.len_utf8()..).unwrap_or_default();
            inside.find(close).is_some_and(|end| end > 0)
        })
    })
}

/// The α that scores are made with, from what each side found: one that found nothing gives
/// its weight to the other.
pub(crate) const fn shared_alpha(alpha: f64, by_vector: bool, by_text: bool) -> f64 {
    match (by_vector, by_text) {
        (true, false) => 1.0,
        (false, true) => 0.0,
        (true, true) | (false, false) => alpha.clamp(0.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(question: &str, expected: f64) {
        assert!((adapted_alpha(question, 0.65) - expected).abs() < 1e-9, "{question}");
    }

    #[test]
    fn alpha_follows_the_form_of_the_question() {
        check("where does Mika live", 0.65);
        check("ミカはどこに住んでいますか", 0.65);
        check("미카는 지금 어디에 사나요", 0.65);
        check("coffee beans", 0.5);
        check("京都", 0.5);
        check("커피", 0.5);
        check("how does useState keep its value", 0.5);
        check("what did she mean by \"slow tea\" yesterday", 0.5);
        check("彼女は「お茶」と言いましたか", 0.5);
        check("max_file_bytes", 0.4);
        check("\"tea\"", 0.4);
        check("\"max_file_bytes\"", 0.3);
        check("one two three four five six seven eight nine ten eleven twelve", 0.7);
        check(&"word ".repeat(18), 0.775);
        check(&"word ".repeat(24), 0.85);
        check(&"word ".repeat(99), 0.85);
    }

    #[test]
    fn what_only_looks_like_code_or_quotes_is_neither() {
        check("what is it, then? and/ or", 0.65);
        check("what's the dog's name here", 0.65);
        check("is this an \"open one", 0.65);
    }

    #[test]
    fn a_side_that_found_too_little_is_asked_once_for_twice_as_many() {
        assert_eq!(widened(48, 5, 12), Some(96));
        assert_eq!(widened(48, 6, 12), None);
        assert_eq!(widened(48, 0, 1), Some(96));
        assert_eq!(widened(48, 0, 0), None);
    }

    proptest! {
        #[test]
        fn alpha_is_between_0_3_and_0_85(question in "\\PC{0,60}", base in 0.3_f64..=0.85) {
            prop_assert!((0.3..=0.85).contains(&adapted_alpha(&question, base)));
        }
    }
}
