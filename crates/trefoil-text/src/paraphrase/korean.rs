//! Korean words without their endings.

use crate::split_particle;

/// Endings of verbs and of "to be" in letters, longest first within what shares an end.
#[rustfmt::skip]
const ENDINGS: &[&str] = &[
    "ㅅㅡㅂㄴㅣㄷㅏ", "ㅂㄴㅣㄷㅏ", "ㅇㅏㅇㅛ", "ㅇㅓㅇㅛ", "ㅅㅔㅇㅛ", "ㄴㅡㄴㄷㅏ", "ㄴㄷㅏ", "ㄴㅔㅇㅛ", "ㅈㅛ", "ㄱㅓㄷㅡㄴㅇㅛ", "ㄷㅏ", "ㅇㅛ", "ㅇㅓ", "ㅇㅏ", "ㅇㅑ",
    "ㄴㅡㄴ", "ㅈㅣ", "ㄱㅗ", "ㅆ", "ㄱㅣ", "ㄹㅓ", "ㅇㅡ",
];

/// Forms of "to be" after a noun.
const COPULA: &str = "ㅇㅣㅂㄴㅣㄷㅏ ㅇㅣㅇㅔㅇㅛ ㅇㅖㅇㅛ ㅇㅣㅇㅑ ㅇㅣㄷㅏ ㅇㅣㄹㅏㅅㅓ ㅇㅣㄹㅏ";

/// Forms of 하다 and 되다, which make a verb of a noun.
const SUPPORT: &[&str] = &["ㅎㅏㅅㅣ", "ㄷㅚㅅㅣ", "ㅎㅡ", "ㅎㅐ", "ㅎㅏㄴ", "ㅎㅏ", "ㄷㅚ"];

const INITIALS: &str = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ";
const MEDIALS: &str = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ";
const FINALS: &str = "ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ";

/// What the forms of a word have in common: a noun without particles, a verb without its
/// endings, in letters; `마셔요`, `마십니다` and `마신다` are one. Other words may be one as
/// well, but hardly ever two that a sentence could hold in the same place.
pub(super) fn lemma(word: &str) -> String {
    let noun = split_particle(word).map_or(word, |(noun, _)| noun);
    let whole: String = noun.chars().flat_map(letters).collect();
    if let Some(noun) = COPULA.split(' ').find_map(|copula| whole.strip_suffix(copula)) {
        return noun.trim_end_matches('ㄹ').to_owned();
    }
    let mut stem = whole.as_str();
    while let Some(shorter) = ENDINGS
        .iter()
        .find_map(|ending| stem.strip_suffix(ending))
        .filter(|shorter| shorter.chars().count() > 1)
    {
        stem = shorter;
    }
    // 다 alone is also "to be" after a noun.
    let is_verb = stem.len() < whole.len() && whole.strip_suffix("ㄷㅏ") != Some(stem);
    let stem =
        if is_verb { with_plain_vowel(stem) } else { stem.trim_end_matches('ㄹ').to_owned() };
    let bare = stem.strip_suffix('ㄴ').unwrap_or(&stem);
    if let Some(bare) = bare.strip_suffix("ㅇㅜ") {
        return format!("{bare}ㅂ");
    }
    let noun = SUPPORT.iter().find_map(|support| stem.strip_suffix(support));
    noun.filter(|noun| !noun.is_empty()).unwrap_or(&stem).to_owned()
}

/// The stem of a verb as it is whatever follows it: 마셔 is 마시 and 어, and of 만들, 만듭 and
/// 만든 only 만드 is the same.
fn with_plain_vowel(stem: &str) -> String {
    let mut stem = stem.trim_end_matches('ㄹ').to_owned();
    if let Some(plain) = stem.chars().next_back().and_then(plain_vowel) {
        stem.pop();
        stem.push(plain);
    }
    stem
}

/// True for a word of which a syllable ends in ㅆ, as verbs in the past do; but for 있다, to
/// be, and 겠, which is of the future.
pub(super) fn is_past(word: &str) -> bool {
    word.chars().any(|c| !matches!(c, '있' | '겠') && letters(c).nth(2) == Some('ㅆ'))
}

const fn plain_vowel(vowel: char) -> Option<char> {
    match vowel {
        'ㅏ' | 'ㅓ' | 'ㅐ' => Some('ㅡ'),
        'ㅘ' => Some('ㅗ'),
        'ㅝ' => Some('ㅜ'),
        'ㅕ' => Some('ㅣ'),
        'ㅙ' => Some('ㅚ'),
        _ => None,
    }
}

/// The letters of a syllable; any other character as it is.
fn letters(c: char) -> impl Iterator<Item = char> {
    let at = (u32::from(c)).wrapping_sub(u32::from('가')) as usize;
    let syllable = ('가'..='힣').contains(&c);
    let of = |letters: &'static str, at: usize| letters.chars().nth(at);
    let parts = if syllable {
        let last = (at % 28).checked_sub(1).and_then(|at| of(FINALS, at));
        [of(INITIALS, at / 588), of(MEDIALS, at % 588 / 28), last]
    } else {
        [Some(c), None, None]
    };
    parts.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_a_word_are_one() {
        for forms in [
            &["마셔요", "마십니다", "마신다"][..],
            &["먹어요", "먹습니다", "먹는다", "먹었어요", "먹고"],
            &["커피를", "커피는", "커피예요", "커피"],
            &["의사예요", "의사입니다", "의사는"],
            &["쳐요", "칩니다", "친다", "쳤어요"],
            &["봐요", "봅니다", "봤다"],
            &["매워요", "맵습니다", "매운"],
            &["만들어요", "만듭니다", "만든다"],
            &["바빠요", "바쁩니다"],
            &["대답해요", "대답합니다", "대답", "대답을"],
            &["배워요", "배웁니다", "배운"],
        ] {
            let lemmas: Vec<String> = forms.iter().map(|form| lemma(form)).collect();
            assert!(lemmas.iter().all(|one| *one == lemmas[0]), "{forms:?} {lemmas:?}");
        }
        for (one, other) in
            [("강남", "강북"), ("열어요", "닫아요"), ("서울", "부산"), ("가을", "봄")]
        {
            assert_ne!(lemma(one), lemma(other));
        }
    }

    #[test]
    fn the_past_is_told_by_its_ending() {
        for word in ["먹었어요", "갔다", "샀습니다", "했어"] {
            assert!(is_past(word), "{word}");
        }
        for word in ["먹어요", "있어요", "하겠습니다", "coffee", ""] {
            assert!(!is_past(word), "{word}");
        }
    }
}
