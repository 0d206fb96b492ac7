//! Korean particles, which are written onto the word that they mark.

use crate::{script::Script, word_list::WordList};

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

/// The particles, by when they may follow a syllable.
const PARTICLES: [(After, &str); 4] = [
    (
        After::Any,
        "에서부터 에서는 에서도 에서의 에게서 한테서 에서 에게 에는 에도 에만 한테 까지 부터 마다
         조차 마저 처럼 보다 밖에 하고 의 에 도 만",
    ),
    (After::Consonant, "으로부터 으로는 으로 이랑 이란 이라는 은 이 을 과"),
    (After::Vowel, "라는 란 랑 는 가 를 와"),
    (After::VowelOrRieul, "로부터 로"),
];

fn particles() -> impl Iterator<Item = (After, &'static str)> {
    PARTICLES.iter().flat_map(|&(after, list)| list.split_whitespace().map(move |one| (after, one)))
}

/// Common words that only look as if they ended in a particle.
static WHOLE: WordList = WordList::new(
    "가을 강의 거의 건의 결과 경과 고양이 교과 기와 길이 깊이 나이 넓이 논의 높이 누가 다만 대로
     도로 동의 따로 또는 마을 많이 먹이 면도 모의 문의 바로 별로 부과 사과 사이 새로 서로 성과 세로
     속도 수도 스스로 아이 악의 안과 약과 약도 어린이 예의 오이 온도 용도 의도 의의 이의 일과 임의
     자유로 전과 정도 정의 제도 종이 주의 지도 진로 차이 창의 초과 치과 태도 통과 편의 하나로 학과
     합의 항로 협의 호의 회의 효과",
);

/// Verb stems before 는, as in 있는 and 하는: endings, not particles.
const VERB_STEMS: &[char] =
    &['하', '되', '있', '없', '않', '같', '싶', '지', '오', '나', '보', '주'];

/// A word and the particle at its end: `서울에서` is `서울` and `에서`, `결과` has none.
///
/// Told by the form alone: the particle must fit the last syllable before it (`물은`,
/// `나는`), and common nouns that end like one are known. A word in other letters may
/// be followed by either form.
pub fn split_particle(word: &str) -> Option<(&str, &str)> {
    if WHOLE.contains(word) {
        return None;
    }
    let fitting = particles().filter_map(|(after, particle)| {
        let stem = word.strip_suffix(particle)?;
        let last = stem.chars().next_back().filter(|&last| Script::of(last) != Script::Other)?;
        let fits = final_consonant(last).is_none_or(|consonant| match after {
            After::Any => true,
            After::Consonant => consonant != NO_CONSONANT,
            After::Vowel => consonant == NO_CONSONANT,
            After::VowelOrRieul => matches!(consonant, NO_CONSONANT | RIEUL),
        });
        let is_verb = particle == "는" && VERB_STEMS.contains(&last);
        (fits && !is_verb).then_some((stem, particle))
    });
    fitting.max_by_key(|(_, particle)| particle.len())
}

/// True if `tail` is what may follow a noun within its word: nothing, particles, the
/// plural 들, or a form of 이다, to be.
pub(crate) fn is_nominal_ending(tail: &str) -> bool {
    let tail = tail.strip_prefix("들").unwrap_or(tail);
    let is_particle = |tail: &str| tail.is_empty() || particles().any(|(_, one)| one == tail);
    tail.is_empty()
        || COPULA.begins(tail)
        || particles().any(|(_, one)| tail.strip_prefix(one).is_some_and(is_particle))
}

/// True if a tail begins with an ending of one syllable that nouns begin with as well, and goes on:
/// 나무 in 은행나무, 야구 in 한국야구.
pub(crate) fn may_go_on(tail: &str) -> bool {
    tail.starts_with(['나', '야', '란']) && tail.chars().nth(1).is_some()
}

static COPULA: WordList = WordList::new(
    "이란 란 인가 인지 이에요 예요 이야 야 입니 이다 이라 라고 라는 이며 이고 인데 이나 나",
);

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
}
