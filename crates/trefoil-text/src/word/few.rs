use super::WordBounds;
use crate::{
    analyze::is_clitic,
    normalize::normalize,
    particle::split_particle,
    script::{Run, Script, runs},
    stop::is_stop,
};

/// The words of a question that has few of them, to tell which of them a text has.
///
/// A word of the text is one of the question if it is written the same, whatever its case and width,
/// and stands as a word: between letters of another script, spaces or signs, in Korean with an ending
/// of nouns after it at most; Kanji and Hiragana anywhere. Function words and particles of
/// the question are left out.
///
/// ```
/// use trefoil_text::FewWords;
///
/// let words = FewWords::of("서버 설정을").unwrap();
/// assert_eq!(words.missing_in("설정은 여기에 있습니다."), ["서버"]);
/// assert_eq!(FewWords::of("how do I set up a server?"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FewWords {
    words: Vec<String>,
}

impl FewWords {
    /// Runs of letters of one script that a question of few words has at most.
    const MOST_RUNS: usize = 3;

    /// Those of `question`; none if it has only function words, or more than three runs of letters
    /// and digits of one script: words, where spaces stand between them, and about as many in
    /// Japanese.
    pub fn of(question: &str) -> Option<Self> {
        let question = normalize(question).to_lowercase();
        let are_letters = runs(&question).filter(|run| run.script != Script::Other);
        if !(1..=Self::MOST_RUNS).contains(&are_letters.take(Self::MOST_RUNS + 1).count()) {
            return None;
        }
        let mut words: Vec<String> = Vec::new();
        let (mut goes_on, mut before) = (false, "");
        for run in runs(&question) {
            // The apostrophe of `Kepler's`, and the word before it.
            let is_clitic = matches!(before, "'" | "\u{2019}") && is_clitic(run.text);
            let is_between = run.script == Script::Other || is_japanese_particle(&run) || is_clitic;
            before = run.text;
            match words.last_mut().filter(|_| goes_on && !is_between) {
                Some(word) => word.push_str(run.text),
                None if !is_between => words.push(run.text.to_owned()),
                None => {}
            }
            goes_on = !is_between;
        }
        for word in &mut words {
            *word = without_particle(word).to_owned();
        }
        words.retain(|word| runs(word).any(|run| !is_stop(run.script, run.text)));
        words.sort_unstable();
        words.dedup();
        (!words.is_empty()).then_some(Self { words })
    }

    /// How many there are: one to three.
    #[expect(clippy::len_without_is_empty, reason = "there is one at least")]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Those that `text` does not have, in lower case, sorted by code point.
    pub fn missing_in(&self, text: &str) -> Vec<String> {
        let text = normalize(text).to_lowercase();
        let bounds = WordBounds::by_script(&text);
        self.words.iter().filter(|word| !has(&text, &bounds, word)).cloned().collect()
    }
}

/// Whether `word` stands in the text as a whole one. Its places may overlap.
fn has(text: &str, bounds: &WordBounds<'_>, word: &str) -> bool {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(word)) {
        let start = from + at;
        if bounds.is_whole(start, start + word.len()) {
            return true;
        }
        from = text.ceil_char_boundary(start + 1);
    }
    false
}

/// A run of Hiragana that only ties words together, as の in 状態の管理.
fn is_japanese_particle(run: &Run<'_>) -> bool {
    const PARTICLES: [&str; 14] = [
        "の", "は", "が", "を", "に", "へ", "と", "も", "や", "で", "とは", "には", "では", "から",
    ];
    run.script == Script::Hiragana
        && (PARTICLES.contains(&run.text) || is_stop(run.script, run.text))
}

/// A word without the Korean particle at its end; what one syllable is left of stays whole, for most
/// of those are nouns: 포도.
fn without_particle(word: &str) -> &str {
    let stem = split_particle(word).map(|(stem, _)| stem);
    stem.filter(|stem| stem.chars().nth(1).is_some()).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[track_caller]
    fn check(question: &str, expected: &[&str]) {
        let words = FewWords::of(question).map(|it| it.words).unwrap_or_default();
        assert_eq!(words, expected, "{question}");
    }

    #[test]
    fn a_question_of_few_words_is_told_from_a_sentence() {
        check("", &[]);
        check(" ?!", &[]);
        check("Reducer?", &["reducer"]);
        check("use use state", &["state", "use"]);
        check("red green blue grey", &[]);
        check("「状態」の管理", &["状態", "管理"]);
        check("Reactの状態とは？", &[]);
        check("状態とは？", &["状態"]);
        check("の", &[]);
        check("where is Kyoto?", &["kyoto"]);
        check("what is it?", &[]);
        check("Kepler's laws", &["kepler", "laws"]);
        check("データベースについて", &["データベース"]);
        check("포도", &["포도"]);
        check("状態の管理方法は？", &[]);
        check("食べる", &["食べる"]);
        check("상태를 관리", &["관리", "상태"]);
        check("React를", &["react"]);
        check("결과", &["결과"]);
        check("ＡＢＣ", &["abc"]);
    }

    #[track_caller]
    fn count(question: &str, text: &str, expected: usize) {
        let count = FewWords::of(question).map(|words| words.len() - words.missing_in(text).len());
        assert_eq!(count, Some(expected), "{question} in {text}");
    }

    #[test]
    fn a_word_is_found_where_it_stands_as_one() {
        count("reducer", "The REDUCER's state.", 1);
        count("reducer", "Two reducers.", 0);
        count("state reducer", "A reducer and more.", 1);
        count("x y z", "z, x", 2);
        count("상태를", "상태는 여기에", 1);
        count("상태", "이것은 상태입니다", 1);
        count("상태", "상태표", 0);
        count("은행", "은행나무", 0);
        count("한국", "한국야구", 0);
        count("リスト", "ポスティングリスト", 0);
        count("リスト", "リストの長さ", 1);
        count("状態", "状態管理", 1);
        count("useState", "`useState`를 쓴다", 1);
        count("ﾘｽﾄ", "リスト", 1);
        // The first place is none, and the second one begins within it.
        count("bたb", "xbたbたb", 1);
    }

    proptest! {
        #[test]
        fn a_question_has_all_of_its_own_words(question in "\\PC{0,12}") {
            if let Some(words) = FewWords::of(&question) {
                prop_assert!((1..=3).contains(&words.len()));
                prop_assert_eq!(words.missing_in(&question), [""; 0]);
            }
        }

        #[test]
        fn more_text_never_has_fewer(question in "[b-d가나は]{1,3} [b-d]{0,2}", text in any::<String>(), more in any::<String>()) {
            if let Some(words) = FewWords::of(&question) {
                let (part, whole) = (words.missing_in(&text), words.missing_in(&format!("{text} {more}")));
                prop_assert!(whole.iter().all(|word| part.contains(word)), "{part:?} {whole:?}");
            }
        }
    }
}
