use trefoil_core::{NameLookup, QueryClassification, QueryText, Question};
use trefoil_text::{normalize, variants};

use super::name::{Known, known_names};

/// Most aliases that are tried, so that other forms of the words have room too.
const MOST_ALIASES: usize = 2;

/// Most terms that are added to a question.
const MOST_FEEDBACK: usize = 5;

/// Other wordings of a question, most promising first: at most
/// [`QueryClassification::MAX_EXPANSIONS`], each another than the question and the
/// others, none longer than a question may be.
///
/// - `feedback` at the end of the question: terms that stand out in the passages that a
///   first search found (pseudo-relevance feedback), best first; empty before one.
/// - known names by their aliases;
/// - the same words in other forms ([`variants`]).
///
/// No synonyms are made up: every rewrite comes from the question, the names of the
/// corpus or its passages.
pub fn expand(question: &Question, names: &dyn NameLookup, feedback: &[String]) -> Vec<String> {
    let text = normalize(&question.text);
    expand_known(question, &text, &known_names(&text, names), feedback)
}

/// The same, where the names in the normalised `text` of the question are known.
pub(super) fn expand_known(
    question: &Question,
    text: &str,
    known: &[Known],
    feedback: &[String],
) -> Vec<String> {
    let wordings = with_feedback(text, feedback)
        .into_iter()
        .chain(aliases(text, known))
        .chain(variants(&question.text, question.language));
    let mut distinct: Vec<String> = Vec::new();
    for rewrite in wordings {
        let allowed = QueryText::new(&rewrite).is_ok() && rewrite != question.text;
        if allowed && !distinct.contains(&rewrite) {
            distinct.push(rewrite);
        }
        if distinct.len() == QueryClassification::MAX_EXPANSIONS {
            break;
        }
    }
    distinct
}

/// The question with the terms that it does not hold yet.
fn with_feedback(text: &str, feedback: &[String]) -> Option<String> {
    let lower = text.to_lowercase();
    let terms: Vec<&str> = feedback
        .iter()
        .map(String::as_str)
        .filter(|term| !term.trim().is_empty() && !lower.contains(&term.to_lowercase()))
        .take(MOST_FEEDBACK)
        .collect();
    (!terms.is_empty()).then(|| format!("{} {}", text.trim_end(), terms.join(" ")))
}

/// The question with one name by one of its aliases, each name in turn.
fn aliases(text: &str, known: &[Known]) -> Vec<String> {
    let most = known.iter().map(|known| known.aliases.len()).max().unwrap_or_default();
    (0..most)
        .flat_map(|nth| {
            known.iter().filter_map(move |known| Some((known.span, known.aliases.get(nth)?)))
        })
        .filter_map(|(span, alias)| {
            Some(format!("{}{alias}{}", text.get(..span.start)?, text.get(span.end..)?))
        })
        .take(MOST_ALIASES)
        .collect()
}

#[cfg(test)]
mod tests {
    use trefoil_text::language_of;

    use super::*;
    use crate::classify::NameTable;

    #[track_caller]
    fn check(text: &str, feedback: &[&str], expected: &[&str]) {
        let mut names = NameTable::default();
        names.insert(&["exact scan", "brute force", "linear scan", "full scan"]);
        names.insert(&["兼六園", "Kenrokuen"]);
        let question =
            Question { text: text.to_owned(), language: language_of(text), ..Question::default() };
        let feedback: Vec<String> = feedback.iter().map(|&term| term.to_owned()).collect();
        assert_eq!(expand(&question, &names, &feedback), expected, "{text}");
    }

    #[test]
    fn aliases_stand_where_the_name_stood() {
        check("is Exact Scan slow", &[], &["is brute force slow", "is linear scan slow"]);
        check("兼六園の時間", &[], &["Kenrokuenの時間"]);
    }

    #[test]
    fn feedback_adds_what_is_missing() {
        check("boil eggs", &["Eggs", "minutes", "yolk"], &["boil eggs minutes yolk", "boil egg"]);
        check("boil it", &["it"], &[]);
    }

    #[test]
    fn identifiers_and_widths() {
        check("useState", &[], &["use State"]);
        check("ＡＰＩサーバー", &[], &["APIサーバー", "APIサーバ"]);
    }

    #[test]
    fn a_wording_is_never_longer_than_a_question() {
        let text = format!("useState {}", "a".repeat(991));
        let question = Question { text, ..Question::default() };
        assert!(expand(&question, &NameTable::default(), &[]).is_empty());
    }
}
