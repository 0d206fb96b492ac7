use std::collections::HashMap;

use trefoil_core::{Analyzer, Question, Result, WeightedTerm};

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
    /// How often it occurs in the question; 0 for a stop word together with other terms.
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

    /// Adds terms that no phrase contains; a weight of 1 is that of the whole question.
    pub(crate) fn expand(&mut self, expansion: &[WeightedTerm]) {
        let whole: f32 = self.terms.iter().map(|term| term.weight).sum();
        for WeightedTerm { term, weight } in expansion {
            self.add(term, weight.get() * whole);
        }
    }

    /// Adds for each term that counts what `near` it there is in an index: in its place
    /// if the index does not know it, else in addition to it for half its weight.
    ///
    /// # Errors
    /// Those of `near`, which tells whether a term is known and gives its neighbours.
    pub(crate) fn loosen(
        &mut self,
        near: impl Fn(&str) -> Result<(bool, Vec<String>)>,
    ) -> Result<()> {
        for place in 0..self.terms.len() {
            let Some(term) = self.terms.get_mut(place).filter(|term| term.weight > 0.0) else {
                continue;
            };
            let (known, neighbours) = near(&term.text)?;
            if neighbours.is_empty() {
                continue;
            }
            let share = term.weight * if known { LOOSE_SHARE } else { 1.0 };
            if !known {
                term.weight = 0.0;
            }
            let each = share / neighbours.len() as f32;
            for neighbour in neighbours {
                self.add(&neighbour, each);
            }
        }
        Ok(())
    }

    fn add(&mut self, text: &str, weight: f32) {
        match self.terms.iter_mut().find(|term| term.text == text) {
            Some(known) => known.weight += weight,
            None => self.terms.push(QueryTerm { text: text.to_owned(), weight, stop: false }),
        }
    }
}

/// What the neighbours of a term count for together against the term itself.
const LOOSE_SHARE: f32 = 0.5;

#[cfg(test)]
mod tests {
    use trefoil_core::{ByteSpan, Language, Score, Token};

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
        let question = Question { text: text.into(), ..Question::default() };
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

    #[track_caller]
    fn check_terms(query: &QueryTerms, expected: &[(&str, f32)]) {
        let terms: Vec<_> =
            query.terms.iter().map(|term| (term.text.as_str(), term.weight)).collect();
        assert_eq!(terms, expected);
    }

    #[test]
    fn an_expansion_weighs_by_the_whole_question() {
        let question = Question { text: "high tide".into(), ..Question::default() };
        let mut query = QueryTerms::analyze(&Words, &question);
        let term = |term: &str, weight| WeightedTerm {
            term: term.to_owned(),
            weight: Score::clamped(weight),
        };
        query.expand(&[term("moon", 0.25), term("tide", 0.5)]);
        check_terms(&query, &[("high", 1.0), ("tide", 2.0), ("moon", 0.5)]);
        assert_eq!(query.sequence.len(), 2);
    }

    #[test]
    fn what_is_near_takes_the_place_of_an_unknown_term_and_is_added_to_a_known_one() {
        let question = Question { text: "the hihg tide".into(), ..Question::default() };
        let mut query = QueryTerms::analyze(&Words, &question);
        let near = |term: &str| {
            Ok(match term {
                "hihg" => (false, vec!["high".to_owned()]),
                "tide" => (true, vec!["tidy".to_owned(), "tidal".to_owned()]),
                _ => (true, vec!["never".to_owned()]),
            })
        };
        query.loosen(near).unwrap();
        let expected = [
            ("the", 0.0),
            ("hihg", 0.0),
            ("tide", 1.0),
            ("high", 1.0),
            ("tidy", 0.25),
            ("tidal", 0.25),
        ];
        check_terms(&query, &expected);
    }
}
