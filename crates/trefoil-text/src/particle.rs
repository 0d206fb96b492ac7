//! Korean particles, which are written onto the word that they mark.

use crate::script::Script;

/// When a particle may follow a syllable.
#[derive(Clone, Copy)]
enum After {
    /// Always.
    Any,
    /// Only a final consonant, as 은 in 물은.
    Consonant,
    /// Only a vowel, as 는 in 나는.
    Vowel,
    /// A vowel or ㄹ, as 로 in 서울로.
    VowelOrRieul,
}

/// The particles, longest first within what shares an ending.
const PARTICLES: &[(&str, After)] = &[
    ("으로부터", After::Consonant),
    ("로부터", After::VowelOrRieul),
    ("에서부터", After::Any),
    ("에서는", After::Any),
    ("에서도", After::Any),
    ("에서의", After::Any),
    ("으로는", After::Consonant),
    ("에게서", After::Any),
    ("한테서", After::Any),
    ("에서", After::Any),
    ("에게", After::Any),
    ("에는", After::Any),
    ("에도", After::Any),
    ("에만", After::Any),
    ("한테", After::Any),
    ("까지", After::Any),
    ("부터", After::Any),
    ("마다", After::Any),
    ("조차", After::Any),
    ("마저", After::Any),
    ("처럼", After::Any),
    ("보다", After::Any),
    ("밖에", After::Any),
    ("하고", After::Any),
    ("으로", After::Consonant),
    ("이랑", After::Consonant),
    ("이란", After::Consonant),
    ("이라는", After::Consonant),
    ("라는", After::Vowel),
    ("란", After::Vowel),
    ("랑", After::Vowel),
    ("은", After::Consonant),
    ("이", After::Consonant),
    ("을", After::Consonant),
    ("과", After::Consonant),
    ("는", After::Vowel),
    ("가", After::Vowel),
    ("를", After::Vowel),
    ("와", After::Vowel),
    ("로", After::VowelOrRieul),
    ("의", After::Any),
    ("에", After::Any),
    ("도", After::Any),
    ("만", After::Any),
];

/// Common words that only look as if they ended in a particle; sorted by code point.
#[rustfmt::skip]
const WHOLE: &[&str] = &[
    "가을", "강의", "거의", "건의", "결과", "경과", "고양이", "교과", "기와", "길이", "깊이",
    "나이", "넓이", "논의", "높이", "누가", "다만", "대로", "도로", "동의", "따로", "또는",
    "마을", "많이", "먹이", "면도", "모의", "문의", "바로", "별로", "부과", "사과", "사이",
    "새로", "서로", "성과", "세로", "속도", "수도", "스스로", "아이", "악의", "안과", "약과",
    "약도", "어린이", "예의", "오이", "온도", "용도", "의도", "의의", "이의", "일과", "임의",
    "자유로", "전과", "정도", "정의", "제도", "종이", "주의", "지도", "진로", "차이", "창의",
    "초과", "치과", "태도", "통과", "편의", "하나로", "학과", "합의", "항로", "협의", "호의",
    "회의", "효과",
];

/// Verb stems before 는, as in 있는 and 하는: endings, not particles.
const VERB_STEMS: &[char] =
    &['하', '되', '있', '없', '않', '같', '싶', '지', '오', '나', '보', '주'];

/// A word and the particle at its end: `서울에서` is `서울` and `에서`, `결과` has none.
///
/// Told by the form alone: the particle must fit the last syllable before it (`물은`,
/// `나는`), and common nouns that end like one are known. A word in other letters may
/// be followed by either form.
pub fn split_particle(word: &str) -> Option<(&str, &str)> {
    if WHOLE.binary_search(&word).is_ok() {
        return None;
    }
    PARTICLES.iter().find_map(|&(particle, after)| {
        let stem = word.strip_suffix(particle)?;
        let last = stem.chars().next_back()?;
        let fits = match (after, final_consonant(last)) {
            _ if Script::of(last) == Script::Other => return None,
            (After::Any, _) | (_, None) => true,
            (After::Consonant, Some(consonant)) => consonant != NO_CONSONANT,
            (After::Vowel, Some(consonant)) => consonant == NO_CONSONANT,
            (After::VowelOrRieul, Some(consonant)) => {
                consonant == NO_CONSONANT || consonant == RIEUL
            }
        };
        let verb = particle == "는" && VERB_STEMS.contains(&last);
        (fits && !verb).then(|| (stem, word.get(stem.len()..).unwrap_or_default()))
    })
}

/// True if `tail` is what may follow a noun within its word: nothing, particles, the
/// plural 들, or a form of 이다, to be.
pub(crate) fn is_nominal_ending(tail: &str) -> bool {
    let tail = tail.strip_prefix("들").unwrap_or(tail);
    tail.is_empty()
        || COPULA.iter().any(|copula| tail.starts_with(copula))
        || PARTICLES.iter().any(|&(particle, _)| {
            tail.strip_prefix(particle).is_some_and(|rest| {
                PARTICLES.iter().any(|&(more, _)| more == rest) || rest.is_empty()
            })
        })
}

const COPULA: &[&str] = &[
    "이란",
    "란",
    "인가",
    "인지",
    "이에요",
    "예요",
    "이야",
    "야",
    "입니",
    "이다",
    "이라",
    "라고",
    "라는",
    "이며",
    "이고",
    "인데",
    "이나",
    "나",
];

const NO_CONSONANT: u32 = 0;
const RIEUL: u32 = 8;

/// The place of a syllable's final consonant among the 28 of Unicode's composition
/// (0 is none); absent for what is no syllable.
fn final_consonant(c: char) -> Option<u32> {
    ('가'..='힣').contains(&c).then(|| (u32::from(c) - u32::from('가')) % 28)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<(&str, &str)>) {
        assert_eq!(split_particle(word), expected, "{word}");
    }

    #[test]
    fn a_particle_that_fits_is_split_off() {
        check("서울에서", Some(("서울", "에서")));
        check("서울로", Some(("서울", "로")));
        check("물은", Some(("물", "은")));
        check("육수와", Some(("육수", "와")));
        check("국물과", Some(("국물", "과")));
        check("let과", Some(("let", "과")));
        check("React와", Some(("React", "와")));
        check("이것으로부터", Some(("이것", "으로부터")));
    }

    #[test]
    fn what_only_looks_like_one_is_not() {
        for word in ["", "에서", "결과", "회의", "전문가", "휴대폰", "있는", "설치하는", "…에서"]
        {
            check(word, None);
        }
    }

    #[test]
    fn what_follows_a_noun() {
        for tail in ["", "들", "들은", "에서는", "까지의", "이에요", "입니다"] {
            assert!(is_nominal_ending(tail), "{tail}");
        }
        for tail in ["역", "역에서", "특별시", "은행"] {
            assert!(!is_nominal_ending(tail), "{tail}");
        }
    }

    #[test]
    fn the_list_of_whole_words_is_sorted() {
        assert!(WHOLE.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
