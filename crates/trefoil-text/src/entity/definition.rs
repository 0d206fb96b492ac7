//! Sentences that say what something is.

use std::ops::Range;

use trefoil_core::Language;

/// What follows the name that a sentence starts with, if the sentence is a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Definition {
    /// `: what it is`
    Entry,
    /// ` is a kind`: the bytes that name the kind; only if a noun ends with them.
    Kind(Range<usize>),
}

/// True for a sentence that begins with `name`, in any case, and goes on to say what it is:
/// `A tide is a …`. In Japanese and Korean, where what is said of the topic comes last, any
/// sentence with the name as its topic may.
pub fn defines(sentence: &str, name: &str, language: Language) -> bool {
    let rest = sentence.get(lead(sentence)..).unwrap_or_default();
    let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    let end = ends.into_iter().nth(name.chars().count());
    end.and_then(|end| rest.split_at_checked(end)).is_some_and(|(begins, rest)| {
        begins.to_lowercase() == name.to_lowercase() && read(rest, language).is_some()
    })
}

/// Bytes before the first name of a sentence: bullets, marks of emphasis, an article.
pub(crate) fn lead(sentence: &str) -> usize {
    let is_mark = |c: char| {
        c.is_whitespace()
            || matches!(c, '-' | '*' | '+' | '>' | '#' | '`' | '"' | '“' | '「' | '『' | '<' | '[')
    };
    let rest = sentence.trim_start_matches(is_mark);
    let article = ["The ", "A ", "An "].iter().find_map(|article| rest.strip_prefix(article));
    sentence.len() - article.unwrap_or(rest).trim_start_matches(is_mark).len()
}

/// Reads what follows the name up to the end of the sentence.
pub(crate) fn read(rest: &str, language: Language) -> Option<Definition> {
    let is_close =
        |c: char| matches!(c, '`' | '*' | '"' | '”' | '」' | '』' | '>' | ']' | '_' | '\'' | '’');
    let after = without_bracket(rest.trim_start_matches(is_close)).trim_start_matches(is_close);
    let entry = [":", "：", " — ", " – ", " -- "];
    if entry.iter().any(|mark| after.starts_with(mark)) && after.chars().nth(3).is_some() {
        return Some(Definition::Entry);
    }
    let offset = rest.len() - after.len();
    let kind = match language {
        Language::En => english(after),
        Language::Ja => japanese(after),
        Language::Ko => korean(after),
        _ => None,
    }?;
    Some(Definition::Kind(kind.start + offset..kind.end + offset))
}

/// Leaves out a bracket after a name: `Hank Snow (1914–1999) was`.
fn without_bracket(rest: &str) -> &str {
    let trimmed = rest.trim_start();
    let close = match trimmed.chars().next() {
        Some('(') => ')',
        Some('（') => '）',
        _ => return rest,
    };
    trimmed.find(close).and_then(|at| trimmed.get(at + close.len_utf8()..)).unwrap_or(rest)
}

/// ` is a country music singer from …` → ` country music singer`
fn english(after: &str) -> Option<Range<usize>> {
    const COPULAS: &[&str] =
        &[" is ", " are ", " was ", " were ", " refers to ", " means ", ", or "];
    const ARTICLES: &[&str] =
        &["a ", "an ", "the ", "one of the ", "any ", "a kind of ", "a type of "];
    const ENDS: &[&str] = &[
        ",", ".", ";", ":", "(", " that ", " which ", " who ", " whose ", " of ", " in ", " on ",
        " at ", " for ", " from ", " to ", " by ", " with ", " and ", " where ", " used ",
    ];
    let said = COPULAS.iter().find_map(|copula| after.strip_prefix(copula))?;
    let article = ARTICLES.iter().rev().find(|article| said.starts_with(**article))?;
    let start = after.len() - said.len() + article.len();
    let kind = after.get(start..)?;
    let end = ENDS.iter().filter_map(|end| kind.find(end)).min().unwrap_or(kind.len());
    Some(start..start + end)
}

/// `は、日本の首都である。` → `日本の首都`
fn japanese(after: &str) -> Option<Range<usize>> {
    const TOPICS: &[&str] = &["とは", "は"];
    const COPULAS: &[&str] = &["である", "です", "でした", "だった", "だ", "のこと", ""];
    let said = TOPICS.iter().find_map(|topic| after.trim_start().strip_prefix(topic))?;
    let start = after.len() - said.len();
    let bare = said.trim_end_matches(['。', '．', ' ']);
    let bare =
        bare.strip_suffix("のことです").or(bare.strip_suffix("のことである")).unwrap_or(bare);
    let kind = COPULAS.iter().find_map(|copula| bare.strip_suffix(copula))?;
    last_clause(kind, &['、', '，'], start)
}

/// `은 대한민국의 수도이다.` → `대한민국의 수도`
fn korean(after: &str) -> Option<Range<usize>> {
    const TOPICS: &[&str] = &["이란 ", "란 ", "은 ", "는 "];
    const COPULAS: &[&str] = &["이었다", "였다", "입니다", "이다", "이에요", "예요", "다"];
    let said = TOPICS.iter().find_map(|topic| after.trim_start().strip_prefix(topic))?;
    let start = after.len() - said.len();
    let bare = said.trim_end_matches(['.', ' ']);
    let kind = COPULAS.iter().find_map(|copula| bare.strip_suffix(copula))?;
    last_clause(kind, &[','], start)
}

/// The last noun phrase, which is all that may follow the last comma: where the copula
/// is that of a noun, a noun stands right before it.
fn last_clause(kind: &str, commas: &[char], start: usize) -> Option<Range<usize>> {
    let last = kind.rfind(commas).map_or(0, |at| {
        at + kind.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
    });
    let ends_in_noun = kind.chars().next_back().is_some_and(char::is_alphanumeric);
    ends_in_noun.then(|| start + last..start + kind.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rest: &str, language: Language, expected: Option<&str>) {
        let kind = match read(rest, language) {
            Some(Definition::Kind(kind)) => Some(&rest[kind]),
            Some(Definition::Entry) => Some(":"),
            None => None,
        };
        assert_eq!(kind, expected, "{rest}");
    }

    #[test]
    fn a_copula_defines() {
        use Language::{En, Ja, Ko};
        check(" is a React Hook that lets you", En, Some("React Hook"));
        check(" (1914–1999) was a Canadian country singer.", En, Some("Canadian country singer"));
        check("` is a type of cheese, and", En, Some("cheese"));
        check(" is red.", En, None);
        check(" was born in Paris.", En, None);
        check("は日本の首都である。", Ja, Some("日本の首都"));
        check("（東京都）は、関東にある、日本の首都です。", Ja, Some("日本の首都"));
        check("を食べる。", Ja, None);
        check("은 대한민국의 수도이다.", Ko, Some("대한민국의 수도"));
        check("(서울)는 도시입니다.", Ko, Some("도시"));
        check("가 간다.", Ko, None);
    }

    #[test]
    fn an_entry_defines() {
        check("**: what it is", Language::En, Some(":"));
        check("` — the state", Language::En, Some(":"));
        check("：説明です。", Language::Ja, Some(":"));
        check(":", Language::En, None);
    }

    #[test]
    fn a_sentence_defines_what_it_begins_with() {
        use Language::{En, Ja, Ko};
        for (sentence, name, language, expected) in [
            ("A **neap tide** is a tide of small range.", "Neap tide", En, true),
            ("The sea falls at a neap tide.", "neap tide", En, false),
            ("Neap tides come twice a month.", "neap tide", En, false),
            ("「小潮」（こしお）は潮の差が小さい時期である。", "小潮", Ja, true),
            ("月の形で小潮は決まる。", "小潮", Ja, false),
            ("조금은 조차가 가장 작은 때이다.", "조금", Ko, true),
            ("달이 반이면 조금이다.", "조금", Ko, false),
            ("Neap", "neap tide", En, false),
            ("", "", En, false),
        ] {
            assert_eq!(defines(sentence, name, language), expected, "{sentence}");
        }
    }

    #[test]
    fn the_lead_is_not_the_name() {
        for (sentence, name) in [
            ("- **`key`**: x", "key`**: x"),
            ("The Beatles were", "Beatles were"),
            ("「東京」は", "東京」は"),
            ("Paris", "Paris"),
            ("", ""),
        ] {
            assert_eq!(&sentence[lead(sentence)..], name);
        }
    }
}
