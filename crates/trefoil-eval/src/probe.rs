//! Questions that nothing answers, to calibrate against.

use trefoil::Language;

use crate::random::Random;

/// `count` questions in the letters of a language that mean nothing: 3–8 words of 1–4
/// syllables. The same seed gives the same questions.
pub fn gibberish(language: Language, count: usize, seed: u64) -> Vec<String> {
    let mut random = Random::seeded(seed ^ language.code().bytes().map(u64::from).sum::<u64>());
    let question = |random: &mut Random| {
        let words = 3 + random.below(6);
        let word = |_| {
            let syllables = 1 + random.below(4);
            (0..syllables).map(|_| syllable(language, random)).collect::<String>()
        };
        let words: Vec<String> = (0..words).map(word).collect();
        words.join(if language == Language::Ja { "" } else { " " })
    };
    (0..count).map(|_| question(&mut random)).collect()
}

fn syllable(language: Language, random: &mut Random) -> String {
    match language {
        Language::Ja => one_of(
            "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわんアイウカキクサシスタチツナニノハヒフマミモヤラリルレロワン",
            random,
        ),
        // The 11,172 syllables of Hangul, in order.
        Language::Ko => u32::try_from(random.below(11_172))
            .ok()
            .and_then(|index| char::from_u32(0xac00 + index))
            .into_iter()
            .collect(),
        Language::En | _ => one_of("bcdfghjklmnpqrstvwxz", random) + &one_of("aeiouy", random),
    }
}

fn one_of(letters: &str, random: &mut Random) -> String {
    letters.chars().nth(random.below(letters.chars().count())).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gibberish_is_in_its_own_letters_and_repeats() {
        for (language, first, last) in
            [(Language::En, 'a', 'z'), (Language::Ja, 'ぁ', 'ヿ'), (Language::Ko, '가', '힣')]
        {
            let questions = gibberish(language, 50, 1);
            assert_eq!(questions, gibberish(language, 50, 1));
            assert_ne!(questions, gibberish(language, 50, 2));
            let letters = |text: &String| {
                text.chars().all(|letter| letter == ' ' || (first..=last).contains(&letter))
            };
            assert!(questions.iter().all(letters), "{questions:?}");
            assert!(questions.iter().all(|text| (3..=200).contains(&text.chars().count())));
        }
    }
}
