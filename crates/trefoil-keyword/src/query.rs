use std::collections::HashMap;

use trefoil_core::{Analyzer, Question};

/// A question as terms. Whatever the text is, it is data: there is no syntax.
#[derive(Debug, Default)]
pub(crate) struct QueryTerms {
    /// Distinct terms in order of their first occurrence.
    pub(crate) terms: Vec<QueryTerm>,
    /// Every occurrence, by position.
    pub(crate) sequence: Vec<Occurrence>,
}

#[derive(Debug)]
pub(crate) struct QueryTerm {
    pub(crate) text: String,
    /// How often it occurs in the question; 0 for a stop word beside other terms.
    pub(crate) weight: f32,
    stop: bool,
}

/// A place in the question that a term stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Occurrence {
    /// Its place in [`QueryTerms::terms`].
    pub(crate) term: usize,
    pub(crate) position: u32,
}

impl QueryTerms {
    pub(crate) fn analyze(analyzer: &dyn Analyzer, question: &Question) -> Self {
        let mut query = Self::default();
        let mut numbers = HashMap::new();
        analyzer.analyze(&question.text, question.language, &mut |token| {
            let text = token.term.into_owned();
            let term = *numbers.entry(text.clone()).or_insert_with(|| {
                query.terms.push(QueryTerm { text, weight: 0.0, stop: true });
                query.terms.len() - 1
            });
            query.sequence.push(Occurrence { term, position: token.position });
            if let Some(seen) = query.terms.get_mut(term) {
                seen.weight += 1.0;
                seen.stop &= token.stop;
            }
        });
        if query.terms.iter().any(|term| !term.stop) {
            for term in query.terms.iter_mut().filter(|term| term.stop) {
                term.weight = 0.0;
            }
        }
        query
    }
}

#[cfg(test)]
mod tests {
    use trefoil_core::{ByteSpan, Language, Token};

    use super::*;

    #[derive(Debug)]
    struct Words;

    impl Analyzer for Words {
        fn analyze(&self, text: &str, _: Language, sink: &mut dyn FnMut(Token<'_>)) {
            for (position, word) in (0..).zip(text.split_whitespace()) {
                let stop = matches!(word, "the" | "of");
                sink(Token { term: word.into(), span: ByteSpan::default(), position, stop });
            }
        }
    }

    fn check(text: &str, expected: &[(&str, f32)]) {
        let question =
            Question { text: text.into(), language: Language::En, foreign: false, embedding: None };
        let query = QueryTerms::analyze(&Words, &question);
        let terms: Vec<_> =
            query.terms.iter().map(|term| (term.text.as_str(), term.weight)).collect();
        assert_eq!(terms, expected, "{text:?}");
        assert_eq!(query.sequence.len(), text.split_whitespace().count());
    }

    #[test]
    fn terms_weigh_by_count_and_stop_words_only_when_alone() {
        check("", &[]);
        check("tide turns tide", &[("tide", 2.0), ("turns", 1.0)]);
        check("the turn of the tide", &[("the", 0.0), ("turn", 1.0), ("of", 0.0), ("tide", 1.0)]);
        check("the of the", &[("the", 2.0), ("of", 1.0)]);
    }
}
