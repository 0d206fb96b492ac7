use trefoil_core::Language;

use crate::script::{Script, runs};

/// The language of a text, told from its scripts: Korean if most of its Chinese,
/// Japanese and Korean characters are Hangul, Japanese if they are Kana or Kanji,
/// else English.
///
/// A few characters of another script do not make a language: there must be one for every four
/// words of a script with spaces, which any Japanese or Korean sentence has, however
/// many English names stand in it.
pub fn language_of(text: &str) -> Language {
    let (mut hangul, mut japanese, mut words) = (0, 0, 0);
    for run in runs(text) {
        match run.script {
            Script::Hangul => hangul += run.text.chars().count(),
            Script::Han | Script::Hiragana | Script::Katakana => {
                japanese += run.text.chars().count();
            }
            Script::Spaced => words += 1,
            Script::Mark | Script::Other => {}
        }
    }
    if 4 * (hangul + japanese) < words.max(1) {
        Language::En
    } else if hangul > japanese {
        Language::Ko
    } else {
        Language::Ja
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Language) {
        assert_eq!(language_of(text), expected, "{text}");
    }

    #[test]
    fn a_sentence_has_the_language_of_its_script() {
        check("", Language::En);
        check("…!?", Language::En);
        check("The quick brown fox", Language::En);
        check("Быстрая лиса", Language::En);
        check("東京の天気", Language::Ja);
        check("東京", Language::Ja);
        check("ｶﾀｶﾅ", Language::Ja);
        check("서울의 날씨", Language::Ko);
        check("大韓民國의 서울특별시", Language::Ko);
        check("\u{1112}\u{1161}\u{11ab}", Language::Ko);
    }

    #[test]
    fn foreign_names_do_not_change_it() {
        check("useEffectとは", Language::Ja);
        check("Next.js の App Router で fetch を cache する", Language::Ja);
        check("React Server Components란?", Language::Ko);
        check("hello あ", Language::Ja);
        check(
            "The Japanese word ごみ is written with two characters and means garbage",
            Language::En,
        );
    }
}
